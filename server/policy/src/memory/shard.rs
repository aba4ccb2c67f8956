//! One shard of the store: the facts of some sessions, and the making of room.

use std::collections::{HashMap, HashSet, VecDeque};

use toolfs_core::clock::Order;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;

/// What a fact takes in the tables around it, in bytes: slots, allocation headers and load factor, rounded up.
const FACT_BYTES: usize = 160;

/// Room is made for many at once: looking for the oldest facts costs a pass over all of them.
const DROPPED_SHARE: usize = 8;

/// The bounds of a shard, as in [`super::MemoryStoreLimits`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ShardLimits {
    pub(super) total_bytes: usize,
    pub(super) session_bytes: usize,
    pub(super) ended_sessions: usize,
}

#[derive(Debug)]
pub(super) struct Shard {
    limits: ShardLimits,
    sessions: HashMap<SessionKey, Session>,
    /// The sum of the sessions' bytes.
    bytes: usize,
    /// Facts at or below this order are gone, of every session.
    floor: Order,
    ended: HashSet<u64>,
    ended_oldest_first: VecDeque<u64>,
}

/// What one session saw and forgot.
#[derive(Debug)]
struct Session {
    facts: HashMap<TargetKey, Fact>,
    /// What the facts and the session itself take.
    bytes: usize,
    /// Facts at or below this order are gone: forgotten, or dropped to make room.
    floor: Order,
}

#[derive(Debug)]
struct Fact {
    /// `None`: forgotten.
    seen: Option<Observation>,
    order: Order,
}

impl Shard {
    pub(super) fn new(limits: ShardLimits) -> Shard {
        Shard {
            limits,
            sessions: HashMap::new(),
            bytes: 0,
            floor: Order(i64::MIN),
            ended: HashSet::new(),
            ended_oldest_first: VecDeque::new(),
        }
    }

    pub(super) fn get(&self, session: &SessionKey, target: &TargetKey) -> Option<Observation> {
        self.sessions.get(session)?.facts.get(target)?.seen.clone()
    }

    pub(super) fn has_ended(&self, hash: u64) -> bool {
        self.ended.contains(&hash)
    }

    /// Puts a fact (`None`: forgotten) unless a newer one is known.
    pub(super) fn put(
        &mut self,
        key: &SessionKey,
        target: &TargetKey,
        seen: Option<Observation>,
        order: Order,
    ) {
        let limit_bytes = self.limits.session_bytes;
        self.change(key, order, |session| {
            session.put(target, seen, order);
            session.make_room(limit_bytes);
        });
    }

    /// Forgets all facts of a session at or below an order, and those that come late.
    pub(super) fn forget_all(&mut self, key: &SessionKey, order: Order) {
        self.change(key, order, |session| session.raise_floor(order));
    }

    /// Changes what is known of a session by something of this order, unless that is gone already.
    fn change(&mut self, key: &SessionKey, order: Order, change: impl FnOnce(&mut Session)) {
        if order <= self.floor {
            return;
        }
        let session = self.sessions.entry(key.clone()).or_insert_with(|| {
            let session = Session::new(key);
            self.bytes += session.bytes;
            session
        });
        let before = session.bytes;
        change(session);
        self.bytes = self.bytes - before + session.bytes;
        self.make_room();
    }

    pub(super) fn end(&mut self, key: &SessionKey, hash: u64) {
        if let Some(session) = self.sessions.remove(key) {
            self.bytes -= session.bytes;
        }
        if self.ended.insert(hash) {
            self.ended_oldest_first.push_back(hash);
        }
        while self.ended_oldest_first.len() > self.limits.ended_sessions.max(1) {
            let oldest = self.ended_oldest_first.pop_front().expect("the list is not empty");
            self.ended.remove(&oldest);
        }
    }

    /// Drops the oldest facts of all sessions until the shard is within its limit. That a session forgot everything
    /// is such a fact too: the shard's floor takes its place.
    fn make_room(&mut self) {
        while self.bytes > self.limits.total_bytes && !self.sessions.is_empty() {
            // Each session has a fact or a floor above the shard's, or it would have been dropped.
            let orders = self.sessions.values().flat_map(|session| {
                let own_floor = (session.floor > self.floor).then_some(session.floor);
                session.facts.values().map(|fact| fact.order).chain(own_floor)
            });
            let floor = oldest_share(orders.collect());
            self.floor = floor;
            for session in self.sessions.values_mut() {
                session.raise_floor(floor);
            }
            self.sessions.retain(|_, session| !session.facts.is_empty() || session.floor > floor);
            self.bytes = self.sessions.values().map(|session| session.bytes).sum();
        }
    }

    #[cfg(test)]
    pub(super) fn ended_count(&self) -> usize {
        assert_eq!(self.ended.len(), self.ended_oldest_first.len());
        self.ended.len()
    }

    /// The bytes as they were kept up to date, and as a recount has them.
    #[cfg(test)]
    pub(super) fn counted_bytes(&self) -> (usize, usize) {
        let sum = |(key, session): (&SessionKey, &Session)| {
            let facts = session.facts.iter().map(|(target, fact)| fact_bytes(target, fact.seen.as_ref()));
            Session::new(key).bytes + facts.sum::<usize>()
        };
        (self.bytes, self.sessions.iter().map(sum).sum())
    }
}

impl Session {
    fn new(key: &SessionKey) -> Session {
        let bytes = FACT_BYTES + key.as_str().len();
        Session { facts: HashMap::new(), bytes, floor: Order(i64::MIN) }
    }

    fn put(&mut self, target: &TargetKey, seen: Option<Observation>, order: Order) {
        let is_news = match self.facts.get(target) {
            // A forget covers the observations of its own order too.
            Some(known) => order > known.order || (order == known.order && seen.is_none()),
            None => order > self.floor,
        };
        if !is_news && !Fault::GateKeepsTheLast.is_planted() {
            return;
        }
        self.bytes += fact_bytes(target, seen.as_ref());
        if let Some(old) = self.facts.insert(target.clone(), Fact { seen, order }) {
            self.bytes -= fact_bytes(target, old.seen.as_ref());
        }
    }

    fn make_room(&mut self, limit_bytes: usize) {
        while self.bytes > limit_bytes && !self.facts.is_empty() {
            self.raise_floor(oldest_share(self.facts.values().map(|fact| fact.order).collect()));
        }
    }

    fn raise_floor(&mut self, order: Order) {
        if order <= self.floor {
            return;
        }
        self.floor = order;
        let bytes = &mut self.bytes;
        self.facts.retain(|target, fact| {
            let stays = fact.order > order;
            if !stays {
                *bytes -= fact_bytes(target, fact.seen.as_ref());
            }
            stays
        });
    }
}

/// The highest order among the oldest eighth of some facts.
fn oldest_share(mut orders: Vec<Order>) -> Order {
    let index = orders.len().saturating_sub(1) / DROPPED_SHARE;
    *orders.select_nth_unstable(index).1
}

fn fact_bytes(target: &TargetKey, seen: Option<&Observation>) -> usize {
    let version = match seen {
        Some(Observation::Present(version)) => version.as_str().len(),
        Some(Observation::Absent) | None => 0,
    };
    FACT_BYTES + target.as_bytes().len() + version
}
