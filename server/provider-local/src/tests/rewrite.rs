//! Files whose name cannot be given another file: rewritten in place, put back when that fails, and recovered when the
//! server dies over it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use toolfs_core::error::{AbortCause, Code, Published};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::notice::NoticeKind;
use toolfs_core::version::Version;
use toolfs_provider::capability::Durability;

use super::*;

/// Refuses to exchange names, as if something were mounted on the file, and does `also` at each step.
pub(super) fn stuck(
    mut also: impl FnMut(Step) -> Result<(), Errno> + Send + 'static,
) -> impl FnMut(Step) -> Result<(), Errno> + Send + 'static {
    move |due| match due {
        Step::Exchange => Err(Errno::BUSY),
        due => also(due),
    }
}

pub(super) fn bench() -> Bench {
    let bench = Bench::with_copies(|_| {});
    bench.at_steps(stuck(|_| Ok(())));
    bench
}

/// The names of the copies that there are.
pub(super) fn copies(bench: &Bench) -> Vec<String> {
    let directory = bench.root.parent().unwrap().join("recovery/copies");
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// What a server does that starts where another one died.
pub(super) fn reopened(bench: &Bench) -> LocalProvider {
    wait_until_let_go(bench);
    let mut options = options();
    options.recovery = Some(bench.root.parent().unwrap().join("recovery"));
    LocalProvider::open(&[RootSpec::new(&bench.root)], options).unwrap()
}

/// A child that another test starts has, until it begins its program, a share in every lock of this process.
fn wait_until_let_go(bench: &Bench) {
    let directory = bench.root.parent().unwrap().join("recovery/copies");
    for entry in fs::read_dir(directory).unwrap() {
        let copy = fs::File::open(entry.unwrap().path()).unwrap();
        rustix::fs::flock(&copy, rustix::fs::FlockOperation::LockShared).unwrap();
    }
}

fn inode(bench: &Bench, path: &str) -> u64 {
    fs::metadata(bench.root.join(path)).unwrap().ino()
}

#[tokio::test]
async fn a_file_whose_name_is_stuck_is_rewritten_and_told() {
    for durability in [Durability::Full, Durability::Data, Durability::None] {
        for named in [false, true] {
            let bench = Bench::with_copies(|options| {
                options.durability = durability;
                options.force_named_temporaries = named;
            });
            bench.at_steps(stuck(|_| Ok(())));
            bench.put("f", "old");
            let before = inode(&bench, "f");
            for content in ["a longer content", "short", "", "again"] {
                let report = bench.write("f", content, WriteGuard::Unconditional).await.unwrap();
                assert_eq!(report.version, Version::of(content.as_bytes()));
                let notices: Vec<_> = report.notices.iter().map(|notice| notice.kind).collect();
                assert!(notices.contains(&NoticeKind::NotAtomic), "{notices:?}");
                assert_eq!(bench.get("f").as_deref(), Some(content));
            }
            bench.edit("f", "again", "edited", EditGuard::Unconditional).await.unwrap();
            assert_eq!(bench.get("f").as_deref(), Some("edited"));
            assert_eq!(inode(&bench, "f"), before);
            assert_eq!((bench.names(), copies(&bench)), (vec!["f".to_owned()], Vec::new()));
        }
    }
}

#[tokio::test]
async fn other_hard_links_of_a_rewritten_file_change_too_and_that_is_told() {
    let bench = bench();
    bench.put("a", "old");
    fs::hard_link(bench.root.join("a"), bench.root.join("b")).unwrap();
    let report = bench.write("a", "new", WriteGuard::Unconditional).await.unwrap();
    let told: Vec<_> = report.notices.iter().map(|notice| (notice.kind, notice.text.as_str())).collect();
    let text = "rewritten in place: readers may have seen it half written, \
                and its other hard link has the new content too";
    assert_eq!(told, [(NoticeKind::NotAtomic, text)]);
    assert_eq!(bench.get("b").as_deref(), Some("new"));
}

#[tokio::test]
async fn a_guard_holds_for_a_rewrite_too() {
    let bench = bench();
    bench.put("f", "old");
    let guard = WriteGuard::ReplaceIfVersion(Version::of(b"other"));
    assert_eq!(bench.write("f", "new", guard).await.unwrap_err().code(), Code::StaleVersion);
    for step in [Step::Copy, Step::Publish] {
        bench.put("f", "old");
        let path = bench.root.join("f");
        bench.at_steps(stuck(move |due| {
            if due == step {
                fs::write(&path, "theirs").unwrap();
            }
            Ok(())
        }));
        let guard = WriteGuard::ReplaceIfVersion(Version::of(b"old"));
        assert_eq!(bench.write("f", "new", guard).await.unwrap_err().code(), Code::StaleVersion, "{step:?}");
        assert_eq!(bench.get("f").as_deref(), Some("theirs"), "{step:?}");
        assert_eq!(copies(&bench), Vec::<String>::new());
    }
}

/// Another file gets the name while the first one is rewritten: neither is lost, and the newer one is judged.
#[tokio::test]
async fn a_file_that_loses_its_name_while_it_is_rewritten_keeps_its_content() {
    let bench = bench();
    bench.put("f", "old");
    let (path, aside) = (bench.root.join("f"), bench.root.join("aside"));
    bench.at_steps(stuck(move |due| {
        if due == Step::Overwrite && !aside.exists() {
            fs::rename(&path, &aside).unwrap();
            fs::write(&path, "theirs").unwrap();
        }
        Ok(())
    }));
    let guard = WriteGuard::ReplaceIfVersion(Version::of(b"old"));
    assert_eq!(bench.write("f", "new", guard).await.unwrap_err().code(), Code::StaleVersion);
    assert_eq!((bench.get("f").as_deref(), bench.get("aside").as_deref()), (Some("theirs"), Some("old")));
    assert_eq!(copies(&bench), Vec::<String>::new());
}

const ERRNOS: [(Errno, Code); 4] = [
    (Errno::IO, Code::IoError),
    (Errno::NOSPC, Code::NoSpace),
    (Errno::DQUOT, Code::NoSpace),
    (Errno::MFILE, Code::Unavailable),
];

#[tokio::test]
async fn a_rewrite_that_fails_at_any_step_has_the_old_content() {
    let steps = [Step::Copy, Step::SyncCopy, Step::NameCopy, Step::Publish, Step::Overwrite, Step::Cut];
    for named in [false, true] {
        for step in steps {
            for (errno, code) in ERRNOS {
                let bench = Bench::with_copies(|options| options.force_named_temporaries = named);
                bench.put("f", "the old content");
                let mut is_stuck = false;
                bench.at_steps(move |due| match due {
                    Step::Exchange => {
                        is_stuck = true;
                        Err(Errno::BUSY)
                    }
                    due if due == step && is_stuck => Err(errno),
                    _ => Ok(()),
                });
                let error = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap_err();
                assert_eq!((error.code(), error.published()), (code, Published::No), "{step:?} {errno:?}");
                assert_eq!(bench.get("f").as_deref(), Some("the old content"), "{step:?} {errno:?}");
                assert_eq!((bench.names(), copies(&bench)), (vec!["f".to_owned()], Vec::new()), "{step:?}");
            }
        }
    }
}

/// What a failed sync left on the disk is not known: the old content is back, and the copy stays until a restart.
#[tokio::test]
async fn a_rewrite_that_cannot_be_made_durable_says_maybe_and_keeps_its_copy() {
    let bench = bench();
    bench.put("f", "old");
    let mut synced = 0;
    bench.at_steps(stuck(move |due| {
        if due == Step::SyncRewritten {
            synced += 1;
            return Err(Errno::IO);
        }
        assert!(synced < 2, "a failed sync is not tried again");
        Ok(())
    }));
    let error = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Maybe));
    assert_eq!(bench.get("f").as_deref(), Some("old"));
    assert_eq!(copies(&bench).len(), 1);
    reopened(&bench);
    assert_eq!(bench.get("f").as_deref(), Some("old"));
    assert_eq!(copies(&bench), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_put_back_is_put_back_by_the_next_start() {
    let bench = bench();
    let old = "old ".repeat(1 << 20);
    bench.put("f", &old);
    let mut pieces = 0;
    bench.at_steps(stuck(move |due| match due {
        Step::Overwrite if pieces < 2 => {
            pieces += 1;
            Ok(())
        }
        Step::Overwrite | Step::PutBack => Err(Errno::IO),
        _ => Ok(()),
    }));
    let error = bench.write("f", &"new ".repeat(1 << 20), WriteGuard::Unconditional).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Maybe));
    let half = bench.get("f").unwrap();
    assert!(half.starts_with("new ") && half.ends_with("old "));
    reopened(&bench);
    assert!(bench.get("f").unwrap() == old, "it has the old content again");
    assert_eq!(copies(&bench), Vec::<String>::new());
}

#[tokio::test]
async fn a_copy_that_could_not_be_removed_goes_with_the_next_start() {
    let bench = bench();
    bench.put("f", "old");
    bench.at_steps(stuck(|due| if due == Step::RemoveCopy { Err(Errno::IO) } else { Ok(()) }));
    bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(copies(&bench).len(), 1);
    reopened(&bench);
    assert_eq!((bench.get("f").as_deref(), copies(&bench)), (Some("new"), Vec::new()));
}

#[tokio::test]
async fn an_abort_before_the_first_byte_changes_nothing() {
    let bench = bench();
    bench.put("f", "old");
    let abort = AbortSignal::new();
    let fired = abort.clone();
    bench.at_steps(stuck(move |due| {
        if due == Step::NameCopy {
            fired.fire(AbortCause::Cancelled);
        }
        Ok(())
    }));
    let request = WriteTextRequest {
        target: bench.key("f").await,
        content: Bytes::from_static(b"new"),
        guard: WriteGuard::Unconditional,
        want_diff: false,
        operation_id: None,
    };
    let error = bench.provider.write_text(&abort, request).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No));
    assert_eq!((bench.get("f").as_deref(), copies(&bench)), (Some("old"), Vec::new()));
}

/// In this process nobody reads a half.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_waits_until_the_file_is_rewritten() {
    let bench = bench();
    bench.put("f", "seen");
    let key = bench.key("f").await;
    let disk = bench.provider.disk().clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    bench.at_steps(stuck(move |due| {
        if due == Step::Overwrite {
            let (disk, key, sender) = (disk.clone(), key.clone(), sender.clone());
            std::thread::spawn(move || {
                let report = crate::read::lines(&disk, &key, WINDOW, &AbortSignal::new()).unwrap();
                let text = report.window.block.lines().next().unwrap().text.to_owned();
                sender.send(text).unwrap();
            });
            // Long enough for the thread to read, if nothing holds it.
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(())
    }));
    bench.write("f", "ours", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(receiver.recv().unwrap(), "ours");
}

#[tokio::test]
async fn privilege_bits_are_dropped_before_the_new_content_is_there() {
    let bench = Bench::with_copies(|_| {});
    bench.put("f", "old");
    let path = bench.root.join("f");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    let mode = move || fs::metadata(&path).unwrap().mode() & 0o7777;
    let look = mode.clone();
    bench.at_steps(stuck(move |due| {
        if due == Step::Overwrite {
            assert_eq!(look(), 0o755);
        }
        Ok(())
    }));
    let report = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(mode(), 0o755);
    assert!(report.notices.iter().any(|notice| notice.kind == NoticeKind::PrivilegeBitsDropped));
}

/// Makes a directory unwritable for its owner, until this is dropped.
struct Unwritable(PathBuf);

impl Unwritable {
    fn make(directory: PathBuf) -> Unwritable {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).unwrap();
        Unwritable(directory)
    }
}

impl Drop for Unwritable {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o755));
    }
}

#[test]
fn a_file_in_a_directory_that_the_server_may_not_write_is_rewritten() {
    unprivileged(|| {
        let bench = Bench::with_copies(|_| {});
        bench.put("d/f", "old");
        let _unwritable = Unwritable::make(bench.root.join("d"));
        run(async {
            let target = bench.key("d/f").await;
            let request = WriteTextRequest {
                target,
                content: Bytes::from_static(b"new"),
                guard: WriteGuard::Unconditional,
                want_diff: false,
                operation_id: None,
            };
            let plan = bench.provider.plan_write(&AbortSignal::new(), request).await.unwrap();
            assert_eq!(
                plan.notices.iter().map(|notice| notice.kind).collect::<Vec<_>>(),
                [NoticeKind::NotAtomic]
            );
            assert_eq!(bench.get("d/f").as_deref(), Some("old"), "a plan changes nothing");
            let report = bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap();
            assert_eq!(report.notices, plan.notices);
            bench.edit("d/f", "new", "newer", EditGuard::Unconditional).await.unwrap();
            assert_eq!((bench.get("d/f").as_deref(), copies(&bench)), (Some("newer"), Vec::new()));
            let error = bench.write("d/other", "x", WriteGuard::CreateIfAbsent).await.unwrap_err();
            assert_eq!(error.code(), Code::PermissionDenied, "nothing can be made there");
        });
    });
}

#[test]
fn without_a_place_for_copies_nothing_is_rewritten_and_that_is_told() {
    unprivileged(|| {
        let bench = Bench::new();
        bench.put("d/f", "old");
        let _unwritable = Unwritable::make(bench.root.join("d"));
        run(async {
            let error = bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap_err();
            assert_eq!((error.code(), error.published()), (Code::PermissionDenied, Published::No));
            assert!(error.message().contains("no recovery directory"), "{error:?}");
            assert_eq!(bench.get("d/f").as_deref(), Some("old"));
        });
    });
}

/// Neither the file nor its directory may be written: that is a plain refusal.
#[test]
fn a_file_that_may_not_be_written_is_not_rewritten_either() {
    unprivileged(|| {
        let bench = Bench::with_copies(|_| {});
        bench.put("d/f", "old");
        fs::set_permissions(bench.root.join("d/f"), fs::Permissions::from_mode(0o444)).unwrap();
        let _unwritable = Unwritable::make(bench.root.join("d"));
        run(async {
            let error = bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap_err();
            assert_eq!((error.code(), error.published()), (Code::PermissionDenied, Published::No));
            assert_eq!((bench.get("d/f").as_deref(), copies(&bench)), (Some("old"), Vec::new()));
        });
    });
}
