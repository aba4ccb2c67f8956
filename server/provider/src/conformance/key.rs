//! One key for one file, whatever the spelling and whether or not it is there yet.

use super::fixture::Fixture;

pub(super) async fn every_spelling_has_one_key(fixture: &Fixture) {
    fixture.put("a/n.md", "x");
    fixture.make_dir("b");
    let key = fixture.key("a/n.md").await;
    let absolute = fixture.absolute("a/n.md");
    let spellings: [&[u8]; 5] = [b"./a/n.md", b"b/../a/n.md", b"a//n.md", b"./a/./../a/n.md", &absolute];
    for spelling in spellings {
        assert_eq!(fixture.key(spelling).await, key, "{}", String::from_utf8_lossy(spelling));
    }
    assert_eq!(fixture.try_resolve_from("a", "n.md").await.unwrap().key, key);
    assert_eq!(fixture.try_resolve_from("b", "../a/n.md").await.unwrap().key, key);
}

pub(super) async fn different_files_have_different_keys(fixture: &Fixture) {
    let paths = [".", "a", "a/b", "ab", "a/b/c", "A", "b/a", "a b", "a\u{a0}b"];
    let mut keys = Vec::new();
    for path in paths {
        keys.push(fixture.key(path).await);
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), paths.len());
}

pub(super) async fn a_key_is_the_same_before_and_after_creation(fixture: &Fixture) {
    let before = fixture.target("new/deep/f.txt").await;
    fixture.make_dir("new");
    let halfway = fixture.target("new/deep/f.txt").await;
    fixture.create("new/deep/f.txt", "x").await.unwrap();
    let after = fixture.target("new/deep/f.txt").await;
    assert_eq!(before, halfway);
    assert_eq!(before, after);
    fixture.remove("new");
    assert_eq!(fixture.target("new/deep/f.txt").await, before);
}

pub(super) async fn every_spelling_of_something_missing_has_one_key(fixture: &Fixture) {
    fixture.make_dir("d");
    let key = fixture.key("d/new/f").await;
    let absolute = fixture.absolute("d/new/f");
    let spellings: [&[u8]; 4] = [b"./d/new/f", b"d/../d/new/f", b"d//new//f", &absolute];
    for spelling in spellings {
        assert_eq!(fixture.key(spelling).await, key, "{}", String::from_utf8_lossy(spelling));
    }
}

pub(super) async fn a_replaced_file_keeps_its_key(fixture: &Fixture) {
    fixture.put("f", "one");
    let key = fixture.key("f").await;
    fixture.remove("f");
    fixture.put("f", "two");
    assert_eq!(fixture.key("f").await, key);
    fixture.write("f", "three", toolfs_core::guard::WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.key("f").await, key);
}

pub(super) async fn a_link_shares_the_key_of_what_it_leads_to(fixture: &Fixture) {
    fixture.make_dir("real");
    fixture.make_link("alias", "real");
    assert_eq!(fixture.key("alias/missing/f").await, fixture.key("real/missing/f").await);
}
