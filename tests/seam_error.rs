//! The errors of the seam: each code as a status, decoded again by the provider at the other end, and cut to what
//! trailers hold where it is too long.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use tonic::codegen::http::HeaderMap;
use tonic::{Code, Status};
use tonic_types::{StatusExt as _, pb};
use toolfs_client::v1::{self, file_system_service_client::FileSystemServiceClient};
use toolfs_core::edit::EditRequest;
use toolfs_core::error::{
    self, AbortCause, Encoding, ErrorKind, Existing, FsError, NearMiss, NearMissReason, UnavailableCause,
};
use toolfs_core::guard::EditGuard;
use toolfs_core::limit::LimitName;
use toolfs_core::target::{FileKind, TargetKey};
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::faulty::{Fault, Faulty, Hold, Operation};
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::request::EditTextRequest;
use toolfs_provider::{Provider, ProviderExt as _};
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};

use crate::support::{ROOT, seam_over_duplex};

/// What peers accept as trailers, and what HTTP/2 counts for each header beside its bytes.
const MAX_TRAILERS_BYTES: usize = 8_192;
const HEADER_BYTES: usize = 32;

/// One error of each code, with all its facts; texts are as long as `text` makes them.
fn one_of_each(text: impl Fn(usize) -> String) -> Vec<FsError> {
    let near_miss = NearMiss {
        start_line: 4,
        end_line: 8,
        lines: vec![text(NearMiss::MAX_LINE_CHARS); NearMiss::MAX_LINES],
        reasons: vec![NearMissReason::TabsOrSpaces, NearMissReason::LetterCase],
    };
    let kinds = [
        ErrorKind::NotFound { similar_names: vec![text(63); 3] },
        ErrorKind::NotDirectory,
        ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) },
        ErrorKind::NotText { byte_offset: 17, encoding: Some(Encoding::Utf16Le) },
        ErrorKind::TooLarge { limit_name: LimitName::MaxFileBytes, limit_bytes: 16, size_bytes: 17 },
        ErrorKind::OutOfRange { total_lines: 0 },
        ErrorKind::PermissionDenied,
        ErrorKind::SandboxDenied { rule: ".git".into() },
        ErrorKind::NoSpace,
        ErrorKind::IoError,
        ErrorKind::StaleVersion { expected: Some(Version::of(b"old")), actual: None },
        ErrorKind::NotObserved {
            existing: Some(Existing { kind: FileKind::Regular, size: 3, text: Some(false) }),
        },
        ErrorKind::AmbiguousEdit { match_count: 10_000, lines: (1..=20).collect() },
        ErrorKind::EditNotFound { near_misses: vec![near_miss; 3], search_stopped: None },
        ErrorKind::InvalidArgument { field: "path".into(), actual: text(63), expected: text(63) },
        ErrorKind::Unsupported,
        ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting },
        ErrorKind::Aborted { cause: AbortCause::Draining },
    ];
    let path = text(1_023);
    let error = |kind| FsError::new(kind, format!("what is wrong with `{path}`")).with_path(path.clone());
    let errors: Vec<FsError> = kinds.into_iter().map(error).collect();
    assert_eq!(errors.iter().map(FsError::code).collect::<Vec<_>>(), error::Code::ALL, "a code is missing");
    errors
}

fn scripted() -> Arc<Faulty<MemoryProvider>> {
    let memory = MemoryProvider::new(MemoryConfig::with_root(ROOT)).unwrap();
    memory.put(format!("{ROOT}/f").as_bytes(), "one\n");
    Arc::new(Faulty::new(memory))
}

async fn key(provider: &Faulty<MemoryProvider>) -> TargetKey {
    provider.resolve_path(&AbortSignal::new(), "f").await.unwrap().key
}

fn message(key: &TargetKey) -> v1::EditTextRequest {
    let condition = v1::edit_guard::Condition::Unconditional(v1::Unconditional {});
    v1::EditTextRequest {
        target_key: Some(key.as_bytes().to_vec().into()),
        guard: Some(v1::EditGuard { condition: Some(condition) }),
        old_string: Some("one".into()),
        new_string: Some("two".into()),
        ..v1::EditTextRequest::default()
    }
}

fn error_in(status: &Status) -> v1::FsError {
    let details = pb::Status::decode(status.details()).unwrap().details;
    let detail = details.iter().find(|detail| detail.type_url.ends_with("/toolfs.v1.FsError"));
    v1::FsError::decode(detail.expect("each error of the seam carries itself").value.as_slice()).unwrap()
}

fn trailers_bytes(status: &Status) -> usize {
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_code_comes_back_as_it_was() {
    let provider = scripted();
    let errors = one_of_each(|length| "x".repeat(length.min(16)));
    for (index, error) in errors.iter().enumerate() {
        provider.on(Operation::EditText, index + 1, Fault::Before(error.clone()));
    }
    let channel = seam_over_duplex(Arc::clone(&provider) as Arc<dyn Provider>);
    let remote = RemoteProvider::from_channel(channel, RemoteOptions::DEFAULT);
    let target = key(&provider).await;
    for error in errors {
        let request = EditTextRequest {
            target: target.clone(),
            edit: EditRequest::new("one".into(), "two".into(), false).unwrap(),
            guard: EditGuard::Unconditional,
            want_diff: false,
            operation_id: None,
        };
        let told = remote.edit_text(&AbortSignal::new(), request).await.unwrap_err();
        if error.code() == error::Code::Aborted {
            // A provider that drains is not there, for whoever asks it; its caller did not give up.
            let cause = UnavailableCause::ProviderUnreachable;
            assert_eq!(told.kind(), &ErrorKind::Unavailable { cause });
        } else {
            assert_eq!(told.kind(), error.kind());
            assert_eq!((told.message(), told.path()), (error.message(), error.path()));
        }
        assert_eq!((told.published(), told.remedy()), (error.published(), None));
        assert_eq!(told.is_retryable(), error.is_retryable());
    }
    assert_eq!(provider.inner().content(format!("{ROOT}/f").as_bytes()).unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_longest_errors_fit_trailers_and_say_what_was_cut() {
    // Texts of 4-byte characters: paths of 4 KiB, names of 252 bytes, lines of 800.
    let provider = scripted();
    let errors = one_of_each(|length| "\u{1f600}".repeat(length));
    for (index, error) in errors.iter().enumerate() {
        provider.on(Operation::EditText, index + 1, Fault::Before(error.clone()));
    }
    let channel = seam_over_duplex(Arc::clone(&provider) as Arc<dyn Provider>);
    let mut stub = FileSystemServiceClient::new(channel);
    let message = message(&key(&provider).await);
    for error in errors {
        let code = error.code().as_str();
        let status = stub.edit_text(message.clone()).await.unwrap_err();
        let bytes = trailers_bytes(&status);
        assert!(bytes < MAX_TRAILERS_BYTES, "{code}: {bytes} bytes of trailers");
        assert_eq!(status.get_details_error_info().expect(code).reason, code);
        assert!(status.message().starts_with(code), "{}", status.message());

        let told = error_in(&status);
        assert_eq!((told.reason.as_str(), told.code().as_str()), (code, code));
        assert_eq!(status.code(), told.grpc_code(), "{code}");
        assert_eq!(told.detail_truncated, Some(true), "{code}");
        assert_eq!(told.retryable, Some(error.is_retryable()), "{code}");
        assert!(told.path.ends_with('…') && told.remedy.is_empty(), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_out_of_time_is_aborted_with_its_cause() {
    let provider = scripted();
    provider.on(Operation::EditText, 1, Fault::HoldBefore(Hold::new()));
    let mut stub = FileSystemServiceClient::new(seam_over_duplex(Arc::clone(&provider) as Arc<dyn Provider>));
    let mut request = tonic::Request::new(message(&key(&provider).await));
    request.set_timeout(Duration::from_millis(500));
    let status = stub.edit_text(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    let told = error_in(&status);
    assert_eq!((told.reason.as_str(), told.published()), ("FS_ABORTED", v1::Published::No));
    let Some(v1::fs_error::Detail::Aborted(detail)) = told.detail else { panic!("no cause: {told:?}") };
    assert_eq!(detail.cause(), v1::AbortCause::DeadlineExceeded);
    assert_eq!(provider.inner().content(format!("{ROOT}/f").as_bytes()).unwrap(), "one\n");
}
