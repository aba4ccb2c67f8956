//! How fast a window becomes the text that a model sees.

#![expect(missing_docs, reason = "criterion_group! makes public functions without documentation")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toolfs_core::limit::Limits;
use toolfs_core::outcome::ReadOutcome;
use toolfs_core::render;
use toolfs_core::text::summarize;
use toolfs_core::version::Version;
use toolfs_core::window::LineWindow;

const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };

fn outcome(content: &[u8]) -> ReadOutcome {
    let summary = summarize(content).expect("it is text");
    let window = WINDOW.of(content);
    ReadOutcome {
        path: "/ws/src/main.rs".into(),
        block: window.block,
        total_lines: summary.total_lines,
        stop: window.stop,
        size_bytes: summary.size_bytes,
        version: Version::of(content),
        line_endings: summary.line_endings(),
        ends_with_newline: summary.ends_with_newline,
        bom: summary.bom,
        notices: Vec::new(),
    }
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("render a page");
    let contents = [
        ("lines of 40 bytes", "    let total = lines.map(count).sum();\n".repeat(2_000)),
        ("lines of 4 bytes", "end\n".repeat(2_000)),
        ("cut lines", ("long ".repeat(500) + "\n").repeat(20)),
    ];
    for (name, content) in contents {
        let outcome = outcome(content.as_bytes());
        group.throughput(Throughput::Bytes(outcome.block.text_bytes() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| render::read(black_box(&outcome), &Limits::DEFAULT))
        });
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
