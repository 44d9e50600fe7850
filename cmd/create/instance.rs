//! `create instance`: flags -> a validated FluxInstance on stdout.

use flux_operator::api::well_known;

use crate::common::args::ObjectFormatArgs;
use crate::common::instance_args::InstanceArgs;
use crate::shell::{CliError, Exit, Shell};

/// Print the manifest of a FluxInstance made from flags
///
/// The manifest is checked against every rule of the API before it is printed.
/// What is not asked for is left out, so that the API's defaults apply. The
/// namespace is that of -n, else flux-system.
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
    shell.print(&args.format.output.text(&instance, "the FluxInstance")?)?;
    Ok(Exit::Done)
}
