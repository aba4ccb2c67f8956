//! Which of the calls that nobody saw the end of had their effect.
//!
//! A call with an unknown end may have happened or not, so that two of them have four histories, and ten a thousand.
//! But what a call puts into a file is in no other call: where it was seen, the call happened, and where it was seen
//! nowhere, the history without it explains the same answers.

use std::collections::{HashMap, HashSet};

use super::model::{Held, effect};
use super::record::{Answer, Ask, Content, Entry};

/// The calls of unknown end, among `entries`, that something depends on.
pub(super) fn needed(
    before: Option<&Content>,
    entries: &[&Entry],
    after: Option<&Content>,
) -> HashSet<usize> {
    let unknown: Vec<usize> =
        (0..entries.len()).filter(|call| entries[*call].answer == Answer::Unknown).collect();
    let Some(mut texts) = texts(before, entries, after) else { return unknown.into_iter().collect() };
    let mut needed = HashSet::new();
    loop {
        let is_seen = |token: &str| texts.iter().any(|text| text.contains(token));
        let more: Vec<usize> = unknown
            .iter()
            .copied()
            .filter(|call| !needed.contains(call) && token(&entries[*call].ask).is_some_and(is_seen))
            .collect();
        if more.is_empty() {
            return needed;
        }
        for call in more {
            needed.insert(call);
            // What it replaced was there before.
            if let Ask::Edit { old, .. } = &entries[call].ask {
                texts.push(old.as_str().into());
            }
        }
    }
}

/// The first line of what a call puts into a file, which nothing else puts there.
fn token(ask: &Ask) -> Option<&str> {
    match ask {
        Ask::Read => None,
        Ask::Write(content) => content.split_inclusive('\n').next(),
        Ask::Edit { new, .. } => new.split_inclusive('\n').next(),
    }
}

/// The contents that were there, as far as an answer tells; `None` when the content of a version that was told cannot
/// be found.
fn texts(before: Option<&Content>, entries: &[&Entry], after: Option<&Content>) -> Option<Vec<Content>> {
    let mut known: HashMap<String, Content> = HashMap::new();
    let mut texts: Vec<Content> = before.into_iter().chain(after).cloned().collect();
    let mut told: Vec<&str> = Vec::new();
    for entry in entries {
        match (&entry.answer, &entry.ask) {
            (Answer::Seen(content), _) => texts.push(content.clone()),
            (Answer::Changed { base, .. }, Ask::Write(content)) => {
                texts.extend(base.clone().into_iter().chain([content.clone()]));
            }
            (Answer::Changed { version, .. }, _) => told.push(version),
            (Answer::Stale { there, .. }, _) => told.extend(there.as_deref()),
            (Answer::Unknown, Ask::Write(content)) => {
                known.insert(Held::new(content).version, content.clone());
            }
            (Answer::Unknown, Ask::Read | Ask::Edit { .. })
            | (
                Answer::Absent
                | Answer::NotObserved { .. }
                | Answer::NoMatch
                | Answer::Nothing
                | Answer::Forbidden(_),
                _,
            ) => {}
        }
    }
    known.extend(texts.iter().map(|content| (Held::new(content).version, content.clone())));
    let given_up = |entry: &Entry, _: &Held| entry.answer == Answer::Unknown;
    close(&mut known, entries, acknowledged);
    for _ in 0..ROUNDS {
        if told.iter().all(|version| known.contains_key(*version)) {
            let bases = bases(&known, entries);
            let told = told.iter().map(|version| known[*version].clone());
            texts.extend(told.chain(bases));
            return Some(texts);
        }
        // Something was made of what a call of unknown end had made.
        grow(&mut known, entries, given_up);
        close(&mut known, entries, acknowledged);
    }
    None
}

/// How many calls of unknown end may follow each other unseen.
const ROUNDS: usize = 4;

/// Adds what edits make of what is known, as long as there is more.
fn close(
    known: &mut HashMap<String, Content>,
    entries: &[&Entry],
    happened: impl Fn(&Entry, &Held) -> bool + Copy,
) {
    while grow(known, entries, happened) {}
}

/// Adds what edits make of what is known; whether that is more.
fn grow(
    known: &mut HashMap<String, Content>,
    entries: &[&Entry],
    happened: impl Fn(&Entry, &Held) -> bool + Copy,
) -> bool {
    let made: Vec<Held> = effects(known, entries)
        .filter(|(_, entry, made)| happened(entry, made))
        .map(|(.., made)| made)
        .collect();
    let count = known.len();
    known.extend(made.into_iter().map(|made| (made.version, made.content)));
    known.len() > count
}

/// What acknowledged edits were made of.
fn bases(known: &HashMap<String, Content>, entries: &[&Entry]) -> Vec<Content> {
    effects(known, entries)
        .filter(|(_, entry, made)| acknowledged(entry, made))
        .map(|(base, ..)| base.content)
        .collect()
}

/// Whether an edit was acknowledged, and made this.
fn acknowledged(entry: &Entry, made: &Held) -> bool {
    matches!(&entry.answer, Answer::Changed { version, .. } if *version == made.version)
}

/// What each edit makes of each content that is known.
fn effects<'a>(
    known: &'a HashMap<String, Content>,
    entries: &'a [&'a Entry],
) -> impl Iterator<Item = (Held, &'a Entry, Held)> {
    known.iter().flat_map(move |(version, content)| {
        let base = Held { content: content.clone(), version: version.clone() };
        entries.iter().filter(|entry| matches!(entry.ask, Ask::Edit { .. })).filter_map(move |entry| {
            // A call happens once.
            let is_done = token(&entry.ask).is_some_and(|token| base.content.contains(token));
            let made = effect(&entry.ask, Some(&base)).filter(|_| !is_done)?;
            Some((base.clone(), *entry, made))
        })
    })
}
