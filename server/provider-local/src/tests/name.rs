//! Names and paths at the edge of what a file system takes: bytes, lengths, depths, slashes and dots, links of all
//! spellings.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use toolfs_core::error::{Code, ErrorKind, FsError};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::Target;
use toolfs_provider::request::ResolveRequest;

use super::*;

async fn resolve(bench: &Bench, path: &[u8]) -> Result<Target> {
    let request = ResolveRequest { cwd: None, path: path.to_vec() };
    bench.provider.resolve(&AbortSignal::new(), &request).await
}

async fn write(bench: &Bench, path: &[u8], content: &str) -> Result<WriteReport> {
    let target = resolve(bench, path).await?.key;
    let content = Bytes::copy_from_slice(content.as_bytes());
    let guard = WriteGuard::Unconditional;
    let request = WriteTextRequest { target, content, guard, want_diff: false, operation_id: None };
    bench.provider.write_text(&AbortSignal::new(), request).await
}

async fn edit(bench: &Bench, path: &[u8], old: &str, new: &str) -> Result<EditReport> {
    let target = resolve(bench, path).await?.key;
    let edit = EditRequest::new(old.to_owned(), new.to_owned(), false).unwrap();
    let request = EditTextRequest {
        target,
        edit,
        guard: EditGuard::Unconditional,
        want_diff: false,
        operation_id: None,
    };
    bench.provider.edit_text(&AbortSignal::new(), request).await
}

async fn read(bench: &Bench, path: &[u8]) -> Result<String> {
    let key = resolve(bench, path).await?.key;
    let (content, _) = bench.provider.read_whole(&AbortSignal::new(), &key).await?;
    Ok(String::from_utf8(content.to_vec()).unwrap())
}

#[tokio::test]
async fn any_bytes_are_a_name_to_make_read_edit_and_list() {
    let longest = [b'n'; 255];
    let names: [&[u8]; 14] = [
        b"caf\xe9",
        b"\xff\xfe\x80",
        b"two\nlines",
        b"\n",
        b"tab\tand\rreturn",
        b"\x01\x1b[31m\x7f",
        b" ",
        b"trailing ",
        b"...",
        b"-rf",
        br"back\slash",
        "\u{202f}\u{200f}\u{1f980}".as_bytes(),
        b"~",
        &longest,
    ];
    let bench = Bench::new();
    for directory in [&b""[..], b"d\xe9\n/"] {
        for name in names {
            let path = [directory, name].concat();
            write(&bench, &path, "one").await.unwrap();
            write(&bench, &path, "two").await.unwrap();
            edit(&bench, &path, "two", "three").await.unwrap();
            assert_eq!(read(&bench, &path).await.unwrap(), "three", "{path:?}");
            let on_disk = fs::read_to_string(bench.root.join(OsStr::from_bytes(&path))).unwrap();
            assert_eq!(on_disk, "three", "{path:?}");
            let target = resolve(&bench, &path).await.unwrap();
            assert!(!target.display_path.chars().any(char::is_control), "{:?}", target.display_path);
        }
        let at = bench.root.join(OsStr::from_bytes(directory));
        assert_eq!(fs::read_dir(at).unwrap().count(), names.len(), "nothing else is left");
    }
}

/// What each spelling of a path means, for a file, a directory, links to both, and nothing.
#[tokio::test]
async fn slashes_and_dots_at_the_end_ask_for_a_directory() {
    let bench = Bench::new();
    bench.put("f", "x");
    bench.put("d/g", "y");
    symlink("f", bench.root.join("to-f")).unwrap();
    symlink("d", bench.root.join("to-d")).unwrap();
    symlink("f/", bench.root.join("to-f-slash")).unwrap();
    symlink("d/.", bench.root.join("to-d-dot")).unwrap();
    symlink("f/.", bench.root.join("to-f-dot")).unwrap();
    let root = bench.root.to_str().unwrap().to_owned();
    for (path, place) in [
        ("f", Ok("/f")),
        ("./f", Ok("/f")),
        (".//.///f", Ok("/f")),
        ("f/", Err(Code::NotDirectory)),
        ("f/.", Err(Code::NotDirectory)),
        ("f/..", Err(Code::NotDirectory)),
        ("f/../f", Err(Code::NotDirectory)),
        ("f/g", Err(Code::NotDirectory)),
        ("d/", Ok("/d")),
        ("d/.", Ok("/d")),
        ("d//", Ok("/d")),
        ("d/..", Ok("")),
        ("d/../", Ok("")),
        ("d/../f", Ok("/f")),
        ("d/./g", Ok("/d/g")),
        ("to-f", Ok("/f")),
        ("to-f/", Err(Code::NotDirectory)),
        ("to-f/.", Err(Code::NotDirectory)),
        ("to-d", Ok("/d")),
        ("to-d/", Ok("/d")),
        ("to-d/g", Ok("/d/g")),
        ("to-d/..", Ok("")),
        ("to-f-slash", Err(Code::NotDirectory)),
        ("to-f-dot", Err(Code::NotDirectory)),
        ("to-d-dot", Ok("/d")),
        ("to-d-dot/g", Ok("/d/g")),
        ("missing", Ok("/missing")),
        ("missing/", Ok("/missing")),
        ("missing/.", Ok("/missing")),
        ("missing/..", Err(Code::NotFound)),
        ("missing/../f", Err(Code::NotFound)),
        (".", Ok("")),
        ("..", Err(Code::SandboxDenied)),
        ("d/../..", Err(Code::SandboxDenied)),
    ] {
        let found = resolve(&bench, path.as_bytes()).await;
        let found = found.map(|target| target.display_path).map_err(|error| error.code());
        assert_eq!(found, place.map(|place| format!("{root}{place}")), "{path}");
    }
    // Whatever asks for a directory is none to write to.
    for (path, code) in [
        ("f/", Code::NotDirectory),
        ("f/.", Code::NotDirectory),
        ("d/", Code::NotRegularFile),
        ("d/.", Code::NotRegularFile),
        ("to-d", Code::NotRegularFile),
        (".", Code::NotRegularFile),
        ("d/..", Code::NotRegularFile),
        ("missing/", Code::NotRegularFile),
        ("missing/.", Code::NotRegularFile),
        ("missing/..", Code::NotFound),
        ("f/new", Code::NotDirectory),
        ("to-f/new", Code::NotDirectory),
    ] {
        let error = write(&bench, path.as_bytes(), "no").await.unwrap_err();
        assert_eq!(error.code(), code, "{path}: {error:?}");
    }
    assert_eq!((bench.get("f").as_deref(), bench.get("d/g").as_deref()), (Some("x"), Some("y")));
    assert_eq!(bench.names().len(), 7);
}

/// A link's text may be spelled in many ways. Those that stay in the root lead on, the others are refused as asked.
#[tokio::test]
async fn links_of_every_spelling_stay_in_the_root_or_are_refused() {
    let bench = Bench::new();
    bench.put("d/f", "mine");
    let base = bench.root.parent().unwrap().to_owned();
    fs::create_dir(base.join("outside")).unwrap();
    fs::write(base.join("outside/f"), "secret").unwrap();
    fs::create_dir(base.join("root-evil")).unwrap();
    fs::write(base.join("root-evil/f"), "secret").unwrap();
    // Beside the root, a way back into it that the root's own path does not show.
    symlink(&bench.root, base.join("way-in")).unwrap();
    let (root, base) = (bench.root.to_str().unwrap(), base.to_str().unwrap());
    let own = std::process::id();
    let cases = [
        (format!("{root}/d/f"), true),
        (format!("{root}//d/./f"), true),
        (format!("{root}/d/../d/f"), true),
        (format!("/.{root}/d/f"), true),
        (format!("//{}/d/f", &root[1..]), true),
        ("./d//f".to_owned(), true),
        ("d/../d/f".to_owned(), true),
        (format!("{root}/../outside/f"), false),
        (format!("{root}/d/../../outside/f"), false),
        (format!("{root}-evil/f"), false),
        (format!("{root}/../root/d/f"), false),
        (format!("{base}/way-in/d/f"), false),
        (format!("{base}/outside/f"), false),
        ("../outside/f".to_owned(), false),
        ("d/../../outside/f".to_owned(), false),
        ("../root/d/f".to_owned(), false),
        ("..".to_owned(), false),
        ("/".to_owned(), false),
        ("/proc/self/cwd/f".to_owned(), false),
        (format!("/proc/self/root{base}/outside/f"), false),
        (format!("/proc/self/root{root}/d/f"), false),
        (format!("/proc/{own}/root{base}/outside/f"), false),
        ("/proc/self/fd/0".to_owned(), false),
        ("/dev/stdin".to_owned(), false),
        ("/dev/zero".to_owned(), false),
        (format!("{base}/outside/missing"), false),
        ("../missing".to_owned(), false),
    ];
    for (text, stays) in cases {
        let link = bench.root.join("l");
        symlink(&text, &link).unwrap();
        symlink("l", bench.root.join("hop")).unwrap();
        for path in ["l", "hop"] {
            if stays {
                assert_eq!(read(&bench, path.as_bytes()).await.unwrap(), "mine", "{text}");
                continue;
            }
            for refused in [
                read(&bench, path.as_bytes()).await.err(),
                write(&bench, path.as_bytes(), "broken in").await.err(),
                edit(&bench, path.as_bytes(), "s", "S").await.err(),
                resolve(&bench, format!("{path}/x").as_bytes()).await.err(),
            ] {
                let error = refused.unwrap();
                assert_eq!(error.code(), Code::SandboxDenied, "{text} {error:?}");
                let named = error.path().unwrap();
                assert!(named == path || named == format!("{path}/x"), "{text} {error:?}");
                assert!(!error.message().contains("outside/"), "{error:?}");
            }
        }
        fs::remove_file(&link).unwrap();
        fs::remove_file(bench.root.join("hop")).unwrap();
    }
    for secret in ["outside/f", "root-evil/f"] {
        assert_eq!(fs::read_to_string(format!("{base}/{secret}")).unwrap(), "secret");
    }
    assert_eq!(fs::read_dir(format!("{base}/outside")).unwrap().count(), 1);
    assert!(!Path::new(&format!("{base}/missing")).exists());
}

/// The key was made while its directories were plain. What they became leads out by way of a place in the root, which
/// is not what was asked for.
#[tokio::test]
async fn a_refusal_names_the_target_and_not_the_places_on_the_way_out() {
    let bench = Bench::new();
    bench.put("d/f", "x");
    let shown = resolve(&bench, b"d/f").await.unwrap().display_path;
    let key = bench.key("d/f").await;
    fs::remove_dir_all(bench.root.join("d")).unwrap();
    symlink("between", bench.root.join("d")).unwrap();
    symlink("/etc", bench.root.join("between")).unwrap();
    let abort = AbortSignal::new();
    let request = WriteTextRequest {
        target: key.clone(),
        content: Bytes::from_static(b"new"),
        guard: WriteGuard::Unconditional,
        want_diff: false,
        operation_id: None,
    };
    let errors: [FsError; 4] = [
        bench.provider.read_lines(&abort, &key, WINDOW).await.unwrap_err(),
        bench.provider.stat(&abort, &key, false).await.unwrap_err(),
        bench.provider.list_dir(&abort, &key).await.err().unwrap(),
        bench.provider.write_text(&abort, request).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.code(), error.path()), (Code::SandboxDenied, Some(shown.as_str())));
        assert!(!error.message().contains("between"), "{error:?}");
    }
}

#[tokio::test]
async fn lstat_looks_at_the_link_wherever_that_leads() {
    let bench = Bench::new();
    symlink("/etc/passwd", bench.root.join("out")).unwrap();
    symlink("missing", bench.root.join("dangling")).unwrap();
    symlink("/etc", bench.root.join("way-out")).unwrap();
    let lstat = async |path: &str| {
        let request = ResolveRequest { cwd: None, path: path.into() };
        bench.provider.lstat(&AbortSignal::new(), &request).await
    };
    for path in ["out", "dangling", "way-out"] {
        assert_eq!(lstat(path).await.unwrap().kind, toolfs_core::target::FileKind::Symlink, "{path}");
    }
    for path in ["way-out/passwd", "way-out/", "way-out/.", "../x"] {
        assert_eq!(lstat(path).await.unwrap_err().code(), Code::SandboxDenied, "{path}");
    }
}

/// Makes directories one in the other, by handles, for no path is long enough; and a link to the last one.
fn dig(bench: &Bench, from: &str, name: &str, depth: usize) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = openat(CWD, bench.root.join(from), flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&here, name, Mode::RWXU).unwrap();
        here = openat(here.as_fd(), name, flags, Mode::empty()).unwrap();
    }
    let _ = symlinkat("f", &here, "end");
    fs::write(format!("/proc/self/fd/{}/f", std::os::fd::AsRawFd::as_raw_fd(&here)), "deep").unwrap();
}

/// A file may lie deeper than any path says. Down to the longest path that the kernel takes it is served, and below
/// that it is refused for its length, whatever shortcut a link makes.
#[tokio::test]
async fn what_lies_deeper_than_the_longest_path_is_refused_for_its_length() {
    let bench = Bench::new();
    let name = "n".repeat(250);
    // 16 names of 250 bytes are 4,015 bytes with their slashes, and 17 are 4,266.
    dig(&bench, "", &name, 17);
    let at = |depth: usize| vec![name.clone(); depth].join("/");
    let deepest = format!("{}/g", at(16));
    write(&bench, deepest.as_bytes(), "one").await.unwrap();
    edit(&bench, deepest.as_bytes(), "one", "two").await.unwrap();
    assert_eq!(read(&bench, deepest.as_bytes()).await.unwrap(), "two");
    assert_eq!(
        write(&bench, format!("{}/{}", at(16), "m".repeat(200)).as_bytes(), "x").await.unwrap_err().code(),
        Code::InvalidArgument
    );
    symlink(at(8), bench.root.join("half")).unwrap();
    let beyond = format!("half/{}/f", at(9));
    for error in [
        resolve(&bench, beyond.as_bytes()).await.err(),
        read(&bench, beyond.as_bytes()).await.err(),
        write(&bench, beyond.as_bytes(), "x").await.err(),
        resolve(&bench, format!("half/{}/new/deep", at(9)).as_bytes()).await.err(),
        resolve(&bench, format!("half/{}/end", at(9)).as_bytes()).await.err(),
    ] {
        let error = error.unwrap();
        let ErrorKind::InvalidArgument { field, actual, expected, .. } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!((field.as_str(), expected.as_str()), ("path", "at most 4095 bytes"), "{actual}");
    }
    let back = format!("half/{}/../g", at(9));
    assert_eq!(read(&bench, back.as_bytes()).await.unwrap(), "two", "what it is, not how it was spelled");
}

/// An inode outside of the root has a name in it: that name is a part of the root, and the other one keeps its content.
#[tokio::test]
async fn a_hard_link_to_outside_is_replaced_and_the_outside_name_keeps_its_content() {
    let bench = Bench::new();
    let outside = bench.root.parent().unwrap().join("outside");
    fs::write(&outside, "theirs").unwrap();
    fs::hard_link(&outside, bench.root.join("f")).unwrap();
    let before = fs::metadata(&outside).unwrap().ino();
    edit(&bench, b"f", "theirs", "ours").await.unwrap();
    write(&bench, b"f", "ours again").await.unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs");
    assert_eq!(fs::metadata(&outside).unwrap().ino(), before);
}

#[tokio::test]
async fn a_nul_byte_is_in_no_path_and_in_no_key() {
    let bench = Bench::new();
    bench.put("f", "x");
    for path in [&b"f\0"[..], b"\0f", b"f\0/../g"] {
        assert_eq!(resolve(&bench, path).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let key = [bench.key("f").await.as_bytes(), b"\0x"].concat();
    let found = bench.provider.stat(&AbortSignal::new(), &TargetKey::new(key), false).await;
    assert_eq!(found.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(bench.names(), ["f"]);
}
