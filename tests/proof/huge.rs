//! The promise: a window costs the window and an edit costs the change, in memory, however large the file is.
//!
//! A server of its own for each measure, since the peak of a process never falls. The size of this proof is that of its
//! files, in fortieths. Deliberately absent: time, which the benches of the provider tell.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Builder;
use toolfs_client::{CallOptions, Client, Edit, OpenSession, Read, Session};
use toolfs_core::planted::Fault;

use crate::Promise;
use crate::control::Control;
use crate::server::{Ground, Manner, Server};
use crate::sweep::{Found, Task};

pub(crate) const PROMISE: Promise = Promise {
    name: "huge",
    says: "a window and an edit of a huge file cost no more memory than of a small one",
    full_size: FORTIETHS,
    controls: &[Control::Planted(Fault::EditHoldsTheFile)],
    control_size: 1,
    prove,
};

const FORTIETHS: u64 = 40;
const MIB: u64 = 1 << 20;
/// What is large enough to tell in any size of the proof.
const LEAST_BYTES: u64 = 256 * MIB;

/// What is done with a huge file.
#[derive(Clone, Copy)]
enum Act {
    Window,
    Edit,
    EditAll,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Act::Window => "windows",
            Act::Edit => "an edit",
            Act::EditAll => "replacing all",
        }
    }

    /// How large the file is, and how much more than idle the server may hold at its peak, in KiB.
    fn sizes(self) -> (u64, u64) {
        match self {
            Act::Window => (10 << 30, 16 << 10),
            Act::Edit => (4 << 30, 64 << 10),
            Act::EditAll => (1 << 30, 64 << 10),
        }
    }
}

fn prove(task: &Task) -> Found {
    let mut found = Found::default();
    for act in [Act::Window, Act::Edit, Act::EditAll] {
        let (full, bound_kib) = act.sizes();
        let bytes = (full / FORTIETHS * task.size.min(FORTIETHS)).max(LEAST_BYTES);
        match measure(act, bytes, task.planted()) {
            Ok(Measured::Skipped(reason)) => found.skip(reason),
            Ok(Measured::Over(kib)) => {
                found.cases += 1;
                found.count(&format!("MiB of the file: {}", act.name()), bytes / MIB);
                found.count(&format!("KiB over idle: {}", act.name()), kib);
                if kib > bound_kib {
                    found.violate(format!("{} in {} MiB took {kib} KiB over idle", act.name(), bytes / MIB));
                }
            }
            Err(violation) => {
                found.cases += 1;
                found.violate(format!("{} in {} MiB: {violation}", act.name(), bytes / MIB));
            }
        }
    }
    found
}

enum Measured {
    Skipped(String),
    /// So much more than idle, in KiB.
    Over(u64),
}

fn measure(act: Act, bytes: u64, fault: Option<Fault>) -> Result<Measured, String> {
    let ground = Ground::new();
    let free = rustix::fs::statvfs(ground.root().as_path()).map(|stats| stats.f_bavail * stats.f_frsize);
    let (free, needed) = (free.map_err(|error| error.to_string())?, bytes / 2 * 5);
    if free < needed {
        let (name, free, needed) = (act.name(), free / MIB, needed / MIB);
        return Ok(Measured::Skipped(format!("{name}: {free} MiB are free, it needs {needed}")));
    }
    std::fs::write(ground.root().join("small"), "warm\n".repeat(100)).map_err(|error| error.to_string())?;
    let lines = fill(&ground.root().join("huge"), bytes).map_err(|error| error.to_string())?;
    let server = Server::start(&ground, "socket", Manner { exchange: true, durable: false }, fault)?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let address = format!("unix:{}", server.socket.display());
        let client = Client::connect(&address).await.map_err(|error| error.to_string())?;
        let session = client.open_session(OpenSession::default()).await.map_err(|error| error.to_string())?;
        window(&session, "small", 1, 100).await?;
        let idle = peak_kib(&server)?;
        window(&session, "huge", lines / 2, lines).await?;
        match act {
            Act::Window => {
                for offset in [1, lines - 9] {
                    window(&session, "huge", offset, lines).await?;
                }
            }
            Act::Edit | Act::EditAll => edit(&session, act, lines).await?,
        }
        Ok(Measured::Over(peak_kib(&server)? - idle))
    })
}

/// What each line begins with.
const WORD: &str = "a line of a log";
/// The one line that is edited.
const MIDDLE: &str = "the one in the middle";

/// Writes at least so many bytes of lines, and tells how many lines there are.
fn fill(path: &Path, bytes: u64) -> std::io::Result<i64> {
    let mut block = String::new();
    while block.len() < 4 << 20 {
        let number = block.len();
        block.push_str(&format!(
            "{WORD}, {number:08}, {} and é\n",
            "with some text that says what happened".repeat(5)
        ));
    }
    let (copies, mut file) = (bytes.div_ceil(block.len() as u64), File::create(path)?);
    for copy in 0..copies {
        if copy == copies / 2 {
            writeln!(file, "{MIDDLE}")?;
        }
        file.write_all(block.as_bytes())?;
    }
    let lines = block.lines().count() as u64 * copies + 1;
    Ok(i64::try_from(lines).unwrap())
}

fn patient() -> CallOptions {
    CallOptions { deadline: Some(Duration::from_secs(600)), ..CallOptions::default() }
}

async fn window(session: &Session, path: &str, offset: i64, lines: i64) -> Result<(), String> {
    let read = Read::new(path).offset(offset).limit(10).options(patient());
    let outcome = session.read(read).await.map_err(|error| error.to_string())?.outcome;
    let told = (outcome.offset, outcome.line_count, outcome.total_lines);
    let expected = (Some(offset), Some(10), Some(lines));
    if told == expected {
        Ok(())
    } else {
        Err(format!("the window at {offset} is {told:?}, not {expected:?}"))
    }
}

async fn edit(session: &Session, act: Act, lines: i64) -> Result<(), String> {
    let (edit, expected) = match act {
        Act::EditAll => (Edit::new("huge", WORD, "an edited line").replace_all(), lines - 1),
        Act::Edit | Act::Window => (Edit::new("huge", MIDDLE, "another one in the middle"), 1),
    };
    let outcome = session.edit(edit.options(patient())).await.map_err(|error| error.to_string())?.outcome;
    if outcome.replacements != Some(expected) {
        return Err(format!("it replaced {:?}, not {expected}", outcome.replacements));
    }
    window(session, "huge", lines - 9, lines).await
}

/// The peak of a server's resident memory so far, in KiB.
fn peak_kib(server: &Server) -> Result<u64, String> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
    let status = status.map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("it tells no peak")?;
    line.trim().trim_end_matches(" kB").parse().map_err(|error| format!("{line}: {error}"))
}
