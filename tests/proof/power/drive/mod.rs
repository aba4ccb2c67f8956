//! A drive that loses what was not flushed: a file of a FUSE file system that keeps writes in memory until its fsync.
//!
//! A cut leaves a seeded subset of what came since then, also parts of one write; nothing gets through afterwards.
//! Deliberately absent: drives that lie about a flush, against which no file system can do anything, and those that
//! tear a sector.

mod cache;
mod serve;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, ChildStdout, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::command::{run, run_patiently};
use super::scratch::Scratch;
use super::volume::{ATTEMPTS, Kind, Loop, Mount, Powered, shut_down, sync};
use crate::Part;

pub(in crate::power) use self::cache::Order;
use self::cache::{SECTOR, Toll};

pub(crate) const PART: Part = Part { name: "drive", run: serve::run };

/// The name of the one file.
const NAME: &str = "drive";

/// A line to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Flush,
    Cut { seed: u64 },
}

/// A running drive. It is unmounted and ends when it is dropped.
#[derive(Debug)]
struct Drive {
    point: PathBuf,
    child: Child,
    /// Absent once it is to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drive {
    fn start(medium: &Path, point: &Path, order: Order) -> Result<Drive, String> {
        let mut command = process::Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        command.arg(PART.name).args([medium, point]).arg(order.as_str());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut drive = Drive { point: point.to_owned(), child, input, output };
        match drive.line()?.as_str() {
            "ready" => Ok(drive),
            said => Err(format!("{command:?}: {said}")),
        }
    }

    fn file(&self) -> PathBuf {
        self.point.join(NAME)
    }

    fn flush(&mut self) -> Result<(), String> {
        self.order::<()>(&Command::Flush)
    }

    fn cut(&mut self, seed: u64) -> Result<Toll, String> {
        self.order(&Command::Cut { seed })
    }

    /// Has something done that is no business of the kernel.
    fn order<T: DeserializeOwned>(&mut self, command: &Command) -> Result<T, String> {
        let command = serde_json::to_string(command).expect("it has a form in JSON");
        if let Some(input) = &mut self.input {
            writeln!(input, "{command}").map_err(|error| error.to_string())?;
        }
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|_| format!("the drive said `{line}`"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if run_patiently(ATTEMPTS, "umount", &[&self.point]).is_err() {
            let _ = run("umount", ["--lazy".as_ref(), self.point.as_os_str()]);
        }
        self.input = None;
        let _ = self.child.wait();
    }
}

/// What file system and drive promise each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// How the file system is mounted.
    pub(super) options: &'static str,
    pub(super) order: Order,
}

/// A file system on a device over such a drive. Dropping it leaves nothing.
#[derive(Debug)]
pub(super) struct FrailVolume {
    kind: Kind,
    terms: Terms,
    medium: PathBuf,
    drive_point: PathBuf,
    point: PathBuf,
    rng: fastrand::Rng,
    /// What the last cut took.
    pub(super) toll: Toll,
    running: Option<Running>,
}

/// The parts, in the order in which they go.
#[derive(Debug)]
struct Running {
    mount: Mount,
    device: Loop,
    drive: Drive,
}

impl FrailVolume {
    /// Makes and mounts one.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn new(kind: Kind, terms: Terms, seed: u64, scratch: &Scratch) -> Result<FrailVolume, String> {
        let medium = scratch.beside("medium");
        kind.make(&medium, SECTOR)?;
        let mut volume = FrailVolume {
            kind,
            terms,
            medium,
            drive_point: scratch.mount_point("drive")?,
            point: scratch.mount_point("volume")?,
            rng: fastrand::Rng::with_seed(seed),
            toll: Toll::default(),
            running: None,
        };
        volume.start()?;
        Ok(volume)
    }

    fn start(&mut self) -> Result<(), String> {
        let drive = Drive::start(&self.medium, &self.drive_point, self.terms.order)?;
        let device = Loop::attach(&drive.file(), SECTOR)?;
        let mount = Mount::new(self.kind, &device, &self.point, self.terms.options)?;
        self.running = Some(Running { mount, device, drive });
        Ok(())
    }
}

impl Powered for FrailVolume {
    fn point(&self) -> &Path {
        &self.point
    }

    fn settle(&mut self) -> Result<(), String> {
        sync(&self.point)?;
        self.running.as_mut().map_or(Ok(()), |running| running.drive.flush())
    }

    fn cut(&mut self) -> Result<(), String> {
        let Some(running) = &mut self.running else { return Err("there is no power".to_owned()) };
        self.toll = running.drive.cut(self.rng.u64(..))?;
        Ok(())
    }

    fn restore(&mut self) -> Result<(), String> {
        if let Some(Running { mount, device, drive }) = self.running.take() {
            // A file system that knows that its device is dead does not try to write to it for long.
            let _ = shut_down(&self.point);
            mount.unmount()?;
            drop(device);
            drop(drive);
        }
        self.start()
    }
}
