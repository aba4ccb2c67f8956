//! Foreign writers: what they publish between our judgement and our publication is put back, not lost.

use std::os::unix::fs::symlink;

use toolfs_core::error::{Code, ErrorKind, Published};
use toolfs_core::guard::WriteGuard;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;

use super::*;

/// Replaces a file as an editor does, by a rename.
fn replace(path: &std::path::Path, content: &str) {
    let beside = path.with_extension("theirs");
    fs::write(&beside, content).unwrap();
    fs::rename(beside, path).unwrap();
}

fn guarded(content: &str) -> WriteGuard {
    WriteGuard::ReplaceIfVersion(Version::of(content.as_bytes()))
}

#[track_caller]
fn assert_stale(error: &toolfs_core::error::FsError, actual: Option<&str>) {
    let ErrorKind::StaleVersion { actual: told, .. } = error.kind() else { panic!("{error:?}") };
    assert_eq!(told.as_ref(), actual.map(|text| Version::of(text.as_bytes())).as_ref());
    assert_eq!(error.published(), Published::No);
}

#[tokio::test]
async fn a_change_between_judgement_and_publication_is_noticed() {
    for step in [Step::Write, Step::Publish, Step::Exchange] {
        let bench = Bench::new();
        bench.put("f", "seen");
        let path = bench.root.join("f");
        bench.once_at(step, move || replace(&path, "theirs"));
        let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
        assert_stale(&error, Some("theirs"));
        assert_eq!(bench.get("f").as_deref(), Some("theirs"), "{step:?}");
        assert_eq!(bench.names(), ["f"], "{step:?}");
    }
}

/// The same inode, the same size, the old time stamp: only its bytes tell.
#[tokio::test]
async fn a_rewrite_in_place_with_a_restored_time_is_noticed() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || {
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "SEEN").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, Some("SEEN"));
    assert_eq!(bench.get("f").as_deref(), Some("SEEN"));
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn the_same_content_in_another_inode_is_no_change() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || replace(&path, "seen"));
    bench.write("f", "ours", guarded("seen")).await.unwrap();
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn a_deleted_file_is_not_resurrected() {
    for step in [Step::Write, Step::Publish, Step::Exchange] {
        let bench = Bench::new();
        bench.put("f", "seen");
        let path = bench.root.join("f");
        bench.once_at(step, move || fs::remove_file(path).unwrap());
        let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
        assert_stale(&error, None);
        assert_eq!(bench.names(), Vec::<String>::new(), "{step:?}");
    }
}

/// It is gone: that is no question of permission.
#[tokio::test]
async fn a_file_that_vanishes_while_its_access_is_asked_for_is_stale_and_not_forbidden() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Access, move || fs::remove_file(&path).unwrap());
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, None);
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_directory_or_a_link_that_took_the_place_is_put_back() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "theirs").unwrap();
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    // What is said is true of what stands there: not that it is gone.
    assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) });
    assert_eq!(bench.get("f/inside").as_deref(), Some("theirs"));
    assert_eq!(bench.names(), ["f"]);

    let bench = Bench::new();
    bench.put("f", "seen");
    bench.put("other", "other");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || {
        fs::remove_file(&path).unwrap();
        symlink("other", &path).unwrap();
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, Some("other"));
    assert!(fs::symlink_metadata(bench.root.join("f")).unwrap().is_symlink());
    assert_eq!(bench.get("other").as_deref(), Some("other"));
    assert_eq!(bench.names(), ["f", "other"]);
}

#[tokio::test]
async fn what_a_third_party_moved_meanwhile_is_kept_under_a_rescue_name() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    let mut turn = 0;
    bench.at_steps(move |due| {
        match (due, turn) {
            (Step::Exchange, 0) => replace(&path, "first"),
            (Step::TakeBack, 1) => replace(&path, "second"),
            _ => return Ok(()),
        }
        turn += 1;
        Ok(())
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, Some("second"));
    assert_eq!(bench.get("f").as_deref(), Some("second"));
    assert_eq!(fs::read_to_string(error.rescue_path().unwrap()).unwrap(), "first");
    assert_eq!(bench.names().len(), 2);
}

/// Two more come while the first one's content is put back: the newest is in the place at the end, and none is lost.
#[tokio::test]
async fn the_newest_of_three_foreign_contents_ends_in_the_place() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    let mut turn = 0;
    bench.at_steps(move |due| {
        match (due, turn) {
            (Step::Exchange, 0) => replace(&path, "first"),
            (Step::TakeBack, 1) => replace(&path, "second"),
            (Step::TakeBack, 2) => replace(&path, "third"),
            _ => return Ok(()),
        }
        turn += 1;
        Ok(())
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, Some("third"));
    assert_eq!(bench.get("f").as_deref(), Some("third"));
    // The third one replaced the first, which had been put back by then: its writer gave it up.
    assert_eq!(fs::read_to_string(error.rescue_path().unwrap()).unwrap(), "second");
    assert_eq!(bench.names().len(), 2);
}

#[tokio::test]
async fn mode_and_attributes_that_change_at_the_last_moment_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    let set = |path: &Path, name: &str, value: &str| {
        rustix::fs::setxattr(path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    };
    let long = "1".repeat(1000);
    set(&path, "user.before", &long);
    let changed = path.clone();
    bench.once_at(Step::Exchange, move || {
        set(&changed, "user.meanwhile", "2");
        fs::set_permissions(&changed, fs::Permissions::from_mode(0o640)).unwrap();
    });
    bench.write("f", "ours", guarded("seen")).await.unwrap();
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    for (name, value) in [("user.before", long.as_str()), ("user.meanwhile", "2")] {
        let mut kept = [0; 2048];
        let length = rustix::fs::getxattr(&path, name, &mut kept).unwrap();
        assert_eq!(&kept[..length], value.as_bytes(), "{name}");
    }
}

#[tokio::test]
async fn a_creation_that_is_overtaken_never_replaces() {
    for named in [false, true] {
        let bench = Bench::with(|options| options.force_named_temporaries = named);
        let path = bench.root.join("f");
        bench.once_at(Step::Publish, move || fs::write(path, "theirs").unwrap());
        let error = bench.write("f", "ours", WriteGuard::CreateIfAbsent).await.unwrap_err();
        assert_eq!(error.code(), Code::NotObserved);
        assert_eq!(bench.get("f").as_deref(), Some("theirs"));
        assert_eq!(bench.names(), ["f"]);
    }
}

#[tokio::test]
async fn an_unguarded_write_judges_again_what_overtook_it() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || replace(&path, "theirs, longer"));
    let report = bench.write("f", "ours", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(report.previous_size_bytes, Some(14));
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn an_unguarded_edit_matches_again_on_what_overtook_it() {
    let bench = Bench::new();
    bench.put("f", "a b");
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || replace(&path, "a b c"));
    bench.edit("f", "a", "A", toolfs_core::guard::EditGuard::Unconditional).await.unwrap();
    assert_eq!(bench.get("f").as_deref(), Some("A b c"));
}

/// A content that is about to be taken back was never there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_waits_for_the_verdict() {
    let bench = Bench::new();
    bench.put("f", "seen");
    let key = bench.key("f").await;
    let path = bench.root.join("f");
    let disk = bench.provider.disk().clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    bench.at_steps(move |due| {
        match due {
            Step::Exchange => replace(&path, "theirs"),
            Step::Verify => {
                let (disk, key, sender) = (disk.clone(), key.clone(), sender.clone());
                std::thread::spawn(move || {
                    let report = crate::read::lines(&disk, &key, WINDOW, &AbortSignal::new()).unwrap();
                    let text = report.window.block.lines().next().unwrap().text.to_owned();
                    sender.send(text).unwrap();
                });
                // Long enough for the thread to read, if nothing holds it.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            _ => {}
        }
        Ok(())
    });
    let error = bench.write("f", "ours", guarded("seen")).await.unwrap_err();
    assert_stale(&error, Some("theirs"));
    assert_eq!(receiver.recv().unwrap(), "theirs");
}

/// Two servers on one directory know nothing of each other's turns, and still lose nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_providers_on_one_directory_lose_no_guarded_write() {
    let bench = Bench::new();
    bench.put("f", "0");
    let second =
        LocalProvider::open(&[RootSpec::new(&bench.root)], LocalOptions::new(Arc::new(HostClock))).unwrap();
    let key = bench.key("f").await;
    let count = |provider: LocalProvider| {
        let key = key.clone();
        async move {
            let (abort, mut landed) = (AbortSignal::new(), 0);
            while landed < 40 {
                let (content, version) = provider.read_whole(&abort, &key).await.unwrap();
                let number: u32 = std::str::from_utf8(&content).unwrap().parse().unwrap();
                let request = WriteTextRequest {
                    target: key.clone(),
                    content: (number + 1).to_string().into(),
                    guard: WriteGuard::ReplaceIfVersion(version),
                    want_diff: false,
                    operation_id: None,
                };
                match provider.write_text(&abort, request).await {
                    Ok(_) => landed += 1,
                    Err(error) if error.code() == Code::StaleVersion => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    };
    tokio::join!(count(bench.provider.clone()), count(second));
    assert_eq!(bench.get("f").as_deref(), Some("80"));
    // A provider may build on a content that the other one is about to take back: what was displaced is then kept.
    let others: Vec<_> = bench.names().into_iter().filter(|name| name != "f").collect();
    assert!(others.iter().all(|name| name.starts_with(".toolfs-rescue-")), "{others:?}");
}

/// What capabilities that say no exchange mean: the last look before the rename is the last.
#[tokio::test]
async fn without_exchange_a_change_is_noticed_up_to_the_last_look_and_lost_after_it() {
    let bench = Bench::with(|options| options.force_plain_rename = true);
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.once_at(Step::Publish, move || replace(&path, "theirs"));
    assert_stale(&bench.write("f", "ours", guarded("seen")).await.unwrap_err(), Some("theirs"));
    assert_eq!(bench.get("f").as_deref(), Some("theirs"));

    let bench = Bench::new();
    bench.put("f", "seen");
    let path = bench.root.join("f");
    bench.at_steps(move |due| match due {
        Step::Exchange => {
            replace(&path, "theirs");
            Err(Errno::INVAL)
        }
        _ => Ok(()),
    });
    bench.write("f", "ours", guarded("seen")).await.unwrap();
    assert_eq!((bench.get("f").as_deref(), bench.names()), (Some("ours"), vec!["f".to_owned()]));
    assert!(!bench.provider.capabilities(&AbortSignal::new()).await.unwrap().exchange);
}

#[tokio::test]
async fn capabilities_are_what_the_options_ask_for() {
    use toolfs_provider::capability::Durability;
    for durability in [Durability::Full, Durability::Data, Durability::None] {
        let bench = Bench::with(|options| options.durability = durability);
        let told = bench.provider.capabilities(&AbortSignal::new()).await.unwrap();
        assert_eq!((told.durability, told.exchange, told.operation_ids), (durability, true, false));
    }
    let recording = Bench::with_records(|options| options.force_plain_rename = true);
    let told = recording.provider.capabilities(&AbortSignal::new()).await.unwrap();
    assert_eq!((told.exchange, told.operation_ids), (false, true));
}
