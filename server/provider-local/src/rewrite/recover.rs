//! What is done about copies whose server died: once, when a provider is opened.
//!
//! A file that is one of the two contents needs its copy no more; one that is provably our own half-done work gets its
//! old content back; any other stays as it is, and the copy is kept under a name that says rescue. Deliberately absent:
//! guessing where a file went that is not in its place. Its copy waits for a start at which it is.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Dir, OFlags, RenameFlags, fsync, renameat_with};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::Result as FsResult;
use toolfs_core::planted::Fault;
use toolfs_core::target::{FileKind, display_form};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;

use super::copy::{Copy, CopyStore, Left, RESCUE};
use super::judge::{BLOCK_BYTES, Judge, Verdict};
use super::put_back;
use crate::disk::Disk;
use crate::host::{HostLock, Spot};
use crate::io_error::fs_error;
use crate::location::{Location, join, strip_path};
use crate::positioned::read_at;
use crate::root::{self, Root};

const RECOVERING: &str = "putting it back after a crash";

/// How many blocks are compared at once.
const BLOCKS: usize = 32;

/// Looks at every copy that a dead server left. What cannot be settled is told to the log and stays.
pub(crate) fn recover(disk: &Disk) {
    let Some(store) = &disk.copies else { return };
    if Fault::RecoverNothing.is_planted() {
        return;
    }
    let names = match names(store) {
        Ok(names) => names,
        Err(cause) => {
            tracing::warn!(%cause, "the copies of files that were being rewritten cannot be listed");
            return;
        }
    };
    for name in names.iter().filter(|name| !name.starts_with(RESCUE)) {
        if let Err(error) = settle(disk, store, name) {
            let copy = display_form(name);
            tracing::warn!(?error, copy, "the copy of a file that was being rewritten cannot be settled now");
        }
    }
}

fn names(store: &CopyStore) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(&store.directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !name.starts_with(b".") {
            names.push(name);
        }
    }
    Ok(names)
}

fn settle(disk: &Disk, store: &CopyStore, name: &[u8]) -> FsResult<()> {
    let failed = |cause: Errno| fs_error(&display_form(name), RECOVERING, cause);
    let mut copy = match Copy::open(store, name).map_err(failed)? {
        Left::Whole(copy) => copy,
        Left::Litter => return store.unlink(name).map_err(failed),
        Left::InUse => return Ok(()),
        Left::Damaged => {
            tracing::warn!(copy = display_form(name), "what is no whole copy is kept aside");
            return keep(store, name).map_err(failed);
        }
    };
    let Some(location) = location(&copy, &disk.roots) else { return Ok(()) };
    let path = location.display();
    let failed = |cause: Errno| fs_error(&path, RECOVERING, cause);
    let _turn = turn(disk, &location).map_err(|error| error.with_path(&path))?;
    // Its server may live, and may have written the file once more while this one waited.
    if !copy.is_trusted().map_err(failed)? {
        return Ok(());
    }
    let Some((target, device)) = open(&copy, &location).map_err(failed)? else {
        let copy = display_form(&copy.name);
        tracing::warn!(path, copy, "a file that was being rewritten is not in its place; its copy waits");
        return Ok(());
    };
    copy.device = Some(device);
    match restore(disk, &copy, &target) {
        Ok(Verdict::Old | Verdict::New) => {}
        Ok(Verdict::HalfDone) => {
            tracing::warn!(path, "a file that a crash left half rewritten has its old content again");
        }
        Ok(Verdict::Foreign) => {
            let copy = display_form(name);
            tracing::warn!(path, copy, "somebody else changed a half rewritten file; its copy is kept aside");
            return keep(store, name).map_err(failed);
        }
        Err(cause) => {
            store.remaining.keep(copy, false);
            return Err(failed(cause));
        }
    }
    copy.remove(disk, store).map_err(failed)
}

/// Judges a file, and gives it its old content back where it is half done.
fn restore(disk: &Disk, copy: &Copy, target: &OwnedFd) -> Result<Verdict, Errno> {
    let verdict = judge(copy, target)?;
    match verdict {
        Verdict::Old | Verdict::New => {}
        Verdict::HalfDone => put_back(copy, target)?,
        Verdict::Foreign => return Ok(verdict),
    }
    match disk.durability {
        // Before the copy goes, the disk must have what memory has.
        Durability::Full | Durability::Data => retry_on_intr(|| fsync(target))?,
        Durability::None => {}
    }
    Ok(verdict)
}

/// Where the file of a copy is; `None` when no root that is served holds it. The roots may be others than those that
/// the copy was made under.
fn location(copy: &Copy, roots: &[Arc<Root>]) -> Option<Location> {
    let real = join(&copy.head.root, &copy.head.relative);
    let served = roots.iter().filter_map(|root| Some((root, strip_path(&root.real, &real)?)));
    let (root, relative) = served.max_by_key(|(root, _)| root.real.len())?;
    let location = Location { root: root.clone(), relative: relative.to_vec(), wants_directory: false };
    Location::from_key(roots, &location.key()).ok()
}

/// Waits for the turn with a file among the servers of this host, as far as its directory is there.
fn turn<'a>(disk: &'a Disk, location: &Location) -> FsResult<Option<HostLock<'a>>> {
    let (Some(host), Some((parent, name))) = (&disk.host, location.split()) else { return Ok(None) };
    let directory = location.root.open_exact(parent, OFlags::PATH | OFlags::DIRECTORY);
    let Ok(facts) = directory.and_then(root::facts) else { return Ok(None) };
    let spot = Spot { directory: facts.inode, name };
    host.lock(&spot, &location.display(), &AbortSignal::new()).map(Some)
}

/// Opens the file of a copy, and tells its device; `None` when it is not in its place.
fn open(copy: &Copy, location: &Location) -> Result<Option<(OwnedFd, u64)>, Errno> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY;
    match location.root.open_exact(&location.relative, flags) {
        Ok(file) => {
            let facts = root::facts(&file)?;
            let is_it = facts.kind == FileKind::Regular && facts.inode.1 == copy.head.inode;
            Ok(is_it.then_some((file, facts.inode.0)))
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Ok(None),
        Err(cause) => Err(cause),
    }
}

fn judge(copy: &Copy, target: &OwnedFd) -> Result<Verdict, Errno> {
    let now_bytes = root::facts(target)?.size;
    let (old_bytes, new_bytes) = (copy.head.old_bytes, copy.head.new_bytes);
    let mut judge = Judge::new(old_bytes, new_bytes, now_bytes);
    let longest = old_bytes.max(new_bytes).max(now_bytes);
    let [mut old, mut new, mut now] = [(); 3].map(|()| vec![0; BLOCKS * BLOCK_BYTES]);
    let mut offset = 0;
    while offset < longest && judge.verdict() != Verdict::Foreign {
        let counts = [
            copy.read_old(&mut old, offset)?,
            copy.read_new(&mut new, offset)?,
            read_at(target, &mut now, offset)?,
        ];
        for index in 0..BLOCKS {
            let block = |bytes: &'_ [u8], count: usize| -> std::ops::Range<usize> {
                let start = (index * BLOCK_BYTES).min(count);
                start..(start + BLOCK_BYTES).min(count).min(bytes.len())
            };
            let ranges = [block(&old, counts[0]), block(&new, counts[1]), block(&now, counts[2])];
            judge.feed(&old[ranges[0].clone()], &new[ranges[1].clone()], &now[ranges[2].clone()]);
        }
        offset += (BLOCKS * BLOCK_BYTES) as u64;
    }
    Ok(judge.verdict())
}

/// Gives a copy a name that says that nobody will look at it again but people.
pub(super) fn keep(store: &CopyStore, name: &[u8]) -> Result<(), Errno> {
    let directory = store.directory.as_fd();
    let kept = [RESCUE, name].concat();
    renameat_with(directory, name, directory, kept.as_slice(), RenameFlags::NOREPLACE)
}
