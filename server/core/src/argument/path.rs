//! The path of a file, as far as it can be judged without looking.
//!
//! Deliberately absent: any normalization. `a/../b`, `./b` and `b` are for the provider to resolve as the kernel
//! would, since only it knows which components are links.

use crate::error::{FsError, Result};
use crate::limit::Limits;

/// A path argument that may be given to a provider.
///
/// - not empty, without NUL, at most `max_path_bytes` bytes
/// - not `~`, and its first component does not start with `~` when a slash follows: in a shell, `~/x` and `~name/x`
///   mean somebody's home directory, and the server knows none; accepted, they would create a directory called `~`
/// - a file name that starts with `~` is a file name (`~$report.docx`, `~backup`), and so is `~` in a later
///   component (`a/~`, `./~/x`)
/// - not normalized: the provider resolves it as the kernel would
///
/// ```
/// use toolfs_core::argument::FilePath;
/// use toolfs_core::limit::Limits;
///
/// assert!(FilePath::parse("file_path", "src/main.rs", &Limits::DEFAULT).is_ok());
/// assert!(FilePath::parse("file_path", "~/main.rs", &Limits::DEFAULT).is_err());
/// assert!(FilePath::parse("file_path", "./~/main.rs", &Limits::DEFAULT).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a path; `field` is the argument that an error names.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that names every rule which the path breaks.
    pub fn parse(field: &str, text: &str, limits: &Limits) -> Result<FilePath> {
        if text.is_empty() {
            return Err(FsError::invalid_argument(field, "an empty string", "a path"));
        }
        let mut faults = Vec::new();
        let mut rules = Vec::new();
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if length > limits.max_path_bytes {
            faults.push(format!("of {length} bytes"));
            rules.push(format!("of at most {} bytes", limits.max_path_bytes));
        }
        if let Some(position) = text.find('\0') {
            faults.push(format!("with a NUL character at byte {position}"));
            rules.push("without NUL characters".to_owned());
        }
        if asks_for_a_home(text) {
            faults.push("that starts with `~`".to_owned());
            let rule = "without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)";
            rules.push(rule.to_owned());
        }
        if faults.is_empty() {
            return Ok(FilePath(text.to_owned()));
        }
        let actual = format!("a path {}", faults.join(" and "));
        Err(FsError::invalid_argument(field, actual, format!("a path {}", rules.join(" and "))))
    }

    /// The path as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a shell would take the start of the path for a home directory.
fn asks_for_a_home(text: &str) -> bool {
    text == "~" || (text.starts_with('~') && text.contains('/'))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const LIMITS: Limits = Limits { max_path_bytes: 16, ..Limits::DEFAULT };

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(FilePath::parse("cwd", text, &LIMITS).unwrap_err().message());
    }

    #[test]
    fn a_path_without_meaning_is_refused() {
        check("", expect!["`cwd` was an empty string, it must be a path"]);
        check(
            "a\0b",
            expect![
                "`cwd` was a path with a NUL character at byte 1, it must be a path without NUL characters"
            ],
        );
        check(
            "0123456789abcdefg",
            expect!["`cwd` was a path of 17 bytes, it must be a path of at most 16 bytes"],
        );
    }

    #[test]
    fn a_leading_tilde_would_have_created_a_directory_of_that_name() {
        check(
            "~",
            expect![
                "`cwd` was a path that starts with `~`, it must be a path without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)"
            ],
        );
        for text in ["~/", "~/x.txt", "~root/x", "~+/x", "~//", "~é/x"] {
            let error = FilePath::parse("cwd", text, &LIMITS).unwrap_err();
            assert!(error.message().contains("`./~`"), "{text}: {error}");
        }
    }

    #[test]
    fn every_fault_of_a_path_is_named_at_once() {
        check(
            "~/0123\0_56789abcde",
            expect![
                "`cwd` was a path of 18 bytes and with a NUL character at byte 6 and that starts with `~`, it must be a path of at most 16 bytes and without NUL characters and without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)"
            ],
        );
    }

    #[test]
    fn a_tilde_that_means_no_home_is_a_name() {
        for text in
            ["~$report.docx", "~backup", "file~", "a/~", "./~", "./~/x", "/~", "/~root/x", " ~/x", "~~"]
        {
            assert_eq!(FilePath::parse("cwd", text, &LIMITS).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_path_is_kept_as_it_came() {
        for text in [
            "a/../b",
            "./a//b/",
            "..",
            "/",
            ".",
            " ",
            "Shot 1\u{202f}PM",
            "e\u{301}",
            "a\nb",
            "0123456789abcdef",
        ] {
            assert_eq!(FilePath::parse("cwd", text, &LIMITS).unwrap().as_str(), text);
        }
    }
}
