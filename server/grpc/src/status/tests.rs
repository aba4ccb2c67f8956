use prost::Message as _;
use tonic::metadata::KeyAndValueRef;
use tonic_types::StatusExt as _;
use toolfs_core::error::{
    Code as FsCode, Encoding, Existing, NearMiss, NearMissReason, SearchStop, UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;

use super::*;

/// What a peer accepts, with the 32 bytes by which HTTP/2 counts each header.
const MAX_TRAILERS_BYTES: usize = 8_192;

/// One error of each code, with everything that it can carry.
fn one_of_each() -> Vec<FsError> {
    let kinds = [
        ErrorKind::NotFound { similar_names: vec!["main.rs".into(), "Main.rs".into()] },
        ErrorKind::NotDirectory,
        ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) },
        ErrorKind::NotText { byte_offset: 17, encoding: Some(Encoding::Utf16Le) },
        ErrorKind::TooLarge {
            limit_name: LimitName::MaxContentBytes,
            limit_bytes: 16 << 20,
            size_bytes: 17 << 20,
        },
        ErrorKind::OutOfRange { total_lines: 0 },
        ErrorKind::PermissionDenied,
        ErrorKind::SandboxDenied { rule: ".git".into() },
        ErrorKind::NoSpace,
        ErrorKind::IoError,
        ErrorKind::StaleVersion { expected: Some(Version::of(b"old")), actual: None },
        ErrorKind::NotObserved {
            existing: Some(Existing { kind: FileKind::Regular, size: 3, text: Some(false) }),
        },
        ErrorKind::AmbiguousEdit { match_count: 25, lines: (1..=20).collect() },
        ErrorKind::EditNotFound { near_misses: vec![near_miss("let x = 1;")], search_stopped: None },
        ErrorKind::InvalidArgument {
            field: "offset".into(),
            actual: "0".into(),
            expected: "1 or more".into(),
        },
        ErrorKind::Unsupported,
        ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting },
        ErrorKind::Aborted { cause: AbortCause::Cancelled },
    ];
    kinds
        .into_iter()
        .map(|kind| {
            FsError::new(kind, "what is wrong").with_path("/w/notes.txt").with_remedy("read it again")
        })
        .collect()
}

fn near_miss(line: &str) -> NearMiss {
    NearMiss {
        start_line: 4,
        end_line: 8,
        lines: vec![line.to_owned(); NearMiss::MAX_LINES],
        reasons: vec![NearMissReason::TabsOrSpaces, NearMissReason::LetterCase],
    }
}

/// The error as a client finds it: through the headers and back.
fn fs_error_of(status: &Status) -> v1::FsError {
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    let received = Status::from_header_map(&headers).unwrap();
    let details = pb::Status::decode(received.details()).unwrap().details;
    let any = details.iter().find(|any| any.type_url == "type.googleapis.com/toolfs.v1.FsError").unwrap();
    v1::FsError::decode(any.value.as_slice()).unwrap()
}

fn trailers_bytes(status: &Status) -> usize {
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers.insert("content-type", "application/grpc".parse().unwrap());
    headers.insert("date", "Mon, 30 Nov 2026 00:00:00 GMT".parse().unwrap());
    let metadata = tonic::metadata::MetadataMap::from_headers(headers);
    metadata
        .iter()
        .map(|header| match header {
            KeyAndValueRef::Ascii(name, value) => name.as_str().len() + value.as_encoded_bytes().len() + 32,
            KeyAndValueRef::Binary(name, value) => name.as_str().len() + value.as_encoded_bytes().len() + 32,
        })
        .sum()
}

#[test]
fn each_error_goes_out_and_comes_back_whole() {
    let errors = one_of_each();
    assert_eq!(errors.iter().map(FsError::code).collect::<Vec<_>>(), FsCode::ALL);
    for error in errors {
        let status = from_fs_error(&error);
        let whole = v1::FsError { detail_truncated: Some(false), ..convert::error::fs_error(&error) };
        assert_eq!(fs_error_of(&status), whole);

        let info = status.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), (error.code().as_str(), "toolfs"));
        assert_eq!(info.metadata["path"], "/w/notes.txt");
        assert_eq!(status.message(), format!("{}: what is wrong", error.code()));
    }
}

#[test]
fn each_reason_has_its_code_and_its_domain() {
    for &reason in CallReason::ALL {
        let status = refused(reason, "why");
        let info = status.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason.as_str(), "toolfs"));
        assert_eq!(status.code(), reason.grpc_code());
        let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
        assert_eq!(retry, (reason == CallReason::Overloaded).then_some(RETRY_OVERLOADED_AFTER));
    }
}

#[test]
fn the_message_of_a_refusal_has_its_words_as_metadata() {
    let status = from_call_error(&CallError::TooManySessions { limit: 7 });
    assert_eq!(status.get_details_error_info().unwrap().metadata["limit"], "7");
    assert!(status.message().contains('7'));
}

#[test]
fn an_aborted_call_says_why_and_what_became_of_it() {
    for (cause, code, reason) in [
        (AbortCause::Cancelled, Code::Cancelled, "CANCELLED"),
        (AbortCause::DeadlineExceeded, Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (AbortCause::Draining, Code::Unavailable, "SHUTTING_DOWN"),
    ] {
        let error = toolfs_provider::abort::aborted(cause);
        let status = from_call_error(&CallError::Aborted(error));
        assert_eq!(status.code(), code);
        assert_eq!(status.get_details_error_info().unwrap().reason, reason);
        assert_eq!(fs_error_of(&status).published(), v1::Published::No);
    }
    assert_eq!(fs_error_of(&aborted(&out_of_time(Published::Maybe))).retryable, Some(false));
    assert_eq!(fs_error_of(&aborted(&out_of_time(Published::No))).retryable, Some(true));
}

#[test]
fn what_the_system_said_stays_inside() {
    let source = std::io::Error::other("/srv/secret: disk on fire");
    let error = FsError::new(ErrorKind::IoError, "the storage failed").with_source(source);
    let status = from_fs_error(&error);
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    assert!(!String::from_utf8_lossy(status.details()).contains("disk on fire"));
    assert!(!format!("{headers:?}").contains("secret"));
    assert!(status.source().is_some(), "the log at the edge needs it");

    let status = internal(std::io::Error::other("a secret of the server"));
    assert!(!String::from_utf8_lossy(status.details()).contains("secret"));
}

#[test]
fn near_misses_of_long_lines_and_a_path_of_4_kib_fit_the_trailers() {
    for line in ["x".repeat(2_000), "漢".repeat(2_000), "\u{1F600} ".repeat(1_000)] {
        let kind = ErrorKind::EditNotFound {
            near_misses: vec![near_miss(&line); NearMiss::MAX_COUNT],
            search_stopped: Some(SearchStop::Bytes),
        };
        let path = format!("/w/{}", "é/".repeat(1_365));
        let error = FsError::new(kind, "`old_string` does not occur ".repeat(100))
            .with_path(&path)
            .with_remedy("look ".repeat(500))
            .with_rescue_path(&path);
        let status = from_fs_error(&error);
        assert!(trailers_bytes(&status) <= MAX_TRAILERS_BYTES, "{}", trailers_bytes(&status));

        let cut = fs_error_of(&status);
        assert_eq!(cut.detail_truncated, Some(true));
        assert_eq!((cut.code(), cut.reason.as_str()), (v1::FsErrorCode::FsEditNotFound, "FS_EDIT_NOT_FOUND"));
        assert!(cut.path.len() >= 250 && path.starts_with(cut.path.trim_end_matches('…')));
        let Some(v1::fs_error::Detail::EditNotFound(detail)) = cut.detail else { panic!("no detail") };
        assert_eq!(detail.near_misses.len(), 3);
        assert_eq!(detail.near_misses[0].lines.len(), 5);
        assert!(detail.near_misses[2].lines[4].len() > 10);
        assert_eq!(detail.search_stopped_early, Some(true));
    }
}

#[test]
fn a_long_path_alone_is_kept_as_far_as_it_fits() {
    let path = format!("/w/{}", "x".repeat(4_090));
    let error = FsError::new(ErrorKind::PermissionDenied, "the file may not be read").with_path(&path);
    let status = from_fs_error(&error);
    assert!(trailers_bytes(&status) <= MAX_TRAILERS_BYTES);
    let cut = fs_error_of(&status);
    assert!(cut.path.len() > 1_000);
    assert_eq!(cut.message, "the file may not be read");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Text that grows most on its way: what is percent-encoded, and what takes several bytes.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~]{0,3000}", "[ %<>]{0,3000}", "\\PC{0,2000}", "[漢é😀 ]{0,2000}"]
    }

    fn kind() -> impl Strategy<Value = ErrorKind> {
        let lines = prop::collection::vec(text(), 0..=NearMiss::MAX_LINES);
        let near_misses = prop::collection::vec(lines, 0..=NearMiss::MAX_COUNT);
        prop_oneof![
            prop::collection::vec(text(), 0..=3)
                .prop_map(|similar_names| ErrorKind::NotFound { similar_names }),
            text().prop_map(|rule| ErrorKind::SandboxDenied { rule }),
            (text(), text(), text()).prop_map(|(field, actual, expected)| ErrorKind::InvalidArgument {
                field,
                actual,
                expected
            }),
            near_misses.prop_map(|near_misses| ErrorKind::EditNotFound {
                near_misses: near_misses
                    .into_iter()
                    .map(|lines| NearMiss { lines, ..near_miss("") })
                    .collect(),
                search_stopped: None,
            }),
            Just(ErrorKind::StaleVersion {
                expected: Version::parse(&"v".repeat(128)),
                actual: Version::parse(&"w".repeat(128)),
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_status_fits_the_trailers(
            kind in kind(), message in text(), path in text(), remedy in text(), rescue in text(),
        ) {
            let error = FsError::new(kind.clone(), message)
                .with_path(path).with_remedy(remedy).with_rescue_path(rescue);
            let status = from_fs_error(&error);
            prop_assert!(trailers_bytes(&status) <= MAX_TRAILERS_BYTES);
            let received = fs_error_of(&status);
            prop_assert!(received.detail.is_some());
            let same = v1::FsError { detail_truncated: Some(false), ..convert::error::fs_error(&error) };
            prop_assert_eq!(received.detail_truncated == Some(false), received == same);
        }
    }
}
