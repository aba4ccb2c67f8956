//! Writers that have a file open while it is replaced: they are told from the file, never written past.

use std::process::{Command, Stdio};

use toolfs_core::error::{Code, ErrorKind, FsError, Published, UnavailableCause};
use toolfs_core::guard::WriteGuard;

use super::*;
use crate::fcntl::{Lease, Writers};

fn open_to_write(path: &Path) -> fs::File {
    fs::File::options().write(true).open(path).unwrap()
}

fn lease(file: &fs::File) -> Writers<'_> {
    Lease::take(std::os::fd::AsFd::as_fd(file))
}

#[track_caller]
fn assert_open_for_writing(error: &FsError, published: Published) {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting };
    assert_eq!((error.kind(), error.published()), (&kind, published), "{error:?}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_file_that_somebody_writes_to_is_not_replaced() {
    for step in [Step::Create, Step::Publish, Step::Exchange] {
        let bench = Bench::new();
        bench.put("f", "seen");
        let (path, (send, writer)) = (bench.root.join("f"), std::sync::mpsc::channel());
        bench.once_at(step, move || send.send(open_to_write(&path)).unwrap());
        let error = bench.write("f", "ours", WriteGuard::Unconditional).await.unwrap_err();
        assert_open_for_writing(&error, Published::No);
        assert_eq!(bench.get("f").as_deref(), Some("seen"), "{step:?}");
        assert_eq!(bench.names(), ["f"], "{step:?}");
        // What the writer writes is in the file that has the name.
        let mut writer = writer.recv().unwrap();
        std::io::Write::write_all(&mut writer, b"late").unwrap();
        assert_eq!(bench.get("f").as_deref(), Some("late"), "{step:?}");
        drop(writer);
        bench.write("f", "ours", WriteGuard::Unconditional).await.unwrap();
        assert_eq!(bench.get("f").as_deref(), Some("ours"));
    }
}

/// Whoever reads does not count, and our own handles do not either.
#[tokio::test]
async fn readers_keep_nobody_from_replacing() {
    let bench = Bench::new();
    bench.put("f", "0");
    let reader = fs::File::open(bench.root.join("f")).unwrap();
    for count in 1..4 {
        bench.write("f", &count.to_string(), WriteGuard::Unconditional).await.unwrap();
    }
    drop(reader);
    assert_eq!(bench.get("f").as_deref(), Some("3"));
}

/// It has the new content open already, so that stays in its place.
#[tokio::test]
async fn a_writer_of_the_new_content_keeps_it_and_what_was_displaced_is_rescued() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let (path, (send, writer)) = (bench.root.join("f"), std::sync::mpsc::channel());
    let (mut exchanged, mut opened) = (false, false);
    bench.at_steps(move |due| {
        if due == Step::Exchange && !exchanged {
            exchanged = true;
            fs::write(path.with_extension("new"), "theirs").unwrap();
            fs::rename(path.with_extension("new"), &path).unwrap();
        } else if due == Step::TakeBack && !opened {
            opened = true;
            send.send(open_to_write(&path)).unwrap();
        }
        Ok(())
    });
    let error = bench.write("f", "ours", WriteGuard::Unconditional).await.unwrap_err();
    assert_open_for_writing(&error, Published::Maybe);
    drop(writer.recv().unwrap());
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
    assert_eq!(fs::read_to_string(error.rescue_path().unwrap()).unwrap(), "theirs");
    assert_eq!(bench.names().len(), 2);
}

/// The signal that the kernel sends then would end a process that did not ask for a harmless one.
#[test]
fn a_foreign_process_that_opens_for_writing_waits_for_the_lease_and_ends_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    fs::write(&path, "seen").unwrap();
    let file = fs::File::open(&path).unwrap();
    let Writers::None(held) = lease(&file) else { panic!("nobody writes") };
    assert!(!held.is_contested());
    let mut foreign = Command::new("sh")
        .args(["-c", "echo theirs > f"])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    while !held.is_contested() {
        assert!(foreign.try_wait().unwrap().is_none(), "it waits");
        std::thread::yield_now();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "seen");
    drop(held);
    assert!(foreign.wait().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
}

/// A whole replacement with such a process in mid-way: its write is in the file that has the name.
///
/// That happens in a process of its own. Here a process that another test starts has, until it is another program, all
/// that is open, which looks like a writer for that long.
#[test]
fn a_process_that_opens_a_file_while_it_is_verified_loses_nothing() {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &own_name(module_path!(), "in_a_process_of_its_own"), "--ignored"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

const ALONE: &str = "TOOLFS_TEST_WRITER_ALONE";

#[tokio::test]
#[ignore = "run by the test above, alone in its process"]
async fn in_a_process_of_its_own() {
    if std::env::var_os(ALONE).is_none() {
        return;
    }
    let bench = Bench::new();
    // Large enough to be verified for a while.
    let seen = "0123456789abcdef".repeat(1 << 20);
    bench.put("f", &seen);
    let root = bench.root.clone();
    let (send, foreign) = std::sync::mpsc::channel();
    bench.once_at(Step::Verify, move || {
        // The file has its hidden name now: this opens what was displaced, as somebody does who looked it up before.
        let displaced = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap() != "f")
            .unwrap();
        let foreign = Command::new("sh")
            // It makes no file where none is: the hidden name may be gone by then.
            .args(["-c", "printf theirs | dd of=\"$0\" conv=nocreat,notrunc status=none 2>&-; true"])
            .arg(displaced)
            .stdin(Stdio::null())
            .spawn();
        send.send(foreign.unwrap()).unwrap();
    });
    let written = bench.write("f", "ours", WriteGuard::Unconditional).await;
    bench.no_hook();
    assert!(foreign.recv().unwrap().wait().unwrap().success());
    // It may have come before, during or after the verification, which took long; never is its write both gone and
    // unseen while the replacement was still to be judged.
    match written {
        Err(error) => {
            assert_eq!(error.code(), Code::Unavailable);
            assert!(bench.get("f").unwrap().starts_with("theirs6789"));
        }
        Ok(report) => {
            let judged_again = report.previous_size_bytes == Some(seen.len() as u64);
            assert!(judged_again, "the whole content was judged");
            assert_eq!(bench.get("f").as_deref(), Some("ours"));
        }
    }
    assert_eq!(bench.names(), ["f"]);
}
