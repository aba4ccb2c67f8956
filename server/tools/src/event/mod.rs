//! Events: what the calls of a session do, for whoever watches it.
//!
//! The events of all watched sessions share one ring that is bounded in count and in bytes. A session takes part from
//! its first watch on until it ends; a call in any other session costs a look at a counter. Telling an event takes a
//! short lock and waits for nobody: what a slow watcher did not read in time leaves the ring, and because the events of
//! a session are numbered, the watcher is told exactly how many it missed. A watcher costs a cursor and no buffer.
//!
//! Events are of this server and of this run of it: what the session does at another server of the same state is not
//! told here, and a token of another run is answered with events missed without a count. Watching is no use of a
//! session, which expires all the same.
//!
//! Deliberately absent: content, arguments but for the path, and the secret of a session.

mod call;
mod hub;
#[cfg(test)]
mod tests;
mod token;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::clock::Timestamp;
use toolfs_core::error::{Code, Published};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::{RequestId, SessionName};
use toolfs_core::version::Version;

pub(crate) use self::call::CallEvents;
pub(crate) use self::hub::EventHub;
pub use self::watch::Watch;
use crate::call::CallError;

/// One thing that happened, as a watcher is told it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Goes on after this event when given to another watch.
    pub resume_token: String,
    /// When it happened.
    pub time: Timestamp,
    /// The public name of the session.
    pub session: SessionName,
    /// What happened.
    pub happening: Arc<Happening>,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The watch began: the first event of each.
    WatchBegan,
    /// Some events were not told.
    EventsMissed {
        /// How many, at least 1; `None` when that is not known any more.
        count: Option<u64>,
    },
    /// A call began.
    CallBegan(CallBegan),
    /// A call ended.
    CallEnded(CallEnded),
    /// The gate decided about a mutation.
    GuardDecided(GuardDecided),
    /// The gate was told what the session saw.
    ObservationRecorded(ObservationRecorded),
}

/// A call began.
#[derive(Clone, Debug)]
pub struct CallBegan {
    /// The number of the call, unique in one run of the server.
    pub call: u64,
    /// The tool's name, as called; cut when it is longer than any tool's.
    pub tool: Box<str>,
    /// The caller's name of the call.
    pub request_id: Option<RequestId>,
    /// The model's own id of the call; cut when it is long.
    pub tool_call_id: Box<str>,
    /// The path as it was asked for, in display form; empty when the call has none that can be read.
    pub path: Box<str>,
    /// Whether it is a dry run.
    pub dry_run: bool,
}

/// A call ended.
#[derive(Clone, Debug)]
pub struct CallEnded {
    /// The number of the call.
    pub call: u64,
    /// Why it failed; `None` when it did not.
    pub failure: Option<CallFailure>,
    /// Whether an effect is there.
    pub published: Published,
    /// The version of the content that was read or published.
    pub version: Option<Version>,
    /// How long it took.
    pub elapsed: Duration,
    /// The bytes of content that it read into its answer or published.
    pub content_bytes: u64,
}

/// Why a call failed.
#[derive(Clone, Debug)]
pub enum CallFailure {
    /// With an error of the file tools.
    Fs(Code),
    /// With a mistake of the caller or an end before its time; an error in here has neither path nor detail.
    Call(CallError),
    /// With a mistake of the server: it never came to an end.
    Lost,
}

/// The gate decided about a mutation.
#[derive(Clone, Debug)]
pub struct GuardDecided {
    /// The number of the call.
    pub call: u64,
    /// The path that it was resolved to, in display form.
    pub path: Box<str>,
    /// What was decided.
    pub decision: Decision,
}

/// A decision of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A write may go on under this guard.
    Write(WriteGuard),
    /// An edit may go on under this guard.
    Edit(EditGuard),
    /// The mutation is refused with this code.
    Refused(Code),
}

/// The gate was told what the session saw.
#[derive(Clone, Debug)]
pub struct ObservationRecorded {
    /// The number of the call.
    pub call: u64,
    /// The path that it was resolved to, in display form.
    pub path: Box<str>,
    /// What it saw.
    pub observation: Observation,
}

impl Happening {
    /// How many bytes it takes beyond its own size.
    fn held_bytes(&self) -> usize {
        let of_version = |version: &Version| version.as_str().len();
        match self {
            Happening::WatchBegan | Happening::EventsMissed { .. } => 0,
            Happening::CallBegan(began) => {
                let request_id = began.request_id.as_ref().map_or(0, |id| id.as_str().len());
                began.tool.len() + request_id + began.tool_call_id.len() + began.path.len()
            }
            Happening::CallEnded(ended) => ended.version.as_ref().map_or(0, of_version),
            Happening::GuardDecided(decided) => {
                let version = match &decided.decision {
                    Decision::Write(WriteGuard::ReplaceIfVersion(version))
                    | Decision::Edit(EditGuard::ReplaceIfVersion(version)) => of_version(version),
                    Decision::Write(WriteGuard::Unconditional | WriteGuard::CreateIfAbsent)
                    | Decision::Edit(EditGuard::Unconditional)
                    | Decision::Refused(_) => 0,
                };
                decided.path.len() + version
            }
            Happening::ObservationRecorded(recorded) => {
                let version = match &recorded.observation {
                    Observation::Present(version) => of_version(version),
                    Observation::Absent => 0,
                };
                recorded.path.len() + version
            }
        }
    }
}
