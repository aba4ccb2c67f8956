//! Paths in a small tree of directories, files and links lead where the system says, or nowhere, with both lookups.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| toolfs_provider_local::fuzzing::resolve(bytes));
