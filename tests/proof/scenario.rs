//! The changes that are interrupted, and failed, at each of their system calls.
//!
//! Each has a tree of its own: `root` is served, `recovery` and `runtime` are the server's.

use std::fs::Permissions;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolfs_core::planted::Fault;

use crate::mounts::Mounted;
use crate::tree::litter;
use crate::worker::{Call, Guard, Outcome, Settings, Worker};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Create,
    CreateWithParents,
    Overwrite,
    OverwriteThroughLink,
    Edit,
    /// An edit as it is made of files that memory is not to hold.
    EditStreamed,
}

/// How a content gets to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// A file without a name, and an exchange.
    Best,
    /// Temporary files with names.
    Named,
    /// No exchange.
    Plain,
    /// Neither.
    NamedPlain,
    /// The file is a mount of its own, which can only be rewritten in place.
    InPlace,
    /// The same, and temporary files with names.
    InPlaceNamed,
}

/// A change and its means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) act: Act,
    pub(crate) means: Means,
}

impl Scenario {
    /// All of them that need no rights.
    pub(crate) fn all() -> Vec<Scenario> {
        let acts =
            [Act::Create, Act::CreateWithParents, Act::Overwrite, Act::OverwriteThroughLink, Act::Edit];
        let mut all = product(&acts, &[Means::Best, Means::Named, Means::Plain, Means::NamedPlain]);
        all.extend(product(&[Act::EditStreamed], &[Means::Best, Means::NamedPlain]));
        all
    }

    /// All of them that need a mount.
    pub(crate) fn in_place() -> Vec<Scenario> {
        let acts = [Act::Overwrite, Act::OverwriteThroughLink, Act::Edit];
        let mut all = product(&acts, &[Means::InPlace, Means::InPlaceNamed]);
        all.extend(product(&[Act::EditStreamed], &[Means::InPlace]));
        all
    }

    /// Whether readers may see the file half written.
    pub(crate) fn is_in_place(self) -> bool {
        match self.means {
            Means::InPlace | Means::InPlaceNamed => true,
            Means::Best | Means::Named | Means::Plain | Means::NamedPlain => false,
        }
    }

    /// Its name in words.
    pub(crate) fn name(self) -> String {
        let act = match self.act {
            Act::Create => "create",
            Act::CreateWithParents => "create with parents",
            Act::Overwrite => "overwrite",
            Act::OverwriteThroughLink => "overwrite through a link",
            Act::Edit => "edit",
            Act::EditStreamed => "edit in a stream",
        };
        match self.means {
            Means::Best => act.to_owned(),
            Means::Named => format!("{act}, named temporaries"),
            Means::Plain => format!("{act}, plain rename"),
            Means::NamedPlain => format!("{act}, named temporaries and plain rename"),
            Means::InPlace => format!("{act}, in place"),
            Means::InPlaceNamed => format!("{act}, in place with named temporaries"),
        }
    }
}

fn product(acts: &[Act], means: &[Means]) -> Vec<Scenario> {
    acts.iter().flat_map(|&act| means.iter().map(move |&means| Scenario { act, means })).collect()
}

/// A tree in which a scenario happens.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) scenario: Scenario,
    // The order is the one in which they go.
    _mounted: Option<Mounted>,
    directory: TempDir,
}

/// The mode of a file that is there before: none that a new file gets.
const MODE: u32 = 0o640;

/// How much of the file is read and copied at once where it is edited in a stream: it takes some pieces.
const PIECE: NonZeroUsize = NonZeroUsize::new(6 << 10).unwrap();

/// The word that an edit changes.
const OLD_WORD: &str = "line 150 of the old content";

impl Scene {
    /// Everything is there but the call.
    pub(crate) fn set(scenario: Scenario) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let mut scene = Scene { scenario, _mounted: None, directory };
        for name in ["root/d", "recovery", "runtime"] {
            std::fs::create_dir_all(scene.directory.path().join(name)).unwrap();
        }
        if let Some(old) = scene.before() {
            std::fs::write(scene.target(), old).unwrap();
            std::fs::set_permissions(scene.target(), Permissions::from_mode(MODE)).unwrap();
        }
        if scenario.is_in_place() {
            let target = scene.target();
            scene._mounted = Some(Mounted::new(&["--bind", target.to_str().unwrap()], &target).unwrap());
        }
        if scenario.act == Act::OverwriteThroughLink {
            std::os::unix::fs::symlink("d/file", scene.root().join("link")).unwrap();
        }
        scene
    }

    /// A place for what belongs to nobody's tree.
    pub(crate) fn outside(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn recovery(&self) -> PathBuf {
        self.directory.path().join("recovery")
    }

    /// How a worker serves it.
    pub(crate) fn settings(&self, fault: Option<Fault>) -> Settings {
        let (named_temporaries, plain_rename) = match self.scenario.means {
            Means::Best => (false, false),
            Means::Named => (true, false),
            Means::Plain => (false, true),
            Means::NamedPlain => (true, true),
            Means::InPlace => (false, false),
            Means::InPlaceNamed => (true, false),
        };
        Settings {
            recovery: Some(self.recovery()),
            runtime: Some(self.directory.path().join("runtime")),
            named_temporaries,
            plain_rename,
            streaming: (self.scenario.act == Act::EditStreamed).then_some(PIECE),
            fault,
            ..Settings::new(self.root())
        }
    }

    /// The directory of the target, beneath the root.
    pub(crate) fn parent(&self) -> &'static str {
        match self.scenario.act {
            Act::CreateWithParents => "d/p/q",
            Act::Create | Act::Overwrite | Act::OverwriteThroughLink | Act::Edit | Act::EditStreamed => "d",
        }
    }

    /// The file that changes.
    pub(crate) fn target(&self) -> PathBuf {
        self.root().join(self.parent()).join("file")
    }

    /// The call.
    pub(crate) fn call(&self) -> Call {
        let path = match self.scenario.act {
            Act::OverwriteThroughLink => "link".to_owned(),
            Act::Create | Act::CreateWithParents | Act::Overwrite | Act::Edit | Act::EditStreamed => {
                format!("{}/file", self.parent())
            }
        };
        let guard = self.before().map_or(Guard::Absent, |old| Guard::of(&old));
        match self.scenario.act {
            Act::Edit | Act::EditStreamed => {
                Call::Edit { path, old: OLD_WORD.to_owned(), new: "another line".to_owned(), guard }
            }
            Act::Create | Act::CreateWithParents | Act::Overwrite | Act::OverwriteThroughLink => {
                Call::Write { path, content: self.after(), guard }
            }
        }
    }

    /// The content before it; absent when there is no file.
    pub(crate) fn before(&self) -> Option<String> {
        match self.scenario.act {
            Act::Create | Act::CreateWithParents => None,
            Act::Overwrite | Act::OverwriteThroughLink | Act::Edit | Act::EditStreamed => {
                Some(lines("old", 300))
            }
        }
    }

    /// The content after it.
    pub(crate) fn after(&self) -> String {
        match self.scenario.act {
            Act::Edit | Act::EditStreamed => lines("old", 300).replace(OLD_WORD, "another line"),
            Act::Create | Act::CreateWithParents | Act::Overwrite | Act::OverwriteThroughLink => {
                lines("new", 200)
            }
        }
    }

    /// The content that is there.
    pub(crate) fn now(&self) -> Option<String> {
        let content = std::fs::read(self.target()).ok()?;
        Some(String::from_utf8_lossy(&content).into_owned())
    }

    /// Whether nothing of a server is left that has gone, or that has nothing to do any more.
    fn is_clean(&self) -> Result<(), String> {
        let mut left = litter(&self.root());
        if let Ok(copies) = std::fs::read_dir(self.recovery().join("copies")) {
            left.extend(copies.map(|copy| copy.unwrap().path()));
        }
        if left.is_empty() { Ok(()) } else { Err(format!("after the next call there is still {left:?}")) }
    }

    /// Whether a file that was there before has lost its mode.
    pub(crate) fn has_lost_mode(&self) -> bool {
        let metadata = std::fs::metadata(self.target());
        self.before().is_some()
            && metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o7777 != MODE)
    }

    /// What of it is there, in words.
    pub(crate) fn describe_now(&self) -> String {
        match self.now() {
            None => "no file".to_owned(),
            Some(content) if Some(&content) == self.before().as_ref() => "the old content".to_owned(),
            Some(content) if content == self.after() => "the new content".to_owned(),
            Some(content) => {
                format!("{} bytes that are neither the old nor the new content", content.len())
            }
        }
    }
}

/// What the place is used for afterwards.
const NEXT: &str = "what comes next";

/// Some pages of text. The new content is shorter, so that a file that is rewritten must be cut.
fn lines(age: &str, count: u32) -> String {
    (1..=count)
        .map(|number| format!("line {number} of the {age} content, which has several pages\n"))
        .collect()
}

/// Uses the place once more: another file of the directory, and the file itself. Then nothing of ours may be left.
pub(crate) fn use_again(scene: &Scene, worker: &Worker) -> Result<(), String> {
    let before = scene.now();
    use_neighbour(scene, worker)?;
    if scene.now() != before {
        return Err(format!("after the next call there is {}", scene.describe_now()));
    }
    write_next(scene, worker, "file")?;
    if scene.now().as_deref() != Some(NEXT) {
        return Err(format!("after a call to the file itself there is {}", scene.describe_now()));
    }
    scene.is_clean()
}

/// Uses another file of the directory. Then nothing of ours may be left.
pub(crate) fn use_neighbour(scene: &Scene, worker: &Worker) -> Result<(), String> {
    write_next(scene, worker, "neighbour")?;
    scene.is_clean()
}

fn write_next(scene: &Scene, worker: &Worker, name: &str) -> Result<(), String> {
    let path = format!("{}/{name}", scene.parent());
    let content = NEXT.to_owned();
    match worker.call(Call::Write { path, content, guard: Guard::Any }) {
        Ok(answer) if matches!(answer.outcome, Outcome::Ok(_)) && answer.not_durable.is_none() => Ok(()),
        other => Err(format!("the next call failed: {other:?}")),
    }
}
