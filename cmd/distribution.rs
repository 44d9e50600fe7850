//! `distribution`: what this program knows about Flux, without a cluster.

use clap::Subcommand;
use clap_complete::engine::ArgValueCandidates;
use flux_operator::api::{Component, Variant};
use flux_operator::distribution::{Distribution, DistributionError, FluxVersion, ImageReference};
use flux_operator::format::version_range::VersionRange;
use flux_operator::inspect::listing::{Row, listing};
use flux_operator::oci::{Reference, ReferenceError, Repository};

use crate::common::registries::SourceArgs;
use crate::shell::output::{self, Filter, Format, OutputArgs};
use crate::shell::{CliError, Exit, Shell, environment};

mod check_mirror;
mod export;
mod images;
mod mirror;
mod pull;
mod push;
mod versions;

/// Show, export and mirror the Flux versions that can be installed
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Versions(versions::Args),
    Images(images::Args),
    Export(export::Args),
    Pull(pull::Args),
    Push(push::Args),
    Mirror(mirror::Args),
    CheckMirror(check_mirror::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Versions(args) => versions::run(args, shell),
        Command::Images(args) => images::run(args, shell),
        Command::Export(args) => export::run(args, shell),
        Command::Pull(args) => pull::run(args, shell),
        Command::Push(args) => push::run(args, shell),
        Command::Mirror(args) => mirror::run(args, shell),
        Command::CheckMirror(args) => check_mirror::run(args, shell),
    }
}

/// Which images a mirror is about.
#[derive(clap::Args, Clone, Debug)]
struct ImageArgs {
    /// Version or range; its newest version is taken
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    version: VersionRange,
    /// Registry the images come from
    #[arg(long, value_name = "REGISTRY", default_value = "ghcr.io/fluxcd")]
    registry: String,
    /// Build of the images [default: the registry's own]
    #[arg(long, value_name = "VARIANT", value_parser = variants())]
    variant: Option<String>,
    /// Controllers to take [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    components: Vec<Component>,
    #[command(flatten)]
    source: SourceArgs,
}

/// One image on its way to a mirror.
struct MirrorImage {
    component: String,
    from: Repository,
    to: Repository,
    tag: String,
    /// None where the distribution knows none: the tag's is taken.
    digest: Option<String>,
}

impl MirrorImage {
    /// What it is asked for by.
    fn name(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }

    fn target_reference(&self) -> Result<Reference, CliError> {
        let separator = if self.digest.is_some() { '@' } else { ':' };
        let text = format!("{}{separator}{}", self.to, self.name());
        text.parse().map_err(|error: ReferenceError| CliError::failed("cannot name an image").caused_by(&error))
    }
}

fn variants() -> clap::builder::PossibleValuesParser {
    Variant::ALL.map(Variant::as_str).into()
}

impl ImageArgs {
    fn variant(&self) -> Option<Variant> {
        let named = self.variant.as_deref().and_then(|name| name.parse().ok());
        named.or_else(|| Variant::for_registry(self.registry.trim_end_matches('/')))
    }

    fn resolve(&self, shell: &Shell, destination: &str) -> Result<Vec<MirrorImage>, CliError> {
        let distribution = shell.run(self.source.open(shell, None))?;
        let version = newest(&distribution, &self.version)?;
        let images = distribution.images(&version, &self.registry, self.variant()).map_err(unusable)?;
        let wanted = |image: &ImageReference| self.components.is_empty() || self.components.contains(&image.component);
        let wrong = |error: ReferenceError| CliError::usage("cannot name an image").caused_by(&error);
        let destination = destination.strip_prefix("oci://").unwrap_or(destination);
        let images = images.into_iter().filter(wanted).map(|image| {
            let component = image.component.to_string();
            Ok(MirrorImage {
                from: image.repository.parse().map_err(wrong)?,
                to: Repository::below(destination, &component).map_err(wrong)?,
                component,
                tag: image.tag,
                digest: image.digest,
            })
        });
        images.collect()
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
