//! `create instance`: a FluxInstance made from flags, stored in the cluster or printed.

use flux_operator::api::manifest::InstanceManifest;
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE};
use flux_operator::api::{DistributionSpec, FluxInstance};
use flux_operator::cluster::WriteOptions;
use flux_operator::distribution::Distribution;
use flux_operator::format::version_range::VersionRange;

use crate::args::instance::InstanceArgs;
use crate::args::{DryRun, FollowArgs, ObjectFormat};
use crate::flows::here::{self, InProcessApply};
use crate::flows::rights::{FINDS_OPERATOR, KIND, Rights, always};
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs, is_done_here, read_unless_second};
use crate::session::Session;
use crate::session::connect::context_namespace;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Create a FluxInstance from flags
///
/// Stores the instance in the cluster; with --export or --dry-run=client,
/// prints the manifest instead. First checks the instance against every rule of
/// the API. Fields without a flag are omitted, so that the API's defaults
/// apply. The namespace is that of -n, else of the context, else flux-system.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Install the newest Flux 2 from this terminal\n  \
    flux-operator create instance --in-process\n\n  \
    # A manifest for Git\n  \
    flux-operator create instance --export > flux.yaml\n\n  \
    # Follow one minor version on OpenShift, with image automation\n  \
    flux-operator create instance flux --distribution-version 2.9.x \\\n    \
    --cluster-type openshift --cluster-size large \\\n    \
    --components-extra image-reflector-controller,image-automation-controller\n\n  \
    # Sync from a Git repository\n  \
    flux-operator create instance --sync-url https://example.com/fleet.git \\\n    \
    --sync-path clusters/staging --sync-pull-secret git-auth\n\n  \
    # As JSON, for another program\n  \
    flux-operator create instance --export -o json")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub instance: InstanceArgs,
    /// Print the manifest instead of storing it; needs no cluster
    #[arg(long, conflicts_with = "dry_run")]
    pub export: bool,
    /// Format of the manifest [default: yaml, with --export]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub output: Option<ObjectFormat>,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    if args.export {
        return Err(CliError::usage("`create instance --export` needs no rights: it sends nothing to an API server"));
    }
    rights.instance(&args.name, &[always("get patch", KIND)]);
    rights.everywhere(&[always("list", "fluxinstances.fluxcd.controlplane.io")]);
    match args.in_process.in_process {
        true => rights.run_in_process(),
        false => rights.everywhere(FINDS_OPERATOR),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let flag = shell.global().namespace().map(str::to_owned);
    if args.export || args.follow.dry_run() == Some(DryRun::Client) {
        let namespace = flag.or_else(|| context_namespace(shell.global())).unwrap_or_else(|| DEFAULT_NAMESPACE.into());
        let instance = args.instance.instance(&args.name, &namespace)?;
        warn_of_unknown_version(&instance.spec.distribution, shell);
        shell.print(&args.output.unwrap_or(ObjectFormat::Yaml).text(&instance, "the FluxInstance")?);
        return Ok(Exit::Done);
    }
    // Check the flags before connecting to a cluster.
    let unplaced = args.instance.manifest(&args.name, flag.as_deref().unwrap_or(DEFAULT_NAMESPACE))?;
    warn_of_unknown_version(&unplaced.instance.spec.distribution, shell);
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let manifest = args.instance.manifest(&args.name, &session.namespace())?;
        let target = Target::of_instance(&manifest.instance);
        shell.interruptible(refuse_existing(&session, &target)).await?;
        let without = session.command(&format!("create {}", target.words()), &target.namespace);
        let here = async {
            match args.follow.dry_run() {
                Some(_) => Ok(false),
                None => is_done_here(&session, &args.in_process, &target).await,
            }
        };
        if shell.interruptible(here).await? {
            let work = InProcessApply {
                in_process: &args.in_process,
                distribution: &DistributionArgs::default(),
                confirm: &args.confirm,
                mode: args.follow.mode(),
                wait: args.follow.waits(),
                force_conflicts: false,
                without: &without,
            };
            return here::apply_instance(&session, &manifest, &work).await;
        }
        shell.interruptible(store(&session, args, &target, &manifest)).await
    })?
}

/// Refuses to change an existing instance, which may have fields that no flag names.
async fn refuse_existing(session: &Session<'_>, target: &Target) -> Result<(), CliError> {
    let attempted = format!("create {}", session.place(&target.reference()));
    if session.bounded(&attempted, session.cluster.read(&target.id())).await?.is_none() {
        return Ok(());
    }
    let edit = session.command(&format!("export {}", target.words()), &target.namespace);
    Err(CliError::failed(format!("cannot {attempted}: it already exists"))
        .object(target.reference())
        .hint(format!("change it: `{edit} > flux.yaml`, edit the file, then `flux-operator apply -f flux.yaml`")))
}

async fn store(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    manifest: &InstanceManifest,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    let place = session.place(&target.reference());
    let dry_run = args.follow.dry_run() == Some(DryRun::Server);
    read_unless_second(session, manifest).await?;
    let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: false, dry_run };
    let apply = session.cluster.apply(&manifest.written, options);
    let after = match session.bounded(&format!("create {place}"), apply).await {
        Ok(after) => after,
        Err(error) if error.exit() == Exit::ApiMissing => {
            let words = format!("create {} --in-process", target.words());
            let here = session.command(&words, &target.namespace);
            return Err(error.hint(format!("install Flux from here with `{here}`")));
        }
        Err(error) => return Err(session.with_nearest_namespace(error, &target.namespace).await),
    };
    match args.output {
        Some(format) => {
            let stored = FluxInstance::from_object(after)
                .map_err(|error| CliError::failed("cannot print the FluxInstance").caused_by(&error))?;
            shell.print(&format.text(&stored, "the FluxInstance")?);
        }
        None => {
            let dry = if dry_run { ", server dry run" } else { "" };
            let context = session.cluster.endpoint.place();
            shell.print(&format!("{} created ({context}{dry})\n", target.reference()));
        }
    }
    if dry_run {
        return Ok(Exit::Done);
    }
    let coverage = session.operator_coverage(target).await?;
    let next = match coverage.is_missing() {
        true => {
            shell.warn(&format!("no operator is running to reconcile it: {coverage}"));
            session.command(&format!("reconcile {} --in-process", target.words()), &target.namespace)
        }
        false => session.command(&format!("wait {}", target.words()), &target.namespace),
    };
    shell.hint(&format!("continue with `{next}`"));
    Ok(Exit::Done)
}

/// Warns of a version that this program does not know. It may be released later, but is more likely a mistake.
fn warn_of_unknown_version(wanted: &DistributionSpec, shell: &Shell) {
    let Ok(range) = wanted.version.parse::<VersionRange>() else { return };
    let known = Distribution::embedded().versions();
    if wanted.artifact.is_none() && !known.iter().any(|known| range.matches(&known.version)) {
        let newest = known.last().map(|newest| newest.name.clone()).unwrap_or_default();
        shell.warn(&format!("no Flux version of this program fits {}; the newest is {newest}", wanted.version));
    }
}
