//! Formats a page as a self-contained HTML file. It contains no script, and its content may be hostile: every text from
//! a cluster goes through [`HtmlText`].

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;

use flux_operator::format::age::short_age;
use flux_operator::inspect::components::ComponentRow;
use flux_operator::inspect::events::EventRow;
use flux_operator::inspect::inventory::{Drift, InventoryRow};
use flux_operator::inspect::page::{History, Page};
use flux_operator::inspect::status::{KindCounts, StatusView};
use flux_operator::inspect::tree::TreeNode;
use flux_operator::inspect::why::Overview;
use flux_operator::k8s::kstatus::Status;
use jiff::Timestamp;

use crate::output::listing::Row;
use crate::output::table::clean;

/// Buckets of the timeline of events.
const BUCKETS: i64 = 48;
/// Number of affected objects that are listed before the rest is folded.
const NAMED: usize = 3;
/// A smaller part of the tree is unfolded.
const UNFOLDED: usize = 25;

/// A foreign text: characters with a meaning in HTML are escaped, control characters are removed.
struct HtmlText<'a>(&'a str);

impl fmt::Display for HtmlText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in clean(self.0).chars() {
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
body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--bg);color:var(--fg);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}\
h3{font-size:1rem;margin:0 0 .3rem}p{margin:.3rem 0}\
.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}.busy{color:var(--busy)}.plain{color:var(--plain)}\
.card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;margin:.6rem 0;break-inside:avoid}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%;font-size:.88rem}\
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\
th{color:var(--soft);font-weight:600;white-space:nowrap;overflow-wrap:normal}td.tight{white-space:nowrap;overflow-wrap:normal}\
td{min-width:4rem}\
code{font:.85rem ui-monospace,monospace;overflow-wrap:anywhere;background:var(--card)}pre{margin:.2rem 0;white-space:pre-wrap}\
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
@media(max-width:40rem){.row{grid-template-columns:1fr;gap:.1rem}body{padding:.6rem}}\
@media print{body{max-width:none;padding:0;font-size:11px}details>summary{list-style:none}details::details-content{content-visibility:visible;block-size:auto}h2{break-after:avoid}tr{break-inside:avoid}}";

/// Formats the whole page.
pub fn html(page: &Page<String>) -> String {
    let mut out = String::with_capacity(64 * 1024);
    // Writing to a String cannot fail.
    let _ = write_page(&mut out, page);
    out
}

fn write_page(out: &mut String, page: &Page<String>) -> fmt::Result {
    let title = format!("Flux on {}", page.place);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        HtmlText(&title)
    )?;
    let (tone, state) = if page.status.well { (Tone::Good, "all is well") } else { (Tone::Bad, "not all is well") };
    writeln!(out, "<h1>{}: <span class=\"{}\">{state}</span></h1>", HtmlText(&title), tone.class())?;
    writeln!(out, "<p class=\"soft\">As of {}</p>", moment(page.at))?;
    status(out, &page.status, page.at)?;
    causes(out, &page.causes, page.at)?;
    kinds(out, &page.status.kinds)?;
    histories(out, &page.histories, page.at)?;
    timeline(out, page)?;
    components(out, &page.components)?;
    inventory(out, &page.inventory, page.without_drift.as_deref())?;
    if let Some(root) = &page.tree {
        heading(out, "Tree")?;
        out.push_str("<div class=\"tree\"><ul>\n");
        tree(out, root, true)?;
        out.push_str("</ul></div>\n");
    }
    out.push_str("</body>\n</html>\n");
    Ok(())
}

fn heading(out: &mut String, text: &str) -> fmt::Result {
    writeln!(out, "<h2>{text}</h2>")
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn status(out: &mut String, view: &StatusView<String>, now: Timestamp) -> fmt::Result {
    heading(out, "Status")?;
    out.push_str("<div class=\"wide\"><table>\n");
    let mut line = |name: &str, tone: Tone, says: &str| {
        writeln!(out, "<tr><th>{name}</th><td class=\"{}\">{}</td></tr>", tone.class(), HtmlText(says))
    };
    let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "not known".into());
    line("Flux", Tone::Plain, &known(&view.versions.distribution))?;
    line("Kubernetes", Tone::Plain, &known(&view.versions.kubernetes))?;
    line("Operator", Tone::Plain, &view.operator.message)?;
    match &view.instance {
        None => line("Instance", Tone::Bad, "there is none")?,
        Some(row) => {
            let says = format!("{}/{}: {}", row.namespace, row.name, row.says(now));
            line("Instance", Tone::of_ready(&row.ready), &says)?;
        }
    }
    for controller in &view.controllers {
        let why = controller.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
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
    if found.well {
        return writeln!(
            out,
            "<p class=\"good\">None of {} Flux objects and {} workloads that they applied fails, {} on their way.</p>",
            found.total, found.workloads, found.in_progress
        );
    }
    writeln!(
        out,
        "<p>{} of {} Flux objects and {} workloads that they applied fail, {} cause(s), {} on their way.</p>",
        found.failing,
        found.total,
        found.workloads,
        found.causes.len(),
        found.in_progress
    )?;
    for group in &found.causes {
        let cause = &group.cause;
        writeln!(out, "<div class=\"card\"><h3 class=\"bad\">{} ({:?})</h3>", HtmlText(&cause.summary), cause.reason)?;
        writeln!(out, "<p>Object: {}</p><ul>", HtmlText(&cause.object.to_string()))?;
        for evidence in &cause.evidence {
            let age = evidence.at.map(|at| format!(", {} ago", short_age(at, now))).unwrap_or_default();
            writeln!(
                out,
                "<li><span class=\"soft\">{}{age}:</span> {}</li>",
                HtmlText(&evidence.from),
                HtmlText(&evidence.text)
            )?;
        }
        out.push_str("</ul>\n");
        let counts: Vec<String> = group.kinds.iter().map(|kind| format!("{} {}", kind.count, kind.kind)).collect();
        let names: Vec<String> = group.affected.iter().map(ToString::to_string).collect();
        let (first, rest) = names.split_at(names.len().min(NAMED));
        writeln!(out, "<p>Takes down {}: {}</p>", HtmlText(&counts.join(", ")), HtmlText(&first.join(", ")))?;
        if !rest.is_empty() {
            writeln!(out, "<details><summary>and {} more</summary><ul>", rest.len())?;
            for name in rest {
                writeln!(out, "<li>{}</li>", HtmlText(name))?;
            }
            out.push_str("</ul></details>\n");
        }
        for next in &cause.next {
            writeln!(out, "<pre><code>{}</code></pre>", HtmlText(next))?;
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
    let most = kinds.iter().map(|kind| kind.total).max().unwrap_or(1);
    for kind in kinds {
        let waiting = kind.total.saturating_sub(kind.ready + kind.failing + kind.suspended);
        let parts =
            [(kind.ready, "ready"), (kind.failing, "failing"), (waiting, "waiting"), (kind.suspended, "suspended")];
        let told: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        write!(
            out,
            "<div class=\"row\"><span>{} <span class=\"soft\">{}</span></span>",
            HtmlText(kind.kind),
            told.join(", ")
        )?;
        // The length of a bar follows the number of objects, with a visible minimum.
        let length = (kind.total as f64 * 100.0 / most as f64).max(4.0);
        write!(
            out,
            "<div class=\"bar\" style=\"width:{length:.2}%\" role=\"img\" aria-label=\"{}\">",
            told.join(", ")
        )?;
        part(out, Tone::Good, kind.ready, kind.total)?;
        part(out, Tone::Bad, kind.failing, kind.total)?;
        part(out, Tone::Busy, waiting, kind.total)?;
        part(out, Tone::Plain, kind.suspended, kind.total)?;
        out.push_str("</div></div>\n");
    }
    Ok(())
}

fn histories(out: &mut String, histories: &[History], now: Timestamp) -> fmt::Result {
    let spans = || histories.iter().flat_map(|history| &history.spans);
    let Some(start) = spans().map(|span| span.from).min() else { return Ok(()) };
    let end = spans().map(|span| span.to).max().unwrap_or(now).max(now);
    heading(out, "History")?;
    let length = (end.as_second() - start.as_second()).max(1) as f64;
    let at = |moment: Timestamp| (moment.as_second() - start.as_second()) as f64 * 100.0 / length;
    for history in histories {
        write!(out, "<div class=\"row\"><span>{}</span><div class=\"lane\">", HtmlText(&history.object.to_string()))?;
        for span in &history.spans {
            let tone = if span.ok { Tone::Good } else { Tone::Bad };
            let (left, right) = (at(span.from).min(99.0), at(span.to));
            let says = format!("{}: {} ({} to {})", span.revision, span.outcome, moment(span.from), moment(span.to));
            write!(
                out,
                "<i class=\"{}\" style=\"left:{left:.2}%;width:{:.2}%\" title=\"{}\"></i>",
                tone.class(),
                (right - left).max(0.0),
                HtmlText(&says)
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
                HtmlText(&history.object.to_string()),
                HtmlText(&span.revision),
                moment(span.from),
                moment(span.to),
                tone.class(),
                HtmlText(&span.outcome)
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
    out.push_str("<details><summary>All of them, the newest first</summary><div class=\"wide\"><table>\n");
    out.push_str("<tr><th>Last seen</th><th>Type</th><th>Object</th><th>Reason</th><th>Message</th></tr>\n");
    for event in page.events.iter().rev() {
        let tone = if is_warning(event) { Tone::Bad } else { Tone::Plain };
        writeln!(
            out,
            "<tr><td class=\"tight\">{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            event.last_seen.map(moment).unwrap_or_default(),
            tone.class(),
            HtmlText(&event.kind),
            HtmlText(&event.object.to_string()),
            HtmlText(&event.reason),
            HtmlText(&event.message)
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
    out.push_str("<div class=\"wide\"><table>\n<tr><th>Name</th><th>Image</th><th>Pods</th><th>Status</th><th>Restarts</th></tr>\n");
    for row in rows {
        writeln!(
            out,
            "<tr><td>{}</td><td>{}:{}</td><td class=\"tight\">{}/{}</td><td class=\"{}\">{} {}</td><td>{}</td></tr>",
            HtmlText(&row.name),
            HtmlText(&row.repository),
            HtmlText(&row.tag),
            row.ready_pods,
            row.desired_pods,
            Tone::of_status(row.status).class(),
            row.status.as_str(),
            HtmlText(&row.status_message),
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
        writeln!(out, "<p class=\"soft\">Only missing objects are told as drift: {}</p>", HtmlText(why))?;
    }
    let (unusual, usual): (Vec<&InventoryRow>, Vec<&InventoryRow>) =
        rows.iter().partition(|row| !matches!(row.drift, Drift::None) || row.status != Status::Current);
    inventory_table(out, &unusual)?;
    if !usual.is_empty() {
        writeln!(out, "<details><summary>{} as they were applied</summary>", usual.len())?;
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
        let drift = row.cells().get(5).map(|cell| cell.full(Timestamp::UNIX_EPOCH)).unwrap_or_default();
        let tone = match row.drift {
            Drift::None => Tone::Good,
            Drift::Drifted | Drift::Missing => Tone::Bad,
            Drift::Documentation | Drift::Unknown => Tone::Plain,
        };
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"tight {}\">{}</td><td class=\"tight {}\">{}</td><td>{}</td></tr>",
            HtmlText(&row.reference().to_string()),
            Tone::of_status(row.status).class(),
            row.status.as_str(),
            tone.class(),
            HtmlText(&drift),
            HtmlText(&row.fields.join(", "))
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

fn tree(out: &mut String, node: &TreeNode, is_root: bool) -> fmt::Result {
    let state = match node.status {
        Some(status) => format!(" <span class=\"{}\">{}</span>", Tone::of_status(status).class(), status.as_str()),
        None => String::new(),
    };
    let message = if node.message.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"soft\">{}</span>", HtmlText(&node.message))
    };
    let label = format!("{}{state}{message}", HtmlText(&node.label));
    if node.children.is_empty() {
        return writeln!(out, "<li>{label}</li>");
    }
    let is_open = is_root || has_trouble(node) || node.count() < UNFOLDED;
    writeln!(out, "<li><details{}><summary>{label}</summary><ul>", if is_open { " open" } else { "" })?;
    for child in &node.children {
        tree(out, child, false)?;
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
        let shown = HtmlText(hostile).to_string();
        assert_eq!(
            shown,
            "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x[31m&amp;amp;"
        );
    }
}
