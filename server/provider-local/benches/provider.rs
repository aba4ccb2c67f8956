//! Reading and replacing on the local disk. `TMPDIR` chooses the file system.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench prepares its files, and stops at the first failure"
)]
#![expect(missing_docs, reason = "criterion's macros make a public item without one")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::edit::EditRequest;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::TargetKey;
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::operation::OperationId;
use toolfs_provider::request::{EditTextRequest, WriteTextRequest};
use toolfs_provider::{Provider, ProviderExt};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

#[derive(Debug)]
struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }
}

/// Generated source-like text of about `bytes` bytes.
fn text(bytes: usize) -> String {
    let mut text = String::new();
    let mut number = 0u64;
    while text.len() < bytes {
        number += 1;
        let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(text, "    let value_{number} = compute({value:#x}, \"name {}\");", number % 97);
    }
    text
}

fn open(root: &Path, records: Option<&Path>, durability: Durability) -> LocalProvider {
    let mut options = LocalOptions::new(Arc::new(HostClock));
    options.operations = records.map(Path::to_owned);
    options.durability = durability;
    LocalProvider::open(&[RootSpec::new(root)], options).unwrap()
}

fn key(runtime: &Runtime, provider: &LocalProvider, name: &str) -> TargetKey {
    runtime.block_on(provider.resolve_path(&AbortSignal::new(), name)).unwrap().key
}

fn read(criterion: &mut Criterion) {
    let (runtime, directory, abort) =
        (Runtime::new().unwrap(), tempfile::tempdir().unwrap(), AbortSignal::new());
    let provider = open(directory.path(), None, Durability::Full);
    let mut group = criterion.benchmark_group("read");
    for (name, bytes) in [("4KiB", 4 << 10), ("64KiB", 64 << 10), ("16MiB", 16 << 20)] {
        fs::write(directory.path().join(name), text(bytes)).unwrap();
        let key = key(&runtime, &provider, name);
        let window = LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(provider.read_lines(&abort, &key, window)).unwrap()));
        });
    }
    group.finish();
}

fn replace(criterion: &mut Criterion) {
    let (runtime, abort) = (Runtime::new().unwrap(), AbortSignal::new());
    let mut group = criterion.benchmark_group("replace");
    group.sample_size(20);
    for (name, durability, is_named) in [
        ("full", Durability::Full, false),
        ("data", Durability::Data, false),
        ("none", Durability::None, false),
        ("none, named", Durability::None, true),
    ] {
        let (directory, records) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let provider = open(directory.path(), is_named.then(|| records.path()), durability);
        let target = key(&runtime, &provider, "file");
        let content = bytes::Bytes::from(text(16 << 10));
        let guard = WriteGuard::Unconditional;
        let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
        let mut count = 0u64;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                count += 1;
                let operation_id = is_named.then(|| OperationId::parse(&count.to_string()).unwrap());
                let request = WriteTextRequest { operation_id, ..request.clone() };
                runtime.block_on(provider.write_text(&abort, request)).unwrap()
            });
        });
    }
    group.finish();
}

/// An edit of one word in a large file, and what a copy costs that is no edit at all: copied by the kernel, synced and
/// renamed.
fn edit_large(criterion: &mut Criterion) {
    const BYTES: usize = 200 << 20;
    let (runtime, directory, abort) =
        (Runtime::new().unwrap(), tempfile::tempdir().unwrap(), AbortSignal::new());
    let path = directory.path().join("large");
    let half = text(BYTES / 2);
    fs::write(&path, [&half, "the word is here\n", &half].concat()).unwrap();
    drop(half);
    let provider = open(directory.path(), None, Durability::Full);
    let target = key(&runtime, &provider, "large");
    let mut group = criterion.benchmark_group("200MiB");
    group.sample_size(10).throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("copy, fsync, rename", |bencher| {
        bencher.iter(|| copy_and_rename(directory.path()));
    });
    let mut words = ("the word is here", "here the word is");
    group.bench_function("edit", |bencher| {
        bencher.iter(|| {
            let (old, new) = words;
            let edit = EditRequest::new(old.to_owned(), new.to_owned(), false).unwrap();
            let guard = EditGuard::Unconditional;
            let target = target.clone();
            let request = EditTextRequest { target, edit, guard, want_diff: false, operation_id: None };
            runtime.block_on(provider.edit_text(&abort, request)).unwrap();
            words = (new, old);
        });
    });
    group.finish();
}

fn copy_and_rename(directory: &Path) {
    let (from, to) = (directory.join("large"), directory.join("copy"));
    let (old, new) = (fs::File::open(&from).unwrap(), fs::File::create(&to).unwrap());
    let size = usize::try_from(old.metadata().unwrap().len()).unwrap();
    let mut copied = 0;
    while copied < size {
        copied += rustix::fs::copy_file_range(&old, None, &new, None, size - copied).unwrap();
    }
    new.sync_all().unwrap();
    fs::rename(to, from).unwrap();
    fs::File::open(directory).unwrap().sync_all().unwrap();
}

criterion_group!(benches, read, replace, edit_large);
criterion_main!(benches);
