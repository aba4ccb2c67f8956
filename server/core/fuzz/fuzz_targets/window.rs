//! A window in pieces is the window of the whole and keeps its caps, and pages laid end to end are all lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfs_core::window::{LineWindow, StopReason, WindowReader};

// The first five bytes are the size of the pieces and the window; what follows is the content, text or not.
fuzz_target!(|input: &[u8]| {
    let Some((&[size, first_line, max_lines, max_bytes, max_line_chars], content)) =
        input.split_first_chunk()
    else {
        return;
    };
    let at_least_one = |byte: u8| u64::from(byte).max(1);
    let mut window = LineWindow {
        first_line: at_least_one(first_line),
        max_lines: at_least_one(max_lines),
        max_bytes: at_least_one(max_bytes),
        max_line_chars: at_least_one(max_line_chars),
    };
    let mut reader = WindowReader::new(window);
    for piece in content.chunks(usize::from(size).max(1)) {
        if !reader.feed(piece) {
            break;
        }
    }
    let page = window.of(content);
    assert_eq!(reader.finish(), page);
    assert!(page.block.text_bytes() as u64 <= window.max_bytes);
    assert!(page.block.line_count() as u64 <= window.max_lines);
    assert!(page.block.lines().all(|line| line.text.chars().count() as u64 <= window.max_line_chars));

    window.first_line = 1;
    let mut lines = 0;
    loop {
        let page = window.of(content);
        lines += page.block.line_count();
        if page.stop == StopReason::EndOfFile {
            break;
        }
        assert!(page.block.line_count() > 0, "paging makes progress");
        window.first_line += page.block.line_count() as u64;
    }
    let shown = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    assert_eq!(lines, shown.split_inclusive(|byte| *byte == b'\n').count());
});
