//! Reading holds the window and one piece, whatever the size of the file. Alone in its process, so that nobody
//! else's memory is counted.
#![expect(clippy::disallowed_methods, reason = "the test makes its file and looks at its own process")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::io::Write;
use std::sync::Arc;

use futures_util::StreamExt;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::Code;
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::content::ContentPart;
use toolfs_provider::{Provider, ProviderExt};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

const FILE_BYTES: usize = 192 << 20;
const LINE: &[u8] = b"a line of text that is as long as lines of text usually are, or so\n";
const ALLOWED_KIB: u64 = 12 << 10;

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

/// The largest resident size of this process so far, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn reading_a_large_file_takes_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let piece = LINE.repeat(10_000);
    let mut file = fs::File::create(directory.path().join("large")).unwrap();
    for _ in 0..FILE_BYTES / piece.len() {
        file.write_all(&piece).unwrap();
    }
    file.write_all(&vec![b'x'; 32 << 20]).unwrap();
    fs::File::create(directory.path().join("sparse")).unwrap().set_len(2 << 30).unwrap();
    drop((file, piece));
    let provider =
        LocalProvider::open(&[RootSpec::new(directory.path())], LocalOptions::new(Arc::new(Standing)))
            .unwrap();
    let abort = AbortSignal::new();
    let large = provider.resolve_path(&abort, "large").await.unwrap().key;
    let idle = peak_kib();

    let lines = (FILE_BYTES / (LINE.len() * 10_000) * 10_000) as u64;
    for first_line in [1, lines / 2, lines] {
        let window = LineWindow { first_line, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };
        let report = provider.read_lines(&abort, &large, window).await.unwrap();
        assert_eq!(report.summary.total_lines, lines + 1);
        assert!(report.window.block.line_count() > 1);
    }
    let mut stream = provider.read_text(&abort, &large).await.unwrap();
    let mut streamed = 0;
    while let Some(part) = stream.parts.next().await {
        match part.unwrap() {
            ContentPart::Chunk(chunk) => streamed += chunk.len() as u64,
            ContentPart::End(version) => assert!(version.is_some()),
        }
    }
    assert_eq!(streamed, stream.size_bytes);
    let sparse = provider.resolve_path(&abort, "sparse").await.unwrap().key;
    let window = LineWindow { first_line: 1, max_lines: 1, max_bytes: 100, max_line_chars: 100 };
    let refused = provider.read_lines(&abort, &sparse, window).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotText);

    let used = peak_kib() - idle;
    assert!(used < ALLOWED_KIB, "{used} KiB over idle");
}
