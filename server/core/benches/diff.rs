//! Diffs of whole contents: usual ones, and pairs that are hard for a search for common lines.
#![expect(missing_docs, reason = "criterion_group makes a function without documentation")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use toolfs_core::diff::Diff;

/// Numbers that look random and are the same in each run.
fn numbers(count: usize, below: u64) -> impl Iterator<Item = u64> {
    let mut state = 88_172_645_463_325_252_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    })
    .take(count)
}

fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

fn between(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("diff");
    group.sample_size(10);
    for count in [7_000, 28_000, 250_000_usize] {
        let all = 0..count as u64;
        let shuffled = |below| numbers(2 * count, below).skip(count);
        let cases = [
            (
                "one line changed",
                lines(all.clone()),
                lines(all.clone().map(|n| if n == 3000 { 0 } else { n })),
            ),
            (
                "every tenth line changed",
                lines(all.clone()),
                lines(all.clone().map(|n| if n % 10 == 0 { n + count as u64 } else { n })),
            ),
            ("nothing in common", lines(all.clone()), lines(all.clone().map(|n| n + count as u64))),
            ("reversed", lines(all.clone()), lines(all.clone().rev())),
            ("two kinds of lines", lines(numbers(count, 2)), lines(shuffled(2))),
            ("26 kinds of lines", lines(numbers(count, 26)), lines(shuffled(26))),
            (
                "many kinds of lines",
                lines(numbers(count, count as u64 / 4)),
                lines(shuffled(count as u64 / 4)),
            ),
        ];
        for (name, old, new) in cases {
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| Diff::between(Some(black_box(old.as_bytes())), &new, 16 << 20));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, between);
criterion_main!(benches);
