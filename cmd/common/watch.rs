//! `--watch`: the same list again whenever something it is made of changes.
//!
//! On a terminal the screen is redrawn; elsewhere the rows that changed are appended, as kubectl does.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use flux_operator::cluster::watch::Follower;
use flux_operator::cluster::{Category, ClusterError, ListOptions};
use flux_operator::k8s::ResourceType;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::common::connect::cli_error;
use crate::common::list::ListRequest;
use crate::common::read_source::{Source, within};
use crate::render::listing::{Cell, Item, Listing};
use crate::shell::output::{ListPrinter, OutputArgs};
use crate::shell::{CliError, Exit, Shell};

/// Changes that follow each other this quickly are shown together.
const SETTLE: Duration = Duration::from_millis(200);

/// Resolves each time an object of the watched kinds changes.
pub struct Changes {
    changes: BoxStream<'static, Result<(), ClusterError>>,
    /// Kinds that may be watched, as far as is known.
    watched: usize,
}

impl Changes {
    /// Watches kinds in a namespace, or in all.
    ///
    /// # Errors
    /// Usage, for a dump.
    pub fn of(source: &Source<'_>, kinds: &[ResourceType], namespace: Option<&str>) -> Result<Self, CliError> {
        let Source::Cluster(session) = source else {
            return Err(CliError::usage("--watch with --from: a dump does not change"));
        };
        let streams = kinds.iter().map(|kind| {
            let namespace = namespace.filter(|_| kind.namespaced);
            // Metadata moves with every change, and is all a trigger needs.
            let metadata = ListOptions { metadata_only: true, ..ListOptions::default() };
            let follower = Follower::new(&session.cluster, kind.clone(), namespace, metadata, None);
            // The list that a watch starts with is no change; the first list is made before the watch is looked at.
            stream::unfold(Some(follower), |follower| async move {
                let mut follower = follower?;
                match follower.try_next().await {
                    Ok(_) => Some((Some(Ok(())), Some(follower))),
                    // It will be refused again.
                    Err(error) if error.category() == Category::Denied => Some((Some(Err(error)), None)),
                    Err(_) => Some((None, Some(follower))),
                }
            })
            .filter_map(std::future::ready)
            .boxed()
        });
        Ok(Changes { changes: stream::select_all(streams.collect::<Vec<_>>()).boxed(), watched: kinds.len() })
    }

    /// Waits for the next change and for those that follow at once. A kind that may not be watched is a warning.
    ///
    /// # Errors
    /// Denied, when none of the kinds may be watched: nothing would ever change.
    pub async fn next(&mut self, shell: &Shell) -> Result<(), CliError> {
        let mut next = self.changes.next().await;
        loop {
            match next {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.watched = self.watched.saturating_sub(1);
                    if self.watched == 0 {
                        return Err(cli_error(&error));
                    }
                    shell.warn(&format!("cannot {}: {}", error.attempted, error.reason));
                }
                // Nothing is watched: nothing will ever change.
                None => std::future::pending::<()>().await,
            }
            match tokio::time::timeout(SETTLE, self.changes.next()).await {
                Ok(following) => next = following,
                Err(_) => return Ok(()),
            }
        }
    }
}

/// Shows a list for as long as the command runs.
pub async fn list<F>(shell: &Shell, source: &Source<'_>, show: &ListRequest<'_>, mut list: F) -> Result<Exit, CliError>
where
    F: AsyncFnMut() -> Result<Listing, CliError>,
{
    let mut changes = Changes::of(source, &show.kinds, show.namespace.as_deref())?;
    shell.interruption().looks_on();
    let mut shown: HashMap<String, (Vec<String>, Item)> = HashMap::new();
    let mut appended: Option<Lines> = None;
    loop {
        let mut listing = within(shell, list()).await??;
        let found = listing.items.len();
        let now = jiff::Timestamp::now();
        show.output.select(&mut listing, now)?;
        show.output.sort(&mut listing)?;
        if shell.stdout_is_terminal() && !show.output.wants_values() {
            let mut printer = ListPrinter::new(shell, show.output, &listing, show.namespace.is_none());
            let mut text = printer.lines(&listing)?;
            if text.is_empty() {
                text = format!("{}\n", show.nothing_of(found));
            }
            printer.sums().into_iter().for_each(|sums| text.push_str(&format!("{sums}\n")));
            shell.redraw(&text)?;
        } else {
            let lines =
                appended.get_or_insert_with(|| Lines::new(shell, show.output, &listing, show.namespace.is_none()));
            let there: HashSet<String> = listing.items.iter().map(key).collect();
            let ready = listing.column("READY");
            let gone = shown.extract_if(|key, _| !there.contains(key)).map(|(_, (_, item))| deleted(item, ready));
            let mut gone: Vec<Item> = gone.collect();
            gone.sort_by_key(key);
            listing.items.retain(|item| {
                let now = fingerprint(item);
                let known = shown.insert(key(item), (now.clone(), item.clone()));
                known.is_none_or(|(before, _)| before != now)
            });
            for item in &gone {
                shell.status(&format!("{} is deleted", name_with_namespace(item)));
            }
            // What a program reads is objects, and these are none any more.
            if !show.output.wants_values() && ready.is_some() {
                listing.items.extend(gone);
            }
            lines.0.page(&listing)?;
            lines.0.flush()?;
        }
        changes.next(shell).await?;
    }
}

struct Lines<'a>(ListPrinter<'a>);

impl<'a> Lines<'a> {
    fn new(shell: &'a Shell, args: &'a OutputArgs, listing: &Listing, namespaces: bool) -> Self {
        Lines(ListPrinter::new(shell, args, listing, namespaces))
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

/// The last row of an object that is no more.
fn deleted(item: Item, ready: Option<usize>) -> Item {
    let mut item = item;
    if let Some(cell) = ready.and_then(|index| item.cells.get_mut(index)) {
        *cell = Cell::text("Deleted");
    }
    item
}

/// What makes a row worth printing again; ages grow without anything happening.
fn fingerprint(item: &Item) -> Vec<String> {
    let epoch = jiff::Timestamp::UNIX_EPOCH;
    item.cells
        .iter()
        .map(|cell| match cell {
            Cell::Since(moment) => moment.to_string(),
            other => other.full(epoch),
        })
        .collect()
}
