//! What the conformance suite cannot express: steps that fail, foreign writers in between, races, metadata.
//!
//! The crate has this module three times: in `tests` the kernel looks names up, in `tests_by_walk` the walk does, and in
//! `tests_streamed` every file is edited as those are that memory is not to hold, in small pieces.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests change the disk from outside, and their clock is the host's"
)]

mod access;
mod confinement;
mod copies;
mod foreign;
mod guard;
mod host;
mod leftover;
mod metadata;
mod name;
mod operation;
mod recovery;
mod remembered;
mod rewrite;
mod special;
mod streamed;
mod writer;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rustix::io::Errno;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::edit::EditRequest;
use toolfs_core::error::Result;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::TargetKey;
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::report::{EditReport, LinesReport, WriteReport};
use toolfs_provider::request::{EditTextRequest, WriteTextRequest};
use toolfs_provider::{Provider, ProviderExt};

use crate::step::Step;
use crate::{LocalOptions, LocalProvider, RootSpec};

#[derive(Debug)]
pub(super) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }
}

pub(super) const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };

/// How much is read at once in `tests_streamed`: no multiple or divisor of anything.
const SMALL_PIECE: NonZeroUsize = NonZeroUsize::new(7).unwrap();

/// Default options, with what this module tests.
pub(super) fn options() -> LocalOptions {
    let mut options = LocalOptions::new(Arc::new(HostClock));
    options.force_walk = module_path!().ends_with("tests_by_walk");
    options.force_streaming = module_path!().ends_with("tests_streamed").then_some(SMALL_PIECE);
    options
}

/// The name by which this program runs a test of the module `module` alone.
pub(super) fn own_name(module: &str, test: &str) -> String {
    let (_, module) = module.split_once("::").unwrap();
    format!("{module}::{test}")
}

/// Runs `work` as a user without privileges, whoever runs the tests. Threads that it starts are this user's too.
pub(super) fn unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A user and a group that own nothing.
pub(super) const NOBODY: u32 = 65_534;

/// Runs a future to its end on this thread.
pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// A provider on a fresh directory.
pub(super) struct Bench {
    pub(super) provider: LocalProvider,
    pub(super) root: PathBuf,
    options: LocalOptions,
    _keep: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut LocalOptions)) -> Bench {
        Bench::make(|options, _| change(options))
    }

    fn make(change: impl FnOnce(&mut LocalOptions, &Path)) -> Bench {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir(&root).unwrap();
        let mut options = options();
        change(&mut options, &base);
        let provider = LocalProvider::open(&[RootSpec::new(&root)], options.clone()).unwrap();
        Bench { provider, root, options, _keep: keep }
    }

    /// The same, with a runtime and a recovery directory beside the root.
    pub(super) fn with_host(change: impl FnOnce(&mut LocalOptions)) -> Bench {
        Bench::make(|options, base| {
            options.runtime = Some(base.join("runtime"));
            options.recovery = Some(base.join("recovery"));
            change(options);
        })
    }

    /// Another provider with the same root and the same options.
    pub(super) fn another(&self) -> LocalProvider {
        LocalProvider::open(&[RootSpec::new(&self.root)], self.options.clone()).unwrap()
    }

    /// The same, with records of operations beside the root.
    pub(super) fn with_records(change: impl FnOnce(&mut LocalOptions)) -> Bench {
        Bench::make(|options, base| {
            options.operations = Some(base.join("records"));
            change(options);
        })
    }

    /// The same, with copies of what is rewritten in place beside the root.
    pub(super) fn with_copies(change: impl FnOnce(&mut LocalOptions)) -> Bench {
        Bench::make(|options, base| {
            options.recovery = Some(base.join("recovery"));
            change(options);
        })
    }

    /// The same, with a root that every user may write.
    pub(super) fn with_open_directory() -> Bench {
        use std::os::unix::fs::PermissionsExt;
        let bench = Bench::new();
        for directory in [bench.root.parent().unwrap(), &bench.root] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        }
        bench
    }

    pub(super) fn put(&self, path: &str, content: &str) {
        let at = self.root.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, content).unwrap();
    }

    pub(super) fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// All names in the root, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(super) async fn key(&self, path: &str) -> TargetKey {
        self.provider.resolve_path(&AbortSignal::new(), path).await.unwrap().key
    }

    pub(super) async fn read(&self, path: &str) -> Result<LinesReport> {
        let target = self.provider.resolve_path(&AbortSignal::new(), path).await?;
        self.provider.read_lines(&AbortSignal::new(), &target.key, WINDOW).await
    }

    pub(super) async fn write(&self, path: &str, content: &str, guard: WriteGuard) -> Result<WriteReport> {
        let target = self.provider.resolve_path(&AbortSignal::new(), path).await?.key;
        let content = Bytes::copy_from_slice(content.as_bytes());
        let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
        self.provider.write_text(&AbortSignal::new(), request).await
    }

    pub(super) async fn edit(
        &self,
        path: &str,
        old: &str,
        new: &str,
        guard: EditGuard,
    ) -> Result<EditReport> {
        let target = self.provider.resolve_path(&AbortSignal::new(), path).await?.key;
        let edit = EditRequest::new(old.to_owned(), new.to_owned(), false).unwrap();
        let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
        self.provider.edit_text(&AbortSignal::new(), request).await
    }

    /// Runs `act` before each step, until it is set anew.
    pub(super) fn at_steps(&self, act: impl FnMut(Step) -> Result<(), Errno> + Send + 'static) {
        *self.provider.disk().hook.lock().unwrap() = Some(Box::new(act));
    }

    /// Runs `act` the first time that `step` is due.
    pub(super) fn once_at(&self, step: Step, act: impl FnOnce() + Send + 'static) {
        let mut act = Some(act);
        self.at_steps(move |due| {
            if due == step
                && let Some(act) = act.take()
            {
                act();
            }
            Ok(())
        });
    }

    pub(super) fn no_hook(&self) {
        *self.provider.disk().hook.lock().unwrap() = None;
    }
}
