//! What to do next: the one place that adds remedies to errors, in the words of the tools.
//!
//! Providers and gates say what is wrong; only here is it known which tool was called, and whether in a session. A
//! remedy is one line, names the next step, and repeats no content.

use toolfs_core::argument::ToolName;
use toolfs_core::error::{
    AbortCause, Code, ErrorKind, Existing, FsError, NearMiss, NearMissReason, Published, UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_provider::refusal::{READ_ONLY_RULE, ROOTS_RULE};

/// The rule that is named when a path lies under a root of the server and under none of its session's.
pub(crate) const SESSION_ROOTS_RULE: &str = "session-roots";

/// What was tried when an error came up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The tool; `None` when the call names none that exists.
    pub(crate) tool: Option<ToolName>,
    /// Whether the call came in a session.
    pub(crate) in_session: bool,
}

/// The error with what to do next, unless that was said already.
pub(crate) fn add(error: FsError, attempt: Attempt) -> FsError {
    if error.remedy().is_some() {
        return error;
    }
    let remedy = remedy(&error, attempt);
    error.with_remedy(remedy)
}

/// What to do when the directory that relative paths start from is gone.
pub(crate) fn for_lost_cwd(error: FsError) -> FsError {
    error.with_remedy("use an absolute path, or open a session with a `cwd` that exists")
}

/// The error of a session operation about the directory that `field` names, with what to do next.
pub(crate) fn add_for_directory(error: FsError, field: &str) -> FsError {
    let remedy = match error.code() {
        Code::NotFound | Code::NotDirectory => format!("let `{field}` name existing directories only"),
        Code::SandboxDenied if field == "cwd" => {
            "let `cwd` lie beneath the roots that the session asks for, or else beneath those that are served"
                .into()
        }
        Code::SandboxDenied => format!("let `{field}` lie beneath the roots that are served"),
        Code::NotRegularFile
        | Code::NotText
        | Code::TooLarge
        | Code::OutOfRange
        | Code::PermissionDenied
        | Code::NoSpace
        | Code::IoError
        | Code::StaleVersion
        | Code::NotObserved
        | Code::AmbiguousEdit
        | Code::EditNotFound
        | Code::InvalidArgument
        | Code::Unsupported
        | Code::Unavailable
        | Code::Aborted => refused(error.kind(), Attempt { tool: None, in_session: false }),
    };
    error.with_remedy(remedy)
}

fn remedy(error: &FsError, attempt: Attempt) -> String {
    match error.published() {
        Published::No => refused(error.kind(), attempt),
        Published::Maybe => "read the file to see whether the change is there, then go on from what it shows".into(),
        Published::Yes => {
            "go on, the change is there; if it must survive a power cut, write it again when the storage works".into()
        }
    }
}

fn refused(kind: &ErrorKind, attempt: Attempt) -> String {
    match kind {
        ErrorKind::NotFound { similar_names } => not_found(similar_names, attempt.tool),
        ErrorKind::NotDirectory => "use a path whose parents are directories".into(),
        ErrorKind::NotRegularFile { .. } => "use the path of a regular file".into(),
        ErrorKind::NotText { .. } => match attempt.tool {
            Some(ToolName::Edit) => {
                "only UTF-8 text can be edited: leave this file alone, or use another path".into()
            }
            Some(ToolName::Read | ToolName::Write) | None => {
                "only UTF-8 text can be read: leave this file alone, or use another path".into()
            }
        },
        ErrorKind::TooLarge { limit_name, limit_bytes, .. } => too_large(*limit_name, *limit_bytes),
        ErrorKind::OutOfRange { total_lines: 0 } => "the file is empty: leave `offset` out".into(),
        ErrorKind::OutOfRange { total_lines } => format!("use an `offset` from 1 to {total_lines}"),
        ErrorKind::PermissionDenied => "use another path, or ask for the permission".into(),
        ErrorKind::SandboxDenied { rule } => sandbox_denied(rule),
        ErrorKind::NoSpace => "free space, then retry".into(),
        ErrorKind::IoError => "retry once; if it fails again, tell the operator of the storage".into(),
        ErrorKind::StaleVersion { actual, .. } => stale(actual.is_some(), attempt),
        ErrorKind::NotObserved { existing } => not_observed(existing.as_ref(), attempt),
        ErrorKind::AmbiguousEdit { .. } => {
            "narrow the match: add lines before or after it to `old_string` until it \
                                            occurs once; or set `replace_all` to change every occurrence"
                .into()
        }
        ErrorKind::EditNotFound { near_misses, .. } => edit_not_found(near_misses),
        ErrorKind::InvalidArgument { field, .. } => format!("correct `{field}`, then retry"),
        ErrorKind::Unsupported => "this server cannot do that: find another way".into(),
        ErrorKind::Unavailable { cause } => unavailable(*cause).into(),
        ErrorKind::Aborted { cause } => aborted(*cause).into(),
    }
}

fn not_found(similar_names: &[String], tool: Option<ToolName>) -> String {
    match tool {
        Some(ToolName::Read) | None if similar_names.is_empty() => {
            "check the path; a new file is made with `write`".into()
        }
        Some(ToolName::Read) | None => {
            "if one of the similar names is meant, use it exactly as it is spelled there".into()
        }
        Some(ToolName::Write) => {
            "retry; a path with `..` after a directory that does not exist leads nowhere".into()
        }
        Some(ToolName::Edit) => {
            "read it again, then retry if it is there now; if it is not, make it with `write`".into()
        }
    }
}

fn too_large(limit: LimitName, limit_bytes: u64) -> String {
    match limit {
        LimitName::MaxContentBytes => {
            format!("give at most {limit_bytes} bytes at once; add the rest with `edit`")
        }
        LimitName::MaxFileBytes => format!("keep the file at {limit_bytes} bytes or less"),
        LimitName::DefaultLimitLines
        | LimitName::MaxLimitLines
        | LimitName::MaxWindowBytes
        | LimitName::MaxLineChars
        | LimitName::MaxReadBytes
        | LimitName::MaxDiffBytes
        | LimitName::MaxMessageBytes
        | LimitName::MaxPathBytes
        | LimitName::NearMissBytes
        | LimitName::NearMissMs
        | LimitName::MaxSessions
        | LimitName::WriteBehindMs
        | LimitName::MaxRememberedBytes => format!("ask for at most {limit_bytes} bytes"),
    }
}

fn sandbox_denied(rule: &str) -> String {
    match rule {
        ROOTS_RULE => "use a path beneath the roots that are served".into(),
        SESSION_ROOTS_RULE => "use a path beneath the roots of this session".into(),
        READ_ONLY_RULE => "only reading is allowed here: leave the file as it is".into(),
        pattern => format!("leave everything named `{pattern}` and all below it as it is"),
    }
}

fn stale(something_is_there: bool, attempt: Attempt) -> String {
    match (something_is_there, attempt.tool) {
        (true, _) => "read it again, then retry with what is there now".into(),
        (false, Some(ToolName::Edit)) => "read it again; if it is gone, make it with `write`".into(),
        (false, Some(ToolName::Read | ToolName::Write) | None) => {
            "read it again; if it is gone, retry to make it".into()
        }
    }
}

fn not_observed(existing: Option<&Existing>, attempt: Attempt) -> String {
    let readable = existing.is_none_or(|there| there.kind == FileKind::Regular && there.text != Some(false));
    if !readable {
        return "what is there cannot be read as text: use another path".into();
    }
    match (attempt.in_session, existing) {
        (false, _) => "open a session and read the file in it, then retry in that session".into(),
        (true, Some(Existing { text: None, .. })) => {
            "read it first, then retry; if it is no text, use another path".into()
        }
        (true, Some(_) | None) => "read it first, then retry".into(),
    }
}

fn edit_not_found(near_misses: &[NearMiss]) -> String {
    match near_misses.first().and_then(|nearest| nearest.reasons.first()) {
        None => "read the part that is to change, and copy `old_string` from it exactly".into(),
        Some(NearMissReason::LineNumberPrefix) => {
            "leave the line numbers and the colon after them out of `old_string`".into()
        }
        Some(NearMissReason::DoubledEscapes) => {
            "write `old_string` as the file has it: nothing in it is unescaped here".into()
        }
        Some(
            NearMissReason::WhiteSpace
            | NearMissReason::Indentation
            | NearMissReason::TabsOrSpaces
            | NearMissReason::TrailingBlanks
            | NearMissReason::LookAlikes
            | NearMissReason::NormalForm
            | NearMissReason::LetterCase
            | NearMissReason::SomeLinesDiffer,
        ) => "if a place shown is meant, copy `old_string` from it exactly; else read the file again".into(),
    }
}

fn unavailable(cause: UnavailableCause) -> &'static str {
    match cause {
        UnavailableCause::OpenForWriting => "wait until the other process has closed the file, then retry",
        UnavailableCause::KeepsChanging => "wait until nobody else is changing the path, then retry",
        UnavailableCause::ProviderUnreachable | UnavailableCause::Overloaded => "retry a little later",
    }
}

fn aborted(cause: AbortCause) -> &'static str {
    match cause {
        AbortCause::Cancelled => "retry if it is still wanted",
        AbortCause::DeadlineExceeded => "retry with more time",
        AbortCause::Draining => "retry when the server is back",
    }
}

#[cfg(test)]
mod tests;
