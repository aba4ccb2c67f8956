//! Memory: reading costs the window, not the file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use toolfs_client::{CallOptions, Client, OpenSession, Read, Session};

use crate::support::process::Server;
use crate::support::say;

const GIB: u64 = 1 << 30;
/// How much more than idle a server may use at its peak, in KiB.
const BOUND_KIB: u64 = 64 << 10;

/// The peak of a process's resident memory so far, in KiB.
fn peak_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Writes at least 2 GiB of numbered lines and says how many there are.
fn generate(path: &Path) -> i64 {
    let mut block = String::from("first\n");
    while block.len() < 4 << 20 {
        let number = block.len();
        block.push_str(&format!("{number:08} some text as logs have it, with a word in the middle and é\n"));
    }
    let mut file = File::create(path).unwrap();
    let copies = (2 * GIB).div_ceil(block.len() as u64);
    for _ in 0..copies {
        file.write_all(block.as_bytes()).unwrap();
    }
    i64::try_from(block.lines().count() as u64 * copies).unwrap()
}

async fn read(session: &Session, path: &str, offset: i64) -> Result<toolfs_client::v1::ReadOutcome, String> {
    let options = CallOptions { deadline: Some(Duration::from_secs(300)), ..CallOptions::default() };
    let read = Read::new(path).offset(offset).limit(10).options(options);
    match session.read(read).await {
        Ok(reply) => Ok(reply.outcome),
        Err(error) => Err(error.code().map_or_else(|| error.to_string(), |code| code.to_string())),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn windows_of_a_huge_file_cost_the_window() {
    let directory = tempfile::tempdir().unwrap();
    let free = rustix::fs::statvfs(directory.path()).map(|stats| stats.f_bavail * stats.f_frsize).unwrap();
    if free < 4 * GIB {
        return say(&format!("skipped: {} MiB are free, it needs 4 GiB", free >> 20));
    }
    let total = generate(&directory.path().join("huge.log"));
    let mut sparse = File::create(directory.path().join("sparse.log")).unwrap();
    sparse.write_all(b"first\n").unwrap();
    sparse.set_len(2 * GIB).unwrap();
    std::fs::write(directory.path().join("small"), "warm\n".repeat(100)).unwrap();

    let root = format!("{}=/workspace", directory.path().display());
    let server = Server::start(&["--root", &root, "--listen", "127.0.0.1:0"]);
    let client = Client::connect(&server.address()).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    read(&session, "small", 1).await.unwrap();
    let idle = peak_kib(&server);

    for offset in [1, total / 2, total - 9] {
        let outcome = read(&session, "huge.log", offset).await.unwrap();
        assert_eq!((outcome.offset, outcome.line_count), (Some(offset), Some(10)));
        assert_eq!(outcome.total_lines, Some(total));
        let over = peak_kib(&server) - idle;
        assert!(over < BOUND_KIB, "reading at line {offset} took {over} KiB over idle");
    }
    assert_eq!(read(&session, "sparse.log", 1).await.unwrap_err(), "FS_NOT_TEXT");
    let over = peak_kib(&server) - idle;
    assert!(over < BOUND_KIB, "{over} KiB over idle");
    say(&format!("idle {idle} KiB, at most {over} KiB over it"));
}
