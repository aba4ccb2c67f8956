//! Clients of several languages on one directory at the same time.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use crate::support::process::{leave_settings_out, tool};
use crate::support::served::Served;

const SESSIONS: usize = 4;
const EDITS: usize = 25;

/// The packages of the clients, from the root of the repository.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/client/python");
const TYPESCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/client/typescript");

fn editor(program: &str, script: &[&str], folder: &str, served: &Served, name: &str) -> Child {
    let mut command = Command::new(program);
    leave_settings_out(&mut command);
    command.args(script).arg(&served.socket).arg(name);
    command.args([SESSIONS.to_string(), EDITS.to_string()]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What an editor was told is there.
#[track_caller]
fn acknowledged(name: &str, editor: Child) -> Vec<String> {
    let output = editor.wait_with_output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), SESSIONS * EDITS, "{name} did not get all its edits through");
    lines
}

/// Two processes in two languages, four sessions each, 200 edits of two files: a refusal is followed by its remedy, and
/// what either was told is done is there at the end, once.
#[test]
fn edits_of_a_python_and_a_typescript_process_are_all_there() {
    let (Some(python), Some(node)) = (tool("TOOLFS_PYTHON"), tool("TOOLFS_NODE")) else { return };
    let served = Served::start();
    for file in ["shared-0", "shared-1"] {
        std::fs::write(served.file(file), "END\n").unwrap();
    }
    let python = editor(python.to_str().unwrap(), &["tests/editor.py"], PYTHON, &served, "python");
    let script = ["--import", "tsx", "test/editor.ts"];
    let typescript = editor(node.to_str().unwrap(), &script, TYPESCRIPT, &served, "typescript");
    let mut told = acknowledged("python", python);
    told.extend(acknowledged("typescript", typescript));

    let mut there = Vec::new();
    for file in ["shared-0", "shared-1"] {
        let text = std::fs::read_to_string(served.file(file)).unwrap();
        let lines = text.strip_suffix("END\n").expect("the last line was nobody's to change");
        there.extend(lines.lines().map(str::to_owned));
    }
    assert_eq!(there.len(), told.len(), "an edit is there twice, or was never acknowledged");
    assert_eq!(BTreeSet::from_iter(there), BTreeSet::from_iter(told));
}
