//! `uninstall operator`: removes the operator in order; Flux is removed first, or keeps the operator.

use clap::ArgAction;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::k8s::ObjectId;
use flux_operator::operator::{OperatorUninstallPlan, uninstall_operator, uninstall_operator_plan};
use flux_operator::reconcile::progress::report_retries;
use tokio::time::timeout_at;

use super::instance;
use crate::args::{DryRun, DryRunArgs, WaitArgs};
use crate::flows::operator::{operator_error, warn_of_unserved};
use crate::flows::run_in_process::{InProcessArgs, Listener};
use crate::output::objects;
use crate::session::Session;
use crate::session::target::{Target, instance_kind};
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::progress::{Progress, ProgressArgs};
use crate::terminal::{CliError, Exit, Shell};

/// Uninstall the operator
///
/// First lists the objects to delete and to keep, and asks. The Deployment is deleted first, then the operator's rights
/// and other objects, then definitions without stored objects; the namespace is kept. An operator that reconciles an
/// instance is not removed: uninstall Flux first, or add --with-instance. The next run completes an interrupted one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would go, and what would stay?\n  \
    flux-operator uninstall operator --dry-run\n\n  \
    # Flux and the operator, without questions\n  \
    flux-operator -n flux-system uninstall operator --with-instance --yes")]
pub struct Args {
    /// Uninstall Flux and delete its instance first
    #[arg(long)]
    pub with_instance: bool,
    /// Keep the definitions of the operator's kinds
    #[arg(long)]
    pub keep_crds: bool,
    /// Continue although ResourceSets remain whose finalizer no operator clears
    #[arg(long)]
    pub ignore_resourcesets: bool,
    /// Only show what would be deleted
    #[arg(long, action = ArgAction::SetTrue)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.with_instance {
        for instance in shell.run(instances(args, shell))? {
            instance::run(&instance_args(args, instance), shell)?;
        }
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let namespace = session.namespace_or(DEFAULT_NAMESPACE);
        let key = format!("deployment/{namespace}/flux-operator");
        let look = uninstall_operator_plan(&session.cluster, &namespace, args.keep_crds);
        let plan = shell.while_waiting("answer", timeout_at(session.deadline.instant(), look)).await;
        let plan = plan.map_err(|_| session.out_of_time(&format!("look at {key}")))?;
        let plan = plan.map_err(|error| operator_error(&session, &error, "uninstall", &key))?;
        shell.print(&listing(&session, args, &key, &plan));
        warn_of_unserved(&session, &plan.unserved, &namespace);
        if plan.deletes.is_empty() {
            shell.print(&format!("{key}: there is nothing to uninstall\n"));
            return Ok(Exit::Done);
        }
        let refusal = match args.dry_run && args.with_instance {
            // A dry run has not deleted them.
            true => plan.refusal_beside_instances(args.ignore_resourcesets),
            false => plan.refusal(args.ignore_resourcesets),
        };
        if let Some(refusal) = refusal {
            return Err(operator_error(&session, &refusal, "uninstall", &key));
        }
        if args.dry_run {
            shell.status("(dry run) nothing is deleted");
            return Ok(Exit::Done);
        }
        carry_out(session, args, plan, &key).await
    })
}

async fn carry_out(
    session: Session<'_>,
    args: &Args,
    plan: OperatorUninstallPlan,
    key: &str,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    let question = format!("uninstall {}", session.place(key));
    let context = session.cluster.endpoint.context.as_deref();
    confirm(shell, &args.confirm, context, &question, Agreement::Yes).await?;
    // The user's answer must not count against the time-out.
    let session = session.with_new_deadline();
    let again = session.command("uninstall operator --yes", &session.namespace_or(DEFAULT_NAMESPACE));
    shell.interruption().set("the next run completes it", Some(again));
    let listener = Listener::new(Progress::new(shell, args.progress.progress), key, session.place(key));
    let mut plan = Some(plan);
    let deadline = session.deadline.instant();
    let result = report_retries(&session.cluster, &listener, async |cluster| match plan.take() {
        Some(plan) => uninstall_operator(cluster, plan, args.ignore_resourcesets, deadline, &listener).await,
        None => Ok(vec![]),
    });
    let result = timeout_at(deadline, result).await;
    listener.clear();
    let deleted = result.map_err(|_| session.out_of_time(&format!("uninstall {key}")))?;
    let deleted = deleted.map_err(|error| operator_error(&session, &error, "uninstall", key))?;
    shell.print(&format!("{key}: uninstalled, {} deleted\n", objects(deleted.len())));
    Ok(Exit::Done)
}

/// Returns the instances in the operator's namespace, and whether an operator would uninstall them. None is deleted if
/// the operator itself would be refused afterwards.
async fn instances(args: &Args, shell: &Shell) -> Result<Vec<(ObjectId, bool)>, CliError> {
    let session = Session::open(shell).await?;
    let namespace = session.namespace_or(DEFAULT_NAMESPACE);
    let look = uninstall_operator_plan(&session.cluster, &namespace, true).await;
    let plan = look.map_err(|error| operator_error(&session, &error, "look at", "the operator"))?;
    if let Some(refusal) = plan.refusal_beside_instances(args.ignore_resourcesets) {
        return Err(operator_error(&session, &refusal, "uninstall", &format!("deployment/{namespace}/flux-operator")));
    }
    let mut found = vec![];
    for id in plan.instances {
        let target = Target { kind: instance_kind(), namespace: id.namespace.clone(), name: id.name.clone() };
        let nobody = session.operator_coverage(&target).await?.is_nobody();
        found.push((id, nobody));
    }
    Ok(found)
}

fn instance_args(args: &Args, (instance, nobody): (ObjectId, bool)) -> instance::Args {
    instance::Args {
        name: instance.name,
        in_process: InProcessArgs { in_process: nobody, force_in_process: false },
        keep_crds: false,
        confirm: args.confirm.clone(),
        wait: WaitArgs { wait: true },
        dry_run: DryRunArgs { dry_run: args.dry_run.then_some(DryRun::Client) },
        progress: args.progress.clone(),
    }
}

/// Formats the objects to delete and to keep.
fn listing(session: &Session<'_>, args: &Args, key: &str, plan: &OperatorUninstallPlan) -> String {
    let mut text = format!("{}\n\nGoes:\n", session.place(key));
    for id in &plan.deletes {
        text.push_str(&format!("  {id}\n"));
    }
    text.push_str("\nStays:\n");
    for kept in &plan.keeps {
        text.push_str(&format!("  {}: {}\n", kept.object, kept.reason));
    }
    for instance in &plan.instances {
        let when = if args.with_instance { "is uninstalled first" } else { "has to be uninstalled first" };
        text.push_str(&format!("  {instance}: it {when}\n"));
    }
    text
}
