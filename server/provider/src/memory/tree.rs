//! The tree itself: what is where, without any question of roots, links or guards.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::clock::Timestamp;
use toolfs_core::target::FileKind;
use toolfs_core::text::{NotText, TextSummary, summarize};
use toolfs_core::version::Version;

/// The mode of a file that was made here: what a usual umask leaves.
pub(super) const NEW_FILE_MODE: u32 = 0o644;

/// A regular file. It is never changed: a new content is a new file.
#[derive(Clone)]
pub(super) struct File {
    pub(super) content: Bytes,
    pub(super) version: Version,
    /// What the content is as a text, known once and for all.
    pub(super) text: Result<TextSummary, NotText>,
    pub(super) mode: u32,
    pub(super) modified: Option<Timestamp>,
}

impl File {
    pub(super) fn new(content: Bytes, mode: u32, modified: Option<Timestamp>) -> File {
        let (version, text) = (Version::of(&content), summarize(&content));
        File { content, version, text, mode, modified }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("content_bytes", &self.content.len())
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// One entry of a directory.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Directory(BTreeMap<Vec<u8>, Node>),
    File(Arc<File>),
    /// A symbolic link, with what it points to as it stands.
    Link(Vec<u8>),
    /// Something without content.
    Special(FileKind),
}

impl Node {
    pub(super) fn kind(&self) -> FileKind {
        match self {
            Node::Directory(_) => FileKind::Directory,
            Node::File(_) => FileKind::Regular,
            Node::Link(_) => FileKind::Symlink,
            Node::Special(kind) => *kind,
        }
    }

    fn child(&self, name: &[u8]) -> Option<&Node> {
        match self {
            Node::Directory(children) => children.get(name),
            Node::File(_) | Node::Link(_) | Node::Special(_) => None,
        }
    }
}

/// Everything from the top. Names are taken as they are: no link is followed here.
#[derive(Debug)]
pub(super) struct Tree {
    top: Node,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { top: Node::Directory(BTreeMap::new()) }
    }
}

impl Tree {
    pub(super) fn get(&self, names: &[Vec<u8>]) -> Option<&Node> {
        names.iter().try_fold(&self.top, |node, name| node.child(name))
    }

    /// Puts a node at a place, and directories above it where nothing is.
    ///
    /// The place must not be the top, and nothing above it may be anything but a directory.
    pub(super) fn insert(&mut self, names: &[Vec<u8>], node: Node) {
        let (name, parent) = names.split_last().expect("the top is not replaced");
        self.directory(parent).insert(name.clone(), node);
    }

    pub(super) fn make_dir(&mut self, names: &[Vec<u8>]) {
        self.directory(names);
    }

    pub(super) fn remove(&mut self, names: &[Vec<u8>]) -> Option<Node> {
        let (name, parent) = names.split_last()?;
        self.get(names)?;
        self.directory(parent).remove(name)
    }

    /// The entries of a directory, which is made if it is not there.
    fn directory(&mut self, names: &[Vec<u8>]) -> &mut BTreeMap<Vec<u8>, Node> {
        let mut node = &mut self.top;
        for name in names {
            let Node::Directory(children) = node else { panic!("something above is no directory") };
            node = children.entry(name.clone()).or_insert_with(|| Node::Directory(BTreeMap::new()));
        }
        match node {
            Node::Directory(children) => children,
            Node::File(_) | Node::Link(_) | Node::Special(_) => panic!("the parent is no directory"),
        }
    }
}
