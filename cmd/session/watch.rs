//! Waits for changes with `--watch`.

use std::time::Duration;

use flux_operator::cluster::watch::Follower;
use flux_operator::cluster::{Category, ClusterError, ListOptions};
use flux_operator::k8s::ResourceType;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use tokio::time::{Instant, timeout_at};

use crate::session::connect::cli_error;
use crate::session::read_source::Source;
use crate::terminal::{CliError, Shell};

/// Changes within this time are shown together.
const SETTLE: Duration = Duration::from_millis(200);
/// Continuous changes are shown about this often.
const LONGEST: Duration = Duration::from_secs(1);

/// Changes that are handled together, because they follow each other immediately; for at most a second.
pub struct Burst(Instant);

impl Burst {
    pub fn begins() -> Self {
        Burst(Instant::now() + LONGEST)
    }

    /// Returns the change that follows immediately; `None` ends the burst.
    pub async fn following<T>(&self, changes: &mut (impl Stream<Item = T> + Unpin)) -> Option<T> {
        timeout_at(self.0.min(Instant::now() + SETTLE), changes.next()).await.ok().flatten()
    }
}

/// Resolves each time an object of the watched kinds changes.
pub struct WatchWakeups {
    changes: BoxStream<'static, Result<(), ClusterError>>,
    /// Number of kinds whose watch was not denied so far.
    watched: usize,
}

impl WatchWakeups {
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
            // Metadata changes with every change, and is enough as a trigger.
            let metadata = ListOptions { metadata_only: true, ..ListOptions::default() };
            let follower = Follower::new(&session.cluster, kind.clone(), namespace, metadata, None);
            // The list at the start of a watch is not a change; the first list is made before the watch is polled.
            stream::unfold(Some(follower), |follower| async move {
                let mut follower = follower?;
                match follower.try_next().await {
                    Ok(_) => Some((Some(Ok(())), Some(follower))),
                    // A retry would be denied again.
                    Err(error) if error.category() == Category::Denied => Some((Some(Err(error)), None)),
                    // Any other failure may be temporary, and the follower lists again.
                    Err(_) => Some((None, Some(follower))),
                }
            })
            .filter_map(std::future::ready)
            .boxed()
        });
        Ok(WatchWakeups { changes: stream::select_all(streams.collect::<Vec<_>>()).boxed(), watched: kinds.len() })
    }

    /// Waits for the next change and the changes that follow immediately; `false` if `--timeout` has passed, or stdout
    /// is lost. A kind that the user may not watch causes a warning.
    ///
    /// # Errors
    /// Denied, if the user may watch none of the kinds, because no change would ever be seen.
    pub async fn next(&mut self, shell: &Shell) -> Result<bool, CliError> {
        if shell.output_is_lost() {
            return Ok(false);
        }
        shell.until_timeout(self.another(shell)).await.transpose().map(|another| another.is_some())
    }

    async fn another(&mut self, shell: &Shell) -> Result<(), CliError> {
        let mut next = self.changes.next().await;
        let burst = Burst::begins();
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
                // No kind is watched, so no change will ever arrive.
                None => std::future::pending::<()>().await,
            }
            match burst.following(&mut self.changes).await {
                None => return Ok(()),
                following => next = following,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_list_that_keeps_changing_is_shown_anyway() {
        let shell = Shell::of_flags(&[]);
        let often = stream::unfold((), |()| async {
            tokio::time::sleep(SETTLE / 2).await;
            Some((Ok(()), ()))
        });
        let mut changes = WatchWakeups { changes: often.boxed(), watched: 1 };
        for _ in 0..3 {
            let shown = tokio::time::timeout(Duration::from_secs(2), changes.next(&shell)).await;
            shown.expect("within two seconds").unwrap();
        }
    }
}
