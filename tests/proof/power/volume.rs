//! A file system on a loop device, whose power can be cut.
//!
//! The device is a file that loses nothing: a cut shuts the file system down without flushing its log
//! (`FS_IOC_SHUTDOWN`), so that what it had not sent to the device by then is gone. `drive` has the device that loses
//! what was not flushed.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::command::{patiently, run, run_patiently};
use super::scratch::Scratch;

/// Who holds a mount or a device that is to go lets go within a minute: also a foreign process that had mounts of its
/// own made from everybody's.
pub(super) const ATTEMPTS: usize = 6_000;

/// A kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ext4,
    Xfs,
}

impl Kind {
    pub(super) const ALL: [Kind; 2] = [Kind::Ext4, Kind::Xfs];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
        }
    }

    pub(super) fn tool(self) -> &'static str {
        match self {
            Kind::Ext4 => "mkfs.ext4",
            Kind::Xfs => "mkfs.xfs",
        }
    }

    /// As small as the tools allow.
    fn size(self) -> u64 {
        match self {
            Kind::Ext4 => 64 << 20,
            Kind::Xfs => 300 << 20,
        }
    }

    /// Makes a file system of this kind in a new file, for a device with sectors of so many bytes.
    ///
    /// # Errors
    /// What the tool said.
    pub(super) fn make(self, image: &Path, sector: u32) -> Result<(), String> {
        let told = |error: std::io::Error| format!("`{}`: {error}", image.display());
        File::create_new(image).and_then(|file| file.set_len(self.size())).map_err(told)?;
        let sector = format!("size={sector}");
        let arguments: &[&str] = match self {
            // No block of it is smaller than 4096 bytes.
            Kind::Ext4 => &["-q", "-F", "-b", "4096"],
            Kind::Xfs => &["-q", "-f", "-s", &sector],
        };
        let arguments = arguments.iter().map(OsStr::new).chain([image.as_os_str()]);
        run(self.tool(), arguments).map(drop)
    }
}

/// A loop device over a file, detached when it is dropped.
#[derive(Debug)]
pub(super) struct Loop {
    device: String,
}

impl Loop {
    /// # Errors
    /// What the tool said.
    pub(super) fn attach(file: &Path, sector: u32) -> Result<Loop, String> {
        let sector = format!("--sector-size={sector}");
        // Another process may take the free device first, some times in a row.
        let arguments = ["--find", "--show", &sector].map(OsStr::new);
        let arguments: Vec<&OsStr> = arguments.into_iter().chain([file.as_os_str()]).collect();
        run_patiently(10, "losetup", &arguments).map(|device| Loop { device })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // One that is still in use goes with its last user.
        let _ = run("losetup", ["--detach", &self.device]);
    }
}

/// A mounted file system, unmounted when it is dropped.
#[derive(Debug)]
pub(super) struct Mount {
    point: PathBuf,
    /// What the kernel shows while the file system lives, mounted or not.
    sign_of_life: PathBuf,
    is_mounted: bool,
}

impl Mount {
    /// # Errors
    /// What the system said.
    pub(super) fn new(kind: Kind, device: &Loop, point: &Path, options: &str) -> Result<Mount, String> {
        let arguments = ["-t", kind.as_str(), "-o", options, device.device.as_str()].map(OsStr::new);
        run("mount", arguments.into_iter().chain([point.as_os_str()]))?;
        let name = device.device.trim_start_matches("/dev/");
        let sign_of_life = Path::new("/sys/fs").join(kind.as_str()).join(name);
        Ok(Mount { point: point.to_owned(), sign_of_life, is_mounted: true })
    }

    /// Unmounts it when the last one has let go, and waits until it is gone: a process that ended with mounts of its
    /// own keeps it for a moment, and a file system that is still there is not read anew.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn unmount(mut self) -> Result<(), String> {
        run_patiently(ATTEMPTS, "umount", &[&self.point])?;
        self.is_mounted = false;
        let gone = || if self.sign_of_life.exists() { Err("it is still there".to_owned()) } else { Ok(()) };
        patiently(ATTEMPTS, gone)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_mounted && run_patiently(ATTEMPTS, "umount", &[&self.point]).is_err() {
            let _ = run("umount", ["--lazy".as_ref(), self.point.as_os_str()]);
        }
    }
}

/// Something with a file system on it that loses power, and gets it back.
pub(super) trait Powered: Send {
    /// Where it is mounted.
    fn point(&self) -> &Path;

    /// Makes everything durable that is there, however the volume is mounted.
    ///
    /// # Errors
    /// What the system said.
    fn settle(&mut self) -> Result<(), String> {
        sync(self.point())
    }

    /// Cuts the power, whoever is at work. Nothing that is written from here on gets through.
    ///
    /// # Errors
    /// What went wrong in doing so.
    fn cut(&mut self) -> Result<(), String>;

    /// Mounts what is left. Nobody may use it any more.
    ///
    /// # Errors
    /// What the system said.
    fn restore(&mut self) -> Result<(), String>;
}

/// A file system on a loop device. Dropping it leaves nothing.
#[derive(Debug)]
pub(super) struct Volume {
    kind: Kind,
    point: PathBuf,
    // The order is the one in which they go.
    mount: Option<Mount>,
    device: Loop,
}

impl Volume {
    /// Makes and mounts one.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn new(kind: Kind, scratch: &Scratch) -> Result<Volume, String> {
        let image = scratch.beside("image");
        kind.make(&image, 512)?;
        let device = Loop::attach(&image, 512)?;
        let point = scratch.mount_point("volume")?;
        let mount = Mount::new(kind, &device, &point, "defaults")?;
        Ok(Volume { kind, point, mount: Some(mount), device })
    }
}

impl Powered for Volume {
    fn point(&self) -> &Path {
        &self.point
    }

    fn cut(&mut self) -> Result<(), String> {
        shut_down(&self.point)
    }

    fn restore(&mut self) -> Result<(), String> {
        if let Some(mount) = self.mount.take() {
            mount.unmount()?;
        }
        self.mount = Some(Mount::new(self.kind, &self.device, &self.point, "defaults")?);
        Ok(())
    }
}

/// Lets a file system write what it has to write.
///
/// # Errors
/// What the system said.
pub(super) fn sync(point: &Path) -> Result<(), String> {
    let point = File::open(point).map_err(|error| error.to_string())?;
    rustix::fs::syncfs(point).map_err(|error| error.to_string())
}

/// Shuts a file system down without flushing its log.
pub(super) fn shut_down(point: &Path) -> Result<(), String> {
    // Without `-f`, which would flush. The tool knows the call for every file system when it is told to.
    run("xfs_io", [OsStr::new("-x"), OsStr::new("-c"), OsStr::new("shutdown"), point.as_os_str()]).map(drop)
}
