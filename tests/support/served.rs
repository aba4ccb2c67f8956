//! The real command over a directory, and what single commands say.

use std::process::{Command, Output};

use tempfile::TempDir;

use super::process::{Server, command};

/// A directory with a file, served on a Unix socket.
pub(crate) struct Served {
    // The server goes before its directory.
    pub(crate) server: Server,
    pub(crate) socket: String,
    pub(crate) directory: TempDir,
}

impl Served {
    pub(crate) fn start() -> Served {
        Served::start_with(&[])
    }

    /// The same with more flags.
    pub(crate) fn start_with(arguments: &[&str]) -> Served {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        std::fs::write(directory.path().join("root/f"), "one\ntwo\n").unwrap();
        let root = format!("{}=/workspace", directory.path().join("root").display());
        let socket = format!("unix:{}", directory.path().join("s").display());
        let server = Server::start(&[&["--root", &root, "--listen", &socket], arguments].concat());
        Served { server, socket, directory }
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Output {
        run(command().args(["call", "--server", &self.socket]).args(arguments))
    }

    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join("root").join(name)
    }
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[track_caller]
pub(crate) fn ended(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{} {}", stdout(output), stderr(output));
}
