//! `toolfs tools`: the tools' definitions in the forms that models' programming interfaces take.
//!
//! One file for each form, each a pure function of the definitions.

mod anthropic;
mod definition;
mod gemini;
mod json;
mod mcp;
mod openai;
mod schema;

use std::process::ExitCode;

use serde::Serialize;
use toolfs_client::Client;

use self::definition::{Definition, DefinitionError};
use crate::cli::{ToolFormat, ToolsArgs};
use crate::config;
use crate::env::Environment;
use crate::{call, exit, output};

/// Runs the command.
pub fn main(args: &ToolsArgs, environment: &Environment) -> ExitCode {
    let definitions = match args.server.as_deref() {
        Some(server) => of_server(server),
        None => of_configuration(args, environment),
    };
    let printed = definitions.and_then(|definitions| {
        output::line(&render(&definitions, args.format, args.strict)).map_err(|error| error.complain())
    });
    ExitCode::from(printed.err().unwrap_or(exit::SUCCESS))
}

/// The definitions in one form.
fn render(tools: &[Definition], format: ToolFormat, strict: bool) -> String {
    match format {
        ToolFormat::Json => json::render(tools),
        ToolFormat::Anthropic => anthropic::render(tools, strict),
        ToolFormat::OpenAi => openai::render_responses(tools, strict),
        ToolFormat::OpenAiChat => openai::render_chat(tools, strict),
        ToolFormat::Gemini => gemini::render(tools, strict),
        ToolFormat::Mcp => mcp::render(tools, strict),
    }
}

fn of_configuration(args: &ToolsArgs, environment: &Environment) -> Result<Vec<Definition>, u8> {
    match config::limits_of(&args.limits, environment) {
        Ok(limits) => toolfs_core::schema::definitions(&limits)
            .iter()
            .map(Definition::of_core)
            .collect::<Result<_, _>>()
            .map_err(broken),
        Err(errors) => {
            for error in errors {
                output::complain(&error.to_string());
            }
            Err(exit::USAGE)
        }
    }
}

fn of_server(server: &str) -> Result<Vec<Definition>, u8> {
    let runtime = call::runtime()?;
    let tools = runtime.block_on(async { Client::connect(server).await?.tools().await });
    match tools {
        Ok(tools) => tools.iter().map(Definition::of_wire).collect::<Result<_, _>>().map_err(broken),
        Err(error) => {
            output::complain(&call::explain(&error));
            Err(exit::FAILURE)
        }
    }
}

fn broken(error: DefinitionError) -> u8 {
    output::complain(&error.to_string());
    exit::FAILURE
}

/// JSON for people to read and paste.
fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("texts, numbers and booleans always serialize")
}

#[cfg(test)]
mod tests;
