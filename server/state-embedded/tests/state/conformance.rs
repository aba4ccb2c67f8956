use std::sync::Arc;

use proptest::prelude::*;
use toolfs_policy::suite::{replay, step};

use toolfs_state_embedded::{EmbeddedState, StateOptions};
use toolfs_tools::suite::{CallFixture, MAX_BYTES, SessionFixture};

use crate::support::{ManualClock, NEVER, SOON, WINDOW, open};

mod written_behind {
    use super::*;

    toolfs_policy::observation_store_suite!(async || {
        let directory = tempfile::tempdir().unwrap();
        (Box::new(open(directory.path(), NEVER)), directory)
    });
}

mod written_soon {
    use super::*;

    toolfs_policy::observation_store_suite!(async || {
        let directory = tempfile::tempdir().unwrap();
        (Box::new(open(directory.path(), SOON)), directory)
    });
}

mod in_company {
    use super::*;

    toolfs_policy::shared_observation_store_suite!(async || {
        let directory = tempfile::tempdir().unwrap();
        let open = || Box::new(open(directory.path(), NEVER));
        (open(), open(), directory)
    });
}

/// Two servers on one state, and its clock.
fn shared() -> (Arc<EmbeddedState>, Arc<EmbeddedState>, Arc<ManualClock>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let open = || {
        let options = StateOptions {
            write_behind: SOON,
            request_id_window: WINDOW,
            max_remembered_bytes: MAX_BYTES,
            clock: clock.clone(),
        };
        Arc::new(EmbeddedState::open(directory.path(), options).unwrap())
    };
    (open(), open(), clock.clone(), directory)
}

mod sessions {
    use super::*;

    toolfs_tools::session_store_suite!(async || {
        let (one, other, _, directory) = shared();
        SessionFixture { one, other, keep: Some(Box::new(directory)) }
    });
}

mod sessions_of_one_server {
    use super::*;

    toolfs_tools::session_store_suite!(async || {
        let directory = tempfile::tempdir().unwrap();
        let state = Arc::new(open(directory.path(), NEVER));
        SessionFixture { one: state.clone(), other: state, keep: Some(Box::new(directory)) }
    });
}

mod calls {
    use super::*;

    toolfs_tools::call_store_suite!(async || {
        let (one, other, clock, directory) = shared();
        CallFixture { one, other, clock, keep: Some(Box::new(directory)) }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_store_answers_as_the_whole_history_would(
        steps in prop::collection::vec(step(), 1..60),
        is_written_behind in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let state = open(directory.path(), if is_written_behind { NEVER } else { SOON });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(replay(&state, &steps, |answer, expected| assert_eq!(answer, expected)));
    }
}
