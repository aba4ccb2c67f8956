//! What is remembered of a file serves reads as long as nothing changed, and never a guard.

use std::time::Duration;

use toolfs_core::error::Code;
use toolfs_core::guard::WriteGuard;
use toolfs_core::version::Version;

use super::*;
use crate::CacheStatistics;

/// A text of many lines that has been left alone for long enough to be remembered.
fn settled(bench: &Bench, path: &str, word: &str) {
    let lines: String = (1..=60_000).map(|number| format!("{word} line {number}\n")).collect();
    bench.put(path, &lines);
    let file = fs::File::options().append(true).open(bench.root.join(path)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
}

async fn line(bench: &Bench, number: u64) -> (String, LinesReport) {
    let key = bench.key("f").await;
    let window = LineWindow { first_line: number, max_lines: 1, ..WINDOW };
    let report = bench.provider.read_lines(&AbortSignal::new(), &key, window).await.unwrap();
    let text = report.window.block.lines().next().map(|line| line.text.to_owned());
    (text.unwrap_or_default(), report)
}

/// A provider whose clock is far enough ahead of the files' time stamps.
fn later() -> Bench {
    #[derive(Debug)]
    struct Later;
    impl Clock for Later {
        fn now(&self) -> Timestamp {
            Timestamp(HostClock.now().0 + 60_000)
        }
    }
    Bench::with(|options| options.clock = Arc::new(Later))
}

fn is_remembered(bench: &Bench) -> bool {
    let disk = bench.provider.disk();
    let file = fs::File::open(bench.root.join("f")).unwrap();
    disk.cache.recall(&crate::root::facts(&file).unwrap()).is_some()
}

#[tokio::test]
async fn a_remembered_window_is_the_window_of_a_pass() {
    let bench = later();
    settled(&bench, "f", "some");
    let mut first = Vec::new();
    for number in [60_000, 1, 30_000, 31_111, 60_001, 60_002] {
        let fresh = later();
        settled(&fresh, "f", "some");
        first.push((number, line(&fresh, number).await.1));
    }
    line(&bench, 1).await;
    for (number, expected) in first {
        assert_eq!(is_remembered(&bench), is_trusted_here(&bench));
        assert_eq!(line(&bench, number).await.1, expected, "line {number}");
    }
}

fn is_trusted_here(bench: &Bench) -> bool {
    let file = fs::File::open(bench.root.join("f")).unwrap();
    let facts = crate::root::facts(&file).unwrap();
    crate::stat_cache::is_worth_remembering(&file, &facts, Timestamp(i64::MAX))
}

#[tokio::test]
async fn a_change_is_seen_by_the_next_read() {
    let bench = later();
    settled(&bench, "f", "some");
    assert_eq!(line(&bench, 30_000).await.0, "some line 30000");
    settled(&bench, "f", "SOME");
    assert_eq!(line(&bench, 30_000).await.0, "SOME line 30000");
}

#[tokio::test]
async fn a_file_that_changed_just_now_is_not_remembered() {
    let bench = Bench::new();
    settled(&bench, "f", "some");
    line(&bench, 1).await;
    assert!(!is_remembered(&bench), "its change time is now, whatever its content's time says");
}

#[tokio::test]
async fn a_guard_that_fails_forgets() {
    let bench = later();
    settled(&bench, "f", "some");
    line(&bench, 1).await;
    let wrong = toolfs_core::version::Version::of(b"never there");
    let error = bench.write("f", "new", WriteGuard::ReplaceIfVersion(wrong)).await.unwrap_err();
    assert_eq!(error.code(), Code::StaleVersion);
    assert!(!is_remembered(&bench));
}

/// What is remembered is wrong, as after a store through a shared mapping, and only the last look before publication
/// tells.
#[tokio::test]
async fn a_guard_that_fails_just_before_publication_forgets_too() {
    let bench = later();
    settled(&bench, "f", "some");
    let version = line(&bench, 1).await.1.version;
    let (path, disk) = (bench.root.join("f"), bench.provider.disk().clone());
    bench.once_at(Step::Publish, move || {
        fs::write(&path, "theirs").unwrap();
        let facts = crate::root::facts(fs::File::open(&path).unwrap()).unwrap();
        disk.cache.remember(crate::stat_cache::Learned {
            facts,
            summary: toolfs_core::text::summarize(b"wrong").unwrap(),
            version: toolfs_core::version::Version::of(b"wrong"),
            marks: crate::stat_cache::Marks::default(),
        });
    });
    let error = bench.write("f", "ours", WriteGuard::ReplaceIfVersion(version)).await.unwrap_err();
    assert_eq!(error.code(), Code::StaleVersion);
    let report = line(&bench, 1).await.1;
    assert_eq!(report.version, toolfs_core::version::Version::of(b"theirs"));
}

#[tokio::test]
async fn what_is_remembered_and_how_often_it_helped_is_counted() {
    let bench = later();
    assert_eq!(bench.provider.cache_statistics(), CacheStatistics::default());
    settled(&bench, "f", "some");
    if !is_trusted_here(&bench) {
        return;
    }
    line(&bench, 1).await;
    let after_one = bench.provider.cache_statistics();
    assert_eq!((after_one.hits, after_one.misses, after_one.entries), (0, 1, 1));
    assert!(after_one.bytes > 0);
    line(&bench, 2).await;
    line(&bench, 3).await;
    let after_three = bench.provider.clone().cache_statistics();
    assert_eq!(after_three, CacheStatistics { hits: 2, ..after_one });
    bench.write("f", "short", WriteGuard::ReplaceIfVersion(Version::of(b"never"))).await.unwrap_err();
    let forgotten = bench.provider.cache_statistics();
    assert_eq!((forgotten.bytes, forgotten.entries), (0, 0));
}
