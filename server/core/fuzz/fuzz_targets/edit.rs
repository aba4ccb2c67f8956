//! An edit reads as the text with the replacement, in pieces as in one, says what it changed, and explains itself
//! without a panic where it does not apply.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfs_core::diff::DiffResult;
use toolfs_core::edit::matcher::Needle;
use toolfs_core::edit::{EditRefusal, EditRequest, Endless, Rewrite, apply};
use toolfs_core::limit::Limits;

const LIMITS: Limits = Limits { max_file_bytes: Some(1 << 16), near_miss_bytes: 1 << 10, ..Limits::DEFAULT };

// The first number is the size of the pieces.
fuzz_target!(|input: (u8, bool, &str, &str, &str)| {
    let (size, replace_all, old_string, new_string, content) = input;
    let Ok(edit) = EditRequest::new(old_string.to_owned(), new_string.to_owned(), replace_all) else {
        return;
    };
    let view = view(content.strip_prefix('\u{feff}').unwrap_or(content));
    let (old, new) = (self::view(old_string), self::view(new_string));
    match apply(content.as_bytes(), &edit, &LIMITS, &Endless) {
        Ok(edited) => {
            assert_eq!(edited.matches.total, view.matches(&old).count() as u64);
            let result = std::str::from_utf8(&edited.content).expect("an edited text is a text");
            let shown =
                if content.starts_with('\u{feff}') { &result['\u{feff}'.len_utf8()..] } else { result };
            assert_eq!(self::view(shown), view.replace(&old, &new));
            assert_eq!(in_pieces(content, &edit, usize::from(size).max(1)), edited.content);
            let DiffResult::Computed(diff) = edited.diff else { panic!("a small diff is not left out") };
            assert!(!diff.hunks.is_empty() && edited.changed.total > 0);
        }
        Err(EditRefusal::NotText(_)) => assert!(content.contains('\0')),
        Err(EditRefusal::NotFound { near_misses, .. }) => {
            assert!(!view.contains(&old));
            assert!(near_misses.iter().all(|near| !near.reasons.is_empty()));
        }
        Err(EditRefusal::Ambiguous { match_count, lines }) => {
            let starts = view.char_indices().filter(|(at, _)| view[*at..].starts_with(&old)).count() as u64;
            assert!(!replace_all && starts > 1);
            assert_eq!(match_count, starts);
            assert_eq!(lines.len() as u64, starts.min(20));
        }
        Err(EditRefusal::TooLarge { limit_bytes, size_bytes }) => assert!(size_bytes > limit_bytes),
    }
});

fn view(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn in_pieces(content: &str, edit: &EditRequest, size: usize) -> Vec<u8> {
    let needle = Needle::new(edit.old_string());
    let before = toolfs_core::text::summarize(content.as_bytes()).expect("it was edited");
    let mut edited = Vec::new();
    let mut rewrite = Rewrite::all(edit, &needle, &before, None);
    for piece in content.as_bytes().chunks(size) {
        rewrite.feed(piece, &mut |bytes| edited.extend_from_slice(bytes));
    }
    rewrite.finish(&mut |bytes| edited.extend_from_slice(bytes));
    edited
}
