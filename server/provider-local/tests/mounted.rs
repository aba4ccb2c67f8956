//! What is mounted inside a root: single files, which can only be rewritten in place, and directories, which are a part
//! of the root.
//!
//! The mounts are made in a mount namespace of their own, which an unprivileged user may make on most systems. Where
//! that is forbidden the test says that it is skipped.
#![expect(clippy::disallowed_methods, reason = "the tests look at what they mounted from outside")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::{Code, FsError, Published};
use toolfs_core::guard::WriteGuard;
use toolfs_core::notice::NoticeKind;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::report::WriteReport;
use toolfs_provider::request::WriteTextRequest;
use toolfs_provider::{Provider, ProviderExt};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

const CASES: &str = "8 passed";

#[test]
fn what_is_mounted_in_a_root_is_a_part_of_it() {
    let run = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs none /mnt || exit 77; exec \"$@\"",
            "sh",
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "in_the_namespace"])
        .output();
    match run {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains(CASES), "{output:?}");
        }
        Ok(output) if output.status.code() != Some(77) && !output.stderr.starts_with(b"unshare:") => {
            panic!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(_) | Err(_) => {
            let _ = writeln!(std::io::stderr(), "skipped: no mount namespace for files to mount");
        }
    }
}

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

/// A root, and beside it what is mounted in it; unmounted when it is dropped.
struct Bench {
    root: PathBuf,
    outside: PathBuf,
    mounts: Vec<PathBuf>,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let (root, outside) = (base.join("root"), base.join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        Bench { root, outside, mounts: Vec::new(), directory }
    }

    fn mount(&mut self, arguments: &[&str], from: &Path, onto: &Path) {
        let status = Command::new("mount").args(arguments).arg(from).arg(onto).status().unwrap();
        assert!(status.success(), "{arguments:?}");
        self.mounts.push(onto.to_owned());
    }

    /// Mounts the file `outside/NAME` on `root/NAME`.
    fn mount_file(&mut self, name: &str, content: &str) {
        let (from, onto) = (self.outside.join(name), self.root.join(name));
        fs::write(&from, content).unwrap();
        fs::write(&onto, "beneath the mount").unwrap();
        self.mount(&["--bind"], &from, &onto);
    }

    fn make_read_only(&self, path: &Path) {
        let status = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(path).status().unwrap();
        assert!(status.success());
    }

    fn copies(&self) -> usize {
        fs::read_dir(self.directory.path().join("recovery/copies")).unwrap().count()
    }

    fn provider(&self, change: impl FnOnce(&mut LocalOptions)) -> LocalProvider {
        let mut options = LocalOptions::new(Arc::new(Standing));
        options.recovery = Some(self.directory.path().join("recovery"));
        change(&mut options);
        LocalProvider::open(&[RootSpec::new(&self.root)], options).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            let _ = Command::new("umount").arg("-l").arg(mount).status();
        }
    }
}

fn write(
    provider: &LocalProvider,
    path: &str,
    content: &str,
    guard: WriteGuard,
) -> Result<WriteReport, FsError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let abort = AbortSignal::new();
        let target = provider.resolve_path(&abort, path).await?.key;
        let content = Bytes::copy_from_slice(content.as_bytes());
        let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
        provider.write_text(&abort, request).await
    })
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn kinds(report: &WriteReport) -> Vec<NoticeKind> {
    report.notices.iter().map(|notice| notice.kind).collect()
}

mod in_the_namespace {
    use super::*;

    /// With both lookups, and both ways to replace.
    fn each_way(check: impl Fn(fn(&mut LocalOptions))) {
        check(|_| {});
        check(|options| options.force_walk = true);
        check(|options| options.force_plain_rename = true);
        check(|options| options.force_named_temporaries = true);
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_mounted_file_is_rewritten_and_nothing_is_left_beside_it() {
        each_way(|change| {
            let mut bench = Bench::new();
            bench.mount_file("f", "old");
            let provider = bench.provider(change);
            let inode = fs::metadata(bench.root.join("f")).unwrap().ino();
            let guard = WriteGuard::ReplaceIfVersion(Version::of(b"old"));
            let report = write(&provider, "f", "a new content", guard).unwrap();
            assert_eq!(kinds(&report), [NoticeKind::NotAtomic]);
            for path in [bench.root.join("f"), bench.outside.join("f")] {
                assert_eq!(fs::read_to_string(&path).unwrap(), "a new content");
                assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
            }
            let stale = WriteGuard::ReplaceIfVersion(Version::of(b"old"));
            assert_eq!(write(&provider, "f", "x", stale).unwrap_err().code(), Code::StaleVersion);
            assert_eq!((names(&bench.root), names(&bench.outside)), (vec!["f".into()], vec!["f".into()]));
            assert_eq!(bench.copies(), 0);
        });
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_mounted_file_behind_a_link_is_rewritten() {
        let mut bench = Bench::new();
        bench.mount_file("f", "old");
        symlink("f", bench.root.join("l")).unwrap();
        let report = write(&bench.provider(|_| {}), "l", "new", WriteGuard::Unconditional).unwrap();
        assert_eq!(kinds(&report), [NoticeKind::NotAtomic]);
        assert!(fs::symlink_metadata(bench.root.join("l")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(bench.outside.join("f")).unwrap(), "new");
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_mounted_file_is_refused_where_no_copy_can_be_kept() {
        each_way(|change| {
            let mut bench = Bench::new();
            bench.mount_file("f", "old");
            let provider = bench.provider(|options| {
                change(options);
                options.recovery = None;
            });
            let error = write(&provider, "f", "new", WriteGuard::Unconditional).unwrap_err();
            assert_eq!((error.code(), error.published()), (Code::PermissionDenied, Published::No));
            assert!(error.message().contains("no recovery directory"), "{error:?}");
            assert_eq!(fs::read_to_string(bench.outside.join("f")).unwrap(), "old");
            assert_eq!(names(&bench.root), ["f"]);
        });
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_file_that_is_mounted_read_only_is_refused() {
        each_way(|change| {
            let mut bench = Bench::new();
            bench.mount_file("f", "old");
            bench.make_read_only(&bench.root.join("f"));
            let error = write(&bench.provider(change), "f", "new", WriteGuard::Unconditional).unwrap_err();
            assert_eq!((error.code(), error.published()), (Code::PermissionDenied, Published::No));
            assert_eq!(fs::read_to_string(bench.outside.join("f")).unwrap(), "old");
            assert_eq!((names(&bench.root), bench.copies()), (vec!["f".into()], 0));
        });
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_directory_that_is_mounted_read_only_takes_nothing() {
        each_way(|change| {
            let mut bench = Bench::new();
            fs::write(bench.outside.join("f"), "old").unwrap();
            fs::create_dir(bench.root.join("d")).unwrap();
            bench.mount(&["--bind"], &bench.outside.clone(), &bench.root.join("d"));
            bench.make_read_only(&bench.root.join("d"));
            let provider = bench.provider(change);
            for path in ["d/f", "d/new", "d/new/deep"] {
                let error = write(&provider, path, "new", WriteGuard::Unconditional).unwrap_err();
                assert_eq!(
                    (error.code(), error.published()),
                    (Code::PermissionDenied, Published::No),
                    "{path}"
                );
                assert!(error.message().contains("read-only"), "{error:?}");
            }
            assert_eq!(fs::read_to_string(bench.outside.join("f")).unwrap(), "old");
            assert_eq!(names(&bench.outside), ["f"]);
        });
    }

    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_writable_file_on_a_read_only_directory_is_rewritten() {
        each_way(|change| {
            let mut bench = Bench::new();
            fs::create_dir(bench.root.join("d")).unwrap();
            fs::write(bench.root.join("d/f"), "beneath").unwrap();
            let directory = bench.root.join("d");
            bench.mount(&["--bind"], &directory, &directory);
            bench.make_read_only(&directory);
            let writable = bench.outside.join("f");
            fs::write(&writable, "old").unwrap();
            bench.mount(&["--bind"], &writable, &directory.join("f"));
            let report = write(&bench.provider(change), "d/f", "new", WriteGuard::Unconditional).unwrap();
            assert_eq!(kinds(&report), [NoticeKind::NotAtomic]);
            assert_eq!(fs::read_to_string(&writable).unwrap(), "new");
        });
    }

    /// A mounted directory is a part of the root: what is in it is replaced there, and `..` leads back into the root.
    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn a_mounted_directory_is_a_part_of_the_root() {
        each_way(|change| {
            let mut bench = Bench::new();
            fs::write(bench.outside.join("f"), "old").unwrap();
            fs::write(bench.outside.join("secret"), "secret").unwrap();
            fs::create_dir(bench.outside.join("shared")).unwrap();
            fs::write(bench.outside.join("shared/f"), "old").unwrap();
            symlink("../secret", bench.outside.join("shared/up")).unwrap();
            fs::create_dir(bench.root.join("d")).unwrap();
            bench.mount(&["--bind"], &bench.outside.join("shared"), &bench.root.join("d"));
            let provider = bench.provider(change);
            let report = write(&provider, "d/f", "new", WriteGuard::Unconditional).unwrap();
            assert_eq!(kinds(&report), []);
            assert_eq!(fs::read_to_string(bench.outside.join("shared/f")).unwrap(), "new");
            write(&provider, "d/../beside", "x", WriteGuard::CreateIfAbsent).unwrap();
            write(&provider, "d/up", "x", WriteGuard::CreateIfAbsent).unwrap();
            assert_eq!(names(&bench.root), ["beside", "d", "secret"]);
            assert_eq!(fs::read_to_string(bench.outside.join("secret")).unwrap(), "secret");
            assert_eq!(names(&bench.outside), ["f", "secret", "shared"]);
        });
    }

    /// Another file system in the root: temporary files are made where the target is, so nothing has to move.
    #[test]
    #[ignore = "run by the test above, in its namespace"]
    fn another_file_system_in_a_root_is_a_part_of_it() {
        each_way(|change| {
            let mut bench = Bench::new();
            fs::create_dir(bench.root.join("d")).unwrap();
            bench.mount(&["-t", "tmpfs"], Path::new("none"), &bench.root.join("d"));
            let provider = bench.provider(change);
            write(&provider, "d/e/f", "one", WriteGuard::CreateIfAbsent).unwrap();
            let report = write(&provider, "d/e/f", "two", WriteGuard::Unconditional).unwrap();
            assert_eq!(kinds(&report), []);
            assert_eq!(fs::read_to_string(bench.root.join("d/e/f")).unwrap(), "two");
            assert_eq!(names(&bench.root.join("d/e")), ["f"]);
        });
    }
}
