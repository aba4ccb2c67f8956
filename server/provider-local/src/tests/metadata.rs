//! What a replacement keeps of the old file, and what a new file gets.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use toolfs_core::error::Code;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::notice::NoticeKind;

use super::*;

pub(super) fn mode(bench: &Bench, path: &str) -> u32 {
    fs::metadata(bench.root.join(path)).unwrap().mode() & 0o7777
}

pub(super) fn set_mode(bench: &Bench, path: &str, mode: u32) {
    fs::set_permissions(bench.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
}

pub(super) fn kinds(report: &WriteReport) -> Vec<NoticeKind> {
    report.notices.iter().map(|notice| notice.kind).collect()
}

#[tokio::test]
async fn an_edit_keeps_the_mode_and_drops_privilege_bits() {
    let cases =
        [(0o755, 0o755), (0o600, 0o600), (0o666, 0o666), (0o2775, 0o775), (0o4755, 0o755), (0o200, 0o200)];
    for (before, after) in cases {
        let bench = Bench::new();
        bench.put("s.sh", "old");
        set_mode(&bench, "s.sh", before);
        // Only root reads a file that has no read bit.
        if before & 0o400 == 0 && !rustix::process::geteuid().is_root() {
            continue;
        }
        let report = bench.edit("s.sh", "old", "new", EditGuard::Unconditional).await.unwrap();
        assert_eq!(mode(&bench, "s.sh"), after, "{before:o}");
        let dropped = report.notices.iter().any(|notice| notice.kind == NoticeKind::PrivilegeBitsDropped);
        assert_eq!(dropped, before != after, "{before:o}");
    }
}

#[tokio::test]
async fn a_file_without_write_bits_is_refused_for_root_too() {
    let bench = Bench::new();
    bench.put("f", "keep\n");
    set_mode(&bench, "f", 0o444);
    let inode = fs::metadata(bench.root.join("f")).unwrap().ino();
    for error in [
        bench.write("f", "x", WriteGuard::Unconditional).await.unwrap_err(),
        bench.edit("f", "keep", "lose", EditGuard::Unconditional).await.unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::PermissionDenied);
    }
    assert_eq!(bench.get("f").as_deref(), Some("keep\n"));
    assert_eq!(fs::metadata(bench.root.join("f")).unwrap().ino(), inode);
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn a_new_file_has_the_mode_that_the_umask_leaves() {
    for named in [false, true] {
        let bench = Bench::with(|options| options.force_named_temporaries = named);
        bench.write("d/f", "x", WriteGuard::CreateIfAbsent).await.unwrap();
        fs::write(bench.root.join("usual"), "x").unwrap();
        fs::create_dir(bench.root.join("usual-d")).unwrap();
        assert_eq!(mode(&bench, "d/f"), mode(&bench, "usual"));
        assert_eq!(mode(&bench, "d"), mode(&bench, "usual-d"));
        assert_eq!(mode(&bench, "usual"), 0o666 & !crate::root::umask().as_raw_mode());
    }
}

#[tokio::test]
async fn other_hard_links_keep_the_old_content_with_a_notice() {
    let bench = Bench::new();
    bench.put("a", "old");
    fs::hard_link(bench.root.join("a"), bench.root.join("b")).unwrap();
    let report = bench.write("a", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(kinds(&report), [NoticeKind::HardLinksKeepOldContent]);
    assert_eq!((bench.get("a").as_deref(), bench.get("b").as_deref()), (Some("new"), Some("old")));
}

/// Version 2 of the kernel's list: the owner, the user 12345, the group, the mask, the others.
const ACCESS_LIST: [u8; 44] = {
    let entries: [(u8, u8, u32); 5] =
        [(1, 6, u32::MAX), (2, 6, 12_345), (4, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 4, u32::MAX)];
    let mut bytes = [0; 44];
    bytes[0] = 2;
    let mut index = 0;
    while index < 5 {
        let (tag, permission, id) = entries[index];
        let at = 4 + index * 8;
        bytes[at] = tag;
        bytes[at + 2] = permission;
        let id = id.to_le_bytes();
        let mut byte = 0;
        while byte < 4 {
            bytes[at + 4 + byte] = id[byte];
            byte += 1;
        }
        index += 1;
    }
    bytes
};

#[tokio::test]
async fn user_attributes_and_access_lists_are_kept() {
    let bench = Bench::new();
    bench.put("f", "old");
    let path = bench.root.join("f");
    if setxattr(&path, "user.origin", b"https://example.org", XattrFlags::empty()).is_err() {
        assert!(bench.write("f", "new", WriteGuard::Unconditional).await.unwrap().notices.is_empty());
        return;
    }
    let has_list = setxattr(&path, "system.posix_acl_access", &ACCESS_LIST, XattrFlags::empty()).is_ok();
    let mode_before = mode(&bench, "f");
    let report = bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(kinds(&report), []);
    let mut value = [0; 64];
    let length = getxattr(&path, "user.origin", &mut value).unwrap();
    assert_eq!(&value[..length], b"https://example.org");
    if has_list {
        let length = getxattr(&path, "system.posix_acl_access", &mut value).unwrap();
        assert_eq!(value[..length], ACCESS_LIST);
    }
    assert_eq!(mode(&bench, "f"), mode_before);
}

#[tokio::test]
async fn the_owner_is_kept_where_that_is_allowed() {
    let bench = Bench::new();
    bench.put("f", "old");
    if !rustix::process::geteuid().is_root() {
        // Nobody else can make a file that belongs to another user.
        return;
    }
    std::os::unix::fs::chown(bench.root.join("f"), Some(12_345), Some(23_456)).unwrap();
    let report = bench.edit("f", "old", "new", EditGuard::Unconditional).await.unwrap();
    let metadata = fs::metadata(bench.root.join("f")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12_345, 23_456));
    assert!(report.notices.is_empty());
}

#[tokio::test]
async fn a_mode_that_changes_while_the_new_content_is_written_is_taken_over() {
    let bench = Bench::new();
    bench.put("f", "old");
    set_mode(&bench, "f", 0o644);
    let path = bench.root.join("f");
    bench.once_at(Step::Exchange, move || {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap()
    });
    bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(mode(&bench, "f"), 0o600);
}
