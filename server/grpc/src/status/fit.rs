//! Cutting what a status carries to what trailers may hold.
//!
//! Peers accept headers of 8 KiB. The message travels percent-encoded (up to three bytes for one), the details as
//! base64 (four for three) and with a second copy of the message; the bounds here leave room for both and for the
//! other headers. What is cut is cut on a character boundary, and marked.

use prost::Message as _;
use toolfs_contract::v1::fs_error::Detail;
use toolfs_contract::v1::{FsError, NearMiss};

/// Bytes of a status's encoded details.
pub(super) const MAX_DETAILS_BYTES: usize = 4_500;

const MAX_MESSAGE_BYTES: usize = 400;
const MAX_WORD_BYTES: usize = 160;

/// What stands for the text that was cut.
const CUT: &str = "…";

/// How long the texts of an error may be, one step after the other, until it fits. The detail gives way before the
/// path does.
const STEPS: [Bounds; 6] = [
    Bounds { path: 1_024, message: 400, detail: 200 },
    Bounds { path: 1_024, message: 400, detail: 100 },
    Bounds { path: 512, message: 400, detail: 60 },
    Bounds { path: 256, message: 200, detail: 60 },
    Bounds { path: 256, message: 200, detail: 30 },
    Bounds { path: 128, message: 128, detail: 15 },
];

#[derive(Clone, Copy)]
struct Bounds {
    path: usize,
    message: usize,
    detail: usize,
}

/// A message within its bound.
pub(super) fn message(text: &str) -> String {
    let mut text = text.to_owned();
    cut(&mut text, MAX_MESSAGE_BYTES);
    text
}

/// A dynamic word within its bound.
pub(super) fn word(text: &str) -> String {
    let mut text = text.to_owned();
    cut(&mut text, MAX_WORD_BYTES);
    text
}

/// An error of at most `max_bytes`. `detail_truncated` says whether something was lost.
pub(super) fn fs_error(error: FsError, max_bytes: usize) -> FsError {
    let whole = FsError { detail_truncated: Some(false), ..error };
    if whole.encoded_len() <= max_bytes {
        return whole;
    }
    let mut error = FsError { detail_truncated: Some(true), ..whole };
    bound_lists(&mut error);
    for bounds in STEPS {
        bound_texts(&mut error, bounds);
        if error.encoded_len() <= max_bytes {
            return error;
        }
    }
    FsError { detail: None, ..error }
}

/// Our own errors keep these bounds; one of another process need not.
fn bound_lists(error: &mut FsError) {
    match &mut error.detail {
        Some(Detail::NotFound(detail)) => detail.similar_names.truncate(3),
        Some(Detail::AmbiguousEdit(detail)) => detail.lines.truncate(20),
        Some(Detail::EditNotFound(detail)) => {
            detail.near_misses.truncate(3);
            for near_miss in &mut detail.near_misses {
                near_miss.lines.truncate(5);
                near_miss.reasons.truncate(10);
            }
        }
        Some(
            Detail::NotRegularFile(_)
            | Detail::NotText(_)
            | Detail::TooLarge(_)
            | Detail::OutOfRange(_)
            | Detail::Sandbox(_)
            | Detail::StaleVersion(_)
            | Detail::NotObserved(_)
            | Detail::InvalidArgument(_)
            | Detail::Unavailable(_)
            | Detail::Aborted(_),
        )
        | None => {}
    }
}

fn bound_texts(error: &mut FsError, bounds: Bounds) {
    cut(&mut error.path, bounds.path);
    cut(&mut error.rescue_path, bounds.path);
    cut(&mut error.message, bounds.message);
    cut(&mut error.remedy, bounds.message);
    for text in detail_texts(error) {
        cut(text, bounds.detail);
    }
}

/// The texts of the detail, but for versions: a cut version would be another one.
fn detail_texts(error: &mut FsError) -> Vec<&mut String> {
    match &mut error.detail {
        Some(Detail::NotFound(detail)) => detail.similar_names.iter_mut().collect(),
        Some(Detail::NotText(detail)) => vec![&mut detail.encoding_name],
        Some(Detail::TooLarge(detail)) => vec![&mut detail.limit_name],
        Some(Detail::Sandbox(detail)) => vec![&mut detail.rule],
        Some(Detail::EditNotFound(detail)) => {
            detail.near_misses.iter_mut().flat_map(near_miss_texts).collect()
        }
        Some(Detail::InvalidArgument(detail)) => {
            vec![&mut detail.field, &mut detail.actual, &mut detail.expected]
        }
        Some(Detail::Unavailable(detail)) => vec![&mut detail.text],
        Some(
            Detail::NotRegularFile(_)
            | Detail::OutOfRange(_)
            | Detail::StaleVersion(_)
            | Detail::NotObserved(_)
            | Detail::AmbiguousEdit(_)
            | Detail::Aborted(_),
        )
        | None => Vec::new(),
    }
}

fn near_miss_texts(near_miss: &mut NearMiss) -> impl Iterator<Item = &mut String> {
    near_miss.lines.iter_mut().chain([&mut near_miss.reason_text])
}

/// Cuts a text to at most `max_bytes`, on a character boundary, the mark of the cut included.
fn cut(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes - CUT.len()));
        text.push_str(CUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_marked() {
        for (text, expected) in [
            ("short", "short"),
            ("0123456789abcdef", "0123456789abcdef"),
            ("0123456789abcdefg", "0123456789abc…"),
            ("0123456789abéééé", "0123456789ab…"),
            ("ééééééééé", "éééééé…"),
        ] {
            let mut text = text.to_owned();
            cut(&mut text, 16);
            assert_eq!(text, expected);
            assert!(text.len() <= 16);
        }
    }
}
