//! The foreign writer: it knows nothing of us, and works with plain system calls.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use toolfs_core::version::Version;

use super::log::{Op, OpLog, Span, State, content, theirs};
use super::{End, file_name, other_name};

/// How it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A new file is renamed over the old one, as editors do.
    Rename,
    /// The file is truncated and written where it is.
    InPlace,
    /// It is deleted and made anew.
    Delete,
    /// A link or a directory takes its place for a while.
    Swap,
    /// Any of these.
    Mixed,
}

impl Style {
    pub(super) fn draw(rng: &mut Rng) -> Style {
        [Style::Rename, Style::InPlace, Style::Delete, Style::Swap, Style::Mixed][rng.usize(..5)]
    }
}

/// How long it rests between two publications, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace(Duration);

impl Pace {
    pub(super) fn draw(rng: &mut Rng) -> Pace {
        Pace(Duration::from_micros([100, 400, 1_500][rng.usize(..3)]))
    }
}

/// A step of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Rename,
    InPlace,
    Delete,
    /// Makes the file where there is none, in place or by a rename.
    Create,
    Link,
    Directory,
    /// Takes the directory back.
    TakeDirectory,
}

#[derive(Debug)]
pub(super) struct Writer {
    target: usize,
    style: Style,
    pace: Pace,
    rng: Rng,
    file: PathBuf,
    /// Where new things are made, beside the root.
    aside: PathBuf,
    log: OpLog,
}

impl Writer {
    /// Lays out the target, and what a link in its place may lead to.
    pub(super) fn new(root: &Path, target: usize, style: Style, pace: Pace, rng: Rng) -> Writer {
        let (file, other) = (root.join(file_name(target)), root.join(other_name(target)));
        fs::write(&other, content(&other_name(target), 100)).unwrap();
        let first = content(&theirs(target, 0), 1_000);
        let (span, ()) = Span::of(|| fs::write(&file, &first).unwrap());
        let op = Op {
            span,
            state: State::Content(Version::of(first.as_bytes())),
            is_in_place: false,
            opened: span.start,
            is_stranded: false,
        };
        let aside = root.with_file_name(format!("aside-{target}"));
        let log = OpLog { ops: vec![op], marks: Vec::new(), violation: None };
        Writer { target, style, pace, rng, file, aside, log }
    }

    /// Publishes until the end.
    pub(super) fn run(mut self, end: &End) -> OpLog {
        while !end.is_reached() && self.log.violation.is_none() {
            let number = self.log.ops.len();
            let size = [60, 5_000, 60_000][self.rng.usize(..3)];
            let content = content(&theirs(self.target, number), size);
            let step = self.draw();
            let op = match step {
                Move::Rename => self.rename(&content),
                Move::InPlace => self.write_in_place(&content),
                Move::Delete => self.delete(),
                Move::Create => self.create(&content),
                Move::Link => self.link(),
                Move::Directory => self.put_directory(number),
                Move::TakeDirectory => self.take_directory(&content),
            };
            match op {
                Ok(op) => self.log.ops.push(op),
                // In the middle of a call that puts a directory or a link back, that is there for a moment.
                Err(Errno::ISDIR | Errno::LOOP) => {}
                Err(cause) => {
                    self.log.violation = Some(format!("the foreign writer met {cause} at {step:?}"))
                }
            }
            self.rest();
        }
        self.log
    }

    fn draw(&mut self) -> Move {
        match &self.log.ops.last().unwrap().state {
            State::Absent => return Move::Create,
            State::Directory => return Move::TakeDirectory,
            State::Link => return Move::Rename,
            State::Content(_) => {}
        }
        match self.style {
            Style::Rename => Move::Rename,
            Style::InPlace => Move::InPlace,
            Style::Delete => Move::Delete,
            Style::Swap => [Move::Rename, Move::Link, Move::Directory][self.rng.usize(..3)],
            Style::Mixed => {
                let moves = [Move::Rename, Move::InPlace, Move::Delete, Move::Link, Move::Directory];
                moves[self.rng.usize(..moves.len())]
            }
        }
    }

    fn rest(&mut self) {
        let most = u64::try_from(self.pace.0.as_micros()).unwrap();
        match self.rng.u32(..8) {
            0 => {}
            1..4 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(self.rng.u64(..most))),
        }
    }

    fn rename(&mut self, content: &str) -> Result<Op, Errno> {
        fs::write(&self.aside, content).unwrap();
        let (span, renamed) = Span::of(|| rustix::fs::renameat(CWD, &self.aside, CWD, &self.file));
        renamed?;
        Ok(atomic(span, State::Content(Version::of(content.as_bytes()))))
    }

    fn write_in_place(&mut self, content: &str) -> Result<Op, Errno> {
        let truncates_at_once = self.rng.bool();
        let holds = [0, 0, 100, 1_000].map(Duration::from_micros);
        let (before, after) = (holds[self.rng.usize(..4)], holds[self.rng.usize(..4)]);
        let start = Instant::now();
        let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap();
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(truncates_at_once)
            .custom_flags(flags)
            .open(&self.file)
            .map_err(|cause| Errno::from_io_error(&cause).unwrap_or(Errno::IO))?;
        let opened = Instant::now();
        thread::sleep(before);
        file.set_len(0).unwrap();
        self.pour(&mut file, content);
        thread::sleep(after);
        // Asked while it is open: nobody can have put it back since.
        let is_stranded = file.metadata().unwrap().nlink() == 0;
        drop(file);
        let span = Span { start, end: Instant::now() };
        let state = State::Content(Version::of(content.as_bytes()));
        Ok(Op { span, state, is_in_place: true, opened, is_stranded })
    }

    fn pour(&mut self, file: &mut File, content: &str) {
        let half = if self.rng.bool() { content.len() } else { self.rng.usize(..content.len()) };
        let (first, rest) = content.as_bytes().split_at(half);
        file.write_all(first).unwrap();
        file.write_all(rest).unwrap();
    }

    fn delete(&mut self) -> Result<Op, Errno> {
        let (span, deleted) = Span::of(|| rustix::fs::unlink(&self.file));
        deleted?;
        Ok(atomic(span, State::Absent))
    }

    fn create(&mut self, content: &str) -> Result<Op, Errno> {
        let state = State::Content(Version::of(content.as_bytes()));
        if self.rng.bool() {
            fs::write(&self.aside, content).unwrap();
            let (span, renamed) =
                Span::of(|| renameat_with(CWD, &self.aside, CWD, &self.file, RenameFlags::NOREPLACE));
            return match renamed {
                Ok(()) => Ok(atomic(span, state)),
                Err(Errno::EXIST) => self.replace_creation(),
                Err(cause) => Err(cause),
            };
        }
        let start = Instant::now();
        match OpenOptions::new().write(true).create_new(true).open(&self.file) {
            Ok(mut file) => {
                let opened = Instant::now();
                self.pour(&mut file, content);
                let is_stranded = file.metadata().unwrap().nlink() == 0;
                drop(file);
                let span = Span { start, end: Instant::now() };
                Ok(Op { span, state, is_in_place: true, opened, is_stranded })
            }
            Err(_) => self.replace_creation(),
        }
    }

    /// We made the file first, so it replaces that.
    fn replace_creation(&mut self) -> Result<Op, Errno> {
        let number = self.log.ops.len();
        let content = content(&theirs(self.target, number), 80);
        self.rename(&content)
    }

    fn link(&mut self) -> Result<Op, Errno> {
        let _ = fs::remove_file(&self.aside);
        symlink(other_name(self.target), &self.aside).unwrap();
        let (span, renamed) = Span::of(|| rustix::fs::renameat(CWD, &self.aside, CWD, &self.file));
        renamed?;
        Ok(atomic(span, State::Link))
    }

    fn put_directory(&mut self, number: usize) -> Result<Op, Errno> {
        let _ = fs::remove_file(&self.aside);
        let mark = format!("mark-{}-{number}", self.target);
        fs::create_dir(&self.aside).unwrap();
        fs::write(self.aside.join(&mark), &mark).unwrap();
        let (span, exchanged) =
            Span::of(|| renameat_with(CWD, &self.aside, CWD, &self.file, RenameFlags::EXCHANGE));
        exchanged?;
        self.log.marks.push(mark);
        self.discard();
        Ok(atomic(span, State::Directory))
    }

    /// What comes out is the directory, or, in the middle of a call that is going to be refused, a file of ours. The
    /// directory is then kept elsewhere.
    fn take_directory(&mut self, content: &str) -> Result<Op, Errno> {
        fs::write(&self.aside, content).unwrap();
        let (span, exchanged) =
            Span::of(|| renameat_with(CWD, &self.aside, CWD, &self.file, RenameFlags::EXCHANGE));
        exchanged?;
        self.discard();
        Ok(atomic(span, State::Content(Version::of(content.as_bytes()))))
    }

    /// Removes what came out of the place.
    fn discard(&mut self) {
        if fs::symlink_metadata(&self.aside).unwrap().is_dir() {
            for entry in fs::read_dir(&self.aside).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                self.log.marks.retain(|mark| *mark != name);
            }
            fs::remove_dir_all(&self.aside).unwrap();
        } else {
            fs::remove_file(&self.aside).unwrap();
        }
    }
}

fn atomic(span: Span, state: State) -> Op {
    Op { span, state, is_in_place: false, opened: span.start, is_stranded: false }
}
