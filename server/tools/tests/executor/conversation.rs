//! Whole conversations, as a model sees them.

use expect_test::expect;
use toolfs_core::argument::RawCall;
use toolfs_tools::ExecuteRequest;

use crate::support::{NO_SESSION, World, edit, read, read_at, request, write};

#[tokio::test]
async fn read_refused_edit_recovery() {
    let world = World::new();
    world.put("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    let session = world.open().await;
    let mut seen = String::new();
    seen += &world.text(&session, edit("src/main.rs", "hello", "hi")).await;
    seen += &world.text(&session, read("src/main.rs")).await;
    seen += &world.text(&session, edit("src/main.rs", "hello", "hi")).await;
    world.put("src/main.rs", "fn main() {\n    println!(\"HELLO\");\n}\n");
    seen += &world.text(&session, edit("src/main.rs", "hi", "hey")).await;
    seen += &world.text(&session, read("src/main.rs")).await;
    seen += &world.text(&session, edit("src/main.rs", "HELLO", "hey")).await;
    expect![[r#"
        FS_NOT_OBSERVED: this session has not read the file
        path: `src/main.rs`
        remedy: read it first, then retry
        1: fn main() {
        2:     println!("hello");
        3: }

        (lines 1-3 of 3)
        edited `/workspace/src/main.rs`: 1 replacement (34 bytes now)
        changed: line 2
        FS_STALE_VERSION: `/workspace/src/main.rs` is not what was seen last, its content changed
        remedy: read it again, then retry with what is there now
        1: fn main() {
        2:     println!("HELLO");
        3: }

        (lines 1-3 of 3)
        edited `/workspace/src/main.rs`: 1 replacement (35 bytes now)
        changed: line 2
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn a_file_that_is_deleted_outside() {
    let world = World::new();
    world.put("notes.txt", "one\n");
    let session = world.open().await;
    let mut seen = world.text(&session, read("notes.txt")).await;
    world.delete("notes.txt");
    seen += &world.text(&session, edit("notes.txt", "one", "two")).await;
    seen += &world.text(&session, write("notes.txt", "two\n")).await;
    seen += &world.text(&session, read("notes.txt")).await;
    seen += &world.text(&session, edit("notes.txt", "one", "two")).await;
    seen += &world.text(&session, write("notes.txt", "two\n")).await;
    expect![[r#"
        1: one

        (line 1 of 1)
        FS_STALE_VERSION: `/workspace/notes.txt` is not what was seen last, it is gone
        remedy: read it again; if it is gone, make it with `write`
        FS_STALE_VERSION: `/workspace/notes.txt` is not what was seen last, it is gone
        remedy: read it again; if it is gone, retry to make it
        FS_NOT_FOUND: nothing is at `/workspace/notes.txt`
        remedy: check the path; a new file is made with `write`
        FS_NOT_FOUND: when this session last looked, no file was there
        path: `notes.txt`
        remedy: read it again, then retry if it is there now; if it is not, make it with `write`
        created `/workspace/notes.txt` (4 bytes)
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn a_new_file_grows() {
    let world = World::new();
    let session = world.open().await;
    let mut seen = String::new();
    seen += &world.text(&session, read("list.txt")).await;
    seen += &world.text(&session, write("list.txt", "")).await;
    seen += &world.text(&session, read("list.txt")).await;
    seen += &world.text(&session, write("list.txt", "a\na\nb\n")).await;
    seen += &world.text(&session, edit("list.txt", "a", "c")).await;
    let all = RawCall::Json {
        name: "edit".into(),
        arguments_json:
            r#"{"file_path": "list.txt", "old_string": "a", "new_string": "c", "replace_all": true}"#.into(),
    };
    seen += &world.text(&session, all).await;
    seen += &world.text(&session, edit("list.txt", "B", "d")).await;
    seen += &world.text(&session, read_at("list.txt", 9)).await;
    let dry = ExecuteRequest { dry_run: true, ..request(&session, edit("list.txt", "b\n", "")) };
    seen += &(world.execute(dry).await.unwrap().text + "\n");
    seen += &world.text(&session, edit("list.txt", "b\n", "")).await;
    expect![[r#"
        FS_NOT_FOUND: nothing is at `/workspace/list.txt`
        remedy: check the path; a new file is made with `write`
        created `/workspace/list.txt` (0 bytes)
        (the file is empty: 0 lines)
        replaced the content of `/workspace/list.txt` (6 bytes, before 0 bytes)
        FS_AMBIGUOUS_EDIT: `old_string` occurs 2 times: make it longer so that it occurs once, or set `replace_all`
        path: `list.txt`
        matches start at lines 1, 2
        remedy: narrow the match: add lines before or after it to `old_string` until it occurs once; or set `replace_all` to change every occurrence
        edited `/workspace/list.txt`: 2 replacements (6 bytes now)
        changed: lines 1-2
        FS_EDIT_NOT_FOUND: `old_string` does not occur in the file; 1 place nearly matches
        path: `list.txt`
        near miss at line 3, differs in letter case:
        3: b
        remedy: if a place shown is meant, copy `old_string` from it exactly; else read the file again
        FS_OUT_OF_RANGE: line 9 is past the end: the file has 3 lines
        path: `list.txt`
        remedy: use an `offset` from 1 to 3
        dry run, nothing was changed: this would make 1 replacement in `/workspace/list.txt` (4 bytes then)
        would change: 1 line removed after line 2
        edited `/workspace/list.txt`: 1 replacement (4 bytes now)
        changed: 1 line removed after line 2
    "#]].assert_eq(&seen);
}

#[tokio::test]
async fn a_call_without_a_session() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let mut seen = world.text(NO_SESSION, read("a.txt")).await;
    seen += &world.text(NO_SESSION, edit("a.txt", "one", "two")).await;
    seen += &world.text(NO_SESSION, write("a.txt", "two\n")).await;
    seen += &world.text(NO_SESSION, write("b.txt", "two\n")).await;
    expect![[r#"
        1: one

        (line 1 of 1)
        FS_NOT_OBSERVED: a call without a session has seen nothing, so it cannot edit
        path: `a.txt`
        remedy: open a session and read the file in it, then retry in that session
        FS_NOT_OBSERVED: `/workspace/a.txt` is there already, and it was not seen before
        what is there: a regular file of 4 bytes, text
        remedy: open a session and read the file in it, then retry in that session
        created `/workspace/b.txt` (4 bytes)
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn what_is_forbidden() {
    let world = World::new();
    let session = world.open().await;
    let mut seen = String::new();
    seen += &world.text(&session, write(".git/hooks/pre-commit", "x")).await;
    seen += &world.text(&session, read("/etc/passwd")).await;
    seen += &world.text(&session, read("../../x")).await;
    seen += &world.text(&session, read("/workspace")).await;
    seen += &world.text(&session, read("~/notes")).await;
    expect![[r#"
        FS_SANDBOX_DENIED: `.git/hooks/pre-commit` is protected by the rule `.git`, it can be read and not changed
        remedy: leave everything named `.git` and all below it as it is
        FS_SANDBOX_DENIED: `/etc/passwd` leads out of the roots, only paths beneath a root are served
        remedy: use a path beneath the roots that are served
        FS_SANDBOX_DENIED: `../../x` leads out of the roots, only paths beneath a root are served
        remedy: use a path beneath the roots that are served
        FS_NOT_REGULAR_FILE: `/workspace` is a directory, only regular files have content
        remedy: use the path of a regular file
        FS_INVALID_ARGUMENT: `file_path` was a path that starts with `~`, it must be a path without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)
        remedy: correct `file_path`, then retry
    "#]].assert_eq(&seen);
}
