//! Sequences of random operations against a model that is made of strings and maps only.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::FutureExt;
use proptest::prelude::*;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::Code;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::version::Version;

use super::*;
use crate::ProviderExt;
use crate::capability::Durability;

/// Paths that get into each other's way: `d` is a directory as soon as anything below it was made.
const PATHS: [&str; 5] = ["a", "d", "d/b", "d/e/c", "a/x"];

/// Which version a guard names.
#[derive(Clone, Debug)]
enum Basis {
    None,
    CreateIfAbsent,
    /// What is there; of something that never was when nothing is.
    Current,
    Of(String),
}

#[derive(Clone, Debug)]
enum Step {
    Put { path: &'static str, content: String },
    Remove { path: &'static str },
    Write { path: &'static str, content: String, basis: Basis, plan: bool },
    Edit { path: &'static str, old: String, new: String, all: bool, basis: Basis, plan: bool },
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PATHS.as_slice())
}

fn text() -> impl Strategy<Value = String> {
    "[ab\n]{0,5}"
}

fn basis() -> impl Strategy<Value = Basis> {
    prop_oneof![
        2 => Just(Basis::None),
        1 => Just(Basis::CreateIfAbsent),
        3 => Just(Basis::Current),
        1 => text().prop_map(Basis::Of),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let put = (path(), text()).prop_map(|(path, content)| Step::Put { path, content });
    let remove = path().prop_map(|path| Step::Remove { path });
    let write = (path(), text(), basis(), any::<bool>())
        .prop_map(|(path, content, basis, plan)| Step::Write { path, content, basis, plan });
    let edit = (path(), "[ab\n]{1,2}", text(), any::<bool>(), basis(), any::<bool>())
        .prop_filter("an edit has to change something", |(_, old, new, ..)| old != new)
        .prop_map(|(path, old, new, all, basis, plan)| Step::Edit { path, old, new, all, basis, plan });
    prop_oneof![2 => put, 1 => remove, 4 => write, 4 => edit]
}

/// The model: what is in which file, and which directories there are.
#[derive(Debug, Default, PartialEq)]
struct Model {
    files: BTreeMap<String, String>,
    directories: BTreeSet<String>,
}

impl Model {
    fn parents(path: &str) -> impl Iterator<Item = &str> {
        path.match_indices('/').map(|(at, _)| &path[..at])
    }

    fn has_file_above(&self, path: &str) -> bool {
        Model::parents(path).any(|parent| self.files.contains_key(parent))
    }

    fn put(&mut self, path: &str, content: &str) {
        self.directories.extend(Model::parents(path).map(str::to_owned));
        self.files.insert(path.to_owned(), content.to_owned());
    }

    fn remove(&mut self, path: &str) -> bool {
        let below = format!("{path}/");
        let is_hit = |name: &String| name == path || name.starts_with(&below);
        let was_there = self.files.contains_key(path) || self.directories.contains(path);
        self.files.retain(|name, _| !is_hit(name));
        self.directories.retain(|name| !is_hit(name));
        was_there
    }

    /// What is refused before any guard.
    fn check_place(&self, path: &str) -> Result<(), Code> {
        if self.has_file_above(path) {
            return Err(Code::NotDirectory);
        }
        if self.directories.contains(path) {
            return Err(Code::NotRegularFile);
        }
        Ok(())
    }

    fn expected_content(&self, path: &str, basis: &Basis) -> Option<String> {
        match basis {
            Basis::None | Basis::CreateIfAbsent => None,
            Basis::Current => Some(self.files.get(path).cloned().unwrap_or_else(|| "never there".to_owned())),
            Basis::Of(content) => Some(content.clone()),
        }
    }

    fn after_write(&self, path: &str, content: &str, basis: &Basis) -> Result<String, Code> {
        self.check_place(path)?;
        let there = self.files.get(path);
        match basis {
            Basis::CreateIfAbsent if there.is_some() => return Err(Code::NotObserved),
            Basis::None | Basis::CreateIfAbsent => {}
            Basis::Current | Basis::Of(_) => {
                if there != self.expected_content(path, basis).as_ref() {
                    return Err(Code::StaleVersion);
                }
            }
        }
        Ok(content.to_owned())
    }

    fn after_edit(&self, path: &str, old: &str, new: &str, all: bool, basis: &Basis) -> Result<String, Code> {
        self.check_place(path)?;
        let there = self.files.get(path).ok_or(Code::StaleVersion)?;
        if self.expected_content(path, basis).is_some_and(|expected| expected != *there) {
            return Err(Code::StaleVersion);
        }
        let occurrences = (0..there.len()).filter(|at| there[*at..].starts_with(old)).count();
        match occurrences {
            0 => Err(Code::EditNotFound),
            1 => Ok(there.replacen(old, new, 1)),
            _ if all => Ok(there.replace(old, new)),
            _ => Err(Code::AmbiguousEdit),
        }
    }
}

/// The memory provider never waits, so that its futures are done at once.
fn done<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing waits in memory")
}

fn key_of(provider: &MemoryProvider, path: &str) -> Result<TargetKey, Code> {
    let target = done(provider.resolve_path(&AbortSignal::new(), path)).map_err(|error| error.code())?;
    Ok(target.key)
}

fn write(
    provider: &MemoryProvider,
    path: &str,
    content: &str,
    expected: Option<String>,
    (basis, plan): (&Basis, bool),
) -> Result<Version, Code> {
    let guard = match (basis, expected) {
        (Basis::CreateIfAbsent, _) => WriteGuard::CreateIfAbsent,
        (_, Some(content)) => WriteGuard::ReplaceIfVersion(Version::of(content.as_bytes())),
        (_, None) => WriteGuard::Unconditional,
    };
    let (target, content) = (key_of(provider, path)?, Bytes::copy_from_slice(content.as_bytes()));
    let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
    let abort = AbortSignal::new();
    let report = match plan {
        true => done(provider.plan_write(&abort, request)),
        false => done(provider.write_text(&abort, request)),
    };
    report.map(|report| report.version).map_err(|error| error.code())
}

fn edit(
    provider: &MemoryProvider,
    path: &str,
    edit: EditRequest,
    expected: Option<String>,
    plan: bool,
) -> Result<Version, Code> {
    let guard = match expected {
        Some(content) => EditGuard::ReplaceIfVersion(Version::of(content.as_bytes())),
        None => EditGuard::Unconditional,
    };
    let target = key_of(provider, path)?;
    let request = EditTextRequest { target, edit, guard, want_diff: true, operation_id: None };
    let abort = AbortSignal::new();
    let report = match plan {
        true => done(provider.plan_edit(&abort, request)),
        false => done(provider.edit_text(&abort, request)),
    };
    report.map(|report| report.version).map_err(|error| error.code())
}

fn absolute(path: &str) -> Vec<u8> {
    format!("/ws/{path}").into_bytes()
}

/// What the provider holds, read off from outside.
fn seen(provider: &MemoryProvider) -> Model {
    let mut seen = Model::default();
    let mut pending: Vec<String> = vec![String::new()];
    while let Some(directory) = pending.pop() {
        for name in provider.names(&absolute(&directory)) {
            let path = format!("{directory}{}", String::from_utf8(name).unwrap());
            match provider.content(&absolute(&path)) {
                Some(content) => {
                    seen.files.insert(path, String::from_utf8(content.to_vec()).unwrap());
                }
                None => {
                    pending.push(format!("{path}/"));
                    seen.directories.insert(path);
                }
            }
        }
    }
    seen
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let provider = MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap();
    let mut model = Model::default();
    for step in steps {
        let (path, plan, expected, answer) = match step {
            Step::Put { path, content } => {
                if model.check_place(path).is_ok() {
                    provider.put(&absolute(path), content.clone());
                    model.put(path, &content);
                }
                continue;
            }
            Step::Remove { path } => {
                prop_assert_eq!(provider.remove(&absolute(path)), model.remove(path));
                continue;
            }
            Step::Write { path, content, basis, plan } => {
                let expected_content = model.expected_content(path, &basis);
                let answer = write(&provider, path, &content, expected_content, (&basis, plan));
                (path, plan, model.after_write(path, &content, &basis), answer)
            }
            Step::Edit { path, old, new, all, basis, plan } => {
                let request = EditRequest::new(old.clone(), new.clone(), all).unwrap();
                let answer = edit(&provider, path, request, model.expected_content(path, &basis), plan);
                (path, plan, model.after_edit(path, &old, &new, all, &basis), answer)
            }
        };
        let version = expected.as_ref().map(|content| Version::of(content.as_bytes())).map_err(|code| *code);
        prop_assert_eq!(answer, version);
        if let (Ok(content), false) = (&expected, plan) {
            model.put(path, content);
        }
        prop_assert_eq!(&seen(&provider), &model);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_tree_is_what_the_model_says_after_every_step(steps in prop::collection::vec(step(), 1..40)) {
        run(steps)?;
    }
}

/// A key stands for a place: what it leads to is looked up when it is used.
#[test]
fn an_edit_lands_where_the_key_leads_now() {
    let provider = MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap();
    provider.put(b"/ws/d/f", "one");
    let target = key_of(&provider, "d/f").unwrap();
    provider.remove(b"/ws/d");
    provider.put(b"/ws/e/f", "one");
    provider.make_link(b"/ws/d", "e");
    let change = EditRequest::new("one".to_owned(), "two".to_owned(), false).unwrap();
    let guard = EditGuard::Unconditional;
    let request = EditTextRequest { target, edit: change, guard, want_diff: false, operation_id: None };
    done(provider.edit_text(&AbortSignal::new(), request)).unwrap();
    assert_eq!(provider.content(b"/ws/e/f").unwrap(), "two");
    assert_eq!(provider.kind(b"/ws/d"), Some(FileKind::Symlink));
}

/// Another writer gets ahead between an edit's decision and its publication: the edit matches again on what is there.
#[test]
fn an_edit_that_was_overtaken_is_not_lost_and_loses_nothing() {
    let provider = MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap();
    provider.put(b"/ws/f", "one two");
    let change = EditRequest::new("one".to_owned(), "1".to_owned(), false).unwrap();
    let (target, guard) = (key_of(&provider, "f").unwrap(), EditGuard::Unconditional);
    let request = EditTextRequest { target, edit: change, guard, want_diff: false, operation_id: None };
    let mut overtaken = 0;
    let report = provider.publish(&AbortSignal::new(), &request.target, None, |abort| {
        let decision = provider.decide_edit(abort, &request);
        if overtaken < 3 {
            overtaken += 1;
            provider.put(b"/ws/f", format!("one two {overtaken}"));
        }
        decision
    });
    assert_eq!(provider.content(b"/ws/f").unwrap(), "1 two 3");
    assert_eq!(report.unwrap().version, Version::of(b"1 two 3"));
}

/// The same for a guarded write: what the other one published stays.
#[test]
fn a_guarded_write_that_was_overtaken_is_stale() {
    let provider = MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap();
    provider.put(b"/ws/f", "seen");
    let target = key_of(&provider, "f").unwrap();
    let (content, guard) = (Bytes::from("ours"), WriteGuard::ReplaceIfVersion(Version::of(b"seen")));
    let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
    let result = provider.publish(&AbortSignal::new(), &request.target, None, |abort| {
        let decision = provider.decide_write(abort, &request);
        provider.put(b"/ws/f", "theirs");
        decision
    });
    assert_eq!(result.unwrap_err().code(), Code::StaleVersion);
    assert_eq!(provider.content(b"/ws/f").unwrap(), "theirs");
}

/// Nested roots share one tree, and the longest one names a place.
#[test]
fn a_place_in_two_roots_has_one_key() {
    let config =
        MemoryConfig { roots: vec![b"/ws".to_vec(), b"/ws/sub".to_vec()], ..MemoryConfig::with_root("") };
    let provider = MemoryProvider::new(config).unwrap();
    provider.put(b"/ws/sub/f", "x");
    let from_outer = key_of(&provider, "sub/f").unwrap();
    assert_eq!(from_outer, key_of(&provider, "/ws/sub/f").unwrap());
    let outer = key_of(&provider, ".").unwrap();
    assert!(done(provider.contains(&AbortSignal::new(), &outer, &from_outer)).unwrap());
}

/// A link that leads from one root into another is followed, one that leads between them is not.
#[test]
fn links_lead_from_root_to_root() {
    let config =
        MemoryConfig { roots: vec![b"/one".to_vec(), b"/two".to_vec()], ..MemoryConfig::with_root("") };
    let provider = MemoryProvider::new(config).unwrap();
    provider.put(b"/two/f", "x");
    provider.make_link(b"/one/across", "/two/f");
    provider.make_link(b"/one/relative", "../two/f");
    assert_eq!(key_of(&provider, "across"), key_of(&provider, "/two/f"));
    assert_eq!(key_of(&provider, "relative"), Err(Code::SandboxDenied));
}

#[tokio::test]
async fn what_is_in_memory_is_promised_for_no_longer_than_the_process() {
    let provider = MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap();
    let told = provider.capabilities(&AbortSignal::new()).await.unwrap();
    assert_eq!((told.durability, told.exchange, told.operation_ids), (Durability::None, true, true));
}
