//! Makes of a file what it became, by calls.

use std::hash::{DefaultHasher, Hash, Hasher};

use fastrand::Rng;
use toolfs_core::argument::RawCall;
use toolfs_core::id::SessionId;
use toolfs_core::outcome::ToolResult;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{Caller, ExecuteRequest};

use super::hunk::{self, Edit, Hunk};
use super::pair::{LineEnds, Pair, has_bom, shown, stored};
use crate::observations::world::{Place, Store, World};
use crate::sweep::Case;

/// What is wrong.
type Violation = String;

pub(crate) fn run(pair: &Pair, is_widened: bool) -> Case {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut replay = Replay::begin(pair, is_widened).await;
        let violation = replay.run().await.err();
        let mut facts: Vec<(String, u64)> =
            replay.facts.into_iter().map(|(fact, count)| (fact.to_owned(), count)).collect();
        facts.push((format!("files, .{}", pair.language), 1));
        facts.push((format!("edits, .{}", pair.language), replay.edits));
        let violation = violation.map(|violation| format!("{}: {violation}", pair.origin));
        Case { steps: replay.calls, violation, facts }
    })
}

/// A file on its way from what it was to what it became.
struct Replay<'a> {
    pair: &'a Pair,
    is_widened: bool,
    world: World,
    session: SessionId,
    calls: u64,
    edits: u64,
    facts: Vec<(&'static str, u64)>,
}

impl<'a> Replay<'a> {
    async fn begin(pair: &'a Pair, is_widened: bool) -> Replay<'a> {
        let world = World::new(Place::Disk, Store::Memory);
        world.put(&pair.name, pair.old.as_bytes());
        let session = world.open().await;
        Replay { pair, is_widened, world, session, calls: 0, edits: 0, facts: Vec::new() }
    }

    async fn run(&mut self) -> Result<(), Violation> {
        let read = RawCall::Read { file_path: Some(self.pair.name.clone()), offset: None, limit: Some(1) };
        self.call(read).await?;
        let (old, new) = (shown(&self.pair.old), shown(&self.pair.new));
        let (old, new) = (hunk::lines(&old), hunk::lines(&new));
        let hunks = hunk::hunks(&old, &new);
        match self.not_by_edits(&old, &hunks) {
            Some(why) => {
                self.facts.push((why, 1));
                let content = self.pair.new.clone();
                self.call(RawCall::Write { file_path: Some(self.pair.name.clone()), content: Some(content) })
                    .await?;
            }
            None => self.edit(&old, &new, &hunks).await?,
        }
        self.compare(self.pair.new.as_bytes(), "the newer file")
    }

    /// Why the newer file is written as a whole. Edits keep what is no part of their texts: a BOM, and line ends.
    fn not_by_edits(&self, old: &[&str], hunks: &[Hunk]) -> Option<&'static str> {
        let (before, after) = (&self.pair.old, &self.pair.new);
        let line_ends = (LineEnds::of(before), LineEnds::of(after));
        if has_bom(before) != has_bom(after) {
            Some("written, since a BOM came or went")
        } else if matches!(line_ends, (LineEnds::Mixed, _) | (_, LineEnds::Mixed)) {
            Some("written, since line ends are mixed")
        } else if matches!(
            line_ends,
            (LineEnds::Lf | LineEnds::None, LineEnds::CrLf) | (LineEnds::CrLf, LineEnds::Lf)
        ) {
            Some("written, since all line ends changed")
        } else if hunks.iter().map(|hunk| hunk.old.len()).sum::<usize>() == old.len() {
            Some("written, since no line stayed")
        } else {
            None
        }
    }

    async fn edit(&mut self, old: &[&str], new: &[&str], hunks: &[Hunk]) -> Result<(), Violation> {
        let line_ends = LineEnds::of(&self.pair.old);
        if line_ends == LineEnds::CrLf {
            self.facts.push(("files with CRLF", 1));
        }
        if has_bom(&self.pair.old) {
            self.facts.push(("files with a BOM", 1));
        }
        let order = self.order(hunks.len());
        let mut current = old.to_vec();
        let mut is_applied = vec![false; hunks.len()];
        for (number, &index) in order.iter().enumerate() {
            let hunk = &hunks[index];
            let start = place(hunks, &is_applied, index);
            let range = start..start + hunk.old.len();
            let edit = hunk::edit(&current, range.clone(), &new[hunk.new.clone()], self.is_widened);
            let told = format!("edit {} of {}, of line {}", number + 1, hunks.len(), start + 1);
            self.facts.push(("lines of context", edit.context as u64));
            self.call(self.edit_call(edit)).await.map_err(|violation| format!("{told}: {violation}"))?;
            self.edits += 1;
            current.splice(range, new[hunk.new.clone()].iter().copied());
            is_applied[index] = true;
            let expected = stored(&current.concat(), has_bom(&self.pair.old), line_ends);
            self.compare(expected.as_bytes(), "what the hunks so far make of it")
                .map_err(|violation| format!("{told}: {violation}"))?;
        }
        self.facts.push(("hunks", hunks.len() as u64));
        Ok(())
    }

    /// From top to bottom, or at random, as the file's origin has it.
    fn order(&self, count: usize) -> Vec<usize> {
        let mut hasher = DefaultHasher::new();
        self.pair.origin.hash(&mut hasher);
        let mut rng = Rng::with_seed(hasher.finish());
        let mut order: Vec<usize> = (0..count).collect();
        if rng.bool() {
            rng.shuffle(&mut order);
        }
        order
    }

    fn edit_call(&self, edit: Edit) -> RawCall {
        RawCall::Edit {
            file_path: Some(self.pair.name.clone()),
            old_string: Some(edit.old_string),
            new_string: Some(edit.new_string),
            replace_all: None,
        }
    }

    async fn call(&mut self, call: RawCall) -> Result<(), Violation> {
        self.calls += 1;
        let request = ExecuteRequest {
            caller: Caller::Local,
            session: Some(self.session.clone()),
            request_id: None,
            tool_call_id: String::new(),
            dry_run: false,
            want_diff: false,
            call: Some(call),
        };
        let answer = self.world.executor.execute(&AbortSignal::new(), request).await;
        match answer.map_err(|error| error.to_string())?.result {
            ToolResult::Done(_) => Ok(()),
            ToolResult::Refused(error) => Err(format!("refused: {error}")),
            ToolResult::PublishedNotDurable(_, error) => Err(format!("not durable: {error}")),
        }
    }

    fn compare(&self, expected: &[u8], what: &str) -> Result<(), Violation> {
        let found = self.world.get(&self.pair.name).unwrap();
        if found == expected {
            return Ok(());
        }
        let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
        let (lengths, what) = ((found.len(), expected.len()), format!("the file is not {what}"));
        Err(format!(
            "{what}: it has {} bytes and not {}, and differs from byte {at} on",
            lengths.0, lengths.1
        ))
    }
}

/// On which line a hunk is while some others are applied.
fn place(hunks: &[Hunk], is_applied: &[bool], index: usize) -> usize {
    let before = || hunks[..index].iter().zip(is_applied).filter(|(_, is_applied)| **is_applied);
    let added: usize = before().map(|(hunk, _)| hunk.new.len()).sum();
    let removed: usize = before().map(|(hunk, _)| hunk.old.len()).sum();
    hunks[index].old.start + added - removed
}
