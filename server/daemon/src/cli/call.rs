//! `toolfs call` and `toolfs session`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const HELP: &str = "\
Examples:
  toolfs call read '{\"file_path\":\"README.md\",\"limit\":20}'
  toolfs call write '{\"file_path\":\"new.txt\",\"content\":\"hello\\n\"}'
  echo '{\"file_path\":\"README.md\"}' | toolfs call read -

  export TOOLFS_SESSION_FILE=/tmp/my-session              a session that the calls of this shell share
  toolfs call read '{\"file_path\":\"README.md\"}'            opens it
  toolfs call edit '{\"file_path\":\"README.md\",\"old_string\":\"a\",\"new_string\":\"b\"}'
  toolfs call --close-session                             ends it, and removes the file

Without a session a call has seen nothing: under the default policy it may read and create, and not change what exists.

JSON goes to the tool as it is: what a refusal says of arguments_json is about it. The names of its fields are those of
the tools (file_path, old_string). `--output json` prints toolfs.v1.ExecuteResponse in the JSON form of Protobuf, whose
names are in lowerCamelCase and whose 64-bit numbers are texts.";

/// Where the server is.
#[derive(Clone, Debug, Default, Args)]
pub struct ServerArgs {
    /// The server [default: that of the session file, else 127.0.0.1:50051] [env: TOOLFS_SERVER]
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    pub server: Option<String>,
}

/// Which session, as its owner names it.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionKeyArgs {
    /// The session, as it was told when it was opened: a secret [env: TOOLFS_SESSION]
    #[arg(long, value_name = "ID", conflicts_with = "session_file")]
    pub session: Option<String>,

    /// The file that keeps the session, for its owner only [env: TOOLFS_SESSION_FILE]
    #[arg(long, value_name = "FILE")]
    pub session_file: Option<PathBuf>,
}

/// What a session that is opened shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct SessionArgs {
    /// Where the session that is opened starts: relative paths go from there [default: the first root]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,

    /// Refuse every mutation in the session that is opened
    #[arg(long)]
    pub read_only: bool,

    /// A label of the session that is opened, for operators. Repeatable
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
}

/// `toolfs call`, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct CallArgs {
    /// Where the server is.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Which session to call in. With a file that is not there, a session is opened and kept in it.
    #[command(flatten)]
    pub key: SessionKeyArgs,

    /// Open a session and call in it. It is kept in the session file, in place of one that was there; without a file
    /// its id goes to standard error
    #[arg(long, conflicts_with = "session")]
    pub open_session: bool,

    /// Close the session after the call, or without one, and remove the session file
    #[arg(long)]
    pub close_session: bool,

    /// What a session that is opened shall be.
    #[command(flatten)]
    pub open: SessionArgs,

    /// Decide and report everything, change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// What to print: the text that a model would see, or the whole answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Output,

    /// How long the call may take [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// The name of the call, a UUID: the same call under the same name takes effect once [default: a fresh one]
    #[arg(long, value_name = "UUID")]
    pub request_id: Option<String>,

    /// The tool: read, write or edit
    #[arg(required_unless_present_any = ["open_session", "close_session"], requires = "arguments")]
    pub tool: Option<String>,

    /// Its arguments, a JSON object; `-` reads them from standard input
    #[arg(value_name = "JSON|-")]
    pub arguments: Option<String>,
}

/// What `toolfs call` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// What a model would see.
    #[default]
    Text,
    /// The whole answer, in the JSON form of Protobuf.
    Json,
}

/// `toolfs session`, as typed.
#[derive(Clone, Debug, Subcommand)]
pub enum SessionCommand {
    /// Open a session and print its id, or keep it in a file.
    Open {
        /// Where the server is.
        #[command(flatten)]
        server: ServerArgs,
        /// Keep it in this file, which must not be there, instead of printing it [env: TOOLFS_SESSION_FILE]
        #[arg(long, value_name = "FILE")]
        session_file: Option<PathBuf>,
        /// What it shall be.
        #[command(flatten)]
        open: SessionArgs,
    },
    /// List the open sessions of this caller: what is public about them.
    List {
        /// Where the server is.
        #[command(flatten)]
        server: ServerArgs,
        /// How to print them.
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Show what is public about a session.
    Show {
        /// Where the server is.
        #[command(flatten)]
        server: ServerArgs,
        /// Which one.
        #[command(flatten)]
        key: SessionKeyArgs,
        /// How to print it.
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Close a session for good, and remove its file.
    Close {
        /// Where the server is.
        #[command(flatten)]
        server: ServerArgs,
        /// Which one.
        #[command(flatten)]
        key: SessionKeyArgs,
    },
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("must be KEY=VALUE".to_owned()),
    }
}
