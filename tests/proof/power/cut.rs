//! The promise: what was acknowledged is there after a power cut, whole, and nothing else is left behind.
//!
//! A case is one cut: four clients make random calls to one worker, and at a random moment, also while calls are in
//! flight, the file system is shut down without flushing its log. Then the site is judged, and the next case goes on
//! with the same tree. This cut takes what the file system had not sent to its device; that of `frail` takes what the
//! device had not made durable, too.

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

use super::load::cut_under_load;
use super::pool::Trial;
use super::site::{Outage, Plan};
use super::volume::Volume;
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Found, Task};

pub(crate) const PROMISE: Promise = Promise {
    name: "power-cut",
    says: "what was acknowledged survives a power cut, whole and without litter",
    full_size: 1_000,
    controls: &[
        Control::Planted(Fault::PublishSkipsDirectorySync),
        Control::Planted(Fault::PublishTearsInPlace),
        Control::Planted(Fault::RecoverNothing),
    ],
    control_size: 400,
    prove,
};

fn prove(task: &Task) -> Found {
    let plan = |rng: &mut Rng| {
        // One of five volumes is promised only that nothing is torn.
        let durability = if rng.u32(..5) == 0 { Durability::Data } else { Durability::Full };
        Plan { outage: Outage::draw(rng), durability, fault: task.planted() }
    };
    let trial = Trial {
        cases_per_site: 25,
        volume: |kind, scratch: &_, _| Volume::new(kind, scratch),
        plan,
        play: |site: &mut _, seed| cut_under_load(site, &mut Rng::with_seed(seed)),
    };
    trial.run(task)
}
