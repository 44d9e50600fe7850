//! `distribution push`: a version as an artifact, for `spec.distribution.artifact`.

use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::tarball;
use flux_operator::format::version_range::VersionRange;
use flux_operator::oci::{self, Reference};

use super::{newest, unusable};
use crate::common::registries::{SourceArgs, registry_error};
use crate::shell::{CliError, Exit, Shell};

/// Push the manifests of a Flux version to a registry
///
/// The artifact is what spec.distribution.artifact and --distribution take.
/// Prints the reference with its digest; the same manifests give the same one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The newest version, for clusters without access to ghcr.io\n  \
    flux-operator distribution push oci://registry.example.com/flux:latest")]
pub struct Args {
    /// Where to push to: oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "REFERENCE")]
    pub reference: Reference,
    /// Version or range; its newest version is pushed
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    pub version: VersionRange,
    #[command(flatten)]
    pub source: SourceArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.source.offline {
        return Err(CliError::usage("cannot push --offline"));
    }
    let distribution = shell.run(args.source.open(shell, None))?;
    let version = newest(&distribution, &args.version)?;
    let unwritable = |error: &std::io::Error| CliError::failed("cannot pack the distribution").caused_by(error);
    let folder = tempfile::tempdir().map_err(|error| unwritable(&error))?;
    distribution.export(&version, folder.path()).map_err(unusable)?;
    let packed = tarball::read_folder(folder.path(), &IgnoreRules::default()).map_err(|error| unwritable(&error))?;
    let registries = args.source.registry.open()?;
    let annotations = [("org.opencontainers.image.version".to_owned(), version.name.clone())].into();
    let pushed = shell.run(async {
        let pushed = oci::push_artifact(&registries, &args.reference, &packed.files, &annotations).await;
        pushed.map_err(|error| registry_error(&error))
    })?;
    shell.status(&format!("pushed flux {version}: {} files", packed.files.len()));
    shell.print(&format!("{}\n", args.reference.at(pushed.digest).url()))?;
    Ok(Exit::Done)
}
