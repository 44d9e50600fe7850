//! `wait instance`: waits until a FluxInstance is ready, or deleted.

use flux_operator::inspect::diagnose::why::{Why, why};
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::views::components;

use super::{For, ForArgs};
use crate::flows::rights::{
    EXPLAINS, KIND, LOOKS_AT_OPERATOR, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights, always, when,
};
use crate::session::Session;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::target::Target;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Wait until a FluxInstance is ready
///
/// Ends with 0 when Ready is True at the current generation and nothing of it has
/// failed since, and with 7 when something fails or the time is up.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Wait for at most two minutes\n  \
    flux-operator -n flux-system wait instance flux --timeout 2m\n\n  \
    # Wait for somebody to create it\n  \
    flux-operator -n flux-system wait instance flux --for=create\n\n  \
    # Look on for a while\n  \
    flux-operator -n flux-system wait instance flux --watch --timeout 10m")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub until: ForArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    rights.instance(&args.name, super::WAITS);
    rights.instance(&args.name, &[always("get", KIND)]);
    rights.in_namespace(
        &rights.flux_namespace(),
        &[always("list", "deployments"), when("a controller is missing", "list", "pods")],
    );
    rights.everywhere(EXPLAINS);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
    rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        let target = session.instance(&args.name);
        let exit = super::follow(&session, vec![target.clone()], &args.until, args.progress.progress).await?;
        if args.until.until == For::Ready && !args.until.watch {
            judge(&session, &target).await?;
        }
        Ok(exit)
    })
}

/// An instance says Ready of its last run: whether it still is well is judged as `why` judges it.
async fn judge(session: &Session<'_>, target: &Target) -> Result<(), CliError> {
    let resource = target.kind.resource_type();
    let now = jiff::Timestamp::now();
    let judged = from_cluster::collect(&session.cluster, |snapshot| {
        // Requested together with the instance.
        let _ = components::deployments(snapshot, Some(&target.namespace));
        snapshot.get(&resource, Some(&target.namespace), &target.name).map(|instance| why(snapshot, instance, now))
    });
    let judged = session.bounded(&format!("look at the controllers of {}", target.reference()), judged).await?.value;
    let Some(Why { verdict, cause: Some(cause), .. }) = judged else { return Ok(()) };
    let exit = exit_of(verdict, VerdictUse::Wait);
    if exit == Exit::Done {
        return Ok(());
    }
    let why = session.command(&format!("why {}", target.words()), &target.namespace);
    Err(CliError::new(exit, format!("{} is {}", session.place(&target.reference()), verdict.as_str()))
        .cause(format!("its last reconciliation succeeded, and since then: {} ({})", cause.summary, cause.object))
        .object(target.reference())
        .hint(format!("see what to do with `{why}`")))
}
