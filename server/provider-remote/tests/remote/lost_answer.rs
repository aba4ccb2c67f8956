//! Answers that never come: what is told of the effect, and when a mutation is repeated.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code as GrpcCode, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use toolfs_contract::code::{CallReason, ERROR_DOMAIN};
use toolfs_contract::v1;
use toolfs_core::error::{AbortCause, Code, ErrorKind, FsError, Published, UnavailableCause};
use toolfs_provider::Provider as _;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider_remote::RemoteOptions;

use crate::peer::{Answers, Ask, CONTENT, Manner, Peer, edit, write};
use crate::refusal;

fn peer(manners: impl IntoIterator<Item = Manner>) -> Peer {
    Peer::new(Answers::default(), manners)
}

const SHORT: RemoteOptions =
    RemoteOptions { call_timeout: Some(Duration::from_millis(200)), ..RemoteOptions::DEFAULT };

#[track_caller]
fn check_unreachable(error: &FsError, published: Published) {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    assert_eq!(error.kind(), &kind, "{error:?}");
    assert_eq!(error.published(), published, "{error:?}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_may_be_in_place() {
    for ask in [Ask::Write, Ask::Edit] {
        let peer = peer([Manner::Cut]);
        let provider = peer.serve(RemoteOptions::DEFAULT);
        let error = ask.of(&provider, &AbortSignal::new()).await.unwrap_err();
        check_unreachable(&error, Published::Maybe);
        assert_eq!(peer.mutations(), 1, "without an operation id nothing is repeated");
        // The next call finds the connection lost, and makes another one.
        ask.of(&provider, &AbortSignal::new()).await.unwrap();
        assert_eq!(peer.mutations(), 2);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_under_a_read_changed_nothing() {
    for ask in Ask::ALL.into_iter().filter(|ask| !ask.is_mutation()) {
        let provider = peer([Manner::Cut]).serve(RemoteOptions::DEFAULT);
        let error = ask.of(&provider, &AbortSignal::new()).await.unwrap_err();
        check_unreachable(&error, Published::No);
    }
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_under_the_same_operation_id() {
    let peer = peer([Manner::Cut]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let abort = AbortSignal::new();
    let report = provider.write_text(&abort, write(CONTENT, Some("operation-1"))).await.unwrap();
    assert_eq!(report.version.as_str(), "v2");
    assert_eq!(peer.operation_ids(), vec![Some("operation-1".to_owned()); 2]);

    let peer = self::peer([Manner::Cut]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    provider.edit_text(&abort, edit(Some("operation-2"))).await.unwrap();
    assert_eq!(peer.operation_ids(), vec![Some("operation-2".to_owned()); 2]);
}

#[tokio::test]
async fn an_answer_that_is_lost_twice_is_not_asked_for_a_third_time() {
    let peer = peer([Manner::Cut, Manner::Cut]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let error = provider.edit_text(&AbortSignal::new(), edit(Some("operation-1"))).await.unwrap_err();
    check_unreachable(&error, Published::Maybe);
    assert_eq!(peer.mutations(), 2);
}

#[tokio::test]
async fn a_refused_call_is_never_repeated() {
    let busy = Status::unavailable("busy");
    let refusals = [Status::aborted("moved"), Status::not_found("gone")];
    for status in refusals {
        let peer = peer([Manner::Refuse(status)]);
        let provider = peer.serve(RemoteOptions::DEFAULT);
        let error = provider.edit_text(&AbortSignal::new(), edit(Some("operation-1"))).await.unwrap_err();
        assert_eq!(error.published(), Published::No, "{error:?}");
        assert_eq!(peer.mutations(), 1);
    }
    // A bare UNAVAILABLE may come from anything on the way, after the change too.
    let peer = peer([Manner::Refuse(busy)]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let error = provider.edit_text(&AbortSignal::new(), edit(None)).await.unwrap_err();
    check_unreachable(&error, Published::Maybe);
}

#[tokio::test]
async fn after_a_lost_answer_a_repetition_that_fails_does_not_say_that_nothing_changed() {
    for second in [Manner::Cut, Manner::Never] {
        let peer = peer([Manner::Cut, second]);
        let provider = peer.serve(SHORT);
        let error = provider.write_text(&AbortSignal::new(), write(CONTENT, Some("id"))).await.unwrap_err();
        check_unreachable(&error, Published::Maybe);
    }
}

/// Ends a repetition in a status. The answer before it was lost.
async fn repeated(second: Status) -> FsError {
    let abort = AbortSignal::new();
    let peer = peer([Manner::Cut, Manner::Refuse(second.clone())]);
    let written = peer.serve(RemoteOptions::DEFAULT).write_text(&abort, write(CONTENT, Some("id"))).await;
    assert_eq!(peer.mutations(), 2);
    let peer = self::peer([Manner::Cut, Manner::Refuse(second)]);
    let edited = peer.serve(RemoteOptions::DEFAULT).edit_text(&abort, edit(Some("id"))).await;
    assert_eq!(peer.mutations(), 2);
    let (written, edited) = (written.unwrap_err(), edited.unwrap_err());
    assert_eq!((written.code(), written.published()), (edited.code(), edited.published()));
    written
}

/// What something on the way says, or the peer about the call, is no word on what the first one did.
#[tokio::test]
async fn after_a_lost_answer_a_refusal_that_is_no_verdict_leaves_the_effect_open() {
    for code in (1..=16).map(GrpcCode::from) {
        let error = repeated(Status::new(code, "from something on the way")).await;
        assert_eq!(error.published(), Published::Maybe, "{code:?}: {error:?}");
    }
    for reason in CallReason::ALL {
        let details = ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
        let status = Status::with_error_details(GrpcCode::FailedPrecondition, "refused", details);
        let error = repeated(status).await;
        assert_eq!(error.published(), Published::Maybe, "{reason:?}: {error:?}");
    }
    let untold = v1::FsError { code: v1::FsErrorCode::FsStaleVersion.into(), ..v1::FsError::default() };
    let busy = v1::FsError {
        code: v1::FsErrorCode::FsUnavailable.into(),
        published: v1::Published::No.into(),
        ..v1::FsError::default()
    };
    for error in [untold, busy] {
        let error = repeated(refusal::status(GrpcCode::Aborted, error)).await;
        assert_eq!(error.published(), Published::Maybe, "{error:?}");
    }
}

#[tokio::test]
async fn after_a_lost_answer_the_peers_own_verdict_is_believed() {
    for (told, published) in [
        (v1::Published::No, Published::No),
        (v1::Published::Yes, Published::Yes),
        (v1::Published::Maybe, Published::Maybe),
    ] {
        let verdict = v1::FsError {
            code: v1::FsErrorCode::FsPermissionDenied.into(),
            reason: v1::FsErrorCode::FsPermissionDenied.as_str().into(),
            published: told.into(),
            ..v1::FsError::default()
        };
        let error = repeated(refusal::status(GrpcCode::PermissionDenied, verdict)).await;
        assert_eq!((error.code(), error.published()), (Code::PermissionDenied, published));
    }
}

#[tokio::test]
async fn after_a_lost_answer_a_broken_one_leaves_the_effect_open() {
    let mut answers = Answers::default();
    answers.written().version.clear();
    let peer = Peer::new(answers, [Manner::Cut]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let error = provider.write_text(&AbortSignal::new(), write(CONTENT, Some("id"))).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Maybe));
    assert_eq!(peer.mutations(), 2);
}

#[tokio::test]
async fn a_peer_that_never_answers_is_given_up_where_calls_have_a_limit() {
    for ask in Ask::ALL {
        let provider = peer([Manner::Never]).serve(SHORT);
        let error = ask.of(&provider, &AbortSignal::new()).await.unwrap_err();
        let published = if ask.is_mutation() { Published::Maybe } else { Published::No };
        check_unreachable(&error, published);
    }
}

#[tokio::test]
async fn a_call_that_is_aborted_ends_at_once_and_says_what_is_known() {
    for ask in Ask::ALL {
        let peer = peer([Manner::Never]);
        let provider = peer.serve(RemoteOptions::DEFAULT);
        let abort = AbortSignal::new();
        let (end, ()) = tokio::join!(ask.of(&provider, &abort), async {
            peer.received.notified().await;
            abort.fire(AbortCause::DeadlineExceeded);
        });
        let error = end.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Aborted { cause: AbortCause::DeadlineExceeded }, "{ask:?}");
        let published = if ask.is_mutation() { Published::Maybe } else { Published::No };
        assert_eq!(error.published(), published, "{ask:?}");
        assert_eq!(error.is_retryable(), !ask.is_mutation(), "{ask:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_aborted_before_it_begins_is_never_sent() {
    let peer = peer([]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let abort = AbortSignal::new();
    abort.fire(AbortCause::Cancelled);
    for ask in Ask::ALL {
        let error = ask.of(&provider, &abort).await.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No), "{ask:?}");
    }
    assert_eq!(peer.mutations(), 0);
}

/// More content than buffers hold, to a peer that takes none: the trailer never leaves, so nothing can be published.
#[tokio::test]
async fn a_write_that_is_stopped_before_its_trailer_changed_nothing() {
    let peer = peer([]).that_takes_no_content();
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let abort = AbortSignal::new();
    let (end, ()) = tokio::join!(provider.write_text(&abort, write(vec![b'x'; 8 << 20], None)), async {
        peer.begun.notified().await;
        abort.fire(AbortCause::Cancelled);
    });
    let error = end.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No), "{error:?}");
    assert!(error.is_retryable());

    let provider = peer.serve(SHORT);
    let error = provider.write_text(&AbortSignal::new(), write(vec![b'x'; 8 << 20], None)).await.unwrap_err();
    check_unreachable(&error, Published::No);
}

/// A call whose future is dropped is cancelled at the peer, which goes on with its next call.
#[tokio::test]
async fn a_dropped_call_leaves_the_connection_whole() {
    let peer = peer([Manner::Never]);
    let provider = peer.serve(RemoteOptions::DEFAULT);
    let abort = AbortSignal::new();
    tokio::select! {
        end = Ask::Stat.of(&provider, &abort) => panic!("it is never answered: {end:?}"),
        () = peer.received.notified() => {}
    }
    Ask::Stat.of(&provider, &abort).await.unwrap();
}

#[tokio::test]
async fn an_edit_above_the_limit_of_messages_is_refused_before_it_is_sent() {
    let peer = peer([]);
    let provider = peer.serve(RemoteOptions { max_message_bytes: 16, ..RemoteOptions::DEFAULT });
    for ask in [Ask::Edit, Ask::PlanEdit] {
        let error = ask.of(&provider, &AbortSignal::new()).await.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::TooLarge, Published::No), "{error:?}");
    }
    assert_eq!(peer.mutations(), 0);
}
