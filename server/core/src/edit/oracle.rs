//! A second, slow account of what an edit means, for the tests of this module to compare with.

use proptest::prelude::*;

use super::MatchRange;
use super::matcher::{Match, Overlaps};

/// The view of a file as bytes with, for each and for the end, the offset in the file where it starts.
pub(super) fn view_with_offsets(content: &[u8]) -> Vec<(u8, usize)> {
    let mut view = Vec::new();
    let mut at = if content.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while at < content.len() {
        if content[at] == b'\r' && content.get(at + 1) == Some(&b'\n') {
            view.push((b'\n', at));
            at += 2;
        } else {
            view.push((content[at], at));
            at += 1;
        }
    }
    view
}

/// The view of a file or an argument.
pub(super) fn view(content: &[u8]) -> Vec<u8> {
    view_with_offsets(content).into_iter().map(|(byte, _)| byte).collect()
}

/// The view of an argument: a byte order mark in it is text.
pub(super) fn argument_view(argument: &str) -> Vec<u8> {
    let mut view = Vec::new();
    let mut rest = argument.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\r' || after.first() != Some(&b'\n') {
            view.push(*first);
        }
        rest = after;
    }
    view
}

/// Every start compared with the needle.
pub(super) fn naive_matches(content: &[u8], old_string: &str, overlaps: Overlaps) -> Vec<Match> {
    let view = view_with_offsets(content);
    let needle = argument_view(old_string);
    let offset = |at: usize| view.get(at).map_or(content.len(), |(_, offset)| *offset) as u64;
    let line_ends = |bytes: &[(u8, usize)]| bytes.iter().filter(|(byte, _)| *byte == b'\n').count() as u64;
    let mut found = Vec::new();
    let mut at = 0;
    while at + needle.len() <= view.len() {
        let end = at + needle.len();
        if view[at..end].iter().map(|(byte, _)| byte).eq(&needle) {
            let start_line = 1 + line_ends(&view[..at]);
            let end_line = 1 + line_ends(&view[..end - 1]);
            found.push(Match { range: offset(at)..offset(end), lines: MatchRange { start_line, end_line } });
            at = match overlaps {
                Overlaps::Counted => at + 1,
                Overlaps::Skipped => end,
            };
        } else {
            at += 1;
        }
    }
    found
}

/// The text of a file with all matches replaced, as its reader would see it.
pub(super) fn replaced_view(content: &[u8], old_string: &str, new_string: &str) -> Vec<u8> {
    let view = view(content);
    let (old, new) = (argument_view(old_string), argument_view(new_string));
    let mut replaced = Vec::new();
    let mut at = 0;
    while at < view.len() {
        if view[at..].starts_with(&old) {
            replaced.extend_from_slice(&new);
            at += old.len();
        } else {
            replaced.push(view[at]);
            at += 1;
        }
    }
    replaced
}

/// Text over few characters, among them all that line ends are made of, a wide one and a byte order mark.
pub(super) fn text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        4 => Just("a"), 2 => Just("b"), 3 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r"), 1 => Just("é"),
        1 => Just("\u{feff}"),
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

/// A file, with or without a byte order mark, and something to look for that often occurs in it.
pub(super) fn content_and_needle() -> impl Strategy<Value = (Vec<u8>, String)> {
    (text(), any::<bool>(), any::<prop::sample::Index>(), 1..6_usize, text(), 0..5_u8).prop_map(
        |(file, bom, from, length, other, choice)| {
            let characters: Vec<char> = String::from_utf8(view(file.as_bytes())).unwrap().chars().collect();
            let from = from.index(characters.len().max(1)).min(characters.len());
            let part: String = characters[from..].iter().take(length).collect();
            let needle = if choice == 0 || part.is_empty() { other } else { part };
            let needle = if needle.is_empty() { "a".to_owned() } else { needle };
            let mut content = if bom { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
            content.extend_from_slice(file.as_bytes());
            (content, needle)
        },
    )
}

/// Sizes of pieces, for [`cut`].
pub(super) fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..7_usize, 1..8)
}

/// A content in pieces of these sizes, over and over.
pub(super) fn cut<'c>(content: &'c [u8], sizes: &[usize]) -> Vec<&'c [u8]> {
    let mut rest = content;
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        let size = if sizes.iter().all(|size| *size == 0) { 1 } else { *size };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    pieces
}

/// Takes bytes that must be there as they are; in front of a `\n` among them a `\r` may keep a `\r` apart.
pub(super) fn take<'r>(rest: &'r [u8], outside: &[u8]) -> &'r [u8] {
    let rest = match rest {
        [b'\r', after @ ..] if outside.first() == Some(&b'\n') => after,
        rest => rest,
    };
    rest.strip_prefix(outside).expect("bytes outside of a match stay as they are")
}

/// Takes text of which only line ends may be written otherwise.
pub(super) fn take_text<'r>(mut rest: &'r [u8], view: &[u8]) -> &'r [u8] {
    for byte in view {
        rest = match (byte, rest) {
            (b'\n', [b'\r', b'\n', after @ ..] | [b'\n', after @ ..]) => after,
            (byte, [first, after @ ..]) if byte == first => after,
            _ => panic!("the replacement is the new text"),
        };
    }
    rest
}
