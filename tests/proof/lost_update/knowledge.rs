//! What a session can have seen of a file, by the times of its calls.
//!
//! Which observation a session holds when a call asks is not recorded, but which it can hold is: one whose call began
//! before the asking one ended, unless a later one was certainly there before. A guard that none of them explains is
//! invented, or forgotten. And changes of one session at one server come one after the other, each on what the one
//! before left.

use super::record::{Answer, Ask, Entry, version_of};

/// What a session may hold of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Absent,
    Version(String),
    /// What was seen is not known: the call has no end.
    Anything,
}

/// What a call can have presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Possible(Vec<Held>);

impl Possible {
    /// What a call can have presented, among all calls on its file. Unseen is as good as absent.
    pub(super) fn of(call: &Entry, entries: &[&Entry]) -> Possible {
        let observations: Vec<(&Entry, Held)> = entries
            .iter()
            .filter(|entry| entry.session == call.session && !std::ptr::eq(**entry, call))
            .filter_map(|entry| Some((*entry, observed(entry)?)))
            .collect();
        let was_there = |other: &Entry| other.ended < call.began;
        let is_superseded = |entry: &Entry| {
            observations.iter().any(|(other, _)| was_there(other) && other.began > entry.ended)
        };
        let mut possible: Vec<Held> = observations
            .iter()
            .filter(|(entry, _)| entry.began < call.ended && !is_superseded(entry))
            .map(|(_, held)| held.clone())
            .collect();
        if !observations.iter().any(|(other, _)| was_there(other)) {
            possible.push(Held::Absent);
        }
        Possible(possible)
    }

    /// Whether it can have presented that nothing is there, or that it saw nothing.
    pub(super) fn has_absence(&self) -> bool {
        self.0.iter().any(|held| matches!(held, Held::Absent | Held::Anything))
    }

    /// Whether it can have presented a version.
    pub(super) fn has(&self, version: &str) -> bool {
        self.0.iter().any(|held| match held {
            Held::Version(held) => held == version,
            Held::Absent => false,
            Held::Anything => true,
        })
    }
}

/// What a call made its session see.
fn observed(entry: &Entry) -> Option<Held> {
    match (&entry.answer, &entry.ask) {
        (Answer::Seen(content), _) => Some(Held::Version(version_of(content))),
        (Answer::Changed { version, .. }, _) => Some(Held::Version(version.clone())),
        (Answer::Absent, Ask::Read) => Some(Held::Absent),
        (Answer::Unknown, Ask::Write(content)) => Some(Held::Version(version_of(content))),
        // A read that was given up may have seen something all the same.
        (Answer::Unknown, _) | (Answer::Nothing, Ask::Read) => Some(Held::Anything),
        (
            Answer::Absent
            | Answer::Stale { .. }
            | Answer::NotObserved { .. }
            | Answer::NoMatch
            | Answer::Nothing
            | Answer::Forbidden(_),
            _,
        ) => None,
    }
}

/// Sees that no call was refused for what its session cannot have held. What a change that succeeded can have presented
/// is judged with what it changed, by the model.
///
/// # Errors
/// Which one did.
pub(super) fn check(entries: &[&Entry]) -> Result<(), String> {
    for entry in entries {
        let possible = Possible::of(entry, entries);
        let is_explained = match (&entry.answer, &entry.ask) {
            (Answer::Stale { presented, .. }, _) => possible.has(presented),
            (Answer::NotObserved { .. }, _) => possible.has_absence(),
            (Answer::Absent, Ask::Edit { .. }) => possible.has_absence(),
            (Answer::Absent, Ask::Write(_)) => false,
            (Answer::Absent, Ask::Read)
            | (
                Answer::Seen(_)
                | Answer::Changed { .. }
                | Answer::NoMatch
                | Answer::Nothing
                | Answer::Unknown
                | Answer::Forbidden(_),
                _,
            ) => true,
        };
        if !is_explained {
            return Err(format!("{entry} is explained by nothing that its session saw ({possible:?})"));
        }
        if let Answer::Stale { there: Some(there), .. } = &entry.answer
            && let Some(own) = entries.iter().find(|other| is_neighbour(other, entry) && made(other, there))
        {
            return Err(format!("{entry} was refused since its own session had changed the file: {own}"));
        }
    }
    Ok(())
}

/// Whether two calls take turns: they are of one session, at one server.
fn is_neighbour(one: &Entry, other: &Entry) -> bool {
    one.session == other.session && one.server == other.server
}

/// Whether a call made a version, as far as is known.
fn made(entry: &Entry, version: &str) -> bool {
    match (&entry.answer, &entry.ask) {
        (Answer::Changed { version: made, .. }, _) => made == version,
        (Answer::Unknown, Ask::Write(content)) => version_of(content) == version,
        _ => false,
    }
}
