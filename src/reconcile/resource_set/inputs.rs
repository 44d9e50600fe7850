//! The inputs of a ResourceSet: its own, and what the providers of its namespace have exported.

use std::collections::BTreeMap;

use flux_operator_resourceset::{
    InputSet, InputSource, ProviderReference, ResourceSet as Templates, SourceId, Warning, combine, select,
};
use serde::Serialize;

use super::texts::api_text;
use crate::api::well_known::{GROUP, VERSION, condition};
use crate::api::{Reconciled, ResourceSetInputProvider, conditions, kinds};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::ObjectId;

/// The kind of a provider.
pub(crate) const PROVIDER_KIND: &str = "ResourceSetInputProvider";

/// Whether the exported inputs of a provider are current.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "message", rename_all = "camelCase")]
pub enum ProviderState {
    /// The inputs are current.
    Exported,
    /// Nothing was exported yet.
    NeverExported,
    /// An export is under way.
    Exporting,
    /// The last export failed; the inputs are those of the one before it.
    Failed(String),
}

impl ProviderState {
    fn of(provider: &ResourceSetInputProvider) -> Self {
        let status = provider.status.clone().unwrap_or_default();
        if status.last_exported_revision.is_none() {
            return ProviderState::NeverExported;
        }
        // A suspended provider exports nothing new, so the last export remains valid.
        if provider.is_suspended() {
            return ProviderState::Exported;
        }
        match conditions::get(&status.conditions, condition::READY) {
            Some(ready) if ready.status == "False" => ProviderState::Failed(ready.message.clone()),
            Some(ready) if ready.status == "True" && ready.observed_generation == provider.metadata.generation => {
                ProviderState::Exported
            }
            _ => ProviderState::Exporting,
        }
    }

    /// Returns why nothing may be pruned because of the exported inputs; `None` if they are current.
    fn reason(&self) -> Option<String> {
        match self {
            ProviderState::Exported => None,
            ProviderState::NeverExported => Some("has not exported inputs yet".to_owned()),
            ProviderState::Exporting => Some("is exporting inputs".to_owned()),
            ProviderState::Failed(message) => Some(format!("failed to export inputs: {}", message.trim_end())),
        }
    }
}

/// A provider, with the number of its exported input sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInputs {
    pub provider: ObjectId,
    pub sets: usize,
    #[serde(flatten)]
    pub state: ProviderState,
}

/// The inputs with which templates are rendered.
#[derive(Debug)]
pub(super) struct Inputs {
    pub sets: Vec<InputSet>,
    pub providers: Vec<ProviderInputs>,
    /// Whether the set selects providers but has no inputs at all.
    pub are_missing: bool,
}

impl Inputs {
    /// Returns why objects that are no longer rendered are not pruned: the providers may still export their inputs.
    pub(super) fn unsettled(&self) -> Vec<String> {
        let reason = |one: &ProviderInputs| Some(format!("{} {}", one.provider, one.state.reason()?));
        self.providers.iter().filter_map(reason).collect()
    }

    /// Whether a provider has yet to finish an export, so that the set should be reconciled again soon.
    pub(super) fn is_being_exported(&self) -> bool {
        let waits = |one: &ProviderInputs| matches!(one.state, ProviderState::NeverExported | ProviderState::Exporting);
        self.providers.iter().any(waits)
    }
}

/// Why there are no inputs.
#[derive(Debug)]
pub(super) enum InputError {
    /// The spec must change.
    Invalid(String),
    /// A provider does not exist, or the API server does not answer. A later run may succeed.
    Unavailable(String),
    /// A provider has to export first.
    NotExported(String),
}

/// Collects and combines the inputs of a set.
///
/// # Errors
/// [`InputError`].
pub(super) async fn collect(
    cluster: &Cluster,
    set: &Templates,
    warnings: &mut Vec<Warning>,
) -> Result<Inputs, InputError> {
    let namespace = &set.id.namespace;
    let found = providers(cluster, namespace, &set.inputs_from).await?;
    let mut states = BTreeMap::new();
    let sources: Vec<InputSource> = found
        .into_iter()
        .map(|provider| {
            let state = ProviderState::of(&provider);
            let name = provider.metadata.name.clone().unwrap_or_default();
            states.insert(name.clone(), state);
            InputSource {
                id: SourceId {
                    api_version: format!("{GROUP}/{VERSION}"),
                    kind: PROVIDER_KIND.to_owned(),
                    namespace: namespace.clone(),
                    name,
                },
                labels: provider.metadata.labels.clone().unwrap_or_default(),
                sets: provider.status.map(|status| status.exported_inputs).unwrap_or_default(),
            }
        })
        .collect();
    let invalid = |error: flux_operator_resourceset::ResourceSetError| InputError::Invalid(error.to_string());
    let selected = select(&sources, &set.inputs_from, warnings).map_err(invalid)?;
    let providers: Vec<ProviderInputs> = selected
        .iter()
        .map(|source| ProviderInputs {
            provider: ObjectId::new(GROUP, PROVIDER_KIND, Some(namespace), &source.id.name).at(VERSION),
            sets: source.sets.len(),
            state: states.get(&source.id.name).cloned().unwrap_or(ProviderState::NeverExported),
        })
        .collect();
    let inline = InputSource { id: set.id.clone(), sets: set.inputs.clone(), ..InputSource::default() };
    let all = std::iter::once(inline).chain(selected.into_iter().cloned()).collect();
    let sets = combine(all, &set.strategy, warnings).map_err(invalid)?;
    let are_missing = !set.inputs_from.is_empty() && sets.is_empty();
    let waits_for = providers.iter().find(|one| one.state == ProviderState::NeverExported);
    // With Permute, a missing source would lead to other objects than intended. Without any inputs there is nothing to
    // apply. In both cases the set waits for the provider.
    if let Some(one) = waits_for.filter(|_| are_missing || set.strategy.name == "Permute") {
        return Err(InputError::NotExported(format!("{} has not exported inputs yet", one.provider)));
    }
    Ok(Inputs { sets, providers, are_missing })
}

/// Reads the providers that the references may select: by name if all references have one, else all providers of the
/// namespace.
async fn providers(
    cluster: &Cluster,
    namespace: &str,
    references: &[ProviderReference],
) -> Result<Vec<ResourceSetInputProvider>, InputError> {
    let Some(kind) = kinds::of(GROUP, PROVIDER_KIND) else { return Ok(vec![]) };
    let resource = kind.resource_type();
    let unavailable =
        |what: String, error: &ClusterError| InputError::Unavailable(format!("{what}: {}", api_text(error)));
    let names: Vec<&str> =
        references.iter().map(|reference| reference.name.as_str()).filter(|name| !name.is_empty()).collect();
    let mut objects = vec![];
    if names.len() < references.len() {
        let list = cluster.list(&resource, Some(namespace), &ListOptions::default()).await;
        objects = list.map_err(|error| unavailable("failed to list providers".to_owned(), &error))?.items;
    }
    for name in names {
        if objects.iter().any(|object| crate::k8s::fields::name(object) == name) {
            continue;
        }
        let get = cluster.get(&resource, Some(namespace), name).await;
        objects.push(get.map_err(|error| match error.is_not_found() {
            true => InputError::Unavailable(format!(
                "failed to get provider {namespace}/{name}: {PROVIDER_KIND}.{GROUP} \"{name}\" not found"
            )),
            false => unavailable(format!("failed to get provider {namespace}/{name}"), &error),
        })?);
    }
    let parse = |object| {
        serde_json::from_value(object).map_err(|error| InputError::Invalid(format!("cannot read a provider: {error}")))
    };
    objects.into_iter().map(parse).collect()
}
