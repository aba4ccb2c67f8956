//! The file systems that cases are on: those that are there, and images of two kinds where root may mount them.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fastrand::Rng;
use tempfile::TempDir;

use crate::mounts::{self, Mounted, run};

/// How often it is tried whether a time stamp tells two changes apart.
const ATTEMPTS: usize = 50;

/// A directory on a file system.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: &'static str,
    directory: PathBuf,
    /// Whether each change moves a time stamp that was looked at since the one before, however soon it comes.
    pub(super) stamps_each_change: bool,
    // The order is the one in which they go.
    _mounted: Option<Mounted>,
    _kept: TempDir,
}

/// All places of a run.
#[derive(Debug)]
pub(super) struct Places {
    places: Vec<Place>,
    /// Why there are no more of them.
    pub(super) skipped: Vec<String>,
}

impl Places {
    pub(super) fn find() -> Places {
        let mut places = Places { places: Vec::new(), skipped: Vec::new() };
        places.add("the disk of temporary files", Place::beneath(&std::env::temp_dir()));
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            places.add("tmpfs", Place::beneath(memory));
        } else {
            places.skipped.push("tmpfs: there is no `/dev/shm`".to_owned());
        }
        let images: [(&str, u64, &[&str]); 2] = [
            // Inodes of that size have room for time stamps of nanoseconds.
            ("ext4", 128 << 20, &["mkfs.ext4", "-q", "-F", "-I", "256"]),
            ("xfs", 320 << 20, &["mkfs.xfs", "-q", "-f"]),
        ];
        for (name, bytes, tool) in images {
            let image = match mounts::images_missing() {
                Some(reason) => Err(reason),
                None => Place::image(bytes, tool),
            };
            places.add(name, image);
        }
        places
    }

    fn add(&mut self, name: &'static str, made: Result<(TempDir, Option<Mounted>), String>) {
        let made = made.and_then(|(kept, mounted)| {
            let directory = if mounted.is_some() { kept.path().join(POINT) } else { kept.path().to_owned() };
            let stamps_each_change = stamps_each_change(&directory).map_err(|error| error.to_string())?;
            Ok(Place { name, directory, stamps_each_change, _mounted: mounted, _kept: kept })
        });
        match made {
            Ok(place) => {
                if !place.stamps_each_change {
                    self.skipped
                        .push(format!("{name}: its time stamps are coarse, so no pass is remembered there"));
                }
                self.places.push(place);
            }
            Err(reason) => self.skipped.push(format!("{name}: {reason}")),
        }
    }

    pub(super) fn pick(&self, rng: &mut Rng) -> &Place {
        &self.places[rng.usize(..self.places.len())]
    }
}

/// Where a file system of its own is mounted, beneath the directory of its place.
const POINT: &str = "volume";

impl Place {
    /// A directory for one case.
    pub(super) fn directory(&self) -> std::io::Result<TempDir> {
        tempfile::tempdir_in(&self.directory)
    }

    fn beneath(directory: &Path) -> Result<(TempDir, Option<Mounted>), String> {
        let kept = tempfile::Builder::new().prefix("toolfs-alarm-").tempdir_in(directory);
        Ok((kept.map_err(|error| error.to_string())?, None))
    }

    fn image(bytes: u64, tool: &[&str]) -> Result<(TempDir, Option<Mounted>), String> {
        let told = |error: std::io::Error| error.to_string();
        let kept = tempfile::tempdir().map_err(told)?;
        let (image, point) = (kept.path().join("image"), kept.path().join(POINT));
        fs::create_dir(&point).map_err(told)?;
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(told)?;
        run(Command::new(tool[0]).args(&tool[1..]).arg(&image))?;
        let mounted = Mounted::new(&["-o", "loop", &image.to_string_lossy()], &point)?;
        Ok((kept, Some(mounted)))
    }
}

fn stamps_each_change(directory: &Path) -> std::io::Result<bool> {
    let path = directory.join("probe");
    let mut file = File::create(&path)?;
    let mut stamps = Vec::new();
    for _ in 0..ATTEMPTS {
        file.write_all(b"x")?;
        let metadata = file.metadata()?;
        stamps.push((metadata.ctime(), metadata.ctime_nsec()));
    }
    fs::remove_file(&path)?;
    Ok(stamps.windows(2).all(|pair| pair[0] != pair[1]))
}
