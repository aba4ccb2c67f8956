//! Where paths lead: spellings, parents, and what no path may reach.

use toolfs_core::error::{Code, ErrorKind, FsError};
use toolfs_core::target::{FileKind, display_form};

use super::call::{refused, running};
use super::fixture::Fixture;
use crate::refusal::{MAX_NAME_BYTES, ROOTS_RULE};

pub(super) async fn the_root_is_announced_and_a_directory(fixture: &Fixture) {
    let capabilities = fixture.provider.capabilities(&running()).await.unwrap();
    assert_eq!(capabilities.roots[0].raw_path, fixture.root);
    assert_eq!(capabilities.roots[0].display_path, display_form(&fixture.root));
    assert_eq!(capabilities.protected_patterns, [".git"]);
    assert_eq!(fixture.kind(".").await, FileKind::Directory);
}

pub(super) async fn a_target_is_called_by_its_canonical_absolute_path(fixture: &Fixture) {
    fixture.put("d/f.txt", "x");
    let target = fixture.target("d/../d/./f.txt").await;
    assert_eq!(target.raw_path, fixture.absolute("d/f.txt"));
    assert_eq!(target.display_path, display_form(&fixture.absolute("d/f.txt")));
    assert_eq!(target.protected_rule, None);
}

pub(super) async fn a_dot_stays_where_it_is(fixture: &Fixture) {
    fixture.make_dir("d");
    assert_eq!(fixture.target(".").await.raw_path, fixture.root);
    let from_below = fixture.try_resolve_from("d", ".").await.unwrap();
    assert_eq!(from_below.raw_path, fixture.absolute("d"));
}

pub(super) async fn two_dots_go_to_the_parent(fixture: &Fixture) {
    fixture.put("d/e/f", "x");
    fixture.put("g", "y");
    let target = fixture.try_resolve_from("d/e", "../../g").await.unwrap();
    assert_eq!(target.key, fixture.key("g").await);
}

pub(super) async fn a_relative_path_starts_at_the_working_directory(fixture: &Fixture) {
    fixture.put("a/f", "a");
    fixture.put("b/f", "b");
    let from_a = fixture.try_resolve_from("a", "f").await.unwrap();
    let from_b = fixture.try_resolve_from("b", "f").await.unwrap();
    assert_eq!(from_a.raw_path, fixture.absolute("a/f"));
    assert_eq!(from_b.raw_path, fixture.absolute("b/f"));
    assert_ne!(from_a.key, from_b.key);
}

pub(super) async fn an_absolute_path_ignores_the_working_directory(fixture: &Fixture) {
    fixture.make_dir("a");
    fixture.put("f", "x");
    let target = fixture.try_resolve_from("a", fixture.absolute("f")).await.unwrap();
    assert_eq!(target.key, fixture.key("f").await);
}

pub(super) async fn empty_components_are_nothing(fixture: &Fixture) {
    fixture.put("d/f", "x");
    assert_eq!(fixture.key("d//f").await, fixture.key("d/f").await);
    assert_eq!(fixture.key("d/.//./f").await, fixture.key("d/f").await);
    let doubled = [b"/".as_slice(), &fixture.absolute("d//f")].concat();
    assert_eq!(fixture.key(doubled).await, fixture.key("d/f").await);
}

pub(super) async fn a_trailing_slash_asks_for_a_directory(fixture: &Fixture) {
    fixture.make_dir("d");
    fixture.put("f", "x");
    assert_eq!(fixture.key("d/").await, fixture.key("d").await);
    let error = refused(fixture.try_resolve("f/").await, Code::NotDirectory);
    assert_eq!(error.path(), Some("f/"));
}

pub(super) async fn a_file_is_no_parent(fixture: &Fixture) {
    fixture.put("f", "x");
    for path in ["f/x", "f/.", "f/..", "f/x/y"] {
        let error = refused(fixture.try_resolve(path).await, Code::NotDirectory);
        assert_eq!(error.path(), Some(path));
    }
}

pub(super) async fn missing_components_become_the_rest(fixture: &Fixture) {
    fixture.make_dir("d");
    let target = fixture.target("d/new/deep/file.txt").await;
    assert_eq!(target.raw_path, fixture.absolute("d/new/deep/file.txt"));
    refused(fixture.stat("d/new/deep/file.txt").await, Code::NotFound);
}

pub(super) async fn two_dots_after_something_missing_are_not_found(fixture: &Fixture) {
    fixture.put("f", "x");
    refused(fixture.try_resolve("missing/../f").await, Code::NotFound);
    refused(fixture.try_resolve("missing/deep/../../f").await, Code::NotFound);
}

pub(super) async fn two_dots_never_leave_the_root(fixture: &Fixture) {
    fixture.make_dir("d");
    for path in ["..", "../", "../x", "d/../..", "d/../../x", "../../../../etc/passwd"] {
        denied_as_asked(fixture.try_resolve(path).await, path);
    }
    let error = refused(fixture.try_resolve_from("d", "../../x").await, Code::SandboxDenied);
    assert_eq!(error.path(), Some("../../x"));
}

/// Out and back in again is out: the steps count, not the end.
pub(super) async fn a_path_that_comes_back_has_still_left(fixture: &Fixture) {
    fixture.put("f", "x");
    let name = fixture.root.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let path = [b"../", name, b"/f"].concat();
    denied_as_asked(fixture.try_resolve(&path).await, &display_form(&path));
    let path = [fixture.root.as_slice(), b"/../", name, b"/f"].concat();
    denied_as_asked(fixture.try_resolve(&path).await, &display_form(&path));
}

pub(super) async fn an_absolute_path_outside_the_roots_is_denied(fixture: &Fixture) {
    for path in ["/", "/etc/passwd", "/proc/self/root"] {
        denied_as_asked(fixture.try_resolve(path).await, path);
    }
}

/// A sibling whose name starts with the root's name is another place.
pub(super) async fn a_sibling_with_the_same_prefix_is_outside(fixture: &Fixture) {
    let sibling = [fixture.root.as_slice(), b"-evil/secret.txt"].concat();
    denied_as_asked(fixture.try_resolve(&sibling).await, &display_form(&sibling));
    let name = fixture.root.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let relative = [b"../", name, b"-evil/secret.txt"].concat();
    denied_as_asked(fixture.try_resolve(&relative).await, &display_form(&relative));
}

pub(super) async fn a_working_directory_outside_the_roots_is_denied(fixture: &Fixture) {
    let cwd = [fixture.root.as_slice(), b"-evil"].concat();
    refused(fixture.resolve_request(Some(cwd), b"secret.txt").await, Code::SandboxDenied);
    refused(fixture.resolve_request(Some(b"/".to_vec()), b"etc/passwd").await, Code::SandboxDenied);
}

pub(super) async fn a_relative_working_directory_is_refused(fixture: &Fixture) {
    fixture.make_dir("d");
    let error = refused(fixture.resolve_request(Some(b"d".to_vec()), b"f").await, Code::InvalidArgument);
    assert_eq!(field(&error), "cwd");
}

/// Refusing `~/x` is the tool layer's; for a provider it is a name like any other, so that `./~` stays reachable.
pub(super) async fn a_tilde_is_a_name(fixture: &Fixture) {
    fixture.put("~/x", "home");
    assert_eq!(fixture.target("~/x").await.raw_path, fixture.absolute("~/x"));
    assert_eq!(fixture.key("./~").await, fixture.key("~").await);
}

pub(super) async fn exact_names_win_over_look_alikes(fixture: &Fixture) {
    fixture.put("shot 1\u{202f}PM.txt", "narrow");
    fixture.put("shot 1 PM.txt", "plain");
    fixture.put("caf\u{e9}", "composed");
    fixture.put("cafe\u{301}", "decomposed");
    for (name, text) in [
        ("shot 1\u{202f}PM.txt", "narrow"),
        ("shot 1 PM.txt", "plain"),
        ("caf\u{e9}", "composed"),
        ("cafe\u{301}", "decomposed"),
    ] {
        assert_eq!(fixture.text(name).await.unwrap().content(), text.as_bytes(), "{name}");
    }
}

pub(super) async fn names_are_bytes(fixture: &Fixture) {
    fixture.put(b"caf\xe9.txt", "latin");
    let target = fixture.target(b"caf\xe9.txt").await;
    assert_eq!(target.raw_path, fixture.absolute(b"caf\xe9.txt"));
    assert!(target.display_path.ends_with(r"/caf\xe9.txt"), "{}", target.display_path);
    assert_eq!(fixture.text(b"caf\xe9.txt").await.unwrap().content(), b"latin");
    let error = refused(fixture.lines(b"missing\xff").await, Code::NotFound);
    assert!(error.path().unwrap().ends_with(r"/missing\xff"), "{error:?}");
}

pub(super) async fn a_newline_in_a_name_is_shown_escaped(fixture: &Fixture) {
    fixture.put("two\nlines", "x");
    let target = fixture.target("two\nlines").await;
    assert_eq!(target.raw_path, fixture.absolute("two\nlines"));
    assert!(target.display_path.ends_with(r"/two\u{a}lines"), "{}", target.display_path);
    assert_eq!(fixture.lines("two\nlines").await.unwrap().summary.total_lines, 1);
}

pub(super) async fn a_name_may_be_long_and_not_too_long(fixture: &Fixture) {
    let longest = "n".repeat(MAX_NAME_BYTES);
    fixture.create(&longest, "x").await.unwrap();
    assert_eq!(fixture.get(&longest).unwrap(), b"x");
    let too_long = "n".repeat(MAX_NAME_BYTES + 1);
    for path in [too_long.clone(), format!("missing/{too_long}"), format!("{too_long}/f")] {
        let error = refused(fixture.try_resolve(&path).await, Code::InvalidArgument);
        assert_eq!(field(&error), "path");
    }
}

pub(super) async fn a_path_may_be_long_and_not_too_long(fixture: &Fixture) {
    let limit = usize::try_from(super::limits().max_path_bytes).unwrap();
    let path = "./".repeat(limit / 2);
    assert_eq!(fixture.target(&path[..limit - 2]).await.raw_path, fixture.root);
    let error = refused(fixture.try_resolve(format!("{path}.")).await, Code::InvalidArgument);
    assert_eq!(field(&error), "path");
}

pub(super) async fn empty_paths_and_nul_bytes_are_refused(fixture: &Fixture) {
    for path in [&b""[..], b"\0", b"a\0b", b"d/\0"] {
        let error = refused(fixture.try_resolve(path).await, Code::InvalidArgument);
        assert_eq!(field(&error), "path");
    }
}

pub(super) async fn a_place_contains_itself_and_what_is_beneath(fixture: &Fixture) {
    fixture.put("d/e/f", "x");
    let cases = [
        (".", ".", true),
        (".", "d/e/f", true),
        ("d", "d", true),
        ("d", "d/e/f", true),
        ("d", "d/missing/x", true),
        ("d/missing", "d/missing/x", true),
        ("d/e/f", "d/e", false),
        ("d", ".", false),
        ("d", "de", false),
        ("d/e", "d/ex", false),
    ];
    for (ancestor, target, expected) in cases {
        let (ancestor_key, target_key) = (fixture.key(ancestor).await, fixture.key(target).await);
        let contained = fixture.provider.contains(&running(), &ancestor_key, &target_key).await.unwrap();
        assert_eq!(contained, expected, "{ancestor} {target}");
    }
}

pub(super) async fn a_foreign_key_is_refused(fixture: &Fixture) {
    use toolfs_core::target::TargetKey;

    let root = fixture.key(".").await;
    for bytes in [&b""[..], b"\0", b"no such root\0x", b"../../etc/passwd", b"\xff\xff\xff\xff"] {
        let foreign = TargetKey::new(bytes);
        refused(fixture.provider.contains(&running(), &root, &foreign).await, Code::InvalidArgument);
        refused(fixture.provider.contains(&running(), &foreign, &root).await, Code::InvalidArgument);
        refused(fixture.provider.stat(&running(), &foreign, false).await, Code::InvalidArgument);
    }
}

fn field(error: &FsError) -> &str {
    match error.kind() {
        ErrorKind::InvalidArgument { field, .. } => field,
        kind => panic!("{kind:?}"),
    }
}

/// The refusal names the path as asked, and not where it led.
#[track_caller]
pub(super) fn denied_as_asked<T: std::fmt::Debug>(result: toolfs_core::error::Result<T>, asked: &str) {
    let error = refused(result, Code::SandboxDenied);
    assert_eq!(error.path(), Some(asked));
    assert!(!error.message().contains("secret") || asked.contains("secret"), "{error:?}");
    assert_eq!(error.kind(), &ErrorKind::SandboxDenied { rule: ROOTS_RULE.to_owned() });
}
