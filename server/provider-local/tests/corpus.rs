//! Every file of the fuzzing corpora, through the function that fuzzing runs.
#![expect(clippy::disallowed_methods, reason = "the corpora are files of this repository")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;

use toolfs_provider_local::fuzzing;

fn replay(target: &str, run: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&bytes)) {
            panic!("{} breaks a promise: {:?}", path.display(), panic.downcast_ref::<String>());
        }
        count += 1;
    }
    assert!(count >= 20, "{target}: only {count} files");
}

#[test]
fn every_path_of_the_corpus_stays_in_the_roots() {
    replay("resolve", fuzzing::resolve);
}

#[test]
fn every_crash_of_the_corpus_is_put_in_order_without_a_loss() {
    replay("recover", fuzzing::recover);
}
