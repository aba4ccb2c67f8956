//! What an edit has to do, told a second time: what the design says, as plain code over the characters of a text.
//!
//! It shares nothing with the code that it is the measure of, and looks at everything at once, however slow that is.

/// What an edit asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) all: bool,
}

/// What has to come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It asks for nothing that an edit can do.
    NoEdit,
    /// The file is no text, from this offset on.
    NotText(u64),
    /// There is no match.
    NotFound,
    /// There are so many, and these are the lines of the first ones.
    Ambiguous { count: u64, lines: Vec<u64> },
    /// The file holds this.
    Edited(Edited),
}

/// A file that was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) content: Vec<u8>,
    /// The first and the last line of each match.
    pub(super) matches: Vec<(u64, u64)>,
    /// What has to be said about line ends.
    pub(super) remarks: Vec<Remark>,
}

/// What a model does not see, and is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Remark {
    LineEndings,
    Bom,
    FinalNewline,
}

/// The most lines that are told of an ambiguous edit.
const TOLD_LINES: usize = 20;

const BOM: &str = "\u{feff}";

/// A character as a reader of a file sees it: a line end is one, however it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Character(char),
    LineEnd(Style),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Lf,
    Crlf,
}

impl Seen {
    fn is_line_end(self) -> bool {
        matches!(self, Seen::LineEnd(_))
    }

    /// Whether a reader sees the same.
    fn looks_like(self, other: Seen) -> bool {
        match (self, other) {
            (Seen::LineEnd(_), Seen::LineEnd(_)) => true,
            (Seen::Character(one), Seen::Character(other)) => one == other,
            (Seen::LineEnd(_), Seen::Character(_)) | (Seen::Character(_), Seen::LineEnd(_)) => false,
        }
    }
}

fn seen(text: &str) -> Vec<Seen> {
    let mut seen = Vec::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        seen.push(match character {
            '\r' if characters.peek() == Some(&'\n') => {
                characters.next();
                Seen::LineEnd(Style::Crlf)
            }
            '\n' => Seen::LineEnd(Style::Lf),
            other => Seen::Character(other),
        });
    }
    seen
}

fn look_alike(one: &[Seen], other: &[Seen]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.looks_like(*other))
}

/// What an edit of a file with this content has to end in.
pub(super) fn expect(content: &[u8], edit: &Edit) -> Expected {
    let (old, new) = (seen(&edit.old), seen(&edit.new));
    if old.is_empty() || look_alike(&old, &new) {
        return Expected::NoEdit;
    }
    let text = match text(content) {
        Ok(text) => text,
        Err(offset) => return Expected::NotText(offset),
    };
    let (bom, text) = text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest));
    let file = seen(text);
    let starts = starts(&file, &old);
    let starts = match starts.len() {
        0 => return Expected::NotFound,
        1 => starts,
        count if !edit.all => {
            let lines = starts.iter().take(TOLD_LINES).map(|start| line_of(&file, *start)).collect();
            return Expected::Ambiguous { count: count as u64, lines };
        }
        _ => apart(&starts, old.len()),
    };
    let edited = replaced(&file, &starts, &old, &new);
    let mut content = bom.as_bytes().to_vec();
    content.extend_from_slice(written(&edited).as_bytes());
    let matches = lines_of(&file, &starts, old.len());
    let remarks = remarks(text, bom, &content);
    Expected::Edited(Edited { content, matches, remarks })
}

/// The content as text, or the offset of the first byte that makes it none.
fn text(content: &[u8]) -> Result<&str, u64> {
    let nul = content.iter().position(|byte| *byte == 0);
    let broken = std::str::from_utf8(content).err().map(|error| error.valid_up_to());
    match nul.into_iter().chain(broken).min() {
        Some(offset) => Err(offset as u64),
        None => Ok(std::str::from_utf8(content).expect("it was looked at")),
    }
}

/// Where something occurs, overlapping occurrences included.
fn starts(file: &[Seen], old: &[Seen]) -> Vec<usize> {
    let last = (file.len() + 1).saturating_sub(old.len());
    // Most places are told by their first character already.
    let first = old[0];
    let may_start = |start: &usize| file[*start].looks_like(first);
    (0..last).filter(may_start).filter(|start| look_alike(&file[*start..start + old.len()], old)).collect()
}

/// Those that do not overlap, from the left.
fn apart(starts: &[usize], length: usize) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut free = 0;
    for start in starts {
        if *start >= free {
            chosen.push(*start);
            free = start + length;
        }
    }
    chosen
}

/// The line, from 1, in which a character is. A line end belongs to the line that it ends.
fn line_of(file: &[Seen], at: usize) -> u64 {
    1 + file[..at].iter().filter(|seen| seen.is_line_end()).count() as u64
}

/// The first and the last line of each match, in one pass.
fn lines_of(file: &[Seen], starts: &[usize], length: usize) -> Vec<(u64, u64)> {
    let (mut lines, mut line, mut counted) = (Vec::new(), 1, 0);
    for start in starts {
        line += line_of(&file[counted..], start - counted) - 1;
        counted = *start;
        let inside = line_of(&file[counted..], length - 1) - 1;
        lines.push((line, line + inside));
    }
    lines
}

fn replaced(file: &[Seen], starts: &[usize], old: &[Seen], new: &[Seen]) -> Vec<Seen> {
    let shared = |pairs: &mut dyn Iterator<Item = (&Seen, &Seen)>| {
        pairs.take_while(|(one, other)| one.looks_like(**other)).count()
    };
    let head = shared(&mut old.iter().zip(new));
    let tail = shared(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let fresh = &new[head..new.len() - tail];
    let usual = usual_style(file);

    let mut edited = Vec::with_capacity(file.len());
    let mut done = 0;
    for start in starts {
        let matched = &file[*start..start + old.len()];
        edited.extend_from_slice(&file[done..*start]);
        edited.extend_from_slice(&matched[..head]);
        let style = first_style(matched).or(usual);
        edited.extend(fresh.iter().map(|seen| match (seen, style) {
            (Seen::LineEnd(_), Some(style)) => Seen::LineEnd(style),
            (Seen::LineEnd(_), None) | (Seen::Character(_), _) => *seen,
        }));
        edited.extend_from_slice(&matched[matched.len() - tail..]);
        done = start + old.len();
    }
    edited.extend_from_slice(&file[done..]);
    edited
}

fn first_style(seen: &[Seen]) -> Option<Style> {
    seen.iter().find_map(|seen| match seen {
        Seen::LineEnd(style) => Some(*style),
        Seen::Character(_) => None,
    })
}

/// The style of most line ends of a file, of the first one where there are as many of both.
fn usual_style(file: &[Seen]) -> Option<Style> {
    let count = |wanted| file.iter().filter(|seen| **seen == Seen::LineEnd(wanted)).count();
    match count(Style::Lf).cmp(&count(Style::Crlf)) {
        std::cmp::Ordering::Less => Some(Style::Crlf),
        std::cmp::Ordering::Greater => Some(Style::Lf),
        std::cmp::Ordering::Equal => first_style(file),
    }
}

/// A carriage return that a reader sees would vanish in front of a `\n`: the line end is a `\r\n` there.
fn written(seen: &[Seen]) -> String {
    let mut text = String::with_capacity(seen.len());
    for seen in seen {
        match seen {
            Seen::Character(character) => text.push(*character),
            Seen::LineEnd(Style::Lf) if !text.ends_with('\r') => text.push('\n'),
            Seen::LineEnd(_) => text.push_str("\r\n"),
        }
    }
    text
}

fn remarks(before: &str, bom: &str, after: &[u8]) -> Vec<Remark> {
    // What a NUL has made no text of has no lines.
    let Ok(after) = text(after) else { return Vec::new() };
    let (bom_after, after) = after.strip_prefix(BOM).map_or(("", after), |rest| (BOM, rest));
    let mut remarks = Vec::new();
    let (old, new) = (styles(before), styles(after));
    if old != new && old != (false, false) && new != (false, false) {
        remarks.push(Remark::LineEndings);
    }
    if before.is_empty() || after.is_empty() {
        return remarks;
    }
    if bom != bom_after {
        remarks.push(Remark::Bom);
    }
    if before.ends_with('\n') != after.ends_with('\n') {
        remarks.push(Remark::FinalNewline);
    }
    remarks
}

/// Whether there are line ends of the one style, and of the other.
fn styles(text: &str) -> (bool, bool) {
    let crlf = text.matches("\r\n").count();
    (text.matches('\n').count() > crlf, crlf > 0)
}
