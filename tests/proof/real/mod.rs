//! The promise: what people really changed can be changed by edits, and the bytes that come out are theirs.
//!
//! A case is a file that was modified: in a commit of this repository, or between two releases of a package. Each hunk
//! becomes an edit call whose `old_string` is made longer line by line until it is unique; the calls go through the
//! executor to the disk, in order or at random, and after each the file is what the hunks so far make of it. In the end
//! it is the newer file, byte by byte. No call may be refused.
//!
//! Deliberately absent: guards that fail and other writers, which other proofs are about.

mod history;
mod hunk;
mod package;
mod pair;
mod replay;

use toolfs_core::planted::Fault;

use self::pair::Gathered;
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Found, Task, sweep_each};

pub(crate) const PROMISE: Promise = Promise {
    name: "real-edits",
    says: "edits make of the older file of a public history the newer one, byte by byte, and none is refused",
    full_size: 2_000,
    controls: &[Control::Planted(Fault::EditEatsTheLastCharacter), Control::World(CONTEXT_NOT_WIDENED)],
    control_size: 200,
    prove,
};

/// The control in which a hunk's text stays as it is, unique or not.
const CONTEXT_NOT_WIDENED: &str = "context-not-widened";

fn prove(task: &Task) -> Found {
    let mut gathered = Gathered::default();
    history::gather(&mut gathered);
    package::gather(&mut gathered);
    let is_widened = !task.has_world(CONTEXT_NOT_WIDENED);
    let mut found =
        sweep_each(task, PROMISE.full_size, &gathered.pairs, |pair| replay::run(pair, is_widened));
    for (kind, count) in gathered.left_out {
        found.count(&format!("left out: {kind}"), count);
    }
    for reason in gathered.missing {
        found.skip(reason);
    }
    found
}
