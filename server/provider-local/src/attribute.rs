//! What a new content takes over from the file that it replaces: mode, owner, access control list, user attributes.
//!
//! Set-user-id, set-group-id and file capabilities are dropped, as the kernel does when an unprivileged process
//! writes. What cannot be kept (the owner, the group, a list that the file system refuses) is told, and the mode is
//! made narrower where keeping it would let somebody do more than before. Deliberately absent: labels that the system
//! itself assigns (`security.selinux`, `trusted.*`), which are left to it.

use std::os::fd::BorrowedFd;

use rustix::fs::{
    Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr,
};
use rustix::io::Errno;
use toolfs_core::notice::NoticeKind;
use toolfs_core::planted::Fault;

use crate::access_list::AccessList;
use crate::facts::Facts;
use crate::place::Manner;
use crate::remark::Remarks;
use crate::root;

/// The largest list of names, and the largest value, that Linux keeps.
const MAX_XATTR_BYTES: usize = 64 << 10;

/// What most lists and values have room in.
const USUAL_XATTR_BYTES: usize = 512;

const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
const DEFAULT_LIST: &[u8] = b"system.posix_acl_default";
const CAPABILITY: &[u8] = b"security.capability";
/// The mode that a new file is asked for with.
const NEW_FILE: u32 = 0o666;
/// Set-user-id and set-group-id.
pub(crate) const PRIVILEGE_BITS: u32 = 0o6000;

/// What can be told of a replacement before it is made.
pub(crate) fn foreseen(old: BorrowedFd<'_>, facts: &Facts, manner: Manner, remarks: &mut Remarks) {
    let others = facts.links.saturating_sub(1);
    match (manner, others) {
        (Manner::Exchange, 0) => {}
        (Manner::Exchange, 1) => {
            remarks.add(NoticeKind::HardLinksKeepOldContent, "1 other hard link keeps the old content");
        }
        (Manner::Exchange, _) => {
            let text = format!("{others} other hard links keep the old content");
            remarks.add(NoticeKind::HardLinksKeepOldContent, text);
        }
        (Manner::InPlace, _) => {
            let links = match others {
                0 => String::new(),
                1 => ", and its other hard link has the new content too".to_owned(),
                _ => format!(", and its {others} other hard links have the new content too"),
            };
            let text = format!("rewritten in place: readers may have seen it half written{links}");
            remarks.add(NoticeKind::NotAtomic, text);
        }
    }
    if facts.mode & PRIVILEGE_BITS != 0 {
        remarks.add(NoticeKind::PrivilegeBitsDropped, "the set-user-id and set-group-id bits are dropped");
    }
    if fgetxattr(old, CAPABILITY, &mut [0; 64]).is_ok() {
        remarks.add(NoticeKind::PrivilegeBitsDropped, "file capabilities are dropped");
    }
}

/// What a new content takes over, as it was at one moment: to see whether it changed since.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    mode: u32,
    owner: (u32, u32),
    /// Absent where they cannot be read.
    attributes: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Snapshot {
    /// What an open file has to be taken over.
    pub(crate) fn of(file: BorrowedFd<'_>, facts: &Facts) -> Snapshot {
        Snapshot { mode: facts.mode, owner: (facts.uid, facts.gid), attributes: attributes(file) }
    }
}

fn attributes(file: BorrowedFd<'_>) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let list = of_any_size(|room| flistxattr(file, room)).ok()?;
    let names = list.split(|&byte| byte == 0);
    let attribute = |name: &[u8]| {
        let value = of_any_size(|room| fgetxattr(file, name, room)).ok()?;
        Some((name.to_vec(), value))
    };
    names.filter(|name| name.starts_with(b"user.") || *name == ACCESS_LIST).map(attribute).collect()
}

/// What `read` gives, which mostly is little.
fn of_any_size(mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut room = vec![0; USUAL_XATTR_BYTES];
    let length = match read(&mut room) {
        Err(Errno::RANGE) => {
            room.resize(MAX_XATTR_BYTES, 0);
            read(&mut room)?
        }
        other => other?,
    };
    room.truncate(length);
    Ok(room)
}

/// Gives `new` what `old` has.
///
/// # Errors
/// When the mode cannot be set, which would show content to the wrong people. The rest becomes a remark; what cannot
/// be kept never lets anybody do more than before.
pub(crate) fn take_over(
    old: BorrowedFd<'_>,
    facts: &Facts,
    new: BorrowedFd<'_>,
    remarks: &mut Remarks,
) -> Result<(), Errno> {
    if Fault::ReplaceDropsMode.is_planted() {
        return fchmod(new, Mode::from_raw_mode(0o644));
    }
    let made = root::facts(new)?;
    // The owner goes first: changing it clears mode bits.
    let mut is_group_kept = true;
    if (made.uid, made.gid) != (facts.uid, facts.gid) && !keep_owner(new, facts) {
        remarks.add(NoticeKind::OwnershipNotKept, "owner or group could not be kept");
        is_group_kept = root::facts(new)?.gid == facts.gid;
    }
    let mut mode = facts.mode & !PRIVILEGE_BITS;
    let are_kept = keep_user_attributes(old, new);
    let is_list_kept = match access_list(old) {
        Listed::None => {
            // The directory may have given the new file one by default.
            let removed = fremovexattr(new, ACCESS_LIST);
            if !is_group_kept {
                mode = without_group(mode);
            }
            !matches!(removed, Err(cause) if !is_absence(cause))
        }
        Listed::Some(list) => {
            let list = if is_group_kept { list } else { list.without_group() };
            let is_set = fsetxattr(new, ACCESS_LIST, &list.to_bytes(), XattrFlags::empty()).is_ok();
            let permissions = if is_set { list.mode() } else { list.mode_without_list() };
            mode = mode & !0o777 | permissions;
            is_set
        }
        // Whom it shut out cannot be told, so nobody but the owner is let in.
        Listed::Unknown => {
            mode &= !0o077;
            false
        }
    };
    if !(are_kept && is_list_kept) {
        remarks.add(
            NoticeKind::AttributesNotKept,
            "access control list or extended attributes could not be kept",
        );
    }
    // Last, and whatever the list of access said: the group bits of a mode are the list's mask.
    fchmod(new, Mode::from_raw_mode(mode))
}

/// Gives a new file that was made for its owner only what the kernel gives a new file in `directory`.
pub(crate) fn give_to_new_file(
    new: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    umask: Mode,
) -> Result<(), Errno> {
    match read_list(directory, DEFAULT_LIST) {
        Listed::Some(default) => {
            let list = default.of_new_file(NEW_FILE);
            fsetxattr(new, ACCESS_LIST, &list.to_bytes(), XattrFlags::empty())?;
            fchmod(new, Mode::from_raw_mode(list.mode()))
        }
        Listed::None => fchmod(new, Mode::from_raw_mode(NEW_FILE).difference(umask)),
        Listed::Unknown => Ok(()),
    }
}

/// A mode for a file whose group could not be kept: the group that it has now may do no more than everybody may, and
/// everybody no more than the group of before could, which is a part of everybody now.
fn without_group(mode: u32) -> u32 {
    let both = (mode >> 3) & mode & 0o007;
    mode & !0o077 | both << 3 | both
}

fn keep_owner(new: BorrowedFd<'_>, facts: &Facts) -> bool {
    let (owner, group) = (Uid::from_raw(facts.uid), Gid::from_raw(facts.gid));
    if fchown(new, Some(owner), Some(group)).is_ok() {
        return true;
    }
    // An owner may still give a file to a group of its own.
    let _ = fchown(new, None, Some(group));
    root::facts(new).is_ok_and(|made| (made.uid, made.gid) == (facts.uid, facts.gid))
}

/// What is known of a list.
enum Listed {
    None,
    Some(AccessList),
    /// There may be one, and what it says is not known.
    Unknown,
}

fn access_list(file: BorrowedFd<'_>) -> Listed {
    read_list(file, ACCESS_LIST)
}

fn read_list(file: BorrowedFd<'_>, name: &[u8]) -> Listed {
    match of_any_size(|room| fgetxattr(file, name, room)) {
        Ok(value) => AccessList::parse(&value).map_or(Listed::Unknown, Listed::Some),
        Err(cause) if is_absence(cause) => Listed::None,
        Err(_) => Listed::Unknown,
    }
}

/// Whether an answer says that there is no such attribute; a file system without attributes has none to lose.
fn is_absence(cause: Errno) -> bool {
    matches!(cause, Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS)
}

fn keep_user_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>) -> bool {
    if Fault::ReplaceDropsAttributes.is_planted() {
        return true;
    }
    let list = match of_any_size(|room| flistxattr(old, room)) {
        Ok(list) => list,
        Err(cause) => return is_absence(cause),
    };
    let names = list.split(|&byte| byte == 0).filter(|name| name.starts_with(b"user."));
    let mut all_kept = true;
    for name in names {
        all_kept &= copy_attribute(old, new, name);
    }
    all_kept
}

fn copy_attribute(old: BorrowedFd<'_>, new: BorrowedFd<'_>, name: &[u8]) -> bool {
    let Ok(value) = of_any_size(|room| fgetxattr(old, name, room)) else { return false };
    fsetxattr(new, name, &value, XattrFlags::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_group_gains_nothing_from_a_mode_that_was_meant_for_the_first() {
        for (mode, expected) in [
            (0o660, 0o600),
            (0o664, 0o644),
            (0o775, 0o755),
            (0o777, 0o777),
            (0o1666, 0o1666),
            // The group of before was shut out, and is a part of everybody now.
            (0o604, 0o600),
        ] {
            assert_eq!(without_group(mode), expected, "{mode:o}");
        }
    }
}
