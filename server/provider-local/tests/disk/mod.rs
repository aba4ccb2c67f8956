//! The fixture of the local disk: a fresh root in a temporary directory, and the hand that changes it.
#![expect(
    clippy::disallowed_methods,
    reason = "the hand changes the disk from outside, and a test clock is the host's"
)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolfs_core::clock::{Clock, Timestamp};
use toolfs_provider::Provider;
pub(crate) use toolfs_provider::conformance::Fixture;
use toolfs_provider::conformance::{Abilities, OutsideHand, SECRET, limits};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

#[derive(Debug)]
struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }
}

#[derive(Debug)]
struct Hand(PathBuf);

impl Hand {
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

/// A fresh root beside what must not be reached, served as `options` and `name` say.
pub(crate) fn fixture(name: Option<&[u8]>, change: impl FnOnce(&mut LocalOptions)) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    let root = base.join("root");
    fs::create_dir(&root).unwrap();
    fs::create_dir(base.join("root-evil")).unwrap();
    fs::write(base.join("root-evil/secret.txt"), SECRET).unwrap();
    let mut options = LocalOptions::new(Arc::new(HostClock));
    options.limits = limits();
    options.operations = Some(base.join("records"));
    change(&mut options);
    let spec = match name {
        None => RootSpec::new(&root),
        Some(name) => RootSpec::named(&root, name).unwrap(),
    };
    let provider: Arc<dyn Provider> = Arc::new(LocalProvider::open(&[spec], options).unwrap());
    let real = root_bytes(&root);
    let seen = name.map_or_else(|| real.clone(), <[u8]>::to_vec);
    Fixture::new(provider, Box::new(Hand(root)), Abilities::all(), seen)
        .with_link_root(real)
        .keeping(directory)
}

fn root_bytes(root: &Path) -> Vec<u8> {
    root.as_os_str().as_bytes().to_vec()
}
