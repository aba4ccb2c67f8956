use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

/// The remedy of each tool, in a session and without one; equal ones are told once.
#[track_caller]
fn check(kind: ErrorKind, expected: Expect) {
    check_error(&FsError::new(kind, "scripted"), expected);
}

#[track_caller]
fn check_error(error: &FsError, expected: Expect) {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for tool in ToolName::ALL.map(Some).into_iter().chain([None]) {
        for in_session in [true, false] {
            let remedied = add(error.clone(), Attempt { tool, in_session });
            let remedy = remedied.remedy().unwrap().to_owned();
            let tool = tool.map_or("none", ToolName::as_str);
            let who = format!("{tool}{}", if in_session { "" } else { " without a session" });
            match told.iter_mut().find(|(known, _)| *known == remedy) {
                Some((_, whose)) => whose.push(who),
                None => told.push((remedy, vec![who])),
            }
        }
    }
    let mut shown = String::new();
    let is_one_for_all = told.len() == 1;
    for (remedy, whose) in told {
        let whose = if is_one_for_all { "all".to_owned() } else { whose.join(", ") };
        writeln!(shown, "{whose}: {remedy}").unwrap();
    }
    expected.assert_eq(&shown);
}

fn near_miss(reason: NearMissReason) -> ErrorKind {
    let nearest = NearMiss { start_line: 1, end_line: 1, lines: vec!["x".into()], reasons: vec![reason] };
    ErrorKind::EditNotFound { near_misses: vec![nearest], search_stopped: None }
}

fn existing(kind: FileKind, text: Option<bool>) -> ErrorKind {
    ErrorKind::NotObserved { existing: Some(Existing { kind, size: 1, text }) }
}

#[test]
fn the_guards_refusals_lead_back_to_a_read() {
    let version = || Some(toolfs_core::version::Version::of(b"x"));
    check(
        ErrorKind::StaleVersion { expected: version(), actual: version() },
        expect![[r#"
        all: read it again, then retry with what is there now
    "#]],
    );
    check(
        ErrorKind::StaleVersion { expected: version(), actual: None },
        expect![[r#"
        read, read without a session, write, write without a session, none, none without a session: read it again; if it is gone, retry to make it
        edit, edit without a session: read it again; if it is gone, make it with `write`
    "#]],
    );
    check(
        ErrorKind::NotObserved { existing: None },
        expect![[r#"
        read, write, edit, none: read it first, then retry
        read without a session, write without a session, edit without a session, none without a session: open a session and read the file in it, then retry in that session
    "#]],
    );
    check(
        existing(FileKind::Regular, Some(true)),
        expect![[r#"
        read, write, edit, none: read it first, then retry
        read without a session, write without a session, edit without a session, none without a session: open a session and read the file in it, then retry in that session
    "#]],
    );
    check(
        existing(FileKind::Regular, None),
        expect![[r#"
        read, write, edit, none: read it first, then retry; if it is no text, use another path
        read without a session, write without a session, edit without a session, none without a session: open a session and read the file in it, then retry in that session
    "#]],
    );
}

#[test]
fn what_cannot_be_read_is_no_reason_to_read_first() {
    check(
        existing(FileKind::Regular, Some(false)),
        expect![[r#"
        all: what is there cannot be read as text: use another path
    "#]],
    );
    check(
        existing(FileKind::Directory, None),
        expect![[r#"
        all: what is there cannot be read as text: use another path
    "#]],
    );
}

#[test]
fn paths() {
    check(
        ErrorKind::NotFound { similar_names: vec![] },
        expect![[r#"
            read, read without a session, none, none without a session: check the path; a new file is made with `write`
            write, write without a session: retry; a path with `..` after a directory that does not exist leads nowhere
            edit, edit without a session: read it again, then retry if it is there now; if it is not, make it with `write`
        "#]],
    );
    check(
        ErrorKind::NotFound { similar_names: vec!["a".into()] },
        expect![[r#"
            read, read without a session, none, none without a session: if one of the similar names is meant, use it exactly as it is spelled there
            write, write without a session: retry; a path with `..` after a directory that does not exist leads nowhere
            edit, edit without a session: read it again, then retry if it is there now; if it is not, make it with `write`
        "#]],
    );
    check(
        ErrorKind::NotDirectory,
        expect![[r#"
        all: use a path whose parents are directories
    "#]],
    );
    check(
        ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) },
        expect![[r#"
        all: use the path of a regular file
    "#]],
    );
    check(
        ErrorKind::NotText { byte_offset: 0, encoding: None },
        expect![[r#"
        read, read without a session, write, write without a session, none, none without a session: only UTF-8 text can be read: leave this file alone, or use another path
        edit, edit without a session: only UTF-8 text can be edited: leave this file alone, or use another path
    "#]],
    );
    check(
        ErrorKind::PermissionDenied,
        expect![[r#"
        all: use another path, or ask for the permission
    "#]],
    );
}

#[test]
fn rules() {
    for (rule, expected) in [
        (
            ROOTS_RULE,
            expect![[r#"
            all: use a path beneath the roots that are served
        "#]],
        ),
        (
            SESSION_ROOTS_RULE,
            expect![[r#"
            all: use a path beneath the roots of this session
        "#]],
        ),
        (
            READ_ONLY_RULE,
            expect![[r#"
            all: only reading is allowed here: leave the file as it is
        "#]],
        ),
        (
            ".git",
            expect![[r#"
            all: leave everything named `.git` and all below it as it is
        "#]],
        ),
    ] {
        check(ErrorKind::SandboxDenied { rule: rule.into() }, expected);
    }
}

#[test]
fn edits_that_do_not_match() {
    check(
        ErrorKind::AmbiguousEdit { match_count: 2, lines: vec![1, 2] },
        expect![[r#"
        all: narrow the match: add lines before or after it to `old_string` until it occurs once; or set `replace_all` to change every occurrence
    "#]],
    );
    check(
        ErrorKind::EditNotFound { near_misses: vec![], search_stopped: None },
        expect![[r#"
        all: read the part that is to change, and copy `old_string` from it exactly
    "#]],
    );
    check(
        near_miss(NearMissReason::Indentation),
        expect![[r#"
        all: if a place shown is meant, copy `old_string` from it exactly; else read the file again
    "#]],
    );
    check(
        near_miss(NearMissReason::LineNumberPrefix),
        expect![[r#"
        all: leave the line numbers and the colon after them out of `old_string`
    "#]],
    );
    check(
        near_miss(NearMissReason::DoubledEscapes),
        expect![[r#"
        all: write `old_string` as the file has it: nothing in it is unescaped here
    "#]],
    );
}

#[test]
fn arguments_and_sizes() {
    let too_large = |limit_name| ErrorKind::TooLarge { limit_name, limit_bytes: 16, size_bytes: 17 };
    check(
        too_large(LimitName::MaxContentBytes),
        expect![[r#"
            all: give at most 16 bytes at once; add the rest with `edit`
        "#]],
    );
    check(
        too_large(LimitName::MaxFileBytes),
        expect![[r#"
        all: keep the file at 16 bytes or less
    "#]],
    );
    check(
        too_large(LimitName::MaxReadBytes),
        expect![[r#"
        all: ask for at most 16 bytes
    "#]],
    );
    check(
        ErrorKind::OutOfRange { total_lines: 7 },
        expect![[r#"
        all: use an `offset` from 1 to 7
    "#]],
    );
    check(
        ErrorKind::OutOfRange { total_lines: 0 },
        expect![[r#"
        all: the file is empty: leave `offset` out
    "#]],
    );
    let invalid =
        ErrorKind::InvalidArgument { field: "offset".into(), actual: "0".into(), expected: "1".into() };
    check(
        invalid,
        expect![[r#"
        all: correct `offset`, then retry
    "#]],
    );
}

#[test]
fn the_server_and_its_storage() {
    check(
        ErrorKind::NoSpace,
        expect![[r#"
        all: free space, then retry
    "#]],
    );
    check(
        ErrorKind::IoError,
        expect![[r#"
        all: retry once; if it fails again, tell the operator of the storage
    "#]],
    );
    check(
        ErrorKind::Unsupported,
        expect![[r#"
        all: this server cannot do that: find another way
    "#]],
    );
    for (cause, expected) in [
        (
            UnavailableCause::OpenForWriting,
            expect![[r#"
            all: wait until the other process has closed the file, then retry
        "#]],
        ),
        (
            UnavailableCause::KeepsChanging,
            expect![[r#"
            all: wait until nobody else is changing the path, then retry
        "#]],
        ),
        (
            UnavailableCause::ProviderUnreachable,
            expect![[r#"
            all: retry a little later
        "#]],
        ),
        (
            UnavailableCause::Overloaded,
            expect![[r#"
            all: retry a little later
        "#]],
        ),
    ] {
        check(ErrorKind::Unavailable { cause }, expected);
    }
    for (cause, expected) in [
        (
            AbortCause::Cancelled,
            expect![[r#"
            all: retry if it is still wanted
        "#]],
        ),
        (
            AbortCause::DeadlineExceeded,
            expect![[r#"
            all: retry with more time
        "#]],
        ),
        (
            AbortCause::Draining,
            expect![[r#"
            all: retry when the server is back
        "#]],
        ),
    ] {
        check(ErrorKind::Aborted { cause }, expected);
    }
}

#[test]
fn what_may_be_there_must_be_looked_at() {
    let failed = |published| FsError::new(ErrorKind::IoError, "scripted").with_published(published);
    check_error(
        &failed(Published::Maybe),
        expect![[r#"
        all: read the file to see whether the change is there, then go on from what it shows
    "#]],
    );
    check_error(
        &failed(Published::Yes),
        expect![[r#"
        all: go on, the change is there; if it must survive a power cut, write it again when the storage works
    "#]],
    );
}

#[test]
fn a_remedy_that_is_there_stays() {
    let error = for_lost_cwd(FsError::new(ErrorKind::NotFound { similar_names: vec![] }, "scripted"));
    let remedy = error.remedy().unwrap().to_owned();
    let attempt = Attempt { tool: Some(ToolName::Read), in_session: true };
    assert_eq!(add(error, attempt).remedy(), Some(remedy.as_str()));
}
