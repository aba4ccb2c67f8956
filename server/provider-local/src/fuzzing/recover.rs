//! What a start, and the first mutation in a directory, make of whatever a crash may have left.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::guard::WriteGuard;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::request::WriteTextRequest;
use toolfs_provider::{Provider, ProviderExt};

use super::{Choices, Standing, beneath};
use crate::instance::Instance;
use crate::journal::{Entry, SLOT_BYTES};
use crate::leftover::{ContentDigits, Hidden, Label, TargetDigits};
use crate::rewrite::copy_bytes;
use crate::{LocalOptions, LocalProvider, RootSpec};

const TARGETS: [&[u8]; 3] = [b"f", b"g", b"h\xff"];
const CONTENTS: usize = 7;
const BLOCK: usize = 4096;

/// Lays out what crashes and foreign hands left, starts a provider on it twice, and looks for what is missing.
pub fn recover(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let world = World::make(&mut choices);
    let before = tree(&world.root);
    let outside = tree(&world.outside);
    world.start_and_write();
    let after = tree(&world.root);
    world.check_nothing_is_lost(&before, &after);
    assert_eq!(tree(&world.outside), outside, "something outside changed");
    world.start_and_write();
    assert_eq!(tree(&world.root), after, "the second start found more to do");
}

/// What is beneath a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Directory,
    Link(Vec<u8>),
}

type Tree = BTreeMap<Vec<u8>, Node>;

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(root.join(&directory)).expect("a directory can be read") {
            let path = directory.join(entry.expect("an entry can be read").file_name());
            let at = root.join(&path);
            let kind = fs::symlink_metadata(&at).expect("it is there").file_type();
            let node = if kind.is_symlink() {
                Node::Link(fs::read_link(&at).expect("a link can be read").into_os_string().into_vec())
            } else if kind.is_dir() {
                pending.push(path.clone());
                Node::Directory
            } else {
                Node::File(fs::read(&at).expect("a file can be read"))
            };
            found.insert(path.into_os_string().into_vec(), node);
        }
    }
    found
}

fn content(index: usize) -> Vec<u8> {
    match index {
        0 => Vec::new(),
        1..=4 => format!("content {index}").into_bytes(),
        _ => format!("{index}").into_bytes().repeat(BLOCK + index * 1_000),
    }
}

struct World {
    keep: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    dead: Instance,
    /// Held for as long as the world is looked at: its files are somebody's.
    live: LocalProvider,
    /// What the file of a valid copy was to become, where there is one.
    rewritten: Option<Rewritten>,
}

struct Rewritten {
    path: Vec<u8>,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl World {
    fn make(choices: &mut Choices<'_>) -> World {
        let keep = tempfile::tempdir().expect("a directory can be made");
        let base = keep.path().canonicalize().expect("it is there");
        let (root, outside) = (base.join("root"), base.join("outside"));
        for directory in ["root", "root/d", "outside", "recovery/publications", "recovery/copies"] {
            fs::create_dir_all(base.join(directory)).expect("a directory can be made");
        }
        fs::write(outside.join("canary"), "canary").expect("a file can be made");
        let mut options = options(&base);
        options.recovery = None;
        let elsewhere = [RootSpec::new(&outside)];
        let live = LocalProvider::open(&elsewhere, options).expect("it can be opened");
        // Of this boot, registered, and nobody's.
        let boot = Instance::new().to_string()[..8].to_owned();
        let dead = Instance::parse(format!("{boot}0000000a").as_bytes()).expect("digits");
        fs::write(base.join("runtime/instances").join(dead.to_string()), "").expect("a file can be made");
        let mut world = World { keep, root, outside, dead, live, rewritten: None };
        for directory in [&b""[..], b"d"] {
            for target in TARGETS {
                let at = beneath(&beneath(&world.root, directory), target);
                let kind = choices.below(CONTENTS + 4);
                lay(&at, kind, choices);
            }
        }
        let hidden = (0..choices.below(6)).filter_map(|_| world.lay_hidden(choices)).collect::<Vec<_>>();
        world.lay_journal(&hidden, choices);
        world.lay_copy(choices);
        world
    }

    /// Makes a hidden file of somebody, in the root or in its directory, and tells what a journal says of it.
    fn lay_hidden(&self, choices: &mut Choices<'_>) -> Option<Entry> {
        let directory = beneath(&self.root, choices.one_of(&[&b""[..], b"d"]));
        let target = choices.one_of(&TARGETS).to_vec();
        let instance = match choices.below(6) {
            0 => Instance::new(),
            1 => self.live.instance(),
            // Of another boot.
            2 => Instance::parse(b"00000001000000ff").expect("digits"),
            _ => self.dead,
        };
        let [ours, expected] = [(); 2].map(|()| Version::of(&content(choices.below(CONTENTS))));
        let label = choices.is_so().then(|| Label::new(&ours, &expected, &target));
        let hidden = Hidden { instance, serial: u64::from(choices.byte()), label };
        let mut name = match choices.below(8) {
            0 => hidden.rescue_name(),
            _ => hidden.name(),
        };
        if choices.below(8) == 1 {
            let at = choices.below(name.len());
            name[at] = choices.one_of(b"0a-.x\xff");
        }
        let kind = choices.below(CONTENTS + 3);
        lay(&beneath(&directory, &name), kind, choices);
        let metadata = fs::metadata(&directory).ok()?;
        let inode = (metadata.dev(), metadata.ino() + u64::from(choices.below(8) == 1));
        Some(Entry { directory: directory.into_os_string().into_vec(), inode, hidden, target })
    }

    fn lay_journal(&self, hidden: &[Entry], choices: &mut Choices<'_>) {
        let mut journal = Vec::new();
        match choices.below(3) {
            0 => return,
            1 => journal.extend((0..choices.below(256)).map(|_| choices.byte())),
            _ => {
                for entry in hidden {
                    journal.extend(entry.to_bytes());
                    journal.resize(journal.len().div_ceil(SLOT_BYTES) * SLOT_BYTES, 0);
                }
                damage(&mut journal, choices);
            }
        }
        let name = if choices.is_so() { self.dead } else { Instance::new() }.to_string();
        fs::write(self.keep.path().join("recovery/publications").join(name), journal)
            .expect("it can be made");
    }

    fn lay_copy(&mut self, choices: &mut Choices<'_>) {
        let how = choices.below(4);
        if how == 0 {
            return;
        }
        let path = choices.one_of(&[&b"f"[..], b"d/f", b"d/missing", b"../outside/canary", b"d"]);
        let [old, new] = [(); 2].map(|()| content(choices.below(CONTENTS)));
        let at = beneath(&self.root, path);
        let is_file = fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_file());
        if is_file && choices.is_so() {
            let _ = fs::write(&at, half_done(&old, &new, choices));
        }
        let inode = fs::symlink_metadata(&at).map_or(1, |metadata| metadata.ino());
        let root = self.root.as_os_str().as_bytes();
        let mut bytes = copy_bytes((root, path), inode + u64::from(choices.below(8) == 1), &old, &new);
        if how == 1 {
            damage(&mut bytes, choices);
        }
        let name = choices.one_of(&["0-0", "1-partial", "rescue-1", "\u{1f980}"]);
        fs::write(self.keep.path().join("recovery/copies").join(name), bytes).expect("it can be made");
        self.rewritten = Some(Rewritten { path: path.to_vec(), old, new });
    }

    fn start_and_write(&self) {
        let provider = LocalProvider::open(&[RootSpec::new(&self.root)], options(self.keep.path()));
        let provider = provider.expect("a provider starts whatever a crash left");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let abort = AbortSignal::new();
            for path in ["z", "d/z"] {
                let target = provider.resolve_path(&abort, path).await.expect("it can be resolved").key;
                let (content, guard) = (Bytes::from_static(b"z"), WriteGuard::Unconditional);
                let request =
                    WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
                provider.write_text(&abort, request).await.expect("it can be written");
            }
        });
    }

    fn check_nothing_is_lost(&self, before: &Tree, after: &Tree) {
        for (path, node) in before {
            let (_, name) = split(path);
            let hidden = Hidden::parse(name);
            if name.starts_with(b".toolfs-") && hidden.is_none_or(|hidden| !self.may_touch(hidden)) {
                assert_eq!(after.get(path), Some(node), "not ours to touch: {}", shown(path));
            }
            let is_there = after.values().any(|there| there == node);
            assert!(
                is_there || self.may_go(before, path, node, hidden),
                "lost: {} {node:?}\nbefore {before:?}\nafter {after:?}",
                shown(path)
            );
        }
    }

    /// Whether the files of this instance are known to be nobody's.
    fn may_touch(&self, hidden: Hidden) -> bool {
        hidden.instance == self.dead || hidden.instance.is_of_another_boot(self.dead)
    }

    /// Whether a content may be gone without anybody missing it.
    fn may_go(&self, before: &Tree, path: &[u8], node: &Node, hidden: Option<Hidden>) -> bool {
        let (parent, name) = split(path);
        let hidden = hidden.filter(|hidden| self.may_touch(*hidden));
        let label = match hidden.map(|hidden| hidden.label) {
            Some(None) => return true,
            Some(label) => label,
            None => None,
        };
        let Node::File(content) = node else { return false };
        if label.is_some_and(|label| is_one_of(content, &[label.ours, label.expected])) {
            return true;
        }
        let rewritten = self.rewritten.as_ref().filter(|rewritten| rewritten.path == path);
        if rewritten.is_some_and(|rewritten| is_mixed_of(content, &rewritten.old, &rewritten.new)) {
            return true;
        }
        // It stood in a target's place, or came back to it, and is what somebody else was to publish there, who had
        // displaced a foreign content: that one came back in its turn.
        let is_of_target = |other: &Label| match &label {
            Some(label) => {
                let is_target = |name: &&[u8]| TargetDigits::of_name(name) == label.target;
                other.target == label.target && TARGETS.iter().any(is_target)
            }
            None => other.target == TargetDigits::of_name(name),
        };
        before.iter().any(|(other, beneath)| {
            let (there, name) = split(other);
            let hidden = Hidden::parse(name).filter(|hidden| there == parent && self.may_touch(*hidden));
            let Some(label) = hidden.and_then(|hidden| hidden.label) else { return false };
            let is_foreign = match beneath {
                Node::File(content) => !is_one_of(content, &[label.ours, label.expected]),
                Node::Directory | Node::Link(_) => true,
            };
            is_foreign && is_of_target(&label) && is_one_of(content, &[label.ours])
        })
    }
}

/// The directory of a path, and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|&byte| byte == b'/').map_or((&[], path), |at| (&path[..at], &path[at + 1..]))
}

fn options(base: &Path) -> LocalOptions {
    let mut options = LocalOptions::new(Arc::new(Standing));
    options.durability = Durability::None;
    options.recovery = Some(base.join("recovery"));
    options.runtime = Some(base.join("runtime"));
    options
}

/// Makes a file, a directory with something in it, a link, or nothing.
fn lay(at: &Path, kind: usize, choices: &mut Choices<'_>) {
    if fs::symlink_metadata(at).is_ok() {
        return;
    }
    // A name that the file system refuses is none.
    let _ = match kind {
        0..CONTENTS => fs::write(at, content(kind)),
        CONTENTS => {
            let inside = format!("inside {}", choices.byte());
            fs::create_dir(at).and_then(|()| fs::write(at.join("inside"), inside))
        }
        8 => symlink(OsStr::from_bytes(b"../outside/canary"), at),
        9 => symlink(OsStr::from_bytes(b"f"), at),
        _ => Ok(()),
    };
}

fn damage(bytes: &mut [u8], choices: &mut Choices<'_>) {
    for _ in 0..choices.below(4) {
        let at = choices.below(256) << 8 | choices.below(256);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= choices.byte();
        }
    }
}

/// Some blocks of each, a length in between, and perhaps a foreign byte.
fn half_done(old: &[u8], new: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let longest = old.len().max(new.len());
    let mut now = Vec::new();
    for start in (0..longest).step_by(BLOCK) {
        let source = if choices.is_so() { new } else { old };
        let block = source.get(start..).unwrap_or_default();
        now.extend_from_slice(&block[..block.len().min(BLOCK)]);
    }
    if choices.below(4) == 1 && !now.is_empty() {
        let at = choices.below(now.len().min(256));
        now[at] = choices.byte();
    }
    now
}

fn is_one_of(content: &[u8], digits: &[ContentDigits]) -> bool {
    digits.contains(&ContentDigits::of(&Version::of(content)))
}

/// Whether each byte is one that a rewrite could have left at its place.
fn is_mixed_of(content: &[u8], old: &[u8], new: &[u8]) -> bool {
    content.iter().enumerate().all(|(index, byte)| {
        let (before, after) = (old.get(index), new.get(index));
        before == Some(byte) || after == Some(byte) || (*byte == 0 && (before.is_none() || after.is_none()))
    })
}

fn shown(path: &[u8]) -> String {
    toolfs_core::target::display_form(path)
}
