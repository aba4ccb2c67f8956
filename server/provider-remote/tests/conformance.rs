//! The suite of the seam through the network: memory and the local disk, each at the end of connections in memory and
//! of a Unix socket. Every case has its own server and its own root.

#[path = "../../provider-local/tests/disk/mod.rs"]
mod disk;
mod network;

use std::sync::Arc;

use toolfs_provider::conformance::{Ability, Fixture, memory_fixture};

const UNCARRIED: &str =
    "the messages of the seam tell which line ends there are and why a diff is left out, no numbers";

fn through_duplex(fixture: Fixture) -> Fixture {
    fixture
        .wrapped(|provider| Arc::new(network::over_duplex(provider)))
        .without(Ability::UncarriedFacts, UNCARRIED)
}

fn through_socket(fixture: Fixture) -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let socket = directory.path().join("seam.sock");
    fixture
        .wrapped(|provider| Arc::new(network::over_socket(provider, &socket)))
        .without(Ability::UncarriedFacts, UNCARRIED)
        .keeping(directory)
}

mod memory_over_duplex {
    async fn fresh() -> super::Fixture {
        super::through_duplex(super::memory_fixture())
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod memory_over_socket {
    async fn fresh() -> super::Fixture {
        super::through_socket(super::memory_fixture())
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod disk_over_duplex {
    async fn fresh() -> super::Fixture {
        super::through_duplex(super::disk::fixture(None, |_| {}))
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod disk_over_socket {
    async fn fresh() -> super::Fixture {
        super::through_socket(super::disk::fixture(None, |_| {}))
    }
    toolfs_provider::conformance::suite!(fresh);
}
