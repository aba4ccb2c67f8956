//! The promise: whatever stands in a root and however it is asked for, nothing outside is seen or changed.
//!
//! A case is one attack of the table with every call, in both ways to look names up, each on a fresh ground. The
//! answer must have the code of the table; nothing that it tells comes from outside, neither bytes nor names nor
//! paths; what is outside stays as it was; and inside exactly what was asked for changes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fastrand::Rng;
use toolfs_core::error::Code;
use toolfs_core::planted::Fault;

use super::call::{Call, Told, check_told, perform, told_by};
use super::ground::{Ground, INSIDE, MOVED_ROOT, ROOT, Snapshot};
use super::scene::Lay;
use super::table::{ATTACKS, Attack, Spelling};
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep};

pub(crate) const PROMISE: Promise = Promise {
    name: "path-attack",
    says: "no path and nothing in a root leads out of it",
    full_size: 20 * ATTACKS.len() as u64,
    controls: &[Control::Planted(Fault::ResolveTrustsRealpath)],
    control_size: ATTACKS.len() as u64,
    prove,
};

/// What a write puts there.
const WRITTEN: &str = "written\n";

/// No call takes longer, whatever it meets.
const BOUND: Duration = Duration::from_secs(5);

fn prove(task: &Task) -> Found {
    let skipped = Mutex::new(BTreeSet::new());
    let mut found = sweep(task, |seed| run(seed, &skipped));
    for reason in skipped.into_inner().unwrap() {
        found.skip(reason);
    }
    found
}

/// Tries the attack of that seed with every call. Why it cannot be tried here, if so, is kept.
fn run(seed: u64, skipped: &Mutex<BTreeSet<String>>) -> Case {
    let mut rng = Rng::with_seed(seed);
    // Consecutive seeds try each attack once.
    let attack = &ATTACKS[usize::try_from(seed % ATTACKS.len() as u64).unwrap()];
    let mut steps = 0;
    for walks in [false, true] {
        for call in Call::ALL {
            steps += 1;
            let trial = Trial { attack, walks, call, is_named: rng.bool(), is_dotted: rng.bool() };
            match trial.run() {
                Ok(Ending::Tried) => {}
                Ok(Ending::Skipped(reason)) => {
                    skipped.lock().unwrap().insert(format!("`{}`: {reason}", attack.name));
                    return Case::default();
                }
                Err(violation) => {
                    let violation = Some(format!("{trial}: {violation}"));
                    return Case { steps, violation, ..Case::default() };
                }
            }
        }
    }
    Case { steps, ..Case::default() }
}

/// How a trial went that violated nothing.
enum Ending {
    Tried,
    /// It needs rights that are not here.
    Skipped(String),
}

/// One call under one attack.
struct Trial {
    attack: &'static Attack,
    /// Whether names are looked up component by component.
    walks: bool,
    call: Call,
    /// Whether the root is shown under a name of its own.
    is_named: bool,
    /// Whether a relative path gets steps in front that lead nowhere.
    is_dotted: bool,
}

impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Trial { attack, walks, call, is_named, is_dotted } = self;
        let lookup = if *walks { "walk" } else { "kernel" };
        write!(f, "`{}`, {call:?} by {lookup}, named {is_named}, dotted {is_dotted}", attack.name)
    }
}

impl Trial {
    fn run(&self) -> Result<Ending, String> {
        let ground = Ground::new(self.is_named);
        let path = self.path(&ground);
        if let Some(reason) = lay(self.attack.lays, &ground) {
            return Ok(Ending::Skipped(reason));
        }
        let provider = match self.attack.serves {
            None => ground.serve(|options| options.force_walk = self.walks),
            Some(directory) => ground.serve_other(directory, |options| options.force_walk = self.walks),
        };
        let outside = ground.outside();
        let mut inside = ground.inside(ROOT);
        let mut skipped = None;
        let root = if self.attack.moves_root { MOVED_ROOT } else { ROOT };
        let began = Instant::now();
        // One runtime each: a call that hangs must hang nothing else.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answer = runtime.block_on(async {
            let between = || {
                skipped = lay(self.attack.swaps, &ground);
                inside = ground.inside(root);
            };
            let call = perform(&provider, self.call, &path, WRITTEN, between);
            tokio::time::timeout(BOUND, call).await
        });
        runtime.shutdown_background();
        if let Some(reason) = skipped {
            return Ok(Ending::Skipped(reason));
        }
        let Ok(answer) = answer else { return Err(format!("no answer in {:?}", began.elapsed())) };
        let told = match &answer {
            Ok(told) => told.everything.clone(),
            Err(error) => told_by(error),
        };
        check_told(&ground, &path, &told)?;
        let code = answer.as_ref().err().map(|error| error.code());
        let right = self.attack.right.of(self.call);
        if code != right {
            return Err(format!("it ended in {}, not in {}: {answer:?}", shown(code), shown(right)));
        }
        if let Ok(Told { content: Some(content), .. }) = &answer
            && self.attack.serves.is_none()
            && content != INSIDE.as_bytes()
        {
            return Err(format!("it read \"{}\"", content.escape_ascii()));
        }
        self.check_disk(&ground, &outside, inside, code)?;
        Ok(Ending::Tried)
    }

    fn path(&self, ground: &Ground) -> Vec<u8> {
        let path = match self.attack.path {
            Spelling::Plain(path) => ground.fill(path),
            // How long it is counts, so it is asked for as it is.
            Spelling::Repeated(unit, count, end) => return [&unit.repeat(count), end].concat().into_bytes(),
        };
        let is_relative = path.first().is_some_and(|first| *first != b'/');
        if self.is_dotted && is_relative && self.attack.serves.is_none() {
            return [b"./d/..//", path.as_slice()].concat();
        }
        path
    }

    /// Outside is as it was, and inside exactly what was asked for changed.
    fn check_disk(
        &self,
        ground: &Ground,
        outside: &Snapshot,
        inside: Snapshot,
        code: Option<Code>,
    ) -> Result<(), String> {
        if let Some(difference) = outside.difference(&ground.outside()) {
            return Err(format!("outside, {difference}"));
        }
        if self.attack.serves.is_some() {
            return Ok(());
        }
        let root = if self.attack.moves_root { MOVED_ROOT } else { ROOT };
        let right = match self.call.publishes(WRITTEN).filter(|_| code.is_none()) {
            None => inside,
            Some(content) => inside.with_file(root, &self.landing(), content.as_bytes()),
        };
        match right.difference(&ground.inside(root)) {
            Some(difference) => Err(format!("inside, {difference}")),
            None => Ok(()),
        }
    }

    fn landing(&self) -> PathBuf {
        let landing = match self.attack.path {
            _ if !self.attack.lands.is_empty() => self.attack.lands.as_bytes().to_vec(),
            Spelling::Plain(path) => path.to_vec(),
            Spelling::Repeated(unit, count, end) => [&unit.repeat(count), end].concat().into_bytes(),
        };
        PathBuf::from(OsString::from_vec(landing))
    }
}

/// Lays one after the other; why it cannot be done here, if so.
fn lay(lays: &[Lay], ground: &Ground) -> Option<String> {
    lays.iter().find_map(|lay| lay.lay(ground).err())
}

/// A code or its absence, in words.
pub(super) fn shown(code: Option<Code>) -> String {
    code.map_or_else(|| "success".to_owned(), |code| code.to_string())
}
