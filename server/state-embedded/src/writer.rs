//! The one thread of a server that writes, and the queue before it.
//!
//! It takes whatever is queued into one transaction, together with what is written behind, and answers after the
//! commit. So a caller who gets an answer knows that its change outlives a crash of this process; a caller who goes
//! away while it waits in the queue has changed nothing, and one who goes away later does not stop its change.
//! When a transaction fails, each of its jobs is tried again in one of its own, so that none fails for another's sake.
//!
//! The queue is bounded: a caller waits for its place in it.

mod batch;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use toolfs_core::error::Result;

pub(crate) use self::batch::{Batches, Progress, Transaction};
use crate::error::{Cause, unavailable};

/// How many jobs wait at most.
const QUEUE_LENGTH: usize = 1_024;
/// How many jobs one transaction takes at most.
const BATCH_LENGTH: usize = 256;
/// How long the thread sleeps at most before it looks after what is old.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// How often what is written behind is looked at while it waits: others may have to know it at once.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// How long what is written behind waits after it could not be written, at least.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// What a commit has to survive before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A crash of the process.
    Process,
    /// A power cut too: the log is synced to the disk.
    Power,
}

/// One change that somebody waits for.
trait Job: Send {
    fn durability(&self) -> Durability;
    /// Does the change; called again in another transaction when the first one failed.
    fn run(&mut self, transaction: &Transaction<'_>) -> Result<(), Cause>;
    /// Answers.
    fn finish(self: Box<Self>, outcome: Result<()>);
}

struct Task<T, F> {
    durability: Durability,
    change: F,
    value: Option<T>,
    answer: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&Transaction<'_>) -> Result<T, Cause> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, transaction: &Transaction<'_>) -> Result<(), Cause> {
        self.value = Some((self.change)(transaction)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<()>) {
        let Task { value, answer, .. } = *self;
        let outcome = outcome.map(|()| value.expect("a job that succeeded has a value"));
        // Whoever waited may be gone; the change stays.
        let _ = answer.send(outcome);
    }
}

/// How the thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It writes what waits.
    Flush,
    /// It drops what waits, as a crash would.
    Crash,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    has_pending: bool,
    ending: Option<Ending>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    room: Semaphore,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Each change of the queue is one push or one flag.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(batches: Batches, write_behind: Duration) -> io::Result<Writer> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            room: Semaphore::new(QUEUE_LENGTH),
        });
        let worker = Worker { shared: Arc::clone(&shared), batches, write_behind };
        let thread = std::thread::Builder::new().name("toolfs-state".to_owned()).spawn(|| worker.run())?;
        Ok(Writer { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Makes a change in a transaction, and returns after its commit.
    pub(crate) async fn commit<T: Send + 'static>(
        &self,
        durability: Durability,
        change: impl FnMut(&Transaction<'_>) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T> {
        // Closed when the thread has ended.
        let Ok(place) = self.shared.room.acquire().await else { return Err(unavailable(Cause::Closed)) };
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.shared.queue();
            if queue.ending.is_some() {
                return Err(unavailable(Cause::Closed));
            }
            // The thread gives the place back when it takes the job.
            place.forget();
            queue.jobs.push_back(Box::new(Task { durability, change, value: None, answer }));
        }
        self.shared.wake.notify_one();
        answered.await.unwrap_or_else(|_| Err(unavailable(Cause::Closed)))
    }

    /// Says that something waits to be written behind.
    pub(crate) fn note_pending(&self) {
        let mut queue = self.shared.queue();
        if !queue.has_pending {
            queue.has_pending = true;
            self.shared.wake.notify_one();
        }
    }

    /// Writes what waits and ends the thread.
    pub(crate) fn close(&self) {
        self.end(Ending::Flush);
    }

    /// Ends the thread as a crash would: after the transaction that is running, without writing what waits.
    #[cfg(feature = "crash")]
    pub(crate) fn crash(&self) {
        self.end(Ending::Crash);
    }

    fn end(&self, ending: Ending) {
        self.shared.queue().ending.get_or_insert(ending);
        self.shared.wake.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the state's writer had panicked; what waited to be written is lost");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

struct Worker {
    shared: Arc<Shared>,
    batches: Batches,
    write_behind: Duration,
}

/// What the thread does next.
enum Turn {
    /// These, and what is written behind.
    Write(Vec<Box<dyn Job>>),
    /// Nothing was asked for a while.
    Idle,
    End(Ending),
}

impl Worker {
    fn run(mut self) {
        // However this thread ends, a panic included, nobody waits for it afterwards.
        let _on_exit = Exit(Arc::clone(&self.shared));
        let mut has_written = true;
        loop {
            match self.next_turn(has_written) {
                Turn::Write(jobs) => {
                    has_written = self.batches.write(jobs);
                    if !has_written {
                        self.shared.queue().has_pending = true;
                    }
                    let is_idle = self.shared.queue().jobs.is_empty();
                    self.batches.checkpoint_if_due(is_idle);
                    self.batches.look_after_if_due();
                }
                Turn::Idle => self.batches.look_after(),
                Turn::End(Ending::Flush) => return self.batches.close(),
                Turn::End(Ending::Crash) => return,
            }
        }
    }

    /// Waits for jobs; for what is written behind no longer than it may wait, or until others have to know it, unless
    /// it could not be written a moment ago.
    fn next_turn(&self, has_written: bool) -> Turn {
        let pause = if has_written { self.write_behind } else { self.write_behind.max(RETRY_PAUSE) };
        let mut queue = self.shared.queue();
        let (mut is_due, mut waited) = (false, Duration::ZERO);
        loop {
            if queue.ending == Some(Ending::Crash) {
                return Turn::End(Ending::Crash);
            }
            if !queue.jobs.is_empty() || (is_due && queue.has_pending) {
                let count = queue.jobs.len().min(BATCH_LENGTH);
                let jobs: Vec<_> = queue.jobs.drain(..count).collect();
                queue.has_pending = false;
                drop(queue);
                self.shared.room.add_permits(count);
                return Turn::Write(jobs);
            }
            if let Some(ending) = queue.ending {
                return Turn::End(ending);
            }
            if is_due {
                return Turn::Idle;
            }
            let had_pending = queue.has_pending;
            let limit = if had_pending { LOOK_PAUSE.min(pause.saturating_sub(waited)) } else { IDLE_PAUSE };
            let is_quiet = |queue: &mut Queue| {
                queue.jobs.is_empty() && queue.ending.is_none() && queue.has_pending == had_pending
            };
            let (locked, timeout) = self
                .shared
                .wake
                .wait_timeout_while(queue, limit, is_quiet)
                .unwrap_or_else(PoisonError::into_inner);
            queue = locked;
            if had_pending && timeout.timed_out() {
                waited += limit;
                is_due = waited >= pause || (has_written && self.batches.is_overdue());
            } else {
                is_due = timeout.timed_out();
            }
        }
    }
}

struct Exit(Arc<Shared>);

impl Drop for Exit {
    fn drop(&mut self) {
        self.0.room.close();
        let mut queue = self.0.queue();
        queue.ending.get_or_insert(Ending::Crash);
        // Whoever waits for one of these learns that it was dropped.
        queue.jobs.clear();
    }
}

#[cfg(test)]
mod tests;
