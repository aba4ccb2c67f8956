//! What a file has beside its content: drawn, given to it, and looked at from outside.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use fastrand::Rng;
use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::draft::pick;

/// Set-user-id and set-group-id, which a change drops, as an unprivileged write does.
const PRIVILEGE_BITS: u32 = 0o6000;
const WRITE_BITS: u32 = 0o222;

const ACCESS_LIST: &str = "system.posix_acl_access";
const CAPABILITY: &str = "security.capability";
/// To bind low ports, in the form of revision 2: permitted and inherited sets in two halves.
const BIND_PORTS: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DEFAULT_LIST: &str = "system.posix_acl_default";

const MODES: &[u32] = &[
    0o644, 0o644, 0o600, 0o755, 0o664, 0o640, 0o700, 0o666, 0o777, 0o604, 0o4755, 0o2755, 0o6711, 0o1644,
    0o3664,
];
/// Modes that only root can work with.
const ROOT_MODES: &[u32] = &[0o200, 0o020, 0o002, 0o4022, 0o000];
/// Modes with which nobody writes.
const SEALED_MODES: &[u32] = &[0o444, 0o400, 0o555, 0o4555];

const OWNERS: &[u32] = &[0, 1, 1000, 12_345, 65_534];

const NAMES: &[&str] = &["user.a", "user.mime_type", "user.naïve", "user.with.dots", "user.A"];

/// What a file is to be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    mode: u32,
    owner: Option<(u32, u32)>,
    attributes: Vec<(&'static str, Vec<u8>)>,
    access_list: Option<Vec<u8>>,
    has_capability: bool,
}

impl Metadata {
    pub(super) fn draw(rng: &mut Rng) -> Metadata {
        let is_root = geteuid().is_root();
        let mode = match rng.u32(..100) {
            0..2 => pick(rng, SEALED_MODES),
            2..6 if is_root => pick(rng, ROOT_MODES),
            _ => pick(rng, MODES),
        };
        let owner = (is_root && rng.bool()).then(|| (pick(rng, OWNERS), pick(rng, OWNERS)));
        let count = if rng.bool() { 0 } else { rng.usize(1..=3) };
        let attributes = (0..count).map(|_| (pick(rng, NAMES), value(rng))).collect();
        let access_list = (rng.u32(..5) == 0).then(|| access_list(rng));
        let has_capability = is_root && rng.u32(..30) == 0;
        Metadata { mode, owner, attributes, access_list, has_capability }
    }

    /// Gives it to a file: what the file system has no room for is left out.
    pub(super) fn give(&self, path: &Path) -> io::Result<()> {
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group))?;
        }
        let attributes = self.attributes.iter().map(|(name, value)| (*name, value.as_slice()));
        let list = self.access_list.iter().map(|list| (ACCESS_LIST, list.as_slice()));
        let capability = self.has_capability.then_some((CAPABILITY, &BIND_PORTS[..]));
        for (name, value) in attributes.chain(list).chain(capability) {
            match setxattr(path, name, value, XattrFlags::empty()) {
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSPC) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
        // Last: a mode may forbid the rest.
        fs::set_permissions(path, Permissions::from_mode(self.mode))
    }
}

/// Gives a directory a list that new files in it inherit. Whether there are such lists.
pub(super) fn give_default_list(directory: &Path, rng: &mut Rng) -> bool {
    setxattr(directory, DEFAULT_LIST, &access_list(rng), XattrFlags::empty()).is_ok()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let length = match rng.u32(..10) {
        0 => 0,
        1 => rng.usize(500..900),
        _ => rng.usize(1..40),
    };
    (0..length).map(|_| rng.u8(..)).collect()
}

/// A list as the kernel takes it: a version, then entries of kind, permissions and id, all in the order of the machine
/// with the least byte first.
fn access_list(rng: &mut Rng) -> Vec<u8> {
    const OWNER: u16 = 0x01;
    const USER: u16 = 0x02;
    const GROUP: u16 = 0x04;
    const NAMED_GROUP: u16 = 0x08;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;
    let nobody = u32::MAX;
    let mut entries: Vec<(u16, u16, u32)> = vec![(OWNER, 6 | rng.u16(..2), nobody)];
    let ids = |rng: &mut Rng| {
        let mut ids: Vec<u32> = (0..rng.usize(..3)).map(|_| pick(rng, &[7, 1000, 2_000, 65_534])).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let (users, groups) = (ids(rng), ids(rng));
    entries.extend(users.iter().map(|id| (USER, rng.u16(..8), *id)));
    entries.push((GROUP, rng.u16(..8), nobody));
    entries.extend(groups.iter().map(|id| (NAMED_GROUP, rng.u16(..8), *id)));
    if !users.is_empty() || !groups.is_empty() || rng.bool() {
        entries.push((MASK, rng.u16(..8), nobody));
    }
    entries.push((OTHERS, rng.u16(..8), nobody));
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (kind, permissions, id) in entries {
        list.extend_from_slice(&kind.to_le_bytes());
        list.extend_from_slice(&permissions.to_le_bytes());
        list.extend_from_slice(&id.to_le_bytes());
    }
    list
}

/// What a file has beside its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    mode: u32,
    owner: (u32, u32),
    /// Those that are no label of the system's own, in order.
    attributes: Vec<(String, Vec<u8>)>,
    /// Whether whoever runs it may do more than others.
    has_capability: bool,
}

impl Kept {
    pub(super) fn of(path: &Path) -> io::Result<Kept> {
        let metadata = fs::symlink_metadata(path)?;
        let mut names = vec![0; 64 << 10];
        let length = match listxattr(path, &mut names) {
            Err(Errno::OPNOTSUPP) => 0,
            other => other?,
        };
        let mut attributes = Vec::new();
        for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if name.starts_with(b"security.") || name.starts_with(b"trusted.") {
                continue;
            }
            let mut value = vec![0; 64 << 10];
            let length = getxattr(path, OsString::from_vec(name.to_vec()), &mut value)?;
            value.truncate(length);
            attributes.push((String::from_utf8_lossy(name).into_owned(), value));
        }
        attributes.sort();
        Ok(Kept {
            mode: metadata.mode() & 0o7777,
            owner: (metadata.uid(), metadata.gid()),
            attributes,
            has_capability: getxattr(path, CAPABILITY, &mut [0; 64]).is_ok(),
        })
    }

    /// What a file that has this is to have after a change.
    pub(super) fn after_a_change(&self) -> Kept {
        Kept { mode: self.mode & !PRIVILEGE_BITS, has_capability: false, ..self.clone() }
    }

    /// Whether a change takes privileges away.
    pub(super) fn has_privileges(&self) -> bool {
        self.mode & PRIVILEGE_BITS != 0 || self.has_capability
    }

    /// Whether no mode lets anybody write it, so that it is not to be changed.
    pub(super) fn is_sealed(&self) -> bool {
        self.mode & WRITE_BITS == 0
    }

    pub(super) fn has_access_list(&self) -> bool {
        self.attributes.iter().any(|(name, _)| name == ACCESS_LIST)
    }

    pub(super) fn has_user_attributes(&self) -> bool {
        self.attributes.iter().any(|(name, _)| name.starts_with("user."))
    }
}
