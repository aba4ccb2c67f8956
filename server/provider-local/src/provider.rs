//! The provider itself: each operation is a look at the key, a turn where something changes, and work on a thread
//! that may block.

use std::collections::HashSet;
use std::fmt;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rustix::fs::Mode;
use rustix::io::Errno;
use toolfs_core::error::{Code, FsError, Result};
use toolfs_core::planted::Fault;
use toolfs_core::target::{Target, TargetKey, display_form};
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::{self, Capabilities};
use toolfs_provider::content::{ContentStream, EntryStream};
use toolfs_provider::report::{EditReport, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};
use toolfs_provider::{Provider, refusal};

use crate::disk::{Disk, MAX_ATTEMPTS, Sizes};
use crate::host::Host;
use crate::instance::Instance;
use crate::io_error::{CREATING, fs_error};
use crate::journal::Journal;
use crate::location::{Location, join, strip_path};
use crate::lock::{LockTable, Turn};
use crate::looked::Looked;
use crate::operation::RecordStore;
use crate::options::LocalOptions;
use crate::place::Found;
use crate::resolve::{Asked, resolve};
use crate::rewrite::CopyStore;
use crate::root::{Root, RootSpec, umask};
use crate::stat_cache::{CacheStatistics, StatCache};
use crate::work::blocking;
use crate::{edit, list, own, read, recover, rewrite, stat, stream, write};

/// A mutation: decides about a request at a location, and publishes when it has the turn.
type Mutation<R, T> = fn(&Disk, &Location, &R, Option<&Turn>, &AbortSignal) -> Result<Found<T>>;

/// Directories of this host.
///
/// Cheap to clone; clones share roots and locks. Two providers on one directory, in one process or in two, take turns
/// when they share a runtime directory. Without one, what the other one published is noticed and never overwritten,
/// like any foreign writer's.
#[derive(Clone)]
pub struct LocalProvider(Arc<Disk>);

impl LocalProvider {
    /// Opens roots. The first is where relative paths start.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` without a root, for two roots that are one directory or have one name, for a root whose
    /// name lies beneath another one's while its directory lies elsewhere, and for a directory of the provider's own
    /// inside a root; `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PERMISSION_DENIED` for a directory that cannot be opened.
    pub fn open(roots: &[RootSpec], options: LocalOptions) -> Result<LocalProvider> {
        let roots: Vec<Arc<Root>> =
            roots.iter().map(|spec| Root::open(spec, &options).map(Arc::new)).collect::<Result<_>>()?;
        if roots.is_empty() {
            return Err(FsError::invalid_argument("root", "absent", "at least one directory"));
        }
        let (mut names, mut directories) = (HashSet::new(), HashSet::new());
        for root in &roots {
            if !names.insert(&root.name) || !directories.insert(root.facts.inode) {
                let actual = format!("`{}` twice", display_form(&root.name));
                return Err(FsError::invalid_argument(
                    "root",
                    actual,
                    "another directory and name for each root",
                ));
            }
        }
        check_nesting(&roots)?;
        let operations = match &options.operations {
            Some(directory) => Some(RecordStore::open(directory, &roots)?),
            None => None,
        };
        let host = match &options.runtime {
            Some(directory) => Some(Host::open(directory, &roots)?),
            None => None,
        };
        let instance = host.as_ref().map_or_else(Instance::new, Host::instance);
        let (journal, copies) = match &options.recovery {
            Some(directory) => {
                let (journal, copies) = open_recovery(directory, instance, &roots)?;
                (Some(journal), Some(copies))
            }
            None => (None, None),
        };
        let disk = Disk {
            operations,
            copies,
            roots,
            limits: options.limits,
            protected: options.protected,
            durability: options.durability,
            clock: options.clock,
            umask: umask(),
            locks: LockTable::default(),
            cache: StatCache::default(),
            sizes: Sizes::new(options.force_streaming),
            named_temporaries: options.force_named_temporaries,
            instance,
            serial: AtomicU64::new(0),
            host,
            journal,
            looked: Looked::default(),
            #[cfg(test)]
            hook: std::sync::Mutex::new(None),
        };
        rewrite::recover(&disk);
        recover::at_start(&disk);
        Ok(LocalProvider(Arc::new(disk)))
    }

    /// What is remembered of files that were read, and how often that helped: for metrics.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.0.cache.statistics()
    }

    /// The name of this provider among those that share its directories.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn instance(&self) -> Instance {
        self.0.instance
    }

    #[cfg(test)]
    pub(crate) fn disk(&self) -> &Arc<Disk> {
        &self.0
    }

    /// Runs `work` on a thread that may block. Reads and looks only: nothing is on disk that was not before.
    async fn look<T: Send + 'static>(
        &self,
        abort: &AbortSignal,
        work: impl FnOnce(&Arc<Disk>, &AbortSignal) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        abort.check()?;
        let (disk, abort) = (self.0.clone(), abort.clone());
        blocking(move || work(&disk, &abort)).await
    }

    /// Runs a mutation in the target's turn, anew when its path leads elsewhere by then.
    ///
    /// Dropping the future while it waits for the turn changes nothing; once the work began it runs to its end, and
    /// the turn ends with it.
    async fn change<R: Clone + Send + Sync + 'static, T: Send + 'static>(
        &self,
        abort: &AbortSignal,
        key: &TargetKey,
        request: Arc<R>,
        work: Mutation<R, T>,
        publishes: bool,
    ) -> Result<T> {
        let mut location = self.0.location(key)?;
        let path: Arc<str> = location.display().into();
        for _ in 0..MAX_ATTEMPTS {
            let turn = if publishes { Some(self.0.locks.turn(&location.key(), abort).await?) } else { None };
            let (disk, abort, request) = (self.0.clone(), abort.clone(), request.clone());
            let (here, path) = (location.clone(), path.clone());
            let found = blocking(move || {
                let found = work(&disk, &here, &request, turn.as_ref(), &abort);
                if Fault::AbortKeepsTheTurn.is_planted()
                    && found.as_ref().is_err_and(|error| error.code() == Code::Aborted)
                {
                    std::mem::forget(turn);
                }
                Ok(match found? {
                    Found::Here(report) => Ok(report),
                    Found::Elsewhere => Err(disk.relocated(&here, &path)?),
                })
            });
            match found.await? {
                Ok(report) => return Ok(report),
                Err(elsewhere) => location = elsewhere,
            }
        }
        Err(refusal::keeps_changing(&*path))
    }
}

impl fmt::Debug for LocalProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalProvider").field(&self.0).finish()
    }
}

#[async_trait]
impl Provider for LocalProvider {
    async fn capabilities(&self, _abort: &AbortSignal) -> Result<Capabilities> {
        let root = |root: &Arc<Root>| capability::Root {
            raw_path: root.name.clone(),
            display_path: display_form(&root.name),
        };
        Ok(Capabilities {
            provider: "local".to_owned(),
            roots: self.0.roots.iter().map(root).collect(),
            durability: self.0.durability,
            exchange: self.0.roots.iter().all(|root| root.exchange.load(Ordering::Relaxed)),
            operation_ids: self.0.operations.is_some(),
            protected_patterns: self.0.protected.names().to_vec(),
        })
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        let request = request.clone();
        self.look(abort, move |disk, _| {
            let asked = asked(disk, &request)?;
            let location = resolve(&disk.roots, &asked)?;
            let rule = disk.rule_for(&location.relative).or_else(|| disk.rule_for(&asked.spelling()));
            Ok(location.to_target(rule))
        })
        .await
    }

    async fn contains(&self, _abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        Ok(self.0.location(ancestor)?.contains(&self.0.location(target)?))
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        let target = target.clone();
        self.look(abort, move |disk, abort| stat::stat(disk, &target, want_version, abort)).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        let request = request.clone();
        self.look(abort, move |disk, _| stat::lstat(disk, asked(disk, &request)?)).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        let target = target.clone();
        self.look(abort, move |disk, abort| read::lines(disk, &target, window, abort)).await
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        let target = target.clone();
        self.look(abort, move |disk, abort| stream::text(disk, &target, abort)).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        let target = target.clone();
        self.look(abort, move |disk, abort| stream::bytes(disk, &target, range, abort)).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        let target = target.clone();
        self.look(abort, move |disk, abort| list::entries(disk, &target, abort)).await
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let key = request.target.clone();
        self.change(abort, &key, Arc::new(request), write::write, true).await
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let key = request.target.clone();
        self.change(abort, &key, Arc::new(request), edit::edit, true).await
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        let key = request.target.clone();
        self.change(abort, &key, Arc::new(request), write::write, false).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        let key = request.target.clone();
        self.change(abort, &key, Arc::new(request), edit::edit, false).await
    }
}

fn asked(disk: &Disk, request: &ResolveRequest) -> Result<Asked> {
    Asked::parse(&disk.roots, disk.limits.max_path_bytes, request)
}

/// Opens what is kept in the recovery directory.
fn open_recovery(path: &Path, instance: Instance, roots: &[Arc<Root>]) -> Result<(Journal, CopyStore)> {
    let directory = own::open(path, "recovery", roots)?;
    let failed = |cause: Errno| fs_error(&display_form(path.as_os_str().as_bytes()), CREATING, cause);
    let journal = Journal::open(directory.as_fd(), instance).map_err(failed)?;
    let copies = own::subdirectory(directory.as_fd(), b"copies", Mode::RWXU).map_err(failed)?;
    Ok((journal, CopyStore::new(copies)))
}

/// Refuses a root whose name lies beneath another one's while its directory lies elsewhere.
///
/// It would hide what the other root has under that name from some paths and not from others, and two files would be
/// shown under one path. Of roots that lie in each other the innermost holds what is in it, whatever their names.
fn check_nesting(roots: &[Arc<Root>]) -> Result<()> {
    for outer in roots {
        for inner in roots {
            let Some(rest) = strip_path(&outer.name, &inner.name) else { continue };
            if inner.real != join(&outer.real, rest) {
                let (inner, outer) = (display_form(&inner.name), display_form(&outer.name));
                let actual = format!("`{inner}`, which lies beneath the root `{outer}` by its name only");
                let expected = "a name outside of the other roots' names, or the directory that is there";
                return Err(FsError::invalid_argument("root", actual, expected));
            }
        }
    }
    Ok(())
}
