//! Sessions that the command keeps between calls.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value;

use crate::support::process::command;
use crate::support::served::{Served, ended, run, stderr, stdout};

const READ: &str = r#"{"file_path": "f"}"#;
const EDIT: &str = r#"{"file_path": "f", "old_string": "one", "new_string": "1"}"#;

impl Served {
    fn file_beside(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn session(&self, arguments: &[&str]) -> Output {
        run(command().arg("session").args(arguments).args(["--server", &self.socket]))
    }
}

#[test]
fn a_session_file_makes_single_calls_one_session() {
    let served = Served::start();
    let file = served.file_beside("session");
    ended(&served.call(&["--session-file", &file, "read", READ]), 0);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The file knows the server, and a variable the file.
    let edit = run(command().args(["call", "edit", EDIT]).env("TOOLFS_SESSION_FILE", &file));
    ended(&edit, 0);
    assert_eq!(std::fs::read(served.file("f")).unwrap(), b"1\ntwo\n");

    let kept = std::fs::read_to_string(&file).unwrap();
    let id = serde_json::from_str::<Value>(&kept).unwrap()["session_id"].as_str().unwrap().to_owned();
    ended(&run(command().args(["call", "--session-file", &file, "--close-session"])), 0);
    assert!(!std::path::Path::new(&file).exists());
    let closed = served.call(&["--session", &id, "read", READ]);
    ended(&closed, 1);
    assert!(stderr(&closed).contains("no such session") && stderr(&closed).contains("toolfs session open"));
}

#[test]
fn a_session_without_a_file_is_told_on_standard_error() {
    let served = Served::start();
    let output = served.call(&["--open-session", "--label", "who=me", "read", READ]);
    ended(&output, 0);
    assert!(stdout(&output).starts_with("1: one\n"));
    let id = stderr(&output).trim().strip_prefix("session: ").unwrap().to_owned();
    ended(&served.call(&["--session", &id, "edit", EDIT]), 0);
    let listed = served.session(&["list"]);
    ended(&listed, 0);
    assert!(stdout(&listed).contains("who=me") && !stdout(&listed).contains(&id), "{}", stdout(&listed));
}

#[test]
fn a_session_is_opened_as_it_is_asked_for() {
    let served = Served::start();
    std::fs::create_dir(served.file("d")).unwrap();
    std::fs::write(served.file("d/g"), "deep\n").unwrap();
    let file = served.file_beside("session");
    let output =
        served.call(&["--session-file", &file, "--cwd", "d", "--read-only", "read", r#"{"file_path": "g"}"#]);
    ended(&output, 0);
    assert!(stdout(&output).starts_with("1: deep\n"));
    let output = served.call(&["--session-file", &file, "write", r#"{"file_path": "h", "content": "x"}"#]);
    ended(&output, 4);
    assert!(stdout(&output).starts_with("FS_SANDBOX_DENIED: "), "{}", stdout(&output));
    // What would be passed over is refused.
    let output = served.call(&["--session-file", &file, "--cwd", "d", "read", READ]);
    ended(&output, 2);
    assert!(stderr(&output).contains("add --open-session"), "{}", stderr(&output));
    ended(&served.call(&["--session-file", &file, "--open-session", "read", READ]), 0);
}

#[test]
fn a_session_that_is_gone_is_told_with_the_way_out() {
    let served = Served::start();
    let file = served.file_beside("session");
    ended(&served.call(&["--session-file", &file, "read", READ]), 0);
    let copy = served.file_beside("copy");
    std::fs::copy(&file, &copy).unwrap();
    ended(&served.call(&["--session-file", &file, "--close-session"]), 0);

    let gone = served.call(&["--session-file", &copy, "read", READ]);
    ended(&gone, 1);
    assert!(
        stderr(&gone).contains(&copy) && stderr(&gone).contains("add --open-session"),
        "{}",
        stderr(&gone)
    );
    ended(&served.call(&["--session-file", &copy, "--open-session", "read", READ]), 0);
    ended(&served.call(&["--session-file", &copy, "edit", EDIT]), 0);
    // To close what is closed is no failure.
    ended(&served.call(&["--session-file", &copy, "--close-session", "read", READ]), 0);
    assert!(!std::path::Path::new(&copy).exists());
}

#[test]
fn a_session_file_that_others_could_write_is_not_trusted() {
    let served = Served::start();
    let file = served.file_beside("session");
    ended(&served.call(&["--session-file", &file, "read", READ]), 0);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = served.call(&["--session-file", &file, "read", READ]);
    ended(&output, 2);
    assert!(stderr(&output).contains("not for its owner alone"), "{}", stderr(&output));
}

#[test]
fn sessions_are_opened_shown_and_closed_by_hand() {
    let served = Served::start();
    let opened = served.session(&["open", "--read-only"]);
    ended(&opened, 0);
    let id = stdout(&opened).trim().to_owned();
    let shown = served.session(&["show", "--session", &id, "--output", "json"]);
    ended(&shown, 0);
    let session: Value = serde_json::from_str(stdout(&shown)).unwrap();
    assert_eq!(session["mode"], "SESSION_MODE_READ_ONLY");
    assert_eq!(session["cwd"], "/workspace");
    let listed = served.session(&["list", "--output", "json"]);
    assert_eq!(
        serde_json::from_str::<Value>(stdout(&listed)).unwrap()["sessions"][0]["name"],
        session["name"]
    );
    ended(&served.session(&["close", "--session", &id]), 0);
    ended(&served.session(&["show", "--session", &id]), 1);
    assert_eq!(stdout(&served.session(&["list"])), "no session is open\n");

    let file = served.file_beside("session");
    ended(&served.session(&["open", "--session-file", &file]), 0);
    ended(&served.session(&["open", "--session-file", &file]), 2);
    ended(&served.call(&["--session-file", &file, "read", READ]), 0);
}

#[test]
fn the_whole_answer_is_protobuf_json() {
    let served = Served::start();
    let request_id = "0d1a3b5e-7f2c-4e6a-9b8d-1c2e3f4a5b6c";
    let output =
        served.call(&["--output", "json", "--request-id", request_id, "--timeout", "30", "read", READ]);
    ended(&output, 0);
    let answer: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(answer["isError"], false);
    assert_eq!(answer["requestId"], request_id);
    assert_eq!(answer["read"]["totalLines"], "2");
    assert!(answer["content"][0]["text"].as_str().unwrap().starts_with("1: one\n"));

    let refused = served.call(&["--output", "json", "edit", EDIT]);
    ended(&refused, 4);
    let answer: Value = serde_json::from_str(stdout(&refused)).unwrap();
    assert_eq!(answer["isError"], true);
    assert_eq!(answer["error"]["reason"], "FS_NOT_OBSERVED");
    assert_eq!(answer["error"]["retryable"], false);
    ended(&served.call(&["--request-id", "one", "read", READ]), 2);
}

#[test]
fn calls_that_open_one_session_file_at_the_same_time_share_a_session() {
    let served = Served::start();
    let file = served.file_beside("session");
    let mut calls: Vec<_> = (0..4)
        .map(|_| {
            let mut call = command();
            call.args(["call", "--server", &served.socket, "--session-file", &file, "read", READ]);
            call.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for call in &mut calls {
        assert!(call.wait().unwrap().success());
    }
    let listed = served.session(&["list"]);
    assert_eq!(stdout(&listed).lines().count(), 1, "{}", stdout(&listed));
}
