//! `--watch`: the same list again whenever something it is made of changes.
//!
//! On a terminal the screen is redrawn; elsewhere the rows that changed are appended, as kubectl does.

use std::collections::HashMap;
use std::time::Duration;

use flux_operator::cluster::ListOptions;
use flux_operator::cluster::watch::Follower;
use flux_operator::inspect::listing::{Cell, Item, Listing};
use flux_operator::k8s::ResourceType;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::common::list::ListRequest;
use crate::common::read_source::{Source, within};
use crate::shell::output::{ListPrinter, OutputArgs};
use crate::shell::{CliError, Exit, Shell};

/// Changes that follow each other this quickly are shown together.
const SETTLE: Duration = Duration::from_millis(200);

/// Resolves each time an object of the watched kinds changes.
pub struct Changes(BoxStream<'static, ()>);

impl Changes {
    /// Watches kinds in a namespace, or in all. Kinds that cannot be watched change nothing.
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
            stream::unfold(follower, |mut follower| async move {
                let moved = follower.try_next().await.is_ok();
                Some((moved.then_some(()), follower))
            })
            .filter_map(std::future::ready)
            .boxed()
        });
        Ok(Changes(stream::select_all(streams.collect::<Vec<_>>()).boxed()))
    }

    /// Waits for the next change and for those that follow at once.
    pub async fn next(&mut self) {
        if self.0.next().await.is_none() {
            // Nothing is watched: nothing will ever change.
            std::future::pending::<()>().await;
        }
        while let Ok(Some(())) = tokio::time::timeout(SETTLE, self.0.next()).await {}
    }
}

/// Shows a list for as long as the command runs.
pub async fn list<F>(shell: &Shell, source: &Source<'_>, show: &ListRequest<'_>, mut list: F) -> Result<Exit, CliError>
where
    F: AsyncFnMut() -> Result<Listing, CliError>,
{
    let mut changes = Changes::of(source, &show.kinds, show.namespace.as_deref())?;
    shell.interruption().set("nothing was changed", None);
    let mut shown: HashMap<String, Vec<String>> = HashMap::new();
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
            listing.items.retain(|item| {
                let known = shown.insert(key(item), fingerprint(item));
                known.as_ref() != shown.get(&key(item))
            });
            lines.0.page(&listing)?;
            lines.0.flush()?;
        }
        changes.next().await;
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
