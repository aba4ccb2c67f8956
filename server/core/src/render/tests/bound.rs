use proptest::prelude::*;

use super::change::{edit_outcome, write_outcome};
use super::read::outcome;
use super::refusal::one_of_each;
use crate::error::{ErrorKind, FsError, NearMiss, NearMissReason, Published};
use crate::limit::Limits;
use crate::notice::{Notice, NoticeKind};
use crate::outcome::{EditOutcome, ReadOutcome, WriteOperation, WriteOutcome};
use crate::render::{self, MAX_CHANGE_BYTES, MAX_ERROR_BYTES, max_read_bytes};
use crate::window::{LineBlock, LineWindow};

/// Text of up to `max` characters of any width, newlines among them.
fn text(max: usize) -> impl Strategy<Value = String> {
    let character = prop::sample::select(vec!["a", "\n", "é", "語", "\u{1f600}"]);
    (character, 0..max).prop_map(|(character, count)| character.repeat(count))
}

fn notices() -> impl Strategy<Value = Vec<Notice>> {
    let notice = text(2_000).prop_map(|text| Notice::new(NoticeKind::NotAtomic, text));
    prop::collection::vec(notice, 0..40)
}

fn limits() -> impl Strategy<Value = Limits> {
    (1_u64..300, 1_u64..40).prop_map(|(max_window_bytes, max_limit_lines)| Limits {
        max_window_bytes,
        max_limit_lines,
        ..Limits::DEFAULT
    })
}

/// Errors of every kind, with longer texts and more details than any provider should send.
fn error() -> impl Strategy<Value = FsError> {
    let near_miss = (any::<u64>(), any::<u64>(), prop::collection::vec(text(2_000), 0..9));
    let near_miss = near_miss.prop_map(|(start_line, end_line, lines)| NearMiss {
        start_line,
        end_line,
        lines,
        reasons: vec![NearMissReason::LookAlikes; 30],
    });
    let kind = prop_oneof![
        prop::sample::select(one_of_each()).prop_map(|error| error.kind().clone()),
        prop::collection::vec(text(4_096), 0..9)
            .prop_map(|similar_names| ErrorKind::NotFound { similar_names }),
        text(4_096).prop_map(|rule| ErrorKind::SandboxDenied { rule }),
        (any::<u64>(), prop::collection::vec(any::<u64>(), 0..99))
            .prop_map(|(match_count, lines)| ErrorKind::AmbiguousEdit { match_count, lines }),
        prop::collection::vec(near_miss, 0..6)
            .prop_map(|near_misses| ErrorKind::EditNotFound { near_misses, search_stopped: None }),
        (text(4_096), text(4_096), text(4_096))
            .prop_map(|(field, actual, expected)| ErrorKind::InvalidArgument { field, actual, expected }),
    ];
    (kind, text(9_000), text(5_000), text(5_000), text(5_000)).prop_map(
        |(kind, message, path, remedy, rescue)| {
            FsError::new(kind, message)
                .with_path(path)
                .with_remedy(remedy)
                .with_rescue_path(rescue)
                .with_published(Published::Maybe)
        },
    )
}

proptest! {
    #[test]
    fn a_read_never_exceeds_its_bound(
        lines in prop::collection::vec((text(100), any::<Option<u64>>()), 0..60),
        first_line in any::<u64>(),
        total_lines in any::<u64>(),
        notices in notices(),
        limits in limits(),
    ) {
        let mut block = LineBlock::new(first_line);
        for (text, full_chars) in &lines {
            block.push(text, *full_chars, true);
        }
        let window = LineWindow { first_line: 1, max_lines: 1, max_bytes: 1, max_line_chars: 1 };
        let outcome = ReadOutcome { block, total_lines, notices, ..outcome(b"\xef\xbb\xbfa\r\nb\nc", window) };
        let text = render::read(&outcome, &limits);
        prop_assert!(text.len() as u64 <= max_read_bytes(&limits), "{} bytes", text.len());
    }

    #[test]
    fn a_full_window_shows_all_its_lines(lines in prop::collection::vec(text(90), 0..40), limits in limits()) {
        let text = lines.join("\n");
        let Limits { max_window_bytes: max_bytes, max_limit_lines: max_lines, .. } = limits;
        let window = LineWindow { first_line: 1, max_lines, max_bytes, max_line_chars: 50 };
        let outcome = outcome(text.as_bytes(), window);
        let shown = render::read(&outcome, &limits);
        for line in outcome.block.lines() {
            let found = shown.lines().any(|shown| shown.starts_with(&format!("{}: {}", line.number, line.text)));
            prop_assert!(found, "line {} is missing", line.number);
        }
        let next = shown.rsplit_once("continue with offset ").map(|(_, rest)| rest.trim_end_matches(')'));
        let next = next.map(|next| next.split(';').next().unwrap().parse::<u64>().unwrap());
        prop_assert_eq!(next, outcome.next_offset());
    }

    #[test]
    fn a_change_never_exceeds_its_bound(
        path in text(6_000),
        notices in notices(),
        ranges in prop::collection::vec(any::<(u64, u64, u64)>(), 0..40),
        total in any::<u64>(),
        dry_run in any::<bool>(),
    ) {
        let write = write_outcome(WriteOperation::Update, total, Some(total));
        let write = WriteOutcome { path: path.clone(), notices: notices.clone(), ..write };
        prop_assert!(render::write(&write, dry_run).len() <= MAX_CHANGE_BYTES);
        let edit = EditOutcome { path, notices, ..edit_outcome(total, &ranges, total.max(ranges.len() as u64)) };
        prop_assert!(render::edit(&edit, dry_run).len() <= MAX_CHANGE_BYTES);
    }

    #[test]
    fn an_error_never_exceeds_its_bound(error in error()) {
        let text = render::error(&error);
        prop_assert!(text.len() <= MAX_ERROR_BYTES, "{} bytes", text.len());
    }
}

#[test]
fn the_longest_path_is_shown_whole() {
    let path = format!("/{}", "x".repeat(4_095));
    let error = FsError::new(ErrorKind::NotDirectory, "no directory").with_path(path.clone());
    assert!(render::error(&error).contains(&path));
}
