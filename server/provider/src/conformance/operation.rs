//! Named operations: a repetition answers what the first one did, and has no effect of its own.

use toolfs_core::error::{AbortCause, Code, ErrorKind, FsError};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::call::{edit_request, refused, running, write_request};
use super::concurrency::all_at_once;
use super::fixture::Fixture;
use crate::abort::AbortSignal;
use crate::operation::OperationId;
use crate::report::{EditReport, WriteReport};
use crate::request::{EditTextRequest, WriteTextRequest};

fn id(text: &str) -> Option<OperationId> {
    Some(OperationId::parse(text).unwrap())
}

impl Fixture {
    async fn named_write(
        &self,
        path: &str,
        content: &str,
        guard: WriteGuard,
        name: &str,
    ) -> WriteTextRequest {
        let request = write_request(self.key(path).await, content, guard);
        WriteTextRequest { operation_id: id(name), ..request }
    }

    async fn named_edit(&self, path: &str, old: &str, new: &str, name: &str) -> EditTextRequest {
        let request = edit_request(self.key(path).await, old, new, false, EditGuard::Unconditional);
        EditTextRequest { operation_id: id(name), ..request }
    }

    async fn do_write(&self, request: &WriteTextRequest) -> Result<WriteReport, FsError> {
        self.provider.write_text(&running(), request.clone()).await
    }

    async fn do_edit(&self, request: &EditTextRequest) -> Result<EditReport, FsError> {
        self.provider.edit_text(&running(), request.clone()).await
    }
}

/// All of a report but its diff, which is content and is not recorded.
fn write_facts(report: &WriteReport) -> String {
    format!("{:?}", WriteReport { diff: None, ..report.clone() })
}

fn edit_facts(report: &EditReport) -> String {
    format!("{:?}", EditReport { diff: None, ..report.clone() })
}

#[track_caller]
fn assert_names_the_id(error: &FsError) {
    let ErrorKind::InvalidArgument { field, .. } = error.kind() else { panic!("{error:?}") };
    assert_eq!(field, "operation_id");
}

pub(super) async fn a_repeated_write_answers_the_first_report(fixture: &Fixture) {
    fixture.put("old", "a\r\nb\r\n");
    let seen = WriteGuard::ReplaceIfVersion(fixture.version_of(b"a\r\nb\r\n"));
    for (path, guard) in [("deep/new", WriteGuard::CreateIfAbsent), ("old", seen)] {
        let request = fixture.named_write(path, "one\n", guard, path).await;
        let first = fixture.do_write(&request).await.unwrap();
        assert!(first.diff.is_some());
        for _ in 0..2 {
            let again = fixture.do_write(&request).await.unwrap();
            assert_eq!(write_facts(&again), write_facts(&first), "{path}");
            assert_eq!(again.diff, None, "a diff is content, which is not recorded");
        }
        assert_eq!(fixture.get(path).unwrap(), b"one\n");
    }
}

pub(super) async fn a_repeated_edit_is_made_once(fixture: &Fixture) {
    fixture.put("f", "x\n");
    let request = fixture.named_edit("f", "x", "xx", "append").await;
    let first = fixture.do_edit(&request).await.unwrap();
    let again = fixture.do_edit(&request).await.unwrap();
    assert_eq!(edit_facts(&again), edit_facts(&first));
    assert_eq!(again.diff, None);
    assert_eq!(fixture.get("f").unwrap(), b"xx\n");
}

pub(super) async fn a_repetition_leaves_what_came_after(fixture: &Fixture) {
    let write = fixture.named_write("a/f", "one", WriteGuard::CreateIfAbsent, "write").await;
    fixture.do_write(&write).await.unwrap();
    let edit = fixture.named_edit("a/f", "one", "two", "edit").await;
    fixture.do_edit(&edit).await.unwrap();
    fixture.put("a/f", "theirs");
    assert_eq!(fixture.do_write(&write).await.unwrap().version, fixture.version_of(b"one"));
    assert_eq!(fixture.do_edit(&edit).await.unwrap().version, fixture.version_of(b"two"));
    assert_eq!(fixture.get("a/f").unwrap(), b"theirs");
    fixture.remove("a");
    assert_eq!(fixture.do_write(&write).await.unwrap().version, fixture.version_of(b"one"));
    assert_eq!(fixture.do_edit(&edit).await.unwrap().version, fixture.version_of(b"two"));
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new());
}

/// Whoever repeats may have looked again, and may not want the diff this time.
pub(super) async fn a_repetition_may_have_another_guard_and_another_wish_for_a_diff(fixture: &Fixture) {
    let request = fixture.named_write("f", "one", WriteGuard::CreateIfAbsent, "once").await;
    let first = fixture.do_write(&request).await.unwrap();
    let guards = [
        WriteGuard::Unconditional,
        WriteGuard::ReplaceIfVersion(fixture.version_of(b"one")),
        WriteGuard::ReplaceIfVersion(fixture.version_of(b"never")),
    ];
    for guard in guards {
        for want_diff in [false, true] {
            let again = WriteTextRequest { guard: guard.clone(), want_diff, ..request.clone() };
            assert_eq!(write_facts(&fixture.do_write(&again).await.unwrap()), write_facts(&first));
        }
    }
}

pub(super) async fn the_id_of_another_request_is_refused(fixture: &Fixture) {
    fixture.put("f", "one two");
    let write = fixture.named_write("w", "one", WriteGuard::CreateIfAbsent, "write").await;
    fixture.do_write(&write).await.unwrap();
    let edit = fixture.named_edit("f", "one", "1", "edit").await;
    fixture.do_edit(&edit).await.unwrap();

    let any = WriteGuard::Unconditional;
    for request in [
        fixture.named_write("w", "other", any.clone(), "write").await,
        fixture.named_write("v", "one", any.clone(), "write").await,
        fixture.named_write("f", "one", any, "edit").await,
    ] {
        assert_names_the_id(&refused(fixture.do_write(&request).await, Code::InvalidArgument));
    }
    let replace_all = edit_request(fixture.key("f").await, "one", "1", true, EditGuard::Unconditional);
    for request in [
        fixture.named_edit("f", "two", "1", "edit").await,
        fixture.named_edit("f", "one", "2", "edit").await,
        fixture.named_edit("w", "one", "1", "edit").await,
        fixture.named_edit("f", "one", "1", "write").await,
        EditTextRequest { operation_id: id("edit"), ..replace_all },
    ] {
        assert_names_the_id(&refused(fixture.do_edit(&request).await, Code::InvalidArgument));
    }
    assert_eq!(fixture.get("w").unwrap(), b"one");
    assert_eq!(fixture.get("f").unwrap(), b"1 two");
    assert_eq!(fixture.hand.names(b"").len(), 2);
    assert!(fixture.do_write(&write).await.is_ok(), "the records stay what they were");
    assert!(fixture.do_edit(&edit).await.is_ok());
}

/// The name is free again: for the same request, and for another one.
pub(super) async fn a_refusal_is_not_recorded(fixture: &Fixture) {
    fixture.put("f", "in the way");
    let create = fixture.named_write("f", "one", WriteGuard::CreateIfAbsent, "once").await;
    refused(fixture.do_write(&create).await, Code::NotObserved);
    fixture.remove("f");
    fixture.do_write(&create).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"one");

    let missing = fixture.named_edit("f", "absent", "x", "twice").await;
    refused(fixture.do_edit(&missing).await, Code::EditNotFound);
    let other = fixture.named_edit("f", "one", "two", "twice").await;
    fixture.do_edit(&other).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"two");
}

pub(super) async fn an_aborted_operation_is_not_recorded(fixture: &Fixture) {
    let fired = AbortSignal::new();
    fired.fire(AbortCause::Cancelled);
    let request = fixture.named_write("f", "one", WriteGuard::CreateIfAbsent, "once").await;
    refused(fixture.provider.write_text(&fired, request).await, Code::Aborted);
    let other = fixture.named_write("f", "two", WriteGuard::CreateIfAbsent, "once").await;
    fixture.do_write(&other).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"two");
}

pub(super) async fn one_operation_at_once_from_many_has_one_effect(fixture: &Fixture) {
    for round in 0..5 {
        fixture.put("f", "x\n");
        let edit = fixture.named_edit("f", "x", "xx", &format!("edit-{round}")).await;
        let path = format!("new{round}/f");
        let name = format!("write-{round}");
        let write = fixture.named_write(&path, "one", WriteGuard::CreateIfAbsent, &name).await;
        let reports = all_at_once(fixture, 16, |provider, number| {
            let (edit, write) = (edit.clone(), write.clone());
            async move {
                match number % 2 {
                    0 => edit_facts(&provider.edit_text(&running(), edit).await.unwrap()),
                    _ => write_facts(&provider.write_text(&running(), write).await.unwrap()),
                }
            }
        })
        .await;
        for (number, report) in reports.iter().enumerate() {
            assert_eq!(report, &reports[number % 2]);
        }
        assert_eq!(fixture.get("f").unwrap(), b"xx\n");
        assert_eq!(fixture.get(&path).unwrap(), b"one");
    }
}

/// No lock of a target is shared by them: the name alone is.
pub(super) async fn of_two_requests_with_one_id_at_once_one_is_refused(fixture: &Fixture) {
    for round in 0..5 {
        let name = format!("round-{round}");
        let mut requests = Vec::new();
        for number in 0..8 {
            let path = format!("{round}-{number}");
            requests.push(fixture.named_write(&path, "x", WriteGuard::CreateIfAbsent, &name).await);
        }
        let results = all_at_once(fixture, 8, |provider, number| {
            let request = requests[number].clone();
            async move { provider.write_text(&running(), request).await }
        })
        .await;
        let is_done = |number: &usize| fixture.get(format!("{round}-{number}")).is_some();
        let done: Vec<usize> = (0..8).filter(is_done).collect();
        assert_eq!(done.len(), 1, "{results:?}");
        for (number, result) in results.into_iter().enumerate() {
            match number == done[0] {
                true => assert!(result.is_ok(), "{result:?}"),
                false => assert_names_the_id(&refused(result, Code::InvalidArgument)),
            }
        }
    }
}

pub(super) async fn a_plan_takes_no_notice_of_an_id(fixture: &Fixture) {
    let write = fixture.named_write("f", "x", WriteGuard::CreateIfAbsent, "write").await;
    fixture.provider.plan_write(&running(), write.clone()).await.unwrap();
    fixture.provider.plan_write(&running(), write.clone()).await.unwrap();
    assert_eq!(fixture.get("f"), None);
    fixture.do_write(&write).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"x");
    refused(fixture.provider.plan_write(&running(), write).await, Code::NotObserved);
    let edit = fixture.named_edit("f", "x", "xx", "write").await;
    let planned = fixture.provider.plan_edit(&running(), edit).await.unwrap();
    assert_eq!(
        planned.version,
        fixture.version_of(b"xx"),
        "the name of another operation does not matter to a plan"
    );
    assert_eq!(fixture.get("f").unwrap(), b"x");
}

pub(super) async fn a_repetition_through_a_link_is_of_the_links_target(fixture: &Fixture) {
    fixture.put("real", "x");
    fixture.make_link("link", "real");
    let through = fixture.named_edit("link", "x", "xx", "once").await;
    let first = fixture.do_edit(&through).await.unwrap();
    let straight = fixture.named_edit("real", "x", "xx", "once").await;
    assert_eq!(edit_facts(&fixture.do_edit(&straight).await.unwrap()), edit_facts(&first));
    assert_eq!(fixture.get("real").unwrap(), b"xx");
    assert_eq!(fixture.get("link"), None, "the link is a link");
}
