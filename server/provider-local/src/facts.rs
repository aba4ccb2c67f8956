//! What `stat` says about an open file, in types that cannot be mistaken for each other.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstatfs, statat};
use rustix::io::Errno;
use toolfs_core::clock::Timestamp;
use toolfs_core::target::FileKind;

use crate::root;

/// A moment of a file system, as exact as it keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Seconds since the Unix epoch.
    pub(crate) seconds: i64,
    /// Nanoseconds within the second.
    pub(crate) nanoseconds: u32,
}

impl Moment {
    /// The same in milliseconds, rounded down.
    pub(crate) fn to_timestamp(self) -> Timestamp {
        Timestamp(self.seconds.saturating_mul(1_000).saturating_add(i64::from(self.nanoseconds / 1_000_000)))
    }
}

/// What an inode is and was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Its kind.
    pub(crate) kind: FileKind,
    /// Its size in bytes as reported.
    pub(crate) size: u64,
    /// The lower 12 bits of its mode.
    pub(crate) mode: u32,
    /// Its owner.
    pub(crate) uid: u32,
    /// Its group.
    pub(crate) gid: u32,
    /// How many names it has.
    pub(crate) links: u64,
    /// Device and inode number.
    pub(crate) inode: (u64, u64),
    /// When its content last changed.
    pub(crate) modified: Moment,
    /// When anything about it last changed.
    pub(crate) changed: Moment,
}

impl From<&Stat> for Facts {
    #[expect(clippy::useless_conversion, reason = "the widths of the fields differ between architectures")]
    fn from(stat: &Stat) -> Facts {
        let moment = |seconds: i64, nanoseconds: u64| Moment {
            seconds,
            nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
        };
        Facts {
            kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: u64::from(stat.st_nlink),
            inode: (u64::from(stat.st_dev), u64::from(stat.st_ino)),
            modified: moment(stat.st_mtime.into(), stat.st_mtime_nsec.try_into().unwrap_or(0)),
            changed: moment(stat.st_ctime.into(), stat.st_ctime_nsec.try_into().unwrap_or(0)),
        }
    }
}

/// What an entry of a directory is, no link followed.
///
/// Much depends on the answer after a publication, so there is a second way when the first one fails.
///
/// # Errors
/// `ENOENT` only when nothing has the name.
pub(crate) fn facts_at(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Facts, Errno> {
    let cause = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => return Ok(Facts::from(&stat)),
        Err(Errno::NOENT) => return Err(Errno::NOENT),
        Err(cause) => cause,
    };
    match root::open_child(directory, name, OFlags::PATH).and_then(root::facts) {
        Err(Errno::NOENT) => Err(Errno::NOENT),
        other => other.map_err(|_| cause),
    }
}

/// The number of the kind of file system that a file is on.
#[expect(
    clippy::cast_sign_loss,
    reason = "a magic number is a pattern of bits, and its type differs by architecture"
)]
pub(crate) fn file_system(file: impl AsFd) -> Result<u64, Errno> {
    fstatfs(file).map(|status| status.f_type as u64 & 0xffff_ffff)
}

/// The kind that a directory entry or a mode names.
pub(crate) fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::Unknown => FileKind::Other,
    }
}
