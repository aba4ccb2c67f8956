//! How the engine names a content that comes in many small pieces. Deliberately absent: what a version is, which is
//! `version`'s.

use crate::version::{Version, VersionHasher};

/// Names a content that arrives in pieces, or leaves that to others.
pub trait Digest: Clone + Default {
    /// The name.
    type Name;

    /// Adds the next piece.
    fn update(&mut self, piece: &[u8]);

    /// The name of all pieces so far.
    fn name(&self) -> Self::Name;
}

/// A [`VersionHasher`] that is fed whole blocks only: it is several times slower on the pieces between matches.
#[derive(Clone, Debug, Default)]
pub struct GatheringHasher {
    hasher: VersionHasher,
    /// The start of the next block.
    block: Vec<u8>,
}

impl GatheringHasher {
    const BLOCK_BYTES: usize = 32 << 10;
}

impl Digest for GatheringHasher {
    type Name = Version;

    fn update(&mut self, piece: &[u8]) {
        let mut rest = piece;
        if !self.block.is_empty() {
            let (start, after) = rest.split_at(rest.len().min(Self::BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(start);
            if self.block.len() < Self::BLOCK_BYTES {
                return;
            }
            self.hasher.update(&self.block);
            self.block.clear();
            rest = after;
        }
        let (blocks, start) = rest.split_at(rest.len() / Self::BLOCK_BYTES * Self::BLOCK_BYTES);
        self.hasher.update(blocks);
        self.block.extend_from_slice(start);
    }

    fn name(&self) -> Version {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.block);
        hasher.finish()
    }
}

/// No name: for a content in memory, which its owner names.
#[derive(Clone, Debug, Default)]
pub(super) struct Unnamed;

impl Digest for Unnamed {
    type Name = ();

    fn update(&mut self, _piece: &[u8]) {}

    fn name(&self) {}
}
