//! The calls of `fcntl` that no safe library wraps: locks of one byte that belong to an open file, and leases.
//!
//! This is the only module of the crate that leaves Rust's guarantees, and all that it hands to the kernel are
//! numbers and one structure on its own stack. Deliberately absent: what a lock or a writer means to a mutation.
#![expect(unsafe_code, reason = "there is no safe wrapper for these calls")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use libc::{F_GETLEASE, F_OFD_SETLK, F_RDLCK, F_SETLEASE, F_UNLCK, F_WRLCK, SEEK_SET, c_int};
use rustix::io::Errno;

/// What the kernel sends when a lease is to be broken. It is ignored unless a process asks for it, where `SIGIO`,
/// which would come otherwise, ends a process.
const HARMLESS_SIGNAL: c_int = libc::SIGURG;

/// `F_SETSIG`, which the bindings lack for most architectures; all of Linux agrees on it.
const F_SETSIG: c_int = 10;

/// How long a writer is waited for, and how long at first until the next look. The tests of this crate start processes
/// beside each other, and each of these has all that is open here until the machine has the time to start it.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 1_000 } else { 100 });
const FIRST_PAUSE: Duration = Duration::from_micros(100);

/// Locks the byte at `offset` for an open file; `false` when another open file has it.
pub(crate) fn try_lock_byte(file: BorrowedFd<'_>, offset: u64) -> Result<bool, Errno> {
    match set_byte_lock(file, offset, F_WRLCK) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Lets the byte at `offset` go.
pub(crate) fn unlock_byte(file: BorrowedFd<'_>, offset: u64) -> Result<(), Errno> {
    set_byte_lock(file, offset, F_UNLCK)
}

fn set_byte_lock(file: BorrowedFd<'_>, offset: u64, kind: c_int) -> Result<(), Errno> {
    let short = |number: c_int| libc::c_short::try_from(number).map_err(|_| Errno::INVAL);
    let lock = libc::flock {
        l_type: short(kind)?,
        l_whence: short(SEEK_SET)?,
        l_start: libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?,
        l_len: 1,
        l_pid: 0,
    };
    loop {
        // SAFETY: the descriptor is open for as long as it is borrowed, and the kernel reads one `flock` from a
        // pointer to one, which lives until the call returns.
        let answer = unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_SETLK, &raw const lock) };
        match outcome(answer) {
            Err(Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}

/// What a lease tells about writers of a file.
#[derive(Debug)]
pub(crate) enum Writers<'a> {
    /// Nobody has it open for writing, and whoever wants to waits until the lease is given back (or, with
    /// `O_NONBLOCK`, is told to try again).
    None(Lease<'a>),
    /// Somebody has it open for writing.
    Some,
    /// Leases are not to be had here: another user's file, or a file system without them.
    Unknown,
}

/// A lease for reading, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease<'a>(BorrowedFd<'a>);

impl<'a> Lease<'a> {
    /// Takes a lease on a file that is open for reading only. Nothing of this process may have it open for writing.
    ///
    /// Who has it open for a moment only is waited for: a process that appends a line, or one that is being started
    /// from this one and holds all that is open here until it is another program.
    pub(crate) fn take(file: BorrowedFd<'a>) -> Writers<'a> {
        if set_number(file, F_SETSIG, HARMLESS_SIGNAL).is_err() {
            return Writers::Unknown;
        }
        let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
        loop {
            match set_number(file, F_SETLEASE, F_RDLCK) {
                Ok(_) => return Writers::None(Lease(file)),
                Err(Errno::AGAIN) if waited < PATIENCE => {
                    std::thread::sleep(pause);
                    waited += pause;
                    pause *= 2;
                }
                Err(Errno::AGAIN) => return Writers::Some,
                Err(_) => return Writers::Unknown,
            }
        }
    }

    /// Whether somebody began to wait for this lease since it was taken, to open the file for writing; or waited for so
    /// long that the kernel took it away.
    pub(crate) fn is_contested(&self) -> bool {
        set_number(self.0, F_GETLEASE, 0).is_ok_and(|kind| kind != F_RDLCK)
    }

    /// Whether it is certain that nobody could open the file for writing since it was taken.
    pub(crate) fn is_undisturbed(&self) -> bool {
        set_number(self.0, F_GETLEASE, 0).is_ok_and(|kind| kind == F_RDLCK)
    }

    /// Gives it back before it is dropped.
    pub(crate) fn give_back(&self) {
        // It fails only for a lease that is gone: the kernel took it away meanwhile, or it was given back before.
        let _ = set_number(self.0, F_SETLEASE, F_UNLCK);
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn set_number(file: BorrowedFd<'_>, command: c_int, number: c_int) -> Result<c_int, Errno> {
    // SAFETY: the descriptor is open for as long as it is borrowed, and each command that is passed here takes a
    // number, or nothing.
    outcome(unsafe { libc::fcntl(file.as_raw_fd(), command, number) })
}

fn outcome(answer: c_int) -> Result<c_int, Errno> {
    if answer >= 0 {
        return Ok(answer);
    }
    let cause = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&cause).unwrap_or(Errno::IO))
}
