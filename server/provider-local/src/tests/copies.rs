//! What a start makes of copies whose server died, and of those whose server lives.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use toolfs_core::error::{Code, Published};
use toolfs_core::guard::WriteGuard;
use toolfs_provider::capability::Durability;

use super::rewrite::{bench, copies, reopened, stuck};
use super::*;

/// What a foreign hand makes of a half rewritten file is its own.
#[tokio::test]
async fn a_foreign_content_stays_and_the_copy_is_kept_aside() {
    let bench = bench();
    bench.put("f", "old");
    bench.at_steps(stuck(|due| match due {
        Step::Cut | Step::PutBack => Err(Errno::IO),
        _ => Ok(()),
    }));
    bench.write("f", "n", WriteGuard::Unconditional).await.unwrap_err();
    assert_eq!(bench.get("f").as_deref(), Some("nld"));
    bench.put("f", "nl!");
    for _ in 0..2 {
        reopened(&bench);
        assert_eq!(bench.get("f").as_deref(), Some("nl!"));
        let kept = copies(&bench);
        assert!(kept.len() == 1 && kept[0].starts_with("rescue-"), "{kept:?}");
    }
}

/// The file is another one, or gone: its copy waits, and nothing is made up.
#[tokio::test]
async fn a_copy_waits_for_a_file_that_is_not_in_its_place() {
    let bench = bench();
    bench.put("d/f", "old");
    bench.at_steps(stuck(|due| match due {
        Step::Cut | Step::PutBack => Err(Errno::IO),
        _ => Ok(()),
    }));
    bench.write("d/f", "n", WriteGuard::Unconditional).await.unwrap_err();
    let (directory, aside) = (bench.root.join("d"), bench.root.join("aside"));
    fs::rename(&directory, &aside).unwrap();
    reopened(&bench);
    assert!(!directory.exists());
    std::os::unix::fs::symlink(&aside, &directory).unwrap();
    reopened(&bench);
    assert_eq!(bench.get("aside/f").as_deref(), Some("nld"), "no link is followed");
    fs::remove_file(&directory).unwrap();
    bench.put("d/f", "nld");
    reopened(&bench);
    assert_eq!(bench.get("d/f").as_deref(), Some("nld"), "it is another file");
    assert_eq!(copies(&bench).len(), 1);
    fs::remove_dir_all(&directory).unwrap();
    fs::rename(&aside, &directory).unwrap();
    reopened(&bench);
    assert_eq!((bench.get("d/f").as_deref(), copies(&bench)), (Some("old"), Vec::new()));
}

/// The roots of the next start are others: the file is the same.
#[tokio::test]
async fn a_file_is_recovered_under_another_root_that_holds_it() {
    let bench = bench();
    bench.put("d/f", "old");
    bench.at_steps(stuck(|due| match due {
        Step::Cut | Step::PutBack => Err(Errno::IO),
        _ => Ok(()),
    }));
    bench.write("d/f", "n", WriteGuard::Unconditional).await.unwrap_err();
    let open = |root: &Path| {
        let mut options = options();
        options.recovery = Some(bench.root.parent().unwrap().join("recovery"));
        LocalProvider::open(&[RootSpec::named(root, "/w").unwrap()], options).unwrap()
    };
    fs::create_dir(bench.root.join("e")).unwrap();
    open(&bench.root.join("e"));
    assert_eq!((bench.get("d/f").as_deref(), copies(&bench).len()), (Some("nld"), 1), "it is not served");
    open(&bench.root.join("d"));
    assert_eq!((bench.get("d/f").as_deref(), copies(&bench)), (Some("old"), Vec::new()));
}

#[tokio::test]
async fn a_copy_that_is_damaged_or_none_is_kept_aside_and_trusted_with_nothing() {
    let bench = bench();
    bench.put("f", "old");
    bench.at_steps(stuck(|due| match due {
        Step::Cut | Step::PutBack => Err(Errno::IO),
        _ => Ok(()),
    }));
    bench.write("f", "n", WriteGuard::Unconditional).await.unwrap_err();
    let directory = bench.root.parent().unwrap().join("recovery/copies");
    let copy = directory.join(&copies(&bench)[0]);
    let whole = fs::read(&copy).unwrap();
    for (index, damage) in [0, 20, whole.len() - 33, whole.len() - 1].into_iter().enumerate() {
        let mut bytes = whole.clone();
        bytes[damage] ^= 1;
        fs::write(directory.join(format!("damaged-{index}")), bytes).unwrap();
    }
    fs::write(directory.join("cut"), &whole[..whole.len() - 40]).unwrap();
    fs::write(directory.join("0-0-partial"), &whole[..20]).unwrap();
    fs::write(directory.join("empty"), b"").unwrap();
    fs::write(directory.join("worthless"), [b"toolfs-gone-1\n", &whole[14..]].concat()).unwrap();
    fs::remove_file(&copy).unwrap();
    reopened(&bench);
    assert_eq!(bench.get("f").as_deref(), Some("nld"));
    let mut kept = copies(&bench);
    kept.sort();
    let expected =
        ["cut", "damaged-0", "damaged-1", "damaged-2", "damaged-3"].map(|name| format!("rescue-{name}"));
    assert_eq!(kept, expected);
}

/// Contents of two blocks: the first is `first`, the second `second`.
fn blocks(first: &str, second: &str) -> String {
    [first.repeat(4096), second.repeat(4096)].concat()
}

#[tokio::test]
async fn a_later_content_is_not_undone_by_a_copy_that_could_not_be_removed() {
    for durability in [Durability::Full, Durability::Data, Durability::None] {
        let bench = Bench::with_copies(|options| options.durability = durability);
        bench.put("f", &blocks("a", "b"));
        bench.at_steps(stuck(|due| if due == Step::RemoveCopy { Err(Errno::IO) } else { Ok(()) }));
        bench.write("f", &blocks("x", "y"), WriteGuard::Unconditional).await.unwrap();
        assert_eq!(copies(&bench).len(), 1);
        let mixed = blocks("x", "b");
        // Nobody of this server wrote that: only the copy's being worthless keeps a start from undoing it.
        bench.put("f", &mixed);
        reopened(&bench);
        assert_eq!((bench.get("f"), copies(&bench)), (Some(mixed), Vec::new()), "{durability:?}");
    }
}

#[tokio::test]
async fn a_copy_that_could_not_be_removed_goes_with_a_creation_elsewhere() {
    let bench = bench();
    bench.put("f", "old");
    bench.at_steps(stuck(|due| if due == Step::RemoveCopy { Err(Errno::IO) } else { Ok(()) }));
    bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(copies(&bench).len(), 1);
    bench.at_steps(stuck(|_| Ok(())));
    bench.write("d/other", "x", WriteGuard::CreateIfAbsent).await.unwrap();
    assert_eq!(copies(&bench), Vec::<String>::new());
}

#[tokio::test]
async fn a_later_content_is_not_undone_by_the_copy_of_a_rewrite_whose_sync_failed() {
    for is_exchanged in [false, true] {
        let bench = bench();
        bench.put("f", &blocks("a", "b"));
        let mut has_failed = false;
        bench.at_steps(move |due| match due {
            Step::SyncRewritten if !std::mem::replace(&mut has_failed, true) => Err(Errno::IO),
            Step::Exchange if !has_failed || !is_exchanged => Err(Errno::BUSY),
            _ => Ok(()),
        });
        let error = bench.write("f", &blocks("x", "y"), WriteGuard::Unconditional).await.unwrap_err();
        assert_eq!((error.published(), copies(&bench).len()), (Published::Maybe, 1));
        let mixed = blocks("x", "b");
        let report = bench.write("f", &mixed, WriteGuard::Unconditional).await.unwrap();
        assert!(report.not_durable.is_none());
        assert_eq!(copies(&bench), Vec::<String>::new(), "{is_exchanged}");
        reopened(&bench);
        assert_eq!(bench.get("f"), Some(mixed), "{is_exchanged}");
    }
}

#[tokio::test]
async fn a_copy_that_can_be_neither_removed_nor_made_worthless_is_told_until_it_can() {
    let bench = bench();
    for name in ["f", "g"] {
        bench.put(name, "old");
    }
    let mut failures = 5;
    bench.at_steps(stuck(move |due| match due {
        Step::RemoveCopy | Step::SpoilCopy if failures > 0 => {
            failures -= 1;
            Err(Errno::IO)
        }
        _ => Ok(()),
    }));
    let report = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(report.not_durable.map(|error| error.published()), Some(Published::Yes));
    let other = bench.write("g", "new", WriteGuard::Unconditional).await.unwrap();
    assert!(other.not_durable.is_none(), "it could be made worthless, and the other copy is another file's");
    assert_eq!(copies(&bench).len(), 1);
    let report = bench.write("f", "newer", WriteGuard::Unconditional).await.unwrap();
    assert!(report.not_durable.is_none());
    assert_eq!(copies(&bench), Vec::<String>::new(), "what was left goes with later writes");
}

#[tokio::test]
async fn what_somebody_appends_while_a_file_is_rewritten_is_not_cut_off() {
    for step in [Step::Cut, Step::SyncRewritten] {
        let bench = bench();
        bench.put("f", "the old content");
        let path = bench.root.join("f");
        bench.at_steps(stuck(move |due| {
            if due == step {
                let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
                std::io::Write::write_all(&mut file, b" and theirs").unwrap();
            }
            Ok(())
        }));
        let error = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::Unavailable, Published::Maybe), "{step:?}");
        for _ in 0..2 {
            let content = bench.get("f").unwrap();
            assert!(content.starts_with("new") && content.ends_with(" and theirs"), "{step:?}: {content}");
            let kept = copies(&bench);
            assert!(kept.len() == 1 && kept[0].starts_with("rescue-"), "{step:?}: {kept:?}");
            reopened(&bench);
        }
    }
}

/// A server that starts meanwhile leaves a rewrite alone that is under way.
#[tokio::test]
async fn a_rewrite_under_way_is_not_recovered_by_another_server() {
    for step in [Step::SyncCopy, Step::NameCopy, Step::Overwrite, Step::Cut, Step::SyncRewritten] {
        for named in [false, true] {
            let bench = Bench::with_copies(|options| options.force_named_temporaries = named);
            bench.put("f", "the old content");
            let (root, seen) = (bench.root.clone(), Arc::new(AtomicUsize::new(0)));
            let counted = seen.clone();
            bench.at_steps(stuck(move |due| {
                if due == step {
                    let mut options = options();
                    options.recovery = Some(root.parent().unwrap().join("recovery"));
                    LocalProvider::open(&[RootSpec::new(&root)], options).unwrap();
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
            bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
            assert_eq!((bench.get("f").as_deref(), copies(&bench)), (Some("new"), Vec::new()), "{step:?}");
            assert_eq!(seen.load(Ordering::Relaxed), 1, "{step:?}");
        }
    }
}

const CHILD_ROOT: &str = "TOOLFS_TEST_REWRITTEN_ROOT";
const CHILD_STEP: &str = "TOOLFS_TEST_REWRITTEN_STEP";
const CHILD_COUNT: &str = "TOOLFS_TEST_REWRITTEN_COUNT";

/// Some pieces of [`Step::Overwrite`] long, so that there is a middle.
fn long(word: &str, pieces: usize) -> String {
    word.repeat((pieces << 20) / word.len() + 7)
}

#[tokio::test]
async fn a_kill_at_any_step_of_a_rewrite_leaves_the_old_or_the_new_content_after_a_start() {
    let mut reached = Vec::new();
    for (step_number, step) in Step::ALL.into_iter().enumerate() {
        for count in 0.. {
            let bench = Bench::with_copies(|_| {});
            let (old, new) = (long("old ", 3), long("new", 2));
            bench.put("f", &old);
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &own_name(module_path!(), "in_a_process_that_is_killed"), "--ignored"])
                .env(CHILD_ROOT, &bench.root)
                .env(CHILD_STEP, step_number.to_string())
                .env(CHILD_COUNT, count.to_string())
                .stdout(Stdio::null())
                .status()
                .unwrap();
            let killed = status.signal() == Some(9);
            assert!(killed || status.success(), "{step:?} {count} {status:?}");
            let provider = reopened(&bench);
            let content = bench.get("f").unwrap();
            assert!(content == old || content == new, "{step:?} {count}: a mix");
            assert!(killed || content == new, "{step:?} {count}: what succeeded is there");
            assert_eq!(copies(&bench), Vec::<String>::new(), "{step:?} {count}");
            drop(provider);
            if !killed {
                break;
            }
            reached.push(step);
        }
    }
    let times = |step: Step| reached.iter().filter(|reached| **reached == step).count();
    let of_a_rewrite =
        [Step::Copy, Step::SyncCopy, Step::NameCopy, Step::Cut, Step::SyncRewritten, Step::RemoveCopy];
    assert_eq!(of_a_rewrite.map(times), [1; 6]);
    assert_eq!(times(Step::Overwrite), 3, "at each piece");
}

#[test]
#[ignore = "run by the test above, which expects it to be killed"]
fn in_a_process_that_is_killed() {
    let Some(root) = std::env::var_os(CHILD_ROOT) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (step, mut count) = (Step::ALL[number(CHILD_STEP)], number(CHILD_COUNT));
    let root = Path::new(&root);
    let mut options = options();
    options.recovery = Some(root.parent().unwrap().join("recovery"));
    let provider = LocalProvider::open(&[RootSpec::new(root)], options).unwrap();
    let act = move |due| {
        if due == step {
            if count == 0 {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            }
            count -= 1;
        }
        if due == Step::Exchange { Err(Errno::BUSY) } else { Ok(()) }
    };
    *provider.disk().hook.lock().unwrap() = Some(Box::new(act));
    run(async {
        let target = provider.resolve_path(&AbortSignal::new(), "f").await.unwrap().key;
        let content = Bytes::from(long("new", 2));
        let guard = WriteGuard::Unconditional;
        let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
        provider.write_text(&AbortSignal::new(), request).await.unwrap();
    });
}
