//! A tracer on the one thread of a worker that works on files: what it calls, and calls that end otherwise.
//!
//! strace counts the calls of each name from the moment at which it is there. Deliberately absent: following other
//! threads, whose calls would be counted apart.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::worker::Worker;

/// A call that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    /// Which one of that name it is, from 1.
    pub(crate) number: usize,
    /// The whole line.
    pub(crate) line: String,
    /// Whether it ended otherwise than it would have.
    pub(crate) is_injected: bool,
}

/// A running tracer.
#[derive(Debug)]
pub(crate) struct Tracer {
    child: Child,
    output: PathBuf,
}

/// Why nothing can be traced here, if it cannot.
pub(crate) fn missing() -> Option<String> {
    let run = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).stdin(Stdio::null()).output();
    match run {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("strace cannot trace: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Some(format!("there is no strace: {error}")),
    }
}

impl Tracer {
    /// Follows the file thread of a worker, and changes its calls as the expressions say (`inject=…`).
    ///
    /// # Errors
    /// What strace said when it could not.
    pub(crate) fn attach(worker: &Worker, directory: &Path, injections: &[String]) -> Result<Tracer, String> {
        let thread = worker.file_thread.expect("a worker with one thread is traced");
        let output = directory.join(format!("trace-{}", thread.as_raw_nonzero()));
        let mut command = Command::new("strace");
        command.arg("-o").arg(&output).args(["-p", &thread.as_raw_nonzero().to_string()]);
        command.args(["-e", "trace=%file,%desc"]);
        for injection in injections {
            command.args(["-e", injection]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut said = String::new();
        let errors = BufReader::new(child.stderr.as_mut().unwrap());
        for line in errors.lines().map_while(Result::ok) {
            if line.ends_with("attached") {
                return Ok(Tracer { child, output });
            }
            said += &line;
        }
        let _ = child.wait();
        Err(said)
    }

    /// Lets the worker go, if it is there still, and tells what was seen of its calls on files, in their order.
    pub(crate) fn detach(mut self) -> Vec<Seen> {
        let id = Pid::from_child(&self.child);
        // It ends by itself when the worker has ended.
        let _ = kill_process(id, Signal::TERM);
        self.child.wait().unwrap();
        let said = std::fs::read_to_string(&self.output).unwrap();
        let _ = std::fs::remove_file(&self.output);
        let mut numbers = HashMap::new();
        said.lines().filter_map(|line| Seen::parse(line, &mut numbers)).collect()
    }

    /// What was seen until the worker ended.
    pub(crate) fn wait(mut self) -> Vec<Seen> {
        self.child.wait().unwrap();
        self.detach()
    }
}

impl Seen {
    /// `numbers` has how many calls of a name there were before.
    fn parse(line: &str, numbers: &mut HashMap<String, usize>) -> Option<Seen> {
        let (name, rest) = line.split_once('(')?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return None;
        }
        let number = numbers.entry(name.to_owned()).or_default();
        *number += 1;
        // Memory is no file; and the standard library looks at a descriptor before it closes it in a debug build.
        if name == "mmap" || rest.contains("F_GETFD") {
            return None;
        }
        let (name, line, is_injected) = (name.to_owned(), line.to_owned(), line.contains("(INJECTED)"));
        Some(Seen { name, number: *number, line, is_injected })
    }
}
