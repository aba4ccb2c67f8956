//! Many calls at once: guards let one through, unguarded edits all land, readers see whole contents.

use std::sync::{Arc, Mutex};

use toolfs_core::error::{Code, Result};
use toolfs_core::guard::{EditGuard, WriteGuard};

use super::call::{WINDOW, edit_request, running, write_request};
use super::fixture::Fixture;
use crate::Provider;

/// Runs the calls that `make` makes of the numbers below `count` at once, each on a task of its own, and collects
/// what they yield in the order of the numbers.
pub(super) async fn all_at_once<T, F>(
    fixture: &Fixture,
    count: usize,
    make: impl Fn(Arc<dyn Provider>, usize) -> F,
) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let spawn = fixture.spawn.expect("the suite's runner sets it");
    let results: Arc<Mutex<Vec<Option<T>>>> = Arc::new(Mutex::new((0..count).map(|_| None).collect()));
    let tasks: Vec<_> = (0..count)
        .map(|number| {
            let call = make(fixture.provider.clone(), number);
            let results = results.clone();
            spawn(Box::pin(async move {
                let result = call.await;
                results.lock().unwrap()[number] = Some(result);
            }))
        })
        .collect();
    futures_util::future::join_all(tasks).await;
    let mut results = results.lock().unwrap();
    results.drain(..).map(|result| result.expect("every task ended")).collect()
}

/// Exactly one succeeds, the others have `code`; the number of the one.
#[track_caller]
fn only_winner<T: std::fmt::Debug>(results: &[Result<T>], code: Code) -> usize {
    let winners: Vec<usize> = (0..results.len()).filter(|number| results[*number].is_ok()).collect();
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.code(), code, "{error:?}");
    }
    assert_eq!(winners.len(), 1, "{results:?}");
    winners[0]
}

/// Text that makes hashing and matching take long enough for calls to meet in the middle of each other.
fn filler() -> String {
    "some text between the lines that matter\n".repeat(200)
}

/// Lines that differ, far from each other.
fn distinct_lines(count: usize) -> String {
    (0..count).map(|number| format!("line {number:02}\n{}", filler())).collect()
}

pub(super) async fn of_guarded_writes_from_one_version_one_wins(fixture: &Fixture) {
    let key = fixture.key("f").await;
    for round in 0..5 {
        let start = format!("start {round}");
        fixture.put("f", &start);
        let guard = WriteGuard::ReplaceIfVersion(fixture.version_of(start.as_bytes()));
        let content = |number| format!("writer {number}\n{}", filler().repeat(20));
        let results = all_at_once(fixture, 16, |provider, number| {
            let request = write_request(key.clone(), content(number), guard.clone());
            async move { provider.write_text(&running(), request).await }
        })
        .await;
        let winner = only_winner(&results, Code::StaleVersion);
        assert!(fixture.get("f").unwrap() == content(winner).as_bytes());
        assert_eq!(fixture.hand.names(b""), [b"f"]);
    }
}

pub(super) async fn of_creations_of_one_file_one_wins(fixture: &Fixture) {
    for round in 0..5 {
        let path = format!("new{round}/deep/f");
        let key = fixture.key(&path).await;
        let content = |number| format!("writer {number}\n{}", filler().repeat(20));
        let results = all_at_once(fixture, 16, |provider, number| {
            let request = write_request(key.clone(), content(number), WriteGuard::CreateIfAbsent);
            async move { provider.write_text(&running(), request).await }
        })
        .await;
        let winner = only_winner(&results, Code::NotObserved);
        assert!(fixture.get(&path).unwrap() == content(winner).as_bytes());
        assert_eq!(fixture.hand.names(format!("new{round}/deep").as_bytes()), [b"f"]);
    }
}

pub(super) async fn of_guarded_edits_from_one_version_one_wins(fixture: &Fixture) {
    let content = distinct_lines(16);
    fixture.put("f", &content);
    let key = fixture.key("f").await;
    let guard = EditGuard::ReplaceIfVersion(fixture.version_of(content.as_bytes()));
    let results = all_at_once(fixture, 16, |provider, number| {
        let (old, new) = (format!("line {number:02}"), format!("edited {number:02}"));
        let mut request = edit_request(key.clone(), &old, &new, false, guard.clone());
        request.want_diff = false;
        async move { provider.edit_text(&running(), request).await }
    })
    .await;
    let winner = only_winner(&results, Code::StaleVersion);
    let expected = content.replace(&format!("line {winner:02}"), &format!("edited {winner:02}"));
    assert!(fixture.get("f").unwrap() == expected.as_bytes());
}

/// Six edits that one agent sends at once, and more: every success is in the file.
pub(super) async fn unguarded_edits_of_different_lines_all_land(fixture: &Fixture) {
    let content = distinct_lines(32);
    fixture.put("f", &content);
    let key = fixture.key("f").await;
    let results = all_at_once(fixture, 32, |provider, number| {
        let (old, new) = (format!("line {number:02}"), format!("edited {number:02}"));
        let mut request = edit_request(key.clone(), &old, &new, false, EditGuard::Unconditional);
        request.want_diff = false;
        async move { provider.edit_text(&running(), request).await }
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let expected = content.replace("line ", "edited ");
    assert!(fixture.get("f").unwrap() == expected.as_bytes());
    let versions: std::collections::HashSet<_> =
        results.into_iter().map(|result| result.unwrap().version).collect();
    assert_eq!(versions.len(), 32, "each edit reports the content that it made");
}

pub(super) async fn writes_of_different_files_do_not_meet(fixture: &Fixture) {
    let results = all_at_once(fixture, 32, |provider, number| async move {
        let target = crate::ProviderExt::resolve_path(&provider, &running(), &format!("d/f{number}")).await?;
        let request = write_request(target.key, format!("{number}"), WriteGuard::CreateIfAbsent);
        provider.write_text(&running(), request).await
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    for number in 0..32 {
        assert_eq!(fixture.get(format!("d/f{number}")).unwrap(), number.to_string().as_bytes());
    }
}

/// A reader gets the old or the new content, and a version that fits what it got.
pub(super) async fn readers_see_whole_contents(fixture: &Fixture) {
    let contents: [String; 2] = ["a\n".repeat(40_000), "bb\n".repeat(40_000)];
    fixture.put("f", &contents[0]);
    let key = fixture.key("f").await;
    let results = all_at_once(fixture, 24, |provider, number| {
        let key = key.clone();
        let content = contents[number / 3 % 2].clone();
        async move {
            if number % 3 == 0 {
                let request = write_request(key, content, WriteGuard::Unconditional);
                provider.write_text(&running(), request).await?;
                return Ok(None);
            }
            provider.read_lines(&running(), &key, WINDOW).await.map(Some)
        }
    })
    .await;
    for report in results.into_iter().filter_map(Result::unwrap) {
        let read = contents.iter().find(|content| fixture.version_of(content.as_bytes()) == report.version);
        let first_line = read.expect("the version is of one of the two").lines().next().unwrap();
        assert!(report.window.block.lines().all(|line| line.text == first_line));
        assert_eq!(report.summary.total_lines, 40_000);
    }
}
