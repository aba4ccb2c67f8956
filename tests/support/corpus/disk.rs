//! The tree of a case: made, changed by somebody else, and compared at the end.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode};

use super::entry::{Change, Entry, Permissions};
use super::form::Named;

/// Makes what a case is given, in its order.
pub(crate) fn make(root: &Path, files: &Named<Entry>) {
    for (path, entry) in &files.0 {
        put(root, &root.join(path), entry);
    }
}

/// Does what somebody else does.
pub(crate) fn change(root: &Path, changes: &Named<Option<Change>>) {
    for (path, change) in &changes.0 {
        let path = root.join(path);
        match change {
            None => remove(&path),
            Some(Change::Entry(entry)) => put(root, &path, entry),
            Some(Change::Touched(touched)) => {
                set_modified(&path, SystemTime::UNIX_EPOCH + Duration::from_secs(touched.touch));
            }
            Some(Change::Chmod(chmod)) => set_mode(&path, chmod.chmod),
            Some(Change::Moved(moved)) => {
                make_parents(&path);
                fs::rename(root.join(&moved.moved_from), &path).unwrap();
            }
            Some(Change::KeptTime(kept)) => {
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                put_bytes(&path, kept.text.get().as_bytes());
                set_modified(&path, modified);
            }
        }
    }
}

fn put(root: &Path, path: &Path, entry: &Entry) {
    make_parents(path);
    match entry {
        Entry::Text(text) => put_bytes(path, text.get().as_bytes()),
        Entry::File(file) => {
            put_bytes(path, file.text.get().as_bytes());
            file.mode.into_iter().for_each(|mode| set_mode(path, mode));
        }
        Entry::Bytes(file) => {
            put_bytes(path, &file.base64.0);
            file.mode.into_iter().for_each(|mode| set_mode(path, mode));
        }
        Entry::Directory(_) => {
            clear(path);
            fs::create_dir_all(path).unwrap();
        }
        Entry::Link(link) => {
            clear(path);
            std::os::unix::fs::symlink(&link.link, path).unwrap();
        }
        Entry::HardLink(link) => {
            clear(path);
            fs::hard_link(root.join(&link.hard_link), path).unwrap();
        }
        Entry::Fifo(_) => {
            clear(path);
            rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        }
    }
}

/// Writes into the file that is there, as an editor would that saves in place; makes one where there is none.
fn put_bytes(path: &Path, bytes: &[u8]) {
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        clear(path);
    }
    let is_new = path.symlink_metadata().is_err();
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
    if is_new {
        set_mode(path, Permissions(0o644));
    }
}

fn make_parents(path: &Path) {
    fs::create_dir_all(path.parent().expect("a path of a case is beneath its directory")).unwrap();
}

fn clear(path: &Path) {
    if path.symlink_metadata().is_ok() {
        remove(path);
    }
}

fn remove(path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

fn set_mode(path: &Path, mode: Permissions) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode.0)).unwrap();
}

fn set_modified(path: &Path, modified: SystemTime) {
    // Also of a file that nobody may write: only its owner needs to be asked.
    let nanoseconds = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let last_modification = rustix::fs::Timespec {
        tv_sec: i64::try_from(nanoseconds.as_secs()).unwrap(),
        tv_nsec: i64::from(nanoseconds.subsec_nanos()),
    };
    let last_access = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = rustix::fs::Timestamps { last_access, last_modification };
    rustix::fs::utimensat(CWD, path, &times, rustix::fs::AtFlags::empty()).unwrap();
}

/// The paths beneath a directory, directories before what is in them, as `a/b`.
pub(crate) fn paths(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                directories.push(path.clone());
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.push((name, path));
        }
    }
    found.sort();
    found
}
