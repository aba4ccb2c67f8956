use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::error::Code;
use toolfs_core::guard::Observation;
use toolfs_policy::ObservationStore as _;
use toolfs_policy::suite::{seen, session, target};
use toolfs_state_embedded::{EmbeddedState, StateError};
use toolfs_tools::{CallStore as _, SessionStore};

use crate::support::{NEVER, SOON, call, open, options, record};

fn refusal(directory: &Path) -> StateError {
    EmbeddedState::open(directory, options(NEVER)).unwrap_err()
}

/// A closed state with something of everything in it.
async fn filled() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), SOON);
    for number in 0..50 {
        state.insert(record(number), 1_000).await.unwrap();
        let order = Order(i64::try_from(number).unwrap());
        state.record(&session("s"), &target(&number.to_string()), seen("x"), order).await.unwrap();
        state
            .end(&call("s", number), &[1; 32], vec![7; 300], false, Timestamp(1_700_000_000_000))
            .await
            .unwrap();
    }
    state.close();
    directory
}

fn database(directory: &TempDir) -> PathBuf {
    directory.path().join("state.db")
}

/// Each refusal names the file and a way out.
#[track_caller]
fn check_message(error: &StateError, path: &Path) {
    let message = error.to_string();
    assert!(message.contains(&path.display().to_string()), "{message}");
    assert!(message.contains("--state PATH"), "{message}");
    assert!(!message.ends_with('.') && !message.starts_with(char::is_uppercase), "{message}");
}

#[test]
fn what_is_made_is_for_its_user_only() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    let state = open(&directory, NEVER);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for made in ["", "instances"] {
        assert_eq!(mode(directory.join(made)), 0o700, "{made}");
    }
    for made in ["state.db", "state.db-wal", "state.db-shm", "removals", "open.lock"] {
        assert_eq!(mode(directory.join(made)), 0o600, "{made}");
    }
    drop(state);
    assert_eq!(fs::read_dir(directory.join("instances")).unwrap().count(), 0);
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "x").unwrap();
    for directory in [file.clone(), file.join("below"), PathBuf::from("/proc/toolfs")] {
        let error = refusal(&directory);
        assert!(matches!(error, StateError::Inaccessible { .. }), "{error:?}");
        check_message(&error, &directory);
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
    let directory = parent.path().join("d");
    fs::create_dir_all(directory.join("state.db")).unwrap();
    check_message(&refusal(&directory), &directory.join("state.db"));
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = database(&directory);
    for application_id in [0, 7] {
        let foreign = Connection::open(&path).unwrap();
        foreign.execute_batch("CREATE TABLE IF NOT EXISTS theirs (x)").unwrap();
        foreign.pragma_update(None, "application_id", application_id).unwrap();
        drop(foreign);
        let before = fs::read(&path).unwrap();
        let error = refusal(directory.path());
        assert!(matches!(error, StateError::Foreign { .. }), "{error:?}");
        check_message(&error, &path);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_newer_version_is_refused_and_left_as_it_is() {
    let directory = filled().await;
    let path = database(&directory);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let before = fs::read(&path).unwrap();
    let error = refusal(directory.path());
    assert!(matches!(error, StateError::Newer { found: 9, known: 1, .. }), "{error:?}");
    check_message(&error, &path);
    assert!(error.to_string().contains("newer toolfs"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = database(&directory);
    for content in ["x".to_owned(), "not a database\n".repeat(1_000)] {
        fs::write(&path, &content).unwrap();
        let error = refusal(directory.path());
        assert!(matches!(error, StateError::NotADatabase { .. }), "{error:?}");
        check_message(&error, &path);
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

/// Cut at any place, to nothing too: refused, and not taken for a state that is still to be made.
#[tokio::test]
async fn a_truncated_database_is_refused_and_left_as_it_is() {
    let directory = filled().await;
    let path = database(&directory);
    let whole = fs::read(&path).unwrap();
    let page = 4_096;
    assert!(whole.len() > 10 * page && whole.len().is_multiple_of(page));
    for length in [0, 1, 50, 100, 1_000, page, page + 1, 5 * page, whole.len() - page, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = refusal(directory.path());
        assert!(
            matches!(error, StateError::Damaged { .. } | StateError::NotADatabase { .. }),
            "{length}: {error:?}"
        );
        check_message(&error, &path);
        assert_eq!(fs::read(&path).unwrap(), &whole[..length], "{length}");
    }
    fs::write(&path, &whole).unwrap();
    let state = open(directory.path(), NEVER);
    assert_eq!(SessionStore::find(&state, &record(7).key).await.unwrap(), Some(record(7)));
}

/// The first bytes of each page say what it is and where its cells are.
#[tokio::test]
async fn a_flipped_bit_in_the_structure_is_refused_and_left_as_it_is() {
    let directory = filled().await;
    let path = database(&directory);
    let whole = fs::read(&path).unwrap();
    let page = 4_096;
    let pages = whole.len() / page;
    for number in 0..pages {
        // The first page starts with the header of the file.
        let head = number * page + if number == 0 { 100 } else { 0 };
        for (byte, bit) in [(0, 0x40), (3, 0x40), (5, 0x08)] {
            let mut flipped = whole.clone();
            flipped[head + byte] ^= bit;
            fs::write(&path, &flipped).unwrap();
            let error = refusal(directory.path());
            assert!(matches!(error, StateError::Damaged { .. }), "{number} {byte}: {error:?}");
            check_message(&error, &path);
            assert_eq!(fs::read(&path).unwrap(), flipped);
        }
    }
}

/// Anywhere: it is refused, or it goes on; and then nobody is answered with what was never recorded.
#[tokio::test]
async fn a_flipped_bit_anywhere_never_invents_an_observation() {
    let directory = filled().await;
    let path = database(&directory);
    let whole = fs::read(&path).unwrap();
    for place in (0..whole.len()).step_by(997) {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&path, &flipped).unwrap();
        match EmbeddedState::open(directory.path(), options(NEVER)) {
            Err(error) => {
                check_message(&error, &path);
                assert_eq!(fs::read(&path).unwrap(), flipped);
            }
            Ok(state) => {
                // A version with a flipped bit is the version of no content; a row that cannot be is an error.
                for number in (0..50).map(|number| number.to_string()).chain(["unseen".to_owned()]) {
                    match state.get(&session("s"), &target(&number)).await {
                        Ok(None) => {}
                        Ok(Some(Observation::Present(_))) => assert_ne!(number, "unseen"),
                        Ok(Some(Observation::Absent)) => panic!("{place}: nobody saw that nothing was there"),
                        Err(error) => assert_eq!(error.code(), Code::Unavailable),
                    }
                }
                state.close();
            }
        }
        for leftover in ["state.db-wal", "state.db-shm"] {
            let _ = fs::remove_file(directory.path().join(leftover));
        }
    }
}

/// SQLite would play the old log into a database that is made anew.
#[tokio::test]
async fn a_log_without_its_database_is_refused() {
    let directory = filled().await;
    let path = database(&directory);
    let log = directory.path().join("state.db-wal");
    fs::remove_file(&path).unwrap();
    fs::write(&log, "anything").unwrap();
    let error = refusal(directory.path());
    assert!(matches!(error, StateError::Damaged { .. }), "{error:?}");
    check_message(&error, &path);
    assert_eq!(fs::read_to_string(&log).unwrap(), "anything");
    assert!(!path.exists());
}

/// A server that died while it made the database left a draft.
#[test]
fn a_draft_that_was_left_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("state.db.new"), "half").unwrap();
    fs::write(directory.path().join("state.db.new-journal"), "half").unwrap();
    drop(open(directory.path(), NEVER));
    assert!(!directory.path().join("state.db.new").exists());
    assert!(!directory.path().join("state.db.new-journal").exists());
}

#[test]
fn files_of_servers_that_died_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), NEVER);
    let instances = directory.path().join("instances");
    for left in ["00ff", "00fe.new"] {
        fs::write(instances.join(left), "").unwrap();
    }
    let other = open(directory.path(), NEVER);
    assert_eq!(fs::read_dir(&instances).unwrap().count(), 2);
    drop((state, other));
}

/// Many at once on a directory where nothing is yet.
#[test]
fn servers_that_start_together_share_one_database() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let states: Vec<EmbeddedState> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..6).map(|_| scope.spawn(|| open(directory.path(), NEVER))).collect();
        opening.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    runtime.block_on(async {
        for (number, state) in states.iter().enumerate() {
            state.insert(record(number), 10).await.unwrap();
        }
        for state in &states {
            assert_eq!(state.page(&record(0).owner, 0, 100).await.unwrap().len(), states.len());
        }
    });
}
