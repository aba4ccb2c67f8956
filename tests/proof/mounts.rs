//! Mounts that nobody else sees, and that go with the process that made them.
//!
//! A proof that wants them runs in a mount namespace of its own: root's, or one in a user namespace, in which a user
//! without rights may mount, too, though no disk images.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that says that this process is in such a namespace: which.
const INSIDE: &str = "TOOLFS_PROOF_MOUNTS";

/// Who may mount here, and what leads there.
const WAYS: [(&str, &[&str]); 2] = [
    ("root", &["--mount", "--propagation", "private"]),
    ("user", &["--user", "--map-root-user", "--mount", "--propagation", "private"]),
];

/// Runs this program once more in a namespace of its own, unless it is in one, or there is none to be had.
pub(crate) fn enter(arguments: &[String]) {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    for (who, flags) in WAYS {
        let tried = Command::new("unshare").args(flags).arg("true").stdin(Stdio::null()).output();
        if tried.is_ok_and(|output| output.status.success()) {
            let own = std::env::current_exe().unwrap();
            let error = Command::new("unshare").args(flags).arg(own).args(arguments).env(INSIDE, who).exec();
            panic!("it could be run a moment ago: {error}");
        }
    }
}

/// Why nothing can be mounted, if it cannot.
pub(crate) fn missing() -> Option<String> {
    std::env::var_os(INSIDE).is_none().then(|| "there is no mount namespace to be had".to_owned())
}

/// Why no image of a disk can be mounted, if it cannot.
pub(crate) fn images_missing() -> Option<String> {
    let is_root = std::env::var_os(INSIDE).is_some_and(|who| who == "root");
    (!is_root).then(|| "only root mounts images of disks".to_owned())
}

/// Something that is mounted, until this is dropped.
#[derive(Debug)]
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Runs `mount` with these arguments, the last of which is the place.
    ///
    /// # Errors
    /// What it said.
    pub(crate) fn new(arguments: &[&str], place: &Path) -> Result<Mounted, String> {
        run(Command::new("mount").args(arguments).arg(place))?;
        Ok(Mounted(place.to_owned()))
    }

    /// Mounts it anew with other options.
    ///
    /// # Errors
    /// What `mount` said.
    pub(crate) fn change(&self, options: &str) -> Result<(), String> {
        run(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // At once for everybody who looks, and at last when the last file there is closed.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// Runs a command to its end.
///
/// # Errors
/// What it said when it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
