//! `rollback instance`: gives a FluxInstance the spec of an earlier ready revision, after showing the changes.

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::Cluster;
use flux_operator::k8s::fields;
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::status::merge_diff;
use flux_operator::reconcile::{self, KeptBuild, RunOptions, kept_builds};
use flux_operator::request::{Absent, reconcile_patch, token};
use serde_json::{Value, json};

use crate::args::WaitArgs;
use crate::flows::follow::{Followed, uid_of, until_ready};
use crate::flows::operator::way_without;
use crate::flows::run_in_process;
use crate::flows::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, RunRequest, instance_of, plan_counts, reconcile_here,
    refuse_beside_running_operator,
};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Limit for the objects that the question lists.
const NAMED: usize = 20;

/// Go back to a revision of Flux that was ready before
///
/// The instance gets the spec from which this revision was built: the exact version instead of a range, and the patches
/// of that time. The changes are shown first. The last five revisions that became ready are kept; `get history` lists
/// them. An older minor version is refused, because Flux does not migrate stored objects backwards, unless the newer
/// one never became ready.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Back to what was ready before\n  \
    flux-operator rollback instance\n\n  \
    # Back to one of the revisions of `get history`, without asking\n  \
    flux-operator rollback instance --to v2.8.8 --yes\n\n  \
    # Only show what that would change\n  \
    flux-operator rollback instance --dry-run")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    /// Revision, version, or beginning of a digest to go back to
    #[arg(long, value_name = "REVISION")]
    pub to: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(&args.name);
        let prepared = shell.interruptible(prepare(args, &session, &target)).await?;
        let Some((live, build)) = prepared else { return Ok(Exit::Done) };
        if args.in_process.in_process {
            return reconcile_in_process(&session, args, &target, &live, &build).await;
        }
        let stored = shell.interruptible(store(&session, &target, &live, &build)).await?;
        let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
        shell.interruption().set("the instance is stored, and the operator goes on with it", Some(resume));
        let coverage = shell.interruptible(session.operator_coverage(&target)).await?;
        if coverage.is_nobody() {
            let here = session.command(&format!("reconcile {} --in-process", target.words()), &target.namespace);
            return Err(CliError::failed(format!(
                "{} is stored, but nobody will act on it",
                session.place(&target.reference())
            ))
            .cause(coverage.to_string())
            .object(target.reference())
            .hint(way_without(&session, &coverage, "reconcile it from here", &here)));
        }
        if !args.wait.wait {
            return Ok(Exit::Done);
        }
        let followed = [Followed { uid: uid_of(&stored), target, request: None, absent: Absent::Ends }];
        shell.interruptible(until_ready(&session, &followed, args.progress.progress)).await
    })?
}

/// Shows the changes of the rollback, and asks; `None` when there is nothing to do, or only to show.
async fn prepare(args: &Args, session: &Session<'_>, target: &Target) -> Result<Option<(Value, KeptBuild)>, CliError> {
    let shell = session.shell;
    let live = session.get(target).await?;
    let instance = instance_of(live.clone())?;
    let builds = kept_builds(&session.cluster, &target.namespace).await.map_err(|error| cli_error(&error))?;
    let build = choose(&builds, &instance, args.to.as_deref()).map_err(|why| {
        let known: Vec<&str> = builds.iter().map(|build| build.revision.as_str()).collect();
        let error = CliError::new(Exit::NotFound, format!("cannot roll {} back", session.place(&target.reference())))
            .cause(why)
            .object(target.reference());
        match known.is_empty() {
            true => error.hint("revisions are kept from the first run of this program that makes them ready"),
            false => error.hint(format!("these revisions are kept: {}", known.join(", "))),
        }
    })?;
    let mode = args.progress.progress;
    let plan = run_in_process::plan_kept(session, target, &build, &DistributionArgs::default(), mode).await?;
    let now =
        instance.status.as_ref().and_then(|status| status.last_attempted_revision.as_deref()).unwrap_or("nothing");
    shell.status(&format!("from {now}"));
    shell.status(&format!("to   {}, ready at {}", build.revision, build.ready));
    let changed: Vec<String> = plan
        .objects
        .iter()
        .filter(|object| object.step != Step::Unchanged)
        .map(|object| format!("  {} {}", if object.step == Step::Create { "+" } else { "~" }, object.object))
        .chain(plan.pruned().into_iter().map(|object| format!("  - {object}")))
        .collect();
    for line in changed.iter().take(NAMED) {
        shell.status(line);
    }
    if let Some(more) = changed.len().checked_sub(NAMED).filter(|more| *more > 0) {
        shell.status(&format!("  and {more} more"));
    }
    shell.status(&plan_counts(&plan));
    for (definition, lost) in plan.lost_custom_resources() {
        shell.warn(&format!("{definition} takes {lost} with it"));
    }
    if let Some(owner) = fields::label(&live, "kustomize.toolkit.fluxcd.io/name") {
        shell.warn(&format!("Kustomization {owner} applies this instance: change it in its repository, too"));
    }
    if instance.spec == build.spec && !plan.has_changes() {
        return Ok(None);
    }
    if args.in_process.in_process {
        let without = session.command(&format!("rollback {}", target.words()), &target.namespace);
        refuse_beside_running_operator(session, &args.in_process, target, &without).await?;
    }
    if args.dry_run {
        return Ok(None);
    }
    let what = format!("roll {} back to {}", session.place(&target.reference()), build.revision);
    let context = session.cluster.endpoint.context.as_deref();
    confirm(shell, &args.confirm, context, &what, Agreement::Yes).await?;
    Ok(Some((live, build)))
}

/// Returns the selected build: the one named by `to`, or the newest one other than the last attempt.
fn choose(builds: &[KeptBuild], instance: &FluxInstance, to: Option<&str>) -> Result<KeptBuild, String> {
    let attempted = instance.status.as_ref().and_then(|status| status.last_attempted_revision.as_deref());
    let found = match to {
        None => builds.iter().find(|build| Some(build.revision.as_str()) != attempted),
        Some(to) => builds.iter().find(|build| {
            let (version, digest) = build.revision.split_once('@').unwrap_or((&build.revision, ""));
            let hex = digest.trim_start_matches("sha256:");
            build.revision == to
                || version.trim_start_matches('v') == to.trim_start_matches('v')
                || digest == to
                || (to.len() >= 6 && hex.starts_with(to))
        }),
    };
    found.cloned().ok_or_else(|| match to {
        Some(to) => format!("no revision {to} that was ready is kept"),
        None => "no other revision that was ready is kept".to_owned(),
    })
}

/// Writes the earlier spec, unless someone wrote the instance in the meantime.
async fn store(session: &Session<'_>, target: &Target, live: &Value, build: &KeptBuild) -> Result<Value, CliError> {
    let patch = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": live.pointer("/metadata/resourceVersion")},
        {"op": "replace", "path": "/spec", "value": build.spec},
    ]);
    let id = target.id();
    let stored = session.cluster.json_patch(&id, &patch, CLI_FIELD_MANAGER);
    let stored = session.bounded(&format!("roll back {}", target.reference()), stored).await?;
    session.shell.status(&format!("► {} has the spec of {}", session.place(&target.reference()), build.revision));
    Ok(stored)
}

/// Does the operator's work in this process; the run itself writes the earlier spec, under the lease.
async fn reconcile_in_process(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    live: &Value,
    build: &KeptBuild,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    let distribution = DistributionArgs::default();
    let distributions = shell.interruptible(distribution.open(shell)).await?;
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    let again = format!("{without} --in-process");
    let request = RunRequest {
        session,
        mode: args.progress.progress,
        target,
        verb: "roll back",
        again: &again,
        without: &without,
    };
    let mut options = run_in_process::options(&args.in_process, &distribution);
    options.wait = args.wait.wait;
    let mut request_patch = reconcile_patch(&token(jiff::Timestamp::now()), false, false);
    let spec =
        serde_json::to_value(&build.spec).map_err(|e| CliError::failed("cannot write the spec").caused_by(&e))?;
    if let Some(change) = live.get("spec").and_then(|before| merge_diff(before, &spec)) {
        request_patch["spec"] = change;
    }
    options.request = Some(request_patch);
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::run(cluster, &target.id(), distributions.as_ref(), options, listener).await
    };
    reconcile_here(&request, options, &args.confirm, work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_named_whole_by_version_or_by_the_beginning_of_its_digest() {
        let build = |revision: &str| KeptBuild {
            revision: revision.to_owned(),
            spec: Default::default(),
            ready: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let builds = [build("v2.9.4@sha256:aaaaaaaa"), build("v2.8.8@sha256:bbbbbbbb")];
        let mut instance = FluxInstance::new("flux", Default::default());
        let chosen =
            |instance: &FluxInstance, to: Option<&str>| choose(&builds, instance, to).map(|build| build.revision);
        for to in ["v2.8.8@sha256:bbbbbbbb", "v2.8.8", "2.8.8", "sha256:bbbbbbbb", "bbbbbb"] {
            assert_eq!(chosen(&instance, Some(to)).as_deref(), Ok("v2.8.8@sha256:bbbbbbbb"), "{to}");
        }
        assert!(chosen(&instance, Some("2.7.0")).is_err());
        instance.status = Some(flux_operator::api::FluxInstanceStatus {
            last_attempted_revision: Some("v2.9.4@sha256:aaaaaaaa".to_owned()),
            ..Default::default()
        });
        assert_eq!(chosen(&instance, None).as_deref(), Ok("v2.8.8@sha256:bbbbbbbb"));
    }
}
