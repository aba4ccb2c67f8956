//! The second pass over a file: the edited bytes, and what is told of them.
//!
//! A file of which other bytes come than in the first pass is rewritten all the same, as far as that means anything;
//! the version that comes out tells. Deliberately absent: whether it is the same file, which whoever feeds it compares.

use super::edited::{Changed, EditedFile};
use super::matcher::{Match, Needle, Overlaps};
use super::splice::Replacement;
use super::stream::{PART, Pass, Stream};
use super::survey::Planned;
use super::{Digest, EditRequest, GatheringHasher};
use crate::text::{LineEnd, TextSummary};

/// Writes the edited file from a file that arrives in pieces of any size.
///
/// Memory and time are bounded as those of a [`super::Survey`]; but what comes out may be very much larger than what
/// comes in, so its size is judged before: see [`super::within_limit`].
///
/// ```
/// use toolfs_core::edit::matcher::Needle;
/// use toolfs_core::edit::{EditRequest, Rewrite};
/// use toolfs_core::text::summarize;
///
/// let edit = EditRequest::new("a".into(), "bb".into(), true).unwrap();
/// let needle = Needle::new(edit.old_string());
/// let before = summarize(b"banana\n").unwrap();
/// let mut written = Vec::new();
/// let mut write = |bytes: &[u8]| written.extend_from_slice(bytes);
/// let mut rewrite = Rewrite::all(&edit, &needle, &before, None);
/// rewrite.feed(b"bana", &mut write);
/// rewrite.feed(b"na\n", &mut write);
/// assert_eq!(rewrite.finish(&mut write).matches.total, 3);
/// assert_eq!(written, b"bbbnbbnbb\n");
/// ```
#[derive(Debug)]
pub struct Rewrite<'e, D = GatheringHasher> {
    before: TextSummary,
    edited: EditedFile<D>,
    course: Course<'e>,
}

#[derive(Debug)]
enum Course<'e> {
    Patch(Patching<'e>),
    All { stream: Stream<'e>, replacement: Box<Replacement<'e>>, dominant: Option<LineEnd> },
}

impl<'e> Rewrite<'e> {
    /// Starts at the first byte of a file whose one match a survey found. `max_diff_bytes`: as of the survey.
    pub fn planned(planned: &'e Planned, before: &TextSummary, max_diff_bytes: Option<u64>) -> Rewrite<'e> {
        Rewrite::of_plan(planned, before, max_diff_bytes)
    }

    /// Starts at the first byte of a file of which every match is replaced. `max_diff_bytes`: as of the survey.
    pub fn all(
        edit: &'e EditRequest,
        needle: &'e Needle,
        before: &TextSummary,
        max_diff_bytes: Option<u64>,
    ) -> Rewrite<'e> {
        Rewrite::of_all(edit, needle, before, max_diff_bytes)
    }
}

impl<'e, D: Digest> Rewrite<'e, D> {
    pub(super) fn of_plan(
        planned: &'e Planned<D::Name>,
        before: &TextSummary,
        max_diff_bytes: Option<u64>,
    ) -> Rewrite<'e, D> {
        let mut edited = EditedFile::new(max_diff_bytes);
        edited.begin(planned.matched_lines, planned.line);
        let patch = &planned.patch;
        let patching = Patching {
            kept_until: patch.kept_until,
            insert: Some(&patch.insert),
            resume_at: patch.resume_at,
            at: 0,
        };
        Rewrite { before: *before, edited, course: Course::Patch(patching) }
    }

    pub(super) fn of_all(
        edit: &'e EditRequest,
        needle: &'e Needle,
        before: &TextSummary,
        max_diff_bytes: Option<u64>,
    ) -> Rewrite<'e, D> {
        let course = Course::All {
            stream: Stream::new(needle, Overlaps::Skipped),
            replacement: Box::new(Replacement::new(edit)),
            dominant: before.dominant_line_end(),
        };
        Rewrite { before: *before, edited: EditedFile::new(max_diff_bytes), course }
    }

    /// Works in steps of few bytes.
    #[cfg(test)]
    pub(super) fn in_steps(mut self, step: usize) -> Rewrite<'e, D> {
        self.course = match self.course {
            Course::Patch(patching) => Course::Patch(patching),
            Course::All { stream, replacement, dominant } => {
                Course::All { stream: stream.in_steps(step), replacement, dominant }
            }
        };
        self
    }

    /// Takes the next piece and writes what is settled. Pieces of 256 KiB and up are fastest.
    pub fn feed(&mut self, piece: &[u8], write: &mut impl FnMut(&[u8])) {
        for part in piece.chunks(PART) {
            match &mut self.course {
                Course::Patch(patching) => patching.feed(part, &mut self.edited, write),
                Course::All { stream, replacement, dominant } => {
                    let edited = &mut self.edited;
                    stream.feed(part, &mut Replacing { edited, replacement, dominant: *dominant, write });
                }
            }
        }
    }

    /// Ends the file and writes the rest.
    pub fn finish(mut self, write: &mut impl FnMut(&[u8])) -> Changed<D::Name> {
        match self.course {
            Course::Patch(mut patching) => patching.insert(&mut self.edited, write),
            Course::All { stream, replacement, dominant } => {
                let edited = &mut self.edited;
                stream.finish(&mut Replacing { edited, replacement: &replacement, dominant, write });
            }
        }
        self.edited.finish(&self.before)
    }
}

/// The one change that a patch makes.
#[derive(Debug)]
struct Patching<'e> {
    kept_until: u64,
    /// What is still to be written there.
    insert: Option<&'e [u8]>,
    resume_at: u64,
    at: u64,
}

impl Patching<'_> {
    fn feed<D: Digest>(&mut self, part: &[u8], edited: &mut EditedFile<D>, write: &mut impl FnMut(&[u8])) {
        let cut = |offset: u64| {
            usize::try_from(offset.saturating_sub(self.at)).map_or(part.len(), |at| at.min(part.len()))
        };
        let (kept_until, resume_at) = (cut(self.kept_until), cut(self.resume_at));
        edited.copy(&part[..kept_until], write);
        self.at += part.len() as u64;
        if self.at <= self.kept_until {
            return;
        }
        if kept_until < resume_at {
            edited.remove(&part[kept_until..resume_at]);
        }
        if self.at > self.resume_at {
            self.insert(edited, write);
        }
        edited.copy(&part[resume_at..], write);
    }

    fn insert<D: Digest>(&mut self, edited: &mut EditedFile<D>, write: &mut impl FnMut(&[u8])) {
        if let Some(insert) = self.insert.take() {
            edited.remove(&[]);
            edited.add(insert, write);
        }
    }
}

/// Replaces every match.
struct Replacing<'p, 'e, D, W> {
    edited: &'p mut EditedFile<D>,
    replacement: &'p Replacement<'e>,
    dominant: Option<LineEnd>,
    write: &'p mut W,
}

impl<D: Digest, W: FnMut(&[u8])> Pass for Replacing<'_, '_, D, W> {
    fn wants(&mut self, _found: &Match) -> bool {
        true
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.edited.keep(bytes, self.write);
    }

    fn replace(&mut self, found: &Match, matched: &[u8]) {
        let splice = self.replacement.splice(matched, self.dominant);
        let suffix = matched.len() - splice.kept_suffix;
        self.edited.begin(found.lines, found.lines.start_line + self.replacement.prefix_line_ends());
        self.edited.keep(&matched[..splice.kept_prefix], self.write);
        self.edited.change(&matched[splice.kept_prefix..suffix], splice.middle, self.write);
        self.edited.keep(&matched[suffix..], self.write);
    }

    fn has_all(&self) -> bool {
        false
    }
}
