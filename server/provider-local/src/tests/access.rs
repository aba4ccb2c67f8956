//! Who may do what with a file before and after it was replaced: as its owner, as another user, by lists and by default.

use std::os::unix::fs::MetadataExt;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use toolfs_core::error::Code;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::notice::NoticeKind;

use super::metadata::{kinds, mode, set_mode};
use super::*;

/// An access control list as the kernel keeps it, version 2: tag, permissions and id of each entry.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const OWNER: u16 = 1;
const USER: u16 = 2;
const GROUP: u16 = 4;
const MASK: u16 = 16;
const OTHERS: u16 = 32;
const NO_ID: u32 = u32::MAX;

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let length = getxattr(path, name, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

/// Sets an attribute; where that is not possible the caller is to be left, which is told.
fn can_set(path: &Path, name: &str, value: &[u8]) -> bool {
    let set = setxattr(path, name, value, XattrFlags::empty());
    if let Err(cause) = &set {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: `{name}` cannot be set here ({cause})");
    }
    set.is_ok()
}

/// Tells that a test needs the rights of root, unless they are there.
fn is_root() -> bool {
    use std::io::Write;
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        let _ = writeln!(std::io::stderr(), "skipped: only root can make files of other users");
    }
    is_root
}

#[test]
fn an_unprivileged_owner_keeps_mode_list_and_attributes() {
    unprivileged(|| {
        for (before, after) in
            [(0o755, 0o755), (0o600, 0o600), (0o664, 0o664), (0o2775, 0o775), (0o4711, 0o711)]
        {
            let bench = Bench::new();
            bench.put("f", "old");
            let path = bench.root.join("f");
            let has_attribute = can_set(&path, "user.origin", b"here");
            set_mode(&bench, "f", before);
            let report = run(bench.edit("f", "old", "new", EditGuard::Unconditional)).unwrap();
            assert_eq!(mode(&bench, "f"), after, "{before:o}");
            let dropped: Vec<_> = report.notices.iter().map(|notice| notice.kind).collect();
            let expected: &[_] = if before == after { &[] } else { &[NoticeKind::PrivilegeBitsDropped] };
            assert_eq!(dropped, expected, "{before:o}");
            if has_attribute {
                assert_eq!(attribute(&path, "user.origin").as_deref(), Some(&b"here"[..]));
            }
        }
        let bench = Bench::new();
        bench.put("f", "old");
        let path = bench.root.join("f");
        let entries =
            [(OWNER, 6, NO_ID), (USER, 4, 12_345), (GROUP, 0, NO_ID), (MASK, 4, NO_ID), (OTHERS, 0, NO_ID)];
        if can_set(&path, "system.posix_acl_access", &list(&entries)) {
            run(bench.edit("f", "old", "new", EditGuard::Unconditional)).unwrap();
            assert_eq!(attribute(&path, "system.posix_acl_access"), Some(list(&entries)));
        }
        for refused in [0o444, 0o555, 0o000, 0o400] {
            bench.put("g", "keep");
            set_mode(&bench, "g", refused);
            let error = run(bench.write("g", "lose", WriteGuard::Unconditional)).unwrap_err();
            assert_eq!(error.code(), Code::PermissionDenied, "{refused:o}");
            set_mode(&bench, "g", 0o644);
            assert_eq!(bench.get("g").as_deref(), Some("keep"), "{refused:o}");
        }
    });
}

/// A file that another user owns and lets this one write: in a shared directory, or by group.
#[test]
fn a_file_of_another_user_is_told_to_have_another_owner_and_lets_nobody_do_more() {
    if !is_root() {
        return;
    }
    for (before, after) in [(0o666, 0o666), (0o646, 0o644), (0o606, 0o600), (0o676, 0o666)] {
        let bench = Bench::with_open_directory();
        bench.put("f", "old");
        std::os::unix::fs::chown(bench.root.join("f"), Some(12_345), Some(23_456)).unwrap();
        set_mode(&bench, "f", before);
        let report = unprivileged(|| run(bench.edit("f", "old", "new", EditGuard::Unconditional))).unwrap();
        let metadata = fs::metadata(bench.root.join("f")).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (NOBODY, NOBODY));
        let kinds: Vec<_> = report.notices.iter().map(|notice| notice.kind).collect();
        assert_eq!(kinds, [NoticeKind::OwnershipNotKept], "{before:o}");
        assert_eq!(mode(&bench, "f"), after, "{before:o}");
    }
}

#[test]
fn a_group_of_the_servers_own_is_kept_when_the_owner_cannot_be() {
    if !is_root() {
        return;
    }
    let bench = Bench::with_open_directory();
    bench.put("f", "old");
    std::os::unix::fs::chown(bench.root.join("f"), Some(12_345), Some(NOBODY)).unwrap();
    set_mode(&bench, "f", 0o660);
    let report = unprivileged(|| run(bench.edit("f", "old", "new", EditGuard::Unconditional))).unwrap();
    let metadata = fs::metadata(bench.root.join("f")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (NOBODY, NOBODY, 0o660));
    assert_eq!(report.notices.len(), 1);
}

/// A file that this user may not write stays as it is, though the directory would let it be replaced.
#[test]
fn a_file_that_only_its_owner_may_write_is_not_replaced_by_way_of_its_directory() {
    if !is_root() {
        return;
    }
    let bench = Bench::with_open_directory();
    bench.put("f", "old");
    set_mode(&bench, "f", 0o644);
    let entries =
        [(OWNER, 6, NO_ID), (USER, 4, NOBODY), (GROUP, 4, NO_ID), (MASK, 6, NO_ID), (OTHERS, 6, NO_ID)];
    for has_list in [false, true] {
        let path = bench.root.join("f");
        if has_list && !can_set(&path, "system.posix_acl_access", &list(&entries)) {
            return;
        }
        let error = unprivileged(|| run(bench.write("f", "new", WriteGuard::Unconditional))).unwrap_err();
        assert_eq!(error.code(), Code::PermissionDenied);
        assert_eq!((bench.get("f").as_deref(), bench.names()), (Some("old"), vec!["f".to_owned()]));
    }
}

/// The list's group entry was for a group that could not be kept.
#[test]
fn a_list_whose_group_could_not_be_kept_lets_the_other_group_do_no_more() {
    if !is_root() {
        return;
    }
    let bench = Bench::with_open_directory();
    bench.put("f", "old");
    let path = bench.root.join("f");
    std::os::unix::fs::chown(&path, Some(12_345), Some(23_456)).unwrap();
    let entries = |group, others| {
        [
            (OWNER, 6, NO_ID),
            (USER, 6, NOBODY),
            (GROUP, group, NO_ID),
            (MASK, 6, NO_ID),
            (OTHERS, others, NO_ID),
        ]
    };
    if !can_set(&path, "system.posix_acl_access", &list(&entries(6, 4))) {
        return;
    }
    unprivileged(|| run(bench.edit("f", "old", "new", EditGuard::Unconditional))).unwrap();
    assert_eq!(attribute(&path, "system.posix_acl_access"), Some(list(&entries(4, 4))));
}

#[tokio::test]
async fn a_new_file_has_the_default_list_of_its_directory() {
    for named in [false, true] {
        let bench = Bench::with(|options| options.force_named_temporaries = named);
        fs::create_dir(bench.root.join("d")).unwrap();
        let directory = bench.root.join("d");
        for entries in [
            &[(OWNER, 7, NO_ID), (USER, 6, 12_345), (GROUP, 7, NO_ID), (MASK, 7, NO_ID), (OTHERS, 0, NO_ID)]
                [..],
            &[(OWNER, 7, NO_ID), (GROUP, 7, NO_ID), (OTHERS, 7, NO_ID)],
            &[(OWNER, 7, NO_ID), (GROUP, 0, NO_ID), (OTHERS, 0, NO_ID)],
        ] {
            if !can_set(&directory, "system.posix_acl_default", &list(entries)) {
                return;
            }
            bench.write("d/f", "x", WriteGuard::CreateIfAbsent).await.unwrap();
            bench.write("d/deep/f", "x", WriteGuard::CreateIfAbsent).await.unwrap();
            fs::write(directory.join("usual"), "x").unwrap();
            for path in ["d/f", "d/deep/f"] {
                let made = attribute(&bench.root.join(path), "system.posix_acl_access");
                assert_eq!(
                    made,
                    attribute(&directory.join("usual"), "system.posix_acl_access"),
                    "{named} {path}"
                );
                assert_eq!(mode(&bench, path), mode(&bench, "d/usual"), "{named} {path}");
            }
            fs::remove_dir_all(directory.join("deep")).unwrap();
            fs::remove_file(directory.join("f")).unwrap();
            fs::remove_file(directory.join("usual")).unwrap();
        }
    }
}

/// The old file has no list, and the directory would give one to the new file.
#[tokio::test]
async fn a_replaced_file_gets_no_list_that_it_had_not() {
    for named in [false, true] {
        let bench = Bench::with(|options| options.force_named_temporaries = named);
        bench.put("f", "old");
        set_mode(&bench, "f", 0o640);
        let entries =
            [(OWNER, 7, NO_ID), (USER, 7, 12_345), (GROUP, 7, NO_ID), (MASK, 7, NO_ID), (OTHERS, 7, NO_ID)];
        if !can_set(&bench.root, "system.posix_acl_default", &list(&entries)) {
            return;
        }
        assert_eq!(kinds(&bench.write("f", "new", WriteGuard::Unconditional).await.unwrap()), []);
        assert_eq!(attribute(&bench.root.join("f"), "system.posix_acl_access"), None);
        assert_eq!(mode(&bench, "f"), 0o640);
    }
}

#[tokio::test]
async fn file_capabilities_are_dropped_with_a_notice() {
    let bench = Bench::new();
    bench.put("f", "old");
    let path = bench.root.join("f");
    // Revision 2, effective; CAP_NET_RAW permitted.
    let capability = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if !can_set(&path, "security.capability", &capability) {
        return;
    }
    let report = bench.edit("f", "old", "new", EditGuard::Unconditional).await.unwrap();
    assert_eq!(
        report.notices.iter().map(|notice| notice.kind).collect::<Vec<_>>(),
        [NoticeKind::PrivilegeBitsDropped]
    );
    assert_eq!(attribute(&path, "security.capability"), None);
}

/// Nobody else sees the new content before it has the mode of the old one.
#[tokio::test]
async fn a_temporary_file_is_its_owners_alone_until_it_is_whole() {
    for existing in [false, true] {
        let bench = Bench::with(|options| options.force_named_temporaries = true);
        if existing {
            bench.put("f", "old");
            set_mode(&bench, "f", 0o666);
        }
        let root = bench.root.clone();
        bench.at_steps(move |due| {
            if due == Step::Write {
                for entry in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap()) {
                    let mode = entry.metadata().unwrap().mode() & 0o777;
                    assert!(entry.file_name() == "f" || mode == 0o600, "{:?} {mode:o}", entry.file_name());
                }
            }
            Ok(())
        });
        bench.write("f", "new", WriteGuard::Unconditional).await.unwrap();
        let expected = if existing { 0o666 } else { 0o666 & !crate::root::umask().as_raw_mode() };
        assert_eq!(mode(&bench, "f"), expected);
    }
}

/// A flag of the file system says what no mode does, also to root.
#[tokio::test]
async fn a_file_that_its_file_system_keeps_from_change_is_refused() {
    for flag in ["i", "a"] {
        let bench = Bench::with_copies(|_| {});
        bench.put("f", "old");
        let path = bench.root.join("f");
        let change = |sign: &str| {
            let ran = std::process::Command::new("chattr").arg(format!("{sign}{flag}")).arg(&path).output();
            ran.is_ok_and(|output| output.status.success())
        };
        if !change("+") {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: no flags can be set on files here");
            return;
        }
        let result = bench.write("f", "new", WriteGuard::Unconditional).await;
        assert!(change("-"));
        assert_eq!(result.unwrap_err().code(), Code::PermissionDenied, "{flag}");
        assert_eq!((bench.get("f").as_deref(), bench.names()), (Some("old"), vec!["f".to_owned()]), "{flag}");
    }
}
