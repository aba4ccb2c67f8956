//! The hand that changes a directory from outside, whoever serves it.
#![expect(clippy::disallowed_methods, reason = "the hand changes the disk from outside")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use toolfs_provider::conformance::OutsideHand;

/// Changes a directory of this host as an editor or a build would.
#[derive(Debug)]
pub(crate) struct Hand(PathBuf);

impl Hand {
    /// The hand that reaches into this directory.
    pub(crate) fn of(root: PathBuf) -> Hand {
        Hand(root)
    }

    fn at(&self, path: &[u8]) -> PathBuf {
        self.0.join(OsStr::from_bytes(path))
    }

    fn make_parents(&self, path: &[u8]) -> PathBuf {
        let at = self.at(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        at
    }
}

impl OutsideHand for Hand {
    fn put(&self, path: &[u8], content: &[u8]) {
        fs::write(self.make_parents(path), content).unwrap();
    }

    fn get(&self, path: &[u8]) -> Option<Vec<u8>> {
        let at = self.at(path);
        let is_file = fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_file());
        is_file.then(|| fs::read(at).unwrap())
    }

    fn remove(&self, path: &[u8]) {
        let at = self.at(path);
        match fs::symlink_metadata(&at).unwrap().is_dir() {
            true => fs::remove_dir_all(at).unwrap(),
            false => fs::remove_file(at).unwrap(),
        }
    }

    fn make_dir(&self, path: &[u8]) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.at(path)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_vec()).collect();
        names.sort();
        names
    }

    fn make_link(&self, path: &[u8], points_to: &[u8]) {
        symlink(OsStr::from_bytes(points_to), self.make_parents(path)).unwrap();
    }

    fn make_hard_link(&self, path: &[u8], existing: &[u8]) {
        fs::hard_link(self.at(existing), self.make_parents(path)).unwrap();
    }

    fn make_pipe(&self, path: &[u8]) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.make_parents(path), mode).unwrap();
    }

    fn set_mode(&self, path: &[u8], mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn touch(&self, path: &[u8]) {
        let file = fs::File::options().append(true).open(self.at(path)).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
    }
}
