use expect_test::expect;
use toolfs_core::target::TargetKey;

use super::*;

fn target(path: &[u8]) -> Target {
    Target {
        key: TargetKey::new(path),
        raw_path: path.to_vec(),
        process_path: Vec::new(),
        display_path: toolfs_core::target::display_form(path),
        file_url: String::new(),
        protected_rule: Some(".git".to_owned()),
    }
}

/// A state of an earlier version is read by this one. If this text changes, raise the schema version and give the
/// migration a step that rewrites the column.
#[test]
fn the_stored_form_of_a_session_stays_as_it_is() {
    let detail = Detail {
        cwd: target(b"/w"),
        roots: vec![target(b"\xff")],
        shown_roots: vec!["/w".to_owned()],
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        mode: mode_text(SessionMode::ReadOnly).to_owned(),
    };
    let text = serde_json::to_string(&detail).unwrap();
    let expected = expect![[
        r#"{"cwd":{"key":[47,119],"raw_path":[47,119],"process_path":[],"display_path":"/w","file_url":"","protected_rule":".git"},"roots":[{"key":[255],"raw_path":[255],"process_path":[],"display_path":"\\xff","file_url":"","protected_rule":".git"}],"shown_roots":["/w"],"labels":{"a":"b"},"mode":"read-only"}"#
    ]];
    expected.assert_eq(&text);
}

#[test]
fn owners_and_modes_are_read_back_as_they_were() {
    let named = ["", "local", "named:local", "Jörg\0"].map(|name| Caller::Named(name.to_owned()));
    for owner in named.into_iter().chain([Caller::Local]) {
        assert_eq!(parse_owner(&owner_text(&owner)).unwrap(), owner);
    }
    for mode in [SessionMode::WorkspaceWrite, SessionMode::ReadOnly] {
        assert_eq!(parse_mode(mode_text(mode)).unwrap(), mode);
    }
    assert!(parse_owner("somebody").is_err());
    assert!(parse_mode("all").is_err());
}
