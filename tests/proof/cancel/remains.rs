//! What a server may still hold when none of its calls is under way.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::site::Site;

/// How many open lock files of a file system a server keeps for later, and it serves one.
const MAX_LOCK_FILES: usize = 32;

/// The descriptors of a server, but for connections, and those of its database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// By what they lead to.
    files: BTreeMap<String, usize>,
    lock_files: usize,
}

impl Descriptors {
    pub(super) fn of(site: &Site) -> Descriptors {
        let mut descriptors = Descriptors::default();
        let server = &site.servers[0];
        for entry in fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap() {
            // It may be gone by now.
            let Ok(target) = fs::read_link(entry.unwrap().path()) else { continue };
            if target.starts_with(site.ground.locks()) {
                descriptors.lock_files += 1;
            } else if target.is_absolute() && !is_of_the_database(&target) {
                *descriptors.files.entry(target.to_string_lossy().into_owned()).or_default() += 1;
            }
        }
        descriptors
    }

    /// Sees that there are no more than there were.
    ///
    /// # Errors
    /// What is open beside.
    pub(super) fn check(&self, before: &Descriptors) -> Result<(), String> {
        if self.lock_files > MAX_LOCK_FILES {
            return Err(format!("{} lock files are open", self.lock_files));
        }
        let more: Vec<_> = self
            .files
            .iter()
            .filter(|(file, count)| **count > before.files.get(*file).copied().unwrap_or_default())
            .collect();
        if more.is_empty() { Ok(()) } else { Err(format!("there are open beside {before:?}: {more:?}")) }
    }
}

/// Whether a file is one of the state's database, which opens as many as calls read from it at once.
fn is_of_the_database(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("state.db"))
}

/// The locks of turns that somebody holds on a ground.
pub(super) fn held_turns(site: &Site) -> Vec<String> {
    let lock_files: Vec<u64> = match fs::read_dir(site.ground.locks()) {
        Ok(entries) => entries.map(|entry| entry.unwrap().metadata().unwrap().ino()).collect(),
        Err(_) => Vec::new(),
    };
    let is_of_ground = |line: &str| {
        let file = line.split_whitespace().find(|word| word.matches(':').count() == 2);
        let inode = file.and_then(|file| file.rsplit(':').next()?.parse().ok());
        inode.is_some_and(|inode| lock_files.contains(&inode))
    };
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().filter(|line| is_of_ground(line)).map(str::to_owned).collect()
}

/// Whether directories that a creation made are there without the file.
pub(super) fn has_empty_parents(place: &Path) -> bool {
    place.join("p").exists() && !place.join("p/q/file").exists()
}
