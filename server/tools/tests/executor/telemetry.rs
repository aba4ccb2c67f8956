use std::fmt;
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use futures_util::future::FutureExt;
use toolfs_core::argument::RawCall;
use toolfs_core::error::{AbortCause, ErrorKind, FsError};
use toolfs_core::id::SessionId;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{CallError, Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession};
use tracing::field::{Empty, Field, Visit};
use tracing::{Instrument, Span, Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::support::{World, edit, read, read_at, request, write};

/// Writes down what is recorded on spans.
#[derive(Clone, Debug, Default)]
struct Recorded(Arc<Mutex<String>>);

impl<S: Subscriber> Layer<S> for Recorded {
    fn on_record(&self, _: &span::Id, values: &span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }
}

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?}\n"));
    }
}

/// A span as a front end would have it.
fn span() -> Span {
    tracing::info_span!(
        "call",
        toolfs.tool = Empty,
        toolfs.session = Empty,
        toolfs.code = Empty,
        toolfs.guard = Empty,
        toolfs.bytes = Empty
    )
}

#[track_caller]
fn check(calls: impl Future<Output = ()>, expected: Expect) {
    let recorded = Recorded::default();
    let subscriber = tracing_subscriber::registry().with(recorded.clone());
    tracing::subscriber::with_default(subscriber, || calls.now_or_never().expect("nothing here waits"));
    expected.assert_eq(&recorded.0.lock().unwrap());
}

/// What is recorded of one call.
#[track_caller]
fn check_call(world: &World, session: &SessionId, call: RawCall, expected: Expect) {
    let call = async {
        world.execute(request(session, call)).instrument(span()).await.unwrap();
    };
    check(call, expected);
}

fn world_and_session() -> (World, SessionId) {
    let world = World::new();
    world.put("a.txt", "secret content\n");
    let session = world.open().now_or_never().expect("nothing here waits");
    (world, session)
}

fn do_before(world: &World, session: &SessionId, call: RawCall) {
    world.run(session, call).now_or_never().expect("nothing here waits");
}

#[test]
fn a_span_has_what_happened_and_neither_content_nor_secret() {
    let (world, session) = world_and_session();
    check_call(
        &world,
        &session,
        read("a.txt"),
        expect![[r#"
        toolfs.tool="read"
        toolfs.session="session-0000000000000001"
        toolfs.bytes=14
    "#]],
    );
    check_call(
        &world,
        &session,
        edit("a.txt", "content", "text"),
        expect![[r#"
        toolfs.tool="edit"
        toolfs.session="session-0000000000000001"
        toolfs.guard="replace_if_version"
        toolfs.bytes=12
    "#]],
    );
    check_call(
        &world,
        &session,
        write("b.txt", "new"),
        expect![[r#"
        toolfs.tool="write"
        toolfs.session="session-0000000000000001"
        toolfs.guard="create_if_absent"
        toolfs.bytes=3
    "#]],
    );
}

#[test]
fn a_refused_mutation_has_the_guard_that_was_decided() {
    let (world, session) = world_and_session();
    check_call(
        &world,
        &session,
        write("a.txt", "new"),
        expect![[r#"
        toolfs.tool="write"
        toolfs.session="session-0000000000000001"
        toolfs.guard="create_if_absent"
        toolfs.code="FS_NOT_OBSERVED"
    "#]],
    );
    do_before(&world, &session, read("a.txt"));
    check_call(
        &world,
        &session,
        edit("a.txt", "nowhere", "text"),
        expect![[r#"
        toolfs.tool="edit"
        toolfs.session="session-0000000000000001"
        toolfs.guard="replace_if_version"
        toolfs.code="FS_EDIT_NOT_FOUND"
    "#]],
    );
    world.put("a.txt", "changed outside\n");
    check_call(
        &world,
        &session,
        write("a.txt", "new"),
        expect![[r#"
        toolfs.tool="write"
        toolfs.session="session-0000000000000001"
        toolfs.guard="replace_if_version"
        toolfs.code="FS_STALE_VERSION"
    "#]],
    );
}

#[test]
fn a_mutation_that_was_refused_before_a_guard_was_decided_has_none() {
    let (world, session) = world_and_session();
    check_call(
        &world,
        &session,
        edit("a.txt", "content", "text"),
        expect![[r#"
        toolfs.tool="edit"
        toolfs.session="session-0000000000000001"
        toolfs.code="FS_NOT_OBSERVED"
    "#]],
    );
    check_call(
        &world,
        &session,
        write(".git/config", "new"),
        expect![[r#"
        toolfs.tool="write"
        toolfs.session="session-0000000000000001"
        toolfs.code="FS_SANDBOX_DENIED"
    "#]],
    );
}

#[test]
fn a_call_with_bad_arguments_has_its_tool() {
    let (world, session) = world_and_session();
    check_call(
        &world,
        &session,
        read_at("a.txt", 0),
        expect![[r#"
        toolfs.tool="read"
        toolfs.session="session-0000000000000001"
        toolfs.code="FS_INVALID_ARGUMENT"
    "#]],
    );
    let json = |name: &str| RawCall::Json { name: name.into(), arguments_json: "{".into() };
    check_call(
        &world,
        &session,
        json("edit"),
        expect![[r#"
        toolfs.tool="edit"
        toolfs.session="session-0000000000000001"
        toolfs.code="FS_INVALID_ARGUMENT"
    "#]],
    );
    check_call(
        &world,
        &session,
        json("erase"),
        expect![[r#"
        toolfs.session="session-0000000000000001"
        toolfs.code="FS_INVALID_ARGUMENT"
    "#]],
    );
}

#[test]
fn what_is_there_and_not_durable_has_its_bytes_and_its_code() {
    let (world, session) = world_and_session();
    world.script.next_is_not_durable(FsError::new(ErrorKind::IoError, "the disk is gone"));
    check_call(
        &world,
        &session,
        write("b.txt", "new"),
        expect![[r#"
        toolfs.tool="write"
        toolfs.session="session-0000000000000001"
        toolfs.guard="create_if_absent"
        toolfs.bytes=3
        toolfs.code="FS_IO_ERROR"
    "#]],
    );
}

#[test]
fn the_name_of_a_call_error_is_left_to_the_front_end() {
    let (world, session) = world_and_session();
    let calls = async {
        let abort = AbortSignal::new();
        abort.fire(AbortCause::DeadlineExceeded);
        let aborted = world.executor.execute(&abort, request(&session, read("a.txt")));
        assert!(matches!(aborted.instrument(span()).await, Err(CallError::Aborted(_))));
        let unknown = SessionId::from_caller("ses_unknown");
        let nowhere = world.execute(request(&unknown, read("a.txt"))).instrument(span()).await;
        assert!(matches!(nowhere, Err(CallError::SessionNotFound)));
    };
    check(
        calls,
        expect![[r#"
        toolfs.tool="read"
        toolfs.session="session-0000000000000001"
        toolfs.tool="read"
    "#]],
    );
}

#[test]
fn an_operation_on_a_session_has_its_public_name() {
    let world = World::new();
    let operations = async {
        let (abort, caller) = (AbortSignal::new(), Caller::Local);
        let open = world.executor.open_session(&abort, caller.clone(), OpenSession::default());
        let session = open.instrument(span()).await.unwrap().id;
        world.executor.session(&caller, &session).instrument(span()).await.unwrap();
        let forget =
            ForgetObservations { caller: caller.clone(), session: session.clone(), scope: ForgetPaths::All };
        world.executor.forget_observations(&abort, forget).instrument(span()).await.unwrap();
        let close = CloseSession { caller: caller.clone(), session: session.clone() };
        world.executor.close_session(close).instrument(span()).await.unwrap();
        world.executor.session(&caller, &session).instrument(span()).await.unwrap_err();
    };
    check(
        operations,
        expect![[r#"
        toolfs.session="session-0000000000000001"
        toolfs.session="session-0000000000000001"
        toolfs.session="session-0000000000000001"
        toolfs.session="session-0000000000000001"
    "#]],
    );
}
