//! A client of ours: it reads a file, and changes what it saw.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use tokio::runtime::Handle;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::{Code, FsError, Published};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::TargetKey;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::{EditTextRequest, WriteTextRequest};
use toolfs_provider::{Provider as _, ProviderExt as _};
use toolfs_provider_local::LocalProvider;

use super::log::{CallLog, Change, Content, Seen, Sighting, Span, content};
use super::{End, TARGETS, file_name};

pub(super) struct Client<'a> {
    number: usize,
    provider: &'a LocalProvider,
    runtime: &'a Handle,
    root: PathBuf,
    /// The targets as they were found at the start.
    keys: Vec<TargetKey>,
    rng: Rng,
    logs: Vec<CallLog>,
    made: u64,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        number: usize,
        provider: &'a LocalProvider,
        runtime: &'a Handle,
        root: &Path,
        rng: Rng,
    ) -> Client<'a> {
        let find = |target| {
            let path = file_name(target);
            runtime.block_on(provider.resolve_path(&AbortSignal::new(), &path)).unwrap().key
        };
        let keys = (0..TARGETS).map(find).collect();
        let logs = (0..TARGETS).map(|_| CallLog::default()).collect();
        Client { number, provider, runtime, root: root.to_owned(), keys, rng, logs, made: 0 }
    }

    /// Changes files until the end.
    pub(super) fn run(mut self, end: &End) -> Vec<CallLog> {
        while !end.is_reached() {
            let target = self.rng.usize(..TARGETS);
            self.change_what_is_there(target, end);
            if self.logs[target].violation.is_some() {
                break;
            }
        }
        self.logs
    }

    fn change_what_is_there(&mut self, target: usize, end: &End) {
        let Some((key, seen)) = self.read(target) else { return };
        if self.rng.u32(..4) == 0 {
            thread::sleep(Duration::from_micros(self.rng.u64(..300)));
        }
        self.made += 1;
        let abort = AbortSignal::new();
        let id = format!("ours {target} {} {}", self.number, self.made);
        let (expected, text) = match seen {
            None => (None, None),
            Some(bytes) => (Some(Content::of(&bytes)), String::from_utf8(bytes).ok()),
        };
        let first_line = text.as_deref().and_then(|text| text.split_once('\n'));
        let edits = self.rng.u32(..3) == 0;
        let (span, new, answer) = match (&expected, first_line) {
            (Some(seen), Some((line, rest))) if edits && !line.is_empty() => {
                let new = Version::of(format!("{id}\n{rest}").as_bytes());
                let request = EditTextRequest {
                    target: key,
                    edit: EditRequest::new(line.to_owned(), id, false).unwrap(),
                    guard: EditGuard::ReplaceIfVersion(seen.version.clone()),
                    want_diff: false,
                    operation_id: None,
                };
                let edit = self.provider.edit_text(&abort, request);
                let (span, answer) = Span::of(|| self.runtime.block_on(edit));
                (span, new, answer.map(|report| report.version))
            }
            (_, _) => {
                let size = [60, 3_000, 40_000][self.rng.usize(..3)];
                let content = content(&id, size);
                let new = Version::of(content.as_bytes());
                let guard = match &expected {
                    Some(seen) => WriteGuard::ReplaceIfVersion(seen.version.clone()),
                    None => WriteGuard::CreateIfAbsent,
                };
                let content = content.into();
                let request =
                    WriteTextRequest { target: key, content, guard, want_diff: false, operation_id: None };
                let write = self.provider.write_text(&abort, request);
                let (span, answer) = Span::of(|| self.runtime.block_on(write));
                (span, new, answer.map(|report| report.version))
            }
        };
        if let Ok(version) = &answer
            && *version != new
        {
            self.logs[target].violation = Some("a change has the version of another content".to_owned());
        }
        if answer.is_ok() {
            end.commits.fetch_add(1, Ordering::Relaxed);
        }
        self.note(target, span, expected, new, answer.err());
    }

    /// What is at a target, by its path or its key; nothing to change where that is no file.
    fn read(&mut self, target: usize) -> Option<(TargetKey, Option<Vec<u8>>)> {
        let (abort, path) = (AbortSignal::new(), file_name(target));
        let by_path = self.rng.bool();
        let known = self.keys[target].clone();
        let (span, answer) = Span::of(|| {
            self.runtime.block_on(async {
                let key = if by_path { self.provider.resolve_path(&abort, &path).await?.key } else { known };
                match self.provider.read_whole(&abort, &key).await {
                    Ok((content, _)) => Ok((key, Some(content))),
                    Err(error) if error.code() == Code::NotFound => Ok((key, None)),
                    Err(error) => Err(error),
                }
            })
        });
        let (seen, found) = match answer {
            Ok((key, Some(content))) => (Seen::Content(Content::of(&content)), Some((key, Some(content)))),
            Ok((key, None)) => (Seen::Absent, Some((key, None))),
            Err(error) => match error.code() {
                Code::NotRegularFile => (Seen::NoFile, None),
                // The stream tells that a file shrank while it was read; and somebody may be at work.
                Code::IoError | Code::Unavailable => return None,
                _ => {
                    self.logs[target].violation = Some(format!("nothing explains {error:?}"));
                    return None;
                }
            },
        };
        self.logs[target].sightings.push(Sighting { span, seen });
        found
    }

    fn note(
        &mut self,
        target: usize,
        span: Span,
        expected: Option<Content>,
        new: Version,
        error: Option<FsError>,
    ) {
        let log = &mut self.logs[target];
        if let Some(rescue) = error.as_ref().and_then(FsError::rescue_path) {
            match Path::new(rescue).strip_prefix(&self.root) {
                Ok(name) => log.rescues.push(name.to_str().unwrap().to_owned()),
                Err(_) => log.violation = Some(format!("`{rescue}` is not beside the target")),
            }
        }
        let refused = error.as_ref().map(FsError::code);
        match refused {
            // Stale, there already, no file by now, a part of a foreign content that is no text, and being at work.
            None
            | Some(
                Code::StaleVersion
                | Code::NotObserved
                | Code::NotRegularFile
                | Code::NotText
                | Code::EditNotFound
                | Code::AmbiguousEdit
                | Code::Unavailable,
            ) => {}
            Some(_) => log.violation = Some(format!("nothing explains {:?}", error.as_ref().unwrap())),
        }
        let published = error.map_or(Published::Yes, |error| error.published());
        log.calls.push(Change { span, expected, new, refused, published });
    }
}
