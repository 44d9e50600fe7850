//! Formats a page as a self-contained HTML file. It contains no script, and its content may be hostile: every text from
//! a cluster goes through [`Text`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write;

use flux_operator::format::age::short_age;
use flux_operator::inspect::changes::ChangeRow;
use flux_operator::inspect::components::ComponentRow;
use flux_operator::inspect::events::EventRow;
use flux_operator::inspect::health::{HealthVerdict, KindCounts};
use flux_operator::inspect::inventory::{Drift, InventoryRow};
use flux_operator::inspect::page::{History, Page};
use flux_operator::inspect::status::StatusView;
use flux_operator::inspect::tree::TreeNode;
use flux_operator::inspect::why::Overview;
use flux_operator::k8s::kstatus::Status;
use jiff::Timestamp;

use crate::output::affected::affected_kinds;
use crate::output::counted;
use crate::output::listing::Row;
use flux_operator::format::harmless::on_one_line;

/// Buckets of the timeline of events.
const BUCKETS: i64 = 48;
/// Number of affected objects that are listed before the rest is folded.
const NAMED: usize = 3;
/// Changes that are listed, the newest.
const MAX_CHANGES: usize = 50;

/// A foreign text: characters with a meaning in HTML are escaped, control characters are removed.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in on_one_line(self.0).chars() {
            match c {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                c => formatter.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The appearance of a value.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Bad,
    Busy,
    Plain,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Busy => "busy",
            Tone::Plain => "plain",
        }
    }

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
pub fn html(page: &Page<String>) -> String {
    let mut out = String::with_capacity(64 * 1024);
    // Writing to a String cannot fail.
    let _ = write_page(&mut out, page);
    out
}

/// A cluster on a page of many: its own page, or why there is none.
pub struct ClusterPage {
    pub context: String,
    pub page: Result<Page<String>, String>,
}

/// Formats many clusters as one page: a line for each, then the page of each, folded.
pub fn html_of_clusters(clusters: &[ClusterPage]) -> String {
    let mut out = String::with_capacity(64 * 1024 * clusters.len().max(1));
    // Writing to a String cannot fail.
    let _ = write_clusters(&mut out, clusters);
    out
}

fn write_clusters(out: &mut String, clusters: &[ClusterPage]) -> fmt::Result {
    let is_well = |cluster: &&ClusterPage| cluster.page.as_ref().is_ok_and(|page| page.status.well);
    let well = clusters.iter().filter(is_well).count();
    let title = format!("Flux on {}", counted(clusters.len(), "cluster"));
    head(out, &title)?;
    let tone = if well == clusters.len() { Tone::Good } else { Tone::Bad };
    writeln!(out, "<h1>{}: <span class=\"{}\">{well} well</span></h1>", Text(&title), tone.class())?;
    if let Some(at) = clusters.iter().filter_map(|cluster| cluster.page.as_ref().ok()).map(|page| page.at).max() {
        writeln!(out, "<p class=\"soft\">As of {}</p>", moment(at))?;
    }
    out.push_str("<div class=\"wide\"><table>\n<tr><th>Cluster</th><th>State</th><th>Flux</th><th>Kubernetes</th><th>First cause</th></tr>\n");
    for (index, ClusterPage { context, page }) in clusters.iter().enumerate() {
        let name = match page {
            Ok(_) => format!("<a href=\"#c{index}\">{}</a>", Text(context)),
            // Without a page there is no place to lead to.
            Err(_) => Text(context).to_string(),
        };
        let (tone, state, flux, kubernetes, cause) = match page {
            Ok(page) => {
                let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "not known".into());
                let versions = &page.status.versions;
                let cause = page.causes.causes.first().map(|group| group.cause.summary.clone()).unwrap_or_default();
                let (tone, state) = (Tone::of_verdict(page.status.verdict), page.status.verdict.as_str());
                (tone, state, known(&versions.distribution), known(&versions.kubernetes), cause)
            }
            Err(problem) => (Tone::Busy, "no answer", String::new(), String::new(), problem.clone()),
        };
        writeln!(
            out,
            "<tr><td>{name}</td><td class=\"{}\">{state}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            tone.class(),
            Text(&flux),
            Text(&kubernetes),
            Text(&cause)
        )?;
    }
    out.push_str("</table></div>\n");
    for (index, ClusterPage { context, page }) in clusters.iter().enumerate() {
        let Ok(page) = page else { continue };
        writeln!(out, "<details id=\"c{index}\"><summary>{}</summary>", Text(context))?;
        let mut body = String::new();
        write_body(&mut body, page)?;
        // The parts of every cluster have the same ids. Text of a cluster cannot match, because its quotation marks are
        // escaped.
        out.push_str(
            &body.replace(" id=\"", &format!(" id=\"c{index}-")).replace("href=\"#", &format!("href=\"#c{index}-")),
        );
        out.push_str("</details>\n");
    }
    out.push_str("</body>\n</html>\n");
    Ok(())
}

/// Writes everything before the content of the body.
fn head(out: &mut String, title: &str) -> fmt::Result {
    // The policy allows nothing but styles: even text that escaped its element could load and run nothing.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        Text(title)
    )
}

/// The heading of a page, and its verdict.
fn title_of(page: &Page<String>) -> (String, String) {
    let problems = match page.causes.causes.len() {
        0 if page.status.well => "no problems".to_owned(),
        0 => page.status.verdict.as_str().to_owned(),
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    };
    (format!("Flux on {}", page.place), problems)
}

fn write_page(out: &mut String, page: &Page<String>) -> fmt::Result {
    let (title, problems) = title_of(page);
    head(out, &format!("{title}: {problems}"))?;
    write_body(out, page)?;
    out.push_str("</body>\n</html>\n");
    Ok(())
}

/// Writes the content of the body.
fn write_body(out: &mut String, page: &Page<String>) -> fmt::Result {
    let (title, problems) = title_of(page);
    let tone = Tone::of_verdict(page.status.verdict);
    writeln!(out, "<h1>{}: <span class=\"{}\">{problems}</span></h1>", Text(&title), tone.class())?;
    writeln!(out, "<p class=\"soft\">Namespace {}, as of {}</p>", Text(&page.namespace), moment(page.at))?;
    let mut body = String::new();
    summary(&mut body, page)?;
    status(&mut body, &page.status, page.at)?;
    causes(&mut body, &page.causes, page.at)?;
    changes(&mut body, &page.changes, page.own_changes)?;
    kinds(&mut body, &page.status.kinds)?;
    sections(out, page, body)
}

/// The rest of the page, after links to all of its parts.
fn sections(out: &mut String, page: &Page<String>, mut body: String) -> fmt::Result {
    rest(&mut body, page)?;
    out.push_str("<nav>");
    // The parts are known only now, because those without content were left out.
    for part in body.split("<section id=\"").skip(1) {
        let Some((id, after)) = part.split_once('"') else { continue };
        let name =
            after.split_once("<h2>").and_then(|(_, after)| after.split_once("</h2>")).map_or(id, |(name, _)| name);
        write!(out, "<a href=\"#{id}\">{name}</a> ")?;
    }
    out.push_str("</nav>\n");
    out.push_str(&body);
    writeln!(
        out,
        "<p class=\"soft\">Written by flux-operator report {} at {}.</p>",
        Text(&page.client),
        moment(page.at)
    )
}

fn rest(out: &mut String, page: &Page<String>) -> fmt::Result {
    histories(out, &page.histories, page.at)?;
    timeline(out, page)?;
    components(out, &page.components)?;
    inventory(out, &page.inventory, page.without_drift.as_deref())?;
    if let Some(root) = &page.tree {
        heading(out, "Tree")?;
        out.push_str("<div class=\"tree\"><ul>\n");
        tree(out, root)?;
        out.push_str("</ul></div>\n");
    }
    Ok(())
}

/// Begins a part of the page, which a link leads to.
fn heading(out: &mut String, text: &str) -> fmt::Result {
    let id = text.to_lowercase().replace(' ', "-");
    writeln!(out, "<section id=\"{id}\"></section><h2>{text}</h2>")
}

/// The summary for a reader who stops here: how much fails, since when, and why.
fn summary(out: &mut String, page: &Page<String>) -> fmt::Result {
    heading(out, "Summary")?;
    let found = &page.causes;
    let total = found.counts.total + found.workloads;
    if found.causes.is_empty() {
        return writeln!(
            out,
            "<p class=\"{}\">Nothing is failing: {}.</p>",
            Tone::of_verdict(found.verdict).class(),
            found.counts.in_words()
        );
    }
    let causes = counted(found.causes.len(), "root cause");
    let since = page.failing_since.map(|at| format!(", since {}", clock(at, page.at))).unwrap_or_default();
    writeln!(
        out,
        "<p class=\"bad\">{} of {} objects failing, {causes}{since}.</p><ul>",
        found.failing,
        total.max(found.failing)
    )?;
    for (index, group) in found.causes.iter().enumerate() {
        writeln!(
            out,
            "<li><a href=\"#cause-{}\">{}</a>: {} affected</li>",
            index + 1,
            Text(&group.cause.summary),
            group.affected.len()
        )?;
    }
    out.push_str("</ul>\n");
    Ok(())
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

/// Changes by people and other tools before the failure, newest first.
fn changes(out: &mut String, rows: &[ChangeRow], own: usize) -> fmt::Result {
    if rows.is_empty() && own == 0 {
        return Ok(());
    }
    heading(out, "What changed")?;
    if rows.is_empty() {
        writeln!(out, "<p>No changes by people or other tools.</p>")?;
    } else {
        out.push_str("<div class=\"wide\"><table>\n<tr><th>When</th><th>Who</th><th>What</th><th>Object</th><th>Detail</th></tr>\n");
        for row in rows.iter().rev().take(MAX_CHANGES) {
            let detail = if row.fields.is_empty() { row.message.clone() } else { row.fields.join(", ") };
            writeln!(
                out,
                "<tr><td class=\"tight\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                moment(row.at),
                Text(if row.by.is_empty() { "unknown" } else { &row.by }),
                row.action.as_str(),
                Text(&row.object.to_string()),
                Text(&detail)
            )?;
        }
        out.push_str("</table></div>\n");
    }
    let more = rows.len().saturating_sub(MAX_CHANGES);
    let mut omitted = vec![];
    if more > 0 {
        omitted.push(format!("{more} older changes"));
    }
    if own > 0 {
        omitted.push(format!("{own} writes by Flux and Kubernetes themselves"));
    }
    if omitted.is_empty() {
        return Ok(());
    }
    writeln!(out, "<p class=\"soft\">Not listed: {}.</p>", omitted.join(" and "))
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn status(out: &mut String, view: &StatusView<String>, now: Timestamp) -> fmt::Result {
    heading(out, "Status")?;
    out.push_str("<div class=\"wide\"><table>\n");
    let mut line = |name: &str, tone: Tone, says: &str| {
        writeln!(out, "<tr><th>{name}</th><td class=\"{}\">{}</td></tr>", tone.class(), Text(says))
    };
    let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "not known".into());
    line("Flux", Tone::Plain, &known(&view.versions.distribution))?;
    line("Kubernetes", Tone::Plain, &known(&view.versions.kubernetes))?;
    line("Operator", Tone::Plain, &view.operator.message)?;
    match &view.instance {
        None => line("Instance", Tone::Plain, "none")?,
        Some(row) => {
            let says = format!("{}/{}: {}", row.namespace, row.name, row.says(view.instance_fails(), now));
            let tone = if view.instance_fails() { Tone::Bad } else { Tone::of_ready(&row.ready) };
            line("Instance", tone, &says)?;
        }
    }
    let (well, unwell): (Vec<_>, Vec<_>) = view.controllers.iter().partition(|one| one.message.is_none());
    if !well.is_empty() {
        let names: Vec<&str> = well.iter().map(|one| one.name.as_str()).collect();
        line("Controllers", Tone::Good, &format!("{} ready: {}", well.len(), names.join(", ")))?;
    }
    let mut told = BTreeSet::new();
    for controller in unwell {
        let why = match &controller.message {
            Some(message) if told.insert(message) => format!(": {message}"),
            Some(_) => ", for the same reason".to_owned(),
            None => String::new(),
        };
        let says = format!("{} {}/{} pods ready{why}", controller.name, controller.ready_pods, controller.desired_pods);
        line("Controller", Tone::of_status(controller.status), &says)?;
    }
    for row in &view.sync {
        let revision = row.revision.as_deref().unwrap_or("no revision");
        let says = format!("{}/{}/{}: {revision}: {}", row.kind, row.namespace, row.name, row.message);
        line("Sync", Tone::of_ready(&row.ready), &says)?;
    }
    out.push_str("</table></div>\n");
    Ok(())
}

fn causes(out: &mut String, found: &Overview<String>, now: Timestamp) -> fmt::Result {
    heading(out, "Causes")?;
    if found.causes.is_empty() {
        let checked = format!("{} Flux objects and {} workloads", found.counts.total, found.workloads);
        return writeln!(out, "<p class=\"good\">Nothing is failing (checked {checked}).</p>");
    }
    for (index, group) in found.causes.iter().enumerate() {
        let cause = &group.cause;
        writeln!(
            out,
            "<div class=\"card\" id=\"cause-{}\"><h3 class=\"bad\">{} ({:?})</h3>",
            index + 1,
            Text(&cause.summary),
            cause.reason
        )?;
        writeln!(out, "<p>Object: {}</p><ul>", Text(&cause.object.to_string()))?;
        for evidence in &cause.evidence {
            let age =
                evidence.at.map(|at| format!(", {} ({} ago)", clock(at, now), short_age(at, now))).unwrap_or_default();
            writeln!(
                out,
                "<li><span class=\"soft\">{}{age}:</span> {}</li>",
                Text(&evidence.from),
                Text(&evidence.text)
            )?;
        }
        out.push_str("</ul>\n");
        let counts = affected_kinds(&group.kinds);
        let names: Vec<String> = group.affected.iter().map(ToString::to_string).collect();
        let (first, rest) = names.split_at(names.len().min(NAMED));
        writeln!(out, "<p>Affects {}: {}</p>", Text(&counts), Text(&first.join(", ")))?;
        if !rest.is_empty() {
            writeln!(out, "<details><summary>and {} more</summary><ul>", rest.len())?;
            for name in rest {
                writeln!(out, "<li>{}</li>", Text(name))?;
            }
            out.push_str("</ul></details>\n");
        }
        for next in &cause.next {
            writeln!(out, "<pre><code>{}</code></pre>", Text(next))?;
        }
        out.push_str("</div>\n");
    }
    Ok(())
}

/// Writes a share of a whole as a part of a bar.
fn part(out: &mut String, tone: Tone, count: usize, whole: usize) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    let share = count as f64 * 100.0 / whole.max(1) as f64;
    write!(out, "<i class=\"{}\" style=\"width:{share:.2}%\"></i>", tone.class())
}

fn kinds(out: &mut String, kinds: &[KindCounts]) -> fmt::Result {
    if kinds.is_empty() {
        return Ok(());
    }
    heading(out, "Resources by kind")?;
    for KindCounts { kind, counts } in kinds {
        let told = counts.in_words();
        write!(out, "<div class=\"row\"><span>{} <span class=\"soft\">{told}</span></span>", Text(kind))?;
        write!(out, "<div class=\"bar\" role=\"img\" aria-label=\"{told}\">")?;
        for (count, verdict) in counts.parts() {
            part(out, Tone::of_verdict(verdict), count, counts.total)?;
        }
        out.push_str("</div></div>\n");
    }
    Ok(())
}

fn histories(out: &mut String, histories: &[History], now: Timestamp) -> fmt::Result {
    let spans = || histories.iter().flat_map(|history| &history.spans);
    let Some(start) = spans().map(|span| span.from).min() else { return Ok(()) };
    let end = spans().map(|span| span.to).max().unwrap_or(now).max(now);
    heading(out, "History")?;
    // A single moment has no length, which would divide by zero.
    let length = (end.as_second() - start.as_second()).max(1) as f64;
    let at = |moment: Timestamp| (moment.as_second() - start.as_second()) as f64 * 100.0 / length;
    for history in histories {
        write!(out, "<div class=\"row\"><span>{}</span><div class=\"lane\">", Text(&history.object.to_string()))?;
        for span in &history.spans {
            let tone = if span.ok { Tone::Good } else { Tone::Bad };
            // A run at the very end would lie outside the lane.
            let (left, right) = (at(span.from).min(99.0), at(span.to));
            let says = format!("{}: {} ({} to {})", span.revision, span.outcome, moment(span.from), moment(span.to));
            write!(
                out,
                "<i class=\"{}\" style=\"left:{left:.2}%;width:{:.2}%\" title=\"{}\"></i>",
                tone.class(),
                (right - left).max(0.0),
                Text(&says)
            )?;
        }
        out.push_str("</div></div>\n");
    }
    axis(out, start, end)?;
    out.push_str("<details><summary>As a table</summary><div class=\"wide\"><table>\n");
    out.push_str("<tr><th>Object</th><th>Revision</th><th>First</th><th>Last</th><th>Outcome</th></tr>\n");
    for history in histories {
        for span in &history.spans {
            let tone = if span.ok { Tone::Good } else { Tone::Bad };
            writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td class=\"tight\">{}</td><td class=\"tight\">{}</td><td class=\"{}\">{}</td></tr>",
                Text(&history.object.to_string()),
                Text(&span.revision),
                moment(span.from),
                moment(span.to),
                tone.class(),
                Text(&span.outcome)
            )?;
        }
    }
    out.push_str("</table></div></details>\n");
    Ok(())
}

fn axis(out: &mut String, start: Timestamp, end: Timestamp) -> fmt::Result {
    writeln!(out, "<div class=\"axis\"><span>{}</span><span>{}</span></div>", moment(start), moment(end))
}

fn timeline(out: &mut String, page: &Page<String>) -> fmt::Result {
    let times = || page.events.iter().filter_map(|event| event.last_seen);
    let (Some(start), Some(end)) = (times().min(), times().max()) else { return Ok(()) };
    heading(out, "Events")?;
    let length = (end.as_second() - start.as_second()).max(1);
    let mut buckets: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for event in &page.events {
        let Some(at) = event.last_seen else { continue };
        // The newest event belongs into the last bucket, not behind it.
        let bucket = ((at.as_second() - start.as_second()) * (BUCKETS - 1)) / length;
        let counts = buckets.entry(bucket).or_default();
        if is_warning(event) { counts.1 += 1 } else { counts.0 += 1 }
    }
    let most = buckets.values().map(|(normal, warning)| normal + warning).max().unwrap_or(1);
    let warnings = page.events.iter().filter(|event| is_warning(event)).count();
    let says = format!("{} events, {warnings} of them warnings", page.events.len());
    write!(out, "<p class=\"soft\">{says}</p><div class=\"events\" role=\"img\" aria-label=\"{says}\">")?;
    for bucket in 0..BUCKETS {
        let (normal, warning) = buckets.get(&bucket).copied().unwrap_or_default();
        let height = |count: usize| count as f64 * 100.0 / most as f64;
        write!(out, "<span title=\"{normal} normal, {warning} warnings\">")?;
        for (tone, count) in [(Tone::Plain, normal), (Tone::Bad, warning)] {
            if count > 0 {
                write!(out, "<i class=\"{}\" style=\"height:{:.2}%\"></i>", tone.class(), height(count))?;
            }
        }
        out.push_str("</span>");
    }
    out.push_str("</div>\n");
    axis(out, start, end)?;
    if page.older_events > 0 {
        writeln!(out, "<p class=\"soft\">{} older events are left out.</p>", page.older_events)?;
    }
    out.push_str("<details><summary>Show all events (newest first)</summary><div class=\"wide\"><table>\n");
    out.push_str("<tr><th>Last seen</th><th>Type</th><th>Object</th><th>Reason</th><th>Message</th></tr>\n");
    for event in page.events.iter().rev() {
        let tone = if is_warning(event) { Tone::Bad } else { Tone::Plain };
        writeln!(
            out,
            "<tr><td class=\"tight\">{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            event.last_seen.map(moment).unwrap_or_default(),
            tone.class(),
            Text(&event.kind),
            Text(&event.object.to_string()),
            Text(&event.reason),
            Text(&event.message)
        )?;
    }
    out.push_str("</table></div></details>\n");
    Ok(())
}

fn is_warning(event: &EventRow) -> bool {
    event.kind == "Warning"
}

fn components(out: &mut String, rows: &[ComponentRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    heading(out, "Components")?;
    let (well, unwell): (Vec<&ComponentRow>, Vec<&ComponentRow>) =
        rows.iter().partition(|row| row.status == Status::Current);
    components_table(out, &unwell)?;
    if !well.is_empty() {
        writeln!(out, "<details><summary>Show {} ready</summary>", well.len())?;
        components_table(out, &well)?;
        out.push_str("</details>\n");
    }
    Ok(())
}

fn components_table(out: &mut String, rows: &[&ComponentRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    out.push_str("<div class=\"wide\"><table>\n<tr><th>Name</th><th>Image</th><th>Pods</th><th>Status</th><th>Restarts</th></tr>\n");
    let mut told = BTreeSet::new();
    for row in rows {
        let is_new = row.status_message.is_empty() || told.insert(&row.status_message);
        let image =
            if row.repository.is_empty() { "unknown".to_owned() } else { format!("{}:{}", row.repository, row.tag) };
        writeln!(
            out,
            "<tr><td class=\"tight\">{}</td><td>{}</td><td class=\"tight\">{}/{}<span class=\"narrow\"> pods ready</span></td><td class=\"{}\">{} {}</td><td>{}<span class=\"narrow\"> restarts</span></td></tr>",
            Text(&row.name),
            Text(&image),
            row.ready_pods,
            row.desired_pods,
            Tone::of_status(row.status).class(),
            row.status.as_str(),
            Text(if is_new { &row.status_message } else { "for the same reason" }),
            row.restarts
        )?;
    }
    out.push_str("</table></div>\n");
    Ok(())
}

fn inventory(out: &mut String, rows: &[InventoryRow], without_drift: Option<&str>) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    heading(out, "Inventory of the instance")?;
    let drifted = rows.iter().filter(|row| matches!(row.drift, Drift::Drifted | Drift::Missing)).count();
    let tone = if drifted == 0 { Tone::Good } else { Tone::Bad };
    writeln!(out, "<p class=\"{}\">{} objects, {drifted} drifted or missing</p>", tone.class(), rows.len())?;
    if let Some(why) = without_drift {
        writeln!(out, "<p class=\"soft\">Only missing objects are reported as drift: {}</p>", Text(why))?;
    }
    let (unusual, usual): (Vec<&InventoryRow>, Vec<&InventoryRow>) =
        rows.iter().partition(|row| !matches!(row.drift, Drift::None) || row.status != Status::Current);
    inventory_table(out, &unusual)?;
    if !usual.is_empty() {
        writeln!(out, "<details><summary>Show {} unchanged</summary>", usual.len())?;
        inventory_table(out, &usual)?;
        out.push_str("</details>\n");
    }
    Ok(())
}

fn inventory_table(out: &mut String, rows: &[&InventoryRow]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    out.push_str("<div class=\"wide\"><table>\n<tr><th>Object</th><th>Status</th><th>Drift</th><th>Fields</th></tr>\n");
    for row in rows {
        // The sixth cell is the drift. It has no age, so the moment does not matter.
        let drift = row.cells().get(5).map(|cell| cell.full(Timestamp::UNIX_EPOCH)).unwrap_or_default();
        let tone = match row.drift {
            Drift::None => Tone::Good,
            Drift::Drifted | Drift::Missing => Tone::Bad,
            Drift::Documentation | Drift::Unknown => Tone::Plain,
        };
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"tight {}\">{}</td><td class=\"tight {}\">{}</td><td>{}</td></tr>",
            Text(&row.reference().to_string()),
            Tone::of_status(row.status).class(),
            row.status.as_str(),
            tone.class(),
            Text(&drift),
            Text(&row.fields.join(", "))
        )?;
    }
    out.push_str("</table></div>\n");
    Ok(())
}

/// Whether a node below has a problem, so that the path to it is unfolded.
fn has_trouble(node: &TreeNode) -> bool {
    let own = node.status.is_some_and(|status| matches!(status, Status::Failed | Status::NotFound));
    own || node.children.iter().any(has_trouble)
}

fn tree(out: &mut String, node: &TreeNode) -> fmt::Result {
    let state = match node.status {
        Some(status) => format!(" <span class=\"{}\">{}</span>", Tone::of_status(status).class(), status.as_str()),
        None => String::new(),
    };
    let message = if node.message.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"soft\">{}</span>", Text(&node.message))
    };
    let label = format!("{}{state}{message}", Text(&node.label));
    if node.children.is_empty() {
        return writeln!(out, "<li>{label}</li>");
    }
    // Healthy parts stay folded; the path to a failure is open.
    let is_open = has_trouble(node);
    writeln!(out, "<li><details{}><summary>{label}</summary><ul>", if is_open { " open" } else { "" })?;
    for child in &node.children {
        tree(out, child)?;
    }
    out.push_str("</ul></details></li>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_others_is_text_wherever_it_stands() {
        let hostile = "</title><script>alert('1')</script>\" onload=\"x\u{1b}[31m\u{202e}&amp;";
        let shown = Text(hostile).to_string();
        assert_eq!(
            shown,
            "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x[31m&amp;amp;"
        );
    }
}
