//! What surrounds one tool call, and the steps that tools have in common.
//!
//! Each step is one call to the provider or the gate, or none. Deliberately absent: any look at a file. Whether
//! something is there, and what, is the provider's to say, once, when it is asked to read or to change it.

use toolfs_core::argument::FilePath;
use toolfs_core::clock::Order;
use toolfs_core::diff::{Diff, DiffLeftOut, DiffResult};
use toolfs_core::error::{Code, ErrorKind, FsError, Result};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::limit::Limits;
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::target::{FileKind, Target, display_form};
use toolfs_policy::PolicyGate;
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_provider::request::OperationId;
use toolfs_provider::{Provider, refusal};

use crate::event::CallEvents;
use crate::fence::Fence;
use crate::lock::{TargetInSession, Turn, Turns};
use crate::order::OrderSource;
use crate::remedy;
use crate::repeat::{Claim, Stop};
use crate::session::SessionMode;
use crate::span;
use crate::store::{DecidedGuard, SessionRecord};

/// The surroundings of one call.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) provider: &'a dyn Provider,
    pub(crate) gate: Option<&'a dyn PolicyGate>,
    pub(crate) orders: &'a OrderSource,
    pub(crate) turns: &'a Turns<TargetInSession>,
    pub(crate) limits: &'a Limits,
    pub(crate) abort: &'a AbortSignal,
    pub(crate) events: &'a CallEvents<'a>,
    pub(crate) session: Option<&'a SessionRecord>,
    /// The name under which the call may be repeated.
    pub(crate) claim: Option<&'a Claim<'a>>,
    pub(crate) dry_run: bool,
    pub(crate) want_diff: bool,
}

impl Scope<'_> {
    /// Finds what a path leads to, beneath the roots of the session.
    pub(crate) async fn locate(&self, path: &FilePath) -> Result<Target> {
        let fence = Fence {
            provider: self.provider,
            abort: self.abort,
            cwd: self.session.map(|session| &session.cwd),
            roots: self.session.map_or(&[][..], |session| &session.roots),
        };
        match fence.resolve(path).await {
            Ok(target) => Ok(target),
            Err(error) if is_about_a_parent(error.code()) && !path.as_str().starts_with('/') => {
                Err(self.blame_cwd(error).await)
            }
            Err(error) => Err(in_terms_of("file_path", error)),
        }
    }

    /// Finds what a path leads to, if it may be changed.
    pub(crate) async fn locate_for_change(&self, path: &FilePath) -> Result<Target> {
        let asked = || display_form(path.as_str().as_bytes());
        if self.session.is_some_and(|session| session.mode == SessionMode::ReadOnly) {
            return Err(refusal::read_only(asked()));
        }
        let target = self.locate(path).await?;
        match &target.protected_rule {
            Some(rule) => Err(refusal::protected(asked(), rule)),
            None => Ok(target),
        }
    }

    /// Waits until no other change of the target is under way in the session. Without a session there is nothing to
    /// keep in order.
    pub(crate) async fn take_turn(&self, target: &Target) -> Result<Option<Turn<TargetInSession>>> {
        let Some(session) = self.session else { return Ok(None) };
        let place = (session.key.clone(), target.key.clone());
        self.unless_aborted(async { Ok(Some(self.turns.take(place).await)) }).await
    }

    /// Asks for the intent of a write. A call that is resumed keeps the one that it had.
    pub(crate) async fn write_intent(&self, target: &Target) -> Result<WriteGuard> {
        let guard = match (self.resumed_guard(), self.gate) {
            (Some(DecidedGuard::Write(guard)), _) => guard.clone(),
            (Some(DecidedGuard::Edit(_)) | None, Some(gate)) => {
                let deciding = async {
                    let decided = gate.decide_write(self.session_key(), &target.key).await;
                    self.events.write_decided(target, &decided);
                    decided
                };
                self.unless_aborted(deciding).await?
            }
            (Some(DecidedGuard::Edit(_)) | None, None) => WriteGuard::Unconditional,
        };
        span::write_guard(&guard);
        Ok(guard)
    }

    /// Asks for the intent of an edit, likewise.
    pub(crate) async fn edit_intent(&self, target: &Target) -> Result<EditGuard> {
        let guard = match (self.resumed_guard(), self.gate) {
            (Some(DecidedGuard::Edit(guard)), _) => guard.clone(),
            (Some(DecidedGuard::Write(_)) | None, Some(gate)) => {
                let deciding = async {
                    let decided = gate.decide_edit(self.session_key(), &target.key).await;
                    self.events.edit_decided(target, &decided);
                    decided
                };
                self.unless_aborted(deciding).await?
            }
            (Some(DecidedGuard::Write(_)) | None, None) => EditGuard::Unconditional,
        };
        span::edit_guard(&guard);
        Ok(guard)
    }

    /// Notes a call that may be repeated, before it publishes; the name of the operation for the provider, where it
    /// records operations. Nothing else is noted.
    pub(crate) async fn begin(&self, guard: DecidedGuard) -> Result<Option<OperationId>, Stop> {
        match self.claim {
            Some(claim) => claim.begin(guard, self.abort).await,
            None => Ok(None),
        }
    }

    /// Tells the gate what was seen. A dry run tells nothing, and without a session there is nobody to remember it.
    ///
    /// What was done stays done when the gate cannot be told: the caller gets a notice instead. So this does not look
    /// at the abort signal either.
    pub(crate) async fn observed(
        &self,
        target: &Target,
        observation: Observation,
        order: Order,
    ) -> Option<Notice> {
        let (Some(gate), Some(session), false) = (self.gate, self.session, self.dry_run) else { return None };
        let recorded = gate.record_observation(&session.key, &target.key, observation.clone(), order).await;
        let Err(failure) = recorded else {
            self.events.observed(target, &observation);
            return None;
        };
        tracing::warn!(session = %session.name, code = %failure.code(), "an observation was not recorded");
        let path = &target.display_path;
        let text = format!("what this call saw was not recorded: read `{path}` again before changing it");
        Some(Notice::new(NoticeKind::ObservationNotRecorded, text))
    }

    /// The diff of an outcome, and a notice if one was wanted and is not there.
    pub(crate) fn diff(&self, reported: Option<DiffResult>) -> (DiffResult, Option<Notice>) {
        if !self.wants_diff() {
            // Nobody asked, so nobody looks at it: an empty one stands in.
            return (DiffResult::Computed(Diff::default()), None);
        }
        let left_out = match &reported {
            Some(DiffResult::Computed(_)) => None,
            Some(DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes, size_bytes })) => Some(format!(
                "the diff is left out: old and new content are {size_bytes} bytes together, the limit is {limit_bytes}"
            )),
            Some(DiffResult::LeftOut(DiffLeftOut::TooManyLines { limit_lines, lines })) => {
                Some(format!("the diff is left out: it would have {lines} lines, the limit is {limit_lines}"))
            }
            Some(DiffResult::LeftOut(DiffLeftOut::OldIsNotText)) => {
                Some("the diff is left out: the old content is no text".to_owned())
            }
            Some(DiffResult::LeftOut(DiffLeftOut::Told { reason })) => {
                Some(format!("the diff is left out: {reason}"))
            }
            None => Some("the diff is left out: the provider made none".to_owned()),
        };
        let notice = left_out.map(|text| Notice::new(NoticeKind::DiffLeftOut, text));
        (reported.unwrap_or_else(|| DiffResult::Computed(Diff::default())), notice)
    }

    /// A dry run always shows what would change.
    pub(crate) fn wants_diff(&self) -> bool {
        self.want_diff || self.dry_run
    }

    fn resumed_guard(&self) -> Option<&DecidedGuard> {
        self.claim.and_then(Claim::resumed_guard)
    }

    fn session_key(&self) -> Option<&SessionKey> {
        self.session.map(|session| &session.key)
    }

    /// A relative path that leads nowhere may do so because the session's directory is gone: that is said then.
    async fn blame_cwd(&self, error: FsError) -> FsError {
        let Some(session) = self.session else { return error };
        let is_gone = match self.provider.stat(self.abort, &session.cwd.key, false).await {
            Ok(stat) => stat.kind != FileKind::Directory,
            Err(failure) => is_about_a_parent(failure.code()),
        };
        if !is_gone {
            return error;
        }
        let message =
            format!("the working directory `{}` of this session is no more", session.cwd.display_path);
        remedy::for_lost_cwd(FsError::new(error.kind().clone(), message))
    }

    /// Does something that may be given up at any point, until the call is aborted.
    async fn unless_aborted<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            cause = self.abort.fired() => Err(aborted(cause)),
            done = work => done,
        }
    }
}

fn is_about_a_parent(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::NotDirectory)
}

/// The provider calls the argument `path`; its caller has another name for it.
pub(crate) fn in_terms_of(argument: &str, error: FsError) -> FsError {
    if let ErrorKind::InvalidArgument { field, actual, expected } = error.kind()
        && field == "path"
    {
        return FsError::invalid_argument(argument, actual, expected);
    }
    error
}
