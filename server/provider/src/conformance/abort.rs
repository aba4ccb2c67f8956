//! Calls that are stopped before they begin change nothing and say so.

use toolfs_core::error::{AbortCause, Code, ErrorKind};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::call::{WINDOW, edit_request, refused, write_request};
use super::fixture::Fixture;
use crate::abort::AbortSignal;
use crate::request::ByteRange;
use crate::{Provider, ProviderExt};

fn fired(cause: AbortCause) -> AbortSignal {
    let signal = AbortSignal::new();
    signal.fire(cause);
    signal
}

pub(super) async fn an_aborted_write_changes_nothing(fixture: &Fixture) {
    fixture.put("f", "old");
    for cause in [AbortCause::Cancelled, AbortCause::DeadlineExceeded, AbortCause::Draining] {
        for path in ["f", "new/g"] {
            let request = write_request(fixture.key(path).await, "new", WriteGuard::Unconditional);
            let error = refused(fixture.provider.write_text(&fired(cause), request).await, Code::Aborted);
            assert!(matches!(error.kind(), ErrorKind::Aborted { .. }));
        }
    }
    assert_eq!(fixture.get("f").unwrap(), b"old");
    assert_eq!(fixture.hand.names(b""), [b"f"]);
}

pub(super) async fn an_aborted_edit_changes_nothing(fixture: &Fixture) {
    fixture.put("f", "old");
    let request = edit_request(fixture.key("f").await, "old", "new", false, EditGuard::Unconditional);
    refused(fixture.provider.edit_text(&fired(AbortCause::Cancelled), request).await, Code::Aborted);
    assert_eq!(fixture.get("f").unwrap(), b"old");
    assert_eq!(fixture.hand.names(b""), [b"f"]);
}

/// The next call on the same target goes through: no lock stays behind.
pub(super) async fn an_aborted_mutation_leaves_the_target_free(fixture: &Fixture) {
    fixture.put("f", "old");
    for _ in 0..20 {
        let request = write_request(fixture.key("f").await, "never", WriteGuard::Unconditional);
        refused(fixture.provider.write_text(&fired(AbortCause::Cancelled), request).await, Code::Aborted);
    }
    fixture.edit("f", "old", "new", EditGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"new");
}

pub(super) async fn aborted_reads_and_plans_end(fixture: &Fixture) {
    fixture.put("f", "x".repeat(1 << 20));
    let key = fixture.key("f").await;
    let root = fixture.key(".").await;
    let abort = fired(AbortCause::DeadlineExceeded);
    let provider = &fixture.provider;
    refused(provider.read_lines(&abort, &key, WINDOW).await, Code::Aborted);
    refused(provider.read_whole(&abort, &key).await, Code::Aborted);
    refused(provider.list_whole(&abort, &root).await, Code::Aborted);
    refused(provider.stat(&abort, &key, true).await, Code::Aborted);
    let write = write_request(key.clone(), "new", WriteGuard::Unconditional);
    refused(provider.plan_write(&abort, write).await, Code::Aborted);
    let edit = edit_request(key.clone(), "x", "y", true, EditGuard::Unconditional);
    refused(provider.plan_edit(&abort, edit).await, Code::Aborted);
    refused(read_some(provider.as_ref(), &abort, &key).await, Code::Aborted);
}

/// Opens a text and reads it to the end or to its first error.
async fn read_some(
    provider: &dyn Provider,
    abort: &AbortSignal,
    key: &toolfs_core::target::TargetKey,
) -> toolfs_core::error::Result<()> {
    use futures_util::StreamExt;

    let mut stream = provider.read_text(abort, key).await?;
    while let Some(part) = stream.parts.next().await {
        part?;
    }
    Ok(())
}

pub(super) async fn a_signal_that_fires_later_does_no_harm(fixture: &Fixture) {
    let signal = AbortSignal::new();
    let request = write_request(fixture.key("f").await, "new", WriteGuard::CreateIfAbsent);
    fixture.provider.write_text(&signal, request).await.unwrap();
    signal.fire(AbortCause::Cancelled);
    assert_eq!(fixture.get("f").unwrap(), b"new");
    let (content, _) =
        fixture.provider.read_whole(&AbortSignal::new(), &fixture.key("f").await).await.unwrap();
    assert_eq!(content, b"new");
    let bytes = fixture.bytes("f", ByteRange::WHOLE).await.unwrap();
    assert_eq!(bytes.size_bytes, 3);
}
