//! `get instance`: FluxInstances with their version and readiness.

use std::cell::{Cell as Flag, RefCell};
use std::collections::HashMap;

use flux_operator::inspect::diagnose::instance::InstanceRow;
use flux_operator::inspect::diagnose::why::{RowJudge, RowVerdict};
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::components::labels;
use flux_operator::k8s::{ObjectId, fields};
use serde_json::Value;

use crate::args::list::{ListRequest, place, selector, show_list, without_managed_fields};
use crate::flows::rights::{JUDGES_LISTS, Rights};
use crate::output::listing::{Item, Listing, Row, item};
use crate::session::read_source::{INSTALL_HINT, MissingNames, Source, api_missing, instance_type};
use crate::session::target::instance_kind;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::well_known::DEFAULT_NAMESPACE;

use super::Args;
use super::resources::named;

pub fn rights(args: &Args, names: &[&str], rights: &mut Rights) {
    let namespace = rights.scope(args.scope.all_namespaces, DEFAULT_NAMESPACE);
    rights.list(&instance_type(), namespace.as_deref(), names, args.watch);
    if args.output.shows_readiness() {
        rights.everywhere(JUDGES_LISTS);
    }
}

pub fn run(args: &Args, names: &[&str], shell: &Shell) -> Result<Exit, CliError> {
    let selector = selector(args.scope.selector.as_deref())?;
    shell.run(async {
        let source = Source::open(shell, &args.scope.from).await?;
        let kind = instance_type();
        let namespace = match (&source, args.scope.all_namespaces) {
            (_, true) => None,
            (Source::Dump(_, flag), false) => flag.clone(),
            (Source::Cluster(..), false) => Some(source.instance_namespace()),
        };
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![kind.clone()],
            namespace: namespace.clone(),
            single: names.len() == 1 && !args.scope.all_namespaces,
            nothing: format!("no FluxInstance found{}", place(namespace.as_deref())),
        };
        let is_elsewhere = Flag::new(false);
        let missing_names = RefCell::new(MissingNames::of(names.len()));
        let exit = show_list(shell, &source, options, async || {
            let read = async {
                let mut objects = Vec::new();
                if names.is_empty() {
                    let viewed = source
                        .view(shell, |snapshot| {
                            let found =
                                snapshot.list(&kind, namespace.as_deref()).into_iter().cloned().collect::<Vec<_>>();
                            (found, snapshot.is_not_installed(&kind))
                        })
                        .await?;
                    let (found, not_installed) = viewed.or_refusal(|(found, _)| found.is_empty())?;
                    // If Flux is not installed at all, the list reports that instead.
                    if not_installed && !source.is_not_installed(shell).await {
                        return Err(api_missing(&source, &kind.resource_name(), INSTALL_HINT));
                    }
                    objects = found;
                    is_elsewhere.set(objects.is_empty() && namespace.is_some());
                } else {
                    let mut now = MissingNames::of(names.len());
                    for name in names {
                        let found = named(shell, &source, instance_kind(), namespace.as_deref(), name).await;
                        objects.extend(now.found(found)?.into_iter().flatten());
                    }
                    missing_names.replace(now);
                }
                Ok::<_, CliError>(objects)
            };
            // Both reads run concurrently, because neither needs the other.
            let judges = args.output.shows_readiness();
            let judged =
                async { if judges { verdicts(shell, &source, namespace.as_deref()).await } else { HashMap::new() } };
            let (objects, mut verdicts) = futures::join!(read, judged);
            let mut objects = objects?;
            objects.retain(|o| selector.as_ref().is_none_or(|s| s.matches_object(o)));
            let items = objects.into_iter().map(|object| {
                let verdict = verdicts.remove(&ObjectId::of(&object));
                row(object, verdict)
            });
            let items = items.collect();
            Ok(Listing { kind: "List", columns: InstanceRow::COLUMNS.to_vec(), items })
        })
        .await?;
        // After the rows that exist.
        if is_elsewhere.get() {
            hint_elsewhere(shell, &source).await?;
        }
        missing_names.into_inner().report(shell, exit)
    })
}

/// Judges the instances of a namespace (or all) as `why` does. Empty if that cannot be read: the rows are worth showing
/// without a verdict.
async fn verdicts(shell: &Shell, source: &Source<'_>, namespace: Option<&str>) -> HashMap<ObjectId, RowVerdict> {
    let (now, kind) = (source.now(), instance_kind());
    let judge = |snapshot: &Snapshot| -> HashMap<ObjectId, RowVerdict> {
        let mut judge = RowJudge::new(snapshot, &[kind], namespace, now);
        let instances = snapshot.list(&kind.resource_type(), namespace).into_iter();
        instances.filter_map(|instance| Some((ObjectId::of(instance), judge.object(kind, instance)?))).collect()
    };
    source.view(shell, judge).await.map(|viewed| viewed.value).unwrap_or_default()
}

fn row(object: Value, verdict: Option<RowVerdict>) -> Item {
    let mut item = item(&InstanceRow::of(&object).judged(verdict));
    item.labels = labels(&object);
    item.value = without_managed_fields(object);
    item
}

/// Lists the namespaces that have an instance if the current one has none.
pub async fn hint_elsewhere(shell: &Shell, source: &Source<'_>) -> Result<(), CliError> {
    let namespaces = source
        .view(shell, |snapshot| {
            let all = snapshot.list(&instance_type(), None);
            all.into_iter().filter_map(fields::namespace).map(str::to_owned).collect::<Vec<_>>()
        })
        .await?
        .value;
    if !namespaces.is_empty() {
        shell.hint(&format!(
            "there is one in namespace {}; choose it with -n, or list all with -A",
            namespaces.join(", ")
        ));
    }
    Ok(())
}
