//! The worker's own side: a disk provider behind lines of JSON.
//!
//! It treats signals as the server does. With one thread, work on files happens on exactly one, which makes no call of
//! its own to wake the others than through memory.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::getpid;
use rustix::thread::gettid;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use toolfs_core::edit::EditRequest;
use toolfs_core::error::{FsError, Result};
use toolfs_core::notice::Notice;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::{EditTextRequest, WriteTextRequest};
use toolfs_provider::{Provider, ProviderExt as _};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_server::clock::SystemClock;

use super::message::{Answer, Call, Effect, Failure, Outcome, Ready};
use super::requests;
use super::settings::Settings;

/// Linux's number of the signal for writing beyond the file size limit.
const FILE_SIZE_EXCEEDED: i32 = 25;

/// An idle thread stays: another one would be none that a tracer follows.
const FOREVER: Duration = Duration::from_secs(86_400);

pub(super) fn run(arguments: &[String]) -> ExitCode {
    let settings = match Settings::parse(arguments) {
        Ok(settings) => settings,
        Err(message) => return failed(&message),
    };
    if let Some(fault) = settings.fault {
        fault.plant();
    }
    survive_file_size_limit();
    let runtime = runtime(settings.threads);
    let provider = match runtime.block_on(async { open(&settings) }) {
        Ok(provider) => provider,
        Err(error) => return failed(&format!("{error}: {:?}", std::error::Error::source(&error))),
    };
    let file_thread = (settings.threads == 1).then(|| {
        let thread = runtime.block_on(async { tokio::task::spawn_blocking(gettid).await });
        thread.unwrap().as_raw_nonzero().get()
    });
    tell(&Ready { ready: true, pid: getpid().as_raw_nonzero().get(), file_thread });
    serve(&runtime, provider, settings.threads);
    ExitCode::SUCCESS
}

fn failed(message: &str) -> ExitCode {
    let _ = writeln!(io::stdout(), "{message}");
    ExitCode::FAILURE
}

/// A line at once, and whole even when several threads write.
fn tell(line: &impl serde::Serialize) {
    let line = serde_json::to_string(line).unwrap();
    let mut output = io::stdout().lock();
    // Who does not listen any more is told nothing.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn survive_file_size_limit() {
    // The handler stays when the runtime goes, whose own descriptors a worker is not to have.
    let signals = Builder::new_current_thread().enable_io().build().unwrap();
    signals.block_on(async { signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED)).map(drop) }).unwrap();
}

fn runtime(threads: usize) -> Runtime {
    match threads {
        1 => Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .thread_keep_alive(FOREVER)
            .build()
            .unwrap(),
        _ => Builder::new_multi_thread().worker_threads(threads).enable_time().build().unwrap(),
    }
}

fn open(settings: &Settings) -> Result<LocalProvider> {
    let options = LocalOptions {
        durability: settings.durability,
        recovery: settings.recovery.clone(),
        runtime: settings.runtime.clone(),
        force_walk: settings.walk,
        force_named_temporaries: settings.named_temporaries,
        force_plain_rename: settings.plain_rename,
        force_streaming: settings.streaming,
        ..LocalOptions::new(Arc::new(SystemClock))
    };
    LocalProvider::open(&[RootSpec::new(&settings.root)], options)
}

fn serve(runtime: &Runtime, provider: LocalProvider, threads: usize) {
    let provider = Arc::new(provider);
    let mut running = Vec::new();
    for request in requests() {
        if request.call == Call::Stop {
            break;
        }
        let provider = Arc::clone(&provider);
        let work = async move { tell(&answer(request.id, execute(&*provider, request.call).await)) };
        if threads == 1 {
            runtime.block_on(work);
        } else {
            running.retain(|task: &tokio::task::JoinHandle<()>| !task.is_finished());
            running.push(runtime.spawn(work));
        }
    }
    for task in running {
        runtime.block_on(task).unwrap();
    }
}

fn answer(id: u64, done: Result<Done>) -> Answer {
    match done {
        Ok(Done { effect, not_durable }) => {
            let not_durable = not_durable.as_ref().map(Failure::from);
            Answer { id, outcome: Outcome::Ok(effect), not_durable }
        }
        Err(error) => Answer { id, outcome: Outcome::Error(Failure::from(&error)), not_durable: None },
    }
}

/// A call that succeeded.
struct Done {
    effect: Effect,
    not_durable: Option<FsError>,
}

impl Done {
    fn change(version: &Version, notices: &[Notice], not_durable: Option<FsError>) -> Done {
        let notices = notices.iter().map(|notice| format!("{:?}", notice.kind)).collect();
        let effect = Effect { version: Some(version.as_str().to_owned()), content: None, notices };
        Done { effect, not_durable }
    }
}

async fn execute(provider: &dyn Provider, call: Call) -> Result<Done> {
    let abort = AbortSignal::new();
    match call {
        Call::Write { path, content, guard } => {
            let target = provider.resolve_path(&abort, path.as_str()).await?.key;
            let (content, guard) = (content.into(), guard.to_write());
            let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
            let report = provider.write_text(&abort, request).await?;
            Ok(Done::change(&report.version, &report.notices, report.not_durable))
        }
        Call::Edit { path, old, new, guard } => {
            let target = provider.resolve_path(&abort, path.as_str()).await?.key;
            let (edit, guard) = (EditRequest::new(old, new, false)?, guard.to_edit());
            let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
            let report = provider.edit_text(&abort, request).await?;
            Ok(Done::change(&report.version, &report.notices, report.not_durable))
        }
        Call::Read { path } => {
            let target = provider.resolve_path(&abort, path.as_str()).await?.key;
            let (content, version) = provider.read_whole(&abort, &target).await?;
            let content = Some(String::from_utf8(content).unwrap());
            let version = Some(version.as_str().to_owned());
            Ok(Done { effect: Effect { version, content, notices: Vec::new() }, not_durable: None })
        }
        Call::Stop => panic!("the loop ends before"),
    }
}
