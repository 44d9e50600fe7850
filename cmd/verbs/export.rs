//! `export`: prints objects as a user would write them.

use clap::Subcommand;
use flux_operator::format::yaml;
use flux_operator::request::bare;
use serde_json::{Value, json};

use crate::args::ObjectFormat;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod report;
mod resource;

/// Print objects without what the cluster added
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Resource(resource::Args),
    Report(report::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
        Command::Report(args) => report::run(args, shell),
    }
}

fn print(shell: &Shell, objects: Vec<Value>, format: ObjectFormat) -> Result<Exit, CliError> {
    let bare: Vec<_> = objects.into_iter().map(bare).collect();
    let text = match (format, bare.as_slice()) {
        (_, [only]) => format.text(only, "the object")?,
        (ObjectFormat::Json, _) => {
            format.text(&json!({"apiVersion": "v1", "kind": "List", "items": bare}), "the objects")?
        }
        (ObjectFormat::Yaml, _) => {
            yaml::document_stream(&bare).map_err(|e| CliError::failed("cannot print the objects").caused_by(&e))?
        }
    };
    shell.print(&text);
    Ok(Exit::Done)
}
