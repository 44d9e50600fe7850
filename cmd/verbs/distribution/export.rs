//! `distribution export`: writes a version as files, to be packaged or edited.

use std::path::PathBuf;

use flux_operator::format::version_range::VersionRange;

use super::newest;
use crate::output::counted;
use crate::session::registries::SourceArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Write the manifests of a Flux version into a folder
///
/// The folder can be packed into an archive or an OCI artifact, and --distribution reads it. One folder can hold
/// several versions; existing files are overwritten. Prints the written paths.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The newest version\n  \
    flux-operator distribution export ./flux-distribution\n\n  \
    # The newest patch of 2.8, packed into one file\n  \
    flux-operator distribution export --version 2.8.x ./dist && \\\n    \
    tar -czf flux.tar.gz -C ./dist .")]
pub struct Args {
    /// Version, or range whose newest version is written
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    pub version: VersionRange,
    /// Folder to write to; created if it is missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let distribution = shell.run(args.source.open(shell, None))?;
    let version = newest(&distribution, &args.version)?;
    let directory = args.directory.display();
    let written = distribution
        .export(&version, &args.directory)
        .map_err(|error| CliError::failed(format!("cannot export flux {version} to {directory}")).caused_by(&error))?;
    let paths: String = written.iter().map(|path| format!("{}\n", args.directory.join(path).display())).collect();
    shell.print(&paths);
    shell.status(&format!("exported flux {version} to {directory}: {}", counted(written.len(), "file")));
    Ok(Exit::Done)
}
