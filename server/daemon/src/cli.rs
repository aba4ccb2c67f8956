//! The command line as typed. What it means is decided in [`crate::config`], together with the environment.

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Serves the filesystem tools of language-model agents (read, write, edit) over gRPC.
///
/// An agent never destroys what it has not seen: a write or an edit lands only on the content that the agent last
/// observed, lands whole or not at all, and every refusal says what to do next.
#[derive(Clone, Debug, Parser)]
#[command(name = "toolfs", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  toolfs serve --root .                                  serve this directory to agents on this host
  toolfs call read '{\"file_path\":\"README.md\"}'           one tool call, printed as a model would see it

Exit codes: 0 done; 1 failed; 2 wrong usage or configuration; 3 cannot start; 4 the tool refused the call;
5 calls were cut, at the drain limit or by a second signal.";

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve directories to agents.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeArgs>),
    /// Make one tool call to a running server and print what a model would see.
    #[command(after_help = CALL_HELP)]
    Call(CallArgs),
}

const SERVE_HELP: &str = "\
Examples:
  toolfs serve --root .
  toolfs serve --root /srv/project=/workspace --listen unix:/run/user/1000/toolfs.sock
  toolfs serve --root . --policy none --durability data

Flags beat the environment variables that their help names, which beat defaults. The server prints a line when it is
ready, and the next commands to try. SIGTERM or SIGINT drains it; a second signal ends it at once.

Without authentication all callers who reach the server are one identity. TCP addresses beyond loopback need
--allow-remote; a Unix socket is for its owner only.";

const CALL_HELP: &str = "\
Examples:
  toolfs call read '{\"file_path\":\"README.md\",\"limit\":20}'
  toolfs call write '{\"file_path\":\"new.txt\",\"content\":\"hello\\n\"}'
  echo '{\"file_path\":\"README.md\"}' | toolfs call read -

Without --session the call has seen nothing: under the default policy it may read and create. Open a session with
toolfs.v1.SessionService/OpenSession to change what exists.";

/// `toolfs serve`, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// A directory to serve, and the absolute path under which agents see it (default: its real path). Repeatable;
    /// nested roots are fine. With --provider memory: the name of a tree [env: TOOLFS_ROOT, separated by `:`]
    #[arg(long = "root", value_name = "DIR[=NAME]")]
    pub roots: Vec<String>,

    /// Where to listen. Repeatable [default: 127.0.0.1:50051] [env: TOOLFS_LISTEN, separated by `,`]
    #[arg(long, value_name = "IP:PORT|unix:PATH")]
    pub listen: Vec<String>,

    /// Allow addresses that other hosts can reach. Nothing authenticates callers there: only behind something that does
    #[arg(long)]
    pub allow_remote: bool,

    /// What decides whether a mutation may land: `observation` (only on what the session saw) or `none` [default:
    /// observation] [env: TOOLFS_POLICY]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,

    /// Where files are: `local` (this disk) or `memory` (scratch, gone at the end) [default: local] [env:
    /// TOOLFS_PROVIDER]
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<String>,

    /// Where sessions and observations are kept: `memory` [default: memory] [env: TOOLFS_STATE]
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,

    /// What a success survives: `full` (a power cut), `data` (a power cut, but for the directory entry), `none` (a
    /// crash of the server) [default: full] [env: TOOLFS_DURABILITY]
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<String>,

    /// A name that no mutation may touch, with all below it, at any depth. Repeatable; given once it replaces the default
    /// [default: .git]
    #[arg(long = "protect", value_name = "NAME")]
    pub protect: Vec<String>,

    /// Protect no names at all
    #[arg(long, conflicts_with = "protect")]
    pub protect_nothing: bool,

    /// End a session that was not used for so many seconds; 0: never [default: 86400]
    #[arg(long, value_name = "SECONDS")]
    pub session_idle_s: Option<u64>,

    /// How long calls in flight may go on after SIGTERM, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub drain_limit_s: Option<u64>,

    /// Limits, as GetCapabilities announces them.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The limits, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Lines of a read that names no limit [default: 2000]
    #[arg(long, value_name = "LINES")]
    pub default_limit_lines: Option<u64>,
    /// Lines of one read: a larger limit is read as this [default: 2000]
    #[arg(long, value_name = "LINES")]
    pub max_limit_lines: Option<u64>,
    /// Bytes of line text in one read [default: 51200]
    #[arg(long, value_name = "BYTES")]
    pub max_window_bytes: Option<u64>,
    /// Characters of a line before it is cut [default: 2000]
    #[arg(long, value_name = "CHARS")]
    pub max_line_chars: Option<u64>,
    /// Bytes of content in a write [default: 16777216]
    #[arg(long, value_name = "BYTES")]
    pub max_content_bytes: Option<u64>,
    /// Bytes of a file after an edit [default: no limit]
    #[arg(long, value_name = "BYTES")]
    pub max_file_bytes: Option<u64>,
    /// Bytes of old and new content together, beyond which a diff is left out [default: 4194304]
    #[arg(long, value_name = "BYTES")]
    pub max_diff_bytes: Option<u64>,
    /// Bytes of one gRPC message [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub max_message_bytes: Option<u64>,
    /// Sessions that are open at once [default: 100000]
    #[arg(long, value_name = "COUNT")]
    pub max_sessions: Option<u64>,
}

/// Logging, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// What to log to standard error: a level, or a filter as in RUST_LOG [default: info] [env: RUST_LOG, TOOLFS_LOG]
    #[arg(long = "log", value_name = "FILTER")]
    pub filter: Option<String>,
    /// How log lines look [default: text] [env: TOOLFS_LOG_FORMAT]
    #[arg(long = "log-format", value_name = "FORMAT")]
    pub format: Option<LogFormat>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `toolfs call`, as typed.
#[derive(Clone, Debug, Args)]
pub struct CallArgs {
    /// The server [default: 127.0.0.1:50051] [env: TOOLFS_SERVER]
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    pub server: Option<String>,

    /// The session to call in, as OpenSession returned it [env: TOOLFS_SESSION]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Decide and report everything, change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// The tool: read, write or edit
    pub tool: String,

    /// Its arguments, a JSON object; `-` reads them from standard input
    #[arg(value_name = "JSON|-")]
    pub arguments: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_variable_is_named_in_the_help() {
        let mut command = Cli::command();
        let help: String = ["serve", "call"]
            .map(|name| command.find_subcommand_mut(name).unwrap().render_long_help().to_string())
            .concat();
        for (variable, _) in crate::env::VARIABLES {
            assert!(help.contains(variable), "{variable}");
        }
    }
}
