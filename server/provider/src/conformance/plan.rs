//! Plans: the same answer as the mutation, and nothing published.

use toolfs_core::error::{Code, FsError, Result};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::call::refused;
use super::fixture::Fixture;
use crate::report::{EditReport, WriteReport};

pub(super) async fn a_planned_creation_creates_nothing(fixture: &Fixture) {
    let planned = fixture.plan_write("a/b/f", "one\n", WriteGuard::CreateIfAbsent).await;
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new());
    let done = fixture.create("a/b/f", "one\n").await;
    same_write(&planned, &done);
    done.unwrap();
}

pub(super) async fn a_planned_write_reports_as_the_write_does(fixture: &Fixture) {
    let seen = fixture.version_of(b"a\r\nb\r\n");
    let guards =
        [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent, WriteGuard::ReplaceIfVersion(seen.clone())];
    for content in ["a\r\nb\r\n", "other\n"] {
        for guard in &guards {
            fixture.put("f", content);
            let planned = fixture.plan_write("f", "new\nlines", guard.clone()).await;
            assert_eq!(fixture.get("f").unwrap(), content.as_bytes());
            let done = fixture.write("f", "new\nlines", guard.clone()).await;
            same_write(&planned, &done);
        }
    }
}

pub(super) async fn a_planned_edit_reports_as_the_edit_does(fixture: &Fixture) {
    let seen = fixture.version_of(b"one\ntwo\ntwo\n");
    for content in ["one\ntwo\ntwo\n", "one\n"] {
        for guard in [EditGuard::Unconditional, EditGuard::ReplaceIfVersion(seen.clone())] {
            for old in ["one", "two", "three"] {
                fixture.put("f", content);
                let planned = fixture.plan_edit("f", old, "new\ntext", guard.clone()).await;
                assert_eq!(fixture.get("f").unwrap(), content.as_bytes());
                let done = fixture.edit("f", old, "new\ntext", guard.clone()).await;
                same_edit(&planned, &done);
            }
        }
    }
}

pub(super) async fn a_plan_is_refused_as_its_mutation_is(fixture: &Fixture) {
    fixture.make_dir("d");
    fixture.put(".git/config", "a");
    fixture.put("binary", b"\0");
    refused(fixture.plan_write("d", "x", WriteGuard::Unconditional).await, Code::NotRegularFile);
    refused(fixture.plan_write(".git/config", "x", WriteGuard::Unconditional).await, Code::SandboxDenied);
    refused(fixture.plan_write(".git/new", "x", WriteGuard::CreateIfAbsent).await, Code::SandboxDenied);
    refused(fixture.plan_write("f", b"\xff", WriteGuard::Unconditional).await, Code::InvalidArgument);
    refused(fixture.plan_edit("d", "a", "b", EditGuard::Unconditional).await, Code::NotRegularFile);
    refused(fixture.plan_edit(".git/config", "a", "b", EditGuard::Unconditional).await, Code::SandboxDenied);
    refused(fixture.plan_edit("missing", "a", "b", EditGuard::Unconditional).await, Code::StaleVersion);
    refused(fixture.plan_edit("binary", "a", "b", EditGuard::Unconditional).await, Code::NotText);
}

pub(super) async fn a_plan_needs_write_permission_too(fixture: &Fixture) {
    fixture.put("f", "keep");
    fixture.hand.set_mode(b"f", 0o444);
    refused(fixture.plan_write("f", "x", WriteGuard::Unconditional).await, Code::PermissionDenied);
    refused(fixture.plan_edit("f", "keep", "x", EditGuard::Unconditional).await, Code::PermissionDenied);
}

#[track_caller]
fn same_write(planned: &Result<WriteReport>, done: &Result<WriteReport>) {
    match (planned, done) {
        (Ok(planned), Ok(done)) => {
            let facts = |report: &WriteReport| {
                (report.operation, report.size_bytes, report.previous_size_bytes, report.version.clone())
            };
            assert_eq!(facts(planned), facts(done));
            assert_eq!(planned.notices, done.notices);
            assert_eq!(planned.diff, done.diff);
            assert!(planned.not_durable.is_none());
        }
        (Err(planned), Err(done)) => same_error(planned, done),
        (planned, done) => panic!("{planned:?} {done:?}"),
    }
}

#[track_caller]
fn same_edit(planned: &Result<EditReport>, done: &Result<EditReport>) {
    match (planned, done) {
        (Ok(planned), Ok(done)) => {
            assert_eq!(planned.matches, done.matches);
            assert_eq!(planned.changed, done.changed);
            assert_eq!((planned.size_bytes, &planned.version), (done.size_bytes, &done.version));
            assert_eq!(planned.notices, done.notices);
            assert_eq!(planned.diff, done.diff);
        }
        (Err(planned), Err(done)) => same_error(planned, done),
        (planned, done) => panic!("{planned:?} {done:?}"),
    }
}

#[track_caller]
fn same_error(planned: &FsError, done: &FsError) {
    assert_eq!(planned.kind(), done.kind());
    assert_eq!((planned.message(), planned.path()), (done.message(), done.path()));
}
