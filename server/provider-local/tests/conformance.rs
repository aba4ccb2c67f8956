//! The suite of the seam over the local disk: looked up by the kernel and by the walk, under another name and without
//! any directory of its own, on what a file system without nameless files and without exchange would do, and with files
//! edited in a stream.

mod disk;

use disk::fixture;

mod kernel_lookup {
    async fn fresh() -> super::disk::Fixture {
        super::fixture(None, |_| {})
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod walked_lookup {
    async fn fresh() -> super::disk::Fixture {
        super::fixture(None, |options| options.force_walk = true)
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod under_another_name {
    async fn fresh() -> super::disk::Fixture {
        super::fixture(Some(b"/workspace"), |options| {
            options.operations = None;
            options.recovery = None;
            options.runtime = None;
        })
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod on_a_poor_file_system {
    async fn fresh() -> super::disk::Fixture {
        super::fixture(None, |options| {
            options.force_named_temporaries = true;
            options.force_plain_rename = true;
        })
    }
    toolfs_provider::conformance::suite!(fresh);
}

mod in_a_stream {
    async fn fresh() -> super::disk::Fixture {
        super::fixture(None, |options| options.force_streaming = std::num::NonZeroUsize::new(5))
    }
    toolfs_provider::conformance::suite!(fresh);
}
