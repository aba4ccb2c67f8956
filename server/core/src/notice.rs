//! What a successful call still has to say.

/// The kind of a notice, stable for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// The line endings of the file are others than before.
    LineEndingsChanged,
    /// The file gained or lost its byte order mark.
    BomChanged,
    /// The file gained or lost the newline at its end.
    FinalNewlineChanged,
    /// Other hard links of the file keep the old content.
    HardLinksKeepOldContent,
    /// Owner or group could not be kept.
    OwnershipNotKept,
    /// Set-user-id, set-group-id or file capabilities were dropped.
    PrivilegeBitsDropped,
    /// Access control lists or extended attributes could not be kept.
    AttributesNotKept,
    /// The file was rewritten in place: readers may have seen it half written.
    NotAtomic,
    /// The effect is there, but the session's observation was not recorded: read before the next change.
    ObservationNotRecorded,
    /// The diff is left out; the text says why.
    DiffLeftOut,
}

/// A remark that goes with a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// The remark, one line, without a full stop.
    pub text: String,
}

impl Notice {
    /// Makes a notice.
    pub fn new(kind: NoticeKind, text: impl Into<String>) -> Notice {
        Notice { kind, text: text.into() }
    }
}
