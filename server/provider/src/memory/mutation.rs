//! Writes and edits: deciding what would happen, which is all that a plan does, and publishing it.

use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::clock::Timestamp;
use toolfs_core::diff::Diff;
use toolfs_core::edit;
use toolfs_core::error::{Existing, FsError, Result};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::notice::{Notice, NoticeKind, line_end_changes};
use toolfs_core::outcome::WriteOperation;
use toolfs_core::target::{FileKind, TargetKey};
use toolfs_core::version::Version;

use super::MemoryProvider;
use super::location::Location;
use super::operation::Report;
use super::tree::{File, NEW_FILE_MODE, Node, Tree};
use crate::abort::AbortSignal;
use crate::operation::Operation;
use crate::patience::CallPatience;
use crate::refusal;
use crate::report::{EditReport, WriteReport};
use crate::request::{EditTextRequest, WriteTextRequest};

/// Set-user-id and set-group-id: a write of an unprivileged process drops them.
const PRIVILEGE_BITS: u32 = 0o6000;
/// The write bits of owner, group and others.
const WRITE_BITS: u32 = 0o222;

/// Where a mutation would land, and what is there.
#[derive(Debug)]
struct Place {
    location: Location,
    existing: Option<Arc<File>>,
    /// What to call it in errors.
    shown: String,
}

impl Place {
    /// Whether nothing that a decision was based on has changed.
    fn is_still(&self, now: &Place) -> bool {
        let same_file = match (&self.existing, &now.existing) {
            (None, None) => true,
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            (None, Some(_)) | (Some(_), None) => false,
        };
        same_file && self.location == now.location
    }

    fn version(&self) -> Option<Version> {
        self.existing.as_ref().map(|file| file.version.clone())
    }

    /// The file that takes the place of what is there.
    fn successor(&self, content: Bytes, modified: Option<Timestamp>) -> File {
        let mode = self.existing.as_ref().map_or(NEW_FILE_MODE, |file| file.mode & !PRIVILEGE_BITS);
        File::new(content, mode, modified)
    }

    /// What the caller of a mutation that puts `new` here must be told.
    fn notices(&self, new: &File) -> Vec<Notice> {
        let Some(old) = &self.existing else { return Vec::new() };
        let mut notices = Vec::new();
        if let (Ok(before), Ok(after)) = (&old.text, &new.text) {
            notices.extend(line_end_changes(before, after));
        }
        if old.mode & PRIVILEGE_BITS != 0 {
            let text = "the set-user-id and set-group-id bits were dropped";
            notices.push(Notice::new(NoticeKind::PrivilegeBitsDropped, text));
        }
        notices
    }
}

/// What a mutation would do: what it reports, and what it puts where.
#[derive(Debug)]
pub(super) struct Decision<R> {
    pub(super) report: R,
    place: Place,
    new: File,
}

impl MemoryProvider {
    /// Decides, and publishes onto exactly what the decision was based on. When that moved, it decides anew: a
    /// guard then refuses, and an unguarded edit matches again. Somebody else got ahead every time, so this ends.
    ///
    /// An operation that was carried out before is answered from its record. Of two at once the one that publishes
    /// second meets the record of the first.
    ///
    /// # Errors
    /// Those of `decide`; `FS_ABORTED` until the new content is in place; `FS_INVALID_ARGUMENT` when the name of the
    /// operation is another one's.
    pub(super) fn publish<R: Report>(
        &self,
        abort: &AbortSignal,
        key: &TargetKey,
        operation: Option<Operation>,
        mut decide: impl FnMut(&AbortSignal) -> Result<Decision<R>>,
    ) -> Result<R> {
        abort.check()?;
        let recall = || match &operation {
            None => Ok(None),
            Some(operation) => self.records().recall(operation, &self.shown(key)?),
        };
        loop {
            if let Some(report) = recall()? {
                return Ok(report);
            }
            let Decision { report, place, new } = match decide(abort) {
                Ok(decision) => decision,
                // What refused this one may be the effect of the same operation, which came first.
                Err(error) => return recall()?.ok_or(error),
            };
            let mut tree = self.tree();
            abort.check()?;
            if let Some(report) = recall()? {
                return Ok(report);
            }
            let (location, shown) = self.locate(&tree, &self.roots.key(&place.location))?;
            if place.is_still(&self.place_at(&tree, location, shown)?) {
                tree.insert(&place.location.names, Node::File(Arc::new(new)));
                if let Some(operation) = operation {
                    self.records().keep(operation, &report);
                }
                return Ok(report);
            }
        }
    }

    /// What a write would do.
    ///
    /// # Errors
    /// Those of [`crate::Provider::write_text`].
    pub(super) fn decide_write(
        &self,
        abort: &AbortSignal,
        request: &WriteTextRequest,
    ) -> Result<Decision<WriteReport>> {
        abort.check()?;
        let place = self.place(&request.target)?;
        let Ok(text) = std::str::from_utf8(&request.content) else {
            return Err(refusal::content_not_utf8(&place.shown));
        };
        match (&request.guard, &place.existing) {
            (WriteGuard::Unconditional, _) | (WriteGuard::CreateIfAbsent, None) => {}
            (WriteGuard::CreateIfAbsent, Some(file)) => {
                let (kind, size) = (FileKind::Regular, file.content.len() as u64);
                let existing = Existing { kind, size, text: Some(file.text.is_ok()) };
                return Err(refusal::not_observed(&place.shown, existing));
            }
            (WriteGuard::ReplaceIfVersion(expected), _) => check_version(&place, Some(expected))?,
        }
        let new = place.successor(request.content.clone(), self.now());
        let old = place.existing.as_ref().map(|file| &file.content[..]);
        let report = WriteReport {
            operation: if old.is_some() { WriteOperation::Update } else { WriteOperation::Create },
            size_bytes: new.content.len() as u64,
            previous_size_bytes: old.map(|content| content.len() as u64),
            version: new.version.clone(),
            notices: place.notices(&new),
            diff: request.want_diff.then(|| Diff::between(old, text, self.limits.max_diff_bytes)),
            not_durable: None,
        };
        Ok(Decision { report, place, new })
    }

    /// What an edit would do.
    ///
    /// # Errors
    /// Those of [`crate::Provider::edit_text`].
    pub(super) fn decide_edit(
        &self,
        abort: &AbortSignal,
        request: &EditTextRequest,
    ) -> Result<Decision<EditReport>> {
        abort.check()?;
        let place = self.place(&request.target)?;
        let expected = match &request.guard {
            EditGuard::Unconditional => None,
            EditGuard::ReplaceIfVersion(version) => Some(version),
        };
        let Some(old) = &place.existing else {
            return Err(refusal::stale(&place.shown, expected.cloned(), None));
        };
        if expected.is_some() {
            check_version(&place, expected)?;
        }
        let patience = CallPatience::new(abort, &self.limits, self.clock.as_deref());
        let edited = edit::apply(&old.content, &request.edit, &self.limits, &patience)
            .map_err(|refused| FsError::from(refused).with_path(&place.shown))?;
        let new = place.successor(edited.content.into(), self.now());
        let report = EditReport {
            matches: edited.matches,
            changed: edited.changed,
            size_bytes: new.content.len() as u64,
            version: new.version.clone(),
            notices: place.notices(&new),
            diff: request.want_diff.then_some(edited.diff),
            not_durable: None,
        };
        Ok(Decision { report, place, new })
    }

    /// Where a mutation of this target lands, after what does not depend on its guard: its kind, protection and
    /// permission, in this order.
    fn place(&self, key: &TargetKey) -> Result<Place> {
        let tree = self.tree();
        let (location, shown) = self.locate(&tree, key)?;
        self.place_at(&tree, location, shown)
    }

    fn place_at(&self, tree: &Tree, location: Location, shown: String) -> Result<Place> {
        let existing = match tree.get(&location.names) {
            None if location.wants_directory => return Err(refusal::asks_for_directory(shown)),
            None => None,
            Some(Node::File(file)) => Some(file.clone()),
            Some(node @ (Node::Directory(_) | Node::Link(_) | Node::Special(_))) => {
                return Err(refusal::not_regular(shown, node.kind()));
            }
        };
        if let Some(rule) = self.rule_for(&location) {
            return Err(refusal::protected(shown, rule));
        }
        if existing.as_ref().is_some_and(|file| file.mode & WRITE_BITS == 0) {
            return Err(refusal::not_writable(shown));
        }
        Ok(Place { location, existing, shown })
    }

    fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(|clock| clock.now())
    }
}

fn check_version(place: &Place, expected: Option<&Version>) -> Result<()> {
    let actual = place.version();
    if actual.as_ref() == expected {
        return Ok(());
    }
    Err(refusal::stale(&place.shown, expected.cloned(), actual))
}
