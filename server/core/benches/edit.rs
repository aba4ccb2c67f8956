//! Edits: finding, splicing, near misses. Times must grow with the size and not faster, whatever the bytes are.
#![expect(missing_docs, reason = "criterion_group makes a function without documentation")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toolfs_core::edit::matcher::{Matcher, Needle, Overlaps};
use toolfs_core::edit::{EditRequest, Endless, Rewrite, Survey, apply, near_miss};
use toolfs_core::limit::Limits;
use toolfs_core::text::summarize;
use toolfs_core::version::VersionHasher;

const MIB: usize = 1 << 20;

/// Lines of code-like text.
fn source(bytes: usize, line_end: &str) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut number = 0_u64;
    while text.len() < bytes {
        text.push_str(&format!("    let value_{number} = compute(left_{number}, right);{line_end}"));
        number += 1;
    }
    text
}

fn find(content: &[u8], needle: &Needle) -> u64 {
    let mut count = 0;
    let mut matcher = Matcher::new(needle, Overlaps::Counted);
    matcher.feed(content, |_| count += 1);
    matcher.finish(|_| count += 1);
    count
}

/// Contents and needles, the last ones made to be hard.
fn searches(bytes: usize) -> Vec<(&'static str, Vec<u8>, String)> {
    let half = |text: &str| text.repeat(bytes / text.len() / 2);
    vec![
        ("lf", source(bytes, "\n").into_bytes(), "is not there\n".into()),
        ("crlf", source(bytes, "\r\n").into_bytes(), "is not there\n".into()),
        ("one letter everywhere", vec![b'a'; bytes], "a".into()),
        ("half a file of one letter", vec![b'a'; bytes], half("a")),
        ("half a file of ab", "ab".repeat(bytes / 2).into_bytes(), half("ab")),
        ("nearly everywhere", "aaaaaaab".repeat(bytes / 8).into_bytes(), "a".repeat(7) + "c"),
        ("long and nearly everywhere", vec![b'a'; bytes], "b".to_owned() + &half("a")),
        ("empty crlf lines", "\r\n".repeat(bytes / 2).into_bytes(), "\n\n\n\n".into()),
    ]
}

fn matching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("match");
    group.sample_size(10);
    for bytes in [2 * MIB, 8 * MIB] {
        group.throughput(Throughput::Bytes(bytes as u64));
        for (name, content, old_string) in searches(bytes) {
            let needle = Needle::new(&old_string);
            group.bench_with_input(BenchmarkId::new(name, bytes / MIB), &content, |bencher, content| {
                bencher.iter(|| find(black_box(content), &needle));
            });
        }
        let content = source(bytes, "\r\n").into_bytes();
        let needle = Needle::new(&"x".repeat(MIB / 2));
        group.bench_function(BenchmarkId::new("pieces of 1 byte", bytes / MIB), |bencher| {
            bencher.iter(|| {
                let mut matcher = Matcher::new(&needle, Overlaps::Counted);
                for piece in content.chunks(1) {
                    matcher.feed(black_box(piece), |_| ());
                }
            });
        });
    }
    group.finish();
}

fn applying(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("apply");
    group.sample_size(10);
    for bytes in [2 * MIB, 8 * MIB] {
        group.throughput(Throughput::Bytes(bytes as u64));
        let content = source(bytes, "\n");
        let cases = [
            ("one match", content.clone(), "left_77,".to_owned(), "left,".to_owned(), false),
            ("a match a line", content, "let value".to_owned(), "let mut value".to_owned(), true),
            ("one line of matches", "a".repeat(bytes), "a".to_owned(), "bb".to_owned(), true),
            ("half the file", "ab\n".repeat(bytes / 3), "ab\n".repeat(bytes / 6), "x".to_owned(), true),
        ];
        for (name, content, old_string, new_string, replace_all) in cases {
            let edit = EditRequest::new(old_string, new_string, replace_all).expect("a fine edit");
            group.bench_function(BenchmarkId::new(name, bytes / MIB), |bencher| {
                bencher.iter(|| {
                    apply(black_box(content.as_bytes()), &edit, &Limits::DEFAULT, &Endless)
                        .expect("it matches")
                });
            });
        }
    }
    group.finish();
}

fn near_misses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("near miss");
    group.sample_size(10);
    for bytes in [MIB, 4 * MIB] {
        group.throughput(Throughput::Bytes(bytes as u64));
        let cases = [
            ("nothing near", source(bytes, "\n"), "is not there".to_owned()),
            ("most lines", source(bytes, "\n"), source(2000, "\n").replace("value_3 ", "value ")),
            ("near everywhere", "a b ".repeat(bytes / 4), "b  a".to_owned()),
            ("near with a long needle", "a b ".repeat(bytes / 4), "a  b ".repeat(bytes / 16)),
            ("one line of the file", "ab ".repeat(bytes / 3), "ab\tac".to_owned()),
            ("equal lines in both", "x y\n".repeat(bytes / 4), "x y\n".repeat(bytes / 4) + "z\n"),
            ("half of the lines differ", "x\ny\n".repeat(bytes / 4), "x\nz\n".repeat(bytes / 4)),
            ("blanks only", " ".repeat(bytes), "\t".repeat(bytes / 2) + "a"),
            ("blanks around", ("a".to_owned() + &" ".repeat(bytes / 64)).repeat(64), "A ".to_owned()),
            ("backslashes", "\\".repeat(bytes), "\\".repeat(bytes / 2) + "a"),
            ("wide characters", "漢字 かな\n".repeat(bytes / 14), "漢字かな x".to_owned()),
            ("a needle above the budget", source(bytes, "\n"), "ab\n".repeat(16 * MIB / 3)),
        ];
        for (name, content, old_string) in cases {
            group.bench_function(BenchmarkId::new(name, bytes / MIB), |bencher| {
                bencher.iter(|| {
                    near_miss::search(black_box(content.as_bytes()), true, &old_string, 4 << 20, &Endless)
                });
            });
        }
    }
    group.finish();
}

/// Surveys and rewrites of a long file in pieces, beside the hash of the file alone: a survey hashes what is before the
/// match once and what is behind it twice.
fn streaming(criterion: &mut Criterion) {
    const BYTES: usize = 64 * MIB;
    let mut group = criterion.benchmark_group("stream");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(BYTES as u64));
    let with_match_at = |at: usize| {
        let mut content = source(BYTES, "\n");
        content.insert_str(content[at..].find('\n').map_or(at, |line_end| at + line_end), " needle");
        content.into_bytes()
    };
    let none = source(BYTES, "\n").into_bytes();
    group.bench_function("blake3 alone", |bencher| {
        bencher.iter(|| {
            let mut hasher = VersionHasher::new();
            none.chunks(MIB).for_each(|piece| hasher.update(black_box(piece)));
            hasher.finish()
        });
    });
    let edit = EditRequest::new("needle".into(), "thread".into(), false).expect("a fine edit");
    let needle = Needle::new(edit.old_string());
    let cases = [
        ("survey without a match", none.clone()),
        ("survey with a match at the start", with_match_at(100)),
        ("survey with a match in the middle", with_match_at(BYTES / 2)),
        ("survey of crlf lines without a match", source(BYTES, "\r\n").into_bytes()),
        ("survey of one line without a match", vec![b'x'; BYTES]),
    ];
    for (name, content) in cases {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut survey = Survey::new(&edit, &needle, Some(Limits::DEFAULT.max_diff_bytes));
                content.chunks(MIB).for_each(|piece| survey.feed(black_box(piece)));
                survey.finish()
            });
        });
    }

    let hits = EditRequest::new("value_1".into(), "amount_1".into(), true).expect("a fine edit");
    let needle = Needle::new(hits.old_string());
    let before = summarize(&none).expect("it is text");
    for (name, max_diff_bytes) in
        [("rewrite with 10^5 hits", None), ("rewrite with 10^5 hits and a diff", Some(64 << 20))]
    {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut rewrite = Rewrite::all(&hits, &needle, &before, max_diff_bytes);
                none.chunks(MIB).for_each(|piece| rewrite.feed(black_box(piece), &mut |_| {}));
                let changed = rewrite.finish(&mut |_| {});
                assert!(changed.matches.total > 100_000, "{}", changed.matches.total);
                changed
            });
        });
    }
    group.finish();
}

criterion_group!(benches, matching, applying, near_misses, streaming);
criterion_main!(benches);
