use clap::Parser as _;

use toolfs_core::limit::LimitName;

use super::*;
use crate::cli::{Cli, Command};

/// A place for state, so that no test depends on a home.
const HOME: (&str, &str) = ("XDG_STATE_HOME", "/state-home");

fn args(arguments: &[&str]) -> ServeArgs {
    match Cli::parse_from(["toolfs", "serve"].iter().chain(arguments)).command {
        Command::Serve(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn resolved(arguments: &[&str], variables: &[(&str, &str)]) -> Resolved {
    let variables: Vec<(&str, &str)> = variables.iter().copied().chain([HOME]).collect();
    Resolved::of(&args(arguments), &Environment::of(&variables))
}

#[track_caller]
fn config(arguments: &[&str], variables: &[(&str, &str)]) -> ServeConfig {
    let arguments: Vec<&str> = ["--root", "."].iter().chain(arguments).copied().collect();
    resolved(&arguments, variables).config.unwrap()
}

#[track_caller]
fn errors(arguments: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let arguments: Vec<&str> = ["--root", "."].iter().chain(arguments).copied().collect();
    resolved(&arguments, variables).config.unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn what_nobody_says_is_the_default() {
    let config = config(&[], &[]);
    assert_eq!(config.listen, [Address::parse(DEFAULT_LISTEN).unwrap()]);
    assert_eq!((config.policy, config.provider), (Policy::Observation, ProviderKind::Local));
    assert!(matches!(config.state, State::Directory(path) if path.starts_with("/state-home/toolfs")));
    assert_eq!(config.limits, Limits::DEFAULT);
    assert_eq!(config.protected, ProtectedPatterns::default());
    assert_eq!(config.session_idle, Some(Duration::from_secs(86_400)));
    assert_eq!(config.request_id_window, Duration::from_secs(3_600));
    assert_eq!(config.drain_limit, Duration::from_secs(10));
    assert_eq!((config.seam, config.gate), (None, None));
    assert_eq!(config.durability, Durability::Full);
}

#[test]
fn a_wrong_value_is_told_with_its_origin_and_what_would_do() {
    let provider = errors(&[], &[("TOOLFS_PROVIDER", "disk")]);
    assert_eq!(
        provider,
        ["TOOLFS_PROVIDER: `disk` is not one of `local`, `memory`, or grpc://HOST:PORT or unix:PATH"]
    );
    let durability = errors(&[], &[("TOOLFS_DURABILITY", "ful")]);
    assert_eq!(
        durability,
        ["TOOLFS_DURABILITY: `durability` was `ful`, must be one of `full`, `data`, `none`"]
    );
    let address = errors(&[], &[("TOOLFS_LISTEN", "0.0.0.0:1")]);
    assert!(
        address[0].starts_with("TOOLFS_LISTEN: `0.0.0.0:1` can be reached from other hosts"),
        "{address:?}"
    );
    let limit = errors(&["--max-window-bytes", "10"], &[]);
    assert!(limit[0].starts_with("--max-window-bytes: `max_window_bytes` was 10"), "{limit:?}");
    let filter = errors(&["--log", "toolfs=loud"], &[]);
    assert!(filter[0].starts_with("--log: `toolfs=loud` is no log filter"), "{filter:?}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let errors = errors(
        &[
            "--policy",
            "maybe",
            "--max-window-bytes",
            "10",
            "--max-message-bytes",
            "10",
            "--default-limit-lines",
            "9999",
        ],
        &[
            ("TOOLFS_POLICI", "none"),
            ("TOOLFS_LISTEN", "nonsense,0.0.0.0:1,127.0.0.1:1"),
            ("TOOLFS_STATE", "paper"),
        ],
    );
    for says in [
        "did you mean `TOOLFS_POLICY`?",
        "`maybe` is not one of `observation`, `none`",
        "TOOLFS_LISTEN: `nonsense` is no address",
        "`0.0.0.0:1` can be reached",
        "TOOLFS_STATE: `paper` is not `memory`",
        "--max-window-bytes: ",
        "--max-message-bytes: ",
        "--default-limit-lines: ",
    ] {
        assert_eq!(errors.iter().filter(|error| error.contains(says)).count(), 1, "{says}: {errors:#?}");
    }
    assert_eq!(errors.len(), 8, "{errors:#?}");
}

#[test]
fn lists_come_from_repeated_flags_or_one_variable() {
    let variables = [("TOOLFS_ROOT", "/a:/b=/w"), ("TOOLFS_LISTEN", "127.0.0.1:1,unix:/s")];
    let config = resolved(&[], &variables).config.unwrap();
    assert_eq!(config.roots, ["/a", "/b=/w"]);
    assert_eq!(config.listen.len(), 2);

    let config = resolved(&["--root", ".", "--listen", "unix:/t"], &variables).config.unwrap();
    assert_eq!(config.roots, ["."]);
    assert_eq!(config.listen, [Address::Unix("/t".into())]);
}

#[test]
fn nothing_to_serve_says_what_to_add() {
    let errors = resolved(&[], &[]).config.unwrap_err();
    assert!(matches!(errors[..], [ConfigError::NoRoot]), "{errors:?}");
    assert!(errors[0].to_string().contains("--root"));
}

#[test]
fn a_lower_maximum_of_lines_lowers_the_default_too() {
    let limits = config(&["--max-limit-lines", "50"], &[]).limits;
    assert_eq!((limits.default_limit_lines, limits.max_limit_lines), (50, 50));
    let limits = config(&["--max-limit-lines", "50", "--default-limit-lines", "20"], &[]).limits;
    assert_eq!((limits.default_limit_lines, limits.max_limit_lines), (20, 50));
}

#[test]
fn every_limit_is_heard() {
    for name in LimitName::ALL {
        let setting = Setting::Limit(name).definition();
        // Within the rules between limits.
        let is_small =
            [LimitName::DefaultLimitLines, LimitName::MaxLimitLines, LimitName::MaxLineChars].contains(&name);
        let value = if is_small {
            1_000
        } else if name == LimitName::MaxContentBytes {
            1 << 20
        } else {
            100 << 20
        };
        let flag = format!("--{}={value}", setting.flag);
        assert_eq!(config(&[&flag], &[]).limits.value(name), Some(value), "{flag}");
    }
}

#[test]
fn protection_can_be_replaced_and_switched_off() {
    let names = |arguments: &[&str], variables: &[(&str, &str)]| {
        config(arguments, variables).protected.names().to_vec()
    };
    assert_eq!(names(&[], &[]), [".git"]);
    assert_eq!(names(&["--protect", ".svn", "--protect", ".git"], &[]), [".svn", ".git"]);
    assert_eq!(names(&["--protect-nothing"], &[]), Vec::<String>::new());
    assert_eq!(names(&[], &[("TOOLFS_PROTECT", ".svn:.git")]), [".svn", ".git"]);
    assert_eq!(names(&[], &[("TOOLFS_PROTECT", ":")]), Vec::<String>::new());
    assert_eq!(names(&["--protect", ".hg"], &[("TOOLFS_PROTECT", ":")]), [".hg"]);
}

#[test]
fn another_process_is_named_by_its_address() {
    let provider = |text: &str| resolved(&["--provider", text], &[]).config.map(|config| config.provider);
    for (text, address) in [
        ("grpc://files:50052", "files:50052"),
        ("http://127.0.0.1:1/", "127.0.0.1:1"),
        ("grpc://[::1]:1", "[::1]:1"),
        ("unix:/run/seam.sock", "unix:/run/seam.sock"),
        ("unix:///run/seam.sock", "unix:/run/seam.sock"),
    ] {
        assert_eq!(provider(text).unwrap(), ProviderKind::Remote(address.into()), "{text}");
    }
    for text in [
        "grpc://files",
        "grpc://files:0",
        "https://files:1",
        "files:1",
        "unix:",
        "grpc://me:secret@files:1",
        "",
    ] {
        let errors = provider(text).unwrap_err();
        let told = errors[0].to_string();
        assert!(told.starts_with("--provider: `") && told.contains("grpc://HOST:PORT"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
    let gate = config(&["--policy", "unix:/run/gate.sock"], &[]);
    assert_eq!(gate.policy, Policy::Remote("unix:/run/gate.sock".into()));
    let both = errors(&["--provider", "grpc://files:1"], &[]);
    assert_eq!(both, ["--root: a provider in another process has its own roots: leave them out"]);
}

#[test]
fn seam_and_gate_have_addresses_of_their_own() {
    let fine = config(&["--serve-seam", "127.0.0.1:1", "--serve-gate", "unix:/run/gate.sock"], &[]);
    assert_eq!(fine.seam, Some(Address::parse("127.0.0.1:1").unwrap()));
    assert_eq!(fine.gate, Some(Address::Unix("/run/gate.sock".into())));
    for (arguments, says) in [
        (&["--serve-seam", "127.0.0.1:50051"][..], "the seam needs an address of its own"),
        (&["--listen", "unix:/s", "--serve-gate", "unix:/./s"], "the gate needs an address of its own"),
        (
            &["--serve-seam", "127.0.0.1:1", "--serve-gate", "127.0.0.1:1"],
            "the gate needs an address of its own",
        ),
        (&["--serve-seam", "0.0.0.0:1"], "--serve-seam: `0.0.0.0:1` can be reached from other hosts"),
        (&["--serve-gate", "gate"], "--serve-gate: `gate` is no address"),
        (&["--serve-gate", "127.0.0.1:1", "--policy", "none"], "no gate to serve"),
    ] {
        let errors = errors(arguments, &[]);
        assert!(errors.len() == 1 && errors[0].contains(says), "{arguments:?}: {errors:?}");
    }
    let remote = config(&["--serve-seam", "0.0.0.0:1", "--allow-remote"], &[]);
    assert!(remote.seam.is_some());
}

#[test]
fn state_is_a_path_or_memory_and_follows_the_provider_by_default() {
    let state = |arguments: &[&str]| config(arguments, &[]).state;
    assert_eq!(state(&["--state", "memory"]), State::Memory);
    assert_eq!(state(&["--state", "../memory"]), State::Directory("../memory".into()));
    let memory = resolved(&["--root", "/w", "--provider", "memory"], &[]);
    assert_eq!(memory.config.unwrap().state, State::Memory);
    assert_eq!(memory.chosen.value(Setting::State).unwrap().to_string(), "memory");
    for text in ["paper", "redis://me:secret@host/0"] {
        let errors = errors(&["--state", text], &[]);
        assert!(errors[0].contains("is not `memory`") && !errors[0].contains("secret"), "{errors:?}");
    }
    let homeless = ServeConfig::resolve(&args(&["--root", "."]), &Environment::default()).unwrap_err();
    assert!(matches!(homeless[..], [ConfigError::NoStatePlace]), "{homeless:?}");
}

#[test]
fn state_inside_a_root_is_refused_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let state = directory.path().join("state");
    let arguments = ["--root", root, "--state", state.to_str().unwrap()];
    let errors = resolved(&arguments, &[]).config.unwrap_err();
    let told = errors[0].to_string();
    assert!(told.contains(root) && told.contains("/state`") && told.contains("--state memory"), "{told}");
    // A tree in memory is not on this disk.
    resolved(&["--root", root, "--state", state.to_str().unwrap(), "--provider", "memory"], &[])
        .config
        .unwrap();
}

#[test]
fn servers_take_turns_where_it_is_said_or_in_the_home_of_the_user_and_never_inside_a_root() {
    let runtime = |arguments: &[&str]| config(arguments, &[]).runtime.unwrap();
    let usual = Runtime { path: "/state-home/toolfs/runtime".into(), is_named: false };
    assert_eq!(runtime(&[]), usual);
    for named in ["/run/x", "../x"] {
        let expected = Runtime { path: named.into(), is_named: true };
        assert_eq!(runtime(&["--runtime-dir", named]), expected);
    }
    let around = resolved(&["--root", "/", "--state", "memory"], &[]).config.unwrap();
    assert_eq!(around.runtime, None, "the root holds the usual place");
    let memory = resolved(&["--root", "/w", "--provider", "memory"], &[]).config.unwrap();
    assert_eq!(memory.runtime, None);
    let homeless = args(&["--root", ".", "--state", "memory"]);
    assert_eq!(ServeConfig::resolve(&homeless, &Environment::default()).unwrap().runtime, None);

    for (text, says) in [("x", "the path of a directory"), ("unix://x", "is not"), ("./run", "--runtime-dir")]
    {
        let errors = errors(&["--runtime-dir", text], &[]);
        assert!(errors.len() == 1 && errors[0].contains(says), "{text}: {errors:?}");
    }
}
