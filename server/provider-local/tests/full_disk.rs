//! A disk that is full: the old content stays, nothing is left behind, and the error says why.
//!
//! The disk is a tmpfs of 1 MiB in a mount namespace of its own, which an unprivileged user may make on most
//! systems. Where that is forbidden the test says that it is skipped.
#![expect(clippy::disallowed_methods, reason = "the test fills a disk of its own")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::{Code, Published};
use toolfs_core::guard::WriteGuard;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::WriteTextRequest;
use toolfs_provider::{Provider, ProviderExt};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

const WHERE: &str = "TOOLFS_TEST_FULL_DISK";
const NO_MOUNT: i32 = 77;

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

#[test]
fn a_full_disk_keeps_the_old_content() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size=1m none \"$0\" || exit {NO_MOUNT}; exec \"$@\"");
    let run = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "on_the_full_disk", "--ignored"])
        .env(WHERE, directory.path())
        .output();
    match run {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
        }
        Ok(output) if output.status.code() != Some(NO_MOUNT) && !output.stderr.starts_with(b"unshare:") => {
            panic!("{output:?}");
        }
        Ok(_) | Err(_) => {
            let _ = writeln!(std::io::stderr(), "skipped: no mount namespace for a disk to fill");
        }
    }
}

#[test]
#[ignore = "run by the test above, where its disk is"]
fn on_the_full_disk() {
    let Some(directory) = std::env::var_os(WHERE) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(fill_and_write(Path::new(&directory)));
}

async fn fill_and_write(directory: &Path) {
    let old = "A".repeat(4 << 10);
    fs::write(directory.join("f"), &old).unwrap();
    let mut filler = fs::File::create(directory.join("filler")).unwrap();
    while filler.write_all(&[0; 4 << 10]).is_ok() {}
    let before = names(directory);
    let provider =
        LocalProvider::open(&[RootSpec::new(directory)], LocalOptions::new(Arc::new(Standing))).unwrap();
    for (path, guard) in [("f", WriteGuard::Unconditional), ("new/deep/f", WriteGuard::CreateIfAbsent)] {
        let abort = AbortSignal::new();
        let target = provider.resolve_path(&abort, path).await.unwrap().key;
        let content = Bytes::from(vec![b'B'; 64 << 10]);
        let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
        let error = provider.write_text(&abort, request).await.unwrap_err();
        assert_eq!((error.code(), error.published()), (Code::NoSpace, Published::No), "{path}");
        assert_eq!(fs::read_to_string(directory.join("f")).unwrap(), old);
        assert_eq!(names(directory), before);
    }
}

fn names(directory: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
