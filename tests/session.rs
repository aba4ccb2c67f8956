//! Sessions: where paths start, how far they lead, who has seen what, and how a session ends.

use expect_test::expect;

use crate::support::door::{Ask, Open};
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
    ];
    wire: [
        a_session_survives_a_reconnect,
        sessions_are_listed_by_name_and_never_by_secret,
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
