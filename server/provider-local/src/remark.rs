//! Notices as they gather: one of each kind.

use toolfs_core::notice::{Notice, NoticeKind};

/// Remarks on one mutation, in the order in which they came up. A second one of a kind is left out: the same thing
/// is seen when a mutation is judged and when it is published.
#[derive(Debug, Default)]
pub(crate) struct Remarks(Vec<Notice>);

impl Remarks {
    pub(crate) fn add(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.extend([Notice::new(kind, text)]);
    }

    pub(crate) fn extend(&mut self, notices: impl IntoIterator<Item = Notice>) {
        for notice in notices {
            if self.0.iter().all(|known| known.kind != notice.kind) {
                self.0.push(notice);
            }
        }
    }

    pub(crate) fn into_notices(self) -> Vec<Notice> {
        self.0
    }
}

impl From<Vec<Notice>> for Remarks {
    fn from(notices: Vec<Notice>) -> Remarks {
        Remarks(notices)
    }
}
