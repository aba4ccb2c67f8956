use prost::Message as _;
use tonic::Status;
use tonic::metadata::KeyAndValueRef;
use toolfs_contract::v1;
use toolfs_core::error::{
    AbortCause, Encoding, ErrorKind, Existing, FsError, NearMiss, NearMissReason, SearchStop,
    UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;

use crate::support::{SeamHost, code_and_reason, fs_error, part, trailer};

/// What a peer accepts, with the 32 bytes by which HTTP/2 counts each header.
const MAX_TRAILERS_BYTES: usize = 8_192;

/// One of each kind, with as much in it as its provider may put there.
fn largest_of_each(line: &str) -> Vec<ErrorKind> {
    let near_miss = NearMiss {
        start_line: u64::MAX,
        end_line: u64::MAX,
        lines: vec![line.to_owned(); NearMiss::MAX_LINES],
        reasons: vec![NearMissReason::TabsOrSpaces, NearMissReason::LetterCase],
    };
    vec![
        ErrorKind::NotFound { similar_names: vec![line.to_owned(); 3] },
        ErrorKind::NotDirectory,
        ErrorKind::NotRegularFile { kind: Some(FileKind::CharDevice) },
        ErrorKind::NotText { byte_offset: u64::MAX, encoding: Some(Encoding::Utf16Le) },
        ErrorKind::TooLarge {
            limit_name: LimitName::MaxContentBytes,
            limit_bytes: u64::MAX,
            size_bytes: u64::MAX,
        },
        ErrorKind::OutOfRange { total_lines: u64::MAX },
        ErrorKind::PermissionDenied,
        ErrorKind::SandboxDenied { rule: line.to_owned() },
        ErrorKind::NoSpace,
        ErrorKind::IoError,
        ErrorKind::StaleVersion {
            expected: Version::parse(&"v".repeat(128)),
            actual: Version::parse(&"w".repeat(128)),
        },
        ErrorKind::NotObserved {
            existing: Some(Existing { kind: FileKind::Regular, size: u64::MAX, text: Some(true) }),
        },
        ErrorKind::AmbiguousEdit { match_count: u64::MAX, lines: vec![u64::MAX; 20] },
        ErrorKind::EditNotFound {
            near_misses: vec![near_miss; NearMiss::MAX_COUNT],
            search_stopped: Some(SearchStop::Time),
        },
        ErrorKind::InvalidArgument {
            field: line.to_owned(),
            actual: line.to_owned(),
            expected: line.to_owned(),
        },
        ErrorKind::Unsupported,
        ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting },
        ErrorKind::Aborted { cause: AbortCause::Cancelled },
        ErrorKind::Aborted { cause: AbortCause::DeadlineExceeded },
        ErrorKind::Aborted { cause: AbortCause::Draining },
    ]
}

/// Each way in which an error may end a call: with an answer, after content came, in parts.
async fn refusals(host: &SeamHost, key: &bytes::Bytes) -> Vec<Status> {
    use v1::write_guard::Condition;
    let mut files = host.files();
    let stat = v1::StatRequest { target_key: key.clone(), want_version: false };
    let header = crate::support::header(key, 0, Condition::Unconditional(v1::Unconditional {}));
    let content = tokio_stream::iter([header, trailer("")].map(part));
    let read = v1::ReadTextRequest { target_key: key.clone() };
    vec![
        files.stat(stat).await.unwrap_err(),
        files.write_text(content).await.unwrap_err(),
        files.read_text(read).await.unwrap_err(),
    ]
}

fn trailers_bytes(status: &Status) -> usize {
    let mut headers = tonic::codegen::http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    let metadata = tonic::metadata::MetadataMap::from_headers(headers);
    metadata
        .iter()
        .map(|header| match header {
            KeyAndValueRef::Ascii(name, value) => name.as_str().len() + value.as_encoded_bytes().len() + 32,
            KeyAndValueRef::Binary(name, value) => name.as_str().len() + value.as_encoded_bytes().len() + 32,
        })
        .sum()
}

/// The contract's table says under which gRPC code each code may travel.
#[track_caller]
fn check(status: &Status, kind: &ErrorKind) -> v1::FsError {
    let reason = kind.code().as_str();
    let code = v1::FsErrorCode::parse(reason).unwrap();
    assert!(code.grpc_codes().contains(&status.code()), "{reason}: {:?}", status.code());
    assert_eq!(code_and_reason(status).1, reason);
    assert!(status.message().starts_with(&format!("{reason}: ")), "{}", status.message());
    let error = fs_error(status).unwrap();
    assert_eq!((error.code(), error.reason.as_str(), error.remedy.as_str()), (code, reason, ""));
    assert_eq!(error.grpc_code(), status.code());
    assert!(error.retryable.is_some() && error.detail_truncated.is_some());
    error
}

#[tokio::test]
async fn each_error_comes_back_whole_where_it_is_small() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    for kind in largest_of_each("let x = 1;") {
        let error = FsError::new(kind.clone(), "what is wrong").with_path("/w/a").with_remedy("for models");
        host.provider.will_fail(error);
        for status in refusals(&host, &key).await {
            let error = check(&status, &kind);
            assert_eq!((error.message.as_str(), error.path.as_str()), ("what is wrong", "/w/a"));
            assert_eq!(error.detail_truncated, Some(false));
            let has_detail = !matches!(
                kind,
                ErrorKind::NotDirectory
                    | ErrorKind::PermissionDenied
                    | ErrorKind::NoSpace
                    | ErrorKind::IoError
                    | ErrorKind::Unsupported
            );
            assert_eq!(error.detail.is_some(), has_detail, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn nothing_overflows_the_trailers_and_code_and_reason_always_survive() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let path = format!("/w/{}", "é".repeat(2_046));
    for line in ["x".repeat(2_000), "漢".repeat(2_000), "% \u{1F600}".repeat(700)] {
        for kind in largest_of_each(&line) {
            let error = FsError::new(kind.clone(), format!("`{path}` {line}"))
                .with_path(&path)
                .with_rescue_path(&path)
                .with_remedy(&line);
            host.provider.will_fail(error);
            for status in refusals(&host, &key).await {
                assert!(
                    trailers_bytes(&status) <= MAX_TRAILERS_BYTES,
                    "{kind:?}: {}",
                    trailers_bytes(&status)
                );
                let error = check(&status, &kind);
                assert_eq!(error.detail_truncated, Some(true));
                assert!(error.path.len() > 120 && error.encoded_len() < 4_500);
            }
        }
    }
}
