//! Edits of files that memory is not to hold: what is copied is what was judged, whoever changes the file meanwhile.

use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolfs_core::error::{AbortCause, Code, ErrorKind, SearchStop};
use toolfs_core::guard::EditGuard;
use toolfs_core::limit::Limits;
use toolfs_core::version::Version;

use super::rewrite::stuck;
use super::*;

/// How much is copied at once here.
const COPIED: usize = 1 << 10;
/// Where the edit is, in a file that takes many copies.
const MIDDLE: &str = "the line in the middle\n";

fn streaming(options: &mut LocalOptions) {
    options.force_streaming = NonZeroUsize::new(COPIED);
}

fn text() -> String {
    let line = "a line of those that stay\n";
    [&line.repeat(300), MIDDLE, &line.repeat(300)].concat()
}

fn edited() -> String {
    text().replace(MIDDLE, "another\n")
}

async fn edit_middle(bench: &Bench) -> Result<EditReport> {
    bench.edit("f", MIDDLE, "another\n", EditGuard::Unconditional).await
}

fn for_writing(path: &Path) -> std::io::Result<fs::File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    fs::OpenOptions::new().write(true).custom_flags(flags).open(path)
}

/// How often each step was due.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<Vec<Step>>>);

impl Counts {
    fn add(&self, step: Step) {
        self.0.lock().unwrap().push(step);
    }

    fn of(&self, step: Step) -> usize {
        self.0.lock().unwrap().iter().filter(|due| **due == step).count()
    }
}

/// Somebody who changes the start of the file before it is copied, and changes it back before what was written is looked
/// at.
fn change_and_change_back(bench: &Bench, counts: &Counts, mut at_create: impl FnMut(&Path) + Send + 'static) {
    let (path, counts) = (bench.root.join("f"), counts.clone());
    bench.at_steps(move |due| {
        counts.add(due);
        match (due, counts.of(due)) {
            (Step::Create, 1) => at_create(&path),
            (Step::Write, 1) => for_writing(&path).unwrap().write_all_at(b"A LINE", 0).unwrap(),
            (Step::ReadBack, 1) => for_writing(&path).unwrap().write_all_at(b"a line", 0).unwrap(),
            _ => {}
        }
        Ok(())
    });
}

/// Counts the steps from here on.
fn counted(bench: &Bench) -> Counts {
    let counts = Counts::default();
    let seen = counts.clone();
    bench.at_steps(move |due| {
        seen.add(due);
        Ok(())
    });
    counts
}

#[tokio::test]
async fn what_somebody_changed_and_changed_back_while_it_was_copied_is_not_published() {
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let counts = Counts::default();
    change_and_change_back(&bench, &counts, |path| {
        // The lease holds him up until the next piece.
        assert_eq!(for_writing(path).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    });
    edit_middle(&bench).await.unwrap();
    assert_eq!(bench.get("f").unwrap(), edited());
    assert_eq!(counts.of(Step::Create), 2, "what was copied first is thrown away");
    assert_eq!(bench.names(), ["f"]);
}

#[test]
fn without_a_lease_what_was_copied_is_read_back() {
    if !rustix::process::geteuid().is_root() {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: only root can make a file on which another user has no lease\n",
        );
        return;
    }
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let directories = [bench.root.parent().unwrap(), &bench.root];
    for (path, mode) in [(directories[0], 0o755), (directories[1], 0o777), (&bench.root.join("f"), 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let counts = Counts::default();
    change_and_change_back(&bench, &counts, |path| drop(for_writing(path).unwrap()));
    unprivileged(|| run(edit_middle(&bench))).unwrap();
    assert_eq!(bench.get("f").unwrap(), edited());
    assert_eq!(counts.of(Step::Create), 2, "what was copied first is thrown away");
}

#[tokio::test]
async fn what_nobody_disturbs_is_not_read_back() {
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let counts = counted(&bench);
    edit_middle(&bench).await.unwrap();
    assert_eq!(bench.get("f").unwrap(), edited());
    assert_eq!((counts.of(Step::Create), counts.of(Step::ReadBack)), (1, 0));
    assert!(counts.of(Step::Write) > 10, "it is copied in steps");
}

#[tokio::test]
async fn a_writer_waits_for_a_piece_and_not_for_the_edit() {
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let (path, counts) = (bench.root.join("f"), Counts::default());
    let seen = counts.clone();
    bench.at_steps(move |due| {
        seen.add(due);
        match (due, seen.of(due)) {
            (Step::Write, 3) => drop(for_writing(&path).unwrap_err()),
            (Step::Write, 4) => drop(for_writing(&path).unwrap()),
            _ => {}
        }
        Ok(())
    });
    edit_middle(&bench).await.unwrap();
    assert_eq!(bench.get("f").unwrap(), edited());
    assert_eq!(counts.of(Step::Create), 1, "he opened it and wrote nothing");
    assert!(counts.of(Step::ReadBack) > 0);
}

#[tokio::test]
async fn a_file_that_gets_shorter_while_it_is_copied_is_judged_anew() {
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let short = text().len() as u64 - 100;
    let (path, counts) = (bench.root.join("f"), Counts::default());
    let seen = counts.clone();
    bench.at_steps(move |due| {
        seen.add(due);
        match (due, seen.of(due)) {
            (Step::Create, 1) => drop(for_writing(&path).unwrap_err()),
            (Step::Write, 2) => for_writing(&path).unwrap().set_len(short).unwrap(),
            _ => {}
        }
        Ok(())
    });
    edit_middle(&bench).await.unwrap();
    let short = usize::try_from(short).unwrap();
    assert_eq!(bench.get("f").unwrap(), text()[..short].replace(MIDDLE, "another\n"));
}

#[tokio::test]
async fn a_file_that_somebody_writes_to_is_refused_before_it_is_copied() {
    let bench = Bench::with(streaming);
    bench.put("f", &text());
    let counts = counted(&bench);
    let writer = for_writing(&bench.root.join("f")).unwrap();
    assert_eq!(edit_middle(&bench).await.unwrap_err().code(), Code::Unavailable);
    let stale = EditGuard::ReplaceIfVersion(Version::of(b"another"));
    let refused = bench.edit("f", MIDDLE, "another\n", stale).await.unwrap_err();
    assert_eq!(refused.code(), Code::StaleVersion, "the guard is judged before");
    assert_eq!(counts.of(Step::Create), 0);
    drop(writer);
    edit_middle(&bench).await.unwrap();
    assert_eq!(bench.get("f").unwrap(), edited());
}

#[tokio::test]
async fn a_cancelled_copy_ends_within_a_piece_and_leaves_nothing() {
    for replace_all in [false, true] {
        let bench = Bench::with(streaming);
        bench.put("f", &text());
        let abort = AbortSignal::new();
        let (stop, count) = (abort.clone(), Arc::new(AtomicUsize::new(0)));
        let seen = count.clone();
        bench.at_steps(move |due| {
            if due == Step::Write && seen.fetch_add(1, Ordering::SeqCst) == 3 {
                stop.fire(AbortCause::Cancelled);
            }
            Ok(())
        });
        let edit = EditRequest::new(MIDDLE.to_owned(), "another\n".to_owned(), replace_all).unwrap();
        let target = bench.key("f").await;
        let guard = EditGuard::Unconditional;
        let request = EditTextRequest { target, edit, guard, want_diff: true, operation_id: None };
        assert_eq!(bench.provider.edit_text(&abort, request).await.unwrap_err().code(), Code::Aborted);
        assert_eq!(count.load(Ordering::SeqCst), 4);
        assert_eq!(bench.get("f").unwrap(), text());
        assert_eq!(bench.names(), ["f"]);
    }
}

#[tokio::test]
async fn refusals_come_before_anything_is_written() {
    let limits = Limits { max_file_bytes: Some(20_000), near_miss_bytes: 100, ..Limits::DEFAULT };
    let bench = Bench::with(|options| {
        streaming(options);
        options.limits = limits;
    });
    bench.at_steps(|due| match due {
        Step::Create => panic!("nothing is to be written"),
        _ => Ok(()),
    });
    bench.put("f", &text());
    let refused = async |old: &str, new: &str, replace_all| {
        let target = bench.key("f").await;
        let edit = EditRequest::new(old.to_owned(), new.to_owned(), replace_all).unwrap();
        let guard = EditGuard::Unconditional;
        let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
        bench.provider.edit_text(&AbortSignal::new(), request).await.unwrap_err().kind().clone()
    };
    let too_large =
        |kind: ErrorKind, size| matches!(kind, ErrorKind::TooLarge { size_bytes, .. } if size_bytes == size);
    let size = text().len() as u64;
    assert!(too_large(refused(MIDDLE, &"x".repeat(9_000), false).await, size - MIDDLE.len() as u64 + 9_000));
    let lines = u64::try_from(text().matches("stay").count()).unwrap();
    assert!(too_large(refused("stay", &"y".repeat(104), true).await, size + lines * 100));
    let nothing = refused("the line in the Middle", "", false).await;
    assert!(
        matches!(nothing, ErrorKind::EditNotFound { search_stopped: Some(SearchStop::Bytes), .. }),
        "{nothing:?}"
    );
    let several = refused("stay", "go", false).await;
    assert!(matches!(several, ErrorKind::AmbiguousEdit { match_count, .. } if match_count == lines));
    bench.put("f", &[&text(), "\0"].concat());
    let last = refused(MIDDLE, "", false).await;
    assert!(matches!(last, ErrorKind::NotText { byte_offset, .. } if byte_offset == size), "{last:?}");
    assert_eq!(bench.get("f").unwrap(), [&text(), "\0"].concat());
}

/// Every edit of a text with all kinds of line ends, cut everywhere.
#[tokio::test]
async fn matches_and_line_ends_across_the_borders_of_pieces_are_whole() {
    let text = "eins\r\nzwei\ndrei\r\nähm\r\rvier\r\n\r\nfünf\r\nzwei\rs";
    for piece in 1..=9 {
        let bench = Bench::with(|options| options.force_streaming = NonZeroUsize::new(piece));
        for (old, new, all, expected) in [
            ("zwei\ndrei", "x\ny", false, text.replace("zwei\ndrei", "x\ny")),
            ("drei\nähm", "x\ny", false, text.replace("drei\r\nähm", "x\r\ny")),
            ("vier\n\n", "\n", false, text.replace("vier\r\n\r\n", "\r\n")),
            ("\r\r", "", false, text.replace("\r\r", "")),
            ("fünf", "5\n5", false, text.replace("fünf", "5\r\n5")),
            ("zwei", "", true, text.replace("zwei", "")),
            ("\n", "|", true, text.replace("\r\n", "|").replace('\n', "|")),
            ("e", "ee", true, text.replace('e', "ee")),
            ("eins", "", false, text.replace("eins", "")),
            ("s", "S", true, text.replace('s', "S")),
        ] {
            bench.put("f", text);
            let target = bench.key("f").await;
            let edit = EditRequest::new(old.to_owned(), new.to_owned(), all).unwrap();
            let guard = EditGuard::ReplaceIfVersion(Version::of(text.as_bytes()));
            let request = EditTextRequest { target, edit, guard, want_diff: true, operation_id: None };
            let report = bench.provider.edit_text(&AbortSignal::new(), request.clone()).await.unwrap();
            assert_eq!(bench.get("f").unwrap(), expected, "{old:?} in pieces of {piece}");
            assert_eq!(report.version, Version::of(expected.as_bytes()), "{old:?} in pieces of {piece}");
            bench.put("f", text);
            let plan = bench.provider.plan_edit(&AbortSignal::new(), request).await.unwrap();
            assert_eq!(
                (plan.version, plan.matches, plan.diff),
                (report.version, report.matches, report.diff)
            );
        }
    }
}

#[tokio::test]
async fn a_large_file_whose_name_is_stuck_is_rewritten_in_place() {
    for (old, new, replace_all) in [(MIDDLE, "another\n", false), ("stay", "go away", true)] {
        let bench = Bench::with_copies(streaming);
        bench.at_steps(stuck(|_| Ok(())));
        bench.put("f", &text());
        let target = bench.key("f").await;
        let edit = EditRequest::new(old.to_owned(), new.to_owned(), replace_all).unwrap();
        let guard = EditGuard::Unconditional;
        let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
        bench.provider.edit_text(&AbortSignal::new(), request).await.unwrap();
        assert_eq!(bench.get("f").unwrap(), text().replace(old, new));
        assert_eq!(super::rewrite::copies(&bench), [] as [&str; 0]);
    }
}

/// A result that memory should not hold may come out of a file that it holds.
#[tokio::test]
async fn a_small_file_that_grows_beyond_memory_is_edited_in_a_stream() {
    let bench = Bench::new();
    let counts = counted(&bench);
    bench.put("f", &"a\n".repeat(20_000));
    let target = bench.key("f").await;
    let edit = EditRequest::new("a".to_owned(), "b".repeat(1_000), true).unwrap();
    let guard = EditGuard::Unconditional;
    let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
    let report = bench.provider.edit_text(&AbortSignal::new(), request).await.unwrap();
    assert_eq!(report.size_bytes, 20_000 * 1_001);
    assert_eq!(fs::metadata(bench.root.join("f")).unwrap().len(), report.size_bytes);
    assert!(counts.of(Step::Write) > 50, "it is written in pieces");
}

/// The way of a stream knows the lines of what it wrote, whatever it is; the way in memory looks at it as text.
#[tokio::test]
async fn both_ways_say_nothing_of_line_ends_in_what_a_nul_made_no_text_of() {
    for bench in [Bench::new(), Bench::with(streaming)] {
        bench.put("f", "one\ntwo\n");
        let report = bench.edit("f", "two\n", "\0", EditGuard::Unconditional).await.unwrap();
        assert_eq!(bench.get("f").unwrap(), "one\n\0");
        assert_eq!(report.notices, []);
    }
}
