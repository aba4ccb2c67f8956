//! The calls that an attack is tried with, and everything that an answer tells.

use futures_util::StreamExt as _;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::{FsError, Result};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::version::Version;
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::content::{ContentPart, ContentStream};
use toolfs_provider::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};
use toolfs_provider::{Provider, ProviderExt as _};

use super::ground::{CANARY, CANARY_NAME, Ground, INSIDE};

/// What an edit replaces, and by what. It finds that in [`INSIDE`].
const OLD: &str = "inside";
const NEW: &str = "edited";

const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    ReadLines,
    ReadText,
    ReadBytes,
    Stat,
    StatVersion,
    Lstat,
    ListDir,
    Create,
    Write,
    /// A write of what was seen.
    Replace,
    Edit,
    PlanCreate,
    PlanWrite,
    PlanEdit,
}

impl Call {
    pub(crate) const ALL: [Call; 14] = [
        Call::ReadLines,
        Call::ReadText,
        Call::ReadBytes,
        Call::Stat,
        Call::StatVersion,
        Call::Lstat,
        Call::ListDir,
        Call::Create,
        Call::Write,
        Call::Replace,
        Call::Edit,
        Call::PlanCreate,
        Call::PlanWrite,
        Call::PlanEdit,
    ];

    /// Whether it only looks.
    pub(crate) fn is_look(self) -> bool {
        match self {
            Call::ReadLines
            | Call::ReadText
            | Call::ReadBytes
            | Call::Stat
            | Call::StatVersion
            | Call::Lstat
            | Call::ListDir => true,
            Call::Create
            | Call::Write
            | Call::Replace
            | Call::Edit
            | Call::PlanCreate
            | Call::PlanWrite
            | Call::PlanEdit => false,
        }
    }

    /// What is in the place when it worked on [`INSIDE`] or on nothing, where it changes anything; a write wrote
    /// `text`.
    pub(crate) fn publishes(self, text: &str) -> Option<String> {
        match self {
            Call::Create | Call::Write | Call::Replace => Some(text.to_owned()),
            Call::Edit => Some(INSIDE.replace(OLD, NEW)),
            Call::ReadLines
            | Call::ReadText
            | Call::ReadBytes
            | Call::Stat
            | Call::StatVersion
            | Call::Lstat
            | Call::ListDir
            | Call::PlanCreate
            | Call::PlanWrite
            | Call::PlanEdit => None,
        }
    }
}

/// Whether a content is one that was inside from the start, or that such calls made of it.
pub(crate) fn is_of_inside(content: &[u8]) -> bool {
    let Ok(content) = std::str::from_utf8(content) else { return false };
    let written = content.strip_prefix("written ").and_then(|rest| rest.split_once(' '));
    let rest = match written {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        Some(_) | None => content,
    };
    rest == INSIDE || rest == INSIDE.replace(OLD, NEW)
}

/// What the write with that number writes.
pub(crate) fn written(number: u64) -> String {
    format!("written {number} {INSIDE}")
}

/// What an answer told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The content that was read.
    pub(crate) content: Option<Vec<u8>>,
    /// Every byte of the answer that a caller sees, and that of the search for the target.
    pub(crate) everything: Vec<u8>,
}

impl Told {
    fn content(content: Vec<u8>) -> Told {
        Told { content: Some(content), everything: Vec::new() }
    }

    fn text(text: &str) -> Told {
        Told { content: None, everything: text.as_bytes().to_vec() }
    }

    fn and(mut self, target: &Target) -> Told {
        let parts: [&[u8]; 5] = [
            self.content.as_deref().unwrap_or_default(),
            target.key.as_bytes(),
            &target.raw_path,
            &target.process_path,
            target.display_path.as_bytes(),
        ];
        let told = parts.concat();
        self.everything.extend_from_slice(&told);
        self
    }
}

/// Every byte of a refusal that a caller sees.
pub(crate) fn told_by(error: &FsError) -> Vec<u8> {
    // What stays inside the process is not serialized.
    serde_json::to_vec(error).unwrap()
}

/// Sees that nothing of an answer comes from outside, but for what its caller said itself.
///
/// # Errors
/// What comes from there.
pub(crate) fn check_told(ground: &Ground, path: &[u8], told: &[u8]) -> std::result::Result<(), String> {
    let places = ["{base}/outside", "{base}/root-evil", "{base}/away", "{base}/heap"];
    let places = places.map(|place| ground.fill(place.as_bytes()));
    let secrets = [CANARY.trim_end().as_bytes(), CANARY_NAME.as_bytes(), b"/etc/passwd"];
    let secrets = secrets.into_iter().chain(places.iter().map(Vec::as_slice));
    match secrets.filter(|secret| !contains(path, secret)).find(|secret| contains(told, secret)) {
        Some(secret) => {
            Err(format!("it told \"{}\", which is outside: {}", secret.escape_ascii(), told.escape_ascii()))
        }
        None => Ok(()),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Finds where a path leads, lets `between` happen, and makes the call; a write writes `text`.
pub(crate) async fn perform(
    provider: &impl Provider,
    call: Call,
    path: &[u8],
    text: &str,
    between: impl FnOnce(),
) -> Result<Told> {
    let abort = AbortSignal::new();
    let asked = ResolveRequest { cwd: None, path: path.to_vec() };
    if call == Call::Lstat {
        between();
        return Ok(Told::text(&format!("{:?}", provider.lstat(&abort, &asked).await?)));
    }
    let target = provider.resolve(&abort, &asked).await?;
    between();
    Ok(at(provider, call, &target.key, text).await?.and(&target))
}

/// Makes a call on a target; a write writes `text`.
pub(crate) async fn at(provider: &impl Provider, call: Call, key: &TargetKey, text: &str) -> Result<Told> {
    let abort = AbortSignal::new();
    let write = |guard| WriteTextRequest {
        target: key.clone(),
        content: text.to_owned().into(),
        guard,
        want_diff: true,
        operation_id: None,
    };
    let edit = || EditTextRequest {
        target: key.clone(),
        edit: EditRequest::new(OLD.to_owned(), NEW.to_owned(), false).unwrap(),
        guard: EditGuard::Unconditional,
        want_diff: true,
        operation_id: None,
    };
    Ok(match call {
        Call::ReadLines => {
            let report = provider.read_lines(&abort, key, WINDOW).await?;
            Told::content(
                report.window.block.lines().flat_map(|line| [line.text, "\n"]).collect::<String>().into(),
            )
        }
        Call::ReadText => Told::content(whole(provider.read_text(&abort, key).await?).await?),
        Call::ReadBytes => {
            Told::content(whole(provider.read_bytes(&abort, key, ByteRange::WHOLE).await?).await?)
        }
        Call::Stat => Told::text(&format!("{:?}", provider.stat(&abort, key, false).await?)),
        Call::StatVersion => Told::text(&format!("{:?}", provider.stat(&abort, key, true).await?)),
        Call::Lstat => {
            let name = String::from_utf8_lossy(key.as_bytes()).replace('\0', "/");
            let asked = ResolveRequest { cwd: None, path: name.into_bytes() };
            Told::text(&format!("{:?}", provider.lstat(&abort, &asked).await?))
        }
        Call::ListDir => {
            let entries = provider.list_whole(&abort, key).await?;
            let names: Vec<_> = entries.into_iter().map(|entry| entry.raw_name).collect();
            Told { content: None, everything: names.join(&b'\n') }
        }
        Call::Create => report(&provider.write_text(&abort, write(WriteGuard::CreateIfAbsent)).await?),
        Call::Write => report(&provider.write_text(&abort, write(WriteGuard::Unconditional)).await?),
        Call::Replace => {
            let seen = WriteGuard::ReplaceIfVersion(Version::of(INSIDE.as_bytes()));
            report(&provider.write_text(&abort, write(seen)).await?)
        }
        Call::Edit => report(&provider.edit_text(&abort, edit()).await?),
        Call::PlanCreate => report(&provider.plan_write(&abort, write(WriteGuard::CreateIfAbsent)).await?),
        Call::PlanWrite => report(&provider.plan_write(&abort, write(WriteGuard::Unconditional)).await?),
        Call::PlanEdit => report(&provider.plan_edit(&abort, edit()).await?),
    })
}

fn report(report: &impl serde::Serialize) -> Told {
    Told { content: None, everything: serde_json::to_vec(report).unwrap() }
}

async fn whole(mut stream: ContentStream) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    while let Some(part) = stream.parts.next().await {
        match part? {
            ContentPart::Chunk(chunk) => content.extend_from_slice(&chunk),
            ContentPart::End(_) => break,
        }
    }
    Ok(content)
}
