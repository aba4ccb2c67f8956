//! What a pass over a file learned, remembered under what `stat` said before and after it.
//!
//! It serves reads only: it spares them the pass when the file did not change, and lets a deep window start near its
//! first line. A guard never asks it, and a guard that fails makes it forget, so that reading again always helps.
//! Not remembered are files that report no size, small files (a pass costs as little), files that changed so
//! recently that the same time stamp may cover another change, and files on file systems whose time stamps nobody
//! here vouches for. A store through a shared mapping moves no time stamp at once; a read may miss it, a guard does
//! not.

use std::collections::{HashMap, VecDeque};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolfs_core::clock::Timestamp;
use toolfs_core::text::TextSummary;
use toolfs_core::version::Version;

use crate::facts::{Facts, file_system};

/// How many bytes all that is remembered may take.
const MAX_BYTES: usize = 16 << 20;

/// Files below this are read whole each time.
const MIN_FILE_BYTES: u64 = 64 << 10;

/// How long a file must have been left alone before the pass began: more than the coarsest time stamp of the file
/// systems below (an old ext4 keeps whole seconds).
const MIN_AGE_MS: i64 = 2_000;

/// ext2 to ext4, xfs, btrfs, tmpfs, f2fs.
const TRUSTED_FILE_SYSTEMS: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];

/// What a pass learned.
#[derive(Debug)]
pub(crate) struct Learned {
    /// What the file was before and after the pass.
    pub(crate) facts: Facts,
    pub(crate) summary: TextSummary,
    pub(crate) version: Version,
    pub(crate) marks: Marks,
}

/// Where some lines of a file start, in order.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    marks: Vec<Mark>,
    newlines: u64,
    offset: u64,
}

/// The start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its number, from 1.
    pub(crate) line: u64,
    /// The offset of its first byte.
    pub(crate) offset: u64,
}

impl Marks {
    /// Looks at the next piece of the file, and marks the last line that starts in it.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        if let Some(last) = memchr::memrchr(b'\n', piece) {
            self.newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
            self.marks.push(Mark { line: self.newlines + 1, offset: self.offset + last as u64 + 1 });
        }
        self.offset += piece.len() as u64;
    }

    /// The last mark at or before a line; the start of the file when there is none.
    pub(crate) fn before(&self, line: u64) -> Mark {
        let after = self.marks.partition_point(|mark| mark.line <= line);
        match after.checked_sub(1) {
            Some(index) => self.marks[index],
            None => Mark { line: 1, offset: 0 },
        }
    }
}

/// What the memory of file passes is and did, since the provider was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Reads of lines that found their file remembered.
    pub hits: u64,
    /// Reads of lines that did not, small files that are never remembered included.
    pub misses: u64,
    /// What is remembered now, in bytes of memory.
    pub bytes: u64,
    /// How many files are remembered now.
    pub entries: u64,
}

/// The memory of all files.
#[derive(Debug, Default)]
pub(crate) struct StatCache {
    memory: Mutex<Memory>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Default)]
struct Memory {
    entries: HashMap<(u64, u64), (u64, Arc<Learned>)>,
    /// Inodes in the order in which they were learned; one that was learned again is there twice, once outdated.
    order: VecDeque<((u64, u64), u64)>,
    bytes: usize,
    tick: u64,
}

impl StatCache {
    /// What is known of a file that is now as `facts` say.
    pub(crate) fn recall(&self, facts: &Facts) -> Option<Arc<Learned>> {
        let found = self.memory().entries.get(&facts.inode).map(|(_, learned)| learned.clone());
        let found = found.filter(|learned| learned.facts == *facts);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// What it is and did.
    pub(crate) fn statistics(&self) -> CacheStatistics {
        let memory = self.memory();
        CacheStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: memory.bytes as u64,
            entries: memory.entries.len() as u64,
        }
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, facts: &Facts) {
        self.memory().remove(facts.inode);
    }

    /// Keeps what a pass learned, and forgets what was learned first when that is too much.
    pub(crate) fn remember(&self, learned: Learned) {
        let (inode, cost) = (learned.facts.inode, cost(&learned));
        if cost > MAX_BYTES / 4 {
            return;
        }
        let mut memory = self.memory();
        memory.remove(inode);
        memory.tick += 1;
        let tick = memory.tick;
        memory.bytes += cost;
        memory.entries.insert(inode, (tick, Arc::new(learned)));
        memory.order.push_back((inode, tick));
        // Outdated places in the order take room too, but never more than there are of current ones for long.
        while memory.bytes > MAX_BYTES || memory.order.len() > 2 * memory.entries.len() + 64 {
            let Some((oldest, tick)) = memory.order.pop_front() else { break };
            if memory.entries.get(&oldest).is_some_and(|(current, _)| *current == tick) {
                memory.remove(oldest);
            }
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn remove(&mut self, inode: (u64, u64)) {
        if let Some((_, learned)) = self.entries.remove(&inode) {
            self.bytes -= cost(&learned);
        }
    }
}

fn cost(learned: &Learned) -> usize {
    512 + learned.marks.marks.capacity() * size_of::<Mark>()
}

/// Whether a pass that begins at `now` over a file may be remembered at all.
pub(crate) fn is_worth_remembering(file: impl AsFd, facts: &Facts, now: Timestamp) -> bool {
    let age_ms = now.0.saturating_sub(facts.changed.to_timestamp().0.max(facts.modified.to_timestamp().0));
    facts.size >= MIN_FILE_BYTES && age_ms >= MIN_AGE_MS && is_trusted(file)
}

fn is_trusted(file: impl AsFd) -> bool {
    file_system(file).is_ok_and(|magic| TRUSTED_FILE_SYSTEMS.contains(&magic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Moment;
    use toolfs_core::target::FileKind;

    fn learned(inode: u64, marks: usize) -> Learned {
        let moment = Moment { seconds: 1, nanoseconds: 0 };
        let facts = Facts {
            kind: FileKind::Regular,
            size: 100,
            mode: 0o644,
            uid: 0,
            gid: 0,
            links: 1,
            inode: (1, inode),
            modified: moment,
            changed: moment,
        };
        let mut made = Marks::default();
        (0..marks).for_each(|_| made.feed(b"x\n"));
        let summary = toolfs_core::text::summarize(b"x\n").unwrap();
        Learned { facts, summary, version: Version::of(b"x\n"), marks: made }
    }

    #[test]
    fn marks_are_line_starts_wherever_the_pieces_end() {
        let text = b"one\ntwo\n\nfour and more\nfive";
        for size in 1..=text.len() {
            let mut marks = Marks::default();
            text.chunks(size).for_each(|piece| marks.feed(piece));
            for line in 1..=7 {
                let mark = marks.before(line);
                let offset = usize::try_from(mark.offset).unwrap();
                let newlines = text[..offset].iter().filter(|&&byte| byte == b'\n').count();
                assert!(mark.line <= line && mark.line == newlines as u64 + 1, "{mark:?}");
                assert!(offset == 0 || text[offset - 1] == b'\n', "{mark:?}");
            }
        }
    }

    #[test]
    fn another_stat_is_another_file() {
        let cache = StatCache::default();
        let entry = learned(7, 1);
        let facts = entry.facts;
        cache.remember(entry);
        assert!(cache.recall(&facts).is_some());
        assert!(cache.recall(&Facts { size: 101, ..facts }).is_none());
        assert!(
            cache.recall(&Facts { changed: Moment { nanoseconds: 1, ..facts.changed }, ..facts }).is_none()
        );
        cache.forget(&facts);
        assert!(cache.recall(&facts).is_none());
        assert_eq!(cache.memory().bytes, 0);
    }

    #[test]
    fn the_memory_is_bounded_and_the_oldest_goes_first() {
        let cache = StatCache::default();
        for inode in 0..100 {
            cache.remember(learned(inode, 20_000));
            cache.remember(learned(inode, 20_000));
        }
        let (bytes, places, entries) = {
            let memory = cache.memory();
            (memory.bytes, memory.order.len(), memory.entries.len())
        };
        assert!(
            bytes <= MAX_BYTES && places <= 2 * entries + 64,
            "{bytes} bytes, {places} places, {entries} entries"
        );
        assert!(cache.recall(&learned(99, 0).facts).is_some());
        assert!(cache.recall(&learned(0, 0).facts).is_none());
    }

    #[test]
    fn what_is_too_large_to_keep_is_not_kept() {
        let cache = StatCache::default();
        cache.remember(learned(1, 400_000));
        assert_eq!(cache.memory().entries.len(), 0);
    }
}
