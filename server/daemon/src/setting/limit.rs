//! The settings that are limits: each limit that `GetCapabilities` announces is one, under its own name.

use toolfs_core::limit::LimitName;

use super::value::Kind;
use super::{Default, Definition, Group, server};

pub(super) fn definition(name: LimitName) -> Definition {
    let (flag, variable, value_name, doc) = match name {
        LimitName::DefaultLimitLines => (
            "default-limit-lines",
            "TOOLFS_DEFAULT_LIMIT_LINES",
            "LINES",
            "Lines of a read that names no limit; never more than max_limit_lines",
        ),
        LimitName::MaxLimitLines => (
            "max-limit-lines",
            "TOOLFS_MAX_LIMIT_LINES",
            "LINES",
            "Lines of one read: a larger limit is read as this",
        ),
        LimitName::MaxWindowBytes => (
            "max-window-bytes",
            "TOOLFS_MAX_WINDOW_BYTES",
            "BYTES",
            "Bytes of line text in one read; at least four times max_line_chars",
        ),
        LimitName::MaxLineChars => {
            ("max-line-chars", "TOOLFS_MAX_LINE_CHARS", "CHARS", "Characters of a line before it is cut")
        }
        LimitName::MaxContentBytes => {
            ("max-content-bytes", "TOOLFS_MAX_CONTENT_BYTES", "BYTES", "Bytes of content in a write")
        }
        LimitName::MaxFileBytes => {
            ("max-file-bytes", "TOOLFS_MAX_FILE_BYTES", "BYTES", "Bytes of a file after an edit")
        }
        LimitName::MaxReadBytes => {
            ("max-read-bytes", "TOOLFS_MAX_READ_BYTES", "BYTES", "Bytes of one ReadBytes call on the seam")
        }
        LimitName::MaxDiffBytes => (
            "max-diff-bytes",
            "TOOLFS_MAX_DIFF_BYTES",
            "BYTES",
            "Bytes of old and new content together (of an edit: of the changed lines with their context), beyond which \
             a diff is left out",
        ),
        LimitName::MaxMessageBytes => (
            "max-message-bytes",
            "TOOLFS_MAX_MESSAGE_BYTES",
            "BYTES",
            "Bytes of one gRPC message; at least a MiB more than max_content_bytes",
        ),
        LimitName::MaxPathBytes => ("max-path-bytes", "TOOLFS_MAX_PATH_BYTES", "BYTES", "Bytes of a path"),
        LimitName::NearMissBytes => (
            "near-miss-bytes",
            "TOOLFS_NEAR_MISS_BYTES",
            "BYTES",
            "Bytes of a file that are searched for places that nearly match an edit",
        ),
        LimitName::NearMissMs => (
            "near-miss-ms",
            "TOOLFS_NEAR_MISS_MS",
            "MS",
            "Milliseconds that are spent on looking for places that nearly match an edit",
        ),
        LimitName::MaxSessions => {
            ("max-sessions", "TOOLFS_MAX_SESSIONS", "COUNT", "Sessions that are open at once")
        }
        LimitName::WriteBehindMs => (
            "write-behind-ms",
            "TOOLFS_WRITE_BEHIND_MS",
            "MS",
            "Milliseconds after which an observation is kept for good; a crash may cost younger ones, unless \
             other servers run on the state: then it is kept at once",
        ),
        LimitName::MaxRememberedBytes => (
            "max-remembered-bytes",
            "TOOLFS_MAX_REMEMBERED_BYTES",
            "BYTES",
            "Bytes of results that are remembered for retries; the oldest make room",
        ),
    };
    Definition {
        group: Group::Limits,
        kind: Kind::Whole { at_least: 1 },
        ..server(name.as_str(), flag, variable, value_name, Default::Limit(name), doc)
    }
}
