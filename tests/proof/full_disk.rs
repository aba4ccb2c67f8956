//! The promise: a disk that takes no more leaves the old file as it was, the answer says so, and nothing is left behind.
//!
//! A case is a worker on a place that takes so much and no more: bytes or files of a small tmpfs, files of a small
//! ext4, a limit on the size of each file, or a volume that becomes read-only while clients are at work. After each
//! change the whole place is compared with what the answers said; in the end there is room again, and it is used.

mod shelf;
mod traffic;
mod volume;

use fastrand::Rng;
use toolfs_core::planted::Fault;

use self::shelf::Shelf;
use self::volume::{Kind, Volume};
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep};
use crate::{Promise, mounts};

pub(crate) const PROMISE: Promise = Promise {
    name: "full-disk",
    says: "a disk that takes no more leaves the old file as it was, and says so",
    full_size: 500,
    controls: &[Control::Planted(Fault::PublishTearsInPlace)],
    control_size: 100,
    prove,
};

/// How many changes a case has.
const CHANGES: usize = 12;

fn prove(task: &Task) -> Found {
    let mut found = Found::default();
    let mut kinds = vec![Kind::FileSize];
    match mounts::missing() {
        None => kinds.extend([Kind::Bytes, Kind::Names, Kind::ReadOnly]),
        Some(reason) => found.skip(format!("full and read-only volumes: {reason}")),
    }
    match mounts::images_missing() {
        None => kinds.extend([Kind::Inodes, Kind::ReadOnlyImage]),
        Some(reason) => found.skip(format!("volumes of ext4: {reason}")),
    }
    let len = kinds.len() as u64;
    found.merge(sweep(task, |seed| {
        let kind = kinds[usize::try_from(seed % len).unwrap()];
        let mut case = Case { facts: vec![(kind.name().to_owned(), 1)], ..Case::default() };
        if let Err(violation) = run(kind, seed, task.planted(), &mut case) {
            case.violation = Some(format!("{}: {violation}", kind.name()));
        }
        case
    }));
    found
}

fn run(kind: Kind, seed: u64, fault: Option<Fault>, case: &mut Case) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let volume = Volume::new(kind, &mut rng)?;
    if kind.becomes_read_only() {
        return traffic::stop_writes(&volume, fault, &mut rng, case);
    }
    let mut shelf = Shelf::new(&volume, fault)?;
    for _ in 0..CHANGES {
        volume.fill(&mut rng)?;
        let told = shelf.change(&mut rng)?;
        case.steps += 1;
        case.facts.push((format!("{} {told}", kind.name()), 1));
    }
    volume.make_room(&shelf.worker)?;
    shelf.use_everything()?;
    let ended = shelf.worker.stop();
    if ended.success() { Ok(()) } else { Err(format!("the server ended with {ended}")) }
}
