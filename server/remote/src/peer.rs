//! Who is at the other end.

use toolfs_core::error::{ErrorKind, FsError};

use crate::field::Broken;

/// The role of the process at the other end, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// It keeps files.
    Provider,
    /// It decides guards.
    Gate,
}

impl Peer {
    /// The role as a noun.
    pub fn noun(self) -> &'static str {
        match self {
            Peer::Provider => "provider",
            Peer::Gate => "gate",
        }
    }

    /// `FS_IO_ERROR`: the peer answered something that the contract does not allow. Nothing changed, unless the caller
    /// of this says otherwise.
    pub fn breaks_contract(self, broken: &Broken) -> FsError {
        let message = format!("the {}'s answer breaks the contract: {broken}", self.noun());
        FsError::new(ErrorKind::IoError, message)
    }
}
