//! Guards and observations, in both directions.

use toolfs_contract::v1;
use toolfs_contract::v1::write_guard::Condition as WriteCondition;
use toolfs_contract::v1::{edit_guard::Condition as EditCondition, observation::State};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};

use crate::field::{Broken, required, version};

/// The guard of a write, as it travels.
pub fn write_guard_message(guard: &WriteGuard) -> v1::WriteGuard {
    let condition = match guard {
        WriteGuard::Unconditional => WriteCondition::Unconditional(v1::Unconditional {}),
        WriteGuard::CreateIfAbsent => WriteCondition::CreateIfAbsent(v1::CreateIfAbsent {}),
        WriteGuard::ReplaceIfVersion(version) => WriteCondition::ReplaceIfVersion(version.to_string()),
    };
    v1::WriteGuard { condition: Some(condition) }
}

/// The guard of an edit, as it travels.
pub fn edit_guard_message(guard: &EditGuard) -> v1::EditGuard {
    let condition = match guard {
        EditGuard::Unconditional => EditCondition::Unconditional(v1::Unconditional {}),
        EditGuard::ReplaceIfVersion(version) => EditCondition::ReplaceIfVersion(version.to_string()),
    };
    v1::EditGuard { condition: Some(condition) }
}

/// What was seen, as it travels.
pub fn observation_message(observation: &Observation) -> v1::Observation {
    let state = match observation {
        Observation::Absent => State::Absent(v1::Absent {}),
        Observation::Present(version) => State::PresentVersion(version.to_string()),
    };
    v1::Observation { state: Some(state) }
}

/// The guard of a write that a peer chose. An arm that this build does not know is a guard that is missing: no other
/// one may stand in for it.
///
/// # Errors
/// [`Broken`]
pub fn write_guard(guard: Option<v1::WriteGuard>) -> Result<WriteGuard, Broken> {
    Ok(match required("guard", guard.and_then(|guard| guard.condition))? {
        WriteCondition::Unconditional(v1::Unconditional {}) => WriteGuard::Unconditional,
        WriteCondition::CreateIfAbsent(v1::CreateIfAbsent {}) => WriteGuard::CreateIfAbsent,
        WriteCondition::ReplaceIfVersion(text) => {
            WriteGuard::ReplaceIfVersion(version("guard.replace_if_version", &text)?)
        }
    })
}

/// The guard of an edit that a peer chose.
///
/// # Errors
/// [`Broken`], as for [`write_guard`].
pub fn edit_guard(guard: Option<v1::EditGuard>) -> Result<EditGuard, Broken> {
    Ok(match required("guard", guard.and_then(|guard| guard.condition))? {
        EditCondition::Unconditional(v1::Unconditional {}) => EditGuard::Unconditional,
        EditCondition::ReplaceIfVersion(text) => {
            EditGuard::ReplaceIfVersion(version("guard.replace_if_version", &text)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use toolfs_core::version::Version;

    use super::*;

    #[test]
    fn guards_come_back_as_they_went() {
        let version = Version::of(b"seen");
        let writes = [
            WriteGuard::Unconditional,
            WriteGuard::CreateIfAbsent,
            WriteGuard::ReplaceIfVersion(version.clone()),
        ];
        for guard in writes {
            assert_eq!(write_guard(Some(write_guard_message(&guard))).unwrap(), guard);
        }
        for guard in [EditGuard::Unconditional, EditGuard::ReplaceIfVersion(version)] {
            assert_eq!(edit_guard(Some(edit_guard_message(&guard))).unwrap(), guard);
        }
    }

    #[test]
    fn a_guard_that_is_missing_or_unknown_is_never_taken_for_another() {
        assert!(write_guard(None).is_err());
        assert!(write_guard(Some(v1::WriteGuard { condition: None })).is_err());
        assert!(edit_guard(Some(v1::EditGuard { condition: None })).is_err());
        let long = WriteCondition::ReplaceIfVersion("v".repeat(129));
        assert!(write_guard(Some(v1::WriteGuard { condition: Some(long) })).is_err());
        let empty = EditCondition::ReplaceIfVersion(String::new());
        assert!(edit_guard(Some(v1::EditGuard { condition: Some(empty) })).is_err());
    }
}
