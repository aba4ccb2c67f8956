//! What is no regular file, or only looks like one, is refused or read within bounds.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::FileKind;

use super::*;

fn serve(directory: &str, force_walk: bool) -> LocalProvider {
    let mut options = super::options();
    options.force_walk = force_walk;
    LocalProvider::open(&[RootSpec::new(directory)], options).unwrap()
}

async fn read(provider: &LocalProvider, path: &str) -> Result<LinesReport> {
    let target = provider.resolve_path(&AbortSignal::new(), path).await?;
    provider.read_lines(&AbortSignal::new(), &target.key, WINDOW).await
}

#[tokio::test]
async fn pipes_sockets_and_directories_are_refused_at_once() {
    let bench = Bench::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.root.join("pipe"), mode).unwrap();
    let _socket = UnixListener::bind(bench.root.join("socket")).unwrap();
    fs::create_dir(bench.root.join("directory")).unwrap();
    let started = Instant::now();
    for (name, kind) in
        [("pipe", FileKind::Fifo), ("socket", FileKind::Socket), ("directory", FileKind::Directory)]
    {
        let expected = ErrorKind::NotRegularFile { kind: Some(kind) };
        assert_eq!(bench.read(name).await.unwrap_err().kind(), &expected);
        assert_eq!(bench.write(name, "x", WriteGuard::Unconditional).await.unwrap_err().kind(), &expected);
        assert_eq!(bench.edit(name, "x", "y", EditGuard::Unconditional).await.unwrap_err().kind(), &expected);
    }
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(bench.names(), ["directory", "pipe", "socket"]);
}

#[tokio::test]
async fn devices_are_refused_and_not_read() {
    for force_walk in [false, true] {
        let provider = serve("/dev", force_walk);
        for name in ["zero", "null", "full"] {
            let error = read(&provider, name).await.unwrap_err();
            assert_eq!(
                error.kind(),
                &ErrorKind::NotRegularFile { kind: Some(FileKind::CharDevice) },
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn a_file_that_reports_no_size_is_read_by_content() {
    let provider = serve("/proc/self", false);
    let report = read(&provider, "status").await.unwrap();
    assert!(report.window.block.lines().next().unwrap().text.starts_with("Name:"));
    assert!(report.summary.size_bytes > 0);
}

/// A length holds for a file that reports no size too.
#[tokio::test]
async fn a_part_of_a_file_without_a_size_is_a_part() {
    use futures_util::StreamExt;
    use toolfs_provider::content::ContentPart;
    use toolfs_provider::request::ByteRange;

    let provider = serve("/proc/self", false);
    let key = provider.resolve_path(&AbortSignal::new(), "status").await.unwrap().key;
    for (range, text) in [
        (ByteRange { offset: 0, length: Some(5) }, Some("Name:")),
        (ByteRange { offset: 1, length: Some(3) }, Some("ame")),
        (ByteRange { offset: u64::MAX, length: None }, None),
    ] {
        let mut stream = provider.read_bytes(&AbortSignal::new(), &key, range).await.unwrap();
        if let Some(text) = text {
            assert_eq!(stream.parts.next().await.unwrap().unwrap(), ContentPart::Chunk(text.into()));
        }
        assert_eq!(stream.parts.next().await.unwrap().unwrap(), ContentPart::End(None));
    }
}

/// The offset of a range was cut to 8 TiB, and the bytes from there were sent as if they were those asked for.
#[tokio::test]
async fn a_range_far_out_in_a_huge_file_is_that_range() {
    use std::os::unix::fs::FileExt;

    use futures_util::StreamExt;
    use toolfs_provider::content::ContentPart;
    use toolfs_provider::request::ByteRange;

    let bench = Bench::new();
    let offset = 9 << 40;
    let file = fs::File::create(bench.root.join("f")).unwrap();
    file.write_all_at(b"far out", offset).unwrap();
    let range = ByteRange { offset, length: Some(3) };
    let key = bench.key("f").await;
    let mut stream = bench.provider.read_bytes(&AbortSignal::new(), &key, range).await.unwrap();
    assert_eq!(stream.parts.next().await.unwrap().unwrap(), ContentPart::Chunk("far".into()));
}

/// A buffer of the size that the file claimed was asked for, and not getting it ended the process.
#[tokio::test]
async fn an_edit_of_a_file_that_is_one_huge_hole_ends_the_call_and_not_the_process() {
    let bench = Bench::new();
    fs::File::create(bench.root.join("f")).unwrap().set_len(8 << 40).unwrap();
    let target = bench.key("f").await;
    let edit = EditRequest::new("a".to_owned(), "b".to_owned(), false).unwrap();
    let guard = EditGuard::Unconditional;
    let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
    // A kernel that promises any memory lets the call go on to hash the hole, which takes its time.
    let abort = AbortSignal::new();
    let stop = abort.clone();
    let timer = std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_secs(5));
        stop.fire(toolfs_core::error::AbortCause::DeadlineExceeded);
    });
    let error = bench.provider.edit_text(&abort, request).await.unwrap_err();
    timer.thread().unpark();
    timer.join().unwrap();
    assert!(matches!(error.code(), Code::Unavailable | Code::Aborted), "{error:?}");
}

#[tokio::test]
async fn the_entries_that_every_directory_has_are_no_similar_names() {
    let bench = Bench::new();
    for name in ["...", "..a"] {
        let error = bench.read(name).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::NotFound { similar_names: Vec::new() }, "{name}");
    }
}

/// The links of procfs lead anywhere, whatever their text says: only the text counts here, and it leads out.
#[tokio::test]
async fn magic_links_lead_nowhere() {
    for force_walk in [false, true] {
        let provider = serve("/proc/self", force_walk);
        for path in ["root", "root/etc/passwd", "cwd", "exe", "fd/../root/etc/hostname"] {
            let error = read(&provider, path).await.unwrap_err();
            assert_eq!(error.code(), Code::SandboxDenied, "{path}");
        }
    }
}

#[tokio::test]
async fn a_path_that_asks_for_a_directory_is_not_written() {
    let bench = Bench::new();
    let error = bench.write("new/", "x", WriteGuard::CreateIfAbsent).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: None });
    assert_eq!(bench.read("new/").await.unwrap_err().code(), Code::NotFound);
    assert_eq!(bench.names(), Vec::<String>::new());
}

/// The file grows while it is read: the pass ends where the file ended when it was opened.
#[tokio::test]
async fn a_growing_file_does_not_hold_a_pass() {
    let bench = Bench::new();
    bench.put("log", "one\n");
    let disk = bench.provider.disk();
    let open = disk.open_file(&bench.key("log").await).unwrap();
    bench.put("log", "one\ntwo\n");
    let version = crate::read::version(disk, &open, &AbortSignal::new()).unwrap();
    assert_eq!(version, toolfs_core::version::Version::of(b"one\n"));
}

#[tokio::test]
async fn a_file_that_shrinks_under_a_stream_has_no_version() {
    use futures_util::StreamExt;
    use toolfs_provider::content::ContentPart;
    use toolfs_provider::request::ByteRange;

    let bench = Bench::new();
    bench.put("f", &"x".repeat(600_000));
    let key = bench.key("f").await;
    let mut stream = bench.provider.read_bytes(&AbortSignal::new(), &key, ByteRange::WHOLE).await.unwrap();
    assert!(matches!(stream.parts.next().await, Some(Ok(ContentPart::Chunk(_)))));
    bench.put("f", "short");
    assert_eq!(stream.parts.next().await.unwrap().unwrap(), ContentPart::End(None));
}
