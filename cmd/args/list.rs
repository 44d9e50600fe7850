//! Shows lists for all verbs: once, or repeatedly with `--watch`.

use std::collections::{HashMap, HashSet};

use flux_operator::k8s::ResourceType;
use flux_operator::k8s::label_selector::LabelSelector;
use serde_json::Value;

use crate::output::listing::{Cell, Item, Listing};
use crate::session::read_source::{Source, within};
use crate::session::watch::WatchWakeups;
use crate::terminal::output_format::{ListPrinter, OutputArgs, print_list};
use crate::terminal::{CliError, Exit, Shell};

/// Parses a label selector of the command line.
pub fn selector(text: Option<&str>) -> Result<Option<LabelSelector>, CliError> {
    text.map(str::parse).transpose().map_err(|e| CliError::usage("cannot read the label selector").caused_by(&e))
}

/// Describes the place of a list: `in namespace apps`, or nothing for all.
pub fn place(namespace: Option<&str>) -> String {
    namespace.map(|n| format!(" in namespace {n}")).unwrap_or_default()
}

/// Describes the selected labels of a list: ` with labels team=web`, or nothing.
pub fn labelled(selector: Option<&str>) -> String {
    selector.map(|labels| format!(" with labels {labels}")).unwrap_or_default()
}

/// Prints a hint that a namespace does not exist, with the nearest existing one; prints nothing if that is unknown.
pub async fn hint_at_namespace(shell: &Shell, source: &Source<'_>, namespace: Option<&str>) {
    if let Some(error) = no_namespace(source, namespace).await {
        shell.hint(error.message());
    }
}

/// Returns the error for a namespace that does not exist; `None` when it exists, cannot be read, or for a dump.
pub async fn no_namespace(source: &Source<'_>, namespace: Option<&str>) -> Option<CliError> {
    match source {
        Source::Cluster(session) => session.no_namespace(namespace?).await,
        Source::Dump(..) => None,
    }
}

/// Options of a list.
pub struct ListRequest<'a> {
    pub output: &'a OutputArgs,
    pub watch: bool,
    /// Kinds whose changes update a watched list.
    pub kinds: Vec<ResourceType>,
    /// `None` shows the namespace of every row.
    pub namespace: Option<String>,
    /// Whether one object was requested by name, which JSON and YAML print without a list.
    pub single: bool,
    /// Message on stderr for an empty list.
    pub nothing: String,
}

impl ListRequest<'_> {
    /// Returns the message for an empty table made from `found` objects: a filter without matches does not mean that
    /// objects are missing.
    pub fn nothing_of(&self, found: usize) -> String {
        match found {
            0 => self.nothing.clone(),
            1 => "the only row does not match the filters".to_owned(),
            count => format!("0 of {count} rows match the filters"),
        }
    }
}

/// Makes a list and prints it once, or with `--watch` after every change.
pub async fn show_list<F>(
    shell: &Shell,
    source: &Source<'_>,
    request: ListRequest<'_>,
    mut list: F,
) -> Result<Exit, CliError>
where
    F: AsyncFnMut() -> Result<Listing, CliError>,
{
    if request.watch {
        return watch_list(shell, source, &request, list).await;
    }
    let listing = within(shell, list()).await??;
    let found = listing.items.len();
    if print_list(shell, request.output, listing, request.namespace.is_none(), request.single, source.now())? == 0 {
        return nothing_found(shell, source, &request, found).await;
    }
    Ok(Exit::Done)
}

/// Reports why a list is empty: because of its filters, because Flux is not installed, or because there are no objects.
pub async fn nothing_found(
    shell: &Shell,
    source: &Source<'_>,
    request: &ListRequest<'_>,
    found: usize,
) -> Result<Exit, CliError> {
    if found > 0 {
        shell.status(&request.nothing_of(found));
        return Ok(Exit::Done);
    }
    let (not_installed, no_namespace) =
        futures::join!(source.is_not_installed(shell), no_namespace(source, request.namespace.as_deref()));
    if not_installed {
        return Ok(source.report_not_installed(shell));
    }
    shell.status(&request.nothing_of(found));
    if let Some(error) = no_namespace {
        shell.hint(error.message());
    }
    Ok(Exit::Done)
}

/// Shows a list while the command runs. On a terminal the screen is redrawn; elsewhere changed rows are appended, as in
/// kubectl.
async fn watch_list<F>(
    shell: &Shell,
    source: &Source<'_>,
    show: &ListRequest<'_>,
    mut list: F,
) -> Result<Exit, CliError>
where
    F: AsyncFnMut() -> Result<Listing, CliError>,
{
    let mut changes = WatchWakeups::of(source, &show.kinds, show.namespace.as_deref())?;
    shell.interruption().mark_read_only();
    let mut shown: HashMap<String, (Vec<String>, Item)> = HashMap::new();
    let mut appended: Option<ListPrinter<'_>> = None;
    let mut heading = None;
    loop {
        let mut listing = match (within(shell, list()).await?, heading.take()) {
            // The watched object was deleted, but it may be created again.
            (Err(error), Some((kind, columns))) if error.exit() == Exit::NotFound => {
                Listing { kind, columns, items: vec![] }
            }
            (listed, _) => listed?,
        };
        heading = Some((listing.kind, listing.columns.clone()));
        let found = listing.items.len();
        let now = source.now();
        show.output.select(&mut listing, now)?;
        show.output.sort(&mut listing)?;
        if shell.can_redraw() && !show.output.wants_values() {
            let mut printer = ListPrinter::new(shell, show.output, &listing, show.namespace.is_none(), now);
            let mut text = printer.lines(&listing)?;
            if text.is_empty() {
                text = format!("{}\n", show.nothing_of(found));
            }
            printer.sums().into_iter().for_each(|sums| text.push_str(&format!("{sums}\n")));
            shell.redraw(&text);
        } else {
            let lines = appended
                .get_or_insert_with(|| ListPrinter::new(shell, show.output, &listing, show.namespace.is_none(), now));
            let there: HashSet<String> = listing.items.iter().map(key).collect();
            let ready = listing.column("READY");
            let gone = shown.extract_if(|key, _| !there.contains(key)).map(|(_, (_, item))| deleted(item, ready));
            let mut gone: Vec<Item> = gone.collect();
            // The map has no order, and a watch must print the same changes in the same order.
            gone.sort_by_key(key);
            listing.items.retain(|item| {
                let now = fingerprint(item);
                let known = shown.insert(key(item), (now.clone(), item.clone()));
                known.is_none_or(|(before, _)| before != now)
            });
            for item in &gone {
                shell.status(&format!("{} is deleted", name_with_namespace(item)));
            }
            // Structured output contains objects, and a deleted row is not an object. Without a READY column, no cell
            // could show that the row is deleted.
            if !show.output.wants_values() && ready.is_some() {
                listing.items.extend(gone);
            }
            lines.page(&listing)?;
            lines.flush();
        }
        if !changes.next(shell).await? {
            return Ok(Exit::Done);
        }
    }
}

fn key(item: &Item) -> String {
    format!("{}/{}", item.namespace.as_deref().unwrap_or_default(), item.name)
}

fn name_with_namespace(item: &Item) -> String {
    match &item.namespace {
        Some(namespace) => format!("{} in namespace {namespace}", item.name),
        None => item.name.clone(),
    }
}

/// Returns the last row of a deleted object.
fn deleted(item: Item, ready: Option<usize>) -> Item {
    let mut item = item;
    if let Some(cell) = ready.and_then(|index| item.cells.get_mut(index)) {
        *cell = Cell::text("Deleted");
    }
    item
}

/// Returns the cells whose change prints a row again; ages change all the time.
fn fingerprint(item: &Item) -> Vec<String> {
    let epoch = jiff::Timestamp::UNIX_EPOCH;
    item.cells
        .iter()
        .map(|cell| match cell {
            Cell::Since(moment) | Cell::Due(moment) => moment.to_string(),
            other => other.full(epoch),
        })
        .collect()
}

/// Returns an object as kubectl prints it.
pub fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // `shift_remove` keeps the order of the other fields; `remove` would move the last field into the gap.
        metadata.shift_remove("managedFields");
    }
    object
}
