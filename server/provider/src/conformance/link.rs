//! Symbolic links: followed inside the roots, kept, and never a way out.

use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::FileKind;

use super::call::refused;
use super::fixture::{Fixture, SECRET};
use super::resolve::denied_as_asked;
use crate::refusal::MAX_LINKS;

pub(super) async fn a_link_leads_to_its_target(fixture: &Fixture) {
    fixture.put("real.txt", "x");
    fixture.make_link("link.txt", "real.txt");
    let target = fixture.target("link.txt").await;
    assert_eq!(target.key, fixture.key("real.txt").await);
    assert_eq!(target.raw_path, fixture.absolute("real.txt"));
    assert_eq!(fixture.lines("link.txt").await.unwrap().summary.size_bytes, 1);
}

pub(super) async fn a_linked_directory_leads_on(fixture: &Fixture) {
    fixture.put("real/deep/f", "x");
    fixture.make_link("alias", "real/deep");
    assert_eq!(fixture.key("alias/f").await, fixture.key("real/deep/f").await);
    assert_eq!(fixture.key("alias/").await, fixture.key("real/deep").await);
}

/// As the kernel would: two dots after a link are the parent of where it leads.
pub(super) async fn two_dots_after_a_link_go_to_its_targets_parent(fixture: &Fixture) {
    fixture.put("real/sibling", "right");
    fixture.make_dir("real/deep");
    fixture.put("sibling", "wrong");
    fixture.make_link("alias", "real/deep");
    assert_eq!(fixture.key("alias/../sibling").await, fixture.key("real/sibling").await);
    let from_link = fixture.try_resolve_from("alias", "../sibling").await.unwrap();
    assert_eq!(from_link.key, fixture.key("real/sibling").await);
}

pub(super) async fn a_relative_link_starts_at_its_own_directory(fixture: &Fixture) {
    fixture.put("a/f", "right");
    fixture.put("f", "wrong");
    fixture.make_link("a/b/link", "../f");
    assert_eq!(fixture.key("a/b/link").await, fixture.key("a/f").await);
}

pub(super) async fn an_absolute_link_beneath_the_root_is_followed(fixture: &Fixture) {
    fixture.put("d/f", "x");
    fixture.make_link("direct", fixture.link_target("d/f"));
    fixture.make_link("a/dir", fixture.link_target("d"));
    assert_eq!(fixture.key("direct").await, fixture.key("d/f").await);
    assert_eq!(fixture.key("a/dir/f").await, fixture.key("d/f").await);
    fixture.write("direct", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.get("d/f").unwrap(), b"new");
}

pub(super) async fn a_link_out_of_the_root_is_denied(fixture: &Fixture) {
    let outside = [fixture.link_root.as_slice(), b"-evil"].concat();
    let name = fixture.link_root.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    fixture.make_link("file", [&outside[..], b"/secret.txt"].concat());
    fixture.make_link("dir", &outside);
    fixture.make_link("up", "../..");
    fixture.make_link("sub/relative", [b"../../", name, b"-evil/secret.txt"].concat());
    fixture.make_link("hop", "file");
    fixture.make_link("absent", [&outside[..], b"/not-there.txt"].concat());
    for path in
        ["file", "dir", "dir/secret.txt", "up", "up/x", "sub/relative", "hop", "absent", "dir/new.txt"]
    {
        denied_as_asked(fixture.try_resolve(path).await, path);
    }
    let leaked = fixture.hand.names(b"").into_iter().any(|name| fixture.get(name).as_deref() == Some(SECRET));
    assert!(!leaked);
}

/// A target that was resolved while its parent was a directory stays beneath the root when that becomes a link.
pub(super) async fn a_key_never_leads_out_after_its_parent_became_a_link(fixture: &Fixture) {
    fixture.put("d/secret.txt", "mine");
    let key = fixture.key("d/secret.txt").await;
    fixture.remove("d");
    fixture.make_link("d", [fixture.link_root.as_slice(), b"-evil"].concat());
    let read = fixture.provider.read_lines(&super::call::running(), &key, super::call::WINDOW).await;
    assert_eq!(read.unwrap_err().code(), Code::SandboxDenied);
    let request = super::call::write_request(key, "broken in", WriteGuard::Unconditional);
    let written = fixture.provider.write_text(&super::call::running(), request).await;
    assert_eq!(written.unwrap_err().code(), Code::SandboxDenied);
}

/// A component that became a link inside the root is resolved anew.
pub(super) async fn a_key_follows_when_its_parent_became_a_link_inside(fixture: &Fixture) {
    fixture.put("d/f", "old place");
    let key = fixture.key("d/f").await;
    fixture.remove("d");
    fixture.put("moved/f", "new place");
    fixture.make_link("d", "moved");
    let report =
        fixture.provider.read_lines(&super::call::running(), &key, super::call::WINDOW).await.unwrap();
    assert_eq!(super::call::texts(&report), ["new place"]);
}

pub(super) async fn a_dangling_link_is_its_missing_target(fixture: &Fixture) {
    fixture.make_link("link", "gone/file.txt");
    let target = fixture.target("link").await;
    assert_eq!(target.raw_path, fixture.absolute("gone/file.txt"));
    assert_eq!(target.key, fixture.key("gone/file.txt").await);
    refused(fixture.lines("link").await, Code::NotFound);
}

pub(super) async fn a_write_through_a_dangling_link_creates_its_target(fixture: &Fixture) {
    fixture.make_link("link", "gone/file.txt");
    fixture.create("link", "made").await.unwrap();
    assert_eq!(fixture.get("gone/file.txt").unwrap(), b"made");
    assert_eq!(fixture.lstat("link").await.unwrap().kind, FileKind::Symlink);
}

pub(super) async fn a_write_through_a_link_keeps_the_link(fixture: &Fixture) {
    fixture.put("real.txt", "old");
    fixture.make_link("l.txt", "real.txt");
    fixture.write("l.txt", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.get("real.txt").unwrap(), b"new");
    assert_eq!(fixture.lstat("l.txt").await.unwrap().kind, FileKind::Symlink);
}

pub(super) async fn an_edit_through_a_link_keeps_the_link(fixture: &Fixture) {
    fixture.put("A.md", "one two");
    fixture.make_link("C.md", "A.md");
    fixture.edit("C.md", "two", "three", EditGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.get("A.md").unwrap(), b"one three");
    assert_eq!(fixture.lstat("C.md").await.unwrap().kind, FileKind::Symlink);
}

pub(super) async fn links_in_a_circle_are_refused(fixture: &Fixture) {
    fixture.make_link("self", "self");
    fixture.make_link("a", "b");
    fixture.make_link("b", "a");
    for path in ["self", "self/x", "a", "b/x"] {
        let error = refused(fixture.try_resolve(path).await, Code::InvalidArgument);
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument { field, .. } if field == "path"));
        assert_eq!(error.path(), Some(path));
    }
}

pub(super) async fn a_long_chain_of_links_is_followed_up_to_the_bound(fixture: &Fixture) {
    fixture.put("end", "x");
    fixture.make_link("link1", "end");
    for number in 2..=MAX_LINKS + 1 {
        fixture.make_link(format!("link{number}"), format!("link{}", number - 1));
    }
    assert_eq!(fixture.key(format!("link{MAX_LINKS}")).await, fixture.key("end").await);
    refused(fixture.try_resolve(format!("link{}", MAX_LINKS + 1)).await, Code::InvalidArgument);
}

pub(super) async fn a_link_to_a_file_is_no_parent(fixture: &Fixture) {
    fixture.put("f", "x");
    fixture.make_link("link", "f");
    refused(fixture.try_resolve("link/x").await, Code::NotDirectory);
    refused(fixture.try_resolve("link/").await, Code::NotDirectory);
}
