//! The limits as meant.

use toolfs_core::error::ErrorKind;
use toolfs_core::limit::{LimitName, Limits};

use super::{Complaints, ConfigError};
use crate::setting::Setting;
use crate::setting::chosen::Chosen;
use crate::setting::origin::Origin;
use crate::setting::value::Value;

/// Every limit that breaks a rule is told: one that did is put right in thought, and the others are looked at again.
pub(super) fn limits(chosen: &mut Chosen, complaints: &mut Complaints) -> Limits {
    let max_lines = Setting::Limit(LimitName::MaxLimitLines);
    if let Some(max) = chosen.whole(max_lines) {
        // A lower maximum alone is a complete wish.
        let default = Limits::DEFAULT.default_limit_lines.min(max);
        chosen.derive(Setting::Limit(LimitName::DefaultLimitLines), Value::Whole(default));
    }
    let mut limits = Limits::DEFAULT;
    for name in LimitName::ALL {
        if let Some(value) = chosen.whole(Setting::Limit(name)) {
            set(&mut limits, name, value);
        }
    }
    for _ in LimitName::ALL {
        let error = match limits.clone().validated() {
            Ok(limits) => return limits,
            Err(error) => error,
        };
        let broken = if let ErrorKind::InvalidArgument { field, .. } = error.kind() {
            LimitName::ALL.into_iter().find(|name| name.as_str() == field)
        } else {
            None
        };
        let origin = broken.map_or(Origin::Default, |name| chosen.origin(Setting::Limit(name)).clone());
        complaints.0.push(ConfigError::Value { origin, error });
        match broken {
            // The one rule that sets an upper bound.
            Some(LimitName::DefaultLimitLines) => limits.default_limit_lines = 1,
            Some(name) => set(&mut limits, name, u64::MAX),
            None => break,
        }
    }
    Limits::DEFAULT
}

fn set(limits: &mut Limits, name: LimitName, value: u64) {
    match name {
        LimitName::DefaultLimitLines => limits.default_limit_lines = value,
        LimitName::MaxLimitLines => limits.max_limit_lines = value,
        LimitName::MaxWindowBytes => limits.max_window_bytes = value,
        LimitName::MaxLineChars => limits.max_line_chars = value,
        LimitName::MaxContentBytes => limits.max_content_bytes = value,
        LimitName::MaxFileBytes => limits.max_file_bytes = Some(value),
        LimitName::MaxReadBytes => limits.max_read_bytes = value,
        LimitName::MaxDiffBytes => limits.max_diff_bytes = value,
        LimitName::MaxMessageBytes => limits.max_message_bytes = value,
        LimitName::MaxPathBytes => limits.max_path_bytes = value,
        LimitName::NearMissBytes => limits.near_miss_bytes = value,
        LimitName::NearMissMs => limits.near_miss_ms = value,
        LimitName::MaxSessions => limits.max_sessions = value,
        LimitName::WriteBehindMs => limits.write_behind_ms = value,
        LimitName::MaxRememberedBytes => limits.max_remembered_bytes = value,
    }
}
