//! Where paths lead in a small tree of directories, files and links.

use std::fs;
use std::io::ErrorKind as IoErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use toolfs_core::error::{Code, Result};
use toolfs_core::target::display_form;
use toolfs_provider::request::ResolveRequest;

use super::{Choices, Standing, beneath};
use crate::location::{Location, join};
use crate::resolve::Asked;
use crate::root::{self, Root};
use crate::{LocalOptions, RootSpec};

const NAMES: [&[u8]; 10] = [b"a", b"b", b"c", b"d", b"l", b"m", b"\xff\x80", b"two\nlines", b"...", b" "];
/// The name of a second root, which lies in the first.
const INNER: &[u8] = b"/inner";

/// Finds where a path leads, with both lookups, and compares with each other and with the system's own answer.
pub fn resolve(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let world = World::make(&mut choices);
    let path = world.spelled(&mut choices);
    let [by_kernel, by_walk] = [false, true].map(|force_walk| world.roots(force_walk));
    let found = find(&by_kernel, &path);
    assert_eq!(told(&found), told(&find(&by_walk, &path)), "the lookups differ on {}", display_form(&path));
    world.judge(&path, &found);
    for _ in 0..3 {
        let relative = names(&mut choices);
        for flags in [OFlags::PATH, root::reading(), root::directory()] {
            let opened = [&by_kernel, &by_walk].map(|roots| {
                roots[0].open_exact(&relative, flags).and_then(root::facts).map(|facts| facts.inode)
            });
            assert_eq!(opened[0], opened[1], "{} {flags:?}", display_form(&relative));
        }
    }
}

fn find(roots: &[Arc<Root>], path: &[u8]) -> Result<Location> {
    let request = ResolveRequest { cwd: None, path: path.to_vec() };
    Asked::parse(roots, 4_096, &request).and_then(|asked| crate::resolve::resolve(roots, &asked))
}

/// What matters of an answer.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Place { root: Vec<u8>, relative: Vec<u8>, wants_directory: bool },
    Refused { code: Code, path: Option<String> },
}

fn told(found: &Result<Location>) -> Told {
    match found {
        Ok(Location { root, relative, wants_directory }) => Told::Place {
            root: root.name.clone(),
            relative: relative.clone(),
            wants_directory: *wants_directory,
        },
        Err(error) => Told::Refused { code: error.code(), path: error.path().map(str::to_owned) },
    }
}

fn names(choices: &mut Choices<'_>) -> Vec<u8> {
    let count = choices.below(4);
    (0..count).map(|_| choices.one_of(&NAMES)).collect::<Vec<_>>().join(&b'/')
}

struct World {
    _keep: tempfile::TempDir,
    base: PathBuf,
    root: PathBuf,
    /// Whether any link, or the path, could lead upwards or start at the top.
    may_leave: std::cell::Cell<bool>,
    /// Whether a link has the name of a root, which the system does not know.
    is_beyond_system: std::cell::Cell<bool>,
}

impl World {
    fn make(choices: &mut Choices<'_>) -> World {
        let keep = tempfile::tempdir().expect("a directory can be made");
        let base = keep.path().canonicalize().expect("it is there");
        let root = base.join("root");
        for directory in ["root", "root/a", "outside", "root-evil"] {
            fs::create_dir(base.join(directory)).expect("a directory can be made");
        }
        fs::write(base.join("outside/b"), "secret").expect("a file can be made");
        let (may_leave, is_beyond_system) = Default::default();
        let world = World { _keep: keep, base, root, may_leave, is_beyond_system };
        let mut directories = vec![world.root.clone(), world.root.join("a")];
        for _ in 0..choices.below(16) {
            let within = directories[choices.below(directories.len())].clone();
            let at = beneath(&within, choices.one_of(&NAMES));
            // What is there already stays.
            match choices.below(4) {
                0 => {
                    if fs::create_dir(&at).is_ok() {
                        directories.push(at);
                    }
                }
                1 => {
                    let _ = fs::File::create_new(&at);
                }
                _ => {
                    let text = world.spelled(choices);
                    if text.starts_with(INNER) {
                        world.is_beyond_system.set(true);
                    }
                    let _ = symlink(std::ffi::OsStr::from_bytes(&text), &at);
                }
            }
        }
        world
    }

    /// A path, or the text of a link, in some spelling.
    fn spelled(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let start = match choices.below(9) {
            0 => self.root.as_os_str().as_bytes().to_vec(),
            1 => self.base.join("outside").into_os_string().into_encoded_bytes(),
            2 => self.base.as_os_str().as_bytes().to_vec(),
            3 => self.base.join("root-evil").into_os_string().into_encoded_bytes(),
            4 => INNER.to_vec(),
            _ => Vec::new(),
        };
        let mut parts: Vec<&[u8]> = Vec::new();
        for _ in 0..choices.below(6) {
            parts.push(match choices.below(16) {
                0..=2 => b"..",
                3 => b".",
                4 => b"",
                _ => choices.one_of(&NAMES),
            });
        }
        if !start.is_empty() || parts.contains(&&b".."[..]) {
            self.may_leave.set(true);
        }
        let mut path = parts.join(&b'/');
        if !start.is_empty() {
            path = [&start[..], b"/", &path].concat();
        }
        if choices.is_so() {
            path.push(b'/');
        }
        // A relative path that begins with an empty part would be an absolute one.
        let path = if start.is_empty() && path.starts_with(b"/") { [b".", &path[..]].concat() } else { path };
        if path.is_empty() { b".".to_vec() } else { path }
    }

    fn roots(&self, force_walk: bool) -> Vec<Arc<Root>> {
        let mut options = LocalOptions::new(Arc::new(Standing));
        options.force_walk = force_walk;
        let inner = RootSpec::named(self.root.join("a"), INNER).expect("a plain name");
        let specs = [RootSpec::new(&self.root), inner];
        specs.iter().map(|spec| Arc::new(Root::open(spec, &options).expect("it is there"))).collect()
    }

    /// The answer against that of the system, which confines nothing.
    fn judge(&self, path: &[u8], found: &Result<Location>) {
        let shown = display_form(path);
        let system = self.on_the_system(path).map(fs::canonicalize);
        match found {
            Ok(location) => {
                let real = join(&location.root.real, &location.relative);
                let real = Path::new(std::ffi::OsStr::from_bytes(&real));
                let system = system.unwrap_or_else(|| panic!("{shown} is no path of a root"));
                match system {
                    _ if self.is_beyond_system.get() => {}
                    Ok(place) => {
                        assert_eq!(place, real, "{shown}");
                        assert!(!location.wants_directory);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), IoErrorKind::NotFound, "{shown} {error}");
                        assert!(fs::symlink_metadata(real).is_err(), "{shown} is said to be missing");
                    }
                }
                let there =
                    real.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
                let (ancestor, canonical) = there.expect("the top is there");
                assert!(canonical == ancestor && ancestor.starts_with(&self.root), "{shown} leads out");
                let opened = location.root.open_exact(&location.relative, OFlags::PATH);
                assert_eq!(opened.is_ok(), fs::symlink_metadata(real).is_ok(), "{shown}");
            }
            Err(error) => {
                assert_eq!(error.path(), Some(shown.as_str()), "{error:?}");
                let is_told = !self.is_beyond_system.get();
                let is_there = is_told && system.is_some_and(|system| system.is_ok());
                match error.code() {
                    Code::SandboxDenied => assert!(self.may_leave.get(), "{shown} cannot lead out"),
                    Code::NotFound | Code::NotDirectory => assert!(!is_there, "{shown} is there: {error:?}"),
                    // Too many links: how many are, is ours to say.
                    Code::InvalidArgument => {}
                    _ => panic!("{shown}: {error:?}"),
                }
            }
        }
    }

    /// What the system would call a path; `None` for one that no root has.
    fn on_the_system(&self, path: &[u8]) -> Option<PathBuf> {
        if let Some(rest) = path.strip_prefix(INNER).filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
        {
            let rest = [b".", rest].concat();
            return Some(beneath(&self.root.join("a"), &rest));
        }
        let at = beneath(&self.root, path);
        at.starts_with(&self.root).then_some(at)
    }
}
