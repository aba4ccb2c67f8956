//! Durable copies: what a file was and was to become, kept for as long as it is rewritten.
//!
//! A copy is locked by the call that made it, and has a name only when it is whole, so one that nobody has locked is
//! what a crash left, or a server that could not settle it. Its form: a line that says what it is, a line of JSON that
//! says whose content follows, the old content, the new content, and the BLAKE3 of all that. One that could not be
//! removed is made worthless instead: empty, or with another first line.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fsync, ftruncate, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;

use super::remaining::Remaining;
use crate::content::NewContent;
use crate::disk::Disk;
use crate::io_error::{READING, copy_error, fs_error};
use crate::own::try_lock;
use crate::place::Place;
use crate::positioned::{read_at, write_at};
use crate::publish::{Basis, Setback};
use crate::root::{self, create_nameless, create_new};
use crate::step::Step;
use crate::temporary::link_nameless;

/// What a copy begins with.
const MARK: &[u8] = b"toolfs-copy-1\n";
/// What a copy begins with that nobody is to trust any more, where it could not be emptied. As long as [`MARK`].
const WORTHLESS: &[u8] = b"toolfs-gone-1\n";
/// How much is copied at once.
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// The longest second line: names are bytes, and JSON spells each of them as a number.
const MAX_HEAD_BYTES: usize = 64 << 10;
const DIGEST_BYTES: u64 = 32;
/// What the name of a copy begins with that nobody could use.
pub(super) const RESCUE: &[u8] = b"rescue-";
/// What the name of a copy ends with that is not whole.
const PARTIAL: &[u8] = b"-partial";

/// Whose content a copy has.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// The real path of the root.
    pub(super) root: Vec<u8>,
    /// The file's path beneath it.
    pub(super) relative: Vec<u8>,
    /// The file's inode number. Its device may have another number after a boot.
    pub(super) inode: u64,
    /// How long its content was.
    pub(super) old_bytes: u64,
    /// How long it is to be.
    pub(super) new_bytes: u64,
    /// What it was.
    pub(super) expected: Version,
    /// What it is to be.
    pub(super) ours: Version,
}

/// A directory of copies.
#[derive(Debug)]
pub(crate) struct CopyStore {
    pub(super) directory: OwnedFd,
    pub(super) remaining: Remaining,
}

impl CopyStore {
    /// Keeps copies in `directory`.
    pub(crate) fn new(directory: OwnedFd) -> CopyStore {
        CopyStore { directory, remaining: Remaining::default() }
    }

    /// Keeps what a file is and what it is to become. The abort signal is looked at on the way.
    ///
    /// # Errors
    /// [`Setback::Overtaken`] when the file is not what was judged; [`Setback::Failed`].
    pub(super) fn make(
        &self,
        disk: &Disk,
        place: &Place,
        basis: &Basis<'_>,
        content: &NewContent<'_>,
        abort: &AbortSignal,
    ) -> Result<Copy, Setback> {
        let failed = |cause| copy_error(&place.path, cause);
        disk.before(Step::Copy).map_err(failed)?;
        let (open, expected) = (basis.old, basis.version);
        let head = Head {
            root: place.location.root.real.clone(),
            relative: place.location.relative.clone(),
            inode: open.facts.inode.1,
            old_bytes: open.facts.size,
            new_bytes: content.size_bytes,
            expected: expected.clone(),
            ours: content.version.clone(),
        };
        let mut unnamed = Unnamed::create(self, disk).map_err(failed)?;
        unnamed.write(MARK).map_err(failed)?;
        let line = serde_json::to_vec(&head);
        let line = line.map_err(|cause| copy_error(&place.path, std::io::Error::from(cause)))?;
        unnamed.write(&line).and_then(|()| unnamed.write(b"\n")).map_err(failed)?;
        let old_at = unnamed.length;
        let mut version = VersionHasher::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            abort.check().map_err(|error| error.with_path(&place.path))?;
            let count = read_at(&open.file, &mut piece, unnamed.length - old_at)
                .map_err(|cause| fs_error(&place.path, READING, cause))?;
            if count == 0 {
                break;
            }
            version.update(&piece[..count]);
            unnamed.write(&piece[..count]).map_err(failed)?;
            if unnamed.length - old_at > head.old_bytes {
                return Err(Setback::Overtaken);
            }
        }
        if unnamed.length - old_at != head.old_bytes || version.finish() != *expected {
            return Err(Setback::Overtaken);
        }
        unnamed.write_new(content, old_at, abort, &place.path)?;
        let digest = unnamed.hasher.finalize();
        unnamed.write(digest.as_bytes()).map_err(failed)?;
        unnamed.finish(head, old_at, open.facts.inode.0).map_err(|cause| failed(cause).into())
    }
}

/// A copy that is being made.
struct Unnamed<'a> {
    store: &'a CopyStore,
    disk: &'a Disk,
    file: OwnedFd,
    /// Its name in the meantime, where there are no files without one: removed when this is dropped.
    partial: Option<Vec<u8>>,
    /// How many bytes it has so far.
    length: u64,
    hasher: blake3::Hasher,
}

impl<'a> Unnamed<'a> {
    fn create(store: &'a CopyStore, disk: &'a Disk) -> Result<Unnamed<'a>, Errno> {
        let mode = Mode::RUSR | Mode::WUSR;
        let nameless = match disk.named_temporaries {
            true => Err(Errno::OPNOTSUPP),
            false => create_nameless(store.directory.as_fd(), mode),
        };
        let (file, partial) = match nameless {
            Ok(file) => (file, None),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let name = [disk.copy_name(), PARTIAL.to_vec()].concat();
                (create_new(store.directory.as_fd(), &name, mode)?, Some(name))
            }
            Err(cause) => return Err(cause),
        };
        let made = Unnamed { store, disk, file, partial, length: 0, hasher: blake3::Hasher::new() };
        // Whoever looks for what a crash left may have been faster with a name that was there before the lock.
        if try_lock(&made.file)? && (made.partial.is_none() || root::facts(&made.file)?.links > 0) {
            return Ok(made);
        }
        Err(Errno::AGAIN)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        append(&self.file, &mut self.hasher, &mut self.length, bytes)
    }

    /// Writes the new content. Where that is made of the old one, it is made of the old one that is in this copy,
    /// which was just seen to be what was judged.
    fn write_new(
        &mut self,
        content: &NewContent<'_>,
        old_at: u64,
        abort: &AbortSignal,
        path: &str,
    ) -> Result<(), Setback> {
        let failed = |cause| copy_error(path, cause);
        let Unnamed { file, length, hasher, .. } = self;
        let (file, old_end) = (&*file, *length);
        let mut read_old = |piece: &mut [u8], offset: u64| {
            // Much may be read before there is something to write.
            abort.check().map_err(|error| error.with_path(path))?;
            let left = usize::try_from(old_end.saturating_sub(old_at + offset)).unwrap_or(usize::MAX);
            let wanted = piece.len().min(left);
            Ok(read_at(file, &mut piece[..wanted], old_at + offset).map_err(failed)?)
        };
        content.make(PIECE_BYTES, &mut read_old, &mut |piece| {
            abort.check().map_err(|error| error.with_path(path))?;
            Ok(append(file, hasher, length, piece).map_err(failed)?)
        })
    }

    /// Makes it durable, as far as the server was told to, and gives it its name.
    fn finish(mut self, head: Head, old_at: u64, device: u64) -> Result<Copy, Errno> {
        let is_durable = match self.disk.durability {
            Durability::Full | Durability::Data => true,
            Durability::None => false,
        };
        self.disk.before(Step::SyncCopy)?;
        if is_durable {
            retry_on_intr(|| fsync(&self.file))?;
        }
        self.disk.before(Step::NameCopy)?;
        let file = self.file.try_clone();
        let file = file.map_err(|cause| Errno::from_io_error(&cause).unwrap_or(Errno::MFILE))?;
        let name = self.disk.copy_name();
        let directory = &self.store.directory;
        match self.partial.take() {
            None => link_nameless(self.file.as_fd(), directory.as_fd(), &name)?,
            Some(partial) => {
                let renamed = renameat(directory, partial.as_slice(), directory, name.as_slice());
                if renamed.is_err() {
                    self.partial = Some(partial);
                }
                renamed?;
            }
        }
        let copy = Copy { name, file, head, old_at, device: Some(device) };
        match if is_durable { root::sync_directory(directory) } else { Ok(()) } {
            Ok(()) => Ok(copy),
            Err(cause) => {
                if let Err(cause) = copy.remove(self.disk, self.store) {
                    tracing::warn!(%cause, "the copy of a file that is not rewritten could not be removed");
                }
                Err(cause)
            }
        }
    }
}

fn append(file: &OwnedFd, hasher: &mut blake3::Hasher, length: &mut u64, bytes: &[u8]) -> Result<(), Errno> {
    write_at(file, bytes, *length)?;
    hasher.update(bytes);
    *length += bytes.len() as u64;
    Ok(())
}

impl Drop for Unnamed<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.partial
            && let Err(cause) = self.store.unlink(name)
        {
            tracing::warn!(%cause, "a copy that is not whole could not be removed");
        }
    }
}

/// A whole copy, locked.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) name: Vec<u8>,
    file: OwnedFd,
    pub(super) head: Head,
    old_at: u64,
    /// The number of the device that its file is on, once that is known.
    pub(super) device: Option<u64>,
}

impl Drop for Copy {
    fn drop(&mut self) {
        // By closing alone it would stay locked for as long as a process that is just being started has a copy of it.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// What a name in a store of copies stands for.
#[derive(Debug)]
pub(super) enum Left {
    /// A copy whose server died.
    Whole(Copy),
    /// One that its server died over before anything was changed, or one that was made worthless.
    Litter,
    /// Somebody is at work with it, or it went meanwhile.
    InUse,
    /// It is no copy, or not as it was written.
    Damaged,
}

impl Copy {
    /// Opens what is in a store under a name.
    pub(super) fn open(store: &CopyStore, name: &[u8]) -> Result<Left, Errno> {
        let file = match root::open_child(store.directory.as_fd(), name, OFlags::RDWR | OFlags::NONBLOCK) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Left::InUse),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Ok(Left::Damaged),
            Err(cause) => return Err(cause),
        };
        let facts = root::facts(&file)?;
        if !try_lock(&file)? || root::facts(&file)?.links == 0 {
            return Ok(Left::InUse);
        }
        if name.ends_with(PARTIAL) {
            return Ok(Left::Litter);
        }
        if is_worthless(&file)? {
            return Ok(Left::Litter);
        }
        Ok(match Copy::parse(name, file, facts.size)? {
            Some(copy) => Left::Whole(copy),
            None => Left::Damaged,
        })
    }

    fn parse(name: &[u8], file: OwnedFd, size: u64) -> Result<Option<Copy>, Errno> {
        let mut start = vec![0; MARK.len() + MAX_HEAD_BYTES];
        let count = read_at(&file, &mut start, 0)?;
        let Some(line) = start[..count].strip_prefix(MARK) else { return Ok(None) };
        let Some(end) = line.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let Ok(head) = serde_json::from_slice::<Head>(&line[..end]) else { return Ok(None) };
        let old_at = (MARK.len() + end + 1) as u64;
        let whole = old_at
            .checked_add(head.old_bytes)
            .and_then(|length| length.checked_add(head.new_bytes))
            .and_then(|length| length.checked_add(DIGEST_BYTES));
        if whole != Some(size) || !is_intact(&file, size - DIGEST_BYTES)? {
            return Ok(None);
        }
        Ok(Some(Copy { name: name.to_vec(), file, head, old_at, device: None }))
    }

    /// Reads from the old content.
    pub(super) fn read_old(&self, piece: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.read_part(piece, self.old_at, self.head.old_bytes, offset)
    }

    /// Reads from the new content.
    pub(super) fn read_new(&self, piece: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.read_part(piece, self.old_at + self.head.old_bytes, self.head.new_bytes, offset)
    }

    fn read_part(&self, piece: &mut [u8], start: u64, length: u64, offset: u64) -> Result<usize, Errno> {
        let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = piece.len().min(left);
        match read_at(&self.file, &mut piece[..wanted], start + offset)? {
            count if count == wanted => Ok(count),
            _ => Err(Errno::IO),
        }
    }

    /// Whether it is still there, and worth what it was when it was opened.
    pub(super) fn is_trusted(&self) -> Result<bool, Errno> {
        Ok(root::facts(&self.file)?.links > 0 && !is_worthless(&self.file)?)
    }

    /// Lets others settle it.
    pub(super) fn unlock(&self) {
        if let Err(cause) = retry_on_intr(|| flock(&self.file, FlockOperation::Unlock)) {
            tracing::warn!(%cause, "the copy of a file stays locked until this server ends");
        }
    }

    /// Removes it: the file is one of its two contents, and durable as that. Where it cannot be removed for sure, it
    /// is made worthless, and removed after a later mutation or by the next start.
    ///
    /// # Errors
    /// It could be neither removed nor made worthless, and a start may trust it.
    pub(super) fn remove(self, disk: &Disk, store: &CopyStore) -> Result<(), Errno> {
        let removed = disk.before(Step::RemoveCopy).and_then(|()| store.unlink(&self.name));
        let removed = removed.and_then(|()| match disk.durability {
            // A power cut that brought it back would have it judged against whatever the file is by then.
            Durability::Full | Durability::Data => root::sync_directory(&store.directory),
            Durability::None => Ok(()),
        });
        let Err(cause) = removed else { return Ok(()) };
        tracing::warn!(%cause, "the copy of a file that was rewritten could not be removed");
        let made_worthless = self.make_worthless(disk);
        store.remaining.keep(self, made_worthless.is_ok());
        made_worthless
    }

    fn make_worthless(&self, disk: &Disk) -> Result<(), Errno> {
        disk.before(Step::SpoilCopy)?;
        retry_on_intr(|| ftruncate(&self.file, 0)).or_else(|_| write_at(&self.file, WORTHLESS, 0))?;
        match disk.durability {
            Durability::Full | Durability::Data => retry_on_intr(|| fsync(&self.file)),
            Durability::None => Ok(()),
        }
    }
}

impl CopyStore {
    /// Removes a name. That it is gone already is as good.
    pub(super) fn unlink(&self, name: &[u8]) -> Result<(), Errno> {
        match retry_on_intr(|| unlinkat(&self.directory, name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(cause),
        }
    }
}

/// Whether a copy was made worthless.
fn is_worthless(file: &OwnedFd) -> Result<bool, Errno> {
    let mut start = [0; WORTHLESS.len()];
    let count = read_at(file, &mut start, 0)?;
    Ok(count == 0 || start == WORTHLESS)
}

/// A whole copy of a file with this inode number, in a root and beneath it: for trying recovery on.
#[cfg(feature = "fuzzing")]
pub(crate) fn copy_bytes((root, relative): (&[u8], &[u8]), inode: u64, old: &[u8], new: &[u8]) -> Vec<u8> {
    let head = Head {
        root: root.to_vec(),
        relative: relative.to_vec(),
        inode,
        old_bytes: old.len() as u64,
        new_bytes: new.len() as u64,
        expected: Version::of(old),
        ours: Version::of(new),
    };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let copy = [MARK, &head, b"\n", old, new].concat();
    let digest = blake3::hash(&copy);
    [&copy[..], digest.as_bytes()].concat()
}

fn is_intact(file: &OwnedFd, length: u64) -> Result<bool, Errno> {
    let (mut hasher, mut offset, mut piece) = (blake3::Hasher::new(), 0, vec![0; PIECE_BYTES]);
    while offset < length {
        let wanted = piece.len().min(usize::try_from(length - offset).unwrap_or(usize::MAX));
        match read_at(file, &mut piece[..wanted], offset)? {
            0 => return Ok(false),
            count => {
                hasher.update(&piece[..count]);
                offset += count as u64;
            }
        }
    }
    let mut digest = [0; blake3::OUT_LEN];
    let count = read_at(file, &mut digest, length)?;
    Ok(count == digest.len() && hasher.finalize() == blake3::Hash::from_bytes(digest))
}
