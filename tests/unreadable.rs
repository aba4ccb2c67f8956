//! What a read does not show: content that is no text, what is no file, and what lies outside.

use expect_test::{Expect, expect};

use crate::support::answer::Answer;
use crate::support::{World, cases};

cases! {
    outside: [
        a_nul_byte_is_no_text_and_its_offset_is_told,
        a_byte_that_is_no_utf8_is_no_text_and_its_offset_is_told,
        utf16_is_named_and_not_just_called_binary,
        a_binary_tail_after_much_text_is_no_text,
        a_binary_file_with_the_name_of_a_text_is_no_text,
        a_file_that_is_no_text_counts_as_nothing_seen,
        a_directory_is_no_regular_file,
        a_named_pipe_is_refused_and_does_not_hang,
        names_that_look_alike_are_told_and_never_opened,
        a_name_with_a_narrow_space_is_opened_by_its_exact_bytes,
        a_name_that_is_no_utf8_is_shown_and_never_breaks_an_answer,
        a_link_inside_the_root_is_followed,
        a_link_that_leads_out_of_the_root_is_refused_without_telling_where,
    ];
    disk: [
        an_endless_device_behind_a_link_is_refused,
    ];
}

#[track_caller]
fn check(answer: &Answer, expected: Expect) {
    expected.assert_eq(&answer.show());
}

async fn not_text(world: &World, content: &[u8], offset: &str) -> Answer {
    world.put("f.txt", content).await;
    let answer = world.agent().await.read_window("f.txt", 1, 1).await;
    assert_eq!(answer.refused("FS_NOT_TEXT").get("byte_offset"), offset);
    world.expect("f.txt", content).await;
    answer
}

async fn a_nul_byte_is_no_text_and_its_offset_is_told(world: World) {
    let answer = not_text(&world, b"key=\"u\x00v\"\n", "6").await;
    check(
        &answer,
        expect![[r#"
        FS_NOT_TEXT: the file is no UTF-8 text: it has a NUL byte at offset 6
        path: `f.txt`
        remedy: only UTF-8 text can be read: leave this file alone, or use another path
        --
        code: FS_NOT_TEXT
        message: the file is no UTF-8 text: it has a NUL byte at offset 6
        path: f.txt
        remedy: only UTF-8 text can be read: leave this file alone, or use another path
        retryable: false
        published: No
        byte_offset: 6
    "#]],
    );
}

async fn a_byte_that_is_no_utf8_is_no_text_and_its_offset_is_told(world: World) {
    not_text(&world, b"first\n\xef\xf0\xe8\n", "6").await;
    // Cut in the middle of a character, surrogates, too long forms.
    not_text(&world, b"caf\xc3", "3").await;
    not_text(&world, b"a\xed\xa0\x80", "1").await;
    not_text(&world, b"ab\xc0\xaf", "2").await;
    // The server goes on.
    world.put("g", "fine\n").await;
    world.agent().await.read("g").await.ok();
}

async fn utf16_is_named_and_not_just_called_binary(world: World) {
    for (content, name) in
        [(&b"\xff\xfeh\x00i\x00\n\x00"[..], "UTF-16LE"), (b"\xfe\xff\x00h\x00i\x00\n", "UTF-16BE")]
    {
        world.put("f", content).await;
        let answer = world.agent().await.read("f").await;
        answer.refused("FS_NOT_TEXT").get("encoding");
        assert!(answer.text.contains(name), "{}", answer.text);
    }
}

async fn a_binary_tail_after_much_text_is_no_text(world: World) {
    let mut content = "line of text\n".repeat(20_000).into_bytes();
    let offset = content.len();
    content.extend_from_slice(b"\x80\x81\x82");
    not_text(&world, &content, &offset.to_string()).await;
}

async fn a_binary_file_with_the_name_of_a_text_is_no_text(world: World) {
    not_text(&world, b"PK\x03\x04\x14\x00\x00\x00", "5").await;
    // Without any NUL.
    not_text(&world, b"\x8f\xa3\xfe\x91\xd2", "0").await;
}

async fn a_file_that_is_no_text_counts_as_nothing_seen(world: World) {
    world.put("f", b"a\x00b").await;
    let agent = world.agent().await;
    agent.read("f").await.refused("FS_NOT_TEXT");
    agent.edit("f", "a", "b").await.refused("FS_NOT_OBSERVED");
    let answer = agent.write("f", "mine\n").await;
    let error = answer.refused("FS_NOT_OBSERVED");
    assert_eq!((error.get("kind"), error.get("size_bytes"), error.get("is_text")), ("Regular", "3", "false"));
    assert!(error.get("remedy").contains("use another path"), "a read would not help: {error}");
    world.expect("f", b"a\x00b").await;
}

async fn a_directory_is_no_regular_file(world: World) {
    world.hand().make_dir(b"d");
    let agent = world.agent().await;
    for path in ["d", "d/", ".", "/workspace"] {
        assert_eq!(agent.read(path).await.refused("FS_NOT_REGULAR_FILE").get("kind"), "Directory", "{path}");
    }
    check(
        &agent.read("d").await,
        expect![[r#"
        FS_NOT_REGULAR_FILE: `/workspace/d` is a directory, only regular files have content
        remedy: use the path of a regular file
        --
        code: FS_NOT_REGULAR_FILE
        message: `/workspace/d` is a directory, only regular files have content
        path: d
        remedy: use the path of a regular file
        retryable: false
        published: No
        kind: Directory
    "#]],
    );
}

async fn a_named_pipe_is_refused_and_does_not_hang(world: World) {
    world.hand().pipe(b"p");
    let agent = world.agent().await;
    assert_eq!(agent.read("p").await.refused("FS_NOT_REGULAR_FILE").get("kind"), "Fifo");
    assert_eq!(agent.write("p", "x").await.refused("FS_NOT_REGULAR_FILE").get("kind"), "Fifo");
    // The gate refuses before anything is looked at.
    agent.edit("p", "a", "b").await.refused("FS_NOT_OBSERVED");
}

async fn names_that_look_alike_are_told_and_never_opened(world: World) {
    world.put("Shot 1.00.00\u{202f}PM.txt", "x\n").await;
    world.put("Notes.md", "x\n").await;
    let agent = world.agent().await;
    let answer = agent.read("Shot 1.00.00 PM.txt").await;
    let names = answer.refused("FS_NOT_FOUND").get("similar_names");
    assert_eq!(names, "Shot 1.00.00\u{202f}PM.txt");
    let answer = agent.read("notes.md").await;
    assert_eq!(answer.refused("FS_NOT_FOUND").get("similar_names"), "Notes.md");
    check(
        &answer,
        expect![[r#"
            FS_NOT_FOUND: nothing is at `/workspace/notes.md`
            similar names there: `Notes.md`
            remedy: if one of the similar names is meant, use it exactly as it is spelled there
            --
            code: FS_NOT_FOUND
            message: nothing is at `/workspace/notes.md`
            path: notes.md
            remedy: if one of the similar names is meant, use it exactly as it is spelled there
            retryable: false
            published: No
            similar_names: Notes.md
        "#]],
    );
    // Writing makes the file that was asked for.
    agent.write("notes.md", "new\n").await.ok();
    world.expect("notes.md", "new\n").await;
    world.expect("Notes.md", "x\n").await;
}

async fn a_name_with_a_narrow_space_is_opened_by_its_exact_bytes(world: World) {
    world.put("Shot\u{202f}PM.txt", "narrow\n").await;
    world.put("Shot PM.txt", "plain\n").await;
    let agent = world.agent().await;
    assert!(agent.read("Shot\u{202f}PM.txt").await.text.starts_with("1: narrow\n"));
    assert!(agent.read("Shot PM.txt").await.text.starts_with("1: plain\n"));
}

async fn a_name_that_is_no_utf8_is_shown_and_never_breaks_an_answer(world: World) {
    world.hand().put(b"caf\xe9.txt", b"one\n");
    world.hand().put(b"d\xff/f", b"one\n");
    world.hand().link_raw(b"file", b"caf\xe9.txt");
    world.hand().link_raw(b"dir", b"d\xff");
    world.hand().link_raw(b"gone", b"\xfe\xff");
    let agent = world.agent().await;
    // Nobody can spell such a name in a call; links lead to it, and answers show it.
    for (path, shown, raw) in [
        ("file", r"/workspace/caf\xe9.txt", &b"caf\xe9.txt"[..]),
        ("dir/f", r"/workspace/d\xff/f", b"d\xff/f"),
    ] {
        assert_eq!(agent.read(path).await.ok().get("path"), shown);
        assert_eq!(agent.edit(path, "one", "two").await.ok().get("path"), shown);
        assert_eq!(agent.write(path, "three\n").await.ok().get("path"), shown);
        assert_eq!(world.hand().get(raw).as_deref(), Some(&b"three\n"[..]));
    }
    // Errors about such a place, too.
    let answer = agent.read("gone").await;
    assert!(answer.refused("FS_NOT_FOUND").get("message").contains(r"\xfe\xff"), "{}", answer.text);
    let answer = world.agent().await.write("dir/f", "x").await;
    assert!(answer.refused("FS_NOT_OBSERVED").get("message").contains(r"d\xff/f"), "{}", answer.text);
    agent.read("dir/none").await.refused("FS_NOT_FOUND");
    // A name that nearly is the one asked for is hinted at in its display form.
    let answer = agent.read("caf\u{e9}.txt").await;
    let names = answer.refused("FS_NOT_FOUND").find("similar_names").unwrap_or_default();
    assert!(names.is_empty() || names == r"caf\xe9.txt", "{names}");
    // A new file through such a directory.
    assert_eq!(agent.write("dir/new", "x\n").await.ok().get("path"), r"/workspace/d\xff/new");
    assert_eq!(world.hand().names(b"d\xff"), [&b"f"[..], b"new"]);
}

async fn a_link_inside_the_root_is_followed(world: World) {
    world.put("real/f", "one\n").await;
    world.hand().link(b"link", "real");
    world.hand().link(b"l", "real/f");
    let agent = world.agent().await;
    for path in ["link/f", "l"] {
        assert_eq!(agent.read(path).await.ok().get("path"), "/workspace/real/f");
    }
}

async fn a_link_that_leads_out_of_the_root_is_refused_without_telling_where(world: World) {
    std::fs::write(world.around().join("secret"), "hidden\n").unwrap();
    world.hand().link(b"leak", "../secret");
    world.hand().link(b"up", "..");
    let agent = world.agent().await;
    for path in ["leak", "up/secret"] {
        let answer = agent.read(path).await;
        let error = answer.refused("FS_SANDBOX_DENIED");
        assert_eq!((error.get("rule"), error.get("path")), ("roots", path));
        let around = world.around().to_str().unwrap();
        assert!(!answer.show().contains(around) && !answer.text.contains("hidden"), "{}", answer.text);
        agent.write(path, "mine\n").await.refused("FS_SANDBOX_DENIED");
    }
    assert_eq!(std::fs::read(world.around().join("secret")).unwrap(), b"hidden\n");
}

async fn an_endless_device_behind_a_link_is_refused(world: World) {
    world.hand().link(b"zero", "/dev/zero");
    let agent = world.agent().await;
    agent.read("zero").await.refused("FS_SANDBOX_DENIED");
    agent.write("zero", "x").await.refused("FS_SANDBOX_DENIED");
}
