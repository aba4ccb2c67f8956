use std::cell::Cell;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::edit::Endless;
use crate::edit::oracle;

#[track_caller]
fn check(content: &str, old_string: &str, expected: Expect) {
    assert!(!view_of(content).contains(&*view_of(old_string)), "a match is no near miss");
    let Search { near_misses, stopped } = search(content.as_bytes(), true, old_string, 4 << 20, &Endless);
    assert_eq!(stopped, None);
    let shown: Vec<String> = near_misses
        .iter()
        .map(|near| {
            let reasons: Vec<&str> = near.reasons.iter().map(|reason| reason.text()).collect();
            format!("{}-{} {:?}: {}", near.start_line, near.end_line, near.lines, reasons.join(", "))
        })
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn spaces_where_the_file_has_tabs() {
    check(
        "\tif x {\n\t\ty()\n\t}\n",
        "    if x {\n        y()\n    }",
        expect![[r#"1-3 ["\tif x {", "\t\ty()", "\t}"]: tabs or spaces"#]],
    );
    check("a\tb\n", "a b", expect![[r#"1-1 ["a\tb"]: tabs or spaces"#]]);
    check("a b\n", "a\tb", expect![[r#"1-1 ["a b"]: tabs or spaces"#]]);
}

#[test]
fn another_indentation() {
    check(
        "fn f() {\n        one();\n        two();\n}\n",
        "    one();\n    two();",
        expect![[r#"2-3 ["        one();", "        two();"]: indentation"#]],
    );
    check("  a\n  b\n", "    a\n    b\n", expect![[r#"1-2 ["  a", "  b"]: indentation"#]]);
    check("x\n\ta\n\t\tb\n", "\ta\n\tb", expect![[r#"2-3 ["\ta", "\t\tb"]: indentation"#]]);
}

#[test]
fn blanks_at_line_ends() {
    check("a  \nb\n", "a\nb", expect![[r#"1-2 ["a  ", "b"]: blanks at line ends"#]]);
    check("a\nb\n", "a \nb", expect![[r#"1-2 ["a", "b"]: blanks at line ends"#]]);
    check("a\nb\n", "b ", expect![[r#"2-2 ["b"]: blanks at line ends"#]]);
    check("a\n\t\nb\n", "a\n\nb", expect![[r#"1-3 ["a", "\t", "b"]: blanks at line ends"#]]);
}

#[test]
fn other_blanks_inside_a_line() {
    check("if (x)  {\n", "if (x) {", expect![[r#"1-1 ["if (x)  {"]: white space"#]]);
    check("f( x )\n", "f(x)", expect![[r#"1-1 ["f( x )"]: white space"#]]);
    check("a b\n", "  b", expect![[r#"1-1 ["a b"]: white space"#]]);
}

#[test]
fn other_blank_lines() {
    check("a\n\nb\n", "a\nb", expect![[r#"1-3 ["a", "", "b"]: white space"#]]);
    check("a\nb", "a\nb\n", expect![[r#"1-2 ["a", "b"]: white space"#]]);
}

#[test]
fn look_alikes() {
    check(
        "it’s “fine” – really\n",
        "it's \"fine\" - really",
        expect![[r#"1-1 ["it’s “fine” – really"]: quotes or dashes that look alike"#]],
    );
    check("it's\n", "it’s", expect![[r#"1-1 ["it's"]: quotes or dashes that look alike"#]]);
}

#[test]
fn unusual_spaces_are_no_quotes_or_dashes() {
    check("a\u{a0}b\n", "a b", expect![[r#"1-1 ["a\u{a0}b"]: white space"#]]);
    check("a\u{200b}b\n", "ab", expect![[r#"1-1 ["a\u{200b}b"]: white space"#]]);
    check("a\u{2009}b\n", "a\u{202f}b", expect![[r#"1-1 ["a\u{2009}b"]: white space"#]]);
}

#[test]
fn another_normal_form() {
    check("le cafe\u{301} noir\n", "café", expect![[r#"1-1 ["le cafe\u{301} noir"]: Unicode normal form"#]]);
    check("le café noir\n", "cafe\u{301} noir", expect![[r#"1-1 ["le café noir"]: Unicode normal form"#]]);
    // Part of a character is no near miss.
    check("café\n", "cafE", expect![[""]]);
}

#[test]
fn no_fold_makes_a_character_four_times_as_long() {
    for character in ('\0'..=char::MAX).map(String::from) {
        let folded = Folded::new(&character, &Endless);
        assert!(folded.bytes().len() < 4 * character.len(), "{character:?}");
    }
}

#[test]
fn pasted_line_numbers() {
    check(
        "one\ntwo\nthree\n",
        "2: two\n3: three",
        expect![[r#"2-3 ["two", "three"]: a line-number prefix in old_string"#]],
    );
    check(
        "one\ntwo\n\nthree\n",
        "     2→two\n     3→\n     4→three",
        expect![[r#"2-4 ["two", "", "three"]: a line-number prefix in old_string"#]],
    );
    check(
        "one\ntwo\n",
        "1\tone\n2\ttwo\n",
        expect![[r#"1-2 ["one", "two"]: a line-number prefix in old_string"#]],
    );
    check(
        "one\n\n  two\n",
        "one\n2:\n3:   two",
        expect![[r#"1-3 ["one", "", "  two"]: a line-number prefix in old_string"#]],
    );
    check(
        "one\n\ttwo\n",
        "1: one\n2:     two",
        expect![[r#"1-2 ["one", "\ttwo"]: a line-number prefix in old_string, tabs or spaces"#]],
    );
    check("port: 80\n", "3: port: 8080", expect![[""]]);
}

#[test]
fn doubled_and_missing_escapes() {
    check(
        "print(\"a\\nb\")\n",
        "print(\"a\\\\nb\")",
        expect![[r#"1-1 ["print(\"a\\nb\")"]: doubled backslash escapes"#]],
    );
    check(
        "print(\"a\\nb\")\n",
        "print(\"a\nb\")",
        expect![[r#"1-1 ["print(\"a\\nb\")"]: doubled backslash escapes"#]],
    );
    check("a\nb\n", "a\\nb", expect![[r#"1-2 ["a", "b"]: doubled backslash escapes"#]]);
    check("say \"hi\"\n", "say \\\"hi\\\"", expect![[r#"1-1 ["say \"hi\""]: doubled backslash escapes"#]]);
    check("x = \\\"a  b\\\"\n", "\\\"a b\\\"", expect![[r#"1-1 ["x = \\\"a  b\\\""]: white space"#]]);
}

#[test]
fn letter_case() {
    check("Hello World\n", "hello world", expect![[r#"1-1 ["Hello World"]: letter case"#]]);
    check("ÉCOLE\n", "école", expect![[r#"1-1 ["ÉCOLE"]: letter case"#]]);
}

#[test]
fn several_reasons_at_once() {
    check(
        "\tName = “Ann”  \n\tage = 3\n",
        "    name = \"Ann\"\n    age  = 3",
        expect![[
            r#"1-2 ["\tName = “Ann”  ", "\tage = 3"]: tabs or spaces, blanks at line ends, white space, quotes or dashes that look alike, letter case"#
        ]],
    );
}

#[test]
fn line_ends_are_no_reason() {
    check(
        "\tA\r\n\tb\r\n",
        "    a\n    b\n",
        expect![[r#"1-2 ["\tA", "\tb"]: tabs or spaces, letter case"#]],
    );
    check("a  \r\nb\r\n", "a\r\nb", expect![[r#"1-2 ["a  ", "b"]: blanks at line ends"#]]);
    check(
        "one\r\ntwo\r\nthree\r\n",
        "one\ntwo\n3\n",
        expect![[r#"1-3 ["one", "two", "three"]: some of its lines"#]],
    );
}

#[test]
fn most_lines_are_there() {
    check(
        "begin\n k1\n k2\n k3\nend\n",
        "begin\n k1\n k7\n k3\nend",
        expect![[r#"1-5 ["begin", " k1", " k2", " k3", "end"]: some of its lines"#]],
    );
    check(
        "a\nbegin\n\tk1\n\tk2\n\tk3\nend\nb\n",
        "begin\n    k1\n    k7\n    k3\nend\n",
        expect![[r#"2-6 ["begin", "\tk1", "\tk2", "\tk3", "end"]: some of its lines, tabs or spaces"#]],
    );
    // A line that the file does not have any more, and one that it has now.
    check(
        "one\ntwo\nfour\nfive\n",
        "one\ntwo\nthree\nfour\nfive",
        expect![[r#"1-4 ["one", "two", "four", "five"]: some of its lines"#]],
    );
    check(
        "one\ntwo\nx\nfour\nfive\n",
        "one\ntwo\nfour\nfive",
        expect![[r#"1-5 ["one", "two", "x", "four", "five"]: some of its lines"#]],
    );
    check(
        "0\none\ntwo\nfour\nfive\n6\n",
        "one\ntwo\nthree\nfour\nfive\n",
        expect![[r#"2-5 ["one", "two", "four", "five"]: some of its lines"#]],
    );
    // Half of two lines: the long one has to be there.
    check(
        "a long line that is there\nx\n",
        "a long line that is there\ny",
        expect![[r#"1-2 ["a long line that is there", "x"]: some of its lines"#]],
    );
    check("a long line\n}\n", "another line\n}", expect![[""]]);
}

#[test]
fn the_best_come_first_and_there_are_three() {
    check(
        "A  B\na  b\nA B\na\tb\na   b\n",
        "a b",
        expect![[r#"
        2-2 ["a  b"]: white space
        3-3 ["A B"]: letter case
        4-4 ["a\tb"]: tabs or spaces"#]],
    );
}

#[test]
fn nothing_near() {
    check("one two\n", "three", expect![[""]]);
    check("one two\n", "\n\n\n", expect![[""]]);
    check("", "a", expect![[""]]);
}

#[test]
fn long_places_are_cut() {
    let line = "é".repeat(300);
    let content = format!("{line}\r\n").repeat(9);
    let old_string = format!("{line} \n").repeat(9);
    let found = search(content.as_bytes(), true, &old_string, 4 << 20, &Endless);
    let near = &found.near_misses[0];
    assert_eq!((near.start_line, near.end_line, near.lines.len()), (1, 9, 5));
    assert_eq!(near.lines[0], "é".repeat(200));
    assert_eq!(near.reasons, [NearMissReason::TrailingBlanks]);
}

#[test]
fn a_byte_order_mark_is_neither_shown_nor_counted() {
    let found = search("\u{feff}A\n".as_bytes(), true, "a", 4 << 20, &Endless);
    assert_eq!(found.near_misses[0].lines, ["A"]);
    assert_eq!(found.near_misses[0].reasons, [NearMissReason::LetterCase]);
}

#[test]
fn the_byte_budget_ends_the_search_within_a_character() {
    let content = "éé\nHello\n".as_bytes();
    for budget in 0..content.len() as u64 {
        let found = search(content, true, "hello", budget, &Endless);
        assert_eq!(found.stopped, Some(SearchStop::Bytes));
        assert_eq!(found.near_misses.len(), usize::from(budget >= 10));
    }
    assert_eq!(search(content, true, "hello", content.len() as u64, &Endless).stopped, None);
}

/// Patience for so many looks at the clock.
struct Looks(Cell<u32>);

impl Patience for Looks {
    fn is_over(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

#[test]
fn the_time_budget_ends_the_search_wherever_it_is() {
    let content = format!("{}\nHello  World\n", "line\n".repeat(100_000));
    let patient = search(content.as_bytes(), true, "hello world", 4 << 20, &Endless);
    for looks in 1..40 {
        let found = search(content.as_bytes(), true, "hello world", 4 << 20, &Looks(Cell::new(looks)));
        match found.stopped {
            Some(stop) => assert_eq!(stop, SearchStop::Time),
            None => assert_eq!(found, patient),
        }
    }
    assert_eq!(
        search(content.as_bytes(), true, "x", 4 << 20, &Looks(Cell::new(1))).stopped,
        Some(SearchStop::Time)
    );
}

#[track_caller]
fn asked_at_least(times: u32, content: &str, old_string: &str) {
    let looks = Looks(Cell::new(u32::MAX));
    search(content.as_bytes(), true, old_string, 4 << 20, &looks);
    let asked = u32::MAX - looks.0.get();
    assert!(asked >= times, "{asked} looks at the clock");
}

/// 4 MiB of these were seconds of work between two looks at the clock.
#[test]
fn places_within_a_character_outlasted_the_time_budget() {
    asked_at_least(900, &"İ".repeat(1_000), "\u{307}i");
}

#[test]
fn many_short_lines_outlasted_the_time_budget() {
    asked_at_least(100_000 * 2 / 4_096, &"\n".repeat(100_000), "a\nb");
    asked_at_least(100_000 * 2 / 4_096, "x", &"a\nb\n".repeat(50_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn near_misses_are_well_formed(
        (content, old_string) in oracle::content_and_needle(),
        noise in "[ \tAaé\\\\n\u{301}]{0,3}",
    ) {
        let old_string = format!("{noise}{old_string}");
        let found = search(&content, true, &old_string, 1000, &Endless);
        prop_assert!(found.near_misses.len() <= NearMiss::MAX_COUNT);
        let lines = oracle::view(&content).split(|byte| *byte == b'\n').count() as u64;
        for near in found.near_misses {
            prop_assert!(!near.reasons.is_empty());
            prop_assert!(1 <= near.start_line && near.start_line <= near.end_line && near.end_line <= lines);
            prop_assert_eq!(near.lines.len() as u64, (near.end_line - near.start_line + 1).min(5));
        }
    }

    #[test]
    fn blanks_alone_never_hide_a_text(
        words in prop::collection::vec("[a-c]{1,3}", 2..6),
        here in prop::collection::vec("[ \t]{1,2}|\n", 5),
        there in prop::collection::vec("[ \t]{1,2}|\n", 5),
    ) {
        let join = |gaps: &[String]| -> String {
            words.iter().zip(gaps).flat_map(|(word, gap)| [word.as_str(), gap]).collect()
        };
        let (content, old_string) = (join(&there), join(&here));
        let old_string = old_string.trim_end();
        let found = search(content.as_bytes(), true, old_string, 1000, &Endless);
        if !content.contains(old_string) {
            prop_assert!(!found.near_misses.is_empty());
            let blanks = [
                NearMissReason::WhiteSpace,
                NearMissReason::TabsOrSpaces,
                NearMissReason::Indentation,
                NearMissReason::TrailingBlanks,
            ];
            prop_assert!(found.near_misses[0].reasons.iter().all(|reason| blanks.contains(reason)));
        }
    }
}
