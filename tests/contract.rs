//! The contract as a whole: its text form, its rules beyond what `buf lint` knows, and the one table of codes.
//!
//! `TOOLFS_ACCEPT=1` rewrites `proto/v1.txtpb`; its diff is the change of the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message as _;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};
use tonic::Code;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, FsErrorCode};
use toolfs_contract::{FILE_DESCRIPTOR_SET, descriptor_set};

const SERVED_BY_DEFAULT: [&str; 3] =
    ["toolfs.v1.ToolService", "toolfs.v1.SessionService", "toolfs.v1.EventService"];

fn proto_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("proto")
}

fn decode(set: &[u8]) -> FileDescriptorSet {
    FileDescriptorSet::decode(set).unwrap()
}

/// The files of the contract, without those of Google that it imports.
fn own_files() -> Vec<FileDescriptorProto> {
    decode(FILE_DESCRIPTOR_SET).file.into_iter().filter(|file| file.package() == "toolfs.v1").collect()
}

fn messages() -> BTreeMap<String, DescriptorProto> {
    own_files()
        .into_iter()
        .flat_map(|file| file.message_type)
        .map(|message| (format!(".toolfs.v1.{}", message.name()), message))
        .collect()
}

fn services(set: &FileDescriptorSet) -> Vec<String> {
    let names = |file: &FileDescriptorProto| {
        let package = file.package().to_owned();
        file.service.iter().map(|service| format!("{package}.{}", service.name())).collect::<Vec<_>>()
    };
    set.file.iter().flat_map(names).collect()
}

fn file_names(set: &FileDescriptorSet) -> BTreeSet<&str> {
    set.file.iter().map(|file| file.name()).filter(|name| name.starts_with("toolfs/")).collect()
}

// --- the text descriptor ---

#[test]
fn the_committed_text_descriptor_is_current() {
    let descriptor =
        DescriptorPool::global().get_message_by_name("google.protobuf.FileDescriptorSet").unwrap();
    let set = DynamicMessage::decode(descriptor, FILE_DESCRIPTOR_SET).unwrap();
    let current = set.to_text_format_with_options(&FormatOptions::new().pretty(true)) + "\n";

    let path = proto_dir().join("v1.txtpb");
    if env::var_os("TOOLFS_ACCEPT").is_some() {
        fs::write(&path, current).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == current,
        "proto/v1.txtpb is not the contract's: run this test with TOOLFS_ACCEPT=1, look at the diff"
    );
}

// --- what is served where ---

#[test]
fn the_default_services_bring_nothing_of_seam_and_gate() {
    let set = decode(&descriptor_set(&SERVED_BY_DEFAULT));

    assert_eq!(services(&set).len(), SERVED_BY_DEFAULT.len());
    assert!(SERVED_BY_DEFAULT.iter().all(|name| services(&set).iter().any(|served| served == name)));
    let files = file_names(&set);
    assert!(!files.contains("toolfs/v1/filesystem.proto") && !files.contains("toolfs/v1/policy.proto"));
    assert_eq!(files.len(), 5);
}

#[test]
fn every_address_tells_the_errors() {
    for served in [&[][..], &["grpc.health.v1.Health"], &["toolfs.v1.PolicyService"]] {
        assert!(file_names(&decode(&descriptor_set(served))).contains("toolfs/v1/error.proto"), "{served:?}");
    }
}

#[test]
fn a_filtered_descriptor_set_is_complete_in_itself() {
    let all = services(&decode(FILE_DESCRIPTOR_SET));
    assert_eq!(all.len(), 5);
    for service in &all {
        let set = descriptor_set(&[service]);
        let pool = DescriptorPool::decode(set.as_slice()).unwrap();
        let served: Vec<_> = pool.services().map(|service| service.full_name().to_owned()).collect();
        assert_eq!(&served, std::slice::from_ref(service));
    }
}

#[test]
fn all_services_together_are_the_whole_contract() {
    let all = services(&decode(FILE_DESCRIPTOR_SET));
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    assert_eq!(decode(&descriptor_set(&names)), decode(FILE_DESCRIPTOR_SET));
}

// --- names ---

#[test]
fn names_that_collide_in_some_language_are_not_used() {
    for message in messages().values() {
        assert!(
            !["Error", "Event", "Image", "View", "Policy"].contains(&message.name()),
            "{}",
            message.name()
        );
        for oneof in &message.oneof_decl {
            let camel: String = oneof.name().split('_').map(capitalized).collect();
            assert_ne!(camel, message.name(), "a oneof bears its message's name");
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

#[test]
fn enum_values_carry_the_name_of_their_enum_save_the_stable_codes() {
    for file in own_files() {
        for item in &file.enum_type {
            let prefix = if item.name() == "FsErrorCode" { "FS_".to_owned() } else { screaming(item.name()) };
            for value in &item.value {
                assert!(value.name().starts_with(&prefix), "{} in {}", value.name(), item.name());
            }
        }
    }
}

/// `LimitKind` as `LIMIT_KIND_`.
fn screaming(camel: &str) -> String {
    let mut name = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name + "_"
}

#[test]
fn each_file_names_its_packages() {
    for file in own_files() {
        let options = file.options.as_ref().unwrap();
        assert_eq!(options.go_package(), "github.com/toolfs/toolfs/client/go/gen/toolfs/v1;toolfsv1");
        assert_eq!(options.java_package(), "dev.toolfs.v1");
        assert!(options.java_multiple_files());
        assert!(options.java_outer_classname().ends_with("Proto"), "{}", file.name());
    }
}

// --- presence ---

/// Whether absence can be told from zero.
fn has_presence(field: &FieldDescriptorProto) -> bool {
    field.label() == Label::Repeated || field.r#type() == Type::Message || field.oneof_index.is_some()
}

fn is_number_or_boolean(field: &FieldDescriptorProto) -> bool {
    !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Enum | Type::Group)
}

/// The messages that a message of this name holds, at any depth, itself included.
fn reachable(root: &str, messages: &BTreeMap<String, DescriptorProto>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut next = vec![root.to_owned()];
    while let Some(name) = next.pop() {
        if let Some(message) = messages.get(&name)
            && seen.insert(name)
        {
            next.extend(message.field.iter().map(|field| field.type_name().to_owned()));
        }
    }
    seen
}

#[test]
fn numbers_and_booleans_of_responses_have_presence() {
    let messages = messages();
    let responses = messages.keys().filter(|name| name.ends_with("Response") || name.ends_with(".FsError"));
    for name in responses.flat_map(|response| reachable(response, &messages)).collect::<BTreeSet<_>>() {
        for field in messages[&name].field.iter().filter(|field| is_number_or_boolean(field)) {
            assert!(has_presence(field), "{name}.{} is not optional", field.name());
        }
    }
}

#[test]
fn arguments_and_seam_mutations_have_presence_throughout() {
    let messages = messages();
    let names = [
        "ReadCall",
        "WriteCall",
        "EditCall",
        "JsonCall",
        "WriteTextHeader",
        "PlanWriteHeader",
        "WriteTrailer",
        "EditTextRequest",
        "PlanEditRequest",
    ];
    for name in names {
        for field in &messages[&format!(".toolfs.v1.{name}")].field {
            assert!(has_presence(field), "{name}.{} is not optional", field.name());
        }
    }
}

// --- the table of codes ---

#[test]
fn the_table_has_every_code_of_the_contract() {
    let files = own_files();
    let codes =
        files.iter().flat_map(|file| &file.enum_type).find(|item| item.name() == "FsErrorCode").unwrap();
    let names: Vec<_> =
        codes.value.iter().map(|value| value.name()).filter(|name| *name != "FS_UNSPECIFIED").collect();
    assert_eq!(FsErrorCode::ALL.map(FsErrorCode::as_str).as_slice(), names);
}

#[test]
fn every_reason_is_told_apart_by_its_spelling() {
    let mut spellings = BTreeSet::new();
    for code in FsErrorCode::ALL {
        assert_eq!(FsErrorCode::parse(code.as_str()), Some(code));
        assert_eq!(CallReason::parse(code.as_str()), None);
        assert!(spellings.insert(code.as_str()));
    }
    for &reason in CallReason::ALL {
        assert_eq!(CallReason::parse(reason.as_str()), Some(reason));
        assert_eq!(FsErrorCode::parse(reason.as_str()), None);
        assert!(spellings.insert(reason.as_str()));
        assert_ne!(reason.grpc_code(), Code::Ok);
    }
    assert_eq!(FsErrorCode::parse("FS_UNSPECIFIED"), None);
    assert_eq!(FsErrorCode::parse("FS_OF_TOMORROW"), None);
    assert_eq!(CallReason::parse(""), None);
}

#[test]
fn an_aborted_call_says_whether_it_was_out_of_time() {
    let aborted = |cause: v1::AbortCause| v1::FsError {
        code: FsErrorCode::FsAborted.into(),
        detail: Some(v1::fs_error::Detail::Aborted(v1::AbortedDetail { cause: cause.into() })),
        ..v1::FsError::default()
    };
    assert_eq!(aborted(v1::AbortCause::DeadlineExceeded).grpc_code(), Code::DeadlineExceeded);
    assert_eq!(aborted(v1::AbortCause::Cancelled).grpc_code(), Code::Cancelled);
    assert_eq!(aborted(v1::AbortCause::Draining).grpc_code(), Code::Cancelled);
    let without_detail = v1::FsError { detail: None, ..aborted(v1::AbortCause::DeadlineExceeded) };
    assert_eq!(without_detail.grpc_code(), Code::Cancelled);
}

#[test]
fn a_code_that_is_not_known_is_permanent_and_loud() {
    let error = v1::FsError { code: 4711, ..v1::FsError::default() };
    assert_eq!(error.grpc_code(), Code::Unknown);
}

/// The rows of the README's tables whose first cell is a reason: reason and gRPC codes.
fn documented_reasons() -> BTreeMap<String, String> {
    let readme = fs::read_to_string(proto_dir().join("README.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        let reason = cells.get(1)?;
        let capitals =
            !reason.is_empty() && reason.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        capitals.then(|| (reason.clone(), cells[2].clone()))
    };
    readme.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

#[test]
fn the_readme_lists_every_reason_with_its_grpc_code() {
    let codes = FsErrorCode::ALL.into_iter().map(|code| (code.as_str(), code.grpc_codes().to_vec()));
    let reasons = CallReason::ALL.iter().map(|reason| (reason.as_str(), vec![reason.grpc_code()]));
    let table: BTreeMap<_, _> = codes
        .chain(reasons)
        .map(|(reason, grpc)| {
            (reason.to_owned(), grpc.into_iter().map(grpc_name).collect::<Vec<_>>().join(" or "))
        })
        .collect();
    assert_eq!(documented_reasons(), table);
}

fn grpc_name(code: Code) -> String {
    let camel = format!("{code:?}");
    screaming(&camel).trim_end_matches('_').to_owned()
}

/// Words in backticks and capitals that a comment may use beside reasons and names of enum values.
const OTHER_CAPITALS: [&str; 1] = ["NAME"];

#[test]
fn comments_name_only_reasons_and_values_that_exist() {
    let files = own_files();
    let values: BTreeSet<_> = files
        .iter()
        .flat_map(|file| &file.enum_type)
        .flat_map(|item| &item.value)
        .map(|value| value.name())
        .collect();
    for entry in fs::read_dir(proto_dir().join("toolfs/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let capitals =
                word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            let known =
                CallReason::parse(word).is_some() || values.contains(word) || OTHER_CAPITALS.contains(&word);
            assert!(!capitals || known, "a comment names `{word}`");
        }
    }
}

// --- secrets ---

#[test]
fn debug_output_shows_neither_secrets_nor_content() {
    use prost::bytes::Bytes;

    let secret = || "SECRET".to_owned();
    let chunk = || Bytes::from_static(b"SECRET");
    let shown = [
        format!(
            "{:?}",
            v1::ExecuteRequest {
                session_id: secret(),
                call: Some(v1::execute_request::Call::Write(v1::WriteCall {
                    file_path: Some("notes.txt".into()),
                    content: Some(secret()),
                })),
                ..Default::default()
            }
        ),
        format!(
            "{:?}",
            v1::EditCall { old_string: Some(secret()), new_string: Some(secret()), ..Default::default() }
        ),
        format!("{:?}", v1::JsonCall { arguments_json: Some(secret()), ..Default::default() }),
        format!(
            "{:?}",
            v1::ExecuteResponse {
                content: vec![v1::ContentBlock { block: Some(v1::content_block::Block::Text(secret())) }],
                error: Some(v1::FsError {
                    detail: Some(v1::fs_error::Detail::EditNotFound(v1::EditNotFoundDetail {
                        near_misses: vec![v1::NearMiss { lines: vec![secret()], ..Default::default() }],
                        ..Default::default()
                    })),
                    ..Default::default()
                }),
                outcome: Some(v1::execute_response::Outcome::Read(v1::ReadOutcome {
                    lines: vec![v1::ReadLine { text: secret(), ..Default::default() }],
                    ..Default::default()
                })),
                ..Default::default()
            }
        ),
        format!("{:?}", v1::ImageBlock { data: chunk(), ..Default::default() }),
        format!(
            "{:?}",
            v1::Diff {
                text: secret(),
                hunks: vec![v1::DiffHunk {
                    lines: vec![v1::DiffLine { text: secret(), ..Default::default() }],
                    ..Default::default()
                }],
                ..Default::default()
            }
        ),
        format!("{:?}", v1::OpenSessionResponse { session_id: secret(), session: None }),
        format!(
            "{:?}",
            v1::GetSessionRequest { key: Some(v1::get_session_request::Key::SessionId(secret())) }
        ),
        format!(
            "{:?}",
            v1::CloseSessionRequest { key: Some(v1::close_session_request::Key::SessionId(secret())) }
        ),
        format!(
            "{:?}",
            v1::ForgetObservationsRequest {
                key: Some(v1::forget_observations_request::Key::SessionId(secret())),
                scope: None,
            }
        ),
        format!(
            "{:?}",
            v1::WatchRequest {
                scope: Some(v1::watch_request::Scope::SessionId(secret())),
                ..Default::default()
            }
        ),
        format!("{:?}", v1::RawLine { text: chunk(), ..Default::default() }),
        format!("{:?}", v1::ReadTextResponse { part: Some(v1::read_text_response::Part::Chunk(chunk())) }),
        format!("{:?}", v1::ReadBytesResponse { part: Some(v1::read_bytes_response::Part::Chunk(chunk())) }),
        format!("{:?}", v1::WriteTextRequest { part: Some(v1::write_text_request::Part::Chunk(chunk())) }),
        format!("{:?}", v1::PlanWriteRequest { part: Some(v1::plan_write_request::Part::Chunk(chunk())) }),
        format!(
            "{:?}",
            v1::EditTextRequest {
                old_string: Some(secret()),
                new_string: Some(secret()),
                ..Default::default()
            }
        ),
        format!(
            "{:?}",
            v1::PlanEditRequest {
                old_string: Some(secret()),
                new_string: Some(secret()),
                ..Default::default()
            }
        ),
    ];
    for text in &shown {
        assert!(!text.contains("SECRET") && text.contains("<hidden, 6 bytes>"), "{text}");
    }
    assert!(shown[0].contains("notes.txt"));
}
