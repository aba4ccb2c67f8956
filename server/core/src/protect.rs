//! Protected names: what no mutation may touch, whatever path leads there.
//!
//! Deliberately absent: resolving a path (links and `..` are the provider's, which asks about the place it found as
//! well as about the spelling), wildcards, and folding of letter case.

use crate::error::{FsError, Result};

/// Patterns that mutations refuse: each is one name that protects itself and all below it, at any depth.
///
/// ```
/// use toolfs_core::protect::ProtectedPatterns;
///
/// let patterns = ProtectedPatterns::default();
/// assert_eq!(patterns.rule_for(b"/ws/sub/.git/config"), Some(".git"));
/// assert_eq!(patterns.rule_for(b"/ws/.gitignore"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPatterns(Vec<String>);

impl ProtectedPatterns {
    /// The names that are protected unless told otherwise.
    pub const DEFAULT: [&'static str; 1] = [".git"];

    /// Checks and keeps patterns.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for one that is empty, `.`, `..`, or has a `/` or a NUL.
    pub fn new(names: Vec<String>) -> Result<ProtectedPatterns> {
        for name in &names {
            let is_one_name = !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '\0']);
            if !is_one_name {
                let expected = "one file name: not empty, `.` or `..`, without `/` and NUL";
                return Err(FsError::invalid_argument("protected_patterns", format!("{name:?}"), expected));
            }
        }
        Ok(ProtectedPatterns(names))
    }

    /// The patterns as they are announced.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The pattern that a path (raw bytes, components between `/`) matches: the one of its first component that
    /// matches any.
    pub fn rule_for(&self, path: &[u8]) -> Option<&str> {
        let mut components = path.split(|byte| *byte == b'/');
        components
            .find_map(|component| self.0.iter().find(|name| name.as_bytes() == component))
            .map(String::as_str)
    }
}

impl Default for ProtectedPatterns {
    fn default() -> ProtectedPatterns {
        ProtectedPatterns(Self::DEFAULT.iter().map(|name| (*name).to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(names: &[&str]) -> Result<ProtectedPatterns> {
        ProtectedPatterns::new(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_name_protects_itself_and_all_below_at_any_depth() {
        let patterns = ProtectedPatterns::default();
        for path in
            [".git", "/ws/.git", "/ws/.git/", ".git/hooks/x", "/a/b/.git/config", "a//.git//x", "./.git"]
        {
            assert_eq!(patterns.rule_for(path.as_bytes()), Some(".git"), "{path}");
        }
    }

    #[test]
    fn names_that_only_look_alike_are_free() {
        let patterns = ProtectedPatterns::default();
        for path in ["", "/", "a.git", ".gitignore", ".github/x", "x/.git.bak", ".GIT", "git", ".git\n"] {
            assert_eq!(patterns.rule_for(path.as_bytes()), None, "{path}");
        }
        assert_eq!(patterns.rule_for(b"\xff/.gi\xff"), None);
    }

    #[test]
    fn the_rule_of_the_outermost_component_is_told() {
        let patterns = patterns(&[".git", "secret"]).unwrap();
        assert_eq!(patterns.rule_for(b"/ws/secret/.git/x"), Some("secret"));
        assert_eq!(patterns.rule_for(b"\xff/.git/secret"), Some(".git"));
    }

    #[test]
    fn no_pattern_protects_nothing() {
        assert_eq!(patterns(&[]).unwrap().rule_for(b".git"), None);
    }

    #[test]
    fn what_is_not_one_name_is_refused() {
        for name in ["", ".", "..", "a/b", "/", "a\0"] {
            let error = patterns(&[".git", name]).unwrap_err();
            assert!(error.message().contains("protected_patterns"), "{error}");
        }
        assert_eq!(patterns(&["...", ".git"]).unwrap().names(), ["...", ".git"]);
    }
}
