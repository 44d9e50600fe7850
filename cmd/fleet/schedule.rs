//! Schedules one command for many clusters.
//!
//! ```text
//! contexts ─► identify: server, UID of kube-system, version ─► skip a cluster that is there twice ─► run the command
//! ```
//! Identifying and running share `--parallel` places. The command of each cluster runs on a thread of its own, with its own
//! connection, deadline and output, so that nothing one cluster does reaches another.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use crate::session::Session;
use crate::session::connect::cli_error;
use crate::terminal::collected::CollectedOutput;
use crate::terminal::{CliError, Exit, STACK_BYTES, Shell};

/// A cluster that has not answered for so long no longer delays the list of clusters, and with it the commands of the others.
const PATIENCE: Duration = Duration::from_secs(1);
/// The part of `--cluster-timeout` after which a cluster that has not answered at all no longer delays what the others print.
const GIVES_WAY_AFTER: f64 = 0.6;
/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(100);
/// A command that is under way is waited for so long after an interrupt, so that its credential plugin ends with it.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The command, run for one context; what it prints goes into the output.
pub type ClusterCommand = dyn Fn(&str, &Arc<CollectedOutput>) -> Result<Exit, CliError> + Send + Sync;

/// Which cluster a context leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterIdentity {
    /// Of the namespace kube-system; `None` where it may not be read.
    pub uid: Option<String>,
    /// Of Kubernetes.
    pub version: Option<String>,
}

/// How far one cluster has come.
#[derive(Debug, Default)]
pub enum ClusterStage {
    #[default]
    Waiting,
    /// Since then.
    Identifying(Instant),
    Identified,
    Running,
    Ended(Result<Exit, CliError>),
    /// Why no command runs for it.
    Skipped(String),
}

/// A context, and how far its command has come.
#[derive(Default)]
pub struct FleetCluster {
    pub context: String,
    pub server: String,
    pub identity: Option<ClusterIdentity>,
    pub stage: ClusterStage,
    /// When its command began.
    pub began: Option<Instant>,
    pub duration: Duration,
    pub output: Arc<CollectedOutput>,
}

impl FleetCluster {
    /// Reports whether nothing more comes of it.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, ClusterStage::Ended(_) | ClusterStage::Skipped(_))
    }

    /// Reports whether the cluster could not be reached.
    pub fn is_unreached(&self) -> bool {
        matches!(&self.stage, ClusterStage::Ended(Err(error)) if error.exit() == Exit::Unreachable)
    }

    /// Reports whether it has not answered for so long that the others are printed without it.
    fn gives_way(&self, limit: Duration) -> bool {
        matches!(self.stage, ClusterStage::Identifying(since) if since.elapsed() >= limit.mul_f64(GIVES_WAY_AFTER))
    }
}

/// All clusters of a run, in the order of contexts.
pub struct FleetRun {
    pub clusters: Vec<FleetCluster>,
    /// The list of clusters is known but for those that have not answered.
    pub is_listed: bool,
    limit: Duration,
}

impl FleetRun {
    /// `contexts` are names with the address of the server; `limit` is the time a cluster has to answer first.
    pub fn new(contexts: impl IntoIterator<Item = (String, String)>, limit: Duration) -> Self {
        let cluster = |(context, server)| FleetCluster { context, server, ..FleetCluster::default() };
        FleetRun { clusters: contexts.into_iter().map(cluster).collect(), is_listed: false, limit }
    }

    pub fn is_done(&self) -> bool {
        self.clusters.iter().all(FleetCluster::is_settled)
    }

    /// Reports whether everything that is still open belongs to clusters that have not answered for long.
    pub fn is_ready_to_print(&self) -> bool {
        self.is_listed && self.clusters.iter().all(|cluster| cluster.is_settled() || cluster.gives_way(self.limit))
    }

    /// Runs the command for every cluster. Calls `observe` after every change, and periodically; `false` ends the run.
    pub async fn run(
        &mut self,
        shell: &Shell,
        parallel: usize,
        command: Arc<ClusterCommand>,
        mut observe: impl FnMut(&mut FleetRun) -> bool,
    ) {
        // A profile without a context has failed before the run begins.
        let waits = |index: &usize| {
            self.clusters.get(*index).is_some_and(|cluster| matches!(cluster.stage, ClusterStage::Waiting))
        };
        let mut unidentified: VecDeque<usize> = (0..self.clusters.len()).filter(waits).collect();
        let mut identifying = FuturesUnordered::new();
        let mut runnable: VecDeque<usize> = VecDeque::new();
        let (sender, mut ended) = mpsc::unbounded_channel();
        let mut running = 0;
        loop {
            while identifying.len() + running < parallel.max(1) {
                // Identities first: no command begins before the list of clusters is known.
                if let Some(index) = unidentified.pop_front() {
                    let Some(cluster) = self.clusters.get_mut(index) else { continue };
                    cluster.stage = ClusterStage::Identifying(Instant::now());
                    identifying.push(identify(shell, index, cluster.context.clone(), self.limit));
                } else if let Some(index) = runnable.pop_front() {
                    running += 1;
                    self.start(index, &command, &sender);
                } else {
                    break;
                }
            }
            if !observe(self) || self.is_done() {
                return;
            }
            tokio::select! {
                Some((index, identified)) = identifying.next() => {
                    self.identified(index, identified);
                    if self.is_listed {
                        runnable.extend(self.admit());
                    }
                }
                Some((index, result)) = ended.recv() => {
                    running -= 1;
                    self.end(index, result);
                }
                () = tokio::time::sleep(TICK) => {}
            }
            let is_late = |cluster: &FleetCluster| match cluster.stage {
                ClusterStage::Waiting => false,
                ClusterStage::Identifying(since) => since.elapsed() >= PATIENCE,
                _ => true,
            };
            if !self.is_listed && self.clusters.iter().all(is_late) {
                runnable.extend(self.admit());
                self.is_listed = true;
            }
        }
    }

    fn identified(&mut self, index: usize, identified: Result<ClusterIdentity, CliError>) {
        let Some(cluster) = self.clusters.get_mut(index) else { return };
        if let ClusterStage::Identifying(since) = cluster.stage {
            cluster.duration = since.elapsed();
        }
        match identified {
            Ok(identity) => {
                cluster.identity = Some(identity);
                cluster.stage = ClusterStage::Identified;
            }
            Err(error) => cluster.stage = ClusterStage::Ended(Err(error)),
        }
    }

    /// Returns the identified clusters that are to run; one that an earlier context leads to is skipped.
    fn admit(&mut self) -> Vec<usize> {
        let mut admitted = vec![];
        for index in 0..self.clusters.len() {
            let (before, rest) = self.clusters.split_at_mut(index);
            let Some(cluster) = rest.first_mut().filter(|one| matches!(one.stage, ClusterStage::Identified)) else {
                continue;
            };
            // A context that failed leaves its cluster to the next one that leads there.
            let is_run = |one: &&mut FleetCluster| {
                matches!(one.stage, ClusterStage::Identified | ClusterStage::Running | ClusterStage::Ended(Ok(_)))
            };
            let twin =
                before.iter_mut().filter(is_run).find(|one| is_same(one, cluster)).map(|one| one.context.clone());
            match twin {
                Some(twin) => {
                    cluster.stage = ClusterStage::Skipped(format!("the same cluster as {twin}"));
                }
                None => admitted.push(index),
            }
        }
        admitted.retain(|index| !self.has_running_twin(*index));
        for index in &admitted {
            if let Some(cluster) = self.clusters.get_mut(*index) {
                cluster.stage = ClusterStage::Running;
            }
        }
        admitted
    }

    /// Skips a cluster that answered so late that a later context of the same cluster runs already.
    fn has_running_twin(&mut self, index: usize) -> bool {
        let Some(cluster) = self.clusters.get(index) else { return false };
        let later = self.clusters.iter().skip(index + 1);
        let twin = later
            .filter(|one| matches!(one.stage, ClusterStage::Running | ClusterStage::Ended(Ok(_))))
            .find(|one| is_same(one, cluster))
            .map(|one| one.context.clone());
        let Some(twin) = twin else { return false };
        if let Some(cluster) = self.clusters.get_mut(index) {
            cluster.stage = ClusterStage::Skipped(format!("the same cluster as {twin}"));
        }
        true
    }

    fn start(
        &mut self,
        index: usize,
        command: &Arc<ClusterCommand>,
        sender: &mpsc::UnboundedSender<(usize, Result<Exit, CliError>)>,
    ) {
        let Some(cluster) = self.clusters.get(index) else { return };
        let (context, output) = (cluster.context.clone(), cluster.output.clone());
        let (command, answer) = (command.clone(), sender.clone());
        let work = move || {
            let under_way = RunningCommands::begins();
            // A panic has been reported when it comes here; it must not keep the others waiting.
            let result = catch_unwind(AssertUnwindSafe(|| command(&context, &output)));
            drop(under_way);
            let _ =
                answer.send((index, result.unwrap_or_else(|_| Err(CliError::failed("the command ended in a panic")))));
        };
        if let Err(error) = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
            let error = CliError::failed("cannot start a thread for the cluster").caused_by(&error);
            let _ = sender.send((index, Err(error.hint("lower --parallel, or raise `ulimit -u`"))));
        }
        if let Some(cluster) = self.clusters.get_mut(index) {
            cluster.began = Some(Instant::now());
        }
    }

    fn end(&mut self, index: usize, result: Result<Exit, CliError>) {
        let Some(cluster) = self.clusters.get_mut(index) else { return };
        // Identifying the cluster took its part of the time already.
        cluster.duration += cluster.began.map(|began| began.elapsed()).unwrap_or_default();
        cluster.stage = ClusterStage::Ended(result);
    }
}

/// Commands under way, in all runs of the process.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

struct RunningCommands;

impl RunningCommands {
    fn begins() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        RunningCommands
    }
}

impl Drop for RunningCommands {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits a moment for commands that an interrupt ends as well: their threads end the processes they started.
pub fn wait_for_commands() {
    let began = Instant::now();
    while UNDER_WAY.load(Ordering::SeqCst) > 0 && began.elapsed() < LAST_WAIT {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reports whether two contexts lead to one cluster. Without the UID of one of them the address decides.
fn is_same(one: &FleetCluster, other: &FleetCluster) -> bool {
    let uid = |cluster: &FleetCluster| cluster.identity.as_ref().and_then(|identity| identity.uid.clone());
    match (uid(one), uid(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.server == other.server,
    }
}

/// Asks a cluster for its identity, within the time it has to answer first.
async fn identify(
    shell: &Shell,
    index: usize,
    context: String,
    limit: Duration,
) -> (usize, Result<ClusterIdentity, CliError>) {
    let late = || {
        CliError::new(Exit::Unreachable, format!("cannot reach context {context}"))
            .cause(format!("no answer within {limit:?}"))
            .hint("--cluster-timeout sets how long a cluster has to answer first")
    };
    let identified = tokio::time::timeout(limit, ask(shell, &context)).await;
    (index, identified.unwrap_or_else(|_| Err(late())))
}

async fn ask(shell: &Shell, context: &str) -> Result<ClusterIdentity, CliError> {
    let session = Session::of_context(shell, Some(context)).await?;
    let (uid, version) = tokio::join!(session.cluster_uid(), session.cluster.server_version());
    // The command says better what may not be read.
    let uid = uid.map_err(|error| cli_error(&error).with_exit(Exit::Unreachable))?;
    let version = version.ok().and_then(|version| version.get("gitVersion")?.as_str().map(str::to_owned));
    Ok(ClusterIdentity { uid, version })
}
