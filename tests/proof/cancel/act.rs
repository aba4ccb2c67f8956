//! What is called, and what it makes of its file.

use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use toolfs_client::{CallOptions, Edit, Error, Read, Session, Write, v1};
use uuid::Uuid;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Read,
    /// Replaces a file.
    Write,
    /// Creates a file in directories that are not there.
    Create,
    Edit,
    /// Replaces a file while another session does.
    Wait,
    DryRun,
}

impl Act {
    pub(super) fn draw(rng: &mut Rng) -> Act {
        match rng.u32(..100) {
            0..10 => Act::Read,
            10..30 => Act::Write,
            30..50 => Act::Create,
            50..75 => Act::Edit,
            75..90 => Act::Wait,
            _ => Act::DryRun,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Act::Read => "reads",
            Act::Write => "writes",
            Act::Create => "creations with parents",
            Act::Edit => "edits",
            Act::Wait => "writes behind another's",
            Act::DryRun => "dry runs",
        }
    }

    /// The file, beneath the directory of the case.
    pub(super) fn file(self) -> &'static str {
        match self {
            Act::Create => "p/q/file",
            Act::Read | Act::Write | Act::Edit | Act::Wait | Act::DryRun => "file",
        }
    }

    /// Whether it changes something.
    pub(super) fn changes(self) -> bool {
        match self {
            Act::Read | Act::DryRun => false,
            Act::Write | Act::Create | Act::Edit | Act::Wait => true,
        }
    }
}

/// How large the file is: most are small, and some take many milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lines(usize);

impl Lines {
    pub(super) fn draw(rng: &mut Rng) -> Lines {
        Lines(match rng.u32(..100) {
            0..40 => 60,
            40..70 => 5_000,
            70..96 => 40_000,
            _ => 160_000,
        })
    }
}

/// An act, its file before and after it.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) act: Act,
    pub(super) lines: Lines,
    /// Absent where the file is not there.
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// What the other session writes meanwhile.
    pub(super) other: String,
}

impl Plan {
    pub(super) fn new(act: Act, lines: Lines) -> Plan {
        let before = (act != Act::Create).then(|| content("old", lines));
        let after = match (act, &before) {
            (Act::Read | Act::DryRun, Some(before)) => before.clone(),
            (Act::Edit, Some(before)) => before.replace(&middle(lines), NEW_LINE),
            (Act::Write | Act::Create | Act::Wait, _) | (Act::Read | Act::DryRun | Act::Edit, None) => {
                content("new", lines)
            }
        };
        Plan { act, lines, before, after, other: content("other", lines) }
    }

    /// Puts the file back as it was.
    pub(super) fn set(&self, place: &Path) {
        let file = place.join(self.act.file());
        match &self.before {
            Some(before) => std::fs::write(file, before).unwrap(),
            None => {
                let _ = std::fs::remove_dir_all(place.join("p"));
            }
        }
    }

    /// Makes the call.
    pub(super) async fn call(
        &self,
        session: &Session,
        path: &str,
        request_id: Option<Uuid>,
        deadline: Option<Duration>,
    ) -> Result<(), Error> {
        let dry_run = self.act == Act::DryRun;
        let options = CallOptions { dry_run, request_id, deadline, ..CallOptions::default() };
        match self.act {
            Act::Read => session.read(Read::new(path).options(options)).await.map(drop),
            Act::Write | Act::Create | Act::Wait => {
                session.write(Write::new(path, self.after.as_str()).options(options)).await.map(drop)
            }
            Act::Edit | Act::DryRun => {
                let edit = Edit::new(path, middle(self.lines), NEW_LINE).options(options);
                session.edit(edit).await.map(drop)
            }
        }
    }
}

/// Lets a session see the file, or that it is not there.
pub(super) async fn look(session: &Session, path: &str) -> Result<(), String> {
    match session.read(Read::new(path).limit(1)).await {
        Ok(_) => Ok(()),
        Err(Error::Tool(error)) if error.code().as_str() == "FS_NOT_FOUND" => Ok(()),
        Err(error) => Err(format!("a read failed: {error:?}")),
    }
}

/// Whether an error says that nothing happened.
pub(super) fn says_nothing_happened(error: &Error) -> bool {
    let told = match error {
        Error::Tool(error) => Some(error.as_message()),
        Error::Call(failure) => failure.error(),
        _ => None,
    };
    told.is_some_and(|error| error.published() == v1::Published::No)
}

const NEW_LINE: &str = "this line is longer than the one that was here, and is in no other content\n";

fn middle(lines: Lines) -> String {
    line("old", lines.0 / 2)
}

fn line(age: &str, number: usize) -> String {
    format!("line {number:>7} of the {age} content, which is this long\n")
}

fn content(age: &str, lines: Lines) -> String {
    (0..lines.0).map(|number| line(age, number)).collect()
}
