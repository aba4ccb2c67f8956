//! The version of a file's content.
//!
//! A version names content, never a moment: the same bytes have the same version whatever happened to the
//! file's time stamps, mode or inode in between.
//! Deliberately absent: any ordering of versions, and any way to get the content back from one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest version that is accepted, in ASCII characters.
pub const MAX_VERSION_CHARS: usize = 128;

/// An opaque name of one content, compared for equality only.
///
/// - 1 to [`MAX_VERSION_CHARS`] printable ASCII characters without blanks
/// - made by a provider; consumers never parse it
///
/// ```
/// use toolfs_core::version::Version;
///
/// assert_eq!(Version::of(b"one"), Version::of(b"one"));
/// assert_ne!(Version::of(b"one"), Version::of(b"two"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(Box<str>);

impl Version {
    /// The version of content that is at hand as a whole.
    pub fn of(content: &[u8]) -> Version {
        Version::from_digest(&blake3::hash(content))
    }

    /// Reads a version that came from outside; `None` when it breaks the rules of the type.
    pub fn parse(text: &str) -> Option<Version> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        (printable && (1..=MAX_VERSION_CHARS).contains(&text.len())).then(|| Version(text.into()))
    }

    /// The version as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn from_digest(digest: &blake3::Hash) -> Version {
        Version(format!("b3-{}", digest.to_hex()).into_boxed_str())
    }
}

impl TryFrom<String> for Version {
    /// What was expected.
    type Error = &'static str;

    /// As [`Version::parse`].
    fn try_from(text: String) -> Result<Version, &'static str> {
        Version::parse(&text).ok_or("a version has 1 to 128 printable ASCII characters without blanks")
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({})", self.0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Computes a [`Version`] from content that arrives in pieces.
///
/// ```
/// use toolfs_core::version::{Version, VersionHasher};
///
/// let mut hasher = VersionHasher::new();
/// hasher.update(b"on");
/// hasher.update(b"e");
/// assert_eq!(hasher.finish(), Version::of(b"one"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct VersionHasher(blake3::Hasher);

impl VersionHasher {
    /// Starts with no content.
    pub fn new() -> VersionHasher {
        VersionHasher::default()
    }

    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The version of all pieces so far.
    pub fn finish(&self) -> Version {
        Version::from_digest(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_and_format_are_inverse() {
        let version = Version::of(b"x");
        assert_eq!(Version::parse(version.as_str()), Some(version));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", " ", "a b", "a\n", "é", &"x".repeat(MAX_VERSION_CHARS + 1)] {
            assert_eq!(Version::parse(text), None, "{text:?}");
            let stored = serde_json::to_string(text).unwrap();
            let refused = serde_json::from_str::<Version>(&stored).unwrap_err().to_string();
            assert!(refused.contains(&MAX_VERSION_CHARS.to_string()), "{text:?}: {refused}");
        }
        let longest = Version::parse(&"x".repeat(MAX_VERSION_CHARS)).unwrap();
        let stored = serde_json::to_string(&longest).unwrap();
        assert_eq!(stored, format!("\"{longest}\""));
        assert_eq!(serde_json::from_str::<Version>(&stored).unwrap(), longest);
    }
}
