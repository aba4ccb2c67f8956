//! The place under test: a provider, the hand that changes its files from outside, and what both can do.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolfs_core::limit::Limits;
use toolfs_core::version::Version;

use super::ability::{Abilities, Ability};
use crate::Provider;
use crate::abort::AbortSignal;

/// Changes files behind the provider's back, as an editor or a build would.
///
/// - paths are raw bytes beneath the first root, without a leading `/`; the empty path is the root itself
/// - a method that cannot do its work panics; those whose ability the fixture lacks are never called
/// - no method follows a link in the last component of its path
pub trait OutsideHand: Send + Sync + fmt::Debug {
    /// Makes a file, and its parents, or puts new content into the one that is there.
    fn put(&self, path: &[u8], content: &[u8]);
    /// The content of a regular file; `None` when there is none.
    fn get(&self, path: &[u8]) -> Option<Vec<u8>>;
    /// Removes a file, a link or a directory with all that is in it.
    fn remove(&self, path: &[u8]);
    /// Makes a directory, and its parents.
    fn make_dir(&self, path: &[u8]);
    /// The names in a directory, sorted.
    fn names(&self, path: &[u8]) -> Vec<Vec<u8>>;
    /// Makes a symbolic link that points to `points_to` as it stands, and the link's parents.
    fn make_link(&self, path: &[u8], points_to: &[u8]);
    /// Makes a second name for the file at `existing`.
    fn make_hard_link(&self, path: &[u8], existing: &[u8]);
    /// Makes a named pipe.
    fn make_pipe(&self, path: &[u8]);
    /// Sets the permission bits of a file.
    fn set_mode(&self, path: &[u8], mode: u32);
    /// Moves the time of change of a file, and leaves its content.
    fn touch(&self, path: &[u8]);
}

/// Runs a future on a task of its own, possibly on another thread, and yields its end. A panic in it goes on in the
/// future that is returned.
pub type Spawn = fn(BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;

/// The rule by which a provider names contents.
pub type Versions = fn(&[u8]) -> Version;

/// A fresh place for one case.
///
/// Whoever makes one promises:
/// - the provider serves one root, which is empty, with the limits of [`limits`] and the default protected patterns
/// - beside the root lies what must never be reached: a directory with the root's name and `-evil` after it, with
///   the file `secret.txt` whose content is [`SECRET`]; a provider without such a place around its roots need not
///   make it
pub struct Fixture {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) hand: Box<dyn OutsideHand>,
    pub(super) abilities: Abilities,
    pub(super) root: Vec<u8>,
    pub(super) link_root: Vec<u8>,
    versions: Versions,
    pub(super) spawn: Option<Spawn>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

/// The content of the file beside the root.
pub const SECRET: &[u8] = b"nobody in the root may see this\n";

/// The limits under which every provider is tested: the defaults, with those lowered that a case has to exceed.
pub fn limits() -> Limits {
    Limits {
        max_file_bytes: Some(1 << 20),
        max_read_bytes: 2 << 20,
        max_diff_bytes: 256 << 10,
        near_miss_ms: 10_000,
        ..Limits::DEFAULT
    }
}

impl Fixture {
    /// A place whose root agents see at the absolute path `root`.
    pub fn new(
        provider: Arc<dyn Provider>,
        hand: Box<dyn OutsideHand>,
        abilities: Abilities,
        root: impl Into<Vec<u8>>,
    ) -> Fixture {
        let root = root.into();
        Fixture {
            provider,
            hand,
            abilities,
            link_root: root.clone(),
            root,
            versions: Version::of,
            spawn: None,
            kept: Vec::new(),
        }
    }

    /// Symbolic links point to the root by this absolute path, because it is served under another name.
    #[must_use]
    pub fn with_link_root(mut self, link_root: impl Into<Vec<u8>>) -> Fixture {
        self.link_root = link_root.into();
        self
    }

    /// The provider names contents by a rule of its own: a version is opaque, and need not be ours.
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Fixture {
        self.versions = versions;
        self
    }

    /// Keeps what must live as long as the place: a temporary directory, a server.
    #[must_use]
    pub fn keeping(mut self, keep: impl Any + Send + Sync) -> Fixture {
        self.kept.push(Box::new(keep));
        self
    }

    /// The same place without an ability, that of its provider or of its hand.
    #[must_use]
    pub fn without(mut self, ability: Ability, reason: &'static str) -> Fixture {
        self.abilities = self.abilities.without(ability, reason);
        self
    }

    /// The same place behind a wrapper of its provider.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl FnOnce(Arc<dyn Provider>) -> Arc<dyn Provider>) -> Fixture {
        self.provider = wrap(self.provider);
        self
    }

    /// What the provider calls this content.
    pub(super) fn version_of(&self, content: &[u8]) -> Version {
        (self.versions)(content)
    }

    /// Adds to what is missing what the provider says of itself.
    pub(super) async fn ask_provider(&mut self) {
        let capabilities = self.provider.capabilities(&AbortSignal::new()).await;
        if !capabilities.expect("a provider tells what it can do").operation_ids {
            let abilities = std::mem::take(&mut self.abilities);
            self.abilities =
                abilities.without(Ability::OperationIds, "the provider says that it records none");
        }
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("provider", &self.provider)
            .field("hand", &self.hand)
            .finish_non_exhaustive()
    }
}
