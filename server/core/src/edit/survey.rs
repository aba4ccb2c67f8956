//! The first pass over a file: what it is, where it matches, and for one match also what comes out.
//!
//! For an edit of one match the survey goes on behind the first one as if it were the only one: the hash of what is
//! before it is taken over, and the edited file is hashed beside the file. Only the line ends of the whole file can
//! show that another style would have been right for what is new; the patch is right then too, but what comes out is
//! for a [`super::Rewrite`] to tell.
//!
//! For an edit of all matches it counts them and the bytes that would come out, which are never made here.
//!
//! Deliberately absent: refusals, which whoever asked makes of what was found, and near misses.

use super::edited::{Changed, EditedFile};
use super::matcher::{Match, Needle, Occurrences, Overlaps};
use super::splice::{Joiner, Replacement};
use super::stream::{PART, Pass, Stream};
use super::{Digest, EditRequest, GatheringHasher, MatchRange};
use crate::text::{LineEnd, NotText, TextScanner, TextSummary};
use crate::version::Version;

/// The first pass of an edit over a file that arrives in pieces of any size.
///
/// Memory is bounded by the edit, `max_diff_bytes` and a few parts of the file; time is linear in file and edit.
///
/// ```
/// use toolfs_core::edit::matcher::Needle;
/// use toolfs_core::edit::{EditRequest, Finding, Survey};
/// use toolfs_core::version::Version;
///
/// let edit = EditRequest::new("draft".into(), "final".into(), false).unwrap();
/// let needle = Needle::new(edit.old_string());
/// let mut survey = Survey::new(&edit, &needle, None);
/// for piece in [&b"a dr"[..], b"aft\n"] {
///     survey.feed(piece);
/// }
/// let surveyed = survey.finish();
/// assert_eq!(surveyed.version, Version::of(b"a draft\n"));
/// let Finding::One(planned) = surveyed.text.unwrap().finding else { panic!("it occurs once") };
/// assert_eq!((planned.patch.kept_until, planned.patch.resume_at), (2, 7));
/// assert_eq!(planned.changed.unwrap().version, Version::of(b"a final\n"));
/// ```
#[derive(Debug)]
pub struct Survey<'e, D = GatheringHasher> {
    scanner: TextScanner,
    course: Course<'e, D>,
}

/// What a survey learned of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed<V = Version> {
    /// The version of the bytes that were fed.
    pub version: V,
    /// What the text is and where it matches, if it is one.
    pub text: Result<Found<V>, NotText>,
}

/// A text, and where it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<V = Version> {
    /// What the text is.
    pub before: TextSummary,
    /// Where it matches.
    pub finding: Finding<V>,
}

/// Where a text matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<V = Version> {
    /// Nowhere.
    Nothing,
    /// In several places, and one was asked for.
    Ambiguous {
        /// How many, overlapping ones included.
        match_count: u64,
        /// The lines where the first [`Occurrences::MAX_LINES`] start.
        lines: Vec<u64>,
    },
    /// In the one place that was asked for.
    One(Box<Planned<V>>),
    /// In places that are all to be replaced.
    All {
        /// How many.
        count: u64,
        /// The size of the edited file; `u64::MAX` when it is above that.
        size_bytes: u64,
    },
}

/// What becomes of a file with one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<V = Version> {
    /// How to get the edited file.
    pub patch: Patch,
    /// The size of the edited file.
    pub size_bytes: u64,
    /// All else that is to be told; `None` when the survey foresaw other line ends than those of the patch.
    pub changed: Option<Changed<V>>,
    /// The lines of the match, and the line of what changes in it.
    pub(super) matched_lines: MatchRange,
    pub(super) line: u64,
}

/// The edited file as parts of the file: its first `kept_until` bytes, `insert`, and what is from `resume_at` on.
#[derive(Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where what stays ends.
    pub kept_until: u64,
    /// What is new.
    pub insert: Vec<u8>,
    /// Where what stays goes on.
    pub resume_at: u64,
}

impl std::fmt::Debug for Patch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patch")
            .field("kept_until", &self.kept_until)
            .field("insert_bytes", &self.insert.len())
            .field("resume_at", &self.resume_at)
            .finish()
    }
}

impl<'e> Survey<'e> {
    /// Starts at the first byte of a file. The needle is that of the edit. `max_diff_bytes`: as of [`super::apply`];
    /// `None` when no diff is wanted.
    pub fn new(edit: &'e EditRequest, needle: &'e Needle, max_diff_bytes: Option<u64>) -> Survey<'e> {
        Survey::with_digest(edit, needle, max_diff_bytes)
    }
}

impl<'e, D: Digest> Survey<'e, D> {
    pub(super) fn with_digest(
        edit: &'e EditRequest,
        needle: &'e Needle,
        max_diff_bytes: Option<u64>,
    ) -> Survey<'e, D> {
        let replacement = Replacement::new(edit);
        let course = if edit.replace_all() {
            let stream = Stream::new(needle, Overlaps::Skipped);
            Course::All(stream, Box::new(AllPass::new(replacement)))
        } else {
            let stream = Stream::new(needle, Overlaps::Counted);
            Course::One(stream, Box::new(OnePass::new(replacement, max_diff_bytes)))
        };
        Survey { scanner: TextScanner::new(), course }
    }

    /// Works in steps of few bytes.
    #[cfg(test)]
    pub(super) fn in_steps(mut self, step: usize) -> Survey<'e, D> {
        self.course = match self.course {
            Course::One(stream, pass) => Course::One(stream.in_steps(step), pass),
            Course::All(stream, pass) => Course::All(stream.in_steps(step), pass),
            Course::GivenUp(digest) => Course::GivenUp(digest),
        };
        self
    }

    /// Looks at the next piece. Pieces of 256 KiB and up are fastest.
    pub fn feed(&mut self, piece: &[u8]) {
        for part in piece.chunks(PART) {
            if self.scanner.feed(part).is_err() {
                self.course.give_up();
            }
            match &mut self.course {
                Course::One(stream, pass) => {
                    pass.guess = self.scanner.dominant_so_far().unwrap_or(LineEnd::Lf);
                    stream.feed(part, pass.as_mut());
                }
                Course::All(stream, pass) => stream.feed(part, pass.as_mut()),
                Course::GivenUp(digest) => digest.update(part),
            }
        }
    }

    /// Ends the file.
    pub fn finish(self) -> Surveyed<D::Name> {
        let summary = self.scanner.finish();
        match self.course {
            Course::One(stream, mut pass) => {
                stream.finish(pass.as_mut());
                let version = pass.digest().name();
                let text = summary.map(|before| Found { before, finding: pass.finding(&before) });
                Surveyed { version, text }
            }
            Course::All(stream, mut pass) => {
                stream.finish(pass.as_mut());
                let version = pass.digest.name();
                let text = summary.map(|before| Found { before, finding: pass.finding(&before) });
                Surveyed { version, text }
            }
            Course::GivenUp(digest) => {
                let nowhere = |before| Found { before, finding: Finding::Nothing };
                Surveyed { version: digest.name(), text: summary.map(nowhere) }
            }
        }
    }
}

/// What the survey looks for.
#[derive(Debug)]
enum Course<'e, D> {
    One(Stream<'e>, Box<OnePass<'e, D>>),
    All(Stream<'e>, Box<AllPass<'e, D>>),
    /// Nothing: it is no text. Only its name is of interest.
    GivenUp(D),
}

impl<D: Digest> Course<'_, D> {
    fn give_up(&mut self) {
        *self = match std::mem::replace(self, Course::GivenUp(D::default())) {
            Course::One(stream, pass) => {
                let mut digest = pass.digest().clone();
                stream.give_up(|rest| digest.update(rest));
                Course::GivenUp(digest)
            }
            Course::All(stream, pass) => {
                let mut digest = pass.digest;
                stream.give_up(|rest| digest.update(rest));
                Course::GivenUp(digest)
            }
            Course::GivenUp(digest) => Course::GivenUp(digest),
        };
    }
}

/// The way of an edit of one match.
#[derive(Debug)]
struct OnePass<'e, D> {
    replacement: Replacement<'e>,
    /// The line ends that the file is taken to have.
    guess: LineEnd,
    occurrences: Occurrences,
    /// From the first match on: the hash of the file. Before it the edited file has the same.
    digest: Option<D>,
    first: Option<FirstMatch>,
    /// What comes out, as long as there is at most one match.
    edited: Option<EditedFile<D>>,
}

/// The first match with its neighbours.
#[derive(Debug)]
struct FirstMatch {
    start: u64,
    matched: Vec<u8>,
    byte_before: Option<u8>,
    byte_after: Option<u8>,
    lines: MatchRange,
    /// The line ends that it was replaced with.
    guess: LineEnd,
}

impl<'e, D: Digest> OnePass<'e, D> {
    fn new(replacement: Replacement<'e>, max_diff_bytes: Option<u64>) -> OnePass<'e, D> {
        OnePass {
            replacement,
            guess: LineEnd::Lf,
            occurrences: Occurrences::default(),
            digest: None,
            first: None,
            edited: Some(EditedFile::new(max_diff_bytes)),
        }
    }

    fn digest(&self) -> &D {
        let shared = || self.edited.as_ref().expect("nothing matched yet").digest();
        self.digest.as_ref().unwrap_or_else(shared)
    }

    fn finding(self, before: &TextSummary) -> Finding<D::Name> {
        let Occurrences { count, lines, .. } = self.occurrences;
        let (first, edited) = match (self.first, self.edited) {
            (None, _) => return Finding::Nothing,
            (Some(_), None) => return Finding::Ambiguous { match_count: count, lines },
            (Some(first), Some(edited)) => (first, edited),
        };
        let patch = first.patch(&self.replacement, before.dominant_line_end());
        let is_right = patch == first.patch(&self.replacement, Some(first.guess));
        let kept_bytes = before.size_bytes - (patch.resume_at - patch.kept_until);
        Finding::One(Box::new(Planned {
            size_bytes: kept_bytes.saturating_add(patch.insert.len() as u64),
            patch,
            changed: is_right.then(|| edited.finish(before)),
            matched_lines: first.lines,
            line: first.lines.start_line + self.replacement.prefix_line_ends(),
        }))
    }
}

impl<D: Digest> Pass for OnePass<'_, D> {
    fn wants(&mut self, found: &Match) -> bool {
        self.occurrences.add(found.clone());
        if self.occurrences.count > 1 {
            self.edited = None;
        }
        self.occurrences.count == 1
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        if let Some(FirstMatch { byte_after: after @ None, .. }) = &mut self.first {
            *after = bytes.first().copied();
        }
        if let Some(edited) = &mut self.edited {
            edited.keep(bytes, &mut |_| {});
        }
    }

    fn replace(&mut self, found: &Match, matched: &[u8]) {
        let Some(edited) = &mut self.edited else { return };
        let byte_before = edited.last_old();
        let splice = self.replacement.splice(matched, Some(self.guess));
        let suffix = matched.len() - splice.kept_suffix;
        edited.begin(found.lines, found.lines.start_line + self.replacement.prefix_line_ends());
        edited.keep(&matched[..splice.kept_prefix], &mut |_| {});
        let mut digest = edited.digest().clone();
        digest.update(&matched[splice.kept_prefix..]);
        edited.change(&matched[splice.kept_prefix..suffix], splice.middle, &mut |_| {});
        edited.keep(&matched[suffix..], &mut |_| {});
        self.digest = Some(digest);
        self.first = Some(FirstMatch {
            start: found.range.start,
            matched: matched.to_vec(),
            byte_before,
            byte_after: None,
            lines: found.lines,
            guess: self.guess,
        });
    }

    fn has_all(&self) -> bool {
        self.first.is_some()
    }
}

impl FirstMatch {
    /// What replaces it in a file with these dominant line ends.
    fn patch(&self, replacement: &Replacement<'_>, dominant: Option<LineEnd>) -> Patch {
        let splice = replacement.splice(&self.matched, dominant);
        let suffix = self.matched.len() - splice.kept_suffix;
        let mut joiner = Joiner::default();
        let mut insert = Vec::with_capacity(splice.middle.len() + 2);
        let kept = self.byte_before.as_slice().iter().chain(&self.matched[..splice.kept_prefix]);
        let before = joiner.keep(kept.last().map_or(&[], std::slice::from_ref));
        insert.extend_from_slice(before);
        insert.extend_from_slice(joiner.change(splice.middle));
        insert.extend_from_slice(splice.middle);
        let next = self.matched[suffix..].first().or(self.byte_after.as_ref());
        insert.extend_from_slice(joiner.keep(next.map_or(&[], std::slice::from_ref)));
        Patch {
            kept_until: self.start + splice.kept_prefix as u64,
            insert,
            resume_at: self.start + suffix as u64,
        }
    }
}

/// The way of an edit of all matches.
#[derive(Debug)]
struct AllPass<'e, D> {
    digest: D,
    replacement: Replacement<'e>,
    count: u64,
    /// What comes out for each of the line ends that the file may turn out to have, but for the bytes.
    sizes: Vec<(Option<LineEnd>, Joiner)>,
}

impl<'e, D: Digest> AllPass<'e, D> {
    fn new(replacement: Replacement<'e>) -> AllPass<'e, D> {
        let sizes = if replacement.follows_the_file() {
            [Some(LineEnd::Lf), Some(LineEnd::Crlf), None].map(|style| (style, Joiner::default())).into()
        } else {
            vec![(None, Joiner::default())]
        };
        AllPass { digest: D::default(), replacement, count: 0, sizes }
    }

    fn finding(&self, before: &TextSummary) -> Finding<D::Name> {
        let style = if self.replacement.follows_the_file() { before.dominant_line_end() } else { None };
        match self.sizes.iter().find(|(of, _)| *of == style) {
            Some((_, joiner)) if self.count > 0 => {
                Finding::All { count: self.count, size_bytes: joiner.written() }
            }
            Some(_) | None => Finding::Nothing,
        }
    }
}

impl<D: Digest> Pass for AllPass<'_, D> {
    fn wants(&mut self, _found: &Match) -> bool {
        true
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        for (_, joiner) in &mut self.sizes {
            // The joiner counts what it wants written between.
            let _ = joiner.keep(bytes);
        }
    }

    fn replace(&mut self, _found: &Match, matched: &[u8]) {
        self.digest.update(matched);
        self.count += 1;
        for (style, joiner) in &mut self.sizes {
            let splice = self.replacement.splice(matched, *style);
            let _ = joiner.keep(&matched[..splice.kept_prefix]);
            let _ = joiner.change(splice.middle);
            let _ = joiner.keep(&matched[matched.len() - splice.kept_suffix..]);
        }
    }

    fn has_all(&self) -> bool {
        false
    }
}
