//! `events [KIND[/NAME…]]`: shows events about Flux objects.

use std::cell::RefCell;

use flux_operator::api::kinds::{self, EVENT};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::inspect::views::events;
use flux_operator::inspect::views::events::{EventFilter, EventRow};
use flux_operator::k8s::{ObjectId, ResourceType};

use crate::args::PointInTime;
use crate::args::list::{ListRequest, place, show_list, without_managed_fields};
use crate::args::objects::unknown_kind;
use crate::flows::rights::{Rights, read_words};
use crate::output::listing::{Listing, Row, item};
use crate::session::read_source::{FromArgs, MissingNames, Source};
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show what happened to Flux objects, oldest first
///
/// With KIND/NAME, also shows the events of the object's source, in any
/// namespace.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything about Flux in the namespace\n  \
    flux-operator -n flux-system events\n\n  \
    # One object and its source, warnings only\n  \
    flux-operator -n apps events kustomization/podinfo --types Warning\n\n  \
    # Recent events in all namespaces\n  \
    flux-operator events -A --since 10m\n\n  \
    # Follow all namespaces\n  \
    flux-operator events -A -w")]
pub struct Args {
    /// KIND, KIND NAME… or KIND/NAME… [default: all Flux kinds]
    #[arg(value_name = "RESOURCE", add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// Same as the argument, for compatibility with flux
    #[arg(long = "for", value_name = "RESOURCE", conflicts_with = "resource", hide_short_help = true, add = crate::args::complete::resources())]
    pub for_resource: Option<String>,
    /// Only events of these types: Normal, Warning
    #[arg(long, value_name = "TYPE", value_delimiter = ',', ignore_case = true, value_parser = ["Normal", "Warning"])]
    pub types: Vec<String>,
    /// Only events since this time: 10m, 2h, 3d, or a UTC time like 18:00,
    /// 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME")]
    pub since: Option<PointInTime>,
    /// Show events of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep watching and print new events
    #[arg(short, long)]
    pub watch: bool,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.listed(args.all_namespaces);
    rights.list(&EVENT, namespace.as_deref(), &[], args.watch);
    read_words(rights, &args.resource)
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let words: Vec<String> = args.resource.iter().chain(&args.for_resource).cloned().collect();
    let kind = |word: &str| kinds::find_resource_type(word).ok_or_else(|| unknown_kind(word));
    let (kinds, objects) = match ObjectWords::read(&words)? {
        ObjectWords::Kinds(words) => (words.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?, vec![]),
        ObjectWords::Objects(objects) => {
            let objects: Result<Vec<_>, CliError> =
                objects.into_iter().map(|(word, name)| Ok((kind(word)?, name))).collect();
            (vec![], objects?)
        }
    };
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = match objects.first() {
            Some((kind, _)) if !args.all_namespaces => source.namespace_of(kind),
            _ => source.listed_namespace(args.all_namespaces),
        };
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![EVENT],
            namespace: namespace.clone(),
            single: false,
            nothing: match words.as_slice() {
                [] => format!("no events of Flux objects{}", place(namespace.as_deref())),
                words => format!("no events of {}{}", words.join(" "), place(namespace.as_deref())),
            },
        };
        let missing_names = RefCell::new(MissingNames::of(objects.len()));
        let exit = show_list(shell, &source, options, async || {
            let since = args.since.and_then(|since| since.before(source.now()));
            let mut filter = EventFilter { types: args.types.clone(), since, ..EventFilter::default() };
            filter.kinds = kinds.iter().map(|kind| kind.kind.to_string()).collect();
            let mut now = MissingNames::of(objects.len());
            for (kind, name) in &objects {
                let related = related(shell, &source, kind, namespace.as_deref(), name, &filter).await;
                filter.objects.extend(now.found(related)?.into_iter().flatten());
            }
            missing_names.replace(now);
            // A filter without objects would let every event pass.
            if filter.objects.is_empty() && !objects.is_empty() {
                return Ok(Listing { kind: "List", columns: EventRow::COLUMNS.to_vec(), items: vec![] });
            }
            let viewed = source
                .view(shell, |snapshot| {
                    let rows = events::rows(snapshot, namespace.as_deref(), &filter);
                    rows.into_iter().map(|(row, event)| (row, event.clone())).collect::<Vec<_>>()
                })
                .await?;
            let rows = viewed.or_refusal(Vec::is_empty)?;
            let items = rows.into_iter().map(|(row, event)| {
                let mut item = item(&row);
                item.value = without_managed_fields(event);
                item
            });
            Ok(Listing { kind: "List", columns: EventRow::COLUMNS.to_vec(), items: items.collect() })
        })
        .await?;
        missing_names.into_inner().report(shell, exit)
    })
}

/// Returns the named object and its source. A deleted object may have left events.
async fn related(
    shell: &Shell,
    source: &Source<'_>,
    kind: &ResourceType,
    namespace: Option<&str>,
    name: &str,
    filter: &EventFilter,
) -> Result<Vec<ObjectId>, CliError> {
    let missing = match source.object(shell, kind, namespace, name).await {
        Ok(object) => return Ok(events::related(&object)),
        Err(error) if error.exit() == Exit::NotFound => error,
        Err(error) => return Err(error),
    };
    let gone = vec![ObjectId::new(&kind.group, &kind.kind, namespace, name)];
    let left = EventFilter { objects: gone.clone(), ..filter.clone() };
    match source.view(shell, |snapshot| events::rows(snapshot, namespace, &left).len()).await?.value {
        0 => Err(missing),
        _ => Ok(gone),
    }
}
