//! How cancellation and deadlines reach a provider: a signal that is looked at, and can be waited for.
//!
//! It fires once, with a cause. Nothing here reads a clock: whoever keeps the deadline fires the signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use event_listener::{Event, listener};
use toolfs_core::error::{AbortCause, ErrorKind, FsError, Result};

const RUNNING: u8 = 0;

/// Tells the work on one call to stop. Clones share the signal.
#[derive(Clone, Debug, Default)]
pub struct AbortSignal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cause: AtomicU8,
    fired: Event,
}

impl AbortSignal {
    /// A signal that has not fired.
    pub fn new() -> AbortSignal {
        AbortSignal::default()
    }

    /// Fires. The first cause stays.
    pub fn fire(&self, cause: AbortCause) {
        let encoded = match cause {
            AbortCause::Cancelled => 1,
            AbortCause::DeadlineExceeded => 2,
            AbortCause::Draining => 3,
        };
        if self.0.cause.compare_exchange(RUNNING, encoded, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.0.fired.notify(usize::MAX);
        }
    }

    /// Why it fired, if it has.
    pub fn cause(&self) -> Option<AbortCause> {
        match self.0.cause.load(Ordering::Acquire) {
            RUNNING => None,
            1 => Some(AbortCause::Cancelled),
            2 => Some(AbortCause::DeadlineExceeded),
            _ => Some(AbortCause::Draining),
        }
    }

    /// Goes on, or ends the work.
    ///
    /// # Errors
    /// `FS_ABORTED`, nothing published, once the signal has fired.
    pub fn check(&self) -> Result<()> {
        match self.cause() {
            None => Ok(()),
            Some(cause) => Err(aborted(cause)),
        }
    }

    /// Waits until the signal fires. Dropping the future is harmless.
    pub async fn fired(&self) -> AbortCause {
        loop {
            if let Some(cause) = self.cause() {
                return cause;
            }
            listener!(self.0.fired => fired);
            if let Some(cause) = self.cause() {
                return cause;
            }
            fired.await;
        }
    }
}

/// The error of work that was stopped before it published anything.
pub fn aborted(cause: AbortCause) -> FsError {
    let message = match cause {
        AbortCause::Cancelled => "the call was cancelled before anything changed",
        AbortCause::DeadlineExceeded => "the call ran out of time before anything changed",
        AbortCause::Draining => "the server is shutting down, nothing changed",
    };
    FsError::new(ErrorKind::Aborted { cause }, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiter_hears_the_first_cause() {
        let signal = AbortSignal::new();
        assert!(signal.check().is_ok());
        let other = signal.clone();
        let (cause, ()) = tokio::join!(signal.fired(), async {
            other.fire(AbortCause::DeadlineExceeded);
            other.fire(AbortCause::Cancelled);
        });
        assert_eq!(cause, AbortCause::DeadlineExceeded);
        assert!(signal.check().is_err());
    }
}
