//! The consequences of deleting an object, as shown by every verb that deletes.

use flux_operator::inspect::views::impact::{Concern, Impact, ImpactEntry};
use flux_operator::k8s::ObjectId;

use flux_operator::format::harmless::on_one_line;

use crate::output::{count_by_kind, objects};

/// Number of names after a count.
const NAMED: usize = 3;

/// Formats an impact: severe consequences one by one, others counted; `all` names every object.
pub fn impact_text(impact: &Impact, all: bool) -> String {
    let mut lines = vec![impact.summary.clone()];
    let is_severe = |entry: &&ImpactEntry| entry.concern < Concern::Reconciler;
    let (severe_entries, others): (Vec<_>, Vec<_>) = impact.deleted.iter().partition(|entry| is_severe(entry));
    lines.extend(severe_entries.iter().map(|entry| line(entry)));
    if all {
        lines.extend(others.iter().map(|entry| line(entry)));
    } else if !others.is_empty() {
        let objects: Vec<&ObjectId> = others.iter().map(|entry| &entry.object).collect();
        lines.push(format!("  {}", counted(&objects)));
    }
    if !impact.kept.is_empty() && !impact.deleted.is_empty() {
        let stays = if impact.kept.len() == 1 { "stays" } else { "stay" };
        lines.push(format!("{} {stays}:", objects(impact.kept.len())));
        let shown = if all { impact.kept.len() } else { NAMED };
        lines.extend(impact.kept.iter().take(shown).map(line));
        if let Some(more) = impact.kept.len().checked_sub(shown).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
    }
    if !impact.dependents.is_empty() {
        let objects: Vec<&ObjectId> = impact.dependents.iter().collect();
        lines.push(format!("objects that depend on it or use its content: {}", counted(&objects)));
    }
    lines.iter().map(|line| format!("{}\n", on_one_line(line))).collect()
}

fn line(entry: &ImpactEntry) -> String {
    let says = if entry.says.is_empty() { String::new() } else { format!(": {}", entry.says) };
    format!("  {}{says}", entry.object)
}

/// `4 Deployment, 2 ConfigMap: Deployment/a/b, …`
fn counted(objects: &[&ObjectId]) -> String {
    let names: Vec<String> = objects.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match objects.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}: {}{more}", count_by_kind(objects), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severe_consequences_are_named_and_others_are_counted() {
        let id = |kind: &str, name: &str| ObjectId::new("", kind, Some("apps"), name);
        let entry = |kind: &str, name: &str, concern: Concern, says: &str| ImpactEntry {
            object: id(kind, name),
            concern,
            says: says.into(),
            through: id("Kustomization", "k"),
        };
        let mut deleted = vec![entry("PersistentVolumeClaim", "data", Concern::Volume, "its data is deleted")];
        deleted.extend((0..5).map(|n| entry("ConfigMap", &format!("c{n}"), Concern::Other, "")));
        let impact = Impact {
            object: id("Kustomization", "k"),
            summary: "6 objects go".into(),
            deleted,
            kept: vec![entry("Secret", "s", Concern::Other, "prune is disabled")],
            dependents: vec![id("Kustomization", "next")],
        };
        insta::assert_snapshot!(impact_text(&impact, false), @r"
        6 objects go
          PersistentVolumeClaim/apps/data: its data is deleted
          5 ConfigMap: ConfigMap/apps/c0, ConfigMap/apps/c1, ConfigMap/apps/c2 and 2 more
        1 object stays:
          Secret/apps/s: prune is disabled
        objects that depend on it or use its content: 1 Kustomization: Kustomization/apps/next
        ");
        assert_eq!(impact_text(&impact, true).matches("ConfigMap/apps/c").count(), 5);
    }
}
