//! The limits of a server: their names, their defaults, their ranges.
//!
//! Every limit that can refuse or shorten something is here, announced by `GetCapabilities` under its name.

use serde::{Deserialize, Serialize};

use crate::error::FsError;

/// The limits by name, as `GetCapabilities` announces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LimitName {
    /// `default_limit_lines`: lines of a read that names no limit.
    DefaultLimitLines,
    /// `max_limit_lines`: a larger `limit` is read as this.
    MaxLimitLines,
    /// `max_window_bytes`: bytes of line text in one read.
    MaxWindowBytes,
    /// `max_line_chars`: Unicode scalar values of a line before it is cut.
    MaxLineChars,
    /// `max_content_bytes`: bytes of `content` in a write.
    MaxContentBytes,
    /// `max_file_bytes`: size of a file after an edit; no limit by default.
    MaxFileBytes,
    /// `max_read_bytes`: bytes of one ReadBytes call on the seam.
    MaxReadBytes,
    /// `max_diff_bytes`: old and new content together, beyond which a diff is left out. Of an edit, the changed lines with
    /// their context count.
    MaxDiffBytes,
    /// `max_message_bytes`: size of one gRPC message.
    MaxMessageBytes,
    /// `max_path_bytes`: length of a path.
    MaxPathBytes,
    /// `near_miss_bytes`: bytes of a file that are searched for near misses.
    NearMissBytes,
    /// `near_miss_ms`: milliseconds that are spent on near misses.
    NearMissMs,
    /// `max_sessions`: sessions that are open at once.
    MaxSessions,
    /// `write_behind_ms`: milliseconds after which an observation is kept for good; a crash may cost younger ones,
    /// unless other servers run on the state: then it is kept at once.
    WriteBehindMs,
    /// `max_remembered_bytes`: bytes of results that are remembered under their `request_id`; the oldest make room.
    MaxRememberedBytes,
}

impl LimitName {
    /// Every limit, in the order in which they are announced.
    pub const ALL: [LimitName; 15] = [
        LimitName::DefaultLimitLines,
        LimitName::MaxLimitLines,
        LimitName::MaxWindowBytes,
        LimitName::MaxLineChars,
        LimitName::MaxContentBytes,
        LimitName::MaxFileBytes,
        LimitName::MaxReadBytes,
        LimitName::MaxDiffBytes,
        LimitName::MaxMessageBytes,
        LimitName::MaxPathBytes,
        LimitName::NearMissBytes,
        LimitName::NearMissMs,
        LimitName::MaxSessions,
        LimitName::WriteBehindMs,
        LimitName::MaxRememberedBytes,
    ];

    /// The stable spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitName::DefaultLimitLines => "default_limit_lines",
            LimitName::MaxLimitLines => "max_limit_lines",
            LimitName::MaxWindowBytes => "max_window_bytes",
            LimitName::MaxLineChars => "max_line_chars",
            LimitName::MaxContentBytes => "max_content_bytes",
            LimitName::MaxFileBytes => "max_file_bytes",
            LimitName::MaxReadBytes => "max_read_bytes",
            LimitName::MaxDiffBytes => "max_diff_bytes",
            LimitName::MaxMessageBytes => "max_message_bytes",
            LimitName::MaxPathBytes => "max_path_bytes",
            LimitName::NearMissBytes => "near_miss_bytes",
            LimitName::NearMissMs => "near_miss_ms",
            LimitName::MaxSessions => "max_sessions",
            LimitName::WriteBehindMs => "write_behind_ms",
            LimitName::MaxRememberedBytes => "max_remembered_bytes",
        }
    }
}

/// The limits in force.
///
/// - every value is at least 1
/// - `default_limit_lines` is at most `max_limit_lines`
/// - `max_window_bytes` holds at least one whole cut line: four times `max_line_chars`
/// - `max_message_bytes` is above `max_content_bytes` by at least a MiB
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// See [`LimitName::DefaultLimitLines`].
    pub default_limit_lines: u64,
    /// See [`LimitName::MaxLimitLines`].
    pub max_limit_lines: u64,
    /// See [`LimitName::MaxWindowBytes`].
    pub max_window_bytes: u64,
    /// See [`LimitName::MaxLineChars`].
    pub max_line_chars: u64,
    /// See [`LimitName::MaxContentBytes`].
    pub max_content_bytes: u64,
    /// See [`LimitName::MaxFileBytes`].
    pub max_file_bytes: Option<u64>,
    /// See [`LimitName::MaxReadBytes`].
    pub max_read_bytes: u64,
    /// See [`LimitName::MaxDiffBytes`].
    pub max_diff_bytes: u64,
    /// See [`LimitName::MaxMessageBytes`].
    pub max_message_bytes: u64,
    /// See [`LimitName::MaxPathBytes`].
    pub max_path_bytes: u64,
    /// See [`LimitName::NearMissBytes`].
    pub near_miss_bytes: u64,
    /// See [`LimitName::NearMissMs`].
    pub near_miss_ms: u64,
    /// See [`LimitName::MaxSessions`].
    pub max_sessions: u64,
    /// See [`LimitName::WriteBehindMs`].
    pub write_behind_ms: u64,
    /// See [`LimitName::MaxRememberedBytes`].
    pub max_remembered_bytes: u64,
}

impl Limits {
    /// The limits of a server that was told nothing else.
    pub const DEFAULT: Limits = Limits {
        default_limit_lines: 2_000,
        max_limit_lines: 2_000,
        max_window_bytes: 51_200,
        max_line_chars: 2_000,
        max_content_bytes: 16 << 20,
        max_file_bytes: None,
        max_read_bytes: 64 << 20,
        max_diff_bytes: 4 << 20,
        max_message_bytes: 64 << 20,
        max_path_bytes: 4_096,
        near_miss_bytes: 4 << 20,
        near_miss_ms: 100,
        max_sessions: 100_000,
        write_behind_ms: 250,
        max_remembered_bytes: 256 << 20,
    };

    /// The value of one limit; `None` where there is none.
    pub fn value(&self, name: LimitName) -> Option<u64> {
        match name {
            LimitName::DefaultLimitLines => Some(self.default_limit_lines),
            LimitName::MaxLimitLines => Some(self.max_limit_lines),
            LimitName::MaxWindowBytes => Some(self.max_window_bytes),
            LimitName::MaxLineChars => Some(self.max_line_chars),
            LimitName::MaxContentBytes => Some(self.max_content_bytes),
            LimitName::MaxFileBytes => self.max_file_bytes,
            LimitName::MaxReadBytes => Some(self.max_read_bytes),
            LimitName::MaxDiffBytes => Some(self.max_diff_bytes),
            LimitName::MaxMessageBytes => Some(self.max_message_bytes),
            LimitName::MaxPathBytes => Some(self.max_path_bytes),
            LimitName::NearMissBytes => Some(self.near_miss_bytes),
            LimitName::NearMissMs => Some(self.near_miss_ms),
            LimitName::MaxSessions => Some(self.max_sessions),
            LimitName::WriteBehindMs => Some(self.write_behind_ms),
            LimitName::MaxRememberedBytes => Some(self.max_remembered_bytes),
        }
    }

    /// Checks the rules in the type's description.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that names the limit, its value and its range.
    pub fn validated(self) -> Result<Limits, FsError> {
        let refuse = |name: LimitName, value: u64, expected: String| {
            Err(FsError::invalid_argument(name.as_str(), value.to_string(), expected))
        };
        for name in LimitName::ALL {
            if self.value(name) == Some(0) {
                return refuse(name, 0, "at least 1".into());
            }
        }
        if self.default_limit_lines > self.max_limit_lines {
            let expected = format!("at most max_limit_lines ({})", self.max_limit_lines);
            return refuse(LimitName::DefaultLimitLines, self.default_limit_lines, expected);
        }
        let widest_line = self.max_line_chars.saturating_mul(4);
        if self.max_window_bytes < widest_line {
            let expected = format!("at least four times max_line_chars ({widest_line})");
            return refuse(LimitName::MaxWindowBytes, self.max_window_bytes, expected);
        }
        let smallest_message = self.max_content_bytes.saturating_add(1 << 20);
        if self.max_message_bytes < smallest_message {
            let expected = format!("at least max_content_bytes and a MiB ({smallest_message})");
            return refuse(LimitName::MaxMessageBytes, self.max_message_bytes, expected);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_keep_their_own_rules() {
        assert_eq!(Limits::DEFAULT.validated().unwrap(), Limits::DEFAULT);
    }

    #[test]
    fn a_limit_out_of_range_is_named() {
        let cases = [
            (Limits { max_sessions: 0, ..Limits::DEFAULT }, "max_sessions"),
            (Limits { max_file_bytes: Some(0), ..Limits::DEFAULT }, "max_file_bytes"),
            (Limits { default_limit_lines: 2_001, ..Limits::DEFAULT }, "default_limit_lines"),
            (Limits { max_window_bytes: 7_999, ..Limits::DEFAULT }, "max_window_bytes"),
            (Limits { max_message_bytes: 16 << 20, ..Limits::DEFAULT }, "max_message_bytes"),
        ];
        for (limits, name) in cases {
            assert!(limits.validated().unwrap_err().message().contains(name));
        }
    }
}
