//! Records of operations that were carried out under a name.
//!
//! A record is made in the same moment as the effect, while the tree is locked: there is no effect without its record,
//! and no record without its effect. Deliberately absent: an end by age, for which memory has no reliable clock.

use std::collections::{HashMap, VecDeque};

use toolfs_core::error::Result;

use crate::operation::{MIN_RECORDS, Operation, OperationId, RequestDigest};
use crate::refusal;
use crate::report::{EditReport, WriteReport};

/// The records that are kept.
#[derive(Debug, Default)]
pub(super) struct Records {
    by_id: HashMap<OperationId, (RequestDigest, Recorded)>,
    /// From the oldest on.
    order: VecDeque<OperationId>,
}

/// The report of an operation, without its diff.
#[derive(Clone, Debug)]
pub(super) enum Recorded {
    Write(WriteReport),
    Edit(EditReport),
}

/// A report of one kind of mutation.
pub(super) trait Report: Sized {
    fn to_recorded(&self) -> Recorded;
    /// `None` for a report of the other kind.
    fn from_recorded(recorded: &Recorded) -> Option<Self>;
}

impl Report for WriteReport {
    fn to_recorded(&self) -> Recorded {
        Recorded::Write(WriteReport { diff: None, ..self.clone() })
    }

    fn from_recorded(recorded: &Recorded) -> Option<WriteReport> {
        match recorded {
            Recorded::Write(report) => Some(report.clone()),
            Recorded::Edit(_) => None,
        }
    }
}

impl Report for EditReport {
    fn to_recorded(&self) -> Recorded {
        Recorded::Edit(EditReport { diff: None, ..self.clone() })
    }

    fn from_recorded(recorded: &Recorded) -> Option<EditReport> {
        match recorded {
            Recorded::Edit(report) => Some(report.clone()),
            Recorded::Write(_) => None,
        }
    }
}

impl Records {
    /// What an operation reported when it was carried out before.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` when its name was given to another request.
    pub(super) fn recall<R: Report>(&self, operation: &Operation, shown: &str) -> Result<Option<R>> {
        let Some((digest, recorded)) = self.by_id.get(&operation.id) else { return Ok(None) };
        let report = if *digest == operation.digest { R::from_recorded(recorded) } else { None };
        report.map(Some).ok_or_else(|| refusal::operation_id_reused(shown))
    }

    /// Keeps what an operation reported, which has no record yet. The oldest one goes when there are too many.
    pub(super) fn keep(&mut self, operation: Operation, report: &impl Report) {
        self.order.push_back(operation.id.clone());
        self.by_id.insert(operation.id, (operation.digest, report.to_recorded()));
        if self.order.len() > MIN_RECORDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolfs_core::guard::WriteGuard;
    use toolfs_core::outcome::WriteOperation;
    use toolfs_core::target::TargetKey;
    use toolfs_core::version::Version;

    use super::*;
    use crate::request::WriteTextRequest;

    fn operation(name: &str) -> Operation {
        let request = WriteTextRequest {
            target: TargetKey::new(*b"/w\0f"),
            content: "x".into(),
            guard: WriteGuard::Unconditional,
            want_diff: false,
            operation_id: Some(OperationId::parse(name).unwrap()),
        };
        request.operation().unwrap()
    }

    #[test]
    fn the_oldest_record_goes_first_and_never_too_early() {
        let report = WriteReport {
            operation: WriteOperation::Create,
            size_bytes: 1,
            previous_size_bytes: None,
            version: Version::of(b"x"),
            notices: Vec::new(),
            diff: None,
            not_durable: None,
        };
        let mut records = Records::default();
        let is_kept = |records: &Records, number: usize| {
            records.recall::<WriteReport>(&operation(&number.to_string()), "f").unwrap().is_some()
        };
        for number in 0..MIN_RECORDS + 2 {
            records.keep(operation(&number.to_string()), &report);
            assert!(is_kept(&records, number.saturating_sub(MIN_RECORDS - 1)), "{number}");
        }
        assert_eq!((is_kept(&records, 1), is_kept(&records, 2)), (false, true));
        assert_eq!((records.by_id.len(), records.order.len()), (MIN_RECORDS, MIN_RECORDS));
    }
}
