//! The calls of a server, each in a task of its own: the one place that spawns.
//!
//! - a client that goes away never stops the work half-way: its abort signal fires, and the work ends where it may
//! - a panic ends its call with the reason `INTERNAL`, and nothing else
//! - the calls in flight are counted, so that a drain knows what it waits for
//!
//! What is on disk when a handler's future is dropped: the task goes on, so a mutation aborts before publication or is
//! published whole.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_core::error::{AbortCause, FsError, Published};
use toolfs_provider::abort::{self, AbortSignal};
use tracing::Instrument as _;

use crate::deadline::Deadline;
use crate::parts::{self, Outlet, Parts};
use crate::status;

/// What a call may leave behind when nobody waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// Perhaps a change.
    Change,
}

/// How the status of a call that was given up is made.
type AbortedStatus = fn(&FsError) -> Status;

/// The calls of a server. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    tasks: TaskTracker,
    out_of_patience: CancellationToken,
    aborted: AbortedStatus,
}

impl Calls {
    /// The calls of agents: one that is given up has the reason why in its status.
    pub(crate) fn of_tools() -> Calls {
        Calls::with(status::aborted)
    }

    /// The calls between processes: one that is given up is `FS_ABORTED`.
    pub(crate) fn of_processes() -> Calls {
        Calls::with(status::between_processes)
    }

    fn with(aborted: AbortedStatus) -> Calls {
        Calls { tasks: TaskTracker::new(), out_of_patience: CancellationToken::new(), aborted }
    }

    /// Runs one call to its end, or to the caller's deadline.
    ///
    /// # Errors
    /// Those of the work; `SHUTTING_DOWN` once the drain began; the end of the caller's time; `INTERNAL` after a panic.
    pub(crate) async fn run<T, W, F>(
        &self,
        deadline: Option<Deadline>,
        effect: Effect,
        work: W,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        W: FnOnce(AbortSignal) -> F,
        F: Future<Output = Result<T, Status>> + Send + 'static,
    {
        if self.tasks.is_closed() {
            return Err(status::refused(CallReason::ShuttingDown, SHUTTING_DOWN));
        }
        let abort = AbortSignal::new();
        let _caller = CallerPresence::of(&abort);
        let mut task = self.spawn(&abort, work(abort.clone()));

        let Some(deadline) = deadline else {
            return ended(task.await);
        };
        tokio::select! {
            biased;
            end = &mut task => return ended(end),
            () = sleep_until(deadline.stop_at) => abort.fire(AbortCause::DeadlineExceeded),
        }
        tokio::select! {
            biased;
            end = &mut task => ended(end),
            () = sleep_until(deadline.answer_at) => Err((self.aborted)(&status::out_of_time(match effect {
                Effect::None => Published::No,
                Effect::Change => Published::Maybe,
            }))),
        }
    }

    /// Runs one call that answers in parts, each of which goes through the outlet. The parts end when the work does, or
    /// at once when it is given up: the caller went away, its time is over, the server stops. What the work holds is
    /// dropped then, so it must change nothing.
    ///
    /// # Errors
    /// As [`Calls::run`], as long as there is no part; later ones end the parts.
    pub(crate) async fn stream<T, W, F>(
        &self,
        deadline: Option<Deadline>,
        patience: Duration,
        work: W,
    ) -> Result<Parts<T>, Status>
    where
        T: Send + 'static,
        W: FnOnce(AbortSignal, Outlet<T>) -> F,
        F: Future<Output = Result<(), Status>> + Send + 'static,
    {
        if self.tasks.is_closed() {
            return Err(status::refused(CallReason::ShuttingDown, SHUTTING_DOWN));
        }
        let abort = AbortSignal::new();
        let caller = CallerPresence::of(&abort);
        let (outlet, close, parts) = parts::channel(caller, patience);
        let work = work(abort.clone(), outlet);
        let (out_of_patience, aborted) = (self.out_of_patience.clone(), self.aborted);
        let watched = async move {
            let given_up = async {
                tokio::select! {
                    cause = abort.fired() => cause,
                    () = at(deadline.map(|deadline| deadline.stop_at)) => AbortCause::DeadlineExceeded,
                    () = out_of_patience.cancelled() => AbortCause::Draining,
                }
            };
            let end = tokio::select! {
                biased;
                end = work => end,
                cause = given_up => {
                    abort.fire(cause);
                    Err(aborted(&abort::aborted(cause)))
                }
            };
            close.end(end);
        };
        self.tasks.spawn(watched.in_current_span());
        parts.begun().await
    }

    /// Refuses calls from now on.
    pub(crate) fn refuse_new(&self) {
        self.tasks.close();
    }

    /// Waits until no call is in flight. New ones must have been refused.
    pub(crate) async fn all_ended(&self) {
        self.tasks.wait().await;
    }

    /// Tells the calls in flight to stop because the server does.
    pub(crate) fn stop_all(&self) {
        self.out_of_patience.cancel();
    }

    /// How many calls are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    fn spawn<T, F>(&self, abort: &AbortSignal, work: F) -> JoinHandle<Result<T, Status>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Status>> + Send + 'static,
    {
        let abort = abort.clone();
        let out_of_patience = self.out_of_patience.clone();
        let watched = async move {
            let mut work = pin!(work);
            tokio::select! {
                biased;
                end = &mut work => return end,
                () = out_of_patience.cancelled() => abort.fire(AbortCause::Draining),
            }
            work.await
        };
        self.tasks.spawn(watched.in_current_span())
    }
}

/// The message of a refusal during the drain.
pub(crate) const SHUTTING_DOWN: &str = "the server is shutting down: call another one, or this one later";

/// Waits until a moment; for ever without one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Fires the signal when the caller's side of the call is gone. After the end of the work that does nothing.
#[derive(Debug)]
pub(crate) struct CallerPresence(AbortSignal);

impl CallerPresence {
    /// A caller who is there.
    pub(crate) fn of(abort: &AbortSignal) -> CallerPresence {
        CallerPresence(abort.clone())
    }
}

impl Drop for CallerPresence {
    fn drop(&mut self) {
        self.0.fire(AbortCause::Cancelled);
    }
}

fn ended<T>(end: Result<Result<T, Status>, JoinError>) -> Result<T, Status> {
    match end {
        Ok(result) => result,
        Err(error) if error.is_panic() => Err(status::internal(error)),
        // Tasks are never aborted here, so the runtime itself is going away.
        Err(_) => Err(status::refused(CallReason::ShuttingDown, SHUTTING_DOWN)),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::StreamExt as _;
    use tokio::sync::oneshot;
    use tonic::Code;

    use super::*;

    fn deadline_in(millis: u64) -> Deadline {
        let stop_at = Instant::now() + Duration::from_millis(millis);
        let answer_at = stop_at + Duration::from_millis(50);
        Deadline { stop_at, answer_at, late_at: answer_at }
    }

    fn reason(status: &Status) -> String {
        use tonic_types::StatusExt as _;
        status.get_details_error_info().expect("every status of ours has its reason").reason
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_call_only() {
        let calls = Calls::of_tools();
        let status = calls
            .run::<(), _, _>(None, Effect::None, |_| async { panic!("secret of the server") })
            .await
            .unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::Internal, "INTERNAL"));
        assert!(!status.message().contains("secret"));
        assert_eq!(calls.run(None, Effect::None, |_| async { Ok(7) }).await.unwrap(), 7);
        assert_eq!(calls.in_flight(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn work_goes_on_when_its_caller_goes_away_and_is_told_so() {
        let calls = Calls::of_tools();
        let (tell, told) = oneshot::channel();
        let running = calls.run(None, Effect::Change, |abort| async move {
            let cause = abort.fired().await;
            tokio::task::yield_now().await;
            let _ = tell.send(cause);
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(5), running).await.is_err());
        assert_eq!(told.await.unwrap(), AbortCause::Cancelled);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_out_of_time_is_stopped_and_tells_what_it_knows() {
        let calls = Calls::of_tools();
        let stopped = calls
            .run::<(), _, _>(Some(deadline_in(100)), Effect::Change, |abort| async move {
                abort.fired().await;
                Err(status::aborted(&abort.check().unwrap_err()))
            })
            .await
            .unwrap_err();
        assert_eq!(
            (stopped.code(), reason(&stopped).as_str()),
            (Code::DeadlineExceeded, "DEADLINE_EXCEEDED")
        );

        let began = Instant::now();
        let deaf = calls
            .run::<(), _, _>(Some(deadline_in(100)), Effect::Change, |_| async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(())
            })
            .await
            .unwrap_err();
        assert_eq!((deaf.code(), reason(&deaf).as_str()), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"));
        assert!(began.elapsed() >= Duration::from_millis(150));
        assert_eq!(calls.in_flight(), 1, "the work is not stopped half-way");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_ends_within_the_margin_is_answered_with_its_result() {
        let calls = Calls::of_tools();
        let result = calls.run(Some(deadline_in(100)), Effect::Change, |abort| async move {
            abort.fired().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok("published")
        });
        assert_eq!(result.await.unwrap(), "published");
    }

    #[tokio::test]
    async fn a_drain_refuses_new_calls_and_in_the_end_stops_the_old_ones() {
        let calls = Calls::of_tools();
        let old = calls.run(None, Effect::None, |abort| async move { Ok(abort.fired().await) });
        let drain = async {
            assert_eq!(calls.in_flight(), 1);
            calls.refuse_new();
            let refused = calls.run(None, Effect::None, |_| async { Ok(()) }).await.unwrap_err();
            assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unavailable, "SHUTTING_DOWN"));
            calls.stop_all();
        };
        let (cause, ()) = tokio::join!(biased; old, drain);
        assert_eq!(cause.unwrap(), AbortCause::Draining);
        calls.all_ended().await;
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_parts_is_given_up_when_its_time_is_over_or_the_server_stops() {
        let calls = Calls::of_processes();
        let deaf = |_, outlet: Outlet<u8>| async move {
            outlet.send(1).await?;
            std::future::pending().await
        };
        let mut late = calls.stream(Some(deadline_in(20)), PATIENCE, deaf).await.unwrap();
        assert_eq!(late.next().await.unwrap().unwrap(), 1);
        let status = late.next().await.unwrap().unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::DeadlineExceeded, "FS_ABORTED"));
        assert!(late.next().await.is_none());

        let mut stopped = calls.stream(None, PATIENCE, deaf).await.unwrap();
        assert_eq!(stopped.next().await.unwrap().unwrap(), 1);
        calls.refuse_new();
        let refused = calls.stream(None, PATIENCE, deaf).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unavailable, "SHUTTING_DOWN"));
        assert_eq!(calls.in_flight(), 1);
        calls.stop_all();
        let status = stopped.next().await.unwrap().unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::Cancelled, "FS_ABORTED"));
        calls.all_ended().await;
    }

    #[tokio::test]
    async fn an_answer_in_parts_whose_caller_goes_away_drops_what_its_work_holds() {
        let calls = Calls::of_processes();
        let (held, dropped) = oneshot::channel::<()>();
        let parts = calls.stream(None, PATIENCE, |abort, outlet: Outlet<u8>| async move {
            let _held = held;
            outlet.send(1).await?;
            std::future::pending::<()>().await;
            drop(abort);
            Ok(())
        });
        drop(parts.await.unwrap());
        assert!(dropped.await.is_err());
        calls.refuse_new();
        calls.all_ended().await;
    }

    #[tokio::test]
    async fn a_panic_in_an_answer_in_parts_is_no_end_of_it() {
        let calls = Calls::of_processes();
        let mut parts = calls
            .stream(None, PATIENCE, |_, outlet: Outlet<u8>| async move {
                outlet.send(1).await?;
                outlet.send(2).await?;
                panic!("a mistake")
            })
            .await
            .unwrap();
        assert_eq!(parts.next().await.unwrap().unwrap(), 1);
        let rest: Vec<_> = parts.collect().await;
        assert_eq!(reason(rest.last().unwrap().as_ref().unwrap_err()), "INTERNAL");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_between_processes_that_is_out_of_time_is_an_error_of_the_files() {
        let calls = Calls::of_processes();
        let deaf = calls.run(Some(deadline_in(10)), Effect::Change, |_| async move {
            std::future::pending::<Result<(), Status>>().await
        });
        let status = deaf.await.unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::DeadlineExceeded, "FS_ABORTED"));
    }
}
