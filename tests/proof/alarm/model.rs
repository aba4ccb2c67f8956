//! The promise as a model: what is there, what each session saw, and what a guarded change has to end in.

use std::rc::Rc;

use toolfs_core::error::Code;
use toolfs_core::version::Version;

use super::content::stamp_of;

/// A content, and the version that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) bytes: Rc<[u8]>,
    pub(super) version: Version,
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>) -> Content {
        Content { version: Version::of(&bytes), bytes: bytes.into() }
    }

    /// The content with another first line.
    pub(super) fn with_stamp(&self, stamp: &str) -> Content {
        let mut bytes = self.bytes.to_vec();
        bytes[..stamp.len()].copy_from_slice(stamp.as_bytes());
        Content::new(bytes)
    }

    pub(super) fn stamp(&self) -> String {
        stamp_of(&self.bytes)
    }
}

/// What a session saw of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Absent: nothing.
    pub(super) content: Option<Content>,
    /// Whether it may be lost, by a crash.
    pub(super) may_be_lost: bool,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It was refused although the session saw what is there.
    FalseAlarm,
    /// It landed on what the session did not see.
    BlindOverwrite,
    Other,
}

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) wrong: Wrong,
    pub(super) text: String,
}

impl From<String> for Violation {
    fn from(text: String) -> Violation {
        Violation { wrong: Wrong::Other, text }
    }
}

impl From<std::io::Error> for Violation {
    fn from(error: std::io::Error) -> Violation {
        error.to_string().into()
    }
}

/// What a guarded change came to, in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Landed,
    Stale,
    NotObserved,
    /// Somebody may write to the file at any moment.
    Unavailable,
}

/// Judges the answer to a change, given as the code of its refusal.
///
/// # Errors
/// What is wrong with it.
pub(super) fn judge(
    seen: &Seen,
    now: &Content,
    is_mapped: bool,
    dry_run: bool,
    code: Option<Code>,
) -> Result<Verdict, Violation> {
    let wrong = |wrong, text: &str| Err(Violation { wrong, text: text.to_owned() });
    let is_current = seen.content.as_ref().is_some_and(|content| content.bytes == now.bytes);
    let may_be_unseen = seen.content.is_none() || seen.may_be_lost;
    match code {
        None if !is_current => wrong(Wrong::BlindOverwrite, "it landed on what its session did not see"),
        None if is_mapped && !dry_run => {
            wrong(Wrong::BlindOverwrite, "it landed on a file that somebody has mapped for writing")
        }
        None => Ok(Verdict::Landed),
        Some(Code::NotObserved) if may_be_unseen => Ok(Verdict::NotObserved),
        Some(Code::StaleVersion) if seen.content.is_some() && !is_current => Ok(Verdict::Stale),
        Some(Code::Unavailable) if is_mapped && !dry_run => Ok(Verdict::Unavailable),
        Some(code) if is_current => Err(Violation {
            wrong: Wrong::FalseAlarm,
            text: format!("it was refused with {code} although its session saw what is there"),
        }),
        Some(code) => wrong(Wrong::Other, &format!("it was refused with {code}")),
    }
}
