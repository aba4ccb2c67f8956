//! The command: single calls, exit codes, refusals to start, the end.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use toolfs_client::{Client, OpenSession, Read};

use crate::support::process::{Server, beside_the_tests, binary, command};
use crate::support::served::{Served, ended, run, stderr, stdout};

#[test]
fn a_call_prints_what_a_model_would_see() {
    let served = Served::start();
    let output = served.call(&["read", r#"{"file_path": "f", "limit": 1}"#]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "1: one\n\n(line 1 of 2; continue with offset 2)\n");

    let output = served.call(&["write", r#"{"file_path": "d/new", "content": "hello\n"}"#]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "created `/workspace/d/new` (6 bytes)\n");
    assert_eq!(std::fs::read(served.file("d/new")).unwrap(), b"hello\n");
}

#[test]
fn arguments_come_from_standard_input_too() {
    let served = Served::start();
    let mut command = command();
    command
        .args(["call", "--server", &served.socket, "read", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"file_path": "f"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    assert!(stdout(&output).starts_with("1: one\n2: two\n"));
}

#[test]
fn exit_codes_tell_a_refusal_from_a_failure_and_from_wrong_usage() {
    let served = Served::start();
    // The tool refuses: the model's text says why.
    let output = served.call(&["edit", r#"{"file_path": "f", "old_string": "one", "new_string": "1"}"#]);
    ended(&output, 4);
    assert!(stdout(&output).starts_with("FS_NOT_OBSERVED: "), "{}", stdout(&output));
    assert!(stdout(&output).contains("remedy: open a session"), "{}", stdout(&output));
    ended(&served.call(&["no-such-tool", "{}"]), 4);
    assert_eq!(std::fs::read(served.file("f")).unwrap(), b"one\ntwo\n");

    // Nobody is there.
    let nowhere = format!("unix:{}", served.file("nowhere").display());
    let output = run(command().args(["call", "--server", &nowhere, "read", "{}"]));
    ended(&output, 1);
    assert!(stderr(&output).contains("toolfs serve --root DIR"), "{}", stderr(&output));
    // No such session.
    let output = served.call(&["--session", "ses_unknown", "read", r#"{"file_path": "f"}"#]);
    ended(&output, 1);
    assert!(stderr(&output).contains("no such session"), "{}", stderr(&output));

    for arguments in
        [&["call"][..], &["call", "read"], &["serve", "--no-such-flag"], &["no-such-command"], &[]]
    {
        ended(&run(command().args(arguments)), 2);
    }
}

/// The system ends a process with a signal that writes beyond its limit, unless the process takes care.
#[test]
fn a_write_beyond_the_limit_on_files_is_an_error_of_that_call() {
    let served = Served::start();
    let pid = served.server.pid().to_string();
    let limited = Command::new("prlimit").args(["--fsize=524288:", "--pid", &pid]).output();
    if !limited.is_ok_and(|output| output.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no prlimit, or it may not limit files");
        return;
    }
    let content = "x".repeat(1 << 20);
    let mut command = command();
    command
        .args(["call", "--server", &served.socket, "write", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let arguments = format!(r#"{{"file_path": "large", "content": "{content}"}}"#);
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 4);
    assert!(stdout(&output).starts_with("FS_NO_SPACE: "), "{}", stdout(&output));
    assert!(!served.file("large").exists());
    ended(&served.call(&["write", r#"{"file_path": "small", "content": "x"}"#]), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_in_a_session_knows_what_the_session_saw() {
    let served = Served::start();
    let client = Client::connect(&served.socket).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    session.read(Read::new("f")).await.unwrap();
    let arguments = r#"{"file_path": "f", "old_string": "one", "new_string": "1"}"#;
    let output = served.call(&["--session", session.id(), "--dry-run", "edit", arguments]);
    ended(&output, 0);
    assert!(stdout(&output).starts_with("dry run, nothing was changed"), "{}", stdout(&output));
    let output = run(command()
        .args(["call", "edit", arguments])
        .env("TOOLFS_SERVER", &served.socket)
        .env("TOOLFS_SESSION", session.id()));
    ended(&output, 0);
    assert_eq!(std::fs::read(served.file("f")).unwrap(), b"1\ntwo\n");
}

#[test]
fn a_server_that_cannot_serve_as_told_says_why_and_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let missing = directory.path().join("missing");
    let file = directory.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let in_the_way = format!("unix:{}", file.display());
    let free = "127.0.0.1:0";
    for (arguments, code, says) in [
        (&["--listen", free][..], 2, "add --root DIR"),
        (&["--root", missing.to_str().unwrap(), "--listen", free], 3, "missing"),
        (&["--root", file.to_str().unwrap(), "--listen", free], 3, "FS_NOT_DIRECTORY"),
        (&["--root", root, "--listen", "0.0.0.0:0"], 2, "--allow-remote"),
        (&["--root", root, "--listen", "[::]:0"], 2, "--allow-remote"),
        (&["--root", root, "--listen", "nonsense"], 2, "IP:PORT"),
        (&["--root", root, "--listen", free, "--policy", "maybe"], 2, "`observation`, `none`"),
        (&["--root", root, "--listen", free, "--provider", "tape"], 2, "`local`, `memory`"),
        (&["--root", root, "--listen", free, "--state", "paper"], 2, "`memory`"),
        (&["--root", root, "--listen", free, "--default-limit-lines", "0"], 2, "at least 1"),
        (&["--root", root, "--listen", &taken], 3, "listens on"),
        (&["--root", root, "--listen", &in_the_way], 3, "is no socket"),
    ] {
        let output = run(command().arg("serve").args(arguments));
        ended(&output, code);
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
}

#[test]
fn a_socket_that_a_server_answers_on_is_not_taken_from_it() {
    let served = Served::start();
    let root = served.file("");
    let output = run(command().args(["serve", "--root", root.to_str().unwrap(), "--listen", &served.socket]));
    ended(&output, 3);
    assert!(stderr(&output).contains("stop it or choose another address"), "{}", stderr(&output));
    ended(&served.call(&["read", r#"{"file_path": "f"}"#]), 0);
}

#[test]
fn a_socket_is_for_its_owner_only_and_goes_with_the_server() {
    let served = Served::start();
    let socket = served.directory.path().join("s");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (status, errors) = served.server.stop();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert!(!socket.exists());
}

#[test]
fn help_teaches_the_next_command() {
    for (arguments, mentions) in [
        (&["--help"][..], &["toolfs serve --root .", "toolfs call read", "Exit codes"][..]),
        (&["serve", "--help"], &["--root", "--listen", "--policy", "--allow-remote", "TOOLFS_", "SIGTERM"]),
        (&["call", "--help"], &["--session", "--dry-run", "call write", "standard input", "arguments_json"]),
        (&["tools", "--help"], &["anthropic", "openai-chat", "gemini", "mcp", "prompt_section"]),
        (&["config", "check", "--help"], &["--root", "--config", "--max-sessions"]),
        (&["--version"], &["toolfs "]),
    ] {
        let output = run(command().args(arguments));
        ended(&output, 0);
        for text in mentions {
            assert!(stdout(&output).contains(text), "{arguments:?} lacks {text}:\n{}", stdout(&output));
        }
    }
}

#[test]
fn variables_stand_in_for_flags_and_flags_beat_them() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let variables = [("TOOLFS_ROOT", root), ("TOOLFS_LISTEN", "nonsense"), ("TOOLFS_POLICY", "none")];
    let server = Server::start_with(&["--listen", "127.0.0.1:0"], &variables);
    assert!(server.ready[0].contains("policy none"), "{}", server.ready[0]);
    assert!(!server.address().ends_with(":0"), "the ready line tells the real port: {}", server.ready[0]);
}

/// A client that is connected and idle, or connected and silent, holds up no end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_drains_at_sigterm_whoever_is_connected() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let server = Server::start(&["--root", root, "--listen", "127.0.0.1:0"]);
    let address = server.address();
    let client = Client::connect(&address).await.unwrap();
    client.tools().await.unwrap();
    let silent = TcpStream::connect(&address).unwrap();
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");
    drop(silent);
    client.tools().await.unwrap_err();
}

/// On one thread, the client's connection does nothing while the test waits: it does not even hear the good-bye.
#[tokio::test(flavor = "current_thread")]
async fn a_client_that_froze_neither_uses_up_the_drain_limit_nor_makes_the_end_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let server = Server::start(&["--root", root, "--listen", "127.0.0.1:0", "--drain-limit-s", "600"]);
    let frozen = Client::connect(&server.address()).await.unwrap();
    frozen.tools().await.unwrap();
    let (status, errors) = server.stop();
    assert_eq!(status.code(), Some(0), "{errors}");
}

/// A program that starts a server of its own may be killed, and then nobody is left to send a signal.
#[tokio::test]
async fn a_server_that_lives_by_its_standard_input_ends_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let mut serve = command();
    serve.args(["serve", "--root", directory.path().to_str().unwrap(), "--until-stdin-closes"]);
    serve.arg("--listen").arg(format!("unix:{}", socket.display()));
    serve.stdin(Stdio::piped());
    let mut server = Server::of(serve);
    server.say(b"whatever comes in is no end\n");
    let client = Client::connect(&server.address()).await.unwrap();
    client.open_session(OpenSession::default()).await.unwrap();

    server.hang_up();

    let (status, errors) = server.wait();
    assert!(status.success(), "{status}: {errors}");
    assert!(errors.contains("standard input has ended"), "{errors}");
    assert!(!socket.exists(), "the socket is left behind");
}

/// The frozen client holds up the drain, until somebody does not want to wait for its limit.
#[tokio::test(flavor = "current_thread")]
async fn a_second_signal_ends_a_drain_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let server = Server::start(&["--root", root, "--listen", "127.0.0.1:0", "--drain-limit-s", "600"]);
    let address = server.address();
    let frozen = Client::connect(&address).await.unwrap();
    frozen.tools().await.unwrap();
    server.terminate();
    // It listens no more once it has heard the first one. Two that come at once count as one.
    while TcpStream::connect(&address).is_ok() {
        std::thread::yield_now();
    }
    let (status, errors) = server.stop();
    assert_eq!(status.code(), Some(5), "{errors}");
}

/// The system's answer to a write beyond that limit is a signal that ends a process by default.
#[tokio::test]
async fn a_file_size_limit_refuses_a_write_and_does_not_end_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 64; exec \"$0\" serve --root \"$1\" --listen 127.0.0.1:0 --state memory"]);
    limited.arg(binary()).arg(root).stdin(Stdio::null());
    let server = Server::of(limited);
    let session =
        Client::connect(&server.address()).await.unwrap().open_session(OpenSession::default()).await.unwrap();

    let error = session.write(toolfs_client::Write::new("big", "x".repeat(200_000))).await.unwrap_err();
    assert_eq!(error.code().unwrap().as_str(), "FS_NO_SPACE");
    session.write(toolfs_client::Write::new("small", "x")).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["small"]);
}

/// A mutation that was begun is finished, and its caller told, although the server was asked to end meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_flight_at_sigterm_ends_whole() {
    let served = Served::start();
    let client = Client::connect(&served.socket).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    let content = "a line of text that takes a while\n".repeat(400_000);
    let path = served.file("big");
    let writing = tokio::spawn({
        let content = content.clone();
        async move { session.write(toolfs_client::Write::new("big", content)).await }
    });
    served.server.terminate();
    let answer = writing.await.unwrap();
    let (status, errors) = tokio::task::spawn_blocking(|| served.server.wait()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");
    // Which came first is a race; what it left is not.
    match answer {
        Ok(_) => assert!(std::fs::read_to_string(path).unwrap() == content),
        Err(error) => assert!(!path.exists(), "it is there, and the caller was told {error}"),
    }
}

#[test]
fn the_example_of_the_client_recovers_from_a_refusal() {
    let example = beside_the_tests("examples/recover");
    assert!(
        Path::new(&example).is_file(),
        "there is no {}: run `make test`, or `cargo build -p toolfs-client --example recover` first",
        example.display()
    );
    let served = Served::start();
    let output = run(Command::new(&example).args([&served.socket, "f", "one", "1"]));
    ended(&output, 0);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert!(lines[0].starts_with("refused: FS_NOT_OBSERVED"), "{lines:?}");
    assert!(lines[1].starts_with("edited `/workspace/f`: 1 replacement"), "{lines:?}");
    assert_eq!(std::fs::read(served.file("f")).unwrap(), b"1\ntwo\n");
    ended(&run(Command::new(&example).args([&served.socket, "f", "nowhere", "1"])), 1);
}
