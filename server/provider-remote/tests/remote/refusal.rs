//! Errors of a provider, through the network and back.

use std::sync::Arc;

use prost::Message as _;
use tonic::{Code as GrpcCode, Status};
use toolfs_contract::v1;
use toolfs_core::error::{
    AbortCause, Code, Encoding, ErrorKind, Existing, FsError, NearMiss, NearMissReason, Published,
    SearchStop, UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;
use toolfs_provider::Provider as _;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::faulty::{Fault, Faulty, Operation};
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::request::ByteRange;
use toolfs_provider_remote::RemoteOptions;

use crate::network;
use crate::peer::{Answers, Ask, Manner, Peer, edit, key};

/// One kind of each code at least, with all facts that it can have.
fn kinds() -> Vec<ErrorKind> {
    let near_miss = NearMiss {
        start_line: 3,
        end_line: 4,
        lines: vec!["\tif x {".into(), "é".repeat(200)],
        reasons: vec![NearMissReason::TabsOrSpaces, NearMissReason::LetterCase],
    };
    vec![
        ErrorKind::NotFound { similar_names: vec!["README.md".into()] },
        ErrorKind::NotDirectory,
        ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) },
        ErrorKind::NotRegularFile { kind: None },
        ErrorKind::NotText { byte_offset: 7, encoding: Some(Encoding::Utf16Be) },
        ErrorKind::NotText { byte_offset: 0, encoding: None },
        ErrorKind::TooLarge { limit_name: LimitName::MaxReadBytes, limit_bytes: 5, size_bytes: 6 },
        ErrorKind::OutOfRange { total_lines: 9 },
        ErrorKind::PermissionDenied,
        ErrorKind::SandboxDenied { rule: ".git".into() },
        ErrorKind::NoSpace,
        ErrorKind::IoError,
        ErrorKind::StaleVersion { expected: Some(Version::of(b"a")), actual: Some(Version::of(b"b")) },
        ErrorKind::StaleVersion { expected: None, actual: None },
        ErrorKind::NotObserved { existing: None },
        ErrorKind::NotObserved {
            existing: Some(Existing { kind: FileKind::Regular, size: 3, text: Some(false) }),
        },
        ErrorKind::AmbiguousEdit { match_count: 21, lines: (1..=20).collect() },
        ErrorKind::EditNotFound { near_misses: vec![near_miss], search_stopped: Some(SearchStop::Bytes) },
        ErrorKind::EditNotFound { near_misses: Vec::new(), search_stopped: None },
        ErrorKind::InvalidArgument {
            field: "path".into(),
            actual: "empty".into(),
            expected: "a path".into(),
        },
        ErrorKind::Unsupported,
        ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting },
        ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging },
        ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable },
        ErrorKind::Unavailable { cause: UnavailableCause::Overloaded },
    ]
}

fn faulty(error: FsError, operation: Operation) -> Arc<Faulty<MemoryProvider>> {
    let faulty = Faulty::new(MemoryProvider::new(MemoryConfig::with_root("/w")).unwrap());
    faulty.on(operation, 1, Fault::Before(error));
    Arc::new(faulty)
}

#[tokio::test]
async fn every_error_comes_back_as_it_was() {
    for kind in kinds() {
        let error = FsError::new(kind.clone(), "what is wrong")
            .with_path("/w/f")
            .with_rescue_path("/w/f.rescue")
            .with_published(Published::Maybe);
        let provider = network::over_duplex(faulty(error.clone(), Operation::EditText));
        let back = provider.edit_text(&AbortSignal::new(), edit(None)).await.unwrap_err();
        assert_eq!(back.kind(), &kind);
        assert_eq!(back.message(), error.message());
        assert_eq!((back.path(), back.rescue_path()), (Some("/w/f"), Some("/w/f.rescue")), "{kind:?}");
        assert_eq!((back.published(), back.remedy()), (Published::Maybe, None), "{kind:?}");

        let provider = network::over_duplex(faulty(error, Operation::Stat));
        let back = provider.stat(&AbortSignal::new(), &key(), false).await.unwrap_err();
        assert_eq!((back.kind(), back.published()), (&kind, Published::No), "a stat changes nothing");
    }
}

#[tokio::test]
async fn an_error_that_had_to_be_cut_keeps_its_code() {
    let near_miss = NearMiss {
        start_line: 1,
        end_line: 5,
        lines: vec!["é".repeat(200); 5],
        reasons: vec![NearMissReason::SomeLinesDiffer],
    };
    let kind = ErrorKind::EditNotFound { near_misses: vec![near_miss; 3], search_stopped: None };
    let error = FsError::new(kind, "no match").with_path("p".repeat(4_096));
    let provider = network::over_duplex(faulty(error, Operation::EditText));
    let back = provider.edit_text(&AbortSignal::new(), edit(None)).await.unwrap_err();
    let ErrorKind::EditNotFound { near_misses, search_stopped: None } = back.kind() else {
        panic!("{back:?}")
    };
    assert_eq!(near_misses.len(), 3);
}

/// The other process was told to stop by somebody else: here it went away.
#[tokio::test]
async fn a_peer_that_gives_up_by_itself_is_unavailable() {
    for cause in [AbortCause::Cancelled, AbortCause::DeadlineExceeded, AbortCause::Draining] {
        for published in [Published::No, Published::Maybe] {
            let error = FsError::new(ErrorKind::Aborted { cause }, "given up").with_published(published);
            let provider = network::over_duplex(faulty(error, Operation::EditText));
            let back = provider.edit_text(&AbortSignal::new(), edit(None)).await.unwrap_err();
            assert_eq!((back.code(), back.published()), (Code::Unavailable, published), "{cause:?}");
        }
    }
}

/// A status with an `FsError` among its details, as another implementation may put it together.
pub(crate) fn status(grpc: GrpcCode, error: v1::FsError) -> Status {
    let detail = prost_types::Any {
        type_url: "type.googleapis.com/toolfs.v1.FsError".into(),
        value: error.encode_to_vec(),
    };
    // The layout of `google.rpc.Status`.
    #[derive(Clone, PartialEq, prost::Message)]
    struct RpcStatus {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
        #[prost(message, repeated, tag = "3")]
        details: Vec<prost_types::Any>,
    }
    let details = RpcStatus { code: grpc.into(), message: String::new(), details: vec![detail] };
    Status::with_details(grpc, "", details.encode_to_vec().into())
}

async fn refused_with(ask: Ask, status: Status) -> FsError {
    let provider = Peer::new(Answers::default(), [Manner::Refuse(status)]).serve(RemoteOptions::DEFAULT);
    ask.of(&provider, &AbortSignal::new()).await.unwrap_err()
}

#[tokio::test]
async fn an_error_of_a_newer_peer_is_shown_and_never_made_up() {
    let newer = v1::FsError {
        code: 99,
        reason: "FS_NEWER".into(),
        message: "something\nnew".into(),
        published: v1::Published::No.into(),
        ..v1::FsError::default()
    };
    let error = refused_with(Ask::Edit, status(GrpcCode::FailedPrecondition, newer.clone())).await;
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::No));
    assert_eq!(error.message(), r"the provider refused with `FS_NEWER`: something\u{a}new");

    // A fact without which a code cannot be said, and a limit that is not known here.
    let bare = |code: v1::FsErrorCode| v1::FsError { reason: code.as_str().into(), ..newer.clone() };
    for code in [v1::FsErrorCode::FsNotText, v1::FsErrorCode::FsTooLarge, v1::FsErrorCode::FsOutOfRange] {
        let error = refused_with(Ask::Stat, status(GrpcCode::FailedPrecondition, bare(code))).await;
        assert_eq!(error.code(), Code::IoError);
        assert!(error.message().contains(code.as_str()), "{error}");
    }
    let limit = v1::TooLargeDetail {
        limit_name: "max_newer_bytes".into(),
        limit_bytes: Some(1),
        size_bytes: Some(2),
        limit_kind: 77,
    };
    let detail = Some(v1::fs_error::Detail::TooLarge(limit));
    let too_large = v1::FsError { detail, ..bare(v1::FsErrorCode::FsTooLarge) };
    let error = refused_with(Ask::Stat, status(GrpcCode::FailedPrecondition, too_large)).await;
    assert!(error.message().starts_with("the provider refused with `FS_TOO_LARGE`"), "{error}");
}

#[tokio::test]
async fn an_error_with_broken_facts_is_refused() {
    use v1::fs_error::Detail;
    let stale = |expected: String| {
        let actual_version = Some("v".repeat(129));
        Detail::StaleVersion(v1::StaleVersionDetail { expected_version: expected, actual_version })
    };
    let ambiguous =
        |match_count, lines| Detail::AmbiguousEdit(v1::AmbiguousEditDetail { match_count, lines });
    let near = |start_line, end_line| {
        let near_miss = v1::NearMiss { start_line, end_line, ..v1::NearMiss::default() };
        Detail::EditNotFound(v1::EditNotFoundDetail { near_misses: vec![near_miss], ..Default::default() })
    };
    let broken = [
        (v1::FsErrorCode::FsStaleVersion, stale(String::new())),
        (v1::FsErrorCode::FsStaleVersion, stale("two words".into())),
        (v1::FsErrorCode::FsAmbiguousEdit, ambiguous(Some(1), Vec::new())),
        (v1::FsErrorCode::FsAmbiguousEdit, ambiguous(None, Vec::new())),
        (v1::FsErrorCode::FsAmbiguousEdit, ambiguous(Some(2), vec![0])),
        (v1::FsErrorCode::FsEditNotFound, near(None, Some(1))),
        (v1::FsErrorCode::FsEditNotFound, near(Some(3), Some(2))),
    ];
    for (code, detail) in broken {
        let told =
            v1::FsError { reason: code.as_str().into(), detail: Some(detail), ..v1::FsError::default() };
        let error = refused_with(Ask::Edit, status(GrpcCode::FailedPrecondition, told)).await;
        assert_eq!(error.code(), Code::IoError, "{error:?}");
        assert!(error.message().starts_with("the provider's answer breaks the contract: `error."), "{error}");
        assert_eq!(error.published(), Published::Maybe, "it did not say what became of the effect");
    }
}

/// Of statuses that say nothing, those that a transport makes up leave the effect open.
#[tokio::test]
async fn a_bare_status_means_what_its_code_says() {
    let (no, maybe) = (Published::No, Published::Maybe);
    let table = [
        (GrpcCode::NotFound, Code::NotFound, no),
        (GrpcCode::Aborted, Code::StaleVersion, no),
        (GrpcCode::PermissionDenied, Code::PermissionDenied, no),
        (GrpcCode::Unauthenticated, Code::PermissionDenied, no),
        (GrpcCode::Unimplemented, Code::Unsupported, no),
        (GrpcCode::InvalidArgument, Code::IoError, no),
        (GrpcCode::FailedPrecondition, Code::IoError, no),
        (GrpcCode::AlreadyExists, Code::IoError, no),
        (GrpcCode::OutOfRange, Code::IoError, maybe),
        (GrpcCode::ResourceExhausted, Code::IoError, maybe),
        (GrpcCode::Internal, Code::IoError, maybe),
        (GrpcCode::Unknown, Code::IoError, maybe),
        (GrpcCode::DataLoss, Code::IoError, maybe),
        (GrpcCode::Unavailable, Code::Unavailable, maybe),
        (GrpcCode::Cancelled, Code::Unavailable, maybe),
        (GrpcCode::DeadlineExceeded, Code::Unavailable, maybe),
    ];
    for (grpc, code, published) in table {
        let status = Status::new(grpc, "/secret/path of the host");
        let error = refused_with(Ask::Edit, status.clone()).await;
        assert_eq!((error.code(), error.published()), (code, published), "{grpc:?}: {error:?}");
        assert!(!error.message().contains("secret"), "{error}");
        let error = refused_with(Ask::Stat, status).await;
        assert_eq!((error.code(), error.published()), (code, no), "{grpc:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_provider_behind_two_hops_is_the_same() {
    let memory = MemoryProvider::new(MemoryConfig::with_root("/w")).unwrap();
    memory.put(b"/w/f", b"text\n".to_vec());
    let provider = network::over_duplex(Arc::new(network::over_duplex(Arc::new(memory))));
    let abort = AbortSignal::new();
    let target = toolfs_provider::ProviderExt::resolve_path(&provider, &abort, "f").await.unwrap();
    let (content, version) =
        toolfs_provider::ProviderExt::read_whole(&provider, &abort, &target.key).await.unwrap();
    assert_eq!((content.as_slice(), version), (&b"text\n"[..], Version::of(b"text\n")));
    let error = provider.read_bytes(&abort, &key(), ByteRange::WHOLE).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}
