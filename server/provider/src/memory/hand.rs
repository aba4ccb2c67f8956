//! Changing the tree from outside, as an editor or a build would: for tests and for filling a scratch tree.
//!
//! Paths are absolute raw bytes and are taken as they stand: roots, links and protected names mean nothing here.
//! What cannot be done panics.

use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::clock::Timestamp;
use toolfs_core::target::FileKind;

use super::MemoryProvider;
use super::location::{Names, components};
use super::tree::{File, NEW_FILE_MODE, Node};

fn names(path: &[u8]) -> Names {
    assert!(path.starts_with(b"/"), "the path of the hand is absolute");
    components(path).map(<[u8]>::to_vec).collect()
}

impl MemoryProvider {
    /// Makes a file, and directories above it, or replaces what is there. A file that was there keeps its mode.
    pub fn put(&self, path: &[u8], content: impl Into<Bytes>) {
        let names = names(path);
        let modified = self.clock.as_ref().map(|clock| clock.now());
        let mut tree = self.tree();
        let mode = match tree.get(&names) {
            Some(Node::File(file)) => file.mode,
            Some(Node::Directory(_) | Node::Link(_) | Node::Special(_)) | None => NEW_FILE_MODE,
        };
        tree.insert(&names, Node::File(Arc::new(File::new(content.into(), mode, modified))));
    }

    /// The content of the regular file at a path.
    pub fn content(&self, path: &[u8]) -> Option<Bytes> {
        match self.tree().get(&names(path))? {
            Node::File(file) => Some(file.content.clone()),
            Node::Directory(_) | Node::Link(_) | Node::Special(_) => None,
        }
    }

    /// The kind of what is at a path, a link itself if it is one.
    pub fn kind(&self, path: &[u8]) -> Option<FileKind> {
        self.tree().get(&names(path)).map(Node::kind)
    }

    /// The names in a directory, sorted; none when it is not there.
    pub fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        match self.tree().get(&names(path)) {
            Some(Node::Directory(children)) => children.keys().cloned().collect(),
            Some(Node::File(_) | Node::Link(_) | Node::Special(_)) | None => Vec::new(),
        }
    }

    /// Removes what is at a path, with all below it. Returns whether something was there.
    pub fn remove(&self, path: &[u8]) -> bool {
        self.tree().remove(&names(path)).is_some()
    }

    /// Makes a directory, and those above it.
    pub fn make_dir(&self, path: &[u8]) {
        self.tree().make_dir(&names(path));
    }

    /// Makes a symbolic link that points to `points_to` as it stands.
    pub fn make_link(&self, path: &[u8], points_to: impl Into<Vec<u8>>) {
        self.tree().insert(&names(path), Node::Link(points_to.into()));
    }

    /// Makes something that has no content: a pipe, a socket, a device.
    pub fn make_special(&self, path: &[u8], kind: FileKind) {
        self.tree().insert(&names(path), Node::Special(kind));
    }

    /// Sets the permission bits of a file.
    pub fn set_mode(&self, path: &[u8], mode: u32) {
        self.change(path, |file| file.mode = mode);
    }

    /// Sets the time of change of a file, and leaves its content.
    pub fn set_modified(&self, path: &[u8], modified: Timestamp) {
        self.change(path, |file| file.modified = Some(modified));
    }

    fn change(&self, path: &[u8], change: impl FnOnce(&mut File)) {
        let names = names(path);
        let mut tree = self.tree();
        let Some(Node::File(file)) = tree.get(&names) else { panic!("only a file has a mode and a time") };
        let mut changed = File::clone(file);
        change(&mut changed);
        tree.insert(&names, Node::File(Arc::new(changed)));
    }
}
