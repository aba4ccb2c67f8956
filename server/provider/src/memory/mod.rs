//! Files in memory: the reference provider, for tests and scratch trees.
//!
//! It keeps one tree of directories, files and symbolic links, of which the parts beneath the configured roots are
//! served. Its semantics are those of the trait, written as plainly as possible: what another provider does
//! differently is a fault of one of the two. Content is gone when the provider is; nothing is written anywhere.
//! Deliberately absent: hard links, owners, and permission on directories.
//!
//! Mutations are optimistic: they look at the tree, do the long work (hashing, matching, diffs) without its lock, and
//! publish under the lock only onto exactly what they looked at; else they start anew.

mod hand;
mod location;
mod mutation;
mod operation;
mod resolve;
mod stream;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use toolfs_core::clock::Clock;
use toolfs_core::error::{FsError, Result};
use toolfs_core::limit::Limits;
use toolfs_core::name::similar_names;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_core::target::{FileKind, Target, TargetKey, display_form};
use toolfs_core::window::{LineWindow, WindowReader};

use self::location::{Location, Roots};
use self::operation::Records;
use self::resolve::Asked;
use self::tree::{File, Node, Tree};
use crate::Provider;
use crate::abort::AbortSignal;
use crate::capability::{Capabilities, Durability, Root};
use crate::content::{ContentStream, EntryStream};
use crate::refusal;
use crate::report::{EditReport, Entry, LinesReport, Stat, WriteReport};
use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

/// What a [`MemoryProvider`] is made of.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// The absolute paths of the roots, as raw bytes; the first is where relative paths start. They are empty
    /// directories at first, and may lie in each other.
    pub roots: Vec<Vec<u8>>,
    /// The limits in force.
    pub limits: Limits,
    /// The names that mutations refuse.
    pub protected: ProtectedPatterns,
    /// What files are stamped with, and what bounds the search for near misses; without one files have no times and
    /// only bytes bound the search.
    pub clock: Option<Arc<dyn Clock>>,
}

impl MemoryConfig {
    /// One root with the default limits and protected patterns, without a clock.
    pub fn with_root(root: impl Into<Vec<u8>>) -> MemoryConfig {
        MemoryConfig {
            roots: vec![root.into()],
            limits: Limits::DEFAULT,
            protected: ProtectedPatterns::default(),
            clock: None,
        }
    }
}

/// A tree of files in memory.
///
/// ```
/// use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
///
/// let provider = MemoryProvider::new(MemoryConfig::with_root("/workspace")).unwrap();
/// provider.put(b"/workspace/notes.txt", "one\n");
/// assert_eq!(provider.content(b"/workspace/notes.txt").unwrap(), "one\n");
/// ```
#[derive(Debug)]
pub struct MemoryProvider {
    roots: Roots,
    limits: Limits,
    protected: ProtectedPatterns,
    clock: Option<Arc<dyn Clock>>,
    tree: Mutex<Tree>,
    /// Locked while the tree is, or alone.
    records: Mutex<Records>,
}

impl MemoryProvider {
    /// A provider of empty roots.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` when there is no root, or one is relative, named twice, or has a `.`, a `..` or a NUL.
    pub fn new(config: MemoryConfig) -> Result<MemoryProvider> {
        let MemoryConfig { roots, limits, protected, clock } = config;
        let roots = Roots::parse(&roots)?;
        let mut tree = Tree::default();
        for root in roots.iter() {
            tree.make_dir(root);
        }
        Ok(MemoryProvider {
            roots,
            limits,
            protected,
            clock,
            tree: Mutex::new(tree),
            records: Mutex::default(),
        })
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        // Every change of the tree is a single insertion or removal: a panic elsewhere leaves it whole.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        // A record that a panic left half-way is one that is not dropped in its time.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The protected pattern that a place beneath a root matches.
    fn rule_for(&self, location: &Location) -> Option<&str> {
        self.protected.rule_for(&self.roots.relative(location))
    }

    /// What a key is called in errors.
    fn shown(&self, key: &TargetKey) -> Result<String> {
        let made_for = self.roots.parse_key(key).ok_or_else(refusal::foreign_key)?;
        Ok(display_form(&made_for.raw_path()))
    }

    /// Where a key leads now: a component that became a link since it was made is followed.
    fn locate(&self, tree: &Tree, key: &TargetKey) -> Result<(Location, String)> {
        let made_for = self.roots.parse_key(key).ok_or_else(refusal::foreign_key)?;
        let shown = display_form(&made_for.raw_path());
        let location = resolve::resolve(tree, &self.roots, Asked::of_location(&made_for, shown.clone()))?;
        Ok((location, shown))
    }

    /// What is at a key, and what to call it in errors.
    fn node<'a>(&self, tree: &'a Tree, key: &TargetKey) -> Result<(&'a Node, String)> {
        let (location, shown) = self.locate(tree, key)?;
        match tree.get(&location.names) {
            Some(node) => Ok((node, shown)),
            None => Err(not_found(tree, &location, shown)),
        }
    }

    /// The regular file at a key, and what to call it in errors.
    fn file(&self, key: &TargetKey) -> Result<(Arc<File>, String)> {
        let tree = self.tree();
        let (node, shown) = self.node(&tree, key)?;
        match node {
            Node::File(file) => Ok((file.clone(), shown)),
            Node::Directory(_) | Node::Link(_) | Node::Special(_) => {
                Err(refusal::not_regular(shown, node.kind()))
            }
        }
    }

    fn asked(&self, request: &ResolveRequest) -> Result<Asked> {
        Asked::parse(&self.roots, self.limits.max_path_bytes, request)
    }
}

/// Nothing is there; names of the same directory that look alike help.
fn not_found(tree: &Tree, location: &Location, shown: String) -> FsError {
    let similar = match location.names.split_last() {
        Some((name, parent)) => match tree.get(parent) {
            Some(Node::Directory(children)) => similar_names(name, children.keys().map(Vec::as_slice)),
            Some(Node::File(_) | Node::Link(_) | Node::Special(_)) | None => Vec::new(),
        },
        None => Vec::new(),
    };
    refusal::not_found(shown, similar)
}

fn stat_of(node: &Node) -> Stat {
    match node {
        Node::File(file) => Stat {
            kind: FileKind::Regular,
            size_bytes: file.content.len() as u64,
            mode: Some(file.mode),
            modified: file.modified,
            version: None,
        },
        Node::Directory(_) | Node::Link(_) | Node::Special(_) => {
            Stat { kind: node.kind(), size_bytes: 0, mode: None, modified: None, version: None }
        }
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        abort.check()?;
        let root = |names: &Vec<Vec<u8>>| {
            let raw_path = location::raw_path(names);
            Root { display_path: display_form(&raw_path), raw_path }
        };
        Ok(Capabilities {
            provider: "memory".to_owned(),
            roots: self.roots.iter().map(root).collect(),
            durability: Durability::None,
            exchange: true,
            operation_ids: true,
            protected_patterns: self.protected.names().to_vec(),
        })
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        abort.check()?;
        let asked = self.asked(request)?;
        let spelled = self.protected.rule_for(&asked.spelling()).map(str::to_owned);
        let location = resolve::resolve(&self.tree(), &self.roots, asked)?;
        let protected_rule = spelled.or_else(|| self.rule_for(&location).map(str::to_owned));
        let raw_path = location.raw_path();
        Ok(Target {
            key: self.roots.key(&location),
            display_path: display_form(&raw_path),
            raw_path,
            // Nothing outside of this process can open it.
            process_path: Vec::new(),
            file_url: String::new(),
            protected_rule,
        })
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        abort.check()?;
        let ancestor = self.roots.parse_key(ancestor).ok_or_else(refusal::foreign_key)?;
        let target = self.roots.parse_key(target).ok_or_else(refusal::foreign_key)?;
        Ok(target.names.starts_with(&ancestor.names))
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        abort.check()?;
        let tree = self.tree();
        let (node, shown) = self.node(&tree, target)?;
        let stat = stat_of(node);
        match node {
            Node::File(file) if want_version => Ok(Stat { version: Some(file.version.clone()), ..stat }),
            Node::File(_) => Ok(stat),
            Node::Directory(_) | Node::Link(_) | Node::Special(_) if want_version => {
                Err(refusal::not_regular(shown, stat.kind))
            }
            Node::Directory(_) | Node::Link(_) | Node::Special(_) => Ok(stat),
        }
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        abort.check()?;
        let asked = self.asked(request)?.without_following_the_last();
        let shown = asked.shown().to_owned();
        let tree = self.tree();
        let location = resolve::resolve(&tree, &self.roots, asked)?;
        tree.get(&location.names).map(stat_of).ok_or_else(|| not_found(&tree, &location, shown))
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        abort.check()?;
        let (file, shown) = self.file(target)?;
        let summary = file.text.map_err(|not_text| FsError::from(not_text).with_path(shown))?;
        let mut reader = WindowReader::new(window);
        reader.feed(&file.content);
        Ok(LinesReport { window: reader.finish(), summary, version: file.version.clone() })
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        abort.check()?;
        let (file, shown) = self.file(target)?;
        file.text.map_err(|not_text| FsError::from(not_text).with_path(shown))?;
        Ok(stream::text(&file, abort))
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        abort.check()?;
        let (file, shown) = self.file(target)?;
        stream::bytes(&file, range, self.limits.max_read_bytes, shown, abort)
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        abort.check()?;
        let tree = self.tree();
        let (node, shown) = self.node(&tree, target)?;
        let Node::Directory(children) = node else { return Err(refusal::not_directory(shown)) };
        let entry = |(name, child): (&Vec<u8>, &Node)| Entry {
            raw_name: name.clone(),
            display_name: display_form(name),
            kind: child.kind(),
        };
        Ok(stream::entries(children.iter().map(entry).collect(), abort))
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.publish(abort, &request.target, request.operation(), |abort| self.decide_write(abort, &request))
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.publish(abort, &request.target, request.operation(), |abort| self.decide_edit(abort, &request))
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.decide_write(abort, &request).map(|decision| decision.report)
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.decide_edit(abort, &request).map(|decision| decision.report)
    }
}
