//! `events [KIND[/NAME]]`: what happened to Flux objects.

use flux_operator::api::kinds::{self, EVENT};
use flux_operator::inspect::events::{self, EventRow, Filter};
use flux_operator::k8s::ObjectId;

use crate::common::args::{When, unknown_kind};
use crate::common::list::{ListRequest, place, show_list, without_managed_fields};
use crate::common::read_source::{FromArgs, Source};
use crate::render::listing::{Listing, Row, item};
use crate::shell::output::OutputArgs;
use crate::shell::{CliError, Exit, Shell};

/// Show what happened to Flux objects, oldest first
///
/// With KIND/NAME also the events of the source it refers to, wherever that is.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything about Flux in the namespace\n  \
    flux-operator -n flux-system events\n\n  \
    # One object and its source, warnings only\n  \
    flux-operator -n apps events kustomization/podinfo --types Warning\n\n  \
    # What happened lately, anywhere\n  \
    flux-operator events -A --since 10m\n\n  \
    # Follow all namespaces\n  \
    flux-operator events -A -w")]
pub struct Args {
    /// KIND or KIND/NAME; all Flux kinds without
    #[arg(value_name = "RESOURCE", add = crate::common::complete::resources())]
    pub resource: Option<String>,
    /// The same as the argument, as flux spells it
    #[arg(long = "for", value_name = "RESOURCE", conflicts_with = "resource", hide_short_help = true, add = crate::common::complete::resources())]
    pub for_resource: Option<String>,
    /// Keep events of these types: Normal, Warning
    #[arg(long, value_name = "TYPE", value_delimiter = ',', ignore_case = true, value_parser = ["Normal", "Warning"])]
    pub types: Vec<String>,
    /// Keep events since then: 10m, 2h, 3d, or in UTC 18:00, 2026-11-22 or
    /// 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,
    /// Show events of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Go on and show new events
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resource.as_deref().or(args.for_resource.as_deref());
    let (kind, name) = match wanted.map(|w| w.split_once('/').unwrap_or((w, ""))) {
        Some((word, name)) => {
            let kind = kinds::find_resource_type(word).ok_or_else(|| unknown_kind(word))?;
            (Some(kind), Some(name).filter(|n| !n.is_empty()))
        }
        None => (None, None),
    };
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = match &kind {
            _ if args.all_namespaces => None,
            Some(kind) => source.namespace_of(kind),
            None => source.namespace("default"),
        };
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![EVENT],
            namespace: namespace.clone(),
            single: false,
            nothing: match wanted {
                Some(wanted) => format!("no events of {wanted}{}", place(namespace.as_deref())),
                None => format!("no events of Flux objects{}", place(namespace.as_deref())),
            },
        };
        show_list(shell, &source, options, async || {
            let since = args.since.and_then(|since| since.before(source.now()));
            let mut filter = Filter { types: args.types.clone(), since, ..Filter::default() };
            if let Some(kind) = &kind {
                match name {
                    // An object that is gone may have left events; one that is there also names its source.
                    Some(name) => match source.object(shell, kind, namespace.as_deref(), name).await {
                        Ok(object) => filter.objects = events::related(&object),
                        Err(error) if error.exit() == Exit::NotFound => {
                            let reference = ObjectId::new(&kind.group, &kind.kind, namespace.as_deref(), name);
                            let left = Filter { objects: vec![reference], ..filter.clone() };
                            let count =
                                source.view(shell, |s| events::rows(s, namespace.as_deref(), &left).len()).await?;
                            if count.value == 0 {
                                return Err(error);
                            }
                            filter = left;
                        }
                        Err(error) => return Err(error),
                    },
                    None => filter.kinds = vec![kind.kind.to_string()],
                }
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
        .await
    })
}
