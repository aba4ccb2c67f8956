//! The corpus of `client/corpus`: cases that every client of every language replays, here through the Rust client.
//!
//! A case is read ([`case`], [`step`], [`entry`], [`form`]), played against a server of its own ([`run`], [`served`],
//! [`agent`]), and judged ([`verdict`], [`matcher`], [`message`], [`left`]).

mod agent;
mod case;
mod disk;
mod entry;
mod form;
mod left;
mod matcher;
mod message;
mod run;
mod served;
mod step;
mod verdict;

use std::fs;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use self::case::Case;

/// Cases that run at once. Most of their time they wait for the disk or for a process to start.
const AT_ONCE: usize = 4;

/// How the tools are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The parts of the command, put together in this process.
    InProcess,
    /// The command as a process of its own.
    OverTheBinary,
}

impl Way {
    /// The name in the table of languages.
    fn language(self) -> &'static str {
        match self {
            Way::InProcess => "Rust (in process)",
            Way::OverTheBinary => "Rust",
        }
    }
}

/// Plays every case below `client/corpus/cases`, or those whose name contains what `TOOLFS_CORPUS_ONLY` says.
///
/// # Panics
/// When a case fails, with every difference.
pub(crate) fn play_all(way: Way) {
    let cases = read_all();
    // Modes at the end are those of new files, whoever runs the tests.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(differences) = play(case, way) {
                        failures.lock().unwrap().push((name.as_str(), differences));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    report(way, &cases, &failures);
    let told: Vec<String> = failures
        .iter()
        .map(|(name, differences)| format!("{name}\n    {}", differences.replace('\n', "\n    ")))
        .collect();
    assert!(failures.is_empty(), "{} of {} cases fail:\n{}", failures.len(), cases.len(), told.join("\n"));
}

/// Plays one case. What panics on the way is a failure of that case alone.
fn play(case: &Result<Case, String>, way: Way) -> Result<(), String> {
    let case = case.as_ref().map_err(|fault| format!("the file is no case: {fault}"))?;
    let played = panic::catch_unwind(AssertUnwindSafe(|| {
        // The client's connection lives on the worker, so that it hears the server's good-bye.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(run::play(case, way))
    }));
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("panicked: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a word"))
    };
    let title = |differences| format!("{}\n{differences}", case.title);
    played.unwrap_or_else(|panic| Err(panicked(panic))).map_err(title)
}

/// Every case by its name, which is its path below `cases/` without `.json`.
fn read_all() -> Vec<(String, Result<Case, String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("client/corpus/cases");
    let only = std::env::var("TOOLFS_CORPUS_ONLY").unwrap_or_default();
    let name =
        |(path, file): (String, PathBuf)| path.strip_suffix(".json").map(|name| (name.to_owned(), file));
    let files = disk::paths(&root).into_iter().filter(|(_, file)| file.is_file());
    let cases = files.filter_map(name).filter(|(name, _)| name.contains(&only));
    let cases: Vec<_> =
        cases.map(|(name, file)| (name, case::parse(&fs::read_to_string(file).unwrap()))).collect();
    assert!(!cases.is_empty(), "there are no cases `{only}` below {}", root.display());
    cases
}

/// Appends a line to the file that `TOOLFS_CORPUS_REPORT` names, of which the table of languages is made.
fn report(way: Way, cases: &[(String, Result<Case, String>)], failures: &[(&str, String)]) {
    let Some(path) = std::env::var_os("TOOLFS_CORPUS_REPORT").filter(|path| !path.is_empty()) else { return };
    let has_failed = |name: &&str| failures.iter().any(|(failed, _)| failed == name);
    let (failed, passed): (Vec<&str>, Vec<&str>) =
        cases.iter().map(|(name, _)| name.as_str()).partition(has_failed);
    let line = json!({"language": way.language(), "passed": passed, "failed": failed});
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[cfg(test)]
mod tests {
    use super::case::parse;

    #[track_caller]
    fn refused(case: &str, why: &str) {
        let fault = parse(case).expect_err(why);
        assert!(fault.contains(why), "{fault}");
    }

    #[track_caller]
    fn step_refused(step: &str, why: &str) {
        refused(&format!(r#"{{"title": "a case that is none", "steps": [{step}]}}"#), why);
    }

    #[test]
    fn what_the_form_does_not_know_is_refused() {
        refused(r#"{"title": "a case that is none", "steps": [{"close": {}}], "disks": {}}"#, "`disks`");
        refused(r#"{"title": "a case that is none", "steps": []}"#, "no `steps`");
        refused(r#"{"title": "short", "steps": [{"close": {}}]}"#, "too short");
        refused(
            r#"{"title": "a case that is none", "steps": [{"close": {}}], "files": {"a": {"txt": ""}}}"#,
            "`a`",
        );
        step_refused(r#"{"read": {"file_path": "a", "offest": 1}}"#, "`offest`");
        step_refused(r#"{"close": {}, "expects": {}}"#, "`expects`");
        step_refused(r#"{"close": {"now": true}}"#, "`now`");
        step_refused(r#"{"read": {"file_path": "a"}, "expect": {"contents": "x"}}"#, "`contents`");
        step_refused(r#"{"outside": {"a": {"tuch": 1}}}"#, "`a`");
        step_refused(
            r#"{"read": {"file_path": "a"}, "expect": {"error": {"code": "FS_NOT_FOUND", "cause": 1}}}"#,
            "`cause`",
        );
    }

    #[test]
    fn what_would_be_passed_over_is_refused() {
        step_refused(r#"{"close": {}, "close": {}}"#, "twice");
        step_refused(r#"{"close": {}, "resume": {}}"#, "exactly one thing");
        step_refused(r#"{"session": "a"}"#, "exactly one thing");
        step_refused(r#"{"read": {"file_path": "a"}, "session": null}"#, "without a session");
        step_refused(r#"{"close": {}, "dry_run": true}"#, "only calls");
        step_refused(r#"{"close": {}, "expect": {"session": {"name": "x"}}}"#, "return a `session`");
        step_refused(r#"{"restart": {}, "expect": {"status": {"code": "NOT_FOUND"}}}"#, "no `status`");
        step_refused(r#"{"call": {"name": "read"}}"#, "either");
        step_refused(r#"{"parallel": [{"close": {}}]}"#, "two steps");
        step_refused(r#"{"parallel": [{"restart": {}}, {"read": {"file_path": "a"}}]}"#, "none of them");
        step_refused(
            r#"{"read": {"file_path": "a"}, "expect": {"error": {"code": "FS_NOT_FOUND"}, "content": "x"}}"#,
            "use `call`",
        );
    }

    #[test]
    fn a_text_can_be_generated() {
        let case = r#"{"title": "generated texts", "steps": [{"close": {}}],
            "files": {"a": {"concat": [{"lines": 2}, {"repeat": {"concat": ["x", "y"]}, "count": 3}]}, "b": {"base64": "AP8K"}}}"#;
        let case = parse(case).unwrap();
        let directory = tempfile::tempdir().unwrap();
        super::disk::make(directory.path(), &case.files);
        let read = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
        assert_eq!(read("a"), b"line 1\nline 2\nxyxyxy");
        assert_eq!(read("b"), b"\x00\xff\n");
    }
}
