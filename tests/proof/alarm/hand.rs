//! Somebody who works on the same files, by the system alone.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags, removexattr, setxattr, utimensat};
use rustix::io::Errno;

use super::act::{Moment, Way};
use super::repository::no_process_starts;

const ATTRIBUTE: &str = "user.proof";
const MODES: [u32; 5] = [0o600, 0o644, 0o664, 0o640, 0o755];
const OWNERS: [u32; 3] = [0, 1000, 65_534];
/// How far a time stamp is moved.
const FAR_SECONDS: i64 = 100_000;

/// Puts a content into a file that is there.
pub(super) fn put(path: &Path, content: &[u8], way: Way) -> io::Result<()> {
    let _undisturbed = no_process_starts();
    match way {
        Way::InPlace => File::options().write(true).truncate(true).open(path)?.write_all(content),
        Way::ByRename => {
            let fresh = beside(path, "fresh");
            fs::write(&fresh, content)?;
            fs::set_permissions(&fresh, Permissions::from_mode(fs::metadata(path)?.mode() & 0o777))?;
            fs::rename(fresh, path)
        }
    }
}

/// The same, without a trace in size and time stamps. What is written in place is not cut before.
pub(super) fn put_unseen(path: &Path, content: &[u8], way: Way) -> io::Result<()> {
    let stamps = stamps(path)?;
    match way {
        Way::InPlace => {
            let _undisturbed = no_process_starts();
            File::options().write(true).open(path)?.write_all(content)?;
        }
        Way::ByRename => put(path, content, way)?,
    }
    set_stamps(path, &stamps)
}

pub(super) fn touch(path: &Path, moment: Moment, rng: &mut Rng) -> io::Result<()> {
    let mut stamps = stamps(path)?;
    let far = rng.i64(1..FAR_SECONDS);
    match moment {
        Moment::Now => stamps.last_modification.tv_nsec = rustix::fs::UTIME_NOW,
        Moment::Back => stamps.last_modification.tv_sec -= far,
        Moment::Forward => stamps.last_modification.tv_sec += far,
        Moment::Same => {}
    }
    set_stamps(path, &stamps)
}

fn stamps(path: &Path) -> io::Result<Timestamps> {
    let metadata = fs::metadata(path)?;
    let stamp = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    Ok(Timestamps {
        last_access: stamp(metadata.atime(), metadata.atime_nsec()),
        last_modification: stamp(metadata.mtime(), metadata.mtime_nsec()),
    })
}

fn set_stamps(path: &Path, stamps: &Timestamps) -> io::Result<()> {
    Ok(utimensat(CWD, path, stamps, AtFlags::empty())?)
}

pub(super) fn change_mode(path: &Path, rng: &mut Rng) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(MODES[rng.usize(..MODES.len())]))
}

/// Only root gives files away, and only to whom its namespace knows; else the file is left.
pub(super) fn change_owner(path: &Path, rng: &mut Rng) -> io::Result<()> {
    let mut one = || Some(OWNERS[rng.usize(..OWNERS.len())]);
    match chown(path, one(), one()) {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::PERM | Errno::INVAL)) => Ok(()),
        other => other,
    }
}

/// Where there are no attributes, it is left.
pub(super) fn set_attribute(path: &Path, rng: &mut Rng) -> io::Result<()> {
    match setxattr(path, ATTRIBUTE, &rng.u64(..).to_le_bytes(), XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

pub(super) fn remove_attribute(path: &Path) -> io::Result<()> {
    match removexattr(path, ATTRIBUTE) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NODATA) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// All that `stat` says of a file from which a change may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    inode: (u64, u64),
    size: u64,
    mode: u32,
    owner: (u32, u32),
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

pub(super) fn marks(path: &Path) -> io::Result<Marks> {
    let metadata = fs::metadata(path)?;
    Ok(Marks {
        inode: (metadata.dev(), metadata.ino()),
        size: metadata.size(),
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        links: metadata.nlink(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Another file has the name for a moment.
pub(super) fn move_away_and_back(path: &Path, other: &[u8]) -> io::Result<()> {
    let away = beside(path, "away");
    fs::rename(path, &away)?;
    {
        let _undisturbed = no_process_starts();
        fs::write(path, other)?;
    }
    fs::rename(away, path)
}

pub(super) fn cut_and_restore(path: &Path, rng: &mut Rng) -> io::Result<()> {
    let content = fs::read(path)?;
    let _undisturbed = no_process_starts();
    let mut file = File::options().append(true).open(path)?;
    let kept = rng.usize(..content.len());
    file.set_len(kept as u64)?;
    file.write_all(&content[kept..])
}

/// The other name of a file.
pub(super) fn link_of(path: &Path) -> PathBuf {
    beside(path, "link")
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    path.with_file_name(format!("{name}.{what}"))
}
