//! `distribution`: what this program knows about Flux, without a cluster.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use flux_operator::distribution::{Distribution, DistributionError, FluxVersion};
use flux_operator::version_range::VersionRange;
use flux_operator::yaml;
use serde::Serialize;

use crate::shell::{CliError, Exit, Shell, environment, table};

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

/// How a list is printed.
#[derive(clap::Args, Clone, Debug)]
struct OutputArgs {
    /// Format of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Table, env = environment::OUTPUT, hide_env = true)]
    output: Format,
    /// Leave out the line with the column names
    #[arg(long, alias = "no-header")]
    no_headers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Wide,
    Json,
    Yaml,
    Name,
}

/// One row of a list, in every form it can be printed in.
trait Row: Serialize {
    const HEADINGS: &'static [&'static str];
    const WIDE_HEADINGS: &'static [&'static str];

    fn cells(&self) -> Vec<String>;
    fn wide_cells(&self) -> Vec<String>;
    fn name(&self) -> String;
}

impl OutputArgs {
    fn print<R: Row>(&self, rows: &[R], shell: &Shell) -> Result<Exit, CliError> {
        let failed = |error: &(dyn std::error::Error + 'static)| CliError::failed("cannot print").caused_by(error);
        let table = |headings: &[&str], rows| table::render((!self.no_headers).then_some(headings), rows);
        let text = match self.output {
            Format::Table => table(R::HEADINGS, rows.iter().map(R::cells).collect()),
            Format::Wide => table(R::WIDE_HEADINGS, rows.iter().map(R::wide_cells).collect()),
            Format::Name => rows.iter().map(|row| format!("{}\n", row.name())).collect(),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(rows).map_err(|e| failed(&e))?),
            Format::Yaml => yaml::to_string(&rows).map_err(|e| failed(&e))?,
        };
        shell.print(&text)?;
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
