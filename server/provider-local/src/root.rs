//! Roots, and every open of a file: nothing else in this crate turns a name into a handle.
//!
//! A root is a directory that was opened once; from then on names are looked up beneath its handle, by the kernel
//! where it knows how (`openat2`), else component by component with the same promise. Names that are not keys,
//! and links, are `resolve`'s: what is opened here follows none.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{FsError, Result};
use toolfs_core::planted::Fault;
use toolfs_core::target::{FileKind, display_form};
use toolfs_provider::refusal;

use crate::LocalOptions;
use crate::facts::Facts;
use crate::io_error::{OPENING, fs_error};
use crate::location::join;

/// How often an answer of "try again" is taken before the caller hears of it.
const MAX_AGAIN: usize = 64;

/// A root as it is asked for: the directory, and the name under which agents see it.
///
/// - the name, if there is one, is an absolute path without empty, `.` and `..` components
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSpec {
    dir: PathBuf,
    name: Option<Vec<u8>>,
}

impl RootSpec {
    /// A directory that agents see under its real path.
    pub fn new(dir: impl Into<PathBuf>) -> RootSpec {
        RootSpec { dir: dir.into(), name: None }
    }

    /// A directory that agents see under `name`.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a name that breaks the rule of the type.
    pub fn named(dir: impl Into<PathBuf>, name: impl Into<Vec<u8>>) -> Result<RootSpec> {
        let name = name.into();
        let plain = |part: &[u8]| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0);
        let is_path =
            name == b"/" || (name.starts_with(b"/") && name[1..].split(|&byte| byte == b'/').all(plain));
        if !is_path {
            let actual = format!("`{}`", display_form(&name));
            return Err(FsError::invalid_argument(
                "root",
                actual,
                "DIR=NAME with a plain absolute path as NAME",
            ));
        }
        Ok(RootSpec { dir: dir.into(), name: Some(name) })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The name, if one was given.
    pub fn name(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    /// Reads `DIR[=NAME]`. The last `=/` ends DIR, so a directory whose own path has `=/` in it needs a name.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`
    pub fn parse(text: &OsStr) -> Result<RootSpec> {
        let bytes = text.as_bytes();
        let (dir, name) = match bytes.windows(2).rposition(|pair| pair == b"=/") {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
        if dir.is_empty() {
            return Err(FsError::invalid_argument("root", "no directory", "DIR or DIR=NAME"));
        }
        let dir = Path::new(OsStr::from_bytes(dir));
        match name {
            None => Ok(RootSpec::new(dir)),
            Some(name) => RootSpec::named(dir, name),
        }
    }
}

/// How names are looked up beneath a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// In one call to the kernel.
    Kernel,
    /// Component by component, where `openat2` is forbidden or a test wants it so.
    Walk,
}

/// An open root.
#[derive(Debug)]
pub(crate) struct Root {
    /// The absolute path under which agents see it.
    pub(crate) name: Vec<u8>,
    /// Its real path on this host.
    pub(crate) real: Vec<u8>,
    /// The absolute path by which it was asked for.
    pub(crate) spelled: Vec<u8>,
    /// Which directory it is.
    pub(crate) facts: Facts,
    /// How names are looked up.
    pub(crate) lookup: Lookup,
    /// Cleared once its file system turns out not to exchange names.
    pub(crate) exchange: AtomicBool,
    handle: OwnedFd,
}

impl Root {
    /// Opens a root. It must be a directory.
    pub(crate) fn open(spec: &RootSpec, options: &LocalOptions) -> Result<Root> {
        let shown = display_form(spec.dir.as_os_str().as_bytes());
        let spelled = std::path::absolute(&spec.dir).map_err(|cause| fs_error(&shown, OPENING, cause))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle =
            fs::open(&spec.dir, flags, Mode::empty()).map_err(|cause| fs_error(&shown, OPENING, cause))?;
        let real = spec.dir.canonicalize().map_err(|cause| fs_error(&shown, OPENING, cause))?;
        let facts = facts(&handle).map_err(|cause| fs_error(&shown, OPENING, cause))?;
        let named = directory_facts(&real).map_err(|cause| fs_error(&shown, OPENING, cause))?;
        if named.inode != facts.inode {
            // Somebody moved it between the two looks: its real path would be another directory's.
            return Err(refusal::keeps_changing(shown));
        }
        let real = real.into_os_string().into_encoded_bytes();
        let lookup =
            if options.force_walk || !kernel_looks_up(&handle) { Lookup::Walk } else { Lookup::Kernel };
        Ok(Root {
            name: spec.name.clone().unwrap_or_else(|| real.clone()),
            real,
            spelled: spelled.into_os_string().into_encoded_bytes(),
            facts,
            lookup,
            exchange: AtomicBool::new(!options.force_plain_rename),
            handle,
        })
    }

    /// The root directory itself.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Opens `relative` (components between `/`, none of them `.`, `..` or empty; empty is the root itself) and
    /// follows no link at all: `ELOOP` where there is one.
    pub(crate) fn open_exact(&self, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        if Fault::ResolveTrustsRealpath.is_planted() {
            return self.open_as_the_real_path_says(relative, flags);
        }
        match self.lookup {
            Lookup::Kernel => {
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                // Only what is moved out of the root while it is looked up leads out of it by such a path.
                open_beneath(self.handle(), relative, flags, resolve, Errno::AGAIN)
            }
            Lookup::Walk => self.open_by_walk(relative, flags),
        }
    }

    /// Opens `relative` as the kernel resolves it, through links that stay beneath the root. Only with
    /// [`Lookup::Kernel`].
    pub(crate) fn open_resolved(&self, relative: &[u8]) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        open_beneath(self.handle(), relative, OFlags::PATH, resolve, Errno::XDEV)
    }

    /// What must not be done, for the proofs to find: the path is judged by its real path, and opened by its name.
    fn open_as_the_real_path_says(&self, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = join(&self.real, relative);
        let path = Path::new(OsStr::from_bytes(&path));
        let real = path.canonicalize().map_err(|cause| Errno::from_io_error(&cause).unwrap_or(Errno::IO))?;
        if real != path {
            return Err(Errno::LOOP);
        }
        retry_on_intr(|| fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()))
    }

    fn open_by_walk(&self, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        if relative.is_empty() {
            let flags = flags | OFlags::CLOEXEC;
            return retry_on_intr(|| fs::openat(self.handle(), ".", flags, Mode::empty()));
        }
        let mut components = relative.split(|&byte| byte == b'/').peekable();
        let mut here: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let parent = here.as_ref().map_or(self.handle(), AsFd::as_fd);
            if components.peek().is_none() {
                return open_last(parent, component, flags);
            }
            let next = open_child(parent, component, OFlags::PATH)?;
            match facts(&next)?.kind {
                FileKind::Directory => here = Some(next),
                FileKind::Symlink => return Err(Errno::LOOP),
                FileKind::Regular
                | FileKind::Fifo
                | FileKind::Socket
                | FileKind::BlockDevice
                | FileKind::CharDevice
                | FileKind::Other => return Err(Errno::NOTDIR),
            }
        }
        Err(Errno::NOENT)
    }
}

/// Opens the entry `name` of a directory, and no link: `ELOOP` for one, unless `flags` ask for a mere
/// [`OFlags::PATH`] handle, which then is of the link itself.
pub(crate) fn open_child(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let (name, flags) = (single(name)?, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC);
    again_and_again(|| fs::openat(directory, name, flags, Mode::empty()))
}

/// What the directory at a path of the host is. For the server's own directories, never for a path of a caller.
pub(crate) fn directory_facts(path: &Path) -> Result<Facts, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    facts(retry_on_intr(|| fs::open(path, flags, Mode::empty()))?)
}

/// Opens a directory of the server's own, and makes it, and those above it, for this user only where they are missing.
pub(crate) fn make_own_directory(path: &Path) -> Result<OwnedFd, Errno> {
    match retry_on_intr(|| fs::open(path, directory() | OFlags::CLOEXEC, Mode::empty())) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let parent = path.parent().ok_or(Errno::NOENT)?;
    let within = make_own_directory(parent)?;
    let name = path.file_name().ok_or(Errno::INVAL)?;
    match fs::mkdirat(&within, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(cause) => return Err(cause),
    }
    retry_on_intr(|| fs::openat(&within, name, directory() | OFlags::CLOEXEC, Mode::empty()))
}

/// Makes a file without a name in a directory.
pub(crate) fn create_nameless(directory: BorrowedFd<'_>, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(directory, ".", flags, mode))
}

/// Makes a file with a name that nothing has yet.
pub(crate) fn create_new(directory: BorrowedFd<'_>, name: &[u8], mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(directory, single(name)?, flags, mode))
}

/// Opens a file that is open already once more, for reading only.
pub(crate) fn reopen(file: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    retry_on_intr(|| fs::open(&own, reading() | OFlags::CLOEXEC, Mode::empty()))
}

/// Opens a file of the provider's own to read and write it, and makes it, for this user only, unless it is there.
pub(crate) fn open_or_create(directory: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(directory, single(name)?, flags, Mode::RUSR | Mode::WUSR))
}

/// What an open file is.
pub(crate) fn facts(file: impl AsFd) -> Result<Facts, Errno> {
    Ok(Facts::from(&fs::fstat(file)?))
}

/// Makes the entries of a directory durable.
///
/// On an xfs that has shut down, because its log or its device failed, the sync alone succeeds and nothing is durable;
/// any question about the directory then says so.
pub(crate) fn sync_directory(directory: impl AsFd) -> Result<(), Errno> {
    retry_on_intr(|| fs::fsync(&directory))?;
    fs::fstat(directory).map(drop)
}

/// The flags of every open for reading: it never blocks, whatever is there.
pub(crate) fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY
}

/// The flags of an open for writing over what is there: it never blocks, makes nothing and cuts nothing off.
pub(crate) fn writing() -> OFlags {
    OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY
}

/// The flags of every open of a directory.
pub(crate) fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK
}

/// The process's umask, read without setting it, which would race with every thread that makes a file.
pub(crate) fn umask() -> Mode {
    const USUAL: u32 = 0o022;
    let mut text = [0; 4096];
    let read = |text: &[u8]| {
        let text = std::str::from_utf8(text).ok()?;
        let octal = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(octal.trim(), 8).ok()
    };
    let umask = read_system("/proc/self/status", &mut text).and_then(read);
    Mode::from_raw_mode(umask.unwrap_or(USUAL) & 0o777)
}

/// What a file of the system says, as far as `text` has room for it; `None` where it cannot be read.
pub(crate) fn read_system<'a>(path: &str, text: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let count = retry_on_intr(|| rustix::io::read(&file, &mut *text)).ok()?;
    Some(&text[..count])
}

fn single(name: &[u8]) -> Result<&[u8], Errno> {
    // A name with a slash would be a path, which this handle does not confine.
    let is_single = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
    if is_single { Ok(name) } else { Err(Errno::INVAL) }
}

/// Opens the last name of a walk as the kernel's own lookup does.
///
/// That one refuses a link even for a mere path handle, and says so before it says that it is no directory.
fn open_last(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let kind = |handle: &OwnedFd| facts(handle).map(|facts| facts.kind);
    match open_child(directory, name, flags) {
        Ok(last) if flags.contains(OFlags::PATH) && kind(&last)? == FileKind::Symlink => Err(Errno::LOOP),
        Err(Errno::NOTDIR) => match kind(&open_child(directory, name, OFlags::PATH)?)? {
            // A directory that was none an instant ago was swapped, most likely for a link.
            FileKind::Symlink | FileKind::Directory => Err(Errno::LOOP),
            FileKind::Regular
            | FileKind::Fifo
            | FileKind::Socket
            | FileKind::BlockDevice
            | FileKind::CharDevice
            | FileKind::Other => Err(Errno::NOTDIR),
        },
        other => other,
    }
}

/// Opens what is beneath `root`; `led_out` is the error for what is not.
fn open_beneath(
    root: BorrowedFd<'_>,
    relative: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
    led_out: Errno,
) -> Result<OwnedFd, Errno> {
    let path = if relative.is_empty() { b".".as_slice() } else { relative };
    again_and_again(|| match fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Err(led_out),
        other => other,
    })
}

/// Opens, for as long as the kernel asks for another try and that is not too often.
///
/// It does so when somebody renames while it follows `..`; with O_NONBLOCK it also says so of a file whose lease has to
/// be broken first.
fn again_and_again(open: impl Fn() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    for _ in 0..MAX_AGAIN {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

fn kernel_looks_up(handle: &OwnedFd) -> bool {
    open_beneath(handle.as_fd(), b".", OFlags::PATH, ResolveFlags::BENEATH, Errno::XDEV).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, dir: &str, name: Option<&[u8]>) {
        let spec = RootSpec::parse(OsStr::new(text)).unwrap();
        assert_eq!((spec.dir.as_path(), spec.name.as_deref()), (Path::new(dir), name));
    }

    #[test]
    fn a_root_is_a_directory_and_perhaps_a_name() {
        check(".", ".", None);
        check("/srv/a=/workspace", "/srv/a", Some(b"/workspace"));
        check("/srv/a=b", "/srv/a=b", None);
        check("/srv/a=b=/w", "/srv/a=b", Some(b"/w"));
        check("x=/", "x", Some(b"/"));
    }

    #[test]
    fn a_name_that_is_no_plain_absolute_path_is_refused() {
        for text in ["=/w", "", "a=/w/", "a=/w//x", "a=/w/../x", "a=/./x"] {
            assert!(RootSpec::parse(OsStr::new(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_child_is_one_name_and_never_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let handle = fs::open(directory.path(), OFlags::PATH, Mode::empty()).unwrap();
        for name in ["", ".", "..", "a/b", "/", "../x"] {
            let opened = open_child(handle.as_fd(), name.as_bytes(), OFlags::PATH);
            assert_eq!(opened.unwrap_err(), Errno::INVAL, "{name:?}");
        }
    }
}
