//! What an attacker puts into a root before a call, or between the search for a target and the call on it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::ground::{Ground, INSIDE};

/// One thing to do. Places are below the root, and `..` leads out of it; the texts of links are filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lay {
    File(&'static str),
    Directory(&'static str),
    Link {
        at: &'static str,
        to: &'static str,
    },
    /// Links `c0` to `c1` and so on, the last of them to `to`.
    Chain {
        count: usize,
        to: &'static str,
    },
    HardLink {
        at: &'static str,
        of: &'static str,
    },
    Fifo(&'static str),
    Socket(&'static str),
    /// The device that has zeros without end.
    Device(&'static str),
    /// Mounts what is at `from` at `at`, which is there.
    Bind {
        at: &'static str,
        from: &'static str,
    },
    Move {
        from: &'static str,
        to: &'static str,
    },
    Remove(&'static str),
}

impl Lay {
    /// Does it.
    ///
    /// # Errors
    /// Why it cannot be done here, where it needs rights.
    pub(crate) fn lay(self, ground: &Ground) -> Result<(), String> {
        // Only moved: it would be wrong to go through a root that is a link by now.
        let place = |at: &str| match at.strip_prefix("../") {
            Some(beside) => ground.base.join(beside),
            None => ground.root.join(at),
        };
        match self {
            Lay::File(at) => fs::write(place(at), INSIDE).unwrap(),
            Lay::Directory(at) => fs::create_dir(place(at)).unwrap(),
            Lay::Link { at, to } => {
                let text = ground.fill(to.as_bytes());
                symlink(std::ffi::OsStr::from_bytes(&text), place(at)).unwrap();
            }
            Lay::Chain { count, to } => {
                for number in 0..count {
                    let next = if number + 1 == count {
                        PathBuf::from(to)
                    } else {
                        format!("c{}", number + 1).into()
                    };
                    symlink(next, place(&format!("c{number}"))).unwrap();
                }
            }
            Lay::HardLink { at, of } => fs::hard_link(place(of), place(at)).unwrap(),
            Lay::Fifo(at) => {
                mknodat(CWD, place(at), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            }
            Lay::Socket(at) => drop(UnixListener::bind(place(at)).unwrap()),
            Lay::Device(at) => {
                let zero = rustix::fs::makedev(1, 5);
                mknodat(CWD, place(at), FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, zero)
                    .map_err(|cause| format!("a device cannot be made: {cause}"))?;
            }
            Lay::Bind { at, from } => ground.bind(&place(from), &place(at))?,
            Lay::Move { from, to } => fs::rename(place(from), place(to)).unwrap(),
            Lay::Remove(at) => fs::remove_file(place(at)).unwrap(),
        }
        Ok(())
    }
}
