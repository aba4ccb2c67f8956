use std::collections::BTreeSet;

use expect_test::{Expect, expect};

use crate::error::{
    AbortCause, Code, Encoding, ErrorKind, Existing, FsError, NearMiss, NearMissReason, Published,
    SearchStop, UnavailableCause,
};
use crate::limit::LimitName;
use crate::render;
use crate::target::FileKind;
use crate::text::summarize;
use crate::version::Version;

const PATH: &str = "/ws/src/main.rs";

/// An error as the tool layer hands it over: message, path, remedy.
fn error(kind: ErrorKind, message: &str, remedy: &str) -> FsError {
    FsError::new(kind, message).with_path(PATH).with_remedy(remedy)
}

#[track_caller]
fn check(error: FsError, expected: Expect) {
    expected.assert_eq(&render::error(&error));
}

/// One error of every code, with all its facts.
pub(super) fn one_of_each() -> Vec<FsError> {
    let existing = Existing { kind: FileKind::Regular, size: 812, text: Some(true) };
    vec![
        error(
            ErrorKind::NotFound { similar_names: vec!["Main.rs".into(), "main.py".into()] },
            "nothing is at `/ws/src/main.rs`",
            "check the path",
        ),
        error(ErrorKind::NotDirectory, "a parent of the path is no directory", "check the path"),
        error(
            ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) },
            "the path is a named pipe, not a regular file",
            "use the path of a regular file",
        ),
        FsError::from(summarize(b"h\0i\0").unwrap_err()).with_path(PATH),
        error(
            ErrorKind::TooLarge {
                limit_name: LimitName::MaxContentBytes,
                limit_bytes: 16_777_216,
                size_bytes: 20_000_000,
            },
            "`content` has 20000000 bytes, `max_content_bytes` is 16777216",
            "write less",
        ),
        error(
            ErrorKind::OutOfRange { total_lines: 12 },
            "offset 40 is past the end",
            "read from offset 12 or less",
        ),
        error(ErrorKind::PermissionDenied, "the file has no write permission", "ask for permission"),
        error(
            ErrorKind::SandboxDenied { rule: ".git".into() },
            "the path is protected",
            "leave this path alone",
        ),
        error(ErrorKind::NoSpace, "the disk is full", "free some space"),
        error(ErrorKind::IoError, "the storage failed while writing", "report this"),
        error(
            ErrorKind::StaleVersion { expected: Some(Version::of(b"a")), actual: Some(Version::of(b"b")) },
            "the file changed since this session last saw it",
            "read the file again, then retry",
        ),
        error(
            ErrorKind::NotObserved { existing: Some(existing) },
            "a file exists that this session has not read",
            "read the file first, then retry",
        ),
        error(
            ErrorKind::AmbiguousEdit { match_count: 3, lines: vec![2, 9, 40] },
            "`old_string` occurs 3 times",
            "give more of the text around it, or set `replace_all`",
        ),
        error(
            ErrorKind::EditNotFound { near_misses: vec![near_miss()], search_stopped: None },
            "`old_string` does not occur in the file",
            "give the text exactly as it is in the file",
        ),
        FsError::invalid_argument("offset", "0", "at least 1"),
        error(ErrorKind::Unsupported, "this provider has no hard links", "do without"),
        error(
            ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting },
            "another process holds the file open for writing",
            "retry in a moment",
        ),
        error(
            ErrorKind::Aborted { cause: AbortCause::DeadlineExceeded },
            "the time of the call is over",
            "retry",
        ),
    ]
}

fn near_miss() -> NearMiss {
    NearMiss {
        start_line: 9,
        end_line: 10,
        lines: vec!["\tif ready {".into(), "\t\trun();".into()],
        reasons: vec![NearMissReason::TabsOrSpaces, NearMissReason::Indentation],
    }
}

#[test]
fn each_code_reads_well() {
    let errors = one_of_each();
    let codes: BTreeSet<Code> = errors.iter().map(FsError::code).collect();
    assert_eq!(codes.len(), Code::ALL.len(), "one error of each code");
    let texts: Vec<String> = errors.iter().map(render::error).collect();
    expect![[r#"
        FS_NOT_FOUND: nothing is at `/ws/src/main.rs`
        similar names there: `Main.rs`, `main.py`
        remedy: check the path
        ---
        FS_NOT_DIRECTORY: a parent of the path is no directory
        path: `/ws/src/main.rs`
        remedy: check the path
        ---
        FS_NOT_REGULAR_FILE: the path is a named pipe, not a regular file
        path: `/ws/src/main.rs`
        remedy: use the path of a regular file
        ---
        FS_NOT_TEXT: the file is no UTF-8 text: it seems to be UTF-16LE (a NUL byte at offset 1)
        path: `/ws/src/main.rs`
        ---
        FS_TOO_LARGE: `content` has 20000000 bytes, `max_content_bytes` is 16777216
        path: `/ws/src/main.rs`
        remedy: write less
        ---
        FS_OUT_OF_RANGE: offset 40 is past the end
        path: `/ws/src/main.rs`
        the file has 12 lines
        remedy: read from offset 12 or less
        ---
        FS_PERMISSION_DENIED: the file has no write permission
        path: `/ws/src/main.rs`
        remedy: ask for permission
        ---
        FS_SANDBOX_DENIED: the path is protected
        path: `/ws/src/main.rs`
        rule: .git
        remedy: leave this path alone
        ---
        FS_NO_SPACE: the disk is full
        path: `/ws/src/main.rs`
        remedy: free some space
        ---
        FS_IO_ERROR: the storage failed while writing
        path: `/ws/src/main.rs`
        remedy: report this
        ---
        FS_STALE_VERSION: the file changed since this session last saw it
        path: `/ws/src/main.rs`
        remedy: read the file again, then retry
        ---
        FS_NOT_OBSERVED: a file exists that this session has not read
        path: `/ws/src/main.rs`
        what is there: a regular file of 812 bytes, text
        remedy: read the file first, then retry
        ---
        FS_AMBIGUOUS_EDIT: `old_string` occurs 3 times
        path: `/ws/src/main.rs`
        matches start at lines 2, 9, 40
        remedy: give more of the text around it, or set `replace_all`
        ---
        FS_EDIT_NOT_FOUND: `old_string` does not occur in the file
        path: `/ws/src/main.rs`
        near miss at lines 9-10, differs in tabs or spaces, indentation:
        9: 	if ready {
        10: 		run();
        remedy: give the text exactly as it is in the file
        ---
        FS_INVALID_ARGUMENT: `offset` was 0, it must be at least 1
        ---
        FS_UNSUPPORTED: this provider has no hard links
        path: `/ws/src/main.rs`
        remedy: do without
        ---
        FS_UNAVAILABLE: another process holds the file open for writing
        path: `/ws/src/main.rs`
        remedy: retry in a moment
        ---
        FS_ABORTED: the time of the call is over
        path: `/ws/src/main.rs`
        remedy: retry"#]]
    .assert_eq(&texts.join("\n---\n"));
}

#[test]
fn the_remedy_is_the_last_line_and_the_code_the_first_word() {
    for error in one_of_each() {
        let text = render::error(&error);
        assert!(text.starts_with(&format!("{}: ", error.code())), "{text}");
        if let Some(remedy) = error.remedy() {
            assert_eq!(text.lines().last(), Some(format!("remedy: {remedy}").as_str()));
        }
    }
}

#[test]
fn a_version_is_never_shown() {
    for error in one_of_each() {
        assert!(!render::error(&error).contains(Version::of(b"a").as_str()));
    }
}

#[test]
fn facts_that_the_message_leaves_out_are_added() {
    let bare = |kind| FsError::new(kind, "refused");
    check(
        bare(ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) }),
        expect![[r#"
        FS_NOT_REGULAR_FILE: refused
        what is there: a directory"#]],
    );
    check(
        bare(ErrorKind::NotText { byte_offset: 7, encoding: Some(Encoding::Utf16Be) }),
        expect![[r#"
        FS_NOT_TEXT: refused
        first byte that is no text: offset 7
        the encoding seems to be UTF-16BE"#]],
    );
    let too_large =
        ErrorKind::TooLarge { limit_name: LimitName::MaxFileBytes, limit_bytes: 10, size_bytes: 11 };
    check(
        bare(too_large),
        expect![[r#"
        FS_TOO_LARGE: refused
        size: 11 bytes; max_file_bytes: 10 bytes"#]],
    );
    check(
        bare(ErrorKind::OutOfRange { total_lines: 1 }),
        expect![[r#"
        FS_OUT_OF_RANGE: refused
        the file has 1 line"#]],
    );
    check(
        bare(ErrorKind::InvalidArgument {
            field: "limit".into(),
            actual: "-1".into(),
            expected: "at least 1".into(),
        }),
        expect![[r#"
            FS_INVALID_ARGUMENT: refused
            field: limit
            actual: -1
            expected: at least 1"#]],
    );
}

#[test]
fn a_number_inside_another_number_is_not_named() {
    check(
        FsError::new(ErrorKind::OutOfRange { total_lines: 12 }, "offset 1200 is past the end"),
        expect![[r#"
        FS_OUT_OF_RANGE: offset 1200 is past the end
        the file has 12 lines"#]],
    );
}

#[test]
fn what_is_there_is_told_with_what_is_known_of_it() {
    let existing = |kind, text| ErrorKind::NotObserved { existing: Some(Existing { kind, size: 1, text }) };
    check(
        FsError::new(existing(FileKind::Regular, Some(false)), "not seen"),
        expect![[r#"
        FS_NOT_OBSERVED: not seen
        what is there: a regular file of 1 byte, not text"#]],
    );
    check(
        FsError::new(existing(FileKind::Regular, None), "not seen"),
        expect![[r#"
        FS_NOT_OBSERVED: not seen
        what is there: a regular file of 1 byte"#]],
    );
    check(
        FsError::new(existing(FileKind::Directory, None), "not seen"),
        expect![[r#"
        FS_NOT_OBSERVED: not seen
        what is there: a directory"#]],
    );
    check(
        FsError::new(ErrorKind::NotObserved { existing: None }, "not seen"),
        expect!["FS_NOT_OBSERVED: not seen"],
    );
}

#[test]
fn many_matches_show_the_first_ones() {
    let lines = (1..=20).collect();
    check(
        FsError::new(ErrorKind::AmbiguousEdit { match_count: 345, lines }, "several"),
        expect![[r#"
        FS_AMBIGUOUS_EDIT: several
        matches start at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 (the first 20 of 345)"#]],
    );
    check(
        FsError::new(ErrorKind::AmbiguousEdit { match_count: 2, lines: Vec::new() }, "several"),
        expect![[r#"
        FS_AMBIGUOUS_EDIT: several
        matches: 2"#]],
    );
}

#[test]
fn a_search_says_how_far_it_went() {
    let not_found = |near_misses, search_stopped| {
        FsError::new(ErrorKind::EditNotFound { near_misses, search_stopped }, "`old_string` does not occur")
    };
    check(
        not_found(Vec::new(), None),
        expect![[r#"
        FS_EDIT_NOT_FOUND: `old_string` does not occur
        no part of the file nearly matches it"#]],
    );
    check(
        not_found(Vec::new(), Some(SearchStop::Time)),
        expect![[r#"
        FS_EDIT_NOT_FOUND: `old_string` does not occur
        the search for near misses ended early (time budget): not all of the file was looked at"#]],
    );
    let long = NearMiss { end_line: 30, ..near_miss() };
    let single = NearMiss {
        end_line: 9,
        lines: vec!["x".repeat(2_000)],
        reasons: vec![NearMissReason::LineNumberPrefix],
        ..near_miss()
    };
    check(
        not_found(vec![long, single], Some(SearchStop::Bytes)),
        expect![[r#"
        FS_EDIT_NOT_FOUND: `old_string` does not occur
        near miss at lines 9-30, differs in tabs or spaces, indentation:
        9: 	if ready {
        10: 		run();
        (lines 11-30 are not shown)
        near miss at line 9, differs in a line-number prefix in old_string:
        9: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        the search for near misses ended early (byte budget): not all of the file was looked at"#]],
    );
}

#[test]
fn an_effect_that_may_be_there_is_told() {
    let lost = |published| {
        FsError::new(ErrorKind::IoError, "making the change durable failed")
            .with_path(PATH)
            .with_published(published)
    };
    check(
        lost(Published::Yes),
        expect![[r#"
        FS_IO_ERROR: making the change durable failed
        path: `/ws/src/main.rs`
        the new content is in place all the same: do not make the change again"#]],
    );
    check(
        lost(Published::Maybe).with_rescue_path("/ws/src/.rescue-1").with_remedy("report this"),
        expect![[r#"
        FS_IO_ERROR: making the change durable failed
        path: `/ws/src/main.rs`
        whether the change was made is not known: reading the file tells
        displaced content is kept at `/ws/src/.rescue-1`
        remedy: report this"#]],
    );
}

#[test]
fn a_path_that_is_a_letter_of_the_message_is_still_told() {
    let error = FsError::new(ErrorKind::NotDirectory, "the file is no directory").with_path("f");
    check(
        error,
        expect![[r#"
            FS_NOT_DIRECTORY: the file is no directory
            path: `f`"#]],
    );
}

#[test]
fn a_path_that_the_message_names_is_told_once() {
    for path in ["notes.txt", "/workspace/notes.txt", "space/notes.txt"] {
        let error =
            FsError::new(ErrorKind::NotDirectory, "`/workspace/notes.txt` is no directory").with_path(path);
        let told_again = super::super::error(&error).contains("path:");
        assert_eq!(told_again, path == "space/notes.txt", "{path}");
    }
}
