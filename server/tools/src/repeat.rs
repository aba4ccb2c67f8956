//! Calls that may be repeated: a mutation with a session and a `request_id` takes effect once.
//!
//! A call claims its name first. A repeat waits for the one that has it, here by taking turns, at another server of the
//! state by looking again and again, and gets what that one ended in. A call that came to nothing worth remembering
//! leaves the name to its repeat.
//!
//! - Remembered are published effects and refusals that are not retryable, also one that cannot tell whether it published
//!   (`published: maybe`): the caller is told to look, and a repeat must not change anything behind its back.
//! - A call is noted, with its guard, after the gate decided and before the provider is asked. One whose server died then
//!   is resumed under that guard, whatever its session has seen since: if it had published, its own change does not pass
//!   for content that the session saw. Where the provider records operations, it tells whether it had.
//! - A refusal of a resumed call that nobody can vouch for says `published: maybe`.
//! - Whether the provider records operations is asked again after a refusal that another provider in its place may have
//!   given. A refusal of `FS_UNSUPPORTED` under an operation's name may only mean that it does not record them any more: it
//!   is not remembered, and vouches for nothing.
//! - Of two servers that run one call at once, one notes it and the other waits. One that is refused before it comes to
//!   that answers as the other did, too: what a call ended in first stays.
//! - What the store could not be told of an ended call is kept here and told later, so that repeats at this server do not
//!   run it again.
//!
//! Deliberately absent: the tools, and what is rendered (the text is remembered as it was).

mod encoding;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolfs_core::argument::{RawCall, ToolName};
use toolfs_core::clock::Clock;
use toolfs_core::error::{Code, ErrorKind, FsError, Published, Result, UnavailableCause};
use toolfs_core::outcome::ToolResult;
use toolfs_core::planted::Fault;
use toolfs_provider::Provider;
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_provider::request::OperationId;

use crate::call::{CallError, ExecuteRequest, ExecuteResponse};
use crate::lock::{Turn, Turns};
use crate::store::{Beginning, CallKey, CallRecord, CallState, CallStore, DecidedGuard, Ending, Fingerprint};

/// How often a call that another server runs is looked at.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(25);

/// How many ended calls the store may not know of, beyond which the last ones are only logged.
const MAX_UNTOLD: usize = 1_000;

/// The calls of an executor that may be repeated.
#[derive(Debug)]
pub(crate) struct Repeats {
    store: Arc<dyn CallStore>,
    provider: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    turns: Turns<CallKey, Option<Ended>>,
    untold: Mutex<HashMap<CallKey, Untold>>,
    /// Whether the provider records operations, as far as that is known.
    operation_ids: Mutex<Option<bool>>,
}

/// What a call asks for, and under which name.
#[derive(Clone, Debug)]
pub(crate) struct Repeatable {
    key: CallKey,
    fingerprint: Fingerprint,
}

/// What a call ended in, as it is remembered.
#[derive(Clone, Debug)]
struct Ended {
    fingerprint: Fingerprint,
    result: Vec<u8>,
}

/// What is to become of a call that was noted.
#[derive(Clone, Debug)]
enum Untold {
    /// It ended in this, at a server that resumed it or not.
    End { ended: Ended, resumes: bool },
    /// It came to nothing.
    Abandon,
    /// Nobody knows what it came to.
    Release,
}

/// Why a call does not run, or does not run on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It is refused.
    Refused(FsError),
    /// What it ends in is known already, and is nothing to be remembered once more.
    Known(Box<Result<ExecuteResponse, CallError>>),
}

impl From<FsError> for Stop {
    fn from(error: FsError) -> Stop {
        Stop::Refused(error)
    }
}

/// The right to run a call under its name. It ends with [`Claim::settle`]; a claim that is dropped before leaves a call
/// that was noted to whoever repeats it.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    repeats: &'a Repeats,
    call: Repeatable,
    turn: Turn<CallKey, Option<Ended>>,
    /// The guard of a server that noted the call and did not end it.
    resumed: Option<DecidedGuard>,
    /// Whether the call is noted as ours.
    is_noted: AtomicBool,
    /// Whether the provider is asked under an operation id.
    is_named: AtomicBool,
    /// Whether another server ran the call meanwhile, and remembers it.
    is_over: AtomicBool,
}

impl Repeatable {
    /// The name of a call and what it asks for, if it is one that may be repeated: a mutation, no dry run, with a session
    /// and a request id. The arguments count as they came, and whether the diff is wanted.
    pub(crate) fn of(request: &ExecuteRequest) -> Option<Repeatable> {
        let session = request.session.as_ref()?.key();
        let request_id = request.request_id.clone()?;
        let changes = match request.tool()? {
            ToolName::Write | ToolName::Edit => !request.dry_run,
            ToolName::Read => false,
        };
        if !changes || Fault::CallRemembersNothing.is_planted() {
            return None;
        }
        let fingerprint = fingerprint(request.call.as_ref()?, request.want_diff);
        Some(Repeatable { key: CallKey { session, request: request_id }, fingerprint })
    }

    /// What a call of this name ended in, for this one.
    fn known(&self, ended: &Ended) -> Stop {
        if ended.fingerprint != self.fingerprint {
            return Stop::known(Err(CallError::RequestIdReused));
        }
        Stop::known(Ok(encoding::decode(&ended.result)))
    }
}

impl Repeats {
    pub(crate) fn new(
        store: Arc<dyn CallStore>,
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
    ) -> Repeats {
        Repeats {
            store,
            provider,
            clock,
            turns: Turns::default(),
            untold: Mutex::default(),
            operation_ids: Mutex::default(),
        }
    }

    /// Takes the right to run a call. Waits until no other one of that name runs.
    ///
    /// # Errors
    /// [`Stop::Known`] with what the call ended in before, or when its name is another call's; [`Stop::Refused`] with
    /// `FS_ABORTED`, and with `FS_UNAVAILABLE` when the store cannot be asked: the call does not run then.
    pub(crate) async fn claim(&self, call: Repeatable, abort: &AbortSignal) -> Result<Claim<'_>, Stop> {
        let turn = tokio::select! {
            biased;
            cause = abort.fired() => return Err(aborted(cause).into()),
            turn = self.turns.take(call.key.clone()) => turn,
        };
        if let Some(ended) = turn.left() {
            return Err(call.known(ended));
        }
        self.tell_what_is_untold(&call).await?;
        let known = self.store.find(&call.key).await?;
        let resumed = self.not_running(&call, known, abort).await?;
        Ok(Claim {
            repeats: self,
            call,
            turn,
            resumed,
            is_noted: AtomicBool::new(false),
            is_named: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    /// The answer to a call that another server ran at the same time: this one comes to nothing.
    async fn instead(&self, call: &Repeatable, known: CallRecord, abort: &AbortSignal) -> Option<Stop> {
        match self.not_running(call, Some(known), abort).await {
            Err(stop) => Some(stop),
            // That server died over it, or came to nothing: whoever repeats the call goes on with it.
            Ok(_) => Some(overtaken().into()),
        }
    }

    /// Tells the store what it does not know of ended calls. What cannot be told now is told later.
    pub(crate) async fn tell_all(&self) -> Result<()> {
        let keys: Vec<CallKey> = self.untold().keys().cloned().collect();
        for key in keys {
            let untold = self.untold().remove(&key);
            if let Some(untold) = untold {
                // What another server remembers of it meanwhile stays.
                let _known = self.tell(&key, untold).await?;
            }
        }
        Ok(())
    }

    /// Waits until no other server runs a call; the guard that it had where one noted it and did not end it.
    async fn not_running(
        &self,
        call: &Repeatable,
        mut known: Option<CallRecord>,
        abort: &AbortSignal,
    ) -> Result<Option<DecidedGuard>, Stop> {
        loop {
            let Some(CallRecord { fingerprint, state }) = known else { return Ok(None) };
            if fingerprint != call.fingerprint {
                return Err(Stop::known(Err(CallError::RequestIdReused)));
            }
            match state {
                CallState::Ended { result } => return Err(call.known(&Ended { fingerprint, result })),
                CallState::Begun { guard, is_live: false } => return Ok(Some(guard)),
                CallState::Begun { guard: _, is_live: true } => tokio::select! {
                    biased;
                    cause = abort.fired() => return Err(aborted(cause).into()),
                    () = tokio::time::sleep(LOOK_AGAIN_AFTER) => {}
                },
            }
            known = self.store.find(&call.key).await?;
        }
    }

    /// Tells the store how a call of that name ended, if it does not know yet.
    async fn tell_what_is_untold(&self, call: &Repeatable) -> Result<(), Stop> {
        let untold = self.untold().remove(&call.key);
        let Some(untold) = untold else { return Ok(()) };
        let ended = match &untold {
            Untold::End { ended, .. } => Some(call.known(ended)),
            Untold::Abandon | Untold::Release => None,
        };
        match (self.tell(&call.key, untold).await, ended) {
            // Another server ran it meanwhile: what that one remembers is found in the store.
            (Ok(Some(_)), _) => Ok(()),
            // Whether the store knows or not, this is what it ended in.
            (_, Some(known)) => Err(known),
            (told, None) => told.map(drop).map_err(Stop::from),
        }
    }

    /// Tells the store how a call ended; keeps it for later when that fails. What is remembered of the call instead, if
    /// something is.
    async fn tell(&self, key: &CallKey, untold: Untold) -> Result<Option<CallRecord>> {
        let told = match &untold {
            Untold::End { ended: Ended { fingerprint, result }, resumes } => {
                let now = self.clock.now();
                match self.store.end(key, fingerprint, result.clone(), *resumes, now).await {
                    Ok(Ending::Remembered) => Ok(None),
                    Ok(Ending::Known(known)) => Ok(Some(known)),
                    Err(failure) => Err(failure),
                }
            }
            Untold::Abandon => self.store.abandon(key).await.map(|()| None),
            Untold::Release => self.store.release(key).await.map(|()| None),
        };
        told.inspect_err(|failure| {
            tracing::warn!(code = %failure.code(), "the end of a call was not remembered yet");
            self.keep_untold(key, untold);
        })
    }

    fn keep_untold(&self, key: &CallKey, untold: Untold) {
        let mut table = self.untold();
        let is_full = table.len() >= MAX_UNTOLD;
        match table.entry(key.clone()) {
            Entry::Vacant(_) if is_full => {
                tracing::warn!("the end of a call is forgotten: too many are untold")
            }
            entry => {
                entry.insert_entry(untold);
            }
        }
    }

    fn untold(&self) -> MutexGuard<'_, HashMap<CallKey, Untold>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn records_operations(&self, abort: &AbortSignal) -> Result<bool> {
        let known = *self.operation_ids();
        if let Some(known) = known {
            return Ok(known);
        }
        let records_operations = self.provider.capabilities(abort).await?.operation_ids;
        *self.operation_ids() = Some(records_operations);
        Ok(records_operations)
    }

    fn operation_ids(&self) -> MutexGuard<'_, Option<bool>> {
        self.operation_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    /// The guard that the call had when a server noted it and did not end it: nobody else decides then.
    pub(crate) fn resumed_guard(&self) -> Option<&DecidedGuard> {
        self.resumed.as_ref()
    }

    /// Notes that the call is about to publish under a guard. Answers with the name of the operation, where the provider
    /// records operations.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE` when it cannot be noted, or when another server noted it meanwhile and came to nothing, and
    /// `FS_ABORTED`; [`Stop::Known`] when another server ran it meanwhile. It must not publish then.
    pub(crate) async fn begin(
        &self,
        guard: DecidedGuard,
        abort: &AbortSignal,
    ) -> Result<Option<OperationId>, Stop> {
        let is_named = self.repeats.records_operations(abort).await?;
        abort.check()?;
        let (repeats, Repeatable { key, fingerprint }) = (self.repeats, &self.call);
        // From here on it may be noted, also when this future is dropped.
        self.is_noted.store(true, Ordering::Release);
        let beginning = repeats.store.begin(key, fingerprint, &guard, repeats.clock.now()).await;
        let is_ours = matches!(&beginning, Ok(Beginning::Noted(in_force)) if *in_force == guard);
        self.is_noted.store(is_ours, Ordering::Release);
        match beginning {
            Ok(Beginning::Noted(_)) if is_ours => {}
            // Since the claim another server noted the call and died: it is resumed when it is repeated.
            Ok(Beginning::Noted(_)) => {
                repeats.tell(key, Untold::Release).await?;
                return Err(overtaken().into());
            }
            Ok(Beginning::Known(known)) => {
                self.is_over.store(true, Ordering::Release);
                repeats.not_running(&self.call, Some(known), abort).await?;
                return Err(overtaken().into());
            }
            Err(failure) => {
                // It may be noted all the same.
                repeats.keep_untold(key, Untold::Release);
                return Err(failure.into());
            }
        }
        self.is_named.store(is_named, Ordering::Release);
        Ok(is_named.then(|| operation_id(key)))
    }

    /// The refusal of a call: one that was resumed, and that no record of operations vouches for, may have published
    /// before its server died.
    pub(crate) fn in_doubt(&self, error: FsError) -> FsError {
        let is_vouched_for = self.is_named.load(Ordering::Acquire) && error.code() != Code::Unsupported;
        if self.resumed.is_none() || is_vouched_for || error.is_retryable() {
            return error;
        }
        match error.published() {
            Published::No => error.with_published(Published::Maybe),
            Published::Yes | Published::Maybe => error,
        }
    }

    /// Remembers what the call ended in, or leaves its name to a repeat. `Some`: another server ran the call at the same
    /// time, and that is what it ended in instead; this one was refused before it noted it.
    pub(crate) async fn settle(
        mut self,
        ended: &Result<ExecuteResponse, CallError>,
        abort: &AbortSignal,
    ) -> Option<Stop> {
        let refused = refusal_code(ended);
        if matches!(refused, Some(Code::Unsupported | Code::Unavailable)) {
            *self.repeats.operation_ids() = None;
        }
        let is_noted = self.is_noted.swap(false, Ordering::AcqRel);
        if self.is_over.load(Ordering::Acquire) {
            return None;
        }
        let may_be_of_the_name = refused == Some(Code::Unsupported) && self.is_named.load(Ordering::Acquire);
        let untold = match worth_remembering(ended).filter(|_| !may_be_of_the_name) {
            Some(response) => {
                let fingerprint = self.call.fingerprint;
                let ended = Ended { fingerprint, result: encoding::encode(response) };
                Untold::End { ended, resumes: self.resumed.is_some() }
            }
            None if !is_noted => return None,
            None if self.resumed.is_none() && changed_nothing(ended) => Untold::Abandon,
            None => Untold::Release,
        };
        let left = match &untold {
            Untold::End { ended, .. } => Some(ended.clone()),
            Untold::Abandon | Untold::Release => None,
        };
        match self.repeats.tell(&self.call.key, untold).await {
            Ok(Some(known)) if !is_noted => self.repeats.instead(&self.call, known, abort).await,
            // It has ended as it did, whether it can be told or not; that was logged and is told later.
            Ok(_) | Err(_) => {
                self.turn.leave(left);
                None
            }
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.is_noted.load(Ordering::Acquire) {
            self.repeats.keep_untold(&self.call.key, Untold::Release);
        }
    }
}

impl Stop {
    fn known(answer: Result<ExecuteResponse, CallError>) -> Stop {
        Stop::Known(Box::new(answer))
    }
}

/// The response that a repeat gets too.
fn worth_remembering(ended: &Result<ExecuteResponse, CallError>) -> Option<&ExecuteResponse> {
    let response = ended.as_ref().ok()?;
    match &response.result {
        ToolResult::Done(_) | ToolResult::PublishedNotDurable(..) => Some(response),
        ToolResult::Refused(error) => (!error.is_retryable()).then_some(response),
    }
}

/// What a call was refused with, if it was.
fn refusal_code(ended: &Result<ExecuteResponse, CallError>) -> Option<Code> {
    match &ended.as_ref().ok()?.result {
        ToolResult::Refused(error) => Some(error.code()),
        ToolResult::Done(_) | ToolResult::PublishedNotDurable(..) => None,
    }
}

/// Whether a call that may be repeated left everything as it was.
fn changed_nothing(ended: &Result<ExecuteResponse, CallError>) -> bool {
    match ended {
        Ok(ExecuteResponse { result: ToolResult::Refused(error), .. }) => error.published() == Published::No,
        Ok(_) => false,
        // It is no result only where nothing changed.
        Err(_) => true,
    }
}

/// `FS_UNAVAILABLE`: since this server claimed the call another one began it, and did not end it.
fn overtaken() -> FsError {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::Overloaded };
    FsError::new(kind, "another server began the same call at the same time")
}

/// The name of a call at the provider: the same for each repeat, and no way back to the session.
fn operation_id(key: &CallKey) -> OperationId {
    let mut hasher = blake3::Hasher::new_derive_key("toolfs operation id v1");
    add_text(&mut hasher, Some(key.session.as_str()));
    add_text(&mut hasher, Some(key.request.as_str()));
    OperationId::parse(hasher.finalize().to_hex().as_str()).expect("64 digits are a name")
}

fn fingerprint(call: &RawCall, want_diff: bool) -> Fingerprint {
    let mut hasher = blake3::Hasher::new_derive_key("toolfs call fingerprint v1");
    hasher.update(&[u8::from(want_diff)]);
    match call {
        RawCall::Read { file_path, offset, limit } => {
            add_text(&mut hasher, Some("read"));
            add_text(&mut hasher, file_path.as_deref());
            for number in [offset, limit] {
                add_text(&mut hasher, number.map(|number| number.to_string()).as_deref());
            }
        }
        RawCall::Write { file_path, content } => {
            add_text(&mut hasher, Some("write"));
            add_text(&mut hasher, file_path.as_deref());
            add_text(&mut hasher, content.as_deref());
        }
        RawCall::Edit { file_path, old_string, new_string, replace_all } => {
            add_text(&mut hasher, Some("edit"));
            for text in [file_path, old_string, new_string] {
                add_text(&mut hasher, text.as_deref());
            }
            add_text(&mut hasher, replace_all.map(|all| if all { "true" } else { "false" }));
        }
        RawCall::Json { name, arguments_json } => {
            add_text(&mut hasher, Some("json"));
            add_text(&mut hasher, Some(name));
            add_text(&mut hasher, Some(arguments_json));
        }
    }
    *hasher.finalize().as_bytes()
}

/// Adds a text, or that there is none, so that no two lists of texts look alike.
fn add_text(hasher: &mut blake3::Hasher, text: Option<&str>) {
    match text {
        None => hasher.update(&[0]),
        Some(text) => hasher.update(&[1]).update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes()),
    };
}
