//! What one call tells: that it began, what the gate decided and was told, and how it ended.

use std::time::Duration;

use toolfs_core::argument::RawCall;
use toolfs_core::error::{ErrorKind, FsError, Published, Result as FsResult};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::outcome::{Outcome, ToolResult};
use toolfs_core::target::{Target, display_form};
use toolfs_core::version::Version;

use super::hub::EventHub;
use super::{CallBegan, CallEnded, CallFailure, Decision, GuardDecided, Happening, ObservationRecorded};
use crate::answer::bytes_of;
use crate::call::{CallError, ExecuteRequest, ExecuteResponse};

/// The longest name of a tool that is told whole, in bytes.
const MAX_TOOL_BYTES: usize = 64;
/// The longest id of a model that is told whole, in bytes.
const MAX_TOOL_CALL_ID_BYTES: usize = 256;
/// The longest path that is told whole, in bytes of its display form.
const MAX_PATH_BYTES: usize = 16 << 10;

/// The events of one call. One that is dropped without an end is told as lost.
#[derive(Debug)]
pub(crate) struct CallEvents<'a> {
    hub: &'a EventHub,
    /// Without a session there is nobody to be told.
    session: Option<&'a SessionKey>,
    call: u64,
    began: Duration,
    is_dry_run: bool,
    has_ended: bool,
}

impl<'a> CallEvents<'a> {
    /// Tells that a call begins.
    pub(crate) fn begin(
        hub: &'a EventHub,
        session: Option<&'a SessionKey>,
        request: &ExecuteRequest,
    ) -> CallEvents<'a> {
        let events = CallEvents {
            hub,
            session,
            call: hub.next_call(),
            began: hub.clock.uptime(),
            is_dry_run: request.dry_run,
            has_ended: false,
        };
        events.tell(|call| {
            let path = request.call.as_ref().and_then(RawCall::path).unwrap_or_default();
            // Cut before as well: a path that is refused for its length may be a whole message.
            let path = display_form(start_of(&path, MAX_PATH_BYTES).as_bytes());
            Happening::CallBegan(CallBegan {
                call,
                tool: cut(request.call.as_ref().map_or("", RawCall::tool_as_called), MAX_TOOL_BYTES),
                request_id: request.request_id.clone(),
                tool_call_id: cut(&request.tool_call_id, MAX_TOOL_CALL_ID_BYTES),
                path: cut(&path, MAX_PATH_BYTES),
                dry_run: request.dry_run,
            })
        });
        events
    }

    /// The gate decided about a write.
    pub(crate) fn write_decided(&self, target: &Target, decided: &FsResult<WriteGuard>) {
        self.decided(target, || match decided {
            Ok(guard) => Decision::Write(guard.clone()),
            Err(error) => Decision::Refused(error.code()),
        });
    }

    /// The gate decided about an edit.
    pub(crate) fn edit_decided(&self, target: &Target, decided: &FsResult<EditGuard>) {
        self.decided(target, || match decided {
            Ok(guard) => Decision::Edit(guard.clone()),
            Err(error) => Decision::Refused(error.code()),
        });
    }

    /// The gate was told what the session saw.
    pub(crate) fn observed(&self, target: &Target, observation: &Observation) {
        self.tell(|call| {
            let path = cut(&target.display_path, MAX_PATH_BYTES);
            Happening::ObservationRecorded(ObservationRecorded {
                call,
                path,
                observation: observation.clone(),
            })
        });
    }

    /// The call ended.
    pub(crate) fn end(mut self, end: &Result<ExecuteResponse, CallError>) {
        self.has_ended = true;
        self.tell(|call| Happening::CallEnded(self.ended(call, end)));
    }

    fn decided(&self, target: &Target, decision: impl FnOnce() -> Decision) {
        self.tell(|call| {
            let path = cut(&target.display_path, MAX_PATH_BYTES);
            Happening::GuardDecided(GuardDecided { call, path, decision: decision() })
        });
    }

    fn ended(&self, call: u64, end: &Result<ExecuteResponse, CallError>) -> CallEnded {
        let elapsed = self.elapsed();
        let (outcome, error) = match end {
            Ok(response) => match &response.result {
                ToolResult::Done(outcome) => (Some(outcome), None),
                ToolResult::Refused(error) => (None, Some(error)),
                ToolResult::PublishedNotDurable(outcome, error) => (Some(outcome), Some(error)),
            },
            Err(CallError::Aborted(error) | CallError::Fs(error)) => (None, Some(error)),
            Err(
                CallError::SessionNotFound
                | CallError::CallMissing
                | CallError::TooManySessions { .. }
                | CallError::PageTokenInvalid
                | CallError::RequestIdReused
                | CallError::ResumeTokenInvalid,
            ) => (None, None),
        };
        let failure = match end {
            Ok(_) => error.map(|error| CallFailure::Fs(error.code())),
            Err(error) => Some(CallFailure::of(error)),
        };
        let shown = outcome.and_then(|outcome| self.shown(outcome));
        CallEnded {
            call,
            failure,
            published: match (outcome, error) {
                (_, Some(error)) => error.published(),
                (Some(Outcome::Write(_) | Outcome::Edit(_)), None) if !self.is_dry_run => Published::Yes,
                (Some(_) | None, None) => Published::No,
            },
            version: shown.map(|(version, _)| version.clone()),
            elapsed,
            content_bytes: shown.map_or(0, |(_, bytes)| bytes),
        }
    }

    /// The version of what was read or published, and how many bytes that is.
    fn shown<'o>(&self, outcome: &'o Outcome) -> Option<(&'o Version, u64)> {
        let version = match outcome {
            Outcome::Read(outcome) => &outcome.version,
            Outcome::Write(_) | Outcome::Edit(_) if self.is_dry_run => return None,
            Outcome::Write(outcome) => &outcome.version,
            Outcome::Edit(outcome) => &outcome.version,
        };
        Some((version, bytes_of(outcome)))
    }

    fn elapsed(&self) -> Duration {
        self.hub.clock.uptime().saturating_sub(self.began)
    }

    fn tell(&self, happening: impl FnOnce(u64) -> Happening) {
        if let Some(session) = self.session {
            self.hub.tell(session, || happening(self.call));
        }
    }
}

impl Drop for CallEvents<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        self.tell(|call| {
            Happening::CallEnded(CallEnded {
                call,
                failure: Some(CallFailure::Lost),
                // Nobody knows how far it came.
                published: if self.is_dry_run { Published::No } else { Published::Maybe },
                version: None,
                elapsed: self.elapsed(),
                content_bytes: 0,
            })
        });
    }
}

impl CallFailure {
    /// Why a call failed, without anything that is long or tells what only its caller may know.
    fn of(error: &CallError) -> CallFailure {
        match error {
            CallError::Fs(error) => CallFailure::Fs(error.code()),
            CallError::Aborted(error) => {
                let ErrorKind::Aborted { cause } = error.kind() else { return CallFailure::Fs(error.code()) };
                CallFailure::Call(CallError::Aborted(FsError::new(ErrorKind::Aborted { cause: *cause }, "")))
            }
            CallError::SessionNotFound
            | CallError::CallMissing
            | CallError::TooManySessions { .. }
            | CallError::PageTokenInvalid
            | CallError::RequestIdReused
            | CallError::ResumeTokenInvalid => CallFailure::Call(error.clone()),
        }
    }
}

/// The text, or as much of its beginning as may be told.
fn cut(text: &str, max_bytes: usize) -> Box<str> {
    start_of(text, max_bytes).into()
}

fn start_of(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}
