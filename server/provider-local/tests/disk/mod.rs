//! The fixture of the local disk: a fresh root in a temporary directory, and the hand that changes it.
#![expect(
    clippy::disallowed_methods,
    reason = "the root is made from outside, and a test clock is the host's"
)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod hand;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use toolfs_core::clock::{Clock, Timestamp};
use toolfs_provider::Provider;
pub(crate) use toolfs_provider::conformance::Fixture;
use toolfs_provider::conformance::{Abilities, SECRET, limits};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

use self::hand::Hand;

#[derive(Debug)]
struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
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
    options.recovery = Some(base.join("recovery"));
    options.runtime = Some(base.join("runtime"));
    change(&mut options);
    let spec = match name {
        None => RootSpec::new(&root),
        Some(name) => RootSpec::named(&root, name).unwrap(),
    };
    let provider: Arc<dyn Provider> = Arc::new(LocalProvider::open(&[spec], options).unwrap());
    let real = root_bytes(&root);
    let seen = name.map_or_else(|| real.clone(), <[u8]>::to_vec);
    Fixture::new(provider, Box::new(Hand::of(root)), Abilities::all(), seen)
        .with_link_root(real)
        .keeping(directory)
}

fn root_bytes(root: &Path) -> Vec<u8> {
    root.as_os_str().as_bytes().to_vec()
}
