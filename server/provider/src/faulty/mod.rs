//! A provider that fails by script, and records what it was asked.
//!
//! The script names calls by their operation and their number (the third write), never by chance, so that a test says
//! what happens and when. With an empty script the wrapper behaves like what it wraps, which the suite checks.
//! Deliberately absent: faults inside a content stream, and random failures.

mod call;
mod hold;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::future::{Either, select};
use toolfs_core::error::{FsError, Published, Result};
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;

pub use self::call::{Call, Operation};
pub use self::hold::Hold;
use crate::Provider;
use crate::abort::{AbortSignal, aborted};
use crate::capability::Capabilities;
use crate::content::{ContentStream, EntryStream};
use crate::report::{EditReport, LinesReport, Stat, WriteReport};
use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

/// What happens to one call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It fails and never reaches the provider: nothing is published.
    Before(FsError),
    /// It is carried out, its answer is thrown away, and it fails: what it published is there.
    After(FsError),
    /// A mutation succeeds, and reports that it could not be made durable.
    NotDurable(FsError),
    /// It waits before it reaches the provider until it is released. An abort signal that fires meanwhile ends it
    /// with nothing published.
    HoldBefore(Hold),
    /// It is carried out and its answer waits until it is released, whatever the abort signal does.
    HoldAfter(Hold),
}

/// A provider behind a script of faults.
///
/// ```
/// use toolfs_core::error::{ErrorKind, FsError};
/// use toolfs_provider::faulty::{Fault, Faulty, Operation};
/// use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
///
/// let memory = MemoryProvider::new(MemoryConfig::with_root("/workspace")).unwrap();
/// let faulty = Faulty::new(memory);
/// faulty.on(Operation::WriteText, 3, Fault::Before(FsError::new(ErrorKind::NoSpace, "the disk is full")));
/// assert!(faulty.recording().is_empty());
/// ```
#[derive(Debug)]
pub struct Faulty<P> {
    inner: P,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is due at which call of an operation, counted from 1.
    script: HashMap<(Operation, usize), Vec<Fault>>,
    counts: HashMap<Operation, usize>,
    recording: Vec<Call>,
}

impl<P> Faulty<P> {
    /// A wrapper without faults.
    pub fn new(inner: P) -> Faulty<P> {
        Faulty { inner, state: Mutex::new(State::default()) }
    }

    /// Plans a fault for the `nth` call of an operation, counted from 1 and from the creation of this wrapper.
    /// Several for one call take effect together: all that come before it in the order of planning, then the call,
    /// then the others.
    pub fn on(&self, operation: Operation, nth: usize, fault: Fault) {
        assert!(nth > 0, "calls are counted from 1");
        self.state().script.entry((operation, nth)).or_default().push(fault);
    }

    /// What was asked so far, in the order in which the calls arrived, with their arguments.
    pub fn recording(&self) -> Vec<Call> {
        self.state().recording.clone()
    }

    /// The operations of [`Faulty::recording`].
    pub fn operations(&self) -> Vec<Operation> {
        self.state().recording.iter().map(Call::operation).collect()
    }

    /// What was asked since this was called last, in order, and forgets it. The numbers of the script go on counting.
    pub fn take_recording(&self) -> Vec<Call> {
        let mut state = self.state();
        std::mem::take(&mut state.recording)
    }

    /// The provider behind.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the script has for one call.
#[derive(Debug, Default)]
struct Due {
    before: Vec<Fault>,
    after: Vec<Fault>,
}

impl Due {
    fn new(faults: Vec<Fault>) -> Due {
        let (before, after) = faults.into_iter().partition(|fault| match fault {
            Fault::Before(_) | Fault::HoldBefore(_) => true,
            Fault::After(_) | Fault::NotDurable(_) | Fault::HoldAfter(_) => false,
        });
        Due { before, after }
    }

    /// What happens before the call.
    async fn begin(&self, abort: &AbortSignal) -> Result<()> {
        for fault in &self.before {
            match fault {
                Fault::Before(error) => return Err(error.clone()),
                Fault::HoldBefore(hold) => {
                    let (released, fired) = (std::pin::pin!(hold.wait()), std::pin::pin!(abort.fired()));
                    match select(released, fired).await {
                        Either::Left(_) => {}
                        Either::Right((cause, _)) => return Err(aborted(cause)),
                    }
                }
                Fault::After(_) | Fault::NotDurable(_) | Fault::HoldAfter(_) => {}
            }
        }
        Ok(())
    }

    /// What becomes of the answer.
    async fn end<T>(&self, answer: Result<T>, set_not_durable: impl Fn(&mut T, FsError)) -> Result<T> {
        let mut answer = answer;
        for fault in &self.after {
            match fault {
                Fault::After(error) => return Err(error.clone()),
                Fault::NotDurable(error) => {
                    if let Ok(report) = &mut answer {
                        set_not_durable(report, error.clone().with_published(Published::Yes));
                    }
                }
                Fault::HoldAfter(hold) => hold.wait().await,
                Fault::Before(_) | Fault::HoldBefore(_) => {}
            }
        }
        answer
    }

    /// Carries out a call that publishes nothing, and so has nothing that could be not durable.
    async fn around<T>(&self, abort: &AbortSignal, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.begin(abort).await?;
        let answer = call.await;
        self.end(answer, |_, _| {}).await
    }
}

impl<P> Faulty<P> {
    /// Records a call and finds what is due at it.
    fn arrive(&self, call: Call) -> Due {
        let mut state = self.state();
        let operation = call.operation();
        state.recording.push(call);
        let count = state.counts.entry(operation).or_default();
        *count += 1;
        let nth = *count;
        Due::new(state.script.remove(&(operation, nth)).unwrap_or_default())
    }
}

#[async_trait]
impl<P: Provider> Provider for Faulty<P> {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        let due = self.arrive(Call::Capabilities);
        due.around(abort, self.inner.capabilities(abort)).await
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        let due = self.arrive(Call::Resolve(request.clone()));
        due.around(abort, self.inner.resolve(abort, request)).await
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        let due = self.arrive(Call::Contains { ancestor: ancestor.clone(), target: target.clone() });
        due.around(abort, self.inner.contains(abort, ancestor, target)).await
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        let due = self.arrive(Call::Stat { target: target.clone(), want_version });
        due.around(abort, self.inner.stat(abort, target, want_version)).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        let due = self.arrive(Call::Lstat(request.clone()));
        due.around(abort, self.inner.lstat(abort, request)).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        let due = self.arrive(Call::ReadLines { target: target.clone(), window });
        due.around(abort, self.inner.read_lines(abort, target, window)).await
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        let due = self.arrive(Call::ReadText { target: target.clone() });
        due.around(abort, self.inner.read_text(abort, target)).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        let due = self.arrive(Call::ReadBytes { target: target.clone(), range });
        due.around(abort, self.inner.read_bytes(abort, target, range)).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        let due = self.arrive(Call::ListDir { target: target.clone() });
        due.around(abort, self.inner.list_dir(abort, target)).await
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let due = self.arrive(Call::WriteText(request.clone()));
        due.begin(abort).await?;
        let answer = self.inner.write_text(abort, request).await;
        due.end(answer, |report, error| report.not_durable = Some(error)).await
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let due = self.arrive(Call::EditText(request.clone()));
        due.begin(abort).await?;
        let answer = self.inner.edit_text(abort, request).await;
        due.end(answer, |report, error| report.not_durable = Some(error)).await
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let due = self.arrive(Call::PlanWrite(request.clone()));
        due.around(abort, self.inner.plan_write(abort, request)).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let due = self.arrive(Call::PlanEdit(request.clone()));
        due.around(abort, self.inner.plan_edit(abort, request)).await
    }
}
