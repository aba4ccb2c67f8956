//! The fixture of the reference provider, also for whoever tests a wrapper, an executor or a server over it.

use std::sync::Arc;

use toolfs_core::clock::Timestamp;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_core::target::FileKind;

use super::ability::{Abilities, Ability};
use super::fixture::{Fixture, OutsideHand, limits};
use crate::memory::{MemoryConfig, MemoryProvider};

/// A fresh memory provider with one root, and the hand that changes its tree.
pub fn memory_fixture() -> Fixture {
    let root = "/srv/workspace";
    let config = MemoryConfig {
        roots: vec![root.into()],
        limits: limits(),
        protected: ProtectedPatterns::default(),
        clock: None,
    };
    let provider = Arc::new(MemoryProvider::new(config).expect("the configuration is valid"));
    let hand = MemoryHand { provider: provider.clone(), root: root.as_bytes().to_vec() };
    let abilities = Abilities::all().without(Ability::HardLinks, "files in memory have one name");
    Fixture::new(provider, Box::new(hand), abilities, root)
}

#[derive(Debug)]
struct MemoryHand {
    provider: Arc<MemoryProvider>,
    root: Vec<u8>,
}

impl MemoryHand {
    fn absolute(&self, path: &[u8]) -> Vec<u8> {
        [self.root.as_slice(), b"/", path].concat()
    }
}

impl OutsideHand for MemoryHand {
    fn put(&self, path: &[u8], content: &[u8]) {
        self.provider.put(&self.absolute(path), content.to_vec());
    }

    fn get(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.provider.content(&self.absolute(path)).map(Vec::from)
    }

    fn remove(&self, path: &[u8]) {
        assert!(self.provider.remove(&self.absolute(path)), "there is something to remove");
    }

    fn make_dir(&self, path: &[u8]) {
        self.provider.make_dir(&self.absolute(path));
    }

    fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        self.provider.names(&self.absolute(path))
    }

    fn make_link(&self, path: &[u8], points_to: &[u8]) {
        self.provider.make_link(&self.absolute(path), points_to);
    }

    fn make_hard_link(&self, _path: &[u8], _existing: &[u8]) {
        panic!("the fixture says that there are none");
    }

    fn make_pipe(&self, path: &[u8]) {
        self.provider.make_special(&self.absolute(path), FileKind::Fifo);
    }

    fn set_mode(&self, path: &[u8], mode: u32) {
        self.provider.set_mode(&self.absolute(path), mode);
    }

    fn touch(&self, path: &[u8]) {
        self.provider.set_modified(&self.absolute(path), Timestamp(1));
    }
}
