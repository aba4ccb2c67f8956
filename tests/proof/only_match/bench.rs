//! What cases run on: a directory of files, and a provider or a whole server over it, for one case at a time.

use std::fs::{self, Permissions};
use std::num::NonZeroUsize;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use rustix::process::geteuid;
use tempfile::TempDir;
use toolfs_client::{Client, OpenSession as OpenArguments};
use toolfs_core::clock::Clock;
use toolfs_core::limit::Limits;
use toolfs_policy::{MemoryObservationStore, ObservationStore};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_server::clock::SystemClock;
use toolfs_tools::{Caller, MemorySessionStore, OpenSession, SessionStore};

use super::door::Door;
use super::metadata::give_default_list;
use crate::executor::{Footing, calls_in_memory};
use crate::server::{Ground, Manner, Server};

/// What a bench is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In memory, where most cases are.
    Memory,
    /// On the disk that temporary files are on.
    Disk,
    /// With temporary files that have a name from the start.
    NamedTemporaries,
    /// Without exchange of names.
    PlainRename,
    /// With every file edited in a stream, in pieces of so many bytes.
    Streamed(usize),
    /// A server in a process of its own.
    Server,
}

/// From pieces of one byte on, so that matches, characters and line ends lie across borders of all kinds.
const PIECES: [usize; 5] = [1, 2, 7, 64, 4096];

impl Kind {
    pub(super) fn draw(rng: &mut Rng) -> Kind {
        match rng.u32(..100) {
            0..45 => Kind::Memory,
            45..57 => Kind::Disk,
            57..64 => Kind::NamedTemporaries,
            64..71 => Kind::PlainRename,
            71..94 => Kind::Streamed(PIECES[rng.usize(..PIECES.len())]),
            _ => Kind::Server,
        }
    }
}

impl Kind {
    /// Whether a file of a MiB is done with in a moment: not in pieces of a few bytes.
    pub(super) fn takes_large_files(self) -> bool {
        match self {
            Kind::Memory | Kind::Disk | Kind::NamedTemporaries | Kind::PlainRename | Kind::Server => true,
            Kind::Streamed(bytes) => bytes >= 4096,
        }
    }
}

/// The directories of a bench: one like any other, and one that gives new files a list and a group of its own.
pub(super) const DIRECTORIES: [&str; 2] = ["plain", "inheriting"];

/// A bench.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) kind: Kind,
    pub(super) root: PathBuf,
    // The order is the one in which they go.
    pub(super) door: Door,
    _server: Option<Server>,
    _place: Place,
}

#[derive(Debug)]
enum Place {
    Directory { _kept: TempDir },
    Ground { _kept: Ground },
}

/// Benches that nobody works on.
#[derive(Debug, Default)]
pub(super) struct Benches(Mutex<Vec<Bench>>);

impl Benches {
    /// Lends a bench of a kind.
    ///
    /// # Errors
    /// What hindered a new one, or what the work on it came to.
    pub(super) fn with<T>(
        &self,
        kind: Kind,
        work: impl FnOnce(&Bench) -> Result<T, String>,
    ) -> Result<T, String> {
        let rested = {
            let mut benches = self.0.lock().unwrap();
            let index = benches.iter().position(|bench| bench.kind == kind);
            index.map(|index| benches.swap_remove(index))
        };
        let bench = match rested {
            Some(bench) => bench,
            None => Bench::new(kind)?,
        };
        // One on which something is wrong is done with.
        let done = work(&bench)?;
        self.0.lock().unwrap().push(bench);
        Ok(done)
    }
}

impl Bench {
    fn new(kind: Kind) -> Result<Bench, String> {
        match kind {
            Kind::Server => Bench::served(),
            Kind::Memory | Kind::Disk | Kind::NamedTemporaries | Kind::PlainRename | Kind::Streamed(_) => {
                Bench::called(kind)
            }
        }
    }

    fn called(kind: Kind) -> Result<Bench, String> {
        let memory = Path::new("/dev/shm");
        let directory = if kind == Kind::Disk || !memory.is_dir() {
            tempfile::tempdir()
        } else {
            tempfile::Builder::new().prefix("toolfs-only-match-").tempdir_in(memory)
        };
        let directory = directory.map_err(|error| error.to_string())?;
        furnish(directory.path()).map_err(|error| error.to_string())?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        // Neither what survives a power cut nor how long nearly equal places are looked for is the question here.
        let limits = Limits { near_miss_ms: 1, ..Limits::DEFAULT };
        let options = LocalOptions {
            durability: Durability::None,
            limits: limits.clone(),
            force_named_temporaries: kind == Kind::NamedTemporaries,
            force_plain_rename: kind == Kind::PlainRename,
            force_streaming: match kind {
                Kind::Streamed(bytes) => NonZeroUsize::new(bytes),
                Kind::Memory | Kind::Disk | Kind::NamedTemporaries | Kind::PlainRename | Kind::Server => None,
            },
            ..LocalOptions::new(Arc::clone(&clock))
        };
        let provider = LocalProvider::open(&[RootSpec::new(directory.path())], options);
        let provider: Arc<dyn Provider> = Arc::new(provider.map_err(|error| error.to_string())?);
        let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
        let footing = |observations: Option<Arc<dyn ObservationStore>>| Footing {
            provider: Arc::clone(&provider),
            observations,
            sessions: Arc::clone(&sessions),
            calls: calls_in_memory(&clock),
            clock: Arc::clone(&clock),
            limits: limits.clone(),
        };
        let guarded = footing(Some(Arc::new(MemoryObservationStore::default()))).executor();
        let unguarded = footing(None).executor();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let abort = AbortSignal::new();
        let opening = guarded.open_session(&abort, Caller::Local, OpenSession::default());
        let session = runtime.block_on(opening).map_err(|error| error.to_string())?.id;
        Ok(Bench {
            kind,
            root: directory.path().to_owned(),
            door: Door::Executor { runtime, guarded, unguarded, session },
            _server: None,
            _place: Place::Directory { _kept: directory },
        })
    }

    fn served() -> Result<Bench, String> {
        let ground = Ground::new();
        furnish(&ground.root()).map_err(|error| error.to_string())?;
        let manner = Manner { exchange: true, durable: false };
        let server = Server::start(&ground, "socket", manner, None)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let address = format!("unix:{}", server.socket.display());
        let session = runtime.block_on(async {
            let client = Client::connect(&address).await?;
            client.open_session(OpenArguments::default()).await
        });
        let session = session.map_err(|error| error.to_string())?;
        Ok(Bench {
            kind: Kind::Server,
            root: ground.root(),
            door: Door::Server { runtime, session: Box::new(session) },
            _server: Some(server),
            _place: Place::Ground { _kept: ground },
        })
    }
}

fn furnish(root: &Path) -> std::io::Result<()> {
    for name in DIRECTORIES {
        fs::create_dir(root.join(name))?;
    }
    let inheriting = root.join("inheriting");
    if geteuid().is_root() {
        chown(&inheriting, None, Some(12_345))?;
        fs::set_permissions(&inheriting, Permissions::from_mode(0o2777))?;
    }
    // Where there are no such lists, it gives only the group.
    let _ = give_default_list(&inheriting, &mut Rng::with_seed(7));
    Ok(())
}
