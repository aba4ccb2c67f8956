//! The tables of turns and of sessions, under a scheduler that chooses who goes on at each of their steps.
//!
//! The files of the tables are compiled once more here, over the primitives of [`sync`]: nothing else of the server is
//! built twice, and no build of it has a feature for this. What is tried is each scenario of [`turn`] and of
//! [`session`]: a few callers on a table, in many orders of their steps.
//! An order is drawn at random, or by priorities with a few changes (PCT), which finds what needs few but exact
//! switches. A case is a hundred orders of one scenario, all of them drawn from its seed.
//!
//! Deliberately absent: weaker orders of memory than the sequential one, the steps within the primitives of the runtime
//! and within an abort signal, which are one step each here, and stores of sessions other than memory.

mod disk;
mod session;
mod sync;
mod tools;
mod turn;

use std::panic::{self, AssertUnwindSafe};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use toolfs_core::planted::Fault;

use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep};

pub(crate) const PROMISE: Promise = Promise {
    name: "locks",
    says: "the tables of turns and of sessions: no deadlock, no lost wake-up, nothing left, no closed session comes back",
    // 10,000 orders of each scenario by each scheduler.
    full_size: (SCENARIOS.len() * SCHEDULERS.len() * 10_000 / ORDERS) as u64,
    controls: &[
        Control::World(WAKE_UP_LOST),
        Control::Planted(Fault::LockDropsAWaitedEntry),
        Control::Planted(Fault::LockOrderInverted),
        Control::Planted(Fault::LockKeepsItsEntry),
        Control::Planted(Fault::TurnDropsAWaitedPlace),
        Control::Planted(Fault::SessionTrustsItsHandle),
        Control::Planted(Fault::SessionEndsUnderItsCalls),
    ],
    // Each scenario by each scheduler, ten times.
    control_size: (SCENARIOS.len() * SCHEDULERS.len() * 10) as u64,
    prove,
};

/// The control in which a wait that is given up takes the turn with it that it was just given.
const WAKE_UP_LOST: &str = "wake-up-lost";

/// How many orders of steps a case tries.
const ORDERS: usize = 100;

/// How many changes of priority an order of the second scheduler has, and one.
const DEPTH: usize = 4;

/// More steps than any order has that comes to an end.
const MAX_STEPS: usize = 20_000;

/// A few callers on a table. It panics when something is not as promised, and hangs on a deadlock or a lost wake-up,
/// which the scheduler sees.
struct Scenario {
    name: &'static str,
    play: fn(),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a target has one turn", play: turn::a_target_has_one_turn },
    Scenario { name: "targets do not wait for each other", play: turn::targets_do_not_wait_for_each_other },
    Scenario { name: "waiters give up", play: turn::waiters_give_up },
    Scenario { name: "a place has one turn", play: turn::a_place_has_one_turn },
    Scenario { name: "waiters give up their place", play: turn::waiters_give_up_their_place },
    Scenario { name: "a session is closed under calls", play: session::closed_under_calls },
    Scenario { name: "a session is closed twice", play: session::closed_twice },
    Scenario { name: "calls and closes are given up", play: session::given_up },
    Scenario { name: "a session expires under calls", play: session::expires_under_calls },
    Scenario { name: "a session is closed at another server", play: session::closed_at_another_server },
    Scenario { name: "only so many sessions are open", play: session::only_so_many },
];

/// How an order of steps is drawn.
#[derive(Clone, Copy)]
enum Drawn {
    Random,
    ByPriority,
}

const SCHEDULERS: &[Drawn] = &[Drawn::Random, Drawn::ByPriority];

fn prove(task: &Task) -> Found {
    sync::lose_wake_ups(task.has_world(WAKE_UP_LOST));
    sweep(task, |seed| {
        // The remainders are small.
        let kind = usize::try_from(seed % (SCENARIOS.len() * SCHEDULERS.len()) as u64).unwrap();
        let (scenario, scheduler) =
            (&SCENARIOS[kind / SCHEDULERS.len()], SCHEDULERS[kind % SCHEDULERS.len()]);
        match scheduler {
            Drawn::Random => case(scenario, "at random", RandomScheduler::new_from_seed(seed, ORDERS)),
            Drawn::ByPriority => {
                case(scenario, "by priority", PctScheduler::new_from_seed(seed, DEPTH, ORDERS))
            }
        }
    })
}

fn case(scenario: &Scenario, drawn: &str, scheduler: impl Scheduler + 'static) -> Case {
    let mut config = Config::new();
    // The seed of the case repeats it.
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    let runner = Runner::new(scheduler, config);
    let played = panic::catch_unwind(AssertUnwindSafe(|| runner.run(scenario.play)));
    let steps = ORDERS as u64;
    let facts = vec![(format!("{}, {drawn}", scenario.name), steps)];
    let violation = played.err().map(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        format!("{}, {drawn}: {message}", scenario.name)
    });
    Case { steps, violation, facts }
}
