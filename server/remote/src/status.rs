//! What a gRPC status means: the peer's own error where it sent one, else its reason, else the bare code.

use std::error::Error as _;

use tonic::{Code, ConnectError, Status};
use toolfs_client::{CallFailure, Reason};
use toolfs_contract::code::CallReason;
use toolfs_contract::v1;
use toolfs_core::error::{ErrorKind, FsError, Published, UnavailableCause};

use crate::error::fs_error;
use crate::peer::Peer;

/// How a call failed.
#[derive(Debug)]
pub struct Failure {
    /// The error.
    pub error: FsError,
    /// Whether the peer itself said what became of the effect, and had all of the request when it did. Otherwise
    /// `error.published()` is what this side makes of the code, which also something on the way may have sent.
    pub is_effect_told: bool,
}

impl Failure {
    /// A failure of which no peer told anything.
    pub fn untold(error: FsError) -> Failure {
        Failure { error, is_effect_told: false }
    }
}

impl From<Failure> for FsError {
    fn from(failure: Failure) -> FsError {
        failure.error
    }
}

/// How a call failed that ended in a status. The status stays inside the error, for the log.
///
/// `may_have_landed` says whether the call could have had an effect by then: it is a mutation, and all of its request
/// was on its way. What became of the effect is what the peer says; where it says nothing, or somebody between here and
/// there answered, it is [`Published::Maybe`], unless the peer surely never began.
pub fn failure(peer: Peer, status: Status, may_have_landed: bool) -> Failure {
    let failure = CallFailure::of(status);
    let unknown = if may_have_landed && !is_never_connected(failure.status()) {
        Published::Maybe
    } else {
        Published::No
    };
    let is_effect_told = may_have_landed
        && failure.error().is_some_and(|error| match error.published() {
            v1::Published::Unspecified => false,
            v1::Published::No | v1::Published::Yes | v1::Published::Maybe => true,
        });
    let error = match (failure.error(), failure.reason()) {
        (Some(error), _) => {
            let error = fs_error(peer, error.clone(), unknown);
            // Nothing can have come of a call that changes nothing, or of which the peer never saw the end.
            if may_have_landed { error } else { error.with_published(Published::No) }
        }
        (None, Reason::Fs(code)) => {
            let message = failure.status().message().to_owned();
            let bare = v1::FsError { reason: code.as_str().to_owned(), message, ..v1::FsError::default() };
            fs_error(peer, bare, unknown)
        }
        (None, Reason::Call(reason)) => of_reason(peer, *reason, unknown),
        // What a peer sent has no cause on this side: the connection broke, whatever code the transport has for that.
        (None, Reason::Transport) if failure.status().source().is_some() => unreachable(peer, unknown),
        (None, Reason::Transport) => of_code(peer, failure.status().code(), unknown),
        // `Reason` is open to newer clients, and both are a reason that has no meaning here.
        (None, Reason::Unknown(_) | _) => {
            let message = format!("the {} refused with a reason that is not known here", peer.noun());
            FsError::new(ErrorKind::IoError, message).with_published(unknown)
        }
    };
    Failure { error: error.with_source(failure), is_effect_told }
}

/// Whether there was no connection on which the call could have been sent.
fn is_never_connected(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn unreachable(peer: Peer, published: Published) -> FsError {
    let noun = peer.noun();
    let message = match published {
        Published::No => format!("the {noun} cannot be reached"),
        Published::Yes | Published::Maybe => {
            format!("the {noun} could not be reached to the end of the call, whose change may be in place")
        }
    };
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    FsError::new(kind, message).with_published(published)
}

/// The error of a peer that did not answer within the time that calls to it may take.
pub fn out_of_time(peer: Peer, published: Published) -> FsError {
    let noun = peer.noun();
    let message = match published {
        Published::No => format!("the {noun} did not answer in time"),
        Published::Yes | Published::Maybe => {
            format!("the {noun} did not answer in time, and the change may be in place")
        }
    };
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    FsError::new(kind, message).with_published(published)
}

fn of_reason(peer: Peer, reason: CallReason, unknown: Published) -> FsError {
    let noun = peer.noun();
    match reason {
        CallReason::Overloaded | CallReason::QuotaExceeded | CallReason::SessionLimit => {
            let kind = ErrorKind::Unavailable { cause: UnavailableCause::Overloaded };
            FsError::new(kind, format!("the {noun} has too much to do"))
        }
        CallReason::ShuttingDown => unreachable(peer, Published::No),
        CallReason::DeadlineExceeded => out_of_time(peer, unknown),
        CallReason::Cancelled => unreachable(peer, unknown),
        CallReason::Unauthenticated | CallReason::Forbidden | CallReason::OperatorOnly => {
            FsError::new(ErrorKind::PermissionDenied, format!("the {noun} does not serve this caller"))
        }
        CallReason::GuardMissing | CallReason::CallMissing | CallReason::ScopeMissing => {
            let message = format!("the {noun} does not know what was asked of it (`{}`)", reason.as_str());
            FsError::new(ErrorKind::Unsupported, message)
        }
        CallReason::KeyMissing
        | CallReason::RequestIdInvalid
        | CallReason::RequestIdReused
        | CallReason::PageSizeInvalid
        | CallReason::PageTokenInvalid
        | CallReason::ResumeTokenInvalid
        | CallReason::SessionNotFound => {
            let message = format!("the {noun} refused the call with `{}`", reason.as_str());
            FsError::new(ErrorKind::IoError, message)
        }
        CallReason::Internal => {
            let message = format!("the {noun} made a mistake: its log tells more");
            FsError::new(ErrorKind::IoError, message).with_published(unknown)
        }
    }
}

/// The meaning of a bare code. Those that only a handler sends say that nothing changed, since a change that was made
/// is answered with OK; those that a transport makes up say nothing of it.
fn of_code(peer: Peer, code: Code, unknown: Published) -> FsError {
    let noun = peer.noun();
    let refused = |kind: ErrorKind, published: Published| {
        let message = format!("the {noun} answered {code:?} without saying why");
        FsError::new(kind, message).with_published(published)
    };
    match code {
        Code::Unavailable | Code::Cancelled => unreachable(peer, unknown),
        Code::DeadlineExceeded => out_of_time(peer, unknown),
        Code::NotFound => refused(ErrorKind::NotFound { similar_names: Vec::new() }, Published::No),
        Code::Aborted => refused(ErrorKind::StaleVersion { expected: None, actual: None }, Published::No),
        Code::Unauthenticated | Code::PermissionDenied => refused(ErrorKind::PermissionDenied, Published::No),
        Code::Unimplemented => refused(ErrorKind::Unsupported, Published::No),
        Code::AlreadyExists | Code::FailedPrecondition | Code::InvalidArgument => {
            refused(ErrorKind::IoError, Published::No)
        }
        // A message that is larger than either side takes ends so, also on its way back.
        Code::OutOfRange | Code::ResourceExhausted => {
            let message =
                format!("a message to or from the {noun} was refused as too large, or the {noun} is full");
            FsError::new(ErrorKind::IoError, message).with_published(unknown)
        }
        Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => refused(ErrorKind::IoError, unknown),
    }
}
