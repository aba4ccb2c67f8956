//! The real command as a process of its own. Only processes that were started here are ended.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long a server may take to come up, and to end when it is told to. Far more than it needs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A directory that is not there.
const NO_HOME: &str = "no-such-home";

/// The command under test.
pub(crate) fn command() -> Command {
    let mut command = Command::new(binary());
    leave_settings_out(&mut command);
    // Nor is the configuration of whoever runs the tests heard, or a state kept beside theirs.
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join(NO_HOME);
    command.env("XDG_CONFIG_HOME", &nowhere).env("XDG_STATE_HOME", &nowhere);
    command.stdin(Stdio::null());
    command
}

/// Keeps the settings of whoever runs the tests from a command, but for those that it was given: a command that inherits
/// them would test the machine, and refuses those that name tools of the tests.
pub(crate) fn leave_settings_out(command: &mut Command) {
    let ours = |name: &str| ["TOOLFS_", "OTEL_", "RUST_LOG"].iter().any(|start| name.starts_with(start));
    let given: Vec<OsString> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) && !given.contains(&name) {
            command.env_remove(name);
        }
    }
}

/// The binary that `TOOLFS_BIN` names, else the one that was built beside the tests.
pub(crate) fn binary() -> PathBuf {
    let named = std::env::var_os("TOOLFS_BIN").filter(|name| !name.is_empty()).map(PathBuf::from);
    let binary = named.unwrap_or_else(|| beside_the_tests("toolfs"));
    assert!(
        binary.is_file(),
        "there is no command at {}: run `make test`, or `cargo build -p toolfs-server` first",
        binary.display()
    );
    binary
}

/// A file of the directory that cargo builds into.
pub(crate) fn beside_the_tests(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().parent().unwrap().join(name)
}

/// A program that a variable names; `None`, said aloud, when there is none.
pub(crate) fn tool(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    if path.is_none() {
        super::say(&format!("skipped: {variable} names no program (`make test` sets it)"));
    }
    path
}

/// A server that runs until it is dropped or stopped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// What it said when it was ready: the line, and those with the commands to try.
    pub(crate) ready: Vec<String>,
    output_ended: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    // Where it keeps state that no flag places: dropped when it has ended.
    _state_home: TempDir,
}

impl Server {
    /// Starts `toolfs serve` and waits for the lines that say that it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        Server::start_with(arguments, &[])
    }

    /// The same with environment variables.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = command();
        command.arg("serve").args(arguments).envs(variables.iter().copied());
        Server::of(command)
    }

    /// The same by a command line of the caller's own, which must end in the server.
    pub(crate) fn of(mut command: Command) -> Server {
        leave_settings_out(&mut command);
        let state_home = tempfile::tempdir().unwrap();
        let chosen = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "XDG_STATE_HOME"));
        if chosen.is_none_or(|home| home.to_str().is_some_and(|home| home.ends_with(NO_HOME))) {
            command.env("XDG_STATE_HOME", state_home.path());
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = read_lines(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut errors = Vec::new();
            let _ = stderr.read_to_end(&mut errors);
            String::from_utf8_lossy(&errors).into_owned()
        });
        // From here on the guard ends it, whatever happens.
        let mut server = Server {
            child,
            ready: Vec::new(),
            output_ended: output,
            errors: Some(errors),
            _state_home: state_home,
        };
        while server.ready.len() < 3 {
            match server.output_ended.recv_timeout(PATIENCE) {
                Ok(line) => server.ready.push(line),
                Err(_) => panic!("the server did not get ready; it said {:?}", server.ready),
            }
        }
        server
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The address that the ready line tells: the first one.
    pub(crate) fn address(&self) -> String {
        let (_, told) = self.ready[0].split_once("listening on ").expect("the ready line tells the address");
        told.split([',', ' ']).next().unwrap().to_owned()
    }

    /// Asks it to end, and waits until it has. Returns how it ended and what it wrote to standard error.
    pub(crate) fn stop(mut self) -> (ExitStatus, String) {
        let status = self.end();
        let errors = self.errors.take().unwrap().join().unwrap();
        (status, errors)
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may be gone already.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Writes to its standard input, which is a pipe that this process holds.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().expect("its standard input is no pipe").write_all(bytes).unwrap();
    }

    /// Closes its standard input, which was a pipe that this process held.
    pub(crate) fn hang_up(&mut self) {
        drop(self.child.stdin.take().expect("its standard input is no pipe"));
    }

    /// Waits until it has ended, which it was told to before. Told again, it would end at once.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let status = self.wait_for_end();
        let errors = self.errors.take().unwrap().join().unwrap();
        (status, errors)
    }

    /// Ends it as a crash would: nothing is drained, flushed or removed.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        if let Ok(Some(status)) = self.child.try_wait() {
            return status;
        }
        self.terminate();
        self.wait_for_end()
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        // Its standard output ends with it.
        loop {
            match self.output_ended.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    break;
                }
            }
        }
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(errors) = self.errors.take() else { return };
        self.end();
        let errors = errors.join().unwrap_or_default();
        if thread::panicking() && !errors.is_empty() {
            super::say(&format!("the server had said:\n{errors}"));
        }
    }
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (lines, received) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody listens any more once the server is up; its output is read all the same.
            let _ = lines.send(line);
        }
    });
    received
}
