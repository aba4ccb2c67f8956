//! The promise: when a system call fails, the old file is intact or the answer says truly what is there.
//!
//! Every call that a change makes on files fails once, with each error, and once with all later ones of its name. Then
//! the answer is compared with the disk, and the place is used again. Deliberately absent: closing, which gives no
//! answer that anybody could take into account.

use std::path::Path;
use std::time::Duration;

use toolfs_core::planted::Fault;

use crate::Promise;
use crate::control::Control;
use crate::kill::boundary::{scenarios, trace};
use crate::scenario::{Act, Scenario, Scene, use_again};
use crate::strace::{self, Seen, Tracer};
use crate::sweep::{Case, Found, Task, sweep_each};
use crate::worker::{Answer, Failure, Outcome, Worker};

pub(crate) const PROMISE: Promise = Promise {
    name: "failing-calls",
    says: "when a system call fails, what the answer says of the file is true",
    full_size: 10_000,
    controls: &[Control::Planted(Fault::PublishIgnoresSyncError)],
    control_size: 10_000,
    prove,
};

/// The errors, and the codes that say what they mean to a caller.
const ERRORS: [(&str, &str); 6] = [
    ("EIO", "FS_IO_ERROR"),
    ("ENOSPC", "FS_NO_SPACE"),
    ("EDQUOT", "FS_NO_SPACE"),
    ("EROFS", "FS_PERMISSION_DENIED"),
    ("EMFILE", "FS_UNAVAILABLE"),
    // A caller cannot do anything about an interruption that is not tried again.
    ("EINTR", "FS_IO_ERROR"),
];

/// How long a call may take that makes some dozen system calls.
const PATIENCE: Duration = Duration::from_secs(20);

const MAYBE: &str = "refused, and told that it may have happened";

/// A scenario that nothing disturbs.
struct Undisturbed {
    scenario: Scenario,
    calls: Vec<Seen>,
    /// How many descriptors the worker has in the end.
    descriptors: usize,
}

/// Which call fails how.
struct Failing<'a> {
    undisturbed: &'a Undisturbed,
    at: usize,
    errno: &'static str,
    code: &'static str,
    /// Whether all later calls of that name fail, too.
    from_then_on: bool,
}

fn prove(task: &Task) -> Found {
    if let Some(reason) = strace::missing() {
        return Found::skipped(reason);
    }
    let mut found = Found::default();
    let mut undisturbeds = Vec::new();
    for scenario in scenarios(&mut found) {
        match undisturbed(scenario, task.planted()) {
            Ok(undisturbed) => undisturbeds.push(undisturbed),
            Err(violation) => found.violate(format!("{}: {violation}", scenario.name())),
        }
    }
    let cases: Vec<Failing<'_>> = undisturbeds.iter().flat_map(failings).collect();
    found.merge(sweep_each(task, PROMISE.full_size, &cases, |failing| {
        let (facts, violation) = match failing.run(task.planted()) {
            Ok(told) => (vec![(told.to_owned(), 1)], None),
            Err(violation) => (Vec::new(), Some(format!("{}: {violation}", failing.describe()))),
        };
        Case { steps: 1, violation, facts }
    }));
    found
}

fn undisturbed(scenario: Scenario, fault: Option<Fault>) -> Result<Undisturbed, String> {
    let calls = trace(scenario, fault)?;
    let scene = Scene::set(scenario);
    let worker = Worker::start(&scene.settings(fault))?;
    let answer = worker.call(scene.call());
    use_again(&scene, &worker).map_err(|violation| format!("after {answer:?}: {violation}"))?;
    Ok(Undisturbed { scenario, calls, descriptors: descriptors(&worker) })
}

fn failings(undisturbed: &Undisturbed) -> Vec<Failing<'_>> {
    let mut failings = Vec::new();
    for at in 0..undisturbed.calls.len() {
        if undisturbed.calls[at].name == "close" {
            continue;
        }
        for (errno, code) in ERRORS {
            for from_then_on in [false, true] {
                // What is interrupted for ever is tried for ever.
                if !(from_then_on && errno == "EINTR") {
                    failings.push(Failing { undisturbed, at, errno, code, from_then_on });
                }
            }
        }
    }
    failings
}

/// How many descriptors a worker has, but for the lock files that it keeps for its next changes: how many those are
/// depends on how many locks were held at once, as when a change looks after what an earlier one left.
fn descriptors(worker: &Worker) -> usize {
    let directory = format!("/proc/{}/fd", worker.pid.as_raw_nonzero());
    let is_lock_file = |entry: &std::fs::DirEntry| {
        let leads_to = std::fs::read_link(entry.path()).unwrap_or_default();
        leads_to.parent().is_some_and(|parent| parent.ends_with("runtime/locks"))
    };
    let entries = std::fs::read_dir(Path::new(&directory)).unwrap().map(Result::unwrap);
    entries.filter(|entry| !is_lock_file(entry)).count()
}

impl Failing<'_> {
    fn name(&self) -> &str {
        &self.undisturbed.calls[self.at].name
    }

    fn describe(&self) -> String {
        let later = if self.from_then_on { " and all later ones" } else { "" };
        let line = &self.undisturbed.calls[self.at].line;
        format!("{}: {} for `{line}`{later}", self.undisturbed.scenario.name(), self.errno)
    }

    /// What the answer told, in words, when everything is as promised.
    fn run(&self, fault: Option<Fault>) -> Result<&'static str, String> {
        let scene = Scene::set(self.undisturbed.scenario);
        let worker = Worker::start(&scene.settings(fault))?;
        let call = &self.undisturbed.calls[self.at];
        let (name, number) = (&call.name, call.number);
        let later = if self.from_then_on { "+" } else { "" };
        let injection = format!("inject={name}:error={}:when={number}{later}", self.errno);
        let tracer = Tracer::attach(&worker, scene.outside(), &[injection])?;
        let answer = worker.send(scene.call()).wait_for(PATIENCE).ok_or("it does not end")?;
        let answer = answer.map_err(|_| "it ended".to_owned())?;
        let seen = tracer.detach();
        if !seen.iter().any(|call| call.is_injected) {
            return Err(format!("nothing failed; it answered {answer:?}"));
        }
        let told = self.judge(&scene, &seen, &answer).map_err(|why| format!("{why}: {answer:?}"))?;
        if told == MAYBE && self.undisturbed.scenario.is_in_place() {
            // It says itself that the file may be half written: the next server knows what to do.
            drop(worker);
            return self.start_anew(&scene, fault).map_err(|why| format!("after {answer:?}: {why}"));
        }
        use_again(&scene, &worker).map_err(|violation| format!("after {answer:?}: {violation}"))?;
        let (now, before) = (descriptors(&worker), self.undisturbed.descriptors);
        if now != before {
            return Err(format!("after {answer:?} it has {now} descriptors, not {before}"));
        }
        Ok(told)
    }

    /// Starts another worker, which must make the file whole.
    fn start_anew(&self, scene: &Scene, fault: Option<Fault>) -> Result<&'static str, String> {
        let worker = Worker::start(&scene.settings(fault))?;
        let now = scene.now();
        if now != scene.before() && now != Some(scene.after()) {
            return Err(format!("after the next start there is {}", scene.describe_now()));
        }
        use_again(scene, &worker)?;
        Ok("rewritten by half, told so, and put back at the next start")
    }

    /// Compares the answer with the disk.
    fn judge(&self, scene: &Scene, seen: &[Seen], answer: &Answer) -> Result<&'static str, String> {
        let now = scene.now();
        let (is_old, is_new) = (now == scene.before(), now == Some(scene.after()));
        let there = || Err(format!("there is {}", scene.describe_now()));
        match &answer.outcome {
            Outcome::Ok(_) if !is_new => there(),
            Outcome::Ok(effect) if scene.has_lost_mode() && effect.notices.is_empty() => {
                Err("the file has lost its mode".to_owned())
            }
            Outcome::Ok(_) => match &answer.not_durable {
                Some(failure) if failure.published != "yes" => Err("it is there".to_owned()),
                Some(failure) => self.judge_code(failure).map(|()| "done, and told that it is not durable"),
                None if self.is_sync_missing(seen) => {
                    Err("what was not synced is told as durable".to_owned())
                }
                None => Ok("done all the same"),
            },
            Outcome::Error(failure) => {
                self.judge_code(failure)?;
                match failure.published.as_str() {
                    "no" if !is_old => there(),
                    "no" if scene.has_lost_mode() => Err("the file has lost its mode".to_owned()),
                    "no" if self.are_parents_left(scene) => Err("its parents are still there".to_owned()),
                    "no" => Ok("refused, and told that nothing happened"),
                    "yes" if !is_new => there(),
                    "yes" => Ok("refused, and told that it happened"),
                    "maybe" if !is_old && !is_new && !scene.scenario.is_in_place() => there(),
                    "maybe" => Ok(MAYBE),
                    _ => Err("that is no word for it".to_owned()),
                }
            }
        }
    }

    fn judge_code(&self, failure: &Failure) -> Result<(), String> {
        // The storage of the server's own files is no affair of the caller's file.
        let is_of_copy = failure.code == "FS_IO_ERROR"
            && ["cannot keep a copy", "an older copy of it"]
                .iter()
                .any(|says| failure.message.contains(says));
        if failure.code == self.code || is_of_copy {
            Ok(())
        } else {
            Err(format!("{} is not {}", failure.code, self.code))
        }
    }

    /// Whether fewer syncs succeeded than an undisturbed call makes of what must be durable.
    fn is_sync_missing(&self, seen: &[Seen]) -> bool {
        let is_sync = |call: &&Seen| call.name == "fsync" || call.name == "fdatasync";
        let calls = &self.undisturbed.calls;
        // When the copy of a file that was rewritten goes, all is durable. It may come back: it does no harm.
        let harmless_after = match self.undisturbed.scenario.is_in_place() {
            true => calls.iter().rposition(|call| call.name == "unlinkat"),
            false => None,
        };
        if harmless_after.is_some_and(|removed| self.at >= removed) {
            return false;
        }
        let succeeded = seen.iter().filter(is_sync).filter(|call| !call.is_injected).count();
        succeeded < calls.iter().filter(is_sync).count()
    }

    /// Whether directories stayed that were made for a file that was not.
    fn are_parents_left(&self, scene: &Scene) -> bool {
        let is_removal_broken = self.name() == "unlinkat";
        scene.scenario.act == Act::CreateWithParents
            && !is_removal_broken
            && scene.root().join("d/p").exists()
    }
}
