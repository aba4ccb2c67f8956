//! Two real servers on one directory: with one state, which is one truth, and with two, which share the disk only.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use toolfs_client::{CallOptions, Client, Edit, Error, OpenSession, Read, Session, Write};
use toolfs_contract::v1;
use toolfs_contract::v1::watch_response::Happening;
use uuid::Uuid;

use crate::support::process::Server;

/// A root, and places beside it that all servers share.
struct Place {
    directory: TempDir,
}

/// Which state a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    One,
    Other,
    Memory,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn put(&self, file: &str, content: &str) {
        std::fs::write(self.directory.path().join("root").join(file), content).unwrap();
    }

    fn content(&self, file: &str) -> String {
        std::fs::read_to_string(self.directory.path().join("root").join(file)).unwrap()
    }

    /// A server with this socket. Without syncs calls come close after each other, which is what these tests are about.
    fn serve(&self, socket: &str, state: State, more: &[&str]) -> Server {
        self.serve_with(socket, state, more, &[])
    }

    fn serve_with(&self, socket: &str, state: State, more: &[&str], variables: &[(&str, &str)]) -> Server {
        let (root, listen, home) = (self.path("root"), self.socket(socket), self.path("home"));
        let state = match state {
            State::One => self.path("state"),
            State::Other => self.path("other-state"),
            State::Memory => "memory".to_owned(),
        };
        let arguments = ["--root", &root, "--listen", &listen, "--state", &state, "--durability", "none"];
        // The place where servers of a host take turns is found by this.
        let variables = [&[("XDG_STATE_HOME", home.as_str())], variables].concat();
        Server::start_with(&[&arguments[..], more].concat(), &variables)
    }

    fn socket(&self, name: &str) -> String {
        format!("unix:{}", self.path(name))
    }

    async fn client(&self, socket: &str) -> Client {
        Client::connect(&self.socket(socket)).await.unwrap()
    }

    /// A session of the first server, and the same one at the second.
    async fn session_at_both(&self, open: OpenSession) -> [Session; 2] {
        let here = self.client("one").await.open_session(open).await.unwrap();
        let there = self.client("two").await.resume_session(here.id()).await.unwrap();
        [here, there]
    }
}

#[track_caller]
fn code(error: &Error) -> String {
    error.code().unwrap_or_else(|| panic!("{error}")).as_str().to_owned()
}

fn is_no_session(error: &Error) -> bool {
    error.to_string().contains("no such session")
}

/// A sequence that looks random and is the same each time.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Puts a line before the last one, reading again as often as somebody else was faster. How often that was.
async fn append(session: &Session, file: &str, line: &str) -> usize {
    let mut refusals = 0;
    loop {
        match session.edit(Edit::new(file, "end\n", format!("{line}\nend\n"))).await {
            Ok(_) => return refusals,
            Err(error) => {
                assert_eq!(code(&error), "FS_STALE_VERSION", "{error}");
                refusals += 1;
                session.read(Read::new(file)).await.unwrap();
            }
        }
    }
}

/// Every line is there once, between the first and the last.
#[track_caller]
fn check_lines(content: &str, expected: impl IntoIterator<Item = String>) {
    let mut expected: Vec<String> = expected.into_iter().collect();
    let mut found: Vec<&str> = content.lines().collect();
    assert_eq!(found.pop(), Some("end"));
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Calls of one session, one after the other, at whichever server; other hands change files now and then. What was
/// refused that one server alone would not have refused.
async fn hand_to_and_fro(place: &Place, steps: u64) -> Vec<String> {
    let session = place.session_at_both(OpenSession::default()).await;
    let mut draw = draws(7);
    let mut refused = Vec::new();
    for step in 0..steps {
        let here = &session[usize::try_from(draw(2)).unwrap()];
        let there = &session[usize::try_from(draw(2)).unwrap()];
        let file = format!("f{}", draw(4));
        let (old, new) = (format!("{step}\n"), format!("{step} changed\n"));
        let outcome = match draw(5) {
            // Somebody else writes, one server is shown, and the other is asked to change it.
            0 => {
                place.put(&file, &old);
                match here.read(Read::new(&*file)).await {
                    Ok(_) => there.edit(Edit::new(&*file, &*old, &*new)).await.map(drop),
                    Err(error) => Err(error),
                }
            }
            1 => match here.write(Write::new(format!("new{step}"), &*old)).await {
                Ok(_) => there.edit(Edit::new(format!("new{step}"), &*old, &*new)).await.map(drop),
                Err(error) => Err(error),
            },
            // Nothing is there, says one; the other makes it, and the first changes it.
            2 => {
                let absent = here.read(Read::new(format!("new{step}"))).await.unwrap_err();
                assert_eq!(code(&absent), "FS_NOT_FOUND");
                match there.write(Write::new(format!("new{step}"), &*old)).await {
                    Ok(_) => here.write(Write::new(format!("new{step}"), &*new)).await.map(drop),
                    Err(error) => Err(error),
                }
            }
            3 => {
                let _ = here.read(Read::new("f0")).await.unwrap();
                there.forget(["f0"]).await.unwrap();
                let forgotten = here.edit(Edit::new("f0", "0", "1")).await.unwrap_err();
                assert_eq!(code(&forgotten), "FS_NOT_OBSERVED");
                continue;
            }
            _ => {
                let content = place.content(&file);
                match here.read(Read::new(&*file)).await {
                    Ok(_) => there.edit(Edit::new(&*file, content, &*new)).await.map(drop),
                    Err(error) => Err(error),
                }
            }
        };
        refused.extend(outcome.err().map(|error| format!("step {step}: {error}")));
    }
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_handed_to_and_fro_and_nothing_is_refused() {
    let place = Place::new();
    (0..4).for_each(|number| place.put(&format!("f{number}"), "0\n"));
    let _servers = [place.serve("one", State::One, &[]), place.serve("two", State::One, &[])];
    assert_eq!(hand_to_and_fro(&place, 400).await, Vec::<String>::new());
}

/// The test above would find servers that keep what they know to themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_keep_to_themselves_are_found_out() {
    if !cfg!(feature = "planted-faults") {
        crate::support::say("skipped: no faults can be planted without the feature `planted-faults`");
        return;
    }
    let place = Place::new();
    (0..4).for_each(|number| place.put(&format!("f{number}"), "0\n"));
    let faulty =
        |name| place.serve_with(name, State::One, &[], &[("TOOLFS_PLANTED_FAULT", "state-keeps-to-itself")]);
    let _servers = [faulty("one"), faulty("two")];
    assert_ne!(hand_to_and_fro(&place, 100).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lone_server_was_shown_is_known_to_the_one_that_comes() {
    for _ in 0..5 {
        let place = Place::new();
        let _one = place.serve("one", State::One, &["--write-behind-ms", "60000"]);
        let here = place.client("one").await.open_session(OpenSession::default()).await.unwrap();
        for number in 0..20 {
            place.put(&format!("f{number}"), "old");
            here.read(Read::new(format!("f{number}"))).await.unwrap();
        }
        let _two = place.serve("two", State::One, &[]);
        let there = place.client("two").await.resume_session(here.id()).await.unwrap();
        for number in 0..20 {
            there.edit(Edit::new(format!("f{number}"), "old", "new")).await.unwrap();
        }
    }
}

/// What it had kept is not known until it runs again: a session may have to read once more, and is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_keeps_nobody_from_starting_and_undoes_nothing_later() {
    let place = Place::new();
    place.put("f", "old");
    place.put("g", "old");
    let one = place.serve("one", State::One, &["--write-behind-ms", "60000"]);
    let here = place.client("one").await.open_session(OpenSession::default()).await.unwrap();
    here.read(Read::new("f")).await.unwrap();
    here.read(Read::new("g")).await.unwrap();
    let pid = Pid::from_raw(i32::try_from(one.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let begun = Instant::now();
    let _two = place.serve("two", State::One, &[]);
    let took = begun.elapsed();
    let there = place.client("two").await.resume_session(here.id()).await.unwrap();
    let unknown = there.edit(Edit::new("f", "old", "new")).await.map_err(|error| code(&error));
    assert_eq!(unknown.map(drop), Err("FS_NOT_OBSERVED".to_owned()));
    place.put("f", "theirs");
    there.read(Read::new("f")).await.unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(took < Duration::from_secs(15), "{took:?}");
    // What came later stays, whoever writes it down last.
    here.edit(Edit::new("f", "theirs", "ours")).await.unwrap();
    there.edit(Edit::new("f", "ours", "ours again")).await.unwrap();
    // And what it had kept comes to light, within the time of a look at the others.
    while let Err(error) = there.edit(Edit::new("g", "old", "new")).await {
        assert_eq!(code(&error), "FS_NOT_OBSERVED");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_edit_of_one_file_from_both_servers_is_there() {
    for states in [[State::One, State::One], [State::One, State::Other], [State::Memory, State::Memory]] {
        let place = Place::new();
        place.put("f", "end\n");
        let _servers = [place.serve("one", states[0], &[]), place.serve("two", states[1], &[])];
        let agents = (0..6).map(|agent| {
            let place = &place;
            async move {
                let client = place.client(if agent % 2 == 0 { "one" } else { "two" }).await;
                let session = client.open_session(OpenSession::default()).await.unwrap();
                session.read(Read::new("f")).await.unwrap();
                let mut refusals = 0;
                for number in 0..20 {
                    refusals += append(&session, "f", &format!("{agent}-{number}")).await;
                }
                refusals
            }
        });
        let refusals: usize = join_all(agents).await.into_iter().sum();
        assert!(refusals > 0, "they never met: {states:?}");
        let expected = (0..6).flat_map(|agent| (0..20).map(move |number| format!("{agent}-{number}")));
        check_lines(&place.content("f"), expected);
    }
}

/// At one server the calls of a session take turns; at two they do not: one of two at once may be stale, and a read
/// cures that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_edits_at_both_servers_at_once_loses_nothing() {
    let place = Place::new();
    place.put("f", "end\n");
    let _servers = [place.serve("one", State::One, &[]), place.serve("two", State::One, &[])];
    let session = place.session_at_both(OpenSession::default()).await;
    session[0].read(Read::new("f")).await.unwrap();
    let edits = (0..4).map(|task| {
        let session = &session[task % 2];
        async move {
            for number in 0..25 {
                append(session, "f", &format!("{task}-{number}")).await;
            }
        }
    });
    join_all(edits).await;
    let expected = (0..4).flat_map(|task| (0..25).map(move |number| format!("{task}-{number}")));
    check_lines(&place.content("f"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_the_same_at_both_servers_until_one_closes_it() {
    let place = Place::new();
    std::fs::create_dir(place.directory.path().join("root/sub")).unwrap();
    place.put("sub/f", "old");
    let _servers = [place.serve("one", State::One, &[]), place.serve("two", State::One, &[])];
    let labels = [("agent".to_owned(), "seven".to_owned())].into();
    let open = OpenSession { cwd: "sub".to_owned(), labels, ..OpenSession::default() };
    let [here, there] = place.session_at_both(open).await;
    assert_eq!(here.info(), there.info());
    let [reader, same_reader] =
        place.session_at_both(OpenSession { read_only: true, ..OpenSession::default() }).await;
    assert_eq!(reader.info(), same_reader.info());
    let denied = same_reader.write(Write::new("sub/f", "x")).await.unwrap_err();
    assert_eq!(code(&denied), "FS_SANDBOX_DENIED");
    there.read(Read::new("f")).await.unwrap();
    here.edit(Edit::new("f", "old", "new")).await.unwrap();

    let lists = async || {
        let mut lists = Vec::new();
        for server in ["one", "two"] {
            let request = v1::ListSessionsRequest::default();
            lists.push(place.client(server).await.list_sessions(request).await.unwrap().sessions);
        }
        lists
    };
    let before = lists().await;
    let names = |list: &[v1::Session]| list.iter().map(|session| session.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before[0]), [here.info().name.clone(), reader.info().name.clone()]);
    for (one, other) in before[0].iter().zip(&before[1]) {
        // A use is told to others when they know of none within a minute.
        let seconds = |session: &v1::Session| session.expire_time.unwrap().seconds;
        assert!((seconds(one) - seconds(other)).abs() <= 60, "{one:?} {other:?}");
        let other = v1::Session { expire_time: one.expire_time, ..other.clone() };
        assert_eq!(*one, other);
    }
    let (name, id) = (here.info().name.clone(), here.id().to_owned());
    here.close().await.unwrap();
    assert!(is_no_session(&there.read(Read::new("f")).await.unwrap_err()));
    assert!(is_no_session(&there.forget_all().await.unwrap_err()));
    assert!(is_no_session(&place.client("two").await.resume_session(id).await.unwrap_err()));
    assert!(is_no_session(&there.close().await.unwrap_err()));
    for list in lists().await {
        assert!(!names(&list).contains(&name));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_used_at_one_server_does_not_expire_at_the_other() {
    let place = Place::new();
    place.put("f", "x");
    let idle = ["--session-idle-s", "2"];
    let _servers = [place.serve("one", State::One, &idle), place.serve("two", State::One, &idle)];
    let [here, there] = place.session_at_both(OpenSession::default()).await;
    let [unused, _] = place.session_at_both(OpenSession::default()).await;
    // Both servers have a handle on it, and the second one's is not used any more.
    there.read(Read::new("f")).await.unwrap();
    let second = place.client("two").await;
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "the unused session does not expire");
        here.read(Read::new("f")).await.unwrap();
        // To list is to look for what has expired.
        let list = second.list_sessions(v1::ListSessionsRequest::default()).await.unwrap().sessions;
        assert!(list.iter().any(|session| session.name == here.info().name));
        if !list.iter().any(|session| session.name == unused.info().name) {
            break;
        }
    }
    there.read(Read::new("f")).await.unwrap();
    here.read(Read::new("f")).await.unwrap();
    assert!(is_no_session(&unused.read(Read::new("f")).await.unwrap_err()));
}

fn named(request_id: Uuid) -> CallOptions {
    CallOptions { request_id: Some(request_id), ..CallOptions::default() }
}

/// An edit that each run of it would make longer.
fn growing(request_id: Uuid) -> Edit {
    Edit::new("f", "x", "xx").replace_all().options(named(request_id))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_sent_to_both_servers_at_once_takes_effect_once() {
    let place = Place::new();
    let _servers = [place.serve("one", State::One, &[]), place.serve("two", State::One, &[])];
    let session = place.session_at_both(OpenSession::default()).await;
    for round in 0..40 {
        place.put("f", "x\n");
        session[round % 2].read(Read::new("f")).await.unwrap();
        let request_id = Uuid::new_v4();
        let calls = (0..6).map(|number| session[number % 2].edit(growing(request_id)));
        let answers: Vec<_> =
            join_all(calls).await.into_iter().map(|answer| answer.unwrap().text()).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert_eq!(place.content("f"), "xx\n");
        // So does a refusal: nothing of that name is there.
        let request_id = Uuid::new_v4();
        let missing = || Edit::new("f", "nowhere", "x").options(named(request_id));
        let calls = (0..6).map(|number| session[number % 2].edit(missing()));
        for answer in join_all(calls).await {
            assert_eq!(code(&answer.unwrap_err()), "FS_EDIT_NOT_FOUND");
        }
    }
}

/// Wherever the first server is cut, the second one brings the call to its one end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_server_is_killed_is_repeated_at_the_other() {
    let place = Place::new();
    let _two = place.serve("two", State::One, &[]);
    for round in 0..12 {
        let one = place.serve("one", State::One, &[]);
        place.put("f", "x\n");
        let [here, there] = place.session_at_both(OpenSession::default()).await;
        here.read(Read::new("f")).await.unwrap();
        let request_id = Uuid::new_v4();
        let first = tokio::spawn(async move { here.edit(growing(request_id)).await });
        tokio::time::sleep(Duration::from_micros(round * 150)).await;
        tokio::task::spawn_blocking(|| one.kill()).await.unwrap();
        let repeated = there.edit(growing(request_id)).await.unwrap();
        assert_eq!(place.content("f"), "xx\n", "round {round}");
        if let Ok(answer) = first.await.unwrap() {
            assert_eq!(answer.text(), repeated.text(), "round {round}");
        }
        // It has seen what it did, and goes on.
        there.edit(Edit::new("f", "xx", "y")).await.unwrap();
    }
}

/// A watch follows the calls at the server that it was begun at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_tells_of_calls_at_its_own_server() {
    let place = Place::new();
    place.put("f", "x");
    let _servers = [place.serve("one", State::One, &[]), place.serve("two", State::One, &[])];
    let [here, there] = place.session_at_both(OpenSession::default()).await;
    let mut watch = there.watch("").await.unwrap();
    let read = |id: &str| {
        let options = CallOptions { tool_call_id: id.to_owned(), ..CallOptions::default() };
        Read::new("f").options(options)
    };
    here.read(read("here")).await.unwrap();
    there.read(read("there")).await.unwrap();
    let began = loop {
        match watch.next().await.unwrap().unwrap().happening {
            Some(Happening::CallBegan(began)) => break began,
            Some(Happening::WatchBegan(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(began.tool_call_id, "there");
}

/// Sessions are apart, and what is on the disk is the same for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_states_of_their_own_share_the_disk_only() {
    for states in [[State::One, State::Other], [State::Memory, State::Memory], [State::One, State::Memory]] {
        let place = Place::new();
        place.put("f", "old");
        let _servers = [place.serve("one", states[0], &[]), place.serve("two", states[1], &[])];
        let (first, second) = (place.client("one").await, place.client("two").await);
        let here = first.open_session(OpenSession::default()).await.unwrap();
        assert!(is_no_session(&second.resume_session(here.id()).await.unwrap_err()), "{states:?}");
        assert!(second.list_sessions(v1::ListSessionsRequest::default()).await.unwrap().sessions.is_empty());
        let there = second.open_session(OpenSession::default()).await.unwrap();
        here.read(Read::new("f")).await.unwrap();
        // What the one session saw the other did not.
        assert_eq!(code(&there.edit(Edit::new("f", "old", "x")).await.unwrap_err()), "FS_NOT_OBSERVED");
        there.read(Read::new("f")).await.unwrap();
        there.edit(Edit::new("f", "old", "new")).await.unwrap();
        let stale = here.edit(Edit::new("f", "old", "lost")).await.unwrap_err();
        assert_eq!(code(&stale), "FS_STALE_VERSION", "{states:?}");
        here.read(Read::new("f")).await.unwrap();
        here.edit(Edit::new("f", "new", "newer")).await.unwrap();
        assert_eq!(place.content("f"), "newer");
        // One request id is two calls there.
        let request_id = Uuid::new_v4();
        here.write(Write::new("g", "here").options(named(request_id))).await.unwrap();
        let taken = there.write(Write::new("g", "there").options(named(request_id))).await.unwrap_err();
        assert_eq!(code(&taken), "FS_NOT_OBSERVED");
    }
}
