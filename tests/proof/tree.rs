//! What there is beneath a root, for people and for the server.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use toolfs_core::version::Version;

use crate::client::join;

/// The files beneath a root that are not hidden.
pub(crate) fn contents(root: &Path) -> HashMap<String, Version> {
    let mut contents = HashMap::new();
    for directory in directories(root) {
        for path in entries(&root.join(&directory)) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_file() && !path.is_symlink() && !name.starts_with(".toolfs-") {
                contents.insert(join(&directory, &name), Version::of(&fs::read(&path).unwrap()));
            }
        }
    }
    contents
}

/// The directories beneath a root, and the root, which has no name.
pub(crate) fn directories(root: &Path) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while next < found.len() {
        let directory = found[next].clone();
        for path in entries(&root.join(&directory)) {
            if path.is_dir() && !path.is_symlink() {
                found.push(join(&directory, &path.file_name().unwrap().to_string_lossy()));
            }
        }
        next += 1;
    }
    found
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The hidden files of a server beneath a directory, but for those that it keeps for people.
pub(crate) fn litter(directory: &Path) -> Vec<PathBuf> {
    hidden(directory, |name| name.starts_with(".toolfs-") && !name.starts_with(".toolfs-rescue-"))
}

/// What was kept for people beneath a directory.
pub(crate) fn rescued(directory: &Path) -> Vec<PathBuf> {
    hidden(directory, |name| name.starts_with(".toolfs-rescue-"))
}

fn hidden(directory: &Path, wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            if wanted(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
        }
    }
    found
}
