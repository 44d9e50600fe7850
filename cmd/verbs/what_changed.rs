//! `what-changed`: recent changes with their authors.

use std::cell::Cell;

use flux_operator::api::field_managers::Author;
use flux_operator::api::kinds::{EVENT, FLUX_KINDS};
use flux_operator::inspect::views::changes;

use crate::args::PointInTime;
use crate::args::list::{ListRequest, place, show_list};
use crate::flows::rights::{KIND, Right, Rights, always};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, warn_of_refusals};
use crate::terminal::output_format::{Format, OutputArgs};
use crate::terminal::{CliError, Exit, Shell};

/// Show who changed what, in chronological order
///
/// Covers Flux objects and all objects that they applied, based on managed
/// fields, histories, events and Helm releases, in all namespaces unless -n
/// names one. The table shows changes by people and other tools; writes by Flux
/// and Kubernetes are counted below it, and shown with --all or a filter. The
/// API server keeps only the last write of each manager, and events for about
/// an hour.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The last two hours\n  \
    flux-operator what-changed\n\n  \
    # Since this morning, including writes by Flux and Kubernetes\n  \
    flux-operator what-changed --since 2026-11-22T08:00:00Z --all\n\n  \
    # One namespace, as JSON\n  \
    flux-operator -n apps what-changed --since 30m -o json\n\n  \
    # From a dump somebody sent\n  \
    flux-operator what-changed --from ./dump")]
pub struct Args {
    /// Start time: 30m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub since: PointInTime,
    /// All namespaces, even if -n names one
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Also show writes by Flux and Kubernetes
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

/// Rights to read objects whose field managers show changes.
const CHANGES: &[Right] = &[
    always("list", "events secrets serviceaccounts services resourcequotas"),
    always("list", "deployments networkpolicies"),
];
/// Rights to read objects without a namespace whose field managers show changes.
const CHANGES_OF_CLUSTER: &[Right] =
    &[always("list", "namespaces customresourcedefinitions"), always("list", "clusterroles clusterrolebindings")];

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.listed(args.all_namespaces);
    let namespace = namespace.as_deref();
    rights.named(namespace, &[], CHANGES);
    if args.all_namespaces {
        rights.everywhere(CHANGES_OF_CLUSTER);
    }
    rights.flux_kinds(namespace, |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
    if args.watch {
        rights.flux_kinds(namespace, |_| true, &[always("list watch", KIND)]);
        rights.named(namespace, &[], &[always("watch", "events")]);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.listed_namespace(args.all_namespaces);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: FLUX_KINDS.iter().map(|kind| kind.resource_type()).chain([EVENT]).collect(),
            namespace: namespace.clone(),
            single: false,
            nothing: format!("nothing changed since then by people or other tools{}", place(namespace.as_deref())),
        };
        // Only an unfiltered table hides the writes of Flux and Kubernetes. Programs and filters get all rows.
        let folds = !args.all && matches!(args.output.output, Format::Table) && args.output.filter.is_empty();
        let folded = Cell::new(0);
        let exit = show_list(shell, &source, options, async || {
            let since = args.since.before(source.now()).unwrap_or(jiff::Timestamp::MIN);
            let viewed = source.view(shell, |snapshot| changes::rows(snapshot, namespace.as_deref(), since)).await?;
            warn_of_refusals(shell, &viewed.refusals);
            let mut rows = viewed.or_refusal(Vec::is_empty)?;
            let all = rows.len();
            rows.retain(|row| !folds || !matches!(row.author, Some(Author::Flux | Author::Kubernetes)));
            folded.set(all - rows.len());
            Ok(listing(&rows))
        })
        .await?;
        if folded.get() > 0 {
            let writes = if folded.get() == 1 { "write" } else { "writes" };
            shell.status(&format!("and {} {writes} by Flux and Kubernetes themselves; --all shows them", folded.get()));
        }
        Ok(exit)
    })
}
