//! Four clients that make random calls until the power is cut.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::furniture::{DIRECTORIES, links};
use super::site::Site;
use super::volume::{Powered, sync};
use crate::client::{Client, Ending, Violation};
use crate::sweep::Case;

const CLIENTS: usize = 4;

/// The cut comes after so many acknowledgements or so long, whatever is first: both are drawn below these.
const MOST_ACKNOWLEDGED: u64 = 60;
const LONGEST: Duration = Duration::from_millis(200);

/// And so long after that at most: the moment of an answer is one at which little is under way.
const LONGEST_AFTER: Duration = Duration::from_millis(4);

/// How often it is looked whether it is time.
const PAUSE: Duration = Duration::from_micros(200);

/// What the clients have in common.
#[derive(Debug, Default)]
struct Course {
    acknowledged: AtomicU64,
    refused: AtomicU64,
    /// Calls of which nobody knows whether they took effect.
    open: AtomicU64,
    /// Set before the cut: from here on calls may fail.
    is_cut: AtomicBool,
    is_over: AtomicBool,
    violation: Mutex<Option<Violation>>,
}

impl Course {
    fn violate(&self, violation: Violation) {
        self.violation.lock().unwrap().get_or_insert(violation);
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// Loads a site, cuts its power in the middle, and judges what is left.
///
/// # Errors
/// What is wrong.
pub(super) fn cut_under_load<P: Powered>(site: &mut Site<P>, rng: &mut Rng) -> Result<Case, Violation> {
    let (after, within) = (rng.u64(1..MOST_ACKNOWLEDGED), LONGEST.mul_f64(rng.f64()));
    let linger = LONGEST_AFTER.mul_f64(rng.f64());
    // Answers that arrive after the cut count, too: half of the time the worker lives on for them.
    let is_killed_at_once = rng.bool();
    // Somebody else's syncs make half of a publication durable. They hide a sync that is missing, so they are not always
    // there.
    let is_synced_by_others = rng.bool();
    let course = Course::default();
    let files = site.ledger.files();
    let (powered, desk) = site.open();
    let point = powered.point().to_owned();
    let cut = thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = desk.client(rng.u64(..));
            let (course, files) = (&course, files.clone());
            scope.spawn(move || work(client, files, course));
        }
        if is_synced_by_others {
            scope.spawn(|| sync_until_over(&point, &course));
        }
        let began = Instant::now();
        while course.acknowledged.load(Ordering::SeqCst) < after
            && began.elapsed() < within
            && !course.is_over.load(Ordering::SeqCst)
        {
            thread::sleep(PAUSE);
        }
        thread::sleep(linger);
        course.is_cut.store(true, Ordering::SeqCst);
        let cut = powered.cut();
        if is_killed_at_once {
            desk.worker.kill();
        }
        course.is_over.store(true, Ordering::SeqCst);
        cut
    });
    if let Some(violation) = course.violation.into_inner().unwrap() {
        return Err(violation);
    }
    cut?;
    let hidden = site.recover()?;
    let count = |name: &str, counter: AtomicU64| (name.to_owned(), counter.into_inner());
    let facts = vec![
        count("calls acknowledged", course.acknowledged),
        count("calls in flight at a cut", course.open),
        count("calls refused", course.refused),
        ("hidden files that a cut left".to_owned(), hidden),
    ];
    Ok(Case { steps: facts[..3].iter().map(|(_, count)| count).sum(), violation: None, facts })
}

fn sync_until_over(point: &Path, course: &Course) {
    while !course.is_over.load(Ordering::SeqCst) {
        if sync(point).is_err() {
            // There is no power any more.
            break;
        }
    }
}

fn work(mut client: Client<'_>, mut files: Vec<String>, course: &Course) {
    let links = links();
    while !course.is_over.load(Ordering::SeqCst) {
        let began_before = !course.is_cut.load(Ordering::SeqCst);
        match step(&mut client, &mut files, &links) {
            Ok(Ending::Done) => drop(course.acknowledged.fetch_add(1, Ordering::SeqCst)),
            Ok(Ending::Declined) => drop(course.refused.fetch_add(1, Ordering::SeqCst)),
            Ok(Ending::Failed(_) | Ending::Open) if course.is_cut.load(Ordering::SeqCst) => {
                course.open.fetch_add(u64::from(began_before), Ordering::SeqCst);
            }
            Ok(ending @ (Ending::Failed(_) | Ending::Open)) => {
                course.violate(format!("a call ended in {ending:?} before there was a cut"))
            }
            Err(violation) => course.violate(violation),
        }
    }
}

/// One random call.
pub(crate) fn step(
    client: &mut Client<'_>,
    files: &mut Vec<String>,
    links: &[(String, String)],
) -> Result<Ending, Violation> {
    let directory = DIRECTORIES[client.rng.usize(..DIRECTORIES.len())];
    let file = files[client.rng.usize(..files.len())].clone();
    match client.rng.u32(..100) {
        0..22 => {
            let new = client.unused(directory, "new");
            let ending = client.create(&new)?;
            if ending == Ending::Done {
                files.push(new);
            }
            Ok(ending)
        }
        22..47 => client.overwrite(&file),
        47..67 => client.edit(&file),
        67..79 => {
            let (link, file) = &links[client.rng.usize(..links.len())];
            client.write_through(link, file)
        }
        79..86 => {
            let new = format!("{}/with/parents", client.unused(directory, "made"));
            client.write_with_parents(&new)
        }
        86..93 => client.be_refused(&file),
        _ => client.read(&file).map(|content| content.map_or(Ending::Open, |_| Ending::Done)),
    }
}
