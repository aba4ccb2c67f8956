//! What the writer's thread does to the database: transactions, checkpoints, and looking after what is old.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use toolfs_core::clock::{Clock, Order, Timestamp};
use toolfs_core::error::Result;

use super::{Durability, Job};
use crate::call::CallRules;
use crate::company::Company;
use crate::error::{Cause, unavailable};
use crate::instance::Instance;
use crate::observation::{self, ObservationLimits};
use crate::pending::{Pending, Waiting};
use crate::removal::RemovalNumber;
use crate::session;

/// A checkpoint is due after this many commits, about 8 MiB of log, once nobody waits.
const CHECKPOINT_COMMITS: u32 = 256;
/// Then somebody waits for it after all, so that the log does not grow without end.
const CHECKPOINT_COMMITS_MAX: u32 = 8 * CHECKPOINT_COMMITS;
/// How often what is old is looked after, in milliseconds.
const LOOK_AFTER_PERIOD_MS: i64 = 1_000;
/// How far ahead of the clock a recorded order may be and still be one that some server drew, in milliseconds.
const ORDERS_AHEAD_MS: i64 = 24 * 3_600 * 1_000;

/// A transaction, as changes see it.
pub(crate) struct Transaction<'a> {
    connection: &'a Connection,
    removal: Cell<Option<i64>>,
}

impl<'a> Transaction<'a> {
    fn new(connection: &'a Connection) -> Transaction<'a> {
        Transaction { connection, removal: Cell::new(None) }
    }

    /// Draws a number for a removal; it is made known after the commit.
    pub(crate) fn note_removal(&self) -> Result<(), Cause> {
        let mut statement =
            self.prepare_cached("UPDATE tally SET removal = removal + 1 RETURNING removal")?;
        self.removal.set(Some(statement.query_row([], |row| row.get(0))?));
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

/// The writer's connection and what it works on.
pub(crate) struct Batches {
    pub(crate) connection: Connection,
    pub(crate) pending: Arc<Pending>,
    pub(crate) removal: Arc<RemovalNumber>,
    pub(crate) company: Arc<Company>,
    pub(crate) instance: Arc<Instance>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observations: ObservationLimits,
    pub(crate) calls: CallRules,
    pub(crate) progress: Progress,
}

/// What the writer knows from one batch to the next.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    durability: Option<Durability>,
    commits: u32,
    looked_after: Option<Timestamp>,
    /// What was complained about since something succeeded.
    complaints: Vec<&'static str>,
}

impl Batches {
    /// Writes what is written behind and some jobs; whether the former is written.
    pub(super) fn write(&mut self, mut jobs: Vec<Box<dyn Job>>) -> bool {
        let waiting = self.pending.waiting();
        if self.transact(&waiting, &mut jobs).is_ok() {
            jobs.into_iter().for_each(|job| job.finish(Ok(())));
            self.progress.complaints.clear();
            return true;
        }
        // Alone: one that cannot be done must not stop the others.
        let has_written = match self.transact(&waiting, &mut []) {
            Ok(()) => true,
            Err(cause) => {
                self.complain("observations and uses of sessions wait to be written", &cause);
                false
            }
        };
        for job in jobs {
            let mut alone = [job];
            let outcome = self.transact(&Waiting::default(), &mut alone);
            let [job] = alone;
            job.finish(outcome.map_err(unavailable));
        }
        has_written
    }

    /// One transaction; on an error nothing of it is there.
    fn transact(&mut self, waiting: &Waiting, jobs: &mut [Box<dyn Job>]) -> Result<(), Cause> {
        if waiting.is_empty() && jobs.is_empty() {
            return Ok(());
        }
        let durability = if jobs.iter().any(|job| job.durability() == Durability::Power) {
            Durability::Power
        } else {
            Durability::Process
        };
        let limits = self.observations;
        self.commit(durability, |transaction| {
            for (place, fact) in &waiting.facts {
                observation::put(transaction, &limits, place, Some(&fact.seen), fact.order)?;
            }
            for (key, time) in &waiting.touches {
                session::touch(transaction, key, *time)?;
            }
            jobs.iter_mut().try_for_each(|job| job.run(transaction))
        })?;
        self.pending.settle(waiting);
        Ok(())
    }

    /// Commits a change and makes its removals known.
    fn commit<T>(
        &mut self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Cause>,
    ) -> Result<T, Cause> {
        if self.progress.durability != Some(durability) {
            self.connection.pragma_update(
                None,
                "synchronous",
                match durability {
                    Durability::Process => "NORMAL",
                    Durability::Power => "FULL",
                },
            )?;
            self.progress.durability = Some(durability);
        }
        // Dropped without a commit it rolls back.
        let open = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let transaction = Transaction::new(&open);
        let value = change(&transaction)?;
        let removal = transaction.removal.get();
        open.commit()?;
        self.progress.commits += 1;
        if let Some(number) = removal.and_then(|number| u64::try_from(number).ok())
            && let Err(error) = self.removal.write(number)
        {
            // The removal is there. Looking after what is old finds the difference and tries again.
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the number of removals is not written"
            );
        }
        Ok(value)
    }

    /// Begins, when a state is opened: with a number of removal that nobody kept, and with orders above those that
    /// were recorded.
    pub(crate) fn begin(&mut self) -> Result<(), Cause> {
        let newest = observation::newest(&self.connection)?;
        // A gate may have been told any order; one from far ahead must not leave no room for those to come.
        let farthest = Order::ZERO.next(Timestamp(self.clock.now().0.saturating_add(ORDERS_AHEAD_MS)));
        self.company.raise_order(newest.min(farthest));
        self.renew_removal()
    }

    /// Draws a number of removal that nobody kept.
    fn renew_removal(&mut self) -> Result<(), Cause> {
        self.commit(Durability::Process, |transaction| transaction.note_removal())
    }

    /// Moves the log into the database, when it is due and nobody waits, or long overdue.
    pub(super) fn checkpoint_if_due(&mut self, is_idle: bool) {
        let due = if is_idle { CHECKPOINT_COMMITS } else { CHECKPOINT_COMMITS_MAX };
        if self.progress.commits >= due {
            self.checkpoint("PASSIVE");
        }
    }

    fn checkpoint(&mut self, mode: &str) {
        self.progress.commits = 0;
        let statement = format!("PRAGMA wal_checkpoint({mode})");
        if let Err(error) = self.connection.query_row(&statement, [], |_| Ok(())) {
            self.complain("the log of the state database stays long", &error.into());
        }
    }

    /// Looks after what is old, unless that was done a moment ago.
    pub(super) fn look_after_if_due(&mut self) {
        let now = self.clock.now();
        let is_recent = self
            .progress
            .looked_after
            .is_some_and(|then| (0..LOOK_AFTER_PERIOD_MS).contains(&now.0.saturating_sub(then.0)));
        if !is_recent {
            self.look_after();
        }
    }

    /// Deletes calls that are not remembered any more, a bounded number at a time, mends the number of removals where a
    /// server died before it wrote its own, and looks for other servers.
    pub(super) fn look_after(&mut self) {
        let now = self.clock.now();
        self.progress.looked_after = Some(now);
        if let Err(cause) = self.prune_calls(now) {
            self.complain("calls that are not remembered any more stay in the state database", &cause);
        }
        if let Err(cause) = self.mend_removal() {
            self.complain("a removal by a server that died may not be known to the others", &cause);
        }
        self.look_for_others();
        self.checkpoint_if_due(true);
    }

    /// Finds out whether this server is alone by now.
    fn look_for_others(&mut self) {
        if self.pending.is_alone() {
            return;
        }
        match self.company.alone_at() {
            Ok(alone_at) => self.pending.set_alone_at(alone_at),
            // In doubt it is not.
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "who else serves this state is not known"
            ),
        }
    }

    /// Whether something waits that others have to know by now.
    pub(super) fn is_overdue(&self) -> bool {
        self.pending.is_overdue()
    }

    fn prune_calls(&mut self, now: Timestamp) -> Result<(), Cause> {
        let old = self.calls.old(&self.connection, &self.instance, now)?;
        if old.is_empty() {
            return Ok(());
        }
        let rules = self.calls;
        self.commit(Durability::Process, |transaction| rules.drop_old(transaction, now, &old))
    }

    fn mend_removal(&mut self) -> Result<(), Cause> {
        let known: i64 =
            self.connection.prepare_cached("SELECT removal FROM tally")?.query_row([], |row| row.get(0))?;
        if u64::try_from(known).ok() == Some(self.removal.read()) { Ok(()) } else { self.renew_removal() }
    }

    /// Writes what waits, and leaves a short log.
    pub(super) fn close(&mut self) {
        let waiting = self.pending.waiting();
        if let Err(cause) = self.transact(&waiting, &mut []) {
            self.complain("the newest observations are lost", &cause);
        }
        self.checkpoint("PASSIVE");
    }

    /// Logs what nobody waits for, each consequence once until something succeeds again.
    fn complain(&mut self, consequence: &'static str, cause: &Cause) {
        if self.progress.complaints.contains(&consequence) {
            return;
        }
        self.progress.complaints.push(consequence);
        tracing::warn!(
            error = cause as &dyn std::error::Error,
            consequence,
            "the state database refuses to write"
        );
    }
}
