//! `apply instance --plan`: carries out a saved plan exactly.

use std::path::Path;

use flux_operator::cluster::Cluster;
use flux_operator::reconcile::{self, RunOptions};

use crate::flows::run_in_process;
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs, Listener, RunRequest, reconcile_here};
use crate::flows::saved_plan::PlanFile;
use crate::session::Session;
use crate::session::target::{Target, instance_kind};
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Flags that a saved plan leaves open.
pub struct PlannedArgs<'a> {
    /// The file of the plan.
    pub file: &'a Path,
    pub force_conflicts: bool,
    pub confirm: &'a ConfirmArgs,
    pub in_process: &'a InProcessArgs,
    pub progress: &'a ProgressArgs,
}

pub fn run(args: &PlannedArgs<'_>, shell: &Shell) -> Result<Exit, CliError> {
    let PlanFile { saved, cluster, endpoint, .. } = shell.run(PlanFile::read(args.file, shell))?;
    let instance = &saved.plan.instance;
    let target = Target { kind: instance_kind(), namespace: instance.namespace.clone(), name: instance.name.clone() };
    if let Some(other) = shell.global().namespace.as_ref().filter(|n| **n != target.namespace) {
        return Err(CliError::usage(format!("the plan is for namespace {}, not {other}", target.namespace)));
    }
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        if let Some(planned) = &cluster {
            shell.interruptible(refuse_other_cluster(&session, planned, endpoint.as_deref())).await?;
        }
        let again =
            session.command(&format!("plan {} --out {}", target.words(), args.file.display()), &target.namespace);
        let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
        let request = RunRequest {
            session: &session,
            mode: args.progress.progress,
            target: &target,
            verb: "apply",
            again: &again,
            without: &without,
        };
        shell.status(&format!("► carrying out the plan for {}", session.place(&target.reference())));
        // The plan holds the objects themselves, so no distribution is opened.
        let options = run_in_process::options(args.in_process, &DistributionArgs::default());
        let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
            reconcile::execute(cluster, &saved, args.force_conflicts, options, listener).await
        };
        reconcile_here(&request, options, args.confirm, work).await
    })?
}

/// Refuses a plan that was made for another cluster. Before its instance exists, only the cluster's UID tells the two
/// apart.
async fn refuse_other_cluster(session: &Session<'_>, planned: &str, endpoint: Option<&str>) -> Result<(), CliError> {
    match session.cluster_uid().await.ok().flatten() {
        Some(uid) if uid != planned => Err(CliError::failed(match endpoint {
            Some(endpoint) => format!("the plan was made for another cluster: {endpoint}"),
            None => "the plan was made for another cluster".to_owned(),
        })
        .cause(format!("its cluster has the UID {planned}, and {} has {uid}", session.cluster.endpoint))
        .hint("choose the cluster of the plan with --context, or plan again for this one")),
        // A UID that cannot be read proves nothing.
        _ => Ok(()),
    }
}
