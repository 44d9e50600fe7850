//! `create instance`: prints a validated FluxInstance made from flags.

use flux_operator::api::{DistributionSpec, well_known};
use flux_operator::distribution::Distribution;
use flux_operator::format::version_range::VersionRange;

use crate::args::ObjectFormatArgs;
use crate::args::instance::InstanceArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Print the manifest of a FluxInstance made from flags
///
/// The manifest is checked against every rule of the API before it is printed. Fields without a flag are omitted, so
/// that the API's defaults apply. The namespace is that of -n, else flux-system.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The newest Flux 2, ready to be applied\n  \
    flux-operator create instance > flux.yaml\n\n  \
    # Follow one minor version on OpenShift, with image automation\n  \
    flux-operator create instance --distribution-version 2.9.x \\\n    \
    --cluster-type openshift --cluster-size large \\\n    \
    --components-extra image-reflector-controller,image-automation-controller\n\n  \
    # Apply what a Git repository holds\n  \
    flux-operator create instance --sync-url https://example.com/fleet.git \\\n    \
    --sync-path clusters/staging --sync-pull-secret git-auth\n\n  \
    # As JSON, for another program\n  \
    flux-operator create instance --cluster-network-policy=false -o json")]
pub struct Args {
    #[command(flatten)]
    pub instance: InstanceArgs,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let namespace = shell.global().namespace().unwrap_or(well_known::DEFAULT_NAMESPACE);
    let instance = args.instance.instance(namespace)?;
    warn_of_unknown_version(&instance.spec.distribution, shell);
    shell.print(&args.format.output.text(&instance, "the FluxInstance")?);
    Ok(Exit::Done)
}

/// Warns of a version that the distribution does not have: it may be a future one, but usually it is a mistake.
fn warn_of_unknown_version(wanted: &DistributionSpec, shell: &Shell) {
    let Ok(range) = wanted.version.parse::<VersionRange>() else { return };
    let known = Distribution::embedded().versions();
    if wanted.artifact.is_none() && !known.iter().any(|known| range.matches(&known.version)) {
        let newest = known.last().map(|newest| newest.name.clone()).unwrap_or_default();
        shell.warn(&format!("no Flux version of this program fits {}; the newest is {newest}", wanted.version));
    }
}
