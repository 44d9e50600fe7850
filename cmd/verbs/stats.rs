//! `stats`: counts Flux objects by kind and state.

use flux_operator::inspect::read::pages;
use flux_operator::inspect::read::pages::{Listed, Scope};
use flux_operator::inspect::report::{self, StatsRow};

use crate::args::list::{ListRequest, place, show_list};
use crate::output::listing::{Listing, listing};
use crate::session::connect::cli_error;
use crate::session::read_source::{FromArgs, Source, Viewed};
use crate::terminal::output_format::{Format, OutputArgs, no_names};
use crate::terminal::{CliError, Exit, Shell};

/// Count Flux objects by kind: running, failing, suspended, storage
///
/// Counted live in all namespaces, or in the one of -n; no report is needed. RUNNING counts all objects that are not
/// suspended. An object that waits for a dependency counts in WAITING and not in FAILING; both together are what `get
/// all -A --ready-status False` lists.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The whole cluster\n  \
    flux-operator stats\n\n  \
    # Kinds with failures\n  \
    flux-operator stats --filter failing!=0\n\n  \
    # One namespace, as JSON\n  \
    flux-operator -n apps stats -o json")]
pub struct Args {
    /// Count in all namespaces (the default without -n)
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if matches!(args.output.output, Format::Name) {
        return Err(no_names());
    }
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let namespace = shell.global().namespace().map(str::to_owned).filter(|_| !args.all_namespaces);
        let options = ListRequest {
            output: &args.output,
            watch: false,
            kinds: vec![],
            namespace: Some(String::new()),
            single: false,
            nothing: format!("no Flux resources found{}", place(namespace.as_deref())),
        };
        show_list(shell, &source, options, async || {
            let rows = match &source {
                Source::Dump(snapshot, _) => report::stats(snapshot, namespace.as_deref(), false),
                Source::Cluster(session) => {
                    let scope = Scope { namespace: namespace.clone(), selector: None };
                    let counted = pages::count(&session.cluster, &scope, |_, _| ()).await.map_err(|e| cli_error(&e))?;
                    let (mut rows, listed): (Vec<StatsRow>, Vec<Listed>) = counted.into_iter().unzip();
                    rows.retain(|row| row.running + row.suspended > 0);
                    let denied = listed.into_iter().filter_map(|one| match one {
                        Listed::Denied(error) => Some(*error),
                        _ => None,
                    });
                    Viewed { value: rows, refusals: denied.collect() }.unless_blind(Vec::is_empty)?.with_warnings(shell)
                }
            };
            let listing: Listing = listing(&rows);
            Ok(listing)
        })
        .await
    })
}
