//! Runs one command for many clusters: `--contexts` and `--clusters-from`.
//!
//! ```text
//! selection, profiles   the contexts to ask
//! reads                 the commands that run for many clusters, and the form in which each prints
//! descriptors           how many clusters the process can ask at once
//! schedule              when each cluster is asked, and how it ended
//! join, views, page     the answers as one
//! plans                 equal plans folded, one file a cluster
//! ```
//! Each cluster runs the unchanged command, with a shell that collects its output. So every command that reads one
//! cluster can read many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flux_operator::k8s::fields;
use serde_json::{Value, json};

use crate::output::counted;
use crate::session::connect::contexts_with_servers;
use crate::terminal::output_format::Format;
use crate::terminal::progress::{Progress, ProgressMode};
use crate::terminal::{CliError, Exit, Shell};

mod descriptors;
mod join;
mod page;
mod plans;
mod profiles;
mod reads;
mod schedule;
mod selection;
mod views;

#[cfg(test)]
pub use join::FleetResult;
use join::{JoinedOutput, Piece, closing_line, cluster_result, document, failure, hints_of, json_line, pieces};
use profiles::{InventoryPlace, context_of};
pub use reads::FleetRead;
use reads::FleetShape;
pub use schedule::ClusterCommand;
use schedule::{ClusterStage, FleetCluster, FleetRun};

/// Pauses without a terminal: before the first line about progress, and between later lines.
const SILENCE: Duration = Duration::from_secs(1);
const BETWEEN_LINES: Duration = Duration::from_secs(5);
/// Limit for the lines of one cluster on standard error. A user without rights would get a warning for each kind.
const MAX_STDERR_LINES: usize = 5;

/// Runs a command for every selected cluster, and joins the output.
///
/// # Errors
/// Usage, if no cluster is selected; errors of the kubeconfig and of the inventory; interrupted. The error of a single
/// cluster is part of the answer.
pub fn run(read: &FleetRead, shell: &Shell, command: Arc<ClusterCommand>) -> Result<Exit, CliError> {
    if let Some(folder) = &read.folder {
        plans::make_folder(folder)?;
    }
    let flags = shell.global();
    let done = shell.block_on(async {
        let mut fleet = shell.interruptible(select(shell)).await?;
        if read.folder.is_some() {
            plans::check_file_names(fleet.clusters.iter().map(|cluster| cluster.context.as_str()))?;
        }
        let mut presenter = Presenter::new(read, shell, &fleet);
        let parallel = descriptors::parallel(flags.parallel.into(), shell);
        let run = fleet.run(shell, parallel, command, |fleet| presenter.observe(fleet));
        let interrupted = shell.interruptible(async {
            run.await;
            Ok(())
        });
        if let Err(error) = interrupted.await {
            // The interrupt ends this wait, but not the commands, which run on their own threads.
            schedule::wait_for_commands();
            presenter.finish_interrupted(&mut fleet);
            return Err(error.cause(closing_line(&fleet)));
        }
        let end = presenter.finish(&fleet);
        Ok((fleet, end))
    })?;
    let (fleet, end) = done?;
    end?;
    Ok(join::exit(&fleet))
}

/// Returns the clusters that the flags select.
async fn select(shell: &Shell) -> Result<FleetRun, CliError> {
    let flags = shell.global();
    let known = contexts_with_servers(shell).await?;
    let limit = flags.cluster_timeout.0;
    let server = |context: &str| {
        let found = known.iter().find(|(name, _)| name == context);
        found.map(|(_, server)| server.clone()).unwrap_or_default()
    };
    let Some(inventory) = &flags.clusters_from else {
        if flags.cluster_selector.is_some() {
            return Err(CliError::usage("--cluster-selector filters ClusterProfiles, so it needs --clusters-from")
                .hint("name the context with the ClusterProfiles: --clusters-from CONTEXT"));
        }
        let words = selection::with_files(&flags.contexts)?;
        let groups: BTreeMap<String, Vec<String>> = shell
            .config()
            .context_groups
            .iter()
            .map(|(name, globs)| (name.clone(), globs.iter().map(|glob| glob.as_str().to_owned()).collect()))
            .collect();
        let names: Vec<String> = known.iter().map(|(name, _)| name.clone()).collect();
        let selected = selection::select(&words, &groups, &names)?;
        for word in &selected.unmatched {
            shell.warn(&format!("no context matches {word}"));
        }
        let clusters = selected.contexts.into_iter().map(|name| {
            let server = server(&name);
            (name, server)
        });
        return Ok(FleetRun::new(clusters, limit));
    };
    if !flags.contexts.is_empty() {
        return Err(
            CliError::usage("--contexts and --clusters-from cannot be used together").hint("leave one of them out")
        );
    }
    let place = InventoryPlace::of(inventory, &known);
    let profiles = profiles::read(shell, &place, flags.cluster_selector.as_deref()).await?;
    if profiles.is_empty() {
        return Err(CliError::usage(format!("no ClusterProfile matches in context {}", place.context)).hint(format!(
            "list them with `kubectl --context {} get clusterprofiles -A --show-labels`",
            place.context
        )));
    }
    let mut fleet = FleetRun::new([], limit);
    for profile in &profiles {
        fleet.clusters.push(match context_of(profile, &known) {
            Some(context) => {
                FleetCluster { context: context.to_owned(), server: server(context), ..FleetCluster::default() }
            }
            None => without_context(profile),
        });
    }
    // Sorted in the order of contexts, regardless of the order of the inventory. Profiles without a context come last.
    let position =
        |cluster: &FleetCluster| known.iter().position(|(name, _)| *name == cluster.context).unwrap_or(usize::MAX);
    fleet.clusters.sort_by_key(position);
    // Several profiles may have the same context, which is kept once. All profiles without a context are kept, so that
    // each is reported.
    fleet.clusters.dedup_by(|one, other| one.context == other.context && !one.is_settled());
    Ok(fleet)
}

/// Returns a failed cluster for a profile without a context in the kubeconfig, so that the profile is not omitted
/// silently.
fn without_context(profile: &Value) -> FleetCluster {
    let name = fields::name(profile).to_owned();
    let error = CliError::new(Exit::NotFound, format!("no context leads to the cluster of ClusterProfile {name}"))
        .hint("add a context with the name of the profile, or with its server, to the kubeconfig");
    FleetCluster { context: name, stage: ClusterStage::Ended(Err(error)), ..FleetCluster::default() }
}

/// Prints the answers of the clusters as they arrive.
struct Presenter<'a> {
    read: &'a FleetRead,
    shell: &'a Shell,
    joined: JoinedOutput,
    /// Whether the output of each cluster is printed, and whether its lines on standard error are.
    printed: Vec<bool>,
    reported: Vec<bool>,
    is_list_printed: bool,
    /// Whether the first block of clusters is printed. Later clusters are printed one by one.
    has_begun: bool,
    progress: Option<Progress>,
    /// The last line about progress, and when it was printed.
    last_line: (String, Instant),
}

impl<'a> Presenter<'a> {
    fn new(read: &'a FleetRead, shell: &'a Shell, fleet: &FleetRun) -> Self {
        let contexts = fleet.clusters.iter().map(|cluster| cluster.context.as_str());
        // A live line would garble data on the same terminal.
        let is_quiet_terminal = matches!(read.format, Format::JsonLines) && shell.stdout_is_terminal();
        let is_live = shell.stderr_is_terminal() && !shell.has_structured_errors() && !is_quiet_terminal;
        shell.disable_waiting_message();
        Presenter {
            joined: JoinedOutput::new(shell, contexts, read.headers, read.is_wide()),
            printed: vec![false; fleet.clusters.len()],
            reported: vec![false; fleet.clusters.len()],
            is_list_printed: false,
            has_begun: false,
            progress: is_live.then(|| Progress::new(shell, ProgressMode::Auto)),
            last_line: (String::new(), Instant::now()),
            read,
            shell,
        }
    }

    /// Prints the output that is due; `false` if stdout is lost.
    fn observe(&mut self, fleet: &mut FleetRun) -> bool {
        if fleet.is_listed && !self.is_list_printed {
            self.is_list_printed = true;
            self.list(fleet);
        }
        match (&self.read.format, self.read.shape) {
            (Format::JsonLines, _) => self.lines(fleet),
            _ if self.read.is_structured() => {}
            (_, FleetShape::Page | FleetShape::Plans) => {}
            _ if self.has_begun || fleet.is_ready_to_print() => self.block(fleet),
            _ => {}
        }
        self.report_progress(fleet);
        !self.shell.output_is_lost()
    }

    /// Prints the clusters with server and identity, before any answer.
    fn list(&self, fleet: &FleetRun) {
        let uid = |cluster: &FleetCluster| cluster.identity.as_ref().and_then(|identity| identity.uid.clone());
        if self.shell.has_structured_errors() {
            let cluster = |cluster: &FleetCluster| {
                let skipped = match &cluster.stage {
                    ClusterStage::Skipped(why) => Some(why),
                    _ => None,
                };
                json!({"context": cluster.context, "server": cluster.server, "uid": uid(cluster), "skipped": skipped})
            };
            let clusters: Vec<Value> = fleet.clusters.iter().map(cluster).collect();
            if !self.shell.global().quiet {
                self.shell.event("clusters", &json!({"clusters": clusters}));
            }
            return;
        }
        self.clear_progress();
        self.shell.status(&format!("asking {}:", counted(fleet.clusters.len(), "cluster")));
        let width = |text: fn(&FleetCluster) -> &str| {
            fleet.clusters.iter().map(|cluster| text(cluster).chars().count()).max().unwrap_or_default()
        };
        let (contexts, servers) = (width(|cluster| &cluster.context), width(|cluster| &cluster.server));
        for cluster in &fleet.clusters {
            let says = match (&cluster.stage, uid(cluster)) {
                (ClusterStage::Skipped(why), _) => format!("{why}, skipped"),
                (_, Some(uid)) => uid,
                (ClusterStage::Ended(Err(_)), None) if cluster.is_unreached() => "cannot be reached".to_owned(),
                (ClusterStage::Ended(Err(_)), None) => "has failed".to_owned(),
                (ClusterStage::Waiting | ClusterStage::Identifying(_), None) => "has not answered yet".to_owned(),
                _ => "not allowed to read its UID".to_owned(),
            };
            let (context, server) = (&cluster.context, &cluster.server);
            self.shell.status(&format!("  {context:contexts$}  {server:servers$}  {says}"));
        }
    }

    /// Prints a line for each cluster that has ended, as it ends.
    fn lines(&mut self, fleet: &FleetRun) {
        for index in self.newly_settled(fleet) {
            let Some(cluster) = fleet.clusters.get(index) else { continue };
            if let Some(result) = cluster_result(cluster) {
                self.shell.print(&json_line(&result));
            }
            self.relay(index, cluster);
        }
    }

    /// Prints the answers of the clusters that have ended: first all together, later the late ones.
    fn block(&mut self, fleet: &FleetRun) {
        // `finish` reports a common mistake once, instead of once per cluster.
        if fleet.is_done() && common_mistake(fleet).is_some() {
            return;
        }
        let settled = self.newly_settled(fleet);
        if settled.is_empty() {
            return;
        }
        self.has_begun = true;
        let clusters: Vec<&FleetCluster> = settled.iter().filter_map(|index| fleet.clusters.get(*index)).collect();
        let is_drawn = matches!(self.read.format, Format::Table | Format::Wide);
        let drawn = match self.read.shape {
            FleetShape::View(view) if is_drawn => {
                let all = fleet.clusters.iter().filter(|one| !matches!(one.stage, ClusterStage::Skipped(_))).count();
                view.pieces(&clusters, all, self.read.is_wide())
            }
            _ => clusters.iter().map(|cluster| (cluster.context.as_str(), self.pieces_of(cluster))).collect(),
        };
        let text = self.joined.draw(drawn);
        self.clear_progress();
        self.shell.print_in_colour(&text);
        settled.iter().zip(clusters).for_each(|(index, cluster)| self.relay(*index, cluster));
    }

    /// Returns the output of a cluster. Programs read a list of names, so an error goes to stderr there.
    fn pieces_of(&self, cluster: &FleetCluster) -> Vec<Piece> {
        let mut pieces = pieces(cluster);
        if matches!(self.read.format, Format::Name | Format::CustomColumns(_)) {
            for piece in &pieces {
                if let Piece::Failure(line) = piece {
                    self.shell.warn(&format!("{}: {line}", cluster.context));
                }
            }
            pieces.retain(|piece| !matches!(piece, Piece::Failure(_)));
        }
        pieces
    }

    /// Prints the answers that arrived before an interrupt. Structured output is not printed, because the document
    /// would look complete.
    fn finish_interrupted(mut self, fleet: &mut FleetRun) {
        self.progress = None;
        let is_printed = !self.read.is_structured() && !matches!(self.read.shape, FleetShape::Page | FleetShape::Plans);
        if is_printed && fleet.clusters.iter().any(|cluster| matches!(cluster.stage, ClusterStage::Ended(_))) {
            self.block(fleet);
        }
    }

    fn newly_settled(&mut self, fleet: &FleetRun) -> Vec<usize> {
        let mut settled = vec![];
        for (index, (cluster, printed)) in fleet.clusters.iter().zip(&mut self.printed).enumerate() {
            if cluster.is_settled() && !std::mem::replace(printed, true) {
                settled.push(index);
            }
        }
        settled
    }

    /// Prints the lines of a cluster for standard error, with the context before each.
    fn relay(&mut self, index: usize, cluster: &FleetCluster) {
        if self.reported.get_mut(index).is_none_or(|reported| std::mem::replace(reported, true)) {
            return;
        }
        let lines = cluster.output.take_stderr_lines();
        for line in lines.iter().take(MAX_STDERR_LINES) {
            self.shell.relay(&cluster.context, line);
        }
        if let Some(more) = lines.len().checked_sub(MAX_STDERR_LINES).filter(|more| *more > 0) {
            let noun = if more == 1 { "line" } else { "lines" };
            self.shell.status(&format!("{0}: and {more} more {noun}; `--context {0}` prints all", cluster.context));
        }
        if let Some(hint) = hints_of(cluster).first()
            && !self.read.is_structured()
        {
            self.shell.hint(&format!("{}: {hint}", cluster.context));
        }
    }

    /// `23 of 40, waiting for prod-eu-3`.
    fn report_progress(&mut self, fleet: &FleetRun) {
        let done = fleet.clusters.iter().filter(|cluster| cluster.is_settled()).count();
        let open =
            |cluster: &&FleetCluster| matches!(cluster.stage, ClusterStage::Identifying(_) | ClusterStage::Running);
        let Some(awaited) = fleet.clusters.iter().find(open) else { return };
        let text = format!("{done} of {}, waiting for {}", fleet.clusters.len(), awaited.context);
        if let Some(progress) = &mut self.progress {
            progress.redraw("clusters", &text);
        } else if self.is_list_printed && self.last_line.0 != text {
            // The first line comes after a short pause, later lines less often.
            let pause = if self.last_line.0.is_empty() { SILENCE } else { BETWEEN_LINES };
            if self.last_line.1.elapsed() >= pause && !self.shell.has_structured_errors() {
                self.shell.status(&text);
                self.last_line = (text, Instant::now());
            }
        }
    }

    /// Removes the live line from the terminal before other output is printed.
    fn clear_progress(&self) {
        if let Some(progress) = &self.progress {
            progress.clear();
        }
    }

    /// Prints the answer about all clusters together, and the closing line.
    fn finish(mut self, fleet: &FleetRun) -> Result<(), CliError> {
        self.progress = None;
        if let Some(error) = common_mistake(fleet) {
            return Err(error);
        }
        let ended = match (&self.read.format, self.read.shape) {
            (Format::JsonLines, _) => Ok(()),
            (format, _) if self.read.is_structured() => document(fleet, format).map(|text| self.shell.print(&text)),
            (_, FleetShape::Page) => page::write(fleet, self.read, self.shell),
            (_, FleetShape::Plans) => {
                self.shell.print_in_colour(&plans::text(fleet, self.read, &mut self.joined));
                Ok(())
            }
            _ => Ok(()),
        };
        let ended = ended.and_then(|()| match &self.read.folder {
            Some(folder) if self.read.has_plans() => plans::write_summary(fleet, folder, self.shell),
            _ => Ok(()),
        });
        fleet.clusters.iter().enumerate().for_each(|(index, cluster)| self.relay(index, cluster));
        self.shell.status(&closing_line(fleet));
        ended
    }
}

/// Returns the error of a wrong command line. It is the same for every cluster, so it is printed once.
fn common_mistake(fleet: &FleetRun) -> Option<CliError> {
    let mut errors = fleet.clusters.iter().map(failure);
    let first = errors.next()??;
    let is_same = |error: Option<&CliError>| error.is_some_and(|error| error.message() == first.message());
    (first.exit() == Exit::Usage && errors.all(is_same)).then(|| first.clone())
}
