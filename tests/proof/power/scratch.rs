//! Directories beneath which volumes are mounted, and that are taken apart again whatever happens.
//!
//! A scratch goes with its value, also in a panic, and SIGINT and SIGTERM take every scratch of this process apart.
//! What a killed process left is recognised by its name and by a lock that nobody holds, and goes when another process
//! makes its first scratch. Mounts beneath a scratch are shared, so that a process that has mounts of its own lets go
//! of a volume together with everybody else.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::{process, thread};

use rustix::fs::{FlockOperation, flock};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::command::{run, run_patiently};

const PREFIX: &str = "toolfs-power-";

/// The file that its owner keeps locked.
const HELD: &str = "held";

/// How often it is tried to unmount in good order before it is done in any.
const ATTEMPTS: usize = 25;

/// The scratches of this process.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory for volumes.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    _held: File,
}

impl Scratch {
    /// # Errors
    /// What the system said.
    pub(super) fn make() -> Result<Scratch, String> {
        static FIRST: Once = Once::new();
        FIRST.call_once(|| {
            take_leftovers_apart();
            take_apart_on_signals();
        });
        let told = |error: std::io::Error| error.to_string();
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base()).map_err(told)?;
        let held = File::create_new(directory.path().join(HELD)).map_err(told)?;
        flock(&held, FlockOperation::LockExclusive).map_err(|error| error.to_string())?;
        let path = directory.path().canonicalize().map_err(told)?;
        LIVE.lock().unwrap().push(path.clone());
        // From here on the value takes it apart.
        let _ = directory.keep();
        let scratch = Scratch { path, _held: held };
        let mounts = scratch.mounts();
        fs::create_dir(&mounts).map_err(told)?;
        run("mount", ["--bind".as_ref(), mounts.as_os_str(), mounts.as_os_str()])?;
        run("mount", ["--make-shared".as_ref(), mounts.as_os_str()])?;
        Ok(scratch)
    }

    /// A place beside the volumes.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A new directory to mount something at.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn mount_point(&self, name: &str) -> Result<PathBuf, String> {
        let point = self.mounts().join(name);
        fs::create_dir(&point).map_err(|error| format!("`{}`: {error}", point.display()))?;
        Ok(point)
    }

    fn mounts(&self) -> PathBuf {
        self.path.join("mounts")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        take_apart(&self.path);
        LIVE.lock().unwrap().retain(|path| *path != self.path);
    }
}

/// Memory, where there is a directory of it: what a cut takes is decided above, and no disk has to keep up.
fn base() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// Unmounts and detaches what is beneath, and removes it. What does not come apart stays for the next process.
fn take_apart(path: &Path) {
    // The innermost mount is the youngest.
    for point in mounts_beneath(path).iter().rev() {
        if run_patiently(ATTEMPTS, "umount", &[point]).is_err() {
            // It goes when the last one that still works on it ends.
            let _ = run("umount", ["--lazy".as_ref(), point.as_os_str()]);
        }
    }
    for device in loops_beneath(path) {
        let _ = run("losetup", ["--detach", &device]);
    }
    // Never through a mount that is still there.
    if mounts_beneath(path).is_empty() {
        let _ = fs::remove_dir_all(path);
    }
}

fn take_leftovers_apart() {
    for entry in fs::read_dir(base()).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(held) = File::open(entry.path().join(HELD)) else { continue };
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok()
            && let Ok(path) = entry.path().canonicalize()
        {
            take_apart(&path);
        }
    }
}

fn take_apart_on_signals() {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    thread::spawn(move || {
        let number = runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt()).unwrap();
            let mut terminate = signal(SignalKind::terminate()).unwrap();
            tokio::select! {
                _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
                _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
            }
        });
        let live = LIVE.lock().unwrap().clone();
        for path in live {
            take_apart(&path);
        }
        process::exit(128 + number);
    });
}

/// Where something is mounted beneath a directory, the oldest first.
fn mounts_beneath(directory: &Path) -> Vec<PathBuf> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points =
        mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(unescaped).filter(|point| point.starts_with(directory)).collect()
}

/// A path as the kernel lists it, with the odd characters as three octal digits.
fn unescaped(listed: &[u8]) -> PathBuf {
    let (mut path, mut rest) = (Vec::new(), listed);
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                path.push(byte);
                rest = &after[3..];
            }
            Some(_) | None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

/// The loop devices over files beneath a directory.
fn loops_beneath(directory: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let beneath = devices.filter(|device| {
        fs::read_to_string(device.path().join("loop/backing_file"))
            .is_ok_and(|file| Path::new(file.trim_end()).starts_with(directory))
    });
    beneath.map(|device| format!("/dev/{}", device.file_name().to_string_lossy())).collect()
}
