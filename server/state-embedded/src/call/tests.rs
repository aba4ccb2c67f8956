use expect_test::expect;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::id::RequestId;
use toolfs_core::version::Version;

use super::*;
use crate::observation::ObservationLimits;
use crate::support::{count, state};

/// A state of an earlier version is read by this one. If this text changes, raise the schema version and give the
/// migration a step that rewrites the column.
#[test]
fn the_stored_form_of_a_guard_stays_as_it_is() {
    let version = Version::parse("b3-1").unwrap();
    let guards = [
        DecidedGuard::Write(WriteGuard::Unconditional),
        DecidedGuard::Write(WriteGuard::CreateIfAbsent),
        DecidedGuard::Write(WriteGuard::ReplaceIfVersion(version.clone())),
        DecidedGuard::Edit(EditGuard::Unconditional),
        DecidedGuard::Edit(EditGuard::ReplaceIfVersion(version)),
    ];
    let texts: Vec<String> = guards.iter().map(|guard| serde_json::to_string(guard).unwrap()).collect();
    let expected = expect![[r#"
        {"Write":"Unconditional"}
        {"Write":"CreateIfAbsent"}
        {"Write":{"ReplaceIfVersion":"b3-1"}}
        {"Edit":"Unconditional"}
        {"Edit":{"ReplaceIfVersion":"b3-1"}}"#]];
    expected.assert_eq(&texts.join("\n"));
}

#[tokio::test]
async fn the_bytes_of_calls_are_counted_as_they_are() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    let guard = DecidedGuard::Write(WriteGuard::CreateIfAbsent);
    let now = state.clock.now();
    for index in 0..40_usize {
        let session = SessionKey::new(if index % 2 == 0 { "even" } else { "odd" });
        let request = RequestId::parse(&format!("00000000-0000-4000-8000-{:012x}", index % 25)).unwrap();
        let key = CallKey { session, request };
        CallStore::begin(&state, &key, &[1; 32], &guard, now).await.unwrap();
        match index % 4 {
            0 | 1 => state.end(&key, &[1; 32], vec![0; index * 100], false, now).await.map(drop).unwrap(),
            2 => state.abandon(&key).await.unwrap(),
            _ => state.release(&key).await.unwrap(),
        }
        let recount = "SELECT ifnull(sum(512 + ifnull(length(result), 0)), 0) FROM call";
        assert_eq!(count(&state, "SELECT call_bytes FROM tally"), count(&state, recount));
    }
    CallStore::end_session(&state, &SessionKey::new("even")).await.unwrap();
    CallStore::end_session(&state, &SessionKey::new("odd")).await.unwrap();
    assert_eq!(count(&state, "SELECT call_bytes FROM tally"), 0);
}
