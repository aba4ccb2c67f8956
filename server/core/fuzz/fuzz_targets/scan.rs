//! A scan in pieces is the scan of the whole, and both say what the standard library says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfs_core::text::{TextScanner, summarize};

// The first byte is the size of the pieces.
fuzz_target!(|input: &[u8]| {
    let Some((size, content)) = input.split_first() else { return };
    let mut scanner = TextScanner::new();
    let fed = content.chunks(usize::from(*size).max(1)).try_for_each(|piece| scanner.feed(piece));
    let scanned = fed.and_then(|()| scanner.finish());
    let whole = summarize(content);
    assert_eq!(scanned, whole);

    let invalid = std::str::from_utf8(content).err().map(|error| (error.valid_up_to() as u64, false));
    let nul = content.iter().position(|byte| *byte == 0).map(|at| (at as u64, true));
    let expected = invalid.into_iter().chain(nul).min();
    assert_eq!(whole.err().map(|no| (no.byte_offset, no.is_nul)), expected);

    let Ok(summary) = whole else { return };
    let text = std::str::from_utf8(content).expect("the scan says so");
    let shown = text.strip_prefix('\u{feff}').unwrap_or(text);
    assert_eq!(summary.total_lines, shown.split_inclusive('\n').count() as u64);
    assert_eq!(summary.crlf_count, text.matches("\r\n").count() as u64);
    assert_eq!(summary.lf_count + summary.crlf_count, text.matches('\n').count() as u64);
});
