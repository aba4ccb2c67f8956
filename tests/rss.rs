//! Memory: reading costs the window and editing costs the change, not the file.
//!
//! Each measure has a server of its own, since the peak of a process never falls. Files above 2 GiB are the proof
//! `huge`'s.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use toolfs_client::{CallOptions, Client, Edit, OpenSession, Read, Session};

use crate::support::process::Server;
use crate::support::say;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// How much more than idle a server may use at its peak for an edit, in KiB, and for a window.
const EDIT_KIB: u64 = 64 << 10;
const WINDOW_KIB: u64 = 16 << 10;

/// The peak of a process's resident memory so far, in KiB.
fn peak_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Whether there is room for files of so many bytes; says that a test is skipped when not.
fn has_room(directory: &TempDir, bytes: u64) -> bool {
    let free = rustix::fs::statvfs(directory.path()).map(|stats| stats.f_bavail * stats.f_frsize).unwrap();
    if free < bytes {
        say(&format!("skipped: {} MiB are free, it needs {}", free / MIB, bytes / MIB));
    }
    free >= bytes
}

/// Writes a block so often that the file has at least `bytes`, and says how often.
fn repeat(path: &Path, block: &str, bytes: u64) -> u64 {
    let mut file = File::create(path).unwrap();
    let copies = bytes.div_ceil(block.len() as u64);
    for _ in 0..copies {
        file.write_all(block.as_bytes()).unwrap();
    }
    copies
}

/// Some MiB of numbered lines.
fn lines() -> String {
    let mut block = String::from("first\n");
    while block.len() < 4 << 20 {
        let number = block.len();
        block.push_str(&format!("{number:08} some text as logs have it, with a word in the middle and é\n"));
    }
    block
}

/// A server that has done its first calls, and a session of it.
struct Measured {
    server: Server,
    session: Session,
    idle_kib: u64,
    since: Instant,
}

impl Measured {
    async fn start(directory: &TempDir) -> Measured {
        std::fs::write(directory.path().join("small"), "warm\n".repeat(100)).unwrap();
        let root = format!("{}=/workspace", directory.path().display());
        let server = Server::start(&["--root", &root, "--listen", "127.0.0.1:0"]);
        let client = Client::connect(&server.address()).await.unwrap();
        let session = client.open_session(OpenSession::default()).await.unwrap();
        read(&session, "small", 1).await.unwrap();
        let idle_kib = peak_kib(&server);
        Measured { server, session, idle_kib, since: Instant::now() }
    }

    /// Says what was used, and sees that it is no more than what may be.
    fn check(&self, what: &str, bound_kib: u64) {
        let over = peak_kib(&self.server) - self.idle_kib;
        let (idle, seconds) = (self.idle_kib, self.since.elapsed().as_secs_f32());
        say(&format!("{what}: idle {idle} KiB, at most {over} KiB over it, {seconds:.1} s"));
        assert!(over < bound_kib, "{what} took {over} KiB over idle");
    }
}

fn patient() -> CallOptions {
    CallOptions { deadline: Some(Duration::from_secs(300)), ..CallOptions::default() }
}

async fn read(session: &Session, path: &str, offset: i64) -> Result<toolfs_client::v1::ReadOutcome, String> {
    match session.read(Read::new(path).offset(offset).limit(10).options(patient())).await {
        Ok(reply) => Ok(reply.outcome),
        Err(error) => Err(error.code().map_or_else(|| error.to_string(), |code| code.to_string())),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn windows_of_a_huge_file_cost_the_window() {
    let directory = tempfile::tempdir().unwrap();
    if !has_room(&directory, 4 * GIB) {
        return;
    }
    let block = lines();
    let copies = repeat(&directory.path().join("huge.log"), &block, 2 * GIB);
    let total = i64::try_from(block.lines().count() as u64 * copies).unwrap();
    let mut sparse = File::create(directory.path().join("sparse.log")).unwrap();
    sparse.write_all(b"first\n").unwrap();
    sparse.set_len(2 * GIB).unwrap();

    let measured = Measured::start(&directory).await;
    for offset in [1, total / 2, total - 9] {
        let outcome = read(&measured.session, "huge.log", offset).await.unwrap();
        assert_eq!((outcome.offset, outcome.line_count), (Some(offset), Some(10)));
        assert_eq!(outcome.total_lines, Some(total));
    }
    measured.check("windows of 2 GiB", WINDOW_KIB);
    assert_eq!(read(&measured.session, "sparse.log", 1).await.unwrap_err(), "FS_NOT_TEXT");
    measured.check("a sparse file of 2 GiB", WINDOW_KIB);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_edit_of_a_large_file_costs_the_change() {
    let directory = tempfile::tempdir().unwrap();
    if !has_room(&directory, GIB) {
        return;
    }
    let (block, path) = (lines(), directory.path().join("large.log"));
    repeat(&path, &block, 100 * MIB);
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"the line in the middle\n").unwrap();
    for _ in 0..(100 * MIB).div_ceil(block.len() as u64) {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);

    let measured = Measured::start(&directory).await;
    let before = read(&measured.session, "large.log", 1).await.unwrap();
    let edit = Edit::new("large.log", "the line in the middle", "another line").options(patient());
    let edited = measured.session.edit(edit).await.unwrap().outcome;
    assert_eq!(edited.replacements, Some(1));
    let after = read(&measured.session, "large.log", 1).await.unwrap();
    assert_eq!(after.version, edited.version);
    assert_eq!((after.total_lines, before.size.map(|size| size - 10)), (before.total_lines, after.size));
    measured.check("an edit of one line in 200 MiB", EDIT_KIB);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_million_replacements_cost_no_more_than_one() {
    let directory = tempfile::tempdir().unwrap();
    if !has_room(&directory, GIB) {
        return;
    }
    let line = format!("a word {}\n", "and what stands around it ".repeat(8));
    let copies = repeat(&directory.path().join("large.log"), &line.repeat(1_000), 200 * MIB);

    let measured = Measured::start(&directory).await;
    read(&measured.session, "large.log", 1).await.unwrap();
    let edit = Edit::new("large.log", "a word", "two words").replace_all().options(patient());
    let edited = measured.session.edit(edit).await.unwrap().outcome;
    assert_eq!(edited.replacements, Some(i64::try_from(copies * 1_000).unwrap()));
    assert!(copies > 900, "that is about a million");
    measured.check("a million replacements in 200 MiB", EDIT_KIB);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_edit_of_one_huge_line_costs_the_change() {
    let directory = tempfile::tempdir().unwrap();
    if !has_room(&directory, 2 * GIB) {
        return;
    }
    let (path, block) = (directory.path().join("line"), "x".repeat(1 << 20));
    repeat(&path, &block, 256 * MIB);
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"the middle").unwrap();
    for _ in 0..256 {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);

    let measured = Measured::start(&directory).await;
    read(&measured.session, "line", 1).await.unwrap();
    let edit = Edit::new("line", "the middle", "the new middle").options(patient());
    assert_eq!(measured.session.edit(edit).await.unwrap().outcome.replacements, Some(1));
    measured.check("an edit of a line of 512 MiB", EDIT_KIB);
}
