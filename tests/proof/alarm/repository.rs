//! A repository with two commits of every file, for checkouts there and back.
//!
//! Whoever starts a process hands it all that is open for the moment until it is another program. A file that looks as
//! if somebody wrote to it for that reason is none that was promised to be free, so calls and starts keep apart.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

static STARTS: RwLock<()> = RwLock::new(());

/// While this lives, no process is started here.
pub(super) fn no_process_starts() -> RwLockReadGuard<'static, ()> {
    STARTS.read().unwrap_or_else(PoisonError::into_inner)
}

const MAIN: &str = "main";
const OTHER: &str = "other";

/// A repository.
#[derive(Debug)]
pub(super) struct Repository {
    directory: PathBuf,
}

impl Repository {
    /// Makes one of what is in a directory, as its first commit; `change` makes the second one.
    ///
    /// # Errors
    /// What git said.
    pub(super) fn new(directory: &Path, change: impl FnOnce()) -> Result<Repository, String> {
        let repository = Repository { directory: directory.to_owned() };
        repository.done(&["init", "--quiet", "--initial-branch", MAIN])?;
        repository.commit()?;
        repository.done(&["checkout", "--quiet", "-b", OTHER])?;
        change();
        repository.commit()?;
        repository.done(&["checkout", "--quiet", "--force", MAIN])?;
        Ok(repository)
    }

    fn commit(&self) -> Result<(), String> {
        self.done(&["add", "--all"])?;
        self.done(&["commit", "--quiet", "--message", "one"])
    }

    /// # Errors
    /// What git said.
    pub(super) fn check_out_and_back(&self) -> Result<(), String> {
        self.check_out_other()?;
        self.done(&["checkout", "--quiet", "--force", MAIN])
    }

    /// # Errors
    /// What git said.
    pub(super) fn check_out_other(&self) -> Result<(), String> {
        self.done(&["checkout", "--quiet", "--force", OTHER])
    }

    /// Puts what was changed aside and takes it out again, if there is something.
    ///
    /// # Errors
    /// What git said.
    pub(super) fn stash_and_pop(&self) -> Result<(), String> {
        self.done(&["stash", "--quiet"])?;
        if self.git(&["rev-parse", "--quiet", "--verify", "refs/stash"])?.status.success() {
            self.done(&["stash", "pop", "--quiet"])?;
        }
        Ok(())
    }

    fn done(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self.git(arguments)?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    fn git(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new("git");
        // Nobody's settings but these, and nothing that goes on in the background.
        for setting in [
            "user.name=proof",
            "user.email=proof@localhost",
            "core.autocrlf=false",
            "core.fsmonitor=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "commit.gpgsign=false",
            "advice.detachedHead=false",
        ] {
            command.args(["-c", setting]);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        command.current_dir(&self.directory).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = {
            let _nobody_else = STARTS.write().unwrap_or_else(PoisonError::into_inner);
            command.spawn()
        };
        let told = |error: std::io::Error| format!("git {arguments:?}: {error}");
        started.map_err(told)?.wait_with_output().map_err(told)
    }
}

/// Why there are no repositories, if there are none.
pub(super) fn missing() -> Option<String> {
    let asked = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    (!asked.is_ok_and(|output| output.status.success())).then(|| "checkouts: there is no `git`".to_owned())
}
