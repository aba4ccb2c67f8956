//! Waiting for a peer: until it answers, the caller gives up, or the time for calls is over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tonic::Status;
use toolfs_core::error::{AbortCause, ErrorKind, FsError, Published, Result};
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_remote::{Broken, Failure, Peer, failure, out_of_time};

/// What a call may have done by the time that it fails.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// It changes nothing.
    None,
    /// It changes something once the peer has all of its request.
    Change(Sent),
}

impl Effect {
    fn may_have_landed(&self) -> bool {
        match self {
            Effect::None => false,
            Effect::Change(sent) => sent.is_whole(),
        }
    }

    /// What is known of the effect when no answer tells.
    fn unknown(&self) -> Published {
        if self.may_have_landed() { Published::Maybe } else { Published::No }
    }

    /// The error of an answer that the contract does not allow. Who answered so to a change may well have made it.
    pub(crate) fn broken(&self, broken: &Broken) -> FsError {
        Peer::Provider.breaks_contract(broken).with_published(self.unknown())
    }

    /// How a call failed that ended in a status.
    pub(crate) fn failure(&self, status: Status) -> Failure {
        failure(Peer::Provider, status, self.may_have_landed())
    }
}

/// Whether the last piece of a request was handed to the transport. Before that, no peer has the whole of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent(Arc<AtomicBool>);

impl Sent {
    pub(crate) fn mark_whole(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_whole(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How long one call is waited for, its streams included.
pub(crate) struct Wait {
    abort: AbortSignal,
    time: Option<Pin<Box<Sleep>>>,
}

impl Wait {
    /// Begins a call.
    ///
    /// # Errors
    /// `FS_ABORTED` when it is over before it began.
    pub(crate) fn begin(abort: &AbortSignal, limit: Option<Duration>) -> Result<Wait> {
        abort.check()?;
        Ok(Wait { abort: abort.clone(), time: limit.map(|limit| Box::pin(sleep(limit))) })
    }

    /// Waits for a step of the call. Giving up drops the step, which cancels the call at the peer.
    ///
    /// # Errors
    /// Those of the step; `FS_ABORTED`; `FS_UNAVAILABLE` when the time is over.
    pub(crate) async fn on<T>(
        &mut self,
        effect: &Effect,
        step: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        let time = async {
            match &mut self.time {
                Some(time) => time.as_mut().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            cause = self.abort.fired() => Err(Failure::untold(gave_up(cause, effect.unknown()))),
            end = step => end.map_err(|status| effect.failure(status)),
            () = time => Err(Failure::untold(out_of_time(Peer::Provider, effect.unknown()))),
        }
    }
}

/// The error of a call that its caller gave up.
fn gave_up(cause: AbortCause, published: Published) -> FsError {
    match published {
        Published::No => aborted(cause),
        Published::Yes | Published::Maybe => {
            let message = "the call was given up while the provider worked on it: the change may be in place";
            FsError::new(ErrorKind::Aborted { cause }, message).with_published(published)
        }
    }
}
