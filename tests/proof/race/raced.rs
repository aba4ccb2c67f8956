//! The promise: while attackers swap what a path leads through, no call sees or changes anything outside.
//!
//! A case is one attacker on one root and a number of calls, by paths and by keys of targets that were found before.
//! Each answer must be one that the swap explains and tell nothing from outside; afterwards everything outside is as
//! it was, and no hidden file is left but those that an error named.
//! A directory that is itself moved out of the root is told apart: a call that opened it while it was inside may
//! still publish into it, since no system call binds a directory to its place. What it must not do is to publish into
//! one that was outside from the call's beginning to its end.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tokio::runtime::Runtime;
use toolfs_core::error::{Code, FsError};
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;
use toolfs_provider::ProviderExt as _;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider_local::LocalProvider;

use super::attack::shown;
use super::call::{Call, Told, at, check_told, is_of_inside, perform, told_by, written};
use super::ground::{Ground, ROOT};
use super::swap::{AWAY, Attacker, HEAP, Part, Progress, Swap, Way};
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep};

/// How many calls a case has.
const CALLS: u64 = 500;

pub(crate) const PROMISE: Promise = Promise {
    name: "path-race",
    says: "no call leads out of a root while its path is swapped",
    full_size: 200_000 / CALLS,
    controls: &[Control::Planted(Fault::ResolveTrustsRealpath)],
    control_size: 400,
    prove,
};

/// No call takes longer.
const BOUND: Duration = Duration::from_secs(20);

/// From so many cases on, not having met what the attackers do is no chance.
const ENOUGH_CASES: u64 = 10;

fn prove(task: &Task) -> Found {
    let mut found = sweep(task, run);
    if task.control.is_none() && task.size >= ENOUGH_CASES {
        for kind in [LOOKS, CHANGES] {
            for code in [None, Some(Code::SandboxDenied)] {
                let fact = fact(kind, code);
                if !found.facts.iter().any(|(known, _)| *known == fact) {
                    found.violate(format!("there was no race: no `{fact}`"));
                }
            }
        }
    }
    found
}

const LOOKS: &str = "looks";
const CHANGES: &str = "changes";

fn fact(kind: &str, code: Option<Code>) -> String {
    format!("{kind} that ended in {}", shown(code))
}

fn run(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let ground = Ground::new(rng.bool());
    let swap = Swap::draw(&mut rng);
    let attacker = Attacker::new(swap, &ground);
    let (walks, is_named) = (rng.bool(), rng.u32(..4) == 0);
    let provider = ground.serve(|options| {
        options.force_walk = walks;
        options.force_named_temporaries = is_named;
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let keys = runtime.block_on(async {
        let mut keys = Vec::new();
        for path in ["a/b/f", "a/b/made/f", "a/b", "a"] {
            keys.push(provider.resolve_path(&AbortSignal::new(), path).await.unwrap().key);
        }
        keys
    });
    let outside = ground.outside();
    let (stop, progress) = (AtomicBool::new(false), Progress::default());
    let mut round = Round {
        ground: &ground,
        provider: &provider,
        runtime: &runtime,
        keys,
        swap,
        progress: &progress,
        told_rescues: BTreeSet::new(),
        case: Case::default(),
    };
    let mut attacker_rng = rng.fork();
    std::thread::scope(|scope| {
        scope.spawn(|| attacker.run(&ground, &stop, &progress, &mut attacker_rng));
        let _stop = Stop(&stop);
        round.call_on(&mut rng);
    });
    let Round { told_rescues, mut case, .. } = round;
    runtime.shutdown_background();
    case.facts.push(("swaps".to_owned(), progress.swaps.load(Ordering::Relaxed)));
    if case.violation.is_none() {
        case.violation =
            outside.difference(&ground.outside()).map(|difference| format!("outside, {difference}"));
    }
    if case.violation.is_none() {
        case.violation = litter(&ground, &told_rescues, &mut case);
    }
    let lookup = if walks { "walk" } else { "kernel" };
    case.violation = case.violation.map(|violation| format!("{swap:?} by {lookup}: {violation}"));
    case
}

/// Stops the attacker when it goes, even by a panic, since the scope waits for it.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A case on its way.
struct Round<'a> {
    ground: &'a Ground,
    provider: &'a LocalProvider,
    runtime: &'a Runtime,
    /// Found before the first swap: the file, a file in a missing directory, the parent, the grandparent.
    keys: Vec<TargetKey>,
    swap: Swap,
    progress: &'a Progress,
    /// The names of what was kept under rescue names, as errors told them.
    told_rescues: BTreeSet<PathBuf>,
    case: Case,
}

impl Round<'_> {
    fn call_on(&mut self, rng: &mut Rng) {
        for number in 0..CALLS {
            self.case.steps += 1;
            let call = Call::ALL[rng.usize(..Call::ALL.len())];
            if let Err(violation) = self.call(call, number, rng) {
                self.case.violation = Some(format!("call {number}, {call:?}: {violation}"));
                return;
            }
        }
    }

    fn call(&mut self, call: Call, number: u64, rng: &mut Rng) -> Result<(), String> {
        let text = written(number);
        let place = Place::draw(call, rng);
        let path = place.path(number);
        let by_key = rng.bool().then(|| place.key(&self.keys)).flatten();
        let moves = self.progress.moves.load(Ordering::SeqCst);
        let answer = self.runtime.block_on(async {
            let call = async {
                match by_key {
                    Some(key) => at(self.provider, call, key, &text).await,
                    None => perform(self.provider, call, path.as_bytes(), &text, || {}).await,
                }
            };
            tokio::time::timeout(BOUND, call).await
        });
        let Ok(answer) = answer else { return Err(format!("no answer in {BOUND:?}")) };
        let told = match &answer {
            Ok(told) => told.everything.clone(),
            Err(error) => told_by(error),
        };
        check_told(self.ground, path.as_bytes(), &told)?;
        self.count(call, &answer);
        self.check_moved(call, place, &text, moves, answer.is_ok())?;
        match answer {
            Ok(Told { content: Some(content), .. }) if !is_of_inside(&content) => {
                Err(format!("it read \"{}\"", content.escape_ascii()))
            }
            Ok(_) => Ok(()),
            Err(error) => self.check_refusal(call, place, &error),
        }
    }

    fn count(&mut self, call: Call, answer: &Result<Told, FsError>) {
        let kind = if call.is_look() { LOOKS } else { CHANGES };
        self.case.facts.push((fact(kind, answer.as_ref().err().map(FsError::code)), 1));
    }

    /// A code that nothing explains is a violation even where nothing leaked: its caller does the wrong thing next.
    fn check_refusal(&mut self, call: Call, place: Place, error: &FsError) -> Result<(), String> {
        if let Some(rescue) = error.rescue_path() {
            self.told_rescues.insert(Path::new(rescue).file_name().unwrap().into());
        }
        if explained(self.swap, call, place).contains(&error.code()) {
            return Ok(());
        }
        Err(format!("nothing explains {error:?}"))
    }

    /// A directory that was outside from before the call to after it got nothing.
    fn check_moved(
        &mut self,
        call: Call,
        place: Place,
        text: &str,
        moves: u64,
        is_done: bool,
    ) -> Result<(), String> {
        if self.swap.way != Way::MoveOut || !is_done || call.publishes(text).is_none() {
            return Ok(());
        }
        let is_out = |moves: u64| moves % 2 == 1;
        let away = self.ground.base.join(AWAY).join("moved");
        let file = match (self.swap.part, place) {
            (Part::Grandparent, Place::File) => away.join("b/f"),
            (Part::Parent | Part::Leaf, Place::File) => away.join("f"),
            (_, Place::New | Place::Made | Place::Parent | Place::Grandparent) => return Ok(()),
        };
        let found = fs::read_to_string(file).unwrap_or_default();
        let now = self.progress.moves.load(Ordering::SeqCst);
        if now != moves {
            self.case.facts.push(("publications while a directory was moved out or in".to_owned(), 1));
            return Ok(());
        }
        if !is_out(moves) {
            return Ok(());
        }
        self.case.facts.push(("publications while a directory was outside".to_owned(), 1));
        if found == text {
            return Err("it wrote into a directory that was outside all the time".to_owned());
        }
        Ok(())
    }
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// `a/b/f`
    File,
    /// A file in `a/b` that was never there.
    New,
    /// A file in a directory in `a/b` that is made for it.
    Made,
    /// `a/b`
    Parent,
    /// `a`
    Grandparent,
}

impl Place {
    fn draw(call: Call, rng: &mut Rng) -> Place {
        match (call, rng.u32(..4)) {
            (Call::ListDir, 0..2) => Place::Parent,
            (Call::ListDir, _) => Place::Grandparent,
            (Call::Create | Call::Write, 0) => Place::New,
            (Call::Create | Call::Write, 1) => Place::Made,
            (_, _) => Place::File,
        }
    }

    fn path(self, number: u64) -> String {
        match self {
            Place::File => "a/b/f".to_owned(),
            Place::New => format!("a/b/new-{number}"),
            Place::Made => format!("a/b/made-{number}/deep/f"),
            Place::Parent => "a/b".to_owned(),
            Place::Grandparent => "a".to_owned(),
        }
    }

    /// Its key, where it was found before.
    fn key(self, keys: &[TargetKey]) -> Option<&TargetKey> {
        match self {
            Place::File => keys.first(),
            Place::New => None,
            Place::Made => keys.get(1),
            Place::Parent => keys.get(2),
            Place::Grandparent => keys.get(3),
        }
    }
}

/// The codes that a swap explains.
fn explained(swap: Swap, call: Call, place: Place) -> Vec<Code> {
    // Somebody is at work, which is always a reason to give up.
    let mut codes = vec![Code::Unavailable];
    let may_be_gone = matches!(swap.way, Way::Rename | Way::MoveOut);
    let is_above = |part| match part {
        Part::Leaf => place == Place::File,
        Part::Parent => place != Place::Grandparent,
        Part::Grandparent => true,
    };
    if is_above(swap.part) {
        match swap.way {
            // Of a directory that is just moved out the kernel itself says that it is not beneath the root.
            Way::Exchange | Way::Rename | Way::MoveOut => codes.push(Code::SandboxDenied),
            Way::Rotate => {
                codes.push(Code::SandboxDenied);
                if swap.part != Part::Leaf {
                    codes.push(Code::NotDirectory);
                }
            }
        }
    }
    match call {
        Call::ReadLines | Call::ReadText | Call::ReadBytes | Call::Stat | Call::StatVersion | Call::Lstat => {
            if may_be_gone {
                codes.push(Code::NotFound);
            }
        }
        Call::ListDir => {
            if may_be_gone {
                codes.push(Code::NotFound);
            }
        }
        Call::Create | Call::PlanCreate => codes.push(Code::NotObserved),
        Call::Write | Call::PlanWrite => {
            // Only with something that had to be kept aside.
            if swap.part == Part::Leaf {
                codes.push(Code::StaleVersion);
            }
        }
        Call::Replace => codes.push(Code::StaleVersion),
        Call::Edit | Call::PlanEdit => {
            codes.push(Code::EditNotFound);
            if may_be_gone || swap.part == Part::Leaf {
                codes.push(Code::StaleVersion);
            }
        }
    }
    codes
}

/// The first hidden file that no error named.
fn litter(ground: &Ground, told: &BTreeSet<PathBuf>, case: &mut Case) -> Option<String> {
    let mut directories = vec![ground.base.join(ROOT), ground.base.join(AWAY), ground.base.join(HEAP)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
            let name = PathBuf::from(entry.file_name());
            let is_hidden = name.to_string_lossy().starts_with(".toolfs-");
            if is_hidden && told.contains(&name) {
                case.facts.push(("kept under a rescue name and told".to_owned(), 1));
            } else if is_hidden {
                return Some(format!("`{}` is left, and no error named it", entry.path().display()));
            }
        }
    }
    None
}
