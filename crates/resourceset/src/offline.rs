//! Builds from the texts of files, without a cluster.

use flux_operator_gotemplate::{Options, yaml};
use flux_operator_yaml::{GoDocument, KeyCause, KeyNote, YamlError, parse_first_as_go};
use serde_json::{Map, Value};

use crate::decode::WrongType;
use crate::error::{BuildErrorKind, ResourceSetError};
use crate::inputs::{InputSet, InputSource, adler32, combine, select};
use crate::manifest::{ExportedInputs, InputProvider, ResourceSet, input_sets};
use crate::object::{self, SplitText};
use crate::render::{BuiltObject, BuiltSet};
use crate::warning::{Warning, WarningKind};

/// The texts of the files, and the default namespace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ManifestFiles<'f> {
    /// The ResourceSet.
    pub manifest: &'f str,
    /// A list of input sets that replaces the inline ones.
    pub inputs: Option<&'f str>,
    /// ResourceSetInputProviders of the type `Static`.
    pub providers: Option<&'f str>,
    /// The inputs that the providers of a cluster or a dump have exported.
    pub exported: Option<&'f [ExportedInputs]>,
    /// Namespace of a manifest without one.
    pub namespace: &'f str,
}

/// A ResourceSet and the input sets that its templates are rendered with.
#[derive(Clone, Debug)]
pub struct RenderJob {
    /// The ResourceSet. Its inline inputs are among the input sets.
    pub set: ResourceSet,
    /// The input sets, in order.
    pub inputs: Vec<InputSet>,
}

/// Builds all objects from the files.
///
/// # Errors
/// Any [`BuildErrorKind`], checked in the order of the reference.
pub fn build(files: &ManifestFiles<'_>, options: &Options<'_>) -> Result<BuiltSet, ResourceSetError> {
    let mut warnings = Vec::new();
    let RenderJob { set, inputs } = read(files, &mut warnings)?;
    let mut built = crate::render::build(set, inputs, options)?;
    warnings.append(&mut built.warnings);
    built.warnings = warnings;
    Ok(built)
}

/// Reads the files. `warnings` gets the warnings about them, also before an error.
///
/// The `id` of a provider is made from its name here, and from its UID in a cluster.
///
/// # Errors
/// A file that cannot be read as expected, or inputs that cannot be combined.
pub fn read(files: &ManifestFiles<'_>, warnings: &mut Vec<Warning>) -> Result<RenderJob, ResourceSetError> {
    let mut set = named_manifest(files, warnings)?;
    let has_inputs = files.inputs.is_some() || files.providers.is_some() || files.exported.is_some();
    if !set.inputs_from.is_empty() && !has_inputs {
        let text = "ResourceSet has '.spec.inputsFrom', please provide the inputs with --inputs-from or \
                    --inputs-from-provider";
        return Err(ResourceSetError::new(BuildErrorKind::InputsFile, text));
    }
    if let Some(text) = files.inputs
        && let Some(inputs) = inputs_file(text, warnings)?
    {
        set.inputs = inputs;
    }
    // The ResourceSet itself is the first source of inputs.
    let mut sources =
        vec![InputSource { id: set.id.clone(), sets: std::mem::take(&mut set.inputs), ..InputSource::default() }];
    let providers = files.providers.map(|text| providers_file(text, &set.id.namespace, warnings)).transpose()?;
    if let Some(providers) = &providers {
        if set.inputs_from.is_empty() {
            let text = "the ResourceSet has no spec.inputsFrom, so the providers in the file are not used";
            warnings.push(Warning::new(WarningKind::MissingProvider, text));
        }
        let selected = select(providers, &set.inputs_from, warnings)
            .map_err(|error| ResourceSetError::new(error.kind, format!("error filtering providers: {error}")))?;
        sources.extend(selected.into_iter().cloned());
    }
    sources.extend(exported_sources(files, &set, warnings)?);
    let inputs = combine(sources, &set.strategy, warnings)
        .map_err(|error| ResourceSetError::new(error.kind, format!("error combining inputs: {error}")))?;
    // Without inputs a build renders once, as the reference does. The controller renders nothing.
    if inputs.is_empty() && !set.inputs_from.is_empty() {
        let text = "the providers export no inputs: a cluster would render nothing and delete what it applied before";
        warnings.push(Warning::new(WarningKind::NoInputs, text));
    }
    Ok(RenderJob { set, inputs })
}

/// Returns the namespace of the ResourceSet, where its providers live.
///
/// # Errors
/// As [`build`], for the manifest.
pub fn namespace(files: &ManifestFiles<'_>) -> Result<String, ResourceSetError> {
    named_manifest(files, &mut Vec::new()).map(|set| set.id.namespace)
}

fn named_manifest(files: &ManifestFiles<'_>, warnings: &mut Vec<Warning>) -> Result<ResourceSet, ResourceSetError> {
    let mut set = manifest(files.manifest, warnings)?;
    if set.id.name.is_empty() {
        return Err(ResourceSetError::new(BuildErrorKind::Manifest, "ResourceSet name must be set in the manifest"));
    }
    if set.id.namespace.is_empty() {
        set.id.namespace = files.namespace.to_owned();
    }
    if set.id.namespace.is_empty() {
        let text = "ResourceSet namespace must be set either in the manifest or with --namespace";
        return Err(ResourceSetError::new(BuildErrorKind::Manifest, text));
    }
    Ok(set)
}

/// The sets that the providers of the ResourceSet have exported.
fn exported_sources(
    files: &ManifestFiles<'_>,
    set: &ResourceSet,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<InputSource>, ResourceSetError> {
    let here = files.exported.unwrap_or_default().iter().filter(|one| one.source.id.namespace == set.id.namespace);
    let here: Vec<&ExportedInputs> = here.collect();
    let sources: Vec<InputSource> = here.iter().map(|one| one.source.clone()).collect();
    // Without exported inputs the references are already resolved by the file of providers.
    let references = if files.exported.is_some() { set.inputs_from.as_slice() } else { &[] };
    // The controller waits for a missing provider if it is referenced by name, but not if a selector matches nothing.
    let is_missing = |name: &str| !name.is_empty() && sources.iter().all(|source| source.id.name != name);
    if files.providers.is_none()
        && let Some(reference) = references.iter().find(|reference| is_missing(&reference.name))
    {
        let text = format!(
            "ResourceSetInputProvider/{}/{} does not exist, and spec.inputsFrom names it",
            set.id.namespace, reference.name
        );
        return Err(ResourceSetError::new(BuildErrorKind::Combination, text));
    }
    let selected = select(&sources, references, warnings)
        .map_err(|error| ResourceSetError::new(error.kind, format!("error filtering providers: {error}")))?;
    // The controller waits for such a provider. Without its sets the result would look as if objects were to be
    // deleted.
    let waits = here.iter().find(|one| !one.is_exported && selected.iter().any(|source| source.id == one.source.id));
    match waits {
        Some(one) => {
            let text = format!("{} has not exported inputs yet", one.source.id);
            Err(ResourceSetError::new(BuildErrorKind::Combination, text))
        }
        None => Ok(selected.into_iter().cloned().collect()),
    }
}

/// Text of objects as the reference prints them: a line `---` before each, and `# step: NAME` before the first of each
/// step.
#[derive(Debug)]
pub struct DocumentStream<'s> {
    set: &'s ResourceSet,
    step: Option<usize>,
    text: Result<String, yaml::WriteError>,
}

impl<'s> DocumentStream<'s> {
    /// Starts the text for objects of a ResourceSet.
    pub fn new(set: &'s ResourceSet) -> Self {
        DocumentStream { set, step: None, text: Ok(String::new()) }
    }

    /// Adds an object.
    pub fn push(&mut self, object: &BuiltObject) {
        let Ok(text) = &mut self.text else { return };
        if object.origin.step != self.step {
            self.step = object.origin.step;
            if let Some(name) = self.set.step_name(object.origin) {
                *text += &format!("# step: {name}\n");
            }
        }
        *text += "---\n";
        match yaml::to_string(&object.object) {
            Ok(document) => *text += &document,
            Err(error) => self.text = Err(error),
        }
    }

    /// Returns the text.
    ///
    /// # Errors
    /// YAML cannot represent an object.
    pub fn finish(self) -> Result<String, yaml::WriteError> {
        self.text
    }
}

fn yaml_text(error: &YamlError) -> String {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or_default();
    let place = error.location().map(|location| format!("line {}: ", location.line)).unwrap_or_default();
    match message.starts_with("json: ") {
        true => format!("error converting YAML to JSON: {message} ({})", place.trim_end_matches(": ")),
        false => format!("error converting YAML to JSON: yaml: {place}{message}"),
    }
}

fn note_keys(notes: &[KeyNote], file: &str, warnings: &mut Vec<Warning>) {
    for KeyNote { location, key, cause } in notes {
        let text = match cause {
            KeyCause::Duplicate => format!("{file}, {location}: key {key:?} is duplicated; the last value is used"),
            KeyCause::Boolean(written) => {
                format!("{file}, {location}: key {written} is read as {key:?}; put it in quotes")
            }
        };
        warnings.push(Warning::new(WarningKind::Key, text));
    }
}

fn manifest(text: &str, warnings: &mut Vec<Warning>) -> Result<ResourceSet, ResourceSetError> {
    let document = parse_first_as_go(text).map_err(|error| {
        ResourceSetError::new(BuildErrorKind::Manifest, format!("error parsing ResourceSet: {}", yaml_text(&error)))
    })?;
    let (value, notes) = document.map(|document| (document.value, document.notes)).unwrap_or_default();
    note_keys(&notes, "manifest", warnings);
    ResourceSet::decode(&value, warnings)
}

/// Reads the input sets of a file; `None` when it is empty, so that the inline inputs apply.
fn inputs_file(text: &str, warnings: &mut Vec<Warning>) -> Result<Option<Vec<Map<String, Value>>>, ResourceSetError> {
    let refused = |reason: String| {
        ResourceSetError::new(BuildErrorKind::InputsFile, format!("error parsing inputs file: {reason}"))
    };
    let document = parse_first_as_go(text).map_err(|error| refused(yaml_text(&error)))?;
    let Some(document) = document.filter(|document| !document.value.is_null()) else { return Ok(None) };
    note_keys(&document.notes, "inputs", warnings);
    let sets = input_sets(&document.value, "the file", warnings)
        .map_err(|WrongType(text)| refused(format!("error unmarshaling JSON: while decoding JSON: {text}")))?;
    Ok(Some(sets))
}

fn providers_file(
    text: &str,
    namespace: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<InputSource>, ResourceSetError> {
    let refused = |reason: String| {
        ResourceSetError::new(BuildErrorKind::ProvidersFile, format!("error loading providers from file: {reason}"))
    };
    let unreadable = |reason: String| refused(format!("error parsing inputs provider file: {reason}"));
    let mut sources = Vec::new();
    let SplitText { documents, unreadable: rest } = object::split_documents(text);
    for document in documents {
        let read = match document.is_json {
            true => None,
            false => parse_first_as_go(document.text).map_err(|error| unreadable(yaml_text(&error)))?,
        };
        if let Some(GoDocument { mut notes, .. }) = read {
            // The position is relative to the document, but the user needs the line of the file.
            notes.iter_mut().for_each(|note| note.location.line += document.lines_before as u64);
            note_keys(&notes, "providers", warnings);
        }
        let fields = object::read_object(&document).map_err(|error| unreadable(error.reason))?;
        let Some(fields) = fields else { continue };
        let items = match object::items(&fields) {
            Some(items) => items.clone(),
            None => vec![Value::Object(fields)],
        };
        for item in &items {
            // Before anything else of it is read, as in the reference.
            if item.as_object().is_none_or(|fields| object::name(fields).is_empty()) {
                let kind = item.as_object().map_or("", object::kind);
                let text = format!("the providers file has a {kind} without a name, which is skipped");
                warnings.push(Warning::new(WarningKind::DroppedDocument, text));
                continue;
            }
            let mut provider = InputProvider::decode(item).map_err(|WrongType(text)| unreadable(text))?;
            if provider.id.namespace.is_empty() {
                provider.id.namespace = namespace.to_owned();
            }
            // A reference reaches providers in the namespace of the set only.
            if provider.id.namespace != namespace {
                continue;
            }
            if provider.provider_type != "Static" {
                let found = &provider.provider_type;
                return Err(refused(format!("unsupported provider type '{found}', only 'Static' is supported")));
            }
            let id = adler32(&provider.id.name);
            sources.push(provider.static_source(id));
        }
    }
    match rest {
        Some(error) => Err(unreadable(error.reason)),
        None => Ok(sources),
    }
}
