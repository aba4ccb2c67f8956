//! The observation policy: a mutation of an existing file needs that its session saw the content.
//!
//! This file is the table of the three states and nothing else: it keeps no memory of its own (the store does), and
//! it never asks whether a file exists or has changed (the provider judges that on the bytes it publishes over).

use std::sync::Arc;

use async_trait::async_trait;
use toolfs_core::clock::Order;
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;

use crate::gate::{ForgetScope, GateCapabilities, PolicyGate};
use crate::store::ObservationStore;

/// Unseen or absent: a write creates; present: it replaces that version. An edit needs a present version.
///
/// | state | write | edit |
/// | --- | --- | --- |
/// | unseen | create-if-absent | `FS_NOT_OBSERVED` |
/// | absent | create-if-absent | `FS_NOT_FOUND` |
/// | present(version) | replace-if-version | replace-if-version |
#[derive(Debug)]
pub struct ObservationGate {
    store: Arc<dyn ObservationStore>,
}

impl ObservationGate {
    /// A gate over a store.
    pub fn new(store: Arc<dyn ObservationStore>) -> ObservationGate {
        ObservationGate { store }
    }

    /// What the caller last saw at a target; a call without a session has seen nothing.
    async fn seen(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<Option<Observation>> {
        match session {
            Some(session) => self.store.get(session, target).await,
            None => Ok(None),
        }
    }
}

#[async_trait]
impl PolicyGate for ObservationGate {
    async fn capabilities(&self) -> Result<GateCapabilities> {
        Ok(GateCapabilities { policy: "observation".to_owned(), persistent: self.store.is_persistent() })
    }

    async fn decide_write(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<WriteGuard> {
        Ok(match self.seen(session, target).await? {
            None if Fault::GateTrustsTheUnseen.is_planted() => WriteGuard::Unconditional,
            None | Some(Observation::Absent) => WriteGuard::CreateIfAbsent,
            Some(Observation::Present(version)) => WriteGuard::ReplaceIfVersion(version),
        })
    }

    async fn decide_edit(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<EditGuard> {
        match self.seen(session, target).await? {
            None => Err(not_observed(session.is_some())),
            Some(Observation::Absent) => Err(observed_absent()),
            Some(Observation::Present(version)) => Ok(EditGuard::ReplaceIfVersion(version)),
        }
    }

    async fn record_observation(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()> {
        self.store.record(session, target, observation, order).await
    }

    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()> {
        self.store.forget(session, scope, order).await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        self.store.end_session(session).await
    }
}

fn not_observed(has_session: bool) -> FsError {
    let message = if has_session {
        "this session has not read the file"
    } else {
        "a call without a session has seen nothing, so it cannot edit"
    };
    FsError::new(ErrorKind::NotObserved { existing: None }, message)
}

fn observed_absent() -> FsError {
    let kind = ErrorKind::NotFound { similar_names: Vec::new() };
    FsError::new(kind, "when this session last looked, no file was there")
}

#[cfg(test)]
mod tests {
    use toolfs_core::error::Code;
    use toolfs_core::version::Version;

    use super::*;
    use crate::MemoryObservationStore;

    /// The states of the table, and a call without a session beside them.
    #[derive(Clone, Copy, Debug)]
    enum State {
        NoSession,
        Unseen,
        Absent,
        Present,
        Forgotten,
        Ended,
    }

    fn version() -> Version {
        Version::of(b"seen")
    }

    async fn gate_in(state: State) -> (ObservationGate, Option<SessionKey>, TargetKey) {
        let gate = ObservationGate::new(Arc::new(MemoryObservationStore::new()));
        let (session, target) = (SessionKey::new("s"), TargetKey::new(*b"t"));
        let seen = match state {
            State::NoSession | State::Unseen => None,
            State::Absent => Some(Observation::Absent),
            State::Present | State::Forgotten | State::Ended => Some(Observation::Present(version())),
        };
        if let Some(seen) = seen {
            gate.record_observation(&session, &target, seen, Order(1)).await.unwrap();
        }
        // What another session or another target saw is never an answer.
        let other = Observation::Present(Version::of(b"other"));
        gate.record_observation(&SessionKey::new("other"), &target, other.clone(), Order(9)).await.unwrap();
        gate.record_observation(&session, &TargetKey::new(*b"other"), other, Order(9)).await.unwrap();
        match state {
            State::Forgotten => {
                gate.forget(&session, ForgetScope::Targets(vec![target.clone()]), Order(2)).await.unwrap()
            }
            State::Ended => gate.end_session(&session).await.unwrap(),
            State::NoSession | State::Unseen | State::Absent | State::Present => {}
        }
        let session = match state {
            State::NoSession => None,
            State::Unseen | State::Absent | State::Present | State::Forgotten | State::Ended => Some(session),
        };
        (gate, session, target)
    }

    #[tokio::test]
    async fn a_write_creates_what_was_not_seen_and_replaces_what_was() {
        let table = [
            (State::NoSession, WriteGuard::CreateIfAbsent),
            (State::Unseen, WriteGuard::CreateIfAbsent),
            (State::Absent, WriteGuard::CreateIfAbsent),
            (State::Present, WriteGuard::ReplaceIfVersion(version())),
            (State::Forgotten, WriteGuard::CreateIfAbsent),
            (State::Ended, WriteGuard::CreateIfAbsent),
        ];
        for (state, expected) in table {
            let (gate, session, target) = gate_in(state).await;
            assert_eq!(gate.decide_write(session.as_ref(), &target).await.unwrap(), expected, "{state:?}");
        }
    }

    #[tokio::test]
    async fn an_edit_needs_a_content_that_was_seen() {
        let table = [
            (State::NoSession, Err(Code::NotObserved)),
            (State::Unseen, Err(Code::NotObserved)),
            (State::Absent, Err(Code::NotFound)),
            (State::Present, Ok(EditGuard::ReplaceIfVersion(version()))),
            (State::Forgotten, Err(Code::NotObserved)),
            (State::Ended, Err(Code::NotObserved)),
        ];
        for (state, expected) in table {
            let (gate, session, target) = gate_in(state).await;
            let decided = gate.decide_edit(session.as_ref(), &target).await;
            assert_eq!(decided.map_err(|error| error.code()), expected, "{state:?}");
        }
    }

    #[tokio::test]
    async fn a_refusal_of_the_gate_says_neither_what_is_there_nor_what_to_do() {
        let (gate, session, target) = gate_in(State::Unseen).await;
        let refusal = gate.decide_edit(session.as_ref(), &target).await.unwrap_err();
        assert_eq!(refusal.kind(), &ErrorKind::NotObserved { existing: None });
        assert_eq!(refusal.remedy(), None);
    }

    #[tokio::test]
    async fn the_gate_names_itself_and_its_memory() {
        let (gate, _, _) = gate_in(State::Unseen).await;
        let expected = GateCapabilities { policy: "observation".to_owned(), persistent: false };
        assert_eq!(gate.capabilities().await.unwrap(), expected);
    }
}
