//! The programs under test: started when a case needs one more, used by one case at a time, ended with the test.
#![expect(clippy::disallowed_methods, reason = "the directories that are served are made from outside")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::conformance::{Abilities, Ability, Fixture, SECRET, Versions, limits};
use toolfs_provider::{Provider, ProviderExt};
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};

use crate::hand::Hand;

/// How long a program may take until it is ready.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// The rules by which programs name contents: those of this repository, and what every language has at hand.
const RULES: [Versions; 2] = [Version::of, sha256];

fn sha256(content: &[u8]) -> Version {
    let digits: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    Version::parse(&format!("sha256-{digits}")).expect("71 printable characters are a version")
}

/// The programs that are idle.
#[derive(Debug)]
pub(crate) struct Peers {
    command: String,
    idle: Mutex<Vec<Served>>,
}

impl Peers {
    /// Programs of this command line; none is started yet.
    pub(crate) fn of(command: String) -> Peers {
        Peers { command, idle: Mutex::new(Vec::new()) }
    }

    /// A program that serves an empty directory to nobody else.
    pub(crate) async fn lease(&self) -> Served {
        let idle = self.idle.lock().unwrap().pop();
        match idle {
            Some(served) => served,
            None => Served::start(&self.command).await,
        }
    }

    /// Takes a program back, and empties its directory. One that records operations ends instead: it remembers their
    /// names for longer than a case, and the next one uses them again.
    pub(crate) fn give_back(&self, served: Served) {
        if served.operation_ids {
            return;
        }
        served.empty_root();
        self.idle.lock().unwrap().push(served);
    }
}

/// A program and the directory that it serves. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    _program: Program,
    base: TempDir,
    versions: Versions,
    operation_ids: bool,
}

impl Served {
    async fn start(command: &str) -> Served {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (root_in(&base), outside_in(&base));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), SECRET).unwrap();
        let mut served = Served {
            _program: Program::start(command, &root, &socket_in(&base)),
            base,
            versions: RULES[0],
            operation_ids: false,
        };
        served.ask().await;
        served
    }

    /// Asks the program for what the suite has to know of it.
    async fn ask(&mut self) {
        let (provider, signal) = (self.provider(), AbortSignal::new());
        let capabilities = provider.capabilities(&signal).await.expect("a provider tells what it can do");
        self.operation_ids = capabilities.operation_ids;

        fs::write(root_in(&self.base).join("probe"), b"probe").unwrap();
        let target = provider.resolve_path(&signal, "probe").await.expect("a file is found");
        let stat = provider.stat(&signal, &target.key, true).await.expect("a file has a version");
        let version = stat.version.expect("the version was wanted");
        let rule = RULES.into_iter().find(|rule| rule(b"probe") == version);
        self.versions =
            rule.expect("a version is `b3-` and the BLAKE3, or `sha256-` and the SHA-256, in hex");
        self.empty_root();
    }

    fn provider(&self) -> RemoteProvider {
        let address = format!("unix:{}", socket_in(&self.base).display());
        RemoteProvider::connect(&address, RemoteOptions::DEFAULT).expect("the address is one")
    }

    /// What the suite can ask of this program.
    pub(crate) fn abilities(&self) -> Abilities {
        let uncarried =
            "the messages of the seam tell which line ends there are and why a diff is left out, no numbers";
        let abilities = Abilities::all().without(Ability::UncarriedFacts, uncarried);
        if self.operation_ids {
            return abilities;
        }
        abilities.without(Ability::OperationIds, "the provider says that it records none")
    }

    /// The place for one case.
    pub(crate) fn fixture(&self) -> Fixture {
        let root = root_in(&self.base);
        let hand = Box::new(Hand::of(root.clone()));
        let provider: std::sync::Arc<dyn Provider> = std::sync::Arc::new(self.provider());
        Fixture::new(provider, hand, self.abilities(), root.as_os_str().as_bytes())
            .with_versions(self.versions)
    }

    fn empty_root(&self) {
        for entry in fs::read_dir(root_in(&self.base)).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => fs::remove_dir_all(entry.path()).unwrap(),
                false => fs::remove_file(entry.path()).unwrap(),
            }
        }
    }

    /// Whether the directory beside the root is as it was.
    pub(crate) fn outside_is_untouched(&self) -> bool {
        let outside = outside_in(&self.base);
        let names = fs::read_dir(&outside).unwrap().count();
        names == 1 && fs::read(outside.join("secret.txt")).is_ok_and(|content| content == SECRET)
    }
}

/// The real path: the temporary directory may be a link.
fn base_of(base: &TempDir) -> PathBuf {
    base.path().canonicalize().unwrap()
}

fn root_in(base: &TempDir) -> PathBuf {
    base_of(base).join("root")
}

fn outside_in(base: &TempDir) -> PathBuf {
    base_of(base).join("root-evil")
}

fn socket_in(base: &TempDir) -> PathBuf {
    base_of(base).join("seam.sock")
}

/// A process that is ended when it is dropped. What it prints besides goes to the standard error of the test.
#[derive(Debug)]
struct Program(Child);

impl Program {
    fn start(command: &str, root: &Path, socket: &Path) -> Program {
        let limits = limits();
        let max_file_bytes = limits.max_file_bytes.expect("cases run with a limit");
        // A shell takes the command apart, as whoever wrote it expects.
        let mut program = Command::new("sh");
        program
            .arg("-c")
            .arg(format!("exec {command} \"$@\""))
            .arg("sh")
            .arg(format!("--max-file-bytes={max_file_bytes}"))
            .arg(format!("--max-read-bytes={}", limits.max_read_bytes))
            .arg(format!("--max-diff-bytes={}", limits.max_diff_bytes))
            .arg(root)
            .arg(format!("unix:{}", socket.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = program.spawn().expect("there is a shell");
        let output = child.stdout.take().expect("it is piped");
        let program = Program(child);
        wait_until_ready(output, command);
        program
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the line that says so. What comes after it is read and dropped, so that the program never blocks on it.
fn wait_until_ready(output: std::process::ChildStdout, command: &str) {
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.starts_with("ready") {
                let _ = ready.send(());
            }
        }
    });
    let end = is_ready.recv_timeout(START_PATIENCE);
    end.unwrap_or_else(|_| panic!("`{command}` printed no line that starts with `ready`"));
}
