//! Reading: one open file, one pass, memory bounded by the window.
//!
//! A pass ends at the size that the file had when it was opened, so that a file that grows cannot hold a call. A
//! file that reports no size is read by content, within a bound of bytes and of time. Deliberately absent: mapping
//! files into memory, where a file that shrinks kills the process.

use rustix::fs::{SeekFrom, seek};
use rustix::io::{read, retry_on_intr};
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::limit::LimitName;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;
use toolfs_core::text::{NotText, TextPass};
use toolfs_core::version::{Version, VersionHasher};
use toolfs_core::window::{LineWindow, WindowReader};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;
use toolfs_provider::report::LinesReport;

use crate::disk::{Disk, OpenFile};
use crate::io_error::{READING, fs_error};
use crate::root;
use crate::stat_cache::{Learned, Marks, is_worth_remembering};

/// How much is read at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// How long a file that reports no size is read.
const UNSIZED_MS: i64 = 2_000;

/// How much of such a file is read at once.
const UNSIZED_PIECE_BYTES: usize = 32 << 10;

/// The content of an open file, piece by piece.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// How many bytes may still be given out.
    left: u64,
    /// Set for a file that reports no size: it ends where it ends, if that is soon.
    unsized_end: Option<UnsizedEnd>,
    buffer: Vec<u8>,
    /// Bytes given out so far.
    pub(crate) taken: u64,
}

#[derive(Debug)]
struct UnsizedEnd {
    max_bytes: u64,
    until: i64,
}

impl Pieces {
    /// All of a file, from where its handle stands.
    pub(crate) fn whole(disk: &Disk, open: &OpenFile) -> Pieces {
        let size = open.facts.size;
        Pieces::part(disk, open, if size == 0 { u64::MAX } else { size })
    }

    /// At most `size` bytes of a file from where its handle stands.
    pub(crate) fn part(disk: &Disk, open: &OpenFile, size: u64) -> Pieces {
        let is_unsized = open.facts.size == 0;
        let unsized_end = is_unsized.then(|| UnsizedEnd {
            max_bytes: disk.limits.max_read_bytes,
            until: disk.clock.now().0.saturating_add(UNSIZED_MS),
        });
        // Most files are small, and those without a size come in small pieces: they need no buffer of the full size.
        let most = disk.sizes.piece_bytes.min(if is_unsized { UNSIZED_PIECE_BYTES } else { PIECE_BYTES });
        let wanted = usize::try_from(size).unwrap_or(most).clamp(1, most);
        Pieces { left: size, unsized_end, buffer: vec![0; wanted], taken: 0 }
    }

    /// Whether all that was asked for was given out.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next(
        &mut self,
        disk: &Disk,
        open: &OpenFile,
        abort: &AbortSignal,
    ) -> Result<Option<&[u8]>> {
        abort.check().map_err(|error| error.with_path(&open.path))?;
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.buffer.len());
        if wanted == 0 {
            return Ok(None);
        }
        let count = retry_on_intr(|| read(&open.file, &mut self.buffer[..wanted]))
            .map_err(|cause| fs_error(&open.path, READING, cause))?;
        if count == 0 {
            return Ok(None);
        }
        self.taken += count as u64;
        self.left -= count as u64;
        if let Some(UnsizedEnd { max_bytes, until }) = self.unsized_end {
            if self.taken > max_bytes {
                return Err(refusal::too_large(&open.path, LimitName::MaxReadBytes, max_bytes, self.taken));
            }
            if disk.clock.now().0 > until {
                let message = format!("`{}` makes its content up as it is read and does not end", open.path);
                return Err(FsError::new(ErrorKind::IoError, message).with_path(&open.path));
            }
        }
        Ok(Some(&self.buffer[..count]))
    }
}

/// Reads a window of lines and all that a pass knows, from one open file.
pub(crate) fn lines(
    disk: &Disk,
    key: &TargetKey,
    window: LineWindow,
    abort: &AbortSignal,
) -> Result<LinesReport> {
    let mut open = disk.open_file(key)?;
    if let Some(learned) = disk.cache.recall(&open.facts) {
        if let Some(report) = remembered(disk, &open, &learned, window, abort)? {
            return Ok(report);
        }
        disk.cache.forget(&open.facts);
        open.facts = root::facts(&open.file).map_err(|cause| fs_error(&open.path, READING, cause))?;
        start_at(&open, 0)?;
    }
    let mut marks = is_worth_remembering(&open.file, &open.facts, disk.clock.now()).then(Marks::default);
    let mut pieces = Pieces::whole(disk, &open);
    let mut pass = TextPass::new();
    let mut reader = WindowReader::new(window);
    let mut wants_more = true;
    while let Some(piece) = pieces.next(disk, &open, abort)? {
        pass.feed(piece).map_err(|refused| not_text(refused, &open.path))?;
        if wants_more {
            wants_more = reader.feed(piece);
        }
        if let Some(marks) = &mut marks {
            marks.feed(piece);
        }
    }
    let (summary, version) = pass.finish().map_err(|refused| not_text(refused, &open.path))?;
    let version = judged(disk, &open, version);
    let is_settled = pieces.taken == open.facts.size && is_unchanged(&open);
    if let Some(marks) = marks.filter(|_| is_settled) {
        disk.cache.remember(Learned { facts: open.facts, summary, version: version.clone(), marks });
    }
    Ok(LinesReport { window: reader.finish(), summary, version })
}

/// A window of a file that was learned before; `None` when it changed while the window was read.
fn remembered(
    disk: &Disk,
    open: &OpenFile,
    learned: &Learned,
    window: LineWindow,
    abort: &AbortSignal,
) -> Result<Option<LinesReport>> {
    let mark = learned.marks.before(window.first_line);
    start_at(open, mark.offset)?;
    let mut pieces = Pieces::part(disk, open, open.facts.size - mark.offset);
    let mut reader = WindowReader::starting_at(window, mark.line);
    let mut wants_more = true;
    while wants_more && let Some(piece) = pieces.next(disk, open, abort)? {
        wants_more = reader.feed(piece);
    }
    let report = || LinesReport {
        window: reader.finish(),
        summary: learned.summary,
        version: learned.version.clone(),
    };
    Ok(is_unchanged(open).then(report))
}

fn is_unchanged(open: &OpenFile) -> bool {
    root::facts(&open.file).is_ok_and(|now| now == open.facts)
}

/// The version of a whole file.
pub(crate) fn version(disk: &Disk, open: &OpenFile, abort: &AbortSignal) -> Result<Version> {
    let mut pieces = Pieces::whole(disk, open);
    let mut hasher = VersionHasher::new();
    while let Some(piece) = pieces.next(disk, open, abort)? {
        hasher.update(piece);
    }
    Ok(judged(disk, open, hasher.finish()))
}

/// The version that an open file counts as: that of the bytes that were hashed, unless a fault is planted.
pub(crate) fn judged(disk: &Disk, open: &OpenFile, hashed: Version) -> Version {
    if Fault::VersionIsMetadata.is_planted() {
        return Version::of(format!("{} {:?}", open.facts.size, open.facts.modified).as_bytes());
    }
    if Fault::GuardTrustsThePass.is_planted()
        && let Some(learned) = disk.cache.recall(&open.facts)
    {
        return learned.version.clone();
    }
    hashed
}

/// Moves the handle of an open file.
pub(crate) fn start_at(open: &OpenFile, offset: u64) -> Result<()> {
    seek(&open.file, SeekFrom::Start(offset)).map_err(|cause| fs_error(&open.path, READING, cause))?;
    Ok(())
}

/// The refusal of content that is no text.
pub(crate) fn not_text(refused: NotText, path: &str) -> FsError {
    FsError::from(refused).with_path(path)
}
