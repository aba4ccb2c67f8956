//! A guard is judged on bytes, however they came to be there, and whatever the time stamps and our memory say.
#![expect(unsafe_code, reason = "there is no safe way to store through a shared mapping")]

use std::os::fd::AsRawFd as _;
use std::time::Duration;

use toolfs_core::error::{Code, FsError};
use toolfs_core::version::Version;

use super::*;

/// The first page of a file, mapped as another process would.
struct Mapping(*mut u8);

const PAGE: usize = 4_096;

impl Mapping {
    fn of(path: &Path) -> Mapping {
        let file = fs::File::options().read(true).write(true).open(path).unwrap();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Mapping(start.cast())
    }

    fn store(&self, byte: u8) {
        // SAFETY: the page is mapped for as long as `self` lives, and the file is longer than a page.
        unsafe { self.0.write_volatile(byte) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody refers to it any more.
        unsafe { libc::munmap(self.0.cast(), PAGE) };
    }
}

/// A provider that remembers what it reads: its clock is far ahead of the files' time stamps.
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

fn content() -> String {
    (1..=2_000).map(|number| format!("line {number}\n")).collect()
}

/// Gives a file the time of change that it had long ago.
fn make_old(path: &Path) {
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
}

async fn version(bench: &Bench) -> Version {
    let key = bench.key("f").await;
    bench.provider.read_lines(&AbortSignal::new(), &key, WINDOW).await.unwrap().version
}

async fn change(bench: &Bench, is_edit: bool, version: Version) -> Result<Version, FsError> {
    if is_edit {
        let guard = EditGuard::ReplaceIfVersion(version);
        return bench.edit("f", "line 1999", "our line", guard).await.map(|report| report.version);
    }
    let guard = WriteGuard::ReplaceIfVersion(version);
    bench.write("f", "ours", guard).await.map(|report| report.version)
}

/// A change behind a guard is refused once, the content that was not seen stays, and reading again helps.
async fn is_refused_once(bench: &Bench, is_edit: bool, seen: Version) {
    let theirs = bench.get("f").unwrap();
    let error = change(bench, is_edit, seen).await.unwrap_err();
    assert_eq!(error.code(), Code::StaleVersion, "{is_edit} {error:?}");
    assert!(bench.get("f").as_deref() == Some(&*theirs));
    assert_eq!(version(bench).await, Version::of(theirs.as_bytes()), "what was remembered is dropped");
}

/// The page is written to by the process that mapped it before, so that a store moves no time stamp any more.
#[tokio::test]
async fn a_store_through_a_mapping_between_read_and_change_is_noticed() {
    for is_edit in [false, true] {
        let bench = later();
        bench.put("f", &content());
        let path = bench.root.join("f");
        let mapping = Mapping::of(&path);
        mapping.store(b'l');
        make_old(&path);
        let seen = version(&bench).await;
        assert_eq!(version(&bench).await, seen);
        mapping.store(b'L');
        is_refused_once(&bench, is_edit, seen).await;
        // While the mapping lives its process may store once more: where leases tell of it, nothing is replaced.
        let seen = version(&bench).await;
        match change(&bench, is_edit, seen.clone()).await {
            Ok(_) => continue,
            Err(error) => assert_eq!(error.code(), Code::Unavailable, "{error:?}"),
        }
        drop(mapping);
        change(&bench, is_edit, seen).await.unwrap();
    }
}

#[tokio::test]
async fn a_rewrite_of_the_same_size_with_the_old_time_between_read_and_change_is_noticed() {
    for is_edit in [false, true] {
        let bench = later();
        bench.put("f", &content());
        let path = bench.root.join("f");
        make_old(&path);
        let seen = version(&bench).await;
        fs::write(&path, content().replace("line 7\n", "LINE 7\n")).unwrap();
        make_old(&path);
        is_refused_once(&bench, is_edit, seen).await;
        let seen = version(&bench).await;
        change(&bench, is_edit, seen).await.unwrap();
    }
}

/// Time stamps, mode and inode are no content.
#[tokio::test]
async fn what_changed_no_byte_between_read_and_change_is_no_change() {
    for is_edit in [false, true] {
        for number in 0..4 {
            let bench = later();
            bench.put("f", &content());
            let path = bench.root.join("f");
            let seen = version(&bench).await;
            match number {
                0 => make_old(&path),
                1 => fs::write(&path, content()).unwrap(),
                2 => {
                    fs::write(path.with_extension("new"), content()).unwrap();
                    fs::rename(path.with_extension("new"), &path).unwrap();
                }
                _ => {
                    fs::write(&path, "something else").unwrap();
                    let _ = version(&bench).await;
                    fs::write(&path, content()).unwrap();
                }
            }
            change(&bench, is_edit, seen).await.unwrap();
        }
    }
}

/// Somebody else publishes between the match and our publication, again and again: each time it is matched anew, on
/// what is there then, and nothing of theirs is lost.
#[tokio::test]
async fn an_unguarded_edit_matches_again_as_often_as_it_is_overtaken() {
    for step in [Step::Write, Step::Publish, Step::Exchange] {
        let bench = Bench::new();
        bench.put("f", "old\n0\n");
        for round in 1..=3 {
            let path = bench.root.join("f");
            bench.once_at(step, move || {
                let beside = path.with_extension("theirs");
                fs::write(&beside, format!("old\n{round}\n")).unwrap();
                fs::rename(beside, &path).unwrap();
            });
            bench.edit("f", "old", "new", EditGuard::Unconditional).await.unwrap();
            assert_eq!(bench.get("f"), Some(format!("new\n{round}\n")), "{step:?}");
            bench.put("f", "old\n0\n");
        }
        // What was matched on is there no more.
        let path = bench.root.join("f");
        bench.once_at(step, move || {
            let beside = path.with_extension("theirs");
            fs::write(&beside, "theirs\n").unwrap();
            fs::rename(beside, &path).unwrap();
        });
        let error = bench.edit("f", "old", "new", EditGuard::Unconditional).await.unwrap_err();
        assert_eq!(error.code(), Code::EditNotFound, "{step:?}");
        assert_eq!(bench.get("f").as_deref(), Some("theirs\n"));
        assert_eq!(bench.names(), ["f"]);
    }
}
