//! A case on its way: rounds of a read, acts of others, and a change; each answer is judged by the model.

use std::collections::BTreeMap;

use fastrand::Rng;
use toolfs_core::argument::RawCall;
use toolfs_core::id::SessionId;
use toolfs_core::outcome::{Outcome, ReadOutcome, ToolResult};

use super::act::Act;
use super::call::{Change, check_lines, ending, write_call};
use super::content::{Contents, Size};
use super::file::File;
use super::model::{Content, Seen, Verdict, Violation, Wrong, judge};
use super::place::Place;
use super::repository::Repository;
use super::world::{End, Plan, Store, World};
use crate::tree::{litter, rescued};

const FILES: usize = 2;
const SESSIONS: usize = 2;

/// A case on its way.
#[derive(Debug)]
pub(super) struct History {
    world: World,
    contents: Contents,
    files: Vec<File>,
    sessions: Vec<SessionId>,
    /// What each session saw of each file.
    seen: Vec<Vec<Seen>>,
    repository: Option<Repository>,
    /// Whether a version that is told has to be that of a content.
    pub(super) versions_are_told: bool,
    /// What happened.
    pub(super) told: Vec<String>,
    pub(super) facts: BTreeMap<&'static str, u64>,
}

impl History {
    pub(super) fn begin(
        rng: &mut Rng,
        place: &Place,
        plan: Plan,
        has_git: bool,
    ) -> Result<History, Violation> {
        let size = Size::draw(rng);
        let mut contents = Contents::of(size);
        let world = World::new(place, plan)?;
        let mut files = Vec::new();
        for number in 0..FILES {
            files.push(File::new(&world.root(), number, contents.draw(rng), plan.servers)?);
        }
        let repository = if has_git && size != Size::Streamed && rng.u32(..60) == 0 {
            let others: Vec<Vec<u8>> =
                files.iter().map(|file| contents.of_same_size(&file.now.bytes)).collect();
            let change = || {
                for (file, other) in files.iter().zip(&others) {
                    std::fs::write(&file.path, other).unwrap();
                }
            };
            Some(Repository::new(&world.root(), change)?)
        } else {
            None
        };
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(world.open_session()?);
        }
        let seen = vec![vec![Seen::default(); FILES]; SESSIONS];
        let mut history = History {
            world,
            contents,
            files,
            sessions,
            seen,
            repository,
            versions_are_told: true,
            told: vec![format!("{size:?} files")],
            facts: BTreeMap::new(),
        };
        history.count(if plan.servers > 1 {
            "histories with two servers"
        } else {
            "histories with one server"
        });
        if history.repository.is_some() {
            history.count("histories in a repository");
        }
        Ok(history)
    }

    pub(super) fn run(&mut self, rng: &mut Rng) -> Result<(), Violation> {
        for _ in 0..rng.usize(2..=6) {
            let (session, server) = (rng.usize(..SESSIONS), rng.usize(..self.world.plan.servers));
            let file = rng.usize(..FILES);
            if rng.u32(..10) < 8 {
                self.read(rng, server, session, file)?;
            }
            if rng.u32(..8) == 0 && !self.files[file].is_mapped() {
                self.store_without_a_trace(rng, server, session, file)?;
            } else {
                self.act_some_times(rng, file)?;
            }
            if rng.u32(..12) == 0 {
                self.restart(if rng.bool() { End::Drained } else { End::Killed })?;
            }
            // Another session or server may come first, or read once more.
            if rng.u32(..6) == 0 {
                let server = rng.usize(..self.world.plan.servers);
                let session = rng.usize(..SESSIONS);
                self.read(rng, server, session, file)?;
            }
            let server = if rng.u32(..3) == 0 { rng.usize(..self.world.plan.servers) } else { server };
            let change = self.draw_change(rng, session, server, file);
            self.change(rng, change)?;
        }
        for file in 0..FILES {
            self.act(rng, file, Act::LetGo)?;
        }
        self.compare_files()?;
        let left: Vec<_> =
            litter(&self.world.root()).into_iter().chain(rescued(&self.world.root())).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} were left").into()) }
    }

    /// The first store into a page moves a time stamp where a disk is behind it; those that follow move none.
    fn store_without_a_trace(
        &mut self,
        rng: &mut Rng,
        server: usize,
        session: usize,
        file: usize,
    ) -> Result<(), Violation> {
        self.act(rng, file, Act::Store { flush: false })?;
        self.read(rng, server, session, file)?;
        self.act(rng, file, Act::Store { flush: false })?;
        if rng.bool() {
            self.read(rng, server, session, file)?;
        }
        self.act(rng, file, Act::LetGo)
    }

    /// Nothing to several acts.
    fn act_some_times(&mut self, rng: &mut Rng, file: usize) -> Result<(), Violation> {
        for _ in 0..rng.usize(..=4) {
            let file = if rng.u32(..8) == 0 { rng.usize(..FILES) } else { file };
            let act = if self.files[file].is_mapped() {
                Act::draw_while_mapped(rng)
            } else {
                Act::draw(rng, self.repository.is_some() && self.files.iter().all(|file| !file.is_mapped()))
            };
            self.act(rng, file, act)?;
        }
        // Most mappings do not live until the next call.
        if self.files[file].is_mapped() && rng.u32(..3) > 0 {
            self.act(rng, file, Act::LetGo)?;
        }
        Ok(())
    }

    fn count(&mut self, fact: &'static str) {
        *self.facts.entry(fact).or_default() += 1;
    }

    fn act(&mut self, rng: &mut Rng, index: usize, act: Act) -> Result<(), Violation> {
        let file = &mut self.files[index];
        self.told.push(format!("{act:?} of {}", file.name));
        file.suffer(act, rng, &mut self.contents, self.repository.as_ref())?;
        self.count(act.counts_as());
        // Git may have worked on all of them.
        self.files.iter_mut().try_for_each(File::look)
    }

    fn restart(&mut self, end: End) -> Result<(), Violation> {
        self.told.push(format!("{end:?}"));
        self.count("restarts");
        self.world.restart(end)?;
        for file in &mut self.files {
            // What passes learned went with the server.
            (0..self.world.plan.servers).for_each(|server| file.forget_at(server));
        }
        if end == End::Killed && self.world.plan.store != Store::Memory {
            self.seen.iter_mut().flatten().for_each(|seen| seen.may_be_lost = true);
        }
        Ok(())
    }

    fn read(&mut self, rng: &mut Rng, server: usize, session: usize, index: usize) -> Result<(), Violation> {
        let lines =
            i64::try_from(self.files[index].now.bytes.split(|byte| *byte == b'\n').count()).unwrap_or(1);
        let offset = if rng.bool() { 1 } else { rng.i64(1..lines.max(2)) };
        self.told.push(format!("session {session} reads {} by {server}", self.files[index].name));
        self.count("reads");
        let file_path = Some(self.files[index].name.clone());
        let call = RawCall::Read { file_path, offset: Some(offset), limit: Some(3) };
        let answer = self.world.call(server, &self.sessions[session], call, false)?;
        let ToolResult::Done(Outcome::Read(outcome)) = answer else {
            return Err(format!("a read was answered {answer:?}").into());
        };
        let content = self.content_told(server, index, &outcome)?;
        self.seen[session][index] = Seen { content: Some(content), may_be_lost: false };
        self.compare_files()
    }

    /// The content that a read told: what is there, or what was there before somebody stored into a mapping.
    fn content_told(
        &mut self,
        server: usize,
        index: usize,
        outcome: &ReadOutcome,
    ) -> Result<Content, Violation> {
        let file = &self.files[index];
        if !self.versions_are_told {
            return Ok(file.now.clone());
        }
        if outcome.version == file.now.version {
            check_lines(&file.now, outcome)?;
            return Ok(file.now.clone());
        }
        match file.remembered_at(server, &outcome.version) {
            Some(content) => {
                self.count("reads that missed a store through a mapping");
                Ok(content)
            }
            None => Err(format!("a read told a version that `{}` has not", file.name).into()),
        }
    }

    fn draw_change(&mut self, rng: &mut Rng, session: usize, server: usize, file: usize) -> Change {
        let seen = &self.seen[session][file].content;
        let base = seen.clone().unwrap_or_else(|| self.files[file].now.clone());
        let dry_run = rng.u32(..12) == 0;
        if rng.bool() {
            let leaves = Content::new(self.contents.draw(rng));
            let call = write_call(&self.files[file].name, &leaves);
            return Change { session, server, file, call, dry_run, leaves };
        }
        let new = self.contents.next_stamp();
        let call = RawCall::Edit {
            file_path: Some(self.files[file].name.clone()),
            old_string: Some(base.stamp()),
            new_string: Some(new.clone()),
            replace_all: None,
        };
        Change { session, server, file, call, dry_run, leaves: base.with_stamp(&new) }
    }

    fn change(&mut self, rng: &mut Rng, change: Change) -> Result<(), Violation> {
        match self.try_to_change(&change)? {
            Verdict::Landed => Ok(()),
            Verdict::Stale | Verdict::NotObserved if self.files[change.file].is_mapped() => Ok(()),
            Verdict::NotObserved => {
                self.read(rng, change.server, change.session, change.file)?;
                // What it was told may be remembered, which the guard finds.
                let again = self.again(rng, &change);
                self.change(rng, again)
            }
            Verdict::Stale => {
                self.count("refusals that a read cured");
                self.read(rng, change.server, change.session, change.file)?;
                if self.seen[change.session][change.file].content.as_ref()
                    != Some(&self.files[change.file].now)
                {
                    let text = "the read after a refusal told what is not there".to_owned();
                    return Err(Violation { wrong: Wrong::FalseAlarm, text });
                }
                let again = self.again(rng, &change);
                self.expect_landing(&again)
            }
            Verdict::Unavailable => {
                // Who has it mapped may still change it, and that shows under its name.
                if rng.bool() {
                    self.act(rng, change.file, Act::Store { flush: false })?;
                    self.act(rng, change.file, Act::LetGo)?;
                    return self.change(rng, change);
                }
                self.act(rng, change.file, Act::LetGo)?;
                self.count("refusals that the end of a mapping cured");
                self.expect_landing(&change)
            }
        }
    }

    /// Another change of the same file by the same session, which takes effect.
    fn again(&mut self, rng: &mut Rng, change: &Change) -> Change {
        let again = self.draw_change(rng, change.session, change.server, change.file);
        Change { dry_run: false, ..again }
    }

    fn expect_landing(&mut self, change: &Change) -> Result<(), Violation> {
        match self.try_to_change(change)? {
            Verdict::Landed => Ok(()),
            Verdict::Stale | Verdict::NotObserved | Verdict::Unavailable => Err(Violation {
                wrong: Wrong::FalseAlarm,
                text: "it was refused again although nothing happened since".to_owned(),
            }),
        }
    }

    fn try_to_change(&mut self, change: &Change) -> Result<Verdict, Violation> {
        let Change { session, server, file, dry_run, .. } = *change;
        let tool = if matches!(change.call, RawCall::Write { .. }) { "writes" } else { "edits" };
        let dry = if dry_run { ", for a try" } else { "" };
        self.told.push(format!("session {session} {tool} {} by {server}{dry}", self.files[file].name));
        let answer = self.world.call(server, &self.sessions[session], change.call.clone(), dry_run)?;
        let (code, version) = ending(&answer)?;
        let is_mapped = self.files[file].is_mapped();
        let verdict = judge(&self.seen[session][file], &self.files[file].now, is_mapped, dry_run, code)?;
        match verdict {
            Verdict::Landed => {
                self.count("changes that landed");
                if self.versions_are_told && version != Some(&change.leaves.version) {
                    return Err("a change told another version than it left".to_owned().into());
                }
                self.seen[session][file].may_be_lost = false;
                if !dry_run {
                    self.files[file].land(change.leaves.clone())?;
                    self.seen[session][file].content = Some(change.leaves.clone());
                }
            }
            Verdict::Stale => {
                self.count("refusals as stale");
                self.seen[session][file].may_be_lost = false;
                // A guard that fails makes its server forget.
                self.files[file].forget_at(server);
            }
            Verdict::NotObserved => {
                self.count("refusals as unseen");
                self.seen[session][file] = Seen::default();
            }
            Verdict::Unavailable => {
                self.count("refusals as open for writing");
                self.seen[session][file].may_be_lost = false;
            }
        }
        self.compare_files()?;
        Ok(verdict)
    }

    fn compare_files(&self) -> Result<(), Violation> {
        self.files.iter().try_for_each(File::compare)
    }
}
