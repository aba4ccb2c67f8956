//! Where the files of a case are, and the hand that changes them behind the server's back.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{CWD, FileType, Mode};
use toolfs_core::clock::Timestamp;
use toolfs_core::target::FileKind;
use toolfs_provider::memory::MemoryProvider;

use super::ROOT;

/// Changes files as an editor or a build would. Paths are raw bytes beneath the root; the empty path is the root.
pub(crate) trait Hand: Send + Sync + fmt::Debug {
    /// Makes a file, and its parents, or puts new content into the one that is there.
    fn put(&self, path: &[u8], content: &[u8]);
    /// The content of a regular file; `None` when there is none.
    fn get(&self, path: &[u8]) -> Option<Vec<u8>>;
    /// Removes a file, a link or a directory with all that is in it.
    fn remove(&self, path: &[u8]);
    fn make_dir(&self, path: &[u8]);
    /// Makes a symbolic link that points to `points_to` as it stands.
    fn link(&self, path: &[u8], points_to: &str) {
        self.link_raw(path, points_to.as_bytes());
    }
    /// The same to a name that may be no UTF-8.
    fn link_raw(&self, path: &[u8], points_to: &[u8]);
    /// Makes a named pipe.
    fn pipe(&self, path: &[u8]);
    fn set_mode(&self, path: &[u8], mode: u32);
    /// Moves the time of change of a file, and leaves its content.
    fn touch(&self, path: &[u8]);
    /// Whether a symbolic link is at the path.
    fn is_link(&self, path: &[u8]) -> bool;
    /// The names in a directory, sorted.
    fn names(&self, path: &[u8]) -> Vec<Vec<u8>>;
}

/// A directory on disk.
#[derive(Debug)]
pub(crate) struct Disk(pub(crate) PathBuf);

impl Disk {
    pub(crate) fn at(&self, path: &[u8]) -> PathBuf {
        self.0.join(Path::new(std::ffi::OsStr::from_bytes(path)))
    }
}

impl Hand for Disk {
    fn put(&self, path: &[u8], content: &[u8]) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, path: &[u8]) -> Option<Vec<u8>> {
        let path = self.at(path);
        path.is_file().then(|| fs::read(path).unwrap())
    }

    fn remove(&self, path: &[u8]) {
        let path = self.at(path);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    fn make_dir(&self, path: &[u8]) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    fn link_raw(&self, path: &[u8], points_to: &[u8]) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(points_to), path).unwrap();
    }

    fn pipe(&self, path: &[u8]) {
        rustix::fs::mknodat(CWD, self.at(path), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    }

    fn set_mode(&self, path: &[u8], mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn touch(&self, path: &[u8]) {
        let file = fs::OpenOptions::new().write(true).open(self.at(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }

    fn is_link(&self, path: &[u8]) -> bool {
        self.at(path).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
    }

    fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.at(path)).unwrap();
        let mut names: Vec<Vec<u8>> =
            entries.map(|entry| entry.unwrap().file_name().as_bytes().to_vec()).collect();
        names.sort();
        names
    }
}

/// A tree in the memory of this process.
#[derive(Debug)]
pub(crate) struct Memory(pub(crate) Arc<MemoryProvider>);

fn absolute(path: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
    [ROOT.as_bytes(), slash, path].concat()
}

impl Hand for Memory {
    fn put(&self, path: &[u8], content: &[u8]) {
        self.0.put(&absolute(path), content.to_vec());
    }

    fn get(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.0.content(&absolute(path)).map(|content| content.to_vec())
    }

    fn remove(&self, path: &[u8]) {
        assert!(self.0.remove(&absolute(path)), "nothing is there to be removed");
    }

    fn make_dir(&self, path: &[u8]) {
        self.0.make_dir(&absolute(path));
    }

    fn link_raw(&self, path: &[u8], points_to: &[u8]) {
        self.0.make_link(&absolute(path), points_to);
    }

    fn pipe(&self, path: &[u8]) {
        self.0.make_special(&absolute(path), FileKind::Fifo);
    }

    fn set_mode(&self, path: &[u8], mode: u32) {
        self.0.set_mode(&absolute(path), mode);
    }

    fn touch(&self, path: &[u8]) {
        self.0.set_modified(&absolute(path), Timestamp(0));
    }

    fn is_link(&self, path: &[u8]) -> bool {
        self.0.kind(&absolute(path)) == Some(FileKind::Symlink)
    }

    fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        self.0.names(&absolute(path))
    }
}
