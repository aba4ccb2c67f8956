//! Rewriting in place: where a name cannot be given another file, but the file it has can be written.
//!
//! That is so for a single file that is mounted, and in a directory that the server may not write. Before the first
//! byte changes, the old and the new content are kept in a durable copy outside of the roots; what fails in the middle
//! is put back from it at once, and what a crash interrupts is put back by the next server that starts. What is weaker
//! than a publication by exchange: other processes may see the file half written, a foreign writer who changes the
//! same file at the same time is noticed only where what he wrote is still there when the new content is, and other
//! hard links are written too.
//! Deliberately absent: files that make their content up, which have nothing to be put back.

mod copy;
mod judge;
mod recover;
mod remaining;

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, fchmod, fsync, ftruncate, statat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{ErrorKind, FsError, Published, UnavailableCause};
use toolfs_core::target::display_form;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::refusal;

pub(crate) use self::copy::CopyStore;
#[cfg(feature = "fuzzing")]
pub(crate) use self::copy::copy_bytes;
use self::copy::{Copy, PIECE_BYTES};
pub(crate) use self::recover::recover;
use crate::attribute::{PRIVILEGE_BITS, foreseen};
use crate::content::{Form, NewContent};
use crate::disk::Disk;
use crate::facts::Facts;
use crate::io_error::{OPENING, fs_error};
use crate::lock::Turn;
use crate::place::{Manner, Place};
use crate::positioned::{read_at, write_at};
use crate::publish::{Basis, Effect, Setback};
use crate::remark::Remarks;
use crate::root::{self, open_child};
use crate::step::Step;

/// How much is written between two steps.
const WRITE_BYTES: usize = 1 << 20;

const REWRITING: &str = "rewriting it in place";

/// Gives a file new content where it stands. The caller has the target's turn.
///
/// Dropped in mid-way by a panic, it leaves a copy that recovery finds.
pub(crate) fn replace(
    disk: &Disk,
    place: &Place,
    turn: &Turn,
    basis: &Basis<'_>,
    content: &NewContent<'_>,
    abort: &AbortSignal,
) -> Result<Effect, Setback> {
    let Some(store) = &disk.copies else { return Err(without_copies(&place.path).into()) };
    // The one who is about to open the file for writing is this call.
    content.stop_watching();
    let target = open_target(place, basis)?;
    let mut remarks = Remarks::default();
    foreseen(target.as_fd(), &basis.old.facts, Manner::InPlace, &mut remarks);
    let before = root::facts(&target).map_err(|cause| fs_error(&place.path, OPENING, cause))?;
    let copy = store.make(disk, place, basis, content, abort)?;
    let rewrite = Rewrite { disk, place, target, readable: &basis.old.file, copy };
    let begun = rewrite.check(&before, abort);
    let written = begun.and_then(|()| turn.until_verdict(|| rewrite.run(store, content)));
    match &written {
        Ok(()) | Err(Setback::Overtaken | Setback::Elsewhere | Setback::Rescued { .. }) => {
            rewrite.settle(store);
        }
        Err(Setback::Failed(error)) => match error.published() {
            Published::No => rewrite.settle(store),
            Published::Yes | Published::Maybe => {
                tracing::warn!(
                    path = place.path,
                    "a file may be half rewritten; the next start puts it back"
                );
                store.remaining.keep(rewrite.copy, false);
            }
        },
    }
    written.map(|()| Effect { notices: remarks.into_notices(), not_durable: None })
}

/// The refusal of a file that can only be rewritten in place, where no copy of it can be kept.
pub(crate) fn without_copies(path: &str) -> FsError {
    let message = format!(
        "`{path}` can only be rewritten in place, and the server was given no recovery directory for a copy of it"
    );
    FsError::new(ErrorKind::PermissionDenied, message).with_path(path)
}

/// What a success tells when a copy of the file from before it is still there, and may be trusted by a start.
pub(crate) fn not_outdated(path: &str, cause: Errno) -> FsError {
    let message = format!(
        "`{path}` has its new content, but an older copy of it cannot be removed, and a restart may go by it"
    );
    let error = FsError::new(ErrorKind::IoError, message).with_path(path);
    error.with_source(std::io::Error::from(cause)).with_published(Published::Yes)
}

/// Opens the file that was judged, for writing.
fn open_target(place: &Place, basis: &Basis<'_>) -> Result<OwnedFd, Setback> {
    let failed = |cause| fs_error(&place.path, OPENING, cause);
    let target = match open_child(place.directory(), &place.name, root::writing()) {
        Ok(target) => target,
        Err(Errno::NOENT | Errno::LOOP) => return Err(Setback::Overtaken),
        Err(cause @ (Errno::ACCESS | Errno::PERM)) => {
            let error = refusal::not_writable(&place.path);
            return Err(error.with_source(std::io::Error::from(cause)).into());
        }
        Err(cause) => return Err(failed(cause).into()),
    };
    let facts = root::facts(&target).map_err(failed)?;
    if facts.inode == basis.old.facts.inode { Ok(target) } else { Err(Setback::Overtaken) }
}

struct Rewrite<'a> {
    disk: &'a Disk,
    place: &'a Place,
    target: OwnedFd,
    /// The same file, open for reading.
    readable: &'a OwnedFd,
    copy: Copy,
}

impl Rewrite<'_> {
    /// Looks once more, now that the copy is there, whether the file is what was judged and where it was.
    fn check(&self, before: &Facts, abort: &AbortSignal) -> Result<(), Setback> {
        let failed = |cause| fs_error(&self.place.path, REWRITING, cause);
        self.disk.before(Step::Publish).map_err(failed)?;
        abort.check().map_err(|error| error.with_path(&self.place.path))?;
        self.place.check_still(self.disk, self.place.directory())?;
        let now = root::facts(&self.target).map_err(failed)?;
        if now == *before && self.is_in_place(before) { Ok(()) } else { Err(Setback::Overtaken) }
    }

    /// Whether the name still leads to the file that is being rewritten.
    fn is_in_place(&self, file: &Facts) -> bool {
        let named = statat(self.place.directory(), self.place.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
        named.is_ok_and(|stat| Facts::from(&stat).inode == file.inode)
    }

    fn run(&self, store: &CopyStore, content: &NewContent<'_>) -> Result<(), Setback> {
        let written = self.overwrite(content);
        let failed = |cause| fs_error(&self.place.path, REWRITING, cause);
        let setback = match written {
            Ok(None) => return Err(self.changed(store)),
            Ok(Some(facts)) if self.is_in_place(&facts) => match self.sync() {
                Ok(()) if self.has(content) => return Ok(()),
                Ok(()) => return Err(self.changed(store)),
                Err(cause) => {
                    // What a failed sync left on the disk is not known, and another one would not tell the truth.
                    let put_back = self.put_back();
                    let error = failed(put_back.err().unwrap_or(cause));
                    return Err(error.with_published(Published::Maybe).into());
                }
            },
            // It got another file under way: that one is somebody else's, and the one that lost the name keeps what
            // it had.
            Ok(Some(_)) => Setback::Overtaken,
            Err(cause) => failed(cause).into(),
        };
        match self.put_back().and_then(|()| self.sync()) {
            Ok(()) => Err(setback),
            Err(cause) => Err(failed(cause).with_published(Published::Maybe).into()),
        }
    }

    /// Writes the new content over the old one; `None` when somebody else made the file longer or shorter meanwhile.
    fn overwrite(&self, content: &NewContent<'_>) -> Result<Option<Facts>, Errno> {
        let facts = root::facts(&self.target)?;
        let plain = facts.mode & !PRIVILEGE_BITS;
        if plain != facts.mode {
            // The kernel takes them from an unprivileged writer only, and only with the first byte. Who is no owner
            // leaves it at that.
            match fchmod(&self.target, Mode::from_raw_mode(plain)) {
                Ok(()) | Err(Errno::PERM) => {}
                Err(cause) => return Err(cause),
            }
        }
        let mut piece = vec![0; at_most(WRITE_BYTES, content.size_bytes)];
        let mut offset = 0;
        while offset < content.size_bytes {
            let count = self.read_new(content, &mut piece, offset)?;
            self.disk.before(Step::Overwrite)?;
            write_at(&self.target, &piece[..count], offset)?;
            offset += count as u64;
        }
        if offset < self.copy.head.old_bytes {
            self.disk.before(Step::Cut)?;
            // What somebody appended would be cut off with the rest.
            if root::facts(&self.target)?.size != self.copy.head.old_bytes {
                return Ok(None);
            }
            ftruncate(&self.target, offset)?;
        }
        root::facts(&self.target).map(Some)
    }

    /// Whether the file has this content and no other. What cannot be read says nothing against it.
    fn has(&self, content: &NewContent<'_>) -> bool {
        // One byte more than there should be, so that a longer file shows.
        let room = at_most(PIECE_BYTES, content.size_bytes.saturating_add(1));
        let (mut there, mut ours, mut offset) = (vec![0; room], vec![0; room], 0);
        loop {
            let (Ok(count), Ok(expected)) =
                (read_at(self.readable, &mut there, offset), self.read_new(content, &mut ours, offset))
            else {
                return true;
            };
            if there[..count] != ours[..expected] {
                return false;
            }
            if count == 0 {
                return true;
            }
            offset += count as u64;
        }
    }

    /// Fills `piece` with the new content from `offset` on. What is not at hand is in the copy.
    fn read_new(&self, content: &NewContent<'_>, piece: &mut [u8], offset: u64) -> Result<usize, Errno> {
        match &content.form {
            Form::Whole(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let count = rest.len().min(piece.len());
                piece[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
            Form::Patched { .. } | Form::Respliced { .. } => self.copy.read_new(piece, offset),
        }
    }

    /// Somebody else changed the file meanwhile. What is there is theirs too, so it stays; what was there before is
    /// kept aside.
    fn changed(&self, store: &CopyStore) -> Setback {
        let (path, copy) = (&self.place.path, display_form(&self.copy.name));
        match recover::keep(store, &self.copy.name) {
            Ok(()) => tracing::warn!(
                path,
                copy,
                "somebody else changed a file under rewriting; its copy is kept aside"
            ),
            Err(cause) => {
                tracing::warn!(path, copy, %cause, "the copy of a file that somebody else changed stays")
            }
        }
        let message = format!(
            "`{path}` was changed by somebody else while it was rewritten in place, and may have parts of both; \
             what it was before is kept in the server's recovery directory"
        );
        let kind = ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging };
        FsError::new(kind, message).with_path(path).with_published(Published::Maybe).into()
    }

    fn sync(&self) -> Result<(), Errno> {
        self.disk.before(Step::SyncRewritten)?;
        match self.disk.durability {
            Durability::Full | Durability::Data => retry_on_intr(|| fsync(&self.target)),
            Durability::None => Ok(()),
        }
    }

    fn put_back(&self) -> Result<(), Errno> {
        self.disk.before(Step::PutBack)?;
        put_back(&self.copy, &self.target)
    }

    /// Removes the copy: nobody needs it any more.
    fn settle(self, store: &CopyStore) {
        if let Err(cause) = self.copy.remove(self.disk, store) {
            tracing::warn!(%cause, "the copy of a file that was rewritten could not be made worthless either");
        }
    }
}

/// A size for a buffer: `most`, or less where there is less to be held.
fn at_most(most: usize, bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(most).min(most)
}

/// Writes the old content of a copy over a file.
fn put_back(copy: &Copy, target: &OwnedFd) -> Result<(), Errno> {
    let (mut piece, mut offset) = (vec![0; PIECE_BYTES], 0);
    loop {
        let count = copy.read_old(&mut piece, offset)?;
        if count == 0 {
            return ftruncate(target, offset);
        }
        write_at(target, &piece[..count], offset)?;
        offset += count as u64;
    }
}
