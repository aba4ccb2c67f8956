//! A file with guards, as one caller after the other would find it: what an order of calls is judged by.
//!
//! A call that was given up may have happened at any time after it was sent, or never. So its answer comes after the
//! last look at the file, and there, where nobody can tell any more, it is legal without an effect too.

use std::sync::Arc;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

use super::evidence;
use super::knowledge::Possible;
use super::record::{Answer, Ask, Content, Entry, NEVER, version_of};

/// A content and its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) content: Content,
    pub(super) version: String,
}

impl Held {
    pub(super) fn new(content: &Content) -> Held {
        Held { content: Arc::clone(content), version: version_of(content) }
    }
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    there: Option<Held>,
    /// Whether the last look at it is behind us.
    is_over: bool,
}

/// What happens to the file.
#[derive(Clone, Debug)]
enum Happening {
    /// It was this at first.
    First(Option<Held>),
    /// A call, and what its session can have presented.
    Call(Arc<(Entry, Possible)>),
    /// It was this in the end.
    Last(Option<Held>),
}

/// Whether some order explains all calls on a file, what it was before and what it was afterwards.
pub(super) fn is_linearizable(before: Option<&Content>, entries: &[&Entry], after: Option<&Content>) -> bool {
    let needed = evidence::needed(before, entries, after);
    let is_judged = |call: usize, entry: &Entry| match (&entry.answer, &entry.ask) {
        (Answer::Nothing, _) => false,
        (Answer::Unknown, _) => needed.contains(&call),
        // The gate says so, and nobody looks at the file.
        (Answer::Absent | Answer::NotObserved { .. }, Ask::Edit { .. }) => false,
        (Answer::Absent | Answer::NotObserved { .. }, Ask::Read | Ask::Write(_))
        | (
            Answer::Seen(_)
            | Answer::Changed { .. }
            | Answer::Stale { .. }
            | Answer::NoMatch
            | Answer::Forbidden(_),
            _,
        ) => true,
    };
    let last = NEVER - 1;
    let mut timed: Vec<(u64, usize, Action<Happening>)> = Vec::new();
    let mut add = |began: u64, ended: u64, happening: Happening| {
        // Each call has a process of its own: several of one client may be on their way.
        let process = timed.len() / 2;
        timed.push((began, process, Action::Call(happening.clone())));
        timed.push((ended, process, Action::Response(happening)));
    };
    add(0, 0, Happening::First(before.map(Held::new)));
    for (_, entry) in entries.iter().enumerate().filter(|(call, entry)| is_judged(*call, entry)) {
        let judged = Arc::new(((*entry).clone(), Possible::of(entry, entries)));
        add(entry.began, entry.ended, Happening::Call(judged));
    }
    add(last, last, Happening::Last(after.map(Held::new)));
    timed.sort_by_key(|(time, _, _)| *time);
    let actions = timed.into_iter().map(|(_, process, action)| (process, action)).collect();
    WGLChecker::<Guarded>::is_linearizable(History::from_actions(actions))
}

/// The sequential file.
struct Guarded;

impl Specification for Guarded {
    type State = State;
    type Operation = Happening;

    fn init() -> State {
        State::default()
    }

    fn apply(happening: &Happening, state: &State) -> (bool, State) {
        let next = match happening {
            Happening::First(there) => Some(State { there: there.clone(), is_over: false }),
            Happening::Last(there) => {
                (state.there == *there).then(|| State { is_over: true, ..state.clone() })
            }
            Happening::Call(call) if call.0.answer == Answer::Unknown => {
                after_unknown(&call.0, &call.1, state)
            }
            Happening::Call(call) => {
                after(&call.0, &call.1, state.there.as_ref()).map(|there| State { there, ..state.clone() })
            }
        };
        match next {
            Some(next) => (true, next),
            None => (false, state.clone()),
        }
    }
}

/// What is there after a call, if it can be answered so where `there` is.
fn after(call: &Entry, possible: &Possible, there: Option<&Held>) -> Option<Option<Held>> {
    let version = there.map(|held| held.version.as_str());
    let unchanged = |is_legal: bool| is_legal.then(|| there.cloned());
    match (&call.answer, &call.ask) {
        (Answer::Seen(content), Ask::Read) => unchanged(there.is_some_and(|held| held.content == *content)),
        (Answer::Absent, Ask::Read) => unchanged(there.is_none()),
        (Answer::Changed { version: made, base }, ask) => {
            let is_base = match ask {
                Ask::Write(_) => base.as_ref() == there.map(|held| &held.content),
                Ask::Read | Ask::Edit { .. } => true,
            };
            let next = effect(ask, there).filter(|next| next.version == *made)?;
            (is_seen(possible, there) && is_base).then_some(Some(next))
        }
        (Answer::Stale { presented, there: told }, Ask::Write(_) | Ask::Edit { .. }) => {
            unchanged(told.as_deref() == version && version != Some(presented))
        }
        (Answer::NotObserved { size }, Ask::Write(_)) => {
            unchanged(there.is_some_and(|held| *size == Some(held.content.len() as u64)))
        }
        (Answer::NoMatch, Ask::Edit { old, .. }) => unchanged(
            there.is_some_and(|held| possible.has(&held.version) && !held.content.contains(old.as_str())),
        ),
        (
            Answer::Seen(_)
            | Answer::Absent
            | Answer::Stale { .. }
            | Answer::NotObserved { .. }
            | Answer::NoMatch
            | Answer::Nothing
            | Answer::Unknown
            | Answer::Forbidden(_),
            _,
        ) => None,
    }
}

/// What is there after a call that nobody saw the end of: its effect, or after the last look perhaps none.
fn after_unknown(call: &Entry, possible: &Possible, state: &State) -> Option<State> {
    if state.is_over {
        return Some(state.clone());
    }
    let there = state.there.as_ref();
    let next = effect(&call.ask, there).filter(|_| is_seen(possible, there))?;
    Some(State { there: Some(next), ..state.clone() })
}

/// Whether a session can have seen that this is there: only then may a change of it land.
fn is_seen(possible: &Possible, there: Option<&Held>) -> bool {
    match there {
        None => possible.has_absence(),
        Some(held) => possible.has(&held.version),
    }
}

/// What a change makes of what is there; nothing where an edit does not fit.
pub(super) fn effect(ask: &Ask, there: Option<&Held>) -> Option<Held> {
    match ask {
        Ask::Read => None,
        Ask::Write(content) => Some(Held::new(content)),
        Ask::Edit { old, new } => {
            let content = &there?.content;
            let is_unique = content.matches(old.as_str()).count() == 1;
            is_unique.then(|| Held::new(&content.replacen(old.as_str(), new, 1).into()))
        }
    }
}
