//! An answer in parts, for a caller who may take its time but not for ever.
//!
//! Between the work and the transport lies one part. The transport asks for the next one as its caller reads; the work
//! waits until then. A caller who takes nothing for too long, a work that is given up and one that panics end the parts
//! with a status, and the part that lay there is dropped: only an end that the work itself told is a whole answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::poll_fn;
use futures_util::stream::Stream;
use tokio::sync::Notify;
use tokio::time::timeout;
use tonic::Status;
use toolfs_core::error::{AbortCause, ErrorKind, FsError};

use crate::layers::trace;
use crate::status;
use crate::task::CallerPresence;

/// The two ends of parts, and who closes them. `patience` is how long a caller may take nothing.
pub(crate) fn channel<T>(caller: CallerPresence, patience: Duration) -> (Outlet<T>, Close<T>, Parts<T>) {
    let shared = Arc::new(Shared { state: Mutex::new(State::default()), taken: Notify::new() });
    let outlet = Outlet { shared: Arc::clone(&shared), patience };
    let close = Close { shared: Arc::clone(&shared), closed: false };
    (outlet, close, Parts { shared, first: None, _caller: caller })
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    taken: Notify,
}

#[derive(Debug)]
struct State<T> {
    part: Option<T>,
    end: Option<Result<(), Status>>,
    reader: Option<Waker>,
}

impl<T> Default for State<T> {
    fn default() -> State<T> {
        State { part: None, end: None, reader: None }
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, part: T) {
        let mut state = self.state();
        state.part = Some(part);
        wake(state);
    }

    fn end(&self, end: Result<(), Status>) {
        let mut state = self.state();
        if end.is_err() {
            state.part = None;
        }
        state.end = Some(end);
        wake(state);
    }
}

/// Wakes the reader once nobody holds the state any more.
fn wake<T>(mut state: MutexGuard<'_, State<T>>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// Where the work puts its parts.
#[derive(Debug)]
pub(crate) struct Outlet<T> {
    shared: Arc<Shared<T>>,
    patience: Duration,
}

impl<T> Outlet<T> {
    /// Puts the next part, once the one before it was taken.
    ///
    /// # Errors
    /// `FS_ABORTED` when nothing is taken for too long.
    pub(crate) async fn send(&self, part: T) -> Result<(), Status> {
        let free = async {
            while self.shared.state().part.is_some() {
                self.shared.taken.notified().await;
            }
        };
        if timeout(self.patience, free).await.is_err() {
            return Err(status::between_processes(&nothing_taken(self.patience)));
        }
        self.shared.put(part);
        Ok(())
    }
}

fn nothing_taken(patience: Duration) -> FsError {
    let message =
        format!("the answer was given up: its caller took nothing for {} s", patience.as_secs_f32());
    FsError::new(ErrorKind::Aborted { cause: AbortCause::Cancelled }, message)
}

/// Ends the parts, also when the task that holds it panics.
#[derive(Debug)]
pub(crate) struct Close<T> {
    shared: Arc<Shared<T>>,
    closed: bool,
}

impl<T> Close<T> {
    /// The end, as the work told it.
    pub(crate) fn end(mut self, end: Result<(), Status>) {
        self.closed = true;
        self.shared.end(end);
    }
}

impl<T> Drop for Close<T> {
    fn drop(&mut self) {
        if !self.closed {
            self.shared.end(Err(status::internal(Unfinished)));
        }
    }
}

/// Why parts ended that nobody ended.
#[derive(Debug, thiserror::Error)]
#[error("the work on an answer in parts ended without an end")]
struct Unfinished;

/// The parts as the transport takes them. Dropping them tells the work to stop.
#[derive(Debug)]
pub(crate) struct Parts<T> {
    shared: Arc<Shared<T>>,
    first: Option<T>,
    _caller: CallerPresence,
}

impl<T> Parts<T> {
    /// Waits for the first part, so that a refusal before it is the answer itself.
    pub(crate) async fn begun(mut self) -> Result<Parts<T>, Status> {
        match poll_fn(|cx| self.poll_part(cx)).await {
            Some(Ok(first)) => {
                self.first = Some(first);
                Ok(self)
            }
            Some(Err(status)) => Err(status),
            None => Ok(self),
        }
    }

    fn poll_part(&self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        let mut state = self.shared.state();
        if let Some(part) = state.part.take() {
            drop(state);
            self.shared.taken.notify_one();
            return Poll::Ready(Some(Ok(part)));
        }
        match state.end.replace(Ok(())) {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(status)) => Poll::Ready(Some(Err(status))),
            None => {
                state.end = None;
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: Unpin> Stream for Parts<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let next = self.poll_part(cx);
        if let Poll::Ready(Some(Err(status))) = &next {
            trace::status(status);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::StreamExt as _;
    use tonic::Code;
    use toolfs_provider::abort::AbortSignal;

    use super::*;

    fn new(patience: Duration) -> (Outlet<u8>, Close<u8>, Parts<u8>, AbortSignal) {
        let abort = AbortSignal::new();
        let (outlet, close, parts) = channel(CallerPresence::of(&abort), patience);
        (outlet, close, parts, abort)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn parts_arrive_in_order_and_then_the_end() {
        let (outlet, close, parts, _) = new(LONG);
        let (taken, ()) = tokio::join!(parts.map(Result::unwrap).collect::<Vec<_>>(), async {
            for part in 0..100 {
                outlet.send(part).await.unwrap();
            }
            close.end(Ok(()));
        });
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_end_that_is_told_waits_behind_the_last_part_and_a_refusal_does_not() {
        let (outlet, close, mut parts, _) = new(LONG);
        outlet.send(1).await.unwrap();
        close.end(Ok(()));
        assert_eq!(parts.next().await.unwrap().unwrap(), 1);
        assert!(parts.next().await.is_none() && parts.next().await.is_none());

        let (outlet, close, mut parts, _) = new(LONG);
        outlet.send(1).await.unwrap();
        close.end(Err(Status::unavailable("why")));
        assert_eq!(parts.next().await.unwrap().unwrap_err().code(), Code::Unavailable);
        assert!(parts.next().await.is_none());
    }

    #[tokio::test]
    async fn a_refusal_before_the_first_part_is_the_answer() {
        let (_outlet, close, parts, _) = new(LONG);
        close.end(Err(Status::unavailable("why")));
        assert_eq!(parts.begun().await.unwrap_err().code(), Code::Unavailable);

        let (outlet, close, parts, _) = new(LONG);
        outlet.send(1).await.unwrap();
        let (parts, ()) = tokio::join!(parts.begun(), async {
            outlet.send(2).await.unwrap();
            close.end(Ok(()));
        });
        let taken: Vec<_> = parts.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(taken, [1, 2]);

        let (_outlet, close, parts, _) = new(LONG);
        close.end(Ok(()));
        assert!(parts.begun().await.unwrap().next().await.is_none());
    }

    #[tokio::test]
    async fn work_that_is_gone_without_an_end_is_no_end() {
        let (outlet, close, mut parts, _) = new(LONG);
        outlet.send(1).await.unwrap();
        drop((outlet, close));
        assert_eq!(parts.next().await.unwrap().unwrap_err().code(), Code::Internal);
    }

    #[tokio::test]
    async fn nobody_waits_for_ever_for_a_reader_that_takes_nothing() {
        let (outlet, _close, _parts, _) = new(Duration::from_millis(20));
        outlet.send(1).await.unwrap();
        assert_eq!(outlet.send(2).await.unwrap_err().code(), Code::Cancelled);
    }

    #[test]
    fn a_reader_that_goes_away_tells_the_work() {
        let (_outlet, _close, parts, abort) = new(LONG);
        assert_eq!(abort.cause(), None);
        drop(parts);
        assert_eq!(abort.cause(), Some(AbortCause::Cancelled));
    }
}
