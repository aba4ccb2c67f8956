//! The promise of `cut` in every short story: each sequence of up to three kinds of calls, and a cut right after the
//! last acknowledgement.
//!
//! The beginning of a sequence is a sequence, too, so that there is a cut after each acknowledgement. Nothing is in
//! flight at the cut, and what must be there is known exactly.

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

use super::furniture::{DIRECTORIES, links};
use super::pool::Trial;
use super::site::{Outage, Plan, Site};
use super::volume::{Powered as _, Volume};
use crate::Promise;
use crate::client::{Client, Ending, Violation, join};
use crate::control::Control;
use crate::sweep::{Case, Found, Task};

pub(crate) const PROMISE: Promise = Promise {
    name: "power-sequence",
    says: "every sequence of up to three calls is there after a cut behind its last acknowledgement",
    full_size: SEQUENCES * 2,
    controls: &[Control::Planted(Fault::PublishSkipsDirectorySync)],
    control_size: SEQUENCES,
    prove,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Overwrite,
    Edit,
    ThroughLink,
    WithParents,
    Refused,
}

const STEPS: [Step; 6] =
    [Step::Create, Step::Overwrite, Step::Edit, Step::ThroughLink, Step::WithParents, Step::Refused];

/// How many sequences of one, two and three steps there are.
const SEQUENCES: u64 = 6 + 6 * 6 + 6 * 6 * 6;

/// Seeds that follow one another stand for sequences far apart, so that a part of them is a fair sample. It has no
/// divisor in common with the number of cases, so that all of them stand for all sequences.
const STRIDE: u64 = 211;

fn prove(task: &Task) -> Found {
    let trial = Trial {
        cases_per_site: 50,
        volume: |kind, scratch: &_, _| Volume::new(kind, scratch),
        plan: |rng: &mut Rng| Plan {
            outage: Outage::draw(rng),
            durability: Durability::Full,
            fault: task.planted(),
        },
        play: |site: &mut _, seed: u64| {
            // The kinds of file systems take turns, and the stride is odd: each sees every sequence.
            let steps = sequence(seed.wrapping_mul(STRIDE) % PROMISE.full_size / 2);
            play(site, &steps, seed).map_err(|violation| format!("{steps:?}: {violation}"))
        },
    };
    trial.run(task)
}

/// The sequence with that number.
fn sequence(number: u64) -> Vec<Step> {
    let mut rest = number;
    for length in 1..=3 {
        let count = 6_u64.pow(length);
        if rest < count {
            return (0..length).map(|place| STEPS[(rest / 6_u64.pow(place) % 6) as usize]).collect();
        }
        rest -= count;
    }
    unreachable!("there are {SEQUENCES} sequences")
}

fn play(site: &mut Site<Volume>, steps: &[Step], seed: u64) -> Result<Case, Violation> {
    let mut rng = Rng::with_seed(seed);
    let directory = DIRECTORIES[rng.usize(..DIRECTORIES.len())];
    let links = links();
    let link = &links[rng.usize(..links.len())];
    let (powered, desk) = site.open();
    let mut client = desk.client(rng.u64(..));
    // What the next step works on: the file of the last one.
    let mut file = join(directory, "shared-0");
    for step in steps {
        let ending = take(&mut client, *step, directory, link, &mut file)?;
        let due = if *step == Step::Refused { Ending::Declined } else { Ending::Done };
        if ending != due {
            return Err(format!("{step:?} ended in {ending:?}"));
        }
    }
    powered.cut()?;
    site.recover()?;
    Ok(Case { steps: steps.len() as u64, ..Case::default() })
}

fn take(
    client: &mut Client<'_>,
    step: Step,
    directory: &str,
    link: &(String, String),
    file: &mut String,
) -> Result<Ending, Violation> {
    match step {
        Step::Create => {
            *file = client.unused(directory, "new");
            client.create(file)
        }
        Step::Overwrite => client.overwrite(file),
        Step::Edit => client.edit(file),
        Step::ThroughLink => {
            file.clone_from(&link.1);
            client.write_through(&link.0, file)
        }
        Step::WithParents => {
            *file = format!("{}/with/parents", client.unused(directory, "made"));
            client.write_with_parents(file)
        }
        Step::Refused => client.be_refused(file),
    }
}
