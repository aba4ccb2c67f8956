use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use tonic::{Code, Status, Streaming};
use toolfs_contract::v1;
use toolfs_contract::v1::read_text_response::Part as TextPart;
use toolfs_contract::v1::write_guard::Condition;
use toolfs_contract::v1::write_text_request::Part;
use toolfs_core::error::AbortCause;
use toolfs_grpc::Drain;

use crate::support::{
    MAX_STREAM_BYTES, Script, SeamHost, Setup, chunk, code_and_reason, content_parts, fs_error, header, part,
    parts, trailer,
};

fn unconditional() -> Condition {
    Condition::Unconditional(v1::Unconditional {})
}

/// The field that the refusal of a write names, which publishes nothing.
async fn refused_field(host: &SeamHost, sent: Vec<v1::WriteTextRequest>) -> String {
    let status = host.files().write_text(tokio_stream::iter(sent)).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::InvalidArgument, "FS_INVALID_ARGUMENT".to_owned()));
    let Some(v1::fs_error::Detail::InvalidArgument(detail)) = fs_error(&status).unwrap().detail else {
        panic!("no detail");
    };
    assert_eq!(host.content("/w/a"), None, "{detail:?}");
    detail.field
}

#[tokio::test]
async fn content_that_is_not_whole_or_out_of_order_publishes_nothing() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let begin = |size| header(&key, size, unconditional());
    let no_header_fields = |change: fn(&mut v1::WriteTextHeader)| {
        let Part::Header(mut header) = header(&key, 3, unconditional()) else { unreachable!() };
        change(&mut header);
        Part::Header(header)
    };
    let sha = |bytes: &[u8]| Part::Trailer(v1::WriteTrailer { sha256: Some(Bytes::copy_from_slice(bytes)) });
    for (sent, field) in [
        (vec![], "header"),
        (vec![chunk("one")], "chunk"),
        (vec![trailer("")], "trailer"),
        (vec![begin(3)], "trailer"),
        (vec![begin(3), chunk("one")], "trailer"),
        (vec![begin(0)], "trailer"),
        (vec![begin(3), begin(3), chunk("one"), trailer("one")], "header"),
        (vec![begin(3), chunk("one"), begin(3), trailer("one")], "header"),
        (vec![begin(3), chunk("one"), trailer("one"), chunk("")], "chunk"),
        (vec![begin(3), chunk("one"), trailer("one"), chunk("x")], "chunk"),
        (vec![begin(3), chunk("one"), trailer("one"), trailer("one")], "trailer"),
        (vec![begin(3), chunk("one"), trailer("one"), begin(3)], "header"),
        (vec![begin(4), chunk("one"), trailer("one")], "size"),
        (vec![begin(2), chunk("one"), trailer("one")], "size"),
        (vec![begin(2), chunk("on"), chunk("e"), trailer("on")], "size"),
        (vec![begin(3), chunk("one"), trailer("two")], "sha256"),
        (vec![begin(3), chunk("one"), Part::Trailer(v1::WriteTrailer { sha256: None })], "sha256"),
        (vec![begin(3), chunk("one"), sha(b"")], "sha256"),
        (vec![begin(3), chunk("one"), sha(&[0; 31])], "sha256"),
        (vec![no_header_fields(|header| header.size = None), chunk("one"), trailer("one")], "size"),
        (vec![no_header_fields(|header| header.size = Some(-1)), trailer("")], "size"),
        (
            vec![no_header_fields(|header| header.target_key = None), chunk("one"), trailer("one")],
            "target_key",
        ),
        (
            vec![
                no_header_fields(|header| header.operation_id = Some("é".into())),
                chunk("one"),
                trailer("one"),
            ],
            "operation_id",
        ),
    ] {
        let shown = format!("{sent:?}");
        assert_eq!(refused_field(&host, sent.into_iter().map(part).collect()).await, field, "{shown}");
    }
    let unknown = || v1::WriteTextRequest { part: None };
    assert_eq!(refused_field(&host, vec![unknown()]).await, "part");
    assert_eq!(refused_field(&host, vec![part(begin(0)), unknown(), part(trailer(""))]).await, "part");
    assert_eq!(refused_field(&host, vec![part(begin(0)), part(trailer("")), unknown()]).await, "part");
}

#[tokio::test]
async fn content_in_many_chunks_or_none_lands_as_it_was_sent() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let text = "é\r\n漢".repeat(100);
    let sizes = [0, 1, 500, text.len()];
    for size in sizes {
        let text = &text.as_bytes()[..size.min(text.len())];
        let text = std::str::from_utf8(text).unwrap_or("é");
        let chunks = text.as_bytes().chunks(7).map(|piece| Part::Chunk(Bytes::copy_from_slice(piece)));
        let sent: Vec<_> = std::iter::once(header(&key, text.len(), unconditional()))
            .chain(chunks)
            .chain([Part::Chunk(Bytes::new()), trailer(text)])
            .map(part)
            .collect();
        host.files().write_text(tokio_stream::iter(sent)).await.unwrap();
        assert_eq!(host.content("/w/a").unwrap(), text);
    }
}

#[tokio::test]
async fn content_above_the_bound_of_the_seam_is_refused_before_it_is_sent() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let size = usize::try_from(MAX_STREAM_BYTES).unwrap() + 1;
    let endless = stream::iter([part(header(&key, size, unconditional()))]).chain(stream::pending());
    let status = host.files().write_text(endless).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::FailedPrecondition, "FS_TOO_LARGE".to_owned()));
    let Some(v1::fs_error::Detail::TooLarge(detail)) = fs_error(&status).unwrap().detail else {
        panic!("no detail");
    };
    assert_eq!(detail.limit_name, "max_content_bytes");
    assert_eq!(detail.limit_bytes, Some(i64::try_from(MAX_STREAM_BYTES).unwrap()));
    assert_eq!(detail.size_bytes, Some(i64::try_from(size).unwrap()));
}

/// More than the limit of messages, in both directions.
#[tokio::test]
async fn a_text_of_40_mib_goes_there_and_comes_back() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let line = format!("{}\n", "é".repeat(511));
    let text = line.repeat((40 << 20) / line.len());
    let chunks = text.as_bytes().chunks(512 << 10).map(|piece| Part::Chunk(Bytes::copy_from_slice(piece)));
    let sent: Vec<_> = std::iter::once(header(&key, text.len(), unconditional()))
        .chain(chunks)
        .chain([trailer(&text)])
        .map(part)
        .collect();
    let written = host.files().write_text(tokio_stream::iter(sent)).await.unwrap().into_inner();
    let version = written.report.unwrap().version;

    let request = v1::ReadTextRequest { target_key: key };
    let mut read = host.files().read_text(request).await.unwrap().into_inner();
    let mut offset = 0;
    let mut told = None;
    while let Some(message) = read.next().await {
        match message.unwrap().part.unwrap() {
            TextPart::Header(header) => {
                assert_eq!((offset, header.size), (0, Some(i64::try_from(text.len()).unwrap())))
            }
            TextPart::Chunk(chunk) => {
                assert!(chunk.len() <= 64 << 10);
                assert!(std::str::from_utf8(&chunk).is_ok(), "a chunk ends on the border of a character");
                assert!(chunk == text.as_bytes()[offset..offset + chunk.len()]);
                offset += chunk.len();
            }
            TextPart::Trailer(trailer) => told = Some(trailer.version),
        }
    }
    assert_eq!((offset, told), (text.len(), Some(version)));
}

async fn read_text(host: &SeamHost, path: &str) -> Result<Streaming<v1::ReadTextResponse>, Status> {
    let request = v1::ReadTextRequest { target_key: host.key(path).await };
    Ok(host.files().read_text(request).await?.into_inner())
}

/// Reads to the end of a stream: its status, and whether it had a trailer.
async fn end_of(mut read: Streaming<v1::ReadTextResponse>) -> (Option<Status>, bool) {
    let mut whole = false;
    while let Some(message) = read.next().await {
        match message {
            Ok(message) => whole |= matches!(message.part, Some(TextPart::Trailer(_))),
            Err(status) => return (Some(status), whole),
        }
    }
    (None, whole)
}

#[tokio::test]
async fn a_stream_that_goes_wrong_half_way_ends_in_a_status_and_never_in_an_end() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n".repeat(100_000));
    for (script, code, reason) in [
        (Script::FailInStream, Code::Internal, "FS_IO_ERROR"),
        (Script::StopInStream, Code::Internal, "FS_IO_ERROR"),
        (Script::PanicInStream, Code::Internal, "INTERNAL"),
    ] {
        host.provider.will(script);
        let (status, whole) = end_of(read_text(&host, "a").await.unwrap()).await;
        assert_eq!(code_and_reason(&status.unwrap()), (code, reason.to_owned()), "{script:?}");
        assert!(!whole, "{script:?}");
        host.provider.streams_are(|streams| streams.open == 0).await;
    }
}

#[tokio::test]
async fn a_listing_that_goes_wrong_half_way_does_not_look_whole() {
    let host = SeamHost::start();
    for index in 0..600 {
        host.provider.files.put(format!("/w/d/{index}").as_bytes(), "");
    }
    let key = host.key("d").await;
    for script in [Script::FailInStream, Script::PanicInStream] {
        host.provider.will(script);
        let request = v1::ListDirRequest { target_key: key.clone() };
        // The failure may overtake the first part: then it is the answer.
        let Ok(listed) = host.files().list_dir(request).await else { continue };
        let ends: Vec<_> = listed.into_inner().collect().await;
        assert!(ends.last().unwrap().is_err(), "{script:?}");
    }
}

/// A write whose content never ends.
fn endless_write(key: &Bytes) -> impl Stream<Item = v1::WriteTextRequest> + use<> {
    stream::iter([header(key, 6, unconditional()), chunk("one")].map(part)).chain(stream::pending())
}

#[tokio::test]
async fn a_write_that_is_cancelled_before_its_trailer_publishes_nothing() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    let (sent, begun) = tokio::sync::oneshot::channel::<()>();
    let mut sent = Some(sent);
    let content = endless_write(&key).inspect(move |message| {
        if matches!(message.part, Some(Part::Chunk(_))) {
            let _ = sent.take().unwrap().send(());
        }
    });
    let mut files = host.files();
    tokio::select! {
        answer = files.write_text(content) => panic!("answered: {answer:?}"),
        begun = begun => begun.unwrap(),
    }
    // The next write has its turn, and the server ends without waiting for the one that was given up.
    host.files().write_text(content_parts(&key, "two")).await.unwrap();
    assert_eq!(host.content("/w/a").unwrap(), "two");
    let mut host = host;
    drop(files);
    host.running.begin_shutdown();
    assert_eq!(host.ended().await, Drain::Complete);
}

#[tokio::test]
async fn a_write_that_is_cancelled_at_the_provider_is_told_to_stop() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    host.provider.will(Script::WaitUnpublished);
    let mut files = host.files();
    tokio::select! {
        answer = files.write_text(content_parts(&key, "one")) => panic!("answered: {answer:?}"),
        () = host.provider.is_waiting() => {}
    }
    assert_eq!(host.provider.was_aborted().await, AbortCause::Cancelled);
    assert_eq!(host.content("/w/a"), None);
}

#[tokio::test]
async fn a_write_whose_content_stops_coming_is_given_up() {
    let host = SeamHost::with(Setup { stream_patience: Duration::from_millis(100), ..Setup::default() });
    let key = host.key("a").await;
    let content = endless_write(&key);
    let status = host.files().write_text(content).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::Cancelled, "FS_ABORTED".to_owned()));
    assert_eq!(fs_error(&status).unwrap().published(), v1::Published::No);
    assert_eq!(host.content("/w/a"), None);
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_providers_stream() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n".repeat(1_000));
    for script in [Script::HangInStream, Script::Endless] {
        host.provider.will(script);
        let mut read = read_text(&host, "a").await.unwrap();
        read.next().await.unwrap().unwrap();
        assert_eq!(host.provider.streams_are(|streams| streams.open == 1).await.open, 1);
        drop(read);
        host.provider.streams_are(|streams| streams.open == 0).await;
    }
}

#[tokio::test]
async fn a_reader_that_takes_nothing_holds_little_and_not_for_ever() {
    let host = SeamHost::with(Setup { stream_patience: Duration::from_millis(300), ..Setup::default() });
    host.provider.files.put(b"/w/a", "0123456789abcde\n".repeat(4_096));
    host.provider.will(Script::Endless);
    let mut read = read_text(&host, "a").await.unwrap();
    read.next().await.unwrap().unwrap();
    let parts = host.provider.streams_are(|streams| streams.open == 0).await.parts;
    assert!(parts < 100, "{parts} parts of 64 KiB were made for a reader that took none");
    // Whoever comes back to it is told.
    let (status, whole) = end_of(read).await;
    assert_eq!(code_and_reason(&status.unwrap()), (Code::Cancelled, "FS_ABORTED".to_owned()));
    assert!(!whole);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_on_the_seam_is_told_with_the_error_inside() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n".repeat(1_000));
    let key = host.key("a").await;
    let limit = Duration::from_millis(500);

    // At the provider.
    host.provider.will(Script::WaitUnpublished);
    let mut request = tonic::Request::new(parts(&key, "two", unconditional()));
    request.set_timeout(limit);
    let status = host.files().write_text(request).await.unwrap_err();
    check_out_of_time(&status, v1::Published::No);

    // While the content comes.
    let mut request = tonic::Request::new(endless_write(&key));
    request.set_timeout(limit);
    check_out_of_time(&host.files().write_text(request).await.unwrap_err(), v1::Published::No);

    // Before an answer in parts, and within it.
    let request = || {
        let mut request = tonic::Request::new(v1::ReadTextRequest { target_key: key.clone() });
        request.set_timeout(limit);
        request
    };
    check_out_of_time(&host.files().read_text(request()).await.unwrap_err(), v1::Published::No);
    host.provider.will(Script::HangInStream);
    let read = host.files().read_text(request()).await.unwrap().into_inner();
    let (status, whole) = end_of(read).await;
    check_out_of_time(&status.unwrap(), v1::Published::No);
    assert!(!whole);
    host.provider.streams_are(|streams| streams.open == 0).await;

    // After publication.
    host.provider.will(Script::WaitPublished);
    let mut request = tonic::Request::new(parts(&key, "two", unconditional()));
    request.set_timeout(limit);
    check_out_of_time(&host.files().write_text(request).await.unwrap_err(), v1::Published::Maybe);
    assert_eq!(host.content("/w/a").unwrap(), "two");
    host.provider.release();
}

#[track_caller]
fn check_out_of_time(status: &Status, published: v1::Published) {
    assert_eq!(code_and_reason(status), (Code::DeadlineExceeded, "FS_ABORTED".to_owned()));
    let error = fs_error(status).unwrap();
    assert_eq!((error.code(), error.published()), (v1::FsErrorCode::FsAborted, published));
    let Some(v1::fs_error::Detail::Aborted(detail)) = error.detail else { panic!("no detail") };
    assert_eq!(detail.cause(), v1::AbortCause::DeadlineExceeded);
}

#[tokio::test]
async fn a_drain_lets_content_come_to_its_end() {
    let mut host = SeamHost::start();
    let key = host.key("a").await;
    let (more, rest) = tokio::sync::mpsc::unbounded_channel();
    let content = tokio_stream::wrappers::UnboundedReceiverStream::new(rest);
    more.send(part(header(&key, 3, unconditional()))).unwrap();
    host.provider.will(Script::WaitPublished);
    let mut files = host.files();
    let provider = host.provider.clone();
    let written = files.write_text(content);
    let drained = async {
        for message in [chunk("one"), trailer("one")] {
            more.send(part(message)).unwrap();
        }
        drop(more);
        provider.is_waiting().await;
        host.running.begin_shutdown();
        provider.release();
    };
    let (written, ()) = tokio::join!(written, drained);
    assert!(written.unwrap().into_inner().report.is_some());
    drop(files);
    assert_eq!(host.ended().await, Drain::Complete);
}

#[tokio::test]
async fn at_the_limit_of_a_drain_streams_of_both_directions_end_with_the_reason() {
    let mut host = SeamHost::with(Setup { drain_limit: Duration::from_millis(200), ..Setup::default() });
    host.provider.files.put(b"/w/a", "one\n".repeat(1_000));
    let key = host.key("b").await;
    host.provider.will(Script::HangInStream);
    let read = read_text(&host, "a").await.unwrap();
    let mut files = host.files();
    let (sent, begun) = tokio::sync::oneshot::channel::<()>();
    let mut sent = Some(sent);
    let content = endless_write(&key).inspect(move |_| {
        if let Some(sent) = sent.take() {
            let _ = sent.send(());
        }
    });
    let write = files.write_text(content);
    let shut_down = async {
        begun.await.unwrap();
        // The server has the write once it has answered what was sent after it.
        host.key("c").await;
        host.running.begin_shutdown();
    };
    let (written, (), (ended, whole)) = tokio::join!(write, shut_down, end_of(read));
    for status in [written.unwrap_err(), ended.unwrap()] {
        assert_eq!(code_and_reason(&status), (Code::Cancelled, "FS_ABORTED".to_owned()));
        let Some(v1::fs_error::Detail::Aborted(detail)) = fs_error(&status).unwrap().detail else {
            panic!("no detail");
        };
        assert_eq!(detail.cause(), v1::AbortCause::Draining);
    }
    assert!(!whole);
    assert_eq!(host.content("/w/b"), None);
    drop(files);
    assert_eq!(host.ended().await, Drain::LimitReached { calls_cut: 2 });
}
