//! An edit of a file in pieces is the edit of the whole, however it is cut.

use proptest::prelude::*;

use super::matcher::{Needle, Overlaps};
use super::*;
use crate::diff::{ChangedRange, DiffLeftOut, patched};
use crate::limit::Limits;
use crate::text::{BOM, LineEndings, summarize};
use crate::version::Version;

/// Large enough for every diff here.
const DIFF: Option<u64> = Some(1 << 20);

fn edit(old_string: &str, new_string: &str, replace_all: bool) -> EditRequest {
    EditRequest::new(old_string.into(), new_string.into(), replace_all).unwrap()
}

fn survey_of(pieces: &[&[u8]], step: usize, edit: &EditRequest, max_diff_bytes: Option<u64>) -> Surveyed {
    let needle = Needle::new(edit.old_string());
    let mut survey = Survey::new(edit, &needle, max_diff_bytes).in_steps(step);
    pieces.iter().for_each(|piece| survey.feed(piece));
    survey.finish()
}

fn rewrite_of(pieces: &[&[u8]], mut rewrite: Rewrite<'_>) -> (Vec<u8>, Changed) {
    let mut edited = Vec::new();
    for piece in pieces {
        rewrite.feed(piece, &mut |bytes| edited.extend_from_slice(bytes));
    }
    let changed = rewrite.finish(&mut |bytes| edited.extend_from_slice(bytes));
    (edited, changed)
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

/// The edited file and what is told of it, from both passes over these pieces.
fn edited_in(
    content: &[u8],
    pieces: &[&[u8]],
    step: usize,
    edit: &EditRequest,
    max_diff_bytes: Option<u64>,
) -> Option<(Vec<u8>, Changed)> {
    let needle = Needle::new(edit.old_string());
    let Surveyed { version, text } = survey_of(pieces, step, edit, max_diff_bytes);
    assert_eq!(version, Version::of(content));
    let Found { before, finding } = text.unwrap();
    assert_eq!(Ok(before), summarize(content));
    match finding {
        Finding::Nothing | Finding::Ambiguous { .. } => None,
        Finding::One(planned) => {
            let (edited, changed) =
                rewrite_of(pieces, Rewrite::planned(&planned, &before, max_diff_bytes).in_steps(step));
            let patch = &planned.patch;
            let patched =
                [&content[..index(patch.kept_until)], &patch.insert, &content[index(patch.resume_at)..]]
                    .concat();
            assert_eq!(patched, edited);
            assert_eq!(planned.size_bytes, edited.len() as u64);
            if let Some(foreseen) = planned.changed {
                assert_eq!(foreseen, changed);
            }
            Some((edited, changed))
        }
        Finding::All { count, size_bytes } => {
            let rewrite = Rewrite::all(edit, &needle, &before, max_diff_bytes).in_steps(step);
            let (edited, changed) = rewrite_of(pieces, rewrite);
            assert_eq!(size_bytes, edited.len() as u64);
            assert_eq!(changed.matches.total, count);
            Some((edited, changed))
        }
    }
}

/// What is told must be true of the edited file.
fn check_told(content: &[u8], edited: &[u8], changed: &Changed) {
    assert_eq!(changed.size_bytes, edited.len() as u64);
    assert_eq!(changed.version, Version::of(edited));
    assert_eq!(Ok(changed.after), summarize(edited));
    check_ranges(content, edited, &changed.changed);
    match &changed.diff {
        Some(DiffResult::Computed(diff)) => assert_eq!(patched(content, diff), edited),
        Some(DiffResult::LeftOut(_)) | None => {}
    }
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Ranges that are not cut off: what is outside of them is the same on both sides, in lines as in places, no two
/// touch, and none starts or ends with a line that both sides have.
fn check_ranges(content: &[u8], edited: &[u8], changed: &ChangedRanges) {
    let (old, new) = (lines(content), lines(edited));
    assert_eq!(changed.ranges.len() as u64, changed.total);
    let (mut old_at, mut new_at) = (0, 0);
    for (number, range) in changed.ranges.iter().enumerate() {
        let ChangedRange { old_start, old_count, new_start, new_count } = *range;
        let old_from = index(old_start - u64::from(old_count > 0));
        let new_from = index(new_start - u64::from(new_count > 0));
        assert!(number == 0 || old_from > old_at, "{changed:?}");
        assert_eq!(old[old_at..old_from], new[new_at..new_from], "{changed:?}");
        (old_at, new_at) = (old_from + index(old_count), new_from + index(new_count));
        assert!(old_count + new_count > 0);
        if old_count > 0 && new_count > 0 {
            assert_ne!(old[old_from], new[new_from], "{changed:?}");
            assert_ne!(old[old_at - 1], new[new_at - 1], "{changed:?}");
        }
    }
    assert_eq!(old[old_at..], new[new_at..], "{changed:?}");
}

/// Every way to cut a content into equal pieces, and into two.
fn every_cut(content: &[u8]) -> Vec<Vec<&[u8]>> {
    let equal = (1..=content.len().max(1)).map(|size| content.chunks(size).collect());
    let two = (1..content.len()).map(|at| vec![&content[..at], &content[at..]]);
    equal.chain(two).collect()
}

#[track_caller]
fn check_every_cut(content: &str, old_string: &str, new_string: &str, expected: &str) {
    for replace_all in [false, true] {
        let edit = edit(old_string, new_string, replace_all);
        for pieces in every_cut(content.as_bytes()) {
            for step in [1, 2, 5, 1000] {
                let (edited, changed) =
                    edited_in(content.as_bytes(), &pieces, step, &edit, DIFF).expect("it matches once");
                assert_eq!(std::str::from_utf8(&edited).unwrap(), expected, "{pieces:?} in steps of {step}");
                check_told(content.as_bytes(), &edited, &changed);
            }
        }
    }
}

#[test]
fn a_match_may_be_cut_anywhere() {
    check_every_cut("a\r\nb\r\nc\r\nd\n", "b\nc", "b\nx\nc", "a\r\nb\r\nx\r\nc\r\nd\n");
    check_every_cut("\u{feff}é\r\nü\n", "é\nü", "é\nö\nü", "\u{feff}é\r\nö\r\nü\n");
    check_every_cut("aabaabaaab", "aaab", "x", "aabaabx");
}

#[test]
fn a_lone_cr_that_meets_a_line_end_stays_visible_however_it_is_cut() {
    check_every_cut("a\nb", "a", "a\r", "a\r\r\nb");
    check_every_cut("a\rx\nb", "x", "", "a\r\r\nb");
    check_every_cut("a\rx\nb", "x", "\ny", "a\r\r\ny\nb");
    check_every_cut("\rx\n", "x\n", "\n", "\r\r\n");
    check_every_cut("x\n\ny\n", "x\n", "x\r", "x\r\r\ny\n");
}

#[test]
fn line_ends_that_only_the_rest_of_the_file_tells_are_right() {
    let content = "x\n".to_owned() + &"k\r\n".repeat(9);
    let expected = "a\r\nb\n".to_owned() + &"k\r\n".repeat(9);
    check_every_cut(&content, "x", "a\nb", &expected);
    // Without any line end in the file those of the new text stay.
    check_every_cut("x", "x", "a\r\nb\nc", "a\r\nb\nc");
}

#[test]
fn a_guess_that_was_wrong_is_told_and_its_patch_is_right() {
    let content = b"x\nk\r\nk\r\n";
    let Finding::One(planned) =
        survey_of(&[&content[..1], &content[1..]], 1, &edit("x", "a\nb", false), None).text.unwrap().finding
    else {
        panic!("it occurs once");
    };
    assert_eq!(planned.changed, None);
    assert_eq!(planned.patch, Patch { kept_until: 0, insert: b"a\r\nb".to_vec(), resume_at: 1 });
}

#[test]
fn what_is_no_text_still_has_a_version() {
    for content in
        [&b"a\0b needle"[..], b"needle \xff", &[b"a".repeat(300_000), b"\0 needle".to_vec()].concat()]
    {
        for replace_all in [false, true] {
            let edit = edit("needle", "x", replace_all);
            for size in [1, 7, 300_001] {
                let pieces: Vec<&[u8]> = content.chunks(size).collect();
                let surveyed = survey_of(&pieces, 1000, &edit, None);
                assert_eq!(surveyed.version, Version::of(content));
                assert_eq!(surveyed.text.map(|found| found.before), summarize(content));
            }
        }
    }
}

#[test]
fn a_size_is_judged_up_to_the_largest_number() {
    let refusal = EditRefusal::TooLarge { limit_bytes: 7, size_bytes: u64::MAX };
    assert_eq!(within_limit(u64::MAX, Some(7)), Err(refusal));
    assert_eq!(within_limit(7, Some(7)), Ok(()));
    assert_eq!(within_limit(u64::MAX, None), Ok(()));
}

#[test]
fn a_rewrite_of_other_bytes_than_were_surveyed_ends_in_another_version() {
    let content = b"one\ntwo\nthree\n";
    for (old, new, replace_all) in [("two", "2\n2", false), ("t", "\n", true)] {
        let edit = edit(old, new, replace_all);
        let needle = Needle::new(old);
        let found = survey_of(&[content], 1, &edit, DIFF).text.unwrap();
        for other in [&b""[..], b"one", b"one\ntw", b"one\r\nt\0\xfft\n\n\n\n", &b"t\r\n".repeat(99)] {
            let rewrite = match &found.finding {
                Finding::One(planned) => Rewrite::planned(planned, &found.before, DIFF),
                Finding::All { .. } => Rewrite::all(&edit, &needle, &found.before, DIFF),
                Finding::Nothing | Finding::Ambiguous { .. } => panic!("it matches"),
            };
            let (edited, changed) = rewrite_of(&[other], rewrite);
            assert_eq!(changed.version, Version::of(&edited));
        }
    }
}

#[test]
fn an_edit_without_a_diff_tells_the_same_lines() {
    let content = "x\nk\nk\nk\nk\nk\nk\nk\nk\nx\nx\n".repeat(40);
    let edit = edit("x", "y\nz", true);
    let (_, with) = edited_in(content.as_bytes(), &[content.as_bytes()], 9, &edit, DIFF).unwrap();
    let (_, without) = edited_in(content.as_bytes(), &[content.as_bytes()], 9, &edit, None).unwrap();
    let (_, left_out) = edited_in(content.as_bytes(), &[content.as_bytes()], 9, &edit, Some(20)).unwrap();
    assert_eq!(without.diff, None);
    assert!(matches!(left_out.diff, Some(DiffResult::LeftOut(_))));
    assert_eq!(with.changed, without.changed);
    assert_eq!(with.changed, left_out.changed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn an_edit_in_pieces_is_the_edit_of_the_whole(
        (content, old_string) in oracle::content_and_needle(),
        new_string in oracle::text(),
        replace_all in any::<bool>(),
        cuts in oracle::pieces(),
        step in 1..12_usize,
    ) {
        let Ok(edit) = EditRequest::new(old_string.clone(), new_string.clone(), replace_all) else { return Ok(()) };
        let pieces = oracle::cut(&content, &cuts);
        let applied = apply(&content, &edit, &Limits::DEFAULT, &Endless);
        let Some((edited, changed)) = edited_in(&content, &pieces, step, &edit, DIFF) else {
            let overlaps = if replace_all { Overlaps::Skipped } else { Overlaps::Counted };
            let found = oracle::naive_matches(&content, &old_string, overlaps);
            match survey_of(&pieces, step, &edit, DIFF).text.unwrap().finding {
                Finding::Ambiguous { match_count, lines } => {
                    prop_assert!(!replace_all && found.len() > 1);
                    prop_assert_eq!(applied, Err(EditRefusal::Ambiguous { match_count, lines }));
                    prop_assert_eq!(match_count, found.len() as u64);
                }
                Finding::Nothing => prop_assert!(found.is_empty() && applied.is_err()),
                finding => prop_assert!(false, "{:?}", finding),
            }
            return Ok(());
        };
        check_told(&content, &edited, &changed);
        let applied = applied.unwrap();
        prop_assert_eq!(&applied.content, &edited);
        prop_assert_eq!(&applied.matches, &changed.matches);
        prop_assert_eq!(&applied.changed, &changed.changed);
        prop_assert_eq!(Some(&applied.diff), changed.diff.as_ref());
        let seen = if content.starts_with(BOM) { oracle::view(&edited) } else {
            oracle::argument_view(std::str::from_utf8(&edited).unwrap())
        };
        prop_assert_eq!(seen, oracle::replaced_view(&content, &old_string, &new_string));
    }

    #[test]
    fn a_diff_is_left_out_exactly_when_its_lines_are_above_the_limit(
        (content, old_string) in oracle::content_and_needle(),
        new_string in oracle::text(),
        replace_all in any::<bool>(),
        cuts in oracle::pieces(),
        limit in 0..120_u64,
        step in 1..12_usize,
    ) {
        let Ok(edit) = EditRequest::new(old_string, new_string, replace_all) else { return Ok(()) };
        let pieces = oracle::cut(&content, &cuts);
        let Some((_, all)) = edited_in(&content, &pieces, step, &edit, DIFF) else { return Ok(()) };
        let (_, bounded) = edited_in(&content, &pieces, step, &edit, Some(limit)).unwrap();
        prop_assert_eq!(&bounded.changed, &all.changed);
        match bounded.diff.unwrap() {
            DiffResult::LeftOut(left_out) => {
                let DiffLeftOut::TooLarge { limit_bytes, size_bytes } = left_out else { panic!("{left_out:?}") };
                prop_assert!(limit_bytes == limit && size_bytes > limit);
                // The size does not depend on how much of it was counted only, and one byte less leaves it out.
                let (_, enough) = edited_in(&content, &pieces, step, &edit, Some(size_bytes)).unwrap();
                prop_assert_eq!(enough.diff, all.diff);
                let (_, too_little) = edited_in(&content, &pieces, step, &edit, Some(size_bytes - 1)).unwrap();
                let size_again = DiffLeftOut::TooLarge { limit_bytes: size_bytes - 1, size_bytes };
                prop_assert_eq!(too_little.diff, Some(DiffResult::LeftOut(size_again)));
            }
            computed @ DiffResult::Computed(_) => prop_assert_eq!(Some(computed), all.diff),
        }
    }

    #[test]
    fn long_files_with_hits_of_all_kinds_are_edited_alike_in_any_pieces(
        seed in prop::collection::vec(0..6_usize, 1..60),
        replace_all in any::<bool>(),
        cuts in prop::collection::vec(1..4000_usize, 1..6),
        step in prop_oneof![Just(3_usize), Just(100), Just(70_000)],
    ) {
        let part = ["needle", "\r\n", "\n", "needl needle\n", "é", "\r"];
        let content: String =
            seed.iter().enumerate().map(|(number, which)| part[*which].repeat(1 + number % 40)).collect();
        let edit = edit("needle", "nee\ndle", replace_all);
        let pieces = oracle::cut(content.as_bytes(), &cuts);
        if let Some((edited, changed)) = edited_in(content.as_bytes(), &pieces, step, &edit, DIFF) {
            let whole = edited_in(content.as_bytes(), &[content.as_bytes()], 256 << 10, &edit, DIFF);
            prop_assert_eq!(Some((edited.clone(), changed.clone())), whole);
            let told = Changed { changed: ChangedRanges::default(), ..changed };
            prop_assert_eq!(told.version, Version::of(&edited));
            prop_assert_eq!(Ok(told.after), summarize(&edited));
            if told.after.line_endings() == LineEndings::None {
                prop_assert!(!edited.contains(&b'\n'));
            }
        }
    }
}
