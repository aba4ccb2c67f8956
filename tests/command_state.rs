//! State that outlives a server, and the faces for other servers: the seam and the gate.

use std::path::Path;

use tempfile::TempDir;
use tonic::Code;
use toolfs_client::{Client, Edit, OpenSession, Read, Session};
use toolfs_contract::v1;
use toolfs_contract::v1::file_system_service_client::FileSystemServiceClient;
use toolfs_contract::v1::policy_service_client::PolicyServiceClient;
use toolfs_contract::v1::tool_service_client::ToolServiceClient;

use crate::support::process::{Server, command};
use crate::support::served::{ended, run, stderr, stdout};

/// A root with a file, and places beside it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        std::fs::write(directory.path().join("root/f"), "one\ntwo\n").unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// A server with this socket, and its state in `state`.
    fn serve(&self, socket: &str, arguments: &[&str]) -> Server {
        let (root, state) = (self.path("root"), self.path("state"));
        let listen = self.socket(socket);
        Server::start(&[&["--root", &root, "--state", &state, "--listen", &listen], arguments].concat())
    }

    fn socket(&self, name: &str) -> String {
        format!("unix:{}", self.path(name))
    }

    async fn client(&self, socket: &str) -> Client {
        Client::connect(&self.socket(socket)).await.unwrap()
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.path("root/f")).unwrap()
    }
}

async fn edit(session: &Session, old: &str, new: &str) -> Result<(), toolfs_client::Error> {
    session.edit(Edit::new("f", old, new)).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_after_an_orderly_restart() {
    let place = Place::new();
    let server = place.serve("s", &[]);
    assert!(server.ready[0].contains(&format!("state {})", place.path("state"))), "{}", server.ready[0]);
    let session = place.client("s").await.open_session(OpenSession::default()).await.unwrap();
    session.read(Read::new("f")).await.unwrap();
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");

    let _server = place.serve("s", &[]);
    let session = place.client("s").await.resume_session(session.id()).await.unwrap();
    edit(&session, "one", "1").await.unwrap();
    assert_eq!(place.content(), "1\ntwo\n");
}

/// Another server on the same state tells when an observation has been kept for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_after_a_crash_and_a_closed_one_stays_closed() {
    let place = Place::new();
    let server = place.serve("s", &[]);
    let witness = place.serve("w", &[]);
    let client = place.client("s").await;
    let session = client.open_session(OpenSession::default()).await.unwrap();
    let closed = client.open_session(OpenSession::default()).await.unwrap();
    let closed_id = closed.id().to_owned();
    session.read(Read::new("f")).await.unwrap();
    closed.close().await.unwrap();

    let seen_by = place.client("w").await;
    let seen = seen_by.resume_session(session.id()).await.unwrap();
    let dry = toolfs_client::CallOptions { dry_run: true, ..Default::default() };
    while let Err(error) = seen.edit(Edit::new("f", "one", "1").options(dry.clone())).await {
        assert_eq!(error.code().unwrap().as_str(), "FS_NOT_OBSERVED", "{error}");
        tokio::task::yield_now().await;
    }
    server.kill();
    witness.kill();

    let _server = place.serve("s", &[]);
    let client = place.client("s").await;
    let session = client.resume_session(session.id()).await.unwrap();
    edit(&session, "one", "1").await.unwrap();
    edit(&session, "two", "2").await.unwrap();
    assert_eq!(place.content(), "1\n2\n");
    let gone = client.resume_session(closed_id).await.unwrap_err();
    assert!(gone.to_string().contains("no such session"), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_one_state_share_sessions_and_their_ends() {
    let place = Place::new();
    let (_one, _other) = (place.serve("one", &[]), place.serve("other", &[]));
    let here = place.client("one").await.open_session(OpenSession::default()).await.unwrap();
    let there = place.client("other").await.resume_session(here.id()).await.unwrap();
    assert_eq!(there.info().name, here.info().name);
    there.read(Read::new("f")).await.unwrap();
    here.close().await.unwrap();
    let error = there.read(Read::new("f")).await.unwrap_err();
    assert!(error.to_string().contains("no such session"), "{error}");
}

#[test]
fn a_session_file_outlives_the_server() {
    let place = Place::new();
    let (file, socket) = (place.path("session"), place.socket("s"));
    let call = |arguments: &[&str]| run(command().args(["call", "--session-file", &file]).args(arguments));
    let server = place.serve("s", &[]);
    ended(&call(&["--server", &socket, "read", r#"{"file_path": "f"}"#]), 0);
    server.stop();
    let _server = place.serve("s", &[]);
    ended(&call(&["edit", r#"{"file_path": "f", "old_string": "one", "new_string": "1"}"#]), 0);
    assert_eq!(place.content(), "1\ntwo\n");
}

#[test]
fn a_call_that_is_repeated_after_a_crash_takes_effect_once() {
    let place = Place::new();
    let (file, socket) = (place.path("session"), place.socket("s"));
    let call = |arguments: &[&str]| {
        run(command().args(["call", "--server", &socket, "--session-file", &file]).args(arguments))
    };
    let twice = ["--request-id", "0d1a3b5e-7f2c-4e6a-9b8d-1c2e3f4a5b6c", "edit"];
    let edit = r#"{"file_path": "f", "old_string": "one", "new_string": "one more one"}"#;
    let server = place.serve("s", &[]);
    ended(&call(&["read", r#"{"file_path": "f"}"#]), 0);
    let first = call(&[&twice[..], &[edit]].concat());
    ended(&first, 0);
    server.kill();

    let _server = place.serve("s", &[]);
    let second = call(&[&twice[..], &[edit]].concat());
    ended(&second, 0);
    assert_eq!(stdout(&second), stdout(&first));
    assert_eq!(place.content(), "one more one\ntwo\n");
    // The same words under another name are another call, which finds two places.
    ended(&call(&["edit", edit]), 4);
    let reused =
        call(&[&twice[..], &[r#"{"file_path": "f", "old_string": "two", "new_string": "2"}"#]].concat());
    ended(&reused, 1);
    assert_eq!(place.content(), "one more one\ntwo\n");
}

/// Without a flag there is one state for each set of roots, beside the others.
#[test]
fn the_usual_state_is_found_again() {
    let place = Place::new();
    let (root, home, socket) = (place.path("root"), place.path("home"), place.socket("s"));
    let serve = |root: &str| {
        Server::start_with(&["--root", root, "--listen", &socket], &[("XDG_STATE_HOME", home.as_str())])
    };
    let call = |arguments: &[&str]| {
        run(command()
            .args(["call", "--server", &socket, "--session-file", &place.path("session")])
            .args(arguments))
    };
    let server = serve(&root);
    ended(&call(&["read", r#"{"file_path": "f"}"#]), 0);
    server.stop();
    let server = serve(&root);
    ended(&call(&["edit", r#"{"file_path": "f", "old_string": "one", "new_string": "1"}"#]), 0);
    server.stop();
    let server = serve(&format!("{root}=/workspace"));
    let other = call(&["read", r#"{"file_path": "f"}"#]);
    ended(&other, 1);
    assert!(stderr(&other).contains("no such session"), "{}", stderr(&other));
    server.stop();
    let names = std::fs::read_dir(Path::new(&home).join("toolfs")).unwrap();
    let states = names.filter(|entry| entry.as_ref().unwrap().file_name() != "runtime");
    assert_eq!(states.count(), 2, "one for each set of roots, beside the place where servers take turns");
}

#[test]
fn state_inside_a_root_is_refused_and_not_made() {
    let place = Place::new();
    let root = place.path("root");
    std::os::unix::fs::symlink(&root, place.path("link")).unwrap();
    for state in [
        place.path("root/state"),
        place.path("link/deep/state"),
        place.path("root/../root/state"),
        root.clone(),
    ] {
        let output =
            run(command().args(["serve", "--root", &root, "--listen", "127.0.0.1:0", "--state", &state]));
        ended(&output, 2);
        let told = stderr(&output);
        assert!(told.contains(&format!("the state `{state}` lies inside the root `{root}`")), "{told}");
        assert!(told.contains("--state memory"), "{told}");
    }
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);
}

#[test]
fn a_state_that_is_damaged_or_of_another_program_is_refused_and_kept() {
    let place = Place::new();
    place.serve("s", &[]).stop();
    let database = Path::new(&place.path("state")).join("state.db");
    let mut bytes = std::fs::read(&database).unwrap();
    for damaged in [b"not a database at all".repeat(500), {
        bytes[20..90].fill(0xff);
        bytes.clone()
    }] {
        std::fs::write(&database, &damaged).unwrap();
        let output = run(command()
            .args(["serve", "--root", &place.path("root"), "--listen", "127.0.0.1:0"])
            .args(["--state", &place.path("state")]));
        ended(&output, 3);
        let told = stderr(&output);
        assert!(told.contains("state.db") && told.contains("--state"), "{told}");
        assert_eq!(stdout(&output), "");
        assert!(std::fs::read(&database).unwrap() == damaged, "it is replaced silently");
    }
}

#[test]
fn nothing_is_left_of_a_server_whose_state_is_memory() {
    let place = Place::new();
    let scratch = place.path("tmp");
    std::fs::create_dir(&scratch).unwrap();
    let arguments = ["--root", &place.path("root"), "--state", "memory", "--listen", "127.0.0.1:0"];
    let server =
        Server::start_with(&arguments, &[("TMPDIR", &scratch), ("XDG_STATE_HOME", &place.path("home"))]);
    assert!(server.ready[0].contains("state memory"), "{}", server.ready[0]);
    assert_eq!(
        std::fs::read_dir(&scratch).unwrap().count(),
        1,
        "records of operations are on disk meanwhile"
    );
    let (status, errors) = server.stop();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    let home = Path::new(&place.path("home")).join("toolfs");
    let names = |directory: &Path| -> Vec<_> {
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(names(&home), ["runtime"], "servers take turns all the same");
    assert_eq!(names(&home.join("runtime/instances")).len(), 0, "it took itself off the list");
}

#[test]
fn a_home_that_cannot_be_written_stops_no_server_and_a_named_runtime_directory_does() {
    let place = Place::new();
    let home = place.path("home");
    std::fs::write(&home, "no directory").unwrap();
    let arguments = ["--root", &place.path("root"), "--state", "memory", "--listen", "127.0.0.1:0"];
    let (status, errors) = Server::start_with(&arguments, &[("XDG_STATE_HOME", &home)]).stop();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert!(errors.contains("--runtime-dir"), "{errors}");

    let named = place.path("home/runtime");
    let output = run(command().arg("serve").args(arguments).args(["--runtime-dir", &named]));
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("home/runtime"), "{}", stderr(&output));
}

/// It is how a retry is answered after a crash between publication and its record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_are_recorded_beside_the_state() {
    let place = Place::new();
    let _server = place.serve("s", &[]);
    let client = place.client("s").await;
    let provider = client.capabilities().await.unwrap().provider.unwrap();
    assert_eq!(provider.operation_ids, Some(true));
    let session = client.open_session(OpenSession::default()).await.unwrap();
    session.write(toolfs_client::Write::new("g", "new")).await.unwrap();
    let operations = Path::new(&place.path("state")).join("operations");
    assert!(std::fs::read_dir(operations).unwrap().count() > 0);
}

/// Each face answers at its own address, and at no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seam_and_gate_are_served_where_they_are_told_to_be() {
    let place = Place::new();
    let server = place.serve(
        "s",
        &["--listen", "127.0.0.1:0", "--serve-seam", "127.0.0.1:0", "--serve-gate", "127.0.0.1:0"],
    );
    let told = |face: &str| {
        let (_, rest) = server.ready[0].split_once(face).unwrap();
        format!("http://{}", rest.split([';', ',', ' ']).next().unwrap())
    };
    let addresses = [told("and "), told("seam on "), told("gate on ")];
    for (at, address) in addresses.iter().enumerate() {
        let channel =
            tonic::transport::Endpoint::from_shared(address.clone()).unwrap().connect().await.unwrap();
        let tools =
            ToolServiceClient::new(channel.clone()).list_tools(v1::ListToolsRequest {}).await.map(drop);
        let seam = FileSystemServiceClient::new(channel.clone())
            .get_provider_capabilities(v1::GetProviderCapabilitiesRequest {})
            .await
            .map(drop);
        let gate = PolicyServiceClient::new(channel)
            .get_policy_capabilities(v1::GetPolicyCapabilitiesRequest {})
            .await
            .map(drop);
        for (face, answer) in [tools, seam, gate].into_iter().enumerate() {
            match answer {
                Ok(()) => assert_eq!(face, at, "{address}"),
                Err(status) => {
                    assert!(face != at && status.code() == Code::Unimplemented, "{address} {face}: {status}");
                }
            }
        }
    }
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_can_use_the_provider_and_the_gate_of_another() {
    let place = Place::new();
    let (seam, gate) = (place.socket("seam"), place.socket("gate"));
    let _files = place.serve("files", &["--serve-seam", &seam, "--serve-gate", &gate]);
    let front = Server::start(&[
        "--provider",
        &seam,
        "--policy",
        &gate,
        "--state",
        &place.path("front"),
        "--listen",
        &place.socket("s"),
    ]);
    assert!(front.ready[0].contains(&seam) && front.ready[0].contains(&gate), "{}", front.ready[0]);
    let session = place.client("s").await.open_session(OpenSession::default()).await.unwrap();
    let unseen = edit(&session, "one", "1").await.unwrap_err();
    assert_eq!(unseen.code().unwrap().as_str(), "FS_NOT_OBSERVED");
    session.read(Read::new("f")).await.unwrap();
    edit(&session, "one", "1").await.unwrap();
    assert_eq!(place.content(), "1\ntwo\n");
}

#[test]
fn a_provider_that_is_away_is_told_at_the_start() {
    let place = Place::new();
    let nowhere = place.socket("nowhere");
    let output = run(command().args([
        "serve",
        "--provider",
        &nowhere,
        "--state",
        "memory",
        "--listen",
        "127.0.0.1:0",
    ]));
    ended(&output, 3);
    assert!(stderr(&output).contains("FS_UNAVAILABLE"), "{}", stderr(&output));
}

#[test]
fn a_fault_that_is_none_is_not_planted() {
    let place = Place::new();
    let output = run(command()
        .args(["serve", "--root", &place.path("root"), "--state", "memory", "--listen", "127.0.0.1:0"])
        .env("TOOLFS_PLANTED_FAULT", "no-such-fault"));
    ended(&output, 2);
    assert!(stderr(&output).contains("TOOLFS_PLANTED_FAULT: "), "{}", stderr(&output));
}
