//! Inputs: the providers that a ResourceSet selects, and the resulting input sets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::error::{BuildErrorKind, InputName, ResourceSetError};
use crate::manifest::{InputStrategy, ProviderReference};
use crate::warning::{Warning, WarningKind};

/// Limit for the input sets of a Permute strategy.
const MAX_PERMUTATIONS: usize = 10_000;

/// The object that provides inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceId {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl SourceId {
    /// Returns the value of `inputs.provider`.
    fn provider(&self) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "namespace": self.namespace})
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// An object with its input sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputSource {
    /// Identity of the object.
    pub id: SourceId,
    /// Labels of the object, for selectors.
    pub labels: BTreeMap<String, String>,
    /// Input sets of the object.
    pub sets: Vec<Map<String, Value>>,
}

/// Inputs of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSet {
    /// The values of the source, or for a permutation those of every source by its name.
    pub values: Map<String, Value>,
    /// Its source, shared by all sets of the source; `None` for a permutation.
    pub source: Option<Arc<SourceId>>,
}

impl InputSet {
    /// Returns the values that templates see: those of the set, and its source as `provider`.
    ///
    /// They are not stored, because thousands of sets can have one source.
    pub fn template_values(&self) -> Map<String, Value> {
        let mut values = self.values.clone();
        if let Some(source) = &self.source {
            // As in the reference, this overwrites an input with the name `provider`.
            values.insert("provider".to_owned(), source.provider());
        }
        values
    }

    /// Returns the name of the set for messages.
    pub fn name(&self, index: usize) -> InputName {
        let id = match self.values.get("id") {
            Some(Value::String(id)) => Some(id.clone()),
            Some(Value::Number(id)) => Some(id.to_string()),
            _ => None,
        };
        InputName { index, id, source: self.source.as_deref().cloned() }
    }
}

/// The checksum used for identifiers.
pub(crate) fn adler32(text: &str) -> u32 {
    adler2::adler32_slice(text.as_bytes())
}

/// Returns the sources that the references select, without duplicates, by kind, namespace and name.
///
/// `sources` are those in the namespace of the ResourceSet. If a name occurs twice, a reference by name takes the last
/// and a selector the first. A missing name and a selector without a match are warnings.
///
/// # Errors
/// A reference without name and selector, or an invalid selector.
pub fn select<'s>(
    sources: &'s [InputSource],
    references: &[ProviderReference],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<&'s InputSource>, ResourceSetError> {
    type SourceKey<'s> = (&'s str, &'s str, &'s str, &'s str);
    fn key(source: &InputSource) -> SourceKey<'_> {
        let id = &source.id;
        (&id.kind, &id.namespace, &id.name, &id.api_version)
    }
    let refused = |text: String| ResourceSetError::new(BuildErrorKind::Selection, text);
    let mut selected: BTreeMap<SourceKey<'s>, &InputSource> = BTreeMap::new();
    for (index, reference) in references.iter().enumerate() {
        let mut missing = |what: String| {
            let text = format!("spec.inputsFrom[{index}]: {what}");
            warnings.push(Warning::new(WarningKind::MissingProvider, text));
        };
        if !reference.name.is_empty() {
            match sources.iter().rfind(|source| source.id.name == reference.name) {
                Some(source) => {
                    selected.insert(key(source), source);
                }
                None => missing(format!("there is no provider {:?}", reference.name)),
            }
            continue;
        }
        let Some(selector) = &reference.selector else {
            return Err(refused("input provider reference must have either name or selector set".into()));
        };
        selector.validate().map_err(|reason| refused(format!("failed to parse selector: {reason}")))?;
        let mut matches = sources.iter().filter(|source| selector.matches(&source.labels)).peekable();
        if matches.peek().is_none() {
            missing("no provider matches the selector".into());
        }
        for source in matches {
            selected.entry(key(source)).or_insert(source);
        }
    }
    Ok(selected.into_values().collect())
}

/// Combines sources in order to the input sets of templates.
///
/// # Errors
/// An unknown strategy, more than 10,000 permutations, or a source whose normalised name is empty.
pub fn combine(
    sources: Vec<InputSource>,
    strategy: &InputStrategy,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<InputSet>, ResourceSetError> {
    match strategy.name.as_str() {
        "" | "Flatten" => {
            let mut inputs = Vec::new();
            for mut source in sources {
                drop_nulls(&mut source, warnings);
                let id = Arc::new(source.id);
                let sets = source.sets.into_iter();
                inputs.extend(sets.map(|values| InputSet { values, source: Some(Arc::clone(&id)) }));
            }
            Ok(inputs)
        }
        "Permute" => permute(sources, strategy.include_empty_providers, warnings),
        other => Err(ResourceSetError::new(BuildErrorKind::Combination, format!("unknown input strategy: '{other}'"))),
    }
}

/// Removes nulls at the top of the input sets of a source, which the API server drops.
fn drop_nulls(source: &mut InputSource, warnings: &mut Vec<Warning>) {
    for (index, set) in source.sets.iter_mut().enumerate() {
        set.retain(|key, value| {
            if value.is_null() {
                let text =
                    format!("input {key:?} of set {index} of {} is null and dropped, as in a cluster", source.id);
                warnings.push(Warning::new(WarningKind::NullInput, text));
            }
            !value.is_null()
        });
    }
}

fn permute(
    sources: Vec<InputSource>,
    include_empty: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<InputSet>, ResourceSetError> {
    let mut factors = Vec::new();
    let mut total = 1usize;
    for mut source in sources {
        drop_nulls(&mut source, warnings);
        source.sets.iter_mut().for_each(|set| drop(set.insert("provider".to_owned(), source.id.provider())));
        let InputSource { id: SourceId { kind, name, .. }, sets, .. } = source;
        if sets.is_empty() && !include_empty {
            continue;
        }
        let refused = |reason: String| {
            let text = format!("failed to get inputs from {kind}/{name}: {reason}");
            ResourceSetError::new(BuildErrorKind::Combination, text)
        };
        let normalised = normalised_name(&name);
        if normalised.is_empty() {
            return Err(refused(format!("normalized provider name is empty: '{name}'")));
        }
        total = total.saturating_mul(sets.len());
        if total > MAX_PERMUTATIONS {
            return Err(refused(format!(
                "adding provider '{name}' with {} inputs would exceed the maximum allowed permutations. max: \
                 {MAX_PERMUTATIONS}, got: {total}",
                sets.len()
            )));
        }
        factors.push((normalised, sets));
    }
    let mut names = BTreeSet::new();
    for (name, _) in &factors {
        // The reference overwrites such inputs without a warning.
        let mut lost = |text: String| warnings.push(Warning::new(WarningKind::LostInputs, text));
        if !names.insert(name) {
            lost(format!("two providers are called {name} in templates; the inputs of the first are lost"));
        }
        if name == "id" {
            lost("a provider is called id; its inputs are lost, since id is the identifier of the set".into());
        }
    }
    // The product of no factors would be one empty set.
    if factors.is_empty() {
        return Ok(Vec::new());
    }
    let mut permutations = Vec::with_capacity(total);
    for number in 0..total {
        // The first source varies slowest.
        let mut rest = number;
        let mut indices: Vec<usize> = factors
            .iter()
            .rev()
            .map(|(_, sets)| {
                let index = rest % sets.len();
                rest /= sets.len();
                index
            })
            .collect();
        indices.reverse();
        let mut values = Map::new();
        let mut path = Vec::with_capacity(factors.len());
        for ((name, sets), index) in factors.iter().zip(indices) {
            path.push(format!("{name}={index}"));
            if let Some(set) = sets.get(index) {
                values.insert(name.clone(), Value::Object(set.clone()));
            }
        }
        // Insert it last, so that a provider called `id` cannot replace the identifier.
        values.insert("id".to_owned(), Value::String(adler32(&path.join("/")).to_string()));
        permutations.push(InputSet { values, source: None });
    }
    Ok(permutations)
}

static SEPARATORS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{P}\p{White_Space}]+").ok());

/// Normalises the name of a source for a Permute strategy: words of `[a-z0-9]`, joined by `_`.
pub(crate) fn normalised_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let parted = match &*SEPARATORS {
        Some(separators) => separators.replace_all(&lower, "_"),
        None => lower.as_str().into(),
    };
    // Symbols such as `+` are not separators, and are removed.
    let kept: String = parted.chars().filter(|c| matches!(c, 'a'..='z' | '0'..='9' | '_')).collect();
    kept.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}
