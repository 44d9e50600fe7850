//! `upgrade`: gives the instance another version of Flux, after showing what that changes.

use flux_operator::api::FluxInstanceSpec;
use flux_operator::distribution::Distribution;
use flux_operator::format::version_range::VersionRange;
use flux_operator::reconcile::NewSpec;
use jiff::Timestamp;
use serde_json::Value;

use crate::args::{PreviewArgs, WaitArgs};
use crate::flows::change_spec::{self, Reconciler, SpecChange};
use crate::flows::plan_view;
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs};
use crate::flows::version_change::{FINDS_PROBLEMS, lines, warn_of_problems};
use crate::output::table::terminal_width;
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Upgrade Flux to another version
///
/// First shows the change: the versions, images, restarts, API versions that are no longer served, and objects that the
/// new version rejects or treats differently. Then asks for confirmation, writes spec.distribution.version, and waits
/// until Flux is ready. To return to an older minor version, use `rollback`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # To the newest Flux version embedded in this program\n  \
    flux-operator upgrade\n\n  \
    # To the newest patch of a minor version, following later patches\n  \
    flux-operator upgrade 2.9.x\n\n  \
    # Without confirmation; roll back if Flux does not become ready\n  \
    flux-operator upgrade 2.9.x --yes --rollback-on-failure\n\n  \
    # Only show what would change, with all objects\n  \
    flux-operator upgrade 2.9.x --dry-run --diff")]
pub struct Args {
    /// Version or range of versions, such as 2.9.4 or 2.9.x [default: the newest version]
    #[arg(value_name = "VERSION", value_parser = version)]
    pub version: Option<String>,
    /// Name of the instance
    #[arg(long, value_name = "NAME", default_value = "flux", add = crate::args::complete::instances())]
    pub instance: String,
    /// Also print unified YAML diffs of all objects; values of secrets are masked
    #[arg(long)]
    pub diff: bool,
    #[command(flatten)]
    pub dry_run: PreviewArgs,
    /// Restore the previous spec if the instance does not become ready in time
    #[arg(long)]
    pub rollback_on_failure: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(COMPARES_CLUSTER);
    rights.in_namespace(&namespace, COMPARES_NAMESPACE);
    rights.everywhere(FINDS_PROBLEMS);
    rights.instance(&args.instance, &[always("get", KIND)]);
    if args.dry_run.is_set() {
        return;
    }
    rights.everywhere(FINDS_OPERATOR);
    rights.instance(&args.instance, &[always("patch", KIND)]);
    if args.in_process.in_process {
        rights.run_in_process();
    } else if args.wait.wait {
        rights.instance(&args.instance, FOLLOWS);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.rollback_on_failure && !args.wait.wait {
        return Err(CliError::usage("--rollback-on-failure needs to wait: leave --wait=false out"));
    }
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(&args.instance);
        let Some(prepared) = shell.interruptible(prepare(args, &session, &target)).await? else {
            return Ok(Exit::Done);
        };
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        let says = format!("has version {}", prepared.spec.distribution.version);
        let new = NewSpec { spec: &prepared.spec, older_minor: None };
        let failed = match change(args, "upgrade")
            .carry_out(&session, &target, &prepared.live, new, &says, prepared.reconciler)
            .await
        {
            // `Unhealthy` means that the upgrade was carried out. After any other error nothing was changed.
            Err(error) if args.rollback_on_failure && error.exit() == Exit::Unhealthy => error,
            ended => return ended,
        };
        shell.status(&format!("the upgrade failed: {}", failed.message()));
        // The rollback gets the full time-out again.
        let session = session.with_new_deadline();
        Err(match go_back(args, &session, &target, &prepared).await {
            Ok(_) => failed.cause(format!("the instance has version {} again", prepared.before.distribution.version)),
            Err(error) => failed.cause(format!("going back failed: {}", error.message())),
        })
    })?
}

fn change<'a>(args: &'a Args, verb: &'a str) -> SpecChange<'a> {
    SpecChange {
        in_process: &args.in_process,
        confirm: &args.confirm,
        mode: args.progress.progress,
        wait: args.wait.wait,
        verb,
    }
}

/// Writes the earlier spec over the one that failed.
async fn go_back(
    args: &Args,
    session: &Session<'_>,
    target: &Target,
    AgreedUpgrade { before, reconciler, .. }: &AgreedUpgrade,
) -> Result<Exit, CliError> {
    let (live, _) = session.shell.interruptible(change_spec::read(session, target)).await?;
    let says = format!("has version {} again", before.distribution.version);
    let new = NewSpec { spec: before, older_minor: None };
    change(args, "roll back").carry_out(session, target, &live, new, &says, *reconciler).await
}

/// An upgrade that the user has agreed to.
struct AgreedUpgrade {
    live: Value,
    before: FluxInstanceSpec,
    spec: FluxInstanceSpec,
    reconciler: Reconciler,
}

/// Shows the change and asks for confirmation. Returns `None` if nothing changes, or for a dry run.
async fn prepare(args: &Args, session: &Session<'_>, target: &Target) -> Result<Option<AgreedUpgrade>, CliError> {
    let shell = session.shell;
    let (live, instance) = change_spec::read(session, target).await?;
    let mut spec = instance.spec.clone();
    spec.distribution.version = wanted(args.version.as_deref());
    let new = NewSpec { spec: &spec, older_minor: None };
    let place = session.place(&target.reference());
    let mode = args.progress.progress;
    let plan = run_in_process::plan_with_spec(session, target, new, &DistributionArgs::default(), mode).await?;
    for line in lines(&instance, &spec, &plan) {
        shell.status(&line);
    }
    if args.diff {
        let style = plan_view::Style {
            width: shell.stdout_is_terminal().then(terminal_width),
            color: shell.stdout_color(),
            all: true,
            now: Timestamp::now(),
        };
        shell.print_in_colour(&plan_view::diffs(&plan, &style)?);
    }
    let problems = warn_of_problems(session, &live, &plan).await?;
    if instance.spec == spec && !plan.has_changes() {
        shell.status(&format!("{place} has this version already"));
        return Ok(None);
    }
    let breaks = problems.iter().filter(|problem| problem.breaks).count();
    let although = match breaks {
        0 => String::new(),
        1 => ", although 1 check fails".to_owned(),
        count => format!(", although {count} checks fail"),
    };
    let what = format!("upgrade {place} to {}{although}", plan.version);
    let mut words = "upgrade".to_owned();
    words.extend(args.version.iter().map(|version| format!(" {version}")));
    words.extend((target.name != "flux").then(|| format!(" --instance {}", target.name)));
    let agreed = change(args, "upgrade").agree(session, target, &plan, &words, &what, args.dry_run.is_set()).await?;
    Ok(agreed.map(|reconciler| AgreedUpgrade { live, before: instance.spec, spec, reconciler }))
}

fn version(word: &str) -> Result<String, String> {
    match wanted(Some(word)).parse::<VersionRange>() {
        Ok(_) => Ok(word.to_owned()),
        Err(_) => Err("not a version, such as 2.9.4 or 2.9.x; --instance names the instance".to_owned()),
    }
}

/// Returns the version as the instance gets it; the newest embedded one if none is named.
fn wanted(version: Option<&str>) -> String {
    let newest = || Distribution::embedded().versions().last().map(|newest| newest.name.clone()).unwrap_or_default();
    version.map_or_else(newest, str::to_owned).trim_start_matches('v').to_owned()
}
