//! Whatever a crash left is put in order without a panic and without the loss of a foreign content.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| toolfs_provider_local::fuzzing::recover(bytes));
