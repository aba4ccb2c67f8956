//! An attacker that swaps what a path leads through, without a pause, until it is told to stop.
//!
//! It works on `a/b/f` below a root. Where it puts links, they lead to canaries: at the leaf to `outside/f`, at the
//! parent to `outside/b`, at the grandparent to `outside/a`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use rustix::fs::{CWD, RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use super::ground::{Ground, INSIDE};

/// Which part of the path is swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Leaf,
    Parent,
    Grandparent,
}

/// How it is swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A link out changes places with it in one step.
    Exchange,
    /// It is renamed away and a link out is renamed to its name, so that the name is free in between.
    Rename,
    /// A directory, a link out and a file take turns, each in one step.
    Rotate,
    /// It is moved out of the root and back.
    MoveOut,
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) part: Part,
    pub(crate) way: Way,
    /// Whether links are relative.
    pub(crate) is_relative: bool,
}

impl Swap {
    pub(crate) fn draw(rng: &mut Rng) -> Swap {
        let part = [Part::Leaf, Part::Parent, Part::Grandparent][rng.usize(..3)];
        let way = match (rng.u32(..6), part) {
            (0..2, _) => Way::Exchange,
            (2, _) => Way::Rename,
            (3, _) => Way::Rotate,
            (_, Part::Leaf) => Way::Exchange,
            (_, Part::Parent | Part::Grandparent) => Way::MoveOut,
        };
        Swap { part, way, is_relative: rng.bool() }
    }
}

/// What is counted while an attacker works.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How often it swapped.
    pub(crate) swaps: AtomicU64,
    /// Odd while the directory is outside, even while it is inside; even for other ways.
    pub(crate) moves: AtomicU64,
}

/// An attacker on a ground.
#[derive(Debug)]
pub(crate) struct Attacker {
    swap: Swap,
    /// What is swapped.
    target: PathBuf,
    /// Where that is while something else has its name.
    aside: PathBuf,
    link: PathBuf,
    /// The link's text.
    text: PathBuf,
    file: PathBuf,
    away: PathBuf,
}

/// Where the directory is that was moved out, below the base.
pub(crate) const AWAY: &str = "away";
/// Where what was put in its place is kept, below the base.
pub(crate) const HEAP: &str = "heap";

impl Attacker {
    /// Lays out what it needs.
    pub(crate) fn new(swap: Swap, ground: &Ground) -> Attacker {
        let (target, outside) = match swap.part {
            Part::Leaf => ("a/b/f", "outside/f"),
            Part::Parent => ("a/b", "outside/b"),
            Part::Grandparent => ("a", "outside/a"),
        };
        // Beside the target, so that a relative link means the same in both places.
        let beside = |name: &str| ground.root.join(target).with_file_name(name);
        let (link, file) = (beside("link"), beside("file"));
        let up = "../".repeat(Path::new(target).components().count());
        let text = if swap.is_relative { PathBuf::from(up).join(outside) } else { ground.base.join(outside) };
        fs::create_dir_all(ground.root.join("a/b")).unwrap();
        fs::write(ground.root.join("a/b/f"), INSIDE).unwrap();
        symlink(&text, &link).unwrap();
        fs::write(&file, INSIDE).unwrap();
        fs::create_dir(ground.base.join(AWAY)).unwrap();
        fs::create_dir(ground.base.join(HEAP)).unwrap();
        Attacker {
            swap,
            target: ground.root.join(target),
            aside: beside("aside"),
            link,
            text,
            file,
            away: ground.base.join(AWAY).join("moved"),
        }
    }

    /// Swaps until `stop`, and leaves everything in its place.
    pub(crate) fn run(&self, ground: &Ground, stop: &AtomicBool, progress: &Progress, rng: &mut Rng) {
        while !stop.load(Ordering::Relaxed) {
            match self.swap.way {
                Way::Exchange => {
                    exchange(&self.target, &self.link);
                    pause(rng);
                    exchange(&self.target, &self.link);
                }
                Way::Rename => self.rename(ground, progress, rng),
                Way::Rotate => {
                    for other in [&self.link, &self.file, &self.file, &self.link] {
                        exchange(&self.target, other);
                        pause(rng);
                    }
                }
                Way::MoveOut => self.move_out(ground, progress, rng),
            }
            self.renew_link();
            progress.swaps.fetch_add(1, Ordering::Relaxed);
            pause(rng);
        }
    }

    fn rename(&self, ground: &Ground, progress: &Progress, rng: &mut Rng) {
        rename(&self.target, &self.aside);
        pause(rng);
        self.take_place(&self.link, ground, progress);
        pause(rng);
        rename(&self.target, &self.link);
        pause(rng);
        self.take_place(&self.aside, ground, progress);
    }

    fn move_out(&self, ground: &Ground, progress: &Progress, rng: &mut Rng) {
        rename(&self.target, &self.away);
        // Said only while it is outside: whoever sees one odd number twice knows that it was there all the time.
        progress.moves.fetch_add(1, Ordering::SeqCst);
        pause(rng);
        progress.moves.fetch_add(1, Ordering::SeqCst);
        self.take_place(&self.away, ground, progress);
    }

    /// A call that is refused puts back what it displaced, but where this attacker moved meanwhile it keeps a link
    /// under a rescue name, or leaves its own file in this place.
    fn renew_link(&self) {
        if fs::symlink_metadata(&self.link).unwrap().is_symlink() {
            return;
        }
        let new = self.link.with_file_name("new-link");
        symlink(&self.text, &new).unwrap();
        rename(&new, &self.link);
    }

    /// Renames `from` to the target's name. What a call made there meanwhile goes on the heap.
    fn take_place(&self, from: &Path, ground: &Ground, progress: &Progress) {
        loop {
            match renameat_with(CWD, from, CWD, &self.target, RenameFlags::NOREPLACE) {
                Ok(()) => return,
                Err(Errno::EXIST) => {
                    let number = progress.swaps.fetch_add(1, Ordering::Relaxed);
                    // It may be gone again: a call removes the directories that it made in vain.
                    let _ = renameat(CWD, &self.target, CWD, ground.base.join(HEAP).join(number.to_string()));
                }
                Err(cause) => panic!("`{}` takes no place: {cause}", from.display()),
            }
        }
    }
}

/// Leaves a call time to get through a part of its way, or all of it.
fn pause(rng: &mut Rng) {
    match rng.u32(..32) {
        0 => std::thread::sleep(Duration::from_micros(rng.u64(20..200))),
        1..6 => std::thread::yield_now(),
        6..16 => (0..rng.u32(..2_000)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

fn rename(from: &Path, to: &Path) {
    renameat(CWD, from, CWD, to).unwrap();
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}
