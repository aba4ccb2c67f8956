//! Named operations on the disk: what crashes in between leave, what other servers do at the same time, and records
//! that are old, foreign or broken.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use toolfs_core::error::{AbortCause, Code, FsError, Published};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::version::Version;
use toolfs_provider::operation::{OperationId, RETENTION};

use super::*;

/// A provider on a fresh directory that records operations beside it.
fn bench() -> Bench {
    Bench::with_records(|_| {})
}

fn id() -> Option<OperationId> {
    Some(OperationId::parse("once").unwrap())
}

/// Mutations of every kind, each of which would be seen if it happened twice.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    Create,
    CreateWithParents,
    Replace,
    Edit,
    EditThroughLink,
}

impl Mutation {
    const ALL: [Mutation; 5] = [
        Mutation::Create,
        Mutation::CreateWithParents,
        Mutation::Replace,
        Mutation::Edit,
        Mutation::EditThroughLink,
    ];

    /// Where it is asked for, and where its effect is.
    fn paths(self) -> (&'static str, &'static str) {
        match self {
            Mutation::Create | Mutation::Replace | Mutation::Edit => ("f", "f"),
            Mutation::CreateWithParents => ("a/b/f", "a/b/f"),
            Mutation::EditThroughLink => ("link", "f"),
        }
    }

    fn before(self) -> Option<&'static str> {
        match self {
            Mutation::Create | Mutation::CreateWithParents => None,
            Mutation::Replace | Mutation::Edit | Mutation::EditThroughLink => Some("one secret\n"),
        }
    }

    fn after(self) -> &'static str {
        match self {
            Mutation::Create | Mutation::CreateWithParents | Mutation::Replace => "hidden\n",
            Mutation::Edit | Mutation::EditThroughLink => "oneone secret\n",
        }
    }

    fn prepare(self, root: &Path) {
        if let Some(old) = self.before() {
            fs::write(root.join("f"), old).unwrap();
        }
        if let Mutation::EditThroughLink = self {
            symlink("f", root.join("link")).unwrap();
        }
    }

    /// Carries it out, and tells its report without the diff.
    async fn run(self, provider: &LocalProvider) -> Result<String> {
        let abort = AbortSignal::new();
        let target = provider.resolve_path(&abort, self.paths().0).await?.key;
        let guard = match self {
            Mutation::Create | Mutation::CreateWithParents => WriteGuard::CreateIfAbsent,
            Mutation::Replace => WriteGuard::ReplaceIfVersion(Version::of(b"one secret\n")),
            Mutation::Edit | Mutation::EditThroughLink => {
                let edit = EditRequest::new("one".to_owned(), "oneone".to_owned(), false).unwrap();
                let guard = EditGuard::Unconditional;
                let request = EditTextRequest { target, edit, guard, want_diff: true, operation_id: id() };
                let report = provider.edit_text(&abort, request).await?;
                return Ok(serde_json::to_string(&EditReport { diff: None, ..report }).unwrap());
            }
        };
        let content = Bytes::from_static(self.after().as_bytes());
        let request = WriteTextRequest { target, content, guard, want_diff: true, operation_id: id() };
        let report = provider.write_text(&abort, request).await?;
        Ok(serde_json::to_string(&WriteReport { diff: None, ..report }).unwrap())
    }

    /// What it reports when nothing comes in between.
    async fn undisturbed(self) -> String {
        let bench = bench();
        self.prepare(&bench.root);
        self.run(&bench.provider).await.unwrap()
    }

    /// Repeats it after a crash, on a provider that knows nothing of the first attempt, and again after a change.
    async fn repeat_after_crash(self, root: &Path, expected: &str, what: &str) {
        let effect = root.join(self.paths().1);
        for _ in 0..2 {
            let report = self.run(&reopened(root)).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert_eq!(report, expected, "{what}");
            assert_eq!(fs::read_to_string(&effect).unwrap(), self.after(), "{what}");
        }
        fs::write(&effect, "theirs").unwrap();
        assert_eq!(self.run(&reopened(root)).await.unwrap(), expected, "{what}");
        assert_eq!(fs::read_to_string(&effect).unwrap(), "theirs", "{what}");
        let is_link = fs::symlink_metadata(root.join("link")).is_ok_and(|metadata| metadata.is_symlink());
        assert_eq!(is_link, matches!(self, Mutation::EditThroughLink), "{what}");
    }
}

fn records(root: &Path) -> PathBuf {
    root.parent().unwrap().join("records")
}

/// A server that is started anew.
fn reopened(root: &Path) -> LocalProvider {
    let mut options = super::options();
    options.operations = Some(records(root));
    LocalProvider::open(&[RootSpec::new(root)], options).unwrap()
}

/// All record files.
fn record_files(bench: &Bench) -> Vec<PathBuf> {
    let within = fs::read_dir(records(&bench.root)).unwrap();
    within
        .flat_map(|directory| fs::read_dir(directory.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[track_caller]
fn one_record(bench: &Bench) -> PathBuf {
    let files = record_files(bench);
    assert_eq!(files.len(), 1);
    files[0].clone()
}

/// Waits until a second call of this process has the one record open.
fn until_somebody_else_has_it_open(records: &Path) {
    let is_record = |descriptor: &fs::DirEntry| {
        fs::read_link(descriptor.path()).is_ok_and(|path| path.starts_with(records) && path.is_file())
    };
    let count = || fs::read_dir("/proc/self/fd").unwrap().flatten().filter(is_record).count();
    while count() < 2 {
        std::thread::yield_now();
    }
}

/// Carries out a mutation that panics at a step, as near to a crash as a process can come and live.
async fn stop_at(bench: &Bench, mutation: Mutation, step: Step) -> bool {
    bench.at_steps(move |due| {
        assert!(due != step, "stopped");
        Ok(())
    });
    let provider = bench.provider.clone();
    let stopped = tokio::spawn(async move { mutation.run(&provider).await });
    stopped.await.is_err()
}

#[tokio::test]
async fn a_stop_at_any_step_leaves_one_effect_after_a_repetition() {
    let mut reached = 0;
    for mutation in Mutation::ALL {
        let expected = mutation.undisturbed().await;
        for step in Step::ALL {
            let bench = bench();
            mutation.prepare(&bench.root);
            reached += usize::from(stop_at(&bench, mutation, step).await);
            mutation.repeat_after_crash(&bench.root, &expected, &format!("{mutation:?} {step:?}")).await;
        }
    }
    // A creation has 8 steps, parents add 1, a replacement has 14.
    assert_eq!(reached, 9 + 10 + 3 * 14);
}

const CHILD_ROOT: &str = "TOOLFS_TEST_KILLED_ROOT";
const CHILD_MUTATION: &str = "TOOLFS_TEST_KILLED_MUTATION";
const CHILD_STEP: &str = "TOOLFS_TEST_KILLED_STEP";

#[tokio::test]
async fn a_kill_at_any_step_leaves_one_effect_after_a_repetition() {
    let mut reached = 0;
    for (number, mutation) in Mutation::ALL.into_iter().enumerate() {
        let expected = mutation.undisturbed().await;
        for (step_number, step) in Step::ALL.into_iter().enumerate() {
            let bench = bench();
            mutation.prepare(&bench.root);
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &own_name(module_path!(), "in_a_process_that_is_killed"), "--ignored"])
                .env(CHILD_ROOT, &bench.root)
                .env(CHILD_MUTATION, number.to_string())
                .env(CHILD_STEP, step_number.to_string())
                .stdout(Stdio::null())
                .status()
                .unwrap();
            let killed = status.signal() == Some(9);
            assert!(killed || status.success(), "{mutation:?} {step:?} {status:?}");
            reached += usize::from(killed);
            mutation.repeat_after_crash(&bench.root, &expected, &format!("{mutation:?} {step:?}")).await;
        }
    }
    assert_eq!(reached, 9 + 10 + 3 * 14);
}

#[test]
#[ignore = "run by the test above, which expects it to be killed"]
fn in_a_process_that_is_killed() {
    let Some(root) = std::env::var_os(CHILD_ROOT) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (mutation, step) = (Mutation::ALL[number(CHILD_MUTATION)], Step::ALL[number(CHILD_STEP)]);
    let provider = reopened(Path::new(&root));
    *provider.disk().hook.lock().unwrap() = Some(Box::new(move |due| {
        if due == step {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
        Ok(())
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(mutation.run(&provider)).unwrap();
}

#[track_caller]
fn assert_in_doubt(result: Result<String>, code: Code) -> FsError {
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.published()), (code, Published::Maybe), "{error:?}");
    error
}

/// Somebody else changed the file after the crash: nobody can tell any more, and nothing is changed for a guess.
#[tokio::test]
async fn what_somebody_else_changed_meanwhile_is_told_and_left_alone() {
    for mutation in Mutation::ALL {
        for step in [Step::Publish, Step::Mark] {
            let bench = bench();
            mutation.prepare(&bench.root);
            assert!(stop_at(&bench, mutation, step).await);
            let effect = mutation.paths().1;
            bench.put(effect, "theirs");
            for _ in 0..2 {
                let error = assert_in_doubt(mutation.run(&reopened(&bench.root)).await, Code::StaleVersion);
                assert!(!error.is_retryable());
                assert_eq!(bench.get(effect).as_deref(), Some("theirs"), "{mutation:?} {step:?}");
            }
            // A file in the place of which something else stands is no sign of anything either.
            fs::remove_file(bench.root.join(effect)).unwrap();
            fs::create_dir(bench.root.join(effect)).unwrap();
            assert_in_doubt(mutation.run(&reopened(&bench.root)).await, Code::NotRegularFile);
            fs::remove_dir(bench.root.join(effect)).unwrap();
            // Put back by hand, it counts as never left.
            if let Some(old) = mutation.before() {
                bench.put(effect, old);
            }
            mutation.run(&reopened(&bench.root)).await.unwrap();
            assert_eq!(bench.get(effect).as_deref(), Some(mutation.after()), "{mutation:?} {step:?}");
        }
    }
}

/// It is known that nothing had happened, so the guard of the repetition judges, and its refusal is a plain one.
#[tokio::test]
async fn a_repetition_of_what_had_not_happened_is_judged_by_its_own_guard() {
    let bench = bench();
    Mutation::Edit.prepare(&bench.root);
    assert!(stop_at(&bench, Mutation::Edit, Step::Publish).await);
    let provider = reopened(&bench.root);
    let abort = AbortSignal::new();
    let request = EditTextRequest {
        target: provider.resolve_path(&abort, "f").await.unwrap().key,
        edit: EditRequest::new("one".to_owned(), "oneone".to_owned(), false).unwrap(),
        guard: EditGuard::ReplaceIfVersion(Version::of(b"never")),
        want_diff: false,
        operation_id: id(),
    };
    let error = provider.edit_text(&abort, request).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::StaleVersion, Published::No));
    assert_eq!(bench.get("f").as_deref(), Mutation::Edit.before());
    assert_eq!(record_files(&bench), Vec::<PathBuf>::new(), "a refusal leaves no record");
}

#[tokio::test]
async fn a_record_holds_no_content() {
    for mutation in Mutation::ALL {
        let bench = bench();
        mutation.prepare(&bench.root);
        mutation.run(&bench.provider).await.unwrap();
        let record = fs::read_to_string(one_record(&bench)).unwrap();
        assert_eq!(record.lines().count(), 2);
        for content in ["secret", "hidden", "oneone"] {
            assert!(!record.contains(content), "{mutation:?}: {record}");
        }
    }
}

#[tokio::test]
async fn without_a_record_nothing_is_published() {
    let causes =
        [(Errno::IO, Code::IoError), (Errno::NOSPC, Code::Unavailable), (Errno::PERM, Code::IoError)];
    for mutation in Mutation::ALL {
        for (errno, code) in causes {
            let bench = bench();
            mutation.prepare(&bench.root);
            bench.at_steps(move |due| if due == Step::Record { Err(errno) } else { Ok(()) });
            let error = mutation.run(&bench.provider).await.unwrap_err();
            assert_eq!((error.code(), error.published()), (code, Published::No), "{mutation:?} {errno:?}");
            assert_eq!(bench.get(mutation.paths().1).as_deref(), mutation.before(), "{mutation:?} {errno:?}");
            bench.no_hook();
            mutation.run(&bench.provider).await.unwrap();
        }
    }
}

/// Each failure of a step that is told as "nothing published" frees the name, and any other one keeps the record.
#[tokio::test]
async fn a_failure_at_any_step_and_a_repetition_have_one_effect() {
    for mutation in Mutation::ALL {
        for step in Step::ALL {
            let bench = bench();
            mutation.prepare(&bench.root);
            bench.at_steps(move |due| if due == step { Err(Errno::IO) } else { Ok(()) });
            let first = mutation.run(&bench.provider).await;
            bench.no_hook();
            let what = format!("{mutation:?} {step:?} {first:?}");
            if let Err(error) = &first {
                assert_eq!(error.published(), Published::No, "{what}");
                assert_eq!(record_files(&bench), Vec::<PathBuf>::new(), "{what}");
            }
            let again = mutation.run(&reopened(&bench.root)).await.unwrap();
            assert_eq!(bench.get(mutation.paths().1).as_deref(), Some(mutation.after()), "{what}");
            if let Ok(first) = &first {
                assert_eq!(&again, first, "{what}: what was not durable stays told");
            }
        }
    }
}

#[tokio::test]
async fn what_is_left_of_a_record_decides() {
    let bench = bench();
    bench.put("f", "one secret\n");
    let first = Mutation::Edit.run(&bench.provider).await.unwrap();
    let record = one_record(&bench);
    let whole = fs::read(&record).unwrap();
    let first_line = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;

    // A mark that broke off: the disk is asked, and the mark is made again.
    fs::write(&record, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(Mutation::Edit.run(&bench.provider).await.unwrap(), first);
    assert_eq!(fs::read(&record).unwrap(), whole);

    // A first line that broke off: its operation never came to an effect.
    bench.put("f", "one secret\n");
    fs::write(&record, &whole[..first_line - 1]).unwrap();
    assert_eq!(Mutation::Edit.run(&bench.provider).await.unwrap(), first);
    assert_eq!(bench.get("f").as_deref(), Some("oneone secret\n"));

    // What is not understood may stand for an effect.
    let mut changed = whole.clone();
    changed[first_line / 2] ^= 1;
    for foreign in [changed, b"{}\n".to_vec(), vec![b'x'; 2 << 20]] {
        fs::write(&record, &foreign).unwrap();
        bench.put("f", "one secret\n");
        assert_in_doubt(Mutation::Edit.run(&bench.provider).await, Code::IoError);
        assert_eq!(bench.get("f").as_deref(), Some("one secret\n"));
        assert_eq!(fs::read(&record).unwrap(), foreign, "it is kept for whoever looks into it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_waits_for_the_first_and_answers_its_record() {
    let bench = bench();
    bench.put("f", "one secret\n");
    let other = reopened(&bench.root);
    let (overtaking, overtaken) = std::sync::mpsc::channel();
    *other.disk().hook.lock().unwrap() = Some(Box::new(move |due| {
        if due == Step::Record {
            overtaking.send(()).unwrap();
        }
        Ok(())
    }));
    let (begin, begun) = tokio::sync::oneshot::channel();
    let waits = tokio::spawn(async move {
        begun.await.unwrap();
        Mutation::Edit.run(&other).await
    });
    let records = records(&bench.root);
    bench.once_at(Step::Publish, move || {
        begin.send(()).unwrap();
        until_somebody_else_has_it_open(&records);
        let second = overtaken.recv_timeout(Duration::from_millis(100));
        assert!(second.is_err(), "the second began while the first was under way");
    });
    let first = Mutation::Edit.run(&bench.provider).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap(), first);
    assert_eq!(bench.get("f").as_deref(), Some("oneone secret\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_for_another_server_can_be_aborted() {
    let bench = bench();
    let abort = AbortSignal::new();
    let other = reopened(&bench.root);
    let (fired, target) = (abort.clone(), bench.key("f").await);
    let (answer, answered) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    let records = records(&bench.root);
    bench.once_at(Step::Publish, move || {
        let request = WriteTextRequest {
            target,
            content: Bytes::from_static(b"hidden\n"),
            guard: WriteGuard::CreateIfAbsent,
            want_diff: false,
            operation_id: id(),
        };
        let waits = runtime.spawn(async move { other.write_text(&abort, request).await });
        until_somebody_else_has_it_open(&records);
        fired.fire(AbortCause::Cancelled);
        answer.send(runtime.block_on(waits).unwrap()).unwrap();
    });
    Mutation::Create.run(&bench.provider).await.unwrap();
    let error = answered.recv().unwrap().unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::Aborted, Published::No));
    assert_eq!(bench.get("f").as_deref(), Some("hidden\n"));
    assert_eq!(record_files(&bench).len(), 1, "the first one's record stays");
}

#[test]
fn records_never_lie_inside_a_root() {
    let bench = bench();
    let beside = bench.root.parent().unwrap();
    fs::create_dir(bench.root.join("there")).unwrap();
    symlink(bench.root.join("there"), beside.join("alias")).unwrap();
    let before = bench.names();
    for inside in [
        bench.root.clone(),
        bench.root.join("there"),
        bench.root.join("new/deep"),
        beside.join("alias/new"),
        beside.join("records/../root/new"),
    ] {
        let mut options = super::options();
        options.operations = Some(inside.clone());
        let root = RootSpec::named(&bench.root, "/w").unwrap();
        let error = LocalProvider::open(&[root], options).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{inside:?}");
        assert!(error.message().contains("operations"), "{error}");
        assert_eq!(bench.names(), before, "nothing is made before it is refused");
    }
}

#[tokio::test]
async fn records_are_for_the_servers_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    Mutation::Create.run(&bench.provider).await.unwrap();
    let record = one_record(&bench);
    for path in [record.as_path(), record.parent().unwrap(), &records(&bench.root)] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path:?} {mode:o}");
    }
}

#[tokio::test]
async fn old_records_go_and_those_in_use_stay() {
    let bench = bench();
    Mutation::Create.run(&bench.provider).await.unwrap();
    let record = one_record(&bench);
    let which = record.parent().unwrap().file_name().unwrap().as_encoded_bytes().to_vec();
    let store = || bench.provider.disk().operations.as_ref().unwrap();
    let age = |age: Duration| {
        let file = fs::File::options().append(true).open(&record).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    let minute = Duration::from_secs(60);
    age(RETENTION - minute);
    store().sweep(&which, HostClock.now(), 10).unwrap();
    assert!(record.exists(), "it is not old yet");

    age(RETENTION + minute);
    let held = fs::File::open(&record).unwrap();
    held.lock().unwrap();
    store().sweep(&which, HostClock.now(), 10).unwrap();
    assert!(record.exists(), "somebody works with it");
    drop(held);
    store().sweep(&which, HostClock.now(), 10).unwrap();
    assert!(!record.exists());
    store().sweep(b"no", HostClock.now(), 10).unwrap();
}

#[tokio::test]
async fn of_too_many_records_the_oldest_go() {
    let bench = bench();
    let within = records(&bench.root).join("aa");
    fs::create_dir(&within).unwrap();
    for number in 0..10 {
        let file = fs::File::create(within.join(format!("{number}"))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(number)).unwrap();
    }
    let store = bench.provider.disk().operations.as_ref().unwrap();
    store.sweep(b"aa", HostClock.now(), 4).unwrap();
    let mut left: Vec<_> =
        record_files(&bench).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    left.sort();
    assert_eq!(left, ["0", "1", "2", "3"]);
}
