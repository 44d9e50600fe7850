//! `get suspended`: suspended objects, with time, author, reason and planned end.

use flux_operator::inspect::views::suspended;

use crate::args::list::{ListRequest, labelled, place, selector, show_list};
use crate::args::objects::kind as parse_kind;
use crate::flows::rights::{Rights, when};
use crate::output::listing::listing;
use crate::session::read_source::{ScopeArgs, Source};
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::kinds::{FluxKind, Suspension};

/// Show suspended objects: since when, by whom, why, until when
///
/// REASON and UNTIL come from `suspend --reason --until`, stored in the annotations
/// fluxcd.controlplane.io/suspendReason and suspendUntil. SINCE and BY come from the managed fields that the API server
/// records.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything that is suspended, in all namespaces\n  \
    flux-operator get suspended -A\n\n  \
    # Objects whose planned end of suspension has passed\n  \
    flux-operator get suspended -A -o jsonpath='{.items[?(@.overdue==true)].name}'\n\n  \
    # Resume these objects\n  \
    flux-operator resume --overdue -A")]
pub struct Args {
    /// Kinds to show [default: all]
    #[arg(value_name = "KIND", value_delimiter = ',', add = crate::args::complete::kinds())]
    pub kinds: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.listed(args.scope.all_namespaces);
    for kind in kinds_of(&args.kinds)?.into_iter().filter(|kind| kind.suspension != Suspension::None) {
        rights.list(&kind.resource_type(), namespace.as_deref(), &[], args.watch);
    }
    rights.everywhere(&[when("nothing is suspended", "list", "deployments fluxinstances")]);
    Ok(())
}

fn kinds_of(words: &[String]) -> Result<Vec<&'static FluxKind>, CliError> {
    let kinds = words.iter().map(|word| parse_kind(word)).collect::<Result<Vec<_>, _>>()?;
    Ok(if kinds.is_empty() { suspended::all_kinds() } else { kinds })
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let selector = selector(args.scope.selector.as_deref())?;
    let kinds = kinds_of(&args.kinds)?;
    shell.run(async {
        let source = Source::open(shell, &args.scope.from).await?;
        let namespace = source.listed_namespace(args.scope.all_namespaces);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: kinds.iter().map(|kind| kind.resource_type()).collect(),
            namespace: namespace.clone(),
            single: false,
            nothing: format!(
                "nothing is suspended{}{}",
                place(namespace.as_deref()),
                labelled(args.scope.selector.as_deref())
            ),
        };
        show_list(shell, &source, options, async || {
            let view =
                |snapshot: &_| suspended::rows(snapshot, &kinds, namespace.as_deref(), selector.as_ref(), source.now());
            let viewed = source.view(shell, view).await?.unless_blind(Vec::is_empty)?;
            // A watch already warns, and only once, of kinds that it may not read.
            let rows = if args.watch { viewed.value } else { viewed.with_warnings(shell) };
            Ok(listing(&rows))
        })
        .await
    })
}
