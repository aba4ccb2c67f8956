//! The command line as typed. What it means is decided in [`crate::config`], together with environment and file.
//!
//! The flags of `serve` are those of the table in [`crate::setting`].

mod call;
mod settings;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::call::{CallArgs, Output, ServerArgs, SessionArgs, SessionCommand, SessionKeyArgs};
pub use self::settings::{LimitArgs, ServeArgs};

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
  toolfs tools --format anthropic                        the tools, to be pasted into a request to a model

Exit codes: 0 done; 1 failed; 2 wrong usage or configuration; 3 cannot start; 4 the tool refused the call;
5 calls were cut, at the drain limit or by a second signal.";

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve directories to agents.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeArgs>),
    /// Make one tool call to a running server and print what a model would see.
    #[command(after_help = call::HELP)]
    Call(Box<CallArgs>),
    /// Open, list, show and close the sessions of a running server.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Print the tools' definitions, ready to be given to a model.
    #[command(after_help = TOOLS_HELP)]
    Tools(Box<ToolsArgs>),
    /// Show or check the settings that `serve` would run with.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command.
    Man {
        /// The directory to write them to; without one, the page of `toolfs` itself goes to standard output.
        directory: Option<PathBuf>,
    },
}

const SERVE_HELP: &str = "\
Examples:
  toolfs serve --root .
  toolfs serve --root /srv/project=/workspace --listen unix:/run/user/1000/toolfs.sock
  toolfs serve --root . --policy none --durability data

Flags beat the environment variables that their help names, which beat the configuration file, which beats defaults;
`toolfs config show` tells which won. The server prints a line when it is ready, and the next commands to try. SIGTERM
or SIGINT drains it; a second signal ends it at once.

Without authentication all callers who reach the server are one identity. TCP addresses beyond loopback need
--allow-remote; a Unix socket is for its owner only.

State and configuration never lie inside a root, where agents could change them.";

const TOOLS_HELP: &str = "\
Formats:
  json         name, description, both schemas, section for the system prompt, hints
  anthropic    `tools` of the Messages API
  openai       `tools` of the Responses API
  openai-chat  `tools` of the Chat Completions API, which keeps all but `type` in an object `function`
  gemini       `tools` of the Gemini API: one object with `functionDeclarations`
  mcp          the result of `tools/list` of the Model Context Protocol

The section for the system prompt (json: prompt_section) teaches what a schema cannot: give it to the model too.
Pass the model's arguments on unchanged, as arguments_json of toolfs.v1.JsonCall or to `toolfs call`.";

const COMPLETIONS_HELP: &str = "\
Examples:
  toolfs completions bash > ~/.local/share/bash-completion/completions/toolfs
  toolfs completions zsh > \"${fpath[1]}/_toolfs\"
  toolfs completions fish > ~/.config/fish/completions/toolfs.fish";

/// `toolfs config`, as typed.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print each setting with its value and where that came from.
    Show {
        /// How to print them.
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: ConfigFormat,
        /// What `serve` would be told.
        #[command(flatten)]
        serve: Box<ServeArgs>,
    },
    /// Say `ok`, or everything that is wrong with the settings. Nothing is opened or served.
    Check {
        /// What `serve` would be told.
        #[command(flatten)]
        serve: Box<ServeArgs>,
    },
}

/// How `config show` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// A table for people.
    Text,
    /// A configuration file that says the same, with origins as comments.
    Toml,
    /// For programs.
    Json,
}

/// `toolfs tools`, as typed.
#[derive(Clone, Debug, Args)]
pub struct ToolsArgs {
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub format: ToolFormat,

    /// The strict form of the schemas: all arguments are required, optional ones may be null. The mark that asks the
    /// model's side to keep to it is set where the format has one.
    #[arg(long)]
    pub strict: bool,

    /// Ask this server for its definitions; else they are made here, for the limits below and in the configuration
    #[arg(long, value_name = "HOST:PORT|unix:PATH", conflicts_with = "LimitArgs")]
    pub server: Option<String>,

    /// Limits, which the definitions name.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// What `toolfs tools` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolFormat {
    /// Everything that there is to know of them.
    Json,
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    #[value(name = "openai")]
    OpenAi,
    /// OpenAI's Chat Completions API.
    #[value(name = "openai-chat")]
    OpenAiChat,
    /// Google's Gemini API.
    Gemini,
    /// The Model Context Protocol.
    Mcp,
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
        let help: String = ["serve", "call", "tools"]
            .map(|name| command.find_subcommand_mut(name).unwrap().render_long_help().to_string())
            .concat();
        // The help is wrapped.
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for (variable, _) in crate::env::known() {
            assert!(
                help.contains(&format!("[env: {variable}")) || help.contains(&format!(", {variable}")),
                "{variable}"
            );
        }
    }

    #[test]
    fn every_flag_of_serve_is_one_of_config_show_and_config_check() {
        let flags = |path: &[&str]| -> Vec<String> {
            let mut command = Cli::command();
            command.build();
            let command = path.iter().fold(&command, |command, name| command.find_subcommand(name).unwrap());
            command.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned).collect()
        };
        let serve = flags(&["serve"]);
        for command in ["show", "check"] {
            let flags = flags(&["config", command]);
            assert!(serve.iter().all(|flag| flags.contains(flag)), "{flags:?}");
        }
        let tools = flags(&["tools"]);
        assert!(
            tools.contains(&"max-sessions".to_owned()) && !tools.contains(&"listen".to_owned()),
            "{tools:?}"
        );
    }
}
