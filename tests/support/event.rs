//! Events, as a watcher is told them through either door, in the same words.

use async_trait::async_trait;
use toolfs_client::v1::{self, guard_decided, observation, watch_response};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_tools::{CallFailure, Decision, Happening};

/// An event in words, and the token that goes on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) session: String,
    pub(crate) token: String,
}

/// The events of a session.
#[async_trait]
pub(crate) trait Events: Send {
    /// The next one; `None` when the session has ended.
    async fn next(&mut self) -> Option<Told>;
}

#[async_trait]
impl Events for toolfs_tools::Watch {
    async fn next(&mut self) -> Option<Told> {
        let event = toolfs_tools::Watch::next(self).await?;
        let text = in_process(&event.happening);
        Some(Told { text, session: event.session.as_str().to_owned(), token: event.resume_token })
    }
}

#[async_trait]
impl Events for toolfs_client::Watch {
    async fn next(&mut self) -> Option<Told> {
        let event = toolfs_client::Watch::next(self).await.unwrap()?;
        assert!(event.time.is_some(), "an event has its time");
        let text = over_the_wire(event.happening.expect("a kind of event that this contract knows"));
        Some(Told { text, session: event.session_name, token: event.resume_token })
    }
}

fn in_process(happening: &Happening) -> String {
    match happening {
        Happening::WatchBegan => "watch began".to_owned(),
        Happening::EventsMissed { count } => format!("missed {count:?}"),
        Happening::CallBegan(began) => {
            let request_id = began.request_id.as_ref().map_or("", |id| id.as_str());
            words(&[
                "began:",
                &began.tool,
                &began.path,
                known(request_id),
                &began.tool_call_id,
                dry(began.dry_run),
            ])
        }
        Happening::CallEnded(ended) => {
            let failure = match &ended.failure {
                None => "ok".to_owned(),
                Some(CallFailure::Fs(code)) => code.as_str().to_owned(),
                Some(other) => format!("{other:?}"),
            };
            let version = ended.version.as_ref().map_or("", |version| version.as_str());
            let published = format!("published {:?}", ended.published);
            words(&["ended:", &failure, &published, version, &format!("{} bytes", ended.content_bytes)])
        }
        Happening::GuardDecided(decided) => {
            let decision = match &decided.decision {
                Decision::Write(WriteGuard::Unconditional) | Decision::Edit(EditGuard::Unconditional) => {
                    "unconditional".to_owned()
                }
                Decision::Write(WriteGuard::CreateIfAbsent) => "create".to_owned(),
                Decision::Write(WriteGuard::ReplaceIfVersion(version))
                | Decision::Edit(EditGuard::ReplaceIfVersion(version)) => format!("replace {version}"),
                Decision::Refused(code) => code.as_str().to_owned(),
            };
            words(&["decided:", &decided.path, &decision])
        }
        Happening::ObservationRecorded(recorded) => {
            let seen = match &recorded.observation {
                Observation::Absent => "absent",
                Observation::Present(version) => version.as_str(),
            };
            words(&["recorded:", &recorded.path, seen])
        }
    }
}

fn over_the_wire(happening: watch_response::Happening) -> String {
    use watch_response::Happening as Wire;
    match happening {
        Wire::WatchBegan(v1::WatchBegan {}) => "watch began".to_owned(),
        Wire::EventsMissed(missed) => format!("missed {:?}", missed.missed_count),
        Wire::CallBegan(began) => {
            assert!(began.call_number.is_some(), "a call has its number");
            let dry = dry(began.dry_run.expect("always set"));
            words(&["began:", &began.tool, &began.path, known(&began.request_id), &began.tool_call_id, dry])
        }
        Wire::CallEnded(ended) => {
            assert!(ended.call_number.is_some() && ended.elapsed.is_some(), "{ended:?}");
            let is_error = ended.is_error.expect("always set");
            assert_eq!(is_error, !ended.reason.is_empty(), "{ended:?}");
            if is_error {
                assert_eq!(ended.code().as_str_name(), ended.reason, "{ended:?}");
            }
            let failure = if is_error { ended.reason.as_str() } else { "ok" };
            let published = format!("published {:?}", ended.published());
            let bytes = format!("{} bytes", ended.content_bytes.expect("always set"));
            words(&["ended:", failure, &published, &ended.version, &bytes])
        }
        Wire::GuardDecided(decided) => {
            use guard_decided::Decision as Wire;
            use v1::{edit_guard, write_guard};
            let decision = match decided.decision.expect("a decision that this contract knows") {
                Wire::Write(guard) => match guard.condition.expect("a guard") {
                    write_guard::Condition::Unconditional(_) => "unconditional".to_owned(),
                    write_guard::Condition::CreateIfAbsent(_) => "create".to_owned(),
                    write_guard::Condition::ReplaceIfVersion(version) => format!("replace {version}"),
                },
                Wire::Edit(guard) => match guard.condition.expect("a guard") {
                    edit_guard::Condition::Unconditional(_) => "unconditional".to_owned(),
                    edit_guard::Condition::ReplaceIfVersion(version) => format!("replace {version}"),
                },
                Wire::Refusal(code) => v1::FsErrorCode::try_from(code).unwrap().as_str_name().to_owned(),
            };
            words(&["decided:", &decided.path, &decision])
        }
        Wire::ObservationRecorded(recorded) => {
            let state = recorded.observation.and_then(|observation| observation.state);
            let seen = match state.expect("an observation") {
                observation::State::Absent(_) => "absent".to_owned(),
                observation::State::PresentVersion(version) => version,
            };
            words(&["recorded:", &recorded.path, &seen])
        }
    }
}

/// The clients send an id of their own, the executor is called without one: neither is shown.
fn known(request_id: &str) -> &str {
    assert!(request_id.is_empty() || request_id.len() == 36, "{request_id}");
    ""
}

fn dry(dry_run: bool) -> &'static str {
    if dry_run { "dry" } else { "" }
}

fn words(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
