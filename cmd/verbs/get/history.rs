//! `get history`: the configurations of an instance.

use flux_operator::inspect::instance::history;

use crate::args::list::{ListRequest, show_list};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, instance_type};
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show what an instance reconciled, newest first
///
/// A row per revision and result. TOTAL counts the runs with that result.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Revisions, durations and outcomes\n  \
    flux-operator get history\n\n  \
    # Failures only\n  \
    flux-operator get history --ready-status False\n\n  \
    # From a dump\n  \
    kubectl get fluxinstance -A -o yaml | flux-operator get history --from -")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Continue and show every change
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run_on_one_thread(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.instance_namespace();
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![instance_type()],
            namespace: Some(namespace.clone()),
            single: false,
            nothing: format!("fluxinstance/{namespace}/{} has no history yet", args.name),
        };
        show_list(shell, &source, options, async || {
            let instance = source.object(shell, &instance_type(), Some(&namespace), &args.name).await?;
            Ok(listing(&history(&instance)))
        })
        .await
    })
}
