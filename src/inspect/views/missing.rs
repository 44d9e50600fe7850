//! The message for an object that does not exist, and the hint, from the objects of its kind that do.

use crate::format::nearest::nearest;

/// Limit for the names that a hint lists.
const MAX_NAMES: usize = 10;

/// Returns the message for a missing object: `kustomization/apps/podinfo not found in context dev`.
pub fn message(reference: &str, place: &str) -> String {
    format!("{reference} not found in {place}")
}

/// Returns a hint for a missing object: namespaces with an object of this name, a similar name, or the existing names.
///
/// `existing` lists the namespace (`None` for a cluster-scoped kind) and the name of each object of the kind `plural`.
/// Without `namespace`, the object was searched for in all namespaces.
pub fn hint(plural: &str, namespace: Option<&str>, name: &str, existing: &[(Option<String>, String)]) -> String {
    let namespaces_of = |name: &str| {
        let same = existing.iter().filter(|(_, other)| other == name);
        listed(same.filter_map(|(namespace, _)| namespace.as_deref()))
    };
    let elsewhere = namespaces_of(name);
    if !elsewhere.is_empty() {
        return format!("{name} is in namespace {elsewhere}");
    }
    let is_here = |place: &Option<String>| namespace.is_none() || place.as_deref() == namespace;
    let here = || existing.iter().filter(|(place, _)| is_here(place)).map(|(_, name)| name.as_str());
    if let Some(near) = nearest(name, here()) {
        return format!("did you mean {near}?");
    }
    if let Some(near) = nearest(name, existing.iter().map(|(_, name)| name.as_str())) {
        return format!("did you mean {near} in namespace {}?", namespaces_of(near));
    }
    let namespaces = listed(existing.iter().filter_map(|(place, _)| place.as_deref()));
    match (here().next(), namespace) {
        _ if existing.is_empty() => format!("there are no {plural}"),
        (None, _) => format!("{plural} are in namespace {namespaces}"),
        (Some(_), Some(namespace)) => format!("{plural} in namespace {namespace}: {}", listed(here())),
        (Some(_), None) if namespaces.is_empty() => format!("{plural}: {}", listed(here())),
        (Some(_), None) => format!("{plural} in any namespace: {}", listed(here())),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMES);
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_object_is_looked_for_under_other_names_and_in_other_namespaces() {
        let reported = |namespace: Option<&str>, pairs: &[(&str, &str)]| {
            let existing: Vec<_> = pairs.iter().map(|(a, b)| (Some((*a).to_owned()), (*b).to_owned())).collect();
            hint("kustomizations", namespace, "podinf", &existing)
        };
        let apps = Some("apps");
        assert_eq!(reported(apps, &[("apps", "podinfo"), ("apps", "other")]), "did you mean podinfo?");
        assert_eq!(reported(apps, &[("web", "podinf"), ("b", "podinf")]), "podinf is in namespace b, web");
        assert_eq!(reported(apps, &[("web", "podinfo")]), "did you mean podinfo in namespace web?");
        assert_eq!(reported(apps, &[("b", "zzz"), ("a", "yyy")]), "kustomizations are in namespace a, b");
        assert_eq!(reported(apps, &[]), "there are no kustomizations");
        assert_eq!(reported(apps, &[("apps", "zzz"), ("a", "b")]), "kustomizations in namespace apps: zzz");
        assert_eq!(reported(None, &[("a", "zzz"), ("b", "yyy")]), "kustomizations in any namespace: yyy, zzz");
    }

    #[test]
    fn a_cluster_scoped_kind_has_no_namespaces_to_name() {
        let existing = [(None, "fleet".to_owned())];
        assert_eq!(hint("clusters", None, "fleed", &existing), "did you mean fleet?");
        assert_eq!(hint("clusters", None, "x", &existing), "clusters: fleet");
    }
}
