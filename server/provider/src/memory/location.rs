//! Roots, canonical places beneath them, and the keys that stand for such places.
//!
//! A key is the root's path, a NUL, the names beneath it between slashes, and a slash where the path asked for a
//! directory that is not there. It says nothing about the order of the roots, so that it means the same in every
//! provider that serves this root.

use std::fmt;

use toolfs_core::error::{FsError, Result};
use toolfs_core::target::{TargetKey, display_form};

/// The names on the way from the top of the tree.
pub(super) type Names = Vec<Vec<u8>>;

/// A place in the tree, canonical as far as it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// No name is empty, `.` or `..`, and none has a slash or a NUL.
    pub(super) names: Names,
    /// The path ended in a slash and nothing is there.
    pub(super) wants_directory: bool,
}

impl Location {
    pub(super) fn raw_path(&self) -> Vec<u8> {
        raw_path(&self.names)
    }
}

/// The absolute path of these names.
pub(super) fn raw_path(names: &[Vec<u8>]) -> Vec<u8> {
    [b"/".as_slice(), &names.join(&b'/')].concat()
}

/// The components of a path, without the empty ones and `.`, which lead nowhere.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|component| !component.is_empty() && *component != b".")
}

/// The roots that are served: at least one, no two the same.
pub(super) struct Roots(Vec<Names>);

impl Roots {
    pub(super) fn parse(paths: &[Vec<u8>]) -> Result<Roots> {
        let refuse = |path: &[u8], actual: &str| {
            let error = FsError::invalid_argument(
                "root",
                actual,
                "an absolute path without `.` and `..`, named once",
            );
            Err(error.with_path(display_form(path)))
        };
        let mut roots: Vec<Names> = Vec::new();
        for path in paths {
            if !path.starts_with(b"/") {
                return refuse(path, "a relative path");
            }
            if path.contains(&0) || path.split(|byte| *byte == b'/').any(|name| name == b"." || name == b"..")
            {
                return refuse(path, "a path with `.`, `..` or NUL");
            }
            let names: Names = components(path).map(<[u8]>::to_vec).collect();
            if roots.contains(&names) {
                return refuse(path, "a path that is named twice");
            }
            roots.push(names);
        }
        if roots.is_empty() {
            return refuse(b"", "missing");
        }
        Ok(Roots(roots))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Names> {
        self.0.iter()
    }

    /// The path of the root where relative paths start.
    pub(super) fn first(&self) -> Vec<u8> {
        raw_path(&self.0[0])
    }

    /// The longest root that `names` lie beneath.
    pub(super) fn longest_above<T: AsRef<[u8]>>(&self, names: &[T]) -> Option<&Names> {
        let is_above = |root: &&Names| {
            root.len() <= names.len() && root.iter().zip(names).all(|(left, right)| left == right.as_ref())
        };
        self.0.iter().filter(is_above).max_by_key(|root| root.len())
    }

    fn root_of(&self, location: &Location) -> &Names {
        self.longest_above(&location.names).expect("a location lies beneath a root")
    }

    /// The path of a place beneath its root.
    pub(super) fn relative(&self, location: &Location) -> Vec<u8> {
        location.names[self.root_of(location).len()..].join(&b'/')
    }

    pub(super) fn key(&self, location: &Location) -> TargetKey {
        let root = raw_path(self.root_of(location));
        let slash: &[u8] = if location.wants_directory { b"/" } else { b"" };
        TargetKey::new([&root, b"\0".as_slice(), &self.relative(location), slash].concat())
    }

    /// The place that a key stands for; `None` for a key that was never made here.
    pub(super) fn parse_key(&self, key: &TargetKey) -> Option<Location> {
        let bytes = key.as_bytes();
        let nul = bytes.iter().position(|byte| *byte == 0)?;
        let (root, relative) = (&bytes[..nul], &bytes[nul + 1..]);
        let mut names = self.0.iter().find(|names| raw_path(names) == root)?.clone();
        let (relative, wants_directory) = match relative.strip_suffix(b"/") {
            Some(relative) => (relative, true),
            None => (relative, false),
        };
        names.extend(components(relative).filter(|name| *name != b"..").map(<[u8]>::to_vec));
        let location = Location { names, wants_directory };
        // Only what comes out the same again is canonical.
        (self.key(&location) == *key && !relative.contains(&0)).then_some(location)
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|names| display_form(&raw_path(names)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> Roots {
        Roots::parse(&[b"/ws".to_vec(), b"/ws/sub/".to_vec(), b"/ws2".to_vec()]).unwrap()
    }

    fn at(path: &[u8]) -> Location {
        Location {
            names: components(path).map(<[u8]>::to_vec).collect(),
            wants_directory: path.ends_with(b"/"),
        }
    }

    #[test]
    fn keys_are_read_as_they_were_made() {
        for (path, key) in [
            (&b"/ws"[..], &b"/ws\0"[..]),
            (b"/ws/a/b", b"/ws\0a/b"),
            (b"/ws/sub/a", b"/ws/sub\0a"),
            (b"/ws/subway", b"/ws\0subway"),
            (b"/ws2/new/", b"/ws2\0new/"),
        ] {
            let made = roots().key(&at(path));
            assert_eq!(made.as_bytes(), key);
            assert_eq!(roots().parse_key(&made), Some(at(path)));
        }
    }

    #[test]
    fn what_was_never_made_is_no_key() {
        let foreign: [&[u8]; 8] =
            [b"", b"/ws", b"/other\0a", b"/ws\0sub/a", b"/ws\0a//b", b"/ws\0./a", b"/ws\0a/..", b"/ws\0a\0b"];
        for bytes in foreign {
            assert_eq!(roots().parse_key(&TargetKey::new(bytes)), None, "{}", display_form(bytes));
        }
    }

    #[test]
    fn roots_are_absolute_plain_and_named_once() {
        let refused: [&[&[u8]]; 6] =
            [&[], &[b"ws"], &[b"/a/../b"], &[b"/./a"], &[b"/a\0"], &[b"/ws", b"/ws/"]];
        for paths in refused {
            let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.to_vec()).collect();
            let error = Roots::parse(&paths).unwrap_err();
            assert_eq!(error.code(), toolfs_core::error::Code::InvalidArgument);
        }
    }

    #[test]
    fn the_top_itself_may_be_a_root() {
        let roots = Roots::parse(&[b"/".to_vec()]).unwrap();
        assert_eq!(roots.key(&at(b"/a/b")).as_bytes(), b"/\0a/b");
        assert_eq!(roots.first(), b"/");
    }
}
