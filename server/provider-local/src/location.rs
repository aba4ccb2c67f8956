//! Where a target is: a root and canonical names beneath it, and the key that stands for both.
//!
//! A key is the root's name, a NUL and the names between slashes. It holds no inode and no position in a
//! configuration, so it means the same after a restart. Deliberately absent: finding a location, which is
//! `resolve`'s.

use std::sync::Arc;

use toolfs_core::error::Result;
use toolfs_core::target::{Target, TargetKey, display_form, file_url};
use toolfs_provider::refusal;

use crate::root::Root;

/// A place beneath a root, whether or not something is there.
///
/// - `relative` is the canonical path from the root: no empty, `.` or `..` component; empty is the root itself
/// - `wants_directory`: the path ended in a slash and nothing is there, so only a directory could be made there
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) root: Arc<Root>,
    pub(crate) relative: Vec<u8>,
    pub(crate) wants_directory: bool,
}

impl Location {
    /// Reads a key.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for one that was not made here, or whose root is not served any more.
    pub(crate) fn from_key(roots: &[Arc<Root>], key: &TargetKey) -> Result<Location> {
        Location::parse(roots, key.as_bytes()).ok_or_else(refusal::foreign_key)
    }

    fn parse(roots: &[Arc<Root>], key: &[u8]) -> Option<Location> {
        let nul = key.iter().position(|&byte| byte == 0)?;
        let (name, relative) = (&key[..nul], &key[nul + 1..]);
        let root = roots.iter().find(|root| root.name == name)?;
        let (relative, wants_directory) = match relative.strip_suffix(b"/") {
            Some(relative) => (relative, true),
            None => (relative, false),
        };
        let canonical = |part: &[u8]| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0);
        let valid = match relative {
            b"" => !wants_directory,
            _ => relative.split(|&byte| byte == b'/').all(canonical),
        };
        let location = Location { root: root.clone(), relative: relative.to_vec(), wants_directory };
        // One place has one key, so that it has one lock and one observation: a nested root names what lies in it.
        (valid && location.nested_root(roots).is_none()).then_some(location)
    }

    /// The innermost root beneath its own that this place lies in.
    fn nested_root<'r>(&self, roots: &'r [Arc<Root>]) -> Option<&'r Arc<Root>> {
        let real = join(&self.root.real, &self.relative);
        let is_around = |root: &&Arc<Root>| {
            root.real.len() > self.root.real.len() && strip_path(&root.real, &real).is_some()
        };
        roots.iter().filter(is_around).max_by_key(|root| root.real.len())
    }

    /// The same place, beneath the innermost root that it lies in.
    pub(crate) fn in_innermost_root(self, roots: &[Arc<Root>]) -> Location {
        let Some(root) = self.nested_root(roots) else { return self };
        let real = join(&self.root.real, &self.relative);
        let relative = strip_path(&root.real, &real).unwrap_or_default().to_vec();
        Location { root: root.clone(), relative, ..self }
    }

    /// The key of this place.
    pub(crate) fn key(&self) -> TargetKey {
        let slash: &[u8] = if self.wants_directory { b"/" } else { b"" };
        TargetKey::new([&self.root.name, b"\0".as_slice(), &self.relative, slash].concat())
    }

    /// The path under which agents see it.
    pub(crate) fn raw_path(&self) -> Vec<u8> {
        join(&self.root.name, &self.relative)
    }

    /// The same, made safe to show.
    pub(crate) fn display(&self) -> String {
        display_form(&self.raw_path())
    }

    /// The target that callers see.
    pub(crate) fn to_target(&self, protected_rule: Option<String>) -> Target {
        let raw_path = self.raw_path();
        let process_path = join(&self.root.real, &self.relative);
        Target {
            key: self.key(),
            display_path: display_form(&raw_path),
            raw_path,
            file_url: file_url(&process_path),
            process_path,
            protected_rule,
        }
    }

    /// The directory that it is in, relative to the root, and its name there; `None` for a root itself.
    pub(crate) fn split(&self) -> Option<(&[u8], &[u8])> {
        if self.relative.is_empty() {
            return None;
        }
        Some(match self.relative.iter().rposition(|&byte| byte == b'/') {
            Some(at) => (&self.relative[..at], &self.relative[at + 1..]),
            None => (&[], &self.relative),
        })
    }

    /// Whether `other` is this place or lies beneath it.
    pub(crate) fn contains(&self, other: &Location) -> bool {
        // Roots may lie in each other, so what counts are real paths, which are canonical.
        let (here, there) = (join(&self.root.real, &self.relative), join(&other.root.real, &other.relative));
        strip_path(&here, &there).is_some()
    }
}

/// `base` and `relative` with one slash between them, if both have something to separate.
pub(crate) fn join(base: &[u8], relative: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if relative.is_empty() || base.ends_with(b"/") { b"" } else { b"/" };
    [base, separator, relative].concat()
}

/// What remains of `path` beneath `prefix`, component by component; both canonical and absolute.
pub(crate) fn strip_path<'a>(prefix: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(prefix)?;
    if rest.is_empty() || prefix.ends_with(b"/") {
        return Some(rest);
    }
    rest.strip_prefix(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_with_the_same_beginning_is_not_beneath() {
        assert_eq!(strip_path(b"/ws/project", b"/ws/project-evil/x"), None);
        assert_eq!(strip_path(b"/ws/project", b"/ws/project/x"), Some(b"x".as_slice()));
        assert_eq!(strip_path(b"/ws/project", b"/ws/project"), Some(b"".as_slice()));
        assert_eq!(strip_path(b"/", b"/x"), Some(b"x".as_slice()));
    }

    #[test]
    fn joining_never_doubles_a_slash() {
        assert_eq!(join(b"/", b"a"), b"/a");
        assert_eq!(join(b"/a", b""), b"/a");
        assert_eq!(join(b"/a", b"b"), b"/a/b");
    }
}
