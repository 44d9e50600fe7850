//! Turns values into text: tables, trees, explanations, and the command lines of next steps.

pub mod affected;
pub mod as_started;
pub mod columns_of_kind;
pub mod field_text;
pub mod hints;
pub mod listing;
pub mod next_step;
pub mod page;
mod rows;
pub mod screen;
pub mod table;
pub mod tree;
pub mod unified_diff;
pub mod wrap;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flux_operator::k8s::ObjectId;

/// `1 object`, `2 objects`.
pub fn objects(count: usize) -> String {
    counted(count, "object")
}

/// A count and a noun whose plural has an `s`: `1 file`, `2 files`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Counts objects by kind, the most frequent kind first: `4 Deployment, 2 ConfigMap`.
pub fn count_by_kind(objects: &[&ObjectId]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        *counts.entry(object.kind.as_str()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(kind, count)| (Reverse(*count), *kind));
    counts.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// Names an object as `kubectl -o name` does: `kustomization.kustomize.toolkit.fluxcd.io/podinfo`.
pub fn kubectl_name(kind: &str, group: &str, name: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{}{dot}{group}/{name}", kind.to_lowercase())
}
