//! Places that take so much and no more.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use fastrand::Rng;
use tempfile::TempDir;
use toolfs_core::planted::Fault;

use crate::mounts::{Mounted, run};
use crate::worker::{Settings, Worker};

/// What is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The bytes of a tmpfs.
    Bytes,
    /// The files of a tmpfs.
    Names,
    /// The files of an ext4.
    Inodes,
    /// The bytes that a process may write into one file.
    FileSize,
    /// Everything, once a tmpfs is read-only.
    ReadOnly,
    /// Everything, once an ext4 is read-only.
    ReadOnlyImage,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Bytes => "a tmpfs without space",
            Kind::Names => "a tmpfs without inodes",
            Kind::Inodes => "an ext4 without inodes",
            Kind::FileSize => "a limit on files",
            Kind::ReadOnly => "a tmpfs that becomes read-only",
            Kind::ReadOnlyImage => "an ext4 that becomes read-only",
        }
    }
}

impl Kind {
    pub(super) fn becomes_read_only(self) -> bool {
        match self {
            Kind::ReadOnly | Kind::ReadOnlyImage => true,
            Kind::Bytes | Kind::Names | Kind::Inodes | Kind::FileSize => false,
        }
    }
}

/// The longest file that a limited process may write.
pub(super) const MAX_FILE_BYTES: usize = 64 << 10;

/// The size of a page, and of what is given out at once.
const PAGE: usize = 4 << 10;

/// A place, and what is in the way there.
#[derive(Debug)]
pub(super) struct Volume {
    pub(super) kind: Kind,
    // The order is the one in which they go.
    pub(super) mounted: Option<Mounted>,
    /// Whether the server keeps its own files there, too.
    pub(super) holds_state: bool,
    directory: TempDir,
}

impl Volume {
    pub(super) fn new(kind: Kind, rng: &mut Rng) -> Result<Volume, String> {
        let directory = tempfile::tempdir().unwrap();
        let point = directory.path().join("volume");
        fs::create_dir(&point).unwrap();
        let tmpfs = |options: &str| Mounted::new(&["-t", "tmpfs", "-o", options, "none"], &point);
        let mounted = match kind {
            Kind::FileSize => None,
            Kind::Bytes => Some(tmpfs("size=1m")?),
            Kind::Names => Some(tmpfs("size=4m,nr_inodes=48")?),
            Kind::ReadOnly => Some(tmpfs("size=64m")?),
            Kind::Inodes | Kind::ReadOnlyImage => {
                let image = directory.path().join("image");
                let (size, inodes) = if kind == Kind::Inodes { (8 << 20, "48") } else { (64 << 20, "16384") };
                File::create(&image).and_then(|file| file.set_len(size)).unwrap();
                run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0", "-N", inodes]).arg(&image))?;
                Some(Mounted::new(&["-o", "loop", image.to_str().unwrap()], &point)?)
            }
        };
        // The server's own files are open for writing all the time, and so keep a volume from becoming read-only.
        let holds_state = !kind.becomes_read_only() && rng.bool();
        let volume = Volume { kind, mounted, holds_state, directory };
        for made in [volume.root(), volume.filler()] {
            fs::create_dir(made).unwrap();
        }
        Ok(volume)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().join("volume/root")
    }

    fn filler(&self) -> PathBuf {
        self.directory.path().join("volume/filler")
    }

    pub(super) fn settings(&self, fault: Option<Fault>) -> Settings {
        let state = self.directory.path().join(if self.holds_state { "volume/state" } else { "state" });
        let limited = ["prlimit".to_owned(), format!("--fsize={MAX_FILE_BYTES}:unlimited")];
        let prefix = match self.kind {
            Kind::FileSize => limited.map(OsString::from).to_vec(),
            Kind::Bytes | Kind::Names | Kind::Inodes | Kind::ReadOnly | Kind::ReadOnlyImage => Vec::new(),
        };
        Settings {
            recovery: Some(state.join("recovery")),
            runtime: Some(state.join("runtime")),
            fault,
            prefix,
            ..Settings::new(self.root())
        }
    }

    /// Leaves a random little room.
    pub(super) fn fill(&self, rng: &mut Rng) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        match self.kind {
            Kind::Bytes => {
                let path = self.filler().join("bytes");
                let mut file = File::options().append(true).create(true).open(path).map_err(failed)?;
                while file.write_all(&[b'x'; PAGE]).is_ok() {}
                let full = file.metadata().map_err(failed)?.len();
                file.set_len(full.saturating_sub(rng.u64(..24) * PAGE as u64)).map_err(failed)
            }
            Kind::Names | Kind::Inodes => {
                let mut made: Vec<PathBuf> = Vec::new();
                for number in 0.. {
                    let path = self.filler().join(number.to_string());
                    if !path.exists() && File::create(&path).is_err() {
                        break;
                    }
                    made.push(path);
                }
                let room = rng.usize(..5);
                made.iter().rev().take(room).try_for_each(fs::remove_file).map_err(failed)
            }
            Kind::FileSize | Kind::ReadOnly | Kind::ReadOnlyImage => Ok(()),
        }
    }

    /// Takes everything out of the way.
    pub(super) fn make_room(&self, worker: &Worker) -> Result<(), String> {
        fs::remove_dir_all(self.filler()).map_err(|error| error.to_string())?;
        if self.kind == Kind::FileSize {
            let pid = worker.pid.as_raw_nonzero().to_string();
            run(Command::new("prlimit").args(["--fsize=unlimited:unlimited", "--pid", &pid]))?;
        }
        Ok(())
    }
}
