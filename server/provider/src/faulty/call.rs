//! Calls as values.

use toolfs_core::target::TargetKey;
use toolfs_core::window::LineWindow;

use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

/// The operations of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the method of the trait with its name")]
pub enum Operation {
    Capabilities,
    Resolve,
    Contains,
    Stat,
    Lstat,
    ReadLines,
    ReadText,
    ReadBytes,
    ListDir,
    WriteText,
    EditText,
    PlanWrite,
    PlanEdit,
}

/// One call with its arguments. Its `Debug` form shows no content.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the arguments of the trait's methods, by their names")]
pub enum Call {
    Capabilities,
    Resolve(ResolveRequest),
    Contains { ancestor: TargetKey, target: TargetKey },
    Stat { target: TargetKey, want_version: bool },
    Lstat(ResolveRequest),
    ReadLines { target: TargetKey, window: LineWindow },
    ReadText { target: TargetKey },
    ReadBytes { target: TargetKey, range: ByteRange },
    ListDir { target: TargetKey },
    WriteText(WriteTextRequest),
    EditText(EditTextRequest),
    PlanWrite(WriteTextRequest),
    PlanEdit(EditTextRequest),
}

impl Call {
    /// Which operation it is a call of.
    pub fn operation(&self) -> Operation {
        match self {
            Call::Capabilities => Operation::Capabilities,
            Call::Resolve(_) => Operation::Resolve,
            Call::Contains { .. } => Operation::Contains,
            Call::Stat { .. } => Operation::Stat,
            Call::Lstat(_) => Operation::Lstat,
            Call::ReadLines { .. } => Operation::ReadLines,
            Call::ReadText { .. } => Operation::ReadText,
            Call::ReadBytes { .. } => Operation::ReadBytes,
            Call::ListDir { .. } => Operation::ListDir,
            Call::WriteText(_) => Operation::WriteText,
            Call::EditText(_) => Operation::EditText,
            Call::PlanWrite(_) => Operation::PlanWrite,
            Call::PlanEdit(_) => Operation::PlanEdit,
        }
    }
}
