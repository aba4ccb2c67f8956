//! The files of a place, as the answers of its one client tell them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use fastrand::Rng;
use toolfs_core::planted::Fault;

use super::volume::{Kind, MAX_FILE_BYTES, Volume};
use crate::tree::{directories, litter, rescued};
use crate::worker::{Call, Failure, Guard, Outcome, Worker};

/// The file that is there from the start, the link to it, and the line in it that an edit changes.
const KEPT: &str = "a/kept";
const LINK: &str = "link";
const LINE: &str = "the line that changes";

/// The longest content that is asked for.
const MOST_BYTES: usize = 2 * MAX_FILE_BYTES;

/// The files of a place and the server that changes them.
pub(super) struct Shelf {
    pub(super) worker: Worker,
    kind: Kind,
    /// Whether the server may have no room for its own files.
    holds_state: bool,
    root: PathBuf,
    /// What must be there.
    files: BTreeMap<String, String>,
    serial: u32,
}

/// A change that is asked for.
struct Change {
    call: Call,
    file: String,
    content: String,
    /// The directory that must go again when it fails.
    made: Option<String>,
}

impl Shelf {
    pub(super) fn new(volume: &Volume, fault: Option<Fault>) -> Result<Shelf, String> {
        let root = volume.root();
        fs::create_dir(root.join("a")).unwrap();
        let kept = format!("{LINE}\n{}", "what is there from the start\n".repeat(200));
        fs::write(root.join(KEPT), &kept).unwrap();
        symlink(KEPT, root.join(LINK)).unwrap();
        let worker = Worker::start(&volume.settings(fault))?;
        let files = BTreeMap::from([(KEPT.to_owned(), kept)]);
        let (kind, holds_state) = (volume.kind, volume.holds_state);
        Ok(Shelf { worker, kind, holds_state, root, files, serial: 0 })
    }

    /// Asks for a random change, and compares everything with its answer, which is told in words.
    pub(super) fn change(&mut self, rng: &mut Rng) -> Result<&'static str, String> {
        let Change { call, file, content, made } = self.draw(rng);
        let is_too_long = self.kind == Kind::FileSize && content.len() > MAX_FILE_BYTES;
        let what = format!("{} bytes for `{file}`", content.len());
        let answer = self.worker.call(call).map_err(|_| format!("{what}: the server ended"))?;
        let told = match &answer.outcome {
            Outcome::Ok(_) if is_too_long => return Err(format!("{what}: it went beyond the limit")),
            Outcome::Ok(_) => {
                self.files.insert(file, content);
                "took a change"
            }
            Outcome::Error(failure) if self.kind == Kind::FileSize && !is_too_long => {
                return Err(format!("{what}: it was refused within the limit: {failure:?}"));
            }
            Outcome::Error(failure) if !self.is_true(failure) => {
                return Err(format!("{what}: it was refused with {failure:?}"));
            }
            Outcome::Error(_) => {
                if let Some(made) = made.filter(|made| self.root.join(made).exists()) {
                    return Err(format!("{what}: it was refused, and `{made}` is still there"));
                }
                "refused a change"
            }
        };
        self.compare().map_err(|violation| format!("{what}, {answer:?}: {violation}"))?;
        Ok(told)
    }

    /// Whether a refusal says what is so. Of room for the server's own files the caller only hears that it must wait.
    fn is_true(&self, failure: &Failure) -> bool {
        let is_own = self.holds_state && failure.code == "FS_UNAVAILABLE";
        (failure.code == "FS_NO_SPACE" || is_own) && failure.published == "no"
    }

    fn draw(&mut self, rng: &mut Rng) -> Change {
        self.serial += 1;
        let serial = self.serial;
        let rest = "some more of what is written\n".repeat(rng.usize(..MOST_BYTES / 29));
        let content = format!("{LINE}\nof change {serial}\n{rest}");
        let write = |path: String, file: &str, guard: Guard, made: Option<String>| {
            let call = Call::Write { path, content: content.clone(), guard };
            Change { call, file: file.to_owned(), content: content.clone(), made }
        };
        match rng.u32(..5) {
            0 => write(KEPT.to_owned(), KEPT, Guard::Any, None),
            1 => write(LINK.to_owned(), KEPT, Guard::of(&self.files[KEPT]), None),
            2 => {
                let file = format!("a/new-{serial}");
                write(file.clone(), &file, Guard::Absent, None)
            }
            3 => {
                let made = format!("made-{serial}");
                let file = format!("{made}/with/parents");
                write(file.clone(), &file, Guard::Absent, Some(made))
            }
            _ => {
                let old = &self.files[KEPT];
                let new = format!("{LINE}\n{}", "and that follows\n".repeat(rng.usize(..1_000)));
                let (content, guard) = (old.replacen(LINE, &new, 1), Guard::of(old));
                let call = Call::Edit { path: KEPT.to_owned(), old: LINE.to_owned(), new, guard };
                Change { call, file: KEPT.to_owned(), content, made: None }
            }
        }
    }

    /// Everything is as the answers said, and nothing else is there.
    fn compare(&self) -> Result<(), String> {
        for (file, content) in &self.files {
            match fs::read(self.root.join(file)) {
                Ok(there) if there == content.as_bytes() => {}
                Ok(there) => return Err(format!("`{file}` has {} other bytes", there.len())),
                Err(error) => return Err(format!("`{file}` is gone: {error}")),
            }
        }
        let mut count = 0;
        for directory in directories(&self.root) {
            let entries = fs::read_dir(self.root.join(directory)).unwrap();
            count += entries.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file()).count();
        }
        let (left, kept) = (litter(&self.root), rescued(&self.root));
        if count != self.files.len() || !left.is_empty() || !kept.is_empty() {
            return Err(format!("there are {count} files, {left:?} is left, {kept:?} is kept"));
        }
        Ok(())
    }

    /// Now that there is room, everything can be written.
    pub(super) fn use_everything(&mut self) -> Result<(), String> {
        for (file, content) in &mut self.files {
            content.push_str("there is room again\n");
            let (path, content) = (file.clone(), content.clone());
            match self.worker.call(Call::Write { path, content, guard: Guard::Any }) {
                Ok(answer) if matches!(answer.outcome, Outcome::Ok(_)) && answer.not_durable.is_none() => {}
                other => return Err(format!("with room again: {other:?}")),
            }
        }
        self.compare().map_err(|violation| format!("with room again: {violation}"))
    }
}
