//! `stats`: counts Flux objects by kind and state.

use std::cell::Cell;

use crate::args::list::{ListRequest, place, show_list};
use crate::flows::rights::{EXPLAINS, KIND, LOOKS_AT_OPERATOR, Rights, always};
use crate::output::listing::{Listing, listing};
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{FromArgs, Source};
use crate::terminal::output_format::{Format, OutputArgs, no_names};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::incident::report;
use flux_operator::inspect::read::snapshot::Snapshot;

/// Count Flux objects by kind: running, failing, suspended, storage
///
/// Counts live objects in all namespaces, or in the namespace of -n, without a
/// FluxReport. RUNNING counts all objects that are not suspended: the sum of
/// READY, FAILING, IN PROGRESS and NOT STARTED, by the same rules as `why` and
/// `status`.
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

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.listed(args.all_namespaces);
    rights.flux_kinds(namespace.as_deref(), |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
    rights.everywhere(EXPLAINS);
    rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if matches!(args.output.output, Format::Name) {
        return Err(no_names());
    }
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let namespace = source.listed_namespace(args.all_namespaces);
        let options = ListRequest {
            output: &args.output,
            watch: false,
            kinds: vec![],
            // The rows are sums of kinds, so the column of namespaces is left out.
            namespace: Some(String::new()),
            single: false,
            nothing: format!("no Flux resources found{}", place(namespace.as_deref())),
        };
        let verdict = Cell::new(HealthVerdict::Ready);
        let exit = show_list(shell, &source, options, async || {
            let now = source.now();
            let view = |snapshot: &Snapshot| report::stats_by_health(snapshot, namespace.as_deref(), now);
            let viewed = source.view(shell, view).await?.unless_blind(|(_, rows)| rows.is_empty())?;
            let (found, rows) = viewed.with_warnings(shell);
            verdict.set(found);
            let listing: Listing = listing(&rows);
            Ok(listing)
        })
        .await?;
        Ok(if exit == Exit::Done { exit_of(verdict.get(), VerdictUse::List) } else { exit })
    })
}
