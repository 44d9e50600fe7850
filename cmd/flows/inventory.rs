//! What an instance owns, counted.

use flux_operator::k8s::ObjectId;
use serde_json::Value;

/// Returns how many objects of each kind the instance's inventory holds, in the inventory's order.
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
