//! Directories: their entries in batches, and names that look like one that is missing.

use std::sync::Arc;

use futures_util::stream::try_unfold;
use rustix::fs::{AtFlags, Dir, FileType, statat};
use toolfs_core::error::Result;
use toolfs_core::target::{FileKind, TargetKey, display_form};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::content::EntryStream;
use toolfs_provider::report::Entry;

use crate::disk::Disk;
use crate::facts::kind_of;
use crate::io_error::fs_error;
use crate::location::Location;
use crate::root;
use crate::work::blocking;

/// How many entries a batch has at most.
const BATCH_ENTRIES: usize = 512;

/// How many entries of a directory are looked at for similar names.
const MAX_SIMILAR_ENTRIES: usize = 10_000;

const LISTING: &str = "listing it";

/// Opens a directory to be listed.
pub(crate) fn entries(disk: &Arc<Disk>, key: &TargetKey, abort: &AbortSignal) -> Result<EntryStream> {
    let (handle, location) = disk.open_any(key, root::directory())?;
    let path = location.display();
    let directory = Dir::new(handle).map_err(|cause| fs_error(&path, LISTING, cause))?;
    let listing = Listing { directory, path, abort: abort.clone() };
    let batches = try_unfold(listing, |mut listing| async move {
        let (batch, listing) = blocking(move || Ok((listing.next_batch()?, listing))).await?;
        Ok((!batch.is_empty()).then_some((batch, listing)))
    });
    Ok(EntryStream { batches: Box::pin(batches) })
}

#[derive(Debug)]
struct Listing {
    directory: Dir,
    path: String,
    abort: AbortSignal,
}

impl Listing {
    fn next_batch(&mut self) -> Result<Vec<Entry>> {
        self.abort.check().map_err(|error| error.with_path(&self.path))?;
        let mut batch = Vec::new();
        while batch.len() < BATCH_ENTRIES {
            let Some(entry) = self.directory.read() else { break };
            let entry = entry.map_err(|cause| fs_error(&self.path, LISTING, cause))?;
            let raw_name = entry.file_name().to_bytes();
            if is_dots(raw_name) {
                continue;
            }
            let Some(kind) = self.kind(raw_name, entry.file_type()) else { continue };
            batch.push(Entry { raw_name: raw_name.to_vec(), display_name: display_form(raw_name), kind });
        }
        Ok(batch)
    }

    /// The kind of an entry; `None` when it is gone meanwhile. Some file systems tell no kinds with the names.
    fn kind(&self, name: &[u8], told: FileType) -> Option<FileKind> {
        if told != FileType::Unknown {
            return Some(kind_of(told));
        }
        let stat = statat(self.directory.fd().ok()?, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(kind_of(FileType::from_raw_mode(stat.st_mode)))
    }
}

/// Names beside a missing one that look like it; none where the directory cannot be listed.
pub(crate) fn similar_names(location: &Location) -> Vec<String> {
    let Some((parent, name)) = location.split() else { return Vec::new() };
    let Ok(handle) = location.root.open_exact(parent, root::directory()) else { return Vec::new() };
    let Ok(mut directory) = Dir::new(handle) else { return Vec::new() };
    let mut names = Vec::new();
    while names.len() < MAX_SIMILAR_ENTRIES
        && let Some(Ok(entry)) = directory.read()
    {
        let raw_name = entry.file_name().to_bytes();
        if !is_dots(raw_name) {
            names.push(raw_name.to_vec());
        }
    }
    toolfs_core::name::similar_names(name, names.iter().map(Vec::as_slice))
}

/// The entries that every directory has.
fn is_dots(name: &[u8]) -> bool {
    name == b"." || name == b".."
}
