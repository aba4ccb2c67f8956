//! Paths that are swapped while they are used, roots in roots, and spellings of roots.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use toolfs_core::error::Code;
use toolfs_core::guard::WriteGuard;

use super::*;

const CANARY: &str = "canary: nobody may see or change this";

/// Runs `attack` in a thread of its own while `work` runs.
fn while_attacked(
    attack: impl Fn() + Send + 'static,
    work: impl AsyncFnOnce(),
) -> impl Future<Output = usize> {
    let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (stopped, counted) = (stop.clone(), swaps.clone());
    let attacker = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            attack();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    async move {
        work().await;
        stop.store(true, Ordering::Relaxed);
        attacker.join().unwrap();
        swaps.load(Ordering::Relaxed)
    }
}

async fn race(force_walk: bool) {
    let bench = Bench::with(|options| options.force_walk = force_walk);
    let outside = bench.root.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), CANARY).unwrap();
    bench.put("d/f", "mine");
    symlink(&outside, bench.root.join("l")).unwrap();
    let (directory, link) = (bench.root.join("d"), bench.root.join("l"));
    let key = bench.key("d/f").await;
    let (mut seen, mut refused) = (0, 0);
    let swaps = while_attacked(
        move || renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap(),
        async || {
            let end = Instant::now() + Duration::from_millis(1_500);
            let abort = AbortSignal::new();
            while Instant::now() < end {
                for result in [bench.read("d/f").await, bench.provider.read_lines(&abort, &key, WINDOW).await]
                {
                    match result {
                        Ok(report) => {
                            let lines: Vec<_> = report.window.block.lines().map(|line| line.text).collect();
                            assert!(lines == ["mine"] || lines == ["written"], "{lines:?}");
                            seen += 1;
                        }
                        Err(error) => {
                            let codes =
                                [Code::SandboxDenied, Code::NotFound, Code::NotDirectory, Code::Unavailable];
                            assert!(codes.contains(&error.code()), "{error:?}");
                            refused += 1;
                        }
                    }
                }
                match bench.write("d/f", "written", WriteGuard::Unconditional).await {
                    Ok(_) => seen += 1,
                    Err(_) => refused += 1,
                }
                match bench.write("d/new/deep", "written", WriteGuard::Unconditional).await {
                    Ok(_) => seen += 1,
                    Err(_) => refused += 1,
                }
            }
        },
    )
    .await;
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), CANARY);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(swaps > 100 && seen > 0 && refused > 0, "no race: {swaps} swaps, {seen} seen, {refused} refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_is_swapped_for_a_link_never_leads_out() {
    race(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_through_a_swapped_directory_never_leads_out() {
    race(true).await;
}

/// A file that somebody exchanged with one from elsewhere while it was looked up led out of the roots, as it was told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_exchanged_with_one_from_outside_is_no_way_out() {
    for force_walk in [false, true] {
        let bench = Bench::with(|options| options.force_walk = force_walk);
        let outside = bench.root.parent().unwrap().join("saved");
        fs::write(&outside, "one").unwrap();
        bench.put("f", "other");
        let file = bench.root.join("f");
        while_attacked(
            move || renameat_with(CWD, &file, CWD, &outside, RenameFlags::EXCHANGE).unwrap(),
            async || {
                let end = Instant::now() + Duration::from_millis(500);
                while Instant::now() < end {
                    match bench.read("f").await {
                        Ok(_) => {}
                        Err(error) => assert_eq!(error.code(), Code::Unavailable, "{error:?}"),
                    }
                }
            },
        )
        .await;
    }
}

/// The directory is moved out of the root after it was opened, and another one takes its name.
#[tokio::test]
async fn a_directory_that_was_moved_away_gets_no_new_file() {
    for (existing, step) in [
        (false, Step::Create),
        (false, Step::Publish),
        (false, Step::Link),
        (true, Step::Create),
        (true, Step::Publish),
        (true, Step::Exchange),
        (true, Step::Verify),
    ] {
        let bench = Bench::new();
        let outside = bench.root.parent().unwrap().join("moved");
        bench.put("d/other", "x");
        if existing {
            bench.put("d/f", "old");
        }
        let (directory, moved) = (bench.root.join("d"), outside.clone());
        bench.once_at(step, move || {
            fs::rename(&directory, &moved).unwrap();
            fs::create_dir(&directory).unwrap();
        });
        bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap();
        assert_eq!(bench.get("d/f").as_deref(), Some("new"), "{step:?}: it lands where the path leads");
        assert_eq!(
            fs::read_to_string(outside.join("f")).ok().as_deref(),
            existing.then_some("old"),
            "{step:?}"
        );
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1 + usize::from(existing), "{step:?}: no litter");
    }
}

/// Somebody else's file has the name in the moved directory by the time that ours is to be taken back.
#[tokio::test]
async fn a_creation_that_is_taken_back_removes_nothing_but_its_own_file() {
    let bench = Bench::new();
    let outside = bench.root.parent().unwrap().join("moved");
    bench.put("d/other", "x");
    let (directory, moved) = (bench.root.join("d"), outside.clone());
    bench.at_steps(move |due| {
        if due == Step::Link && !moved.exists() {
            fs::rename(&directory, &moved).unwrap();
            fs::write(moved.join("f"), "theirs").unwrap();
            fs::create_dir(&directory).unwrap();
        }
        Ok(())
    });
    bench.write("d/f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "theirs");
    assert_eq!(bench.get("d/f").as_deref(), Some("new"));
}

/// A parent becomes a link to a place outside, whatever the step: nothing outside is read, made or changed.
#[tokio::test]
async fn a_parent_that_becomes_a_way_out_at_any_step_leads_nowhere() {
    for step in Step::ALL {
        for existing in [false, true] {
            let bench = Bench::with_copies(|_| {});
            let base = bench.root.parent().unwrap().to_owned();
            let (outside, aside) = (base.join("outside"), base.join("root/aside"));
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("f"), CANARY).unwrap();
            bench.put("d/other", "x");
            if existing {
                bench.put("d/f", "old");
            }
            let (directory, target, there) = (bench.root.join("d"), outside.clone(), aside.clone());
            bench.once_at(step, move || {
                fs::rename(&directory, &there).unwrap();
                symlink(&target, &directory).unwrap();
            });
            let result = bench.write("d/f", "new", WriteGuard::Unconditional).await;
            assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), CANARY, "{step:?}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{step:?}");
            match result {
                // It had happened before the swap.
                Ok(_) => {
                    let content = fs::read_to_string(
                        if aside.exists() { aside } else { bench.root.join("d") }.join("f"),
                    );
                    assert_eq!(content.unwrap(), "new", "{step:?}");
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::SandboxDenied, "{step:?} {error:?}");
                    let left = fs::read_to_string(aside.join("f")).ok();
                    assert_eq!(left.as_deref(), existing.then_some("old"), "{step:?}");
                    assert_eq!(fs::read_dir(aside).unwrap().count(), 1 + usize::from(existing), "{step:?}");
                }
            }
        }
    }
}

async fn shown(provider: &LocalProvider, path: &str) -> String {
    provider.resolve_path(&AbortSignal::new(), path).await.unwrap().display_path
}

#[tokio::test]
async fn where_a_named_root_lies_on_the_host_is_no_path_of_its_callers() {
    for force_walk in [false, true] {
        let bench = Bench::new();
        bench.put("a/f", "x");
        let directory = bench.root.join("a");
        symlink(directory.join("f"), directory.join("absolute")).unwrap();
        let mut options = super::options();
        options.force_walk = force_walk;
        let named =
            LocalProvider::open(&[RootSpec::named(&directory, "/w").unwrap()], options.clone()).unwrap();
        let place = directory.join("f");
        let refused = named.resolve_path(&AbortSignal::new(), place.to_str().unwrap()).await.unwrap_err();
        assert_eq!(refused.code(), Code::SandboxDenied);
        assert_eq!(shown(&named, "/w/absolute").await, "/w/f", "a link on the disk may say where it lies");

        let unnamed = LocalProvider::open(&[RootSpec::new(&directory)], options).unwrap();
        assert_eq!(shown(&unnamed, place.to_str().unwrap()).await, place.to_str().unwrap());
    }
}

#[tokio::test]
async fn of_nested_roots_the_longest_wins() {
    for force_walk in [false, true] {
        let bench = Bench::new();
        bench.put("a/inner/f", "x");
        bench.put("a/g", "y");
        let (outer, inner) = (bench.root.join("a"), bench.root.join("a/inner"));
        let mut options = super::options();
        options.force_walk = force_walk;
        let roots = [RootSpec::named(&outer, "/w").unwrap(), RootSpec::named(&inner, "/inner").unwrap()];
        let provider = LocalProvider::open(&roots, options).unwrap();
        assert_eq!(shown(&provider, "inner/f").await, "/inner/f");
        assert_eq!(shown(&provider, "/w/inner/f").await, "/inner/f");
        assert_eq!(
            shown(&provider, "/inner/../g").await,
            "/w/g",
            "the outer root goes on above the inner one"
        );
        let abort = AbortSignal::new();
        let left = provider.resolve_path(&abort, "/inner/../../x").await.unwrap_err();
        assert_eq!((left.code(), left.path()), (Code::SandboxDenied, Some("/inner/../../x")));
        let whole = provider.resolve_path(&abort, "/w").await.unwrap().key;
        let part = provider.resolve_path(&abort, "/inner/f").await.unwrap().key;
        assert!(provider.contains(&abort, &whole, &part).await.unwrap());
        assert!(!provider.contains(&abort, &part, &whole).await.unwrap());
    }
}

/// A place in a nested root had a second key, which its lock and its observations did not know.
#[tokio::test]
async fn a_place_in_a_nested_root_has_one_key() {
    let bench = Bench::new();
    bench.put("inner/f", "x");
    let roots = [
        RootSpec::named(&bench.root, "/w").unwrap(),
        RootSpec::named(bench.root.join("inner"), "/inner").unwrap(),
    ];
    let provider = LocalProvider::open(&roots, options()).unwrap();
    let abort = AbortSignal::new();
    for (key, code) in [
        (&b"/inner\0f"[..], None),
        (b"/w\0inner/f", Some(Code::InvalidArgument)),
        (b"/w\0inner", Some(Code::InvalidArgument)),
        (b"/w\0inner2", Some(Code::NotFound)),
    ] {
        let found = provider.stat(&abort, &TargetKey::new(key), false).await;
        assert_eq!(found.err().map(|error| error.code()), code, "{}", String::from_utf8_lossy(key));
    }
}

/// One root's name is another one's place: a path that was shown led to the other root's file.
#[tokio::test]
async fn a_path_leads_back_to_where_it_was_shown_whatever_other_roots_lie_there() {
    let bench = Bench::new();
    bench.put("a/f", "a");
    bench.put("b/f", "b");
    bench.put("b/deep/f", "deep");
    let (a, b) = (bench.root.join("a"), bench.root.join("b"));
    let name = b.to_str().unwrap();
    symlink(b.join("f"), a.join("l")).unwrap();
    let deep = RootSpec::named(b.join("deep"), "/deep").unwrap();
    let roots = [RootSpec::named(&b, "/other").unwrap(), RootSpec::named(&a, name).unwrap(), deep];
    let provider = LocalProvider::open(&roots, options()).unwrap();
    for path in ["/f", "/deep/f"] {
        let shown_path = format!("{name}{path}");
        assert_eq!(shown(&provider, &shown_path).await, shown_path);
    }
    assert_eq!(
        shown(&provider, &format!("{name}/l")).await,
        "/other/f",
        "a link leads where the kernel goes"
    );
}

#[tokio::test]
async fn a_root_that_was_given_through_a_link_has_both_spellings() {
    let bench = Bench::new();
    bench.put("real/f", "x");
    let (real, alias) = (bench.root.join("real"), bench.root.join("alias"));
    symlink(&real, &alias).unwrap();
    let options = super::options();
    let provider = LocalProvider::open(&[RootSpec::new(&alias)], options).unwrap();
    let expected = real.join("f").to_str().unwrap().to_owned();
    assert_eq!(shown(&provider, real.join("f").to_str().unwrap()).await, expected);
    assert_eq!(shown(&provider, alias.join("f").to_str().unwrap()).await, expected);
}

#[tokio::test]
async fn a_named_root_is_shown_by_its_name_and_told_by_its_place() {
    let bench = Bench::new();
    bench.put("a b", "x");
    let options = super::options();
    let provider =
        LocalProvider::open(&[RootSpec::named(&bench.root, "/workspace").unwrap()], options).unwrap();
    let target = provider.resolve_path(&AbortSignal::new(), "a b").await.unwrap();
    let place = bench.root.join("a b").to_str().unwrap().to_owned();
    assert_eq!(
        (target.display_path.as_str(), target.raw_path.as_slice()),
        ("/workspace/a b", &b"/workspace/a b"[..])
    );
    assert_eq!(target.process_path, place.as_bytes());
    assert_eq!(target.file_url, format!("file://{}", place.replace(' ', "%20")));
}

#[test]
fn the_same_directory_or_name_twice_is_refused() {
    let bench = Bench::new();
    fs::create_dir(bench.root.join("x")).unwrap();
    let cases = [
        vec![],
        vec![RootSpec::new(&bench.root), RootSpec::named(&bench.root, "/w").unwrap()],
        vec![
            RootSpec::named(&bench.root, "/w").unwrap(),
            RootSpec::named(bench.root.join("x"), "/w").unwrap(),
        ],
    ];
    for roots in cases {
        let error = LocalProvider::open(&roots, options()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
    let missing = [RootSpec::new(bench.root.join("missing"))];
    let error = LocalProvider::open(&missing, options()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}

/// Names that nest while the directories lie elsewhere: two files would be shown under one path.
#[test]
fn a_root_that_lies_in_another_by_its_name_only_is_refused() {
    let bench = Bench::new();
    bench.put("a/sub/f", "x");
    bench.put("b/f", "y");
    let (a, sub, b) = (bench.root.join("a"), bench.root.join("a/sub"), bench.root.join("b"));
    let named = |directory: &Path, name: &str| RootSpec::named(directory, name).unwrap();
    let in_a = format!("{}/new", a.to_str().unwrap());
    for (roots, is_served) in [
        ([named(&a, "/w"), named(&b, "/w/sub")], false),
        ([named(&b, "/w/other"), named(&a, "/w")], false),
        ([named(&a, "/w"), named(&sub, "/w/other")], false),
        ([named(&sub, "/w"), named(&a, "/w/sub")], false),
        ([RootSpec::new(&a), named(&b, &in_a)], false),
        ([named(&a, "/"), named(&b, "/b")], false),
        ([named(&a, "/w"), named(&sub, "/w/sub")], true),
        ([named(&sub, "/w/sub"), named(&a, "/w")], true),
        ([RootSpec::new(&sub), RootSpec::new(&a)], true),
        ([named(&a, "/w"), named(&sub, "/inner")], true),
        ([named(&a, "/w"), named(&b, "/w2")], true),
        ([named(&bench.root, "/"), named(&b, "/b")], true),
    ] {
        match LocalProvider::open(&roots, options()) {
            Ok(_) => assert!(is_served, "{roots:?}"),
            Err(error) => assert_eq!((error.code(), is_served), (Code::InvalidArgument, false), "{roots:?}"),
        }
    }
}
