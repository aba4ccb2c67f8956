//! The promise: what a session saw and is there still can be changed, and what it did not see is never overwritten.
//!
//! A case is a random history: sessions read files, somebody else does to the files what leaves their content alone, or
//! changes it without a trace, and then a session writes or edits under the guard of what it saw. Content alone decides
//! whether that has to land. A store through a shared mapping may go unnoticed by a read; then one refusal is right,
//! after which a read and a second try have to do. While the mapping lives nobody may replace the file.
//! Deliberately absent: acts in the middle of a call, which `foreign-writer` is about.

mod act;
mod call;
mod content;
mod file;
mod hand;
mod history;
mod mapping;
mod model;
mod place;
mod repository;
mod world;

use fastrand::Rng;
use toolfs_core::planted::Fault;

use self::history::History;
use self::model::Wrong;
use self::place::Places;
use self::world::Plan;
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep_on};

pub(crate) const PROMISE: Promise = Promise {
    name: "no-false-alarm",
    says: "the content that a session saw decides whether its change lands, and nothing else",
    full_size: 20_000,
    controls: &[
        Control::World(METADATA_ALARMS),
        Control::World(METADATA_OVERWRITES),
        Control::Planted(Fault::GuardTrustsThePass),
    ],
    control_size: 4_000,
    prove,
};

/// Versions that are metadata: they have to be found as false alarms, and as blind overwrites.
const METADATA_ALARMS: &str = "version-is-metadata:false-alarm";
const METADATA_OVERWRITES: &str = "version-is-metadata:blind-overwrite";

/// A writer that holds a file open is waited for, so more cases than processors are on their way.
const CASES_PER_PROCESSOR: usize = 3;

fn prove(task: &Task) -> Found {
    let wanted = match () {
        () if task.has_world(METADATA_ALARMS) => Some(Wrong::FalseAlarm),
        () if task.has_world(METADATA_OVERWRITES) => Some(Wrong::BlindOverwrite),
        () => None,
    };
    if wanted.is_some() {
        Fault::VersionIsMetadata.plant();
    }
    let places = Places::find();
    let no_git = repository::missing();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut found = sweep_on(threads * CASES_PER_PROCESSOR, task, |seed| {
        let mut rng = Rng::with_seed(seed);
        let place = places.pick(&mut rng);
        let plan = Plan::draw(&mut rng, place);
        let mut history = match History::begin(&mut rng, place, plan, no_git.is_none()) {
            Ok(history) => history,
            Err(violation) => return Case { steps: 0, violation: Some(violation.text), ..Case::default() },
        };
        // Versions that are no hashes are told to nobody.
        history.versions_are_told = wanted.is_none();
        let ended = history.run(&mut rng);
        let violation = ended.err().filter(|violation| wanted.is_none_or(|wanted| wanted == violation.wrong));
        let violation = violation.map(|violation| {
            let steps = history.told.join(", ");
            format!("{:?}: {}, on {}, {plan:?}: {steps}", violation.wrong, violation.text, place.name)
        });
        let facts = history.facts.into_iter().map(|(fact, count)| (fact.to_owned(), count)).collect();
        Case { steps: history.told.len() as u64, violation, facts }
    });
    for reason in places.skipped.into_iter().chain(no_git) {
        found.skip(reason);
    }
    found
}
