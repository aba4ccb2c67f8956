//! Protected names: readable, never changed, whatever path leads there.

use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::call::refused;
use super::fixture::Fixture;

async fn check_refused(fixture: &Fixture, path: &str) {
    let rule = ErrorKind::SandboxDenied { rule: ".git".to_owned() };
    let stale = WriteGuard::ReplaceIfVersion(fixture.version_of(b"other"));
    for guard in [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent, stale] {
        let error = refused(fixture.write(path, "x", guard).await, Code::SandboxDenied);
        assert_eq!(error.kind(), &rule, "{path}");
    }
    let error = refused(fixture.edit(path, "a", "b", EditGuard::Unconditional).await, Code::SandboxDenied);
    assert_eq!(error.kind(), &rule, "{path}");
}

pub(super) async fn what_is_below_a_protected_name_is_not_changed(fixture: &Fixture) {
    fixture.put(".git/config", "a");
    fixture.put("sub/module/.git/HEAD", "a");
    for path in [".git/config", ".git/new", ".git/hooks/new", "sub/module/.git/HEAD", "./sub/../.git/config"]
    {
        check_refused(fixture, path).await;
        assert_eq!(fixture.target(path).await.protected_rule.as_deref(), Some(".git"), "{path}");
    }
    assert_eq!(fixture.get(".git/config").unwrap(), b"a");
    assert_eq!(fixture.hand.names(b".git"), [b"config"]);
}

/// A worktree has a file of that name.
pub(super) async fn a_protected_name_may_be_a_file(fixture: &Fixture) {
    fixture.put("wt/.git", "gitdir: a");
    check_refused(fixture, "wt/.git").await;
    assert_eq!(fixture.get("wt/.git").unwrap(), b"gitdir: a");
}

pub(super) async fn a_protected_parent_is_not_created(fixture: &Fixture) {
    check_refused(fixture, ".git").await;
    check_refused(fixture, ".git/config").await;
    check_refused(fixture, "new/.git/hooks/run").await;
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new());
}

pub(super) async fn a_link_into_a_protected_place_is_no_way_in(fixture: &Fixture) {
    fixture.put(".git/config", "a");
    fixture.make_link("alias", ".git");
    fixture.make_link("config", ".git/config");
    fixture.make_link("fresh", ".git/new");
    for path in ["alias/config", "alias/new", "config", "fresh"] {
        check_refused(fixture, path).await;
        assert_eq!(fixture.target(path).await.protected_rule.as_deref(), Some(".git"), "{path}");
    }
    assert_eq!(fixture.get(".git/config").unwrap(), b"a");
}

/// The spelling counts too: what `.git` is a link to may lie anywhere.
pub(super) async fn a_protected_spelling_is_told(fixture: &Fixture) {
    fixture.put("elsewhere/config", "a");
    fixture.make_link(".git", "elsewhere");
    assert_eq!(fixture.target(".git/config").await.protected_rule.as_deref(), Some(".git"));
    assert_eq!(fixture.target("elsewhere/config").await.protected_rule, None);
}

pub(super) async fn protected_files_are_read(fixture: &Fixture) {
    fixture.put(".git/config", "a\n");
    assert_eq!(fixture.lines(".git/config").await.unwrap().summary.total_lines, 1);
    assert_eq!(fixture.text(".git/config").await.unwrap().content(), b"a\n");
}

pub(super) async fn names_that_only_start_alike_are_not_protected(fixture: &Fixture) {
    for path in [".gitignore", ".github/workflows/ci.yaml", "git/x", "x.git/y", ".gi/t"] {
        assert_eq!(fixture.target(path).await.protected_rule, None, "{path}");
        fixture.create(path, "x").await.unwrap();
    }
}

/// Protection is told before the file's own mode and before the guard.
pub(super) async fn protection_comes_before_permission(fixture: &Fixture) {
    fixture.put(".git/config", "a");
    fixture.hand.set_mode(b".git/config", 0o444);
    check_refused(fixture, ".git/config").await;
}
