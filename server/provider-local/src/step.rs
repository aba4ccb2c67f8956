//! The steps of a publication by name, so that tests can fail each of them or do something foreign just before.
//!
//! Outside of this crate's tests a step is only a name. Deliberately absent: steps of reading, which changes nothing.

use rustix::io::Errno;

use crate::disk::Disk;

/// A step that is about to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Asking whether what was found may be changed.
    Access,
    /// Recording a named operation, before anything of it is there.
    Record,
    /// Making a missing parent directory.
    MakeParent,
    /// Making the temporary file.
    Create,
    /// Writing content to it.
    Write,
    /// Reading what was written to it once more, where it is not known whether that is what was to be written.
    ReadBack,
    /// Giving it mode, owner and attributes.
    Attributes,
    /// Making its content durable.
    Sync,
    /// Giving a nameless file its temporary name.
    Name,
    /// Putting it in its place.
    Publish,
    /// Looking once more where the directory is, before the atomic step and after it.
    LookAgain,
    /// Giving a new file its name, after the last look at its directory.
    Link,
    /// Taking a new file back.
    Withdraw,
    /// Exchanging names, after the last look at what is to be replaced.
    Exchange,
    /// Looking at what was displaced.
    Verify,
    /// Taking a publication back.
    TakeBack,
    /// Removing what was displaced.
    Remove,
    /// Making the directory durable.
    SyncDirectory,
    /// Recording that a named operation is published.
    Mark,
    /// Keeping a copy of what is about to be rewritten in place.
    Copy,
    /// Making the copy durable.
    SyncCopy,
    /// Giving the copy its name.
    NameCopy,
    /// Writing a piece of the new content over the old one.
    Overwrite,
    /// Cutting off what the old content had more.
    Cut,
    /// Making durable what was rewritten.
    SyncRewritten,
    /// Writing the old content over what was begun.
    PutBack,
    /// Removing the copy.
    RemoveCopy,
    /// Making a copy worthless that cannot be removed.
    SpoilCopy,
}

#[cfg(test)]
impl Step {
    pub(crate) const ALL: [Step; 28] = [
        Step::Access,
        Step::Record,
        Step::MakeParent,
        Step::Create,
        Step::Write,
        Step::ReadBack,
        Step::Attributes,
        Step::Sync,
        Step::Name,
        Step::Publish,
        Step::LookAgain,
        Step::Link,
        Step::Withdraw,
        Step::Exchange,
        Step::Verify,
        Step::TakeBack,
        Step::Remove,
        Step::SyncDirectory,
        Step::Mark,
        Step::Copy,
        Step::SyncCopy,
        Step::NameCopy,
        Step::Overwrite,
        Step::Cut,
        Step::SyncRewritten,
        Step::PutBack,
        Step::RemoveCopy,
        Step::SpoilCopy,
    ];
}

/// What a test does at a step.
#[cfg(test)]
pub(crate) type Hook = std::sync::Mutex<Option<Box<dyn FnMut(Step) -> Result<(), Errno> + Send>>>;

impl Disk {
    /// Called before each step.
    #[cfg(test)]
    pub(crate) fn before(&self, step: Step) -> Result<(), Errno> {
        match self.hook.lock().unwrap().as_mut() {
            Some(hook) => hook(step),
            None => Ok(()),
        }
    }

    /// Called before each step.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the other form, in tests, needs both")]
    pub(crate) fn before(&self, _step: Step) -> Result<(), Errno> {
        Ok(())
    }
}
