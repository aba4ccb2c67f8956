//! Observations: the rules of [`ObservationStore`] as statements.
//!
//! A fact is what a session saw at a target, or that it forgot it, with its order. The fact of the highest order
//! stays, of two with one order the first (the first that was committed), and a forget before both. Room is made by
//! dropping the facts with the lowest orders and keeping the highest order that was dropped as a floor: at or below it
//! nothing is recorded from then on, so that making room never brings back an older or a forgotten observation.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, named_params, params};
use toolfs_core::clock::Order;
use toolfs_core::error::Result;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;
use toolfs_core::version::Version;
use toolfs_policy::{ForgetScope, ObservationStore};

use crate::EmbeddedState;
use crate::error::Cause;
use crate::pending::{Fact, Offer};
use crate::writer::{Durability, Transaction};

const FORGOTTEN: i64 = 0;
const ABSENT: i64 = 1;
const PRESENT: i64 = 2;

/// Room is made for many at once, so that it is rarely looked for.
const DROPPED_SHARE: i64 = 8;

/// A session as the tables know it.
pub(crate) type SessionDigest = [u8; 16];

pub(crate) fn session_digest(session: &SessionKey) -> SessionDigest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(session.as_str().as_bytes()).as_bytes()[..16]);
    digest
}

/// A target of a session, as the tables know it. 256 bits of a target: that two share them is not to be feared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    session: SessionDigest,
    target: [u8; 32],
}

impl Place {
    pub(crate) fn of(session: &SessionKey, target: &TargetKey) -> Place {
        Place { session: session_digest(session), target: *blake3::hash(target.as_bytes()).as_bytes() }
    }
}

/// How much is kept. A fact takes about 200 bytes of disk, its share of an index included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservationLimits {
    /// Facts and sessions with facts, of all sessions.
    pub(crate) total: i64,
    /// Facts of one session; its own oldest make room, so that no session crowds out the others.
    pub(crate) session: i64,
    /// How many ended sessions are marked as such, about 60 bytes each. A mark has to outlive the observations of its
    /// session that are on their way or written behind; nobody finds an ended session any more, and keys are never
    /// used again.
    pub(crate) ended: i64,
}

impl ObservationLimits {
    /// About 200 MB, 6 MB a session, and 60 MB.
    pub(crate) const DEFAULT: ObservationLimits =
        ObservationLimits { total: 1_000_000, session: 32_768, ended: 1 << 20 };
}

/// What the database knows of a place.
struct Known {
    has_ended: bool,
    /// Facts at or below this order are gone.
    floor: Order,
    /// The fact; `None` in it: forgotten.
    fact: Option<(Order, Option<Observation>)>,
}

impl Known {
    /// In one statement, so that it is of one moment.
    fn read(connection: &Connection, place: &Place) -> Result<Known, Cause> {
        let mut statement = connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM ended_session WHERE session = :session),
                    max(tally.floor, ifnull((SELECT floor FROM observed_session WHERE session = :session), tally.floor)),
                    observation.seen_order, observation.kind, observation.version
             FROM tally LEFT JOIN observation
               ON observation.session = :session AND observation.target = :target",
        )?;
        let (has_ended, floor, order, kind, version) = statement.query_row(
            named_params! { ":session": place.session, ":target": place.target },
            |row| {
                Ok((
                    row.get::<_, bool>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, Option<i64>>(2)?,
                    row.get::<_, Option<i64>>(3)?,
                    row.get::<_, Option<String>>(4)?,
                ))
            },
        )?;
        let fact = match (order, kind) {
            (Some(order), Some(kind)) => Some((Order(order), from_row(kind, version)?)),
            _ => None,
        };
        Ok(Known { has_ended, floor: Order(floor), fact })
    }

    /// Whether a fact of this order changes anything.
    fn yields_to(&self, order: Order, is_forget: bool) -> bool {
        if self.has_ended {
            return false;
        }
        if Fault::GateKeepsTheLast.is_planted() {
            return true;
        }
        match &self.fact {
            // A forget covers the observations of its own order too.
            Some((known, _)) => order > *known || (order == *known && is_forget),
            None => order > self.floor,
        }
    }

    fn seen(&self) -> Option<&Observation> {
        self.fact.as_ref()?.1.as_ref()
    }
}

fn from_row(kind: i64, version: Option<String>) -> Result<Option<Observation>, Cause> {
    match (kind, version) {
        (FORGOTTEN, None) => Ok(None),
        (ABSENT, None) => Ok(Some(Observation::Absent)),
        (PRESENT, Some(text)) => match Version::parse(&text) {
            Some(version) => Ok(Some(Observation::Present(version))),
            None => Err(Cause::Unknown("version")),
        },
        _ => Err(Cause::Unknown("kind of observation")),
    }
}

/// The highest order that is known of.
pub(crate) fn newest(connection: &Connection) -> Result<Order, Cause> {
    let newest = connection.query_row(
        "SELECT max(tally.floor, ifnull((SELECT max(seen_order) FROM observation), tally.floor),
                    ifnull((SELECT max(floor) FROM observed_session), tally.floor))
         FROM tally",
        [],
        |row| row.get(0),
    )?;
    Ok(Order(newest))
}

/// Puts a fact (`None`: forgotten) unless a newer one is known.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    limits: &ObservationLimits,
    place: &Place,
    seen: Option<&Observation>,
    order: Order,
) -> Result<(), Cause> {
    if !Known::read(transaction, place)?.yields_to(order, seen.is_none()) {
        return Ok(());
    }
    let (kind, version) = match seen {
        None => (FORGOTTEN, None),
        Some(Observation::Absent) => (ABSENT, None),
        Some(Observation::Present(version)) => (PRESENT, Some(version.as_str())),
    };
    note_session(transaction, &place.session)?;
    transaction
        .prepare_cached(
            "INSERT INTO observation (session, target, seen_order, kind, version) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE
                 SET seen_order = excluded.seen_order, kind = excluded.kind, version = excluded.version",
        )?
        .execute(params![place.session, place.target, order.0, kind, version])?;
    make_room_in_session(transaction, &place.session, limits.session)?;
    make_room(transaction, limits.total)
}

fn note_session(transaction: &Transaction<'_>, session: &SessionDigest) -> Result<(), Cause> {
    transaction
        .prepare_cached(
            "INSERT INTO observed_session (session, floor, facts) SELECT ?1, floor, 0 FROM tally WHERE true
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![session])?;
    Ok(())
}

/// Forgets all facts of a session at or below an order, and those that come late.
fn forget_all(
    transaction: &Transaction<'_>,
    limits: &ObservationLimits,
    session: &SessionDigest,
    order: Order,
) -> Result<(), Cause> {
    let is_late: bool = transaction
        .prepare_cached(
            "SELECT floor >= ?2 OR EXISTS (SELECT 1 FROM ended_session WHERE session = ?1) FROM tally",
        )?
        .query_row(params![session, order.0], |row| row.get(0))?;
    if is_late {
        return Ok(());
    }
    note_session(transaction, session)?;
    raise_session_floor(transaction, session, order.0)?;
    make_room(transaction, limits.total)
}

fn raise_session_floor(
    transaction: &Transaction<'_>,
    session: &SessionDigest,
    floor: i64,
) -> Result<(), Cause> {
    transaction
        .prepare_cached("UPDATE observed_session SET floor = max(floor, ?2) WHERE session = ?1")?
        .execute(params![session, floor])?;
    transaction
        .prepare_cached("DELETE FROM observation WHERE session = ?1 AND seen_order <= ?2")?
        .execute(params![session, floor])?;
    Ok(())
}

/// Drops the oldest facts of a session until it is within its limit.
fn make_room_in_session(
    transaction: &Transaction<'_>,
    session: &SessionDigest,
    limit: i64,
) -> Result<(), Cause> {
    loop {
        let facts: i64 = transaction
            .prepare_cached("SELECT facts FROM observed_session WHERE session = ?1")?
            .query_row(params![session], |row| row.get(0))?;
        if facts <= limit || facts == 0 {
            return Ok(());
        }
        let floor: i64 = transaction
            .prepare_cached(
                "SELECT seen_order FROM observation WHERE session = ?1 ORDER BY seen_order LIMIT 1 OFFSET ?2",
            )?
            .query_row(params![session, (facts - 1) / DROPPED_SHARE], |row| row.get(0))?;
        raise_session_floor(transaction, session, floor)?;
    }
}

/// Drops the oldest facts of all sessions until they are within the limit. That a session forgot everything is such
/// a fact too: the floor of all takes its place.
fn make_room(transaction: &Transaction<'_>, limit: i64) -> Result<(), Cause> {
    loop {
        let facts: i64 =
            transaction.prepare_cached("SELECT facts FROM tally")?.query_row([], |row| row.get(0))?;
        if facts <= limit || facts == 0 {
            return Ok(());
        }
        // Each session has a fact or a floor above that of all, or it would have been dropped.
        let floor: Option<i64> = transaction
            .prepare_cached(
                "SELECT seen_order FROM (
                     SELECT seen_order FROM observation
                     UNION ALL
                     SELECT observed_session.floor FROM observed_session, tally
                     WHERE observed_session.floor > tally.floor
                 ) ORDER BY seen_order LIMIT 1 OFFSET ?1",
            )?
            .query_row(params![(facts / 2 - 1).max(0) / DROPPED_SHARE], |row| row.get(0))
            .optional()?;
        let Some(floor) = floor else { return Ok(()) };
        transaction.prepare_cached("UPDATE tally SET floor = max(floor, ?1)")?.execute(params![floor])?;
        transaction
            .prepare_cached("DELETE FROM observation WHERE seen_order <= ?1")?
            .execute(params![floor])?;
        transaction
            .prepare_cached("DELETE FROM observed_session WHERE facts = 0 AND floor <= ?1")?
            .execute(params![floor])?;
    }
}

fn end_session(
    transaction: &Transaction<'_>,
    limits: &ObservationLimits,
    session: &SessionDigest,
) -> Result<(), Cause> {
    transaction.prepare_cached("DELETE FROM observation WHERE session = ?1")?.execute(params![session])?;
    transaction
        .prepare_cached("DELETE FROM observed_session WHERE session = ?1")?
        .execute(params![session])?;
    transaction
        .prepare_cached("INSERT INTO ended_session (session) VALUES (?1) ON CONFLICT DO NOTHING")?
        .execute(params![session])?;
    transaction
        .prepare_cached(
            "DELETE FROM ended_session WHERE serial <= (SELECT max(serial) FROM ended_session) - ?1",
        )?
        .execute(params![limits.ended])?;
    Ok(())
}

#[async_trait]
impl ObservationStore for EmbeddedState {
    fn is_persistent(&self) -> bool {
        true
    }

    async fn get(&self, session: &SessionKey, target: &TargetKey) -> Result<Option<Observation>> {
        let place = Place::of(session, target);
        // Memory first: what leaves it meanwhile is in the database by then.
        let pending = self.pending.fact(&place);
        let known = self.readers.read(|connection| Known::read(connection, &place))?;
        // An ended session has no rows, and takes nothing that waits.
        match pending {
            Some(fact) if known.yields_to(fact.order, false) => Ok(Some(fact.seen)),
            Some(_) | None => Ok(known.fact.and_then(|(_, seen)| seen)),
        }
    }

    async fn record(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()> {
        let place = Place::of(session, target);
        let known = self.readers.read(|connection| Known::read(connection, &place))?;
        if !known.yields_to(order, false) {
            return Ok(());
        }
        let fact = Fact { seen: observation, order };
        match self.pending.offer(place, fact.clone(), known.seen()) {
            Offer::Kept => self.writer.note_pending(),
            Offer::Old => {}
            Offer::MustCommit => {
                let limits = self.observations;
                self.writer
                    .commit(Durability::Process, move |transaction| {
                        put(transaction, &limits, &place, Some(&fact.seen), fact.order)
                    })
                    .await?;
            }
        }
        Ok(())
    }

    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()> {
        if Fault::GateForgetsNothing.is_planted() {
            return Ok(());
        }
        let limits = self.observations;
        let change: Box<dyn Fn(&Transaction<'_>) -> Result<(), Cause> + Send> = match scope {
            ForgetScope::All => {
                let session = session_digest(session);
                Box::new(move |transaction| forget_all(transaction, &limits, &session, order))
            }
            ForgetScope::Targets(targets) => {
                let places: Vec<Place> = targets.iter().map(|target| Place::of(session, target)).collect();
                Box::new(move |transaction| {
                    places.iter().try_for_each(|place| put(transaction, &limits, place, None, order))
                })
            }
        };
        self.writer.commit(Durability::Power, change).await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        let (limits, session) = (self.observations, session_digest(session));
        self.writer
            .commit(Durability::Power, move |transaction| end_session(transaction, &limits, &session))
            .await
    }
}

#[cfg(test)]
mod tests;
