//! Settings as running: the only place that knows every implementation.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use thiserror::Error;
use tokio::time::timeout;
use toolfs_core::clock::Clock;
use toolfs_core::error::{AbortCause, ErrorKind, FsError, UnavailableCause};
use toolfs_core::target::FileKind;
use toolfs_grpc::ServeOptions;
use toolfs_policy::{ObservationGate, PolicyGate};
use toolfs_policy_remote::RemoteGate;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::report::Entry;
use toolfs_provider::request::ResolveRequest;
use toolfs_provider::{Provider, ProviderExt as _};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};
use toolfs_state_embedded::StateError;
use toolfs_tools::{Executor, ExecutorParts};

use crate::clock::{OsRandom, SystemClock};
use crate::config::{Policy, ProviderKind, Runtime, ServeConfig, State};
use crate::placement::{self, PlacementError};
use crate::ready::{Listening, Ready};
use crate::stores::Stores;
use crate::telemetry;

/// How long a client may take to begin to speak HTTP/2. One that never does would hold up the drain.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of the content of one write on the seam: more than `max_content_bytes`, since content streams there.
const MAX_STREAM_BYTES: u64 = 256 << 20;

/// How long a client of the seam may neither take nor send a part of a stream.
const STREAM_PATIENCE: Duration = Duration::from_secs(60);

/// How long the provider may take to say what it is. Whoever starts a server waits for that.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// How long a sample is looked for, which is only there to be shown.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(2);

/// How many names of the first root are looked at for a sample to read.
const SAMPLE_LOOKS: usize = 1_000;

/// How large a sample may be: it is read whole to see that it is text, and the server is not ready before.
const SAMPLE_BYTES: u64 = 1 << 20;

/// The parts of a server that a configuration asks for.
#[derive(Debug)]
pub struct Wired {
    /// Runs the calls.
    pub executor: Arc<Executor>,
    /// Where files are.
    pub provider: Arc<dyn Provider>,
    /// What decides about guards, if something does.
    pub gate: Option<Arc<dyn PolicyGate>>,
    /// Where state is kept.
    pub stores: Stores,
}

/// Why the parts cannot be made.
#[derive(Debug, Error)]
pub enum WireError {
    /// The provider or the gate cannot be opened.
    #[error("{}", .0.message())]
    Open(FsError),
    /// The provider in another process does not say what it is.
    #[error("the provider at `{address}`: {}", .error.message())]
    Peer {
        /// Where it was looked for.
        address: String,
        /// What came of it.
        error: FsError,
    },
    /// The state cannot be opened.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file of the server would lie where agents write.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

impl From<FsError> for WireError {
    fn from(error: FsError) -> WireError {
        WireError::Open(error)
    }
}

/// Makes the parts of a server.
///
/// # Errors
/// [`WireError`]: a root or a state that cannot be opened, for instance.
pub fn wire(config: &ServeConfig) -> Result<Wired, WireError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let stores = Stores::open(config, &clock)?;
    // What was made by now may lie elsewhere than it would have before.
    if let Some(error) = placement::check(config).into_iter().next() {
        return Err(error.into());
    }
    let provider = provider(config, &clock, &stores)?;
    let gate = gate(config, &stores)?;
    let executor = Executor::new(ExecutorParts {
        provider: Arc::clone(&provider),
        gate: gate.clone(),
        clock,
        random: Arc::new(OsRandom),
        limits: config.limits.clone(),
        session_idle: config.session_idle,
        sessions: Arc::clone(&stores.sessions),
        calls: Arc::clone(&stores.calls),
        request_id_window: config.request_id_window,
    });
    Ok(Wired { executor: Arc::new(executor), provider, gate, stores })
}

/// How the configuration wants to be served.
pub fn serve_options(config: &ServeConfig) -> ServeOptions {
    ServeOptions {
        max_message_bytes: usize::try_from(config.limits.max_message_bytes).unwrap_or(usize::MAX),
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        drain_limit: config.drain_limit,
        handshake_timeout: HANDSHAKE_TIMEOUT,
        limits: config.limits.clone(),
        max_stream_bytes: MAX_STREAM_BYTES,
        stream_patience: STREAM_PATIENCE,
    }
}

/// What to tell when the server is ready.
///
/// # Errors
/// That of the provider's capabilities, also when it tells none for 10 s.
pub async fn ready(wired: &Wired, config: &ServeConfig, listening: Listening) -> Result<Ready, WireError> {
    let capabilities = capabilities(&*wired.provider).await.map_err(|error| match &config.provider {
        ProviderKind::Local | ProviderKind::Memory => WireError::Open(error),
        ProviderKind::Remote(address) => WireError::Peer { address: address.clone(), error },
    })?;
    Ok(Ready {
        listening,
        roots: capabilities.roots.iter().map(|root| root.display_path.clone()).collect(),
        policy: match &config.policy {
            Policy::Observation => "observation".to_owned(),
            Policy::None => "none".to_owned(),
            Policy::Remote(address) => address.clone(),
        },
        provider: match &config.provider {
            ProviderKind::Local | ProviderKind::Memory => capabilities.provider,
            ProviderKind::Remote(address) => format!("{} at {address}", capabilities.provider),
        },
        state: match &config.state {
            State::Memory => "memory".to_owned(),
            State::Directory(path) => path.display().to_string(),
        },
        // A root without a readable name is no reason not to start.
        sample: match capabilities.roots.first() {
            Some(root) => sample_in_time(&*wired.provider, &root.raw_path).await,
            None => None,
        },
    })
}

fn provider(
    config: &ServeConfig,
    clock: &Arc<dyn Clock>,
    stores: &Stores,
) -> Result<Arc<dyn Provider>, FsError> {
    match &config.provider {
        ProviderKind::Local => {
            let roots = config
                .roots
                .iter()
                .map(|root| RootSpec::parse(OsStr::new(root)))
                .collect::<Result<Vec<_>, _>>()?;
            let options = LocalOptions {
                limits: config.limits.clone(),
                protected: config.protected.clone(),
                durability: config.durability,
                operations: stores.operations.clone(),
                recovery: stores.recovery.clone(),
                runtime: config.runtime.as_ref().map(|runtime| runtime.path.clone()),
                ..LocalOptions::new(Arc::clone(clock))
            };
            let provider = open_local(&roots, options, config.runtime.as_ref())?;
            let observed = provider.clone();
            telemetry::observe_cache(move || {
                let statistics = observed.cache_statistics();
                (statistics.hits, statistics.misses)
            });
            Ok(Arc::new(provider))
        }
        ProviderKind::Memory => Ok(Arc::new(MemoryProvider::new(MemoryConfig {
            roots: config.roots.iter().map(|root| memory_root(root)).collect::<Result<Vec<_>, _>>()?,
            limits: config.limits.clone(),
            protected: config.protected.clone(),
            clock: Some(Arc::clone(clock)),
        })?)),
        ProviderKind::Remote(address) => {
            Ok(Arc::new(RemoteProvider::connect(address, remote_options(config))?))
        }
    }
}

/// Opens the disk, without the usual runtime directory where that cannot be had.
fn open_local(
    roots: &[RootSpec],
    options: LocalOptions,
    runtime: Option<&Runtime>,
) -> Result<LocalProvider, FsError> {
    const ALONE: &str = "other servers on the same files are seen as foreign writers are; name a runtime directory \
                         outside of every root with --runtime-dir";
    if runtime.is_none() {
        tracing::warn!("there is no runtime directory: {ALONE}");
    }
    match (LocalProvider::open(roots, options.clone()), runtime) {
        (Err(error), Some(runtime)) if !runtime.is_named => {
            let provider = LocalProvider::open(roots, LocalOptions { runtime: None, ..options })?;
            tracing::warn!(%error, path = %runtime.path.display(), "the runtime directory cannot be used: {ALONE}");
            Ok(provider)
        }
        (opened, _) => opened,
    }
}

fn remote_options(config: &ServeConfig) -> RemoteOptions {
    RemoteOptions {
        max_message_bytes: usize::try_from(config.limits.max_message_bytes).unwrap_or(usize::MAX),
        ..RemoteOptions::DEFAULT
    }
}

/// The name of a tree in memory: `NAME`, or what `DIR=NAME` calls a directory on disk. As there, `NAME` starts at the
/// last `=/`.
fn memory_root(root: &str) -> Result<Vec<u8>, FsError> {
    let name = root.rfind("=/").map_or(root, |at| &root[at + 1..]);
    if name.starts_with('/') {
        return Ok(name.as_bytes().to_vec());
    }
    Err(FsError::invalid_argument(
        "root",
        format!("`{root}`"),
        "an absolute name such as /workspace for a tree in memory",
    ))
}

fn gate(config: &ServeConfig, stores: &Stores) -> Result<Option<Arc<dyn PolicyGate>>, FsError> {
    match &config.policy {
        Policy::None => Ok(None),
        Policy::Observation => Ok(Some(Arc::new(ObservationGate::new(Arc::clone(&stores.observations))))),
        Policy::Remote(address) => Ok(Some(Arc::new(RemoteGate::connect(address, remote_options(config))?))),
    }
}

/// What the provider can do, as long as it tells that in time.
async fn capabilities(provider: &dyn Provider) -> Result<Capabilities, FsError> {
    let abort = AbortSignal::new();
    timeout(START_PATIENCE, provider.capabilities(&abort)).await.unwrap_or_else(|_| {
        abort.fire(AbortCause::DeadlineExceeded);
        let message = format!(
            "it did not say what it is within {} s: see whether a provider of toolfs is there and at work",
            START_PATIENCE.as_secs()
        );
        let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
        Err(FsError::new(kind, message))
    })
}

/// A sample, as long as it is found in time.
async fn sample_in_time(provider: &dyn Provider, root: &[u8]) -> Option<String> {
    let abort = AbortSignal::new();
    let found = timeout(SAMPLE_PATIENCE, sample(provider, root, &abort)).await;
    abort.fire(AbortCause::Cancelled);
    found.ok().flatten()
}

/// The absolute path of a file in a root that a first call may read: one called README, else the first in order.
async fn sample(provider: &dyn Provider, root: &[u8], abort: &AbortSignal) -> Option<String> {
    let request = ResolveRequest { cwd: None, path: root.to_vec() };
    let target = provider.resolve(abort, &request).await.ok()?;
    let mut stream = provider.list_dir(abort, &target.key).await.ok()?;
    let mut names = Vec::new();
    while let Some(Ok(batch)) = stream.batches.next().await {
        names.extend(batch.into_iter().filter(is_plain_file).map(|entry| entry.display_name));
        if names.len() >= SAMPLE_LOOKS {
            break;
        }
    }
    names.sort_by_key(|name| (!name.to_lowercase().starts_with("readme"), name.clone()));
    for name in names.into_iter().take(8) {
        let path = format!("{}/{name}", String::from_utf8_lossy(root).trim_end_matches('/'));
        let target = provider.resolve_path(abort, &path).await.ok()?;
        let stat = provider.stat(abort, &target.key, false).await.ok()?;
        if stat.size_bytes > SAMPLE_BYTES {
            continue;
        }
        let window = toolfs_core::window::LineWindow {
            first_line: 1,
            max_lines: 1,
            max_bytes: 8_000,
            max_line_chars: 2_000,
        };
        if provider.read_lines(abort, &target.key, window).await.is_ok() {
            return Some(path);
        }
    }
    None
}

/// A file whose name can be pasted into a shell and comes back as it is.
fn is_plain_file(entry: &Entry) -> bool {
    entry.kind == FileKind::Regular
        && entry.display_name.as_bytes() == entry.raw_name
        && !entry.display_name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use toolfs_provider::faulty::{Fault, Faulty, Hold, Operation};

    use super::*;

    #[test]
    fn a_tree_in_memory_is_named_absolutely() {
        assert_eq!(memory_root("/workspace").unwrap(), b"/workspace");
        assert_eq!(memory_root(".=/workspace").unwrap(), b"/workspace");
        assert_eq!(memory_root("/a=b").unwrap(), b"/a=b");
        assert!(memory_root(".").unwrap_err().message().contains("/workspace"));
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its files itself")]
    async fn a_huge_file_does_not_hold_up_the_start() {
        let directory = tempfile::tempdir().unwrap();
        let huge = "a\n".repeat(usize::try_from(SAMPLE_BYTES).unwrap());
        std::fs::write(directory.path().join("README"), huge).unwrap();
        std::fs::write(directory.path().join("notes"), "alpha\n").unwrap();
        let root = format!("{}=/workspace", directory.path().display());
        let config = crate::config::of_arguments(&["--root", &root, "--state", "memory"]);
        let ready = ready(&wire(&config).unwrap(), &config, Listening::default()).await.unwrap();
        assert_eq!(ready.sample.as_deref(), Some("/workspace/notes"));
    }

    /// A server of a file in memory, whose provider never answers one operation.
    fn deaf_to(operation: Operation) -> (Wired, ServeConfig) {
        let config = crate::config::of_arguments(&[
            "--provider",
            "memory",
            "--root",
            "/workspace",
            "--state",
            "memory",
        ]);
        let memory = MemoryProvider::new(MemoryConfig::with_root("/workspace")).unwrap();
        memory.put(b"/workspace/README", "alpha\n");
        let provider = Faulty::new(memory);
        provider.on(operation, 1, Fault::HoldBefore(Hold::new()));
        (Wired { provider: Arc::new(provider), ..wire(&config).unwrap() }, config)
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_says_nothing_ends_the_start() {
        let (wired, config) = deaf_to(Operation::Capabilities);
        let error = ready(&wired, &config, Listening::default()).await.unwrap_err();
        assert!(error.to_string().contains("within 10 s"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_look_for_a_sample_does_not_hold_up_the_start() {
        for operation in [Operation::Resolve, Operation::ListDir, Operation::Stat, Operation::ReadLines] {
            let (wired, config) = deaf_to(operation);
            let ready = ready(&wired, &config, Listening::default()).await.unwrap();
            assert_eq!((ready.roots, ready.sample), (vec!["/workspace".to_owned()], None), "{operation:?}");
        }
    }
}
