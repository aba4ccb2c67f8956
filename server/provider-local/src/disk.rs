//! What every operation shares: the open roots, the settings, the locks.

use std::fmt;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolfs_core::clock::Clock;
use toolfs_core::error::Result;
use toolfs_core::limit::Limits;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_core::target::{FileKind, TargetKey};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::refusal;

use crate::copy_range::COPY_BYTES;
use crate::facts::Facts;
use crate::host::{Host, HostLock, Spot};
use crate::instance::Instance;
use crate::io_error::{OPENING, fs_error};
use crate::journal::Journal;
use crate::leftover::Hidden;
use crate::list;
use crate::location::Location;
use crate::lock::LockTable;
use crate::looked::Looked;
use crate::operation::RecordStore;
use crate::place::Place;
use crate::read::PIECE_BYTES;
use crate::recover;
use crate::resolve::{Asked, resolve};
use crate::rewrite::CopyStore;
use crate::root::{self, Root};
use crate::stat_cache::StatCache;

/// How often a call starts anew because somebody else moved what it works on.
pub(crate) const MAX_ATTEMPTS: usize = 8;

/// The largest file that is edited in memory: most are smaller by far, and take fewer system calls so.
const IN_MEMORY_BYTES: u64 = 1 << 20;

/// The state behind a provider.
pub(crate) struct Disk {
    pub(crate) roots: Vec<Arc<Root>>,
    pub(crate) limits: Limits,
    pub(crate) protected: ProtectedPatterns,
    pub(crate) durability: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) umask: Mode,
    pub(crate) locks: LockTable,
    pub(crate) cache: StatCache,
    /// Where named operations are recorded, if they are.
    pub(crate) operations: Option<RecordStore>,
    /// Where copies are kept of files that are rewritten in place, if any are.
    pub(crate) copies: Option<CopyStore>,
    pub(crate) sizes: Sizes,
    /// Whether files without a name are not to be used.
    pub(crate) named_temporaries: bool,
    /// A name of this provider that no other one has.
    pub(crate) instance: Instance,
    pub(crate) serial: AtomicU64,
    /// The other servers of this host, if there is where to meet them.
    pub(crate) host: Option<Host>,
    /// Where publications under way are written down, if they are.
    pub(crate) journal: Option<Journal>,
    /// In which directories it was looked for what a crash left, and what this provider left itself.
    pub(crate) looked: Looked,
    #[cfg(test)]
    pub(crate) hook: crate::step::Hook,
}

/// How much of a file is held or copied at once. What comes out does not depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The largest file that is edited in memory.
    pub(crate) in_memory_bytes: u64,
    /// How much is read at once.
    pub(crate) piece_bytes: usize,
    /// How much the kernel is asked to copy at once.
    pub(crate) copy_bytes: usize,
}

impl Sizes {
    /// The usual ones; or what makes a stream of the smallest file, in pieces of so many bytes.
    pub(crate) fn new(force_streaming: Option<NonZeroUsize>) -> Sizes {
        match force_streaming.map(NonZeroUsize::get) {
            None => {
                Sizes { in_memory_bytes: IN_MEMORY_BYTES, piece_bytes: PIECE_BYTES, copy_bytes: COPY_BYTES }
            }
            Some(bytes) => Sizes { in_memory_bytes: 0, piece_bytes: bytes, copy_bytes: bytes },
        }
    }
}

/// A regular file that is open for reading, and what it was when it was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: OwnedFd,
    pub(crate) facts: Facts,
    /// The display path of the target.
    pub(crate) path: String,
}

impl Disk {
    /// Where a key points.
    pub(crate) fn location(&self, key: &TargetKey) -> Result<Location> {
        Location::from_key(&self.roots, key)
    }

    /// Where a location leads now that a part of it turned out to be a link. An error names `path`, as it was asked
    /// for, and not where it led on the way.
    pub(crate) fn relocated(&self, location: &Location, path: &str) -> Result<Location> {
        resolve(&self.roots, &Asked::again(location, path))
    }

    /// Opens a target for reading, once, without blocking and without following a link.
    pub(crate) fn open_file(&self, key: &TargetKey) -> Result<OpenFile> {
        let asked = self.location(key)?;
        let path = asked.display();
        let mut location = asked;
        for _ in 0..MAX_ATTEMPTS {
            let seat = self.locks.seat(&location.key());
            match seat.after_verdict(|| location.root.open_exact(&location.relative, root::reading())) {
                Ok(file) => {
                    let facts = root::facts(&file).map_err(|cause| fs_error(&path, OPENING, cause))?;
                    return match facts.kind {
                        FileKind::Regular if location.wants_directory => Err(refusal::not_directory(path)),
                        FileKind::Regular => Ok(OpenFile { file, facts, path }),
                        kind => Err(refusal::not_regular(path, kind)),
                    };
                }
                Err(Errno::LOOP) => location = self.relocated(&location, &path)?,
                Err(Errno::NOENT) => {
                    let similar_names = list::similar_names(&location);
                    return Err(refusal::not_found(path, similar_names));
                }
                Err(cause) => {
                    return Err(match self.kind_at(&location) {
                        Some(kind) if kind != FileKind::Regular => refusal::not_regular(path, kind),
                        Some(_) | None if cause == Errno::ACCESS => {
                            refusal::not_readable(path).with_source(std::io::Error::from(cause))
                        }
                        Some(_) | None => fs_error(&path, OPENING, cause),
                    });
                }
            }
        }
        Err(refusal::keeps_changing(path))
    }

    /// Opens a directory or a mere handle of whatever is there.
    pub(crate) fn open_any(&self, key: &TargetKey, flags: OFlags) -> Result<(OwnedFd, Location)> {
        let mut location = self.location(key)?;
        let path = location.display();
        for _ in 0..MAX_ATTEMPTS {
            match location.root.open_exact(&location.relative, flags) {
                Ok(file) => return Ok((file, location)),
                Err(Errno::LOOP) => location = self.relocated(&location, &path)?,
                Err(Errno::NOENT) => return Err(refusal::not_found(path, list::similar_names(&location))),
                Err(cause) => return Err(fs_error(&path, OPENING, cause)),
            }
        }
        Err(refusal::keeps_changing(path))
    }

    fn kind_at(&self, location: &Location) -> Option<FileKind> {
        let handle = location.root.open_exact(&location.relative, OFlags::PATH).ok()?;
        root::facts(&handle).ok().map(|facts| facts.kind)
    }

    /// The protected pattern that a path beneath a root matches.
    pub(crate) fn rule_for(&self, relative: &[u8]) -> Option<String> {
        self.protected.rule_for(relative).map(str::to_owned)
    }

    /// A name that no other copy has.
    pub(crate) fn copy_name(&self) -> Vec<u8> {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        format!("{}-{serial:x}", self.instance).into_bytes()
    }

    /// A hidden name that no other file has.
    pub(crate) fn next_hidden(&self) -> Hidden {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        Hidden { instance: self.instance, serial, label: None }
    }

    /// What each mutation does once it knows its directory, and before it judges anything: it puts in order what a
    /// crash or a failure left, and waits until no other server of the host works on the same target.
    ///
    /// # Errors
    /// Those of [`Host::lock`].
    pub(crate) fn enter(&self, place: &Place, abort: &AbortSignal) -> Result<Option<HostLock<'_>>> {
        recover::look_once(self, place, abort)?;
        if let Some(copies) = &self.copies {
            copies.sweep(self);
        }
        let Some(host) = &self.host else { return Ok(None) };
        let name = [&place.missing[..], std::slice::from_ref(&place.name)].concat().join(&b'/');
        host.lock(&Spot { directory: place.inode, name: &name }, &place.path, abort).map(Some)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(host) = &self.host
            && !self.looked.has_left()
        {
            host.leave();
        }
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("roots", &self.roots)
            .field("limits", &self.limits)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}
