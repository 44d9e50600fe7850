//! What an instance owns, counted.

use kube::core::DynamicObject;
use serde_json::Value;

/// Returns how many objects of each kind the instance's inventory holds, in the inventory's order.
pub fn inventory_counts(object: &DynamicObject) -> Vec<(String, usize)> {
    let entries = object.data.pointer("/status/inventory/entries").and_then(Value::as_array);
    let kinds = entries.into_iter().flatten().filter_map(|e| e.get("id")?.as_str()?.rsplit('_').next());
    let mut counts: Vec<(String, usize)> = vec![];
    for kind in kinds {
        match counts.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind.to_owned(), 1)),
        }
    }
    counts
}
