//! The one error of the file tools: a stable code, what happened, and what the caller can do.
//!
//! An [`FsError`] is a refusal or a failure of the work itself. Mistakes of the transport (no such session, no call
//! given) are not here; the gRPC edge has its own reasons for those.
//! The first cause (an OS error, say) stays inside as [`std::error::Error::source`] for the logs and never leaves
//! the process.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limit::LimitName;
use crate::target::FileKind;
use crate::version::Version;

/// The result of everything that can end in an [`FsError`].
pub type Result<T, E = FsError> = std::result::Result<T, E>;

/// The stable codes, spelled on the wire exactly as [`Code::as_str`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Nothing is at the path.
    NotFound,
    /// A parent of the path is no directory.
    NotDirectory,
    /// What is there has no content: a directory or a special file.
    NotRegularFile,
    /// The content is not UTF-8 text without NUL.
    NotText,
    /// A limit on sizes would be exceeded.
    TooLarge,
    /// The window starts after the end of the file.
    OutOfRange,
    /// The operating system or the file's own mode forbids it.
    PermissionDenied,
    /// The server's own rules forbid it: roots, protected patterns, read-only sessions.
    SandboxDenied,
    /// The disk or a quota is full.
    NoSpace,
    /// The storage failed.
    IoError,
    /// The content is not what the session last saw.
    StaleVersion,
    /// The session has not seen what is there.
    NotObserved,
    /// `old_string` occurs several times.
    AmbiguousEdit,
    /// `old_string` does not occur.
    EditNotFound,
    /// An argument is missing or wrong.
    InvalidArgument,
    /// The provider cannot do this.
    Unsupported,
    /// Not now; the same call may succeed later.
    Unavailable,
    /// Cancelled or out of time.
    Aborted,
}

impl Code {
    /// Every code, in the order of the contract.
    pub const ALL: [Code; 18] = [
        Code::NotFound,
        Code::NotDirectory,
        Code::NotRegularFile,
        Code::NotText,
        Code::TooLarge,
        Code::OutOfRange,
        Code::PermissionDenied,
        Code::SandboxDenied,
        Code::NoSpace,
        Code::IoError,
        Code::StaleVersion,
        Code::NotObserved,
        Code::AmbiguousEdit,
        Code::EditNotFound,
        Code::InvalidArgument,
        Code::Unsupported,
        Code::Unavailable,
        Code::Aborted,
    ];

    /// The stable spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::NotFound => "FS_NOT_FOUND",
            Code::NotDirectory => "FS_NOT_DIRECTORY",
            Code::NotRegularFile => "FS_NOT_REGULAR_FILE",
            Code::NotText => "FS_NOT_TEXT",
            Code::TooLarge => "FS_TOO_LARGE",
            Code::OutOfRange => "FS_OUT_OF_RANGE",
            Code::PermissionDenied => "FS_PERMISSION_DENIED",
            Code::SandboxDenied => "FS_SANDBOX_DENIED",
            Code::NoSpace => "FS_NO_SPACE",
            Code::IoError => "FS_IO_ERROR",
            Code::StaleVersion => "FS_STALE_VERSION",
            Code::NotObserved => "FS_NOT_OBSERVED",
            Code::AmbiguousEdit => "FS_AMBIGUOUS_EDIT",
            Code::EditNotFound => "FS_EDIT_NOT_FOUND",
            Code::InvalidArgument => "FS_INVALID_ARGUMENT",
            Code::Unsupported => "FS_UNSUPPORTED",
            Code::Unavailable => "FS_UNAVAILABLE",
            Code::Aborted => "FS_ABORTED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the effect of the call is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Published {
    /// Nothing changed.
    #[default]
    No,
    /// The new content is in place.
    Yes,
    /// It cannot be known; reading tells.
    Maybe,
}

/// How the bytes of a file that is not UTF-8 seem to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-16, least significant byte first.
    Utf16Le,
    /// UTF-16, most significant byte first.
    Utf16Be,
    /// UTF-32, least significant byte first.
    Utf32Le,
    /// UTF-32, most significant byte first.
    Utf32Be,
}

impl Encoding {
    /// The name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf16Le => "UTF-16LE",
            Encoding::Utf16Be => "UTF-16BE",
            Encoding::Utf32Le => "UTF-32LE",
            Encoding::Utf32Be => "UTF-32BE",
        }
    }
}

/// What stands where a session that did not look wants to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Existing {
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is text that a read would show; absent when that was not looked at.
    pub text: Option<bool>,
}

/// Why a near miss is not a match. Several may hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NearMissReason {
    /// Blanks differ in kind or number inside a line, or blank lines differ.
    WhiteSpace,
    /// Lines are indented by other amounts.
    Indentation,
    /// Tabs stand where spaces were given, or the other way round.
    TabsOrSpaces,
    /// Blanks at the end of a line differ.
    TrailingBlanks,
    /// Quotes or dashes are other characters that look alike.
    LookAlikes,
    /// The characters are the same up to Unicode normal form.
    NormalForm,
    /// `old_string` carries line numbers that a read put before the text.
    LineNumberPrefix,
    /// Backslash escapes are doubled or missing.
    DoubledEscapes,
    /// Letters differ in case.
    LetterCase,
    /// Most lines are the same and some differ.
    SomeLinesDiffer,
}

impl NearMissReason {
    /// The reason as a half sentence: "differs in …".
    pub fn text(self) -> &'static str {
        match self {
            NearMissReason::WhiteSpace => "white space",
            NearMissReason::Indentation => "indentation",
            NearMissReason::TabsOrSpaces => "tabs or spaces",
            NearMissReason::TrailingBlanks => "blanks at line ends",
            NearMissReason::LookAlikes => "quotes or dashes that look alike",
            NearMissReason::NormalForm => "Unicode normal form",
            NearMissReason::LineNumberPrefix => "a line-number prefix in old_string",
            NearMissReason::DoubledEscapes => "doubled backslash escapes",
            NearMissReason::LetterCase => "letter case",
            NearMissReason::SomeLinesDiffer => "some of its lines",
        }
    }
}

/// A place that nearly matches `old_string`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearMiss {
    /// Its first line, from 1.
    pub start_line: u64,
    /// Its last line, inclusive.
    pub end_line: u64,
    /// The text of its first lines: at most [`NearMiss::MAX_LINES`], each cut to [`NearMiss::MAX_LINE_CHARS`].
    pub lines: Vec<String>,
    /// Why it does not match, most telling first; never empty.
    pub reasons: Vec<NearMissReason>,
}

impl NearMiss {
    /// How many near misses an error carries at most.
    pub const MAX_COUNT: usize = 3;
    /// How many lines of text a near miss carries at most.
    pub const MAX_LINES: usize = 5;
    /// How many characters of a line a near miss carries at most.
    pub const MAX_LINE_CHARS: usize = 200;
}

/// Why a search for near misses ended before the whole file was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchStop {
    /// The byte budget was used up.
    Bytes,
    /// The time budget was used up.
    Time,
}

/// Why a call has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnavailableCause {
    /// Another process holds the file open for writing.
    OpenForWriting,
    /// Somebody else kept changing the path while the call tried.
    KeepsChanging,
    /// The provider cannot be reached.
    ProviderUnreachable,
    /// Too much is going on.
    Overloaded,
}

/// Why a call was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AbortCause {
    /// The caller went away.
    Cancelled,
    /// The caller's time is over.
    DeadlineExceeded,
    /// The server is shutting down.
    Draining,
}

/// What went wrong, with the facts that a program needs. One variant per [`Code`].
///
/// Facts are optional where an older server may not tell them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// `FS_NOT_FOUND`
    NotFound {
        /// Up to 3 names of the same directory that look like the one asked for.
        similar_names: Vec<String>,
    },
    /// `FS_NOT_DIRECTORY`
    NotDirectory,
    /// `FS_NOT_REGULAR_FILE`
    NotRegularFile {
        /// What is there; absent when the path itself asks for a directory (`new/`).
        kind: Option<FileKind>,
    },
    /// `FS_NOT_TEXT`
    NotText {
        /// Offset of the first offending byte, from 0.
        byte_offset: u64,
        /// The encoding, where the first bytes name it.
        encoding: Option<Encoding>,
    },
    /// `FS_TOO_LARGE`
    TooLarge {
        /// Which limit.
        limit_name: LimitName,
        /// The limit in bytes.
        limit_bytes: u64,
        /// What was asked for, in bytes; a lower bound where the work stopped early.
        size_bytes: u64,
    },
    /// `FS_OUT_OF_RANGE`
    OutOfRange {
        /// How many lines the file has.
        total_lines: u64,
    },
    /// `FS_PERMISSION_DENIED`
    PermissionDenied,
    /// `FS_SANDBOX_DENIED`
    SandboxDenied {
        /// The rule that forbids it, as `GetCapabilities` shows it.
        rule: String,
    },
    /// `FS_NO_SPACE`
    NoSpace,
    /// `FS_IO_ERROR`
    IoError,
    /// `FS_STALE_VERSION`
    StaleVersion {
        /// What the session had seen; absent for an unguarded edit.
        expected: Option<Version>,
        /// What is there now; absent when nothing is.
        actual: Option<Version>,
    },
    /// `FS_NOT_OBSERVED`
    NotObserved {
        /// What is there; absent when the gate refused before anything was looked at.
        existing: Option<Existing>,
    },
    /// `FS_AMBIGUOUS_EDIT`
    AmbiguousEdit {
        /// How often `old_string` occurs, overlapping occurrences included.
        match_count: u64,
        /// The lines where the first 20 start, from 1.
        lines: Vec<u64>,
    },
    /// `FS_EDIT_NOT_FOUND`
    EditNotFound {
        /// Up to [`NearMiss::MAX_COUNT`] places that nearly match, best first.
        near_misses: Vec<NearMiss>,
        /// Set when the search for them stopped early.
        search_stopped: Option<SearchStop>,
    },
    /// `FS_INVALID_ARGUMENT`
    InvalidArgument {
        /// The argument's name.
        field: String,
        /// What it was: its type only, where it is text.
        actual: String,
        /// What it must be.
        expected: String,
    },
    /// `FS_UNSUPPORTED`
    Unsupported,
    /// `FS_UNAVAILABLE`
    Unavailable {
        /// Why.
        cause: UnavailableCause,
    },
    /// `FS_ABORTED`
    Aborted {
        /// Why.
        cause: AbortCause,
    },
}

impl ErrorKind {
    /// The stable code of this kind.
    pub fn code(&self) -> Code {
        match self {
            ErrorKind::NotFound { .. } => Code::NotFound,
            ErrorKind::NotDirectory => Code::NotDirectory,
            ErrorKind::NotRegularFile { .. } => Code::NotRegularFile,
            ErrorKind::NotText { .. } => Code::NotText,
            ErrorKind::TooLarge { .. } => Code::TooLarge,
            ErrorKind::OutOfRange { .. } => Code::OutOfRange,
            ErrorKind::PermissionDenied => Code::PermissionDenied,
            ErrorKind::SandboxDenied { .. } => Code::SandboxDenied,
            ErrorKind::NoSpace => Code::NoSpace,
            ErrorKind::IoError => Code::IoError,
            ErrorKind::StaleVersion { .. } => Code::StaleVersion,
            ErrorKind::NotObserved { .. } => Code::NotObserved,
            ErrorKind::AmbiguousEdit { .. } => Code::AmbiguousEdit,
            ErrorKind::EditNotFound { .. } => Code::EditNotFound,
            ErrorKind::InvalidArgument { .. } => Code::InvalidArgument,
            ErrorKind::Unsupported => Code::Unsupported,
            ErrorKind::Unavailable { .. } => Code::Unavailable,
            ErrorKind::Aborted { .. } => Code::Aborted,
        }
    }
}

/// A refusal or failure of a file operation.
///
/// - the message says what is wrong, in lower case, without a full stop, and never echoes `old_string`,
///   `new_string` or content
/// - path and remedy are for people and models; the provider leaves the remedy empty, the tool layer fills it in
#[derive(Clone, Serialize, Deserialize)]
pub struct FsError(Box<Parts>);

#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    kind: ErrorKind,
    message: String,
    path: Option<String>,
    remedy: Option<String>,
    published: Published,
    rescue_path: Option<String>,
    /// For the log of the process that met it; it stays there.
    #[serde(skip)]
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl FsError {
    /// An error that changed nothing, without path and remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> FsError {
        FsError(Box::new(Parts {
            kind,
            message: message.into(),
            path: None,
            remedy: None,
            published: Published::No,
            rescue_path: None,
            source: None,
        }))
    }

    /// `FS_INVALID_ARGUMENT`: `field` was `actual` (its type only, for text) and must be `expected`.
    pub fn invalid_argument(
        field: impl Into<String>,
        actual: impl Into<String>,
        expected: impl Into<String>,
    ) -> FsError {
        let (field, actual, expected) = (field.into(), actual.into(), expected.into());
        let message = format!("`{field}` was {actual}, it must be {expected}");
        FsError::new(ErrorKind::InvalidArgument { field, actual, expected }, message)
    }

    /// Names the path as the caller asked for it, in its display form.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> FsError {
        self.0.path = Some(path.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> FsError {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Says whether the effect is there.
    #[must_use]
    pub fn with_published(mut self, published: Published) -> FsError {
        self.0.published = published;
        self
    }

    /// Says where displaced content was kept.
    #[must_use]
    pub fn with_rescue_path(mut self, path: impl Into<String>) -> FsError {
        self.0.rescue_path = Some(path.into());
        self
    }

    /// Keeps the first cause for the logs.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> FsError {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.kind.code()
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The path as asked, if the error is about one.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// What to do next, if the tool layer said so.
    pub fn remedy(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// Whether the effect is there.
    pub fn published(&self) -> Published {
        self.0.published
    }

    /// Where displaced content was kept.
    pub fn rescue_path(&self) -> Option<&str> {
        self.0.rescue_path.as_deref()
    }

    /// Whether the same call, with nothing done in between by its caller, may succeed.
    pub fn is_retryable(&self) -> bool {
        match self.code() {
            Code::Unavailable => true,
            Code::Aborted => self.published() != Published::Maybe,
            Code::NotFound
            | Code::NotDirectory
            | Code::NotRegularFile
            | Code::NotText
            | Code::TooLarge
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::SandboxDenied
            | Code::NoSpace
            | Code::IoError
            | Code::StaleVersion
            | Code::NotObserved
            | Code::AmbiguousEdit
            | Code::EditNotFound
            | Code::InvalidArgument
            | Code::Unsupported => false,
        }
    }
}

impl fmt::Debug for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, message, path, remedy, published, rescue_path, source } = &*self.0;
        f.debug_struct("FsError")
            .field("kind", kind)
            .field("message", message)
            .field("path", path)
            .field("remedy", remedy)
            .field("published", published)
            .field("rescue_path", rescue_path)
            .field("source", source)
            .finish()
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message())
    }
}

impl StdError for FsError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
