//! Settings of the command: where they come from, what is wrong with them.

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::{Server, command};
use crate::support::served::{ended, run, stderr, stdout};

/// A root, and a configuration file beside it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new(config: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        let config = config.replace("ROOT", directory.path().join("root").to_str().unwrap());
        std::fs::write(directory.path().join("config.toml"), config).unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn config(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let config = self.path("config.toml");
        run(command()
            .arg("config")
            .args(arguments)
            .env("TOOLFS_CONFIG", config)
            .envs(variables.iter().copied()))
    }
}

#[test]
fn each_setting_is_shown_with_where_it_came_from() {
    let place = Place::new("roots = [\"ROOT\"]\npolicy = \"none\"\n\n[limits]\nmax_sessions = 7\n");
    let output = place
        .config(&["show", "--format", "json", "--drain-limit-s", "3"], &[("TOOLFS_POLICY", "observation")]);
    ended(&output, 0);
    let shown: Value = serde_json::from_str(stdout(&output)).unwrap();
    let settings = &shown["settings"];
    let file = place.path("config.toml");
    assert_eq!(shown["file"], file.as_str());
    assert_eq!(settings["roots"]["value"][0], place.path("root").as_str());
    assert_eq!(settings["roots"]["origin"], serde_json::json!({"file": file, "line": 1}));
    assert_eq!(settings["policy"]["value"], "observation");
    assert_eq!(settings["policy"]["origin"]["variable"], "TOOLFS_POLICY");
    assert_eq!(settings["limits.max_sessions"]["value"], 7);
    assert_eq!(settings["limits.max_sessions"]["origin"]["line"], 5);
    assert_eq!(settings["drain_limit_s"]["origin"]["flag"], "--drain-limit-s");
    assert_eq!(settings["durability"]["origin"], "default");

    let text = place.config(&["show"], &[]);
    ended(&text, 0);
    assert!(stdout(&text).contains(&format!("{file}:5")), "{}", stdout(&text));
}

#[test]
fn what_is_shown_as_toml_configures_the_same_server() {
    let place = Place::new("roots = [\"ROOT\"]\nlisten = [\"127.0.0.1:1\", \"unix:/s\"]\nprotect = []\n");
    let first = place.config(&["show", "--format", "toml"], &[]);
    ended(&first, 0);
    let copy = place.path("copy.toml");
    std::fs::write(&copy, &first.stdout).unwrap();
    let second = run(command().args(["config", "show", "--format", "toml", "--config", &copy]));
    ended(&second, 0);
    let settings = |output: &Output| -> Vec<String> {
        stdout(output).lines().map(|line| line.split(" # ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(settings(&first), settings(&second));
}

#[test]
fn a_check_says_ok_or_everything_that_is_wrong() {
    let place = Place::new("roots = [\"ROOT\"]\n");
    let output = place.config(&["check"], &[]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "ok\n");

    let place = Place::new(
        "roots = [\"ROOT\"]\npolcy = \"none\"\ndrain_limit_s = \"soon\"\n[limits]\nmax_window_bytes = 5\n",
    );
    let file = place.path("config.toml");
    for arguments in [&["check"][..], &["show"]] {
        let output =
            place.config(&[arguments, &["--listen", "0.0.0.0:1"]].concat(), &[("TOOLFS_POLICI", "none")]);
        ended(&output, 2);
        let told = stderr(&output);
        for says in [
            format!("{file}:2: there is no setting `polcy`: did you mean `policy`?"),
            format!("{file}:3: `drain_limit_s` was the text `soon`, must be a whole number"),
            format!("{file}:5: `max_window_bytes` was 5"),
            "--listen: `0.0.0.0:1` can be reached".to_owned(),
            "TOOLFS_POLICI: there is no such setting: did you mean `TOOLFS_POLICY`?".to_owned(),
        ] {
            assert!(told.contains(&says), "lacks {says}:\n{told}");
        }
        assert_eq!(told.lines().count(), 5, "{told}");
    }
    // The server tells the same, and does not start.
    let output = run(command().args(["serve", "--config", &file]));
    ended(&output, 2);
    assert_eq!(stderr(&output).lines().count(), 3, "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn the_file_at_the_usual_place_is_read_and_flags_beat_it() {
    let place = Place::new("");
    let home = Path::new(&place.path("home")).join("toolfs");
    std::fs::create_dir_all(&home).unwrap();
    let config = format!("roots = [\"{}\"]\nlisten = \"nonsense\"\npolicy = \"none\"\n", place.path("root"));
    std::fs::write(home.join("config.toml"), config).unwrap();
    let server =
        Server::start_with(&["--listen", "127.0.0.1:0"], &[("XDG_CONFIG_HOME", &place.path("home"))]);
    assert!(server.ready[0].contains("policy none"), "{}", server.ready[0]);
}

#[test]
fn a_misspelt_variable_is_no_call_elsewhere() {
    let output = run(command()
        .args(["call", "read", "{}"])
        .env("TOOLFS_SESION", "x")
        .env("TOOLFS_PORT", "tcp://1.2.3.4:5"));
    ended(&output, 2);
    assert_eq!(
        stderr(&output),
        "toolfs: TOOLFS_SESION: there is no such setting: did you mean `TOOLFS_SESSION`?\n"
    );
}

#[test]
fn a_configuration_file_inside_a_root_is_refused() {
    let place = Place::new("");
    let inside = place.path("root/config.toml");
    std::fs::write(&inside, "policy = \"none\"\n").unwrap();
    std::os::unix::fs::symlink(&inside, place.path("link.toml")).unwrap();
    for config in [inside, place.path("link.toml")] {
        let output = run(command().args(["serve", "--root", &place.path("root"), "--config", &config]));
        ended(&output, 2);
        assert!(stderr(&output).contains("the configuration file `"), "{}", stderr(&output));
        assert!(stderr(&output).contains("lies inside the root `") && stderr(&output).contains("--config"));
    }
}
