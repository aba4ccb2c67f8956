use expect_test::{Expect, expect};

use crate::diff::{ChangedRange, ChangedRanges, Diff, DiffResult};
use crate::edit::Matches;
use crate::guard::{EditGuard, WriteGuard};
use crate::notice::{Notice, NoticeKind};
use crate::outcome::{EditOutcome, WriteOperation, WriteOutcome};
use crate::render;
use crate::version::Version;

pub(super) fn write_outcome(
    operation: WriteOperation,
    size_bytes: u64,
    previous: Option<u64>,
) -> WriteOutcome {
    WriteOutcome {
        path: "/ws/src/main.rs".into(),
        operation,
        size_bytes,
        previous_size_bytes: previous,
        version: Version::of(b"new"),
        notices: Vec::new(),
        diff: DiffResult::Computed(Diff::default()),
        guard: WriteGuard::CreateIfAbsent,
    }
}

/// Ranges are (lines before, first line now, lines now).
pub(super) fn edit_outcome(replacements: u64, ranges: &[(u64, u64, u64)], total: u64) -> EditOutcome {
    let ranges = ranges.iter().map(|&(old_count, new_start, new_count)| ChangedRange {
        old_start: new_start,
        old_count,
        new_start,
        new_count,
    });
    EditOutcome {
        path: "/ws/src/main.rs".into(),
        replacements,
        replace_all: replacements > 1,
        changed: ChangedRanges { ranges: ranges.collect(), total },
        size_bytes: 1_234,
        version: Version::of(b"new"),
        notices: Vec::new(),
        diff: DiffResult::Computed(Diff::default()),
        matches: Matches::default(),
        guard: EditGuard::Unconditional,
    }
}

fn notices() -> Vec<Notice> {
    vec![
        Notice::new(NoticeKind::LineEndingsChanged, "line endings changed from CRLF to LF"),
        Notice::new(NoticeKind::HardLinksKeepOldContent, "2 other hard links keep the old content"),
    ]
}

#[track_caller]
fn check_write(outcome: &WriteOutcome, expected: Expect, dry_run: Expect) {
    expected.assert_eq(&render::write(outcome, false));
    dry_run.assert_eq(&render::write(outcome, true));
}

#[track_caller]
fn check_edit(outcome: &EditOutcome, expected: Expect, dry_run: Expect) {
    expected.assert_eq(&render::edit(outcome, false));
    dry_run.assert_eq(&render::edit(outcome, true));
}

#[test]
fn a_file_is_created() {
    check_write(
        &write_outcome(WriteOperation::Create, 1, None),
        expect!["created `/ws/src/main.rs` (1 byte)"],
        expect!["dry run, nothing was changed: this would create `/ws/src/main.rs` (1 byte)"],
    );
    check_write(
        &write_outcome(WriteOperation::Create, 0, None),
        expect!["created `/ws/src/main.rs` (0 bytes)"],
        expect!["dry run, nothing was changed: this would create `/ws/src/main.rs` (0 bytes)"],
    );
}

#[test]
fn a_file_is_replaced_with_notices() {
    let outcome =
        WriteOutcome { notices: notices(), ..write_outcome(WriteOperation::Update, 2_048, Some(1)) };
    check_write(
        &outcome,
        expect![[r#"
        replaced the content of `/ws/src/main.rs` (2048 bytes, before 1 byte)
        notice: line endings changed from CRLF to LF
        notice: 2 other hard links keep the old content"#]],
        expect![[r#"
        dry run, nothing was changed: this would replace the content of `/ws/src/main.rs` (2048 bytes, before 1 byte)
        notice: line endings changed from CRLF to LF
        notice: 2 other hard links keep the old content"#]],
    );
}

#[test]
fn one_place_is_edited() {
    check_edit(
        &edit_outcome(1, &[(1, 12, 1)], 1),
        expect![[r#"
        edited `/ws/src/main.rs`: 1 replacement (1234 bytes now)
        changed: line 12"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 1 replacement in `/ws/src/main.rs` (1234 bytes then)
        would change: line 12"#]],
    );
}

#[test]
fn several_places_are_edited_with_notices() {
    let outcome = EditOutcome {
        notices: notices(),
        ..edit_outcome(4, &[(1, 3, 4), (2, 9, 1), (3, 20, 0), (1, 21, 1)], 4)
    };
    check_edit(
        &outcome,
        expect![[r#"
        edited `/ws/src/main.rs`: 4 replacements (1234 bytes now)
        changed: lines 3-6, line 9, 3 lines removed after line 20, line 21
        notice: line endings changed from CRLF to LF
        notice: 2 other hard links keep the old content"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 4 replacements in `/ws/src/main.rs` (1234 bytes then)
        would change: lines 3-6, line 9, 3 lines removed after line 20, line 21
        notice: line endings changed from CRLF to LF
        notice: 2 other hard links keep the old content"#]],
    );
}

#[test]
fn the_first_lines_are_deleted() {
    check_edit(
        &edit_outcome(1, &[(2, 0, 0)], 1),
        expect![[r#"
        edited `/ws/src/main.rs`: 1 replacement (1234 bytes now)
        changed: 2 lines removed at the start"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 1 replacement in `/ws/src/main.rs` (1234 bytes then)
        would change: 2 lines removed at the start"#]],
    );
}

#[test]
fn many_places_are_counted() {
    let ranges: Vec<_> = (1..=100).map(|line| (1, line * 2, 1)).collect();
    check_edit(
        &edit_outcome(5_000, &ranges, 5_000),
        expect![[r#"
        edited `/ws/src/main.rs`: 5000 replacements (1234 bytes now)
        changed: line 2, line 4, line 6, line 8, line 10, line 12, line 14, line 16, line 18, line 20 and 4990 more places"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 5000 replacements in `/ws/src/main.rs` (1234 bytes then)
        would change: line 2, line 4, line 6, line 8, line 10, line 12, line 14, line 16, line 18, line 20 and 4990 more places"#]],
    );
    check_edit(
        &edit_outcome(11, &ranges[..11], 11),
        expect![[r#"
        edited `/ws/src/main.rs`: 11 replacements (1234 bytes now)
        changed: line 2, line 4, line 6, line 8, line 10, line 12, line 14, line 16, line 18, line 20 and 1 more place"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 11 replacements in `/ws/src/main.rs` (1234 bytes then)
        would change: line 2, line 4, line 6, line 8, line 10, line 12, line 14, line 16, line 18, line 20 and 1 more place"#]],
    );
}

#[test]
fn a_change_of_no_line_is_told_as_such() {
    check_edit(
        &edit_outcome(1, &[], 0),
        expect![[r#"
        edited `/ws/src/main.rs`: 1 replacement (1234 bytes now)
        changed: no line"#]],
        expect![[r#"
        dry run, nothing was changed: this would make 1 replacement in `/ws/src/main.rs` (1234 bytes then)
        would change: no line"#]],
    );
}
