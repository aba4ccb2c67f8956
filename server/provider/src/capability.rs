//! What a provider can do, and what it serves.

/// What a success survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A power cut: content and directory entry are on stable storage.
    Full,
    /// A power cut, as far as the file system orders directory entries: content is on stable storage.
    Data,
    /// A crash of the process only.
    None,
}

/// One root that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The absolute path under which agents see it, as raw bytes.
    pub raw_path: Vec<u8>,
    /// The same, made safe to show.
    pub display_path: String,
}

/// A provider's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The provider's name: `local`, `memory`, ...
    pub provider: String,
    /// What it serves, in the order in which it was told; the first is where relative paths start.
    pub roots: Vec<Root>,
    /// What a success survives.
    pub durability: Durability,
    /// Whether a replacement verifies what it displaced, so that a foreign writer in between is noticed.
    pub exchange: bool,
    /// Whether operation ids are recorded, so that a retry after a crash is told what happened: see
    /// [`crate::operation::OperationId`].
    pub operation_ids: bool,
    /// The names that mutations refuse.
    pub protected_patterns: Vec<String>,
}
