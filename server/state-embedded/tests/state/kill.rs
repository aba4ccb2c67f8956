use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use toolfs_core::clock::{Order, Timestamp};
use toolfs_policy::suite::{seen, session, target};
use toolfs_policy::{ForgetScope, ObservationStore};
use toolfs_tools::{CallState, CallStore, SessionStore};

use crate::support::{SOON, call, findings, guard, open, record};

const TASKS: usize = 8;
const ROUNDS: usize = 3;
/// After how many acknowledged operations the process is killed.
const ACKNOWLEDGED: usize = 150;

/// Runs in a process of its own, whose parent writes the directory and the round to its standard input; without a
/// parent there is nothing to do. It works until it is killed, and acknowledges each operation that returned.
#[test]
#[ignore = "the other half of a_killed_process_keeps_what_it_acknowledged, which starts it"]
fn work_until_killed() {
    let mut lines = std::io::stdin().lines().map_while(Result::ok);
    let (Some(directory), Some(round)) = (lines.next(), lines.next()) else { return };
    let round: usize = round.parse().unwrap();
    let state = Arc::new(open(Path::new(&directory), SOON));
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let state = &state;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                for number in (0..).map(|step| (round << 32) + step * TASKS + task) {
                    let name = runtime.block_on(operate(state, number));
                    // One write a line: lines of threads do not mix.
                    let line = format!("ack {name} {number}\n");
                    if std::io::stdout().write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

async fn operate(state: &toolfs_state_embedded::EmbeddedState, number: usize) -> &'static str {
    let now = Timestamp(1_700_000_000_000);
    let (own, place) = (session(&number.to_string()), target("t"));
    match number % 5 {
        0 => {
            state.insert(record(number), u64::MAX).await.unwrap();
            "inserted"
        }
        1 => {
            state.insert(record(number), u64::MAX).await.unwrap();
            SessionStore::remove(state, &record(number).key).await.unwrap();
            "removed"
        }
        2 => {
            CallStore::begin(state, &call("s", number), &[1; 32], &guard(), now).await.unwrap();
            "begun"
        }
        3 => {
            state.end(&call("s", number), &[1; 32], number.to_le_bytes().to_vec(), false, now).await.unwrap();
            "ended"
        }
        _ => {
            state.record(&own, &place, seen("x"), Order(1)).await.unwrap();
            state.forget(&own, ForgetScope::All, Order(5)).await.unwrap();
            "forgot"
        }
    }
}

async fn check(state: &toolfs_state_embedded::EmbeddedState, name: &str, number: usize) {
    let session_there = SessionStore::find(state, &record(number).key).await.unwrap();
    let call_there = CallStore::find(state, &call("s", number)).await.unwrap().map(|call| call.state);
    match name {
        "inserted" => assert_eq!(session_there, Some(record(number))),
        "removed" => assert_eq!(session_there, None),
        "begun" => assert_eq!(call_there, Some(CallState::Begun { guard: guard(), is_live: false })),
        "ended" => {
            assert_eq!(call_there, Some(CallState::Ended { result: number.to_le_bytes().to_vec() }));
        }
        "forgot" => {
            let (own, place) = (session(&number.to_string()), target("t"));
            state.record(&own, &place, seen("late"), Order(5)).await.unwrap();
            assert_eq!(state.get(&own, &place).await.unwrap(), None);
        }
        other => panic!("an acknowledgement of what nobody does: {other}"),
    }
}

#[test]
fn a_killed_process_keeps_what_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut acknowledged: Vec<(String, usize)> = Vec::new();
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "kill::work_until_killed"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let request = format!("{}\n{round}\n", directory.path().display());
        child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let parse = |line: String| {
            let mut words = line.split(' ');
            let name = (words.next() == Some("ack")).then(|| words.next()).flatten()?.to_owned();
            Some((name, words.next()?.parse().ok()?))
        };
        acknowledged.extend(lines.by_ref().filter_map(parse).take(ACKNOWLEDGED));
        // SIGKILL, in the middle of whatever its threads are committing.
        child.kill().unwrap();
        acknowledged.extend(lines.filter_map(parse));
        child.wait().unwrap();

        assert!(acknowledged.len() >= (round + 1) * ACKNOWLEDGED, "the process ended before it was killed");
        let state = open(directory.path(), SOON);
        runtime.block_on(async {
            for (name, number) in &acknowledged {
                check(&state, name, *number).await;
            }
        });
        drop(state);
        assert_eq!(findings(directory.path()), Vec::<String>::new());
    }
}
