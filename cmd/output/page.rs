//! Formats a page as a self-contained HTML file. It contains no script, and its content may be hostile: `maud` escapes
//! every text, and [`document`] removes control characters from the finished page.

use std::collections::{BTreeMap, BTreeSet};

use flux_operator::format::age::short_age;
use flux_operator::format::harmless::on_one_line;
use flux_operator::inspect::diagnose::health::{HealthVerdict, KindCounts};
use flux_operator::inspect::diagnose::status::StatusView;
use flux_operator::inspect::diagnose::why::Overview;
use flux_operator::inspect::incident::page::{History, Page};
use flux_operator::inspect::views::changes::ChangeRow;
use flux_operator::inspect::views::components::ComponentRow;
use flux_operator::inspect::views::events::EventRow;
use flux_operator::inspect::views::inventory::{Drift, InventoryRow};
use flux_operator::inspect::views::tree::TreeNode;
use flux_operator::k8s::kstatus::Status;
use jiff::Timestamp;
use maud::{Markup, PreEscaped, Render, display, html};

use crate::output::affected::affected_kinds;
use crate::output::counted;
use crate::output::listing::Row;

/// Buckets of the timeline of events.
const BUCKETS: i64 = 48;
/// Number of affected objects that are listed before the rest is folded.
const NAMED: usize = 3;
/// Changes that are listed, the newest.
const MAX_CHANGES: usize = 50;

/// The appearance of a value.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Bad,
    Busy,
    Plain,
}

/// Its class in [`STYLE`].
impl Render for Tone {
    fn render_to(&self, out: &mut String) {
        out.push_str(match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Busy => "busy",
            Tone::Plain => "plain",
        });
    }
}

impl Tone {
    fn of_ready(ready: &str) -> Self {
        match ready {
            "True" => Tone::Good,
            "False" => Tone::Bad,
            "Suspended" => Tone::Plain,
            _ => Tone::Busy,
        }
    }

    fn of_verdict(verdict: HealthVerdict) -> Self {
        match verdict {
            HealthVerdict::Ready => Tone::Good,
            HealthVerdict::Failing | HealthVerdict::NotInstalled => Tone::Bad,
            HealthVerdict::InProgress | HealthVerdict::NotStarted => Tone::Busy,
            HealthVerdict::Suspended | HealthVerdict::Unknown => Tone::Plain,
        }
    }

    fn of_status(status: Status) -> Self {
        match status {
            Status::Current => Tone::Good,
            Status::Failed | Status::NotFound => Tone::Bad,
            Status::InProgress | Status::Terminating => Tone::Busy,
            Status::Unknown => Tone::Plain,
        }
    }
}

/// Every state is also written as a word, so that the page works without colour.
const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--good:#1a7f37;--bad:#cf222e;\
--busy:#9a6700;--plain:#6e7781}\
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#30363d;--card:#161b22;--good:#3fb950;\
--bad:#f85149;--busy:#d29922;--plain:#8b949e}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--bg);color:var(--fg);font:15px/1.45 system-ui,sans-serif;overflow-wrap:break-word}\
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}\
h3{font-size:1rem;margin:0 0 .3rem}p{margin:.3rem 0}\
.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}.busy{color:var(--busy)}.plain{color:var(--plain)}\
.card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;margin:.6rem 0;break-inside:avoid}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%;font-size:.88rem}\
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);overflow-wrap:break-word}\
th{color:var(--soft);font-weight:600;white-space:nowrap;overflow-wrap:normal}td.tight{white-space:nowrap;overflow-wrap:normal}\
td{min-width:4rem}\
code{font:.85rem ui-monospace,monospace;overflow-wrap:anywhere;background:var(--card);user-select:all;-webkit-user-select:all}\
pre{margin:.2rem 0;white-space:pre-wrap}nav a{margin-right:.9rem}a{color:inherit}\
ul{margin:.2rem 0;padding-left:1.2rem}.tree ul{list-style:none;padding-left:1.1rem;border-left:1px solid var(--line)}\
.tree li,.tree summary{overflow-wrap:anywhere}summary{cursor:pointer}\
.row{display:grid;grid-template-columns:minmax(8rem,22rem) 1fr;gap:.6rem;align-items:center;margin:.25rem 0;font-size:.88rem}\
.row>:first-child{overflow-wrap:anywhere}\
.bar{display:flex;height:1rem;border-radius:3px;overflow:hidden;background:var(--line)}\
.bar i,.lane i,.events i{display:block;print-color-adjust:exact;-webkit-print-color-adjust:exact}\
i.good{background:var(--good)}i.bad{background:var(--bad)}i.busy{background:var(--busy)}i.plain{background:var(--plain)}\
.lane{position:relative;height:1.1rem;background:var(--card);border:1px solid var(--line);border-radius:3px}\
.lane i{position:absolute;top:1px;bottom:1px;min-width:5px;border-radius:2px}\
.axis{display:flex;justify-content:space-between;color:var(--soft);font-size:.8rem}\
.events{display:flex;align-items:flex-end;height:5rem;gap:1px;border-bottom:1px solid var(--line)}\
.events span{flex:1;display:flex;flex-direction:column-reverse;height:100%}\
.narrow{display:none}\
@media(max-width:40rem){.row{grid-template-columns:1fr;gap:.1rem}body{padding:.6rem}\
.wide table,.wide tbody,.wide tr,.wide th,.wide td{display:block}.wide tr:has(>th+th){display:none}\
.wide tr{border-bottom:1px solid var(--line);padding:.3rem 0}.wide td,.wide th{border:0;padding:0}\
.wide td,td.tight{white-space:normal;overflow-wrap:anywhere}.narrow{display:inline}}\
@media print{body{max-width:none;padding:0;font-size:11px}details>summary{list-style:none}details::details-content{content-visibility:visible;block-size:auto}h2{break-after:avoid}tr{break-inside:avoid}}";

/// Formats the whole page.
pub fn html_of_cluster(page: &Page) -> String {
    let (title, problems) = title_of(page);
    document(&format!("{title}: {problems}"), &body(page, ""))
}

/// A cluster on a page of many clusters: its own page, or the error.
pub struct ClusterPage {
    pub context: String,
    pub page: Result<Page, String>,
}

/// Formats many clusters as one page: a line for each, then the page of each, folded.
pub fn html_of_clusters(clusters: &[ClusterPage]) -> String {
    let pages = || clusters.iter().filter_map(|cluster| cluster.page.as_ref().ok());
    let well = pages().filter(|page| page.status.well).count();
    let title = format!("Flux on {}", counted(clusters.len(), "cluster"));
    let tone = if well == clusters.len() { Tone::Good } else { Tone::Bad };
    let content = html! {
        h1 { (title) ": " span class=(tone) { (well) " well" } }
        @if let Some(at) = pages().map(|page| page.at).max() {
            p.soft { "As of " (moment(at)) }
        }
        (table(&["Cluster", "State", "Flux", "Kubernetes", "First cause"], html! {
            @for (index, ClusterPage { context, page }) in clusters.iter().enumerate() {
                tr {
                    @match page {
                        Ok(page) => {
                            td { a href={ "#c" (index) } { (context) } }
                            td class=(Tone::of_verdict(page.status.verdict)) { (page.status.verdict.as_str()) }
                            td { (known(&page.status.versions.distribution)) }
                            td { (known(&page.status.versions.kubernetes)) }
                            td { @if let Some(group) = page.causes.causes.first() { (group.cause.summary) } }
                        }
                        // A cluster without a page has no target for a link.
                        Err(problem) => {
                            td { (context) }
                            td class=(Tone::Busy) { "no answer" }
                            td {}
                            td {}
                            td { (problem) }
                        }
                    }
                }
            }
        }))
        @for (index, ClusterPage { context, page }) in clusters.iter().enumerate() {
            @if let Ok(page) = page {
                details id={ "c" (index) } { summary { (context) } (body(page, &format!("c{index}-"))) }
            }
        }
    };
    document(&title, &content)
}

/// Wraps the content of the body in a complete HTML document.
fn document(title: &str, content: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                // The policy allows nothing but styles: even text that escaped its element could load and run nothing.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (content) }
        }
    };
    // Control characters are removed from the finished page, because a text that the code above missed would reach an
    // editor or a terminal.
    on_one_line(&page.into_string()) + "\n"
}

/// The heading of a page, and its verdict.
fn title_of(page: &Page) -> (String, String) {
    let problems = match page.causes.causes.len() {
        0 if page.status.well => "no problems".to_owned(),
        0 => page.status.verdict.as_str().to_owned(),
        count => counted(count, "problem"),
    };
    (format!("Flux on {}", page.place), problems)
}

/// Formats the content of the body. Every id begins with `prefix`, because a page of many clusters has each part many
/// times.
fn body(page: &Page, prefix: &str) -> Markup {
    let (title, problems) = title_of(page);
    let parts = [
        ("Summary", summary(page, prefix)),
        ("Status", status(&page.status, page.at)),
        ("Causes", causes(&page.causes, page.at, prefix)),
        ("What changed", changes(&page.changes, page.own_changes)),
        ("Resources by kind", kinds(&page.status.kinds)),
        ("History", histories(&page.histories, page.at)),
        ("Events", timeline(page)),
        ("Components", folded_table(&page.components, |row| row.status == Status::Current, "ready", components)),
        ("Inventory of the instance", inventory(&page.inventory, page.without_drift.as_deref())),
        ("Tree", html! { @if let Some(root) = &page.tree { div.tree { ul { (tree(root)) } } } }),
    ];
    let id = |name: &str| format!("{prefix}{}", name.to_lowercase().replace(' ', "-"));
    let filled = || parts.iter().filter(|(_, content)| !content.0.is_empty());
    html! {
        h1 { (title) ": " span class=(Tone::of_verdict(page.status.verdict)) { (problems) } }
        p.soft { "Namespace " (page.namespace) ", as of " (moment(page.at)) }
        nav { @for (name, _) in filled() { a href={ "#" (id(name)) } { (name) } " " } }
        @for (name, content) in filled() {
            section id=(id(name)) {}
            h2 { (name) }
            (content)
        }
        p.soft { "Written by flux-operator report " (page.client) " at " (moment(page.at)) "." }
    }
}

fn table(columns: &[&str], rows: Markup) -> Markup {
    html! {
        div.wide {
            table {
                @if !columns.is_empty() {
                    tr { @for name in columns { th { (name) } } }
                }
                (rows)
            }
        }
    }
}

/// The summary for a reader who stops here: how much fails, since when, and why.
fn summary(page: &Page, prefix: &str) -> Markup {
    let found = &page.causes;
    let total = found.counts.total + found.workloads;
    if found.causes.is_empty() {
        return html! {
            p class=(Tone::of_verdict(found.verdict)) { "Nothing is failing: " (found.counts.in_words()) "." }
        };
    }
    html! {
        p class=(Tone::Bad) {
            (found.failing) " of " (total.max(found.failing)) " objects failing, " (counted(found.causes.len(), "root cause"))
            @if let Some(at) = page.failing_since { ", since " (clock(at, page.at)) }
            "."
        }
        ul {
            @for (number, group) in (1..).zip(&found.causes) {
                li {
                    a href={ "#" (prefix) "cause-" (number) } { (group.cause.summary) }
                    ": " (group.affected.len()) " affected"
                }
            }
        }
    }
}

/// `14:02 UTC` of the same day, else with the date.
fn clock(at: Timestamp, now: Timestamp) -> String {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    if day(at) == day(now) {
        at.strftime("%H:%M UTC").to_string()
    } else {
        at.strftime("%Y-%m-%d %H:%M UTC").to_string()
    }
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Changes by people and other tools before the failure, newest first.
fn changes(rows: &[ChangeRow], own: usize) -> Markup {
    if rows.is_empty() && own == 0 {
        return html! {};
    }
    let older = rows.len().saturating_sub(MAX_CHANGES);
    let omitted = [
        (older > 0).then(|| format!("{older} older changes")),
        (own > 0).then(|| format!("{own} writes by Flux and Kubernetes themselves")),
    ];
    let omitted: Vec<String> = omitted.into_iter().flatten().collect();
    html! {
        @if rows.is_empty() {
            p { "No changes by people or other tools." }
        } @else {
            (table(&["When", "Who", "What", "Object", "Detail"], html! {
                @for row in rows.iter().rev().take(MAX_CHANGES) {
                    tr {
                        td.tight { (moment(row.at)) }
                        td { @if row.by.is_empty() { "unknown" } @else { (row.by) } }
                        td { (row.action.as_str()) }
                        td { (display(&row.object)) }
                        td { @if row.fields.is_empty() { (row.message) } @else { (row.fields.join(", ")) } }
                    }
                }
            }))
        }
        @if !omitted.is_empty() {
            p.soft { "Not listed: " (omitted.join(" and ")) "." }
        }
    }
}

fn known(version: &Option<String>) -> &str {
    version.as_deref().unwrap_or("not known")
}

fn status(view: &StatusView, now: Timestamp) -> Markup {
    let mut lines = vec![
        ("Flux", Tone::Plain, known(&view.versions.distribution).to_owned()),
        ("Kubernetes", Tone::Plain, known(&view.versions.kubernetes).to_owned()),
        ("Operator", Tone::Plain, view.operator.message.clone()),
    ];
    lines.push(match &view.instance {
        None => ("Instance", Tone::Plain, "none".to_owned()),
        Some(row) => {
            let tone = if view.instance_fails() { Tone::Bad } else { Tone::of_ready(&row.ready) };
            let says = row.describe(view.instance_fails(), now);
            ("Instance", tone, format!("{}/{}: {says}", row.namespace, row.name))
        }
    });
    let (well, unwell): (Vec<_>, Vec<_>) = view.controllers.iter().partition(|one| one.message.is_none());
    if !well.is_empty() {
        let names: Vec<&str> = well.iter().map(|one| one.name.as_str()).collect();
        lines.push(("Controllers", Tone::Good, format!("{} ready: {}", well.len(), names.join(", "))));
    }
    let mut reported = BTreeSet::new();
    for controller in unwell {
        let why = match &controller.message {
            Some(message) if reported.insert(message) => format!(": {message}"),
            Some(_) => ", for the same reason".to_owned(),
            None => String::new(),
        };
        let says = format!("{} {}/{} pods ready{why}", controller.name, controller.ready_pods, controller.desired_pods);
        lines.push(("Controller", Tone::of_status(controller.status), says));
    }
    for row in &view.sync {
        let revision = row.revision.as_deref().unwrap_or("no revision");
        let says = format!("{}/{}/{}: {revision}: {}", row.kind, row.namespace, row.name, row.message);
        lines.push(("Sync", Tone::of_ready(&row.ready), says));
    }
    table(&[], html! { @for (name, tone, says) in lines { tr { th { (name) } td class=(tone) { (says) } } } })
}

fn causes(found: &Overview, now: Timestamp, prefix: &str) -> Markup {
    if found.causes.is_empty() {
        let checked = format!("{} Flux objects and {} workloads", found.counts.total, found.workloads);
        return html! { p class=(Tone::Good) { "Nothing is failing (checked " (checked) ")." } };
    }
    html! {
        @for (number, group) in (1..).zip(&found.causes) {
            @let cause = &group.cause;
            div.card id={ (prefix) "cause-" (number) } {
                h3 class=(Tone::Bad) { (cause.summary) " (" (format!("{:?}", cause.reason)) ")" }
                p { "Object: " (display(&cause.object)) }
                ul {
                    @for evidence in &cause.evidence {
                        li {
                            span.soft {
                                (evidence.from)
                                @if let Some(at) = evidence.at { ", " (clock(at, now)) " (" (short_age(at, now)) " ago)" }
                                ":"
                            }
                            " " (evidence.text)
                        }
                    }
                }
                @let names: Vec<String> = group.affected.iter().map(ToString::to_string).collect();
                @let (first, rest) = names.split_at(names.len().min(NAMED));
                p { "Affects " (affected_kinds(&group.kinds)) ": " (first.join(", ")) }
                @if !rest.is_empty() {
                    details {
                        summary { "and " (rest.len()) " more" }
                        ul { @for name in rest { li { (name) } } }
                    }
                }
                @for next in &cause.next { pre { code { (next.words()) } } }
            }
        }
    }
}

fn kinds(kinds: &[KindCounts]) -> Markup {
    html! {
        @for KindCounts { kind, counts } in kinds {
            @let reported = counts.in_words();
            div.row {
                span { (kind) " " span.soft { (reported) } }
                div.bar role="img" aria-label=(reported) {
                    @for (count, verdict) in counts.parts() {
                        @if count > 0 {
                            @let share = count as f64 * 100.0 / counts.total.max(1) as f64;
                            i class=(Tone::of_verdict(verdict)) style=(format!("width:{share:.2}%")) {}
                        }
                    }
                }
            }
        }
    }
}

fn histories(histories: &[History], now: Timestamp) -> Markup {
    let spans = || histories.iter().flat_map(|history| history.spans.iter().map(move |span| (&history.object, span)));
    let Some(start) = spans().map(|(_, span)| span.from).min() else { return html! {} };
    let end = spans().map(|(_, span)| span.to).max().unwrap_or(now).max(now);
    // If all spans are at one moment, the length is 0, and the percentages would divide by zero.
    let length = (end.as_second() - start.as_second()).max(1) as f64;
    let at = |moment: Timestamp| (moment.as_second() - start.as_second()) as f64 * 100.0 / length;
    let tone = |ok: bool| if ok { Tone::Good } else { Tone::Bad };
    html! {
        @for history in histories {
            div.row {
                span { (display(&history.object)) }
                div.lane {
                    @for span in &history.spans {
                        // A run at the very end would lie outside the lane.
                        @let (left, right) = (at(span.from).min(99.0), at(span.to));
                        i class=(tone(span.ok))
                            style=(format!("left:{left:.2}%;width:{:.2}%", (right - left).max(0.0)))
                            title={ (span.revision) ": " (span.outcome) " (" (moment(span.from)) " to " (moment(span.to)) ")" } {}
                    }
                }
            }
        }
        (axis(start, end))
        details {
            summary { "As a table" }
            (table(&["Object", "Revision", "First", "Last", "Outcome"], html! {
                @for (object, span) in spans() {
                    tr {
                        td { (display(object)) }
                        td { (span.revision) }
                        td.tight { (moment(span.from)) }
                        td.tight { (moment(span.to)) }
                        td class=(tone(span.ok)) { (span.outcome) }
                    }
                }
            }))
        }
    }
}

fn axis(start: Timestamp, end: Timestamp) -> Markup {
    html! { div.axis { span { (moment(start)) } span { (moment(end)) } } }
}

fn timeline(page: &Page) -> Markup {
    let times = || page.events.iter().filter_map(|event| event.last_seen);
    let (Some(start), Some(end)) = (times().min(), times().max()) else { return html! {} };
    let length = (end.as_second() - start.as_second()).max(1);
    let mut buckets: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for event in &page.events {
        let Some(at) = event.last_seen else { continue };
        // The newest event belongs in the last bucket, not after it.
        let bucket = ((at.as_second() - start.as_second()) * (BUCKETS - 1)) / length;
        let counts = buckets.entry(bucket).or_default();
        if is_warning(event) { counts.1 += 1 } else { counts.0 += 1 }
    }
    let most = buckets.values().map(|(normal, warning)| normal + warning).max().unwrap_or(1);
    let warnings = page.events.iter().filter(|event| is_warning(event)).count();
    let says = format!("{} events, {warnings} of them warnings", page.events.len());
    html! {
        p.soft { (says) }
        div.events role="img" aria-label=(says) {
            @for bucket in 0..BUCKETS {
                @let (normal, warning) = buckets.get(&bucket).copied().unwrap_or_default();
                span title={ (normal) " normal, " (warning) " warnings" } {
                    @for (tone, count) in [(Tone::Plain, normal), (Tone::Bad, warning)] {
                        @if count > 0 {
                            i class=(tone) style=(format!("height:{:.2}%", count as f64 * 100.0 / most as f64)) {}
                        }
                    }
                }
            }
        }
        (axis(start, end))
        @if page.older_events > 0 {
            p.soft { (page.older_events) " older events are left out." }
        }
        details {
            summary { "Show all events (newest first)" }
            (table(&["Last seen", "Type", "Object", "Reason", "Message"], html! {
                @for event in page.events.iter().rev() {
                    tr {
                        td.tight { (event.last_seen.map(moment).unwrap_or_default()) }
                        td class=(if is_warning(event) { Tone::Bad } else { Tone::Plain }) { (event.kind) }
                        td { (display(&event.object)) }
                        td { (event.reason) }
                        td { (event.message) }
                    }
                }
            }))
        }
    }
}

fn is_warning(event: &EventRow) -> bool {
    event.kind == "Warning"
}

/// Formats the rows that need attention as a table, and the other rows as a second, folded table.
fn folded_table<R>(rows: &[R], is_usual: fn(&R) -> bool, usual_is: &str, table: fn(&[&R]) -> Markup) -> Markup {
    let (usual, unusual): (Vec<&R>, Vec<&R>) = rows.iter().partition(|row| is_usual(row));
    html! {
        @if !unusual.is_empty() { (table(&unusual)) }
        @if !usual.is_empty() {
            details { summary { "Show " (usual.len()) " " (usual_is) } (table(&usual)) }
        }
    }
}

fn components(rows: &[&ComponentRow]) -> Markup {
    let mut reported = BTreeSet::new();
    table(
        &["Name", "Image", "Pods", "Status", "Restarts"],
        html! {
            @for row in rows {
                @let is_new = row.status_message.is_empty() || reported.insert(&row.status_message);
                tr {
                    td.tight { (row.name) }
                    td { @if row.repository.is_empty() { "unknown" } @else { (row.repository) ":" (row.tag) } }
                    td.tight { (row.ready_pods) "/" (row.desired_pods) span.narrow { " pods ready" } }
                    td class=(Tone::of_status(row.status)) {
                        (row.status.as_str()) " "
                        @if is_new { (row.status_message) } @else { "for the same reason" }
                    }
                    td { (row.restarts) span.narrow { " restarts" } }
                }
            }
        },
    )
}

fn inventory(rows: &[InventoryRow], without_drift: Option<&str>) -> Markup {
    if rows.is_empty() {
        return html! {};
    }
    let drifted = rows.iter().filter(|row| matches!(row.drift, Drift::Drifted | Drift::Missing)).count();
    let is_usual = |row: &InventoryRow| matches!(row.drift, Drift::None) && row.status == Status::Current;
    html! {
        p class=(if drifted == 0 { Tone::Good } else { Tone::Bad }) {
            (rows.len()) " objects, " (drifted) " drifted or missing"
        }
        @if let Some(why) = without_drift {
            p.soft { "Only missing objects are reported as drift: " (why) }
        }
        (folded_table(rows, is_usual, "unchanged", inventory_table))
    }
}

fn inventory_table(rows: &[&InventoryRow]) -> Markup {
    table(
        &["Object", "Status", "Drift", "Fields"],
        html! {
            @for row in rows {
                // The sixth cell is the drift. It has no age, so the moment does not matter.
                @let drift = row.cells().get(5).map(|cell| cell.full(Timestamp::UNIX_EPOCH)).unwrap_or_default();
                @let tone = match row.drift {
                    Drift::None => Tone::Good,
                    Drift::Drifted | Drift::Missing => Tone::Bad,
                    Drift::Documentation | Drift::Unknown => Tone::Plain,
                };
                tr {
                    td { (display(row.reference())) }
                    td class={ "tight " (Tone::of_status(row.status)) } { (row.status.as_str()) }
                    td class={ "tight " (tone) } { (drift) }
                    td { (row.fields.join(", ")) }
                }
            }
        },
    )
}

/// Whether a node below has a problem, so that the path to it is unfolded.
fn has_trouble(node: &TreeNode) -> bool {
    let own = node.status.is_some_and(|status| matches!(status, Status::Failed | Status::NotFound));
    own || node.children.iter().any(has_trouble)
}

fn tree(node: &TreeNode) -> Markup {
    let label = html! {
        (node.label)
        @if let Some(status) = node.status { " " span class=(Tone::of_status(status)) { (status.as_str()) } }
        @if !node.message.is_empty() { " " span.soft { (node.message) } }
    };
    html! {
        li {
            @if node.children.is_empty() {
                (label)
            } @else {
                // Healthy parts are folded; the path to a failure is open.
                details open[has_trouble(node)] {
                    summary { (label) }
                    ul { @for child in &node.children { (tree(child)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_escaped_in_the_title_in_attributes_and_in_content() {
        let hostile = "</title><script>alert('1')</script>\" onload=\"x\u{1b}[31m\u{202e}&amp;";
        let escaped = "&lt;/title&gt;&lt;script&gt;alert('1')&lt;/script&gt;&quot; onload=&quot;x[31m&amp;amp;";
        let shown = document(hostile, &html! { p title=(hostile) { (hostile) } });
        assert!(shown.contains(&format!("<title>{escaped}</title>")), "{shown}");
        assert!(shown.contains(&format!("<p title=\"{escaped}\">{escaped}</p>")), "{shown}");
    }
}
