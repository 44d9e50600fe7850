//! Schedules one command for many clusters.
//!
//! ```text
//! contexts ─► identify: server, UID of kube-system, version ─► skip a cluster that is there twice ─► run the command
//! ```
//! `--parallel` limits identifications and commands together. The command of each cluster runs on its own thread, with
//! its own connection, deadline and output, so that no cluster affects another.

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

/// After this time, a cluster that has not answered no longer delays the list of clusters, nor the commands of the
/// other clusters, which start after the list.
const PATIENCE: Duration = Duration::from_secs(1);
/// The fraction of `--cluster-timeout` after which a cluster that has not answered no longer delays the output of the
/// other clusters.
const MAX_OUTPUT_DELAY_FRACTION: f64 = 0.6;
/// Interval for checking these times.
const TICK: Duration = Duration::from_millis(100);
/// Limit for waiting for running commands after an interrupt, so that their credential plugins end as well.
const MAX_INTERRUPT_WAIT: Duration = Duration::from_secs(1);

/// Runs the command for one context, and collects its output.
pub type ClusterCommand = dyn Fn(&str, &Arc<CollectedOutput>) -> Result<Exit, CliError> + Send + Sync;

/// The identity of a context's cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterIdentity {
    /// UID of the namespace kube-system; `None` if the user may not read it.
    pub uid: Option<String>,
    /// Version of Kubernetes.
    pub version: Option<String>,
}

/// The progress of one cluster.
#[derive(Debug, Default)]
pub enum ClusterStage {
    #[default]
    Waiting,
    /// The time when the identification began.
    Identifying(Instant),
    Identified,
    Running,
    Ended(Result<Exit, CliError>),
    /// The reason why no command runs for the cluster.
    Skipped(String),
}

/// A context, and the progress of its command.
#[derive(Default)]
pub struct FleetCluster {
    pub context: String,
    pub server: String,
    pub identity: Option<ClusterIdentity>,
    pub stage: ClusterStage,
    /// The time when the command began.
    pub began: Option<Instant>,
    pub duration: Duration,
    pub output: Arc<CollectedOutput>,
}

impl FleetCluster {
    /// Reports whether the cluster will produce no more output.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, ClusterStage::Ended(_) | ClusterStage::Skipped(_))
    }

    /// Reports whether the cluster could not be reached.
    pub fn is_unreached(&self) -> bool {
        matches!(&self.stage, ClusterStage::Ended(Err(error)) if error.exit() == Exit::Unreachable)
    }

    /// Reports whether the cluster has not answered for so long that the other clusters are printed without it.
    fn is_late(&self, limit: Duration) -> bool {
        let longest = limit.mul_f64(MAX_OUTPUT_DELAY_FRACTION);
        matches!(self.stage, ClusterStage::Identifying(since) if since.elapsed() >= longest)
    }
}

/// All clusters of a run, in the order of contexts.
pub struct FleetRun {
    pub clusters: Vec<FleetCluster>,
    /// Whether the list of clusters is known, apart from clusters that have not answered.
    pub is_listed: bool,
    limit: Duration,
}

impl FleetRun {
    /// `contexts` are names, each with the address of its server; `limit` is the time in which a cluster has to answer
    /// its first request.
    pub fn new(contexts: impl IntoIterator<Item = (String, String)>, limit: Duration) -> Self {
        let cluster = |(context, server)| FleetCluster { context, server, ..FleetCluster::default() };
        FleetRun { clusters: contexts.into_iter().map(cluster).collect(), is_listed: false, limit }
    }

    pub fn is_done(&self) -> bool {
        self.clusters.iter().all(FleetCluster::is_settled)
    }

    /// Reports whether all clusters have ended, apart from those that have not answered for long.
    pub fn is_ready_to_print(&self) -> bool {
        self.is_listed && self.clusters.iter().all(|cluster| cluster.is_settled() || cluster.is_late(self.limit))
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
                // All clusters are identified first, because no command begins before the list of clusters is known.
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

    /// Returns the identified clusters whose commands may run. A cluster that also belongs to an earlier context is
    /// skipped.
    fn admit(&mut self) -> Vec<usize> {
        let mut admitted = vec![];
        for index in 0..self.clusters.len() {
            let (before, rest) = self.clusters.split_at_mut(index);
            let Some(cluster) = rest.first_mut().filter(|one| matches!(one.stage, ClusterStage::Identified)) else {
                continue;
            };
            // If an earlier context failed, the cluster is run through the next context that reaches it.
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

    /// Skips a context that answered so late that the command already runs in a later context of the same cluster.
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
            // The panic hook has already reported the panic. It must not keep the other clusters waiting.
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
        // The duration already includes the identification of the cluster.
        cluster.duration += cluster.began.map(|began| began.elapsed()).unwrap_or_default();
        cluster.stage = ClusterStage::Ended(result);
    }
}

/// Number of running commands, in all runs of the process.
static RUNNING_COMMAND_COUNT: AtomicUsize = AtomicUsize::new(0);

struct RunningCommands;

impl RunningCommands {
    fn begins() -> Self {
        RUNNING_COMMAND_COUNT.fetch_add(1, Ordering::SeqCst);
        RunningCommands
    }
}

impl Drop for RunningCommands {
    fn drop(&mut self) {
        RUNNING_COMMAND_COUNT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits up to [`MAX_INTERRUPT_WAIT`] for running commands after an interrupt, so that their threads can end the
/// processes that they started.
pub fn wait_for_commands() {
    let began = Instant::now();
    while RUNNING_COMMAND_COUNT.load(Ordering::SeqCst) > 0 && began.elapsed() < MAX_INTERRUPT_WAIT {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reports whether two contexts belong to the same cluster. If the UID of either is unknown, the addresses are
/// compared.
fn is_same(one: &FleetCluster, other: &FleetCluster) -> bool {
    let uid = |cluster: &FleetCluster| cluster.identity.as_ref().and_then(|identity| identity.uid.clone());
    match (uid(one), uid(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.server == other.server,
    }
}

/// Asks a cluster for its identity, within the time limit for its first answer.
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
    // Other errors are left to the command, whose message says what the user may not read.
    let uid = uid.map_err(|error| cli_error(&error).with_exit(Exit::Unreachable))?;
    let version = version.ok().and_then(|version| version.get("gitVersion")?.as_str().map(str::to_owned));
    Ok(ClusterIdentity { uid, version })
}
