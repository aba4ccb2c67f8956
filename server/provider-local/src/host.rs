//! The servers of one host: which of them live, and whose turn it is with a file.
//!
//! All of them share a runtime directory. In it, each live provider keeps a lock on a file of its instance, which
//! the kernel releases whatever its process dies of; and each mutation locks one byte, which stands for its target,
//! of a file that stands for a file system. A server that has another runtime directory, or none, is seen as any
//! foreign writer is. Deliberately absent: queues (who waits looks again and again), and locks that outlive a process.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, RawMode, fchmod, flock, fstat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{ErrorKind, FsError, Result, UnavailableCause};
use toolfs_core::target::display_form;
use toolfs_provider::abort::AbortSignal;

use crate::fcntl::{try_lock_byte, unlock_byte};
use crate::instance::Instance;
use crate::io_error::{CREATING, fs_error, turn_error};
use crate::own;
use crate::root::{self, Root, create_new, open_child, open_or_create};

/// How long another server is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it is done: soon at first, later less often.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// How many open lock files of a file system are kept for the next mutations.
const MAX_IDLE: usize = 32;

/// This provider among the servers of its host.
#[derive(Debug)]
pub(crate) struct Host {
    locks: OwnedFd,
    instances: OwnedFd,
    instance: Instance,
    /// The mode of lock files.
    lock_mode: Mode,
    /// Locked for as long as this lives.
    living: OwnedFd,
    /// Lock files that are open and hold nothing, by file system.
    idle: Mutex<HashMap<u64, Vec<OwnedFd>>>,
}

/// What a mutation locks: a name in a directory.
#[derive(Debug)]
pub(crate) struct Spot<'a> {
    /// Device and inode number of the directory.
    pub(crate) directory: (u64, u64),
    /// The name, or names between slashes where directories are missing on the way.
    pub(crate) name: &'a [u8],
}

impl Host {
    /// Takes part in a host by its runtime directory, and makes that if it is not there.
    ///
    /// # Errors
    /// Those of [`own::open`].
    pub(crate) fn open(path: &Path, roots: &[Arc<Root>]) -> Result<Host> {
        let directory = own::open(path, "runtime", roots)?;
        let shown = display_form(path.as_os_str().as_encoded_bytes());
        let failed = |cause: Errno| fs_error(&shown, CREATING, cause);
        // Who may use the directory is told by its mode, whatever the umask.
        let mode = Mode::from_raw_mode(fstat(&directory).map_err(failed)?.st_mode as RawMode & 0o7777);
        let locks = own::subdirectory(directory.as_fd(), b"locks", mode).map_err(failed)?;
        let instances = own::subdirectory(directory.as_fd(), b"instances", mode).map_err(failed)?;
        let (instance, living) = register(&instances, own::file_mode(mode)).map_err(failed)?;
        Ok(Host {
            locks,
            instances,
            instance,
            lock_mode: own::file_mode(mode),
            living,
            idle: Mutex::default(),
        })
    }

    /// The name of this provider.
    pub(crate) fn instance(&self) -> Instance {
        self.instance
    }

    /// Waits until no other provider of this host has the turn with a target.
    ///
    /// # Errors
    /// `FS_ABORTED`; `FS_UNAVAILABLE` when another one keeps the turn for too long; where no lock can be had, as
    /// [`turn_error`] has it.
    pub(crate) fn lock(&self, spot: &Spot<'_>, path: &str, abort: &AbortSignal) -> Result<HostLock<'_>> {
        let device = spot.directory.0;
        let offset = spot.offset();
        let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
        let mut file = self.lock_file(device).map_err(|cause| turn_error(path, cause))?;
        loop {
            abort.check().map_err(|error| error.with_path(path))?;
            match try_lock_byte(file.as_fd(), offset) {
                Ok(true) => {
                    let facts = root::facts(&file).map_err(|cause| turn_error(path, cause))?;
                    if facts.links > 0 {
                        return Ok(HostLock { host: self, device, offset, file: Some(file) });
                    }
                    // Somebody cleaned up and removed the file: others lock the next one.
                    file = self.open_lock_file(device).map_err(|cause| turn_error(path, cause))?;
                }
                Ok(false) if waited >= PATIENCE => {
                    let kind = ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging };
                    let message = format!("another server holds `{path}` and does not let it go");
                    return Err(FsError::new(kind, message).with_path(path));
                }
                Ok(false) => {
                    std::thread::sleep(pause);
                    waited += pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(cause) => return Err(turn_error(path, cause)),
            }
        }
    }

    /// Whether an instance is known to be dead: it was registered here, and nobody keeps its lock.
    pub(crate) fn is_dead(&self, instance: Instance) -> bool {
        let opened = open_child(self.instances.as_fd(), instance.to_string().as_bytes(), root::reading());
        // Shared, so that two who ask at the same time do not take each other for the instance.
        opened.is_ok_and(|file| retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockShared)).is_ok())
    }

    /// Takes an instance off the list, if it is dead: only when no hidden file can be left that has its name.
    pub(crate) fn forget(&self, instance: Instance) {
        let name = instance.to_string();
        let Ok(file) = open_child(self.instances.as_fd(), name.as_bytes(), root::reading()) else { return };
        if retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)).is_ok() {
            let _ = unlinkat(&self.instances, name, AtFlags::empty());
        }
    }

    /// Takes this provider off the list: it ends, and left no hidden file.
    pub(crate) fn leave(&self) {
        let _ = unlinkat(&self.instances, self.instance.to_string(), AtFlags::empty());
    }

    /// Takes the dead instances of other boots off the list: what they left tells by itself that it is of another
    /// boot.
    pub(crate) fn forget_other_boots(&self) -> Result<(), Errno> {
        for entry in Dir::read_from(&self.instances)? {
            let entry = entry?;
            match Instance::parse(entry.file_name().to_bytes()) {
                Some(instance) if instance.is_of_another_boot(self.instance) => self.forget(instance),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    fn lock_file(&self, device: u64) -> Result<OwnedFd, Errno> {
        let idle = self.idle().get_mut(&device).and_then(Vec::pop);
        idle.map_or_else(|| self.open_lock_file(device), Ok)
    }

    fn open_lock_file(&self, device: u64) -> Result<OwnedFd, Errno> {
        let file = open_or_create(self.locks.as_fd(), format!("{device:x}").as_bytes())?;
        give_mode(&file, self.lock_mode)?;
        Ok(file)
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<u64, Vec<OwnedFd>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // By closing alone it would stay locked for as long as a process that is just being started has a copy of it.
        let _ = flock(&self.living, FlockOperation::Unlock);
    }
}

impl Spot<'_> {
    /// The byte that stands for this name: 62 bits of a hash. Two names that share one only wait for each other.
    fn offset(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.directory.1.to_le_bytes()).update(self.name);
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes) >> 2
    }
}

/// The turn with a target among the servers of a host, until it is dropped.
#[derive(Debug)]
pub(crate) struct HostLock<'a> {
    host: &'a Host,
    device: u64,
    offset: u64,
    /// Present until the drop.
    file: Option<OwnedFd>,
}

impl Drop for HostLock<'_> {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        // A file whose lock could not be released releases it by being closed.
        if unlock_byte(file.as_fd(), self.offset).is_ok() {
            let mut idle = self.host.idle();
            let files = idle.entry(self.device).or_default();
            if files.len() < MAX_IDLE {
                files.push(file);
            }
        }
    }
}

/// Gives a file of this user the mode that it is to have, whatever the umask. Another user's has it from its maker, or
/// will in a moment.
fn give_mode(file: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    if root::facts(file)?.mode != mode.as_raw_mode() {
        let _ = fchmod(file, mode);
    }
    Ok(())
}

/// Puts a new instance on the list, and locks it.
fn register(instances: &OwnedFd, mode: Mode) -> Result<(Instance, OwnedFd), Errno> {
    loop {
        let instance = Instance::new();
        let name = instance.to_string();
        match create_new(instances.as_fd(), name.as_bytes(), Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                give_mode(&file, mode)?;
                // Somebody may be asking whether it lives, which takes a moment; or it took it for dead, which it was.
                retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
                if root::facts(&file)?.links > 0 {
                    return Ok((instance, file));
                }
            }
            Err(Errno::EXIST) => {}
            Err(cause) => return Err(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolfs_core::error::{AbortCause, Code};

    use super::*;

    fn spot(name: &[u8]) -> Spot<'_> {
        Spot { directory: (7, 1), name }
    }

    fn host(directory: &tempfile::TempDir) -> Host {
        Host::open(&directory.path().join("runtime"), &[]).unwrap()
    }

    #[test]
    fn a_turn_is_waited_for_until_the_caller_gives_up() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (host(&directory), host(&directory));
        let held = one.lock(&spot(b"a"), "/a", &AbortSignal::new()).unwrap();
        two.lock(&spot(b"b"), "/b", &AbortSignal::new()).unwrap();
        let stopped = AbortSignal::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| two.lock(&spot(b"a"), "/a", &stopped).map(drop).unwrap_err());
            stopped.fire(AbortCause::Cancelled);
            assert_eq!(waiting.join().unwrap().code(), Code::Aborted);
        });
        drop(held);
        two.lock(&spot(b"a"), "/a", &AbortSignal::new()).unwrap();
    }

    #[test]
    fn a_lock_file_that_somebody_removed_is_not_locked_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (host(&directory), host(&directory));
        drop(one.lock(&spot(b"a"), "/a", &AbortSignal::new()).unwrap());
        unlinkat(&one.locks, "7", AtFlags::empty()).unwrap();
        let _held = two.lock(&spot(b"a"), "/a", &AbortSignal::new()).unwrap();
        let stopped = AbortSignal::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| one.lock(&spot(b"a"), "/a", &stopped).map(drop).unwrap_err());
            stopped.fire(AbortCause::Cancelled);
            assert_eq!(waiting.join().unwrap().code(), Code::Aborted, "it waits where the other one locked");
        });
    }

    #[test]
    fn the_dead_of_other_boots_are_taken_off_the_list_and_the_living_stay() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (host(&directory), host(&directory));
        let here = one.instance().to_string();
        let other_boot = format!("{}{}", if here.starts_with('1') { '2' } else { '1' }, &here[1..]);
        let mut same_boot = here.clone();
        same_boot.replace_range(15.., if here.ends_with('1') { "2" } else { "1" });
        for name in [&other_boot, &same_boot] {
            root::create_new(one.instances.as_fd(), name.as_bytes(), Mode::RUSR).unwrap();
        }
        one.forget_other_boots().unwrap();
        let is_listed =
            |name: &str| open_child(one.instances.as_fd(), name.as_bytes(), root::reading()).is_ok();
        assert!(is_listed(&here) && is_listed(&two.instance().to_string()) && is_listed(&same_boot));
        assert!(!is_listed(&other_boot));
    }

    #[test]
    fn an_instance_is_dead_when_its_provider_is_gone_and_unknown_when_nobody_saw_it() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (host(&directory), host(&directory));
        let gone = two.instance();
        assert!(!one.is_dead(gone) && !one.is_dead(Instance::new()));
        drop(two);
        assert!(one.is_dead(gone));
        one.forget(one.instance());
        one.forget(gone);
        assert!(!one.is_dead(gone), "nobody knows it any more");
        let three = host(&directory);
        assert!(
            open_child(three.instances.as_fd(), one.instance().to_string().as_bytes(), root::reading())
                .is_ok()
        );
    }
}
