//! Observations in memory, within bounds.
//!
//! What is kept are facts, each with its order: "this session saw that at this target", "it forgot this target", "it
//! forgot everything". Room is made by dropping the facts with the lowest orders and remembering the highest order
//! that was dropped as a floor: from then on nothing at or below the floor is recorded. So making room can lose an
//! observation, which is safe, and can never bring back an older or a forgotten one.
//!
//! Deliberately absent: persistence, and any clock (orders are the caller's).

mod shard;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use toolfs_core::clock::Order;
use toolfs_core::error::Result;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;

use self::shard::{Shard, ShardLimits};
use crate::gate::ForgetScope;
use crate::store::ObservationStore;

/// A session lives in one shard, so that making room for one does not stop the calls of all others.
const SHARD_COUNT: usize = 16;

/// How much a [`MemoryObservationStore`] keeps.
///
/// Bytes are an estimate: names and versions as they are, and a fixed share for the tables around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStoreLimits {
    /// Bytes of all observations together; the oldest of them make room.
    pub total_bytes: usize,
    /// Bytes of one session's observations; its own oldest make room, so that no session crowds out the others.
    pub session_bytes: usize,
    /// How many ended sessions are remembered as such, about 32 bytes each.
    pub ended_sessions: usize,
}

impl MemoryStoreLimits {
    /// 256 MiB in all (about 900,000 observed files), 8 MiB a session (about 28,000), 262,144 ended sessions.
    pub const DEFAULT: MemoryStoreLimits =
        MemoryStoreLimits { total_bytes: 256 << 20, session_bytes: 8 << 20, ended_sessions: 1 << 18 };
}

/// Observations in memory: gone with the process.
///
/// Memory is bounded by [`MemoryStoreLimits`]. An ended session is remembered as a hash of its key, so that a record
/// that comes late does not revive it; the oldest such marks are dropped beyond the limit. That is no way back for a
/// session: keys derive from 128 random bits and are never reused, a closed session is found by nobody any more, and
/// its last calls were waited for before it was ended, so that the mark only has to outlive records that are already
/// on their way. Two keys with one hash cost observations, nothing else.
#[derive(Debug)]
pub struct MemoryObservationStore {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
}

impl MemoryObservationStore {
    /// An empty store with [`MemoryStoreLimits::DEFAULT`].
    pub fn new() -> MemoryObservationStore {
        MemoryObservationStore::with_limits(MemoryStoreLimits::DEFAULT)
    }

    /// An empty store with bounds of its own. The total is split evenly between 16 shards.
    pub fn with_limits(limits: MemoryStoreLimits) -> MemoryObservationStore {
        let of_a_shard = ShardLimits {
            total_bytes: limits.total_bytes / SHARD_COUNT,
            session_bytes: limits.session_bytes,
            ended_sessions: limits.ended_sessions / SHARD_COUNT,
        };
        let shards = (0..SHARD_COUNT).map(|_| Mutex::new(Shard::new(of_a_shard))).collect();
        MemoryObservationStore { shards, hasher: RandomState::new() }
    }

    /// The shard of a session, locked, and the session's hash in it.
    fn shard(&self, session: &SessionKey) -> (MutexGuard<'_, Shard>, u64) {
        let hash = self.hasher.hash_one(session);
        let index = usize::try_from(hash % SHARD_COUNT as u64).expect("a remainder of 16 fits");
        // A panic inside a shard leaves its facts whole: at worst its count of bytes is off.
        let shard = self.shards[index].lock().unwrap_or_else(PoisonError::into_inner);
        (shard, hash)
    }
}

impl Default for MemoryObservationStore {
    fn default() -> MemoryObservationStore {
        MemoryObservationStore::new()
    }
}

#[async_trait]
impl ObservationStore for MemoryObservationStore {
    fn is_persistent(&self) -> bool {
        false
    }

    async fn get(&self, session: &SessionKey, target: &TargetKey) -> Result<Option<Observation>> {
        let (shard, _) = self.shard(session);
        Ok(shard.get(session, target))
    }

    async fn record(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()> {
        let (mut shard, hash) = self.shard(session);
        if !shard.has_ended(hash) {
            shard.put(session, target, Some(observation), order);
        }
        Ok(())
    }

    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()> {
        let (mut shard, hash) = self.shard(session);
        if shard.has_ended(hash) || Fault::GateForgetsNothing.is_planted() {
            return Ok(());
        }
        match scope {
            ForgetScope::All => shard.forget_all(session, order),
            ForgetScope::Targets(targets) => {
                for target in &targets {
                    shard.put(session, target, None, order);
                }
            }
        }
        Ok(())
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        let (mut shard, hash) = self.shard(session);
        shard.end(session, hash);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
