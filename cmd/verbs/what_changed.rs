//! `what-changed`: recent changes with their authors.

use flux_operator::api::kinds::{EVENT, FLUX_KINDS};
use flux_operator::inspect::changes;

use crate::args::When;
use crate::args::list::{ListRequest, place, show_list};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, warn_of_refusals};
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show who changed what, in the order of time
///
/// Flux objects and all that they applied, from managed fields, histories, events and Helm's releases; of all
/// namespaces unless -n names one. AUTHOR distinguishes Flux and Kubernetes from people and other tools. The API server
/// keeps the last write of each manager, and events for about an hour.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The last two hours\n  \
    flux-operator what-changed\n\n  \
    # What people did since this morning, with the fields\n  \
    flux-operator what-changed --since 2026-11-22T08:00:00Z --filter author=other\n\n  \
    # One namespace, as JSON\n  \
    flux-operator -n apps what-changed --since 30m -o json\n\n  \
    # From a dump somebody sent\n  \
    flux-operator what-changed --from ./dump")]
pub struct Args {
    /// Start time: 30m, 2h, 3d, or in UTC 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub since: When,
    /// All namespaces, whatever -n says
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Continue and show every change
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        // The context's namespace is where the user works, not where changes happen.
        let namespace = shell.global().namespace().filter(|_| !args.all_namespaces).map(str::to_owned);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: FLUX_KINDS.iter().map(|kind| kind.resource_type()).chain([EVENT]).collect(),
            namespace: namespace.clone(),
            single: false,
            nothing: format!("nothing changed since then{}", place(namespace.as_deref())),
        };
        show_list(shell, &source, options, async || {
            let since = args.since.before(source.now()).unwrap_or(jiff::Timestamp::MIN);
            let viewed = source.view(shell, |snapshot| changes::rows(snapshot, namespace.as_deref(), since)).await?;
            warn_of_refusals(shell, &viewed.refusals);
            Ok(listing(&viewed.or_refusal(Vec::is_empty)?))
        })
        .await
    })
}
