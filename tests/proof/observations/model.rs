//! The promise as a model: files, and what each session may know of them.
//!
//! A session knows one thing of a file, until a crash: then it may know anything that was not certainly written since.

use toolfs_core::error::Code;

use super::step::{Call, FILES, SESSIONS};

/// What the gate holds of a file for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Unseen,
    Absent,
    Present(Vec<u8>),
}

/// What a call ends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The code of its refusal; `None` when it works.
    pub(crate) code: Option<Code>,
    /// The content that it leaves; `None`: the one that was there.
    pub(crate) content: Option<Vec<u8>>,
    /// What its session observes; `None`: nothing.
    pub(crate) observed: Option<Seen>,
}

/// What a call ends in, for a session that holds `seen` of a file with the content `there`.
pub(crate) fn judge(call: &Call, seen: &Seen, there: Option<&[u8]>) -> Ending {
    match call {
        Call::Read { offset } => judge_read(*offset, there),
        Call::Write(content) => match seen {
            Seen::Unseen | Seen::Absent if there.is_some() => refused(Code::NotObserved),
            Seen::Present(seen) if there != Some(seen) => refused(Code::StaleVersion),
            Seen::Unseen | Seen::Absent | Seen::Present(_) => published(content.to_vec()),
        },
        Call::Edit { old, new, all } => match seen {
            Seen::Unseen => refused(Code::NotObserved),
            Seen::Absent => refused(Code::NotFound),
            Seen::Present(seen) if there != Some(seen) => refused(Code::StaleVersion),
            Seen::Present(seen) => judge_edit(seen, old, new, *all),
        },
    }
}

fn judge_read(offset: usize, there: Option<&[u8]>) -> Ending {
    let Some(content) = there else {
        return Ending { observed: Some(Seen::Absent), ..refused(Code::NotFound) };
    };
    if content.contains(&0) {
        return refused(Code::NotText);
    }
    // An empty file can be read from its first line.
    if offset > content.split_inclusive(|byte| *byte == b'\n').count().max(1) {
        return refused(Code::OutOfRange);
    }
    Ending { code: None, content: None, observed: Some(Seen::Present(content.to_vec())) }
}

/// The strings of the steps never overlap with themselves.
fn judge_edit(content: &[u8], old: &str, new: &str, all: bool) -> Ending {
    let text = std::str::from_utf8(content).expect("only text is ever observed");
    match text.matches(old).count() {
        0 => refused(Code::EditNotFound),
        1 => published(text.replace(old, new).into_bytes()),
        _ if all => published(text.replace(old, new).into_bytes()),
        _ => refused(Code::AmbiguousEdit),
    }
}

fn refused(code: Code) -> Ending {
    Ending { code: Some(code), content: None, observed: None }
}

fn published(content: Vec<u8>) -> Ending {
    Ending { code: None, observed: Some(Seen::Present(content.clone())), content: Some(content) }
}

/// What a session may hold of one file.
#[derive(Clone, Debug)]
struct Knowledge {
    /// One thing, or several after a crash.
    possible: Vec<Seen>,
    /// When the newest of it was observed or forgotten.
    order: u64,
    /// What was replaced since it was certainly written: a crash may bring it back.
    replaced: Vec<Seen>,
}

impl Knowledge {
    fn nothing() -> Knowledge {
        Knowledge { possible: vec![Seen::Unseen], order: 0, replaced: Vec::new() }
    }
}

/// Files and sessions.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) files: [Option<Vec<u8>>; FILES.len()],
    knowledge: [[Knowledge; FILES.len()]; SESSIONS],
    order: u64,
}

impl Model {
    pub(crate) fn new() -> Model {
        let nobody = || std::array::from_fn(|_| Knowledge::nothing());
        Model { files: Default::default(), knowledge: std::array::from_fn(|_| nobody()), order: 0 }
    }

    pub(crate) fn there(&self, file: usize) -> Option<&[u8]> {
        self.files[file].as_deref()
    }

    /// A place in time, later than all before.
    pub(crate) fn now(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// What a call may end in: one thing, or several after a crash. Without a session nothing was seen.
    pub(crate) fn endings(&self, session: Option<usize>, file: usize, call: &Call) -> Vec<Ending> {
        let there = self.there(file);
        match session {
            None => vec![judge(call, &Seen::Unseen, there)],
            Some(session) => {
                let possible = &self.knowledge[session][file].possible;
                possible.iter().map(|seen| judge(call, seen, there)).collect()
            }
        }
    }

    /// Drops what a session cannot hold, given what its call ended in.
    pub(crate) fn learn(&mut self, session: usize, file: usize, call: &Call, code: Option<Code>) {
        let there = self.files[file].clone();
        let possible = &mut self.knowledge[session][file].possible;
        possible.retain(|seen| judge(call, seen, there.as_deref()).code == code);
    }

    /// A session observed something at a time; the newest stays.
    pub(crate) fn observe(&mut self, session: usize, file: usize, seen: Seen, order: u64) {
        let knowledge = &mut self.knowledge[session][file];
        if order > knowledge.order {
            let replaced = std::mem::replace(&mut knowledge.possible, vec![seen]);
            knowledge.replaced.extend(replaced);
            knowledge.order = order;
        }
    }

    /// A session forgot a file, for good.
    pub(crate) fn forget(&mut self, session: usize, file: usize) {
        let order = self.now();
        self.knowledge[session][file] = Knowledge { order, ..Knowledge::nothing() };
    }

    pub(crate) fn forget_all(&mut self, session: usize) {
        for file in 0..FILES.len() {
            self.forget(session, file);
        }
    }

    /// Everything was written.
    pub(crate) fn settle(&mut self) {
        for knowledge in self.knowledge.as_flattened_mut() {
            knowledge.replaced.clear();
        }
    }

    /// What was not certainly written may be lost, and what it replaced be there again.
    pub(crate) fn crash(&mut self) {
        for knowledge in self.knowledge.as_flattened_mut() {
            knowledge.possible.append(&mut knowledge.replaced);
        }
    }
}
