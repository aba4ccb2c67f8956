//! What happens in a case: steps, drawn at random.

use fastrand::Rng;

use super::world::End;

/// The files of a case, beneath the root.
pub(crate) const FILES: [&str; 3] = ["a", "dir/b", "dir/deep/c"];
/// How many sessions a case has.
pub(crate) const SESSIONS: usize = 3;

/// Few contents, so that a file is often what it was before. The last is no text.
const CONTENTS: [&[u8]; 6] = [b"", b"x\n", b"y\n", b"x\ny\n", b"xyx", b"x\0"];
const TEXTS: [&[u8]; 5] = [b"", b"x\n", b"y\n", b"x\ny\n", b"xyx"];

/// A tool call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Read { offset: usize },
    Write(&'static [u8]),
    Edit { old: &'static str, new: &'static str, all: bool },
}

/// What is done in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A call, by a session or without one.
    Call { session: Option<usize>, file: usize, spelling: Spelling, call: Call, dry_run: bool },
    /// A read whose answer takes until the other steps are done.
    SlowRead { session: usize, file: usize, meanwhile: Vec<Step> },
    /// Another hand puts a content there.
    Put { file: usize, content: &'static [u8] },
    /// Another hand removes the file.
    Remove { file: usize },
    /// Another hand moves the time stamp and leaves the content.
    Touch { file: usize },
    /// The session forgets a file, or everything.
    Forget { session: usize, file: Option<usize> },
    /// The session is closed, and another takes its place.
    Reopen { session: usize },
    /// The server ends, and another one goes on.
    Restart(End),
}

/// How a path is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Plain,
    Dotted,
    Absolute,
}

impl Step {
    pub(crate) fn draw(rng: &mut Rng) -> Step {
        let (session, file) = (rng.usize(..SESSIONS), rng.usize(..FILES.len()));
        match rng.u32(..100) {
            0..62 => Step::draw_call(rng, Some(session), file),
            62..65 => Step::draw_call(rng, None, file),
            65..71 => {
                let count = rng.usize(1..=3);
                let meanwhile = (0..count).map(|_| Step::draw_meanwhile(rng, session, file)).collect();
                Step::SlowRead { session, file, meanwhile }
            }
            71..80 => Step::Put { file, content: pick(rng, &CONTENTS) },
            80..84 => Step::Remove { file },
            84..87 => Step::Touch { file },
            87..90 => Step::Forget { session, file: Some(file) },
            90..92 => Step::Forget { session, file: None },
            92..95 => Step::Reopen { session },
            95..97 => Step::Restart(End::Drained),
            _ => Step::Restart(End::Killed),
        }
    }

    fn draw_call(rng: &mut Rng, session: Option<usize>, file: usize) -> Step {
        let spelling = pick(rng, &[Spelling::Plain, Spelling::Dotted, Spelling::Absolute]);
        Step::Call { session, file, spelling, call: Call::draw(rng), dry_run: rng.u32(..10) == 0 }
    }

    /// What the same session, or another hand, does to the same file.
    fn draw_meanwhile(rng: &mut Rng, session: usize, file: usize) -> Step {
        match rng.u32(..10) {
            0..7 => Step::draw_call(rng, Some(session), file),
            7..9 => Step::Put { file, content: pick(rng, &CONTENTS) },
            _ => Step::Forget { session, file: Some(file) },
        }
    }
}

impl Call {
    fn draw(rng: &mut Rng) -> Call {
        match rng.u32(..10) {
            0..4 => Call::Read { offset: pick(rng, &[1, 1, 1, 2, 3]) },
            4..7 => Call::Write(pick(rng, &TEXTS)),
            _ => {
                let (old, new) = pick(rng, &[("x", "y"), ("y", "xx"), ("x\ny", "z"), ("x", ""), ("q", "x")]);
                Call::Edit { old, new, all: rng.bool() }
            }
        }
    }
}

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}
