//! `uninstall operator`: removes the operator in order, unless it reconciles an instance.

use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::k8s::ObjectId;
use flux_operator::operator::{OperatorUninstallPlan, uninstall_operator, uninstall_operator_plan};
use flux_operator::reconcile::progress::report_retries;
use tokio::time::timeout_at;

use super::instance;
use crate::args::objects::InstanceNameArgs;
use crate::args::{DryRunArgs, FollowArgs, PreviewArgs, WaitArgs};
use crate::flows::operator::operator_error;
use crate::flows::rights::{FLUX, KIND, Right, Rights, always, when};
use crate::flows::run_in_process::{InProcessArgs, Listener};
use crate::output::objects;
use crate::session::Session;
use crate::session::target::{Target, instance_kind};
use crate::terminal::confirm::{Agreement, ConfirmArgs, check_consent, confirm};
use crate::terminal::progress::{Progress, ProgressArgs};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::operator::OperatorParams;

/// Uninstall the operator
///
/// First lists the objects to delete and to keep, and asks for confirmation. Deletes the Deployment first, then the
/// operator's RBAC and other objects, then CRDs without stored objects; the namespace is kept. An operator that
/// reconciles an instance is not removed: uninstall Flux first, or add --with-instance. Running the command again
/// completes an interrupted run.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # See what would be deleted and what would be kept\n  \
    flux-operator uninstall operator --dry-run\n\n  \
    # Flux and the operator, without confirmation\n  \
    flux-operator -n flux-system uninstall operator --with-instance --yes")]
pub struct Args {
    /// Uninstall Flux and delete its instance first
    #[arg(long)]
    pub with_instance: bool,
    /// Keep the operator's CRDs
    #[arg(long)]
    pub keep_crds: bool,
    #[command(flatten)]
    pub dry_run: PreviewArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.operator(&OperatorParams::new(namespace.as_str(), "image", "version"), UNINSTALLS);
    rights.everywhere(LOOKS);
    rights.in_namespace(&namespace, &[when("a pod is not deleted immediately", "list", "pods")]);
    if args.with_instance {
        rights.instance("flux", &[always("get delete", KIND)]);
        rights.run_in_process();
    }
}

/// Rights on each object of the operator.
const UNINSTALLS: &[Right] = &[
    always("delete", KIND),
    when("the object is read by its name", "get list", KIND),
    when("the command waits for the object", "watch", KIND),
];
/// Rights to look for objects that need the operator.
const LOOKS: &[Right] = &[
    when("the command looks for objects that no operator would reconcile", "list", FLUX),
    always("list", "clusterrolebindings"),
    when(
        "objects that others have installed are compared",
        "get list",
        "clusterroles clusterrolebindings customresourcedefinitions",
    ),
    when("the command looks for an operator in another namespace", "list", "deployments leases"),
];

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.with_instance {
        for instance in shell.run(instances(shell))? {
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
        if !plan.resource_sets.is_empty() {
            let sets = objects(plan.resource_sets.len());
            shell.warn(&format!(
                "kept: {sets} of kind ResourceSet or ResourceSetInputProvider; without an operator, their deletion cannot complete"
            ));
            shell.hint("delete them while the operator runs, or install an operator again");
        }
        if plan.deletes.is_empty() {
            shell.print(&format!("{key}: there is nothing to uninstall\n"));
            return Ok(Exit::Done);
        }
        let refusal = match args.dry_run.is_set() && args.with_instance {
            // A dry run has not deleted the instances.
            true => plan.refusal_beside_instances(),
            false => plan.refusal(),
        };
        if let Some(refusal) = refusal {
            return Err(operator_error(&session, &refusal, "uninstall", &key));
        }
        if args.dry_run.is_set() {
            shell.status("(dry run) nothing is deleted");
            let context = session.cluster.endpoint.context.as_deref();
            return check_consent(shell, &args.confirm, context, &question(&session, &key)).map(|()| Exit::Done);
        }
        carry_out(session, args, plan, &key).await
    })
}

fn question(session: &Session<'_>, key: &str) -> String {
    format!("uninstall {}", session.place(key))
}

async fn carry_out(
    session: Session<'_>,
    args: &Args,
    plan: OperatorUninstallPlan,
    key: &str,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    let context = session.cluster.endpoint.context.as_deref();
    confirm(shell, &args.confirm, context, &question(&session, key), Agreement::Yes).await?;
    // The user's answer must not count against the time-out.
    let session = session.with_new_deadline();
    let again = session.command("uninstall operator --yes", &session.namespace_or(DEFAULT_NAMESPACE));
    shell.interruption().set("the next run completes it", Some(again));
    let listener = Listener::new(Progress::new(shell, args.progress.progress), key, session.place(key));
    let mut plan = Some(plan);
    let deadline = session.deadline.instant();
    let result = report_retries(&session.cluster, &listener, async |cluster| match plan.take() {
        Some(plan) => uninstall_operator(cluster, plan, deadline, &listener).await,
        None => Ok(vec![]),
    });
    let result = timeout_at(deadline, result).await;
    listener.clear();
    let deleted = result.map_err(|_| session.out_of_time(&format!("uninstall {key}")))?;
    let deleted = deleted.map_err(|error| operator_error(&session, &error, "uninstall", key))?;
    shell.print(&format!("{key}: uninstalled, {} deleted\n", objects(deleted.len())));
    Ok(Exit::Done)
}

/// Returns the instances in the operator's namespace, each with whether its operator is missing. Fails if the operator
/// could not be removed afterwards, so that no instance is deleted before a refusal.
async fn instances(shell: &Shell) -> Result<Vec<(ObjectId, bool)>, CliError> {
    let session = Session::open(shell).await?;
    let namespace = session.namespace_or(DEFAULT_NAMESPACE);
    let look = uninstall_operator_plan(&session.cluster, &namespace, true).await;
    let plan = look.map_err(|error| operator_error(&session, &error, "look at", "the operator"))?;
    if let Some(refusal) = plan.refusal_beside_instances() {
        return Err(operator_error(&session, &refusal, "uninstall", &format!("deployment/{namespace}/flux-operator")));
    }
    let mut found = vec![];
    for id in plan.instances {
        let target = Target { kind: instance_kind(), namespace: id.namespace.clone(), name: id.name.clone() };
        let is_operator_missing = session.operator_coverage(&target).await?.is_missing();
        found.push((id, is_operator_missing));
    }
    Ok(found)
}

fn instance_args(args: &Args, (instance, is_operator_missing): (ObjectId, bool)) -> super::Args {
    super::Args {
        command: None,
        instance: InstanceNameArgs { instance: vec![format!("instance/{}", instance.name)] },
        in_process: InProcessArgs { in_process: is_operator_missing, force_in_process: false },
        keep_crds: false,
        // A dry run shows everything before it checks the agreement, which covers the instance and the operator.
        confirm: ConfirmArgs { yes: args.confirm.yes || args.dry_run.is_set(), ..args.confirm.clone() },
        follow: FollowArgs {
            wait: WaitArgs { wait: true },
            dry_run: DryRunArgs { dry_run: args.dry_run.dry_run },
            progress: args.progress.clone(),
        },
    }
}

/// Formats the objects to delete and to keep.
fn listing(session: &Session<'_>, args: &Args, key: &str, plan: &OperatorUninstallPlan) -> String {
    let mut text = format!("{}\n\nWill be deleted:\n", session.place(key));
    for id in &plan.deletes {
        text.push_str(&format!("  {id}\n"));
    }
    text.push_str("\nWill be kept:\n");
    for kept in &plan.keeps {
        text.push_str(&format!("  {}: {}\n", kept.object, kept.reason));
    }
    for instance in &plan.instances {
        let when = if args.with_instance { "is uninstalled first" } else { "has to be uninstalled first" };
        text.push_str(&format!("  {instance}: it {when}\n"));
    }
    text
}
