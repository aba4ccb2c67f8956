//! Reading: which lines come back, what the footer says, what counts as seen. What is refused is in `unreadable.rs`.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::support::answer::{Answer, version_of};
use crate::support::door::{Ask, read_call};
use crate::support::{Agent, World, cases};

cases! {
    text: [
        lines_are_numbered_and_the_footer_tells_the_total,
        an_empty_file_is_said_to_be_empty,
        a_single_newline_is_one_line,
        a_window_is_where_it_was_asked_for,
        without_a_limit_two_thousand_lines_are_read,
        a_larger_limit_is_read_as_the_cap,
        a_limit_or_offset_below_one_is_refused_and_never_an_empty_file,
        an_offset_past_the_end_is_refused_with_the_total,
        the_byte_cap_ends_a_window_between_lines_and_says_so,
        following_the_hint_rebuilds_the_file,
        following_the_hint_in_windows_of_any_size_rebuilds_the_file,
        a_long_line_is_cut_at_a_character_and_marked_with_its_length,
        a_crlf_is_not_shown_and_is_told,
        mixed_line_endings_are_told,
        a_lone_cr_is_text,
        a_last_line_without_newline_counts_and_is_told,
        a_byte_order_mark_is_not_shown_and_is_told,
        a_read_spends_no_bytes_on_padding_or_reminders,
        only_the_full_view_has_lines,
        the_version_names_the_content,
        a_missing_file_is_not_found_and_counts_as_seen_absent,
        a_missing_parent_counts_as_seen_absent_too,
        a_read_past_the_end_counts_as_nothing_seen,
        a_file_as_a_parent_is_no_directory,
        a_typed_read_and_a_json_read_are_the_same,
    ];
    outside: [
        a_file_that_was_deleted_is_not_found,
    ];
}

#[track_caller]
fn check(answer: &Answer, expected: Expect) {
    expected.assert_eq(&answer.show());
}

fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "l{number}");
        text
    })
}

/// The lines of the full view, as they were.
fn raw_lines(answer: &Answer) -> Vec<String> {
    let lines = answer.ok().find("lines").unwrap_or_default();
    let text = |line: &str| {
        let quoted = &line[line.find('"').unwrap()..=line.rfind('"').unwrap()];
        // The form is that of Rust; for the plain text of these cases it is JSON's too.
        serde_json::from_str::<String>(quoted).unwrap()
    };
    lines.lines().map(text).collect()
}

async fn lines_are_numbered_and_the_footer_tells_the_total(world: World) {
    world.put("poem.txt", "roses\n\n  violets\n").await;
    check(
        &world.agent().await.read("poem.txt").await,
        expect![[r#"
        1: roses
        2: 
        3:   violets

        (lines 1-3 of 3)
        --
        path: /workspace/poem.txt
        offset: 1
        line_count: 3
        total_lines: 3
        partial_view: false
        stop_reason: EndOfFile
        size: 17
        version: <version>
        line_endings: Lf
        ends_with_newline: true
        bom: false
    "#]],
    );
    check(
        &world.agent().await.read_window("poem.txt", 2, 1).await,
        expect![[r#"
        2: 

        (line 2 of 3; continue with offset 3)
        --
        path: /workspace/poem.txt
        offset: 2
        line_count: 1
        total_lines: 3
        next_offset: 3
        partial_view: true
        stop_reason: LineLimit
        size: 17
        version: <version>
        line_endings: Lf
        ends_with_newline: true
        bom: false
    "#]],
    );
}

async fn an_empty_file_is_said_to_be_empty(world: World) {
    world.put("empty", "").await;
    let agent = world.agent().await;
    check(
        &agent.read("empty").await,
        expect![[r#"
        (the file is empty: 0 lines)
        --
        path: /workspace/empty
        offset: 1
        line_count: 0
        total_lines: 0
        partial_view: false
        stop_reason: EndOfFile
        size: 0
        version: <version>
        line_endings: None
        ends_with_newline: false
        bom: false
    "#]],
    );
    check(
        &agent.read_window("empty", 1, 5).await,
        expect![[r#"
        (the file is empty: 0 lines)
        --
        path: /workspace/empty
        offset: 1
        line_count: 0
        total_lines: 0
        partial_view: false
        stop_reason: EndOfFile
        size: 0
        version: <version>
        line_endings: None
        ends_with_newline: false
        bom: false
    "#]],
    );
    agent.edit("empty", "x", "y").await.refused("FS_EDIT_NOT_FOUND");
    agent.write("empty", "now something\n").await.ok();
    world.expect("empty", "now something\n").await;
}

async fn a_single_newline_is_one_line(world: World) {
    world.put("n", "\n").await;
    check(
        &world.agent().await.read("n").await,
        expect![[r#"
        1: 

        (line 1 of 1)
        --
        path: /workspace/n
        offset: 1
        line_count: 1
        total_lines: 1
        partial_view: false
        stop_reason: EndOfFile
        size: 1
        version: <version>
        line_endings: Lf
        ends_with_newline: true
        bom: false
    "#]],
    );
}

async fn a_window_is_where_it_was_asked_for(world: World) {
    world.put("many", numbered(10_000)).await;
    let answer = world.agent().await.read_window("many", 9_000, 10).await;
    check(
        &answer,
        expect![[r#"
        9000: l9000
        9001: l9001
        9002: l9002
        9003: l9003
        9004: l9004
        9005: l9005
        9006: l9006
        9007: l9007
        9008: l9008
        9009: l9009

        (lines 9000-9009 of 10000; continue with offset 9010)
        --
        path: /workspace/many
        offset: 9000
        line_count: 10
        total_lines: 10000
        next_offset: 9010
        partial_view: true
        stop_reason: LineLimit
        size: 58894
        version: <version>
        line_endings: Lf
        ends_with_newline: true
        bom: false
    "#]],
    );
}

async fn without_a_limit_two_thousand_lines_are_read(world: World) {
    world.put("many", numbered(2_001)).await;
    let answer = world.agent().await.read("many").await;
    let seen = answer.ok();
    assert_eq!((seen.get("line_count"), seen.get("next_offset")), ("2000", "2001"));
    assert_eq!((seen.get("stop_reason"), seen.get("total_lines")), ("LineLimit", "2001"));
    assert_eq!(answer.text.lines().last(), Some("(lines 1-2000 of 2001; continue with offset 2001)"));

    world.put("enough", numbered(2_000)).await;
    let answer = world.agent().await.read("enough").await;
    assert_eq!((answer.ok().get("stop_reason"), answer.ok().find("next_offset")), ("EndOfFile", None));
    assert_eq!(answer.ok().get("partial_view"), "false");
}

async fn a_larger_limit_is_read_as_the_cap(world: World) {
    world.put("many", numbered(2_500)).await;
    for limit in [2_001, 5_000, i64::MAX] {
        let answer = world.agent().await.read_window("many", None, limit).await;
        assert_eq!((answer.ok().get("line_count"), answer.ok().get("next_offset")), ("2000", "2001"));
    }
}

async fn a_limit_or_offset_below_one_is_refused_and_never_an_empty_file(world: World) {
    world.put("f", numbered(250)).await;
    let agent = world.agent().await;
    for (offset, limit, field, value) in [
        (None, Some(0), "limit", "0"),
        (None, Some(-1), "limit", "-1"),
        (Some(0), None, "offset", "0"),
        (Some(i64::MIN), None, "offset", "-9223372036854775808"),
    ] {
        let answer = agent.read_window("f", offset, limit).await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), (field, value));
        assert_eq!(error.get("expected"), "an integer of at least 1");
    }
}

async fn an_offset_past_the_end_is_refused_with_the_total(world: World) {
    world.put("two", "l1\nl2\n").await;
    world.put("empty", "").await;
    let agent = world.agent().await;
    agent.read_window("two", 2, None).await.ok();
    for offset in [3, 4, 1_000] {
        let answer = agent.read_window("two", offset, None).await;
        assert_eq!(answer.refused("FS_OUT_OF_RANGE").get("total_lines"), "2");
    }
    check(
        &agent.read_window("two", 3, None).await,
        expect![[r#"
        FS_OUT_OF_RANGE: line 3 is past the end: the file has 2 lines
        path: `two`
        remedy: use an `offset` from 1 to 2
        --
        code: FS_OUT_OF_RANGE
        message: line 3 is past the end: the file has 2 lines
        path: two
        remedy: use an `offset` from 1 to 2
        retryable: false
        published: No
        total_lines: 2
    "#]],
    );
    let answer = agent.read_window("empty", 2, None).await;
    assert_eq!(answer.refused("FS_OUT_OF_RANGE").get("total_lines"), "0");
}

async fn the_byte_cap_ends_a_window_between_lines_and_says_so(world: World) {
    let line = "x".repeat(130);
    world.put("wide", format!("{line}\n").repeat(400)).await;
    let agent = world.agent().await;
    let answer = agent.read("wide").await;
    // 393 lines of 130 bytes fit into 51,200.
    assert_eq!((answer.ok().get("line_count"), answer.ok().get("next_offset")), ("393", "394"));
    assert_eq!((answer.ok().get("stop_reason"), answer.ok().get("total_lines")), ("ByteCap", "400"));
    let footer = "(lines 1-393 of 400; stopped at the cap of 51200 bytes; continue with offset 394)";
    assert_eq!(answer.text.lines().last(), Some(footer));

    let rest = agent.read_window("wide", 394, None).await;
    assert_eq!((rest.ok().get("line_count"), rest.ok().get("stop_reason")), ("7", "EndOfFile"));
}

async fn following_the_hint_rebuilds_the_file(world: World) {
    // Five times the cap, lines of all lengths, and one that ends without a newline.
    let lines: Vec<String> = (0..2_500_usize).map(|number| "abcdefg ".repeat(number % 29)).collect();
    world.put("long", lines.join("\n")).await;
    let agent = world.agent().await;
    let (mut rebuilt, mut offset) = (Vec::new(), 1);
    loop {
        let answer = agent.ask(Ask::of(read_call("long", offset, None)).full()).await;
        rebuilt.extend(raw_lines(&answer));
        match answer.ok().find("next_offset") {
            Some(next) => offset = next.parse::<i64>().unwrap(),
            None => break,
        }
    }
    assert!(rebuilt == lines, "{} lines came back of {}", rebuilt.len(), lines.len());
}

/// Lines of all kinds, as they are and as a read shows them.
fn draw_lines(rng: &mut fastrand::Rng) -> (String, Vec<String>) {
    let (mut content, mut shown) = (String::new(), Vec::new());
    if rng.bool() {
        content.push('\u{feff}');
    }
    let count = rng.usize(1..120);
    for number in 1..=count {
        let piece = ["", "a", "\t", "\u{e9}", " x ", "\"q\" \\", "c\rr", "\u{1f600}"][rng.usize(..8)];
        let line = piece.repeat([0, 1, 3, 90, 700][rng.usize(..5)]);
        content.push_str(&line);
        let ends = number < count || rng.bool();
        if ends {
            content.push_str(if rng.bool() { "\n" } else { "\r\n" });
        }
        if ends || !line.is_empty() {
            shown.push(line.chars().take(2_000).collect());
        }
    }
    (content, shown)
}

async fn following_the_hint_in_windows_of_any_size_rebuilds_the_file(world: World) {
    let agent = world.agent().await;
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (content, shown) = draw_lines(&mut rng);
        world.put("f", &content).await;
        let (mut rebuilt, mut next) = (Vec::new(), Some(1));
        while let Some(offset) = next {
            let limit = rng.bool().then(|| rng.i64(1..40));
            let answer = agent.ask(Ask::of(read_call("f", offset, limit)).full()).await;
            let seen = answer.ok();
            assert_eq!(seen.get("total_lines"), shown.len().to_string(), "seed {seed}");
            assert_eq!(seen.get("version"), version_of(&content), "seed {seed}");
            let lines = raw_lines(&answer);
            assert_eq!(seen.get("line_count"), lines.len().to_string(), "seed {seed}");
            rebuilt.extend(lines);
            next = seen.find("next_offset").map(|next| next.parse::<i64>().unwrap());
            // It goes on where this window ended, and never stands still.
            let after = i64::try_from(rebuilt.len()).unwrap() + 1;
            assert!(next.is_none_or(|next| next == after && next > offset), "seed {seed}: {next:?}");
        }
        assert!(rebuilt == shown, "seed {seed}: {} lines came back of {}", rebuilt.len(), shown.len());
    }
}

async fn a_long_line_is_cut_at_a_character_and_marked_with_its_length(world: World) {
    world.put("f", format!("short\n{}\nend\n", "é".repeat(5_000))).await;
    let answer = world.agent().await.ask(Ask::of(read_call("f", None, None)).full()).await;
    let cut = "é".repeat(2_000);
    let expected =
        format!("1: short\n2: {cut} [line cut: 2000 of 5000 characters shown]\n3: end\n\n(lines 1-3 of 3)");
    assert_eq!(answer.text, expected);
    assert_eq!((answer.ok().get("partial_view"), answer.ok().get("line_count")), ("true", "3"));
    assert!(answer.ok().get("lines").contains(&format!("2 {cut:?} true 5000\n")));
}

async fn a_crlf_is_not_shown_and_is_told(world: World) {
    world.put("f", "one\r\ntwo\r\n").await;
    let answer = world.agent().await.read("f").await;
    assert!(!answer.text.contains('\r'));
    check(
        &answer,
        expect![[r#"
        1: one
        2: two

        (lines 1-2 of 2; line endings are CRLF)
        --
        path: /workspace/f
        offset: 1
        line_count: 2
        total_lines: 2
        partial_view: false
        stop_reason: EndOfFile
        size: 10
        version: <version>
        line_endings: Crlf
        ends_with_newline: true
        bom: false
    "#]],
    );
}

async fn mixed_line_endings_are_told(world: World) {
    world.put("f", "one\r\ntwo\n").await;
    let answer = world.agent().await.read("f").await;
    assert_eq!(answer.text, "1: one\n2: two\n\n(lines 1-2 of 2; line endings are mixed, CRLF and LF)");
    assert_eq!(answer.ok().get("line_endings"), "Mixed");
}

async fn a_lone_cr_is_text(world: World) {
    world.put("f", "a\rb\nc\r\r\nd\r").await;
    let answer = world.agent().await.ask(Ask::of(read_call("f", None, None)).full()).await;
    assert_eq!(raw_lines(&answer), ["a\rb", "c\r", "d\r"]);
    assert_eq!((answer.ok().get("total_lines"), answer.ok().get("line_endings")), ("3", "Mixed"));
}

async fn a_last_line_without_newline_counts_and_is_told(world: World) {
    world.put("f", "one\ntwo").await;
    let answer = world.agent().await.read("f").await;
    assert_eq!(answer.text, "1: one\n2: two\n\n(lines 1-2 of 2; no newline at the end of the file)");
    assert_eq!((answer.ok().get("total_lines"), answer.ok().get("ends_with_newline")), ("2", "false"));
}

async fn a_byte_order_mark_is_not_shown_and_is_told(world: World) {
    world.put("f", "\u{feff}one\n").await;
    let answer = world.agent().await.read("f").await;
    assert_eq!(answer.text, "1: one\n\n(line 1 of 1; the file starts with a byte order mark)");
    assert_eq!((answer.ok().get("bom"), answer.ok().get("size")), ("true", "7"));
}

async fn a_read_spends_no_bytes_on_padding_or_reminders(world: World) {
    world.put("f", numbered(315)).await;
    let answer = world.agent().await.read("f").await;
    let lines: String = (1..=315).map(|number| format!("{number}: l{number}\n")).collect();
    assert_eq!(answer.text, format!("{lines}\n(lines 1-315 of 315)"));
}

async fn only_the_full_view_has_lines(world: World) {
    world.put("f", "\u{feff}a\r\n\tb \n").await;
    let agent = world.agent().await;
    assert_eq!(agent.read("f").await.ok().find("lines"), None);
    let full = agent.ask(Ask::of(read_call("f", None, None)).full()).await;
    assert_eq!(full.ok().get("lines"), "1 \"a\" false 1\n2 \"\\tb \" false 3\n");
    // A dry run is judged as full.
    let dry = agent.ask(Ask::of(read_call("f", None, None)).dry()).await;
    assert_eq!(dry.ok().get("lines"), full.ok().get("lines"));
    assert!(dry.dry_run);
}

async fn the_version_names_the_content(world: World) {
    let content = "a\r\nb\n\u{feff}c";
    world.put("f", content).await;
    world.put("g", content).await;
    let agent = world.agent().await;
    for path in ["f", "g"] {
        // A window tells the version of the whole file.
        let answer = agent.read_window(path, 2, 1).await;
        assert_eq!(answer.ok().get("version"), version_of(content));
        assert_eq!(answer.ok().get("size"), content.len().to_string());
    }
}

async fn seen_as_absent(agent: &Agent<'_>, path: &str) {
    let answer = agent.edit(path, "a", "b").await;
    let error = answer.refused("FS_NOT_FOUND");
    assert!(error.get("remedy").contains("read it again"), "{error}");
}

async fn a_missing_file_is_not_found_and_counts_as_seen_absent(world: World) {
    let agent = world.agent().await;
    check(
        &agent.read("nothing.txt").await,
        expect![[r#"
        FS_NOT_FOUND: nothing is at `/workspace/nothing.txt`
        remedy: check the path; a new file is made with `write`
        --
        code: FS_NOT_FOUND
        message: nothing is at `/workspace/nothing.txt`
        path: nothing.txt
        remedy: check the path; a new file is made with `write`
        retryable: false
        published: No
    "#]],
    );
    seen_as_absent(&agent, "nothing.txt").await;
    agent.write("nothing.txt", "here\n").await.ok();
    world.expect("nothing.txt", "here\n").await;
}

async fn a_missing_parent_counts_as_seen_absent_too(world: World) {
    let agent = world.agent().await;
    agent.read("no/such/file").await.refused("FS_NOT_FOUND");
    seen_as_absent(&agent, "no/such/file").await;
}

async fn a_read_past_the_end_counts_as_nothing_seen(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read_window("f", 9, None).await.refused("FS_OUT_OF_RANGE");
    agent.edit("f", "one", "two").await.refused("FS_NOT_OBSERVED");
    world.expect("f", "one\n").await;
}

async fn a_file_as_a_parent_is_no_directory(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f/below").await.refused("FS_NOT_DIRECTORY");
    agent.read("f/").await.refused("FS_NOT_DIRECTORY");
    agent.write("f/below", "x").await.refused("FS_NOT_DIRECTORY");
}

async fn a_typed_read_and_a_json_read_are_the_same(world: World) {
    world.put("f", numbered(9)).await;
    let agent = world.agent().await;
    let typed = agent.read_window("f", 3, 4).await;
    for arguments in [
        r#"{"file_path": "f", "offset": 3, "limit": 4}"#,
        r#"{"limit": 4.0, "offset": 3e0, "file_path": "\u0066"}"#,
    ] {
        assert_eq!(agent.json("read", arguments).await, typed);
    }
    let typed = agent.read("f").await;
    assert_eq!(agent.json("read", r#"{"file_path": "f", "offset": null, "limit": null}"#).await, typed);
    let typed = agent.read("g").await;
    assert_eq!(agent.json("read", r#"{"file_path": "g"}"#).await, typed);
}

async fn a_file_that_was_deleted_is_not_found(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.hand().remove(b"f");
    agent.read("f").await.refused("FS_NOT_FOUND");
    seen_as_absent(&agent, "f").await;
    assert_eq!(agent.write("f", "again\n").await.ok().get("operation"), "Create");
    world.expect("f", "again\n").await;
}
