//! `build`: prints what a reconcile would apply, without a cluster or a network.

use std::path::PathBuf;

use clap::ValueEnum;
use flux_operator::api::kinds::INPUT_PROVIDER;

use crate::args::objects::{OperatorObject, no_file_given, refuse_given};
use crate::flows::rights::{KIND, Rights, always};
use crate::terminal::{CliError, Exit, Shell, no_existing_file};
use instance::InstanceBuildArgs;
use resourceset::SetBuildArgs;

mod explain;
mod instance;
mod resourceset;

/// Build objects offline, exactly as a reconcile would apply them
///
/// For a FluxInstance: controllers with pinned images, shards, patches and labels included. Needs network access only
/// for a distribution in a registry. If the instance uses the reference operator's default artifact and it cannot be
/// reached, the embedded distribution is built instead, with a warning. A manifest without a namespace is built for
/// --namespace, else flux-system.
///
/// For a ResourceSet: templates rendered with every input set, without duplicates and without objects that an
/// annotation excludes. Inputs come from the manifest, from a file with a list of input sets, and from providers: those
/// of type Static in another file, with ids derived from their names, or those of every type with the inputs they
/// exported in a cluster or a dump. Needs a cluster only with --live. Annotations such as copyFrom are kept unchanged.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    # The objects of an instance\n  \
    flux-operator build instance -f flux.yaml\n\n  \
    # From a cluster, only the images\n  \
    kubectl get fluxinstance flux -n flux-system -o yaml |\\\n    \
    flux-operator build -f - -o images\n\n  \
    # Which objects each patch changes\n  \
    flux-operator build -f flux.yaml --explain-patches\n\n  \
    # Has anything changed since the last run?\n  \
    flux-operator build -f flux.yaml --revision\n\n  \
    # A ResourceSet, and which template and inputs made each object\n  \
    flux-operator build resourceset -f apps.yaml\n  \
    flux-operator build rset -f apps.yaml --explain\n\n  \
    # With inputs from a file, or from the providers in the cluster\n  \
    flux-operator build rset -f apps.yaml --inputs-from tenants.yaml\n  \
    flux-operator build rset -f apps.yaml --live"
)]
pub struct Args {
    /// Kind of the object in the file: instance or resourceset [default: instance]
    #[arg(value_name = "KIND", value_parser = no_existing_file)]
    pub object: Vec<String>,
    /// File that contains one such object; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE", alias = "file", required_unless_present = "object")]
    pub filename: Option<PathBuf>,
    /// Output: objects, their names, or the images that an instance runs
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Yaml)]
    pub output: Output,
    /// Treat warnings as errors: patches without effect, images without digest, an artifact that cannot be pulled, and
    /// warnings about a ResourceSet
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub instance: InstanceBuildArgs,
    #[command(flatten)]
    pub set: SetBuildArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Yaml,
    Json,
    Name,
    /// Image references, sorted
    Images,
}

/// Whether the file holds a ResourceSet.
fn is_of_set(args: &Args) -> Result<bool, CliError> {
    let is_set = matches!(OperatorObject::of_file(&args.object, "build")?, OperatorObject::ResourceSet(_));
    let (instance, set) = (&args.instance, &args.set);
    match is_set {
        true => refuse_given(
            &[
                (args.output == Output::Images, "-o images"),
                (instance.revision, "--revision"),
                (instance.explain_patches, "--explain-patches"),
                (instance.source.is_given(), "--distribution"),
                (instance.allow_unknown_minor, "--allow-unknown-minor"),
            ],
            "instances",
        )?,
        false => refuse_given(
            &[
                (set.inputs_from.is_some(), "--inputs-from"),
                (set.inputs_from_provider.is_some(), "--inputs-from-provider"),
                (set.live, "--live"),
                (set.from.is_some(), "--from"),
                (set.explain, "--explain"),
            ],
            "ResourceSets: flux-operator build resourceset -f FILE",
        )?,
    }
    Ok(is_set)
}

/// A build asks a cluster only for the inputs that providers have exported.
pub fn rights(args: &Args, rights: &mut Rights) {
    if args.set.live {
        let namespace = rights.namespace_or("default");
        rights.of_kind(&INPUT_PROVIDER, Some(&namespace), &[], &[always("list", KIND)]);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let is_set = is_of_set(args)?;
    let file = args.filename.as_deref().ok_or_else(no_file_given)?;
    match is_set {
        true => resourceset::run(args, file, shell),
        false => instance::run(args, file, shell),
    }
}
