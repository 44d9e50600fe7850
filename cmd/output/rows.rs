//! Columns of the library's rows, and a cell for each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use flux_operator::api::field_managers::Author;
use flux_operator::api::well_known::reason;
use flux_operator::inspect::diagnose::instance::{HistoryRow, InstanceRow};
use flux_operator::inspect::diagnose::resources::ResourceRow;
use flux_operator::inspect::incident::report::{StatsRow, size_text};
use flux_operator::inspect::views::changes::ChangeRow;
use flux_operator::inspect::views::components::ComponentRow;
use flux_operator::inspect::views::events::EventRow;
use flux_operator::inspect::views::inventory::InventoryRow;
use flux_operator::inspect::views::resource_set::InputSetRow;
use flux_operator::inspect::views::suspended::SuspendedRow;
use flux_operator::k8s::kstatus::Status;

use crate::output::kubectl_name;
use crate::output::listing::{Cell, Column, Row};

/// Limit for a change's fields in a table.
const FIELDS_IN_A_LINE: usize = 4;

/// Maps kstatus to the status of a Ready condition.
fn readiness(status: Status) -> &'static str {
    match status {
        Status::Current => "True",
        Status::Unknown => "Unknown",
        _ => "False",
    }
}

impl Row for ChangeRow {
    const LIST_KIND: &'static str = "ChangeList";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        // AGE, BY, ACTION and OBJECT answer when, who and what, so they are shown at every width.
        Column::new("AGE"),
        Column::new("AUTHOR").rank(1),
        Column::new("BY"),
        Column::new("ACTION"),
        Column::new("OBJECT"),
        Column::wide("TIME"),
        Column::wide("EVIDENCE"),
        Column::MESSAGE,
    ];

    fn cells(&self) -> Vec<Cell> {
        let message = if self.fields.is_empty() { self.message.clone() } else { in_a_line(&self.fields) };
        vec![
            Cell::text(&self.object.namespace),
            Cell::Since(self.at),
            Cell::some_text(self.author.map(Author::as_str)),
            if self.by.is_empty() { Cell::Absent } else { Cell::Kind(self.by.clone()) },
            Cell::text(self.action.as_str()),
            Cell::text(format!("{}/{}", self.object.kind, self.object.name)),
            Cell::text(self.at.to_string()),
            Cell::text(
                serde_json::to_value(self.evidence).ok().and_then(|e| Some(e.as_str()?.to_owned())).unwrap_or_default(),
            ),
            Cell::message(&message),
        ]
    }

    fn name(&self) -> String {
        kubectl_name(&self.object.kind, &self.object.group, &self.object.name)
    }
    fn namespace(&self) -> Option<&str> {
        self.object.namespace()
    }
}

fn in_a_line(paths: &[String]) -> String {
    let named = paths.iter().take(FIELDS_IN_A_LINE).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(FIELDS_IN_A_LINE) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl Row for ComponentRow {
    const LIST_KIND: &'static str = "ComponentList";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::new("NAME"),
        Column::new("REPOSITORY").rank(5),
        Column::new("TAG").rank(2),
        Column::new("DIGEST").rank(6),
        Column::new("PODS").rank(1),
        Column::new("STATUS").rank(1),
        Column::new("RESTARTS").rank(3),
        Column::new("AGE").rank(4),
        Column::wide("REQUESTS"),
        Column::wide("LIMITS"),
        Column::wide("ARGS"),
        Column::wide("MESSAGE"),
    ];

    fn cells(&self) -> Vec<Cell> {
        let args =
            self.extra_args.iter().map(|a| format!("+{a}")).chain(self.missing_args.iter().map(|a| format!("-{a}")));
        let args = args.collect::<Vec<_>>().join(" ");
        vec![
            Cell::text(&self.namespace),
            Cell::text(&self.name),
            Cell::revision(Some(&self.repository)),
            Cell::text(&self.tag),
            Cell::some_text(self.digest.as_deref().map(short_digest).as_deref()),
            Cell::Share(self.ready_pods, self.desired_pods),
            Cell::text(self.status.as_str()),
            Cell::Count(self.restarts),
            Cell::since(self.created),
            Cell::some_text(self.requests.as_deref()),
            Cell::some_text(self.limits.as_deref()),
            Cell::text(args),
            Cell::message(&self.status_message),
        ]
    }

    fn name(&self) -> String {
        format!("deployment.apps/{}", self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
    fn ready(&self) -> Option<&str> {
        Some(readiness(self.status))
    }
    fn labels(&self) -> BTreeMap<String, String> {
        self.labels.clone()
    }
}

impl Row for EventRow {
    const LIST_KIND: &'static str = "List";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::new("LAST SEEN").before_message(),
        Column::new("TYPE").rank(1),
        Column::new("REASON").rank(2),
        Column::new("OBJECT"),
        Column::wide("COUNT"),
        Column::wide("SOURCE"),
        Column::wide("FIRST SEEN"),
        Column::MESSAGE,
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.namespace),
            Cell::since(self.last_seen),
            Cell::text(&self.kind),
            Cell::text(&self.reason),
            Cell::text(format!("{}/{}", self.object.kind, self.object.name)),
            Cell::Count(self.count),
            Cell::text(&self.source),
            Cell::since(self.first_seen),
            Cell::message(&in_short(&self.message)),
        ]
    }

    fn name(&self) -> String {
        format!("event/{}", self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
}

/// Shortens a message for a table, because an installation reports every object on its own line, 2 kB in all. JSON and
/// YAML contain the whole message.
fn in_short(message: &str) -> Cow<'_, str> {
    const SHOWN: usize = 3;
    let lines: Vec<&str> = message.lines().collect();
    match lines.len().checked_sub(SHOWN) {
        // A note about a single omitted line would be as long as the line itself.
        None | Some(0 | 1) => Cow::Borrowed(message),
        Some(more) => Cow::Owned(format!("{}, and {more} more lines", lines[..SHOWN].join(", "))),
    }
}

impl Row for InstanceRow {
    const LIST_KIND: &'static str = "List";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::new("NAME"),
        Column::new("VERSION").before_message(),
        Column::new("RESOURCES").rank(2),
        Column::READY,
        Column::new("LAST RECONCILED").rank(3),
        Column::wide("RANGE"),
        Column::wide("REVISION"),
        Column::wide("REGISTRY"),
        Column::wide("REASON"),
        Column::wide("AGE"),
        Column::MESSAGE,
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.namespace),
            Cell::text(&self.name),
            Cell::some_text(self.version.as_deref()),
            Cell::Count(i64::try_from(self.resources).unwrap_or(i64::MAX)),
            Cell::text(&self.ready),
            Cell::since(self.last_reconciled),
            Cell::text(&self.range),
            Cell::revision(self.revision.as_deref()),
            Cell::text(&self.registry),
            Cell::text(&self.reason),
            Cell::since(self.created),
            Cell::message(&self.message),
        ]
    }

    fn name(&self) -> String {
        format!("fluxinstance.fluxcd.controlplane.io/{}", self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
    fn ready(&self) -> Option<&str> {
        Some(&self.ready)
    }
    fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

impl Row for HistoryRow {
    const LIST_KIND: &'static str = "HistoryList";
    const COLUMNS: &'static [Column] = &[
        Column::new("REVISION"),
        Column::new("VERSION"),
        Column::new("FIRST").rank(3),
        Column::new("LAST"),
        Column::new("DURATION").rank(1),
        Column::new("TOTAL").rank(2),
        Column::new("STATUS"),
        Column { name: "ROLLBACK", ..Column::MESSAGE },
        Column::wide("INPUTS"),
        Column::wide("RESOURCES"),
        Column::wide("DIGEST"),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(short_digest(&self.digest)),
            Cell::some_text(self.version.as_deref()),
            Cell::since(self.first_reconciled),
            Cell::since(self.last_reconciled),
            Cell::text(short_duration(&self.duration)),
            Cell::Count(self.total),
            Cell::text(&self.status),
            self.rollback.as_ref().map_or(Cell::Absent, |answer| Cell::Message(answer.in_words())),
            self.inputs.map_or(Cell::Absent, Cell::Count),
            self.resources.map_or(Cell::Absent, Cell::Count),
            Cell::revision(Some(&self.digest)),
        ]
    }

    fn name(&self) -> String {
        self.digest.clone()
    }
    fn ready(&self) -> Option<&str> {
        Some(if self.status == reason::RECONCILIATION_SUCCEEDED { "True" } else { "False" })
    }
}

impl Row for InputSetRow {
    const LIST_KIND: &'static str = "InputSetList";
    const COLUMNS: &'static [Column] = &[
        Column::new("SET"),
        Column::new("ID"),
        Column::new("FROM").rank(1),
        // If there is no space for the column, its text is wrapped below the row, like a message.
        Column { name: "VALUES", ..Column::MESSAGE },
    ];

    fn cells(&self) -> Vec<Cell> {
        let source = self.source.as_ref().map(|id| format!("{}/{}", id.kind, id.name));
        // The columns in front show the id and the provider.
        let values = self.values.iter().filter(|(key, _)| !["id", "provider"].contains(&key.as_str()));
        let values = values.map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={text}"),
            None => format!("{key}={value}"),
        });
        vec![
            Cell::Count(i64::try_from(self.index).unwrap_or(i64::MAX)),
            Cell::some_text(self.id.as_deref()),
            source.map_or(Cell::Absent, Cell::Text),
            Cell::message(&values.collect::<Vec<_>>().join(" ")),
        ]
    }

    fn name(&self) -> String {
        format!("input/{}", self.index)
    }
}

/// Shortens a digest to `sha256:7cf51a84`, which is enough to tell revisions apart, as in git.
fn short_digest(digest: &str) -> String {
    match digest.split_once(':') {
        Some((algorithm, hex)) if hex.len() > 8 => format!("{algorithm}:{}", hex.chars().take(8).collect::<String>()),
        _ => digest.to_owned(),
    }
}

/// Rounds a Go duration: `1.338853207s` becomes `1.34s`.
fn short_duration(text: &str) -> String {
    let Some(dot) = text.find('.') else { return text.to_owned() };
    let Some(unit) = text.get(dot + 1..).and_then(|t| t.find(|c: char| !c.is_ascii_digit())) else {
        return text.to_owned();
    };
    let unit = dot + 1 + unit;
    let whole_start = text.get(..dot).and_then(|t| t.rfind(|c: char| !c.is_ascii_digit())).map_or(0, |at| at + 1);
    match (text.get(..whole_start), text.get(whole_start..unit), text.get(unit..)) {
        (Some(before), Some(number), Some(after)) => match number.parse::<f64>() {
            Ok(number) => format!("{before}{number:.2}{after}"),
            Err(_) => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

impl Row for InventoryRow {
    const LIST_KIND: &'static str = "InventoryList";
    const COLUMNS: &'static [Column] = &[
        Column::KIND,
        Column::new("NAMESPACE").rank(1),
        Column::new("NAME"),
        Column::new("VERSION").rank(4),
        Column::new("STATUS").rank(3),
        Column::new("DRIFT").rank(2),
        Column::wide("GROUP"),
        Column::wide("FIELDS"),
        Column::wide("MESSAGE"),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Kind(self.kind.clone()),
            Cell::some_text(self.namespace.as_deref()),
            Cell::text(&self.name),
            Cell::text(&self.version),
            Cell::text(self.status.as_str()),
            Cell::text(self.drift.as_str()),
            Cell::text(&self.group),
            Cell::text(self.fields.join(",")),
            Cell::message(&self.message),
        ]
    }

    fn name(&self) -> String {
        kubectl_name(&self.kind, &self.group, &self.name)
    }
    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
    fn ready(&self) -> Option<&str> {
        Some(readiness(self.status))
    }
}

impl Row for StatsRow {
    const LIST_KIND: &'static str = "StatsList";
    const COLUMNS: &'static [Column] = &[
        Column::new("RECONCILERS"),
        Column::new("RUNNING"),
        Column::new("FAILING"),
        Column::new("SUSPENDED"),
        Column::new("STORAGE").rank(1),
        // After the columns that flux and flux-operator have, so that scripts find those in their place.
        Column::new("READY"),
        Column::new("IN PROGRESS"),
        Column::new("NOT STARTED"),
        Column::wide("VERSION"),
    ];

    fn cells(&self) -> Vec<Cell> {
        let count = |n: usize| Cell::Count(i64::try_from(n).unwrap_or(i64::MAX));
        // The reference prints a dash if nothing is stored.
        let storage = if self.storage_bytes == 0 { "-".into() } else { size_text(self.storage_bytes) };
        vec![
            Cell::text(&self.kind),
            count(self.running),
            count(self.failing),
            count(self.suspended),
            Cell::text(storage),
            count(self.ready),
            count(self.in_progress),
            count(self.not_started),
            Cell::text(&self.api_version),
        ]
    }

    fn name(&self) -> String {
        self.kind.to_lowercase()
    }
    fn ready(&self) -> Option<&str> {
        Some(if self.failing == 0 { "True" } else { "False" })
    }
}

/// Returns the reported readiness, marked if the object is suspended.
fn readiness_cell(ready: &str, reported: &str) -> Cell {
    if ready == "Suspended" { Cell::text(format!("{reported} (suspended)")) } else { Cell::text(ready) }
}

impl Row for ResourceRow {
    const LIST_KIND: &'static str = "List";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::KIND,
        Column::new("NAME"),
        Column::READY,
        Column::new("SINCE").rank(4),
        Column::new("REVISION").rank(3),
        Column::wide("REASON"),
        Column::wide("SOURCE"),
        Column::wide("AGE"),
        Column::MESSAGE,
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.namespace),
            Cell::Kind(self.kind.to_owned()),
            Cell::text(&self.name),
            readiness_cell(&self.ready, self.reported),
            self.last_reconciled.map_or(Cell::Absent, Cell::Since),
            Cell::revision(self.revision.as_deref()),
            Cell::text(&self.reason),
            Cell::some_text(self.source.as_deref()),
            Cell::since(self.created),
            Cell::message(&self.message),
        ]
    }

    fn name(&self) -> String {
        kubectl_name(self.kind, self.group, &self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
    fn ready(&self) -> Option<&str> {
        Some(&self.ready)
    }
    fn labels(&self) -> BTreeMap<String, String> {
        self.labels.clone()
    }
}

impl Row for SuspendedRow {
    const LIST_KIND: &'static str = "SuspendedList";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::KIND,
        Column::new("NAME"),
        Column::new("SINCE").rank(1),
        Column::new("BY").rank(2),
        Column::new("UNTIL").before_message(),
        Column::new("REASON").rank(3),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.namespace),
            Cell::Kind(self.kind.to_owned()),
            Cell::text(&self.name),
            Cell::since(self.since),
            Cell::some_text(self.by.as_deref()),
            self.until.map_or(Cell::Absent, Cell::Due),
            Cell::message(self.reason.as_deref().unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        kubectl_name(self.kind, self.group, &self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flux_operator::inspect::read::flux_object::{FluxObject, Metadata};

    #[test]
    fn a_message_of_many_lines_is_shown_in_short() {
        let lines: Vec<String> = (1..=31).map(|n| format!("ConfigMap/apps/c{n} created")).collect();
        assert_eq!(
            in_short(&lines.join("\n")),
            "ConfigMap/apps/c1 created, ConfigMap/apps/c2 created, ConfigMap/apps/c3 created, and 28 more lines"
        );
        assert_eq!(in_short("a\nb\nc\nd"), "a\nb\nc\nd");
    }

    #[test]
    fn an_object_is_named_as_kubectl_names_it() {
        let kind = flux_operator::api::kinds::find("gitrepo").unwrap();
        let object =
            FluxObject { metadata: Metadata { name: "a".into(), ..Metadata::default() }, ..FluxObject::default() };
        assert_eq!(ResourceRow::new(kind, object).name(), "gitrepository.source.toolkit.fluxcd.io/a");
    }

    #[test]
    fn digests_and_durations_are_shortened() {
        assert_eq!(short_digest("sha256:7cf51a8404dd421d"), "sha256:7cf51a84");
        assert_eq!(short_digest("abc"), "abc");
        assert_eq!(short_duration("1.338853207s"), "1.34s");
        assert_eq!(short_duration("1m2.5s"), "1m2.50s");
        assert_eq!(short_duration("431ms"), "431ms");
    }
}
