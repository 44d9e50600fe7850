//! `export`: prints objects as a user would write them.

use clap::Subcommand;
use flux_operator::format::yaml;
use flux_operator::request::bare;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::args::objects::ResourceArgs;
use crate::args::{ObjectFormat, ObjectFormatArgs};
use crate::flows::rights::{KIND, Rights, always};
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

mod report;

/// Print objects without the fields that the cluster added
///
/// Prints several objects as a stream of YAML documents, or as a List in JSON. A kind alone means all of its objects.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    # Keep the instance in Git\n  \
    flux-operator -n flux-system export instance flux > flux.yaml\n\n  \
    # Move an application to another cluster\n  \
    flux-operator -n apps export ks/podinfo gitrepo/podinfo > app.yaml\n\n  \
    # As JSON\n  \
    flux-operator -n apps export HelmRelease/podinfo -o json"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(alias = "reports")]
    Report(report::Args),
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match &args.command {
        Some(Command::Report(_)) => report::rights(rights),
        None => rights.wanted(&args.resources.resolve_or_all()?, &[always("get", KIND)]),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if let Some(Command::Report(args)) = &args.command {
        return report::run(args, shell);
    }
    let wanted = args.resources.resolve_or_all()?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        let objects = try_join_all(targets.iter().map(|target| session.get(target))).await?;
        print(shell, objects, args.format.output)
    })
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
