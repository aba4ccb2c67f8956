//! The observation gate at the other end of a connection: the table of its states, and a peer that answers anything.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::policy_service_server::{PolicyService, PolicyServiceServer};
use toolfs_core::clock::Order;
use toolfs_core::error::{Code, ErrorKind, FsError, Published, UnavailableCause};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::limit::Limits;
use toolfs_core::target::TargetKey;
use toolfs_core::version::Version;
use toolfs_grpc::{ServeOptions, Server};
use toolfs_policy::{ForgetScope, GateCapabilities, MemoryObservationStore, ObservationGate, PolicyGate};
use toolfs_policy_remote::{RemoteGate, RemoteOptions};

const DUPLEX_BYTES: usize = 64 << 10;

/// A channel whose every connection comes out of the receiver.
fn duplex_channel() -> (Channel, mpsc::UnboundedReceiver<io::Result<DuplexStream>>) {
    let (connections, accepted) = mpsc::unbounded_channel();
    let connect = move |_| {
        let (client, server) = tokio::io::duplex(DUPLEX_BYTES);
        let connected =
            connections.send(Ok(server)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused));
        async move { connected.map(|()| TokioIo::new(client)) }
    };
    let endpoint = Endpoint::from_static("http://in.memory");
    (endpoint.connect_with_connector_lazy(tower::service_fn(connect)), accepted)
}

/// The observation gate in memory, behind a connection. Its server runs as long as the test.
fn observation_gate() -> RemoteGate {
    let gate = ObservationGate::new(Arc::new(MemoryObservationStore::new()));
    let options = ServeOptions {
        max_message_bytes: 4 << 20,
        server_version: "1.2.3".to_owned(),
        drain_limit: Duration::from_secs(5),
        handshake_timeout: Duration::from_secs(20),
        limits: Limits::DEFAULT,
        max_stream_bytes: 64 << 20,
        stream_patience: Duration::from_secs(60),
    };
    let (channel, accepted) = duplex_channel();
    let connections = UnboundedReceiverStream::new(accepted);
    let serving =
        Server::of_gate(Arc::new(gate), options).serve_connections(connections, std::future::pending());
    #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
    tokio::spawn(serving);
    RemoteGate::from_channel(channel, RemoteOptions::DEFAULT)
}

/// The states of the table, and a call without a session beside them.
#[derive(Clone, Copy, Debug)]
enum State {
    NoSession,
    Unseen,
    Absent,
    Present,
    Forgotten,
    AllForgotten,
    Ended,
}

fn version() -> Version {
    Version::of(b"seen")
}

fn target() -> TargetKey {
    TargetKey::new(*b"\xff/t")
}

async fn gate_in(state: State) -> (RemoteGate, Option<SessionKey>) {
    let gate = observation_gate();
    let (session, target) = (SessionKey::new("s"), target());
    let seen = match state {
        State::NoSession | State::Unseen => None,
        State::Absent => Some(Observation::Absent),
        State::Present | State::Forgotten | State::AllForgotten | State::Ended => {
            Some(Observation::Present(version()))
        }
    };
    if let Some(seen) = seen {
        gate.record_observation(&session, &target, seen, Order(2)).await.unwrap();
        // What a slower read saw before is never an answer.
        let older = Observation::Present(Version::of(b"older"));
        gate.record_observation(&session, &target, older, Order(1)).await.unwrap();
    }
    // What another session or another target saw is never an answer.
    let other = Observation::Present(Version::of(b"other"));
    gate.record_observation(&SessionKey::new("other"), &target, other.clone(), Order(9)).await.unwrap();
    gate.record_observation(&session, &TargetKey::new(*b"other"), other, Order(9)).await.unwrap();
    match state {
        State::Forgotten => {
            gate.forget(&session, ForgetScope::Targets(vec![target]), Order(3)).await.unwrap();
        }
        State::AllForgotten => gate.forget(&session, ForgetScope::All, Order(10)).await.unwrap(),
        State::Ended => gate.end_session(&session).await.unwrap(),
        State::NoSession | State::Unseen | State::Absent | State::Present => {}
    }
    (gate, (!matches!(state, State::NoSession)).then_some(session))
}

#[tokio::test]
async fn a_write_creates_what_was_not_seen_and_replaces_what_was() {
    let table = [
        (State::NoSession, WriteGuard::CreateIfAbsent),
        (State::Unseen, WriteGuard::CreateIfAbsent),
        (State::Absent, WriteGuard::CreateIfAbsent),
        (State::Present, WriteGuard::ReplaceIfVersion(version())),
        (State::Forgotten, WriteGuard::CreateIfAbsent),
        (State::AllForgotten, WriteGuard::CreateIfAbsent),
        (State::Ended, WriteGuard::CreateIfAbsent),
    ];
    for (state, expected) in table {
        let (gate, session) = gate_in(state).await;
        assert_eq!(gate.decide_write(session.as_ref(), &target()).await.unwrap(), expected, "{state:?}");
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
        (State::AllForgotten, Err(Code::NotObserved)),
        (State::Ended, Err(Code::NotObserved)),
    ];
    for (state, expected) in table {
        let (gate, session) = gate_in(state).await;
        let decided = gate.decide_edit(session.as_ref(), &target()).await;
        assert_eq!(decided.map_err(|error| error.code()), expected, "{state:?}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_gate_says_neither_what_is_there_nor_what_to_do() {
    let (gate, session) = gate_in(State::Unseen).await;
    let refusal = gate.decide_edit(session.as_ref(), &target()).await.unwrap_err();
    assert_eq!(refusal.kind(), &ErrorKind::NotObserved { existing: None });
    assert_eq!((refusal.remedy(), refusal.published()), (None, Published::No));
    assert_eq!(refusal.message(), "this session has not read the file");
}

#[tokio::test]
async fn the_gate_names_itself_and_its_memory() {
    let (gate, _) = gate_in(State::Unseen).await;
    let expected = GateCapabilities { policy: "observation".to_owned(), persistent: false };
    assert_eq!(gate.capabilities().await.unwrap(), expected);
}

#[tokio::test]
async fn a_session_that_ended_never_revives() {
    let (gate, session) = gate_in(State::Ended).await;
    let session = session.unwrap();
    gate.record_observation(&session, &target(), Observation::Present(version()), Order(99)).await.unwrap();
    let decided = gate.decide_write(Some(&session), &target()).await.unwrap();
    assert_eq!(decided, WriteGuard::CreateIfAbsent);
}

#[track_caller]
fn check_unreachable(error: &FsError) {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    assert_eq!((error.kind(), error.published()), (&kind, Published::No), "{error:?}");
    assert!(error.message().starts_with("the gate "), "{error}");
}

#[tokio::test]
async fn a_gate_that_is_away_decides_nothing() {
    let gate = RemoteGate::connect("unix:/nowhere/gate.sock", RemoteOptions::DEFAULT).unwrap();
    let session = SessionKey::new("s");
    check_unreachable(&gate.capabilities().await.unwrap_err());
    check_unreachable(&gate.decide_write(Some(&session), &target()).await.unwrap_err());
    check_unreachable(&gate.decide_edit(Some(&session), &target()).await.unwrap_err());
    let seen = gate.record_observation(&session, &target(), Observation::Absent, Order(1)).await;
    check_unreachable(&seen.unwrap_err());
    check_unreachable(&gate.forget(&session, ForgetScope::All, Order(1)).await.unwrap_err());
    check_unreachable(&gate.end_session(&session).await.unwrap_err());
}

/// A gate that answers what it is told to; `None` is no answer at all.
#[derive(Clone, Debug, Default)]
struct Told {
    capabilities: v1::GetPolicyCapabilitiesResponse,
    write: Option<v1::DecideWriteResponse>,
    edit: v1::DecideEditResponse,
}

impl Told {
    fn serve(self, options: RemoteOptions) -> RemoteGate {
        let (channel, accepted) = duplex_channel();
        let server = tonic::transport::Server::builder().add_service(PolicyServiceServer::new(self));
        #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
        tokio::spawn(server.serve_with_incoming(UnboundedReceiverStream::new(accepted)));
        RemoteGate::from_channel(channel, options)
    }
}

#[tonic::async_trait]
impl PolicyService for Told {
    async fn get_policy_capabilities(
        &self,
        _: Request<v1::GetPolicyCapabilitiesRequest>,
    ) -> Result<Response<v1::GetPolicyCapabilitiesResponse>, Status> {
        Ok(Response::new(self.capabilities.clone()))
    }

    async fn decide_write(
        &self,
        _: Request<v1::DecideWriteRequest>,
    ) -> Result<Response<v1::DecideWriteResponse>, Status> {
        match self.write.clone() {
            Some(answer) => Ok(Response::new(answer)),
            None => std::future::pending().await,
        }
    }

    async fn decide_edit(
        &self,
        _: Request<v1::DecideEditRequest>,
    ) -> Result<Response<v1::DecideEditResponse>, Status> {
        Ok(Response::new(self.edit.clone()))
    }

    async fn record_observation(
        &self,
        _: Request<v1::RecordObservationRequest>,
    ) -> Result<Response<v1::RecordObservationResponse>, Status> {
        Err(Status::internal("/secret/path of the host"))
    }

    async fn forget(&self, _: Request<v1::ForgetRequest>) -> Result<Response<v1::ForgetResponse>, Status> {
        Err(Status::unimplemented("an older gate"))
    }

    async fn end_session(
        &self,
        _: Request<v1::EndSessionRequest>,
    ) -> Result<Response<v1::EndSessionResponse>, Status> {
        Ok(Response::new(v1::EndSessionResponse {}))
    }
}

#[track_caller]
fn check_broken(error: &FsError, field: &str) {
    assert_eq!(error.code(), Code::IoError, "{error:?}");
    let expected = format!("the gate's answer breaks the contract: `{field}`");
    assert!(error.message().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn a_decision_that_is_not_understood_is_no_guard() {
    use v1::edit_guard::Condition as Edit;
    use v1::write_guard::Condition as Write;
    let write = |guard| v1::DecideWriteResponse { guard };
    let long = Write::ReplaceIfVersion("v".repeat(129));
    let answers = [
        (None, "guard"),
        (Some(v1::WriteGuard { condition: None }), "guard"),
        (Some(v1::WriteGuard { condition: Some(long) }), "guard.replace_if_version"),
    ];
    for (guard, field) in answers {
        let gate = Told { write: Some(write(guard)), ..Told::default() }.serve(RemoteOptions::DEFAULT);
        check_broken(&gate.decide_write(None, &target()).await.unwrap_err(), field);
    }
    let empty = v1::EditGuard { condition: Some(Edit::ReplaceIfVersion(String::new())) };
    for (guard, field) in [(None, "guard"), (Some(empty), "guard.replace_if_version")] {
        let gate = Told { edit: v1::DecideEditResponse { guard }, ..Told::default() };
        let gate = gate.serve(RemoteOptions::DEFAULT);
        check_broken(&gate.decide_edit(None, &target()).await.unwrap_err(), field);
    }
}

#[tokio::test]
async fn a_gate_that_does_not_say_what_it_is_is_refused() {
    let told = |policy| {
        let capabilities = v1::GetPolicyCapabilitiesResponse { policy };
        Told { capabilities, ..Told::default() }.serve(RemoteOptions::DEFAULT)
    };
    let policy = |name: &str, persistent| Some(v1::PolicyCapabilities { name: name.into(), persistent });
    check_broken(&told(None).capabilities().await.unwrap_err(), "policy");
    check_broken(&told(policy("", Some(true))).capabilities().await.unwrap_err(), "policy.name");
    let error = told(policy("other", None)).capabilities().await.unwrap_err();
    check_broken(&error, "policy.persistent");
    let none = told(policy("none", None)).capabilities().await.unwrap();
    assert_eq!(none, GateCapabilities { policy: "none".to_owned(), persistent: false });
}

#[tokio::test]
async fn what_a_gate_fails_with_never_says_more_than_it_may() {
    let gate = Told::default().serve(RemoteOptions::DEFAULT);
    let session = SessionKey::new("s");
    let seen = gate.record_observation(&session, &target(), Observation::Absent, Order(1)).await;
    let error = seen.unwrap_err();
    assert_eq!(error.code(), Code::IoError);
    assert!(!error.message().contains("secret"), "{error}");
    let error = gate.forget(&session, ForgetScope::All, Order(1)).await.unwrap_err();
    assert_eq!(error.code(), Code::Unsupported);
}

#[tokio::test]
async fn a_gate_that_never_answers_is_given_up_where_calls_have_a_limit() {
    let options = RemoteOptions { call_timeout: Some(Duration::from_millis(200)), ..RemoteOptions::DEFAULT };
    let gate = Told { write: None, ..Told::default() }.serve(options);
    check_unreachable(&gate.decide_write(None, &target()).await.unwrap_err());
}
