//! A content that is to be published: one that is at hand, or one that is made out of the file that it replaces.
//!
//! The latter may be larger than memory; it is made anew, piece by piece, as often as it is written. Deliberately
//! absent: deciding what it is to be, which is `edit`'s, and what copies unchanged ranges without reading them, which is
//! `copy_range`'s.

use std::ops::Range;

use toolfs_core::edit::matcher::Needle;
use toolfs_core::edit::{EditRequest, Patch, Rewrite};
use toolfs_core::text::TextSummary;
use toolfs_core::version::Version;

use crate::disk::OpenFile;
use crate::io_error::{READING, fs_error};
use crate::positioned::read_at;
use crate::publish::Setback;
use crate::read::PIECE_BYTES;
use crate::watch::Watch;

/// What is worth being looked at alone.
const LEAST_PIECE_BYTES: usize = 64;

/// A content that is to be published, with what was foreseen of it.
#[derive(Debug)]
pub(crate) struct NewContent<'a> {
    /// What whoever writes it must have written in the end.
    pub(crate) version: &'a Version,
    pub(crate) size_bytes: u64,
    pub(crate) form: Form<'a>,
}

/// Where a content comes from.
#[derive(Debug)]
pub(crate) enum Form<'a> {
    /// All of it is at hand.
    Whole(&'a [u8]),
    /// The old content with one range of it replaced.
    Patched { old: Old<'a>, patch: &'a Patch },
    /// The old content with every match replaced.
    Respliced { old: Old<'a>, edit: &'a EditRequest, before: &'a TextSummary },
}

/// The file that a content is made out of.
#[derive(Debug)]
pub(crate) struct Old<'a> {
    pub(crate) open: &'a OpenFile,
    /// How long it was when it was judged.
    pub(crate) size_bytes: u64,
    /// What looks after it since before it was judged.
    pub(crate) watch: &'a Watch<'a>,
}

impl Old<'_> {
    /// Fills `piece` from `offset` on, as far as the file goes.
    pub(crate) fn read(&self, piece: &mut [u8], offset: u64) -> Result<usize, Setback> {
        let failed = |cause| fs_error(&self.open.path, READING, cause).into();
        read_at(&self.open.file, piece, offset).map_err(failed)
    }
}

/// Reads from the old content: fills a piece from an offset on, as far as the content goes.
type ReadOld<'a> = dyn FnMut(&mut [u8], u64) -> Result<usize, Setback> + 'a;

/// Takes the next piece of the new content.
type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Setback> + 'a;

impl<'a> NewContent<'a> {
    /// A content that is at hand.
    pub(crate) fn whole(content: &'a [u8], version: &'a Version) -> NewContent<'a> {
        NewContent { version, size_bytes: content.len() as u64, form: Form::Whole(content) }
    }

    /// Holds nobody up any more who wants to write the old file.
    pub(crate) fn stop_watching(&self) {
        match &self.form {
            Form::Whole(_) => {}
            Form::Patched { old, .. } | Form::Respliced { old, .. } => {
                old.watch.end();
            }
        }
    }

    /// Makes it out of the old content, from the front to the back, in pieces of about `piece_bytes`.
    ///
    /// # Errors
    /// Those of `read_old` and `sink`; [`Setback::Overtaken`] when the old content is shorter than it was, or when what
    /// was made of it is seen to be another content than was foreseen.
    pub(crate) fn make(
        &self,
        piece_bytes: usize,
        read_old: &mut ReadOld<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Setback> {
        match &self.form {
            Form::Whole(content) => content.chunks(piece_bytes).try_for_each(sink),
            Form::Patched { old, patch } => {
                pass(piece_bytes, 0..patch.kept_until, read_old, sink)?;
                patch.insert.chunks(piece_bytes).try_for_each(&mut *sink)?;
                pass(piece_bytes, patch.resume_at..old.size_bytes, read_old, sink)
            }
            Form::Respliced { old, edit, before } => {
                let needle = Needle::new(edit.old_string());
                let mut rewrite = Rewrite::all(edit, &needle, before, None);
                let mut batch = Batch::new(sink, piece_bytes);
                let part_bytes = piece_for_growth(old.size_bytes, self.size_bytes);
                pass(piece_bytes, 0..old.size_bytes, read_old, &mut |piece| {
                    for part in piece.chunks(part_bytes) {
                        rewrite.feed(part, &mut |bytes| batch.add(bytes));
                        batch.outcome()?;
                    }
                    Ok(())
                })?;
                let made = rewrite.finish(&mut |bytes| batch.add(bytes));
                batch.finish()?;
                if made.version == *self.version { Ok(()) } else { Err(Setback::Overtaken) }
            }
        }
    }
}

/// How much of an old content is replaced at once, so that not too much comes out of it on the average.
pub(crate) fn piece_for_growth(old_bytes: u64, new_bytes: u64) -> usize {
    let part = (PIECE_BYTES as u64).saturating_mul(old_bytes) / new_bytes.max(1);
    usize::try_from(part).unwrap_or(PIECE_BYTES).clamp(LEAST_PIECE_BYTES, PIECE_BYTES)
}

/// Hands a range of the old content on, piece by piece.
fn pass(
    piece_bytes: usize,
    range: Range<u64>,
    read_old: &mut ReadOld<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), Setback> {
    let mut piece = vec![0; piece_bytes];
    let mut offset = range.start;
    while offset < range.end {
        let wanted = piece.len().min(usize::try_from(range.end - offset).unwrap_or(usize::MAX));
        let count = read_old(&mut piece[..wanted], offset)?;
        if count < wanted {
            return Err(Setback::Overtaken);
        }
        sink(&piece[..count])?;
        offset += count as u64;
    }
    Ok(())
}

/// Gathers small pieces for a sink, and keeps its first failure for somebody who can be told.
struct Batch<'a, 'b> {
    sink: &'a mut Sink<'b>,
    /// How many bytes it gathers.
    most: usize,
    bytes: Vec<u8>,
    outcome: Result<(), Setback>,
}

impl<'a, 'b> Batch<'a, 'b> {
    fn new(sink: &'a mut Sink<'b>, most: usize) -> Batch<'a, 'b> {
        Batch { sink, most, bytes: Vec::with_capacity(most), outcome: Ok(()) }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.outcome.is_ok() {
            let (now, later) = bytes.split_at(bytes.len().min(self.most - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.bytes.len() == self.most {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.outcome.is_ok() && !self.bytes.is_empty() {
            self.outcome = (self.sink)(&self.bytes);
        }
        self.bytes.clear();
    }

    fn outcome(&mut self) -> Result<(), Setback> {
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    fn finish(mut self) -> Result<(), Setback> {
        self.flush();
        self.outcome
    }
}
