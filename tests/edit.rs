//! Editing: where text matches and which bytes change. When an edit may land is in `staleness.rs`.

use expect_test::{Expect, expect};
use toolfs_core::argument::RawCall;

use crate::support::answer::{Answer, version_of};
use crate::support::door::{Ask, edit_all_call, edit_call};
use crate::support::{World, cases};

cases! {
    text: [
        a_unique_match_is_replaced_and_told,
        an_empty_new_string_deletes_the_match,
        a_missing_argument_changes_nothing,
        an_empty_old_string_is_refused_and_points_to_write,
        strings_that_differ_in_line_ends_only_are_refused,
        lines_that_were_not_touched_keep_their_endings,
        lf_matches_crlf_and_the_file_keeps_its_ending,
        new_lines_take_the_ending_of_what_they_replace,
        a_carriage_return_is_not_doubled,
        a_crlf_is_never_split,
        a_byte_order_mark_survives_and_is_not_in_the_way,
        quotes_are_not_folded,
        nothing_in_new_string_is_special,
        nothing_in_old_string_is_special,
        escapes_are_not_decoded,
        several_matches_change_nothing_and_are_told_with_their_lines,
        only_the_first_twenty_lines_of_many_matches_are_told,
        matches_beyond_the_window_that_was_read_are_told,
        overlapping_matches_count_for_uniqueness,
        replace_all_goes_from_the_left_and_never_rescans,
        a_match_in_mid_line_is_not_reindented,
        no_match_leaves_the_file_as_it_is,
        a_block_that_differs_inside_is_no_match,
        a_tab_that_was_shown_as_a_tab_is_pointed_out,
        why_something_near_does_not_match_is_told,
        a_final_newline_can_be_added,
        the_last_line_gets_no_second_newline,
        the_strings_are_not_echoed,
        only_the_full_view_has_the_diff,
        a_dry_run_shows_the_matches_and_changes_nothing,
        a_typed_edit_and_a_json_edit_are_the_same,
    ];
    disk: [
        a_failed_edit_touches_neither_inode_nor_time,
    ];
    unguarded_outside: [
        bytes_that_are_no_utf8_are_refused_and_never_transcoded,
        an_edit_of_what_is_no_file_is_refused,
    ];
}

#[track_caller]
fn check(answer: &Answer, expected: Expect) {
    expected.assert_eq(&answer.show());
}

/// Edits a file that was read just before.
async fn edited(world: &World, before: &str, old: &str, new: &str) -> Answer {
    world.put("f", before).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    agent.edit("f", old, new).await
}

/// What an edit makes of a file.
async fn becomes(world: &World, before: &str, old: &str, new: &str, after: &str) {
    let answer = edited(world, before, old, new).await;
    assert_eq!(answer.code(), "worked", "{before:?} {old:?} {new:?}: {}", answer.text);
    assert_eq!(answer.ok().get("version"), version_of(after), "{before:?} {old:?} {new:?}");
    world.expect("f", after).await;
}

/// The same with `replace_all`; returns how many were replaced.
async fn all_become(world: &World, before: &str, old: &str, new: &str, after: &str) -> String {
    world.put("f", before).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let answer = agent.edit_all("f", old, new).await;
    assert_eq!(answer.ok().get("version"), version_of(after), "{before:?} {old:?} {new:?}");
    world.expect("f", after).await;
    answer.ok().get("replacements").to_owned()
}

/// An edit that must be refused, and leave the file as it is.
async fn refused(world: &World, before: &str, old: &str, new: &str, code: &str) -> Answer {
    let answer = edited(world, before, old, new).await;
    answer.refused(code);
    world.expect("f", before).await;
    answer
}

async fn a_unique_match_is_replaced_and_told(world: World) {
    let answer = edited(&world, "one\ntwo\nthree\n", "two\n", "2\nzwei\n").await;
    check(
        &answer,
        expect![[r#"
        edited `/workspace/f`: 1 replacement (17 bytes now)
        changed: lines 2-3
        --
        path: /workspace/f
        replacements: 1
        replace_all: false
        changed: 2+1 to 2+2
        changes: 1
        version: <version>
    "#]],
    );
    world.expect("f", "one\n2\nzwei\nthree\n").await;
}

async fn an_empty_new_string_deletes_the_match(world: World) {
    becomes(&world, "one\ntwo\nthree\n", "two\n", "", "one\nthree\n").await;
    becomes(&world, "only", "only", "", "").await;
    assert_eq!(all_become(&world, "a-b-c", "-", "", "abc").await, "2");
}

async fn a_missing_argument_changes_nothing(world: World) {
    world.put("f", "kept\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let call = |path: Option<&str>, old: Option<&str>, new: Option<&str>| {
        Ask::of(RawCall::Edit {
            file_path: path.map(Into::into),
            old_string: old.map(Into::into),
            new_string: new.map(Into::into),
            replace_all: Some(true),
        })
    };
    for (typed, json, field) in [
        (
            call(Some("f"), Some("kept"), None),
            r#"{"file_path": "f", "old_string": "kept", "replace_all": true}"#,
            "new_string",
        ),
        (
            call(Some("f"), Some("kept"), None),
            r#"{"file_path": "f", "old_string": "kept", "new_string": null}"#,
            "new_string",
        ),
        (call(Some("f"), None, Some("x")), r#"{"file_path": "f", "new_string": "x"}"#, "old_string"),
        (call(None, Some("kept"), Some("x")), r#"{"old_string": "kept", "new_string": "x"}"#, "file_path"),
    ] {
        let typed = agent.ask(typed).await;
        let error = typed.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), (field, "absent"));
        assert_eq!(agent.json("edit", json).await, typed, "{json}");
    }
    world.expect("f", "kept\n").await;
}

async fn an_empty_old_string_is_refused_and_points_to_write(world: World) {
    world.put("f", "qr").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    for call in [edit_call("f", "", "Z"), edit_all_call("f", "", "Z")] {
        let answer = agent.ask(Ask::of(call)).await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!(error.get("field"), "old_string");
        assert!(error.get("expected").contains("`write`"), "{error}");
    }
    world.expect("f", "qr").await;
}

async fn strings_that_differ_in_line_ends_only_are_refused(world: World) {
    for (old, new) in [("p\r\nq", "p\nq"), ("p\nq", "p\r\nq"), ("p", "p")] {
        let answer = refused(&world, "p\r\nq", old, new, "FS_INVALID_ARGUMENT").await;
        assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "new_string");
    }
}

async fn lines_that_were_not_touched_keep_their_endings(world: World) {
    becomes(&world, "a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n").await;
    becomes(&world, "a\nb\r\nc", "b", "B", "a\nB\r\nc").await;
    becomes(&world, "a\rb\r\nc\n", "b", "B", "a\rB\r\nc\n").await;
}

async fn lf_matches_crlf_and_the_file_keeps_its_ending(world: World) {
    becomes(&world, "x=1\r\ny=2\r\n", "x=1\ny=2", "x=1\ny=3", "x=1\r\ny=3\r\n").await;
    becomes(&world, "x=1\ny=2\n", "x=1\r\ny=2", "x=1\r\ny=3", "x=1\ny=3\n").await;
    // One view for counting too: these are two matches.
    let answer = refused(&world, "a\r\nb\na\nb\r\n", "a\nb", "c", "FS_AMBIGUOUS_EDIT").await;
    assert_eq!(answer.refused("FS_AMBIGUOUS_EDIT").get("match_count"), "2");
    // Mixed endings inside a match stay where old and new share text.
    becomes(&world, "a\r\nb\nc\nd\r\n", "a\nb\nc\nd", "a\nb\nC\nd", "a\r\nb\nC\nd\r\n").await;
}

async fn new_lines_take_the_ending_of_what_they_replace(world: World) {
    becomes(&world, "one\r\ntwo\r\n", "one\n", "1\n1b\n", "1\r\n1b\r\ntwo\r\n").await;
    // No line end in the match: the file's dominant one.
    becomes(&world, "one\r\ntwo\r\nx\n", "one", "1\n1b", "1\r\n1b\r\ntwo\r\nx\n").await;
    becomes(&world, "one\ntwo\nx\r\n", "x", "y\r\nz", "one\ntwo\ny\nz\r\n").await;
    // A file without any: as given.
    becomes(&world, "one", "one", "a\nb", "a\nb").await;
}

async fn a_carriage_return_is_not_doubled(world: World) {
    becomes(&world, "l1\r\nl2\r\n", "l2", "X", "l1\r\nX\r\n").await;
    becomes(&world, "l1\r\nl2\r\n", "l2\r\n", "X\r\n", "l1\r\nX\r\n").await;
}

async fn a_crlf_is_never_split(world: World) {
    refused(&world, "a\r\nb\r\n", "\r", "x", "FS_EDIT_NOT_FOUND").await;
    becomes(&world, "a\r\nb", "\n", " ", "a b").await;
    assert_eq!(all_become(&world, "a\r\nb\nc\r\n", "\n", ";", "a;b;c;").await, "3");
}

async fn a_byte_order_mark_survives_and_is_not_in_the_way(world: World) {
    let (before, after) = ("\u{feff}const s=\"é\";\n", "\u{feff}let s=\"é\";\n");
    becomes(&world, before, "const", "let", after).await;
    becomes(&world, before, "const s=\"é\";\n", "let s=\"é\";\n", after).await;
    becomes(&world, before, "const s=\"é\";\n", "", "\u{feff}").await;
}

async fn quotes_are_not_folded(world: World) {
    becomes(&world, "it's\n", "it's", "it\u{2019}s", "it\u{2019}s\n").await;
    let answer = refused(&world, "it\u{2019}s\n", "it's", "its", "FS_EDIT_NOT_FOUND").await;
    let near = answer.refused("FS_EDIT_NOT_FOUND").get("near_miss").to_owned();
    assert!(near.contains("LookAlikes"), "{near}");
}

async fn nothing_in_new_string_is_special(world: World) {
    let new = "<$&|$$|$`|$'|$1|\\1|\\n|${0}|%s|&amp;>";
    becomes(&world, "one\ntwo\nthree\n", "two", new, &format!("one\n{new}\nthree\n")).await;
    all_become(&world, "two two\n", "two", new, &format!("{new} {new}\n")).await;
}

async fn nothing_in_old_string_is_special(world: World) {
    becomes(&world, "a.c abc\n", "a.c", "x", "x abc\n").await;
    becomes(&world, "f(x) [y]* ^$\n", "[y]* ^$", "z", "f(x) z\n").await;
    refused(&world, "abc\n", "a.c", "x", "FS_EDIT_NOT_FOUND").await;
}

async fn escapes_are_not_decoded(world: World) {
    becomes(&world, "p(\"a\\nb\")\n", "a\\nb", "a\\tb", "p(\"a\\tb\")\n").await;
    refused(&world, "a\nb\n", "a\\nb", "x", "FS_EDIT_NOT_FOUND").await;
    refused(&world, "a & b\n", "a &amp; b", "x", "FS_EDIT_NOT_FOUND").await;
}

async fn several_matches_change_nothing_and_are_told_with_their_lines(world: World) {
    let answer = refused(&world, "a\nx\nb\nx\n", "x", "y", "FS_AMBIGUOUS_EDIT").await;
    check(
        &answer,
        expect![[r#"
        FS_AMBIGUOUS_EDIT: `old_string` occurs 2 times: make it longer so that it occurs once, or set `replace_all`
        path: `f`
        matches start at lines 2, 4
        remedy: narrow the match: add lines before or after it to `old_string` until it occurs once; or set `replace_all` to change every occurrence
        --
        code: FS_AMBIGUOUS_EDIT
        message: `old_string` occurs 2 times: make it longer so that it occurs once, or set `replace_all`
        path: f
        remedy: narrow the match: add lines before or after it to `old_string` until it occurs once; or set `replace_all` to change every occurrence
        retryable: false
        published: No
        match_count: 2
        lines: 2; 4
    "#]],
    );
    let answer = refused(&world, "f {\n}\ng {\n}\nh {\n}\n", "}", "};", "FS_AMBIGUOUS_EDIT").await;
    let error = answer.refused("FS_AMBIGUOUS_EDIT");
    assert_eq!((error.get("match_count"), error.get("lines")), ("3", "2; 4; 6"));
}

async fn only_the_first_twenty_lines_of_many_matches_are_told(world: World) {
    let answer = refused(&world, &"x\n".repeat(10_000), "x", "y", "FS_AMBIGUOUS_EDIT").await;
    let error = answer.refused("FS_AMBIGUOUS_EDIT");
    assert_eq!(error.get("match_count"), "10000");
    let lines: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
    assert_eq!(error.get("lines"), lines.join("; "));
}

async fn matches_beyond_the_window_that_was_read_are_told(world: World) {
    let mut lines = vec!["filling filling filling".to_owned(); 18_000];
    lines[1] = "TOKEN".into();
    lines[17_990] = "TOKEN".into();
    world.put("f", lines.join("\n")).await;
    let agent = world.agent().await;
    assert_eq!(agent.read("f").await.ok().get("line_count"), "2000");
    let answer = agent.edit("f", "TOKEN", "x").await;
    assert_eq!(answer.refused("FS_AMBIGUOUS_EDIT").get("lines"), "2; 17991");
    let answer = agent.edit_all("f", "TOKEN", "x").await;
    assert_eq!((answer.ok().get("replacements"), answer.ok().get("changes")), ("2", "2"));
    assert_eq!(answer.ok().get("changed"), "2+1 to 2+1; 17991+1 to 17991+1");
}

async fn overlapping_matches_count_for_uniqueness(world: World) {
    let answer = refused(&world, "aaa\n", "aa", "b", "FS_AMBIGUOUS_EDIT").await;
    assert_eq!(answer.refused("FS_AMBIGUOUS_EDIT").get("match_count"), "2");
}

async fn replace_all_goes_from_the_left_and_never_rescans(world: World) {
    assert_eq!(all_become(&world, "aaaaa\n", "aa", "b", "bba\n").await, "2");
    assert_eq!(all_become(&world, "a b a\n", "a", "aa", "aa b aa\n").await, "2");
    assert_eq!(all_become(&world, "xyxy\n", "xy", "y", "yy\n").await, "2");
    // One match is fine too.
    assert_eq!(all_become(&world, "once\n", "once", "1", "1\n").await, "1");
}

async fn a_match_in_mid_line_is_not_reindented(world: World) {
    let before = "        if a:\n        b()\n";
    let after = "        if c:\n        d()\n";
    becomes(&world, before, "if a:\n        b()", "if c:\n        d()", after).await;
}

async fn no_match_leaves_the_file_as_it_is(world: World) {
    let answer = refused(&world, "one\n", "entirely different", "x", "FS_EDIT_NOT_FOUND").await;
    check(
        &answer,
        expect![[r#"
            FS_EDIT_NOT_FOUND: `old_string` does not occur in the file
            path: `f`
            no part of the file nearly matches it
            remedy: read the part that is to change, and copy `old_string` from it exactly
            --
            code: FS_EDIT_NOT_FOUND
            message: `old_string` does not occur in the file
            path: f
            remedy: read the part that is to change, and copy `old_string` from it exactly
            retryable: false
            published: No
        "#]],
    );
}

async fn a_block_that_differs_inside_is_no_match(world: World) {
    let before = "begin\n k1\n k2\n k3\nend\n";
    let answer = refused(&world, before, "begin\n k1\n k7\n k3\nend\n", "x", "FS_EDIT_NOT_FOUND").await;
    let near = answer.refused("FS_EDIT_NOT_FOUND").get("near_miss").to_owned();
    assert!(near.starts_with("1-5 ") && near.ends_with("SomeLinesDiffer"), "{near}");
}

async fn a_tab_that_was_shown_as_a_tab_is_pointed_out(world: World) {
    let before = "\tif x {\n\t\ty()\n\t}\n";
    let answer = refused(&world, before, "    if x {\n        y()\n    }\n", "z", "FS_EDIT_NOT_FOUND").await;
    check(
        &answer,
        expect![[r#"
            FS_EDIT_NOT_FOUND: `old_string` does not occur in the file; 1 place nearly matches
            path: `f`
            near miss at lines 1-3, differs in tabs or spaces:
            1: 	if x {
            2: 		y()
            3: 	}
            remedy: if a place shown is meant, copy `old_string` from it exactly; else read the file again
            --
            code: FS_EDIT_NOT_FOUND
            message: `old_string` does not occur in the file; 1 place nearly matches
            path: f
            remedy: if a place shown is meant, copy `old_string` from it exactly; else read the file again
            retryable: false
            published: No
            near_miss: 1-3 ["\tif x {", "\t\ty()", "\t}"] TabsOrSpaces
        "#]],
    );
}

async fn why_something_near_does_not_match_is_told(world: World) {
    for (before, old, reason) in [
        ("let x  = 1;\n", "let x = 1;", "WhiteSpace"),
        ("  deep\n    deeper\n", "deep\n  deeper\n", "Indentation"),
        ("first  \nsecond\n", "first\nsecond\n", "TrailingBlanks"),
        ("a \u{2013} b\n", "a - b", "LookAlikes"),
        ("cafe\u{301}\n", "caf\u{e9}", "NormalForm"),
        ("one\ntwo\n", "1: one\n2: two", "LineNumberPrefix"),
        ("print(\"a\\n\")\n", "print(\\\"a\\\\n\\\")", "DoubledEscapes"),
        ("Hello World\n", "hello world", "LetterCase"),
    ] {
        let answer = refused(&world, before, old, "x", "FS_EDIT_NOT_FOUND").await;
        let error = answer.refused("FS_EDIT_NOT_FOUND");
        let near = error.find("near_miss").unwrap_or("nothing near");
        assert!(near.contains(reason), "{before:?} {old:?}: {near}");
    }
}

async fn a_final_newline_can_be_added(world: World) {
    becomes(&world, "}", "}", "}\n", "}\n").await;
    becomes(&world, "}\n", "}\n", "}", "}").await;
    becomes(&world, " x ", " x ", "x", "x").await;
}

async fn the_last_line_gets_no_second_newline(world: World) {
    becomes(&world, "u\nv\n", "v\n", "w\n", "u\nw\n").await;
    becomes(&world, "u\nv", "v", "w", "u\nw").await;
}

async fn the_strings_are_not_echoed(world: World) {
    for (before, old) in [("x\n", "hunter2-old"), ("hunter2-old hunter2-old\n", "hunter2-old")] {
        let answer = edited(&world, before, old, "hunter2-new").await;
        assert_ne!(answer.code(), "worked");
        assert!(!answer.show().contains("hunter2"), "{}", answer.show());
    }
    let answer = edited(&world, "hunter2-old\n", "hunter2-old", "hunter2-new").await;
    assert!(!answer.ok().to_string().contains("hunter2") && !answer.text.contains("hunter2"));
}

async fn only_the_full_view_has_the_diff(world: World) {
    world.put("f", "one\r\ntwo\r\nthree\r\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let answer = agent.ask(Ask::of(edit_call("f", "two", "2\n2b")).full()).await;
    expect![[r#"@@ -1,3 +1,4 @@\n one\r\n-two\r\n+2\r\n+2b\r\n three\r\n"#]]
        .assert_eq(&answer.ok().get("diff").escape_debug().to_string());
    assert_eq!(agent.edit("f", "one", "1").await.ok().find("diff"), None);
}

async fn a_dry_run_shows_the_matches_and_changes_nothing(world: World) {
    world.put("f", "x\ny\nx\n").await;
    let agent = world.agent().await;
    agent.ask(Ask::of(edit_all_call("f", "x", "z")).dry()).await.refused("FS_NOT_OBSERVED");
    agent.read("f").await.ok();
    let answer = agent.ask(Ask::of(edit_all_call("f", "x", "z\nz")).dry()).await;
    check(
        &answer,
        expect![[r#"
        dry run, nothing was changed: this would make 2 replacements in `/workspace/f` (10 bytes then)
        would change: lines 1-2, lines 4-5
        --
        dry run
        path: /workspace/f
        replacements: 2
        replace_all: true
        changed: 1+1 to 1+2; 3+1 to 4+2
        changes: 2
        version: <version>
        diff:
          @@ -1,3 +1,5 @@
          -x
          +z
          +z
           y
          -x
          +z
          +z
        guard: replace_if_version <version>
        matches: 1-1; 3-3
        match_total: 2
    "#]],
    );
    assert_eq!(answer.ok().get("version"), version_of("z\nz\ny\nz\nz\n"));
    agent.ask(Ask::of(edit_call("f", "x", "z")).dry()).await.refused("FS_AMBIGUOUS_EDIT");
    world.expect("f", "x\ny\nx\n").await;
    agent.edit("f", "y", "Y").await.ok();
}

async fn a_typed_edit_and_a_json_edit_are_the_same(world: World) {
    world.put("f", "one\ntwo\nooo\n").await;
    let (first, second) = (world.agent().await, world.agent().await);
    first.read("f").await.ok();
    let typed = first.edit("f", "two\n", "").await;
    world.put("f", "one\ntwo\nooo\n").await;
    second.read("f").await.ok();
    let arguments = r#"{"file_path": "f", "old_string": "two\n", "new_string": "", "replace_all": null}"#;
    assert_eq!(second.json("edit", arguments).await, typed);
    // The refusals too: no match, then several.
    for (old, all) in [("three", ""), ("o", ""), ("", ""), ("three", r#", "replace_all": true"#)] {
        let call = if all.is_empty() { edit_call("f", old, "x") } else { edit_all_call("f", old, "x") };
        let typed = second.ask(Ask::of(call)).await;
        let arguments = format!(r#"{{"file_path": "f", "old_string": "{old}", "new_string": "x"{all}}}"#);
        assert_eq!(second.json("edit", &arguments).await, typed, "{arguments}");
    }
}

async fn a_failed_edit_touches_neither_inode_nor_time(world: World) {
    use std::os::unix::fs::MetadataExt as _;
    world.put("f", "x x\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let path = world.around().join("root/f");
    let look = || {
        let metadata = path.metadata().unwrap();
        (metadata.ino(), metadata.mtime_nsec(), metadata.ctime_nsec(), metadata.len())
    };
    let before = look();
    agent.edit("f", "y", "z").await.refused("FS_EDIT_NOT_FOUND");
    agent.edit("f", "x", "z").await.refused("FS_AMBIGUOUS_EDIT");
    agent.ask(Ask::of(edit_all_call("f", "x", "z")).dry()).await.ok();
    assert_eq!(look(), before);
}

async fn bytes_that_are_no_utf8_are_refused_and_never_transcoded(world: World) {
    for (content, offset) in
        [(&b"n = 7\n# na\xefve\n"[..], "10"), (b"n = 7\x00\n", "5"), (b"\xff\xfen\x00 \x007\x00", "0")]
    {
        world.put("f", content).await;
        let answer = world.agent().await.edit("f", "7", "8").await;
        assert_eq!(answer.refused("FS_NOT_TEXT").get("byte_offset"), offset);
        world.expect("f", content).await;
    }
}

async fn an_edit_of_what_is_no_file_is_refused(world: World) {
    world.hand().make_dir(b"d");
    world.hand().pipe(b"p");
    let agent = world.agent().await;
    agent.edit("d", "a", "b").await.refused("FS_NOT_REGULAR_FILE");
    agent.edit("p", "a", "b").await.refused("FS_NOT_REGULAR_FILE");
}
