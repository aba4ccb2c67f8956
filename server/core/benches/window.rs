//! How fast content is judged and windows are found.

#![expect(missing_docs, reason = "criterion_group! makes public functions without documentation")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toolfs_core::text::{TextPass, TextScanner};
use toolfs_core::window::{LineWindow, WindowReader};

const CONTENT_BYTES: usize = 64 << 20;
/// What a file is read in.
const PIECE_BYTES: usize = 256 << 10;

/// A line of about 40 bytes with its end, over and over, to exactly 64 MiB.
fn content(line: &str) -> Vec<u8> {
    let mut content = line.as_bytes().repeat(CONTENT_BYTES / line.len());
    content.resize(CONTENT_BYTES, b'x');
    content
}

fn ascii() -> Vec<u8> {
    content("    let total = lines.map(count).sum();\n")
}

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan 64 MiB");
    group.throughput(Throughput::Bytes(CONTENT_BYTES as u64)).sample_size(20);
    let contents = [
        ("ascii", ascii()),
        ("ascii crlf", content("    let total = lines.map(coun).sum();\r\n")),
        ("one accent a line", content("    let préfix = lines.map(cou).sum();\n")),
        ("cyrillic", content("    слово и ещё слова, стр\n")),
    ];
    for (name, content) in &contents {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let mut scanner = TextScanner::new();
                for piece in content.chunks(PIECE_BYTES) {
                    scanner.feed(black_box(piece)).expect("it is text");
                }
                scanner.finish().expect("it is text")
            });
        });
    }
    let content = ascii();
    group.bench_function("ascii with its version", |bencher| {
        bencher.iter(|| {
            let mut pass = TextPass::new();
            for piece in content.chunks(PIECE_BYTES) {
                pass.feed(black_box(piece)).expect("it is text");
            }
            pass.finish().expect("it is text")
        });
    });
    group.finish();
}

fn window(criterion: &mut Criterion) {
    let content = ascii();
    let first = LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };
    let last_line = (content.len() / 40) as u64;
    let mut group = criterion.benchmark_group("window");
    group.sample_size(20);
    group.bench_function("first page", |bencher| bencher.iter(|| first.of(black_box(&content))));
    group.throughput(Throughput::Bytes(CONTENT_BYTES as u64));
    group.bench_function("last page of 64 MiB", |bencher| {
        let last = LineWindow { first_line: last_line - 1_000, ..first };
        bencher.iter(|| read(&content, last));
    });
    let long = "ä".repeat(CONTENT_BYTES / 2).into_bytes();
    group.bench_function("one line of 64 MiB", |bencher| bencher.iter(|| read(&long, first)));
    group.finish();
}

fn read(content: &[u8], window: LineWindow) -> usize {
    let mut reader = WindowReader::new(window);
    for piece in content.chunks(PIECE_BYTES) {
        if !reader.feed(black_box(piece)) {
            break;
        }
    }
    reader.finish().block.line_count()
}

criterion_group!(benches, scan, window);
criterion_main!(benches);
