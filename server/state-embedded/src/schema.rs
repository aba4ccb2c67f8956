//! The database file: made whole or not at all, checked before it is used, and brought up to date step by step.
//!
//! `application_id` says that a database is ours, `user_version` which [`MIGRATIONS`] it has. Nothing is repaired
//! here: what is not right is refused with a [`StateError`].

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::directory::{StateDirectory, create_own, remove_own};
use crate::error::StateError;

/// "tofs" in ASCII.
const APPLICATION_ID: i32 = 0x746f_6673;

/// One step each: step `n` leads from version `n` to `n + 1`. A step that was released is never changed.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// The smallest page that a database can have, in bytes.
const SMALLEST_PAGE: u64 = 512;

/// How much of the database a connection keeps at hand, in KiB: the upper pages of every index fit.
const CACHE_KIB: i64 = 8 << 10;

/// How long a connection that writes waits for the writers of other servers: each holds the lock for milliseconds.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
const BUSY_PAUSES: i32 = 5_000;
/// How often one that reads waits: on the thread of its caller, where others wait for their turn. What it meets is not
/// a writer but a process that keeps the whole database to itself.
const READER_PAUSES: i32 = 20;

/// More than there are statements, so that each is prepared once.
const CACHED_STATEMENTS: usize = 64;

/// Makes the database, or checks the one that is there. The caller holds the lock on opening.
pub(crate) fn prepare(directory: &StateDirectory) -> Result<(), StateError> {
    let path = directory.database();
    if !path.try_exists().map_err(StateError::inaccessible(&path))? {
        create(directory, &path)?;
    }
    // Asked before SQLite makes one.
    let log = path.with_extension("db-wal");
    let has_log = log.try_exists().map_err(StateError::inaccessible(&log))?;
    let mut connection = connect(&path)?;
    check(&connection, &path)?;
    if !has_log {
        check_length(&connection, &path)?;
    }
    migrate(&mut connection, MIGRATIONS).map_err(StateError::database(&path))?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(StateError::database(&path))?;
    if mode != "wal" {
        let source = std::io::Error::other("the file system has no shared memory for a write-ahead log");
        return Err(StateError::Inaccessible { path, source });
    }
    Ok(())
}

/// Builds a database under another name, so that one under its own name is never empty or half: whoever finds such a
/// one knows that it was cut.
#[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
fn create(directory: &StateDirectory, path: &Path) -> Result<(), StateError> {
    let log = path.with_extension("db-wal");
    if log.try_exists().map_err(StateError::inaccessible(&log))? {
        // SQLite would play this log into the database that is made here.
        let finding = "the database is gone and its write-ahead log is there".to_owned();
        return Err(StateError::Damaged { path: path.to_owned(), finding });
    }
    let draft = path.with_extension("db.new");
    let journal = path.with_extension("db.new-journal");
    for leftover in [&draft, &journal] {
        remove_own(leftover).map_err(StateError::inaccessible(leftover))?;
    }
    create_own(&draft).map_err(StateError::inaccessible(&draft))?;
    let mut connection = connect(&draft)?;
    connection
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| migrate(&mut connection, MIGRATIONS))
        .map_err(StateError::database(&draft))?;
    connection.close().map_err(|(_, error)| StateError::database(&draft)(error))?;
    std::fs::rename(&draft, path).map_err(StateError::inaccessible(path))?;
    let directory = directory.path();
    std::fs::File::open(directory)
        .and_then(|handle| handle.sync_all())
        .map_err(StateError::inaccessible(directory))
}

/// Refuses a database that is empty, not ours, of a later version, or damaged. Reads every page once: a second for
/// about a gigabyte.
fn check(connection: &Connection, path: &Path) -> Result<(), StateError> {
    let damaged = |finding: String| StateError::Damaged { path: path.to_owned(), finding };
    let metadata = path.metadata().map_err(StateError::inaccessible(path))?;
    // SQLite takes what is shorter than the smallest page for a database that is still to be made.
    match metadata.len() {
        0 => return Err(damaged("it is empty".to_owned())),
        1..SMALLEST_PAGE => return Err(StateError::NotADatabase { path: path.to_owned() }),
        SMALLEST_PAGE.. => {}
    }
    let pragma = |name: &str| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i32>(0))
            .map_err(StateError::database(path))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(StateError::Foreign { path: path.to_owned() });
    }
    let (found, known) = (pragma("user_version")?, version_of(MIGRATIONS.len()));
    if found > known {
        return Err(StateError::Newer { path: path.to_owned(), found, known });
    }
    if found < 1 {
        return Err(damaged(format!("it has schema version {found}")));
    }
    let finding: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(StateError::database(path))?;
    if finding != "ok" {
        return Err(damaged(finding));
    }
    if connection.is_readonly("main").map_err(StateError::database(path))? {
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        return Err(StateError::Inaccessible { path: path.to_owned(), source });
    }
    Ok(())
}

/// Refuses a database whose end is missing: SQLite reads zeros there. While there is a log, the end may be in it.
fn check_length(connection: &Connection, path: &Path) -> Result<(), StateError> {
    let pragma = |name: &str| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(StateError::database(path))
    };
    let expected = pragma("page_count")?.saturating_mul(pragma("page_size")?);
    let length = path.metadata().map_err(StateError::inaccessible(path))?.len();
    if u64::try_from(expected).is_ok_and(|expected| expected <= length) {
        return Ok(());
    }
    let finding = format!("it has {length} bytes of {expected}");
    Err(StateError::Damaged { path: path.to_owned(), finding })
}

/// Takes the steps that the database has not taken, each in a transaction of its own.
fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let step = usize::try_from(version).ok().and_then(|version| migrations.get(version));
        let Some(step) = step else { return Ok(()) };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
}

fn version_of(steps: usize) -> i32 {
    i32::try_from(steps).expect("there are few migrations")
}

/// A connection to a database that is there.
pub(crate) fn connect(path: &Path) -> Result<Connection, StateError> {
    open(path, |pauses| pause(pauses, BUSY_PAUSES)).map_err(StateError::database(path))
}

/// A connection that only reads.
pub(crate) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path, |pauses| pause(pauses, READER_PAUSES))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Waits a moment for whoever has the lock, unless that was done often enough.
fn pause(pauses: i32, max_pauses: i32) -> bool {
    let is_patient = pauses < max_pauses;
    if is_patient {
        std::thread::sleep(BUSY_PAUSE);
    }
    is_patient
}

fn open(path: &Path, pause: fn(i32) -> bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // First: what follows looks at the database already.
    connection.busy_handler(Some(pause))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // A plan that may depend on bound values is made again at each binding, which costs several times the query.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // The writer decides when to checkpoint.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
