//! Finding where a path leads: a walk over the tree, name by name, as a kernel does it, that never leaves the roots.

use std::collections::VecDeque;

use toolfs_core::error::{FsError, Result};
use toolfs_core::target::display_form;

use super::location::{Location, Names, Roots, components};
use super::tree::{Node, Tree};
use crate::refusal::{self, MAX_LINKS, MAX_NAME_BYTES};
use crate::request::ResolveRequest;

/// A path to walk, from the root that it starts in.
#[derive(Debug)]
pub(super) struct Asked {
    /// The root, or a place beneath one.
    start: Names,
    /// Components without empty ones and `.`.
    pending: VecDeque<Vec<u8>>,
    wants_directory: bool,
    follow_last: bool,
    /// The path as asked for, made safe to show.
    shown: String,
}

impl Asked {
    /// Reads a path; a relative one starts at its working directory, or at the first root.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`, `FS_SANDBOX_DENIED`
    pub(super) fn parse(roots: &Roots, max_path_bytes: u64, request: &ResolveRequest) -> Result<Asked> {
        let full = request.absolute_path(&roots.first(), max_path_bytes)?;
        let shown = display_form(&request.path);
        let (start, pending) = start_of(roots, &full).ok_or_else(|| refusal::sandbox_escape(&shown))?;
        let wants_directory = ends_as_directory(&request.path);
        Ok(Asked { start, pending, wants_directory, follow_last: true, shown })
    }

    /// The path of a place that was found before.
    pub(super) fn of_location(location: &Location, shown: String) -> Asked {
        let Location { names, wants_directory } = location.clone();
        // The walk begins at the top, which is fine for a place that is known to lie beneath a root.
        Asked { start: Names::new(), pending: names.into(), wants_directory, follow_last: true, shown }
    }

    /// The same, for looking at a link itself, unless a slash follows it.
    pub(super) fn without_following_the_last(mut self) -> Asked {
        self.follow_last = self.wants_directory;
        self
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The path beneath its root as it was spelled, for judging protected names.
    pub(super) fn spelling(&self) -> Vec<u8> {
        self.pending.iter().map(Vec::as_slice).collect::<Vec<_>>().join(&b'/')
    }
}

/// The longest root that an absolute path starts with, and what follows.
fn start_of(roots: &Roots, path: &[u8]) -> Option<(Names, VecDeque<Vec<u8>>)> {
    let names: Vec<&[u8]> = components(path).collect();
    let root = roots.longest_above(&names)?;
    let rest = names[root.len()..].iter().map(|name| name.to_vec()).collect();
    Some((root.clone(), rest))
}

/// Whether only a directory can be at the end of a path that is spelled like this.
fn ends_as_directory(path: &[u8]) -> bool {
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    matches!(last, b"" | b"." | b"..")
}

/// Walks a path to its end, or to where nothing is any more.
///
/// # Errors
/// Those of [`crate::Provider::resolve`].
pub(super) fn resolve(tree: &Tree, roots: &Roots, asked: Asked) -> Result<Location> {
    Walk { tree, roots, links: 0, asked }.run()
}

struct Walk<'a> {
    tree: &'a Tree,
    roots: &'a Roots,
    links: usize,
    /// `start` is where the walk stands, a directory; `pending` is what is left of the path.
    asked: Asked,
}

impl Walk<'_> {
    fn run(mut self) -> Result<Location> {
        while let Some(name) = self.asked.pending.pop_front() {
            if name == b".." {
                self.step_up()?;
                continue;
            }
            self.asked.start.push(name);
            match self.tree.get(&self.asked.start) {
                None => return self.missing(),
                Some(Node::Directory(_)) => {}
                Some(Node::Link(points_to)) => {
                    if self.is_at_the_end() && !self.asked.follow_last {
                        break;
                    }
                    self.follow(points_to)?;
                }
                Some(Node::File(_) | Node::Special(_)) => {
                    if !self.is_at_the_end() || self.asked.wants_directory {
                        return Err(refusal::not_directory(&self.asked.shown));
                    }
                }
            }
        }
        // A root that was removed from outside is missing like anything else.
        let wants_directory = self.asked.wants_directory && self.tree.get(&self.asked.start).is_none();
        Ok(Location { names: self.asked.start, wants_directory })
    }

    fn is_at_the_end(&self) -> bool {
        self.asked.pending.is_empty()
    }

    fn escape(&self) -> FsError {
        refusal::sandbox_escape(&self.asked.shown)
    }

    /// Goes to the parent. Every step has to stay beneath a root, also when later ones would come back.
    fn step_up(&mut self) -> Result<()> {
        let left = self.asked.start.pop();
        match self.roots.longest_above(&self.asked.start) {
            Some(_) if left.is_some() => Ok(()),
            Some(_) | None => Err(self.escape()),
        }
    }

    /// Goes on with what a link, which is the last name of where the walk stands, points to.
    fn follow(&mut self, points_to: &[u8]) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(refusal::too_many_links(&self.asked.shown));
        }
        self.asked.start.pop();
        let mut target: VecDeque<Vec<u8>> = if points_to.starts_with(b"/") {
            let (start, rest) = start_of(self.roots, points_to).ok_or_else(|| self.escape())?;
            self.asked.start = start;
            rest
        } else {
            components(points_to).map(<[u8]>::to_vec).collect()
        };
        self.asked.wants_directory |= self.is_at_the_end() && ends_as_directory(points_to);
        target.append(&mut self.asked.pending);
        self.asked.pending = target;
        Ok(())
    }

    /// Ends where the last name of where the walk stands is not there: what is left becomes the missing rest.
    fn missing(self) -> Result<Location> {
        let Asked { start: mut names, pending, wants_directory, follow_last: _, shown } = self.asked;
        if pending.iter().any(|name| name == b"..") {
            return Err(refusal::not_found(shown, Vec::new()));
        }
        if let Some(name) = pending.iter().find(|name| name.len() > MAX_NAME_BYTES) {
            return Err(refusal::name_too_long(shown, name.len()));
        }
        names.extend(pending);
        Ok(Location { names, wants_directory })
    }
}
