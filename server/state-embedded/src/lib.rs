//! State in an embedded SQLite database: sessions, observations and the results of calls.
//!
//! One directory holds the state of the servers of one host that serve the same roots; each opens it, and what one
//! commits the others see. [`EmbeddedState`] is all three stores in one: `toolfs-policy`'s
//! [`ObservationStore`](toolfs_policy::ObservationStore), and `toolfs-tools`'
//! [`SessionStore`](toolfs_tools::SessionStore) and [`CallStore`](toolfs_tools::CallStore).
//!
//! # What survives what
//!
//! | what | a crash of the process | a power cut |
//! | --- | --- | --- |
//! | a session inserted, a call begun or ended | survives once the operation returned | the newest may be lost |
//! | a session removed or ended, a forget | survives once the operation returned | survives once it returned |
//! | an observation, a use of a session | the last `write_behind` may be lost; nothing while another server runs | the newest may be lost |
//!
//! The database is consistent in every case. Commits go to a write-ahead log; those of the middle row sync it to the
//! disk before they are answered, because what they take away must not come back: a closed session stays closed, and
//! what was forgotten stays forgotten. The rest is not synced by itself. A lost observation costs a read, a lost
//! session is opened again, and a lost call is decided anew, under a guard of what its session saw.
//!
//! An observation that replaces a different one is not written behind but committed before its caller goes on. So
//! what a crash loses leaves a target unseen or as it was seen, and never brings back what another observation had
//! replaced.
//!
//! # Several servers
//!
//! Writing behind is for a server that is alone on its state. In company every operation is written before it returns,
//! and a read looks at the database: what one server was told all servers know, so a session may be used through any of
//! them, one call after the other, as through one. The servers draw orders from one sequence, so that what came later
//! is newer, whichever server saw it.
//!
//! A server that opens a state first waits until the one that was alone has written what it kept. One whose process is
//! stopped is waited for no longer than a second, and one that died not at all. What was kept there is not known then:
//! such a session may have to read again, which is all that a lost observation ever costs. A stopped server that runs
//! again brings in what it kept, under its old order, so that nothing newer is undone; and a server that finds itself
//! alone again writes behind again.
//!
//! A server that is stopped in the middle of a transaction keeps the others from writing: what they write meanwhile
//! fails with `FS_UNAVAILABLE` after five seconds, and what a call saw is not recorded, of which it has a notice.
//!
//! To record an observation costs about 10 microseconds alone and 100 in company (one commit, without a sync; the test
//! `what_an_observation_costs` measures it), to look one up about 5 either way, and an order some nanoseconds.
//!
//! Deliberately absent: repair. A database that is not right is refused with a [`StateError`] that names the way out.
//! The check at opening reads every page and finds broken structure; it cannot tell that a bit of a stored value
//! flipped.

mod call;
mod company;
mod directory;
mod error;
mod instance;
mod memory;
mod observation;
mod pending;
mod reader;
mod removal;
mod schema;
mod session;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolfs_core::clock::Clock;

use self::call::CallRules;
use self::company::Company;
use self::directory::StateDirectory;
use self::error::Cause;
pub use self::error::StateError;
use self::instance::Instance;
use self::observation::ObservationLimits;
use self::pending::Pending;
use self::reader::Readers;
use self::removal::RemovalNumber;
use self::writer::{Batches, Progress, Writer};

/// How a state behaves.
#[derive(Clone, Debug)]
pub struct StateOptions {
    /// How long an observation or a use of a session may wait in memory before it is written, and so how much of them
    /// a crash may lose. In company nothing waits.
    pub write_behind: Duration,
    /// How long a call is remembered after it ended.
    pub request_id_window: Duration,
    /// How many bytes the remembered calls may take, about 512 for each beside its result; those that ended first
    /// make room.
    pub max_remembered_bytes: u64,
    /// What time it is, to tell which calls are old.
    pub clock: Arc<dyn Clock>,
}

/// An open state. What it keeps is described at the [crate].
///
/// Operations that read run on the thread of their caller. They take microseconds and do not wait for a writer; while
/// another process keeps the whole database locked, they wait some 20 milliseconds and fail with `FS_UNAVAILABLE`. To
/// find a call that did not end, `CallStore::find` also opens the lock file of the server that began it. Operations
/// that write are queued for one thread of this state. After [`EmbeddedState::close`] they fail with `FS_UNAVAILABLE`.
#[derive(Debug)]
pub struct EmbeddedState {
    writer: Writer,
    readers: Readers,
    pending: Arc<Pending>,
    removal: Arc<RemovalNumber>,
    company: Arc<Company>,
    instance: Arc<Instance>,
    clock: Arc<dyn Clock>,
    observations: ObservationLimits,
    calls: CallRules,
}

impl EmbeddedState {
    /// Opens the state in a directory, and makes it where there is none: the directory for this user only, the
    /// database in it as `state.db`. Blocks: a database is read through once, and another server that is opening the
    /// same state is waited for.
    ///
    /// # Errors
    /// What cannot be used is refused and left as it is, see [`StateError`].
    pub fn open(directory: &Path, options: StateOptions) -> Result<EmbeddedState, StateError> {
        EmbeddedState::open_with(directory, options, ObservationLimits::DEFAULT)
    }

    fn open_with(
        directory: &Path,
        options: StateOptions,
        observations: ObservationLimits,
    ) -> Result<EmbeddedState, StateError> {
        let directory = StateDirectory::create(directory)?;
        let _opening = directory.lock()?;
        schema::prepare(&directory)?;

        let database = directory.database();
        let connection = schema::connect(&database)?;
        let id = connection
            .query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get::<_, String>(0))
            .map_err(StateError::database(&database))?;
        let instances = directory.instances();
        Instance::sweep(&instances).map_err(StateError::inaccessible(&instances))?;
        let instance = Instance::begin(&instances, id).map_err(StateError::inaccessible(&instances))?;
        let instance = Arc::new(instance);
        let common = directory.common();
        let company =
            Company::join(&common, Arc::clone(&instance)).map_err(StateError::inaccessible(&common))?;
        let (company, alone_at) = settle_in(company, &instances)?;
        let removals = directory.removals();
        let removal = RemovalNumber::open(&removals).map_err(StateError::inaccessible(&removals))?;

        let pending = Arc::new(Pending::new(Arc::clone(&company), alone_at));
        let removal = Arc::new(removal);
        let calls = CallRules {
            window_ms: i64::try_from(options.request_id_window.as_millis()).unwrap_or(i64::MAX),
            max_bytes: i64::try_from(options.max_remembered_bytes).unwrap_or(i64::MAX),
        };
        let mut batches = Batches {
            connection,
            pending: Arc::clone(&pending),
            removal: Arc::clone(&removal),
            company: Arc::clone(&company),
            instance: Arc::clone(&instance),
            clock: Arc::clone(&options.clock),
            calls,
            observations,
            progress: Progress::default(),
        };
        batches.begin().map_err(|cause| match cause {
            Cause::Sqlite(error) => StateError::database(&database)(error),
            other @ (Cause::Json(_) | Cause::Unknown(_) | Cause::Closed) => {
                StateError::inaccessible(&database)(std::io::Error::other(other))
            }
        })?;
        let writer = Writer::start(batches, options.write_behind)
            .map_err(StateError::inaccessible(directory.path()))?;
        let readers = Readers::new(database);
        Ok(EmbeddedState {
            writer,
            readers,
            pending,
            removal,
            company,
            instance,
            clock: options.clock,
            observations,
            calls,
        })
    }

    /// Writes what is written behind and ends: for the end of a drain. Blocks for as long as that takes. Dropping a
    /// state does the same.
    pub fn close(&self) {
        self.writer.close();
        self.leave();
    }

    /// Ends as a kill of the process would: what waits in memory is lost, and this server counts as one that does not
    /// run. For tests of what a crash leaves; no shipped build has it.
    #[cfg(feature = "crash")]
    pub fn crash(&self) {
        self.writer.crash();
        self.leave();
    }

    fn leave(&self) {
        self.readers.clear();
        self.instance.end();
    }
}

/// Waits for what others keep in memory; this server among them, and the count of openings at which it was alone.
fn settle_in(company: Company, instances: &Path) -> Result<(Arc<Company>, Option<i64>), StateError> {
    let is_all_written = company.wait_for_others().map_err(StateError::inaccessible(instances))?;
    if !is_all_written {
        tracing::warn!(
            "another server on this state does not get on: what its sessions saw last may have to be read again"
        );
    }
    let alone_at = company.alone_at().map_err(StateError::inaccessible(instances))?;
    Ok((Arc::new(company), alone_at))
}

impl Drop for EmbeddedState {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod support;
