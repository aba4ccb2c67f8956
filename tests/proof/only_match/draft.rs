//! What a case is about: a content, and an edit of it, drawn at random.

use std::fmt::Write as _;

use fastrand::Rng;

use super::oracle::Edit;

/// What a file may hold that has tempted somebody to treat it as something else.
const WORDS: &[&str] = &[
    "a",
    "b",
    "ab",
    "A",
    " ",
    "    ",
    "\t",
    "fn main() {",
    "}",
    "x = 1;",
    "é",
    "e\u{301}",
    "ﬁ",
    "名前",
    "😀",
    "👩\u{200d}👧",
    "𐍈",
    "שלום",
    "مرحبا",
    "\u{202e}",
    "\u{200f}",
    "\u{a0}",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "\u{c}",
    "\u{feff}",
    "\u{1}",
    "\u{7f}",
    "$&",
    "$1",
    "\\n",
    "\\r\\n",
    "&amp;",
    "\"",
    "'",
    "\u{2019}",
    "\u{2014}",
    "%s",
    "\u{fffd}",
    "1: ",
    "  2: x",
];

/// How the line ends of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    Lf,
    Crlf,
    Mixed,
    /// Carriage returns, which are text, and now and then a line end.
    LoneCr,
    None,
}

/// How large a content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    /// Many lines.
    Page,
    /// One very long line.
    Line,
    /// So that what is looked for lies across a border of the pieces in which a file is read.
    Border,
    /// As much as is edited in memory, a little less or a little more.
    Threshold,
}

/// How much of a file a disk provider reads at once.
const PIECE_BYTES: usize = 256 << 10;
/// How much of it is edited in memory.
const THRESHOLD_BYTES: usize = 1 << 20;

/// A content, and an edit of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) size: Size,
    pub(super) content: Vec<u8>,
    pub(super) edit: Edit,
}

impl Draft {
    pub(super) fn draw(rng: &mut Rng, may_be_large: bool) -> Draft {
        let size = match rng.u32(..if may_be_large { 1000 } else { 960 }) {
            0..860 => Size::Small,
            860..960 => Size::Page,
            960..975 => Size::Line,
            975..994 => Size::Border,
            _ => Size::Threshold,
        };
        let pen = Pen::draw(rng);
        match size {
            Size::Small => {
                let count = if rng.u32(..8) == 0 { rng.usize(..3) } else { rng.usize(..40) };
                let text = pen.text(rng, count);
                pen.finish(rng, size, text)
            }
            Size::Page => {
                let count = rng.usize(500..4_000);
                let text = pen.text(rng, count);
                pen.finish(rng, size, text)
            }
            Size::Line => {
                let pen = Pen { line_ends: LineEnds::None, ..pen };
                let bytes = rng.usize(60_000..300_000);
                let mut text = pen.filler(rng, bytes);
                if rng.bool() {
                    text.push_str(pick(rng, &["\n", "\r\n", "\r"]));
                }
                pen.finish(rng, size, text)
            }
            Size::Border => pen.across_a_border(rng),
            Size::Threshold => {
                let wanted =
                    (THRESHOLD_BYTES - 64 + rng.usize(..128)).saturating_sub(if rng.bool() { 0 } else { 3 });
                let text = pen.filler(rng, wanted);
                pen.finish(rng, size, text)
            }
        }
    }
}

/// Which words a text has, and how its line ends are written.
#[derive(Clone, Debug)]
struct Pen {
    words: Vec<&'static str>,
    line_ends: LineEnds,
}

impl Pen {
    fn draw(rng: &mut Rng) -> Pen {
        // Few words make for many matches, and for matches that overlap.
        let count = rng.usize(1..=8);
        let words = (0..count).map(|_| pick(rng, WORDS)).collect();
        let line_ends = pick(
            rng,
            &[
                LineEnds::Lf,
                LineEnds::Lf,
                LineEnds::Crlf,
                LineEnds::Crlf,
                LineEnds::Mixed,
                LineEnds::Mixed,
                LineEnds::LoneCr,
                LineEnds::None,
            ],
        );
        Pen { words, line_ends }
    }

    fn line_end(&self, rng: &mut Rng) -> &'static str {
        match self.line_ends {
            LineEnds::Lf => "\n",
            LineEnds::Crlf => "\r\n",
            LineEnds::Mixed => pick(rng, &["\n", "\r\n"]),
            LineEnds::LoneCr => pick(rng, &["\r", "\r", "\r", "\n", "\r\n", "\r\r\n", "\n\r"]),
            LineEnds::None => "",
        }
    }

    fn text(&self, rng: &mut Rng, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(if rng.u32(..4) == 0 { self.line_end(rng) } else { pick(rng, &self.words) });
        }
        text
    }

    /// A text of exactly so many bytes, in which nothing is drawn for each word.
    fn filler(&self, rng: &mut Rng, bytes: usize) -> String {
        let mut chunk = self.text(rng, 200);
        chunk.push('-');
        let mut text = String::with_capacity(bytes + chunk.len());
        // Each copy has a number, so that there is something that occurs once.
        for number in 0.. {
            if text.len() + chunk.len() + 8 > bytes {
                break;
            }
            let _ = write!(text, "{number:06}");
            text.push_str(&chunk);
        }
        while text.len() < bytes {
            text.push('.');
        }
        text.truncate(bytes);
        text
    }

    /// A content with a byte order mark, or without one, and an edit of something in it.
    fn finish(&self, rng: &mut Rng, size: Size, text: String) -> Draft {
        let edit = self.edit(rng, &text);
        let mut content = if rng.u32(..6) == 0 { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        content.extend_from_slice(text.as_bytes());
        if rng.u32(..100) == 0 {
            let at = rng.usize(..=content.len());
            content
                .splice(at..at, pick(rng, &[&b"\0"[..], b"\xff", b"\xed\xa0\x80", b"\xc3"]).iter().copied());
        }
        Draft { size, content, edit }
    }

    fn across_a_border(&self, rng: &mut Rng) -> Draft {
        let marker = format!("<{}{}>", self.text(rng, 6), pick(rng, &["é", "😀", "\r\n", "\n", "\r", "x"]));
        let border = PIECE_BYTES * pick(rng, &[1, 1, 1, 1, 2, 4]);
        let inside = rng.usize(..=marker.len());
        let mut text = self.filler(rng, border - inside);
        text.push_str(&marker);
        let rest = rng.usize(..2_000);
        text.push_str(&self.text(rng, rest));
        let old = respelled(rng, &marker);
        let new = self.new_string(rng, &old);
        Draft { size: Size::Border, content: text.into_bytes(), edit: Edit { old, new, all: rng.bool() } }
    }

    fn edit(&self, rng: &mut Rng, text: &str) -> Edit {
        let all = rng.u32(..10) < 4;
        let old = match rng.u32(..100) {
            0..78 => self.part(rng, text),
            78..86 => {
                let part = self.part(rng, text);
                spoiled(rng, &part)
            }
            86..95 => {
                let count = rng.usize(1..6);
                self.text(rng, count)
            }
            95..97 if text.len() < 4_000 => text.to_owned(),
            97 => String::new(),
            _ => pick(rng, &["\r", "\n", "\r\n", "\n\n", "\u{feff}", "\r\r\n"]).to_owned(),
        };
        let old = respelled(rng, &old);
        let new = self.new_string(rng, &old);
        Edit { old, new, all }
    }

    /// Something of a text: often grown until it occurs once, sometimes its very start or end.
    fn part(&self, rng: &mut Rng, text: &str) -> String {
        let Some(borders) = Borders::of(text) else { return "a".to_owned() };
        let length = if rng.u32(..6) == 0 { rng.usize(1..60) } else { rng.usize(1..12) };
        let (start, mut end) = match rng.u32(..10) {
            0 => (0, borders.after(0, length)),
            1 => (borders.before(text.len(), length), text.len()),
            _ => {
                let start = borders.at(rng.usize(..text.len()));
                (start, borders.after(start, length))
            }
        };
        if rng.bool() {
            let mut grown = 0;
            while grown < 40 && end < text.len() && text.matches(&text[start..end]).nth(1).is_some() {
                end = borders.after(end, 1 + grown);
                grown += 1;
            }
        }
        text[start..end].to_owned()
    }

    fn new_string(&self, rng: &mut Rng, old: &str) -> String {
        let count = rng.usize(..6);
        match rng.u32(..100) {
            0..10 => String::new(),
            10..45 => self.text(rng, count),
            45..65 => {
                let at = Borders::of(old).map_or(0, |borders| borders.at(rng.usize(..=old.len())));
                let (head, tail) = old.split_at(at);
                format!("{head}{}{tail}", self.text(rng, count))
            }
            65..75 => format!("{old}{}", pick(rng, &["\n", "\r\n", "\r", "x\n", "\nx"])),
            75..85 => spoiled(rng, old),
            85..88 => respelled(rng, old),
            // Line ends of a style that the file may not have.
            88..95 => pick(rng, &["x\ny", "x\r\ny\r\n", "\r\n", "\n", "x\r", "\rx", "\r\n\r\nx"]).to_owned(),
            _ => pick(rng, &["$&", "$$`$'", "\\1", "\\n", "\u{feff}", "\u{0}", "😀\u{301}"]).to_owned(),
        }
    }
}

/// Where the characters of a text start.
struct Borders<'t>(&'t str);

impl<'t> Borders<'t> {
    /// Nothing for an empty text.
    fn of(text: &'t str) -> Option<Borders<'t>> {
        (!text.is_empty()).then_some(Borders(text))
    }

    /// The last start at or before a byte.
    fn at(&self, byte: usize) -> usize {
        (0..=byte).rev().find(|at| self.0.is_char_boundary(*at)).unwrap_or(0)
    }

    /// So many characters further on.
    fn after(&self, start: usize, count: usize) -> usize {
        self.0[start..].char_indices().nth(count).map_or(self.0.len(), |(at, _)| start + at)
    }

    /// So many characters back.
    fn before(&self, end: usize, count: usize) -> usize {
        self.0[..end].char_indices().rev().take(count).last().map_or(end, |(at, _)| at)
    }
}

/// The same text with each line end written in one way or the other.
fn respelled(rng: &mut Rng, text: &str) -> String {
    match rng.u32(..4) {
        0 => text.replace("\r\n", "\n"),
        1 => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        2 => {
            let lines: Vec<String> = text.replace("\r\n", "\n").split('\n').map(str::to_owned).collect();
            let mut spelled = String::new();
            for (number, line) in lines.iter().enumerate() {
                if number > 0 {
                    spelled.push_str(pick(rng, &["\n", "\r\n"]));
                }
                spelled.push_str(line);
            }
            spelled
        }
        _ => text.to_owned(),
    }
}

/// Nearly the same text.
fn spoiled(rng: &mut Rng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return "?".to_owned();
    }
    let at = rng.usize(..characters.len());
    match rng.u32(..4) {
        0 => characters[at] = '?',
        1 => drop(characters.remove(at)),
        2 => characters.insert(at, ' '),
        _ => characters.insert(at, characters[at]),
    }
    characters.into_iter().collect()
}

/// One of several.
pub(super) fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}
