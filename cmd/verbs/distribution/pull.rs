//! `distribution pull`: downloads an artifact with Flux manifests into a folder.

use std::path::PathBuf;

use flux_operator::fetch::Source;

use super::unusable;
use crate::session::registries::SourceArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Pull a distribution from a registry into a folder
///
/// All its versions are checked and written as `distribution export` writes
/// them. Prints the reference with its digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Inspect the distribution that clusters use\n  \
    flux-operator distribution pull --output ./flux-distribution \\\n    \
    --distribution oci://registry.example.com/flux:latest")]
pub struct Args {
    /// Folder to write to; created if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let distribution = shell.run(args.source.open(shell, None))?;
    let versions = distribution.versions();
    for version in &versions {
        distribution.export(version, &args.output).map_err(unusable)?;
    }
    shell.status(&format!("wrote {} versions into {}", versions.len(), args.output.display()));
    // A folder or an archive has no digest.
    let Some(digest) = distribution.digest() else { return Ok(Exit::Done) };
    let reported = match (args.source.distribution.as_deref().map(str::parse), digest.parse()) {
        (Some(Ok(Source::Artifact(reference))), Ok(digest)) => reference.at(digest).url(),
        _ => digest.to_owned(),
    };
    shell.print(&format!("{reported}\n"));
    Ok(Exit::Done)
}
