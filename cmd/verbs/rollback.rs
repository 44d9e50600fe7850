//! `rollback`: gives a FluxInstance the spec of an earlier ready revision, after showing the changes.

use flux_operator::api::FluxInstance;
use flux_operator::build::check_downgrade;
use flux_operator::reconcile::{KeptBuild, NewSpec, kept_builds};
use serde_json::Value;

use crate::args::objects::InstanceNameArgs;
use crate::args::{PreviewArgs, WaitArgs};
use crate::flows::change_spec::{self, Reconciler, SpecChange};
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs};
use crate::flows::version_change::{FINDS_PROBLEMS, lines, warn_of_problems};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Roll back Flux to a revision that was ready before
///
/// Restores the spec from which that revision was built: the exact version instead of a range, and the patches of that
/// time. Shows the changes first. The last five revisions that became ready are kept; `get history` lists them. Flux
/// does not migrate stored objects backwards: an older minor version is refused if its CRDs lack a version at which
/// objects are stored. Fields that the older version lacks are listed before the rollback.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Back to the previous ready revision\n  \
    flux-operator rollback instance\n\n  \
    # Back to one of the revisions of `get history`, without asking\n  \
    flux-operator rollback instance --to v2.8.8 --yes\n\n  \
    # Only show what that would change\n  \
    flux-operator rollback instance --dry-run")]
pub struct Args {
    #[command(flatten)]
    pub instance: InstanceNameArgs,
    /// Revision, version, or beginning of a digest to roll back to
    #[arg(long, value_name = "REVISION")]
    pub to: Option<String>,
    #[command(flatten)]
    pub dry_run: PreviewArgs,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let name = args.instance.name("rollback")?;
    let namespace = rights.flux_namespace();
    rights.everywhere(COMPARES_CLUSTER);
    rights.in_namespace(&namespace, COMPARES_NAMESPACE);
    rights.in_namespace(&namespace, &[always("list", "controllerrevisions.apps")]);
    rights.everywhere(FINDS_PROBLEMS);
    rights.everywhere(FINDS_OPERATOR);
    rights.instance(name, &[always("get patch", KIND)]);
    if args.in_process.in_process {
        rights.run_in_process();
    } else if args.wait.wait {
        rights.instance(name, FOLLOWS);
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let name = args.instance.name("rollback")?;
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(name);
        let prepared = shell.interruptible(prepare(args, &session, &target)).await?;
        let Some((live, instance, build, reconciler)) = prepared else { return Ok(Exit::Done) };
        let says = format!("has the spec of {}", build.revision);
        let new = new_spec(&instance, &build);
        change(args).carry_out(&session, &target, &live, new, &says, reconciler).await
    })?
}

fn change(args: &Args) -> SpecChange<'_> {
    SpecChange {
        in_process: &args.in_process,
        confirm: &args.confirm,
        mode: args.progress.progress,
        wait: args.wait.wait,
        verb: "roll back",
    }
}

/// Shows the changes of the rollback and asks for confirmation. Returns `None` if nothing changes, or for a dry run.
async fn prepare(
    args: &Args,
    session: &Session<'_>,
    target: &Target,
) -> Result<Option<(Value, FluxInstance, KeptBuild, Reconciler)>, CliError> {
    let shell = session.shell;
    let (live, instance) = change_spec::read(session, target).await?;
    let builds = kept_builds(&session.cluster, &target.namespace).await.map_err(|error| cli_error(&error))?;
    let build = choose(&builds, &instance, args.to.as_deref()).map_err(|why| {
        let known: Vec<&str> = builds.iter().map(|build| build.revision.as_str()).collect();
        let error = CliError::new(Exit::NotFound, format!("cannot roll {} back", session.place(&target.reference())))
            .cause(why)
            .object(target.reference());
        match known.is_empty() {
            true => error.hint("revisions are kept only once a run of this program has made them ready"),
            false => error.hint(format!("these revisions are kept: {}", known.join(", "))),
        }
    })?;
    let mode = args.progress.progress;
    let new = new_spec(&instance, &build);
    let plan = run_in_process::plan_with_spec(session, target, new, &DistributionArgs::default(), mode).await?;
    for line in lines(&instance, &build.spec, &plan) {
        shell.status(&line);
    }
    warn_of_problems(session, &live, &plan).await?;
    if instance.spec == build.spec && !plan.has_changes() {
        return Ok(None);
    }
    let what = format!("roll {} back to {}", session.place(&target.reference()), build.revision);
    let to = args.to.as_deref().map(|to| format!(" --to {to}")).unwrap_or_default();
    let words = format!("rollback {}{to}", target.words());
    let agreed = change(args).agree(session, target, &plan, &words, &what, args.dry_run.is_set()).await?;
    Ok(agreed.map(|reconciler| (live, instance, build, reconciler)))
}

/// The spec of a build, which may be of an older minor version.
fn new_spec<'a>(instance: &FluxInstance, build: &'a KeptBuild) -> NewSpec<'a> {
    let installed = instance.status.as_ref().and_then(|status| status.last_applied_revision.as_deref());
    // The operator refuses an older minor version unless the instance names exactly that version.
    let is_older = check_downgrade(installed.unwrap_or_default(), build.version()).is_err();
    NewSpec { spec: &build.spec, older_minor: is_older.then(|| build.version()) }
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
        None => "the cluster keeps no earlier revision that was ready".to_owned(),
    })
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
