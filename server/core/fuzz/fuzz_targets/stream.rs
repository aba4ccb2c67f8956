//! An edit of a long file in pieces is the edit of the whole, and what is told of it is true.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfs_core::edit::matcher::Needle;
use toolfs_core::edit::{
    Changed, EditRefusal, EditRequest, Endless, Finding, Rewrite, Survey, Surveyed, apply,
};
use toolfs_core::limit::Limits;
use toolfs_core::text::summarize;
use toolfs_core::version::Version;

/// What comes before and after, so that the engine hands bytes on before the end.
const MOST_FILLING_BYTES: usize = 400 << 10;

#[derive(Debug)]
struct Input<'i> {
    cuts: &'i [u8],
    edit: EditRequest,
    max_diff_bytes: u64,
    content: Vec<u8>,
}

// The sizes of the pieces in units of 997 bytes, how far the filling is repeated on either side, the limit of the diff,
// the edit, the filling and the content.
fuzz_target!(|input: (&[u8], (u8, u8, u16), bool, &str, &str, &str, &str)| {
    let (cuts, (before, after, max_diff_bytes), replace_all, old_string, new_string, filling, content) =
        input;
    let Ok(edit) = EditRequest::new(old_string.to_owned(), new_string.to_owned(), replace_all) else {
        return;
    };
    let most = if filling.is_empty() { 0 } else { MOST_FILLING_BYTES / 255 / filling.len() };
    let content = [
        filling.repeat(usize::from(before) * most),
        content.to_owned(),
        filling.repeat(usize::from(after) * most),
    ]
    .concat()
    .into_bytes();
    check(&Input { cuts, edit, max_diff_bytes: u64::from(max_diff_bytes) + 1, content });
});

fn check(input: &Input<'_>) {
    let Input { edit, max_diff_bytes, content, .. } = input;
    let limits = Limits {
        max_diff_bytes: *max_diff_bytes,
        max_file_bytes: Some(16 << 20),
        near_miss_bytes: 1 << 10,
        ..Limits::DEFAULT
    };
    let applied = apply(content, edit, &limits, &Endless);
    let needle = Needle::new(edit.old_string());
    let mut survey = Survey::new(edit, &needle, Some(*max_diff_bytes));
    pieces(input).for_each(|piece| survey.feed(piece));
    let Surveyed { version, text } = survey.finish();
    assert_eq!(version, Version::of(content));
    let found = match text {
        Err(not_text) => return assert_eq!(applied, Err(EditRefusal::NotText(not_text))),
        Ok(found) => found,
    };
    assert_eq!(summarize(content), Ok(found.before));
    let ((edited, changed), size_bytes) = match found.finding {
        Finding::Nothing => return assert!(matches!(applied, Err(EditRefusal::NotFound { .. }))),
        Finding::Ambiguous { match_count, lines } => {
            return assert_eq!(applied, Err(EditRefusal::Ambiguous { match_count, lines }));
        }
        Finding::One(planned) => {
            let rewritten = rewrite(input, Rewrite::planned(&planned, &found.before, Some(*max_diff_bytes)));
            assert!(planned.changed.is_none_or(|foreseen| foreseen == rewritten.1));
            (rewritten, planned.size_bytes)
        }
        Finding::All { size_bytes, .. } if size_bytes > 16 << 20 => {
            return assert_eq!(applied, Err(EditRefusal::TooLarge { limit_bytes: 16 << 20, size_bytes }));
        }
        Finding::All { size_bytes, .. } => {
            let all = Rewrite::all(edit, &needle, &found.before, Some(*max_diff_bytes));
            (rewrite(input, all), size_bytes)
        }
    };
    let applied = applied.expect("it applies in pieces");
    assert_eq!(edited, applied.content);
    assert_eq!(size_bytes, edited.len() as u64);
    assert_eq!(changed.version, Version::of(&edited));
    assert_eq!(changed.matches, applied.matches);
    assert_eq!(changed.changed, applied.changed);
    assert_eq!(changed.diff, Some(applied.diff));
    if let Ok(after) = summarize(&edited) {
        assert_eq!(changed.after, after);
    }
}

fn pieces<'i>(input: &'i Input<'_>) -> impl Iterator<Item = &'i [u8]> {
    let mut rest = &input.content[..];
    let mut sizes = input.cuts.iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next().map_or(rest.len(), |size| usize::from(*size) * 997 + 1);
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn rewrite(input: &Input<'_>, mut rewrite: Rewrite<'_>) -> (Vec<u8>, Changed) {
    let mut edited = Vec::new();
    for piece in pieces(input) {
        rewrite.feed(piece, &mut |bytes| edited.extend_from_slice(bytes));
    }
    let changed = rewrite.finish(&mut |bytes| edited.extend_from_slice(bytes));
    (edited, changed)
}
