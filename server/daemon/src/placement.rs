//! Where the server's own files lie: never inside a root, where agents could change them.
//!
//! Judged on real places, links followed. Deliberately absent: a root inside the state directory, which harms nobody.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;
use toolfs_provider_local::RootSpec;

use crate::config::{ProviderKind, ServeConfig, State};
use crate::env::Environment;

/// A file of the server lies where agents write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the {what} `{}` lies inside the root `{}`, where agents could change it: {way_out}",
    .file.display(),
    .root.display()
)]
pub struct PlacementError {
    /// What kind of file.
    what: &'static str,
    /// The file as it was named.
    file: PathBuf,
    /// The root as it was named.
    root: PathBuf,
    /// What to do.
    way_out: &'static str,
}

/// Every file of the server that lies inside a root. A tree in memory holds no files of this host, and neither does a
/// provider elsewhere, as far as can be told.
pub fn check(config: &ServeConfig) -> Vec<PlacementError> {
    let roots: Vec<PathBuf> = match config.provider {
        ProviderKind::Local => config.roots.iter().filter_map(|root| directory_of(root)).collect(),
        ProviderKind::Memory | ProviderKind::Remote(_) => Vec::new(),
    };
    let state = match &config.state {
        State::Memory => None,
        State::Directory(path) => Some((
            "state",
            path,
            "choose --state PATH outside of every root, or --state memory to keep nothing beyond the process",
        )),
    };
    let runtime = config.runtime.as_ref().map(|runtime| {
        ("runtime directory", &runtime.path, "name another one with --runtime-dir, outside of every root")
    });
    let file = config.file.as_ref().map(|path| {
        ("configuration file", path, "move it, or name another one with --config, outside of every root")
    });
    let mut errors = Vec::new();
    for (what, file, way_out) in state.into_iter().chain(runtime).chain(file) {
        if let Some(root) = roots.iter().find(|root| lies_in(file, root)) {
            errors.push(PlacementError { what, file: file.clone(), root: root.clone(), way_out });
        }
    }
    errors
}

/// The first temporary directory of the system that is in no root.
pub fn scratch(environment: &Environment, roots: &[String]) -> Option<PathBuf> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| directory_of(root)).collect();
    let named = ["TMPDIR", "XDG_RUNTIME_DIR"].into_iter().filter_map(|name| environment.directory(name));
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    named.chain(usual).find(|place| place.is_dir() && !roots.iter().any(|root| lies_in(place, root)))
}

/// The directory of a root as typed.
fn directory_of(root: &str) -> Option<PathBuf> {
    RootSpec::parse(OsStr::new(root)).ok().map(|spec| spec.dir().to_owned())
}

/// Whether a file is inside a directory: itself, or the link that leads to it.
fn lies_in(file: &Path, root: &Path) -> bool {
    let root = real_place(root);
    let link = match (file.parent(), file.file_name()) {
        (Some(parent), Some(name)) => Some(real_place(parent).join(name)),
        _ => None,
    };
    link.into_iter().chain([real_place(file)]).any(|place| place.starts_with(&root))
}

/// A path without links, as far as it exists; the rest is taken by its words. Relative paths start here.
pub fn real_place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        let Ok(real) = std::fs::canonicalize(ancestor) else { continue };
        let rest = absolute.strip_prefix(ancestor).unwrap_or(Path::new(""));
        let mut place = real;
        let mut went_back = false;
        for component in rest.components() {
            match component {
                Component::ParentDir => {
                    place.pop();
                    went_back = true;
                }
                Component::Normal(name) => place.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        // What does not exist was left again: there may be links behind it.
        return if went_back { real_place(&place) } else { place };
    }
    absolute
}

/// What makes roots the same ones at another start: their real places, and the names under which agents see them.
pub fn identities(roots: &[String]) -> Vec<Vec<u8>> {
    let identity = |root: &String| match RootSpec::parse(OsStr::new(root)) {
        Ok(spec) => {
            let mut identity = real_place(spec.dir()).into_os_string().into_encoded_bytes();
            // A byte that is in no path keeps directory and name apart.
            identity.push(0);
            identity.extend(spec.name().unwrap_or_default());
            identity
        }
        // It will be refused when it is opened.
        Err(_) => root.clone().into_bytes(),
    };
    roots.iter().map(identity).collect()
}

/// Where state is kept when nobody says so: one directory for each set of roots, whatever order they are given in.
/// `None` where the user has no home.
pub fn usual_state_directory(environment: &Environment, mut identities: Vec<Vec<u8>>) -> Option<PathBuf> {
    let base = state_home(environment)?;
    identities.sort();
    identities.dedup();
    let mut hasher = blake3::Hasher::new();
    for identity in identities {
        hasher.update(&u64::try_from(identity.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(&identity);
    }
    let name = hasher.finalize().to_hex();
    Some(base.join(&name[..16]))
}

/// Where the servers of a user take turns when nobody says so. `None` where the user has no home, or where a root holds
/// that place.
pub fn usual_runtime_directory(environment: &Environment, roots: &[String]) -> Option<PathBuf> {
    let place = state_home(environment)?.join("runtime");
    let roots = roots.iter().filter_map(|root| directory_of(root));
    (!roots.into_iter().any(|root| lies_in(&place, &root))).then_some(place)
}

/// The directory of this command among what programs keep for a user.
fn state_home(environment: &Environment) -> Option<PathBuf> {
    let home = || Some(Path::new(environment.get("HOME")?).join(".local/state"));
    Some(environment.directory("XDG_STATE_HOME").or_else(home)?.join("toolfs"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files itself")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_inside_a_root_is_found_whatever_links_lead_there() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        std::fs::create_dir_all(at("root/deep")).unwrap();
        std::fs::create_dir(at("outside")).unwrap();
        symlink(at("root"), at("to-root")).unwrap();
        symlink(at("root/deep"), at("outside/in")).unwrap();
        symlink(at("outside"), at("root/out")).unwrap();
        for inside in [
            "root",
            "root/state",
            "root/deep/not/there/yet",
            "to-root/state",
            "outside/in/state",
            "outside/../root/state",
            "outside/missing/../../root/state",
            "outside/missing/../../to-root/state",
            // The link itself is the agents' to change.
            "root/out",
        ] {
            assert!(lies_in(&at(inside), &at("root")), "{inside}");
            assert!(lies_in(&at(inside), &at("to-root")), "{inside}");
        }
        for outside in
            ["outside", "outside/state", "rootless", "root/../outside/state", "root/out/state", "state"]
        {
            assert!(!lies_in(&at(outside), &at("root")), "{outside}");
        }
    }

    #[test]
    fn what_is_only_for_now_is_outside_of_the_roots_too() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().display().to_string();
        let inside = Environment::of(&[("TMPDIR", &root)]);
        let scratch_for = |roots: &[String]| scratch(&inside, roots);
        assert_eq!(scratch_for(&["/no/such/root".to_owned()]).as_deref(), Some(directory.path()));
        let elsewhere = scratch_for(&[root]).unwrap();
        assert!(!elsewhere.starts_with(directory.path()), "{elsewhere:?}");
        assert_eq!(scratch_for(&["/".to_owned()]), None);
    }

    #[test]
    fn a_set_of_roots_has_one_usual_place() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path).display().to_string();
        std::fs::create_dir(at("a")).unwrap();
        std::fs::create_dir(at("b")).unwrap();
        symlink(at("a"), at("link")).unwrap();
        let environment = Environment::of(&[("HOME", "/h")]);
        let place = |roots: &[String]| usual_state_directory(&environment, identities(roots)).unwrap();

        assert!(place(&[at("a")]).starts_with("/h/.local/state/toolfs"));
        assert_eq!(place(&[at("a"), at("b")]), place(&[at("b"), at("a")]));
        assert_eq!(place(&[at("a")]), place(&[at("link")]));
        assert_ne!(place(&[at("a")]), place(&[at("b")]));
        assert_ne!(place(&[at("a")]), place(&[at("a"), at("b")]));
        assert_ne!(place(&[at("a")]), place(&[format!("{}=/workspace", at("a"))]));
        let elsewhere = Environment::of(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]);
        assert!(usual_state_directory(&elsewhere, identities(&[at("a")])).unwrap().starts_with("/x/toolfs"));
        assert_eq!(usual_state_directory(&Environment::default(), identities(&[at("a")])), None);
    }

    #[test]
    fn all_servers_of_a_user_take_turns_in_one_place_that_no_root_holds() {
        let environment = Environment::of(&[("HOME", "/h")]);
        let place = |roots: &[&str]| {
            let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
            usual_runtime_directory(&environment, &roots)
        };
        assert_eq!(place(&["/a"]), Some(PathBuf::from("/h/.local/state/toolfs/runtime")));
        assert_eq!(place(&["/a", "/b=/w"]), place(&["/a"]));
        assert_eq!(place(&["/a", "/h"]), None);
        assert_eq!(usual_runtime_directory(&Environment::default(), &["/a".to_owned()]), None);
    }
}
