//! The corpus of cases that every client of every language replays: `client/corpus/README.md`.

use crate::support::corpus::{Way, play_all};

#[test]
fn the_rust_client_differs_in_no_case_over_the_binary() {
    play_all(Way::OverTheBinary);
}

#[test]
fn the_rust_client_differs_in_no_case_in_process() {
    play_all(Way::InProcess);
}
