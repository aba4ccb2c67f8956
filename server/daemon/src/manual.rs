//! `toolfs completions` and `toolfs man`: what shells and `man` know about the command, made from its own arguments.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::{exit, output};

/// Prints the completion script of a shell.
pub fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolfs", &mut script);
    ExitCode::from(print(&script))
}

/// Writes the pages of all commands into a directory, or the page of the whole to standard output.
pub fn man(directory: Option<&Path>) -> ExitCode {
    let done = match directory {
        Some(directory) => write_pages(directory)
            .map(|()| exit::SUCCESS)
            .map_err(|error| format!("{}: {error}", directory.display())),
        None => page(&Cli::command()).map(|page| print(&page)).map_err(|error| error.to_string()),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        output::complain(&format!("cannot write the manual pages: {error}"));
        exit::FAILURE
    }))
}

/// Prints; returns the exit code.
fn print(text: &[u8]) -> u8 {
    match output::bytes(text) {
        Ok(()) => exit::SUCCESS,
        Err(error) => error.complain(),
    }
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

#[expect(clippy::disallowed_methods, reason = "the directory is made where the caller wants the pages")]
fn write_pages(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)
}
