//! What an edit holds of a file that is large or made to be hard, counted by the allocator.
//!
//! Every bound here is one of bytes or of steps; nothing looks at a clock.

mod counting;

use counting::peak_of;
use toolfs_core::diff::{ChangedRange, DiffLeftOut, DiffResult};
use toolfs_core::edit::matcher::Needle;
use toolfs_core::edit::{
    Changed, EditRequest, Endless, Finding, Found, Rewrite, Survey, Surveyed, near_miss, within_limit,
};
use toolfs_core::error::SearchStop;
use toolfs_core::limit::Limits;

const MIB: usize = 1 << 20;
const DIFF: Option<u64> = Some(Limits::DEFAULT.max_diff_bytes);
const PIECE: usize = 256 << 10;

/// A file that is never there as a whole.
#[derive(Clone)]
struct File {
    /// What repeats, how often, and what is between the two halves of it.
    unit: Vec<u8>,
    units: usize,
    middle: Vec<u8>,
}

impl File {
    fn new(unit: &str, size: usize, middle: &str) -> File {
        File { unit: unit.into(), units: size / unit.len(), middle: middle.into() }
    }

    fn size(&self) -> u64 {
        (self.unit.len() * self.units + self.middle.len()) as u64
    }

    /// Tells the file in pieces of one size.
    fn each(&self, mut take: impl FnMut(&[u8])) {
        let mut piece = Vec::with_capacity(PIECE + self.unit.len() + self.middle.len());
        for number in 0..=self.units {
            if number == self.units / 2 {
                piece.extend_from_slice(&self.middle);
            }
            if number < self.units {
                piece.extend_from_slice(&self.unit);
            }
            while piece.len() >= PIECE {
                take(&piece[..PIECE]);
                piece.drain(..PIECE);
            }
        }
        take(&piece);
    }
}

fn edit(old_string: &str, new_string: &str, replace_all: bool) -> EditRequest {
    EditRequest::new(old_string.into(), new_string.into(), replace_all).expect("a fine edit")
}

/// The survey of a file, and the most bytes that it held beyond the needle and the edit.
fn survey(file: &File, edit: &EditRequest, max_diff_bytes: Option<u64>) -> (Surveyed, usize) {
    let needle = Needle::new(edit.old_string());
    peak_of(|| {
        let mut survey = Survey::new(edit, &needle, max_diff_bytes);
        file.each(|piece| survey.feed(piece));
        survey.finish()
    })
}

fn rewrite(
    file: &File,
    edit: &EditRequest,
    found: &Found,
    max_diff_bytes: Option<u64>,
) -> ((Changed, u64), usize) {
    let needle = Needle::new(edit.old_string());
    peak_of(|| {
        let mut written = 0;
        let mut write = |bytes: &[u8]| written += bytes.len() as u64;
        let mut rewrite = Rewrite::all(edit, &needle, &found.before, max_diff_bytes);
        file.each(|piece| rewrite.feed(piece, &mut write));
        let changed = rewrite.finish(&mut write);
        (changed, written)
    })
}

#[track_caller]
fn changed_of(surveyed: Surveyed) -> Changed {
    let Finding::One(planned) = surveyed.text.expect("it is text").finding else { panic!("it occurs once") };
    planned.changed.expect("the line ends are those that were foreseen")
}

#[track_caller]
fn assert_below(peak: usize, bound: usize) {
    assert!(peak < bound, "{peak} bytes were held, {bound} are allowed");
}

#[test]
fn one_match_in_one_line_of_256_mib() {
    let file = File::new("x", 256 * MIB, "needle");
    let edit = edit("needle", "thread\nneedle", false);
    let (surveyed, peak) = survey(&file, &edit, None);
    assert_below(peak, 3 * MIB);
    let changed = changed_of(surveyed);
    assert_eq!(changed.size_bytes, file.size() + 7);
    let whole = ChangedRange { old_start: 1, old_count: 1, new_start: 1, new_count: 2 };
    assert_eq!(changed.changed.ranges, [whole]);

    let (surveyed, peak) = survey(&file, &edit, DIFF);
    assert_below(peak, 4 * MIB + 4 * MIB);
    // Both sides of the line, and nothing beside it.
    let size_bytes = 2 * file.size() + 7;
    let left_out = DiffLeftOut::TooLarge { limit_bytes: 4 << 20, size_bytes };
    assert_eq!(changed_of(surveyed).diff, Some(DiffResult::LeftOut(left_out)));
}

#[test]
fn one_match_among_ordinary_lines_costs_next_to_nothing() {
    let file = File::new("let value = compute(left, right);\r\n", 64 * MIB, "needle\r\n");
    let edit = edit("needle", "thread", false);
    for wanted in [None, DIFF] {
        let (surveyed, peak) = survey(&file, &edit, wanted);
        assert_below(peak, 3 * MIB / 2);
        let changed = changed_of(surveyed);
        let line = 64 * MIB as u64 / 35 / 2 + 1;
        let range = ChangedRange { old_start: line, old_count: 1, new_start: line, new_count: 1 };
        assert_eq!(changed.changed.ranges, [range]);
        if let Some(diff) = changed.diff {
            let DiffResult::Computed(diff) = diff else { panic!("{diff:?}") };
            assert_eq!(diff.hunks[0].lines.len(), 8);
        }
    }
}

#[test]
fn lines_of_a_mib_are_held_no_more_than_a_diff_of_them() {
    let line = "x".repeat(MIB) + "\n";
    let file = File::new(&line, 64 * MIB, "needle\n");
    let (surveyed, peak) = survey(&file, &edit("needle", "thread", false), None);
    assert_below(peak, 4 * MIB);
    assert_eq!(changed_of(surveyed).changed.total, 1);
    let (surveyed, peak) = survey(&file, &edit("needle", "thread", false), DIFF);
    // Six lines of context are above the limit.
    assert_below(peak, 4 * MIB + 5 * 4 * MIB);
    let left_out = DiffLeftOut::TooLarge { limit_bytes: 4 << 20, size_bytes: 6 * (MIB as u64 + 1) + 14 };
    assert_eq!(changed_of(surveyed).diff, Some(DiffResult::LeftOut(left_out)));
}

#[test]
fn needles_that_nearly_match_everywhere() {
    let nearly = "a".repeat(1000);
    for (unit, old_string) in [
        ("a", nearly.clone() + "b"),
        ("a", "b".to_owned() + &nearly),
        ("ab", "ab".repeat(500) + "c"),
        ("aaaaaaab", "a".repeat(7) + "c"),
        ("\r\n", "\n".repeat(999) + "x"),
        ("\r", "\r".repeat(999) + "\n"),
    ] {
        let file = File::new(unit, 16 * MIB, "-needle-");
        let (surveyed, peak) = survey(&file, &edit(&old_string, "x", false), None);
        assert_below(peak, 4 * MIB);
        assert_eq!(surveyed.text.expect("it is text").finding, Finding::Nothing);
    }
}

#[test]
fn a_needle_that_matches_at_every_byte_is_counted() {
    let file = File::new("a", 16 * MIB, "");
    let (surveyed, peak) = survey(&file, &edit(&"a".repeat(1000), "x", false), None);
    assert_below(peak, 3 * MIB);
    let expected = Finding::Ambiguous { match_count: file.size() - 999, lines: vec![1; 20] };
    assert_eq!(surveyed.text.expect("it is text").finding, expected);
}

#[test]
fn a_needle_of_several_mib_is_held_a_few_times() {
    let block = "0123456789abcde\n".repeat(4 * MIB / 16);
    let file = File::new("0123456789abcde\n", 32 * MIB, &("-".to_owned() + &block[..4 * MIB - 1]));
    let old_string = "-".to_owned() + &block[..4 * MIB - 1];
    let edit = edit(&old_string, "x\n", false);
    let (surveyed, peak) = survey(&file, &edit, None);
    assert_below(peak, 7 * 4 * MIB + 4 * MIB);
    assert_eq!(changed_of(surveyed).size_bytes, file.size() - 4 * MIB as u64 + 2);
}

#[test]
fn a_million_hits_are_never_listed() {
    let file = File::new("a needle in a line of text, and some more\n", 42 << 20, "");
    let edit = edit("needle", "pin", true);
    let (surveyed, peak) = survey(&file, &edit, None);
    assert_below(peak, 3 * MIB / 2);
    let found = surveyed.text.expect("it is text");
    let size = file.size() - 3 * (1 << 20);
    assert_eq!(found.finding, Finding::All { count: 1 << 20, size_bytes: size });
    for (wanted, bound) in [(None, 2 * MIB), (DIFF, 4 * MIB + 30 * MIB)] {
        let ((changed, written), peak) = rewrite(&file, &edit, &found, wanted);
        assert_below(peak, bound);
        assert_eq!((written, changed.matches.total, changed.changed.total), (size, 1 << 20, 1));
    }
}

#[test]
fn a_million_hits_in_one_line_or_in_lines_of_their_own() {
    for (unit, total) in [("ab", 1), ("a\n\n\n\n\n\n\n\n", 1 << 20)] {
        let file = File::new(unit, unit.len() << 20, "");
        let edit = edit("a", "", true);
        let (surveyed, _) = survey(&file, &edit, None);
        let found = surveyed.text.expect("it is text");
        let ((changed, _), peak) = rewrite(&file, &edit, &found, None);
        assert_below(peak, 3 * MIB);
        assert_eq!((changed.matches.total, changed.changed.total), (1 << 20, total));
    }
}

#[test]
fn the_size_of_an_amplifying_edit_is_known_without_its_bytes() {
    // 2^24 matches of 2^24 bytes each: 256 TiB. Were any of it made, this would not end.
    let file = File::new("a", 16 * MIB, "");
    let new_string = "b".repeat(16 * MIB);
    let edit = edit("a", &new_string, true);
    let (surveyed, peak) = survey(&file, &edit, DIFF);
    assert_below(peak, 16 * MIB + 4 * MIB);
    let Finding::All { count, size_bytes } = surveyed.text.expect("it is text").finding else {
        panic!("all")
    };
    assert_eq!((count, size_bytes), (1 << 24, 1 << 48));
    assert!(within_limit(size_bytes, Some(1 << 40)).is_err());

    // With line ends that only the file decides: still exact.
    let new_string = "b\n".repeat(4 * MIB);
    let crlf = File::new("aaaaaa\r\n", MIB, "");
    let edit = EditRequest::new("a".into(), new_string, true).expect("a fine edit");
    let (surveyed, peak) = survey(&crlf, &edit, None);
    assert_below(peak, 3 * 12 * MIB + 8 * MIB);
    let Finding::All { count, size_bytes } = surveyed.text.expect("it is text").finding else {
        panic!("all")
    };
    let matches = 6 * (MIB as u64 / 8);
    assert_eq!((count, size_bytes), (matches, matches * 12 * MIB as u64 + 2 * (MIB as u64 / 8)));
}

#[test]
fn near_misses_of_the_start_of_a_file_are_found_within_bounds() {
    let budget = Limits::DEFAULT.near_miss_bytes;
    let bytes = usize::try_from(budget).expect("it is small");
    for (text, old_string) in [
        ("a b ".repeat(bytes / 4 + 1), "b  a".to_owned()),
        ("\n".repeat(bytes + 8), "x\ny\n".to_owned()),
        ("x y\n".repeat(bytes / 4 + 1), "x  y\nz\n".repeat(1000)),
        ("é\n".repeat(bytes / 3 + 2), "e\nf".to_owned()),
        ("\u{fb2c}".repeat(bytes / 3 + 2), "x".to_owned()),
        ("x\n".repeat(bytes / 2 + 2), "x\n".repeat(bytes / 2 - 1) + "y"),
        (
            "abc\n".repeat(bytes / 4 + 1),
            (0..bytes / 4 - 1).map(|number| format!("{:03x}\n", number % 4096)).collect(),
        ),
        ("abc\n".repeat(bytes / 4 + 1), (0..bytes / 6 - 1).map(|number| format!("{number:05x}\n")).collect()),
    ] {
        let start = &text.as_bytes()[..bytes + 3];
        let (search, peak) = peak_of(|| near_miss::search(start, false, &old_string, budget, &Endless));
        assert_eq!(search.stopped, Some(SearchStop::Bytes));
        assert_below(peak, near_miss::MOST_HELD_PER_BYTE * (bytes + old_string.len()));
    }
}
