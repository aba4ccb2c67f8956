//! A provider and a gate that write down what they are asked, wait or fail where a test says so, and pass on the rest.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::oneshot;
use toolfs_core::clock::Order;
use toolfs_core::error::{FsError, Published, Result};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;
use toolfs_policy::{ForgetScope, GateCapabilities, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;
use toolfs_provider::content::{ContentStream, EntryStream};
use toolfs_provider::refusal;
use toolfs_provider::report::{EditReport, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, OperationId, ResolveRequest, WriteTextRequest};

/// What was asked, in order, and what is to go wrong.
#[derive(Debug, Default)]
pub(crate) struct Script {
    log: Mutex<Vec<String>>,
    failures: Mutex<HashMap<&'static str, FsError>>,
    pauses: Mutex<HashMap<&'static str, HeldBack>>,
    not_durable: Mutex<Option<FsError>>,
    has_no_records: AtomicBool,
}

/// What tells a test that an answer is held back, and what lets it go.
type HeldBack = (oneshot::Sender<()>, oneshot::Receiver<()>);

/// An operation that was done, and whose answer is held back.
#[derive(Debug)]
pub(crate) struct Pause {
    reached: oneshot::Receiver<()>,
    release: oneshot::Sender<()>,
}

impl Pause {
    /// Waits until the operation was done.
    pub(crate) async fn reached(&mut self) {
        (&mut self.reached).await.expect("the operation is done before the test ends");
    }

    /// Lets its answer go.
    pub(crate) fn release(self) {
        self.release.send(()).expect("the answer is still held back");
    }
}

impl Script {
    /// What was asked since the last time.
    pub(crate) fn take_log(&self) -> String {
        let mut lines = std::mem::take(&mut *self.log.lock().unwrap()).join("\n");
        lines.push('\n');
        lines
    }

    /// The next such operation fails and is not passed on.
    pub(crate) fn fail_next(&self, operation: &'static str, error: FsError) {
        self.failures.lock().unwrap().insert(operation, error);
    }

    /// The answer of the next such operation is held back.
    pub(crate) fn pause_next(&self, operation: &'static str) -> Pause {
        let (reached, is_reached) = oneshot::channel();
        let (release, is_released) = oneshot::channel();
        self.pauses.lock().unwrap().insert(operation, (reached, is_released));
        Pause { reached: is_reached, release }
    }

    /// The next mutation is published, and its durability fails.
    pub(crate) fn next_is_not_durable(&self, error: FsError) {
        *self.not_durable.lock().unwrap() = Some(error.with_published(Published::Yes));
    }

    /// The provider is another one from now on: it records no operations and refuses names.
    pub(crate) fn lose_records(&self) {
        self.has_no_records.store(true, Ordering::SeqCst);
    }

    pub(super) fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    pub(super) fn failure(&self, operation: &'static str) -> Result<()> {
        match self.failures.lock().unwrap().remove(operation) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(super) async fn pause(&self, operation: &'static str) {
        let pause = self.pauses.lock().unwrap().remove(operation);
        if let Some((reached, is_released)) = pause {
            reached.send(()).expect("the test waits for this");
            is_released.await.expect("the test releases what it paused");
        }
    }
}

#[derive(Debug)]
pub(crate) struct RecordingProvider {
    pub(crate) inner: Arc<dyn Provider>,
    pub(crate) script: Arc<Script>,
    /// What was done under an operation id; `None`: operations are not recorded.
    pub(crate) operations: Option<Arc<Operations>>,
}

/// The reports of operations by their names, without diffs.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    writes: Mutex<HashMap<OperationId, WriteReport>>,
    edits: Mutex<HashMap<OperationId, EditReport>>,
}

#[async_trait]
impl Provider for RecordingProvider {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        self.script.note("capabilities".into());
        let inner = self.inner.capabilities(abort).await?;
        let has_records = !self.script.has_no_records.load(Ordering::SeqCst);
        Ok(Capabilities { operation_ids: self.operations.is_some() && has_records, ..inner })
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        let path = String::from_utf8_lossy(&request.path);
        self.script.note(match &request.cwd {
            Some(cwd) => format!("resolve {path} from {}", String::from_utf8_lossy(cwd)),
            None => format!("resolve {path}"),
        });
        self.script.failure("resolve")?;
        self.inner.resolve(abort, request).await
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        self.script.note("contains".into());
        self.inner.contains(abort, ancestor, target).await
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        self.script.note("stat".into());
        self.inner.stat(abort, target, want_version).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        self.script.note("lstat".into());
        self.inner.lstat(abort, request).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        self.script.note(format!("read_lines {window:?}"));
        self.script.failure("read_lines")?;
        let report = self.inner.read_lines(abort, target, window).await;
        self.script.pause("read_lines").await;
        report
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        self.script.note("read_text".into());
        self.inner.read_text(abort, target).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        self.script.note("read_bytes".into());
        self.inner.read_bytes(abort, target, range).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        self.script.note("list_dir".into());
        self.inner.list_dir(abort, target).await
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let content = String::from_utf8_lossy(&request.content).into_owned();
        self.script.note(format!("write_text {content:?} {}", write_guard(&request.guard)));
        self.script.failure("write_text")?;
        let id = self.operation(&request.operation_id)?;
        let done = id.and_then(|(id, operations)| operations.writes.lock().unwrap().get(id).cloned());
        let mut report = match done {
            Some(report) => report,
            None => {
                let request = WriteTextRequest { operation_id: None, ..request.clone() };
                self.inner.write_text(abort, request).await?
            }
        };
        report.not_durable = self.script.not_durable.lock().unwrap().take();
        if let Some((id, operations)) = id {
            let kept = WriteReport { diff: None, ..report.clone() };
            operations.writes.lock().unwrap().insert(id.clone(), kept);
        }
        self.script.pause("write_text").await;
        self.script.failure("write_text, its answer")?;
        Ok(report)
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.script.note(format!("edit_text {}", edit(&request)));
        self.script.failure("edit_text")?;
        let id = self.operation(&request.operation_id)?;
        let done = id.and_then(|(id, operations)| operations.edits.lock().unwrap().get(id).cloned());
        let mut report = match done {
            Some(report) => report,
            None => {
                let request = EditTextRequest { operation_id: None, ..request.clone() };
                self.inner.edit_text(abort, request).await?
            }
        };
        report.not_durable = self.script.not_durable.lock().unwrap().take();
        if let Some((id, operations)) = id {
            let kept = EditReport { diff: None, ..report.clone() };
            operations.edits.lock().unwrap().insert(id.clone(), kept);
        }
        self.script.pause("edit_text").await;
        self.script.failure("edit_text, its answer")?;
        Ok(report)
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.script.note(format!("plan_write {}", write_guard(&request.guard)));
        self.inner.plan_write(abort, request).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.script.note(format!("plan_edit {}", edit(&request)));
        self.inner.plan_edit(abort, request).await
    }
}

impl RecordingProvider {
    /// The name of an operation and where it is recorded.
    fn operation<'a>(
        &'a self,
        id: &'a Option<OperationId>,
    ) -> Result<Option<(&'a OperationId, &'a Operations)>> {
        let Some(id) = id else { return Ok(None) };
        if self.script.has_no_records.load(Ordering::SeqCst) {
            return Err(refusal::no_operation_ids("a.txt"));
        }
        let operations =
            self.operations.as_deref().expect("a name is given only where operations are recorded");
        Ok(Some((id, operations)))
    }
}

fn edit(request: &EditTextRequest) -> String {
    let (old, new) = (request.edit.old_string(), request.edit.new_string());
    let guard = match &request.guard {
        EditGuard::Unconditional => "unconditional",
        EditGuard::ReplaceIfVersion(_) => "if-version",
    };
    format!("{old:?} -> {new:?} all={} {guard}", request.edit.replace_all())
}

fn write_guard(guard: &WriteGuard) -> &'static str {
    match guard {
        WriteGuard::Unconditional => "unconditional",
        WriteGuard::CreateIfAbsent => "create-if-absent",
        WriteGuard::ReplaceIfVersion(_) => "if-version",
    }
}

#[derive(Debug)]
pub(crate) struct RecordingGate {
    pub(crate) inner: Arc<dyn PolicyGate>,
    pub(crate) script: Arc<Script>,
}

#[async_trait]
impl PolicyGate for RecordingGate {
    async fn capabilities(&self) -> Result<GateCapabilities> {
        self.inner.capabilities().await
    }

    async fn decide_write(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<WriteGuard> {
        self.script.note("decide_write".into());
        self.script.failure("decide_write")?;
        let guard = self.inner.decide_write(session, target).await;
        self.script.pause("decide_write").await;
        guard
    }

    async fn decide_edit(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<EditGuard> {
        self.script.note("decide_edit".into());
        let guard = self.inner.decide_edit(session, target).await;
        self.script.pause("decide_edit").await;
        guard
    }

    async fn record_observation(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()> {
        self.script.note(match observation {
            Observation::Absent => "observed absent".into(),
            Observation::Present(_) => "observed present".into(),
        });
        self.script.failure("record_observation")?;
        self.inner.record_observation(session, target, observation, order).await
    }

    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()> {
        self.script.note("forget".into());
        self.inner.forget(session, scope, order).await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        self.script.note("end_session".into());
        self.script.failure("end_session")?;
        self.inner.end_session(session).await
    }
}
