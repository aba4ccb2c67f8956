//! Protected names: what no mutation may touch, whatever path leads there.

/// Patterns that mutations refuse: each is one name that protects itself and all below it, at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPatterns(Vec<String>);

impl ProtectedPatterns {
    /// The names that are protected unless told otherwise.
    pub const DEFAULT: [&'static str; 1] = [".git"];

    /// Checks and keeps patterns.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for one that is empty, `.`, `..`, or has a `/` or a NUL.
    pub fn new(_names: Vec<String>) -> crate::error::Result<ProtectedPatterns> {
        unimplemented!()
    }

    /// The patterns as they are announced.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The pattern that a path (raw bytes, components between `/`) matches.
    pub fn rule_for(&self, _path: &[u8]) -> Option<&str> {
        unimplemented!()
    }
}

impl Default for ProtectedPatterns {
    fn default() -> ProtectedPatterns {
        ProtectedPatterns(Self::DEFAULT.iter().map(|name| (*name).to_owned()).collect())
    }
}
