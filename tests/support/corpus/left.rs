//! What a case left on disk, compared with what it must leave.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::case::Case;
use super::disk::paths;
use super::entry::{Entry, Left, Permissions};

/// Bytes around the first difference that are shown.
const SHOWN: usize = 60;

/// Tells each difference between a tree and what a case says of it.
pub(crate) fn compare(root: &Path, case: &Case) -> Vec<String> {
    let expected = match expected(case) {
        Ok(expected) => expected,
        Err(fault) => return vec![fault],
    };
    let mut differences = Vec::new();
    for (path, entry) in &expected {
        if let Err(difference) = compare_entry(root, &root.join(path), entry) {
            differences.push(format!("disk: `{path}`: {difference}"));
        }
    }
    for (name, path) in paths(root) {
        let is_listed = expected.iter().any(|(path, _)| *path == name);
        // A directory that is not listed is one that holds something.
        let is_parent = path.is_dir() && !path.is_symlink() && fs::read_dir(&path).unwrap().next().is_some();
        if !is_listed && !is_parent {
            differences.push(format!("disk: `{name}` is there, which the case does not list"));
        }
    }
    differences
}

/// What must be left, by path.
fn expected(case: &Case) -> Result<Vec<(&str, &Entry)>, String> {
    let Some(disk) = &case.disk else {
        return Ok(case.files.0.iter().map(|(path, entry)| (path.as_str(), entry)).collect());
    };
    let mut entries = Vec::new();
    for (path, left) in &disk.0 {
        let entry = match left {
            Left::Entry(entry) => Some(entry),
            Left::Given(_) => case.files.get(path),
        };
        entries.push((path.as_str(), entry.ok_or_else(|| format!("disk: `{path}` is not among `files`"))?));
    }
    Ok(entries)
}

fn compare_entry(root: &Path, path: &Path, entry: &Entry) -> Result<(), String> {
    let Ok(metadata) = path.symlink_metadata() else { return Err("nothing is there".to_owned()) };
    let kind = metadata.file_type();
    match entry {
        Entry::Text(text) => compare_file(path, text.get().as_bytes(), None),
        Entry::File(file) => compare_file(path, file.text.get().as_bytes(), file.mode),
        Entry::Bytes(file) => compare_file(path, &file.base64.0, file.mode),
        Entry::Directory(_) if kind.is_dir() => Ok(()),
        Entry::Directory(_) => Err("it is no directory".to_owned()),
        Entry::Link(link) if kind.is_symlink() => {
            let found = fs::read_link(path).unwrap();
            if found == Path::new(&link.link) {
                return Ok(());
            }
            Err(format!("it links to `{}`, expected `{}`", found.display(), link.link))
        }
        Entry::Link(_) => Err("it is no link".to_owned()),
        Entry::HardLink(link) => {
            let other = root.join(&link.hard_link).symlink_metadata();
            let is_same =
                |other: fs::Metadata| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino());
            if other.is_ok_and(is_same) {
                return Ok(());
            }
            Err(format!("it is another file than `{}`", link.hard_link))
        }
        Entry::Fifo(_) if kind.is_fifo() => Ok(()),
        Entry::Fifo(_) => Err("it is no named pipe".to_owned()),
    }
}

fn compare_file(path: &Path, expected: &[u8], mode: Option<Permissions>) -> Result<(), String> {
    let metadata = path.symlink_metadata().unwrap();
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let found_mode = metadata.permissions().mode() & 0o7777;
    if let Some(mode) = mode.filter(|mode| mode.0 != found_mode) {
        return Err(format!("its mode is {found_mode:04o}, expected {:04o}", mode.0));
    }
    if found_mode & 0o400 == 0 {
        // Its mode is judged already.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    compare_bytes(expected, &fs::read(path).unwrap())
}

fn compare_bytes(expected: &[u8], found: &[u8]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let at = expected.iter().zip(found).take_while(|(expected, found)| expected == found).count();
    let from = at.saturating_sub(SHOWN / 2);
    let shown = |bytes: &[u8]| bytes[from..bytes.len().min(from + SHOWN)].escape_ascii().to_string();
    Err(format!(
        "{} bytes, expected {}; from byte {from} on: \"{}\", expected \"{}\"",
        found.len(),
        expected.len(),
        shown(found),
        shown(expected)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::support::corpus::case::parse;
    use crate::support::corpus::disk;

    /// Makes `files`, changes them as somebody else would, and compares what is left with `disk`.
    fn differences(files: Value, changes: Option<Value>, disk: Option<Value>) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let mut case = json!({"title": "a case of the tests", "files": files, "steps": [{"restart": {}}]});
        if let Some(disk) = disk {
            case["disk"] = disk;
        }
        let case = parse(&case.to_string()).unwrap();
        disk::make(directory.path(), &case.files);
        if let Some(changes) = changes {
            disk::change(directory.path(), &serde_json::from_value(changes).unwrap());
        }
        compare(directory.path(), &case)
    }

    #[track_caller]
    fn differs(changes: Value, told: &str) {
        let files = json!({
            "a": "one\n", "mode": {"text": "x", "mode": "0640"}, "d": {"directory": true}, "l": {"link": "a"},
            "h": {"hard_link": "a"}, "p": {"fifo": true}, "b/c": {"base64": "AP8="}
        });
        assert_eq!(differences(files.clone(), None, None), Vec::<String>::new());
        let found = differences(files, Some(changes), None);
        assert!(found.len() == 1 && found[0].contains(told), "{found:?}");
    }

    #[test]
    fn a_tree_that_is_as_it_was_made_is_as_it_was_made() {
        let files = json!({"a": {"lines": 2}, "s": {"link": "nowhere"}, "e": ""});
        assert_eq!(differences(files.clone(), None, None), Vec::<String>::new());
        let disk = json!({"a": "line 1\nline 2\n", "s": {"given": true}, "e": {"given": true}});
        assert_eq!(differences(files, None, Some(disk)), Vec::<String>::new());
    }

    #[test]
    fn an_extra_file_is_found_at_any_depth() {
        differs(json!({"extra": ""}), "disk: `extra` is there");
        differs(json!({"b/.litter": "x"}), "disk: `b/.litter` is there");
        differs(json!({"b/empty": {"directory": true}}), "disk: `b/empty` is there");
        differs(json!({"dangling": {"link": "nowhere"}}), "disk: `dangling` is there");
    }

    #[test]
    fn what_is_gone_is_missed() {
        differs(json!({"l": null}), "`l`: nothing is there");
        differs(json!({"d": null}), "`d`: nothing is there");
    }

    #[test]
    fn one_other_byte_is_found() {
        differs(json!({"a": "One\n"}), r#"from byte 0 on: "One\n", expected "one\n""#);
        differs(json!({"a": "one"}), "3 bytes, expected 4");
        differs(json!({"b/c": {"base64": "AP8A"}}), r#""\x00\xff\x00""#);
    }

    #[test]
    fn another_mode_is_found_where_one_is_given() {
        differs(json!({"mode": {"chmod": "0600"}}), "its mode is 0600, expected 0640");
        let disk = json!({"a": {"text": "x", "mode": "0755"}});
        let found = differences(json!({"a": {"text": "x", "mode": "4755"}}), None, Some(disk));
        assert_eq!(found, ["disk: `a`: its mode is 4755, expected 0755"]);
    }

    #[test]
    fn another_kind_of_entry_is_found() {
        differs(json!({"l": "one\n"}), "`l`: it is no link");
        differs(json!({"l": {"link": "./a"}}), "it links to `./a`, expected `a`");
        differs(json!({"h": {"link": "a"}}), "`h`: it is another file than `a`");
        differs(json!({"p": ""}), "no named pipe");
        differs(json!({"d": ""}), "no directory");
        differs(json!({"mode": {"link": "a"}}), "no regular file");
    }

    #[test]
    fn somebody_else_writes_into_the_file_that_is_there() {
        let files = json!({"a": "one\n", "h": {"hard_link": "a"}});
        let disk = json!({"a": "two\n", "h": {"hard_link": "a"}});
        assert_eq!(differences(files, Some(json!({"a": "two\n"})), Some(disk)), Vec::<String>::new());
    }

    #[test]
    fn times_are_set_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let change = |change: Value| {
            disk::change(directory.path(), &serde_json::from_value(change).unwrap());
            directory.path().join("a").metadata().unwrap().mtime()
        };
        change(json!({"a": "one\n"}));
        assert_eq!(change(json!({"a": {"touch": 5}})), 5);
        assert_eq!(change(json!({"a": {"text": "two\n", "keep_mtime": true}})), 5);
        assert_ne!(change(json!({"a": "one\n"})), 5);
    }
}
