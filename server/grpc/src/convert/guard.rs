//! Guards, in both directions.

use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, edit_guard, write_guard};
use toolfs_core::error::FsError;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::version::{MAX_VERSION_CHARS, Version};

use crate::status;

/// The guard of a write, as it goes out.
pub(crate) fn write_guard(guard: WriteGuard) -> v1::WriteGuard {
    use write_guard::Condition;
    let condition = match guard {
        WriteGuard::Unconditional => Condition::Unconditional(v1::Unconditional {}),
        WriteGuard::CreateIfAbsent => Condition::CreateIfAbsent(v1::CreateIfAbsent {}),
        WriteGuard::ReplaceIfVersion(version) => Condition::ReplaceIfVersion(version.to_string()),
    };
    v1::WriteGuard { condition: Some(condition) }
}

/// The guard of an edit, as it goes out.
pub(crate) fn edit_guard(guard: EditGuard) -> v1::EditGuard {
    use edit_guard::Condition;
    let condition = match guard {
        EditGuard::Unconditional => Condition::Unconditional(v1::Unconditional {}),
        EditGuard::ReplaceIfVersion(version) => Condition::ReplaceIfVersion(version.to_string()),
    };
    v1::EditGuard { condition: Some(condition) }
}

/// The guard of a write, as it comes in. One that is not known arrives without its condition.
///
/// # Errors
/// `GUARD_MISSING`; `FS_INVALID_ARGUMENT` for a version that is none.
pub(crate) fn asked_write_guard(guard: Option<v1::WriteGuard>) -> Result<WriteGuard, Status> {
    use write_guard::Condition;
    match guard.and_then(|guard| guard.condition) {
        Some(Condition::Unconditional(v1::Unconditional {})) => Ok(WriteGuard::Unconditional),
        Some(Condition::CreateIfAbsent(v1::CreateIfAbsent {})) => Ok(WriteGuard::CreateIfAbsent),
        Some(Condition::ReplaceIfVersion(text)) => {
            Ok(WriteGuard::ReplaceIfVersion(version("replace_if_version", &text)?))
        }
        None => Err(missing("set `unconditional`, `create_if_absent` or `replace_if_version`")),
    }
}

/// The guard of an edit, as it comes in. One that is not known arrives without its condition.
///
/// # Errors
/// As [`asked_write_guard`].
pub(crate) fn asked_edit_guard(guard: Option<v1::EditGuard>) -> Result<EditGuard, Status> {
    use edit_guard::Condition;
    match guard.and_then(|guard| guard.condition) {
        Some(Condition::Unconditional(v1::Unconditional {})) => Ok(EditGuard::Unconditional),
        Some(Condition::ReplaceIfVersion(text)) => {
            Ok(EditGuard::ReplaceIfVersion(version("replace_if_version", &text)?))
        }
        None => Err(missing("set `unconditional` or `replace_if_version`")),
    }
}

/// A version, as it comes in.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names `field`.
pub(crate) fn version(field: &str, text: &str) -> Result<Version, Status> {
    Version::parse(text).ok_or_else(|| {
        let actual = if text.is_empty() { "empty" } else { "text that is no version" };
        let expected = format!("1 to {MAX_VERSION_CHARS} printable ASCII characters without blanks");
        status::between_processes(&FsError::invalid_argument(field, actual, expected))
    })
}

fn missing(what_to_do: &str) -> Status {
    let message = format!("the request has no guard that this server knows: {what_to_do}");
    status::refused(CallReason::GuardMissing, &message)
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;

    use super::*;

    fn reason(status: &Status) -> String {
        status.get_details_error_info().expect("every status of ours has its reason").reason
    }

    #[test]
    fn each_guard_goes_out_and_comes_back() {
        let version = Version::of(b"x");
        for guard in [
            WriteGuard::Unconditional,
            WriteGuard::CreateIfAbsent,
            WriteGuard::ReplaceIfVersion(version.clone()),
        ] {
            assert_eq!(asked_write_guard(Some(write_guard(guard.clone()))).unwrap(), guard);
        }
        for guard in [EditGuard::Unconditional, EditGuard::ReplaceIfVersion(version)] {
            assert_eq!(asked_edit_guard(Some(edit_guard(guard.clone()))).unwrap(), guard);
        }
    }

    #[test]
    fn no_guard_is_never_read_as_none_wanted() {
        let unknown_arm = || v1::WriteGuard { condition: None };
        for guard in [None, Some(unknown_arm())] {
            assert_eq!(reason(&asked_write_guard(guard).unwrap_err()), "GUARD_MISSING");
        }
        for guard in [None, Some(v1::EditGuard { condition: None })] {
            assert_eq!(reason(&asked_edit_guard(guard).unwrap_err()), "GUARD_MISSING");
        }
    }

    #[test]
    fn a_version_that_is_none_is_refused_and_not_repeated() {
        for text in ["", "a b", "é", "x\n", &"x".repeat(MAX_VERSION_CHARS + 1)] {
            let condition = Some(write_guard::Condition::ReplaceIfVersion(text.to_owned()));
            let refused = asked_write_guard(Some(v1::WriteGuard { condition })).unwrap_err();
            assert_eq!(reason(&refused), "FS_INVALID_ARGUMENT");
            assert!(refused.message().contains("`replace_if_version`"), "{}", refused.message());
        }
    }
}
