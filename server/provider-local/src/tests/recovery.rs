//! What a crash leaves is put in order by the next provider: removed, put back or kept, by its content alone.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use toolfs_core::error::{Code, ErrorKind, Published};
use toolfs_core::guard::WriteGuard;
use toolfs_core::version::Version;
use toolfs_provider::operation::OperationId;

use super::*;
use crate::facts::file_system;
use crate::instance::Instance;
use crate::leftover::{Hidden, Label};

fn version(text: &str) -> Version {
    Version::of(text.as_bytes())
}

fn bench() -> Bench {
    Bench::with_host(|_| {})
}

/// A provider that is gone and left something.
fn dead_instance(bench: &Bench) -> Instance {
    let provider = bench.another();
    provider.disk().looked.leave(None, 7);
    provider.disk().instance
}

/// The hidden name of a replacement of `f`, from `old` to `ours`.
fn hidden(instance: Instance) -> Hidden {
    Hidden { instance, serial: 7, label: Some(Label::new(&version("ours"), &version("old"), b"f")) }
}

fn leave(bench: &Bench, hidden: Hidden, content: &str) -> String {
    let name = String::from_utf8(hidden.name()).unwrap();
    bench.put(&name, content);
    name
}

/// What the rescue names hold.
fn rescued(bench: &Bench) -> Vec<String> {
    let names = bench.names().into_iter();
    names.filter(|name| name.starts_with(".toolfs-rescue-")).map(|name| bench.get(&name).unwrap()).collect()
}

fn visible(bench: &Bench) -> Vec<String> {
    bench.names().into_iter().filter(|name| !name.starts_with(".toolfs-rescue-")).collect()
}

/// Changes something else in the same directory.
async fn touch(bench: &Bench) {
    bench.write("other", "x", WriteGuard::Unconditional).await.unwrap();
    fs::remove_file(bench.root.join("other")).unwrap();
}

#[tokio::test]
async fn each_moment_of_a_crash_ends_in_the_old_or_the_new_content_and_no_foreign_one_is_lost() {
    // What is hidden, what is in the place; then what is in the place, and what was kept.
    type Window =
        (&'static str, &'static str, Option<&'static str>, Option<&'static str>, &'static [&'static str]);
    let windows: [Window; 9] = [
        ("named, not exchanged", "ours", Some("old"), Some("old"), &[]),
        ("exchanged, not verified", "old", Some("ours"), Some("ours"), &[]),
        ("a foreign content displaced", "theirs", Some("ours"), Some("theirs"), &[]),
        ("taken back", "ours", Some("theirs"), Some("theirs"), &[]),
        ("put back while a third one came", "third", Some("theirs"), Some("theirs"), &["third"]),
        ("displaced, and the new one replaced", "theirs", Some("newer"), Some("newer"), &["theirs"]),
        ("displaced, and the new one deleted", "theirs", None, None, &["theirs"]),
        ("verified, and the new one replaced", "old", Some("newer"), Some("newer"), &[]),
        ("verified, and the new one deleted", "old", None, None, &[]),
    ];
    for (what, beneath, target, expected, kept) in windows {
        let bench = bench();
        if let Some(target) = target {
            bench.put("f", target);
        }
        leave(&bench, hidden(dead_instance(&bench)), beneath);
        touch(&bench).await;
        assert_eq!(bench.get("f").as_deref(), expected, "{what}");
        assert_eq!(rescued(&bench), kept, "{what}");
        assert_eq!(visible(&bench).len(), usize::from(expected.is_some()), "{what}: {:?}", bench.names());
    }
}

#[tokio::test]
async fn a_directory_or_a_link_that_was_displaced_is_put_back() {
    let bench = bench();
    bench.put("f", "ours");
    let name = String::from_utf8(hidden(dead_instance(&bench)).name()).unwrap();
    bench.put(&format!("{name}/inside"), "theirs");
    touch(&bench).await;
    assert_eq!(bench.get("f/inside").as_deref(), Some("theirs"));
    assert_eq!(bench.names(), ["f"]);

    let bench = self::bench();
    bench.put("f", "ours");
    let name = String::from_utf8(hidden(dead_instance(&bench)).name()).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.root.join(name)).unwrap();
    touch(&bench).await;
    assert!(fs::symlink_metadata(bench.root.join("f")).unwrap().is_symlink());
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn a_partial_file_is_removed_whatever_is_in_it() {
    let bench = bench();
    bench.put("f", "old");
    leave(&bench, hidden(dead_instance(&bench)).partial(), "hal");
    touch(&bench).await;
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn what_is_not_known_to_be_dead_is_left_alone() {
    let bench = bench();
    bench.put("f", "old");
    let live = bench.another();
    let names = [
        leave(&bench, hidden(live.disk().instance), "ours"),
        leave(&bench, hidden(Instance::new()), "ours"),
        leave(&bench, hidden(bench.provider.disk().instance).partial(), "ou"),
    ];
    bench.put(".toolfs-rescue-0123456789abcdef-1", "kept");
    bench.put(".toolfs-something", "else");
    touch(&bench).await;
    assert_eq!(bench.names().len(), 6);
    drop(live);
    for name in names {
        assert!(bench.root.join(&name).exists(), "{name}");
    }
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so, and why")]
async fn what_another_boot_left_is_nobodys_on_a_file_system_of_one_system() {
    // Without a runtime directory: the name alone tells.
    let bench = Bench::new();
    let magic = file_system(fs::File::open(&bench.root).unwrap()).unwrap();
    if ![0xef53, 0x0102_1994, 0x794c_7630, 0x5846_5342, 0x9123_683e].contains(&magic) {
        println!(
            "skipped: the temporary directory is on a file system ({magic:x}) that several systems may share"
        );
        return;
    }
    bench.put("f", "ours");
    let here = bench.provider.disk().instance.to_string();
    let digit = if here.starts_with('1') { '2' } else { '1' };
    let other_boot = Instance::parse(format!("{digit}{}", &here[1..]).as_bytes()).unwrap();
    leave(&bench, hidden(other_boot), "theirs");
    leave(&bench, hidden(Instance::new()).partial(), "ou");
    touch(&bench).await;
    assert_eq!(bench.get("f").as_deref(), Some("theirs"));
    assert_eq!(bench.names().len(), 2, "that of this boot stays: nobody can tell whose it is");
}

#[tokio::test]
async fn a_leftover_that_somebody_writes_to_is_not_removed() {
    let bench = bench();
    bench.put("f", "ours");
    let name = leave(&bench, hidden(dead_instance(&bench)), "old");
    let writer = fs::File::options().write(true).open(bench.root.join(&name)).unwrap();
    touch(&bench).await;
    assert_eq!(bench.get(&name).as_deref(), Some("old"));
    drop(writer);
}

#[tokio::test]
async fn reading_puts_nothing_in_order() {
    let bench = bench();
    bench.put("f", "ours");
    let name = leave(&bench, hidden(dead_instance(&bench)), "theirs");
    bench.read("f").await.unwrap();
    let plan = WriteTextRequest {
        target: bench.key("f").await,
        content: Bytes::from_static(b"new"),
        guard: WriteGuard::Unconditional,
        want_diff: false,
        operation_id: None,
    };
    bench.provider.plan_write(&AbortSignal::new(), plan).await.unwrap();
    assert_eq!(bench.names(), [name, "f".to_owned()]);
}

/// Ends a provider in the middle of a replacement of `f`, as a crash does: nothing of what it began is cleaned up.
async fn crash_at(bench: &mut Bench, step: Step, mut before: impl FnMut(Step) + Send + 'static) {
    bench.at_steps(move |due| {
        before(due);
        assert!(due != step, "the crash of this test");
        Ok(())
    });
    let crash = AssertUnwindSafe(bench.write("f", "ours", WriteGuard::Unconditional)).catch_unwind().await;
    assert!(crash.is_err());
    restart(bench);
}

/// Ends the provider, and starts another one.
fn restart(bench: &mut Bench) {
    end(bench);
    bench.provider = bench.another();
}

/// Ends the provider: what serves the root then knows of no other.
fn end(bench: &mut Bench) {
    let options = options();
    bench.provider = LocalProvider::open(&[RootSpec::new(&bench.root)], options).unwrap();
}

#[tokio::test]
async fn the_next_start_follows_the_journal_to_what_was_under_way() {
    let mut bench = bench();
    bench.put("deep/f", "unrelated");
    bench.put("f", "old");
    let path = bench.root.join("f");
    let theirs = move |due| {
        if due == Step::Exchange {
            fs::write(path.with_extension("new"), "theirs").unwrap();
            fs::rename(path.with_extension("new"), &path).unwrap();
        }
    };
    crash_at(&mut bench, Step::Verify, theirs).await;
    assert_eq!(bench.get("f").as_deref(), Some("theirs"));
    assert_eq!(bench.names(), ["deep", "f"]);
    // The journal lies on the root's volume, and may have lost what it told together with that: the dead one stays known.
    let base = bench.root.parent().unwrap();
    for (own, count) in [("runtime/instances", 2), ("recovery/publications", 1)] {
        assert_eq!(fs::read_dir(base.join(own)).unwrap().count(), count, "{own}");
    }
}

/// Ours is in the place after the crash, and the repetition must not take that for the effect: it was to be taken back.
#[tokio::test]
async fn a_repetition_after_a_crash_does_not_count_what_is_yet_to_be_taken_back() {
    let mut bench = Bench::with_host(|options| {
        let base = options.runtime.as_ref().unwrap().parent().unwrap().to_owned();
        options.operations = Some(base.join("records"));
    });
    bench.put("f", "old");
    let request = WriteTextRequest {
        target: bench.key("f").await,
        content: Bytes::from_static(b"ours"),
        guard: WriteGuard::Unconditional,
        want_diff: false,
        operation_id: Some(OperationId::parse("once").unwrap()),
    };
    let path = bench.root.join("f");
    bench.at_steps(move |due| {
        if due == Step::Exchange {
            fs::write(path.with_extension("new"), "theirs").unwrap();
            fs::rename(path.with_extension("new"), &path).unwrap();
        }
        assert!(due != Step::Verify, "the crash of this test");
        Ok(())
    });
    let abort = AbortSignal::new();
    let crash = AssertUnwindSafe(bench.provider.write_text(&abort, request.clone())).catch_unwind().await;
    assert!(crash.is_err());
    end(&mut bench);
    // Without the journal: what the look before the first mutation finds must be enough.
    bench.options.recovery = None;
    bench.provider = bench.another();
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
    let error = bench.provider.write_text(&abort, request).await.unwrap_err();
    assert_eq!(error.published(), Published::Maybe, "{error:?}");
    assert_eq!(bench.get("f").as_deref(), Some("theirs"));
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn a_crash_after_the_exchange_and_after_the_verdict_keeps_the_new_content() {
    for step in [Step::Verify, Step::Remove] {
        let mut bench = bench();
        bench.put("f", "old");
        crash_at(&mut bench, step, |_| {}).await;
        assert_eq!(bench.get("f").as_deref(), Some("ours"), "{step:?}");
        assert_eq!(bench.names(), ["f"], "{step:?}");
    }
}

#[tokio::test]
async fn a_journal_of_a_root_that_is_not_served_stays() {
    let mut bench = bench();
    bench.put("f", "old");
    let base = bench.root.parent().unwrap().to_owned();
    let served = std::mem::replace(&mut bench.root, base.join("elsewhere"));
    fs::create_dir(&bench.root).unwrap();
    crash_at(&mut bench, Step::Verify, |_| {}).await;
    assert_eq!(fs::read_dir(&bench.root).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&served).unwrap().count(), 2);
    assert_eq!(fs::read_dir(base.join("recovery/publications")).unwrap().count(), 2);

    bench.root = served;
    bench.provider = bench.another();
    assert_eq!(bench.names(), ["f"]);
    assert_eq!(bench.get("f").as_deref(), Some("ours"));
}

/// It was moved with what is in it, so that its provider must stay known to be dead.
#[tokio::test]
async fn a_directory_that_was_moved_after_a_crash_is_put_in_order_before_its_next_mutation() {
    let mut bench = bench();
    bench.put("a/f", "old");
    bench.at_steps(|due| {
        assert!(due != Step::Verify, "the crash of this test");
        Ok(())
    });
    let crash = AssertUnwindSafe(bench.write("a/f", "ours", WriteGuard::Unconditional)).catch_unwind().await;
    assert!(crash.is_err());
    fs::rename(bench.root.join("a"), bench.root.join("b")).unwrap();
    restart(&mut bench);
    assert_eq!(fs::read_dir(bench.root.join("b")).unwrap().count(), 2);
    bench.write("b/g", "x", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fs::read_dir(bench.root.join("b")).unwrap().count(), 2, "f and g");
    assert_eq!(bench.get("b/f").as_deref(), Some("ours"));
}

#[tokio::test]
async fn a_recovery_that_a_crash_ends_is_ended_by_the_next_one() {
    for step in [Step::TakeBack, Step::Remove] {
        let mut bench = bench();
        bench.put("f", "ours");
        leave(&bench, hidden(dead_instance(&bench)), "theirs");
        bench.at_steps(move |due| {
            assert!(due != step, "the crash of this test");
            Ok(())
        });
        let crash =
            AssertUnwindSafe(bench.write("other", "x", WriteGuard::Unconditional)).catch_unwind().await;
        assert!(crash.is_err());
        assert_eq!(bench.names().len(), 2, "{step:?}");
        restart(&mut bench);
        touch(&bench).await;
        assert_eq!(bench.get("f").as_deref(), Some("theirs"), "{step:?}");
        assert_eq!(bench.names(), ["f"], "{step:?}");
    }
}

#[tokio::test]
async fn providers_that_start_at_once_put_back_once() {
    for _ in 0..20 {
        let mut bench = bench();
        bench.put("f", "old");
        let path = bench.root.join("f");
        bench.at_steps(move |due| {
            if due == Step::Exchange {
                fs::write(path.with_extension("new"), "theirs").unwrap();
                fs::rename(path.with_extension("new"), &path).unwrap();
            }
            assert!(due != Step::Verify, "the crash of this test");
            Ok(())
        });
        let crash =
            AssertUnwindSafe(bench.write("f", "ours", WriteGuard::Unconditional)).catch_unwind().await;
        assert!(crash.is_err());
        end(&mut bench);
        let started: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| bench.another())).collect();
            starting.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(bench.get("f").as_deref(), Some("theirs"));
        assert_eq!(bench.names(), ["f"]);
        drop(started);
    }
}

/// Whoever comes first: the foreign content is in its place when the guard is judged, or it is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recovery_and_a_live_mutation_take_turns() {
    for _ in 0..20 {
        let bench = bench();
        bench.put("f", "ours");
        leave(&bench, hidden(dead_instance(&bench)), "theirs");
        let second = bench.another();
        let guarded = |provider: LocalProvider, name: &'static str| async move {
            let request = WriteTextRequest {
                target: provider.resolve_path(&AbortSignal::new(), name).await.unwrap().key,
                content: Bytes::from_static(b"new"),
                guard: WriteGuard::ReplaceIfVersion(version("ours")),
                want_diff: false,
                operation_id: None,
            };
            provider.write_text(&AbortSignal::new(), request).await
        };
        let (one, two) = tokio::join!(guarded(bench.provider.clone(), "f"), guarded(second, "f"));
        for error in [one.unwrap_err(), two.unwrap_err()] {
            let ErrorKind::StaleVersion { actual, .. } = error.kind() else { panic!("{error:?}") };
            assert_eq!((error.code(), actual), (Code::StaleVersion, &Some(version("theirs"))));
        }
        assert_eq!(bench.get("f").as_deref(), Some("theirs"));
        assert_eq!(bench.names(), ["f"]);
    }
}

/// Else a caller who knows the version of a content could give it a name under which it counts as litter.
#[tokio::test]
async fn a_name_that_could_pass_for_a_leftover_is_none_that_a_caller_can_give() {
    let bench = bench();
    let name = String::from_utf8(hidden(Instance::new()).name()).unwrap();
    for path in [name.clone(), format!("{name}/inside/f")] {
        let error = bench.write(&path, "ours", WriteGuard::Unconditional).await.unwrap_err();
        assert_eq!(error.code(), Code::SandboxDenied, "{path}");
        assert!(error.message().contains(".toolfs-"), "{}", error.message());
    }
    assert_eq!(bench.names(), Vec::<String>::new());
    bench.write(".toolfs-notes", "free", WriteGuard::CreateIfAbsent).await.unwrap();
    bench.write(".toolfs-rescue-0123456789abcdef-1", "free", WriteGuard::CreateIfAbsent).await.unwrap();
}
