//! The inventory in an instance's status: the applied objects, each as a line of text and its version.

use super::flux_instance::{Inventory, InventoryEntry};
use crate::k8s::{InvalidInventoryId, ObjectId};

impl InventoryEntry {
    /// Returns the object of the entry.
    ///
    /// # Errors
    /// The id cannot be parsed.
    pub fn object(&self) -> Result<ObjectId, InvalidInventoryId> {
        Ok(ObjectId::from_inventory_id(&self.id)?.at(&self.v))
    }
}

impl From<&ObjectId> for InventoryEntry {
    fn from(object: &ObjectId) -> Self {
        InventoryEntry { id: object.inventory_id(), v: object.version.clone() }
    }
}

impl Inventory {
    /// Returns the objects of the entries, in order.
    pub fn objects(&self) -> Vec<ObjectId> {
        self.entries.iter().filter_map(|entry| entry.object().ok()).collect()
    }

    /// Returns the entries that cannot be parsed. Their objects are unknown, so the entries are kept and reported
    /// instead of dropped.
    pub fn unreadable(&self) -> Vec<InventoryEntry> {
        self.entries.iter().filter(|entry| entry.object().is_err()).cloned().collect()
    }
}

/// Returns the inventory of objects, in order.
pub fn of<'a>(objects: impl IntoIterator<Item = &'a ObjectId>) -> Inventory {
    Inventory { entries: objects.into_iter().map(InventoryEntry::from).collect() }
}

/// Returns the entries of `old` that `new` does not have, with the version and order of `old`.
///
/// The version is ignored: an object that is now applied in another version is still the same object.
pub fn diff(old: &Inventory, new: &Inventory) -> Vec<InventoryEntry> {
    let kept: std::collections::HashSet<&str> = new.entries.iter().map(|entry| entry.id.as_str()).collect();
    old.entries.iter().filter(|entry| !kept.contains(entry.id.as_str())).cloned().collect()
}

/// Returns `new` followed by the entries of `kept` that it does not have: objects that still have to be removed.
pub fn merge(new: Inventory, kept: &[InventoryEntry]) -> Inventory {
    let owed = diff(&Inventory { entries: kept.to_vec() }, &new);
    Inventory { entries: new.entries.into_iter().chain(owed).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_the_id_and_the_version() {
        let bucket = ObjectId::new("source.toolkit.fluxcd.io", "Bucket", Some("n"), "b").at("v1beta2");
        let entry = InventoryEntry::from(&bucket);
        assert_eq!((entry.id.as_str(), entry.v.as_str()), ("n_b_source.toolkit.fluxcd.io_Bucket", "v1beta2"));
        assert_eq!(entry.object().unwrap().api_version(), "source.toolkit.fluxcd.io/v1beta2");
        let broken = InventoryEntry { id: "n_b".into(), v: "v1".into() };
        assert!(broken.object().is_err());
        let both = Inventory { entries: vec![broken.clone(), entry] };
        assert_eq!(both.objects(), [bucket]);
        assert_eq!(both.unreadable(), [broken]);
    }

    #[test]
    fn the_difference_ignores_versions_and_keeps_the_old_order() {
        let entries = |rows: &[(&str, &str)]| Inventory {
            entries: rows.iter().map(|(id, v)| InventoryEntry { id: id.to_string(), v: v.to_string() }).collect(),
        };
        let old = entries(&[("_b__K", "v1beta1"), ("_a__K", "v1"), ("_c__K", "v1")]);
        let new = entries(&[("_a__K", "v2"), ("_d__K", "v1")]);
        assert_eq!(diff(&old, &new), entries(&[("_b__K", "v1beta1"), ("_c__K", "v1")]).entries);
        assert_eq!(diff(&new, &new), []);
        assert_eq!(diff(&entries(&[]), &new), []);
        let merged = merge(new.clone(), &entries(&[("_b__K", "v1beta1"), ("_a__K", "v1")]).entries);
        assert_eq!(merged, entries(&[("_a__K", "v2"), ("_d__K", "v1"), ("_b__K", "v1beta1")]));
    }
}
