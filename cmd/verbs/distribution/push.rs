//! `distribution push`: uploads a version as an artifact for `spec.distribution.artifact`.

use flux_operator::format::version_range::VersionRange;
use flux_operator::oci::{self, Reference};

use super::{newest, unusable};
use crate::output::counted;
use crate::session::registries::{SourceArgs, answer_of, registry_error};
use crate::terminal::{CliError, Exit, Shell};

/// Push the manifests of a Flux version to a registry
///
/// spec.distribution.artifact and --distribution accept the artifact. Prints the reference with its digest; the same
/// manifests always give the same digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The newest version, for clusters without access to ghcr.io\n  \
    flux-operator distribution push oci://registry.example.com/flux:latest")]
pub struct Args {
    /// Destination: oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "REFERENCE")]
    pub reference: Reference,
    /// Version, or range whose newest version is pushed
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    pub version: VersionRange,
    #[command(flatten)]
    pub source: SourceArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.source.offline {
        return Err(CliError::usage("cannot push --offline"));
    }
    if args.reference.digest().is_some() {
        return Err(CliError::usage("cannot push to a digest").hint("name a tag; the digest follows from the files"));
    }
    let distribution = shell.run(args.source.open(shell, None))?;
    let version = newest(&distribution, &args.version)?;
    let files = distribution.files(&version).map_err(unusable)?;
    let annotations = [("org.opencontainers.image.version".to_owned(), version.name.clone())].into();
    let attempted = format!("push {}", args.reference.url());
    let pushed = shell.run(answer_of(&args.reference.repository, shell, &attempted, None, async {
        let registries = args.source.registry.open(shell).await?;
        shell.interruption().writes();
        let pushed = oci::push_artifact(&registries, &args.reference, &files, &annotations).await;
        pushed.map_err(|error| registry_error(&error))
    }))?;
    shell.status(&format!("pushed flux {version}: {}", counted(files.len(), "file")));
    shell.print(&format!("{}\n", args.reference.at(pushed.digest).url()));
    Ok(Exit::Done)
}
