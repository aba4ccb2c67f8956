//! The table of promises names tests: each of them exists.
#![expect(clippy::disallowed_methods, reason = "the test reads the sources")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;

/// All Rust sources beneath a directory.
fn sources(directory: &Path) -> String {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => fs::read_to_string(path).unwrap(),
            Some(_) | None => String::new(),
        })
        .collect()
}

#[test]
fn a_promise_without_its_test_is_no_promise() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(here.join("README.md")).unwrap();
    let sources = sources(&here.join("src")) + &sources(&here.join("../provider-local/src"));
    let table = readme.lines().filter(|line| line.starts_with('|'));
    // Between backticks: every second part. Names of tests have several words.
    let names: Vec<&str> = table
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.matches('_').count() >= 3)
        .collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in names {
        assert!(sources.contains(&format!("fn {name}(")), "no test is called `{name}`");
    }
}
