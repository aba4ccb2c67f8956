//! Connections that read, on the thread of whoever asks.
//!
//! A read is a few microseconds on pages that are in memory, and a reader never waits for a writer; handing it to
//! another thread would cost more than it takes.

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
