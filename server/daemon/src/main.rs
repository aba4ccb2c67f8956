//! The `toolfs` command. Everything it does is in the library, so that tests reach it.

use std::process::ExitCode;

use clap::Parser as _;
use toolfs_server::cli::{Cli, Command};
use toolfs_server::env::Environment;
use toolfs_server::{call, serve};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::of_this_process();
    match cli.command {
        Command::Serve(arguments) => serve::main(arguments, &environment),
        Command::Call(arguments) => call::main(arguments, &environment),
    }
}
