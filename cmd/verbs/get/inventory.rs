//! `get inventory`: the objects that an instance applied, with their state.

use flux_operator::inspect::inventory;

use crate::args::list::{ListRequest, show_list};
use crate::flows::desired::desired_objects;
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, instance_type};
use crate::session::registries::SourceArgs;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show what an instance applied, its health and its drift
///
/// DRIFT is `drifted` when fields differ from what the instance builds (-o wide
/// names them), `documentation` when only the wording of a definition does, and
/// `missing` when the object is gone.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything the instance consists of\n  \
    flux-operator get inventory\n\n  \
    # What is missing or was edited\n  \
    flux-operator get inventory --filter drift!=no -o wide\n\n  \
    # As one kubectl command line\n  \
    flux-operator get inventory -o name")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Continue and show every change
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run_on_one_thread(async {
        let source = Source::open(shell, &args.from).await?;
        let named = args.source.open_named(shell).await?;
        let namespace = source.instance_namespace();
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![instance_type(), flux_operator::api::kinds::DEPLOYMENT],
            namespace: Some(namespace.clone()),
            single: false,
            nothing: format!("the inventory of fluxinstance/{namespace}/{} is empty", args.name),
        };
        show_list(shell, &source, options, async || {
            let instance = source.object(shell, &instance_type(), Some(&namespace), &args.name).await?;
            let desired = desired_objects(&instance, named.as_ref(), &args.source).await;
            if let Err(why) = &desired {
                shell.hint(&format!("only missing objects are shown as drift: {why}"));
            }
            let desired = desired.as_deref().ok();
            let rows = source.view(shell, |snapshot| inventory::rows(snapshot, &instance, desired)).await?.value;
            Ok(listing(&rows))
        })
        .await
    })
}
