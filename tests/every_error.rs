//! Every code of the contract, provoked for real, sent by a server and decoded again by the client.
//!
//! A row is a situation that ends in one code. Each is met twice, by a message as it is and by a typed call, and both
//! must tell the same. What only a broken storage does is played by the scripted provider in a server of this process;
//! all else is the real command on a disk.
//! Deliberately absent: what the codes of one tool mean in detail, which is in the files of the tools.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use futures_util::future::join;
use tempfile::TempDir;
use tonic::codegen::http::HeaderMap;
use toolfs_client::v1::{self, FsErrorCode, Published};
use toolfs_client::{
    CallOptions, Client, Edit, Error, ErrorCode, OpenSession, Read, Session, ToolError, Write,
};
use toolfs_contract::code::ERROR_DOMAIN;
use toolfs_core::argument::RawCall;
use toolfs_core::error::{AbortCause, ErrorKind, FsError, UnavailableCause};
use toolfs_core::limit::Limits;
use toolfs_core::target::display_form;
use toolfs_provider::Provider;
use toolfs_provider::faulty::{Fault, Faulty, Hold, Operation};
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};

use crate::support::door::{Ask, edit_call, read_call, write_call};
use crate::support::process::{Server, binary, command};
use crate::support::wire::execute_request;
use crate::support::{Policy, ROOT, executor, over_duplex, say};

/// What peers accept as trailers.
const MAX_TRAILERS_BYTES: usize = 8_192;

/// Makes a test of each row, and the list that must name every code.
macro_rules! errors {
    ($($code:ident: $row:ident;)*) => {
        const ROWS: &[FsErrorCode] = &[$(FsErrorCode::$code),*];

        mod over_the_wire {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
                async fn $row() {
                    if let Some(told) = super::$row().await {
                        told.check(toolfs_client::v1::FsErrorCode::$code);
                    }
                }
            )*
        }
    };
}

errors! {
    FsNotFound: a_path_where_nothing_is;
    FsNotDirectory: a_file_as_a_parent;
    FsNotRegularFile: a_directory_that_is_read;
    FsNotText: a_file_in_another_encoding;
    FsTooLarge: content_beyond_the_limit;
    FsOutOfRange: a_window_past_the_end;
    FsPermissionDenied: a_file_that_the_server_may_not_open;
    FsSandboxDenied: a_protected_name;
    FsNoSpace: a_disk_that_is_full;
    FsIoError: a_storage_that_fails;
    FsStaleVersion: a_file_that_changed_since_it_was_read;
    FsNotObserved: a_file_that_was_not_read;
    FsAmbiguousEdit: a_text_that_occurs_twice;
    FsEditNotFound: a_text_that_does_not_occur;
    FsInvalidArgument: an_argument_that_is_none;
    FsUnsupported: a_provider_that_cannot;
    FsUnavailable: a_provider_that_is_away;
    FsAborted: a_server_that_drains;
}

#[test]
fn every_code_of_the_contract_has_its_row() {
    let missing: Vec<&str> =
        FsErrorCode::ALL.iter().filter(|code| !ROWS.contains(code)).map(|code| code.as_str()).collect();
    assert_eq!(missing, [""; 0], "codes that nothing here provokes");
}

/// One refusal, as it came in a message and as the client decoded it.
#[derive(Debug)]
struct Told {
    response: v1::ExecuteResponse,
    decoded: ToolError,
    detail: Expect,
}

impl Told {
    #[track_caller]
    fn check(self, code: FsErrorCode) {
        let Told { response, decoded, detail } = self;
        let error = response.error.expect("a refusal has an error");
        assert_eq!((error.code(), error.reason.as_str()), (code, code.as_str()), "{}", error.message);
        assert_eq!(response.is_error, Some(true));
        assert_eq!(response.outcome, None, "a refusal has an outcome");
        assert_eq!(error.published(), Published::No);
        let retryable = [FsErrorCode::FsUnavailable, FsErrorCode::FsAborted].contains(&code);
        assert_eq!(error.retryable, Some(retryable));
        assert!(!error.remedy.is_empty(), "nothing says what to do next");
        assert_ne!(error.detail_truncated, Some(true), "an answer has room for the whole error");
        detail.assert_eq(&format!("{:?}", error.detail));

        assert_eq!(decoded.code(), ErrorCode::Known(code));
        assert_eq!(decoded.as_message(), &error, "the typed call was told something else");
        assert!(decoded.outcome().is_none());
        let text = decoded.text();
        assert!(text.starts_with(&format!("{code}: ", code = code.as_str())), "{text}");
        assert!(text.ends_with(&error.remedy), "{text}");
    }
}

/// A server with one session, and what it stands on.
struct Stage {
    session: Session,
    client: Client,
    root: PathBuf,
    server: Option<Server>,
    _directory: TempDir,
}

impl Stage {
    /// The command over an empty directory.
    async fn on_disk(flags: &[&str]) -> Stage {
        let (directory, root) = empty_root();
        let listen = format!("unix:{}", directory.path().join("s").display());
        let served = format!("{}={ROOT}", root.display());
        let mut serve = command();
        serve.args(["serve", "--root", &served, "--listen", &listen, "--state", "memory"]).args(flags);
        Stage::of(serve, directory, root).await
    }

    /// The command as a command line of the row's own, which must end in it.
    async fn of(serve: Command, directory: TempDir, root: PathBuf) -> Stage {
        let server = Server::of(serve);
        let client = Client::connect(&server.address()).await.unwrap();
        let session = client.open_session(OpenSession::default()).await.unwrap();
        Stage { session, client, root, server: Some(server), _directory: directory }
    }

    /// A server in this process over the scripted provider.
    async fn scripted(faulty: Arc<Faulty<MemoryProvider>>) -> Stage {
        let (directory, root) = empty_root();
        let provider = faulty as Arc<dyn Provider>;
        let executor = Arc::new(executor(provider, Policy::Observation, Limits::DEFAULT));
        let client = over_duplex(executor, Duration::from_secs(10), std::future::pending());
        let session = client.open_session(OpenSession::default()).await.unwrap();
        Stage { session, client, root, server: None, _directory: directory }
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        assert!(self.server.is_some(), "a scripted stage has its files in memory");
        std::fs::write(self.root.join(name), content).unwrap();
    }

    async fn read(&self, name: &str) {
        self.session.read(Read::new(name)).await.unwrap();
    }

    /// Makes a call that must be refused, as a message and as a typed call.
    async fn told(&self, call: RawCall, detail: Expect) -> Option<Told> {
        let (response, decoded) = self.refusals(call).await;
        Some(Told { response, decoded, detail })
    }

    async fn refusals(&self, call: RawCall) -> (v1::ExecuteResponse, ToolError) {
        let message = execute_request(Some(self.session.id()), Ask::of(call.clone()));
        let response = self.client.execute(message, None).await.unwrap();
        (response, tool_error(typed(&self.session, call).await))
    }
}

fn empty_root() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    (directory, root)
}

async fn typed(session: &Session, call: RawCall) -> Error {
    let given = |text: Option<String>| text.expect("the calls here are complete");
    let options = CallOptions::default();
    match call {
        RawCall::Read { file_path, offset, limit } => {
            let read = Read { file_path: given(file_path), offset, limit, options };
            session.read(read).await.map(drop).unwrap_err()
        }
        RawCall::Write { file_path, content } => {
            let write = Write { file_path: given(file_path), content: given(content), options };
            session.write(write).await.map(drop).unwrap_err()
        }
        RawCall::Edit { file_path, old_string, new_string, .. } => {
            let edit = Edit::new(given(file_path), given(old_string), given(new_string));
            session.edit(edit).await.map(drop).unwrap_err()
        }
        RawCall::Json { .. } => panic!("the calls here are typed"),
    }
}

fn tool_error(error: Error) -> ToolError {
    match error {
        Error::Tool(error) => *error,
        other => panic!("no refusal of a tool: {other:?}"),
    }
}

// --- the command on a disk ---

async fn a_path_where_nothing_is() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("Notes.md", "x\n");
    stage
        .told(
            read_call("notes.md", None, None),
            expect![[r#"Some(NotFound(NotFoundDetail { similar_names: ["Notes.md"] }))"#]],
        )
        .await
}

async fn a_file_as_a_parent() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "x\n");
    stage.told(write_call("f/below", "x"), expect!["None"]).await
}

async fn a_directory_that_is_read() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    std::fs::create_dir(stage.root.join("d")).unwrap();
    stage
        .told(
            read_call("d", None, None),
            expect!["Some(NotRegularFile(NotRegularFileDetail { kind: Directory }))"],
        )
        .await
}

async fn a_file_in_another_encoding() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", b"\xff\xfeh\x00i\x00\n\x00");
    stage.told(read_call("f", None, None), expect![[r#"Some(NotText(NotTextDetail { byte_offset: Some(0), encoding: Utf16Le, encoding_name: "UTF-16LE" }))"#]]).await
}

async fn content_beyond_the_limit() -> Option<Told> {
    let stage = Stage::on_disk(&["--max-content-bytes", "64"]).await;
    stage.told(write_call("f", &"x".repeat(65)), expect![[r#"Some(TooLarge(TooLargeDetail { limit_name: "max_content_bytes", limit_bytes: Some(64), size_bytes: Some(65), limit_kind: MaxContentBytes }))"#]]).await
}

async fn a_window_past_the_end() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "one\ntwo\n");
    stage
        .told(read_call("f", 3, None), expect!["Some(OutOfRange(OutOfRangeDetail { total_lines: Some(2) }))"])
        .await
}

async fn a_protected_name() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage
        .told(write_call(".git/config", "x"), expect![[r#"Some(Sandbox(SandboxDetail { rule: ".git" }))"#]])
        .await
}

async fn a_file_that_changed_since_it_was_read() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "one\n");
    stage.read("f").await;
    stage.put("f", "two\n");
    stage
        .told(
            edit_call("f", "one", "three"),
            expect![[r#"Some(StaleVersion(StaleVersionDetail { expected_version: "b3-e0e63aa4c8e1ed796cb104d8a074e553c99fff18d140e886667013ef2780ae23", actual_version: Some("b3-ef40086ad8a395c7a05b5f70cf2575ad187f637ad813136292cb39610694db73") }))"#]],
        )
        .await
}

async fn a_file_that_was_not_read() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "one\n");
    stage.told(write_call("f", "imagined\n"), expect!["Some(NotObserved(NotObservedDetail { kind: Regular, size_bytes: Some(4), text: Some(true) }))"]).await
}

async fn a_text_that_occurs_twice() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "x\ny\nx\n");
    stage.read("f").await;
    stage
        .told(
            edit_call("f", "x", "z"),
            expect!["Some(AmbiguousEdit(AmbiguousEditDetail { match_count: Some(2), lines: [1, 3] }))"],
        )
        .await
}

async fn a_text_that_does_not_occur() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage.put("f", "let x  = 1;\n");
    stage.read("f").await;
    stage
        .told(
            edit_call("f", "let x = 1;", "let x = 2;"),
            expect![[r#"Some(EditNotFound(EditNotFoundDetail { near_misses: [NearMiss { start_line: Some(1), end_line: Some(1), reasons: [1], reason_text: "white space", lines: <hidden, 11 bytes> }], search_stopped_early: Some(false), search_stop_reason: Unspecified }))"#]],
        )
        .await
}

async fn an_argument_that_is_none() -> Option<Told> {
    let stage = Stage::on_disk(&[]).await;
    stage
        .told(
            read_call("f", 0, None),
            expect![[r#"Some(InvalidArgument(InvalidArgumentDetail { field: "offset", actual: "0", expected: "an integer of at least 1" }))"#]],
        )
        .await
}

/// The file is another user's: root may open everything, so the server runs as nobody then.
async fn a_file_that_the_server_may_not_open() -> Option<Told> {
    const NOBODY: u32 = 65_534;
    let (directory, root) = empty_root();
    let file = root.join("theirs");
    std::fs::write(&file, "x\n").unwrap();
    let mut program = binary();
    let is_root = rustix::process::geteuid().is_root();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    if is_root {
        // The command may stand where only root finds it.
        let copy = directory.path().join("toolfs");
        std::fs::copy(&program, &copy).unwrap();
        program = copy;
        for path in [directory.path(), &root] {
            mode(path, 0o755);
        }
    }
    mode(&file, if is_root { 0o600 } else { 0o000 });
    let mut serve = Command::new(program);
    serve.env_clear().stdin(Stdio::null());
    let served = format!("{}={ROOT}", root.display());
    serve.args(["serve", "--root", &served, "--listen", "127.0.0.1:0", "--state", "memory"]);
    if is_root {
        serve.uid(NOBODY).gid(NOBODY);
    }
    let stage = Stage::of(serve, directory, root).await;
    stage.told(read_call("theirs", None, None), expect!["None"]).await
}

/// The disk is a tmpfs of 1 MiB in a mount namespace of the server's own.
async fn a_disk_that_is_full() -> Option<Told> {
    let (directory, root) = empty_root();
    let mount = "mount -t tmpfs -o size=1m none \"$0\"";
    let in_namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&root);
        command.env_remove("TOOLFS_STATE").stdin(Stdio::null());
        command
    };
    if !in_namespace(mount).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        say("skipped: no mount namespace for a disk to fill");
        return None;
    }
    let mut serve = in_namespace(&format!("{mount} && exec \"$@\""));
    let served = format!("{}={ROOT}", root.display());
    let listen = format!("unix:{}", directory.path().join("s").display());
    serve.arg(binary()).args(["serve", "--root", &served, "--listen", &listen, "--state", "memory"]);
    let stage = Stage::of(serve, directory, root).await;

    let old = "A".repeat(4 << 10);
    let first = stage.session.write(Write::new("f", &old)).await.unwrap();
    let told = stage.told(write_call("f", &"B".repeat(2 << 20)), expect!["None"]).await;
    // The old content is there, the session goes on from it, and nothing that was begun takes up room.
    let after = stage.session.read(Read::new("f")).await.unwrap();
    assert_eq!(after.outcome.version, first.outcome.version);
    stage.session.write(Write::new("f", "C".repeat(600 << 10))).await.unwrap();
    told
}

// --- a provider that fails by script ---

/// A provider whose next writes fail so. Two, since each row is met twice.
fn failing(error: FsError) -> Arc<Faulty<MemoryProvider>> {
    let faulty = scripted_provider();
    for nth in [1, 2] {
        faulty.on(Operation::WriteText, nth, Fault::Before(error.clone()));
    }
    faulty
}

fn scripted_provider() -> Arc<Faulty<MemoryProvider>> {
    Arc::new(Faulty::new(MemoryProvider::new(MemoryConfig::with_root(ROOT)).unwrap()))
}

async fn refused_by_script(kind: ErrorKind, message: &str, detail: Expect) -> Option<Told> {
    let faulty = failing(FsError::new(kind, message));
    let stage = Stage::scripted(Arc::clone(&faulty)).await;
    let told = stage.told(write_call("f", "x"), detail).await;
    assert_eq!(faulty.inner().content(format!("{ROOT}/f").as_bytes()), None);
    told
}

async fn a_storage_that_fails() -> Option<Told> {
    refused_by_script(ErrorKind::IoError, "the storage failed", expect!["None"]).await
}

async fn a_provider_that_cannot() -> Option<Told> {
    refused_by_script(ErrorKind::Unsupported, "this provider cannot write", expect!["None"]).await
}

async fn a_provider_that_is_away() -> Option<Told> {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    refused_by_script(kind, "the provider cannot be reached", expect![[r#"Some(Unavailable(UnavailableDetail { cause: ProviderUnreachable, text: "the provider or the gate cannot be reached" }))"#]]).await
}

/// Both calls are at the provider when the server is told to end, and its patience with them is over at once.
async fn a_server_that_drains() -> Option<Told> {
    let faulty = scripted_provider();
    let holds = [Hold::new(), Hold::new()];
    for (nth, hold) in holds.iter().enumerate() {
        faulty.on(Operation::WriteText, nth + 1, Fault::HoldBefore(hold.clone()));
    }
    let provider = Arc::clone(&faulty) as Arc<dyn Provider>;
    let executor = Arc::new(executor(provider, Policy::Observation, Limits::DEFAULT));
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { drop(ended.await) };
    let client = over_duplex(executor, Duration::ZERO, shutdown);
    let session = client.open_session(OpenSession::default()).await.unwrap();

    // Each in a file of its own: one session's calls on one file wait for each other.
    let message = execute_request(Some(session.id()), Ask::of(write_call("f", "x")));
    let calls = join(client.execute(message, None), typed(&session, write_call("f2", "x")));
    let drain = async {
        for hold in &holds {
            hold.reached().await;
        }
        end.send(()).expect("the server waits for it");
    };
    let ((response, decoded), ()) = join(calls, drain).await;
    let (mut response, decoded) = (response.unwrap(), tool_error(decoded));
    if let Some(error) = &mut response.error {
        assert_eq!(error.path, "f");
        error.path.push('2');
    }
    for name in ["f", "f2"] {
        assert_eq!(faulty.inner().content(format!("{ROOT}/{name}").as_bytes()), None);
    }
    Some(Told { response, decoded, detail: expect!["Some(Aborted(AbortedDetail { cause: Draining }))"] })
}

// --- what is more than a refusal ---

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_effect_that_could_not_be_made_durable_has_error_and_outcome() {
    let faulty = scripted_provider();
    let error = FsError::new(ErrorKind::IoError, "the storage failed after the change was in place");
    faulty.on(Operation::WriteText, 1, Fault::NotDurable(error));
    let stage = Stage::scripted(Arc::clone(&faulty)).await;
    let error = tool_error(typed(&stage.session, write_call("f", "x")).await);
    assert_eq!(error.code(), ErrorCode::Known(FsErrorCode::FsIoError));
    assert_eq!((error.published(), error.is_retryable()), (Published::Yes, false));
    assert!(error.remedy().starts_with("go on"), "{}", error.remedy());
    let Some(v1::execute_response::Outcome::Write(outcome)) = error.outcome() else {
        panic!("what was published has no outcome: {error:?}");
    };
    assert_eq!((outcome.operation(), outcome.size), (v1::WriteOperation::Create, Some(1)));
    // The session has observed it.
    stage.session.edit(Edit::new("f", "x", "y")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_effect_that_may_be_there_is_told_as_such_and_not_to_be_repeated() {
    let faulty = scripted_provider();
    let kind = ErrorKind::Aborted { cause: AbortCause::Cancelled };
    let error =
        FsError::new(kind, "the answer was lost").with_published(toolfs_core::error::Published::Maybe);
    faulty.on(Operation::WriteText, 1, Fault::After(error));
    let stage = Stage::scripted(faulty).await;
    let error = tool_error(typed(&stage.session, write_call("f", "x")).await);
    assert_eq!(error.code(), ErrorCode::Known(FsErrorCode::FsAborted));
    assert_eq!((error.published(), error.is_retryable()), (Published::Maybe, false));
    assert!(error.remedy().starts_with("read the file"), "{}", error.remedy());
    assert!(error.outcome().is_none());
}

// --- the longest that there are ---

/// Paths of 4,095 bytes, the most that the system takes.
fn longest_paths() -> [String; 3] {
    // Characters of one, two and four bytes; the display form of the first is five times as long.
    ["\u{1}", "é", "\u{1f600}"].map(|character| {
        let name = character.repeat(248 / character.len());
        let mut path = format!("{name}/").repeat(16);
        path.push_str(&"n".repeat(4_095 - path.len()));
        path
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_result_carries_the_longest_path_whole() {
    let stage = Stage::on_disk(&[]).await;
    for path in longest_paths() {
        let shown = display_form(path.as_bytes());
        for call in [read_call(&path, None, None), edit_call(&path, "a", "b")] {
            let (response, decoded) = stage.refusals(call).await;
            assert_eq!(decoded.code(), ErrorCode::Known(FsErrorCode::FsNotFound), "{}", decoded.message());
            assert_eq!(decoded.path(), shown);
            assert_eq!(response.error.as_ref(), Some(decoded.as_message()));
        }
        let (_, decoded) = stage.refusals(write_call(&format!("{path}nn"), "x")).await;
        assert_eq!(decoded.code(), ErrorCode::Known(FsErrorCode::FsInvalidArgument));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_result_carries_near_misses_of_long_lines_whole() {
    let stage = Stage::on_disk(&[]).await;
    // Three places of five lines that nearly match, each line of 2,000 characters of four bytes.
    let line = |end: &str| format!("{}{end}\n", "\u{1f600}".repeat(2_000 - end.len()));
    let place = |mark: &str| ["1", "2", "3", "4", mark].map(line).concat();
    let content = [place("a"), place("b"), place("c")].join("between\n");
    stage.put("f", &content);
    stage.read("f").await;
    let (response, decoded) = stage.refusals(edit_call("f", &place("x"), "y")).await;
    assert_eq!(decoded.code(), ErrorCode::Known(FsErrorCode::FsEditNotFound));
    assert_eq!(response.error.as_ref(), Some(decoded.as_message()));
    let Some(v1::fs_error::Detail::EditNotFound(detail)) = decoded.detail() else {
        panic!("no near misses: {decoded:?}");
    };
    assert_eq!(detail.near_misses.len(), 3);
    for near_miss in &detail.near_misses {
        let lengths: Vec<usize> = near_miss.lines.iter().map(|line| line.chars().count()).collect();
        assert_eq!(lengths, [200; 5]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_status_is_cut_to_what_trailers_hold_and_says_so() {
    let stage = Stage::on_disk(&[]).await;
    for path in longest_paths() {
        let too_long = format!("{path}n");
        for (path, code) in [(&path, FsErrorCode::FsNotFound), (&too_long, FsErrorCode::FsInvalidArgument)] {
            let in_cwd = OpenSession { cwd: path.clone(), ..OpenSession::default() };
            let in_roots = OpenSession { roots: vec![path.clone()], ..OpenSession::default() };
            for (open, field) in [(in_cwd, "cwd"), (in_roots, "roots")] {
                check_cut(&stage.client.open_session(open).await.unwrap_err(), code, field);
            }
        }
        let forgotten = stage.session.forget([&too_long]).await;
        check_cut(&forgotten.unwrap_err(), FsErrorCode::FsInvalidArgument, "paths");
    }
}

/// The status of an error whose path is too long for trailers. `field` is the argument that had it.
#[track_caller]
fn check_cut(error: &Error, code: FsErrorCode, field: &str) {
    use tonic_types::StatusExt as _;
    let Error::Call(failure) = error else { panic!("no status: {error:?}") };
    assert_eq!(failure.reason(), &toolfs_client::Reason::Fs(code), "{failure}");
    let status = failure.status();
    let info = status.get_details_error_info().expect("every status of ours has it");
    assert_eq!((info.reason.as_str(), info.domain.as_str()), (code.as_str(), ERROR_DOMAIN));
    assert!(status.message().starts_with(code.as_str()), "{}", status.message());

    let told = failure.error().expect("the error itself is among the details");
    assert_eq!((told.code(), told.reason.as_str()), (code, code.as_str()));
    assert_eq!((told.retryable, told.published()), (Some(false), Published::No));
    assert_eq!(told.detail_truncated, Some(true), "nothing says that the path was cut");
    assert!(told.path.len() > 100 && told.path.ends_with('…'), "{}", told.path);
    if code == FsErrorCode::FsInvalidArgument {
        let Some(v1::fs_error::Detail::InvalidArgument(detail)) = &told.detail else {
            panic!("the detail was lost: {told:?}");
        };
        assert_eq!(detail.field, field);
    }

    let bytes = trailers_bytes(status);
    assert!(bytes < MAX_TRAILERS_BYTES, "{bytes} bytes of trailers");
}

/// What a status takes on the way, with the 32 bytes by which HTTP/2 counts each header.
fn trailers_bytes(status: &tonic::Status) -> usize {
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    assert!(headers.contains_key("grpc-status-details-bin") && headers.contains_key("grpc-message"));
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
}
