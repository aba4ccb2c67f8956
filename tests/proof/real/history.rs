//! The files that commits of this repository modified.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::pair::Gathered;

/// A modification as git lists it.
struct Modified {
    old: String,
    new: String,
    path: String,
}

/// Gathers what the history has; without one that can be read, it says so.
pub(crate) fn gather(gathered: &mut Gathered) {
    match git(&["rev-parse", "--is-shallow-repository"]).as_deref().map(str::trim) {
        Ok("false") => {}
        Ok(_) => gathered
            .missing
            .push("the history of this repository is not all here: a shallow clone".to_owned()),
        Err(reason) => {
            gathered.missing.push(format!("there is no history of this repository: {reason}"));
            return;
        }
    }
    let modified = list(gathered);
    let names = modified.iter().flat_map(|modified| [modified.old.clone(), modified.new.clone()]);
    let mut contents = contents(names.collect()).into_iter();
    for Modified { old, new, path } in modified {
        let (Some(before), Some(after)) = (contents.next(), contents.next()) else {
            gathered.missing.push("git gave fewer contents than it was asked for".to_owned());
            return;
        };
        gathered.add(format!("{path}, from blob {old} to {new}"), Path::new(&path), before, after);
    }
}

/// The files that were modified, each change of a content once.
fn list(gathered: &mut Gathered) -> Vec<Modified> {
    let log =
        git(&["log", "HEAD", "--raw", "--no-abbrev", "--no-merges", "-M", "--diff-filter=MR", "--format="]);
    let (mut seen, mut listed) = (HashSet::new(), Vec::new());
    for line in log.unwrap().lines() {
        // `:MODE MODE OLD NEW STATUS<tab>PATH`
        let Some((numbers, path)) = line.split_once('\t') else { continue };
        let fields: Vec<&str> = numbers.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = fields[..] else { continue };
        let is_file = |mode: &str| mode.ends_with("100644") || mode.ends_with("100755");
        if old == new {
            continue;
        } else if status != "M" {
            gathered.leave_out("renamed");
        } else if !is_file(old_mode) || !is_file(new_mode) {
            gathered.leave_out("a link or a submodule");
        } else if seen.insert((old.to_owned(), new.to_owned())) {
            listed.push(Modified { old: old.to_owned(), new: new.to_owned(), path: path.to_owned() });
        }
    }
    listed
}

/// The contents of these blobs, in their order, as far as git gives them.
fn contents(names: Vec<String>) -> Vec<Vec<u8>> {
    let mut child = in_repository()
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut asking, mut answers) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let count = names.len();
    let asker = thread::spawn(move || names.iter().try_for_each(|name| writeln!(asking, "{name}")));
    let mut contents = Vec::new();
    for _ in 0..count {
        let mut header = String::new();
        answers.read_line(&mut header).unwrap();
        let Some(size) = header.trim().rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else {
            break;
        };
        // A line end follows the content.
        let mut content = vec![0; size + 1];
        answers.read_exact(&mut content).unwrap();
        content.pop();
        contents.push(content);
    }
    drop(answers);
    let _ = asker.join().unwrap();
    child.wait().unwrap();
    contents
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output =
        in_repository().args(arguments).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("git failed").to_owned())
    }
}

fn in_repository() -> Command {
    let mut git = Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "-c", "core.quotePath=false"]);
    git
}
