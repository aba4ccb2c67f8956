//! What is done about copies whose server died: once, when a provider is opened.
//!
//! A file that is one of the two contents needs its copy no more; one that is provably our own half-done work gets its
//! old content back; any other stays as it is, and the copy is kept under a name that says rescue. Deliberately absent:
//! guessing where a file went that is not in its place. Its copy waits for a start at which it is.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, OFlags, RenameFlags, fsync, renameat_with, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::planted::Fault;
use toolfs_core::target::{FileKind, display_form};
use toolfs_provider::capability::Durability;

use super::copy::{Copy, CopyStore, Left, RESCUE, read_at};
use super::judge::{BLOCK_BYTES, Judge, Verdict};
use super::put_back;
use crate::location::{Location, join, strip_path};
use crate::root::{self, Root};

/// How many blocks are compared at once.
const BLOCKS: usize = 32;

/// Looks at every copy that a dead server left. What cannot be settled is told to the log and stays.
pub(crate) fn recover(store: &CopyStore, roots: &[Arc<Root>], durability: Durability) {
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
        if let Err(cause) = settle(store, roots, durability, name) {
            let copy = display_form(name);
            tracing::warn!(%cause, copy, "the copy of a file that was being rewritten cannot be settled now");
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

fn settle(store: &CopyStore, roots: &[Arc<Root>], durability: Durability, name: &[u8]) -> Result<(), Errno> {
    let copy = match Copy::open(store, name)? {
        Left::Whole(copy) => copy,
        Left::Partial => return unlinkat(&store.directory, name, AtFlags::empty()),
        Left::InUse => return Ok(()),
        Left::Damaged => {
            tracing::warn!(copy = display_form(name), "what is no whole copy is kept aside");
            return keep(store, name);
        }
    };
    let Some(target) = find(&copy, roots)? else { return Ok(()) };
    match judge(&copy, &target)? {
        Verdict::Old | Verdict::New => {}
        Verdict::HalfDone => {
            put_back(&copy, &target)?;
            let path = display_form(&copy.head.relative);
            tracing::warn!(path, "a file that a crash left half rewritten has its old content again");
        }
        Verdict::Foreign => {
            let (path, copy) = (display_form(&copy.head.relative), display_form(name));
            tracing::warn!(path, copy, "somebody else changed a half rewritten file; its copy is kept aside");
            return keep(store, name);
        }
    }
    match durability {
        // Before the copy goes, the disk must have what memory has.
        Durability::Full | Durability::Data => retry_on_intr(|| fsync(&target))?,
        Durability::None => {}
    }
    copy.remove(store, durability)
}

/// Opens the file that a copy is of; `None` when it is not served here, or not in its place.
fn find(copy: &Copy, roots: &[Arc<Root>]) -> Result<Option<OwnedFd>, Errno> {
    // The roots may be others than those that it was made under.
    let real = join(&copy.head.root, &copy.head.relative);
    let served = roots.iter().filter_map(|root| Some((root, strip_path(&root.real, &real)?)));
    let Some((root, relative)) = served.max_by_key(|(root, _)| root.real.len()) else { return Ok(None) };
    let location = Location { root: root.clone(), relative: relative.to_vec(), wants_directory: false };
    let is_path = Location::from_key(roots, &location.key()).is_ok();
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY;
    let found = match is_path {
        true => root.open_exact(&location.relative, flags),
        false => Err(Errno::NOENT),
    };
    let is_it = |file: &OwnedFd| {
        let facts = root::facts(file);
        facts.is_ok_and(|facts| facts.kind == FileKind::Regular && facts.inode.1 == copy.head.inode)
    };
    match found {
        Ok(file) if is_it(&file) => Ok(Some(file)),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
            let (path, copy) = (display_form(&copy.head.relative), display_form(&copy.name));
            tracing::warn!(path, copy, "a file that was being rewritten is not in its place; its copy waits");
            Ok(None)
        }
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
fn keep(store: &CopyStore, name: &[u8]) -> Result<(), Errno> {
    let directory = store.directory.as_fd();
    let kept = [RESCUE, name].concat();
    renameat_with(directory, name, directory, kept.as_slice(), RenameFlags::NOREPLACE)
}
