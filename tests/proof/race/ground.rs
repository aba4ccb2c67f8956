//! The ground of an attack: a root, what lies outside of it with canaries in it, and how either is compared.
//!
//! Everything is below one temporary directory, which goes with the ground. Mounts go first.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_provider::capability::Durability;
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

/// The content of every file outside.
pub(crate) const CANARY: &str = "canary: nobody may see or change this\n";
/// The name that a file in every directory outside has.
pub(crate) const CANARY_NAME: &str = "canary-entry";
/// The content of every file inside.
pub(crate) const INSIDE: &str = "inside\n";
/// The root's directory, and its name after an attack moved it.
pub(crate) const ROOT: &str = "root";
pub(crate) const MOVED_ROOT: &str = "moved";
/// The name of a root that is not shown by its place.
pub(crate) const NAME: &str = "/workspace";

/// A root and its surroundings.
pub(crate) struct Ground {
    pub(crate) base: PathBuf,
    pub(crate) root: PathBuf,
    is_named: bool,
    mounts: Mutex<Vec<PathBuf>>,
    _keep: TempDir,
}

impl Ground {
    /// Lays out a root that is shown by its place or under a name of its own, and what lies around it.
    ///
    /// `outside` and `root-evil` hold canaries; `bound` holds what may be mounted into the root.
    pub(crate) fn new(is_named: bool) -> Ground {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let root = base.join("root");
        let ground = Ground { base, root, is_named, mounts: Mutex::default(), _keep: keep };
        for file in ["root/f", "root/d/f", "root/d/deep/f", "bound/f", "outside/shared"] {
            ground.put(file, INSIDE);
        }
        for directory in ["outside", "outside/b", "outside/a", "outside/a/b", "root-evil"] {
            ground.put(&format!("{directory}/f"), CANARY);
            ground.put(&format!("{directory}/{CANARY_NAME}"), CANARY);
        }
        ground
    }

    fn put(&self, file: &str, content: &str) {
        let path = self.base.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A provider that serves the root.
    pub(crate) fn serve(&self, change: impl FnOnce(&mut LocalOptions)) -> LocalProvider {
        self.serve_other(&self.root, change)
    }

    /// A provider that serves another directory of this host.
    pub(crate) fn serve_other(
        &self,
        directory: impl Into<PathBuf>,
        change: impl FnOnce(&mut LocalOptions),
    ) -> LocalProvider {
        let spec = match self.is_named {
            true => RootSpec::named(directory, NAME).unwrap(),
            false => RootSpec::new(directory),
        };
        // What survives a power cut is not the question here.
        let mut options =
            LocalOptions { durability: Durability::None, ..LocalOptions::new(Arc::new(HostClock)) };
        change(&mut options);
        LocalProvider::open(&[spec], options).unwrap()
    }

    /// The path under which the root is shown.
    fn shown_root(&self) -> &[u8] {
        if self.is_named { NAME.as_bytes() } else { self.root.as_os_str().as_bytes() }
    }

    /// Puts in where this ground is: `{base}` is the directory of everything, `{root}` the root as it is shown.
    pub(crate) fn fill(&self, text: &[u8]) -> Vec<u8> {
        let mut filled = text.to_vec();
        for (mark, value) in [(b"{base}", self.base.as_os_str().as_bytes()), (b"{root}", self.shown_root())] {
            while let Some(at) = filled.windows(mark.len()).position(|window| window == mark) {
                filled.splice(at..at + mark.len(), value.iter().copied());
            }
        }
        filled
    }

    /// Mounts the directory or file `from` at `at` until the ground goes.
    ///
    /// # Errors
    /// What the command says, where mounting is not allowed.
    pub(crate) fn bind(&self, from: &Path, at: &Path) -> Result<(), String> {
        let output = Command::new("mount").arg("--bind").args([from, at]).stdin(Stdio::null()).output();
        let output = output.map_err(|cause| format!("mount: {cause}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        self.mounts.lock().unwrap().push(at.to_owned());
        Ok(())
    }

    /// Everything outside, with what no answer and no call may change.
    pub(crate) fn outside(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for directory in ["outside", "root-evil"] {
            snapshot.add(&self.base, Path::new(directory), Care::ForEverything);
        }
        snapshot
    }

    /// Everything inside; `root` is the name of the root's directory by now.
    pub(crate) fn inside(&self, root: &str) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.add(&self.base, Path::new(root), Care::ForContent);
        snapshot
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for at in self.mounts.lock().unwrap().iter().rev() {
            // Lazily: a descriptor that is still open must not keep the mount, or what is mounted would be removed.
            let ended = Command::new("umount").arg("--lazy").arg(at).stdin(Stdio::null()).status();
            assert!(ended.is_ok_and(|status| status.success()), "`{}` stays mounted", at.display());
        }
    }
}

/// What is compared of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    /// Its kind and content.
    ForContent,
    /// Its mode and its time stamp too.
    ForEverything,
}

/// What was somewhere at one time, by its path below the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: fs::FileType,
    /// The bytes of a file, the text of a link.
    content: Vec<u8>,
    /// Mode and time stamp, where they count.
    attributes: Option<(u32, i64, i64)>,
}

impl Snapshot {
    fn add(&mut self, base: &Path, relative: &Path, care: Care) {
        let path = base.join(relative);
        let facts = fs::symlink_metadata(&path).unwrap();
        let kind = facts.file_type();
        let content = if kind.is_file() {
            fs::read(&path).unwrap()
        } else if kind.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else {
            Vec::new()
        };
        let attributes = match care {
            Care::ForContent => None,
            Care::ForEverything => Some((facts.mode(), facts.mtime(), facts.mtime_nsec())),
        };
        self.0.insert(relative.to_owned(), Entry { kind, content, attributes });
        if kind.is_dir() {
            for entry in fs::read_dir(&path).unwrap() {
                self.add(base, &relative.join(entry.unwrap().file_name()), care);
            }
        }
    }

    /// What it is when the regular file `file` below `root` holds `content`, and its parents are there.
    pub(crate) fn with_file(mut self, root: &str, file: &Path, content: &[u8]) -> Snapshot {
        let (root, regular) = (Path::new(root), fs::metadata("/proc/self/exe").unwrap().file_type());
        let path = root.join(file);
        let directory = self.0[root].clone();
        for parent in path.ancestors().skip(1).take_while(|parent| parent.starts_with(root)) {
            self.0.entry(parent.to_owned()).or_insert_with(|| directory.clone());
        }
        self.0.insert(path, Entry { kind: regular, content: content.to_vec(), attributes: None });
        self
    }

    /// The first difference to what is there `now`, in words.
    pub(crate) fn difference(&self, now: &Snapshot) -> Option<String> {
        let paths: std::collections::BTreeSet<_> = self.0.keys().chain(now.0.keys()).collect();
        paths.into_iter().find_map(|path| {
            let what = match (self.0.get(path), now.0.get(path)) {
                (Some(before), Some(after)) if before == after => return None,
                (Some(before), Some(after)) if before.content == after.content => {
                    "has another kind, mode or time"
                }
                (Some(_), Some(_)) => "has another content",
                (Some(_), None) => "is gone",
                (None, _) => "appeared",
            };
            Some(format!("`{}` {what}", path.display()))
        })
    }
}

/// The time of this host.
#[derive(Debug)]
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }
}
