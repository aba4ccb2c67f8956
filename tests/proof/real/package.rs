//! The files that differ between two releases of a package, as `fetch.py` leaves them below the target directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::pair::Gathered;
use crate::record::target_directory;

/// What `fetch.py` fetches.
const LIST: &str = include_str!("packages.txt");

/// Gathers what was fetched, and says what was not.
pub(crate) fn gather(gathered: &mut Gathered) {
    let root = target_directory().join("real-packages");
    let mut missing = Vec::new();
    let packages = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for package in packages {
        let fields: Vec<&str> = package.split(' ').collect();
        let [language, name, old, new] = fields[..] else { panic!("`{package}` is no pair of releases") };
        let directory = root.join(language).join(name.replace(['/', ':'], "_"));
        if !directory.is_dir() {
            missing.push(name);
            continue;
        }
        let (older, newer) = (directory.join("old"), directory.join("new"));
        for path in files(&newer) {
            let path = path.strip_prefix(&newer).unwrap();
            let Ok(before) = fs::read(older.join(path)) else {
                gathered.leave_out("added");
                continue;
            };
            let after = fs::read(newer.join(path)).unwrap();
            if before != after {
                let origin = format!("{} of {name}, from {old} to {new}", path.display());
                gathered.add(origin, path, before, after);
            }
        }
    }
    if !missing.is_empty() {
        let names = missing.join(", ");
        gathered.missing.push(format!("`make prove-packages` did not fetch {names}"));
    }
}

/// The files below a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let below = entries.into_iter().flat_map(|path| {
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() { files(&path) } else { Vec::from_iter(kind.is_file().then_some(path)) }
    });
    below.collect()
}
