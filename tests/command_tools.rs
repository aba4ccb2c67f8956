//! What the command prints for others to use: definitions of tools, completions, manual pages.

use serde_json::Value;

use crate::support::process::command;
use crate::support::served::{Served, ended, run, stderr, stdout};

#[test]
fn the_tools_are_told_in_every_format() {
    for (format, name, schema) in [
        ("json", "/0/name", "/0/input_schema"),
        ("anthropic", "/0/name", "/0/input_schema"),
        ("openai", "/0/name", "/0/parameters"),
        ("openai-chat", "/0/function/name", "/0/function/parameters"),
        ("gemini", "/0/functionDeclarations/0/name", "/0/functionDeclarations/0/parameters"),
        ("mcp", "/tools/0/name", "/tools/0/inputSchema"),
    ] {
        for strict in [&[][..], &["--strict"]] {
            let output = run(command().args(["tools", "--format", format]).args(strict));
            ended(&output, 0);
            let tools: Value = serde_json::from_str(stdout(&output)).unwrap();
            assert_eq!(tools.pointer(name).unwrap(), "read", "{format}");
            let properties = tools.pointer(schema).unwrap()["properties"].as_object().unwrap();
            assert!(properties.contains_key("file_path"), "{format}");
        }
    }
}

#[test]
fn definitions_name_the_limits_that_are_configured() {
    let output = run(command().args(["tools", "--max-limit-lines", "123"]));
    ended(&output, 0);
    assert!(stdout(&output).contains("up to 123 lines"), "{}", stdout(&output));
    let output = run(command().arg("tools").env("TOOLFS_MAX_WINDOW_BYTES", "3"));
    ended(&output, 2);
    assert!(
        stderr(&output).contains("TOOLFS_MAX_WINDOW_BYTES: `max_window_bytes` was 3"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_definitions_of_a_server_are_those_that_it_was_told_to_have() {
    let served = Served::start_with(&["--max-limit-lines", "321"]);
    let of_server = run(command().args(["tools", "--server", &served.socket]));
    ended(&of_server, 0);
    let here = run(command().args(["tools", "--max-limit-lines", "321"]));
    assert_eq!(stdout(&of_server), stdout(&here));
    let both = run(command().args(["tools", "--server", &served.socket, "--max-limit-lines", "321"]));
    ended(&both, 2);
}

#[test]
fn shells_and_man_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(command().args(["completions", shell]));
        ended(&output, 0);
        for name in ["serve", "call", "session", "tools", "config", "serve-seam", "open-session"] {
            assert!(stdout(&output).contains(name), "{shell} lacks {name}");
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    ended(&run(command().arg("man").arg(&pages)), 0);
    for page in
        ["toolfs", "toolfs-serve", "toolfs-call", "toolfs-config-show", "toolfs-session-open", "toolfs-man"]
    {
        let text = std::fs::read_to_string(pages.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    let serve = std::fs::read_to_string(pages.join("toolfs-serve.1")).unwrap();
    assert!(serve.contains("TOOLFS_SERVE_SEAM"), "{serve}");
    let whole = run(command().arg("man"));
    ended(&whole, 0);
    assert!(stdout(&whole).contains(".TH toolfs 1"), "{}", stdout(&whole));
}
