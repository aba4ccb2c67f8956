use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toolfs_core::clock::Timestamp;
use toolfs_core::guard::WriteGuard;
use toolfs_core::id::{RequestId, SessionKey, SessionName};
use toolfs_core::target::{Target, TargetKey};
use toolfs_state_embedded::{EmbeddedState, StateOptions};
pub(crate) use toolfs_tools::suite::{ManualClock, WINDOW};
use toolfs_tools::{CallKey, Caller, DecidedGuard, SessionMode, SessionRecord};

/// Longer than any test: what is written behind stays in memory unless something else is written.
pub(crate) const NEVER: Duration = Duration::from_secs(86_400);

/// Shorter than any patience.
pub(crate) const SOON: Duration = Duration::from_millis(2);

pub(crate) fn options(write_behind: Duration) -> StateOptions {
    StateOptions {
        write_behind,
        request_id_window: WINDOW,
        max_remembered_bytes: 1 << 20,
        clock: ManualClock::new(),
    }
}

pub(crate) fn open(directory: &Path, write_behind: Duration) -> EmbeddedState {
    EmbeddedState::open(directory, options(write_behind)).unwrap()
}

pub(crate) fn target(path: &str) -> Target {
    Target {
        key: TargetKey::new(path.as_bytes()),
        raw_path: path.as_bytes().to_vec(),
        process_path: Vec::new(),
        display_path: path.to_owned(),
        file_url: String::new(),
        protected_rule: None,
    }
}

pub(crate) fn record(number: usize) -> SessionRecord {
    SessionRecord {
        key: SessionKey::new(&format!("key-{number}")),
        name: SessionName::new(&format!("session-{number}")),
        owner: Caller::Named("a \"b\"".to_owned()),
        cwd: target("/w"),
        roots: vec![target("/w/a"), target("/w/b")],
        shown_roots: vec!["/w/a".to_owned(), "/w/b".to_owned()],
        labels: BTreeMap::from([("label".to_owned(), "of it".to_owned())]),
        mode: SessionMode::ReadOnly,
        created: Timestamp(5),
        last_used: Timestamp(6),
    }
}

pub(crate) fn call(session: &str, number: usize) -> CallKey {
    let request = RequestId::parse(&format!("00000000-0000-4000-8000-{number:012x}")).unwrap();
    CallKey { session: SessionKey::new(session), request }
}

pub(crate) fn guard() -> DecidedGuard {
    DecidedGuard::Write(WriteGuard::CreateIfAbsent)
}

/// Waits for what the writer's thread does by itself.
pub(crate) async fn eventually(is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("what is waited for does not happen");
}

/// What `PRAGMA quick_check` and a recount of what triggers count find wrong with a database that nobody has open.
pub(crate) fn findings(directory: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(directory.join("state.db")).unwrap();
    let mut findings: Vec<String> = connection
        .prepare("PRAGMA integrity_check")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(|row| row.unwrap())
        .collect();
    findings.retain(|finding| finding != "ok");
    let are_off: bool = connection
        .query_row(
            "SELECT facts <> (SELECT count(*) FROM observation) + (SELECT count(*) FROM observed_session)
                 OR call_bytes <> (SELECT ifnull(sum(bytes), 0) FROM call)
             FROM tally",
            [],
            |row| row.get(0),
        )
        .unwrap();
    if are_off {
        findings.push("counts are off".to_owned());
    }
    findings
}
