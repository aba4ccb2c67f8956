//! What a model sees: the one place that turns outcomes and errors into text.

use crate::error::FsError;
use crate::limit::Limits;
use crate::outcome::{EditOutcome, ReadOutcome, WriteOutcome};

/// The text of a read: numbered lines and one footer.
pub fn read(_outcome: &ReadOutcome, _limits: &Limits) -> String {
    unimplemented!()
}

/// The text of a write. Content is never echoed.
pub fn write(_outcome: &WriteOutcome, _dry_run: bool) -> String {
    unimplemented!()
}

/// The text of an edit. Neither string is echoed.
pub fn edit(_outcome: &EditOutcome, _dry_run: bool) -> String {
    unimplemented!()
}

/// The text of a refusal or failure.
pub fn error(_error: &FsError) -> String {
    unimplemented!()
}
