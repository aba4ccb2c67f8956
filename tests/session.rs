//! Sessions: where paths start, how far they lead, who has seen what, and how a session ends.

use std::collections::HashSet;

use expect_test::expect;
use tempfile::TempDir;
use toolfs_core::argument::RawCall;

use crate::support::answer::Answer;
use crate::support::door::{Ask, Door as _, Open, edit_call, read_call, write_call};
use crate::support::place::{Disk, Hand as _};
use crate::support::process::Server;
use crate::support::wire::Wire;
use crate::support::{World, cases};

cases! {
    text: [
        relative_paths_start_at_the_first_root,
        relative_paths_start_at_the_cwd,
        a_cwd_that_is_no_directory_is_refused,
        absolute_paths_are_accepted_beneath_the_root_only,
        a_neighbour_with_the_same_beginning_is_not_the_root,
        each_session_has_its_own_observations,
        what_another_session_wrote_is_stale,
        two_sessions_in_two_directories_do_not_mix,
        a_session_is_narrowed_to_its_roots,
        roots_beyond_the_servers_are_refused,
        a_read_only_session_reads_and_changes_nothing,
        a_closed_session_is_gone_for_good,
        a_session_that_never_was_is_not_found,
        what_is_forgotten_must_be_read_again,
        a_call_without_a_session_reads_and_creates_and_has_seen_nothing,
        a_name_is_no_key,
    ];
    outside: [
        a_parent_of_a_link_is_the_parent_of_its_target,
        a_working_directory_that_is_gone_is_said_to_be,
        a_link_does_not_lead_out_of_narrower_roots,
        what_belongs_to_git_is_changed_on_no_way,
    ];
    wire: [
        a_session_survives_a_reconnect,
        sessions_are_listed_by_name_and_never_by_secret,
        thousands_of_sessions_are_listed_page_by_page,
    ];
}

fn at(cwd: &str) -> Open {
    Open { cwd: Some(cwd.to_owned()), ..Open::default() }
}

async fn relative_paths_start_at_the_first_root(world: World) {
    let opened = world.door().open(Open::default()).await.unwrap();
    assert_eq!((opened.cwd.as_str(), &opened.roots[..]), ("/workspace", &["/workspace".to_owned()][..]));
    let answer = world.agent().await.write("a.txt", "x").await;
    assert_eq!(answer.ok().get("path"), "/workspace/a.txt");
    world.expect("a.txt", "x").await;
}

async fn relative_paths_start_at_the_cwd(world: World) {
    world.put("d/e/f", "deep\n").await;
    for cwd in ["d/e", "/workspace/d/e", "./d/../d/e/"] {
        let opened = world.door().open(at(cwd)).await.unwrap();
        assert_eq!(opened.cwd, "/workspace/d/e");
    }
    let agent = world.agent_with(at("d/e")).await;
    agent.read("f").await.ok();
    agent.write("g", "new\n").await.ok();
    world.expect("d/e/g", "new\n").await;
    agent.write("../h", "up\n").await.ok();
    world.expect("d/h", "up\n").await;
    agent.read("../../../x").await.refused("FS_SANDBOX_DENIED");
}

async fn a_cwd_that_is_no_directory_is_refused(world: World) {
    world.put("f", "x\n").await;
    for (cwd, reason) in [
        ("f", "FS_NOT_DIRECTORY"),
        ("missing", "FS_NOT_FOUND"),
        ("/etc", "FS_SANDBOX_DENIED"),
        ("..", "FS_SANDBOX_DENIED"),
    ] {
        assert_eq!(world.door().open(at(cwd)).await.unwrap_err().reason, reason, "{cwd}");
    }
}

async fn absolute_paths_are_accepted_beneath_the_root_only(world: World) {
    world.put("f", "x\n").await;
    world.put("a/f", "x\n").await;
    let agent = world.agent().await;
    agent.read("/workspace/f").await.ok();
    for path in ["/etc/passwd", "/", "/workspace/../etc/passwd", "..", "../x", "a/../../x", "/f"] {
        for answer in [agent.read(path).await, agent.write(path, "x").await] {
            assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), "roots", "{path}");
        }
    }
    expect![[r#"
        FS_SANDBOX_DENIED: `/etc/passwd` leads out of the roots, only paths beneath a root are served
        remedy: use a path beneath the roots that are served
        --
        code: FS_SANDBOX_DENIED
        message: `/etc/passwd` leads out of the roots, only paths beneath a root are served
        path: /etc/passwd
        remedy: use a path beneath the roots that are served
        retryable: false
        published: No
        rule: roots
    "#]]
    .assert_eq(&agent.read("/etc/passwd").await.show());
}

async fn a_neighbour_with_the_same_beginning_is_not_the_root(world: World) {
    let agent = world.agent().await;
    for path in ["/workspace-evil/x", "../workspace-evil/x", "../root-evil/x"] {
        agent.read(path).await.refused("FS_SANDBOX_DENIED");
    }
    world.put("in/x", "x\n").await;
    world.put("in-evil/x", "x\n").await;
    let narrow = world.agent_with(Open { roots: vec!["in".into()], ..Open::default() }).await;
    narrow.read("/workspace/in/x").await.ok();
    narrow.read("/workspace/in-evil/x").await.refused("FS_SANDBOX_DENIED");
}

async fn each_session_has_its_own_observations(world: World) {
    world.put("f", "one\n").await;
    let (first, second) = (world.agent().await, world.agent().await);
    first.read("f").await.ok();
    second.edit("f", "one", "two").await.refused("FS_NOT_OBSERVED");
    second.write("f", "two\n").await.refused("FS_NOT_OBSERVED");
    first.edit("f", "one", "two").await.ok();
    second.edit("f", "two", "three").await.refused("FS_NOT_OBSERVED");
    world.expect("f", "two\n").await;
}

async fn what_another_session_wrote_is_stale(world: World) {
    world.put("f", "one\n").await;
    let (first, second) = (world.agent().await, world.agent().await);
    first.read("f").await.ok();
    second.read("f").await.ok();
    first.edit("f", "one", "one, and more").await.ok();
    second.write("f", "one, changed from the old copy\n").await.refused("FS_STALE_VERSION");
    world.expect("f", "one, and more\n").await;
    // The first one's own write does not make the second one's old view valid, nor the other way round.
    second.read("f").await.ok();
    second.edit("f", "more", "less").await.ok();
    first.edit("f", "less", "more").await.refused("FS_STALE_VERSION");
}

async fn two_sessions_in_two_directories_do_not_mix(world: World) {
    world.put("wt/keep", "x").await;
    world.put("main/keep", "x").await;
    let only = |name: &str| Open { roots: vec![name.to_owned()], ..Open::default() };
    let (wt, main) = (world.agent_with(only("wt")).await, world.agent_with(only("main")).await);
    assert_eq!(wt.write("a.txt", "wt\n").await.ok().get("path"), "/workspace/wt/a.txt");
    assert_eq!(main.write("a.txt", "main\n").await.ok().get("path"), "/workspace/main/a.txt");
    world.expect("wt/a.txt", "wt\n").await;
    world.expect("main/a.txt", "main\n").await;
    wt.write("/workspace/main/b.txt", "x").await.refused("FS_SANDBOX_DENIED");
    wt.write("../main/b.txt", "x").await.refused("FS_SANDBOX_DENIED");
    world.expect_nothing("main/b.txt").await;
}

async fn a_session_is_narrowed_to_its_roots(world: World) {
    world.put("a/f", "x\n").await;
    world.put("b/f", "x\n").await;
    world.put("c/f", "x\n").await;
    let roots = vec!["a".to_owned(), "/workspace/b".to_owned()];
    let open = Open { roots: roots.clone(), cwd: Some("../b".into()), ..Open::default() };
    let opened = world.door().open(open.clone()).await.unwrap();
    assert_eq!(opened.roots, ["/workspace/a", "/workspace/b"]);
    assert_eq!(opened.cwd, "/workspace/b");
    let agent = world.agent_with(open).await;
    agent.read("f").await.ok();
    agent.read("/workspace/a/f").await.ok();
    let answer = agent.read("/workspace/c/f").await;
    assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), "session-roots");
    agent.write("../c/new", "x").await.refused("FS_SANDBOX_DENIED");
    world.expect_nothing("c/new").await;

    // Without a cwd it stands in its own first root, and cannot stand outside.
    let opened = world.door().open(Open { roots: roots.clone(), ..Open::default() }).await.unwrap();
    assert_eq!(opened.cwd, "/workspace/a");
    let outside = Open { roots, cwd: Some("/workspace/c".into()), ..Open::default() };
    assert_eq!(world.door().open(outside).await.unwrap_err().reason, "FS_SANDBOX_DENIED");
}

async fn roots_beyond_the_servers_are_refused(world: World) {
    for (root, reason) in
        [("/etc", "FS_SANDBOX_DENIED"), ("..", "FS_SANDBOX_DENIED"), ("missing", "FS_NOT_FOUND")]
    {
        let open = Open { roots: vec![root.to_owned()], ..Open::default() };
        assert_eq!(world.door().open(open).await.unwrap_err().reason, reason, "{root}");
    }
}

async fn a_read_only_session_reads_and_changes_nothing(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent_with(Open { read_only: true, ..Open::default() }).await;
    agent.read("f").await.ok();
    for answer in
        [agent.write("f", "x").await, agent.write("g", "x").await, agent.edit("f", "one", "x").await]
    {
        assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), "read-only");
    }
    world.expect("f", "one\n").await;
    world.expect_nothing("g").await;
}

async fn a_closed_session_is_gone_for_good(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    agent.close().await.unwrap();
    let gone = "SESSION_NOT_FOUND";
    for call in
        [crate::support::door::read_call("f", None, None), crate::support::door::edit_call("f", "one", "x")]
    {
        assert_eq!(agent.try_ask(Ask::of(call)).await.unwrap_err().reason, gone);
    }
    assert_eq!(agent.close().await.unwrap_err().reason, gone);
    assert_eq!(agent.forget(None).await.unwrap_err().reason, gone);
    world.expect("f", "one\n").await;
    // A new session is a new one.
    world.agent().await.edit("f", "one", "x").await.refused("FS_NOT_OBSERVED");
}

async fn a_session_that_never_was_is_not_found(world: World) {
    for id in ["ses_00000000000000000000000000000000", "x", "😀"] {
        let call = crate::support::door::write_call("f", "x");
        let refusal = world.door().execute(Some(id), Ask::of(call)).await.unwrap_err();
        assert_eq!(refusal.reason, "SESSION_NOT_FOUND");
        assert!(!refusal.message.contains(id), "the secret is repeated: {refusal}");
    }
    world.expect_nothing("f").await;
}

async fn what_is_forgotten_must_be_read_again(world: World) {
    for path in ["f", "g", "h"] {
        world.put(path, "one\n").await;
    }
    let agent = world.agent().await;
    for path in ["f", "g", "h"] {
        agent.read(path).await.ok();
    }
    // By any spelling, and what was never seen is no mistake.
    agent.forget(Some(&["./f", "never-seen"])).await.unwrap();
    agent.edit("f", "one", "two").await.refused("FS_NOT_OBSERVED");
    agent.edit("g", "one", "two").await.ok();
    agent.forget(None).await.unwrap();
    agent.edit("g", "two", "three").await.refused("FS_NOT_OBSERVED");
    agent.write("h", "x").await.refused("FS_NOT_OBSERVED");
    agent.read("h").await.ok();
    agent.edit("h", "one", "two").await.ok();
    assert_eq!(agent.forget(Some(&["/etc/passwd"])).await.unwrap_err().reason, "FS_SANDBOX_DENIED");
    agent.edit("h", "two", "three").await.ok();
}

async fn a_call_without_a_session_reads_and_creates_and_has_seen_nothing(world: World) {
    world.put("f", "one\n").await;
    let stranger = world.stranger();
    stranger.read("f").await.ok();
    let answer = stranger.edit("f", "one", "two").await;
    answer.refused("FS_NOT_OBSERVED");
    expect![[r#"
        FS_NOT_OBSERVED: a call without a session has seen nothing, so it cannot edit
        path: `f`
        remedy: open a session and read the file in it, then retry in that session
        --
        code: FS_NOT_OBSERVED
        message: a call without a session has seen nothing, so it cannot edit
        path: f
        remedy: open a session and read the file in it, then retry in that session
        retryable: false
        published: No
    "#]]
    .assert_eq(&answer.show());
    stranger.write("f", "two\n").await.refused("FS_NOT_OBSERVED");
    let answer = stranger.write("d/new", "made\n").await;
    assert_eq!(answer.ok().get("path"), "/workspace/d/new");
    stranger.write("d/new", "again\n").await.refused("FS_NOT_OBSERVED");
    world.expect("f", "one\n").await;
    world.expect("d/new", "made\n").await;
}

async fn a_name_is_no_key(world: World) {
    let opened = world.door().open(Open::default()).await.unwrap();
    assert!(!opened.name.is_empty() && !opened.id.contains(&opened.name));
    let call = crate::support::door::read_call("f", None, None);
    let refusal = world.door().execute(Some(&opened.name), Ask::of(call)).await.unwrap_err();
    assert_eq!(refusal.reason, "SESSION_NOT_FOUND");
}

async fn a_parent_of_a_link_is_the_parent_of_its_target(world: World) {
    world.put("deep/er/f", "x\n").await;
    world.put("deep/marker", "beside the target\n").await;
    world.put("marker", "beside the link\n").await;
    world.hand().link(b"link", "deep/er");
    let agent = world.agent().await;
    let answer = agent.read("link/../marker").await;
    assert_eq!(answer.ok().get("path"), "/workspace/deep/marker");
    let below = world.agent_with(at("link")).await;
    assert_eq!(below.read("../marker").await.ok().get("path"), "/workspace/deep/marker");
}

async fn a_working_directory_that_is_gone_is_said_to_be(world: World) {
    world.put("d/f", "x\n").await;
    let agent = world.agent_with(at("d")).await;
    world.hand().remove(b"d");
    let answer = agent.read("../d/../x/y").await;
    assert_eq!(answer.code(), "FS_NOT_FOUND");
    assert!(answer.text.contains("working directory"), "{}", answer.text);
    // Absolute paths need none.
    agent.write("/workspace/g", "x\n").await.ok();
}

async fn a_link_does_not_lead_out_of_narrower_roots(world: World) {
    world.put("a/f", "x\n").await;
    world.put("b/secret", "x\n").await;
    world.hand().link(b"a/leak", "../b/secret");
    let agent = world.agent_with(Open { roots: vec!["a".into()], ..Open::default() }).await;
    let answer = agent.read("leak").await;
    assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), "session-roots");
    assert!(!answer.show().contains("secret"), "{}", answer.show());
    agent.write("leak", "x").await.refused("FS_SANDBOX_DENIED");
}

async fn a_session_survives_a_reconnect(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let again = world.client().resume_session(agent.session()).await.unwrap();
    again.edit(toolfs_client::Edit::new("f", "one", "two")).await.unwrap();
    world.expect("f", "two\n").await;
}

async fn sessions_are_listed_by_name_and_never_by_secret(world: World) {
    let mut opened = Vec::new();
    for _ in 0..3 {
        opened.push(world.door().open(Open::default()).await.unwrap());
    }
    let mut names = Vec::new();
    let mut request = toolfs_client::v1::ListSessionsRequest { page_size: 2, page_token: String::new() };
    loop {
        let page = world.client().list_sessions(request.clone()).await.unwrap();
        assert!(page.sessions.len() <= 2);
        let shown = format!("{page:?}");
        assert!(opened.iter().all(|session| !shown.contains(&session.id)));
        names.extend(page.sessions.into_iter().map(|session| session.name));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(names, opened.iter().map(|session| session.name.clone()).collect::<Vec<_>>());
}

async fn thousands_of_sessions_are_listed_page_by_page(world: World) {
    const COUNT: usize = 2_500;
    let mut opened = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        opened.push(world.door().open(Open::default()).await.unwrap());
    }
    let names: HashSet<&str> = opened.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names.len(), COUNT, "a name is used twice");

    let client = world.client();
    let (mut listed, mut page_token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let request = toolfs_client::v1::ListSessionsRequest { page_size: 1_000, page_token };
        let page = client.list_sessions(request).await.unwrap();
        pages += 1;
        if pages == 1 {
            // What goes and what comes between two pages moves no other session from its place.
            client.resume_session(&opened[10].id).await.unwrap().close().await.unwrap();
            client.resume_session(&opened[COUNT - 1].id).await.unwrap().close().await.unwrap();
            opened.push(world.door().open(Open::default()).await.unwrap());
        }
        listed.extend(page.sessions.into_iter().map(|session| session.name));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(pages, 3);
    opened.remove(COUNT - 1);
    assert_eq!(listed, opened.into_iter().map(|session| session.name).collect::<Vec<_>>());

    let made_up = toolfs_client::v1::ListSessionsRequest { page_size: 1, page_token: "7-0".into() };
    let refusal = crate::support::wire::refusal(client.list_sessions(made_up).await.unwrap_err());
    assert_eq!(refusal.reason, "PAGE_TOKEN_INVALID");
}

async fn what_belongs_to_git_is_changed_on_no_way(world: World) {
    let kept = [
        ".git/config",
        "nested/.git/hooks/pre-commit",
        // A worktree and a submodule have a file of that name, which says where the rest is.
        "worktree/.git",
    ];
    for path in kept {
        world.put(path, "kept\n").await;
    }
    world.hand().link(b"deep/er/hooks", "../../nested/.git/hooks");
    world.hand().link(b"around", "deep/er/hooks");
    world.hand().link(b"pointer", "worktree/.git");
    world.hand().link(b"to-be-made", ".git/new");
    let agent = world.agent().await;
    let inside = world.agent_with(at("nested/.git")).await;
    let tries = [
        (&agent, "nested/.git/hooks/pre-commit"),
        (&agent, "deep/er/hooks/pre-commit"),
        (&agent, "around/pre-commit"),
        (&agent, "around/new/hook"),
        (&agent, "worktree/.git"),
        (&agent, "pointer"),
        (&agent, "to-be-made/x"),
        (&agent, "not/there/.git/config"),
        (&agent, "nested/../.git/config"),
        (&inside, "config"),
        (&inside, "hooks/pre-commit"),
    ];
    for (agent, path) in tries {
        agent.read(path).await;
        for answer in [agent.write(path, "x").await, agent.edit(path, "kept", "x").await] {
            assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), ".git", "{path}");
        }
    }
    for path in kept {
        world.expect(path, "kept\n").await;
    }
    for path in ["not", ".git/new", "nested/.git/config", "nested/.git/hooks/new"] {
        world.expect_nothing(path).await;
    }
    assert!(!world.hand().names(b"").contains(&b"not".to_vec()), "a parent was made");
    // Reading is no change, and the rest of a nested repository is like any other directory.
    agent.read("around/pre-commit").await.ok();
    agent.write("nested/src/lib.rs", "fine\n").await.ok();
}

/// A server on a directory of its own, with roots beneath it, and its client.
async fn server_on(directory: &TempDir, roots: &[String]) -> (Server, Wire) {
    let listen = format!("unix:{}", directory.path().join("s").display());
    let mut arguments = vec!["--listen", &listen, "--state", "memory"];
    arguments.extend(roots.iter().flat_map(|root| ["--root", root]));
    let server = Server::start(&arguments);
    let client = toolfs_client::Client::connect(&server.address()).await.unwrap();
    (server, Wire::new(client))
}

fn root(directory: &TempDir, path: &str, name: &str) -> String {
    format!("{}{name}", directory.path().join(path).display())
}

fn disk(directory: &TempDir) -> Disk {
    Disk(directory.path().canonicalize().unwrap())
}

async fn ask(door: &Wire, session: &str, call: RawCall) -> Answer {
    door.execute(Some(session), Ask::of(call)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn several_roots_are_reached_by_their_names_and_a_session_stands_in_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let hand = disk(&directory);
    for path in ["a/f", "b/f", "plain/f"] {
        hand.put(path.as_bytes(), path.as_bytes());
    }
    let roots = [
        root(&directory, "a", "=/project"),
        root(&directory, "b", "=/library"),
        root(&directory, "plain", ""),
    ];
    let (_server, door) = server_on(&directory, &roots).await;
    let plain = hand.at(b"plain").display().to_string();
    let opened = door.open(Open::default()).await.unwrap();
    assert_eq!(opened.cwd, "/project");
    assert_eq!(opened.roots, ["/project", "/library", &plain]);
    for (path, shown) in [
        ("f", "/project/f".to_owned()),
        ("/library/f", "/library/f".to_owned()),
        (&format!("{plain}/f"), format!("{plain}/f")),
    ] {
        assert_eq!(ask(&door, &opened.id, read_call(path, None, None)).await.ok().get("path"), shown);
        ask(&door, &opened.id, write_call(path, "changed")).await.ok();
    }
    for path in ["a/f", "b/f", "plain/f"] {
        assert_eq!(hand.get(path.as_bytes()).unwrap(), b"changed");
    }
    // Where a named root lies is no path of the agents, and what is called alike is no part of it.
    let place = hand.at(b"a/f").display().to_string();
    for path in [place.as_str(), "/projects/f", "../library/f", "/library/../project/../etc/passwd"] {
        ask(&door, &opened.id, read_call(path, None, None)).await.refused("FS_SANDBOX_DENIED");
    }
    let narrow = Open { roots: vec!["/library".into()], ..Open::default() };
    let opened = door.open(narrow).await.unwrap();
    assert_eq!(opened.cwd, "/library");
    let answer = ask(&door, &opened.id, read_call("/project/f", None, None)).await;
    assert_eq!(answer.refused("FS_SANDBOX_DENIED").get("rule"), "session-roots");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_in_two_nested_roots_is_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let hand = disk(&directory);
    hand.put(b"outer/inner/f", b"one\n");
    let roots = [root(&directory, "outer", ""), root(&directory, "outer/inner", "")];
    let (_server, door) = server_on(&directory, &roots).await;
    let outer = hand.at(b"outer").display().to_string();
    let opened = door.open(Open::default()).await.unwrap();
    assert_eq!(opened.cwd, outer);
    // Seen on one way, changed on the other.
    let seen = ask(&door, &opened.id, read_call("inner/f", None, None)).await;
    let direct = format!("{outer}/inner/f");
    assert_eq!(seen.ok().get("path"), direct);
    ask(&door, &opened.id, edit_call(&direct, "one", "two")).await.ok();
    ask(&door, &opened.id, edit_call("inner/../inner/f", "two", "three")).await.ok();
    assert_eq!(hand.get(b"outer/inner/f").unwrap(), b"three\n");
    let narrow = Open { roots: vec![format!("{outer}/inner")], ..Open::default() };
    let opened = door.open(narrow).await.unwrap();
    ask(&door, &opened.id, read_call("f", None, None)).await.ok();
    ask(&door, &opened.id, write_call("../beside", "x")).await.refused("FS_SANDBOX_DENIED");
    assert_eq!(hand.get(b"outer/beside"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_root_that_is_given_through_a_link_is_reached_in_both_spellings() {
    let directory = tempfile::tempdir().unwrap();
    let hand = disk(&directory);
    hand.put(b"real/f", b"one\n");
    hand.link(b"way", "real");
    let given = hand.at(b"way").display().to_string();
    let (_server, door) = server_on(&directory, std::slice::from_ref(&given)).await;
    let real = hand.at(b"real").display().to_string();
    let opened = door.open(Open::default()).await.unwrap();
    assert_eq!((opened.cwd.as_str(), &opened.roots[..]), (real.as_str(), std::slice::from_ref(&real)));
    let seen = ask(&door, &opened.id, read_call(&format!("{given}/f"), None, None)).await;
    assert_eq!(seen.ok().get("path"), format!("{real}/f"));
    ask(&door, &opened.id, edit_call(&format!("{real}/f"), "one", "two")).await.ok();
    let stands = door.open(at(&given)).await.unwrap();
    assert_eq!(stands.cwd, real);
    // The link is not part of what is served: leading it elsewhere leads nobody there.
    hand.put(b"elsewhere/f", b"not served\n");
    hand.remove(b"way");
    hand.link(b"way", "elsewhere");
    let answer = ask(&door, &opened.id, read_call("f", None, None)).await;
    assert!(answer.text.contains("two"), "{}", answer.text);
}
