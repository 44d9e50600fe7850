//! Views of all clusters, built from the JSON that the command prints for each cluster.

use std::cmp::Reverse;
use std::sync::LazyLock;

use flux_operator::format::age::short_age;
use flux_operator::format::harmless::on_one_line;
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::k8s::fields;
use jiff::Timestamp;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::join::{Piece, WITHOUT_FLUX, failure, failure_line, first_names, printed_json};
use super::schedule::{ClusterStage, FleetCluster};
use crate::output::counted;
use crate::output::listing::{Cell, Column};
use crate::output::table::Heading;

/// How the answers of all clusters are combined into one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetView {
    /// A line per cluster, the worst first.
    Status,
    /// A line per cluster.
    Versions,
    /// A line for each check that did not pass.
    Checks,
    /// Equal causes of several clusters, combined.
    Causes,
}

/// A cluster with the pieces that a view draws of it.
pub type ClusterPieces<'a> = (&'a str, Vec<Piece>);

impl FleetView {
    /// The pieces of settled clusters, in the order in which they are drawn. `of` is the number of all clusters.
    pub fn pieces<'a>(self, clusters: &[&'a FleetCluster], of: usize, is_wide: bool) -> Vec<ClusterPieces<'a>> {
        let clusters: Vec<&FleetCluster> =
            clusters.iter().copied().filter(|one| !matches!(one.stage, ClusterStage::Skipped(_))).collect();
        match self {
            FleetView::Causes => causes(&clusters, of, is_wide),
            FleetView::Status => {
                let mut rows: Vec<_> = clusters.iter().map(|cluster| status(cluster)).collect();
                // The sort is stable, so clusters with the same rank keep the order of contexts.
                rows.sort_by_key(|(badness, _)| Reverse(*badness));
                rows.into_iter().map(|(_, drawn)| drawn).collect()
            }
            FleetView::Versions => clusters.iter().map(|cluster| rows(cluster, &VERSION_COLUMNS, versions)).collect(),
            FleetView::Checks => clusters.iter().map(|cluster| rows(cluster, &CHECK_COLUMNS, checks)).collect(),
        }
    }
}

/// Returns the rows of a cluster, or a line with the reason why it has none.
fn rows<'a>(
    cluster: &'a FleetCluster,
    columns: &[Column],
    rows_of: impl FnOnce(&Value) -> Vec<Vec<Cell>>,
) -> ClusterPieces<'a> {
    let piece = match failure(cluster) {
        Some(error) => Piece::Failure(failure_line(error)),
        None => {
            Piece::Rows { headings: columns.iter().map(Heading::from).collect(), rows: rows_of(&printed_json(cluster)) }
        }
    };
    (&cluster.context, vec![piece])
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    fields::some_text(value, pointer).map(str::to_owned)
}

const STATUS_COLUMNS: [Column; 6] = [
    Column::new("VERDICT"),
    Column::new("FLUX").rank(2),
    Column::new("OPERATOR").rank(3),
    Column::new("INSTANCE").rank(4),
    Column::new("FAILING").rank(1),
    Column::MESSAGE,
];

/// Returns the rank of a cluster for sorting, and its line.
fn status<'a>(cluster: &'a FleetCluster) -> ((u8, i64), ClusterPieces<'a>) {
    if let Some(error) = failure(cluster) {
        return ((u8::MAX, 0), (&cluster.context, vec![Piece::Failure(failure_line(error))]));
    }
    let view = printed_json(cluster);
    let verdict = verdict(&view);
    let failing = fields::number(&view, "/failing").unwrap_or_default();
    let row = vec![
        Cell::text(verdict.as_str()),
        Cell::some_text(text(&view, "/versions/distribution").as_deref()),
        Cell::some_text(text(&view, "/operator/state").as_deref()),
        Cell::some_text(text(&view, "/instance/ready").as_deref()),
        Cell::Share(failing, fields::number(&view, "/counts/total").unwrap_or_default()),
        Cell::message(&status_message(&view, verdict)),
    ];
    let headings = STATUS_COLUMNS.iter().map(Heading::from).collect();
    // Verdicts are declared in order, from the best to the worst.
    ((verdict as u8, failing), (&cluster.context, vec![Piece::Rows { headings, rows: vec![row] }]))
}

/// Returns the verdict that `status` printed; `Unknown` if it printed none.
fn verdict(view: &Value) -> HealthVerdict {
    let of = |verdict: &Value| HealthVerdict::deserialize(verdict).ok();
    view.get("verdict").and_then(of).unwrap_or(HealthVerdict::Unknown)
}

/// Returns the most informative message: that of the instance, its controllers, the objects it deploys, or the
/// operator.
fn status_message(view: &Value, verdict: HealthVerdict) -> String {
    match verdict {
        HealthVerdict::NotInstalled => return WITHOUT_FLUX.to_owned(),
        HealthVerdict::Unknown => {
            let kinds: Vec<&str> = fields::items(view, "/unreadable").iter().filter_map(Value::as_str).collect();
            return format!(
                "not allowed to read {}",
                if kinds.is_empty() { "the objects that decide it".to_owned() } else { kinds.join(", ") }
            );
        }
        _ => {}
    }
    if verdict != HealthVerdict::Failing {
        return text(view, "/instance/message").unwrap_or_default();
    }
    if text(view, "/instance/ready").as_deref() == Some("False")
        && let Some(message) = text(view, "/instance/message")
    {
        return message;
    }
    let controller = fields::items(view, "/controllers")
        .iter()
        .find_map(|controller| Some(format!("{}: {}", text(controller, "/name")?, text(controller, "/message")?)));
    let failure = fields::items(view, "/failures").first().map(|row| {
        let field = |name: &str| text(row, name).unwrap_or_default();
        format!("{}/{}/{}: {}", field("/kind"), field("/namespace"), field("/name"), field("/message"))
    });
    let cause = || fields::items(view, "/causes").first().and_then(|cause| text(cause, "/summary"));
    controller.or(failure).or_else(cause).or_else(|| text(view, "/operator/message")).unwrap_or_default()
}

const VERSION_COLUMNS: [Column; 6] = [
    Column::new("FLUX"),
    Column::new("OPERATOR").rank(1),
    Column::new("KUBERNETES").rank(2),
    Column::new("RANGE").rank(3),
    Column::new("ALLOWED").rank(4),
    Column::new("BLOCKED").rank(2),
];

fn versions(view: &Value) -> Vec<Vec<Cell>> {
    let members = ["distribution", "operator", "kubernetes", "range", "newestAllowed", "newestBlocked"];
    let cell = |member: &str| Cell::some_text(view.get(member).and_then(Value::as_str));
    vec![members.into_iter().map(cell).collect()]
}

const CHECK_COLUMNS: [Column; 3] = [Column::new("RESULT"), Column::new("CHECK"), Column::MESSAGE];

fn checks(report: &Value) -> Vec<Vec<Cell>> {
    let checks = || fields::items(report, "/groups").iter().flat_map(|group| fields::items(group, "/checks"));
    let of = |verdict: &'static str| checks().filter(move |check| fields::text(check, "/verdict") == verdict);
    let row = |check: &Value| {
        let cell = |pointer: &str| Cell::some_text(fields::some_text(check, pointer));
        vec![cell("/verdict"), cell("/name"), Cell::message(fields::text(check, "/message"))]
    };
    let mut rows: Vec<Vec<Cell>> = of("fail").chain(of("warn")).map(row).collect();
    if rows.is_empty() {
        let (result, message) = match fields::number(report, "/passes").unwrap_or_default() {
            0 => ("skip", "nothing could be checked".to_owned()),
            passes => ("pass", format!("{passes} passed")),
        };
        rows.push(vec![Cell::text(result), Cell::text("all"), Cell::message(&message)]);
    }
    rows
}

/// A cause that several clusters may share.
struct FoldedCause {
    key: String,
    summary: String,
    reason: String,
    /// The clusters with the cause, and since when each has it, if known.
    clusters: Vec<(String, Option<Timestamp>)>,
    /// Number of objects that the cause affects in all clusters.
    affected: usize,
    next: Option<String>,
}

fn causes<'a>(clusters: &[&'a FleetCluster], of: usize, is_wide: bool) -> Vec<ClusterPieces<'a>> {
    let mut folded: Vec<FoldedCause> = vec![];
    let (mut rest, mut failures) = (vec![], vec![]);
    for cluster in clusters {
        if let Some(error) = failure(cluster) {
            failures.push((cluster.context.as_str(), vec![Piece::Failure(failure_line(error))]));
        } else if let ClusterStage::Ended(Ok(_)) = cluster.stage {
            let view = printed_json(cluster);
            let causes = fields::items(&view, "/causes");
            if causes.is_empty() {
                rest.push((verdict(&view), cluster.context.as_str()));
            }
            causes.iter().for_each(|cause| fold(&mut folded, cause, cluster));
        }
    }
    folded.sort_by_key(|cause| Reverse((cause.clusters.len(), cause.affected)));
    let now = Timestamp::now();
    let mut lines: String = folded.iter().map(|cause| cause.lines(of, is_wide, now)).collect();
    for (words, is_meant) in WITHOUT_CAUSES {
        let names: Vec<&str> = rest.iter().filter(|(verdict, _)| is_meant(*verdict)).map(|(_, name)| *name).collect();
        if !names.is_empty() {
            let shown = if is_wide { names.join(", ") } else { first_names(&names) };
            lines.push_str(&format!("{}: {words}: {shown}\n", share(names.len(), of)));
        }
    }
    let mut drawn = vec![("", vec![Piece::Text(lines)])];
    drawn.extend(failures);
    drawn
}

/// Reports whether a verdict is one of a group.
type VerdictTest = fn(HealthVerdict) -> bool;

/// Groups of clusters without a cause, by verdict.
const WITHOUT_CAUSES: [(&str, VerdictTest); 3] = [
    (WITHOUT_FLUX, |verdict| verdict == HealthVerdict::NotInstalled),
    ("not allowed to read the objects that decide it", |verdict| verdict == HealthVerdict::Unknown),
    ("nothing fails", |verdict| !matches!(verdict, HealthVerdict::NotInstalled | HealthVerdict::Unknown)),
];

fn fold(folded: &mut Vec<FoldedCause>, cause: &Value, cluster: &FleetCluster) {
    let summary = fields::text(cause, "/summary");
    let reason = fields::text(cause, "/reason");
    let key = format!("{reason} {} {}", fields::text(cause, "/object/kind"), comparable(summary, &cluster.context));
    let moments = fields::items(cause, "/evidence").iter().filter_map(|one| fields::text(one, "/at").parse().ok());
    let since: Option<Timestamp> = moments.min();
    let affected = fields::items(cause, "/affected").len();
    let at = folded.iter().position(|one| one.key == key).unwrap_or(folded.len());
    if at == folded.len() {
        folded.push(FoldedCause {
            key,
            summary: summary.to_owned(),
            reason: reason.to_owned(),
            clusters: vec![],
            affected: 0,
            next: fields::items(cause, "/next").first().and_then(Value::as_str).map(str::to_owned),
        });
    }
    let Some(one) = folded.get_mut(at) else { return };
    one.affected += affected;
    // Several causes of the same cluster may be combined, but the cluster counts only once.
    match one.clusters.last_mut().filter(|(context, _)| *context == cluster.context) {
        Some((_, known)) => *known = (*known).into_iter().chain(since).min(),
        None => one.clusters.push((cluster.context.clone(), since)),
    }
}

/// Replaces the parts of a summary that differ between clusters although the cause is the same: addresses, digests,
/// times, the generated ends of pod names, and the name of the cluster.
fn comparable(summary: &str, context: &str) -> String {
    static DIFFERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{7,64}\b|-[a-z0-9]{8,10}-[a-z0-9]{5}\b|\b\d+(?:\.\d+)?(?:ms|s|m|h|d)\b",
        )
        .ok()
    });
    // A name of one or two letters could be part of ordinary words.
    let named = if context.len() > 2 { summary.replace(context, "*") } else { summary.to_owned() };
    DIFFERS.as_ref().map_or_else(|| named.clone(), |differs| differs.replace_all(&named, "*").into_owned())
}

fn share(count: usize, of: usize) -> String {
    format!("{count} of {}", counted(of, "cluster"))
}

impl FoldedCause {
    fn lines(&self, of: usize, is_wide: bool, now: Timestamp) -> String {
        let first = self.clusters.iter().filter_map(|(context, since)| Some(((*since)?, context))).min();
        let first = first.map(|(since, context)| format!(", first in {context} {}", moment(since, now)));
        let mut text = format!(
            "{}: {} ({}){}\n",
            share(self.clusters.len(), of),
            on_one_line(&self.summary),
            self.reason,
            first.unwrap_or_default()
        );
        let names: Vec<&str> = self.clusters.iter().map(|(context, _)| context.as_str()).collect();
        let names = if is_wide { names.join(", ") } else { first_names(&names) };
        let objects = if self.affected == 1 { "object" } else { "objects" };
        text.push_str(&format!("  {names}: takes down {} {objects}\n", self.affected));
        if let Some(next) = &self.next {
            text.push_str(&format!("  next: {next}\n"));
        }
        text
    }
}

/// Formats a time of today as `at 10:02` in UTC, and an earlier time as its age.
fn moment(at: Timestamp, now: Timestamp) -> String {
    let day = |moment: Timestamp| moment.strftime("%Y-%m-%d").to_string();
    match day(at) == day(now) {
        true => format!("at {}", at.strftime("%H:%M")),
        false => format!("{} ago", short_age(at, now)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::fleet::join::JoinedOutput;
    use crate::terminal::collected::CollectedOutput;
    use crate::terminal::{CliError, Exit, Shell};

    fn cluster(context: &str, ended: Result<Exit, CliError>, printed: &Value) -> FleetCluster {
        let output = Arc::new(CollectedOutput::default());
        output.print(printed.to_string().as_bytes());
        FleetCluster {
            context: context.to_owned(),
            stage: ClusterStage::Ended(ended),
            output,
            ..FleetCluster::default()
        }
    }

    fn drawn(view: FleetView, clusters: &[FleetCluster]) -> String {
        let all: Vec<&FleetCluster> = clusters.iter().collect();
        let contexts = clusters.iter().map(|cluster| cluster.context.as_str());
        let mut joined = JoinedOutput::new(&Shell::of_flags(&["--color", "never"]), contexts, true, false);
        joined.draw(view.pieces(&all, clusters.len(), false))
    }

    fn unreachable() -> Result<Exit, CliError> {
        Err(CliError::new(Exit::Unreachable, "cannot reach the server").cause("connection refused"))
    }

    fn state(verdict: &str, failing: u32) -> Value {
        json!({"verdict": verdict, "failing": failing, "counts": {"total": 5}, "versions": {"distribution": "v2.9.4"},
            "operator": {"state": "Running", "message": "running"}, "instance": {"ready": "True"},
            "failures": [{"kind": "Kustomization", "namespace": "apps", "name": "web", "message": "no such branch"}]})
    }

    #[test]
    fn the_status_of_many_clusters_begins_with_the_worst() {
        let clusters = [
            cluster("a", Ok(Exit::Done), &state("ready", 0)),
            cluster("b", Ok(Exit::Unhealthy), &state("failing", 1)),
            cluster("dead", unreachable(), &Value::Null),
            cluster(
                "d",
                Ok(Exit::Unhealthy),
                &json!({"verdict": "notInstalled", "versions": {}, "operator": {"state": "Absent"}}),
            ),
            cluster("e", Ok(Exit::Unhealthy), &state("failing", 3)),
        ];
        let text = drawn(FleetView::Status, &clusters);
        let order: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(order, ["CLUSTER", "dead", "d", "e", "b", "a"], "{text}");
        assert!(text.contains("✗ cannot reach the server: connection refused"), "{text}");
        assert!(text.contains("Kustomization/apps/web: no such branch") && text.contains("3/5"), "{text}");
    }

    #[test]
    fn equal_causes_are_folded_over_clusters_and_the_first_is_named() {
        let view = |at: &str, digest: &str| {
            json!({"causes": [{"reason": "CredentialsRejected", "object": {"kind": "OCIRepository"},
                "summary": format!("the registry rejects the token for main@sha1:{digest}"),
                "evidence": [{"from": "condition", "text": "x", "at": at}],
                "next": ["flux-operator events"], "affected": [1, 2, 3]}]})
        };
        let clusters = [
            cluster("eu-1", Ok(Exit::Unhealthy), &view("2026-01-01T10:05:00Z", "0123abcd")),
            cluster("eu-2", Ok(Exit::Unhealthy), &view("2026-01-01T10:02:00Z", "4567abcd")),
            cluster("us-1", Ok(Exit::Done), &json!({"verdict": "ready", "causes": []})),
            cluster("us-2", Ok(Exit::Denied), &json!({"verdict": "unknown", "causes": []})),
            cluster("us-3", Ok(Exit::ApiMissing), &json!({"verdict": "notInstalled", "causes": []})),
            cluster("dead", unreachable(), &Value::Null),
        ];
        let text = drawn(FleetView::Causes, &clusters);
        let first = "2 of 6 clusters: the registry rejects the token for main@sha1:0123abcd (CredentialsRejected), first in eu-2 ";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("  eu-1, eu-2: takes down 6 objects\n"), "{text}");
        let rest = [
            "nothing fails: us-1",
            "not allowed to read the objects that decide it: us-2",
            "Flux is not installed: us-3",
        ];
        for line in rest {
            assert!(text.contains(&format!("1 of 6 clusters: {line}\n")), "{text}");
        }
        assert!(text.contains("dead   ✗ cannot reach the server"), "{text}");
    }

    #[test]
    fn checks_that_passed_are_one_line_and_others_a_line_each() {
        let check = |verdict: &str, name: &str| json!({"verdict": verdict, "name": name, "message": "m"});
        let clusters = [
            cluster("a", Ok(Exit::Done), &json!({"passes": 7, "groups": [{"checks": [check("pass", "x")]}]})),
            cluster("b", Ok(Exit::Failed), &json!({"groups": [{"checks": [check("warn", "w"), check("fail", "f")]}]})),
        ];
        let text = drawn(FleetView::Checks, &clusters);
        let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines,
            [vec!["a", "pass", "all", "7", "passed"], vec!["b", "fail", "f", "m"], vec!["b", "warn", "w", "m"]]
        );
    }

    #[test]
    fn moments_of_today_are_times_and_others_are_ages() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
        let text = |at: &str| moment(at.parse().unwrap(), now);
        assert_eq!((text("2026-01-02T10:02:00Z"), text("2026-01-01T10:02:00Z")), ("at 10:02".into(), "25h ago".into()));
    }
}
