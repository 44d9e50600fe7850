//! `distribution`: what this program knows about Flux, without a cluster.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::engine::ArgValueCandidates;
use flux_operator::distribution::{Distribution, DistributionError, FluxVersion};
use flux_operator::format::version_range::VersionRange;
use flux_operator::inspect::listing::{Row, listing};

use crate::shell::output::{self, Filter, Format, OutputArgs};
use crate::shell::{CliError, Exit, Shell, environment};

mod export;
mod images;
mod versions;

/// Show and export the Flux versions that can be installed
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Versions(versions::Args),
    Images(images::Args),
    Export(export::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Versions(args) => versions::run(args, shell),
        Command::Images(args) => images::run(args, shell),
        Command::Export(args) => export::run(args, shell),
    }
}

/// Where the manifests come from.
#[derive(clap::Args, Clone, Debug)]
pub struct SourceArgs {
    /// Packaged distribution to use instead of the built-in one: a folder
    /// or a .tar.gz file
    #[arg(long, value_name = "PATH")]
    pub distribution: Option<PathBuf>,
}

impl SourceArgs {
    pub fn open(&self) -> Result<Distribution, CliError> {
        match &self.distribution {
            None => Ok(Distribution::embedded()),
            Some(path) => Distribution::open(path).map_err(|error| {
                CliError::failed(format!("cannot open the distribution {}", path.display()))
                    .caused_by(&error)
                    .hint("write a folder of the expected layout with `flux-operator distribution export`")
            }),
        }
    }
}

/// How a list of things without labels and readiness is printed.
#[derive(clap::Args, Clone, Debug)]
struct ListArgs {
    /// Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or
    /// custom-columns=HEADING:PATH,…
    #[arg(short, long, value_name = "FORMAT", default_value = "table", env = environment::OUTPUT, hide_env = true, hide_default_value = true, help_heading = output::OUTPUT, add = ArgValueCandidates::new(output::formats))]
    output: Format,
    /// Leave the heading out
    #[arg(long, alias = "no-header", help_heading = output::OUTPUT)]
    no_headers: bool,
    /// Sort by a column, or by a JSONPath such as .tag
    #[arg(long, value_name = "COLUMN", help_heading = output::OUTPUT)]
    sort_by: Option<String>,
    /// Keep rows whose column has (=) or has not (!=) a value, repeatable
    #[arg(long, value_name = "COLUMN=VALUE", help_heading = output::OUTPUT)]
    filter: Vec<Filter>,
}

impl ListArgs {
    fn print<R: Row>(&self, rows: &[R], shell: &Shell) -> Result<Exit, CliError> {
        let args = OutputArgs {
            output: self.output.clone(),
            no_headers: self.no_headers,
            sort_by: self.sort_by.clone(),
            filter: self.filter.clone(),
            ready_status: Vec::new(),
            label_columns: Vec::new(),
            show_labels: false,
        };
        output::print_list(shell, &args, listing(rows), false, false)?;
        Ok(Exit::Done)
    }
}

/// Returns the newest version in a range; none is an error that says what there is.
fn newest(distribution: &Distribution, range: &VersionRange) -> Result<FluxVersion, CliError> {
    let all = distribution.versions();
    all.iter().rfind(|version| range.matches(&version.version)).cloned().ok_or_else(|| {
        CliError::failed(format!("no version of {distribution} matches {range}")).hint(what_there_is(&all))
    })
}

fn what_there_is(versions: &[FluxVersion]) -> String {
    match versions {
        [first, .., last] => format!("there are {first} to {last}: `flux-operator distribution versions` lists them"),
        [only] => format!("there is only {only}"),
        [] => "there is none".to_owned(),
    }
}

fn unusable(error: DistributionError) -> CliError {
    CliError::failed("cannot read the distribution").caused_by(&error)
}
