//! What a person finds with nothing but the address: reflection, buf and grpcurl, on a copy of a real source tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_reflection::pb::{v1 as reflection, v1alpha as reflection_alpha};

use crate::support::process::{Server, tool};

/// What must not be reachable where it is not asked for: the seam and the gate.
const ABSENT: [&str; 2] = ["toolfs.v1.FileSystemService", "toolfs.v1.PolicyService"];

const SERVED: [&str; 6] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "toolfs.v1.EventService",
    "toolfs.v1.SessionService",
    "toolfs.v1.ToolService",
];

/// A server on a copy of the sources of `toolfs-core`.
struct Project {
    server: Server,
    directory: TempDir,
}

impl Project {
    fn start() -> Project {
        let directory = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("server/core/src");
        copy_tree(&sources, directory.path());
        let root = directory.path().to_str().unwrap();
        let server = Server::start(&["--root", root, "--listen", "127.0.0.1:0"]);
        Project { server, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A program that knows nothing of the contract but what reflection tells it.
enum Outsider {
    Buf(PathBuf),
    Grpcurl(PathBuf),
}

impl Outsider {
    fn services(&self, address: &str) -> Vec<String> {
        let output = match self {
            Outsider::Buf(path) => {
                let url = format!("http://{address}");
                let arguments =
                    ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "--list-services", &url];
                run(Command::new(path).args(arguments))
            }
            Outsider::Grpcurl(path) => run(Command::new(path).args(["-plaintext", address, "list"])),
        };
        let mut services: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        services.sort();
        services
    }

    fn call(&self, address: &str, method: &str, request: &Value) -> Value {
        let request = request.to_string();
        let output = match self {
            Outsider::Buf(path) => {
                let url = format!("http://{address}/{method}");
                let arguments =
                    ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", &request, &url];
                run(Command::new(path).args(arguments))
            }
            Outsider::Grpcurl(path) => {
                run(Command::new(path).args(["-plaintext", "-d", &request, address, method]))
            }
        };
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {} {}", text(&output.stdout), text(&output.stderr));
    output
}

fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).unwrap()
}

#[test]
fn buf_finds_its_way_by_reflection_alone() {
    if let Some(buf) = tool("TOOLFS_BUF") {
        an_agents_day(&Outsider::Buf(buf));
    }
}

#[test]
fn grpcurl_finds_its_way_by_reflection_alone() {
    if let Some(grpcurl) = tool("TOOLFS_GRPCURL") {
        an_agents_day(&Outsider::Grpcurl(grpcurl));
    }
}

/// The story that an agent lives: look, be refused, read, change, be overtaken, read again.
fn an_agents_day(outsider: &Outsider) {
    let project = Project::start();
    let address = project.server.address();
    assert_eq!(outsider.services(&address), SERVED);

    let opened = outsider.call(&address, "toolfs.v1.SessionService/OpenSession", &json!({}));
    let session = opened["sessionId"].as_str().unwrap();
    let execute = |call: Value| {
        let mut request = call;
        request["sessionId"] = session.into();
        outsider.call(&address, "toolfs.v1.ToolService/Execute", &request)
    };
    let worked = |response: &Value| assert_eq!(response["isError"], json!(false), "{response}");
    let refused = |response: &Value, code: &str| {
        assert_eq!(response["isError"], json!(true), "{response}");
        assert_eq!((&response["error"]["reason"], &response["error"]["code"]), (&json!(code), &json!(code)));
    };
    let edit = json!({"edit": {"file_path": "version.rs", "old_string": "pub struct Version(Box<str>);",
        "new_string": "pub struct Version(String);"}});

    let window = execute(json!({"read": {"file_path": "error.rs", "offset": "10", "limit": "3"}}));
    worked(&window);
    let source = std::fs::read_to_string(project.file("error.rs")).unwrap();
    let shown = window["content"][0]["text"].as_str().unwrap();
    for (number, line) in source.lines().enumerate().skip(9).take(3) {
        assert!(shown.contains(&format!("{}: {line}\n", number + 1)), "{shown}");
    }
    assert_eq!(window["read"]["totalLines"], json!(source.lines().count().to_string()));

    let unread = execute(edit.clone());
    refused(&unread, "FS_NOT_OBSERVED");
    assert_eq!(unread["error"]["remedy"], "read it first, then retry");

    worked(&execute(json!({"read": {"file_path": "version.rs"}})));
    let done = execute(edit);
    worked(&done);
    assert_eq!(done["edit"]["replacements"], "1");
    let content = std::fs::read_to_string(project.file("version.rs")).unwrap();
    assert!(content.contains("pub struct Version(String);"));

    worked(&execute(json!({"write": {"file_path": "new/notes.md", "content": "# Notes\n"}})));
    assert_eq!(std::fs::read(project.file("new/notes.md")).unwrap(), b"# Notes\n");

    std::fs::write(project.file("version.rs"), format!("{content}// changed by somebody\n")).unwrap();
    let again = json!({"json": {"name": "edit",
        "arguments_json": r#"{"file_path": "version.rs", "old_string": "(String);", "new_string": "(Box<str>);"}"#}});
    let stale = execute(again.clone());
    refused(&stale, "FS_STALE_VERSION");
    assert_eq!(stale["error"]["remedy"], "read it again, then retry with what is there now");
    assert!(stale["content"][0]["text"].as_str().unwrap().contains("remedy: read it again"));
    worked(&execute(json!({"read": {"file_path": "version.rs", "limit": "1"}})));
    worked(&execute(again));

    std::fs::remove_file(project.file("version.rs")).unwrap();
    refused(&execute(json!({"read": {"file_path": "version.rs"}})), "FS_NOT_FOUND");
    let edit = json!({"edit": {"file_path": "version.rs", "old_string": "a", "new_string": "b"}});
    refused(&execute(edit), "FS_NOT_FOUND");
    let made = execute(json!({"write": {"file_path": "version.rs", "content": ""}}));
    worked(&made);
    assert_eq!(made["write"]["operation"], "WRITE_OPERATION_CREATE");
    assert_eq!(made["write"]["size"], "0", "a zero is shown");
}

#[test]
fn the_command_lines_that_the_ready_output_prints_work_as_they_are() {
    let (Some(buf), Some(grpcurl)) = (tool("TOOLFS_BUF"), tool("TOOLFS_GRPCURL")) else { return };
    let directory = tempfile::tempdir().unwrap();
    let programs = directory.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(std::fs::canonicalize(grpcurl).unwrap(), programs.join("grpcurl")).unwrap();
    std::os::unix::fs::symlink(std::fs::canonicalize(buf).unwrap(), programs.join("buf")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());

    let root = directory.path().join("it's a root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("README.md"), "# It's here\n").unwrap();
    let socket = format!("unix:{}", directory.path().join("s").display());
    for listen in ["127.0.0.1:0", &socket] {
        let server = Server::start(&["--root", root.to_str().unwrap(), "--listen", listen]);
        let lines: Vec<&str> = server
            .ready
            .iter()
            .filter_map(|line| line.trim_start().split_once(": "))
            .map(|(_, line)| line)
            .collect();
        let [_, try_grpcurl, or_buf] = lines[..] else { panic!("{:?}", server.ready) };
        assert!(try_grpcurl.starts_with("grpcurl ") && or_buf.trim_start().starts_with("buf curl "));
        for line in [try_grpcurl, or_buf] {
            let output = run(Command::new("sh").args(["-c", line]).env("PATH", &path));
            let response: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(response["isError"], json!(false), "{line}: {response}");
            assert!(response["content"][0]["text"].as_str().unwrap().starts_with("1: # It's here\n"));
        }
    }
}

// --- what is not there ---

async fn channel(server: &Server) -> Channel {
    Endpoint::from_shared(format!("http://{}", server.address())).unwrap().connect().await.unwrap()
}

fn contract_files() -> Vec<FileDescriptorProto> {
    FileDescriptorSet::decode(toolfs_contract::FILE_DESCRIPTOR_SET).unwrap().file
}

/// Every method of the services that are not served, as a path.
fn absent_methods() -> Vec<String> {
    let mut methods = Vec::new();
    for file in contract_files() {
        for service in &file.service {
            let name = format!("{}.{}", file.package(), service.name());
            if ABSENT.contains(&name.as_str()) {
                methods.extend(service.method.iter().map(|method| format!("/{name}/{}", method.name())));
            }
        }
    }
    methods
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_method_of_the_seam_and_the_gate_is_unimplemented() {
    let project = Project::start();
    let mut grpc = tonic::client::Grpc::new(channel(&project.server).await);
    let methods = absent_methods();
    assert!(methods.len() > 15, "{methods:?}");
    for method in methods {
        grpc.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<(), ()>::default();
        let status = grpc.unary(tonic::Request::new(()), method.parse().unwrap(), codec).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{method}: {status:?}");
    }
}

/// What reflection says to a question: the error's code, the names of services, or the files' names.
#[derive(Debug, PartialEq)]
enum Said {
    Error(i32),
    Services(Vec<String>),
    Files(Vec<String>),
}

fn files(encoded: Vec<Vec<u8>>) -> Said {
    let name = |file: Vec<u8>| FileDescriptorProto::decode(file.as_slice()).unwrap().name().to_owned();
    Said::Files(encoded.into_iter().map(name).collect())
}

macro_rules! ask {
    ($version:ident, $server:expr, $question:expr) => {{
        use $version::server_reflection_request::MessageRequest as Ask;
        use $version::server_reflection_response::MessageResponse as Answer;
        let channel = channel($server).await;
        let mut client = $version::server_reflection_client::ServerReflectionClient::new(channel);
        let question = match $question {
            Question::Services => Ask::ListServices(String::new()),
            Question::Symbol(name) => Ask::FileContainingSymbol(name.to_owned()),
            Question::File(name) => Ask::FileByFilename(name.to_owned()),
        };
        let request =
            $version::ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let mut answers =
            client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
        // What is not there is told by an answer or by the status of the stream.
        let answer = match answers.next().await.unwrap() {
            Ok(response) => response.message_response.unwrap(),
            Err(status) => Answer::ErrorResponse($version::ErrorResponse {
                error_code: i32::from(status.code()),
                error_message: status.message().to_owned(),
            }),
        };
        match answer {
            Answer::ErrorResponse(error) => Said::Error(error.error_code),
            Answer::ListServicesResponse(list) => {
                let mut names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
                names.sort();
                Said::Services(names)
            }
            Answer::FileDescriptorResponse(found) => files(found.file_descriptor_proto),
            other => panic!("{other:?}"),
        }
    }};
}

#[derive(Clone, Copy)]
enum Question<'a> {
    Services,
    Symbol(&'a str),
    File(&'a str),
}

async fn both(server: &Server, question: Question<'_>) -> Said {
    let said = ask!(reflection, server, question);
    assert_eq!(ask!(reflection_alpha, server, question), said, "the two versions differ");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn reflection_tells_what_is_served_and_nothing_else() {
    let project = Project::start();
    let server = &project.server;
    assert_eq!(both(server, Question::Services).await, Said::Services(SERVED.map(str::to_owned).to_vec()));

    let not_found = Said::Error(i32::from(Code::NotFound));
    for file in contract_files().iter().filter(|file| file.package() == "toolfs.v1") {
        let hidden: Vec<String> = file
            .service
            .iter()
            .map(|service| format!("{}.{}", file.package(), service.name()))
            .filter(|name| ABSENT.contains(&name.as_str()))
            .collect();
        let expected_hidden = !hidden.is_empty();
        let found = both(server, Question::File(file.name())).await;
        assert_eq!(found == not_found, expected_hidden, "{}: {found:?}", file.name());
        for message in &file.message_type {
            let name = format!("{}.{}", file.package(), message.name());
            let found = both(server, Question::Symbol(&name)).await;
            assert_eq!(found == not_found, expected_hidden, "{name}: {found:?}");
        }
        for name in hidden {
            assert_eq!(both(server, Question::Symbol(&name)).await, not_found, "{name}");
        }
    }
    // What errors and health are made of can be looked up on every address.
    for name in ["google.rpc.ErrorInfo", "google.rpc.RetryInfo", "grpc.health.v1.HealthCheckResponse"] {
        assert!(matches!(both(server, Question::Symbol(name)).await, Said::Files(_)), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_says_serving_for_the_whole_and_for_each_service() {
    let project = Project::start();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel(&project.server).await);
    for service in ["", "toolfs.v1.ToolService", "toolfs.v1.SessionService", "toolfs.v1.EventService"] {
        let request = tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
        let status = health.check(request).await.unwrap().into_inner().status();
        assert_eq!(status, tonic_health::pb::health_check_response::ServingStatus::Serving, "{service}");
    }
}
