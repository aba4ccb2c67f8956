use bytes::Bytes;
use toolfs_core::error::{AbortCause, Code, ErrorKind};
use toolfs_core::guard::WriteGuard;

use super::*;
use crate::ProviderExt;
use crate::memory::{MemoryConfig, MemoryProvider};

fn faulty() -> Faulty<MemoryProvider> {
    Faulty::new(MemoryProvider::new(MemoryConfig::with_root("/ws")).unwrap())
}

fn full() -> FsError {
    FsError::new(ErrorKind::NoSpace, "the disk is full")
}

async fn write(
    faulty: &Faulty<MemoryProvider>,
    abort: &AbortSignal,
    content: &'static str,
) -> Result<WriteReport> {
    let target = faulty.resolve_path(abort, "f").await?.key;
    let guard = WriteGuard::Unconditional;
    let content = Bytes::from_static(content.as_bytes());
    let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
    faulty.write_text(abort, request).await
}

fn content(faulty: &Faulty<MemoryProvider>) -> Option<Bytes> {
    faulty.inner().content(b"/ws/f")
}

#[tokio::test]
async fn only_the_call_that_is_named_fails() {
    let faulty = faulty();
    faulty.on(Operation::WriteText, 3, Fault::Before(full()));
    let abort = AbortSignal::new();
    write(&faulty, &abort, "1").await.unwrap();
    write(&faulty, &abort, "2").await.unwrap();
    assert_eq!(write(&faulty, &abort, "3").await.unwrap_err().code(), Code::NoSpace);
    assert_eq!(content(&faulty).unwrap(), "2");
    write(&faulty, &abort, "4").await.unwrap();
    assert_eq!(content(&faulty).unwrap(), "4");
}

#[tokio::test]
async fn a_failure_after_publication_leaves_the_effect() {
    let faulty = faulty();
    faulty.on(Operation::WriteText, 1, Fault::After(full()));
    assert_eq!(write(&faulty, &AbortSignal::new(), "1").await.unwrap_err().code(), Code::NoSpace);
    assert_eq!(content(&faulty).unwrap(), "1");
}

#[tokio::test]
async fn an_effect_that_is_not_durable_is_reported_as_published() {
    let faulty = faulty();
    faulty.on(Operation::WriteText, 1, Fault::NotDurable(full()));
    let report = write(&faulty, &AbortSignal::new(), "1").await.unwrap();
    let error = report.not_durable.unwrap();
    assert_eq!((error.code(), error.published()), (Code::NoSpace, Published::Yes));
    assert_eq!(content(&faulty).unwrap(), "1");
}

#[tokio::test]
async fn a_held_call_goes_on_when_it_is_released() {
    let (faulty, hold, abort) = (faulty(), Hold::new(), AbortSignal::new());
    faulty.on(Operation::WriteText, 1, Fault::HoldBefore(hold.clone()));
    let (written, ()) = tokio::join!(write(&faulty, &abort, "1"), async {
        hold.reached().await;
        assert_eq!(content(&faulty), None);
        hold.release();
    });
    written.unwrap();
    assert_eq!(content(&faulty).unwrap(), "1");
}

#[tokio::test]
async fn a_call_that_is_held_before_publication_can_be_aborted() {
    let (faulty, hold, abort) = (faulty(), Hold::new(), AbortSignal::new());
    faulty.on(Operation::WriteText, 1, Fault::HoldBefore(hold.clone()));
    let (written, ()) = tokio::join!(write(&faulty, &abort, "1"), async {
        hold.reached().await;
        abort.fire(AbortCause::Cancelled);
    });
    assert_eq!(written.unwrap_err().code(), Code::Aborted);
    assert_eq!(content(&faulty), None);
}

#[tokio::test]
async fn a_call_that_is_held_after_publication_ignores_abort() {
    let (faulty, hold, abort) = (faulty(), Hold::new(), AbortSignal::new());
    faulty.on(Operation::WriteText, 1, Fault::HoldAfter(hold.clone()));
    let (written, ()) = tokio::join!(write(&faulty, &abort, "1"), async {
        hold.reached().await;
        assert_eq!(content(&faulty).unwrap(), "1");
        abort.fire(AbortCause::DeadlineExceeded);
        hold.release();
    });
    written.unwrap();
}

#[tokio::test]
async fn the_recording_has_the_calls_in_order_with_their_arguments() {
    let faulty = faulty();
    write(&faulty, &AbortSignal::new(), "secret").await.unwrap();
    assert_eq!(faulty.operations(), [Operation::Resolve, Operation::WriteText]);
    let recording = faulty.take_recording();
    assert!(matches!(&recording[0], Call::Resolve(request) if request.path == b"f"));
    assert!(matches!(&recording[1], Call::WriteText(request) if request.content == "secret"));
    assert!(!format!("{recording:?}").contains("secret"));
    assert!(faulty.recording().is_empty());
}
