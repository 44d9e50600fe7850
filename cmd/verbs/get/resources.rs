//! `get resources`: Flux objects of every kind, page by page.

use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

use flux_operator::api::kinds::{FLUX_KINDS, FluxKind};
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::cluster::{Cluster, ClusterError};
use flux_operator::inspect::diagnose::resources::ResourceRow;
use flux_operator::inspect::diagnose::why::{RowJudge, RowVerdict, missing_definitions};
use flux_operator::inspect::read::flux_object::FluxObject;
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::read::pages;
use flux_operator::inspect::read::pages::{ListOutcome, Scope};
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::components::labels;
use flux_operator::k8s::fields;
use flux_operator::k8s::label_selector::LabelSelector;
use jiff::Timestamp;
use serde_json::Value;

use super::{Args, RequestedObjects};
use crate::args::list::{ListRequest, labelled, nothing_found, place, selector, show_list, without_managed_fields};
use crate::flows::rights::{JUDGES_LISTS, Rights};
use crate::output::columns_of_kind::{of_kind, row_of_kind};
use crate::output::listing::{Cell, Column, Item, Listing, Row, item};
use crate::session::connect::cli_error;
use crate::session::read_source::{MissingNames, Source, api_missing, install_hint, within};
use crate::terminal::output_format::ListPrinter;
use crate::terminal::{CliError, Exit, Shell};

/// The kinds to list, in the order of the table of kinds, regardless of the words, without duplicates.
fn listed_kinds(wanted: &RequestedObjects) -> Vec<&'static FluxKind> {
    let is_wanted = |kind: &&FluxKind| wanted.kinds.is_empty() || wanted.kinds.iter().any(|wanted| wanted == kind);
    FLUX_KINDS.iter().filter(is_wanted).collect()
}

pub fn rights(args: &Args, wanted: &RequestedObjects, rights: &mut Rights) {
    let namespace = rights.listed(args.scope.all_namespaces);
    let kinds = if wanted.names.is_empty() { listed_kinds(wanted) } else { vec![] };
    for kind in kinds {
        rights.list(&kind.resource_type(), namespace.as_deref(), &[], args.watch);
    }
    for (kind, name) in &wanted.names {
        rights.list(&kind.resource_type(), namespace.as_deref(), &[name], args.watch);
    }
    if args.output.shows_readiness() {
        rights.everywhere(JUDGES_LISTS);
    }
}

pub fn run(args: &Args, wanted: &RequestedObjects, shell: &Shell) -> Result<Exit, CliError> {
    let listed = listed_kinds(wanted);
    let selector = selector(args.scope.selector.as_deref())?;
    shell.run(async {
        let source = Source::open(shell, &args.scope.from).await?;
        // Lists show every namespace, but a name needs one.
        let namespace = match wanted.names.is_empty() || args.scope.all_namespaces {
            true => source.listed_namespace(args.scope.all_namespaces),
            false => source.namespace(DEFAULT_NAMESPACE),
        };
        let kinds: Vec<_> = match wanted.names.is_empty() {
            true => listed.clone(),
            false => wanted.names.iter().map(|(kind, _)| *kind).collect(),
        };
        let view = View::of(&kinds);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: kinds.iter().map(|k| k.resource_type()).collect(),
            namespace: namespace.clone(),
            single: wanted.names.len() == 1,
            nothing: format!(
                "no Flux resources found{}{}",
                place(namespace.as_deref()),
                labelled(args.scope.selector.as_deref())
            ),
        };
        // Rows are printed as their pages arrive, unless an order, whole objects or a watch needs all of them.
        if let (Source::Cluster(session), true, false, false) =
            (&source, wanted.names.is_empty(), args.output.wants_all(), args.watch)
        {
            let scope = Scope {
                namespace: namespace.clone(),
                selector: args.scope.selector.clone(),
                metadata_only: args.output.wants_names_only(),
            };
            let streamed = stream(shell, &source, &session.cluster, &listed, &scope, &options, view);
            return within(shell, streamed).await?;
        }
        let missing_names = RefCell::new(MissingNames::of(wanted.names.len()));
        let exit = show_list(shell, &source, options, async || {
            let items = if wanted.names.is_empty() {
                all(shell, &source, &listed, namespace.as_deref(), selector.as_ref(), args, view).await?
            } else {
                let (mut found, mut now) = (vec![], MissingNames::of(wanted.names.len()));
                for (kind, name) in &wanted.names {
                    let objects = now.found(named(shell, &source, kind, namespace.as_deref(), name).await)?;
                    found.extend(objects.into_iter().flatten().map(|object| (*kind, object)));
                }
                missing_names.replace(now);
                let verdicts = verdicts(shell, &source, &kinds, namespace.as_deref(), args, &found).await;
                let judged = found.into_iter().zip(verdicts);
                judged.map(|((kind, object), verdict)| row(kind, object, view, verdict)).collect()
            };
            Ok(Listing { kind: "List", columns: view.columns(), items })
        })
        .await?;
        missing_names.into_inner().report(shell, exit)
    })
}

/// Returns the object with a name; in all namespaces every object with that name.
pub(super) async fn named(
    shell: &Shell,
    source: &Source<'_>,
    kind: &'static FluxKind,
    namespace: Option<&str>,
    name: &str,
) -> Result<Vec<Value>, CliError> {
    let resource = kind.resource_type();
    if namespace.is_some() {
        return Ok(vec![source.object(shell, &resource, namespace, name).await?]);
    }
    let view = |snapshot: &Snapshot| -> Vec<Value> {
        let objects = snapshot.list(&resource, None).into_iter();
        objects.filter(|object| fields::name(object) == name).cloned().collect()
    };
    let found = source.view(shell, view).await?.or_refusal(Vec::is_empty)?;
    if found.is_empty() { Err(source.not_found(shell, &resource, None, name).await) } else { Ok(found) }
}

/// The columns of a list: those of its only kind, or the common ones.
#[derive(Clone, Copy)]
struct View(Option<&'static FluxKind>);

impl View {
    fn of(kinds: &[&'static FluxKind]) -> Self {
        let first = kinds.first().copied();
        View(first.filter(|first| kinds.iter().all(|kind| kind == first)))
    }

    fn columns(self) -> Vec<Column> {
        self.0.map_or_else(|| ResourceRow::COLUMNS.to_vec(), of_kind)
    }

    fn row(self, kind: &'static FluxKind, object: FluxObject, verdict: Option<RowVerdict>) -> (ResourceRow, Vec<Cell>) {
        if self.0.is_some() {
            return row_of_kind(kind, object, verdict);
        }
        let row = ResourceRow::new(kind, object).judged(verdict);
        let cells = row.cells();
        (row, cells)
    }
}

/// Reads the objects that the verdicts of a list depend on. Returns `None` if they cannot be read, because the list is
/// useful without verdicts.
async fn reconcilers(cluster: &Cluster, kinds: &[&'static FluxKind], namespace: Option<&str>) -> Option<Snapshot> {
    let now = Timestamp::now();
    let read = from_cluster::collect(cluster, |snapshot| drop(RowJudge::new(snapshot, kinds, namespace, now)));
    read.await.ok().map(|read| read.snapshot)
}

/// The kinds and the namespace of a list, and when it is read.
#[derive(Clone, Copy)]
struct RowScope<'k> {
    kinds: &'k [&'static FluxKind],
    namespace: Option<&'k str>,
    now: Timestamp,
}

impl RowScope<'_> {
    /// Returns the verdicts of rows in their order, and reads the objects that the verdicts depend on. If these objects
    /// cannot be read, the verdicts depend on the objects that are already known.
    async fn verdicts<'r, T>(
        self,
        cluster: &Cluster,
        snapshot: Option<&mut Snapshot>,
        rows: &'r [T],
        judge: impl Fn(&mut RowJudge<'_>, &'r T) -> Option<RowVerdict>,
    ) -> Vec<Option<RowVerdict>> {
        let Some(snapshot) = snapshot else { return vec![None; rows.len()] };
        let view = |snapshot: &Snapshot| {
            RowJudge::rows(snapshot, self.kinds, self.namespace, self.now, rows, |all, row| judge(all, row))
        };
        match from_cluster::collect_more(cluster, snapshot, view).await {
            Ok((verdicts, _)) => verdicts,
            Err(_) => view(snapshot),
        }
    }
}

/// Judges objects that were read, in their order.
async fn verdicts(
    shell: &Shell,
    source: &Source<'_>,
    kinds: &[&'static FluxKind],
    namespace: Option<&str>,
    args: &Args,
    objects: &[(&'static FluxKind, Value)],
) -> Vec<Option<RowVerdict>> {
    let nothing = || vec![None; objects.len()];
    if !args.output.shows_readiness() {
        return nothing();
    }
    let now = source.now();
    let judge = |snapshot: &Snapshot| {
        RowJudge::rows(snapshot, kinds, namespace, now, objects, |judge, (kind, object)| judge.object(kind, object))
    };
    source.view(shell, judge).await.map_or_else(|_| nothing(), |viewed| viewed.value)
}

fn row(kind: &'static FluxKind, object: Value, view: View, verdict: Option<RowVerdict>) -> Item {
    let (row, cells) = view.row(kind, FluxObject::of(&object), verdict);
    let mut item = item(&row);
    item.cells = cells;
    item.labels = labels(&object);
    item.value = without_managed_fields(object);
    item
}

/// Prints whole objects, for formats and orders that need them.
async fn all(
    shell: &Shell,
    source: &Source<'_>,
    kinds: &[&'static FluxKind],
    namespace: Option<&str>,
    selector: Option<&LabelSelector>,
    args: &Args,
    view: View,
) -> Result<Vec<Item>, CliError> {
    let judges = args.output.shows_readiness();
    if let Source::Cluster(session) = source
        && !args.watch
    {
        let mut objects = Vec::new();
        let scope =
            Scope { namespace: namespace.map(Into::into), selector: args.scope.selector.clone(), metadata_only: false };
        let listed = pages::read(&session.cluster, kinds, &scope, |kind, page: Vec<Value>| {
            objects.extend(page.into_iter().map(|object| (kind, object)));
            Ok::<_, Box<ClusterError>>(())
        });
        let beside = async { if judges { reconcilers(&session.cluster, kinds, namespace).await } else { None } };
        let (listed, mut beside) = futures::join!(listed, beside);
        let judge = |judge: &mut RowJudge<'_>, (kind, object): &(&'static FluxKind, Value)| judge.object(kind, object);
        let of_rows = RowScope { kinds, namespace, now: source.now() };
        let verdicts = of_rows.verdicts(&session.cluster, beside.as_mut(), &objects, judge).await;
        report_unlisted_kinds(
            shell,
            source,
            listed.map_err(|error| cli_error(&error))?,
            objects.is_empty(),
            beside.as_ref(),
        )
        .await?;
        let judged = objects.into_iter().zip(verdicts);
        return Ok(judged.map(|((kind, object), verdict)| row(kind, object, view, verdict)).collect());
    }
    let now = source.now();
    let viewed = source
        .view(shell, |snapshot| {
            let mut judge = judges.then(|| RowJudge::new(snapshot, kinds, namespace, now));
            let mut objects = Vec::new();
            for kind in kinds {
                for object in snapshot.list(&kind.resource_type(), namespace) {
                    if selector.is_none_or(|s| s.matches_object(object)) {
                        let verdict = judge.as_mut().and_then(|judge| judge.object(kind, object));
                        objects.push((*kind, object.clone(), verdict));
                    }
                }
            }
            snapshot.list_instead_of_many(namespace);
            let is_absent = |kind: &&'static FluxKind| !objects.iter().any(|(one, ..)| one == kind);
            let absent: Vec<_> = kinds.iter().copied().filter(is_absent).collect();
            // A watch of a cluster does not show whether a kind is served.
            let lost = if judges && snapshot.is_dump() { missing_definitions(snapshot, &absent) } else { vec![] };
            (objects, lost)
        })
        .await?;
    // A list is shown even if its controllers may not be read.
    let (objects, lost) = viewed.or_refusal(|(objects, _)| objects.is_empty())?;
    lost.iter().for_each(|text| shell.warn(text));
    Ok(objects.into_iter().map(|(kind, object, verdict)| row(kind, object, view, verdict)).collect())
}

/// The end of a paged output: an error of the cluster, or a closed reader.
enum PrintEnd {
    Cluster(Box<ClusterError>),
    Printing(CliError),
}

impl From<ClusterError> for PrintEnd {
    fn from(error: ClusterError) -> Self {
        PrintEnd::Cluster(Box::new(error))
    }
}

/// Prints rows as their pages arrive.
async fn stream(
    shell: &Shell,
    source: &Source<'_>,
    cluster: &Cluster,
    kinds: &[&'static FluxKind],
    scope: &Scope,
    options: &ListRequest<'_>,
    view: View,
) -> Result<Exit, CliError> {
    let empty = || Listing { kind: "List", columns: view.columns(), items: vec![] };
    let mut printer = ListPrinter::new(shell, options.output, &empty(), options.namespace.is_none(), source.now());
    // Report an unknown column before any request.
    options.output.select(&mut empty(), printer.now())?;
    let mut found = 0;
    // Pages are queued until the controllers that judge them are read. That read runs concurrently and takes less time
    // than the list. If a page needs further objects, that page and all later ones are queued until the last page has
    // arrived, so that those objects are read at once.
    let beside: OnceCell<Option<Snapshot>> = OnceCell::new();
    let (mut waiting, mut judge) = (VecDeque::new(), None);
    let namespace = scope.namespace.as_deref();
    let of_rows = RowScope { kinds, namespace, now: source.now() };
    let mut print = |kind, objects: Vec<FluxObject>, verdicts: Vec<Option<RowVerdict>>| {
        let mut listing = empty();
        found += objects.len();
        let rows = objects.into_iter().zip(verdicts);
        listing.items = rows.map(|(object, verdict)| light(view.row(kind, object, verdict))).collect();
        options.output.select(&mut listing, printer.now()).map_err(PrintEnd::Printing)?;
        printer.page(&listing).map_err(PrintEnd::Printing)
    };
    let read = pages::read(cluster, kinds, scope, |kind, objects: Vec<FluxObject>| {
        waiting.push_back((kind, objects));
        let Some(snapshot) = beside.get() else { return Ok(()) };
        let Some(snapshot) = snapshot.as_ref() else {
            return waiting.drain(..).try_for_each(|(kind, objects)| {
                let unjudged = vec![None; objects.len()];
                print(kind, objects, unjudged)
            });
        };
        let judge = judge.get_or_insert_with(|| RowJudge::new(snapshot, kinds, namespace, of_rows.now));
        while !snapshot.is_loading()
            && let Some((kind, objects)) = waiting.pop_front()
        {
            let verdicts = objects.iter().map(|object| object.judge(kind, judge)).collect();
            if snapshot.is_loading() {
                waiting.push_front((kind, objects));
            } else {
                print(kind, objects, verdicts)?;
            }
        }
        Ok(())
    });
    let reads_beside = async {
        let judges = options.output.shows_readiness();
        let read = if judges { reconcilers(cluster, kinds, namespace).await } else { None };
        let _ = beside.set(read);
    };
    let (result, ()) = futures::join!(read, reads_beside);
    drop(judge);
    let mut beside = beside.into_inner().flatten();
    let rows: Vec<_> =
        waiting.iter().flat_map(|(kind, objects)| objects.iter().map(move |object| (*kind, object))).collect();
    let judge = |judge: &mut RowJudge<'_>, (kind, object): &(&'static FluxKind, &FluxObject)| object.judge(kind, judge);
    let mut verdicts = of_rows.verdicts(cluster, beside.as_mut(), &rows, judge).await;
    let mut printed = Ok(());
    for (kind, objects) in waiting {
        let later = verdicts.split_off(objects.len());
        printed = printed.and_then(|()| print(kind, objects, std::mem::replace(&mut verdicts, later)));
    }
    let result = printed.and(result);
    // Rows that arrived before an error are shown too.
    printer.flush();
    let listed = result.map_err(|ended| match ended {
        PrintEnd::Cluster(error) => cli_error(&error),
        PrintEnd::Printing(error) => error,
    })?;
    report_unlisted_kinds(shell, source, listed, printer.rows() == 0, beside.as_ref()).await?;
    let exit = match printer.rows() {
        0 => nothing_found(shell, source, options, found).await?,
        _ => Exit::Done,
    };
    printer.sums().into_iter().for_each(|sums| shell.status(&sums));
    Ok(exit)
}

/// Reports the kinds that could not be listed: as an error if the result is empty because of them, else as a warning.
async fn report_unlisted_kinds(
    shell: &Shell,
    source: &Source<'_>,
    listed: Vec<(&'static FluxKind, ListOutcome)>,
    nothing: bool,
    beside: Option<&Snapshot>,
) -> Result<(), CliError> {
    let plurals = |kinds: &[&FluxKind]| kinds.iter().map(|kind| kind.plural).collect::<Vec<_>>().join(", ");
    let all = listed.len();
    let (mut denied, mut first, mut missing) = (vec![], None, vec![]);
    for (kind, outcome) in listed {
        match outcome {
            ListOutcome::All(_) => {}
            ListOutcome::NotInstalled => missing.push(kind),
            ListOutcome::Denied(error) => {
                denied.push(kind);
                first = first.or(Some(error));
            }
        }
    }
    // If the definition of an installed kind was deleted, its objects are gone too, and no row can show that.
    let lost = beside.map(|snapshot| missing_definitions(snapshot, &missing)).unwrap_or_default();
    if !lost.is_empty() && missing.len() < all {
        lost.iter().for_each(|text| shell.warn(text));
    }
    match first {
        Some(error) if nothing => Err(cli_error(&error)),
        Some(_) => {
            shell.warn(&format!("not allowed to list {}", plurals(&denied)));
            Ok(())
        }
        // The list itself reports that Flux is not installed.
        None if missing.len() == all && lost.is_empty() && source.is_not_installed(shell).await => Ok(()),
        None if missing.len() == all && !lost.is_empty() => {
            let kinds = plurals(&missing);
            let error = CliError::new(Exit::ApiMissing, format!("cannot list {kinds} in {}", source.place()));
            let error = lost.into_iter().fold(error, CliError::cause);
            Err(error.hint("`flux-operator why` names the command that restores the CRD"))
        }
        None if missing.len() == all => {
            let is_one_group =
                missing.iter().all(|kind| missing.first().is_some_and(|first| kind.group == first.group));
            let api = if is_one_group { plurals(&missing) } else { "Flux resources".to_owned() };
            let missing: Vec<_> = missing.iter().map(|kind| kind.resource_type()).collect();
            Err(api_missing(source, &api, &install_hint(&missing)))
        }
        None => Ok(()),
    }
}

/// Makes a row without its object, which is enough for a table.
fn light((row, cells): (ResourceRow, Vec<Cell>)) -> Item {
    Item {
        cells,
        value: Value::Null,
        name: Row::name(&row),
        namespace: Some(row.namespace),
        labels: row.labels,
        ready: Some(row.ready),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TestLine {
        #[command(flatten)]
        args: Args,
    }

    fn read(words: &[&str]) -> Result<(Vec<&'static str>, Vec<String>), String> {
        let args =
            TestLine::try_parse_from(std::iter::once("x").chain(words.iter().copied())).map_err(|e| e.to_string())?;
        let wanted = RequestedObjects::of(&args.args).map_err(|e| format!("{e:?}"))?;
        let names = wanted.names.iter().map(|(k, n)| format!("{}/{n}", k.kind)).collect();
        Ok((listed_kinds(&wanted).iter().map(|k| k.kind).collect(), names))
    }

    #[test]
    fn kinds_and_names_are_read_as_kubectl_reads_them() {
        assert_eq!(read(&["gitrepo,ks"]).unwrap().0, ["Kustomization", "GitRepository"]);
        assert_eq!(read(&["ks", "a", "b"]).unwrap().1, ["Kustomization/a", "Kustomization/b"]);
        assert_eq!(read(&["ks/a", "hr/b"]).unwrap().1, ["Kustomization/a", "HelmRelease/b"]);
        assert_eq!(read(&["--kind", "GITREPOSITORIES"]).unwrap().0, ["GitRepository"]);
        assert_eq!(read(&["all"]).unwrap().0.len(), FLUX_KINDS.len());
    }

    #[test]
    fn an_unknown_kind_suggests_the_nearest() {
        assert!(read(&["gitrpo"]).unwrap_err().contains("did you mean `gitrepo`?"));
        assert!(read(&["ks", "hr/b"]).is_err());
        assert!(read(&["ks/"]).is_err());
    }

    #[test]
    fn rows_keep_the_labels_and_drop_the_managed_fields() {
        let item = row(
            flux_operator::api::kinds::find("ks").unwrap(),
            serde_json::json!({"metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": []}}),
            View(None),
            None,
        );
        assert_eq!(item.labels.get("x").map(String::as_str), Some("y"));
        assert!(item.value.pointer("/metadata/managedFields").is_none());
        assert_eq!(fields::name(&item.value), "a");
    }
}
