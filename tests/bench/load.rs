//! Many sessions at once: 1,000 of them and 64 calls in flight for a minute, on the real command.
//!
//! `make bench` runs it on the optimized command. It prints calls, latencies and the server's memory, and fails when a
//! call failed that should not, or when memory went on growing after the first quarter.
//! Deliberately absent: a comparison with other servers, and any judgement of the speed.
//!
//! `TOOLFS_LOAD_SECONDS` (60), `TOOLFS_LOAD_SESSIONS` (1,000) and `TOOLFS_LOAD_IN_FLIGHT` (64) change its size;
//! `TOOLFS_BIN` names the command.

#![expect(clippy::unwrap_used, reason = "a bench ends when something is not as it must be")]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench makes its files, takes the time and runs its callers itself"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use toolfs_client::{Client, Edit, Error, OpenSession, Read, Session, Write};

/// How much the memory of the last quarter may exceed that of the second, in KiB and in percent: the larger counts.
const GROWTH_KIB: u64 = 8 << 10;
const GROWTH_PERCENT: u64 = 5;

/// Lines of the file that each session works on.
const LINES: usize = 100;

/// How large the run is.
struct Size {
    seconds: u64,
    sessions: usize,
    in_flight: usize,
}

/// What the calls came to.
#[derive(Default)]
struct Tally {
    micros: Vec<u32>,
    failures: Vec<String>,
}

/// A server that ends with the bench.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(root: &Path, state: &Path, socket: &Path) -> Server {
        let binary = std::env::var("TOOLFS_BIN").expect("TOOLFS_BIN names the command: use `make bench`");
        let mut command = Command::new(binary);
        // The bench's own variables are no settings of a server.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("TOOLFS_")) {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(["serve", "--root"])
            .arg(root)
            .arg("--state")
            .arg(state)
            .arg("--listen")
            .arg(format!("unix:{}", socket.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut ready).unwrap();
        assert!(ready.starts_with("toolfs ready"), "the server did not come up: {ready}");
        std::thread::spawn(move || output.lines().count());
        Server { child, address: format!("unix:{}", socket.display()) }
    }

    /// Its resident memory in KiB.
    fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> ExitCode {
    // Cargo also runs benches as tests, to see that they work: that is what the compile-only check is for.
    if std::env::args().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let size = Size {
        seconds: number("TOOLFS_LOAD_SECONDS", 60),
        sessions: usize::try_from(number("TOOLFS_LOAD_SESSIONS", 1_000)).unwrap(),
        in_flight: usize::try_from(number("TOOLFS_LOAD_IN_FLIGHT", 64)).unwrap(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(run(&size))
}

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, it is `{text}`")),
        Err(_) => default,
    }
}

async fn run(size: &Size) -> ExitCode {
    let directory = tempfile::tempdir().unwrap();
    let [root, state] = ["workspace", "state"].map(|name| directory.path().join(name));
    std::fs::create_dir(&root).unwrap();
    let text: String =
        (1..=LINES).map(|line| format!("line {line} of a file that a session edits: 0\n")).collect();
    for session in 0..size.sessions {
        std::fs::write(root.join(format!("{session}.txt")), &text).unwrap();
    }
    let server = Server::start(&root, &state, &directory.path().join("socket"));

    // A connection carries 256 calls at once; one for every 16 callers spreads them.
    let mut clients = Vec::new();
    for _ in 0..size.in_flight.div_ceil(16) {
        clients.push(Client::connect(&server.address).await.unwrap());
    }
    let mut sessions = Vec::with_capacity(size.sessions);
    for index in 0..size.sessions {
        sessions.push(clients[index % clients.len()].open_session(OpenSession::default()).await.unwrap());
    }

    let sessions = Arc::new(sessions);
    let next = Arc::new(AtomicUsize::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let callers: Vec<_> = (0..size.in_flight)
        .map(|_| tokio::spawn(calls(Arc::clone(&sessions), Arc::clone(&next), Arc::clone(&over))))
        .collect();
    let mut memory = Vec::new();
    while began.elapsed() < Duration::from_secs(size.seconds) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        memory.push(server.memory_kib());
    }
    over.store(true, Ordering::Relaxed);
    let mut tally = Tally::default();
    for caller in callers {
        let part = caller.await.unwrap();
        tally.micros.extend(part.micros);
        tally.failures.extend(part.failures);
    }
    report(size, tally, &memory, began.elapsed())
}

/// One caller: takes the next session, reads its file, changes it twice and reads it deep, until time is over.
async fn calls(sessions: Arc<Vec<Session>>, next: Arc<AtomicUsize>, over: Arc<AtomicBool>) -> Tally {
    let mut tally = Tally::default();
    while !over.load(Ordering::Relaxed) {
        let turn = next.fetch_add(1, Ordering::Relaxed);
        let index = turn % sessions.len();
        let (session, path) = (&sessions[index], format!("{index}.txt"));
        // Two callers may meet in one session when there are few: its edits then wait for each other.
        let line = turn / sessions.len() % LINES + 1;
        tally.note(session.read(Read::new(&path))).await;
        let old = format!("line {line} of a file that a session edits:");
        tally.note(session.edit(Edit::new(&path, &old, format!("{old} +")))).await;
        tally.note(session.read(Read::new(&path).offset(90).limit(10))).await;
        if turn.is_multiple_of(8) {
            let fresh = format!("{index}-{}.txt", turn % 16);
            let read = session.read(Read::new(&fresh)).await;
            // Absent the first time; either way the session has looked, and may write.
            drop(read);
            tally.note(session.write(Write::new(fresh, format!("written in turn {turn}\n")))).await;
        }
    }
    tally
}

impl Tally {
    async fn note<T>(&mut self, call: impl Future<Output = Result<T, Error>>) {
        let began = Instant::now();
        let ended = call.await;
        self.micros.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
        if let Err(error) = ended {
            self.failures.push(error.to_string());
        }
    }
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn report(size: &Size, mut tally: Tally, memory: &[u64], elapsed: Duration) -> ExitCode {
    tally.micros.sort_unstable();
    let count = tally.micros.len();
    let at = |percent: usize| tally.micros[(count * percent / 100).min(count - 1)];
    let quarter = memory.len() / 4;
    let median = |part: &[u64]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[part.len() / 2]
    };
    let (early, late) = (median(&memory[quarter..quarter * 2]), median(&memory[quarter * 3..]));
    let allowed = early + GROWTH_KIB.max(early * GROWTH_PERCENT / 100);
    let is_flat = late <= allowed;
    let seconds = elapsed.as_secs_f64();

    let mut text =
        format!("load: {} sessions, {} calls in flight, {seconds:.1} s\n", size.sessions, size.in_flight);
    let _ = writeln!(text, "  calls            {count} ({:.0} a second)", count as f64 / seconds);
    let _ = writeln!(text, "  failed           {}", tally.failures.len());
    let _ = writeln!(text, "  latency          p50 {} us, p99 {} us, max {} us", at(50), at(99), at(100));
    let _ = writeln!(
        text,
        "  memory           {early} KiB in the second quarter, {late} KiB in the last ({})",
        if is_flat { "flat" } else { "GROWING" }
    );
    for failure in tally.failures.iter().take(5) {
        let _ = writeln!(text, "  failure          {failure}");
    }
    print!("{text}");
    let figures = serde_json::json!({
        "bench": "load", "sessions": size.sessions, "in_flight": size.in_flight, "seconds": seconds,
        "calls": count, "failed": tally.failures.len(), "p50_us": at(50), "p99_us": at(99),
        "memory_kib": {"second_quarter": early, "last_quarter": late},
    });
    println!("{figures}");
    if is_flat && tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
