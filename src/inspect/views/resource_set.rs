//! The inputs of a ResourceSet: the providers that it names, and the input sets that its templates are rendered with.

use std::collections::BTreeMap;

use flux_operator_resourceset::{
    ExportedInputs, InputSource, LabelSelector, ResourceSet as Templates, SourceId, combine, select,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::kinds::INPUT_PROVIDER;
use crate::api::well_known::GROUP;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::{ObjectId, fields};

/// Whether an object is a ResourceSet.
pub fn is_resource_set(object: &Value) -> bool {
    fields::kind(object) == "ResourceSet" && fields::group(object) == GROUP
}

/// Returns the providers that a ResourceSet names or selects, in the order of their input sets; `None` for a named
/// provider that is not known.
pub(crate) fn providers<'a>(snapshot: &'a Snapshot, set: &Value) -> BTreeMap<ObjectId, Option<&'a Value>> {
    let mut found = BTreeMap::new();
    // A spec that cannot be decoded has no known providers. The conditions of the object report the error.
    let Ok(templates) = Templates::decode(set, &mut vec![]) else { return found };
    let namespace = fields::namespace(set);
    for reference in &templates.inputs_from {
        match &reference.selector {
            _ if !reference.name.is_empty() => {
                let live = snapshot.get(&INPUT_PROVIDER, namespace, &reference.name);
                found.insert(provider_id(namespace, &reference.name), live);
            }
            Some(selector) => {
                let all = snapshot.list(&INPUT_PROVIDER, namespace).into_iter();
                let selected = all.filter(|provider| selects(selector, provider));
                found.extend(selected.map(|provider| (provider_id(namespace, fields::name(provider)), Some(provider))));
            }
            None => {}
        }
    }
    found
}

/// Whether a ResourceSet takes inputs from a provider.
pub(crate) fn takes_from(set: &Value, provider: &Value) -> bool {
    let Ok(templates) = Templates::decode(set, &mut vec![]) else { return false };
    fields::namespace(set) == fields::namespace(provider)
        && templates.inputs_from.iter().any(|reference| match &reference.selector {
            _ if !reference.name.is_empty() => reference.name == fields::name(provider),
            Some(selector) => selects(selector, provider),
            None => false,
        })
}

fn provider_id(namespace: Option<&str>, name: &str) -> ObjectId {
    ObjectId::new(&INPUT_PROVIDER.group, &INPUT_PROVIDER.kind, namespace, name).at(&INPUT_PROVIDER.version)
}

fn selects(selector: &LabelSelector, provider: &Value) -> bool {
    let labels = fields::at(provider, "/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    selector.matches(&labels)
}

/// The values for one rendering of the templates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputSetRow {
    /// Index among all input sets of the ResourceSet.
    pub index: usize,
    /// The `id` of the set, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The object that provides the values; missing for a permutation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ObjectId>,
    pub values: Map<String, Value>,
}

/// The input sets of a ResourceSet, with warnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolvedInputs {
    pub sets: Vec<InputSetRow>,
    pub warnings: Vec<String>,
}

/// Returns the input sets of a ResourceSet as its next run would take them, from the exports of its providers.
///
/// # Errors
/// The spec or a provider cannot be read, or the sets cannot be combined.
pub fn inputs(snapshot: &Snapshot, set: &Value) -> Result<ResolvedInputs, String> {
    let mut noted = vec![];
    let templates = Templates::decode(set, &mut noted).map_err(|error| error.to_string())?;
    let named = providers(snapshot, set);
    let mut sources = vec![];
    let mut warnings = vec![];
    for (id, live) in &named {
        let Some(live) = live else { continue };
        let exported = ExportedInputs::decode(live).map_err(|problem| format!("{id}: {problem}"))?;
        if !exported.is_exported {
            warnings.push(format!("{id} has not exported inputs yet"));
        }
        sources.push(exported.source);
    }
    noted.clear();
    let selected = select(&sources, &templates.inputs_from, &mut noted).map_err(|error| error.to_string())?;
    let inline = InputSource { id: templates.id.clone(), sets: templates.inputs.clone(), labels: BTreeMap::default() };
    let all = std::iter::once(inline).chain(selected.into_iter().cloned()).collect();
    let sets = combine(all, &templates.strategy, &mut noted).map_err(|error| error.to_string())?;
    warnings.extend(noted.iter().map(ToString::to_string));
    let row = |(index, set): (usize, flux_operator_resourceset::InputSet)| InputSetRow {
        index,
        id: set.name(index).id,
        source: set.source.as_deref().map(object_id),
        values: set.template_values(),
    };
    Ok(ResolvedInputs { sets: sets.into_iter().enumerate().map(row).collect(), warnings })
}

/// Returns the input sets that a provider has exported.
///
/// # Errors
/// The provider cannot be read.
pub fn exported(provider: &Value) -> Result<ResolvedInputs, String> {
    let ExportedInputs { source, is_exported } = ExportedInputs::decode(provider)?;
    let id = object_id(&source.id);
    let warnings = if is_exported { vec![] } else { vec![format!("{id} has not exported inputs yet")] };
    let row = |(index, values): (usize, Map<String, Value>)| {
        let named = flux_operator_resourceset::InputSet { values: values.clone(), source: None }.name(index);
        InputSetRow { index, id: named.id, source: Some(id.clone()), values }
    };
    Ok(ResolvedInputs { sets: source.sets.into_iter().enumerate().map(row).collect(), warnings })
}

fn object_id(source: &SourceId) -> ObjectId {
    let (group, version) = crate::k8s::split_api_version(&source.api_version);
    ObjectId::new(group, &source.kind, Some(&source.namespace), &source.name).at(version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider(name: &str, labels: Value, status: Value) -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
            "metadata": {"name": name, "namespace": "apps", "labels": labels}, "spec": {"type": "Static"}, "status": status})
    }

    fn set(spec: Value) -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"name": "web", "namespace": "apps"}, "spec": spec})
    }

    fn dump() -> Snapshot {
        let exported = json!({"lastExportedRevision": "sha256:1", "exportedInputs": [{"id": "7", "tenant": "b"}]});
        Snapshot::of_dump([
            provider("prs", json!({"team": "x"}), exported),
            provider("new", json!({"team": "x"}), json!({})),
        ])
    }

    #[test]
    fn sets_come_from_the_spec_and_from_the_providers_that_are_named_or_selected() {
        let set = set(json!({"inputs": [{"tenant": "a"}],
            "inputsFrom": [{"name": "prs"}, {"name": "gone"}, {"selector": {"matchLabels": {"team": "x"}}}]}));
        let snapshot = dump();
        let found = providers(&snapshot, &set);
        let found: Vec<(&str, bool)> = found.iter().map(|(id, live)| (id.name.as_str(), live.is_some())).collect();
        assert_eq!(found, [("gone", false), ("new", true), ("prs", true)]);
        let inputs = inputs(&snapshot, &set).unwrap();
        let sets: Vec<_> =
            inputs.sets.iter().map(|row| (row.index, row.id.as_deref(), row.values["tenant"].clone())).collect();
        assert_eq!(sets, [(0, None, json!("a")), (1, Some("7"), json!("b"))]);
        assert_eq!(inputs.sets[1].source.as_ref().unwrap().to_string(), "ResourceSetInputProvider/apps/prs");
        let says = inputs.warnings.join("\n");
        assert!(says.contains("ResourceSetInputProvider/apps/new has not exported inputs yet"), "{says}");
        assert!(says.contains("there is no provider \"gone\""), "{says}");
    }

    #[test]
    fn a_provider_of_another_namespace_or_label_is_not_taken_from() {
        let own = set(json!({"inputsFrom": [{"selector": {"matchLabels": {"team": "x"}}}]}));
        assert!(takes_from(&own, &provider("a", json!({"team": "x"}), json!({}))));
        assert!(!takes_from(&own, &provider("a", json!({"team": "y"}), json!({}))));
        let mut elsewhere = provider("a", json!({"team": "x"}), json!({}));
        elsewhere["metadata"]["namespace"] = "other".into();
        assert!(!takes_from(&own, &elsewhere));
        assert!(!takes_from(&set(json!({"inputsFrom": "odd"})), &elsewhere));
    }

    #[test]
    fn sets_that_cannot_be_combined_are_an_error() {
        let set = set(json!({"inputStrategy": {"name": "Sum"}, "inputs": [{"a": 1}]}));
        assert_eq!(inputs(&dump(), &set), Err("unknown input strategy: 'Sum'".to_owned()));
    }
}
