use proptest::prelude::*;

use super::*;

/// Feeds `content` in pieces of the given sizes, used over and over.
fn scan(content: &[u8], sizes: &[usize]) -> Result<TextSummary, NotText> {
    let mut scanner = TextScanner::new();
    let mut rest = content;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        scanner.feed(piece)?;
        rest = after;
    }
    scanner.finish()
}

/// The same judgement, made the slow and plain way. The encoding is left to the scanner.
fn oracle(content: &[u8]) -> Result<TextSummary, (u64, bool)> {
    let invalid = std::str::from_utf8(content).err().map(|error| (error.valid_up_to() as u64, false));
    let nul = content.iter().position(|byte| *byte == 0).map(|at| (at as u64, true));
    if let Some(first) = invalid.into_iter().chain(nul).min() {
        return Err(first);
    }
    let text = std::str::from_utf8(content).unwrap();
    let shown = text.strip_prefix('\u{feff}').unwrap_or(text);
    let crlf_count = text.matches("\r\n").count() as u64;
    let lf_count = text.matches('\n').count() as u64 - crlf_count;
    let first_line_end =
        text.find('\n').map(|at| if text[..at].ends_with('\r') { LineEnd::Crlf } else { LineEnd::Lf });
    Ok(TextSummary {
        size_bytes: content.len() as u64,
        total_lines: shown.split_inclusive('\n').count() as u64,
        lf_count,
        crlf_count,
        first_line_end,
        ends_with_newline: text.ends_with('\n'),
        bom: text.starts_with('\u{feff}'),
    })
}

/// Pieces of text and, rarely, of what is none.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        40 => prop::sample::select(vec!["a", "\r", "\n", "\r\n", "é", "語", "\u{1f600}", "\u{feff}", "\u{7f}"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::sample::select(vec![
            &b"\0"[..], b"\xff", b"\xfe", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xf0\x80", b"\xed\xa0\x80",
            b"\xc0\xaf", b"\xf4\x90\x80\x80", b"h\0i\0",
        ])
        .prop_map(<[u8]>::to_vec),
    ]
}

/// Contents whose interesting bytes lie at the start, or around a border of the scanner's blocks.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let padding = prop_oneof![3 => Just(0), 1 => BLOCK_BYTES - 40..BLOCK_BYTES + 2];
    (padding, prop::collection::vec(fragment(), 0..60)).prop_map(|(padding, fragments)| {
        let mut content = vec![b'x'; padding];
        content.extend(fragments.concat());
        content
    })
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), prop::collection::vec(1_usize..90, 1..8), Just(vec![BLOCK_BYTES + 1])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_scan_is_what_the_plain_judgement_says(content in content()) {
        let judged = summarize(&content).map_err(|no| (no.byte_offset, no.is_nul));
        prop_assert_eq!(judged, oracle(&content));
    }

    #[test]
    fn a_scan_in_pieces_is_the_scan_of_the_whole(content in content(), sizes in sizes()) {
        prop_assert_eq!(scan(&content, &sizes), summarize(&content));
    }

    #[test]
    fn any_bytes_are_judged_alike_in_pieces(content in prop::collection::vec(any::<u8>(), 0..100), sizes in sizes()) {
        prop_assert_eq!(scan(&content, &sizes), summarize(&content));
        prop_assert_eq!(summarize(&content).map_err(|no| (no.byte_offset, no.is_nul)), oracle(&content));
    }

    #[test]
    fn a_pass_names_the_content_it_judged(content in content(), size in 1_usize..300) {
        let mut pass = TextPass::new();
        let fed = content.chunks(size).try_for_each(|piece| pass.feed(piece));
        let passed = fed.and_then(|()| pass.finish());
        let expected = summarize(&content).map(|summary| (summary, Version::of(&content)));
        prop_assert_eq!(passed, expected);
    }

    #[test]
    fn pairs_are_counted_across_the_runs(fragments in prop::collection::vec(fragment(), 0..900)) {
        let content = fragments.concat();
        let pairs = content.windows(2).filter(|pair| *pair == b"\r\n").count() as u64;
        prop_assert_eq!(crlf_pairs(&content), pairs);
    }
}

#[track_caller]
fn refused(content: &[u8], byte_offset: u64, is_nul: bool, encoding: Option<Encoding>) {
    for size in [1, 2, 3, content.len().max(1)] {
        assert_eq!(
            scan(content, &[size]),
            Err(NotText { byte_offset, is_nul, encoding }),
            "pieces of {size}"
        );
    }
}

#[test]
fn the_first_offending_byte_is_told() {
    refused(b"ab\0\xff", 2, true, None);
    refused(b"ab\xff\0", 2, false, None);
    refused(b"ab\xe2\x82\0", 2, false, None);
    refused(b"ab\xe2\x82", 2, false, None);
    refused(b"\xc3\xa9\xc3", 2, false, None);
    refused(b"na\xefve", 2, false, None);
}

#[test]
fn utf_16_is_named_with_and_without_a_mark() {
    refused(b"\xff\xfeh\0\n\0", 0, false, Some(Encoding::Utf16Le));
    refused(b"h\0i\0\r\0\n\0", 1, true, Some(Encoding::Utf16Le));
    refused(b"\0h\0i", 0, true, Some(Encoding::Utf16Be));
    refused(b"\xff\xfe\0\0h\0\0\0", 0, false, Some(Encoding::Utf32Le));
    refused(b"key=\"u\0v\"\n", 6, true, None);
}

#[test]
fn a_refusal_in_a_long_file_is_told_at_once_and_again() {
    let mut scanner = TextScanner::new();
    scanner.feed(&[b'x'; 200]).unwrap();
    let refusal = NotText { byte_offset: 200, is_nul: true, encoding: None };
    assert_eq!(scanner.feed(b"\0"), Err(refusal));
    assert_eq!(scanner.feed(b"fine"), Err(refusal));
    assert_eq!(scanner.finish(), Err(refusal));
}

#[test]
fn empty_files_and_marks_alone_have_no_line() {
    for (content, bom) in [(&b""[..], false), (BOM, true)] {
        let summary = summarize(content).unwrap();
        assert_eq!((summary.total_lines, summary.ends_with_newline, summary.bom), (0, false, bom));
        assert_eq!(summary.line_endings(), LineEndings::None);
    }
    assert_eq!(summarize(b"\n").unwrap().total_lines, 1);
    assert_eq!(summarize(b"\xef\xbb\xbf\n").unwrap().total_lines, 1);
    assert_eq!(summarize(b"a\r").unwrap().total_lines, 1);
}

#[test]
fn the_dominant_line_end_is_the_more_frequent_one_and_else_the_first() {
    let dominant = |content: &[u8]| summarize(content).unwrap().dominant_line_end();
    assert_eq!(dominant(b"a\r\nb\nc\n"), Some(LineEnd::Lf));
    assert_eq!(dominant(b"a\nb\r\nc\r\n"), Some(LineEnd::Crlf));
    assert_eq!(dominant(b"a\r\nb\n"), Some(LineEnd::Crlf));
    assert_eq!(dominant(b"a\nb\r\n"), Some(LineEnd::Lf));
    assert_eq!(dominant(b"a\rb"), None);
    assert_eq!(summarize(b"a\r\nb\n").unwrap().line_endings(), LineEndings::Mixed);
    assert_eq!(summarize(b"a\r\n").unwrap().line_endings(), LineEndings::Crlf);
}

#[test]
fn what_was_told_of_a_file_is_taken_only_when_it_can_be_true() {
    for content in
        ["", "\u{feff}", "a", "\n", "a\n", "a\nb", "a\r\n", "\r\n\r\nb", "a\r\nb\n", "\u{feff}a\nb\r\nc"]
    {
        let real = summarize(content.as_bytes()).unwrap();
        let told = |size_bytes, total_lines, endings, ends_with_newline, bom| {
            TextSummary::told(size_bytes, total_lines, endings, ends_with_newline, bom)
        };
        let (size, lines, end, bom) = (real.size_bytes, real.total_lines, real.ends_with_newline, real.bom);
        let kept = told(size, lines, real.line_endings(), end, bom).unwrap();
        assert_eq!(kept.line_endings(), real.line_endings(), "{content:?}");
        assert_eq!(kept.lf_count + kept.crlf_count, real.lf_count + real.crlf_count, "{content:?}");
        if real.line_endings() != LineEndings::Mixed {
            assert_eq!(kept, real, "{content:?}");
        }
        assert_eq!(told(size, size + 2, real.line_endings(), end, bom), None, "{content:?}");
    }
    let (none, lf, mixed) = (LineEndings::None, LineEndings::Lf, LineEndings::Mixed);
    let contradictions = [
        (0, 0, none, true, false),
        (1, 0, none, false, false),
        (5, 0, none, false, true),
        (2, 1, none, true, false),
        (2, 1, lf, false, false),
        (9, 1, mixed, true, false),
        (2, 2, mixed, true, false),
        (3, 2, LineEndings::Crlf, true, false),
        (1 << 62, 1 << 62, LineEndings::Crlf, true, true),
    ];
    for (size, lines, endings, end, bom) in contradictions {
        let told = TextSummary::told(size, lines, endings, end, bom);
        assert_eq!(told, None, "{size} {lines} {endings:?} {end} {bom}");
    }
}
