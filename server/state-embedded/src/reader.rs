//! Connections that read, on the thread of whoever asks.
//!
//! A read is a few microseconds on pages that are in memory, and a reader does not wait for a writer; handing it to
//! another thread would cost more than it takes. Where somebody keeps the whole database to himself, it waits some 20
//! milliseconds at most and is refused.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use toolfs_core::error::Result;

use crate::error::{Cause, unavailable};
use crate::schema::connect_reader;

/// How many connections are kept for the next reads. More are made when more threads read at once.
const KEPT: usize = 8;

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Readers {
        Readers { path, idle: Mutex::default() }
    }

    /// Reads. A connection that met an error is not used again.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Cause>) -> Result<T> {
        let connection = match self.idle().pop() {
            Some(connection) => connection,
            None => connect_reader(&self.path).map_err(|error| unavailable(error.into()))?,
        };
        let answer = read(&connection).map_err(unavailable)?;
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(answer)
    }

    /// Lets go of the connections that nobody uses.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use toolfs_core::error::{ErrorKind, UnavailableCause};

    use super::*;
    use crate::observation::ObservationLimits;
    use crate::support::state;

    /// The thread of a runtime is there for others too.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "how long the thread is kept is what this is about")]
    fn a_reader_does_not_keep_its_thread_while_the_database_is_locked() {
        let (closed, directory) = state(ObservationLimits::DEFAULT);
        closed.close();
        drop(closed);
        let path = directory.path().join("state.db");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT * FROM tally").unwrap();
        let readers = Readers::new(path);
        let removal = || {
            let query = "SELECT removal FROM tally";
            readers.read(|connection| Ok(connection.query_row(query, [], |row| row.get::<_, i64>(0))?))
        };
        let begun = Instant::now();
        let error = removal().unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!(error.kind(), &ErrorKind::Unavailable { cause: UnavailableCause::Overloaded });
        drop(other);
        removal().unwrap();
    }
}
