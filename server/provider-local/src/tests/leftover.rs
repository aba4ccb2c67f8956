//! A step that fails leaves the old content, no hidden file and no directory, or says that the new one is there.

use toolfs_core::error::{Code, ErrorKind, Published, UnavailableCause};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::*;

const ERRNOS: [(Errno, Code); 6] = [
    (Errno::IO, Code::IoError),
    (Errno::NOSPC, Code::NoSpace),
    (Errno::DQUOT, Code::NoSpace),
    (Errno::ROFS, Code::PermissionDenied),
    (Errno::MFILE, Code::Unavailable),
    (Errno::PERM, Code::PermissionDenied),
];

/// Fails `step` each time, and tells how often it was due.
fn fail_at(bench: &Bench, step: Step, errno: Errno) -> Arc<std::sync::atomic::AtomicUsize> {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = count.clone();
    bench.at_steps(move |due| {
        if due != step {
            return Ok(());
        }
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Err(errno)
    });
    count
}

fn variants() -> [Bench; 2] {
    [Bench::new(), Bench::with(|options| options.force_named_temporaries = true)]
}

#[tokio::test]
async fn a_creation_that_fails_at_any_step_leaves_nothing() {
    let mut reached = 0;
    for bench in variants() {
        for step in Step::ALL {
            for (errno, code) in ERRNOS {
                let count = fail_at(&bench, step, errno);
                let result = bench.write("a/b/new.txt", "content", WriteGuard::CreateIfAbsent).await;
                bench.no_hook();
                if count.load(std::sync::atomic::Ordering::Relaxed) == 0 {
                    assert!(result.is_ok(), "{step:?}");
                } else if step == Step::SyncDirectory {
                    let not_durable = result.unwrap().not_durable.unwrap();
                    assert_eq!((not_durable.code(), not_durable.published()), (code, Published::Yes));
                } else {
                    let error = result.unwrap_err();
                    assert_eq!(
                        (error.code(), error.published()),
                        (code, Published::No),
                        "{step:?} {errno:?}"
                    );
                    assert_eq!(bench.names(), Vec::<String>::new(), "{step:?} {errno:?}");
                    reached += 1;
                    continue;
                }
                assert_eq!(bench.get("a/b/new.txt").as_deref(), Some("content"));
                fs::remove_dir_all(bench.root.join("a")).unwrap();
            }
        }
    }
    assert_eq!(reached, 2 * ERRNOS.len() * 7, "parent, create, write, sync, publish, look, link");
}

#[tokio::test]
async fn a_replacement_that_fails_at_any_step_keeps_the_old_content() {
    let mut reached = 0;
    for bench in variants() {
        for step in Step::ALL {
            for (errno, code) in ERRNOS {
                bench.put("f", "old");
                let count = fail_at(&bench, step, errno);
                let result = bench.edit("f", "old", "new", EditGuard::Unconditional).await;
                bench.no_hook();
                if count.load(std::sync::atomic::Ordering::Relaxed) == 0 {
                    assert_eq!(result.unwrap().not_durable.map(|error| error.code()), None);
                    assert_eq!(bench.get("f").as_deref(), Some("new"), "{step:?}");
                } else if step == Step::SyncDirectory {
                    assert_eq!(result.unwrap().not_durable.unwrap().code(), code);
                    assert_eq!(bench.get("f").as_deref(), Some("new"));
                } else if step == Step::Remove {
                    result.unwrap();
                    assert_eq!(
                        bench.names().len(),
                        2,
                        "what could not be removed is there under its hidden name"
                    );
                    fs::remove_file(bench.root.join(&bench.names()[0])).unwrap();
                } else {
                    let error = result.unwrap_err();
                    assert_eq!(
                        (error.code(), error.published()),
                        (code, Published::No),
                        "{step:?} {errno:?}"
                    );
                    assert_eq!(bench.get("f").as_deref(), Some("old"), "{step:?} {errno:?}");
                    reached += 1;
                }
                assert_eq!(bench.names(), ["f"], "{step:?} {errno:?}");
            }
        }
    }
    assert_eq!(
        reached,
        2 * ERRNOS.len() * 10,
        "access, create, write, attributes, sync, name, publish, look, exchange, verify"
    );
}

/// Neither what was displaced nor our own content can be opened any more, as with an overload that lasts: what is in
/// the place is told by its inode and its time stamp.
#[test]
fn an_exchange_whose_verification_fails_is_taken_back_unseen() {
    unprivileged(|| {
        run(async {
            let bench = Bench::new();
            bench.put("f", "old");
            let root = bench.root.clone();
            bench.at_steps(move |due| {
                use std::os::unix::fs::PermissionsExt;
                if due == Step::Verify {
                    for entry in fs::read_dir(&root).unwrap() {
                        let nobody = fs::Permissions::from_mode(0o0);
                        fs::set_permissions(entry.unwrap().path(), nobody).unwrap();
                    }
                }
                Ok(())
            });
            let error = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap_err();
            bench.no_hook();
            assert_eq!((error.code(), error.published()), (Code::PermissionDenied, Published::No));
            assert_eq!(error.rescue_path(), None);
            assert_eq!(bench.names(), ["f"]);
            let path = bench.root.join("f");
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(path, readable).unwrap();
            assert_eq!(bench.get("f").as_deref(), Some("old"));
        });
    });
}

/// Verifying fails, and so does putting back: then only reading tells what is there, and nothing is lost.
#[tokio::test]
async fn what_cannot_be_put_back_is_kept_and_told() {
    let bench = Bench::new();
    bench.put("f", "old");
    bench.at_steps(|due| match due {
        Step::Verify | Step::TakeBack => Err(Errno::IO),
        _ => Ok(()),
    });
    let error = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap_err();
    bench.no_hook();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Maybe));
    assert_eq!(bench.get("f").as_deref(), Some("new"));
    let rescue = error.rescue_path().unwrap();
    assert_eq!(fs::read_to_string(rescue).unwrap(), "old");
}

#[tokio::test]
async fn a_parent_that_somebody_else_fills_meanwhile_stays() {
    let bench = Bench::new();
    let theirs = bench.root.join("a/theirs");
    bench.at_steps(move |due| match due {
        Step::Publish => {
            fs::write(&theirs, "x").unwrap();
            Err(Errno::IO)
        }
        _ => Ok(()),
    });
    bench.write("a/b/f", "new", WriteGuard::CreateIfAbsent).await.unwrap_err();
    assert_eq!(bench.get("a/theirs").as_deref(), Some("x"));
    assert!(!bench.root.join("a/b").exists());
}

#[tokio::test]
async fn an_abort_just_before_publication_changes_nothing() {
    for existing in [false, true] {
        let bench = Bench::new();
        if existing {
            bench.put("f", "old");
        }
        let abort = AbortSignal::new();
        let fired = abort.clone();
        bench.once_at(Step::Publish, move || fired.fire(toolfs_core::error::AbortCause::Cancelled));
        let request = WriteTextRequest {
            target: bench.key("f").await,
            content: Bytes::from_static(b"new"),
            guard: WriteGuard::Unconditional,
            want_diff: false,
            operation_id: None,
        };
        let error = bench.provider.write_text(&abort, request).await.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No));
        assert_eq!(bench.get("f").as_deref(), existing.then_some("old"));
        assert_eq!(bench.names().len(), usize::from(existing));
    }
}

/// The work goes on without its future, and the turn ends with the work.
#[tokio::test]
async fn a_dropped_write_lands_whole_and_frees_its_target() {
    let bench = Bench::new();
    bench.put("f", "old");
    let (started, wait_started) = std::sync::mpsc::channel();
    bench.once_at(Step::Write, move || started.send(()).unwrap());
    {
        let mut write = std::pin::pin!(bench.write("f", "new", WriteGuard::Unconditional));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while wait_started.try_recv().is_err() {
            assert!(write.as_mut().poll(&mut context).is_pending());
            tokio::task::yield_now().await;
        }
    }
    bench.no_hook();
    bench.edit("f", "new", "newer", EditGuard::Unconditional).await.unwrap();
    assert_eq!(bench.get("f").as_deref(), Some("newer"));
    assert_eq!(bench.names(), ["f"]);
}

/// What cannot be removed at once is not forgotten until the next start.
#[tokio::test]
async fn a_displaced_file_whose_removal_failed_goes_with_the_next_change_in_its_directory() {
    let bench = Bench::new();
    for path in ["d/f", "d/g"] {
        bench.put(path, "old");
    }
    let hidden = || fs::read_dir(bench.root.join("d")).unwrap().count() - 2;
    let fail = fail_at(&bench, Step::Remove, Errno::IO);
    bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap();
    bench.no_hook();
    assert_eq!((fail.load(std::sync::atomic::Ordering::Relaxed), hidden()), (1, 1));
    bench.write("d/g", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(hidden(), 0);
    assert!(!bench.provider.disk().looked.has_left());
    assert_eq!((bench.get("d/f").as_deref(), bench.get("d/g").as_deref()), (Some("new"), Some("new")));
}

/// An agent may make a file that is called like one of ours: only what was really left is ever put in order.
#[tokio::test]
async fn a_file_that_is_only_called_like_one_that_was_left_stays() {
    let bench = Bench::new();
    bench.put("f", "old");
    fail_at(&bench, Step::Remove, Errno::IO);
    bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    bench.no_hook();
    let instance = bench.provider.disk().instance;
    let other = format!(".toolfs-{instance}-ff-partial");
    bench.put(&other, "theirs");
    bench.write("f", "newer", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(bench.names(), [other.as_str(), "f"]);
}

/// The directory was moved away when the new file was there, and the new file cannot be removed: it may be there.
#[tokio::test]
async fn a_new_file_that_cannot_be_taken_back_is_not_told_as_absent() {
    let bench = Bench::new();
    bench.put("d/f", "theirs");
    let (directory, aside) = (bench.root.join("d"), bench.root.join("aside"));
    bench.at_steps(move |due| match due {
        Step::Link => fs::rename(&directory, &aside).map_err(|_| Errno::IO),
        Step::Withdraw => Err(Errno::IO),
        _ => Ok(()),
    });
    let error = bench.write("d/new", "content", WriteGuard::CreateIfAbsent).await.unwrap_err();
    bench.no_hook();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Maybe));
    assert_eq!(bench.get("aside/new").as_deref(), Some("content"));
}

/// As with an overload: nobody changed anything, and what was there a moment is gone again.
#[tokio::test]
async fn a_directory_that_cannot_be_looked_at_is_told_so_and_not_as_one_that_keeps_changing() {
    for failing in [1, 2] {
        for (path, existing, kept) in [("a/b/new", None, &[] as &[&str]), ("f", Some("old"), &["f"])] {
            let bench = Bench::new();
            if let Some(content) = existing {
                bench.put(path, content);
            }
            let mut looks = 0;
            bench.at_steps(move |due| {
                looks += usize::from(due == Step::LookAgain);
                if due == Step::LookAgain && looks >= failing { Err(Errno::MFILE) } else { Ok(()) }
            });
            let error = bench.write(path, "new", WriteGuard::Unconditional).await.unwrap_err();
            bench.no_hook();
            let overload = ErrorKind::Unavailable { cause: UnavailableCause::Overloaded };
            assert_eq!((error.kind(), error.published()), (&overload, Published::No), "{path} {failing}");
            assert_eq!(bench.get(path).as_deref(), existing, "{path} {failing}");
            assert_eq!(bench.names(), kept, "{path} {failing}");
        }
    }
}
