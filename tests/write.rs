//! Writing: which bytes land, when they may, and what the outcome says.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use expect_test::{Expect, expect};
use toolfs_core::argument::RawCall;

use crate::support::answer::{Answer, version_of};
use crate::support::door::{Ask, write_call};
use crate::support::{World, cases};

cases! {
    text: [
        a_new_file_needs_no_read_and_gets_its_parents,
        the_bytes_are_exactly_those_of_the_content,
        empty_content_is_an_empty_file,
        a_missing_argument_changes_nothing,
        content_that_is_no_string_is_refused_and_never_coerced,
        an_existing_file_that_was_not_seen_is_not_replaced,
        a_lost_race_to_create_is_not_observed,
        a_file_that_was_seen_is_replaced,
        the_same_content_again_is_the_same_file,
        a_window_is_enough_to_write,
        a_file_that_the_session_made_can_be_written_again,
        a_write_from_an_old_read_is_stale,
        short_content_over_a_long_file_is_told_by_both_sizes,
        what_a_write_changes_beside_the_text_is_told,
        the_content_is_not_echoed,
        only_the_full_view_has_the_diff,
        a_dry_run_decides_everything_and_changes_nothing,
        content_beyond_the_limit_is_too_large_and_names_it,
        a_tilde_is_not_expanded_and_makes_no_directory,
        a_protected_name_is_refused_at_any_depth_and_names_the_rule,
        a_typed_write_and_a_json_write_are_the_same,
    ];
    outside: [
        a_directory_or_pipe_is_no_regular_file_whatever_was_seen,
        a_file_that_vanished_is_stale_until_it_is_read,
        a_link_stays_a_link_and_its_target_is_written,
        a_link_into_a_protected_directory_is_refused,
        the_old_content_of_a_file_that_is_no_text_has_no_diff,
    ];
    disk: [
        a_write_leaves_nothing_beside_the_file,
        the_mode_of_a_file_is_kept,
        a_file_without_a_write_bit_is_refused_and_not_replaced,
        other_hard_links_keep_the_old_content_and_it_is_said,
    ];
}

#[track_caller]
fn check(answer: &Answer, expected: Expect) {
    expected.assert_eq(&answer.show());
}

async fn a_new_file_needs_no_read_and_gets_its_parents(world: World) {
    let answer = world.agent().await.write("a/b/new.txt", "one\n").await;
    check(
        &answer,
        expect![[r#"
        created `/workspace/a/b/new.txt` (4 bytes)
        --
        path: /workspace/a/b/new.txt
        operation: Create
        size: 4
        version: <version>
    "#]],
    );
    assert_eq!(answer.ok().get("version"), version_of("one\n"));
    world.expect("a/b/new.txt", "one\n").await;
}

async fn the_bytes_are_exactly_those_of_the_content(world: World) {
    let agent = world.agent().await;
    for content in [
        // Nothing is appended, trimmed or converted.
        "x",
        "x.\n",
        "x\n\n",
        " x \t",
        "\r\n",
        "a\nb\n",
        "a\r\nb\n",
        "a\r\nb\r\n",
        "\r",
        "\u{feff}x",
        "\n",
        // Nothing is unescaped or decoded.
        r#"print("a\nb")"#,
        r"C:\new\table",
        "a &amp;&amp; b &lt;br&gt;",
        "%20 %0A",
        "$& $$ $1 \\1",
        "\\u0041",
        // Nothing is folded or normalized.
        "it\u{2019}s \u{201c}so\u{201d}",
        "e\u{301} \u{e9}",
        "\u{a0}\u{202f}",
        "\u{2028}",
        "😀 \u{10ffff}",
    ] {
        let answer = agent.write("f", content).await;
        assert_eq!(answer.ok().get("size"), content.len().to_string(), "{content:?}");
        world.expect("f", content).await;
    }
}

async fn empty_content_is_an_empty_file(world: World) {
    let agent = world.agent().await;
    check(
        &agent.write("f", "").await,
        expect![[r#"
        created `/workspace/f` (0 bytes)
        --
        path: /workspace/f
        operation: Create
        size: 0
        version: <version>
    "#]],
    );
    world.expect("f", "").await;
    agent.write("f", "text\n").await.ok();
    agent.write("f", "").await.ok();
    world.expect("f", "").await;
}

async fn a_missing_argument_changes_nothing(world: World) {
    world.put("f", "kept\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let without = |file_path: Option<&str>, content: Option<&str>| {
        Ask::of(RawCall::Write { file_path: file_path.map(Into::into), content: content.map(Into::into) })
    };
    for (typed, json, field) in [
        (without(Some("f"), None), r#"{"file_path": "f"}"#, "content"),
        (without(Some("f"), None), r#"{"file_path": "f", "content": null}"#, "content"),
        (without(None, Some("x")), r#"{"content": "x"}"#, "file_path"),
        (without(None, None), "{}", "file_path"),
    ] {
        let typed = agent.ask(typed).await;
        let error = typed.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), (field, "absent"));
        assert_eq!(agent.json("write", json).await, typed, "{json}");
    }
    world.expect("f", "kept\n").await;
}

async fn content_that_is_no_string_is_refused_and_never_coerced(world: World) {
    let agent = world.agent().await;
    for (content, what) in [
        (r#"{"k":1}"#, "an object"),
        ("[]", "an array"),
        ("123", "a number"),
        ("true", "a boolean"),
        ("null", "absent"),
    ] {
        let answer =
            agent.json("write", &format!(r#"{{"file_path": "f.json", "content": {content}}}"#)).await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), ("content", what), "{content}");
        world.expect_nothing("f.json").await;
    }
    for text in [r#"{"k":1}"#, "123", "true", "null", "[]"] {
        let arguments = serde_json::json!({ "file_path": "f.json", "content": text }).to_string();
        agent.json("write", &arguments).await.ok();
        world.expect("f.json", text).await;
    }
}

async fn an_existing_file_that_was_not_seen_is_not_replaced(world: World) {
    world.put("f", "two hundred lines\n").await;
    let agent = world.agent().await;
    let answer = agent.write("f", "imagined\n").await;
    let error = answer.refused("FS_NOT_OBSERVED");
    assert_eq!((error.get("kind"), error.get("size_bytes"), error.get("is_text")), ("Regular", "18", "true"));
    check(
        &answer,
        expect![[r#"
            FS_NOT_OBSERVED: `/workspace/f` is there already, and it was not seen before
            what is there: a regular file of 18 bytes, text
            remedy: read it first, then retry
            --
            code: FS_NOT_OBSERVED
            message: `/workspace/f` is there already, and it was not seen before
            path: f
            remedy: read it first, then retry
            retryable: false
            published: No
            kind: Regular
            size_bytes: 18
            is_text: true
        "#]],
    );
    world.expect("f", "two hundred lines\n").await;

    agent.read("f").await.ok();
    agent.write("f", "considered\n").await.ok();
    world.expect("f", "considered\n").await;
}

async fn a_lost_race_to_create_is_not_observed(world: World) {
    let agent = world.agent().await;
    agent.read("f").await.refused("FS_NOT_FOUND");
    world.put("f", "theirs\n").await;
    agent.write("f", "mine\n").await.refused("FS_NOT_OBSERVED");
    world.expect("f", "theirs\n").await;
}

async fn a_file_that_was_seen_is_replaced(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let answer = agent.write("f", "three\n").await;
    check(
        &answer,
        expect![[r#"
        replaced the content of `/workspace/f` (6 bytes, before 4 bytes)
        --
        path: /workspace/f
        operation: Update
        size: 6
        previous_size: 4
        version: <version>
    "#]],
    );
    assert_eq!(answer.ok().get("version"), version_of("three\n"));
    world.expect("f", "three\n").await;
}

async fn the_same_content_again_is_the_same_file(world: World) {
    for content in ["x", "x\n", "a\r\nb", "\u{feff}\n", ""] {
        world.put("f", content).await;
        let agent = world.agent().await;
        let seen = agent.read("f").await;
        let answer = agent.write("f", content).await;
        assert_eq!(answer.ok().get("version"), seen.ok().get("version"), "{content:?}");
        assert_eq!(answer.ok().find("notices"), None, "{content:?}");
        world.expect("f", content).await;
    }
}

async fn a_window_is_enough_to_write(world: World) {
    world.put("f", "line\n".repeat(40)).await;
    let agent = world.agent().await;
    agent.read_window("f", 1, 3).await.ok();
    agent.write("f", "three\nlines\nonly\n").await.ok();
    world.expect("f", "three\nlines\nonly\n").await;
}

async fn a_file_that_the_session_made_can_be_written_again(world: World) {
    let agent = world.agent().await;
    assert_eq!(agent.write("f", "first\n").await.ok().get("operation"), "Create");
    assert_eq!(agent.write("f", "second\n").await.ok().get("operation"), "Update");
    agent.edit("f", "second", "third").await.ok();
    agent.write("f", "fourth\n").await.ok();
    world.expect("f", "fourth\n").await;
}

async fn a_write_from_an_old_read_is_stale(world: World) {
    world.put("f", "v1\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "v2\n").await;
    let answer = agent.write("f", "based on v1\n").await;
    let error = answer.refused("FS_STALE_VERSION");
    assert_eq!(error.get("expected_version"), version_of("v1\n"));
    assert_eq!(error.get("actual_version"), version_of("v2\n"));
    check(
        &answer,
        expect![[r#"
        FS_STALE_VERSION: `/workspace/f` is not what was seen last, its content changed
        remedy: read it again, then retry with what is there now
        --
        code: FS_STALE_VERSION
        message: `/workspace/f` is not what was seen last, its content changed
        path: f
        remedy: read it again, then retry with what is there now
        retryable: false
        published: No
        expected_version: <version>
        actual_version: <version>
    "#]],
    );
    world.expect("f", "v2\n").await;

    agent.read("f").await.ok();
    agent.write("f", "based on v2\n").await.ok();
    world.expect("f", "based on v2\n").await;
}

async fn short_content_over_a_long_file_is_told_by_both_sizes(world: World) {
    world.put("f", "a whole line\n".repeat(300)).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let answer = agent.write("f", "cut off in mid-tok").await;
    assert_eq!((answer.ok().get("size"), answer.ok().get("previous_size")), ("18", "3900"));
    assert!(answer.text.contains("(18 bytes, before 3900 bytes)"), "{}", answer.text);
}

async fn what_a_write_changes_beside_the_text_is_told(world: World) {
    world.put("f", "\u{feff}one\r\ntwo\r\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let answer = agent.write("f", "one\ntwo").await;
    check(
        &answer,
        expect![[r#"
        replaced the content of `/workspace/f` (7 bytes, before 13 bytes)
        notice: line endings changed from CRLF to LF
        notice: the byte order mark was removed
        notice: the file no longer ends with a newline
        --
        path: /workspace/f
        operation: Update
        size: 7
        previous_size: 13
        version: <version>
        notices: LineEndingsChanged (line endings changed from CRLF to LF); BomChanged (the byte order mark was removed); FinalNewlineChanged (the file no longer ends with a newline)
    "#]],
    );
    world.expect("f", "one\ntwo").await;
    // What stays as it was is not worth a word.
    let answer = agent.write("f", "three\nfour").await;
    assert_eq!(answer.ok().find("notices"), None);
}

async fn the_content_is_not_echoed(world: World) {
    let agent = world.agent().await;
    let secret = "hunter2";
    for answer in [
        agent.write("f", &format!("{secret}\n")).await,
        agent.write("f", &format!("{secret} {secret}")).await,
        agent.write(".git/x", secret).await,
        world.agent().await.write("f", secret).await,
    ] {
        assert!(!answer.show().contains(secret), "{}", answer.show());
    }
}

async fn only_the_full_view_has_the_diff(world: World) {
    world.put("f", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let content = "one\ntwo\nthree\nfour\nFIVE\nsix\nseven\neight\nnine";
    let full = agent.ask(Ask::of(write_call("f", content)).full()).await;
    expect![[r#"
        @@ -2,8 +2,8 @@
         two
         three
         four
        -five
        +FIVE
         six
         seven
         eight
        -nine
        +nine
        \ No newline at end of file
    "#]]
    .assert_eq(full.ok().get("diff"));
    assert_eq!(agent.write("f", "x\n").await.ok().find("diff"), None);
    let created = agent.ask(Ask::of(write_call("g", "new\n")).full()).await;
    expect![[r#"
        @@ -0,0 +1 @@
        +new
    "#]]
    .assert_eq(created.ok().get("diff"));
}

async fn a_dry_run_decides_everything_and_changes_nothing(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    let dry = |path: &str, content: &str| Ask::of(write_call(path, content)).dry();

    // Nothing was seen yet, and a dry run is no way round that.
    agent.ask(dry("f", "two\n")).await.refused("FS_NOT_OBSERVED");
    check(
        &agent.ask(dry("d/new", "two\n")).await,
        expect![[r#"
        dry run, nothing was changed: this would create `/workspace/d/new` (4 bytes)
        --
        dry run
        path: /workspace/d/new
        operation: Create
        size: 4
        version: <version>
        diff:
          @@ -0,0 +1 @@
          +two
        guard: create_if_absent
    "#]],
    );
    world.expect_nothing("d/new").await;
    // It recorded nothing: the file is still to be created.
    assert_eq!(agent.write("d/new", "x\n").await.ok().get("operation"), "Create");

    agent.read("f").await.ok();
    let answer = agent.ask(dry("f", "two\n")).await;
    assert_eq!(answer.ok().get("guard"), format!("replace_if_version {}", version_of("one\n")));
    assert_eq!(answer.ok().get("version"), version_of("two\n"));
    world.expect("f", "one\n").await;
    // What the session knows is still the old content, which is still there.
    agent.write("f", "three\n").await.ok();

    // A read that is a dry run shows everything and lets nothing be written.
    let other = world.agent().await;
    other.ask(Ask::of(crate::support::door::read_call("f", None, None)).dry()).await.ok();
    other.write("f", "four\n").await.refused("FS_NOT_OBSERVED");
    world.expect("f", "three\n").await;
}

async fn content_beyond_the_limit_is_too_large_and_names_it(world: World) {
    let agent = world.agent().await;
    let content = "x".repeat((16 << 20) + 1);
    let answer = agent.write("f", &content).await;
    let error = answer.refused("FS_TOO_LARGE");
    assert_eq!(error.get("limit_name"), "max_content_bytes");
    assert_eq!((error.get("limit_bytes"), error.get("size_bytes")), ("16777216", "16777217"));
    world.expect_nothing("f").await;
    agent.write("f", &content[1..]).await.ok();
    world.expect("f", &content[1..]).await;
}

async fn a_tilde_is_not_expanded_and_makes_no_directory(world: World) {
    let agent = world.agent().await;
    for path in ["~/x.txt", "~", "~root/x"] {
        let answer = agent.write(path, "1").await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!(error.get("field"), "file_path");
        assert!(answer.text.contains("./~"), "the literal name must be pointed out: {}", answer.text);
    }
    world.expect_nothing("~/x.txt").await;
    agent.write("./~", "literal\n").await.ok();
    world.expect("~", "literal\n").await;
    agent.write("a~", "fine\n").await.ok();
}

async fn a_protected_name_is_refused_at_any_depth_and_names_the_rule(world: World) {
    world.put("a/f", "x\n").await;
    let agent = world.agent().await;
    for path in [".git", ".git/config", "sub/.git/hooks/x", "./a/../.git/x", "/workspace/.git/new/dir/x"] {
        for dry_run in [false, true] {
            let answer = agent.ask(Ask { dry_run, ..Ask::of(write_call(path, "x")) }).await;
            assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), ".git", "{path}");
        }
        agent.edit(path, "a", "b").await.refused("FS_SANDBOX_DENIED");
    }
    check(
        &agent.write(".git/config", "x").await,
        expect![[r#"
        FS_SANDBOX_DENIED: `.git/config` is protected by the rule `.git`, it can be read and not changed
        remedy: leave everything named `.git` and all below it as it is
        --
        code: FS_SANDBOX_DENIED
        message: `.git/config` is protected by the rule `.git`, it can be read and not changed
        path: .git/config
        remedy: leave everything named `.git` and all below it as it is
        retryable: false
        published: No
        rule: .git
    "#]],
    );
    agent.write(".gitignore", "target\n").await.ok();
    agent.write("a.git/x", "fine\n").await.ok();
}

async fn a_typed_write_and_a_json_write_are_the_same(world: World) {
    let agent = world.agent().await;
    let typed = agent.write("f", "tab\tquote\"\n").await;
    agent.write("f", "").await.ok();
    let other = world.agent().await;
    let json = other.json("write", r#"{"content": "tab\tquote\"\n", "file_path": "g"}"#).await;
    assert_eq!(json.show().replace("/g", "/f"), typed.show());
    world.expect("g", "tab\tquote\"\n").await;
    // A refusal too.
    let typed = other.write("f", "x").await;
    assert_eq!(other.json("write", r#"{"content": "x", "file_path": "f"}"#).await, typed);
    typed.refused("FS_NOT_OBSERVED");
}

async fn a_directory_or_pipe_is_no_regular_file_whatever_was_seen(world: World) {
    world.hand().make_dir(b"d");
    world.hand().pipe(b"p");
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    for (path, kind) in [("d", "Directory"), ("d/", "Directory"), ("p", "Fifo"), (".", "Directory")] {
        assert_eq!(agent.write(path, "x").await.refused("FS_NOT_REGULAR_FILE").get("kind"), kind, "{path}");
    }
    // Neither unseen nor seen before: what is there now decides.
    agent.read("f").await.ok();
    world.hand().remove(b"f");
    world.hand().make_dir(b"f");
    agent.write("f", "x").await.refused("FS_NOT_REGULAR_FILE");
    agent.write("new/", "x").await.refused("FS_NOT_REGULAR_FILE");
}

async fn a_file_that_vanished_is_stale_until_it_is_read(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.hand().remove(b"f");
    let answer = agent.write("f", "two\n").await;
    assert_eq!(answer.refused("FS_STALE_VERSION").find("actual_version"), None);
    check(
        &answer,
        expect![[r#"
        FS_STALE_VERSION: `/workspace/f` is not what was seen last, it is gone
        remedy: read it again; if it is gone, retry to make it
        --
        code: FS_STALE_VERSION
        message: `/workspace/f` is not what was seen last, it is gone
        path: f
        remedy: read it again; if it is gone, retry to make it
        retryable: false
        published: No
        expected_version: <version>
    "#]],
    );
    world.expect_nothing("f").await;
    agent.read("f").await.refused("FS_NOT_FOUND");
    assert_eq!(agent.write("f", "two\n").await.ok().get("operation"), "Create");
    world.expect("f", "two\n").await;
}

async fn a_link_stays_a_link_and_its_target_is_written(world: World) {
    world.put("real.txt", "one\n").await;
    world.hand().link(b"l.txt", "real.txt");
    let agent = world.agent().await;
    agent.read("l.txt").await.ok();
    let answer = agent.write("l.txt", "two\n").await;
    assert_eq!(answer.ok().get("path"), "/workspace/real.txt");
    assert!(world.hand().is_link(b"l.txt"));
    world.expect("real.txt", "two\n").await;
    // A link to nothing creates its target.
    world.hand().link(b"dangling", "fresh/file");
    agent.write("dangling", "made\n").await.ok();
    assert!(world.hand().is_link(b"dangling"));
    world.expect("fresh/file", "made\n").await;
}

async fn a_link_into_a_protected_directory_is_refused(world: World) {
    world.put(".git/config", "kept\n").await;
    world.hand().link(b"config", ".git/config");
    world.hand().link(b"hooks", ".git");
    let agent = world.agent().await;
    agent.read("config").await.ok();
    for path in ["config", "hooks/config", "hooks/new"] {
        assert_eq!(agent.write(path, "x").await.refused("FS_SANDBOX_DENIED").get("rule"), ".git", "{path}");
    }
    world.expect(".git/config", "kept\n").await;
}

async fn the_old_content_of_a_file_that_is_no_text_has_no_diff(world: World) {
    world.put("f", "text\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    // Only what was seen is replaced, so this one needs no diff of a binary; it must not land.
    world.put("f", b"\x00\x01").await;
    agent.ask(Ask::of(write_call("f", "x\n")).full()).await.refused("FS_STALE_VERSION");
    world.expect("f", b"\x00\x01").await;
}

async fn a_write_leaves_nothing_beside_the_file(world: World) {
    let agent = world.agent().await;
    agent.write("d/f", "one\n").await.ok();
    agent.write("d/f", "two\n").await.ok();
    agent.edit("d/f", "two", "three").await.ok();
    world.agent().await.write("d/f", "refused\n").await.refused("FS_NOT_OBSERVED");
    agent.edit("d/f", "none", "x").await.refused("FS_EDIT_NOT_FOUND");
    assert_eq!(world.hand().names(b"d"), [b"f"]);
    assert!(world.hand().names(b"").iter().all(|name| name == b"d"));
}

async fn the_mode_of_a_file_is_kept(world: World) {
    let agent = world.agent().await;
    for mode in [0o755, 0o600, 0o640] {
        world.put("s.sh", "one\n").await;
        world.hand().set_mode(b"s.sh", mode);
        agent.read("s.sh").await.ok();
        agent.write("s.sh", "two\n").await.ok();
        agent.edit("s.sh", "two", "three").await.ok();
        let metadata = world.around().join("root/s.sh").metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, mode);
    }
}

async fn a_file_without_a_write_bit_is_refused_and_not_replaced(world: World) {
    world.put("f", "keep\n").await;
    world.hand().set_mode(b"f", 0o444);
    let agent = world.agent().await;
    agent.read("f").await.ok();
    agent.write("f", "x\n").await.refused("FS_PERMISSION_DENIED");
    agent.edit("f", "keep", "lose").await.refused("FS_PERMISSION_DENIED");
    world.expect("f", "keep\n").await;
    assert_eq!(world.around().join("root/f").metadata().unwrap().permissions().mode() & 0o777, 0o444);
}

async fn other_hard_links_keep_the_old_content_and_it_is_said(world: World) {
    world.put("a", "one\n").await;
    let root = world.around().join("root");
    std::fs::hard_link(root.join("a"), root.join("b")).unwrap();
    let agent = world.agent().await;
    agent.read("a").await.ok();
    let answer = agent.write("a", "two\n").await;
    assert!(answer.ok().get("notices").starts_with("HardLinksKeepOldContent"), "{}", answer.show());
    assert!(answer.text.contains("notice: "), "{}", answer.text);
    world.expect("a", "two\n").await;
    world.expect("b", "one\n").await;
    assert_eq!(root.join("a").metadata().unwrap().nlink(), 1);
}
