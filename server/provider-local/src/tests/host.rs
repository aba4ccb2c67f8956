//! Several providers on one directory: they take turns when they share a runtime directory.

use toolfs_core::error::{AbortCause, Code, ErrorKind, Published};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::*;

fn request(target: TargetKey, content: &str) -> WriteTextRequest {
    let content = Bytes::copy_from_slice(content.as_bytes());
    WriteTextRequest {
        target,
        content,
        guard: WriteGuard::Unconditional,
        want_diff: false,
        operation_id: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_through_two_providers_all_land() {
    let bench = Bench::with_host(|_| {});
    bench.put("f", "");
    bench.put("f", &(0..80).map(|line| format!("<{line}>\n")).collect::<String>());
    let key = bench.key("f").await;
    let edit_lines = |provider: LocalProvider, first: u32| {
        let key = key.clone();
        async move {
            for line in (first..80).step_by(2) {
                let edit = EditRequest::new(format!("<{line}>"), format!("done {line}"), false).unwrap();
                let request = EditTextRequest {
                    target: key.clone(),
                    edit,
                    guard: EditGuard::Unconditional,
                    want_diff: false,
                    operation_id: None,
                };
                provider.edit_text(&AbortSignal::new(), request).await.unwrap();
            }
        }
    };
    tokio::join!(edit_lines(bench.provider.clone(), 0), edit_lines(bench.another(), 1));
    let expected: String = (0..80).map(|line| format!("done {line}\n")).collect();
    assert_eq!(bench.get("f").as_deref(), Some(expected.as_str()));
    assert_eq!(bench.names(), ["f"], "neither ever took the other one for a foreign writer");
}

#[tokio::test]
async fn a_call_that_waits_for_another_server_can_be_stopped() {
    let bench = Bench::with_host(|_| {});
    bench.put("f", "old");
    let second = bench.another();
    let (started, wait_started) = std::sync::mpsc::channel();
    let (go_on, wait_go_on) = std::sync::mpsc::channel::<()>();
    bench.once_at(Step::Write, move || {
        started.send(()).unwrap();
        wait_go_on.recv().unwrap();
    });
    let key = bench.key("f").await;
    let stopped = AbortSignal::new();
    let first = bench.write("f", "first", WriteGuard::Unconditional);
    let second = async {
        while wait_started.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        let waiting = second.write_text(&stopped, request(key.clone(), "second"));
        let stop = async {
            tokio::task::yield_now().await;
            stopped.fire(AbortCause::Cancelled);
        };
        let error = tokio::join!(waiting, stop).0.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No));
        // Another target is nobody's turn but its own.
        let other = second.resolve_path(&AbortSignal::new(), "other").await.unwrap().key;
        second.write_text(&AbortSignal::new(), request(other, "x")).await.unwrap();
        go_on.send(()).unwrap();
    };
    tokio::join!(first, second).0.unwrap();
    assert_eq!(bench.get("f").as_deref(), Some("first"));
}

#[test]
fn no_directory_of_a_provider_lies_inside_a_root() {
    let bench = Bench::new();
    for setting in ["operations", "recovery", "runtime"] {
        let mut options = options();
        let inside = Some(bench.root.join("a/b"));
        match setting {
            "operations" => options.operations = inside,
            "recovery" => options.recovery = inside,
            _ => options.runtime = inside,
        }
        let error = LocalProvider::open(&[RootSpec::new(&bench.root)], options).unwrap_err();
        let ErrorKind::InvalidArgument { field, .. } = error.kind() else { panic!("{error:?}") };
        assert_eq!(field, setting);
        assert_eq!(bench.names(), Vec::<String>::new());
    }
}

#[test]
fn the_directories_of_a_provider_are_made_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::with_host(|_| {});
    let base = bench.root.parent().unwrap();
    for directory in ["runtime", "runtime/locks", "runtime/instances", "recovery", "recovery/publications"] {
        let mode = fs::metadata(base.join(directory)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700, "{directory}");
    }
}

/// Else a user of the host who may only look could hold a lock for ever, and one who may take part could not.
#[tokio::test]
async fn whoever_may_make_files_in_the_runtime_directory_may_lock_there_and_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    for (mode, of_files) in [(0o700, 0o600), (0o755, 0o600), (0o770, 0o660), (0o1777, 0o666)] {
        let runtime = tempfile::tempdir().unwrap();
        fs::set_permissions(runtime.path(), fs::Permissions::from_mode(mode)).unwrap();
        let bench = Bench::with(|options| options.runtime = Some(runtime.path().to_owned()));
        bench.write("f", "new", WriteGuard::CreateIfAbsent).await.unwrap();
        for directory in ["locks", "instances"] {
            let directory = runtime.path().join(directory);
            let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode_of(&directory), mode);
            let files: Vec<_> =
                fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files.iter().map(|file| mode_of(file)).collect::<Vec<_>>(), [of_files], "{mode:o}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_ends_in_order_leaves_nothing_of_its_own() {
    let bench = Bench::with_host(|_| {});
    bench.put("f", "old");
    let base = bench.root.parent().unwrap().to_owned();
    let second = bench.another();
    let key = bench.key("f").await;
    second.write_text(&AbortSignal::new(), request(key, "new")).await.unwrap();
    let count = |directory: &str| fs::read_dir(base.join(directory)).unwrap().count();
    assert_eq!((count("runtime/instances"), count("recovery/publications")), (2, 2));
    drop(second);
    assert_eq!((count("runtime/instances"), count("recovery/publications")), (1, 1));
}
