//! Numbers in a file that several processes map into their memory, so that to look at one costs a load.
//!
//! This is the only module of the crate that leaves Rust's guarantees. Deliberately absent: what the numbers mean.
#![expect(unsafe_code, reason = "there is no safe wrapper for memory that processes share")]

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::ptr::NonNull;
use std::sync::atomic::AtomicI64;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// `N` numbers, all zero in a new file. They outlive the process, as other writes to the file do.
#[derive(Debug)]
pub(crate) struct SharedNumbers<const N: usize>(NonNull<[AtomicI64; N]>);

// SAFETY: what is behind the pointer is reached by shared references to atomics only, and belongs to no thread.
unsafe impl<const N: usize> Send for SharedNumbers<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for SharedNumbers<N> {}

impl<const N: usize> SharedNumbers<N> {
    /// Maps the first numbers of a file that is open for reading and writing. A file that is too short is made longer;
    /// nobody may make it shorter again. Two must not do this at once with one file that is too short.
    pub(crate) fn map(file: &File) -> io::Result<SharedNumbers<N>> {
        let size = size_of::<[AtomicI64; N]>();
        let length = file.metadata()?.len();
        if length == 0 {
            keep_in_place(file);
        }
        // Written and not only made longer: a hole could not be filled any more once the disk is full.
        let missing = size.saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
        file.write_all_at(&vec![0; missing], length)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a mapping at address zero"))?;
        Ok(SharedNumbers(start))
    }

    pub(crate) fn get(&self) -> &[AtomicI64; N] {
        // SAFETY: the mapping starts at a page, holds at least `N` numbers, and lasts as long as `self`. Every bit
        // pattern is a number, and every process that maps the file goes by atomics.
        unsafe { self.0.as_ref() }
    }
}

/// Asks for stores that take no new room: on a file system that copies what it writes, one on a full disk would end the
/// process. Most file systems write in place, and refuse to be asked.
fn keep_in_place(file: &File) {
    if let Ok(flags) = ioctl_getflags(file) {
        let _ = ioctl_setflags(file, flags | IFlags::NOCOW);
    }
}

impl<const N: usize> Drop for SharedNumbers<N> {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<[AtomicI64; N]>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn who_maps_a_file_sees_what_the_others_wrote_there() {
        let file = tempfile::tempfile().unwrap();
        let one = SharedNumbers::<2>::map(&file).unwrap();
        one.get()[1].store(7, Ordering::SeqCst);
        let other = SharedNumbers::<2>::map(&file).unwrap();
        other.get()[0].fetch_add(5, Ordering::SeqCst);
        assert_eq!(one.get()[0].load(Ordering::SeqCst), 5);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 8).unwrap();
        assert_eq!(i64::from_ne_bytes(bytes), 7);
        drop((one, other));
        assert_eq!(SharedNumbers::<3>::map(&file).unwrap().get()[1].load(Ordering::SeqCst), 7);
        assert_eq!(file.metadata().unwrap().len(), 24);
    }
}
