//! The verdict: whether what everybody noted, and what is there at the end, is a history in which nothing was lost.
//!
//! Every content occurs once, so each has an origin, and an acknowledged change descends from what it replaced. What
//! decides is the last foreign publication that a content descends from, its root: once a later one is complete, a
//! content with that root must not be seen any more, for whoever put it there displaced the later one. The clients
//! read through the provider that changes, so a content that is only there until the verdict on it is never seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::time::Instant;

use toolfs_core::error::Published;
use toolfs_core::version::Version;

use super::log::{CallLog, Change, Content, Op, OpLog, Seen, Sighting, Span, State, content, theirs};
use super::{file_name, other_name};

/// Everything there is to judge.
pub(super) struct Evidence {
    pub(super) targets: Vec<Target>,
    violations: Vec<Violation>,
}

/// What is known of one target, of its writer and of all clients.
pub(super) struct Target {
    number: usize,
    pub(super) ops: Vec<Op>,
    sightings: Vec<Sighting>,
    pub(super) calls: Vec<Change>,
    pub(super) rescues: Vec<String>,
    /// What the file that links led to holds at the end.
    other: Content,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) text: String,
    /// Whether it is that something was displaced that nobody had seen.
    pub(super) is_loss: bool,
}

fn broken(text: String) -> Violation {
    Violation { text, is_loss: false }
}

fn lost(text: String) -> Violation {
    Violation { text, is_loss: true }
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) violations: Vec<Violation>,
    pub(super) facts: BTreeMap<&'static str, u64>,
}

/// The fact of the one kind of foreign write that may be lost.
const EXEMPT: &str = "foreign writes through a file that was opened while it was displaced";

impl Evidence {
    /// Puts the logs together, and looks at what is there when everybody has ended.
    pub(super) fn gather(
        root: &Path,
        op_logs: Vec<OpLog>,
        mut call_logs: Vec<Vec<CallLog>>,
        targets: usize,
    ) -> Evidence {
        let mut violations: Vec<_> =
            op_logs.iter().filter_map(|log| log.violation.clone()).map(broken).collect();
        let marks: Vec<_> = op_logs.iter().flat_map(|log| log.marks.clone()).collect();
        let mut evidence = Vec::new();
        for (number, log) in op_logs.into_iter().enumerate().take(targets) {
            let other = Content::of(&fs::read(root.join(other_name(number))).unwrap());
            let mut target = Target {
                number,
                ops: log.ops,
                sightings: Vec::new(),
                calls: Vec::new(),
                rescues: Vec::new(),
                other,
            };
            for logs in &mut call_logs {
                let log = std::mem::take(&mut logs[number]);
                violations.extend(log.violation.map(broken));
                target.sightings.extend(log.sightings);
                target.calls.extend(log.calls);
                target.rescues.extend(log.rescues);
            }
            let file = root.join(file_name(number));
            let (span, seen) = Span::of(|| match fs::symlink_metadata(&file) {
                Ok(facts) if facts.is_file() => Seen::Content(Content::of(&fs::read(&file).unwrap())),
                // What a link leads to is looked at by itself.
                Ok(_) => Seen::NoFile,
                Err(_) => Seen::Absent,
            });
            target.sightings.push(Sighting { span, seen });
            target.sightings.sort_by_key(|sighting| sighting.span.start);
            target.calls.sort_by_key(|call| call.span.end);
            evidence.push(target);
        }
        violations.extend(left(root, &evidence, &marks));
        Evidence { targets: evidence, violations }
    }
}

/// Looks at hidden files: each was told, and holds something that was published. And at the directories that stood in
/// the place: each is somewhere.
fn left(root: &Path, targets: &[Target], marks: &[String]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let told: BTreeSet<&str> =
        targets.iter().flat_map(|target| &target.rescues).map(String::as_str).collect();
    let mut found = BTreeSet::new();
    let mut marked = BTreeSet::new();
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = fs::read_dir(entry.path()).unwrap();
            marked.extend(inner.map(|inner| inner.unwrap().file_name().into_string().unwrap()));
        }
        if name.starts_with(".toolfs-") && !told.contains(name.as_str()) {
            violations.push(broken(format!("`{name}` is left, and no error named it")));
        }
        if entry.file_type().unwrap().is_file() && told.contains(name.as_str()) {
            let kept = Content::of(&fs::read(entry.path()).unwrap());
            if !targets.iter().any(|target| Known::of(target).origin_of(&kept).is_some()) {
                violations
                    .push(broken(format!("`{name}` keeps what nobody published: `{}`", kept.first_line)));
            }
        }
        found.insert(name);
    }
    violations.extend(told.iter().filter(|name| !found.contains(**name)).map(|name| {
        lost(format!("`{name}` was told as the place where something is kept, and is not there"))
    }));
    violations.extend(
        marks
            .iter()
            .filter(|mark| !marked.contains(mark.as_str()))
            .map(|mark| lost(format!("the directory with `{mark}` is nowhere"))),
    );
    violations
}

/// Where a content comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The foreign publication with that number.
    Theirs(usize),
    /// The change with that number.
    Ours(usize),
    /// The file that links lead to.
    Other,
    /// A part of what was written in place then, or later: nothing of it tells.
    Part,
}

/// The last foreign publication that a content descends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Foreign(usize),
    Other,
}

/// All contents of a target.
struct Known<'a> {
    target: &'a Target,
    origins: HashMap<&'a Version, Origin>,
    other: Version,
}

impl<'a> Known<'a> {
    fn of(target: &'a Target) -> Known<'a> {
        let theirs = target.ops.iter().enumerate().filter_map(|(number, op)| match &op.state {
            State::Content(version) => Some((version, Origin::Theirs(number))),
            State::Absent | State::Link | State::Directory => None,
        });
        let ours = target.calls.iter().enumerate().map(|(number, call)| (&call.new, Origin::Ours(number)));
        let other = Version::of(content(&other_name(target.number), 100).as_bytes());
        Known { target, origins: theirs.chain(ours).collect(), other }
    }

    /// Nothing for a content that nobody published as a whole or piece by piece.
    fn origin_of(&self, content: &Content) -> Option<Origin> {
        if content.version == self.other {
            return Some(Origin::Other);
        }
        if let Some(origin) = self.origins.get(&content.version) {
            return Some(*origin);
        }
        let mut in_place = self.target.ops.iter().enumerate().filter(|(_, op)| op.is_in_place);
        if content.is_empty {
            return in_place.next().map(|_| Origin::Part);
        }
        let target = self.target.number;
        let is_part = |(number, _): &(usize, &Op)| theirs(target, *number).starts_with(&content.first_line);
        let is_beginning = in_place.clone().any(|op| is_part(&op));
        // A reader may meet the old beginning and the new end.
        let is_mixed = content.first_line.starts_with("theirs") || content.first_line.starts_with("ours");
        (is_beginning || (is_mixed && in_place.next().is_some())).then_some(Origin::Part)
    }

    /// The root of a content that was seen, or was to be replaced, before `until`. Where several are possible, the
    /// last of them, so that nothing is held against us that might have been right.
    fn root_of(&self, content: &Content, until: Instant) -> Option<Root> {
        let mut content = content.clone();
        let mut until = until;
        loop {
            let number = match self.origin_of(&content)? {
                Origin::Theirs(number) => return Some(Root::Foreign(number)),
                Origin::Other => return Some(Root::Other),
                Origin::Part => return self.last(until, |op| op.is_in_place),
                Origin::Ours(number) => number,
            };
            let call = &self.target.calls[number];
            until = call.span.end;
            if call.refused.is_some() {
                return self.last(until, |_| true);
            }
            match &call.expected {
                None => return self.last(until, |op| op.state == State::Absent),
                Some(expected) => content = expected.clone(),
            }
        }
    }

    fn last(&self, until: Instant, is_meant: impl Fn(&Op) -> bool) -> Option<Root> {
        let ops = self.target.ops.iter().enumerate();
        ops.rev()
            .find(|(_, op)| op.span.start <= until && is_meant(op))
            .map(|(number, _)| Root::Foreign(number))
    }

    /// Whether a content is that of change `number`, or descends from it.
    fn descends_from(&self, content: &Content, number: usize) -> bool {
        let mut content = content.clone();
        loop {
            match self.origin_of(&content) {
                Some(Origin::Ours(found)) if found == number => return true,
                Some(Origin::Ours(found)) => match &self.target.calls[found].expected {
                    Some(expected) => content = expected.clone(),
                    None => return false,
                },
                Some(Origin::Theirs(_) | Origin::Other | Origin::Part) | None => return false,
            }
        }
    }
}

/// Judges.
pub(super) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict { violations: evidence.violations.clone(), facts: BTreeMap::new() };
    for target in &evidence.targets {
        Trial { target, known: Known::of(target), verdict: &mut verdict, exempt: BTreeSet::new() }.run();
    }
    verdict
}

/// One target on trial.
struct Trial<'a> {
    target: &'a Target,
    known: Known<'a>,
    verdict: &'a mut Verdict,
    /// The foreign publications that went where no lease can tell.
    exempt: BTreeSet<usize>,
}

impl Trial<'_> {
    fn run(mut self) {
        self.judge_stranded();
        self.judge_changes();
        for sighting in &self.target.sightings {
            match &sighting.seen {
                Seen::Content(content) => self.judge_content(content, sighting.span),
                Seen::Absent => self.judge_absence(sighting.span),
                Seen::NoFile => self.judge_no_file(sighting.span),
            }
        }
        self.judge_other();
        self.verdict
            .facts
            .entry(EXEMPT)
            .and_modify(|count| *count += self.exempt.len() as u64)
            .or_insert(self.exempt.len() as u64);
    }

    fn violate(&mut self, violation: Violation) {
        let text = format!("`{}`: {}", file_name(self.target.number), violation.text);
        self.verdict.violations.push(Violation { text, ..violation });
    }

    /// Whether a foreign writer opened the file in place while one of our calls was at work: it may have got one that
    /// was displaced an instant later, after it was looked at.
    fn may_have_opened_displaced(&self, number: usize) -> bool {
        let op = &self.target.ops[number];
        let opening = Span { start: op.span.start, end: op.opened };
        op.is_in_place && self.target.calls.iter().any(|call| call.span.overlaps(&opening))
    }

    /// What was written in place went into a file without a name.
    fn judge_stranded(&mut self) {
        for (number, op) in self.target.ops.iter().enumerate().filter(|(_, op)| op.is_stranded) {
            if !self.may_have_opened_displaced(number) {
                let waited = op.span.end - op.opened;
                self.violate(lost(format!(
                    "foreign publication {number} was written in place, {waited:?} after its file was opened, and that \
                     was removed meanwhile"
                )));
            }
            self.exempt.insert(number);
        }
    }

    /// Two changes of one content cannot both have displaced it, and a creation displaces nothing.
    fn judge_changes(&mut self) {
        let mut replaced = HashMap::new();
        for (number, call) in self.target.calls.iter().enumerate() {
            if call.refused.is_some() {
                if call.published != Published::No {
                    *self.verdict.facts.entry("refused, and perhaps published").or_default() += 1;
                }
                continue;
            }
            let Some(expected) = &call.expected else { continue };
            match self.known.origin_of(expected) {
                None => {
                    let text = format!("a change replaced what nobody published: `{}`", expected.first_line);
                    self.violate(broken(text));
                }
                Some(Origin::Part) => {}
                Some(Origin::Theirs(_) | Origin::Ours(_) | Origin::Other) => {
                    if replaced.insert(&expected.version, number).is_some() {
                        self.violate(lost(format!("two changes replaced `{}`", expected.first_line)));
                    }
                }
            }
        }
    }

    fn judge_content(&mut self, content: &Content, span: Span) {
        let shown = &content.first_line;
        let Some(origin) = self.known.origin_of(content) else {
            self.violate(broken(format!("`{shown}` was seen, a content that nobody published")));
            return;
        };
        if let Origin::Ours(number) = origin
            && self.target.calls[number].refused.is_some()
            && self.target.calls[number].published == Published::No
        {
            self.violate(broken(format!("`{shown}` was seen, of a change that was refused")));
            return;
        }
        match self.known.root_of(content, span.end) {
            None => {
                self.violate(broken(format!("`{shown}` was seen, and nothing explains how it came there")))
            }
            Some(Root::Other) => {
                let is_link = |op: &Op| op.state == State::Link && op.span.start <= span.end;
                if !self.target.ops.iter().any(is_link) {
                    self.violate(broken(format!("`{shown}` was seen without a link that leads to it")));
                }
            }
            Some(Root::Foreign(root)) => {
                self.judge_root(content, root, span);
                self.judge_descent(content, root, span);
            }
        }
    }

    /// No later foreign publication was complete when a content with that root was seen.
    fn judge_root(&mut self, content: &Content, root: usize, span: Span) {
        for number in root + 1..self.target.ops.len() {
            let op = &self.target.ops[number];
            if op.span.end >= span.start {
                return;
            }
            if self.exempt.contains(&number) || self.may_have_opened_displaced(number) {
                self.exempt.insert(number);
                continue;
            }
            let late = span.start - op.span.end;
            self.violate(lost(format!(
                "`{}`, which descends from foreign publication {root}, was seen {late:?} after publication {number} \
                 ({:?}) was complete",
                content.first_line, op.state
            )));
            return;
        }
    }

    /// A content that is seen after an acknowledged change descends from it, or from something foreign that is newer.
    fn judge_descent(&mut self, content: &Content, root: usize, span: Span) {
        let Some((number, call)) = self.last_change(span) else { return };
        if self.target.ops[root].span.end > call.span.start || self.known.descends_from(content, number) {
            return;
        }
        self.violate(lost(format!(
            "`{}` was seen after change {number} was acknowledged, and nothing foreign came in between",
            content.first_line
        )));
    }

    /// The last change of this place that was acknowledged before.
    fn last_change(&self, span: Span) -> Option<(usize, &Change)> {
        let is_here = |call: &Change| {
            call.refused.is_none()
                && call.span.end < span.start
                && call
                    .expected
                    .as_ref()
                    .is_none_or(|expected| self.known.root_of(expected, call.span.end) != Some(Root::Other))
        };
        self.target.calls.iter().enumerate().rev().find(|(_, call)| is_here(call))
    }

    /// Nothing is there only after somebody foreign took it away.
    fn judge_absence(&mut self, span: Span) {
        let since = self.last_change(span).map(|(_, call)| call.span.start);
        let complete = self.target.ops.iter().rev().find(|op| op.span.end < span.start);
        let is_absent = |op: &Op| {
            let is_newest = complete == Some(op) || op.span.end >= span.start;
            op.state == State::Absent
                && op.span.start <= span.end
                && is_newest
                && since.is_none_or(|since| op.span.end > since)
        };
        if !self.target.ops.iter().any(is_absent) {
            self.violate(lost("nothing was seen there, though nobody had taken it away".to_owned()));
        }
    }

    fn judge_no_file(&mut self, span: Span) {
        let is_no_file =
            |op: &Op| matches!(op.state, State::Directory | State::Link) && op.span.start <= span.end;
        if !self.target.ops.iter().any(is_no_file) {
            self.violate(broken(
                "something without content was seen, though nobody had put it there".to_owned(),
            ));
        }
    }

    /// What links led to holds the last change of it, and that descends from what it held at first.
    fn judge_other(&mut self) {
        let replaced: BTreeSet<_> = self
            .target
            .calls
            .iter()
            .filter(|call| call.refused.is_none())
            .filter_map(|call| call.expected.as_ref())
            .map(|expected| &expected.version)
            .collect();
        let other = &self.target.other;
        let is_rooted = self.known.root_of(other, Instant::now()) == Some(Root::Other);
        if !is_rooted || replaced.contains(&other.version) {
            let text =
                format!("`{}` holds `{}` at the end", other_name(self.target.number), other.first_line);
            self.violate(lost(text));
        }
    }
}
