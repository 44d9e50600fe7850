//! `plan`: shows what would happen.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::objects::{OperatorObject, refuse_given};
use crate::flows::resource_set::SetAccountArgs;
use crate::flows::rights::Rights;
use crate::flows::run_in_process::DistributionArgs;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell, no_file};
use flux_operator::api::well_known::INSTANCE_NAME;

mod instance;
mod resourceset;

/// Show what an apply would change
///
/// Sends every object to the API server as a dry run and compares the result with the live object. Shows created
/// objects, changed fields and who set them, restarts, and pruned objects. A change of the Flux version begins with one
/// screen, as in `upgrade`; --diff and -o wide show its objects. For a suspended object, shows what would happen after
/// a resume.
///
/// The templates of a ResourceSet are rendered with the inputs that its providers export now, and objects are listed
/// below the input set that makes them.
///
/// Exits with 0 when nothing differs, 1 when something differs, and 2 or more when the comparison fails.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would this file change?\n  \
    flux-operator plan -f flux.yaml\n\n  \
    # Has anything drifted? With unified diffs\n  \
    flux-operator -n flux-system diff instance flux --diff\n\n  \
    # Save a plan, then apply exactly this plan\n  \
    flux-operator plan instance -f flux.yaml --out flux.plan\n  \
    flux-operator apply instance --plan flux.plan\n\n  \
    # A ResourceSet in a file, and one in the cluster\n  \
    flux-operator plan resourceset -f apps.yaml\n  \
    flux-operator -n apps plan rset web --diff")]
pub struct Args {
    /// Object in the cluster as KIND/NAME or KIND NAME, or kind of the object in the file [default: instance flux]
    #[arg(value_name = "OBJECT", value_parser = no_file, add = crate::args::complete::instances())]
    pub object: Vec<String>,
    /// File with the object; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE", alias = "file")]
    pub filename: Option<PathBuf>,
    /// Format: a screen, all objects with all fields (wide), JSON or YAML
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = PlanOutput::Table)]
    pub output: PlanOutput,
    /// Print unified YAML diffs; values of secrets are masked
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,
    /// Save the plan of an instance for `apply --plan`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub account: SetAccountArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanOutput {
    Table,
    Wide,
    Json,
    Yaml,
}

impl Args {
    fn subject(&self) -> Result<OperatorObject<'_>, CliError> {
        let object = match self.filename {
            Some(_) => OperatorObject::of_file(&self.object, "plan")?,
            None => OperatorObject::read(&self.object, "plan")?,
        };
        match object {
            OperatorObject::Instance(_) => {
                let flags = [(self.account.default_service_account.is_some(), "--default-service-account")];
                refuse_given(&flags, "ResourceSets")?;
            }
            OperatorObject::ResourceSet(name) => {
                let flags =
                    [(self.out.is_some(), "--out"), (self.distribution.is_given(), "--distribution or --strict")];
                refuse_given(&flags, "instances")?;
                if name.is_none() && self.filename.is_none() {
                    return Err(CliError::usage("no ResourceSet is given").hint("write resourceset/NAME, or -f FILE"));
                }
            }
        }
        Ok(object)
    }

    /// Whether the plan is one of an instance.
    pub fn is_of_instance(&self) -> bool {
        matches!(self.subject(), Ok(OperatorObject::Instance(_)))
    }
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match args.subject()? {
        OperatorObject::Instance(name) => instance::rights(args, name.unwrap_or(INSTANCE_NAME), rights),
        OperatorObject::ResourceSet(name) => resourceset::rights(name, rights),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let planned = match args.subject()? {
        OperatorObject::Instance(name) => instance::planned(args, name.unwrap_or(INSTANCE_NAME), shell),
        OperatorObject::ResourceSet(name) => resourceset::planned(args, name, shell),
    };
    // 1 means differences here, so a general failure gets the next code.
    planned.map_err(|error| if error.exit() == Exit::Failed { error.with_exit(Exit::Usage) } else { error })
}
