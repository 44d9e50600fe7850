//! From a ResourceSet to the objects that are applied: inputs, templates, and the data that annotations ask for.

use std::time::{Duration, Instant};

use flux_operator_resourceset::{
    BuildErrorKind, BuiltSet, InputName, Limits, Options, Origin, ResourceSet as Templates, Warning, build,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::failure::ResourceSetFailure;
use super::inputs::{self, InputError, Inputs};
use super::referenced_data::{DataSources, normalise, resolve};
use crate::api::{ResourceSet, ResourceSetStep};
use crate::cluster::Cluster;
use crate::format::go_duration;
use crate::k8s::ObjectId;
use crate::reconcile::plan;

/// Limit for rendering all templates of a set, so that one tenant's templates do not delay other tenants.
const TEMPLATE_LIMIT: Duration = Duration::from_secs(60);

/// An object, and the template and input set that rendered it.
#[derive(Clone, Debug)]
pub(super) struct RenderedObject {
    pub object: Value,
    pub origin: Origin,
    pub input: Option<InputName>,
}

/// The objects of one step. A set without steps has a single step without a name.
#[derive(Clone, Debug, Default)]
pub(super) struct DesiredStep {
    pub name: Option<String>,
    pub timeout: Option<Duration>,
    /// In the order in which they are built.
    pub objects: Vec<RenderedObject>,
}

impl DesiredStep {
    /// Returns the manifests of one stage of the apply, in the order in which they are applied.
    pub(super) fn stage(&self, stage: SetStage) -> Vec<Value> {
        let of_stage = self.objects.iter().map(|one| &one.object).filter(|one| SetStage::of(one) == stage);
        let mut manifests: Vec<(ObjectId, Value)> = of_stage.map(|one| (ObjectId::of(one), one.clone())).collect();
        manifests.sort_by(|(left, _), (right, _)| plan::order(left).cmp(&plan::order(right)));
        manifests.into_iter().map(|(_, manifest)| manifest).collect()
    }

    pub(super) fn ids(&self) -> Vec<ObjectId> {
        self.objects.iter().map(|one| ObjectId::of(&one.object)).collect()
    }
}

/// Stages within a step. Each stage is compared with the cluster after the previous one was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SetStage {
    Definitions,
    Classes,
    /// Applied before the bindings: an API server refuses to bind a missing role unless the user may bind every role.
    Roles,
    Objects,
}

impl SetStage {
    pub(super) const ALL: [SetStage; 4] =
        [SetStage::Definitions, SetStage::Classes, SetStage::Roles, SetStage::Objects];

    fn of(object: &Value) -> Self {
        let id = ObjectId::of(object);
        match id.kind.as_str() {
            "CustomResourceDefinition" | "Namespace" | "ClusterRole" => SetStage::Definitions,
            // The API server refuses a pod whose PriorityClass does not exist yet.
            kind if kind.ends_with("Class") => SetStage::Classes,
            "Role" if id.group == "rbac.authorization.k8s.io" => SetStage::Roles,
            _ => SetStage::Objects,
        }
    }
}

/// Everything that a run of a ResourceSet applies.
#[derive(Debug)]
pub(super) struct DesiredSet {
    pub steps: Vec<DesiredStep>,
    pub inputs: Inputs,
    /// Digest of all objects, as `sha256:hex`.
    pub digest: String,
    pub warnings: Vec<String>,
}

impl DesiredSet {
    pub(super) fn ids(&self) -> Vec<ObjectId> {
        self.steps.iter().flat_map(DesiredStep::ids).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.steps.iter().map(|step| step.objects.len()).sum()
    }
}

/// Makes the objects of a set. Providers are read with the operator's own rights. Sources of annotations are read with
/// the rights under which the objects are applied.
///
/// # Errors
/// The spec is not valid, inputs are missing, a template fails, or data cannot be read. `sources` has the objects that
/// were requested until then.
pub(super) async fn make(
    cluster: &Cluster,
    applier: &Cluster,
    set: &ResourceSet,
    sources: &mut DataSources,
) -> Result<DesiredSet, ResourceSetFailure> {
    let mut warnings = vec![];
    let templates = decode(set, &mut warnings)?;
    templates.validate().map_err(|error| ResourceSetFailure::build(format!("build failed: {error}")))?;
    let failed = |error: &dyn std::fmt::Display| format!("failed to compute inputs: {error}");
    let inputs = inputs::collect(cluster, &templates, &mut warnings).await.map_err(|error| match error {
        InputError::Invalid(error) => ResourceSetFailure::build(failed(&error)),
        InputError::Unavailable(error) => ResourceSetFailure::inputs(failed(&error)),
        InputError::NotExported(error) => ResourceSetFailure::dependency(&error),
    })?;
    let built = match inputs.are_missing {
        true => None,
        false => rendered(templates, &inputs).await?,
    };
    let mut objects: Vec<Value> = vec![];
    let mut origins = vec![];
    if let Some(built) = built {
        for one in &built.objects {
            origins.push((one.origin, built.input(one)));
        }
        warnings.extend(built.warnings);
        objects.extend(built.objects.into_iter().map(|one| one.object));
    }
    resolve(applier, &mut objects, sources).await.map_err(|error| ResourceSetFailure::failed(&error))?;
    objects.iter_mut().for_each(normalise);
    // The digest is taken after the references are resolved, so that a change of copied data is a new revision.
    let digest = digest(&objects)?;
    let rendered = objects.into_iter().zip(origins);
    let mut steps = empty_steps(set);
    for (object, (origin, input)) in rendered {
        if let Some(step) = steps.get_mut(origin.step.unwrap_or_default()) {
            step.objects.push(RenderedObject { object, origin, input });
        }
    }
    Ok(DesiredSet { steps, inputs, digest, warnings: warnings.iter().map(ToString::to_string).collect() })
}

fn decode(set: &ResourceSet, warnings: &mut Vec<Warning>) -> Result<Templates, ResourceSetFailure> {
    // The type has a JSON form: it was read from one.
    let object = serde_json::to_value(set).unwrap_or_default();
    Templates::decode(&object, warnings).map_err(|error| ResourceSetFailure::build(format!("build failed: {error}")))
}

/// Renders the templates on a thread for blocking work. Returns `None` if every object is excluded.
async fn rendered(templates: Templates, inputs: &Inputs) -> Result<Option<BuiltSet>, ResourceSetFailure> {
    let sets = inputs.sets.clone();
    let work = move || {
        let deadline = Instant::now() + TEMPLATE_LIMIT;
        let is_late = || Instant::now() > deadline;
        let options = Options {
            limits: Limits { interrupted: Some(&is_late), ..Limits::default() },
            now: Some(jiff::Timestamp::now().as_second()),
            random: None,
        };
        build(templates, sets, &options)
    };
    let built = tokio::task::spawn_blocking(work).await;
    let built = built.map_err(|error| ResourceSetFailure::build(format!("build failed: {error}")))?;
    match built {
        Ok(built) => Ok(Some(built)),
        Err(error) if error.kind == BuildErrorKind::NoObjects => Ok(None),
        Err(error) => {
            let place = error.place.as_ref().map(|place| {
                let line = place.line.map(|line| format!(", line {line}")).unwrap_or_default();
                let input = place.input.as_ref().map(|input| format!(", {input}")).unwrap_or_default();
                format!(" ({}{line}{input})", place.origin)
            });
            Err(ResourceSetFailure::build(format!("build failed: {error}{}", place.unwrap_or_default())))
        }
    }
}

fn empty_steps(set: &ResourceSet) -> Vec<DesiredStep> {
    let steps = set.spec.steps.iter().flatten();
    let step = |step: &ResourceSetStep| DesiredStep {
        name: Some(step.name.clone()),
        timeout: step.timeout.as_deref().and_then(|timeout| Duration::try_from(go_duration::parse(timeout).ok()?).ok()),
        objects: vec![],
    };
    let steps: Vec<DesiredStep> = steps.map(step).collect();
    if steps.is_empty() { vec![DesiredStep::default()] } else { steps }
}

/// Returns the digest as the reference computes it: of all objects as YAML documents, in the order of the build.
fn digest(objects: &[Value]) -> Result<String, ResourceSetFailure> {
    let mut digest = Sha256::new();
    for object in objects {
        let text = flux_operator_resourceset::to_yaml(object)
            .map_err(|error| ResourceSetFailure::build(format!("build failed: {error}")))?;
        digest.update(text);
        digest.update("---\n");
    }
    Ok(format!("sha256:{}", hex::encode(digest.finalize())))
}
