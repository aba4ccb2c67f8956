//! The promise: what a session saw and is there still can be changed, and what it did not see is never overwritten.
//!
//! A case is a random history: sessions read files, somebody else does to the files what leaves their content alone, or
//! changes it without a trace, and then a session writes or edits under the guard of what it saw. Content alone decides
//! whether that has to land. A store through a shared mapping may go unnoticed by a read; then one refusal is right,
//! after which a read and a second try have to do. While the mapping lives nobody may replace the file.
//! Deliberately absent: acts in the middle of a call, which `foreign-writer` is about.

mod act;
mod content;
mod hand;
mod mapping;
mod model;
mod place;
mod repository;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;

use fastrand::Rng;
use toolfs_core::argument::RawCall;
use toolfs_core::error::Code;
use toolfs_core::id::SessionId;
use toolfs_core::outcome::{Outcome, ReadOutcome, ToolResult};
use toolfs_core::planted::Fault;
use toolfs_core::version::Version;

use self::act::Act;
use self::content::{Contents, Size};
use self::mapping::Mapping;
use self::model::{Content, Seen, Verdict, Violation, Wrong, judge};
use self::place::{Place, Places};
use self::repository::Repository;
use self::world::{End, Plan, Store, World};
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep_on};
use crate::tree::{litter, rescued};

pub(crate) const PROMISE: Promise = Promise {
    name: "no-false-alarm",
    says: "the content that a session saw decides whether its change lands, and nothing else",
    full_size: 20_000,
    controls: &[
        Control::World(METADATA_ALARMS),
        Control::World(METADATA_OVERWRITES),
        Control::Planted(Fault::GuardTrustsThePass),
    ],
    control_size: 4_000,
    prove,
};

/// Versions that are metadata: they have to be found as false alarms, and as blind overwrites.
const METADATA_ALARMS: &str = "version-is-metadata:false-alarm";
const METADATA_OVERWRITES: &str = "version-is-metadata:blind-overwrite";

const FILES: usize = 2;
const SESSIONS: usize = 2;

/// A writer that holds a file open is waited for, so more cases than processors are on their way.
const CASES_PER_PROCESSOR: usize = 3;

fn prove(task: &Task) -> Found {
    let wanted = match () {
        () if task.has_world(METADATA_ALARMS) => Some(Wrong::FalseAlarm),
        () if task.has_world(METADATA_OVERWRITES) => Some(Wrong::BlindOverwrite),
        () => None,
    };
    if wanted.is_some() {
        Fault::VersionIsMetadata.plant();
    }
    let places = Places::find();
    let no_git = repository::missing();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut found = sweep_on(threads * CASES_PER_PROCESSOR, task, |seed| {
        let mut rng = Rng::with_seed(seed);
        let place = places.pick(&mut rng);
        let plan = Plan::draw(&mut rng, place);
        let mut history = match History::begin(&mut rng, place, plan, no_git.is_none()) {
            Ok(history) => history,
            Err(violation) => return Case { steps: 0, violation: Some(violation.text), ..Case::default() },
        };
        // Versions that are no hashes are told to nobody.
        history.versions_are_told = wanted.is_none();
        let ended = history.run(&mut rng);
        let violation = ended.err().filter(|violation| wanted.is_none_or(|wanted| wanted == violation.wrong));
        let violation = violation.map(|violation| {
            let steps = history.told.join(", ");
            format!("{:?}: {}, on {}, {plan:?}: {steps}", violation.wrong, violation.text, place.name)
        });
        let facts = history.facts.into_iter().map(|(fact, count)| (fact.to_owned(), count)).collect();
        Case { steps: history.told.len() as u64, violation, facts }
    });
    for reason in places.skipped.into_iter().chain(no_git) {
        found.skip(reason);
    }
    found
}

/// A file, and what the model knows of it.
#[derive(Debug)]
struct File {
    name: String,
    path: PathBuf,
    now: Content,
    /// What was there before, for whoever brings it back.
    before: Vec<Content>,
    mapping: Option<Mapping>,
    /// What its other name holds, if it has one.
    link: Option<Content>,
    /// For each server, what a read there may tell instead of what is there: since then only a mapping was stored to.
    remembered: Vec<Vec<Content>>,
}

/// A case on its way.
struct History {
    world: World,
    contents: Contents,
    files: Vec<File>,
    sessions: Vec<SessionId>,
    /// What each session saw of each file.
    seen: Vec<Vec<Seen>>,
    repository: Option<Repository>,
    versions_are_told: bool,
    told: Vec<String>,
    facts: BTreeMap<&'static str, u64>,
}

/// A change that a session asks for.
#[derive(Clone, Debug)]
struct Change {
    session: usize,
    server: usize,
    file: usize,
    call: RawCall,
    dry_run: bool,
    /// What it leaves when it lands.
    leaves: Content,
}

impl History {
    fn begin(rng: &mut Rng, place: &Place, plan: Plan, has_git: bool) -> Result<History, Violation> {
        let size = Size::draw(rng);
        let mut contents = Contents::of(size);
        let world = World::new(place, plan)?;
        let mut files = Vec::new();
        for number in 0..FILES {
            let name = format!("file-{number}");
            let path = world.root().join(&name);
            let now = Content::new(contents.draw(rng));
            std::fs::write(&path, &now.bytes)?;
            let remembered = vec![Vec::new(); plan.servers];
            files.push(File { name, path, now, before: Vec::new(), mapping: None, link: None, remembered });
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

    fn run(&mut self, rng: &mut Rng) -> Result<(), Violation> {
        for _ in 0..rng.usize(2..=6) {
            let (session, server) = (rng.usize(..SESSIONS), rng.usize(..self.world.plan.servers));
            let file = rng.usize(..FILES);
            if rng.u32(..10) < 8 {
                self.read(rng, server, session, file)?;
            }
            if rng.u32(..8) == 0 && self.files[file].mapping.is_none() {
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
            self.files[file].mapping = None;
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
            let act = if self.files[file].mapping.is_some() {
                Act::draw_while_mapped(rng)
            } else {
                Act::draw(
                    rng,
                    self.repository.is_some() && self.files.iter().all(|file| file.mapping.is_none()),
                )
            };
            self.act(rng, file, act)?;
        }
        // Most mappings do not live until the next call.
        if self.files[file].mapping.is_some() && rng.u32(..3) > 0 {
            self.act(rng, file, Act::LetGo)?;
        }
        Ok(())
    }

    fn count(&mut self, fact: &'static str) {
        *self.facts.entry(fact).or_default() += 1;
    }

    fn act(&mut self, rng: &mut Rng, index: usize, act: Act) -> Result<(), Violation> {
        self.told.push(format!("{act:?} of {}", self.files[index].name));
        self.count(named(act));
        let now = self.files[index].now.clone();
        let path = self.files[index].path.clone();
        let mut leaves_no_stamp = false;
        match act {
            Act::Touch(moment) => hand::touch(&path, moment, rng)?,
            Act::ChangeMode => hand::change_mode(&path, rng)?,
            Act::ChangeOwner => drop(hand::change_owner(&path, rng)?),
            Act::SetAttribute => drop(hand::set_attribute(&path, rng)?),
            Act::RemoveAttribute => drop(hand::remove_attribute(&path)?),
            Act::Link => {
                if self.files[index].link.is_none() {
                    std::fs::hard_link(&path, hand::link_of(&path))?;
                    self.files[index].link = Some(now.clone());
                }
            }
            Act::Unlink => {
                if self.files[index].link.take().is_some() {
                    std::fs::remove_file(hand::link_of(&path))?;
                }
            }
            Act::RewriteSame(way) => hand::put(&path, &now.bytes, way)?,
            Act::ThereAndBack(way) => {
                hand::put(&path, &self.contents.draw(rng), way)?;
                hand::put(&path, &now.bytes, way)?;
            }
            Act::MoveAwayAndBack => hand::move_away_and_back(&path, &self.contents.draw(rng))?,
            Act::CutAndRestore => hand::cut_and_restore(&path, rng)?,
            Act::Rewrite(way) => hand::put(&path, &self.contents.draw(rng), way)?,
            Act::RewriteUnseen(way) => {
                hand::put_unseen(&path, &self.contents.of_same_size(&now.bytes), way)?;
            }
            Act::Return(way) => {
                let before = &self.files[index].before;
                if !before.is_empty() {
                    let content = before[rng.usize(..before.len())].clone();
                    hand::put(&path, &content.bytes, way)?;
                }
            }
            Act::Store { flush } => {
                leaves_no_stamp = true;
                let stored = self.contents.next_stamp();
                self.store(index, &stored, flush)?;
            }
            Act::StoreSame => {
                leaves_no_stamp = true;
                self.store(index, &now.stamp(), false)?;
            }
            Act::LetGo => {
                leaves_no_stamp = true;
                self.files[index].mapping = None;
            }
            Act::CheckOutAndBack | Act::CheckOutOther | Act::StashAndPop => {
                let repository = self.repository.as_ref().expect("it is drawn in a repository only");
                match act {
                    Act::CheckOutAndBack => repository.check_out_and_back()?,
                    Act::StashAndPop => repository.stash_and_pop()?,
                    _ => repository.check_out_other()?,
                }
                // It may have found nothing to do.
                leaves_no_stamp = true;
            }
        }
        self.look(index, leaves_no_stamp)
    }

    fn store(&mut self, index: usize, stamp: &str, flush: bool) -> Result<(), Violation> {
        let file = &mut self.files[index];
        let mapping = match file.mapping.take() {
            Some(mapping) => mapping,
            None => Mapping::of(&file.path)?,
        };
        let mapping = file.mapping.insert(mapping);
        mapping.store(stamp.as_bytes());
        if flush {
            mapping.flush()?;
        }
        Ok(())
    }

    /// Looks what an act left. Content is what counts, and what the disk holds is what it is.
    fn look(&mut self, acted_on: usize, leaves_no_stamp: bool) -> Result<(), Violation> {
        for (index, file) in self.files.iter_mut().enumerate() {
            let bytes = std::fs::read(&file.path)?;
            if index == acted_on && !leaves_no_stamp {
                file.remembered.iter_mut().for_each(Vec::clear);
            }
            if let Some(link) = &mut file.link {
                *link = Content::new(std::fs::read(hand::link_of(&file.path))?);
            }
            if bytes != *file.now.bytes {
                let before = std::mem::replace(&mut file.now, Content::new(bytes));
                if leaves_no_stamp {
                    file.remembered.iter_mut().for_each(|contents| contents.push(before.clone()));
                }
                file.before.push(before);
            }
        }
        Ok(())
    }

    fn restart(&mut self, end: End) -> Result<(), Violation> {
        self.told.push(format!("{end:?}"));
        self.count("restarts");
        self.world.restart(end)?;
        for file in &mut self.files {
            // What passes learned went with the server.
            file.remembered.iter_mut().for_each(Vec::clear);
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
        let older =
            file.remembered[server].iter().find(|content| content.version == outcome.version).cloned();
        match older {
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
            Verdict::Stale | Verdict::NotObserved if self.files[change.file].mapping.is_none() => {
                self.count("refusals that a read cured");
                self.read(rng, change.server, change.session, change.file)?;
                if self.seen[change.session][change.file].content.as_ref()
                    != Some(&self.files[change.file].now)
                {
                    let text = "the read after a refusal told what is not there".to_owned();
                    return Err(Violation { wrong: Wrong::FalseAlarm, text });
                }
                let again = Change {
                    dry_run: false,
                    ..self.draw_change(rng, change.session, change.server, change.file)
                };
                self.expect_landing(&again)
            }
            Verdict::Stale | Verdict::NotObserved => Ok(()),
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
        let is_mapped = self.files[file].mapping.is_some();
        let verdict = judge(&self.seen[session][file], &self.files[file].now, is_mapped, dry_run, code)?;
        match verdict {
            Verdict::Landed => {
                self.count("changes that landed");
                if self.versions_are_told && version != Some(&change.leaves.version) {
                    return Err("a change told another version than it left".to_owned().into());
                }
                self.seen[session][file].may_be_lost = false;
                if !dry_run {
                    self.land(change);
                }
            }
            Verdict::Stale => {
                self.count("refusals as stale");
                self.seen[session][file].may_be_lost = false;
                // A guard that fails makes its server forget.
                self.files[file].remembered[server].clear();
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

    fn land(&mut self, change: &Change) {
        let file = &mut self.files[change.file];
        let before = std::mem::replace(&mut file.now, change.leaves.clone());
        file.before.push(before);
        file.remembered.iter_mut().for_each(Vec::clear);
        let content = Some(change.leaves.clone());
        self.seen[change.session][change.file] = Seen { content, may_be_lost: false };
    }

    /// Every file, and every other name of one, holds what it has to.
    fn compare_files(&self) -> Result<(), Violation> {
        for file in &self.files {
            let link = file.link.as_ref().map(|content| (hand::link_of(&file.path), content));
            for (path, content) in [(file.path.clone(), &file.now)].into_iter().chain(link) {
                if *std::fs::read(&path)? != *content.bytes {
                    return Err(format!("`{}` does not hold what it has to", path.display()).into());
                }
            }
        }
        Ok(())
    }
}

fn write_call(name: &str, content: &Content) -> RawCall {
    let content = String::from_utf8(content.bytes.to_vec()).expect("contents are text");
    RawCall::Write { file_path: Some(name.to_owned()), content: Some(content) }
}

/// The lines of a read are those of the content whose version it told.
fn check_lines(content: &Content, outcome: &ReadOutcome) -> Result<(), Violation> {
    let text = String::from_utf8_lossy(&content.bytes);
    let start = usize::try_from(outcome.block.first_line()).unwrap_or(1) - 1;
    let told: Vec<&str> = outcome.block.lines().map(|line| line.text).collect();
    let there: Vec<&str> = text.lines().skip(start).take(told.len()).collect();
    if told == there { Ok(()) } else { Err(format!("a read told {told:?}, not {there:?}").into()) }
}

/// The code of a refusal, and the version that a change left.
fn ending(answer: &ToolResult) -> Result<(Option<Code>, Option<&Version>), Violation> {
    match answer {
        ToolResult::Refused(error) => Ok((Some(error.code()), None)),
        ToolResult::Done(Outcome::Write(outcome)) => Ok((None, Some(&outcome.version))),
        ToolResult::Done(Outcome::Edit(outcome)) => Ok((None, Some(&outcome.version))),
        other => Err(format!("a change was answered {other:?}").into()),
    }
}

/// What an act counts as.
fn named(act: Act) -> &'static str {
    match act {
        Act::Touch(_) => "touched",
        Act::ChangeMode | Act::ChangeOwner | Act::SetAttribute | Act::RemoveAttribute => {
            "other metadata changed"
        }
        Act::Link | Act::Unlink => "hard links made or removed",
        Act::RewriteSame(_) => "rewritten with the same bytes",
        Act::ThereAndBack(_) | Act::MoveAwayAndBack | Act::CutAndRestore => "changed and changed back",
        Act::Rewrite(_) => "rewritten",
        Act::RewriteUnseen(_) => "rewritten with the same size and times",
        Act::Return(_) => "brought back to an earlier content",
        Act::Store { .. } | Act::StoreSame => "stored into through a mapping",
        Act::LetGo => "mappings let go",
        Act::CheckOutAndBack | Act::CheckOutOther | Act::StashAndPop => "checked out or stashed by git",
    }
}
