//! Sessions: a row each, with what is not searched for as JSON.
//!
//! A name that was used is kept as a digest for good, about 30 bytes a session: names are never used again, and no
//! number of sessions that a host opens in its life makes that a burden.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::{SessionKey, SessionName};
use toolfs_core::target::Target;
use toolfs_tools::{Caller, Insertion, SessionMode, SessionRecord, SessionStore, next_order};

use crate::EmbeddedState;
use crate::error::{Cause, unavailable};
use crate::writer::{Durability, Transaction};

/// How many ends of removed sessions are kept to be done; the oldest are given up.
const MAX_ENDING: i64 = 1 << 18;

/// The columns of [`stored`], in its order.
const COLUMNS: &str = "serial, key, name, owner, detail, created, last_used";

/// The part of a session that is kept as JSON. What is written here is read by later versions.
#[derive(Debug, Serialize, Deserialize)]
struct Detail {
    cwd: Target,
    roots: Vec<Target>,
    shown_roots: Vec<String>,
    labels: BTreeMap<String, String>,
    mode: String,
}

fn owner_text(owner: &Caller) -> String {
    match owner {
        Caller::Local => "local".to_owned(),
        Caller::Named(name) => format!("named:{name}"),
    }
}

fn parse_owner(text: &str) -> Result<Caller, Cause> {
    match text.strip_prefix("named:") {
        Some(name) => Ok(Caller::Named(name.to_owned())),
        None if text == "local" => Ok(Caller::Local),
        None => Err(Cause::Unknown("owner")),
    }
}

fn mode_text(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::WorkspaceWrite => "workspace-write",
        SessionMode::ReadOnly => "read-only",
    }
}

/// A mode that is not known is no mode: a session is never given more than it had.
fn parse_mode(text: &str) -> Result<SessionMode, Cause> {
    [SessionMode::WorkspaceWrite, SessionMode::ReadOnly]
        .into_iter()
        .find(|mode| mode_text(*mode) == text)
        .ok_or(Cause::Unknown("session mode"))
}

/// A row as SQLite has it, before anything is decoded.
struct StoredSession {
    serial: i64,
    key: String,
    name: String,
    owner: String,
    detail: String,
    created: i64,
    last_used: i64,
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    Ok(StoredSession {
        serial: row.get(0)?,
        key: row.get(1)?,
        name: row.get(2)?,
        owner: row.get(3)?,
        detail: row.get(4)?,
        created: row.get(5)?,
        last_used: row.get(6)?,
    })
}

impl StoredSession {
    fn decode(self) -> Result<(u64, SessionRecord), Cause> {
        let detail: Detail = serde_json::from_str(&self.detail)?;
        let record = SessionRecord {
            key: SessionKey::new(&self.key),
            name: SessionName::new(&self.name),
            owner: parse_owner(&self.owner)?,
            cwd: detail.cwd,
            roots: detail.roots,
            shown_roots: detail.shown_roots,
            labels: detail.labels,
            mode: parse_mode(&detail.mode)?,
            created: Timestamp(self.created),
            last_used: Timestamp(self.last_used),
        };
        Ok((u64::try_from(self.serial).map_err(|_| Cause::Unknown("serial number"))?, record))
    }
}

fn name_digest(name: &SessionName) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(name.as_str().as_bytes()).as_bytes()[..16]);
    digest
}

fn insert(
    transaction: &Transaction<'_>,
    session: &SessionRecord,
    detail: &str,
    max_sessions: u64,
) -> Result<Insertion, Cause> {
    let (kept, is_taken): (i64, bool) = transaction
        .prepare_cached(
            "SELECT (SELECT count(*) FROM session),
                    EXISTS (SELECT 1 FROM used_name WHERE name = ?1)
                    OR EXISTS (SELECT 1 FROM session WHERE key = ?2)",
        )?
        .query_row(params![name_digest(&session.name), session.key.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if u64::try_from(kept).unwrap_or(0) >= max_sessions {
        return Ok(Insertion::Full);
    }
    if is_taken {
        return Ok(Insertion::NameTaken);
    }
    transaction
        .prepare_cached(
            "INSERT INTO session (key, name, owner, detail, created, last_used) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            session.key.as_str(),
            session.name.as_str(),
            owner_text(&session.owner),
            detail,
            session.created.0,
            session.last_used.0,
        ])?;
    transaction
        .prepare_cached("INSERT INTO used_name (name) VALUES (?1)")?
        .execute(params![name_digest(&session.name)])?;
    Ok(Insertion::Inserted)
}

/// Notes a use, unless a later one is known or the session is gone.
pub(crate) fn touch(
    transaction: &Transaction<'_>,
    key: &SessionKey,
    last_used: Timestamp,
) -> Result<(), Cause> {
    transaction
        .prepare_cached("UPDATE session SET last_used = ?2 WHERE key = ?1 AND last_used < ?2")?
        .execute(params![key.as_str(), last_used.0])?;
    Ok(())
}

/// Removes a session that was not used after a time.
fn remove(transaction: &Transaction<'_>, key: &SessionKey, unused_since: Timestamp) -> Result<bool, Cause> {
    let removed = transaction
        .prepare_cached("DELETE FROM session WHERE key = ?1 AND last_used <= ?2")?
        .execute(params![key.as_str(), unused_since.0])?;
    if removed == 0 {
        return Ok(false);
    }
    transaction.note_removal()?;
    transaction
        .prepare_cached("INSERT INTO ending_session (key) VALUES (?1) ON CONFLICT DO NOTHING")?
        .execute(params![key.as_str()])?;
    transaction
        .prepare_cached(
            "DELETE FROM ending_session WHERE serial <= (SELECT max(serial) FROM ending_session) - ?1",
        )?
        .execute(params![MAX_ENDING])?;
    Ok(true)
}

fn rows(
    connection: &Connection,
    rest: &str,
    of: impl rusqlite::Params,
) -> Result<Vec<(u64, SessionRecord)>, Cause> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM session {rest}"))?;
    let rows = statement.query_map(of, stored)?;
    rows.map(|row| row?.decode()).collect()
}

impl EmbeddedState {
    /// A record as of now: a use that is written behind counts.
    fn with_pending_use(&self, mut record: SessionRecord) -> SessionRecord {
        if let Some(time) = self.pending.last_used(&record.key) {
            record.last_used = record.last_used.max(time);
        }
        record
    }
}

#[async_trait]
impl SessionStore for EmbeddedState {
    fn is_persistent(&self) -> bool {
        true
    }

    fn removals(&self) -> u64 {
        self.removal.read()
    }

    fn next_order(&self, now: Timestamp) -> Order {
        next_order(self.company.last_order(), now)
    }

    async fn insert(&self, session: SessionRecord, max_sessions: u64) -> Result<Insertion> {
        let detail = Detail {
            cwd: session.cwd.clone(),
            roots: session.roots.clone(),
            shown_roots: session.shown_roots.clone(),
            labels: session.labels.clone(),
            mode: mode_text(session.mode).to_owned(),
        };
        let detail = serde_json::to_string(&detail).map_err(|error| unavailable(error.into()))?;
        self.writer
            .commit(Durability::Process, move |transaction| {
                insert(transaction, &session, &detail, max_sessions)
            })
            .await
    }

    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRecord>> {
        let found = self.readers.read(|connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM session WHERE key = ?1"))?
                .query_row(params![key.as_str()], stored)
                .optional()?
                .map(StoredSession::decode)
                .transpose()
        })?;
        Ok(found.map(|(_, record)| self.with_pending_use(record)))
    }

    async fn touch(&self, key: &SessionKey, last_used: Timestamp) -> Result<()> {
        if self.pending.touch(key, last_used) {
            self.writer.note_pending();
            return Ok(());
        }
        let key = key.clone();
        self.writer.commit(Durability::Process, move |transaction| touch(transaction, &key, last_used)).await
    }

    async fn remove(&self, key: &SessionKey) -> Result<bool> {
        let key = key.clone();
        let any = Timestamp(i64::MAX);
        self.writer.commit(Durability::Power, move |transaction| remove(transaction, &key, any)).await
    }

    async fn remove_unused(&self, key: &SessionKey, time: Timestamp) -> Result<bool> {
        let (key, pending) = (key.clone(), Arc::clone(&self.pending));
        self.writer
            .commit(Durability::Power, move |transaction| {
                // A use that came after this transaction took what is written behind.
                if pending.last_used(&key).is_some_and(|used| used > time) {
                    return Ok(false);
                }
                remove(transaction, &key, time)
            })
            .await
    }

    async fn unused_since(&self, time: Timestamp, count: usize) -> Result<Vec<SessionRecord>> {
        // What is written behind here is written first: each transaction takes it along.
        self.writer.commit(Durability::Process, |_| Ok(())).await?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let found = self.readers.read(|connection| {
            rows(
                connection,
                "WHERE last_used <= ?1 ORDER BY last_used, serial LIMIT ?2",
                params![time.0, count],
            )
        })?;
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    async fn page(&self, owner: &Caller, after: u64, count: usize) -> Result<Vec<(u64, SessionRecord)>> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let found = self.readers.read(|connection| {
            rows(
                connection,
                "WHERE owner = ?1 AND serial > ?2 ORDER BY serial LIMIT ?3",
                params![owner_text(owner), after, count],
            )
        })?;
        Ok(found.into_iter().map(|(serial, record)| (serial, self.with_pending_use(record))).collect())
    }

    async fn ending(&self, count: usize) -> Result<Vec<SessionKey>> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.readers.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT key FROM ending_session ORDER BY serial LIMIT ?1")?;
            let keys = statement.query_map(params![count], |row| row.get::<_, String>(0))?;
            keys.map(|key| Ok(SessionKey::new(&key?))).collect()
        })
    }

    async fn ended(&self, key: &SessionKey) -> Result<()> {
        let key = key.clone();
        self.writer
            .commit(Durability::Process, move |transaction| {
                transaction
                    .prepare_cached("DELETE FROM ending_session WHERE key = ?1")?
                    .execute(params![key.as_str()])?;
                Ok(())
            })
            .await
    }
}

#[cfg(test)]
mod tests;
