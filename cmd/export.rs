//! `export`: objects as they would be written by hand.

use clap::Subcommand;
use flux_operator::format::yaml;
use flux_operator::request::bare;
use kube::core::DynamicObject;
use serde_json::json;

use crate::common::args::ObjectFormat;
use crate::shell::{CliError, Exit, Shell};

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

fn print(shell: &Shell, objects: Vec<DynamicObject>, format: ObjectFormat) -> Result<Exit, CliError> {
    let mut bare: Vec<_> = objects.into_iter().map(bare).collect();
    let failed = |e: &(dyn std::error::Error + 'static)| CliError::failed("cannot print the objects").caused_by(e);
    let text = match (format, bare.len()) {
        (ObjectFormat::Yaml, 1) => {
            yaml::to_string(bare.first().unwrap_or(&serde_json::Value::Null)).map_err(|e| failed(&e))?
        }
        (ObjectFormat::Yaml, _) => yaml::document_stream(&bare).map_err(|e| failed(&e))?,
        (ObjectFormat::Json, count) => {
            let value = match bare.pop() {
                Some(only) if count == 1 => only,
                last => {
                    bare.extend(last);
                    json!({"apiVersion": "v1", "kind": "List", "items": bare})
                }
            };
            format!("{}\n", serde_json::to_string_pretty(&value).map_err(|e| failed(&e))?)
        }
    };
    shell.print(&text)?;
    Ok(Exit::Done)
}
