//! The `toolfs` command. Everything it does is in the library, so that tests reach it.

use std::process::ExitCode;

use clap::Parser as _;
use toolfs_server::cli::{Cli, Command};
use toolfs_server::env::Environment;
use toolfs_server::{call, manual, serve, session, show, tools};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::of_this_process();
    match cli.command {
        Command::Serve(arguments) => serve::main(&arguments, &environment),
        Command::Call(arguments) => call::main(&arguments, &environment),
        Command::Session(command) => session::main(&command, &environment),
        Command::Tools(arguments) => tools::main(&arguments, &environment),
        Command::Config(command) => show::main(&command, &environment),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { directory } => manual::man(directory.as_deref()),
    }
}
