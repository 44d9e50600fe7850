//! Tables that explain a build: for `--explain-patches` a row per patch, for `--explain` a row per object.

use comfy_table::{ContentArrangement, Table, presets};
use flux_operator::kustomize::PatchReport;

use crate::terminal::Shell;

const HEADINGS: [&str; 4] = ["PATCH", "TARGET", "OBJECTS", "CHANGED"];

/// Formats the reports.
pub fn table(reports: &[PatchReport], shell: &Shell) -> String {
    let row =
        |report: &PatchReport| [report.index.to_string(), report.target.clone(), objects(report), changes(report)];
    drawn(HEADINGS, reports.iter().map(row), shell)
}

/// Formats rows; complete in a pipe, wrapped on a terminal.
pub fn drawn(headings: [&str; 4], rows: impl Iterator<Item = [String; 4]>, shell: &Shell) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if shell.stdout_is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.add_row(headings);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn objects(report: &PatchReport) -> String {
    if report.objects.is_empty() {
        return "no match".to_string();
    }
    report.objects.iter().map(|object| object.object.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns every changed field of any object, without duplicates.
fn changes(report: &PatchReport) -> String {
    let mut fields: Vec<&str> = Vec::new();
    for object in &report.objects {
        let deleted = object.deleted.then_some("(deleted)");
        for field in object.changes.iter().map(String::as_str).chain(deleted) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
    }
    if fields.is_empty() { "<none>".to_string() } else { fields.join(", ") }
}
