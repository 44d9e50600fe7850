//! Joins the answers of many clusters: tables with a column CLUSTER, lines that begin with the context, or a
//! FleetResult.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::schedule::{ClusterStage, FleetCluster, FleetRun};
use crate::output::counted;
use crate::output::hints::REQUEST_TIMEOUT;
use crate::output::listing::Cell;
use crate::output::next_step::Destination;
use crate::output::table::{Heading, TableStyle, TableWriter, terminal_width};
use crate::terminal::collected::PrintedPiece;
use crate::terminal::output_format::{Format, structured};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::format::harmless::on_one_line;

/// `apiVersion` of a FleetResult.
pub const API_VERSION: &str = "cli.fluxcd.controlplane.io/v1";

/// `-o json` of a command with `--contexts`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetResult {
    pub api_version: &'static str,
    pub kind: &'static str,
    /// In the order of contexts, without those that were skipped.
    pub clusters: Vec<ClusterResult>,
    pub summary: FleetSummary,
}

/// Answer of one cluster; `-o jsonl` prints one a line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterResult {
    pub context: String,
    pub server: String,
    /// UID of the namespace kube-system; null if the user may not read it.
    pub uid: Option<String>,
    /// Version of Kubernetes.
    pub version: Option<String>,
    pub duration_ms: u64,
    /// The output of the command for this cluster alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ClusterFailure>,
}

/// Why a cluster gave no result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFailure {
    /// The word of the exit code: `Unreachable`, `Denied`, `ApiMissing` and so on.
    pub category: &'static str,
    pub message: String,
    pub causes: Vec<String>,
    pub hints: Vec<String>,
}

/// How many clusters gave a result, failed, and were skipped because another context leads to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetSummary {
    pub reached: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl FleetSummary {
    pub fn of(fleet: &FleetRun) -> Self {
        let mut summary = FleetSummary::default();
        for cluster in &fleet.clusters {
            match &cluster.stage {
                ClusterStage::Ended(Ok(_)) => summary.reached += 1,
                ClusterStage::Skipped(_) => summary.skipped += 1,
                _ => summary.failed += 1,
            }
        }
        summary
    }
}

/// Returns the error of a cluster, if it has one.
pub fn failure(cluster: &FleetCluster) -> Option<&CliError> {
    match &cluster.stage {
        ClusterStage::Ended(Err(error)) => Some(error),
        _ => None,
    }
}

/// Returns the advice for the failure of a cluster.
pub fn hints_of(cluster: &FleetCluster) -> Vec<String> {
    let there = Destination { context: Some(cluster.context.clone()), kubeconfig: None };
    failure(cluster).map(|error| error.advice(&there, REQUEST_TIMEOUT)).unwrap_or_default()
}

/// Reports whether the command ran, and found nothing because Flux is not installed.
pub fn is_without_flux(cluster: &FleetCluster) -> bool {
    matches!(cluster.stage, ClusterStage::Ended(Ok(Exit::ApiMissing)))
}

/// Formats an error on one line: the message and its causes.
pub fn failure_line(error: &CliError) -> String {
    let parts = std::iter::once(error.message()).chain(error.causes().iter().map(String::as_str));
    on_one_line(&parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": "))
}

/// Returns the result of a cluster whose command printed JSON; `None` for a skipped cluster.
pub fn cluster_result(cluster: &FleetCluster) -> Option<ClusterResult> {
    let (result, error) = match &cluster.stage {
        ClusterStage::Ended(Ok(_)) => (Some(printed_json(cluster)), None),
        ClusterStage::Ended(Err(error)) => (None, Some(cluster_failure(error, hints_of(cluster)))),
        _ => return None,
    };
    let identity = cluster.identity.clone().unwrap_or_default();
    Some(ClusterResult {
        context: cluster.context.clone(),
        server: cluster.server.clone(),
        uid: identity.uid,
        version: identity.version,
        duration_ms: u64::try_from(cluster.duration.as_millis()).unwrap_or(u64::MAX),
        result,
        error,
    })
}

fn cluster_failure(error: &CliError, hints: Vec<String>) -> ClusterFailure {
    ClusterFailure {
        category: error.exit().code_and_category().1,
        message: error.message().to_owned(),
        causes: error.causes().to_vec(),
        hints,
    }
}

/// Returns the JSON that a command printed, and drops the text.
pub fn printed_json(cluster: &FleetCluster) -> Value {
    let text = cluster.output.text();
    drop(cluster.output.take_printed());
    read_json(&text)
}

/// Reads JSON: one document, or one document per line.
pub fn read_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<Vec<Value>, _>>().map(Value::Array).unwrap_or(Value::Null)
    })
}

/// Formats the whole answer as JSON, YAML or by JSONPath.
pub fn document(fleet: &FleetRun, format: &Format) -> Result<String, CliError> {
    let summary = FleetSummary::of(fleet);
    let clusters = fleet.clusters.iter().filter_map(cluster_result).collect();
    let result = FleetResult { api_version: API_VERSION, kind: "FleetResult", clusters, summary };
    Ok(structured(&result, format)?.unwrap_or_default())
}

/// Formats an element of `clusters` on a line.
pub fn json_line(result: &ClusterResult) -> String {
    // Values that were read as JSON always serialise.
    serde_json::to_string(result).map(|line| line + "\n").unwrap_or_default()
}

/// The row of a cluster without Flux.
pub const WITHOUT_FLUX: &str = "Flux is not installed";

/// A piece of the answer of one cluster.
pub enum Piece {
    Text(String),
    Rows {
        headings: Vec<Heading>,
        rows: Vec<Vec<Cell>>,
    },
    /// The cluster failed: a line in the place of its rows.
    Failure(String),
}

/// Returns the output of a cluster as pieces; empty for a running or skipped cluster.
pub fn pieces(cluster: &FleetCluster) -> Vec<Piece> {
    let printed = cluster.output.take_printed().into_iter().map(|printed| match printed {
        PrintedPiece::Text(text) => Piece::Text(text),
        PrintedPiece::Rows { headings, rows } => Piece::Rows { headings, rows },
    });
    // Output before an error is shown too.
    let mut pieces: Vec<Piece> = printed.collect();
    pieces.extend(failure(cluster).filter(|error| !error.is_silent()).map(|error| Piece::Failure(failure_line(error))));
    let is_blank = |piece: &Piece| matches!(piece, Piece::Rows { rows, .. } if rows.is_empty());
    if is_without_flux(cluster) && pieces.iter().all(is_blank) {
        pieces.push(Piece::Failure(WITHOUT_FLUX.to_owned()));
    }
    pieces
}

/// Draws the pieces of clusters one below the other. All rows are in one table, so the columns of all clusters line up.
pub struct JoinedOutput {
    width: usize,
    headers: bool,
    color: bool,
    terminal: Option<usize>,
    table: Option<TableWriter>,
    /// Whether the heading is drawn. It precedes the first cluster, even if that cluster failed.
    has_heading: bool,
}

impl JoinedOutput {
    /// `contexts` are all contexts that may be drawn; `headers` decides whether a table has a heading.
    pub fn new<'a>(shell: &Shell, contexts: impl Iterator<Item = &'a str>, headers: bool, is_wide: bool) -> Self {
        JoinedOutput {
            width: contexts.map(unicode_width::UnicodeWidthStr::width).max().unwrap_or_default(),
            headers,
            color: shell.stdout_color(),
            terminal: (shell.stdout_is_terminal() && !is_wide).then(terminal_width),
            table: None,
            has_heading: false,
        }
    }

    /// Returns the lines of some clusters, in the given order.
    pub fn draw(&mut self, clusters: Vec<(&str, Vec<Piece>)>) -> String {
        let with_context = |context: &str, row: &[Cell]| {
            let mut cells = vec![Cell::text(context)];
            cells.extend_from_slice(row);
            cells
        };
        let all = clusters.iter().flat_map(|(context, pieces)| pieces.iter().map(move |piece| (*context, piece)));
        let mut rows = vec![];
        for (context, piece) in all {
            if let Piece::Rows { headings, rows: of_cluster } = piece {
                self.table.get_or_insert_with(|| {
                    let first = std::iter::once(Heading::new("CLUSTER"));
                    let style = TableStyle {
                        width: self.terminal,
                        headers: self.headers,
                        color: self.color,
                        now: Timestamp::now(),
                    };
                    let mut table = TableWriter::new(first.chain(headings.iter().cloned()).collect(), style);
                    // Lines of clusters without rows start in the same column as the rows.
                    table.widen_first(self.width);
                    table
                });
                rows.extend(of_cluster.iter().map(|row| with_context(context, row)));
            }
        }
        if let Some(table) = self.table.as_mut().filter(|_| !rows.is_empty()) {
            table.measure(&rows);
        }
        let mut text = match self.table.as_mut().filter(|_| !rows.is_empty() && !self.has_heading) {
            Some(table) => table.page(&[]),
            None => String::new(),
        };
        self.has_heading |= !rows.is_empty();
        let mut rows = rows.into_iter();
        let mut waiting: Vec<Vec<Cell>> = vec![];
        for (context, pieces) in clusters {
            for piece in pieces {
                match piece {
                    Piece::Rows { rows: of_cluster, .. } => waiting.extend(rows.by_ref().take(of_cluster.len())),
                    Piece::Text(lines) => {
                        text.push_str(&self.rows(&mut waiting));
                        text.push_str(&self.prefixed(context, &lines));
                    }
                    Piece::Failure(line) => {
                        text.push_str(&self.rows(&mut waiting));
                        text.push_str(&self.prefixed(context, &format!("✗ {line}")));
                    }
                }
            }
        }
        text + &self.rows(&mut waiting)
    }

    fn rows(&mut self, waiting: &mut Vec<Vec<Cell>>) -> String {
        let rows = std::mem::take(waiting);
        match &mut self.table {
            Some(table) if !rows.is_empty() => table.page(&rows),
            _ => String::new(),
        }
    }

    /// Puts the context before each line, so that every line shows its cluster.
    fn prefixed(&self, context: &str, text: &str) -> String {
        // A text about several clusters has an empty context, and already contains their names.
        if context.is_empty() {
            return text.to_owned();
        }
        let width = match &self.table {
            Some(table) => table.first_width(),
            None => self.width,
        };
        let blanks = " ".repeat(width.saturating_sub(unicode_width::UnicodeWidthStr::width(context)) + GAP);
        text.lines().map(|line| format!("{context}{blanks}{line}").trim_end().to_owned() + "\n").collect()
    }
}

/// Blanks between a context and its line, as between the columns of a table.
const GAP: usize = 3;

/// Returns the exit code of the command: the worst of its clusters.
pub fn exit(fleet: &FleetRun) -> Exit {
    let mut worst: Option<Exit> = None;
    let (mut unreached, mut others) = (0, 0);
    for cluster in &fleet.clusters {
        let exit = match &cluster.stage {
            ClusterStage::Ended(Ok(exit)) => *exit,
            ClusterStage::Ended(Err(_)) if cluster.is_unreached() => {
                unreached += 1;
                continue;
            }
            ClusterStage::Ended(Err(error)) => error.exit(),
            _ => continue,
        };
        others += 1;
        let code = |exit: Exit| exit.code_and_category().0;
        worst = worst.filter(|worst| code(*worst) >= code(exit)).or(Some(exit));
    }
    // Unreachable clusters decide the exit code only if all other clusters succeeded.
    match worst {
        None if unreached > 0 => Exit::Unreachable,
        None | Some(Exit::Done) if unreached > 0 && others > 0 => Exit::PartlyUnreachable,
        None => Exit::Done,
        Some(worst) => worst,
    }
}

/// `18 of 20 clusters answered, 1 could not be reached: prod-3; 1 failed: prod-7; 1 skipped`.
pub fn closing_line(fleet: &FleetRun) -> String {
    let names = |is_meant: &dyn Fn(&FleetCluster) -> bool| -> Vec<&str> {
        fleet.clusters.iter().filter(|cluster| is_meant(cluster)).map(|cluster| cluster.context.as_str()).collect()
    };
    let unreached = names(&FleetCluster::is_unreached);
    let failed = names(&|cluster| failure(cluster).is_some() && !cluster.is_unreached());
    let skipped = names(&|cluster| matches!(cluster.stage, ClusterStage::Skipped(_)));
    let all = fleet.clusters.len() - skipped.len();
    // Clusters whose command was interrupted.
    let open = names(&|cluster| !cluster.is_settled());
    let answered = all - unreached.len() - open.len();
    let mut line = format!("{answered} of {} answered", counted(all, "cluster"));
    let bare = names(&is_without_flux);
    for (names, what) in
        [(open, "not read to the end"), (unreached, "could not be reached"), (failed, "failed"), (bare, "without Flux")]
    {
        if !names.is_empty() {
            line.push_str(&format!("; {} {what}: {}", names.len(), first_names(&names)));
        }
    }
    if !skipped.is_empty() {
        line.push_str(&format!("; {} skipped", skipped.len()));
    }
    line
}

/// Formats the first names, and the number of the other names.
pub fn first_names(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
