//! ResourceSets and their providers as written, limited to the fields that a build needs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::decode::{Fields, WrongType};
use crate::error::{BuildErrorKind, Origin, ResourceSetError};
use crate::inputs::{InputSource, SourceId};
use crate::selector::LabelSelector;
use crate::warning::{Warning, WarningKind};

/// Templates of the spec or of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Templates {
    /// `resources`.
    pub resources: Vec<Value>,
    /// `resourcesTemplate`; empty if unset.
    pub template: String,
}

impl Templates {
    /// Whether there is nothing to render.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.template.is_empty()
    }
}

/// An entry of `steps`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTemplates {
    /// Name of the step.
    pub name: String,
    /// Templates of the step.
    pub templates: Templates,
}

/// `inputStrategy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputStrategy {
    /// `Flatten` or `Permute`; empty means Flatten.
    pub name: String,
    /// Whether a source without input sets makes the product empty.
    pub include_empty_providers: bool,
}

/// An entry of `inputsFrom`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderReference {
    /// Name of a provider; empty if unset.
    pub name: String,
    /// Selector for labels of providers.
    pub selector: Option<LabelSelector>,
}

/// A ResourceSet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceSet {
    /// `apiVersion`, kind, namespace (may be empty) and name.
    pub id: SourceId,
    /// `commonMetadata.labels`.
    pub(crate) common_labels: BTreeMap<String, String>,
    /// `commonMetadata.annotations`.
    pub(crate) common_annotations: BTreeMap<String, String>,
    /// The strategy for combining inputs.
    pub strategy: InputStrategy,
    /// Inline inputs.
    pub inputs: Vec<Map<String, Value>>,
    /// References to providers.
    pub inputs_from: Vec<ProviderReference>,
    /// Templates outside of steps.
    pub templates: Templates,
    /// Steps in order.
    pub steps: Vec<StepTemplates>,
}

const SPEC_FIELDS: [&str; 10] = [
    "commonMetadata",
    "inputStrategy",
    "inputs",
    "inputsFrom",
    "resources",
    "resourcesTemplate",
    "steps",
    "dependsOn",
    "serviceAccountName",
    "wait",
];

impl ResourceSet {
    /// Reads a manifest. Its API version and kind are not checked.
    ///
    /// # Errors
    /// A field has another type, or a duration is invalid.
    pub fn decode(document: &Value, warnings: &mut Vec<Warning>) -> Result<ResourceSet, ResourceSetError> {
        let refused = |WrongType(text)| {
            let text = format!("error parsing ResourceSet: error unmarshaling JSON: while decoding JSON: {text}");
            ResourceSetError::new(BuildErrorKind::Manifest, text)
        };
        Self::decode_fields(document, warnings).map_err(refused)
    }

    fn decode_fields(document: &Value, warnings: &mut Vec<Warning>) -> Result<ResourceSet, WrongType> {
        let root = Fields::of(document, "")?;
        let metadata = root.object("metadata")?;
        // Read for their types only: Go refuses a manifest for a label that is not text.
        metadata.texts("labels")?;
        metadata.texts("annotations")?;
        let spec = root.object("spec")?;
        let common = spec.object("commonMetadata")?;
        let strategy = spec.object("inputStrategy")?;
        let mut unknown = spec.unknown(&SPEC_FIELDS);
        unknown.extend(strategy.unknown(&["name", "includeEmptyProviders"]));
        unknown.extend(common.unknown(&["labels", "annotations"]));
        let mut inputs_from = Vec::new();
        for reference in spec.objects("inputsFrom")? {
            unknown.extend(reference.unknown(&["apiVersion", "kind", "name", "selector"]));
            let selector = reference.object("selector")?;
            inputs_from.push(ProviderReference {
                name: reference.text("name")?,
                // `{}` selects every provider, but null means that there is no selector.
                selector: (!reference.get("selector").is_null())
                    .then(|| LabelSelector::decode(&selector))
                    .transpose()?,
            });
        }
        // A build does not use these fields, but Go refuses the manifest if one of them has a wrong type.
        for dependency in spec.objects("dependsOn")? {
            unknown.extend(dependency.unknown(&["apiVersion", "kind", "name", "namespace", "ready", "readyExpr"]));
            for field in ["apiVersion", "kind", "name", "namespace", "readyExpr"] {
                dependency.text(field)?;
            }
            dependency.boolean("ready")?;
        }
        spec.text("serviceAccountName")?;
        spec.boolean("wait")?;
        let mut steps = Vec::new();
        for step in spec.objects("steps")? {
            unknown.extend(step.unknown(&["name", "resources", "resourcesTemplate", "timeout"]));
            match step.get("timeout") {
                Value::Null => {}
                Value::String(text) if is_duration(text) => {}
                Value::String(text) => return Err(WrongType(format!("time: invalid duration {text:?}"))),
                _ => return Err(WrongType(format!("{} is not a duration", step.path("timeout")))),
            }
            steps.push(StepTemplates { name: step.text("name")?, templates: templates(&step)? });
        }
        let set = ResourceSet {
            id: SourceId {
                // sigs.k8s.io/yaml does not look into the embedded type of these two, so it does not turn numbers into
                // text.
                api_version: root.only_text("apiVersion")?,
                kind: root.only_text("kind")?,
                namespace: metadata.text("namespace")?,
                name: metadata.text("name")?,
            },
            common_labels: common.texts("labels")?,
            common_annotations: common.texts("annotations")?,
            strategy: InputStrategy {
                name: strategy.text("name")?,
                include_empty_providers: strategy.boolean("includeEmptyProviders")?,
            },
            inputs: input_sets(spec.get("inputs"), "spec.inputs", warnings)?,
            inputs_from,
            templates: templates(&spec)?,
            steps,
        };
        // The API server drops unknown fields, so a typing mistake would go unnoticed.
        for field in unknown {
            warnings.push(Warning::new(WarningKind::UnknownField, format!("{field} does not exist and has no effect")));
        }
        set.warn_about_rules(&spec, &strategy, warnings);
        Ok(set)
    }

    /// Returns the name of the step that a template belongs to.
    pub(crate) fn step_name(&self, origin: Origin) -> Option<&str> {
        Some(self.steps.get(origin.step?)?.name.as_str())
    }

    /// Warns about rules of the definition that the API server enforces and a build does not.
    fn warn_about_rules(&self, spec: &Fields<'_>, strategy: &Fields<'_>, warnings: &mut Vec<Warning>) {
        let mut warn = |text: String| {
            warnings.push(Warning::new(WarningKind::RefusedByCluster, format!("the API server refuses this: {text}")));
        };
        if self.id.api_version != "fluxcd.controlplane.io/v1" || self.id.kind != "ResourceSet" {
            warn(format!("{} {} is not a fluxcd.controlplane.io/v1 ResourceSet", self.id.api_version, self.id.kind));
        }
        let has = |name| spec.has(name);
        if has("steps") && (has("resources") || has("resourcesTemplate")) {
            warn("steps is mutually exclusive with resources and resourcesTemplate".into());
        }
        if !(has("steps") || has("resources") || has("resourcesTemplate")) {
            warn("at least one of steps, resources or resourcesTemplate must be set".into());
        }
        if strategy.has("includeEmptyProviders") && self.strategy.name != "Permute" {
            warn("includeEmptyProviders only applies when name is Permute".into());
        }
        if !spec.get("inputStrategy").is_null() && self.strategy.name.is_empty() {
            warn("spec.inputStrategy.name is required".into());
        }
        for (index, reference) in self.inputs_from.iter().enumerate() {
            if !reference.name.is_empty() && reference.selector.is_some() {
                warn(format!("spec.inputsFrom[{index}] cannot set both name and selector"));
            }
        }
        if has("steps") && !(1..=20).contains(&self.steps.len()) {
            warn(format!("spec.steps has {} items; 1 to 20 are allowed", self.steps.len()));
        }
        let mut names = BTreeSet::new();
        for step in &self.steps {
            if !is_step_name(&step.name) {
                warn(format!("{:?} is not a valid name for a step", step.name));
            }
            if !names.insert(&step.name) {
                warn(format!("step names must be unique; {:?} is used twice", step.name));
            }
        }
    }

    /// Checks the spec before anything is rendered.
    ///
    /// # Errors
    /// Steps beside resources, steps without content, resources that are null.
    pub fn validate(&self) -> Result<(), ResourceSetError> {
        let refuse = |text: String| Err(ResourceSetError::new(BuildErrorKind::Manifest, text));
        if !self.steps.is_empty() && !self.templates.is_empty() {
            return refuse("spec.steps is mutually exclusive with spec.resources and spec.resourcesTemplate".into());
        }
        if let Some(step) = self.steps.iter().find(|step| step.templates.is_empty()) {
            let name = &step.name;
            return refuse(format!("step \"{name}\": at least one of resources or resourcesTemplate must be set"));
        }
        let all = std::iter::once((None, &self.templates))
            .chain(self.steps.iter().enumerate().map(|(index, step)| (Some(index), &step.templates)));
        for (step, templates) in all {
            // The reference panics at a null, which the API server refuses.
            if let Some(index) = templates.resources.iter().position(Value::is_null) {
                let step = step.map(|step| format!(".steps[{step}]")).unwrap_or_default();
                return refuse(format!("spec{step}.resources[{index}] is null, not an object"));
            }
        }
        Ok(())
    }
}

fn templates(fields: &Fields<'_>) -> Result<Templates, WrongType> {
    Ok(Templates { resources: fields.list("resources")?.to_vec(), template: fields.text("resourcesTemplate")? })
}

/// Reads a list of input sets. A null set counts as empty.
pub(crate) fn input_sets(
    value: &Value,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Map<String, Value>>, WrongType> {
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => return Err(WrongType(format!("{path} is not a list of input sets"))),
    };
    let mut sets = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::Object(set) => sets.push(set.clone()),
            Value::Null => {
                let text =
                    format!("{path}[{index}] is null, which the API server refuses; it is built as an empty set");
                warnings.push(Warning::new(WarningKind::NullInput, text));
                sets.push(Map::new());
            }
            _ => return Err(WrongType(format!("{path}[{index}] is not an object"))),
        }
    }
    Ok(sets)
}

fn is_step_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 63
        && name.bytes().all(|byte| is_word(byte) || byte == b'-')
        && name.bytes().next().is_some_and(is_word)
        && name.bytes().last().is_some_and(is_word)
}

/// Whether Go's `time.ParseDuration` accepts a text.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (digits, behind) = rest.split_at(number);
        let is_number = digits.matches('.').count() <= 1 && digits.bytes().any(|byte| byte.is_ascii_digit());
        // Go accepts both signs for micro, U+00B5 and U+03BC.
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().find(|unit| {
            behind
                .strip_prefix(unit)
                .is_some_and(|after| after.is_empty() || after.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        });
        match unit {
            Some(unit) if is_number => rest = &behind[unit.len()..],
            _ => return false,
        }
    }
    true
}

/// A ResourceSetInputProvider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputProvider {
    /// `apiVersion`, kind, namespace (may be empty) and name.
    pub id: SourceId,
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
    /// `spec.type`.
    pub provider_type: String,
    /// `spec.defaultValues`.
    pub default_values: Map<String, Value>,
}

impl InputProvider {
    /// Reads a manifest.
    ///
    /// # Errors
    /// A field has another type.
    pub(crate) fn decode(document: &Value) -> Result<InputProvider, WrongType> {
        let root = Fields::of(document, "")?;
        let metadata = root.object("metadata")?;
        let spec = root.object("spec")?;
        let default_values = match spec.get("defaultValues") {
            Value::Null => Map::new(),
            Value::Object(values) => values.clone(),
            _ => return Err(WrongType("spec.defaultValues is not an object".into())),
        };
        Ok(InputProvider {
            id: SourceId {
                api_version: root.text("apiVersion")?,
                kind: root.text("kind")?,
                namespace: metadata.text("namespace")?,
                name: metadata.text("name")?,
            },
            labels: metadata.texts("labels")?,
            provider_type: spec.text("type")?,
            default_values,
        })
    }

    /// Returns the inputs of a `Static` provider: its default values with this `id`.
    pub(crate) fn static_source(&self, id: u32) -> InputSource {
        let mut set = self.default_values.clone();
        set.insert("id".to_owned(), Value::String(id.to_string()));
        InputSource { id: self.id.clone(), labels: self.labels.clone(), sets: vec![set] }
    }
}

/// The inputs that a provider has exported, as its status says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportedInputs {
    /// The provider and its sets.
    pub source: InputSource,
    /// Whether it has exported at all. Before that nothing is known of its sets.
    pub is_exported: bool,
}

impl ExportedInputs {
    /// Reads a ResourceSetInputProvider of a cluster.
    ///
    /// # Errors
    /// Fields of another type.
    pub fn decode(document: &Value) -> Result<ExportedInputs, String> {
        let read = || {
            let InputProvider { id, labels, .. } = InputProvider::decode(document)?;
            let status = Fields::of(document, "")?.object("status")?;
            let sets = input_sets(status.get("exportedInputs"), "status.exportedInputs", &mut Vec::new())?;
            let is_exported = !status.text("lastExportedRevision")?.is_empty();
            Ok(ExportedInputs { source: InputSource { id, labels, sets }, is_exported })
        };
        read().map_err(|WrongType(text)| text)
    }
}
