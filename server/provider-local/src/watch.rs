//! Whether a file stays as it is while one works on it for long.
//!
//! A lease tells, and makes whoever wants to write wait; so it is given back as soon as somebody does, and from then on
//! it is only known that the file may have changed. Where no lease can be had, that is known from the start.
//! Deliberately absent: what follows from it. Readers are never held up.

use std::cell::Cell;
use std::os::fd::AsFd;

use crate::disk::OpenFile;
use crate::fcntl::{Lease, Writers};

/// A look at a file that goes on for a while.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    writers: Writers<'a>,
    is_over: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// Begins to watch a file that nothing of this process has open for writing.
    pub(crate) fn over(open: &'a OpenFile) -> Watch<'a> {
        Watch { writers: Lease::take(open.file.as_fd()), is_over: Cell::new(false) }
    }

    /// Knows nothing of the file, and holds nobody up.
    pub(crate) fn unknowing() -> Watch<'a> {
        Watch { writers: Writers::Unknown, is_over: Cell::new(false) }
    }

    /// Whether somebody had the file open for writing when it began.
    pub(crate) fn found_writer(&self) -> bool {
        matches!(self.writers, Writers::Some)
    }

    /// To be called often: whoever wants to write waits until the next call.
    pub(crate) fn look(&self) {
        if let Some(lease) = self.lease()
            && !lease.is_undisturbed()
        {
            lease.give_back();
            self.is_over.set(true);
        }
    }

    /// Ends it, and tells whether the file is for certain what it was when it began.
    pub(crate) fn end(&self) -> bool {
        let Some(lease) = self.lease() else { return false };
        let is_certain = lease.is_undisturbed();
        lease.give_back();
        self.is_over.set(true);
        is_certain
    }

    fn lease(&self) -> Option<&Lease<'a>> {
        match &self.writers {
            Writers::None(lease) if !self.is_over.get() => Some(lease),
            Writers::None(_) | Writers::Some | Writers::Unknown => None,
        }
    }
}
