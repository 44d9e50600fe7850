//! Counts of an instance's objects.

use flux_operator::k8s::ObjectId;
use serde_json::Value;

/// Returns the number of objects of each kind in an instance's inventory, in its order.
pub fn inventory_counts(object: &Value) -> Vec<(String, usize)> {
    let entries = object.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(|entry| entry.get("id")?.as_str());
    let mut counts: Vec<(String, usize)> = vec![];
    for id in ids.filter_map(|id| ObjectId::from_inventory_id(id).ok()) {
        match counts.iter_mut().find(|(known, _)| *known == id.kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((id.kind, 1)),
        }
    }
    counts
}
