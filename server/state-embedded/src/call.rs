//! Calls that may be repeated: begun ones with the server that began them, ended ones with their result.
//!
//! An ended call is absent from the moment its time is over; its row goes later, with the housekeeping. Whether the
//! server of a begun one runs is asked inside the transaction that decides, so that two servers never take over the
//! same call.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
use toolfs_core::clock::Timestamp;
use toolfs_core::error::Result;
use toolfs_core::id::SessionKey;
use toolfs_tools::{Beginning, CallKey, CallRecord, CallState, CallStore, DecidedGuard, Ending, Fingerprint};

use crate::EmbeddedState;
use crate::error::Cause;
use crate::instance::Instance;
use crate::observation::{SessionDigest, session_digest};
use crate::writer::{Durability, Transaction};

/// What a call takes beside its result, in bytes: its row and its share of the indexes, rounded up.
const CALL_BYTES: i64 = 512;

/// How many calls the housekeeping deletes in one transaction.
const DROPPED_AT_ONCE: i64 = 256;

/// For how long and how much is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRules {
    pub(crate) window_ms: i64,
    pub(crate) max_bytes: i64,
}

/// What there is to delete.
#[derive(Debug, Default)]
pub(crate) struct OldCalls {
    has_ended_ones: bool,
    /// Servers that do not run and began calls that never ended.
    instances: Vec<String>,
}

impl OldCalls {
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_ended_ones && self.instances.is_empty()
    }
}

impl CallRules {
    /// What ended, or was begun by a server that does not run, at this time or before is old.
    fn oldest(self, now: Timestamp) -> i64 {
        now.0.saturating_sub(self.window_ms)
    }

    /// Looks for old calls.
    pub(crate) fn old(
        self,
        connection: &Connection,
        instance: &Instance,
        now: Timestamp,
    ) -> Result<OldCalls, Cause> {
        let oldest = self.oldest(now);
        let has_ended_ones = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM call WHERE ended IS NOT NULL AND ended <= ?1)")?
            .query_row(params![oldest], |row| row.get(0))?;
        let mut statement = connection
            .prepare_cached("SELECT DISTINCT instance FROM call WHERE ended IS NULL AND begun <= ?1")?;
        let instances: Vec<String> =
            statement.query_map(params![oldest], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let instances = instances.into_iter().filter(|id| !instance.is_live(id)).collect();
        Ok(OldCalls { has_ended_ones, instances })
    }

    /// Deletes some of them.
    pub(crate) fn drop_old(
        self,
        transaction: &Transaction<'_>,
        now: Timestamp,
        old: &OldCalls,
    ) -> Result<(), Cause> {
        let oldest = self.oldest(now);
        transaction
            .prepare_cached(
                "DELETE FROM call WHERE id IN
                     (SELECT id FROM call WHERE ended IS NOT NULL AND ended <= ?1 ORDER BY ended, id LIMIT ?2)",
            )?
            .execute(params![oldest, DROPPED_AT_ONCE])?;
        for id in &old.instances {
            transaction
                .prepare_cached(
                    "DELETE FROM call WHERE id IN
                         (SELECT id FROM call WHERE ended IS NULL AND begun <= ?1 AND instance = ?2 LIMIT ?3)",
                )?
                .execute(params![oldest, id, DROPPED_AT_ONCE])?;
        }
        Ok(())
    }

    /// Forgets the calls that ended first until the rest fits.
    fn make_room(self, transaction: &Transaction<'_>) -> Result<(), Cause> {
        loop {
            let bytes: i64 = transaction
                .prepare_cached("SELECT call_bytes FROM tally")?
                .query_row([], |row| row.get(0))?;
            if bytes <= self.max_bytes {
                return Ok(());
            }
            let dropped = transaction
                .prepare_cached(
                    "DELETE FROM call WHERE id IN
                         (SELECT id FROM call WHERE ended IS NOT NULL ORDER BY ended, id LIMIT 1)",
                )?
                .execute([])?;
            if dropped == 0 {
                return Ok(());
            }
        }
    }
}

/// A call as the database has it.
struct StoredCall {
    fingerprint: Vec<u8>,
    instance: Option<String>,
    guard: Option<String>,
    begun: Option<i64>,
    ended: Option<i64>,
    result: Option<Vec<u8>>,
}

fn stored(connection: &Connection, key: &Key) -> Result<Option<StoredCall>, Cause> {
    let mut statement = connection.prepare_cached(
        "SELECT fingerprint, instance, guard, begun, ended, result FROM call WHERE session = ?1 AND request = ?2",
    )?;
    let found = statement.query_row(params![key.session, key.request], |row| {
        Ok(StoredCall {
            fingerprint: row.get(0)?,
            instance: row.get(1)?,
            guard: row.get(2)?,
            begun: row.get(3)?,
            ended: row.get(4)?,
            result: row.get(5)?,
        })
    });
    Ok(found.optional()?)
}

impl StoredCall {
    /// Whether this server noted it, or took it over, and goes on with it.
    fn is_run_by(&self, instance: &Instance) -> bool {
        self.ended.is_none() && self.instance.as_deref() == Some(instance.id())
    }

    /// The call as it is known; `None` when its time is over.
    fn decode(
        self,
        rules: CallRules,
        instance: &Instance,
        now: Timestamp,
    ) -> Result<Option<CallRecord>, Cause> {
        let oldest = rules.oldest(now);
        let fingerprint =
            Fingerprint::try_from(self.fingerprint).map_err(|_| Cause::Unknown("fingerprint"))?;
        let (since, is_live, state) = match (self.result, self.guard, self.instance) {
            (Some(result), _, _) => (self.ended, false, CallState::Ended { result }),
            (None, Some(guard), Some(id)) => {
                let (guard, is_live) = (serde_json::from_str(&guard)?, instance.is_live(&id));
                (self.begun, is_live, CallState::Begun { guard, is_live })
            }
            (None, _, _) => return Err(Cause::Unknown("call")),
        };
        let is_over = !is_live && since.is_some_and(|since| since <= oldest);
        Ok((!is_over).then_some(CallRecord { fingerprint, state }))
    }
}

/// A [`CallKey`] as the table has it.
#[derive(Clone, Debug)]
struct Key {
    session: SessionDigest,
    request: String,
}

impl Key {
    fn of(key: &CallKey) -> Key {
        Key { session: session_digest(&key.session), request: key.request.as_str().to_owned() }
    }
}

/// What is written of a call that begins.
struct Note<'a> {
    fingerprint: &'a Fingerprint,
    guard: &'a str,
    instance: &'a str,
    now: Timestamp,
}

fn begin(transaction: &Transaction<'_>, key: &Key, note: &Note<'_>) -> Result<(), Cause> {
    transaction
        .prepare_cached(
            "INSERT INTO call (session, request, fingerprint, instance, guard, begun, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session, request) DO UPDATE SET fingerprint = excluded.fingerprint,
                 instance = excluded.instance, guard = excluded.guard, begun = excluded.begun,
                 ended = NULL, result = NULL, bytes = excluded.bytes",
        )?
        .execute(params![
            key.session,
            key.request,
            note.fingerprint,
            note.instance,
            note.guard,
            note.now.0,
            CALL_BYTES
        ])?;
    Ok(())
}

fn end(
    transaction: &Transaction<'_>,
    key: &Key,
    fingerprint: &Fingerprint,
    result: &[u8],
    now: Timestamp,
) -> Result<(), Cause> {
    transaction
        .prepare_cached(
            "INSERT INTO call (session, request, fingerprint, ended, result, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session, request) DO UPDATE SET fingerprint = excluded.fingerprint,
                 ended = excluded.ended, result = excluded.result, bytes = excluded.bytes",
        )?
        .execute(params![key.session, key.request, fingerprint, now.0, result, bytes_of(result)])?;
    Ok(())
}

fn forget(transaction: &Transaction<'_>, key: &Key) -> Result<(), Cause> {
    transaction
        .prepare_cached("DELETE FROM call WHERE session = ?1 AND request = ?2")?
        .execute(params![key.session, key.request])?;
    Ok(())
}

fn bytes_of(result: &[u8]) -> i64 {
    i64::try_from(result.len()).unwrap_or(i64::MAX).saturating_add(CALL_BYTES)
}

#[async_trait]
impl CallStore for EmbeddedState {
    async fn find(&self, key: &CallKey) -> Result<Option<CallRecord>> {
        let (key, now) = (Key::of(key), self.clock.now());
        self.readers.read(|connection| match stored(connection, &key)? {
            Some(call) => call.decode(self.calls, &self.instance, now),
            None => Ok(None),
        })
    }

    async fn begin(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        guard: &DecidedGuard,
        now: Timestamp,
    ) -> Result<Beginning> {
        let (key, fingerprint, rules) = (Key::of(key), *fingerprint, self.calls);
        let instance = Arc::clone(&self.instance);
        let guard = guard.clone();
        self.writer
            .commit(Durability::Process, move |transaction| {
                let known = match stored(transaction, &key)? {
                    Some(call) => call.decode(rules, &instance, now)?,
                    None => None,
                };
                let guard = match known {
                    None => guard.clone(),
                    Some(CallRecord {
                        fingerprint: known,
                        state: CallState::Begun { guard, is_live: false },
                    }) if known == fingerprint => guard,
                    Some(known) => return Ok(Beginning::Known(known)),
                };
                let text = serde_json::to_string(&guard)?;
                let note = Note { fingerprint: &fingerprint, guard: &text, instance: instance.id(), now };
                begin(transaction, &key, &note)?;
                Ok(Beginning::Noted(guard))
            })
            .await
    }

    async fn end(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        result: Vec<u8>,
        resumes: bool,
        now: Timestamp,
    ) -> Result<Ending> {
        let (key, fingerprint, rules) = (Key::of(key), *fingerprint, self.calls);
        let instance = Arc::clone(&self.instance);
        self.writer
            .commit(Durability::Process, move |transaction| {
                if let Some(call) = stored(transaction, &key)? {
                    let is_ours = call.is_run_by(&instance);
                    if let Some(known) = call.decode(rules, &instance, now)? {
                        let is_left = matches!(known.state, CallState::Begun { is_live: false, .. });
                        if known.fingerprint != fingerprint || !(is_ours || (resumes && is_left)) {
                            return Ok(Ending::Known(known));
                        }
                    }
                }
                if bytes_of(&result) > rules.max_bytes {
                    // It would push out all others and then itself.
                    forget(transaction, &key)?;
                    return Ok(Ending::Remembered);
                }
                end(transaction, &key, &fingerprint, &result, now)?;
                rules.make_room(transaction)?;
                Ok(Ending::Remembered)
            })
            .await
    }

    async fn release(&self, key: &CallKey) -> Result<()> {
        let (key, instance) = (Key::of(key), Arc::clone(&self.instance));
        self.writer
            .commit(Durability::Process, move |transaction| {
                transaction
                    .prepare_cached(
                        "UPDATE call SET instance = ''
                         WHERE session = ?1 AND request = ?2 AND ended IS NULL AND instance = ?3",
                    )?
                    .execute(params![key.session, key.request, instance.id()])?;
                Ok(())
            })
            .await
    }

    async fn abandon(&self, key: &CallKey) -> Result<()> {
        let (key, instance) = (Key::of(key), Arc::clone(&self.instance));
        self.writer
            .commit(Durability::Process, move |transaction| {
                // One that another server took over is that server's.
                transaction
                    .prepare_cached(
                        "DELETE FROM call WHERE session = ?1 AND request = ?2 AND ended IS NULL AND instance = ?3",
                    )?
                    .execute(params![key.session, key.request, instance.id()])?;
                Ok(())
            })
            .await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        let session = session_digest(session);
        self.writer
            .commit(Durability::Process, move |transaction| {
                transaction
                    .prepare_cached("DELETE FROM call WHERE session = ?1")?
                    .execute(params![session])?;
                Ok(())
            })
            .await
    }
}

#[cfg(test)]
mod tests;
