//! The five-minute tour of the README, taken as it stands: its commands are run, and what they print is compared.
//!
//! With `TOOLFS_ACCEPT=1` the README is rewritten with what was printed. A line of the tour that is a server runs until
//! the test ends, or until the tour interrupts it with `^C`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::support::process::{Server, binary};

/// What the README has where a test must stand aside.
const README_ADDRESS: &str = "127.0.0.1:50051";
const README_HOME: &str = "/tmp/toolfs-tour";
const SERVE: &str = "cargo run --release -- serve ";

/// A place on this machine for the tour, and how it is called in the README.
struct Stage {
    directory: tempfile::TempDir,
    server: Option<Server>,
}

impl Stage {
    /// Does what a line of the tour says; what it prints.
    fn run(&mut self, command: &str) -> String {
        if command == "^C" {
            if let Some(server) = self.server.take() {
                let (status, errors) = server.stop();
                assert!(status.success(), "the server ended with {status}: {errors}");
            }
            return String::new();
        }
        match command.strip_prefix(SERVE) {
            Some(arguments) => self.serve(arguments),
            None => self.shell(command),
        }
    }

    fn serve(&mut self, arguments: &str) -> String {
        let arguments = arguments.replace(README_HOME, &self.home());
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        arguments.extend(["--listen", "127.0.0.1:0"]);
        let server = Server::start(&arguments);
        let mut printed = String::new();
        for line in &server.ready {
            let _ = writeln!(printed, "{line}");
        }
        let printed = printed.replace(&server.address(), README_ADDRESS).replace(&self.home(), README_HOME);
        self.server = Some(server);
        printed
    }

    /// Runs a command in the shell of the second terminal: what it exports stays.
    fn shell(&mut self, command: &str) -> String {
        let command = command.replace(README_HOME, &self.home());
        let exports = self.directory.path().join("exports");
        let address = self.server.as_ref().map(Server::address);
        // The tour names no server: it is the default one there, and another address here.
        let server = address.as_ref().map(|address| format!("export TOOLFS_SERVER={address}"));
        let script = format!(
            "exec 2>&1\ntest -f {exports} && . {exports}\n{server}\n{command}\nexport -p > {exports}\n",
            exports = exports.display(),
            server = server.unwrap_or_default(),
        );
        let ours = binary().parent().unwrap().to_owned();
        let path = std::env::var_os("PATH");
        let programs = std::iter::once(ours).chain(path.iter().flat_map(std::env::split_paths));
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", std::env::join_paths(programs).unwrap())
            .env("HOME", self.directory.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap().replace(&self.home(), README_HOME);
        match address {
            Some(address) => printed.replace(&address, README_ADDRESS),
            None => printed,
        }
    }

    fn home(&self) -> String {
        self.directory.path().display().to_string()
    }
}

/// The tour with what its commands print in place of what stands there.
fn taken(readme: &str, stage: &mut Stage) -> String {
    let mut result = String::new();
    let (mut in_tour, mut in_block) = (false, false);
    for line in readme.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            in_tour = title == "Five minutes";
        }
        let is_fence = line.starts_with("```");
        if in_block && !is_fence {
            let interrupt = (line == "^C").then_some(line);
            let Some(command) = interrupt.or(line.strip_prefix("$ ")) else { continue };
            let printed = stage.run(command);
            let _ = write!(result, "{line}\n{printed}");
            if !printed.is_empty() && !printed.ends_with('\n') {
                result.push('\n');
            }
            continue;
        }
        if is_fence {
            in_block = in_tour && line == "```console";
        }
        let _ = writeln!(result, "{line}");
    }
    result
}

#[test]
fn the_tour_prints_what_the_readme_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut stage = Stage { directory, server: None };
    let taken = taken(&readme, &mut stage);
    assert!(taken.matches("\n$ ").count() >= 10, "the tour has hardly a command");
    if std::env::var_os("TOOLFS_ACCEPT").is_some() {
        std::fs::write(path, taken).unwrap();
        return;
    }
    assert!(taken == readme, "the README's tour is not what is printed; it is now:\n{taken}");
}
