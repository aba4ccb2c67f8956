//! A file before and after somebody changed it.

use std::collections::BTreeMap;
use std::path::Path;

/// Larger files are left out: nobody changes generated ones by hunks.
const MAX_BYTES: usize = 1 << 20;

const BOM: &str = "\u{feff}";

/// A text file before and after.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Where it is from, to be told.
    pub(crate) origin: String,
    /// Its name, with which it is replayed.
    pub(crate) name: String,
    /// What it is written in, by its name.
    pub(crate) language: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// What there is to replay.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) pairs: Vec<Pair>,
    /// How many modified files are not replayed, by the reason.
    pub(crate) left_out: BTreeMap<&'static str, u64>,
    /// What could not be looked at at all, and why.
    pub(crate) missing: Vec<String>,
}

impl Gathered {
    /// Takes a modified file, if edits can make the one of the other.
    pub(crate) fn add(&mut self, origin: String, path: &Path, old: Vec<u8>, new: Vec<u8>) {
        let is_binary = |content: &[u8]| content.contains(&0);
        if is_binary(&old) || is_binary(&new) {
            return self.leave_out("binary");
        }
        if old.len().max(new.len()) > MAX_BYTES {
            return self.leave_out("larger than 1 MiB");
        }
        let (Ok(old), Ok(new)) = (String::from_utf8(old), String::from_utf8(new)) else {
            return self.leave_out("not UTF-8");
        };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let language = path.extension().map_or("none", |extension| extension.to_str().unwrap_or("none"));
        let language = language.to_lowercase();
        self.pairs.push(Pair { origin, name, language, old, new });
    }

    pub(crate) fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnds {
    None,
    Lf,
    CrLf,
    Mixed,
}

impl LineEnds {
    pub(crate) fn of(text: &str) -> LineEnds {
        let (all, crlf) = (text.matches('\n').count(), text.matches("\r\n").count());
        match (all, crlf) {
            (0, _) => LineEnds::None,
            (_, 0) => LineEnds::Lf,
            (all, crlf) if all == crlf => LineEnds::CrLf,
            _ => LineEnds::Mixed,
        }
    }
}

/// A text as the tools show it: without BOM, and with one kind of line end.
pub(crate) fn shown(text: &str) -> String {
    text.strip_prefix(BOM).unwrap_or(text).replace("\r\n", "\n")
}

/// A shown text as a file with this beginning and these line ends has it.
pub(crate) fn stored(shown: &str, has_bom: bool, line_ends: LineEnds) -> String {
    let lines = match line_ends {
        LineEnds::CrLf => shown.replace('\n', "\r\n"),
        LineEnds::None | LineEnds::Lf | LineEnds::Mixed => shown.to_owned(),
    };
    if has_bom { format!("{BOM}{lines}") } else { lines }
}

pub(crate) fn has_bom(text: &str) -> bool {
    text.starts_with(BOM)
}
