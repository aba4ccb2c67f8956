//! The suite of the seam over a provider that another program serves, in whatever language it is written.
//!
//! `TOOLFS_SEAM_PROVIDER` is the command line of that program. Words of the suite are added to it:
//!
//! ```text
//! COMMAND --max-file-bytes=N --max-read-bytes=N --max-diff-bytes=N DIRECTORY unix:SOCKET
//! ```
//!
//! It serves the directory at the address, with these limits and the protected pattern `.git`, under the directory's
//! real path. When calls will be answered it prints a line that starts with `ready` to its standard output, and it ends
//! when its standard input does. The directory is empty before each case, and one program serves many cases, unless it
//! records operations.
//!
//! `TOOLFS_SEAM_EXCEPTIONS` is the file of the cases that this program need not pass, each with its reason: see
//! [`exception`]. A case of that list that does pass fails the test, and so does a name that is no case, so that the
//! list stays true. Without the first variable the test says that it is skipped.
//! Deliberately absent: what the seam does to peers that break the contract, which is in `tests/remote`.

mod exception;
#[path = "../../../provider-local/tests/disk/hand.rs"]
mod hand;
mod peer;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use toolfs_provider::conformance::{self, CASES, Case};

use crate::exception::Exceptions;
use crate::peer::{Peers, Served};

const PROVIDER_VARIABLE: &str = "TOOLFS_SEAM_PROVIDER";
const EXCEPTIONS_VARIABLE: &str = "TOOLFS_SEAM_EXCEPTIONS";

/// How many cases run at once, each with a program of its own.
const AT_ONCE: usize = 3;

/// How long one case may take. The machine may be busy; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a case ended.
enum End {
    Passed,
    /// With what it said.
    Failed(String),
    /// With the reason.
    Skipped(String),
}

tokio::task_local! {
    /// Set in a case that is expected to fail, so that it fails quietly.
    static EXPECTED_TO_FAIL: ();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_provider_in_another_language_passes_the_suite() {
    let Some(command) = variable(PROVIDER_VARIABLE) else {
        tell(&format!("skipped: {PROVIDER_VARIABLE} names no program that serves the seam"));
        return;
    };
    let exceptions = match variable(EXCEPTIONS_VARIABLE) {
        Some(path) => Exceptions::read(path.as_ref()),
        None => Exceptions::default(),
    };
    let unknown = exceptions.names().filter(|name| CASES.iter().all(|case| case.name != *name));
    let mut faults: Vec<String> =
        unknown.map(|name| format!("`{name}` is listed as an exception and is no case")).collect();

    fail_quietly_where_it_is_expected();
    let peers = Peers::of(command.clone());
    let ends: BTreeMap<&str, End> = stream::iter(CASES)
        .map(|case| {
            let (peers, is_listed) = (&peers, exceptions.reason(case.name).is_some());
            async move { (case.name, run(peers, case, is_listed).await) }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;

    let (mut passed, mut excepted, mut skipped) = (0, 0, 0);
    for (name, end) in ends {
        match (end, exceptions.reason(name)) {
            (End::Passed, None) => passed += 1,
            (End::Failed(_), Some(reason)) => {
                excepted += 1;
                tell(&format!("listed: {name} ({reason})"));
            }
            (End::Skipped(reason), None) => {
                skipped += 1;
                tell(&format!("skipped: {name} ({reason})"));
            }
            (End::Failed(message), None) => faults.push(format!("{name} failed: {message}")),
            (End::Passed, Some(_)) => faults.push(format!("{name} is listed as an exception and passes")),
            (End::Skipped(reason), Some(_)) => {
                faults.push(format!("{name} is listed as an exception and skipped anyway ({reason})"));
            }
        }
    }
    tell(&format!("{passed} cases pass, {excepted} are listed, {skipped} are skipped: {command}"));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(passed * 2 > CASES.len(), "a provider that is excepted from most cases is not tested");
}

/// Runs one case over an empty directory.
async fn run(peers: &Peers, case: &'static Case, is_expected_to_fail: bool) -> End {
    let served = peers.lease().await;
    if let Some(reason) = case.reason_to_skip(&served.abilities()) {
        peers.give_back(served);
        return End::Skipped(reason);
    }
    let fixture = served.fixture();
    let body = conformance::run(case.name, fixture, |work| {
        let task = spawn(work);
        Box::pin(async move {
            if let Err(error) = task.await {
                panic::resume_unwind(error.into_panic());
            }
        })
    });
    let body =
        async move { if is_expected_to_fail { EXPECTED_TO_FAIL.scope((), body).await } else { body.await } };
    let mut task = spawn(body);
    match tokio::time::timeout(PATIENCE, &mut task).await {
        Ok(Ok(())) => end_of_a_pass(peers, served),
        // What a failed case left behind may fail the next one: its program ends here.
        Ok(Err(error)) => End::Failed(message_of(error.into_panic().as_ref())),
        Err(_) => {
            task.abort();
            End::Failed(format!("it took longer than {} s", PATIENCE.as_secs()))
        }
    }
}

/// A case that passes has left what lies outside the root as it was.
fn end_of_a_pass(peers: &Peers, served: Served) -> End {
    match served.outside_is_untouched() {
        true => {
            peers.give_back(served);
            End::Passed
        }
        false => End::Failed("something outside the root was changed".to_owned()),
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked without a text").to_owned()
}

/// Cases that are expected to fail do not print how.
fn fail_quietly_where_it_is_expected() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if EXPECTED_TO_FAIL.try_with(|()| ()).is_err() {
            print(info);
        }
    }));
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    #[expect(clippy::disallowed_methods, reason = "a test has no shutdown to take part in")]
    tokio::spawn(work)
}

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the program under test is named by the environment")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Writes past the capture of the test harness: what is left out must be seen.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "conformance: {line}");
}
