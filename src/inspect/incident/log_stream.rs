//! Merges the logs of many containers in order of time while they are read.
//!
//! ```text
//! container ─► lines ─► filter ─► queue ┐
//! container ─► lines ─► filter ─► queue ┴► merge by time ─► one line after the other
//! ```
//! Every queue is short, so a log of gigabytes is never in memory, and a slow consumer slows the reading down.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::api::kinds::POD;
use crate::cluster::watch::Follower;
use crate::cluster::{Cluster, ClusterError, ListOptions, LogOptions, Reason};
use crate::format::backoff::Backoff;
use crate::inspect::read::from_cluster;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::logs::{LogFilter, LogSource, moment_within, sources, split_moment};

/// Length of a queue, in pieces of a log.
const QUEUE: usize = 4;
/// A longer line is split.
const LONGEST_LINE: usize = 1 << 20;
/// Delay before lines are passed on, so that lines written at the same time have all arrived and can be ordered.
const SETTLE: Duration = Duration::from_millis(200);
/// Number of waiting lines at which they are passed on without waiting for further lines.
const FULL: usize = 10_000;
/// Pauses before a log is reopened.
const REOPEN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// A line of a container.
#[derive(Clone, Debug)]
pub struct Entry {
    pub at: Option<Timestamp>,
    pub source: Arc<LogSource>,
    /// Without its time and line end.
    pub text: String,
}

/// The requested part of the logs.
#[derive(Clone, Debug, Default)]
pub struct LogSelection {
    pub filter: LogFilter,
    pub since: Option<Timestamp>,
    /// Only the last selected lines.
    pub tail: Option<usize>,
}

/// Splits incoming data into lines.
#[derive(Default)]
struct LineSplitter {
    unread: Vec<u8>,
    /// The last time; a line without a time was written with the line before it.
    last: Option<Timestamp>,
}

impl LineSplitter {
    /// Returns the complete selected lines; with `all` also an incomplete last one.
    fn take(&mut self, source: &Arc<LogSource>, filter: &LogFilter, after: Option<Timestamp>, all: bool) -> Vec<Entry> {
        let end = match self.unread.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if all || self.unread.len() > LONGEST_LINE => self.unread.len(),
            None => return vec![],
        };
        let end = if all { self.unread.len() } else { end };
        let text = String::from_utf8_lossy(self.unread.get(..end).unwrap_or_default());
        let mut entries = vec![];
        for line in text.lines() {
            let (at, text) = split_moment(line);
            self.last = at.or(self.last);
            // A server may truncate the start time to a whole second, and then repeats lines of that second.
            if after.is_some() && self.last <= after {
                continue;
            }
            if !text.trim().is_empty() && filter.matches(text) {
                entries.push(Entry { at: self.last, source: source.clone(), text: text.to_owned() });
            }
        }
        drop(text);
        self.unread.drain(..end);
        entries
    }
}

/// Reads the logs of all sources once and passes their lines on in order of time.
///
/// Returns the logs that could not be read, such as those of containers that have not started or no longer exist.
///
/// # Errors
/// Errors of `on_entry`, which end the read.
pub async fn read<E>(
    cluster: &Cluster,
    sources: Vec<LogSource>,
    wanted: &LogSelection,
    mut on_entry: impl FnMut(Entry) -> Result<(), E>,
) -> Result<Vec<ClusterError>, E> {
    let mut tasks = JoinSet::new();
    let mut queues = vec![];
    for source in sources {
        let (sender, receiver) = mpsc::channel(QUEUE);
        queues.push(Queue { receiver, head: VecDeque::new() });
        tasks.spawn(read_one(cluster.clone(), Arc::new(source), wanted.clone(), sender));
    }
    let mut kept: VecDeque<Entry> = VecDeque::new();
    while let Some(entry) = next(&mut queues).await {
        match wanted.tail {
            Some(count) => {
                kept.push_back(entry);
                if kept.len() > count {
                    kept.pop_front();
                }
            }
            None => on_entry(entry)?,
        }
    }
    for entry in kept {
        on_entry(entry)?;
    }
    let mut problems = vec![];
    while let Some(done) = tasks.join_next().await {
        // Otherwise a task ends only by a panic in our code, which was reported already.
        problems.extend(done.ok().and_then(Result::err));
    }
    Ok(problems)
}

struct Queue {
    receiver: mpsc::Receiver<Vec<Entry>>,
    head: VecDeque<Entry>,
}

/// Returns the oldest line. Each log is in order, so it is among their first lines.
async fn next(queues: &mut Vec<Queue>) -> Option<Entry> {
    let mut at = 0;
    while let Some(queue) = queues.get_mut(at) {
        if queue.head.is_empty() {
            match queue.receiver.recv().await {
                Some(entries) => queue.head.extend(entries),
                None => {
                    queues.swap_remove(at);
                }
            }
        } else {
            at += 1;
        }
    }
    let oldest = queues.iter_mut().min_by_key(|queue| {
        let first = queue.head.front();
        // `None` sorts first, so a line without a time is passed on at once and does not delay the other lines.
        (first.and_then(|entry| entry.at), first.map(|entry| entry.source.clone()))
    })?;
    oldest.head.pop_front()
}

async fn read_one(
    cluster: Cluster,
    source: Arc<LogSource>,
    wanted: LogSelection,
    sender: mpsc::Sender<Vec<Entry>>,
) -> Result<(), ClusterError> {
    let is_unfiltered = wanted.filter.objects.is_empty() && wanted.filter.least.is_none();
    // The server counts lines before they are filtered, so a filter needs all of them.
    let tail = wanted.tail.filter(|_| is_unfiltered).map(|lines| lines as u64);
    // The previous run first: the lines of a queue must be in order of time.
    let runs = if source.is_restarted { &[true, false][..] } else { &[false] };
    for previous in runs.iter().copied() {
        let options = LogOptions { previous, tail, since: wanted.since, follow: false };
        let opened = cluster.log_stream(&source.namespace, &source.pod, &source.container, &options).await;
        let mut stream = match opened {
            Ok(stream) => stream,
            // The log of the previous run may have been removed.
            Err(_) if previous => continue,
            Err(error) => return Err(error),
        };
        let mut lines = LineSplitter::default();
        loop {
            let ended = stream.read(&mut lines.unread).await? == 0;
            let entries = lines.take(&source, &wanted.filter, None, ended);
            if !entries.is_empty() && sender.send(entries).await.is_err() {
                return Ok(());
            }
            if ended {
                break;
            }
        }
    }
    Ok(())
}

/// Follows the logs of current and new containers until `on_entries` fails.
///
/// `last` contains the last known line of each pod; other pods start at `since`. Lines that arrive together are sorted
/// by time.
///
/// # Errors
/// Errors of `on_entries`.
pub async fn follow<E>(
    cluster: &Cluster,
    controllers: &[String],
    filter: &LogFilter,
    (last, since): (HashMap<String, Timestamp>, Timestamp),
    mut known: Vec<LogSource>,
    mut on_entries: impl FnMut(Vec<Entry>) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, mut receiver) = mpsc::channel(64);
    // Dropping this future stops them.
    let mut readers = JoinSet::new();
    let mut watchers = JoinSet::new();
    let mut read: BTreeSet<LogSource> = BTreeSet::new();
    let namespaces: BTreeSet<String> = known.iter().map(|source| source.namespace.clone()).collect();
    let (changed, mut changes) = mpsc::channel(1);
    for namespace in namespaces {
        let options = ListOptions { metadata_only: true, ..ListOptions::default() };
        let mut pods = Follower::new(cluster, POD, Some(&namespace), options, None);
        let changed = changed.clone();
        watchers.spawn(async move {
            loop {
                // A full queue means that a check is already due.
                if pods.try_next().await.is_ok() && matches!(changed.try_send(()), Err(TrySendError::Closed(()))) {
                    return;
                }
            }
        });
    }
    let mut pending: Vec<Entry> = vec![];
    let mut due = Instant::now();
    loop {
        for source in known.drain(..) {
            // A restarted container is still the same source.
            let source = LogSource { is_restarted: false, ..source };
            if read.insert(source.clone()) {
                let from = last.get(&source.pod).copied();
                let (cluster, filter, sender) = (cluster.clone(), filter.clone(), sender.clone());
                readers.spawn(async move {
                    follow_one(&cluster, &source, &filter, from, since, &sender).await;
                    source
                });
            }
        }
        tokio::select! {
            Some(entries) = receiver.recv() => {
                if pending.is_empty() {
                    due = Instant::now() + SETTLE;
                }
                pending.extend(entries);
            }
            Some(Ok(ended)) = readers.join_next(), if !readers.is_empty() => {
                read.remove(&ended);
            }
            Some(()) = changes.recv() => {
                // A failed check is repeated with the next change.
                known = sources_now(cluster, controllers).await.unwrap_or_default();
            }
            () = sleep_until(due), if !pending.is_empty() => {}
        }
        if !pending.is_empty() && (due <= Instant::now() || pending.len() >= FULL) {
            // A stable sort: lines of the same time stay in the order in which their container wrote them.
            pending.sort_by_key(|entry| entry.at);
            on_entries(std::mem::take(&mut pending))?;
        }
    }
}

/// Returns the current containers.
///
/// # Errors
/// A failed list request.
pub async fn sources_now(cluster: &Cluster, controllers: &[String]) -> Result<Vec<LogSource>, ClusterError> {
    let view = |snapshot: &Snapshot| sources(snapshot, controllers);
    let mut collected = from_cluster::collect(cluster, view).await?;
    match collected.refusals.pop() {
        Some(refusal) if collected.value.is_empty() => Err(refusal),
        _ => Ok(collected.value),
    }
}

/// Reads the log of a container while its pod exists: a restart or a rotation ends the log, not the reading.
async fn follow_one(
    cluster: &Cluster,
    source: &LogSource,
    filter: &LogFilter,
    mut last: Option<Timestamp>,
    since: Timestamp,
    sender: &mpsc::Sender<Vec<Entry>>,
) {
    let shared = Arc::new(source.clone());
    let mut pauses = Backoff::new(REOPEN.0, REOPEN.1);
    loop {
        let options = LogOptions { follow: true, since: Some(last.unwrap_or(since)), ..LogOptions::default() };
        match cluster.log_stream(&source.namespace, &source.pod, &source.container, &options).await {
            Ok(mut stream) => {
                let mut lines = LineSplitter { unread: vec![], last };
                let after = last;
                // A log that is cut off is reopened from its last line.
                while let Ok(length) = stream.read(&mut lines.unread).await {
                    let entries = lines.take(&shared, filter, after, length == 0);
                    if !entries.is_empty() {
                        // Reset only after a line has arrived: the log of a crashing container can always be opened.
                        pauses = Backoff::new(REOPEN.0, REOPEN.1);
                        if sender.send(entries).await.is_err() {
                            return;
                        }
                    }
                    if length == 0 {
                        break;
                    }
                }
                last = lines.last;
            }
            Err(error) if error.is_not_found() || matches!(error.reason, Reason::Forbidden { .. }) => return,
            // The container has not started, or the server is busy.
            Err(_) => {}
        }
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

/// Returns the lines of a dump in order of time. Controllers write the time into each line; a line without one was
/// written with the line before it.
pub fn of_dump(snapshot: &Snapshot, controllers: &[String], wanted: &LogSelection) -> Vec<Entry> {
    let mut entries = vec![];
    for source in sources(snapshot, controllers) {
        let shared = Arc::new(source.clone());
        let mut last = None;
        for previous in [true, false] {
            let lines = snapshot.log(&source.namespace, &source.pod, &source.container, previous).unwrap_or_default();
            for line in lines {
                let (at, text) = split_moment(line);
                last = at.or_else(|| moment_within(text)).or(last);
                let is_late = wanted.since.is_none_or(|since| last.is_none_or(|last| last >= since));
                if is_late && !text.trim().is_empty() && wanted.filter.matches(text) {
                    entries.push(Entry { at: last, source: shared.clone(), text: text.to_owned() });
                }
            }
        }
    }
    entries.sort_by_key(|entry| entry.at);
    let first = wanted.tail.map_or(0, |tail| entries.len().saturating_sub(tail));
    entries.split_off(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pod: &str) -> Arc<LogSource> {
        let text = |text: &str| text.to_owned();
        Arc::new(LogSource {
            controller: text("c"),
            namespace: text("n"),
            pod: text(pod),
            container: text("manager"),
            is_restarted: false,
        })
    }

    fn entry(pod: &str, second: u32) -> Entry {
        let at = format!("2026-01-01T00:00:{second:02}Z").parse().ok();
        Entry { at, source: source(pod), text: format!("{pod}{second}") }
    }

    #[tokio::test]
    async fn logs_are_merged_in_the_order_of_time() {
        let mut queues = vec![];
        for (pod, batches) in [("a", vec![vec![1, 4], vec![5]]), ("b", vec![vec![2], vec![3, 6]]), ("c", vec![])] {
            let (sender, receiver) = mpsc::channel(8);
            for batch in batches {
                sender.send(batch.into_iter().map(|second| entry(pod, second)).collect()).await.unwrap();
            }
            queues.push(Queue { receiver, head: VecDeque::new() });
        }
        let mut order = vec![];
        while let Some(entry) = next(&mut queues).await {
            order.push(entry.text);
        }
        assert_eq!(order, ["a1", "b2", "b3", "a4", "a5", "b6"]);
    }

    #[test]
    fn lines_are_taken_wherever_their_text_is_cut() {
        let text = "2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z zwö\npanic\n2026-01-01T00:00:03Z end";
        let filter = LogFilter::default();
        for cut in 0..=text.len() {
            let (mut lines, mut taken) = (LineSplitter::default(), vec![]);
            let (before, after) = text.as_bytes().split_at(cut);
            lines.unread.extend_from_slice(before);
            taken.extend(lines.take(&source("a"), &filter, None, false));
            lines.unread.extend_from_slice(after);
            taken.extend(lines.take(&source("a"), &filter, None, true));
            let texts: Vec<&str> = taken.iter().map(|entry| entry.text.as_str()).collect();
            assert_eq!(texts, ["one", "zwö", "panic", "end"], "cut at {cut}");
            assert_eq!(taken[2].at, taken[1].at, "a line without a moment was written with the one before");
        }
    }

    #[test]
    fn rows_that_were_shown_are_not_shown_again() {
        let text = b"2026-01-01T00:00:01.1Z a\n2026-01-01T00:00:01.2Z b\nmore of b\n2026-01-01T00:00:01.3Z c\n";
        let mut lines = LineSplitter { unread: text.to_vec(), last: None };
        let after = "2026-01-01T00:00:01.2Z".parse().ok();
        let taken = lines.take(&source("a"), &LogFilter::default(), after, true);
        assert_eq!(taken.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["c"]);
    }
}
