//! Cases on volumes of all kinds, where many cuts hit the same tree, one after the other.

use std::sync::Mutex;

use fastrand::Rng;

use super::furniture::furnish;
use super::requirement::Usable;
use super::scratch::Scratch;
use super::site::{Plan, Site};
use super::volume::{Kind, Powered};
use crate::sweep::{Case, Found, Task, sweep};

/// How a proof makes its sites, and what it does on them.
#[derive(Debug)]
pub(super) struct Trial<Volume, Plans, Play> {
    /// How many cases a site sees before it is done with.
    pub(super) cases_per_site: u64,
    /// Makes a volume, with a seed.
    pub(super) volume: Volume,
    /// Draws what a site is to be like.
    pub(super) plan: Plans,
    /// Runs the case of a seed on a site.
    pub(super) play: Play,
}

/// Sites at rest, with their kind and the cases that they saw.
type Resting<P> = Mutex<Vec<(Kind, u64, Site<P>)>>;

impl<P, Volume, Plans, Play> Trial<Volume, Plans, Play>
where
    P: Powered,
    Volume: Fn(Kind, &Scratch, u64) -> Result<P, String> + Sync,
    Plans: Fn(&mut Rng) -> Plan + Sync,
    Play: Fn(&mut Site<P>, u64) -> Result<Case, String> + Sync,
{
    /// Runs the cases of a task, on all kinds of file systems in turn.
    pub(super) fn run(&self, task: &Task) -> Found {
        let usable = Usable::find(|kind, scratch| (self.volume)(kind, scratch, task.seed).map(drop));
        if usable.kind(0).is_none() {
            return Found::skipped(usable.skipped.unwrap_or_default());
        }
        let resting = Resting::default();
        let found = sweep(task, |seed| {
            let kind = usable.kind(seed).expect("there is one");
            self.case(&resting, kind, seed).unwrap_or_else(|violation| {
                let violation = Some(format!("{}: {violation}", kind.as_str()));
                Case { steps: 1, violation, ..Case::default() }
            })
        });
        Found { skipped: usable.skipped, ..found }
    }

    /// Runs a case. A site on which something is wrong is done with.
    fn case(&self, resting: &Resting<P>, kind: Kind, seed: u64) -> Result<Case, String> {
        let rested = {
            let mut resting = resting.lock().unwrap();
            let index = resting.iter().position(|(other, _, _)| *other == kind);
            index.map(|index| resting.swap_remove(index))
        };
        let (cases, mut site) = match rested {
            Some((_, cases, site)) => (cases, site),
            None => (0, self.make(kind, seed)?),
        };
        let plan = site.plan;
        let case = (self.play)(&mut site, seed)
            .map_err(|violation| format!("{plan:?}, {cases} cases before: {violation}"))?;
        if cases + 1 < self.cases_per_site {
            resting.lock().unwrap().push((kind, cases + 1, site));
        }
        Ok(case)
    }

    fn make(&self, kind: Kind, seed: u64) -> Result<Site<P>, String> {
        // Other choices than those of the case, which has the seed itself.
        let mut rng = Rng::with_seed(!seed);
        let scratch = Scratch::make()?;
        let volume = (self.volume)(kind, &scratch, rng.u64(..))?;
        Site::new(volume, scratch, (self.plan)(&mut rng), rng.u64(..), furnish)
    }
}
