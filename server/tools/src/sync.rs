//! The primitives that the tables of sessions and of turns are made of.
//!
//! The proof `locks` compiles these tables once more, over primitives whose every interleaving it can choose. So they
//! take all of them from here, and name their neighbours as `super`, which is another module there. Deliberately absent:
//! locks that others of this crate use alone.

pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic};

pub(crate) use tokio::sync::{
    Mutex as AsyncMutex, OwnedMutexGuard, OwnedRwLockReadGuard, RwLock as AsyncRwLock,
};
