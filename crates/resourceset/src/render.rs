//! Renders templates with input sets to objects.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use flux_operator_gotemplate::{Data, Options, ParseError, Syntax, Template, yaml};
use serde_json::{Map, Value};

use crate::error::{BuildErrorKind, FailurePosition, InputName, Origin, Part, ResourceSetError};
use crate::inputs::InputSet;
use crate::manifest::{ResourceSet, Templates};
use crate::object::{self, OWNER_NAME, OWNER_NAMESPACE, ObjectKey, SplitText, UnreadableObject};
use crate::retyped::{RetypedField, retyped_fields};
use crate::usage::unused_keys;
use crate::warning::{Warning, WarningKind};

/// Name of every template in error texts.
const TEMPLATE_NAME: &str = "resourceset";
const LONGEST_LABEL: usize = 63;

/// A rendered object with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltObject {
    /// The object, including the owner labels.
    pub object: Value,
    /// The template and input set that rendered it.
    pub origin: Origin,
}

/// The result of building a ResourceSet.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltSet {
    /// The ResourceSet.
    pub set: ResourceSet,
    /// The input sets, in order.
    pub inputs: Vec<InputSet>,
    /// The objects in build order.
    pub objects: Vec<BuiltObject>,
    /// Warnings in the order in which they were found.
    pub warnings: Vec<Warning>,
}

impl BuiltSet {
    /// Returns the name of an object's step.
    pub fn step(&self, object: &BuiltObject) -> Option<&str> {
        self.set.step_name(object.origin)
    }

    /// Returns the name of an object's input set.
    pub fn input(&self, object: &BuiltObject) -> Option<InputName> {
        let index = object.origin.input?;
        Some(self.inputs.get(index)?.name(index))
    }
}

/// Renders a ResourceSet as [`render`] does, and keeps all objects.
///
/// # Errors
/// Those of [`render`].
pub fn build(set: ResourceSet, inputs: Vec<InputSet>, options: &Options<'_>) -> Result<BuiltSet, ResourceSetError> {
    let (mut objects, mut warnings) = (Vec::new(), Vec::new());
    render(&set, &inputs, options, &mut warnings, &mut |object| objects.push(object))?;
    Ok(BuiltSet { set, inputs, objects, warnings })
}

/// Renders a ResourceSet, which must have a namespace, with input sets from [`combine`](crate::combine).
///
/// `warnings` gets the warnings in the order in which they are found, even if rendering then fails. `receive` gets the
/// objects in build order, so that a caller that needs only their names or text does not hold thousands of objects. If
/// the result is an error, the caller must ignore the objects received until then. The limits in `options` apply to
/// each execution. Use `interrupted` for a common deadline.
///
/// # Errors
/// An invalid spec, template or rendered text, an object in two steps, or no objects at all.
pub fn render(
    set: &ResourceSet,
    inputs: &[InputSet],
    options: &Options<'_>,
    warnings: &mut Vec<Warning>,
    receive: &mut dyn FnMut(BuiltObject),
) -> Result<(), ResourceSetError> {
    set.validate()?;
    let mut builder = Builder::new(set, inputs, options, warnings, receive);
    if set.steps.is_empty() {
        builder.step(None, &set.templates, None)?;
    } else {
        for (index, step) in set.steps.iter().enumerate() {
            builder.step(Some(index), &step.templates, Some(&step.name))?;
        }
    }
    if builder.is_empty {
        return Err(ResourceSetError::new(BuildErrorKind::NoObjects, "no objects were generated"));
    }
    builder.finish();
    Ok(())
}

/// A template of the spec after parsing.
struct ParsedTemplate {
    text: String,
    /// Why the resource cannot be written as text.
    unwritable: Option<String>,
    template: Result<Template, ParseError>,
}

struct Builder<'b> {
    set: &'b ResourceSet,
    inputs: &'b [InputSet],
    options: &'b Options<'b>,
    /// Set only if a template changes its inputs: all templates of an input set see the changes.
    shared: Option<Vec<Data>>,
    templates: HashMap<(Option<usize>, Part), ParsedTemplate>,
    /// The step of each object, if the spec has steps.
    steps: HashMap<ObjectKey, usize>,
    /// The objects of the current step.
    step_objects: Vec<(ObjectKey, Origin)>,
    warnings: &'b mut Vec<Warning>,
    receive: &'b mut dyn FnMut(BuiltObject),
    is_empty: bool,
    contents: RandomState,
}

/// The first object with a key.
struct FirstObject {
    origin: Origin,
    /// Hash of its contents.
    contents: u64,
}

/// An object that may be a duplicate.
struct Candidate {
    fields: Map<String, Value>,
    origin: Origin,
}

impl<'b> Builder<'b> {
    fn new(
        set: &'b ResourceSet,
        inputs: &'b [InputSet],
        options: &'b Options<'b>,
        warnings: &'b mut Vec<Warning>,
        receive: &'b mut dyn FnMut(BuiltObject),
    ) -> Builder<'b> {
        let mut templates = HashMap::new();
        let mut add = |step: Option<usize>, part: Part, text: Result<String, String>| {
            let (text, unwritable) = match text {
                Ok(text) => (text, None),
                Err(reason) => (String::new(), Some(reason)),
            };
            // A parse error is reported only when the template is rendered, because the reference parses it then.
            let template = Template::parse(TEMPLATE_NAME, &text, &Syntax::resource_set());
            if template.as_ref().is_ok_and(|template| !template.is_repeatable()) {
                let reported = "the result differs from run to run (randInt or ago)";
                let origin = Origin { step, part, input: None };
                warnings.push(Warning::at(WarningKind::NotRepeatable, reported, origin, None));
            }
            templates.insert((step, part), ParsedTemplate { text, unwritable, template });
        };
        let all = set.steps.iter().enumerate().map(|(index, step)| (Some(index), &step.templates));
        for (step, part) in all.chain(std::iter::once((None, &set.templates))) {
            for (index, resource) in part.resources.iter().enumerate() {
                add(step, Part::Resource(index), yaml::to_string(resource).map_err(|error| error.to_string()));
            }
            if !part.template.is_empty() {
                add(step, Part::Template, Ok(part.template.clone()));
            }
        }
        let changes = templates.values().any(|parsed| parsed.template.as_ref().is_ok_and(Template::changes_data));
        let shared = changes.then(|| inputs.iter().map(|set| Data::from(&set.template_values())).collect());
        Builder {
            set,
            inputs,
            options,
            shared,
            templates,
            steps: HashMap::new(),
            step_objects: Vec::new(),
            warnings,
            receive,
            is_empty: true,
            contents: RandomState::new(),
        }
    }

    /// Renders the spec or one step.
    fn step(&mut self, step: Option<usize>, templates: &Templates, name: Option<&str>) -> Result<(), ResourceSetError> {
        let prefix = name.map(|name| format!("step \"{name}\": ")).unwrap_or_default();
        let mut seen: HashMap<ObjectKey, FirstObject> = HashMap::new();
        // Without inputs the reference does not compare the template with `resources`.
        let mut kept = HashSet::new();
        let has_inputs = !self.inputs.is_empty();
        // Each resource with every input set: the digest of the result depends on this order.
        for index in 0..templates.resources.len() {
            let wrapper = match has_inputs {
                true => format!("{prefix}failed to build resources[{index}]: "),
                false => format!("{prefix}failed to build resource: "),
            };
            for origin in self.origins(step, Part::Resource(index)) {
                let text = self.execute(origin, &wrapper, "template")?;
                let candidate = self.one_object(origin, &text, &wrapper)?;
                self.warn_of_retyped(origin, &text);
                if has_inputs {
                    self.take(candidate, &mut seen);
                } else {
                    self.keep_as_it_is(candidate, &mut kept);
                }
            }
        }
        if !templates.template.is_empty() {
            let wrapper = match has_inputs {
                true => format!("{prefix}failed to build resources: "),
                false => format!("{prefix}failed to build resource: "),
            };
            for origin in self.origins(step, Part::Template) {
                let text = self.execute(origin, &wrapper, "multi-doc YAML template")?;
                for candidate in self.many_objects(origin, &text, &wrapper)? {
                    self.take(candidate, &mut seen);
                }
                self.warn_of_retyped(origin, &text);
            }
        }
        self.compare_steps(step)
    }

    fn origins(&self, step: Option<usize>, part: Part) -> Vec<Origin> {
        let inputs: Vec<Option<usize>> = match self.inputs.len() {
            0 => vec![None],
            count => (0..count).map(Some).collect(),
        };
        inputs.into_iter().map(|input| Origin { step, part, input }).collect()
    }

    fn input_name(&self, origin: Origin) -> Option<InputName> {
        let index = origin.input?;
        Some(self.inputs.get(index)?.name(index))
    }

    fn warn(&mut self, kind: WarningKind, text: impl Into<String>, origin: Origin) {
        let input = self.input_name(origin);
        self.warnings.push(Warning::at(kind, text, origin, input));
    }

    fn execute(&self, origin: Origin, wrapper: &str, what: &str) -> Result<String, ResourceSetError> {
        let failed = |text: String, input: Option<InputName>, line: Option<usize>| {
            ResourceSetError::at(BuildErrorKind::Template, text, FailurePosition { origin, input, line })
        };
        let Some(parsed) = self.templates.get(&(origin.step, origin.part)) else { return Ok(String::new()) };
        if let Some(reason) = &parsed.unwritable {
            let place = FailurePosition { origin, input: None, line: None };
            return Err(ResourceSetError::at(
                BuildErrorKind::Object,
                format!("{wrapper}failed to write {what}: {reason}"),
                place,
            ));
        }
        let template = parsed
            .template
            .as_ref()
            .map_err(|error| failed(format!("{wrapper}failed to parse {what}: {error}"), None, Some(error.line)))?;
        let own;
        let data = match (origin.input, &self.shared) {
            (Some(index), Some(shared)) => shared.get(index),
            (Some(index), None) => {
                own = self.inputs.get(index).map(|set| Data::from(&set.template_values()));
                own.as_ref()
            }
            (None, _) => None,
        };
        let none = Data::none();
        template.execute(data.unwrap_or(&none), self.options).map_err(|error| {
            failed(format!("{wrapper}failed to execute {what}: {error}"), self.input_name(origin), error.line)
        })
    }

    /// Warns about texts of the inputs that became another value in the rendered text.
    fn warn_of_retyped(&mut self, origin: Origin, rendered: &str) {
        let Some(set) = origin.input.and_then(|index| self.inputs.get(index)) else { return };
        let parsed = self.templates.get(&(origin.step, origin.part));
        let Some(template) = parsed.and_then(|parsed| parsed.template.as_ref().ok()) else { return };
        let options = self.options;
        let render = |values: &Map<String, Value>| template.execute(&Data::from(values), options).ok();
        for RetypedField { object, message } in retyped_fields(rendered, &set.template_values(), render) {
            let text = if origin.part == Part::Template { format!("{object}: {message}") } else { message };
            self.warn(WarningKind::RetypedInput, text, origin);
        }
    }

    fn unreadable(&self, origin: Origin, prefix: &str, error: UnreadableObject) -> ResourceSetError {
        let place = FailurePosition { origin, input: self.input_name(origin), line: error.line };
        ResourceSetError::at(BuildErrorKind::Object, format!("{prefix}{}", error.reason), place)
    }

    /// Reads the first document rendered by an entry of `resources`.
    fn one_object(&mut self, origin: Origin, text: &str, wrapper: &str) -> Result<Candidate, ResourceSetError> {
        let prefix = format!("{wrapper}failed to read object: ");
        let SplitText { documents, unreadable } = object::split_documents(text);
        let fields = match (documents.first(), unreadable) {
            (Some(first), _) => object::read_object(first),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        };
        let fields = match fields.map_err(|error| self.unreadable(origin, &prefix, error))? {
            Some(fields) => fields,
            // The reference continues with an object that has no fields.
            None => {
                self.warn(WarningKind::Document, "it rendered to nothing, so the object has no kind", origin);
                Map::new()
            }
        };
        if documents.len() > 1 {
            let text = format!("it rendered {} documents, of which only the first is read", documents.len());
            self.warn(WarningKind::Document, text, origin);
        }
        if object::name(&fields).is_empty() && !fields.is_empty() {
            self.warn(WarningKind::Document, "the object has no metadata.name", origin);
        }
        Ok(Candidate { fields, origin })
    }

    /// Reads all documents rendered by a `resourcesTemplate`.
    fn many_objects(&mut self, origin: Origin, text: &str, wrapper: &str) -> Result<Vec<Candidate>, ResourceSetError> {
        let prefix = format!("{wrapper}failed to read objects from multi-doc YAML: ");
        let mut candidates = Vec::new();
        let SplitText { documents, unreadable } = object::split_documents(text);
        for (index, document) in documents.into_iter().enumerate() {
            let fields = object::read_object(&document).map_err(|error| self.unreadable(origin, &prefix, error))?;
            let Some(fields) = fields else { continue };
            // Unlike documents, the items of a List are taken without a name or an API version.
            if let Some(items) = object::items(&fields) {
                for item in items {
                    let Value::Object(item) = item else {
                        let error = UnreadableObject {
                            reason: "items member is not an object".into(),
                            line: Some(document.lines_before + 1),
                        };
                        return Err(self.unreadable(origin, &prefix, error));
                    };
                    candidates.push(Candidate { fields: item.clone(), origin });
                }
                continue;
            }
            let missing_names = match (object::api_version(&fields), object::name(&fields)) {
                ("", _) => Some("apiVersion"),
                (_, "") => Some("metadata.name"),
                _ => None,
            };
            if let Some(missing_names) = missing_names {
                let kind = object::kind(&fields);
                let text = format!("document {index} ({kind}) has no {missing_names} and is skipped");
                self.warn(WarningKind::DroppedDocument, text, origin);
            } else if object::is_kustomize_file(&fields) {
                let text = format!("document {index} is a kustomization file and is skipped");
                self.warn(WarningKind::DroppedDocument, text, origin);
            } else {
                candidates.push(Candidate { fields, origin });
            }
        }
        match unreadable {
            Some(error) => Err(self.unreadable(origin, &prefix, error)),
            None => Ok(candidates),
        }
    }

    /// Adds an object unless it is excluded or a duplicate.
    fn take(&mut self, candidate: Candidate, seen: &mut HashMap<ObjectKey, FirstObject>) {
        let Candidate { fields, origin } = candidate;
        // An excluded object does not reserve its key.
        if object::is_excluded(&fields) {
            return;
        }
        let key = object::key(&fields);
        let object = Value::Object(self.with_labels(fields, origin));
        let contents = self.contents.hash_one(&object);
        if let Some(first) = seen.get(&key) {
            if first.contents != contents {
                let by = self.input_name(first.origin).map(|input| format!(", {input}")).unwrap_or_default();
                let text = format!(
                    "{} is skipped: {}{by} renders it with different content",
                    object::described(&key),
                    first.origin
                );
                self.warn(WarningKind::DuplicateObject, text, origin);
            }
            return;
        }
        self.hand_over(&key, BuiltObject { object, origin });
        seen.insert(key, FirstObject { origin, contents });
    }

    /// Adds an object of `resources` without inputs, for which the reference checks neither exclusion nor duplicates.
    fn keep_as_it_is(&mut self, candidate: Candidate, seen: &mut HashSet<ObjectKey>) {
        let Candidate { fields, origin } = candidate;
        let key = object::key(&fields);
        if object::is_excluded(&fields) {
            let text =
                format!("{} is kept although an annotation excludes it: there are no inputs", object::described(&key));
            self.warn(WarningKind::DuplicateObject, text, origin);
        }
        if seen.contains(&key) {
            let text = format!("{} is defined twice, and the cluster keeps the last one", object::described(&key));
            self.warn(WarningKind::DuplicateObject, text, origin);
        }
        let object = Value::Object(self.with_labels(fields, origin));
        self.hand_over(&key, BuiltObject { object, origin });
        seen.insert(key);
    }

    fn hand_over(&mut self, key: &ObjectKey, object: BuiltObject) {
        if object.origin.step.is_some() {
            self.step_objects.push((key.clone(), object.origin));
        }
        self.is_empty = false;
        (self.receive)(object);
    }

    /// Adds common metadata and the owner labels; the owner labels take precedence.
    fn with_labels(&mut self, mut fields: Map<String, Value>, origin: Origin) -> Map<String, Value> {
        let set = self.set;
        let texts = |builder: &mut Self, name: &str| {
            object::text_fields(&fields, name).unwrap_or_else(|key| {
                let text = format!("metadata.{name}: the value of {key:?} is not text, so that all {name} are lost");
                builder.warn(WarningKind::Metadata, text, origin);
                BTreeMap::new()
            })
        };
        let mut labels = texts(self, "labels");
        // Without anything to add, annotations that are not texts are kept unchanged.
        let annotations = (!set.common_annotations.is_empty()).then(|| {
            let mut annotations = texts(self, "annotations");
            annotations.extend(set.common_annotations.clone());
            annotations
        });
        labels.extend(set.common_labels.clone());
        labels.insert(OWNER_NAME.to_owned(), set.id.name.clone());
        labels.insert(OWNER_NAMESPACE.to_owned(), set.id.namespace.clone());
        for (key, value) in &labels {
            if value.chars().count() > LONGEST_LABEL {
                let text = format!("label {key} has {} characters; 63 are allowed", value.chars().count());
                self.warn(WarningKind::LongLabel, text, origin);
            }
        }
        object::set_text_fields(&mut fields, "labels", labels);
        if let Some(annotations) = annotations {
            object::set_text_fields(&mut fields, "annotations", annotations);
        }
        fields
    }

    /// Refuses an object that another step already renders.
    fn compare_steps(&mut self, step: Option<usize>) -> Result<(), ResourceSetError> {
        let Some(step) = step else { return Ok(()) };
        let name = |index: usize| self.set.steps.get(index).map_or("", |step| step.name.as_str());
        for (key, origin) in std::mem::take(&mut self.step_objects) {
            match self.steps.get(&key) {
                // Steps of the same name count as one step in the reference.
                Some(other) if name(*other) != name(step) => {
                    let text = format!(
                        "duplicate resource {} in step \"{}\", already defined in step \"{}\"",
                        object::described(&key),
                        name(step),
                        name(*other)
                    );
                    let place = FailurePosition { origin, input: self.input_name(origin), line: None };
                    return Err(ResourceSetError::at(BuildErrorKind::DuplicateObject, text, place));
                }
                Some(_) => {}
                None => {
                    self.steps.insert(key, step);
                }
            }
        }
        Ok(())
    }

    /// Adds the warnings about the whole set.
    fn finish(self) {
        for key in [OWNER_NAME, OWNER_NAMESPACE] {
            if self.set.common_labels.contains_key(key) {
                let text = format!("spec.commonMetadata.labels: {key} belongs to the operator and is not changed");
                self.warnings.push(Warning::new(WarningKind::OwnerLabel, text));
            }
        }
        let texts: Vec<&str> = self.templates.values().map(|parsed| parsed.text.as_str()).collect();
        for key in unused_keys(&texts, self.inputs) {
            let text = format!("no template uses input {key:?}");
            self.warnings.push(Warning::new(WarningKind::UnusedInput, text));
        }
    }
}
