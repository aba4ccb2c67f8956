//! Which hidden files of this provider are under way, written down where a crash of the process leaves it.
//!
//! Without this, what a crash left behind would be found only when its directory is next changed. A journal is a file
//! of slots: one is filled before a hidden name appears and emptied when that is gone. Nothing of it is made durable:
//! what a power cut leaves is found by its name. A journal whose lock is free is nobody's any more. Deliberately
//! absent: any word about contents, which the hidden names have.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, unlinkat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use crate::instance::Instance;
use crate::leftover::Hidden;
use crate::own;
use crate::root::{self, create_new, open_child};

const DIRECTORY: &[u8] = b"publications";
/// What one slot has room for: a path, two names, and what stands around them.
pub(crate) const SLOT_BYTES: usize = 8 << 10;
/// More slots than a provider ever has hidden files at once: a longer file is none of its making.
const MAX_SLOTS: u64 = 16 << 10;
const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 16;

/// A hidden file that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The real path of the directory.
    pub(crate) directory: Vec<u8>,
    /// Its device and inode number.
    pub(crate) inode: (u64, u64),
    pub(crate) hidden: Hidden,
    /// The name of what is replaced.
    pub(crate) target: Vec<u8>,
}

impl Entry {
    /// What a slot has of it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let numbers = format!("{:x}\0{:x}", self.inode.0, self.inode.1);
        let text = [&self.directory[..], &self.hidden.name(), &self.target, numbers.as_bytes()].join(&b'\0');
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
        let checksum = blake3::hash(&text);
        [&length[..], &checksum.as_bytes()[..CHECKSUM_BYTES], &text].concat()
    }

    /// `None` for an empty slot, and for one that was not written to its end: its name never appeared.
    fn parse(slot: &[u8]) -> Option<Entry> {
        let (length, rest) = slot.split_first_chunk::<LENGTH_BYTES>()?;
        let (checksum, rest) = rest.split_first_chunk::<CHECKSUM_BYTES>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|&length| length > 0)?;
        let text = rest.get(..length)?;
        if blake3::hash(text).as_bytes()[..CHECKSUM_BYTES] != *checksum {
            return None;
        }
        let mut parts = text.split(|&byte| byte == 0);
        let (directory, hidden, target) = (parts.next()?, parts.next()?, parts.next()?);
        let mut number = || u64::from_str_radix(std::str::from_utf8(parts.next()?).ok()?, 16).ok();
        let inode = (number()?, number()?);
        let hidden = Hidden::parse(hidden)?;
        Some(Entry { directory: directory.to_vec(), inode, hidden, target: target.to_vec() })
    }
}

/// The journal of a provider that lives.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: OwnedFd,
    instance: Instance,
    /// Locked for as long as this lives.
    file: OwnedFd,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    free: Vec<u64>,
    count: u64,
    /// Whether something is under way that is not written down.
    is_incomplete: bool,
}

impl Journal {
    /// Begins the journal of an instance in the recovery directory.
    pub(crate) fn open(recovery: BorrowedFd<'_>, instance: Instance) -> Result<Journal, Errno> {
        let directory = own::subdirectory(recovery, DIRECTORY, Mode::RWXU)?;
        let name = instance.to_string();
        loop {
            let file = create_new(directory.as_fd(), name.as_bytes(), Mode::RUSR | Mode::WUSR)?;
            retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
            // Between the two steps somebody may have taken it for abandoned, which it was.
            if root::facts(&file)?.links > 0 {
                return Ok(Journal { directory, instance, file, slots: Mutex::default() });
            }
        }
    }

    /// Writes down a hidden file that is about to appear. `None` when that failed: then the journal goes, so that nobody
    /// takes what it says for all that there is, and the look into each directory finds what a crash leaves.
    pub(crate) fn begin(&self, entry: &Entry) -> Option<Slot<'_>> {
        let index = {
            let mut slots = self.slots();
            slots.free.pop().unwrap_or_else(|| {
                slots.count += 1;
                slots.count - 1
            })
        };
        let slot = Slot { journal: self, index };
        match slot.write(entry) {
            Ok(()) => Some(slot),
            Err(cause) => {
                tracing::warn!(%cause, "a publication could not be written down before it began");
                slot.settle();
                let was_incomplete = std::mem::replace(&mut self.slots().is_incomplete, true);
                if !was_incomplete {
                    self.remove(self.instance);
                }
                None
            }
        }
    }

    /// The journals in the same directory that nobody keeps any more.
    pub(crate) fn abandoned(&self) -> Result<Vec<Abandoned<'_>>, Errno> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let Some(instance) = Instance::parse(entry.file_name().to_bytes()) else { continue };
            let name = instance.to_string();
            let flags = OFlags::RDWR | OFlags::NONBLOCK;
            let Ok(file) = open_child(self.directory.as_fd(), name.as_bytes(), flags) else { continue };
            let locked = retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive));
            if locked.is_ok() && root::facts(&file)?.links > 0 {
                found.push(Abandoned { journal: self, instance, file });
            }
        }
        Ok(found)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, instance: Instance) {
        let name = instance.to_string();
        if let Err(cause) = unlinkat(&self.directory, OsStr::from_bytes(name.as_bytes()), AtFlags::empty()) {
            tracing::warn!(%cause, "a journal of publications could not be removed");
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let is_settled = {
            let slots = self.slots();
            slots.free.len() as u64 == slots.count && !slots.is_incomplete
        };
        if is_settled {
            self.remove(self.instance);
        }
        // By closing alone it would stay locked for as long as a process that is just being started has a copy of it.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// What is written down of one hidden file. It stays when this is dropped, as it does in a crash.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    journal: &'a Journal,
    index: u64,
}

impl Slot<'_> {
    /// Writes down another name for the same file.
    pub(crate) fn write(&self, entry: &Entry) -> Result<(), Errno> {
        let bytes = entry.to_bytes();
        if bytes.len() > SLOT_BYTES { Err(Errno::NAMETOOLONG) } else { self.put(&bytes) }
    }

    /// The hidden name is gone.
    pub(crate) fn settle(self) {
        // The length alone, which no crash leaves half written.
        match self.put(&[0; LENGTH_BYTES]) {
            Ok(()) => self.journal.slots().free.push(self.index),
            Err(cause) => tracing::warn!(%cause, "the end of a publication could not be written down"),
        }
    }

    fn put(&self, bytes: &[u8]) -> Result<(), Errno> {
        let offset = self.index * SLOT_BYTES as u64;
        match retry_on_intr(|| pwrite(&self.journal.file, bytes, offset))? {
            count if count == bytes.len() => Ok(()),
            _ => Err(Errno::IO),
        }
    }
}

/// A journal that nobody keeps any more, and that nobody else looks at until this is dropped.
#[derive(Debug)]
pub(crate) struct Abandoned<'a> {
    journal: &'a Journal,
    pub(crate) instance: Instance,
    file: OwnedFd,
}

impl Abandoned<'_> {
    /// The device that it lies on.
    pub(crate) fn device(&self) -> Result<u64, Errno> {
        Ok(root::facts(&self.file)?.inode.0)
    }

    /// What was under way. `EFBIG` for a file that no provider wrote.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, Errno> {
        let size = root::facts(&self.file)?.size;
        if size > MAX_SLOTS * SLOT_BYTES as u64 {
            return Err(Errno::FBIG);
        }
        let mut entries = Vec::new();
        let mut offset = 0;
        while offset < size {
            let (mut slot, mut filled) = ([0; SLOT_BYTES], 0);
            while filled < SLOT_BYTES {
                let at = offset + filled as u64;
                match retry_on_intr(|| pread(&self.file, &mut slot[filled..], at))? {
                    0 => break,
                    count => filled += count,
                }
            }
            entries.extend(Entry::parse(&slot[..filled]));
            offset += SLOT_BYTES as u64;
        }
        Ok(entries)
    }

    /// Removes it: all of it is settled.
    pub(crate) fn remove(self) {
        self.journal.remove(self.instance);
    }
}

#[cfg(test)]
mod tests {
    use toolfs_core::version::Version;

    use super::*;
    use crate::leftover::Label;

    fn entry(serial: u64) -> Entry {
        let label = Label::new(&Version::of(b"ours"), &Version::of(b"old"), b"f");
        let hidden = Hidden { instance: Instance::new(), serial, label: Some(label) };
        Entry { directory: b"/w/\xff\n".to_vec(), inode: (7, 0x1234), hidden, target: b"f\xff".to_vec() }
    }

    fn recovery() -> (tempfile::TempDir, OwnedFd) {
        let directory = tempfile::tempdir().unwrap();
        let handle = root::make_own_directory(directory.path()).unwrap();
        (directory, handle)
    }

    #[test]
    fn a_journal_that_grew_beyond_measure_is_not_read() {
        let (_keep, recovery) = recovery();
        let instance = Instance::new();
        let journal = Journal::open(recovery.as_fd(), Instance::new()).unwrap();
        let file =
            create_new(journal.directory.as_fd(), instance.to_string().as_bytes(), Mode::RUSR | Mode::WUSR);
        rustix::fs::ftruncate(file.unwrap(), 40 << 30).unwrap();
        let abandoned = journal.abandoned().unwrap();
        assert_eq!(abandoned.len(), 1);
        assert_eq!(abandoned[0].entries().unwrap_err(), Errno::FBIG);
    }

    #[test]
    fn a_slot_that_breaks_off_or_was_changed_is_as_good_as_empty() {
        let whole = entry(3).to_bytes();
        assert_eq!(Entry::parse(&whole).unwrap().inode, (7, 0x1234));
        for end in 0..whole.len() {
            assert_eq!(Entry::parse(&whole[..end]), None, "{end}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(Entry::parse(&changed), None, "{at}");
        }
    }

    #[test]
    fn what_was_not_settled_is_found_once_its_provider_is_gone() {
        let (_directory, handle) = recovery();
        let one = Journal::open(handle.as_fd(), Instance::new()).unwrap();
        let two = Journal::open(handle.as_fd(), Instance::new()).unwrap();
        let entries = [entry(1), entry(2), entry(3)];
        let mut slots: Vec<_> = entries.iter().map(|entry| one.begin(entry).unwrap()).collect();
        slots.remove(1).settle();
        assert!(two.abandoned().unwrap().is_empty(), "it lives");
        drop(slots);
        drop(one);

        let abandoned = two.abandoned().unwrap();
        assert_eq!(abandoned.len(), 1);
        assert_eq!(abandoned[0].entries().unwrap(), [entries[0].clone(), entries[2].clone()]);
        assert!(two.abandoned().unwrap().is_empty(), "somebody looks at it already");
        abandoned.into_iter().for_each(Abandoned::remove);
        assert!(two.abandoned().unwrap().is_empty());
    }

    #[test]
    fn a_journal_that_lacks_something_is_not_there_for_the_next_start() {
        let (_directory, handle) = recovery();
        let one = Journal::open(handle.as_fd(), Instance::new()).unwrap();
        let two = Journal::open(handle.as_fd(), Instance::new()).unwrap();
        let too_long = Entry { directory: vec![b'a'; SLOT_BYTES], ..entry(1) };
        one.begin(&entry(2)).unwrap();
        assert!(one.begin(&too_long).is_none() && one.begin(&too_long).is_none());
        drop(one);
        assert!(two.abandoned().unwrap().is_empty());
    }

    #[test]
    fn a_provider_that_ends_with_nothing_under_way_leaves_no_journal() {
        let (directory, handle) = recovery();
        let journal = Journal::open(handle.as_fd(), Instance::new()).unwrap();
        journal.begin(&entry(1)).unwrap().settle();
        journal.begin(&entry(2)).unwrap().settle();
        assert_eq!(journal.slots().count, 1, "a slot is used again");
        drop(journal);
        let left = Dir::read_from(root::make_own_directory(&directory.path().join("publications")).unwrap());
        assert!(left.unwrap().all(|entry| entry.unwrap().file_name().to_bytes().starts_with(b".")));
    }
}
