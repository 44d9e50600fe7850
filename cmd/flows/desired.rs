//! The expected objects of an instance, for views that compare.

use std::rc::Rc;

use flux_operator::api::{CheckedInstance, FluxInstance};
use flux_operator::build::{BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::k8s::fields;
use flux_operator::oci::Reference;
use serde_json::Value;

use crate::output::table::short_revision;
use crate::session::registries::SourceArgs;

/// Builds the instance from the embedded distribution; `None` if the result is not the applied revision.
pub fn desired_of_embedded(instance: &Value) -> Option<Rc<[Value]>> {
    let applied = fields::some_text(instance, "/status/lastAppliedRevision")?;
    let is_of_artifact = fields::some_text(instance, "/spec/distribution/artifact").is_some();
    if is_of_artifact { None } else { built(instance, applied, &Distribution::embedded()).ok().map(Rc::from) }
}

/// Builds the instance locally. Returns why it cannot be compared if the result is not the applied revision.
pub async fn desired_objects(
    instance: &Value,
    named: Option<&Distribution>,
    source: &SourceArgs,
) -> Result<Vec<Value>, String> {
    let applied = fields::some_text(instance, "/status/lastAppliedRevision").ok_or("nothing was applied yet")?;
    let artifact = fields::some_text(instance, "/spec/distribution/artifact");
    let last = fields::some_text(instance, "/status/lastArtifactRevision").unwrap_or_default();
    let distribution = match (named, artifact) {
        (Some(named), _) => named.clone(),
        (None, None) => Distribution::embedded(),
        (None, Some(artifact)) => source.open_cached(artifact, last).await.ok_or_else(|| {
            let at = artifact
                .parse::<Reference>()
                .ok()
                .zip(last.parse().ok())
                .map(|(reference, last)| reference.at(last).url());
            let at = at.as_deref().unwrap_or(artifact);
            format!("its distribution is an artifact that is not in the cache here, compare with --distribution {at}")
        })?,
    };
    built(instance, applied, &distribution)
}

fn built(instance: &Value, applied: &str, distribution: &Distribution) -> Result<Vec<Value>, String> {
    let typed = FluxInstance::from_object(instance.clone()).map_err(|e| e.to_string())?;
    let typed = CheckedInstance::check(typed).map_err(|e| e.to_string())?;
    // The instance has been applied, so its minor version was allowed.
    let options = BuildOptions { allow_unknown_minor: true, ..BuildOptions::default() };
    let built = build(&typed, distribution, &options).map_err(|e| e.to_string())?;
    let revision = built.revision.to_string();
    if revision == applied {
        Ok(built.objects)
    } else {
        Err(format!("{} was applied, and {distribution} gives {}", short_revision(applied), short_revision(&revision)))
    }
}
