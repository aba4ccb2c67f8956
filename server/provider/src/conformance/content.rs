//! Content in pieces, and listings.

use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;

use super::call::{refused, running};
use super::fixture::{Fixture, limits};
use crate::ProviderExt;
use crate::request::ByteRange;

/// Bytes of every value, of a length that no buffer divides.
fn binary(length: usize) -> Vec<u8> {
    (0..length).map(|index| u8::try_from(index % 251).expect("below 251")).collect()
}

pub(super) async fn bytes_of_any_file_come_with_the_version_at_the_end(fixture: &Fixture) {
    let content = binary(300_007);
    fixture.put("f", &content);
    let read = fixture.bytes("f", ByteRange::WHOLE).await.unwrap();
    assert_eq!(read.size_bytes, 300_007);
    assert_eq!(read.version, Some(fixture.version_of(&content)));
    assert!(read.content() == content);
}

pub(super) async fn a_range_of_bytes_has_no_version(fixture: &Fixture) {
    fixture.put("f", "0123456789");
    let read = fixture.bytes("f", ByteRange { offset: 2, length: Some(3) }).await.unwrap();
    assert_eq!((read.content(), read.size_bytes, read.version), (b"234".to_vec(), 10, None));
    let read = fixture.bytes("f", ByteRange { offset: 7, length: None }).await.unwrap();
    assert_eq!((read.content(), read.version), (b"789".to_vec(), None));
    let read = fixture.bytes("f", ByteRange { offset: 0, length: Some(9) }).await.unwrap();
    assert_eq!((read.content(), read.version), (b"012345678".to_vec(), None));
}

pub(super) async fn a_range_that_is_the_whole_file_has_its_version(fixture: &Fixture) {
    fixture.put("f", "0123456789");
    for length in [10, 11, u64::MAX] {
        let read = fixture.bytes("f", ByteRange { offset: 0, length: Some(length) }).await.unwrap();
        assert_eq!(
            (read.content(), read.version),
            (b"0123456789".to_vec(), Some(fixture.version_of(b"0123456789")))
        );
    }
}

pub(super) async fn a_range_past_the_end_is_empty(fixture: &Fixture) {
    fixture.put("f", "0123456789");
    for offset in [10, 11, u64::MAX] {
        for length in [None, Some(5), Some(u64::MAX)] {
            let read = fixture.bytes("f", ByteRange { offset, length }).await.unwrap();
            assert_eq!((read.content(), read.size_bytes, read.version), (Vec::new(), 10, None));
        }
    }
    let read = fixture.bytes("f", ByteRange { offset: 8, length: Some(5) }).await.unwrap();
    assert_eq!(read.content(), b"89");
}

pub(super) async fn an_empty_file_has_no_pieces_and_a_version(fixture: &Fixture) {
    fixture.put("f", "");
    for read in [fixture.bytes("f", ByteRange::WHOLE).await.unwrap(), fixture.text("f").await.unwrap()] {
        assert_eq!((read.pieces.len(), read.size_bytes, read.version), (0, 0, Some(fixture.version_of(b""))));
    }
}

pub(super) async fn more_bytes_than_the_cap_are_too_large(fixture: &Fixture) {
    let limit_bytes = limits().max_read_bytes;
    let size = usize::try_from(limit_bytes).unwrap() + 1;
    fixture.put("f", vec![b'x'; size]);
    let error = refused(fixture.bytes("f", ByteRange::WHOLE).await, Code::TooLarge);
    let limit_name = LimitName::MaxReadBytes;
    assert_eq!(error.kind(), &ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes: limit_bytes + 1 });
    let most = fixture.bytes("f", ByteRange { offset: 1, length: None }).await.unwrap();
    assert_eq!(most.content().len(), size - 1);
    let most = fixture.bytes("f", ByteRange { offset: 0, length: Some(limit_bytes) }).await.unwrap();
    assert_eq!((most.content().len(), most.version), (size - 1, None));
}

/// The pieces may end anywhere but inside a character, whatever the buffers are.
pub(super) async fn text_comes_in_pieces_that_end_between_characters(fixture: &Fixture) {
    let content: String = "aé€😀".chars().cycle().take(200_000).collect();
    fixture.put("f", &content);
    let read = fixture.text("f").await.unwrap();
    assert_eq!(read.size_bytes, content.len() as u64);
    assert_eq!(read.version, Some(fixture.version_of(content.as_bytes())));
    for piece in &read.pieces {
        assert!(std::str::from_utf8(piece).is_ok());
    }
    assert!(read.content() == content.as_bytes());
}

pub(super) async fn text_keeps_bom_and_line_ends(fixture: &Fixture) {
    let content = "\u{feff}a\r\nb\nc\r";
    fixture.put("f", content);
    assert_eq!(fixture.text("f").await.unwrap().content(), content.as_bytes());
}

pub(super) async fn text_larger_than_the_byte_cap_is_read_whole(fixture: &Fixture) {
    let size = usize::try_from(limits().max_read_bytes).unwrap() + 1;
    fixture.put("f", vec![b'x'; size]);
    assert_eq!(fixture.text("f").await.unwrap().content().len(), size);
}

pub(super) async fn missing_files_and_directories_have_no_content(fixture: &Fixture) {
    fixture.make_dir("d");
    refused(fixture.bytes("missing", ByteRange::WHOLE).await, Code::NotFound);
    refused(fixture.text("missing").await, Code::NotFound);
    refused(fixture.bytes("d", ByteRange::WHOLE).await, Code::NotRegularFile);
    refused(fixture.text("d").await, Code::NotRegularFile);
}

pub(super) async fn a_listing_has_names_and_kinds(fixture: &Fixture) {
    fixture.put("d/f", "x");
    fixture.make_dir("d/sub");
    fixture.put("d/.hidden", "x");
    fixture.put("d/sub/not-listed", "x");
    let entries = fixture.provider.list_whole(&running(), &fixture.key("d").await).await.unwrap();
    let listed: Vec<_> = entries
        .iter()
        .map(|entry| (entry.raw_name.as_slice(), entry.display_name.as_str(), entry.kind))
        .collect();
    let expected: [(&[u8], &str, FileKind); 3] = [
        (b".hidden", ".hidden", FileKind::Regular),
        (b"f", "f", FileKind::Regular),
        (b"sub", "sub", FileKind::Directory),
    ];
    assert_eq!(listed, expected);
}

pub(super) async fn a_listing_does_not_follow_links(fixture: &Fixture) {
    fixture.make_link("d/dangling", "gone");
    fixture.make_link("d/up", "..");
    let entries = fixture.provider.list_whole(&running(), &fixture.key("d").await).await.unwrap();
    assert!(entries.iter().all(|entry| entry.kind == FileKind::Symlink), "{entries:?}");
    assert_eq!(entries.len(), 2);
}

pub(super) async fn a_listing_shows_raw_names_safely(fixture: &Fixture) {
    fixture.put(b"d/\xff\n", "x");
    let entries = fixture.provider.list_whole(&running(), &fixture.key("d").await).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (entries[0].raw_name.as_slice(), entries[0].display_name.as_str()),
        (&b"\xff\n"[..], r"\xff\u{a}")
    );
}

pub(super) async fn a_large_directory_is_listed_whole(fixture: &Fixture) {
    let names: Vec<Vec<u8>> = (0..1_500).map(|number| format!("name-{number:04}").into_bytes()).collect();
    for name in &names {
        fixture.put([b"d/", name.as_slice()].concat(), "");
    }
    let entries = fixture.provider.list_whole(&running(), &fixture.key("d").await).await.unwrap();
    let listed: Vec<Vec<u8>> = entries.into_iter().map(|entry| entry.raw_name).collect();
    assert!(listed == names);
}

pub(super) async fn only_directories_are_listed(fixture: &Fixture) {
    fixture.put("f", "x");
    fixture.make_dir("empty");
    let list = |path: &'static str| async move {
        fixture.provider.list_whole(&running(), &fixture.key(path).await).await
    };
    refused(list("f").await, Code::NotDirectory);
    refused(list("missing").await, Code::NotFound);
    assert_eq!(list("empty").await.unwrap(), Vec::new());
    assert_eq!(list(".").await.unwrap().len(), 2);
}
