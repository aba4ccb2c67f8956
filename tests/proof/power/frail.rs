//! The promise of `cut` on a device that loses what was not flushed.
//!
//! The same random calls, but the power is cut beneath the file system: its drive keeps a seeded subset of what it was
//! sent since the last flush. This cut finds a flush that nobody asked for; a shutdown of the file system cannot.

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

use super::drive::{FrailVolume, Order, Terms};
use super::load::cut_under_load;
use super::pool::Trial;
use super::scratch::Scratch;
use super::site::{Outage, Plan, Site};
use super::volume::Kind;
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Found, Task};

pub(crate) const PROMISE: Promise = Promise {
    name: "power-device",
    says: "what was acknowledged survives the loss of the writes that a device had not flushed",
    full_size: 200,
    controls: &[Control::World(WITHOUT_BARRIERS), Control::Planted(Fault::PublishSkipsDirectorySync)],
    control_size: 100,
    prove,
};

/// The file system never tells its device to flush, which keeps the order of the writes all the same.
const WITHOUT_BARRIERS: &str = "volume-without-barriers";

fn prove(task: &Task) -> Found {
    let volume = |kind, scratch: &Scratch, seed| {
        let terms = match (task.has_world(WITHOUT_BARRIERS), kind) {
            (false, _) => Terms { options: "defaults", order: Order::Any },
            (true, Kind::Ext4) => Terms { options: "barrier=0", order: Order::Kept },
            (true, Kind::Xfs) => return Err("it always flushes".to_owned()),
        };
        FrailVolume::new(kind, terms, seed, scratch)
    };
    let trial = Trial {
        cases_per_site: 25,
        volume,
        plan: |rng: &mut Rng| Plan {
            outage: Outage::draw(rng),
            durability: Durability::Full,
            fault: task.planted(),
        },
        play: |site: &mut Site<FrailVolume>, seed| {
            let mut case = cut_under_load(site, &mut Rng::with_seed(seed))?;
            let toll = site.powered.toll;
            case.facts.extend([
                ("cuts that took something".to_owned(), u64::from(toll.taken + toll.torn > 0)),
                ("unflushed writes that a cut left".to_owned(), toll.left),
                ("unflushed writes that a cut took".to_owned(), toll.taken),
                ("unflushed writes that a cut tore".to_owned(), toll.torn),
            ]);
            Ok(case)
        },
    };
    trial.run(task)
}
