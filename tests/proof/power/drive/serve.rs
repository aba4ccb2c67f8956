//! The process behind a drive: a FUSE file system of one file.
//!
//! It is a process of its own because a kernel that waits for a file system of the process that unmounts it waits for
//! ever. It ends with its standard input.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    Session, WriteFlags,
};

use serde_json::json;

use super::cache::{Cache, Order, SECTOR};
use super::{Command, NAME};

/// Nothing of what the kernel asks for changes.
const FOREVER: Duration = Duration::from_secs(86_400);

/// A flush takes its time, as it does everywhere, so that most cuts find writes that wait for one.
const FLUSHING: Duration = Duration::from_millis(1);

const FILE: INodeNo = INodeNo(2);

/// Serves until nobody holds the other end of standard input: `proof drive MEDIUM MOUNT_POINT ORDER`.
pub(super) fn run(arguments: &[String]) -> ExitCode {
    let [medium, point, order] = arguments else {
        return failed("a drive needs a medium, a mount point and an order");
    };
    let Some(order) = Order::parse(order) else { return failed(&format!("there is no order `{order}`")) };
    let opened = OpenOptions::new().read(true).write(true).open(medium);
    let drive = opened.and_then(|medium| {
        let size = medium.metadata()?.len();
        Ok(Drive { size, cache: Arc::new(Mutex::new(Some(Cache::new(medium)))) })
    });
    let drive = match drive {
        Ok(drive) => drive,
        Err(error) => return failed(&format!("`{medium}`: {error}")),
    };
    let cache = Arc::clone(&drive.cache);
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("toolfs-power".to_owned()), MountOption::DefaultPermissions];
    let session = match Session::new(drive, point, &config).and_then(Session::spawn) {
        Ok(session) => session,
        Err(error) => return failed(&format!("`{point}`: {error}")),
    };
    say("ready");
    for command in io::stdin().lines().map_while(|line| serde_json::from_str(&line.ok()?).ok()) {
        let mut cache = cache.lock().unwrap();
        let done = match (command, cache.as_mut()) {
            (Command::Flush, Some(cache)) => cache.flush().map(|()| json!(null)),
            // From here on the drive is without power, whatever the kernel still asks of it.
            (Command::Cut { seed }, Some(_)) => {
                cache.take().unwrap().cut(&mut Rng::with_seed(seed), order).map(|toll| json!(toll))
            }
            (_, None) => Err(io::Error::other("there is no power")),
        };
        match done {
            Ok(answer) => say(&answer.to_string()),
            Err(error) => say(&format!("`{medium}`: {error}")),
        }
    }
    // Whoever started this unmounts it, before or after.
    std::mem::forget(session);
    ExitCode::SUCCESS
}

fn say(line: &str) {
    // Who does not listen any more is told nothing.
    let _ = writeln!(io::stdout(), "{line}");
}

fn failed(message: &str) -> ExitCode {
    say(message);
    ExitCode::FAILURE
}

/// A directory with one file.
struct Drive {
    size: u64,
    /// Absent without power.
    cache: Arc<Mutex<Option<Cache>>>,
}

impl Drive {
    /// Works on the cache, while there is power.
    fn powered<T>(&self, work: impl FnOnce(&mut Cache) -> io::Result<T>) -> Result<T, Errno> {
        match self.cache.lock().unwrap().as_mut() {
            Some(cache) => work(cache).map_err(|_| Errno::EIO),
            None => Err(Errno::EIO),
        }
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode {
            FILE => (FileType::RegularFile, 0o600, self.size),
            _ => (FileType::Directory, 0o700, 0),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: SECTOR,
            flags: 0,
        }
    }
}

impl Filesystem for Drive {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&FOREVER, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // No page of the kernel's lies between the device on top and the cache.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let size = u64::from(size).min(self.size.saturating_sub(offset));
        let mut buffer = vec![0; usize::try_from(size).unwrap()];
        match self.powered(|cache| cache.read(offset, &mut buffer)) {
            Ok(()) => reply.data(&buffer),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.powered(|cache| cache.write(offset, data)) {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap()),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A descriptor was closed, which makes nothing durable.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        std::thread::sleep(FLUSHING);
        match self.powered(Cache::flush) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }
}
