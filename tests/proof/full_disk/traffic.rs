//! A volume that becomes read-only while clients are at work, and writable again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

use super::volume::Volume;
use crate::client::{Client, Ending, Violation, join};
use crate::ledger::Ledger;
use crate::power::furniture::{furnish, links};
use crate::power::load::step;
use crate::sweep::Case;
use crate::tree::{contents, directories, litter, rescued};
use crate::worker::{Settings, Worker};

const CLIENTS: usize = 4;

/// The longest time until it happens, and how long it lasts.
const LONGEST: Duration = Duration::from_millis(40);
const LASTS: Duration = Duration::from_millis(10);

/// How long a client does nothing after each call from then on.
const PAUSE: Duration = Duration::from_millis(1);

/// How long it is tried: as long as a file is open for writing, a volume stays writable.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the clients have in common.
#[derive(Default)]
struct Course {
    acknowledged: AtomicU64,
    refused: AtomicU64,
    /// Set before the volume becomes read-only: from here on calls may fail.
    is_read_only: AtomicBool,
    is_over: AtomicBool,
    violation: Mutex<Option<Violation>>,
}

/// Lets clients work, stops all writes in the middle, and judges what is there.
///
/// # Errors
/// What is wrong.
pub(super) fn stop_writes(
    volume: &Volume,
    fault: Option<Fault>,
    rng: &mut Rng,
    case: &mut Case,
) -> Result<(), Violation> {
    let root = volume.root();
    furnish(&root).map_err(|error| error.to_string())?;
    let worker = Worker::start(&Settings { threads: CLIENTS, ..volume.settings(fault) })?;
    let (ledger, serial, course) = (Ledger::default(), AtomicU64::new(1), Course::default());
    ledger.take_stock(contents(&root));
    let client =
        |seed| Client { worker: &worker, ledger: &ledger, serial: &serial, rng: Rng::with_seed(seed) };
    let (time, files) = (LONGEST.mul_f64(rng.f64()), ledger.files());
    let changed = thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let (client, files, course) = (client(rng.u64(..)), files.clone(), &course);
            scope.spawn(move || work(client, files, course));
        }
        thread::sleep(time);
        let changed = make_read_only(volume, &course);
        course.is_over.store(true, Ordering::SeqCst);
        changed
    });
    let count = |name: &str, counter: &AtomicU64| (name.to_owned(), counter.load(Ordering::SeqCst));
    case.facts.push(count("calls acknowledged around a read-only time", &course.acknowledged));
    case.facts.push(count("calls refused in a read-only time", &course.refused));
    case.steps += case.facts.iter().map(|(_, count)| count).sum::<u64>();
    course.violation.into_inner().unwrap().map_or(Ok(()), Err)?;
    changed?;
    let compare = |when: &str| {
        let compared = ledger.compare(&contents(&root), Durability::Full);
        compared.map_err(|wrong| format!("{when}: {wrong}"))
    };
    compare("after it")?;
    let mut client = client(rng.u64(..));
    for directory in directories(&root) {
        match client.overwrite(&join(&directory, "afterwards"))? {
            Ending::Done => {}
            ending => return Err(format!("a call afterwards ended in {ending:?}")),
        }
    }
    compare("after the next call")?;
    let (left, kept) = (litter(&root), rescued(&root));
    if !left.is_empty() || !kept.is_empty() {
        return Err(format!("after the next call {left:?} is left, and {kept:?} is kept"));
    }
    Ok(())
}

fn make_read_only(volume: &Volume, course: &Course) -> Result<(), String> {
    let mounted = volume.mounted.as_ref().expect("only what is mounted becomes read-only");
    course.is_read_only.store(true, Ordering::SeqCst);
    let began = Instant::now();
    while let Err(error) = mounted.change("ro") {
        if !error.contains("busy") || began.elapsed() > PATIENCE {
            return Err(error);
        }
    }
    thread::sleep(LASTS);
    mounted.change("rw")?;
    thread::sleep(LASTS);
    Ok(())
}

/// One client, until all is over.
fn work(mut client: Client<'_>, mut files: Vec<String>, course: &Course) {
    let links = links();
    while !course.is_over.load(Ordering::SeqCst) {
        let ended = step(&mut client, &mut files, &links);
        let is_read_only = course.is_read_only.load(Ordering::SeqCst);
        if is_read_only {
            // There must be a moment in which nobody writes.
            thread::sleep(PAUSE);
        }
        match ended {
            Ok(Ending::Done | Ending::Declined) => {
                course.acknowledged.fetch_add(1, Ordering::SeqCst);
            }
            Ok(Ending::Failed(code)) if is_read_only && code == "FS_PERMISSION_DENIED" => {
                course.refused.fetch_add(1, Ordering::SeqCst);
            }
            Ok(ending @ (Ending::Failed(_) | Ending::Open)) => {
                course.violate(format!("a call ended in {ending:?}"));
            }
            Err(violation) => course.violate(violation),
        }
    }
}

impl Course {
    fn violate(&self, violation: Violation) {
        self.violation.lock().unwrap().get_or_insert(violation);
        self.is_over.store(true, Ordering::SeqCst);
    }
}
