//! The file that a new content is written to before it is published.
//!
//! It goes again when it is dropped before it was published. It has no name until it is whole, where the file system
//! can do that, so that a crash leaves nothing behind; a name that it has is written down before it appears, where
//! there is a journal. Deliberately absent: any look at what it is to replace, which is `publish`'s.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, fsync, linkat, renameat, renameat_with, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};
use toolfs_core::edit::Patch;
use toolfs_core::error::Result;
use toolfs_core::planted::Fault;
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;

use crate::attribute::give_to_new_file;
use crate::content::{Form, NewContent, Old};
use crate::copy_range::RangeCopy;
use crate::disk::Disk;
use crate::io_error::{CREATING, READING, fs_error};
use crate::journal::{Entry, Slot};
use crate::leftover::{Hidden, Label};
use crate::location::join;
use crate::place::Place;
use crate::positioned::{read_at, write_at};
use crate::publish::Setback;
use crate::root::{self, create_nameless, create_new};
use crate::step::Step;

/// Writing new content to it.
pub(crate) const WRITING: &str = "writing it";

/// How much is written between two looks at the abort signal.
const WRITE_BYTES: usize = 1 << 20;

/// How many names are tried before the directory counts as hostile.
const MAX_NAMES: usize = 64;

/// A file that nobody sees yet.
#[derive(Debug)]
pub(crate) struct Temporary<'a> {
    disk: &'a Disk,
    directory: BorrowedFd<'a>,
    pub(crate) file: OwnedFd,
    /// The target's place, for telling where a name that is left behind belongs.
    place: Option<&'a Place>,
    /// Its name, once it has one: removed when this is dropped.
    named: Option<Named<'a>>,
}

/// A hidden name that is there, or may be.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    disk: &'a Disk,
    hidden: Hidden,
    /// Device and inode number of its directory, where they could be asked for.
    directory: Option<(u64, u64)>,
    /// Where it is written down, if it is.
    slot: Option<Slot<'a>>,
    is_gone: bool,
}

impl Named<'_> {
    /// The name is not there any more.
    pub(crate) fn gone(mut self) {
        self.is_gone = true;
        if let Some(slot) = self.slot.take() {
            slot.settle();
        }
    }
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            self.disk.looked.leave(self.directory, self.hidden.serial);
        }
    }
}

impl<'a> Temporary<'a> {
    /// Makes a file in `directory`. The kernel takes the umask, or the directory's default access list, from
    /// `mode`. A file that others can see under its name is its owner's alone, whatever `mode` says.
    pub(crate) fn create(
        disk: &'a Disk,
        directory: BorrowedFd<'a>,
        mode: Mode,
        place: &'a Place,
    ) -> Result<Temporary<'a>> {
        let failed = |cause| fs_error(&place.path, CREATING, cause);
        disk.before(Step::Create).map_err(failed)?;
        if !disk.named_temporaries {
            match create_nameless(directory, mode) {
                Ok(file) => {
                    return Ok(Temporary { disk, directory, file, place: Some(place), named: None });
                }
                // A file system or a kernel without nameless files says one of these.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        for _ in 0..MAX_NAMES {
            let hidden = disk.next_hidden();
            let named = begin(disk, directory, place, hidden);
            match create_new(directory, &hidden.name(), Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(Temporary { disk, directory, file, place: Some(place), named: Some(named) });
                }
                Err(Errno::EXIST) => named.gone(),
                Err(cause) => {
                    named.gone();
                    return Err(failed(cause));
                }
            }
        }
        Err(failed(Errno::EXIST))
    }

    /// A file that is in its place already: for a planted fault.
    pub(crate) fn torn(disk: &'a Disk, directory: BorrowedFd<'a>, file: OwnedFd) -> Temporary<'a> {
        Temporary { disk, directory, file, place: None, named: None }
    }

    /// Writes the whole of a content.
    ///
    /// # Errors
    /// [`Setback::Overtaken`] when the file that it is made of changed since it was judged; [`Setback::Failed`].
    pub(crate) fn fill(
        &self,
        content: &NewContent<'_>,
        abort: &AbortSignal,
        path: &str,
    ) -> Result<(), Setback> {
        let is_as_foreseen = match &content.form {
            Form::Whole(bytes) => {
                self.write(bytes, abort, path)?;
                true
            }
            Form::Patched { old, patch } => {
                self.patch(old, patch, abort, path)?;
                // What was copied was not looked at. As long as nobody could write, it is what was judged.
                old.watch.end() || self.version(abort, path)? == *content.version
            }
            Form::Respliced { old, .. } => {
                // Much may be read before there is something to write, and much written for little that is read.
                let mut read_old = |piece: &mut [u8], offset: u64| {
                    abort.check().map_err(|error| error.with_path(path))?;
                    old.watch.look();
                    old.read(piece, offset)
                };
                content.make(self.disk.sizes.piece_bytes, &mut read_old, &mut |bytes| {
                    old.watch.look();
                    Ok(self.write(bytes, abort, path)?)
                })?;
                old.watch.end();
                true
            }
        };
        if is_as_foreseen { Ok(()) } else { Err(Setback::Overtaken) }
    }

    /// Copies what a patch leaves alone, and puts what it inserts in between.
    fn patch(&self, old: &Old<'_>, patch: &Patch, abort: &AbortSignal, path: &str) -> Result<(), Setback> {
        let failed = |cause| fs_error(path, WRITING, cause);
        let mut unchanged = RangeCopy::new(self.disk, old, &self.file, abort);
        unchanged.copy(0..patch.kept_until, 0)?;
        let mut at = patch.kept_until;
        for piece in patch.insert.chunks(WRITE_BYTES) {
            abort.check().map_err(|error| error.with_path(path))?;
            self.disk.before(Step::Write).map_err(failed)?;
            write_at(&self.file, piece, at).map_err(failed)?;
            at += piece.len() as u64;
        }
        unchanged.copy(patch.resume_at..old.size_bytes, at)
    }

    /// The version of what was written.
    fn version(&self, abort: &AbortSignal, path: &str) -> Result<Version> {
        let failed = |cause| fs_error(path, READING, cause);
        let (mut piece, mut offset) = (vec![0; self.disk.sizes.piece_bytes], 0);
        let mut hasher = VersionHasher::new();
        loop {
            abort.check().map_err(|error| error.with_path(path))?;
            self.disk.before(Step::ReadBack).map_err(failed)?;
            match read_at(&self.file, &mut piece, offset).map_err(failed)? {
                0 => return Ok(hasher.finish()),
                count => {
                    hasher.update(&piece[..count]);
                    offset += count as u64;
                }
            }
        }
    }

    /// Writes bytes behind those that were written before.
    fn write(&self, content: &[u8], abort: &AbortSignal, path: &str) -> Result<()> {
        let failed = |cause| fs_error(path, WRITING, cause);
        for piece in content.chunks(WRITE_BYTES) {
            abort.check().map_err(|error| error.with_path(path))?;
            self.disk.before(Step::Write).map_err(failed)?;
            let mut rest = piece;
            while !rest.is_empty() {
                match retry_on_intr(|| write(&self.file, rest)).map_err(failed)? {
                    0 => return Err(failed(Errno::IO)),
                    count => rest = &rest[count..],
                }
            }
        }
        Ok(())
    }

    /// Gives a whole file the mode of a new one, where it did not get that when it was made.
    pub(crate) fn give_new_mode(&self) -> Result<(), Errno> {
        match &self.named {
            Some(_) => give_to_new_file(self.file.as_fd(), self.directory, self.disk.umask),
            None => Ok(()),
        }
    }

    /// Makes content, mode and owner durable, as far as the server was told to.
    pub(crate) fn sync(&self, path: &str) -> Result<()> {
        let failed = |cause| fs_error(path, "making it durable", cause);
        self.disk.before(Step::Sync).map_err(failed)?;
        match self.disk.durability {
            // A failed sync is not tried again: the kernel has thrown the pages away, and would report success.
            Durability::Full | Durability::Data => match retry_on_intr(|| fsync(&self.file)) {
                Err(_) if Fault::PublishIgnoresSyncError.is_planted() => Ok(()),
                synced => synced.map_err(failed),
            },
            Durability::None => Ok(()),
        }
    }

    /// Gives it the hidden name of a file that is whole, and tells it.
    pub(crate) fn name(&mut self, label: Label) -> Result<Hidden, Errno> {
        self.disk.before(Step::Name)?;
        let place = self.place.ok_or(Errno::INVAL)?;
        if let Some(named) = &mut self.named {
            let whole = Hidden { label: Some(label), ..named.hidden };
            if let Some((slot, inode)) = named.slot.as_ref().zip(named.directory) {
                slot.write(&entry(inode, place, whole))?;
            }
            rename_own(self.directory, &named.hidden.name(), &whole.name())?;
            named.hidden = whole;
            return Ok(named.hidden);
        }
        for _ in 0..MAX_NAMES {
            let hidden = Hidden { label: Some(label), ..self.disk.next_hidden() };
            let named = begin(self.disk, self.directory, place, hidden);
            match link_nameless(self.file.as_fd(), self.directory, &hidden.name()) {
                Ok(()) => {
                    self.named = Some(named);
                    return Ok(hidden);
                }
                Err(Errno::EXIST) => named.gone(),
                Err(cause) => {
                    named.gone();
                    return Err(cause);
                }
            }
        }
        Err(Errno::EXIST)
    }

    /// Gives the right to write to it up, so that whoever has it open for writing from now on is somebody else.
    /// `false` where that cannot be done.
    pub(crate) fn seal(&mut self) -> bool {
        let reopened = root::reopen(self.file.as_fd());
        reopened.is_ok_and(|file| {
            self.file = file;
            true
        })
    }

    /// Gives it the name `name`, unless something has it: `EEXIST` then.
    pub(crate) fn publish_new(&mut self, name: &[u8]) -> Result<(), Errno> {
        let Some(named) = self.named.take() else {
            return link_nameless(self.file.as_fd(), self.directory, name);
        };
        let own = named.hidden.name();
        match renameat_with(self.directory, own.as_slice(), self.directory, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                named.gone();
                Ok(())
            }
            cause => {
                self.named = Some(named);
                match cause {
                    // Without such a rename a link never replaces either; the drop removes the other name.
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        linkat(self.directory, own.as_slice(), self.directory, name, AtFlags::empty())
                    }
                    other => other,
                }
            }
        }
    }

    /// Leaves the name to the caller: it may be somebody else's content by now.
    pub(crate) fn disown(&mut self) -> Named<'a> {
        self.named.take().expect("a file is disowned only after it was named")
    }

    /// Takes the name back, after [`Temporary::disown`] turned out not to be needed.
    pub(crate) fn own(&mut self, named: Named<'a>) {
        self.named = Some(named);
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        let Some(named) = self.named.take() else { return };
        let name = named.hidden.name();
        match retry_on_intr(|| unlinkat(self.directory, name.as_slice(), AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => named.gone(),
            Err(cause) => tracing::warn!(%cause, "a temporary file could not be removed"),
        }
    }
}

/// Writes a hidden name down that is about to appear.
fn begin<'a>(disk: &'a Disk, directory: BorrowedFd<'_>, place: &Place, hidden: Hidden) -> Named<'a> {
    let directory = place.inode_of(directory).ok();
    // A directory that cannot be looked at has no file made in it either.
    let slot = disk.journal.as_ref().zip(directory);
    let slot = slot.and_then(|(journal, inode)| journal.begin(&entry(inode, place, hidden)));
    Named { disk, hidden, directory, slot, is_gone: false }
}

fn entry(inode: (u64, u64), place: &Place, hidden: Hidden) -> Entry {
    let parent = place.location.split().map_or(&[] as &[u8], |(parent, _)| parent);
    let directory = join(&place.location.root.real, parent);
    Entry { directory, inode, hidden, target: place.name.clone() }
}

/// Renames a file to another of our own names, which nobody else has.
fn rename_own(directory: BorrowedFd<'_>, from: &[u8], to: &[u8]) -> Result<(), Errno> {
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, from, directory, to),
        other => other,
    }
}

/// Gives a file without a name one, unless something has it: `EEXIST` then.
pub(crate) fn link_nameless(
    file: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, own, directory, name, AtFlags::SYMLINK_FOLLOW) {
        // Without /proc there is another way, which not everybody may go.
        Err(Errno::NOENT) => linkat(file, "", directory, name, AtFlags::EMPTY_PATH),
        other => other,
    }
}
