//! Additional columns for lists of one kind, following the printer columns of its definition.

use flux_operator::api::kinds::FluxKind;
use flux_operator::inspect::diagnose::resources::ResourceRow;
use flux_operator::inspect::diagnose::why::RowVerdict;
use flux_operator::inspect::read::flux_object::{Chart, FluxObject, SourceReference};

use crate::output::listing::{Cell, Column, Row};
use crate::output::table::short_revision;

/// A column of one kind, and how to read it.
struct Detail {
    column: Column,
    cell: fn(&FluxObject) -> Cell,
}

const fn plain(name: &'static str, rank: u8, cell: fn(&FluxObject) -> Cell) -> Detail {
    Detail { column: Column::new(name).rank(rank), cell }
}

const fn wide(name: &'static str, cell: fn(&FluxObject) -> Cell) -> Detail {
    Detail { column: Column::wide(name), cell }
}

const URL: Detail = plain("URL", 2, |o| Cell::some_text(o.spec.url.as_deref()));
const REF: Detail = plain("REF", 1, |o| Cell::some_text(o.checkout()));
const SOURCE: Detail = plain("SOURCE", 2, |o| Cell::text(o.source_object().unwrap_or_default()));
const INTERVAL: Detail = wide("INTERVAL", |o| Cell::some_text(o.spec.interval.as_deref()));
const TYPE: Detail = plain("TYPE", 1, |o| Cell::some_text(o.spec.kind.as_deref()));

/// The columns of each kind; any other kind has only the common ones.
const DETAILS: &[(&str, &[Detail])] = &[
    (
        "ResourceSet",
        &[
            plain("INPUTS", 1, inputs),
            plain("SETS", 1, input_sets),
            plain("OBJECTS", 1, |o| count(o.status.inventory.as_ref().map(|inventory| inventory.entries.len()))),
            // The operator's interval where no annotation sets one.
            wide("INTERVAL", |o| annotated_interval(o, "1h0m0s")),
        ],
    ),
    (
        "ResourceSetInputProvider",
        &[
            TYPE,
            URL,
            plain("INPUTS", 1, |o| count(o.status.exported_inputs.as_ref().map(Vec::len))),
            plain("LAST EXPORT", 2, |o| Cell::revision(o.status.last_exported_revision.as_deref())),
            plain("NEXT SCHEDULE", 1, |o| {
                o.status.next_schedule.as_ref().and_then(|next| next.when).map_or(Cell::Absent, Cell::Due)
            }),
            wide("INTERVAL", |o| annotated_interval(o, "10m0s")),
        ],
    ),
    ("Kustomization", &[plain("PATH", 1, |o| Cell::some_text(o.spec.path.as_deref())), SOURCE, INTERVAL]),
    (
        "HelmRelease",
        &[
            plain("CHART", 1, chart),
            plain("VERSION", 1, chart_version),
            wide("APP VERSION", app_version),
            { Detail { column: Column::wide("SOURCE"), cell: SOURCE.cell } },
            INTERVAL,
        ],
    ),
    ("GitRepository", &[URL, REF, INTERVAL]),
    ("OCIRepository", &[URL, REF, INTERVAL]),
    (
        "Bucket",
        &[
            plain("ENDPOINT", 2, |o| Cell::some_text(o.spec.endpoint.as_deref())),
            plain("BUCKET", 1, |o| Cell::some_text(o.spec.bucket_name.as_deref())),
            INTERVAL,
        ],
    ),
    ("HelmRepository", &[URL, Detail { column: Column::wide("TYPE"), cell: TYPE.cell }, INTERVAL]),
    (
        "HelmChart",
        &[
            plain("CHART", 1, chart),
            plain("VERSION", 1, |o| Cell::some_text(o.spec.version.as_deref())),
            SOURCE,
            INTERVAL,
        ],
    ),
    ("ArtifactGenerator", &[plain("SOURCES", 2, |o| Cell::text(list(o.spec.sources.as_deref())))]),
    ("ExternalArtifact", &[SOURCE]),
    (
        "Alert",
        &[
            plain("PROVIDER", 1, |o| Cell::text(name(o.spec.provider_ref.as_ref()))),
            plain("SEVERITY", 2, |o| Cell::some_text(o.spec.event_severity.as_deref())),
        ],
    ),
    // An address may contain a token, so it is not shown.
    ("Provider", &[TYPE, plain("CHANNEL", 2, |o| Cell::some_text(o.spec.channel.as_deref())), INTERVAL]),
    ("Receiver", &[TYPE, plain("PATH", 1, |o| Cell::some_text(o.status.webhook_path.as_deref())), INTERVAL]),
    (
        "ImageRepository",
        &[
            plain("IMAGE", 1, |o| Cell::some_text(o.spec.image.as_deref())),
            plain("TAGS", 2, |o| {
                o.status.last_scan_result.as_ref().and_then(|s| s.tag_count).map_or(Cell::Absent, Cell::Count)
            }),
            wide("LAST SCAN", |o| {
                o.status.last_scan_result.as_ref().and_then(|s| s.scan_time).map_or(Cell::Absent, Cell::Since)
            }),
            INTERVAL,
        ],
    ),
    (
        "ImagePolicy",
        &[
            plain("LATEST", 1, |o| Cell::text(o.latest_image().unwrap_or_default())),
            plain("REPOSITORY", 2, |o| Cell::text(name(o.spec.image_repository_ref.as_ref()))),
        ],
    ),
    (
        "ImageUpdateAutomation",
        &[
            SOURCE,
            plain("LAST RUN", 1, |o| o.status.last_automation_run_time.map_or(Cell::Absent, Cell::Since)),
            INTERVAL,
        ],
    ),
];

/// Kinds without a revision, or whose own columns already show it.
const WITHOUT_REVISION: &[&str] =
    &["ResourceSetInputProvider", "HelmRelease", "Alert", "Provider", "Receiver", "ImageRepository", "ImagePolicy"];

/// Kinds whose revision users look for first, so it precedes the kind's own columns.
const REVISION_FIRST: &[&str] = &["Kustomization"];

fn of(kind: &FluxKind) -> &'static [Detail] {
    DETAILS.iter().find(|(name, _)| *name == kind.kind).map_or(&[], |(_, details)| *details)
}

/// Returns the columns of a list of one kind: its own columns follow the name, and the kind is shown only with `-o
/// wide`.
pub fn of_kind(kind: &FluxKind) -> Vec<Column> {
    if REVISION_FIRST.contains(&kind.kind) {
        return revision_first(kind);
    }
    let mut columns = vec![];
    for column in ResourceRow::COLUMNS {
        match column.name {
            "KIND" => {}
            "NAME" => {
                columns.push(*column);
                columns.extend(of(kind).iter().map(|detail| detail.column).filter(|column| !column.wide));
            }
            "REVISION" if WITHOUT_REVISION.contains(&kind.kind) => columns.push(Column::wide(column.name)),
            "REASON" => {
                columns.push(*column);
                columns.extend(of(kind).iter().map(|detail| detail.column).filter(|column| column.wide));
                columns.push(Column::wide("KIND"));
            }
            // Either a column of the kind shows the source, or nothing does.
            "SOURCE" => {}
            _ => columns.push(*column),
        }
    }
    columns
}

fn revision_first(kind: &FluxKind) -> Vec<Column> {
    let own = |wide: bool| of(kind).iter().map(|detail| detail.column).filter(move |column| column.wide == wide);
    let mut columns = vec![Column::NAMESPACE, Column::new("NAME"), Column::READY, Column::new("REVISION")];
    columns.extend([Column::MESSAGE, Column::new("SINCE").rank(4)]);
    columns.extend(own(false));
    columns.extend([Column::wide("REASON"), Column::wide("AGE"), Column::wide("FULL REVISION")]);
    columns.extend(own(true));
    columns.push(Column::wide("KIND"));
    columns
}

fn row_revision_first(
    kind: &'static FluxKind,
    object: FluxObject,
    verdict: Option<RowVerdict>,
) -> (ResourceRow, Vec<Cell>) {
    let own: Vec<(bool, Cell)> = of(kind).iter().map(|one| (one.column.wide, (one.cell)(&object))).collect();
    let own = |wide: bool| own.iter().filter(|(is_wide, _)| *is_wide == wide).map(|(_, cell)| cell.clone()).collect();
    let (narrow, wide): (Vec<Cell>, Vec<Cell>) = (own(false), own(true));
    let row = ResourceRow::new(kind, object).judged(verdict);
    // Short at every width: `FULL REVISION` is a column of `-o wide`.
    let revision = Cell::text(row.revision.as_deref().map(short_revision).unwrap_or_default());
    let common = row.cells();
    let of = |name: &str| {
        let at = ResourceRow::COLUMNS.iter().position(|column| column.name == name);
        at.and_then(|at| common.get(at)).cloned().unwrap_or(Cell::Absent)
    };
    let first = vec![of("NAMESPACE"), of("NAME"), of("READY"), revision, of("MESSAGE"), of("SINCE")];
    let last = vec![of("REASON"), of("AGE"), of("REVISION")];
    let cells = [first, narrow, last, wide, vec![of("KIND")]].concat();
    (row, cells)
}

/// Returns a row of a list of one kind, with the cells of [`of_kind`].
pub fn row_of_kind(
    kind: &'static FluxKind,
    object: FluxObject,
    verdict: Option<RowVerdict>,
) -> (ResourceRow, Vec<Cell>) {
    if REVISION_FIRST.contains(&kind.kind) {
        return row_revision_first(kind, object, verdict);
    }
    let details: Vec<(bool, Cell)> = of(kind).iter().map(|one| (one.column.wide, (one.cell)(&object))).collect();
    let row = ResourceRow::new(kind, object).judged(verdict);
    let own = |wide: bool| details.iter().filter(move |(is_wide, _)| *is_wide == wide).map(|(_, cell)| cell.clone());
    let mut cells = vec![];
    for (column, cell) in ResourceRow::COLUMNS.iter().zip(row.cells()) {
        match column.name {
            "KIND" | "SOURCE" => {}
            "NAME" => {
                cells.push(cell);
                cells.extend(own(false));
            }
            "REASON" => {
                cells.push(cell);
                cells.extend(own(true));
                cells.push(Cell::Kind(row.kind.to_owned()));
            }
            _ => cells.push(cell),
        }
    }
    (row, cells)
}

fn name(reference: Option<&SourceReference>) -> String {
    reference.map(|r| r.name.clone()).unwrap_or_default()
}

fn list(references: Option<&[SourceReference]>) -> String {
    let each = references.unwrap_or_default().iter().map(|r| format!("{}/{}", r.kind, r.name));
    each.collect::<Vec<_>>().join(",")
}

fn count(count: Option<usize>) -> Cell {
    count.and_then(|count| i64::try_from(count).ok()).map_or(Cell::Absent, Cell::Count)
}

/// Returns the number of a ResourceSet's own inputs, and the providers of the others: `2`, `tenants`, `2,tenants`.
fn inputs(object: &FluxObject) -> Cell {
    let own = object.spec.inputs.as_ref().map(Vec::len).filter(|count| *count > 0).map(|count| count.to_string());
    let from = object.spec.inputs_from.iter().flatten();
    // A provider selected by labels has no name here.
    let from = from.map(|r| if r.name.is_empty() { "by labels".to_owned() } else { r.name.clone() });
    Cell::text(own.into_iter().chain(from).collect::<Vec<_>>().join(","))
}

/// Returns the number of input sets of the last run.
fn input_sets(object: &FluxObject) -> Cell {
    // A history begins with the newest entry.
    let newest = object.status.history.iter().flatten().next();
    let sets = newest.and_then(|run| run.metadata.as_ref()?.get("inputs")?.parse().ok());
    sets.map_or(Cell::Absent, Cell::Count)
}

/// Returns the interval of an object whose interval is an annotation.
fn annotated_interval(object: &FluxObject, usual: &'static str) -> Cell {
    let annotations = object.metadata.annotations.as_ref();
    Cell::text(annotations.and_then(|annotations| annotations.interval.as_deref()).unwrap_or(usual))
}

/// Returns the chart of the newest release, or else of the spec.
fn chart(object: &FluxObject) -> Cell {
    let released = object.status.history.iter().flatten().next().and_then(|release| release.chart_name.clone());
    let wanted = || match object.spec.chart.as_ref() {
        Some(Chart::Name(name)) => Some(name.clone()),
        Some(Chart::Template { spec }) => Some(spec.chart.clone()),
        None => object.spec.chart_ref.as_ref().map(|r| format!("{}/{}", r.kind, r.name)),
    };
    Cell::text(released.or_else(wanted).unwrap_or_default())
}

fn chart_version(object: &FluxObject) -> Cell {
    let release = object.status.history.iter().flatten().next();
    Cell::text(release.and_then(|r| r.chart_version.clone()).unwrap_or_default())
}

fn app_version(object: &FluxObject) -> Cell {
    let release = object.status.history.iter().flatten().next();
    Cell::text(release.and_then(|r| r.app_version.clone()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flux_operator::api::kinds::{self, FLUX_KINDS};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    /// Returns the cells of a kind's own columns for an object.
    fn shown(kind: &str, spec: Value, status: Value) -> Vec<String> {
        let kind = kinds::find(kind).unwrap();
        let object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec, "status": status});
        let (columns, (_, cells)) = (of_kind(kind), row_of_kind(kind, FluxObject::of(&object), None));
        assert_eq!(columns.len(), cells.len(), "{}", kind.kind);
        let common: Vec<&str> = ResourceRow::COLUMNS.iter().map(|c| c.name).collect();
        let own =
            columns.iter().zip(cells).filter(|(c, _)| !common.contains(&c.name) || (c.name == "SOURCE" && !c.wide));
        own.filter(|(c, _)| !["INTERVAL", "FULL REVISION"].contains(&c.name))
            .map(|(c, cell)| {
                format!("{}{}={}", c.name, if c.wide { "*" } else { "" }, cell.full(Timestamp::UNIX_EPOCH))
            })
            .collect()
    }

    #[test]
    fn each_kind_shows_its_own_columns() {
        let source = json!({"kind": "GitRepository", "name": "repo"});
        let rows: &[(&str, Value, Value, &[&str])] = &[
            (
                "rset",
                json!({"inputs": [{}, {}], "inputsFrom": [{"kind": "ResourceSetInputProvider", "name": "tenants"},
                {"selector": {}}]}),
                json!({"history": [{"metadata": {"inputs": "3", "resources": "3"}}, {"metadata": {"inputs": "1"}}],
                    "inventory": {"entries": [{"id": "a", "v": "v1"}]}}),
                &["INPUTS=2,tenants,by labels", "SETS=3", "OBJECTS=1"],
            ),
            (
                "rsip",
                json!({"type": "GitHubBranch", "url": "https://x"}),
                json!({"exportedInputs": [{"a": 1}], "lastExportedRevision": "sha256:1",
                    "nextSchedule": {"cron": "@hourly", "when": "1970-01-01T01:00:00Z"}}),
                &["TYPE=GitHubBranch", "URL=https://x", "INPUTS=1", "LAST EXPORT=sha256:1", "NEXT SCHEDULE=in 60m"],
            ),
            (
                "ks",
                json!({"path": "./deploy", "sourceRef": source}),
                json!({}),
                &["PATH=./deploy", "SOURCE=GitRepository/repo"],
            ),
            (
                "hr",
                json!({"chart": {"spec": {"chart": "podinfo", "sourceRef": {"kind": "HelmRepository", "name": "r", "namespace": "n"}}}}),
                json!({}),
                &["CHART=podinfo", "VERSION=<none>", "APP VERSION*=<none>"],
            ),
            (
                "hr",
                json!({"chartRef": {"kind": "OCIRepository", "name": "r"}}),
                json!({"history": [{"chartName": "podinfo", "chartVersion": "6.1.0", "appVersion": "6.1"}, {"chartVersion": "6.0.0"}]}),
                &["CHART=podinfo", "VERSION=6.1.0", "APP VERSION*=6.1"],
            ),
            (
                "gitrepo",
                json!({"url": "ssh://g", "ref": {"branch": "main", "tag": "v1"}}),
                json!({}),
                &["URL=ssh://g", "REF=v1"],
            ),
            ("ocirepo", json!({"url": "oci://o", "ref": {"semver": ">=1"}}), json!({}), &["URL=oci://o", "REF=>=1"]),
            ("bucket", json!({"endpoint": "s3", "bucketName": "b"}), json!({}), &["ENDPOINT=s3", "BUCKET=b"]),
            ("helmrepo", json!({"url": "oci://o", "type": "oci"}), json!({}), &["URL=oci://o", "TYPE*=oci"]),
            (
                "hc",
                json!({"chart": "podinfo", "version": "6.x", "sourceRef": source}),
                json!({}),
                &["CHART=podinfo", "VERSION=6.x", "SOURCE=GitRepository/repo"],
            ),
            (
                "ag",
                json!({"sources": [{"alias": "x", "kind": "GitRepository", "name": "repo"}]}),
                json!({}),
                &["SOURCES=GitRepository/repo"],
            ),
            (
                "ea",
                json!({"sourceRef": {"kind": "ArtifactGenerator", "name": "g"}}),
                json!({}),
                &["SOURCE=ArtifactGenerator/g"],
            ),
            (
                "alert",
                json!({"providerRef": {"name": "slack"}, "eventSeverity": "error"}),
                json!({}),
                &["PROVIDER=slack", "SEVERITY=error"],
            ),
            (
                "provider",
                json!({"type": "slack", "channel": "ops", "address": "https://token@x"}),
                json!({}),
                &["TYPE=slack", "CHANNEL=ops"],
            ),
            (
                "receiver",
                json!({"type": "github"}),
                json!({"webhookPath": "/hook/1"}),
                &["TYPE=github", "PATH=/hook/1"],
            ),
            (
                "imgrepo",
                json!({"image": "ghcr.io/x"}),
                json!({"lastScanResult": {"tagCount": 3, "scanTime": "1970-01-01T00:00:00Z"}}),
                &["IMAGE=ghcr.io/x", "TAGS=3", "LAST SCAN*=0s"],
            ),
            (
                "imgpol",
                json!({"imageRepositoryRef": {"name": "r"}}),
                json!({"latestRef": {"name": "ghcr.io/x", "tag": "1.2"}}),
                &["LATEST=ghcr.io/x:1.2", "REPOSITORY=r"],
            ),
            (
                "iua",
                json!({"sourceRef": source}),
                json!({"lastAutomationRunTime": "1970-01-01T00:00:00Z"}),
                &["SOURCE=GitRepository/repo", "LAST RUN=0s"],
            ),
        ];
        for (kind, spec, status, expected) in rows {
            assert_eq!(shown(kind, spec.clone(), status.clone()), *expected, "{kind}");
        }
        let without: Vec<&str> = FLUX_KINDS
            .iter()
            .filter(|kind| !rows.iter().any(|(word, ..)| kind.is_called(word)))
            .map(|kind| kind.kind)
            .collect();
        assert_eq!(without, ["FluxInstance", "FluxReport"], "these have views of their own");
    }

    #[test]
    fn a_kustomization_shows_its_revision_and_message_before_all_else_and_keeps_its_readiness_when_suspended() {
        let kind = kinds::find("ks").unwrap();
        let object = json!({"metadata": {"name": "app", "namespace": "n"}, "spec": {"suspend": true, "path": "./deploy"},
            "status": {"lastAppliedRevision": "main@sha1:0123456789abcdef0123456789abcdef01234567",
                "conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "no"}]}});
        let (columns, (row, cells)) = (of_kind(kind), row_of_kind(kind, FluxObject::of(&object), None));
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        assert_eq!(names[..5], ["NAMESPACE", "NAME", "READY", "REVISION", "MESSAGE"]);
        assert!(columns[1..3].iter().all(|column| column.rank == 0), "at every width");
        assert!(
            columns[4..].iter().all(|column| column.wide || column.rank > columns[3].rank),
            "the revision goes last"
        );
        let cells: Vec<String> = cells.iter().map(|cell| cell.full(Timestamp::UNIX_EPOCH)).collect();
        assert_eq!(cells[..5], ["n", "app", "False (suspended)", "main@sha1:01234567", "no"]);
        assert_eq!(row.ready, "Suspended", "what filters and JSON say");
    }

    #[test]
    fn values_of_unexpected_types_are_absent_and_keep_their_row() {
        assert_eq!(shown("hr", json!({"chart": 3, "interval": []}), json!({"history": 1}))[0], "CHART=<none>");
        assert_eq!(shown("gitrepo", json!({"ref": "main"}), json!({})), ["URL=<none>", "REF=<none>"]);
    }
}
