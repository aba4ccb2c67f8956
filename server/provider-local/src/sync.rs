//! The primitives that the table of turns is made of.
//!
//! The proof `locks` compiles the table once more, over primitives whose every interleaving it can choose. So it takes
//! all of them from here, and names its neighbours as `super`, which is another module there. Deliberately absent: locks
//! that others of this crate use alone.

pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub(crate) use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
