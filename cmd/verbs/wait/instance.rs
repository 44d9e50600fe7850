//! `wait instance`: waits until a FluxInstance is ready, or deleted.

use flux_operator::inspect::components;
use flux_operator::inspect::read::from_cluster;

use super::{For, ForArgs};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Wait until a FluxInstance is ready
///
/// Ends with 0 when Ready is True at the current generation, and with 7 when the
/// instance reports failure or the time is up.
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

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        let target = session.instance(&args.name);
        let exit = super::follow(&session, vec![target.clone()], &args.until, args.progress.progress).await?;
        if args.until.until == For::Ready && !args.until.watch {
            find_missing_controllers(&session, &target).await?;
        }
        Ok(exit)
    })
}

/// Finds deleted controllers, because an instance's Ready is about its last run.
async fn find_missing_controllers(session: &Session<'_>, target: &Target) -> Result<(), CliError> {
    let resource = target.kind.resource_type();
    let missing = from_cluster::collect(&session.cluster, |snapshot| {
        let instance = snapshot.get(&resource, Some(&target.namespace), &target.name);
        // Requested together with the instance.
        let _ = components::deployments(snapshot, Some(&target.namespace));
        instance.map(|instance| components::missing(snapshot, instance)).unwrap_or_default()
    });
    let missing = session.bounded(&format!("look at the controllers of {}", target.reference()), missing).await?.value;
    if missing.is_empty() {
        return Ok(());
    }
    let why = session.command(&format!("why {}", target.words()), &target.namespace);
    Err(CliError::new(Exit::Unhealthy, format!("{} is not well", session.place(&target.reference())))
        .cause(format!("its last run ended well, and since then a Deployment is missing: {}", missing.join(", ")))
        .object(target.reference().to_string())
        .hint(format!("see what to do with `{why}`")))
}
