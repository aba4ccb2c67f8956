//! A root on something that loses power, the worker that serves it, and what its clients know.
//!
//! The recovery directory lies on the same volume and dies with it. After a cut everything that was acknowledged is
//! looked up before anybody touches the volume; then a new worker is started, makes one change in each directory that
//! was in use, and what is left besides is litter.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_core::version::Version;
use toolfs_provider::capability::Durability;

use super::scratch::Scratch;
use super::volume::Powered;
use crate::client::{Client, Ending, join};
use crate::ledger::Ledger;
use crate::worker::{Settings, Worker};

/// The name of the file that is changed in each directory after a cut.
const FIRST_USE: &str = "first-use";

const HIDDEN: &str = ".toolfs-";
const RESCUE: &str = ".toolfs-rescue-";

/// What goes down with the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outage {
    /// The host, whose runtime directory is in memory.
    Host,
    /// The host, whose runtime directory is on the volume.
    HostWithRuntime,
    /// Nothing: only the volume fails, and the host lives on with its runtime directory.
    VolumeAlone,
}

impl Outage {
    const ALL: [Outage; 3] = [Outage::Host, Outage::HostWithRuntime, Outage::VolumeAlone];

    pub(super) fn draw(rng: &mut Rng) -> Outage {
        Outage::ALL[rng.usize(..Outage::ALL.len())]
    }
}

/// How a site is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) outage: Outage,
    pub(super) durability: Durability,
    /// What is planted in its workers.
    pub(super) fault: Option<Fault>,
}

/// A served root, between two cuts.
#[derive(Debug)]
pub(super) struct Site<P: Powered> {
    // The order is the one in which they go.
    worker: Option<Worker>,
    pub(super) powered: P,
    scratch: Scratch,
    pub(super) plan: Plan,
    pub(super) ledger: Ledger,
    pub(super) serial: AtomicU64,
    rng: Rng,
}

impl<P: Powered> Site<P> {
    /// Makes a root out of what `furnish` puts there, durably, and starts its first worker.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn new(
        powered: P,
        scratch: Scratch,
        plan: Plan,
        seed: u64,
        furnish: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<Site<P>, String> {
        let mut site = Site {
            worker: None,
            powered,
            scratch,
            plan,
            ledger: Ledger::default(),
            serial: AtomicU64::new(1),
            rng: Rng::with_seed(seed),
        };
        let told = |error: std::io::Error| error.to_string();
        fs::create_dir(site.root()).and_then(|()| furnish(&site.root())).map_err(told)?;
        site.ledger.take_stock(site.look()?.files);
        site.powered.settle()?;
        site.boot()?;
        Ok(site)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.powered.point().join("root")
    }

    /// The power switch, and what clients work with meanwhile.
    pub(super) fn open(&mut self) -> (&mut P, Desk<'_>) {
        let worker = self.worker.as_ref().expect("a site has one, but for the time of an outage");
        (&mut self.powered, Desk { worker, ledger: &self.ledger, serial: &self.serial })
    }

    /// After a cut: compares what is left with what was acknowledged, and sees that the next worker leaves no litter.
    /// Tells how many hidden files there were.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn recover(&mut self) -> Result<u64, String> {
        if let Some(worker) = self.worker.take() {
            worker.kill();
            worker.wait();
        }
        let mounted = self.powered.restore();
        mounted.map_err(|error| format!("what is left of the volume cannot be mounted: {error}"))?;
        let Tree { files, litter, .. } = self.compare("after the cut")?;
        // What was asked for, and what is hidden: the first use itself leaves something now and then.
        let hidden = litter.len() as u64;
        let mut used = self.ledger.touched();
        used.retain(|file| !file.ends_with(FIRST_USE));
        used.extend(litter);
        self.ledger.take_stock(files);
        self.boot().map_err(|error| format!("no server starts on what is left: {error}"))?;
        self.use_first(&used)?;
        let Tree { litter, rescues, .. } = self.compare("after the first use")?;
        match (litter.first(), rescues.first()) {
            (Some(litter), _) => {
                Err(format!("`{litter}` is still there after the first use of its directory"))
            }
            (None, Some(rescue)) => {
                Err(format!("`{rescue}` was rescued, and nobody else had written anything"))
            }
            (None, None) => Ok(hidden),
        }
    }

    fn boot(&mut self) -> Result<(), String> {
        let mut settings = Settings::new(self.root());
        settings.threads = 4;
        settings.durability = self.plan.durability;
        settings.fault = self.plan.fault;
        settings.recovery = Some(self.powered.point().join("recovery"));
        let aside = self.scratch.beside("runtime");
        settings.runtime = Some(match self.plan.outage {
            Outage::HostWithRuntime => self.powered.point().join("runtime"),
            Outage::Host | Outage::VolumeAlone => aside.clone(),
        });
        match self.plan.outage {
            Outage::Host => {
                // It is not there before the first boot.
                let _ = fs::remove_dir_all(&aside);
                settings.prefix = self.boot_host()?;
            }
            Outage::HostWithRuntime => settings.prefix = self.boot_host()?,
            Outage::VolumeAlone => {}
        }
        self.worker = Some(Worker::start(&settings)?);
        Ok(())
    }

    /// What runs a worker on a host that was booted just now, as far as the kernel's boot id tells.
    fn boot_host(&mut self) -> Result<Vec<OsString>, String> {
        let id = self.scratch.beside("boot-id");
        let random = uuid::Builder::from_random_bytes(self.rng.u128(..).to_ne_bytes()).into_uuid();
        fs::write(&id, format!("{random}\n")).map_err(|error| error.to_string())?;
        let script = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
        let prefix = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script];
        Ok(prefix.into_iter().map(OsString::from).chain([id.into()]).collect())
    }

    /// Changes one file in the directory of each of these files.
    fn use_first(&mut self, used: &[String]) -> Result<(), String> {
        let mut directories: Vec<&str> = used.iter().map(|file| directory_of(file)).collect();
        directories.sort_unstable();
        directories.dedup();
        let seed = self.rng.u64(..);
        let root = self.root();
        let (_, desk) = self.open();
        let mut client = desk.client(seed);
        // A directory that was made for a file that was never acknowledged may be gone with it.
        for directory in directories.into_iter().filter(|directory| root.join(directory).is_dir()) {
            let file = join(directory, FIRST_USE);
            match client.overwrite(&file)? {
                Ending::Done => {}
                ending => return Err(format!("the first use of `{directory}` ended in {ending:?}")),
            }
        }
        Ok(())
    }

    /// Looks at what is there, and whether it may be.
    fn compare(&self, when: &str) -> Result<Tree, String> {
        let tree = self.look()?;
        let compared = self.ledger.compare(&tree.files, self.plan.durability);
        compared.map_err(|wrong| format!("{when}: {wrong}"))?;
        Ok(tree)
    }

    fn look(&self) -> Result<Tree, String> {
        let mut tree = Tree::default();
        tree.walk(&self.root(), "").map_err(|error| format!("what is left cannot be read: {error}"))?;
        Ok(tree)
    }
}

/// What clients of a site work with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Desk<'a> {
    pub(super) worker: &'a Worker,
    ledger: &'a Ledger,
    serial: &'a AtomicU64,
}

impl<'a> Desk<'a> {
    /// A client, whose choices come from `seed`.
    pub(super) fn client(self, seed: u64) -> Client<'a> {
        let Desk { worker, ledger, serial } = self;
        Client { worker, ledger, serial, rng: Rng::with_seed(seed) }
    }
}

/// What there is beneath a root.
#[derive(Debug, Default)]
struct Tree {
    files: HashMap<String, Version>,
    litter: Vec<String>,
    rescues: Vec<String>,
}

impl Tree {
    fn walk(&mut self, root: &Path, directory: &str) -> std::io::Result<()> {
        for entry in fs::read_dir(root.join(directory))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = join(directory, &name);
            let kind = entry.file_type()?;
            if name.starts_with(RESCUE) {
                self.rescues.push(path);
            } else if name.starts_with(HIDDEN) {
                self.litter.push(path);
            } else if kind.is_dir() {
                self.walk(root, &path)?;
            } else if kind.is_file() {
                let content = fs::read(entry.path())?;
                self.files.insert(path, Version::of(&content));
            }
        }
        Ok(())
    }
}

fn directory_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}
