//! ExternalArtifacts of the cluster, which the caller reads.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::ProviderError;
use crate::filter::limit;
use crate::git::checksum;
use crate::settings::ProviderSettings;

/// The exported fields of an ExternalArtifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `status.artifact.revision`; empty before the first revision.
    pub revision: String,
}

/// Returns an input set for each artifact, sorted by namespace and name, without duplicates.
pub(crate) fn inputs(
    settings: &ProviderSettings,
    artifacts: &[ArtifactInput],
) -> Result<Vec<Map<String, Value>>, ProviderError> {
    let by_name: BTreeMap<(&str, &str), &ArtifactInput> =
        artifacts.iter().map(|artifact| ((artifact.namespace.as_str(), artifact.name.as_str()), artifact)).collect();
    let limit = limit(settings.filter.limit)?;
    Ok(by_name.into_values().take(limit).map(fields).collect())
}

fn fields(artifact: &ArtifactInput) -> Map<String, Value> {
    let ArtifactInput { namespace, name, labels, revision } = artifact;
    let mut fields: Map<String, Value> =
        labels.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect();
    fields.insert("id".to_owned(), checksum(&format!("{namespace}/{name}")).into());
    fields.insert("name".to_owned(), name.clone().into());
    fields.insert("namespace".to_owned(), namespace.clone().into());
    if !revision.is_empty() {
        fields.insert("revision".to_owned(), revision.clone().into());
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::ProviderType;

    #[test]
    fn labels_are_exported_and_do_not_hide_the_fields() {
        let artifact = |namespace: &str, name: &str, labels: &[(&str, &str)], revision: &str| ArtifactInput {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            revision: revision.to_owned(),
        };
        let one = artifact("flux-system", "two", &[("id", "x"), ("app.io/tier", "web")], "");
        let other = artifact("apps", "one", &[], "1.0@sha256:a");
        let mut settings = ProviderSettings::new(ProviderType::ExternalArtifact, "");
        let exported = inputs(&settings, &[one.clone(), other.clone(), one.clone()]).unwrap();
        assert_eq!(
            json!(exported),
            json!([
                {"id": checksum("apps/one"), "name": "one", "namespace": "apps", "revision": "1.0@sha256:a"},
                {"id": "820512283", "app.io/tier": "web", "name": "two", "namespace": "flux-system"},
            ])
        );
        settings.filter.limit = 1;
        assert_eq!(inputs(&settings, &[one, other]).unwrap().len(), 1);
    }
}
