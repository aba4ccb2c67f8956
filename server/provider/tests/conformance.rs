//! The suite over the reference provider, bare and behind everything that wraps a provider here.

use std::sync::Arc;

use toolfs_provider::Provider;
use toolfs_provider::conformance::{Fixture, memory_fixture};

mod memory {
    use super::*;

    async fn fresh() -> Fixture {
        memory_fixture()
    }

    toolfs_provider::conformance::suite!(fresh);
}

mod shared {
    use super::*;

    async fn fresh() -> Fixture {
        memory_fixture().wrapped(|provider| Arc::new(provider) as Arc<dyn Provider>)
    }

    toolfs_provider::conformance::suite!(fresh);
}

mod faulty_without_a_script {
    use toolfs_provider::faulty::Faulty;

    use super::*;

    async fn fresh() -> Fixture {
        memory_fixture().wrapped(|provider| Arc::new(Faulty::new(provider)))
    }

    toolfs_provider::conformance::suite!(fresh);
}
