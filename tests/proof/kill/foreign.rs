//! A foreign writer: whoever changes a file without asking the server.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::Path;

use rustix::fs::OFlags;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Puts another file in its place.
    Replaces,
    /// Writes other bytes into the file that is there; where none is, puts one there.
    WritesInPlace,
    /// Removes it.
    Deletes,
    /// Puts a link in its place.
    Links,
    /// Puts a directory in its place.
    MakesDirectory,
}

impl Foreign {
    pub(super) const ALL: [Foreign; 5] = [
        Foreign::Replaces,
        Foreign::WritesInPlace,
        Foreign::Deletes,
        Foreign::Links,
        Foreign::MakesDirectory,
    ];

    /// Does it. The number tells writers apart. Whether it is done: who opens a file on which the server has a lease
    /// waits until the server lets it go, or is dead.
    pub(super) fn come(self, target: &Path, number: u32) -> bool {
        let beside = target.with_file_name(format!("foreign-{number}"));
        match self {
            Foreign::WritesInPlace if is_file(target) => return write_in_place(target, number),
            Foreign::Replaces | Foreign::WritesInPlace => {
                fs::write(&beside, content(number)).unwrap();
                put(&beside, target);
            }
            Foreign::Deletes => remove(target),
            Foreign::Links => {
                symlink(content(number), &beside).unwrap();
                put(&beside, target);
            }
            Foreign::MakesDirectory => {
                fs::create_dir(&beside).unwrap();
                fs::write(beside.join("file"), content(number)).unwrap();
                remove(target);
                put(&beside, target);
            }
        }
        true
    }

    /// Whether what it left, and nothing else, is at a path.
    pub(super) fn is_at(self, path: &Path, number: u32) -> bool {
        let wanted = content(number);
        let is_link = path.is_symlink();
        match self {
            Foreign::Replaces | Foreign::WritesInPlace => {
                !is_link && fs::read(path).is_ok_and(|content| content == wanted.as_bytes())
            }
            Foreign::Deletes => !is_link && !path.exists(),
            Foreign::Links => fs::read_link(path).is_ok_and(|target| target == Path::new(&wanted)),
            Foreign::MakesDirectory => {
                !is_link && fs::read(path.join("file")).is_ok_and(|content| content == wanted.as_bytes())
            }
        }
    }
}

fn content(number: u32) -> String {
    format!("what foreign writer {number} has to say")
}

fn write_in_place(target: &Path, number: u32) -> bool {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().write(true).truncate(true).custom_flags(flags).open(target);
    match opened {
        Ok(mut file) => {
            file.write_all(content(number).as_bytes()).unwrap();
            true
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("a foreign writer cannot write: {error}"),
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// A file goes over another one in one step; nothing goes over a directory.
fn put(beside: &Path, target: &Path) {
    if target.is_dir() && !target.is_symlink() {
        remove(target);
    }
    fs::rename(beside, target).unwrap();
}

/// Removes what is there, if anything is.
fn remove(target: &Path) {
    if target.is_dir() && !target.is_symlink() {
        fs::remove_dir_all(target).unwrap();
    } else if target.exists() || target.is_symlink() {
        fs::remove_file(target).unwrap();
    }
}
