//! What is at a path.

use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::target::FileKind;

use super::call::{refused, running};
use super::fixture::Fixture;

pub(super) async fn stat_tells_kind_and_size(fixture: &Fixture) {
    fixture.put("f", "12345");
    fixture.make_dir("d");
    let file = fixture.stat("f").await.unwrap();
    assert_eq!((file.kind, file.size_bytes, file.version), (FileKind::Regular, 5, None));
    let directory = fixture.stat("d").await.unwrap();
    assert_eq!((directory.kind, directory.version), (FileKind::Directory, None));
}

pub(super) async fn stat_has_a_version_only_when_it_is_wanted(fixture: &Fixture) {
    fixture.put("f", "12345");
    let stat = fixture.provider.stat(&running(), &fixture.key("f").await, true).await.unwrap();
    assert_eq!(stat.version, Some(fixture.version_of(b"12345")));
}

pub(super) async fn a_directory_has_no_version(fixture: &Fixture) {
    fixture.make_dir("d");
    let result = fixture.provider.stat(&running(), &fixture.key("d").await, true).await;
    let error = refused(result, Code::NotRegularFile);
    assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) });
}

pub(super) async fn stat_of_something_missing_is_not_found(fixture: &Fixture) {
    refused(fixture.stat("missing").await, Code::NotFound);
    refused(fixture.stat("missing/deep").await, Code::NotFound);
    refused(fixture.lstat("missing").await, Code::NotFound);
    refused(fixture.lstat("missing/deep").await, Code::NotFound);
}

pub(super) async fn stat_follows_a_link_and_lstat_does_not(fixture: &Fixture) {
    fixture.put("real", "12345");
    fixture.make_link("link", "real");
    fixture.make_link("dangling", "gone");
    fixture.make_dir("d");
    fixture.make_link("dir", "d");
    assert_eq!(fixture.stat("link").await.unwrap().size_bytes, 5);
    assert_eq!(fixture.lstat("link").await.unwrap().kind, FileKind::Symlink);
    assert_eq!(fixture.lstat("dangling").await.unwrap().kind, FileKind::Symlink);
    assert_eq!(fixture.lstat("real").await.unwrap().kind, FileKind::Regular);
    assert_eq!(fixture.lstat("dir").await.unwrap().kind, FileKind::Symlink);
    assert_eq!(fixture.lstat("dir/").await.unwrap().kind, FileKind::Directory);
}

pub(super) async fn lstat_has_no_version_and_stays_in_the_root(fixture: &Fixture) {
    fixture.put("f", "x");
    assert_eq!(fixture.lstat("f").await.unwrap().version, None);
    assert_eq!(fixture.lstat(".").await.unwrap().kind, FileKind::Directory);
    let error = refused(fixture.lstat("../x").await, Code::SandboxDenied);
    assert_eq!(error.path(), Some("../x"));
}

pub(super) async fn a_file_in_the_way_is_told_by_stat(fixture: &Fixture) {
    let key = fixture.key("d/f").await;
    fixture.put("d", "a file now");
    refused(fixture.provider.stat(&running(), &key, false).await, Code::NotDirectory);
}

pub(super) async fn special_files_are_told_apart(fixture: &Fixture) {
    fixture.hand.make_pipe(b"p");
    assert_eq!(fixture.kind("p").await, FileKind::Fifo);
    assert_eq!(fixture.lstat("p").await.unwrap().kind, FileKind::Fifo);
}

pub(super) async fn permission_bits_are_told(fixture: &Fixture) {
    fixture.put("run.sh", "x");
    fixture.hand.set_mode(b"run.sh", 0o750);
    assert_eq!(fixture.stat("run.sh").await.unwrap().mode, Some(0o750));
}
