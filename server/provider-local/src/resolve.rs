//! Finding where a path leads: the kernel's own answer where it gives one, else a walk with the same promise.
//!
//! The outcome is a name, not a handle: whoever uses it opens it again from the root without following any link,
//! so that nothing that happens in between can lead outside. Deliberately absent: `~`, and any resolving of `..` by
//! its spelling.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{OFlags, readlinkat};
use rustix::io::Errno;
use toolfs_core::error::{FsError, Result};
use toolfs_core::target::{FileKind, display_form};
use toolfs_provider::refusal;
use toolfs_provider::request::ResolveRequest;

use crate::io_error::{OPENING, fs_error};
use crate::location::{Location, strip_path};
use crate::root::{Lookup, Root, facts, open_child};

/// The longest path that the kernel takes, in bytes.
const MAX_PATH_BYTES: usize = 4095;

/// A path as asked for, split into the root that it starts in and what follows.
#[derive(Debug)]
pub(crate) struct Asked {
    root: Arc<Root>,
    /// Components without empty ones and `.`.
    components: Vec<Vec<u8>>,
    wants_directory: bool,
    shown: String,
}

impl Asked {
    /// Reads a path; a relative one starts at `cwd`, or at the first root.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`, `FS_SANDBOX_DENIED`
    pub(crate) fn parse(roots: &[Arc<Root>], max_path_bytes: u64, request: &ResolveRequest) -> Result<Asked> {
        let full = request.absolute_path(&roots[0].name, max_path_bytes)?;
        let shown = display_form(&request.path);
        let (root, components) =
            place(roots, &full, Origin::Caller).ok_or_else(|| refusal::sandbox_escape(&shown))?;
        let last = request.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let wants_directory = matches!(last, b"" | b"." | b"..");
        Ok(Asked { root, components, wants_directory, shown })
    }

    /// The path that leads to a location, which was asked for as `path`: for finding it anew.
    pub(crate) fn again(location: &Location, path: &str) -> Asked {
        Asked {
            root: location.root.clone(),
            components: components_of(&location.relative),
            wants_directory: location.wants_directory,
            shown: path.to_owned(),
        }
    }

    /// The path beneath its root as it was spelled, for judging protected names.
    pub(crate) fn spelling(&self) -> Vec<u8> {
        self.components.join(&b'/')
    }

    /// Takes the last name off, if the path ends in one: for looking at a link itself.
    pub(crate) fn split_last(mut self) -> (Asked, Option<Vec<u8>>) {
        let ends_in_name = !self.wants_directory && self.components.last().is_some_and(|last| last != b"..");
        let last = if ends_in_name { self.components.pop() } else { None };
        self.wants_directory |= last.is_some();
        (self, last)
    }

    /// The path made safe to show.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Finds where a path leads.
///
/// # Errors
/// Those of [`toolfs_provider::Provider::resolve`].
pub(crate) fn resolve(roots: &[Arc<Root>], asked: &Asked) -> Result<Location> {
    let found = match by_kernel(asked) {
        Some(location) => location,
        None => Walk::new(roots, asked).run()?,
    };
    let found = found.in_innermost_root(roots);
    if found.relative.len() > MAX_PATH_BYTES {
        return Err(refusal::path_too_long(&asked.shown, found.relative.len(), MAX_PATH_BYTES as u64));
    }
    Ok(found)
}

/// Where an absolute path was found.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// A caller gave it: what agents are shown comes first, so that a path that was shown leads back.
    Caller,
    /// A link has it: where the kernel would go comes first.
    Link,
}

/// The root that an absolute path lies under, and the components after the root's.
///
/// A root is known by its name, and to links by its place: its real path and the path by which it was given. A caller
/// may use the latter only for a root that was given no name of its own; else the place is the host's affair. One
/// root's name may be another one's place. Of several of one sort the longest holds, of equally long ones the first.
fn place(roots: &[Arc<Root>], full: &[u8], origin: Origin) -> Option<(Arc<Root>, Vec<Vec<u8>>)> {
    let components = components_of(full);
    let starts = |path: &[u8]| {
        let parts = components_of(path);
        components.starts_with(&parts).then_some(parts.len())
    };
    let longest = |length: &dyn Fn(&Root) -> Option<usize>| {
        roots.iter().rev().filter_map(|root| Some((length(root)?, root))).max_by_key(|(length, _)| *length)
    };
    let by_name = || longest(&|root| starts(&root.name));
    let by_place = || longest(&|root| starts(&root.real).max(starts(&root.spelled)));
    let by_spelling = || longest(&|root| if root.name == root.real { starts(&root.spelled) } else { None });
    let (length, root) = match origin {
        Origin::Caller => by_name().or_else(by_spelling)?,
        Origin::Link => by_place().or_else(by_name)?,
    };
    Some((root.clone(), components[length..].to_vec()))
}

fn components_of(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|&byte| byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(<[u8]>::to_vec).collect()
}

/// The kernel's answer for a path that exists; `None` where the walk has to tell.
fn by_kernel(asked: &Asked) -> Option<Location> {
    let root = &asked.root;
    if root.lookup == Lookup::Walk {
        return None;
    }
    let relative = asked.spelling();
    let slash: &[u8] = if asked.wants_directory && !relative.is_empty() { b"/" } else { b"" };
    let path = [relative.as_slice(), slash].concat();
    let location = |relative: Vec<u8>| Location { root: root.clone(), relative, wants_directory: false };
    let has_parent_steps = asked.components.iter().any(|component| component == b"..");
    if !has_parent_steps {
        match root.open_exact(&path, OFlags::PATH) {
            Ok(_) => return Some(location(relative)),
            Err(Errno::LOOP) => {}
            Err(_) => return None,
        }
    }
    let reached = root.open_resolved(&path).ok()?;
    let canonical = path_of(&reached)?;
    let canonical = strip_path(&path_of(root.handle())?, &canonical)?.to_vec();
    // The name is only a name, perhaps a later one than the path led to: that of a backup, or of what a publication
    // just displaced. So the path must still lead to the same file, and then the name too, when no link is followed.
    let inode = facts(&reached).ok()?.inode;
    let is_same = |again: OwnedFd| facts(&again).is_ok_and(|facts| facts.inode == inode);
    let still_leads = is_same(root.open_resolved(&path).ok()?);
    let is_named = is_same(root.open_exact(&canonical, OFlags::PATH).ok()?);
    (still_leads && is_named).then(|| location(canonical))
}

/// Where an open file is now, as the kernel tells it.
fn path_of(file: impl AsFd) -> Option<Vec<u8>> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    rustix::fs::readlink(link, Vec::new()).ok().map(std::ffi::CString::into_bytes)
}

/// A walk from a root, component by component. It goes up only along the handles that it came down by, and it
/// follows a link by reading its text, so that no step can leave the roots.
struct Walk<'a> {
    roots: &'a [Arc<Root>],
    asked: &'a Asked,
    root: Arc<Root>,
    /// The directories between the root and where the walk stands, with their names.
    stack: Vec<(Vec<u8>, OwnedFd)>,
    /// What is still to be walked, in reverse.
    pending: Vec<Vec<u8>>,
    links: usize,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a [Arc<Root>], asked: &'a Asked) -> Walk<'a> {
        let pending = asked.components.iter().rev().cloned().collect();
        Walk { roots, asked, root: asked.root.clone(), stack: Vec::new(), pending, links: 0 }
    }

    fn run(mut self) -> Result<Location> {
        let mut wants_directory = self.asked.wants_directory;
        while let Some(component) = self.pending.pop() {
            if component == b".." {
                self.go_up()?;
                continue;
            }
            let here = self.stack.last().map_or(self.root.handle(), |(_, handle)| handle.as_fd());
            let next = match open_child(here, &component, OFlags::PATH) {
                Ok(next) => next,
                Err(Errno::NOENT) => return self.missing(component, wants_directory),
                Err(cause) => return Err(self.failed(cause)),
            };
            match facts(&next).map_err(|cause| self.failed(cause))?.kind {
                FileKind::Directory => self.stack.push((component, next)),
                FileKind::Symlink => wants_directory |= self.follow(&next)?,
                FileKind::Regular
                | FileKind::Fifo
                | FileKind::Socket
                | FileKind::BlockDevice
                | FileKind::CharDevice
                | FileKind::Other => {
                    if !self.pending.is_empty() || wants_directory {
                        return Err(refusal::not_directory(&self.asked.shown));
                    }
                    return Ok(self.arrived(vec![component], false));
                }
            }
        }
        Ok(self.arrived(Vec::new(), false))
    }

    fn go_up(&mut self) -> Result<()> {
        if self.stack.pop().is_some() {
            return Ok(());
        }
        // Above a root that lies in another one, the other one goes on.
        let outer = self
            .roots
            .iter()
            .filter_map(|root| Some((root, strip_path(&root.real, &self.root.real)?)))
            .filter(|(_, inner)| !inner.is_empty())
            .max_by_key(|(root, _)| root.real.len());
        let Some((outer, inner)) = outer else {
            return Err(refusal::sandbox_escape(&self.asked.shown));
        };
        self.pending.push(b"..".to_vec());
        self.pending.extend(components_of(inner).into_iter().rev());
        self.root = outer.clone();
        Ok(())
    }

    /// Replaces a link by its text. Tells whether only a directory can be at its end.
    fn follow(&mut self, link: &OwnedFd) -> Result<bool> {
        self.links += 1;
        if self.links > refusal::MAX_LINKS {
            return Err(refusal::too_many_links(&self.asked.shown));
        }
        let text = readlinkat(link, "", Vec::new()).map_err(|cause| self.failed(cause))?.into_bytes();
        let components = if text.starts_with(b"/") {
            let (root, components) = place(self.roots, &text, Origin::Link)
                .ok_or_else(|| refusal::sandbox_escape(&self.asked.shown))?;
            self.root = root;
            self.stack.clear();
            components
        } else {
            components_of(&text)
        };
        let ends_in_directory = self.pending.is_empty()
            && matches!(text.rsplit(|&byte| byte == b'/').next(), Some(b"" | b"." | b".."));
        self.pending.extend(components.into_iter().rev());
        Ok(ends_in_directory)
    }

    fn missing(mut self, first: Vec<u8>, wants_directory: bool) -> Result<Location> {
        let mut rest = vec![first];
        while let Some(component) = self.pending.pop() {
            if component == b".." {
                return Err(refusal::not_found(&self.asked.shown, Vec::new()));
            }
            rest.push(component);
        }
        if let Some(name) = rest.iter().find(|name| name.len() > refusal::MAX_NAME_BYTES) {
            return Err(refusal::name_too_long(&self.asked.shown, name.len()));
        }
        Ok(self.arrived(rest, wants_directory))
    }

    fn arrived(self, rest: Vec<Vec<u8>>, wants_directory: bool) -> Location {
        let names: Vec<Vec<u8>> = self.stack.into_iter().map(|(name, _)| name).chain(rest).collect();
        Location { root: self.root, relative: names.join(&b'/'), wants_directory }
    }

    fn failed(&self, cause: Errno) -> FsError {
        fs_error(&self.asked.shown, OPENING, cause)
    }
}
