//! Guards between a read and a change: content decides, and a refusal that was right once never stays.

use toolfs_core::error::Code;
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::fixture::Fixture;

/// Whatever a provider remembers of what it read: one refusal is right, and reading again helps.
pub(super) async fn a_rewrite_of_the_same_size_is_stale_and_read_again(fixture: &Fixture) {
    let (first, second) = ("first line\n".repeat(2_000), "other line\n".repeat(2_000));
    for is_edit in [false, true] {
        fixture.put("f", &first);
        let seen = fixture.lines("f").await.unwrap().version;
        assert_eq!(fixture.lines("f").await.unwrap().version, seen);
        fixture.put("f", &second);
        let change = async |seen| {
            if is_edit {
                let edit = fixture.edit("f", "line\nother", "x", EditGuard::ReplaceIfVersion(seen)).await;
                return edit.map(drop).map_err(|error| error.code());
            }
            let write = fixture.write("f", "ours", WriteGuard::ReplaceIfVersion(seen)).await;
            write.map(drop).map_err(|error| error.code())
        };
        assert_eq!(change(seen).await, Err(Code::StaleVersion));
        assert!(fixture.get("f").unwrap() == second.as_bytes());
        let again = fixture.lines("f").await.unwrap().version;
        assert_eq!(again, fixture.version_of(second.as_bytes()));
        // It is judged on the version that is there: the edit finds many places then.
        let expected = if is_edit { Err(Code::AmbiguousEdit) } else { Ok(()) };
        assert_eq!(change(again).await, expected);
    }
}

pub(super) async fn a_content_that_came_back_is_not_stale(fixture: &Fixture) {
    fixture.put("f", "seen");
    let seen = fixture.lines("f").await.unwrap().version;
    fixture.put("f", "other");
    fixture.lines("f").await.unwrap();
    fixture.put("f", "seen");
    fixture.edit("f", "seen", "edited", EditGuard::ReplaceIfVersion(seen.clone())).await.unwrap();
    fixture.remove("f");
    fixture.put("f", "seen");
    fixture.write("f", "new", WriteGuard::ReplaceIfVersion(seen)).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"new");
}
