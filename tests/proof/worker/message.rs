//! What goes to a worker and comes back, a line of JSON each.

use serde::{Deserialize, Serialize};
use toolfs_core::error::{FsError, Published};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::version::Version;

/// The first line of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    pub(super) ready: bool,
    pub(super) pid: i32,
    /// The thread that works on files, where there is but one.
    pub(super) file_thread: Option<i32>,
}

/// A line to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) call: Call,
}

/// What a worker is asked to do. Paths are resolved beneath its root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "lowercase")]
pub(crate) enum Call {
    Write {
        path: String,
        content: String,
        guard: Guard,
    },
    Edit {
        path: String,
        old: String,
        new: String,
        guard: Guard,
    },
    Read {
        path: String,
    },
    /// End, when everything that was asked before is answered.
    Stop,
}

/// Under which condition a change may land.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub(crate) enum Guard {
    Any,
    Absent,
    Version(String),
}

impl Guard {
    /// Exactly this content.
    pub(crate) fn of(content: &str) -> Guard {
        Guard::Version(Version::of(content.as_bytes()).as_str().to_owned())
    }

    pub(super) fn to_write(&self) -> WriteGuard {
        match self {
            Guard::Any => WriteGuard::Unconditional,
            Guard::Absent => WriteGuard::CreateIfAbsent,
            Guard::Version(version) => WriteGuard::ReplaceIfVersion(Version::parse(version).unwrap()),
        }
    }

    pub(super) fn to_edit(&self) -> EditGuard {
        match self {
            Guard::Any => EditGuard::Unconditional,
            Guard::Absent => panic!("nothing cannot be edited"),
            Guard::Version(version) => EditGuard::ReplaceIfVersion(Version::parse(version).unwrap()),
        }
    }
}

impl From<Guard> for String {
    fn from(guard: Guard) -> String {
        match guard {
            Guard::Any => "any".to_owned(),
            Guard::Absent => "absent".to_owned(),
            Guard::Version(version) => version,
        }
    }
}

impl From<String> for Guard {
    fn from(text: String) -> Guard {
        match text.as_str() {
            "any" => Guard::Any,
            "absent" => Guard::Absent,
            _ => Guard::Version(text),
        }
    }
}

/// A line from a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// Beside an effect that is there and was not made durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_durable: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Ok(Effect),
    Error(Failure),
}

/// What a call did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Effect {
    /// The version that is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// What was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// The remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<String>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// As in the contract: `FS_…`.
    pub(crate) code: String,
    /// `no`, `yes` or `maybe`.
    pub(crate) published: String,
    pub(crate) rescue_path: Option<String>,
    pub(crate) message: String,
    /// What the system said.
    pub(crate) cause: Option<String>,
}

impl From<&FsError> for Failure {
    fn from(error: &FsError) -> Failure {
        let published = match error.published() {
            Published::No => "no",
            Published::Yes => "yes",
            Published::Maybe => "maybe",
        };
        Failure {
            code: error.code().as_str().to_owned(),
            published: published.to_owned(),
            rescue_path: error.rescue_path().map(str::to_owned),
            message: error.to_string(),
            cause: std::error::Error::source(error).map(ToString::to_string),
        }
    }
}
