//! `debug`: the values that Helm gets for a release, the variables of a substitution, and the source of each. Pure.
//!
//! Later sources override earlier ones, and the object's own values override all
//! (<https://fluxcd.io/flux/components/helm/helmreleases/#values>,
//! <https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::format::yaml;
use crate::k8s::fields;

/// Replaces a value from a Secret.
pub(crate) const MASK: &str = "[masked]";

/// A ConfigMap or Secret with values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSource {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    pub name: String,
    /// Use only the value of this key; in a substitution every key is a variable.
    pub key: Option<String>,
    /// Path of a single value.
    target_path: Option<String>,
    /// Whether the source may be missing.
    is_optional: bool,
}

impl ValueSource {
    fn origin(&self) -> String {
        match &self.key {
            Some(key) => format!("{}/{} key {key}", self.kind, self.name),
            None => format!("{}/{}", self.kind, self.name),
        }
    }
}

/// The result of looking up a source.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceLookup {
    Missing,
    Object(Value),
    /// The source exists without its values, as in a dump; its known keys.
    Keys(Vec<String>),
}

impl SourceLookup {
    /// Looks up a ConfigMap or Secret in a dump, where `bundle` keeps keys without values, and Secrets have no values
    /// at all.
    pub fn in_dump(object: &Value) -> SourceLookup {
        match object.get("masked").and_then(Value::as_object) {
            Some(masked) => SourceLookup::Keys(masked.keys().cloned().collect()),
            None if fields::kind(object) == "Secret" => SourceLookup::Keys(vec![]),
            None => SourceLookup::Object(object.clone()),
        }
    }
}

/// Why values cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DebugError {
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0} does not exist")]
    MissingKey(String),
    #[error("{0} is not a YAML map: {1}")]
    NoMap(String, String),
}

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueOrigin {
    /// `image.tag`, or the name of a variable.
    pub path: String,
    /// `spec`, or the ConfigMap or Secret.
    pub from: String,
}

/// The resulting values, with the source of each leaf.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedValues {
    pub values: Value,
    pub origins: Vec<ValueOrigin>,
    /// Sources whose values are unknown, because a dump contains none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Returns the value sources of a HelmRelease in order.
pub fn sources_of_values(release: &Value) -> Vec<ValueSource> {
    let sources = fields::items(release, "/spec/valuesFrom").iter().map(|source| ValueSource {
        key: Some(fields::some_text(source, "/valuesKey").unwrap_or("values.yaml").to_owned()),
        target_path: fields::some_text(source, "/targetPath").map(str::to_owned),
        ..source_of(source)
    });
    sources.collect()
}

/// Returns the variable sources of a Kustomization in order.
pub fn sources_of_variables(kustomization: &Value) -> Vec<ValueSource> {
    fields::items(kustomization, "/spec/postBuild/substituteFrom").iter().map(source_of).collect()
}

fn source_of(source: &Value) -> ValueSource {
    ValueSource {
        kind: fields::kind(source).to_owned(),
        name: fields::text(source, "/name").to_owned(),
        key: None,
        target_path: None,
        is_optional: source.get("optional").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// Returns the texts of a ConfigMap or Secret by key.
fn texts(object: &Value) -> BTreeMap<String, String> {
    let is_secret = fields::kind(object) == "Secret";
    let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(key, value)| {
        let value = value.as_str()?;
        let text = match is_secret {
            true => String::from_utf8_lossy(&STANDARD.decode(value).ok()?).into_owned(),
            false => value.to_owned(),
        };
        Some((key.clone(), text))
    })
    .collect()
}

/// Computes the values for Helm. `found` are the objects of [`sources_of_values`]; `reveals` shows values from Secrets.
///
/// # Errors
/// A required source is missing, or is not a YAML map.
pub fn values(
    release: &Value,
    found: &[(ValueSource, SourceLookup)],
    reveals: bool,
) -> Result<ResolvedValues, DebugError> {
    let mut merged = Value::Object(Map::new());
    let mut origins = BTreeMap::new();
    let mut unknown = vec![];
    for (source, object) in found {
        let key = source.key.clone().unwrap_or_default();
        let text = match object {
            SourceLookup::Missing if source.is_optional => continue,
            SourceLookup::Missing => return Err(DebugError::Missing(format!("{}/{}", source.kind, source.name))),
            SourceLookup::Object(object) => texts(object).remove(&key).map(Some),
            SourceLookup::Keys(keys) => (keys.is_empty() || keys.contains(&key)).then_some(None),
        };
        let mut value = match (text, &source.target_path) {
            (None, _) if source.is_optional => continue,
            (None, _) => return Err(DebugError::MissingKey(source.origin())),
            (Some(Some(text)), Some(path)) => at_path(path, typed(&text)),
            (Some(Some(text)), None) => map_of(&text, &source.origin())?,
            (Some(None), Some(path)) => at_path(path, Value::String(MASK.to_owned())),
            (Some(None), None) => {
                unknown.push(source.origin());
                continue;
            }
        };
        note(&value, "", &source.origin(), &mut origins);
        if source.kind == "Secret" && !reveals {
            mask(&mut value);
        }
        merge(&mut merged, value);
    }
    if let Some(own) = fields::at(release, "/spec/values") {
        note(own, "", "spec.values", &mut origins);
        merge(&mut merged, own.clone());
    }
    let origins = origins.into_iter().map(|(path, from)| ValueOrigin { path, from }).collect();
    Ok(ResolvedValues { values: merged, origins, unknown })
}

/// Computes the variables of a substitution. `found` are the objects of [`sources_of_variables`].
///
/// # Errors
/// A required source is missing.
pub fn variables(
    kustomization: &Value,
    found: &[(ValueSource, SourceLookup)],
    reveals: bool,
) -> Result<ResolvedValues, DebugError> {
    let mut variables: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut unknown = vec![];
    for (source, object) in found {
        let texts: Vec<(String, String)> = match object {
            SourceLookup::Missing if source.is_optional => continue,
            SourceLookup::Missing => return Err(DebugError::Missing(source.origin())),
            SourceLookup::Object(object) => {
                let is_hidden = source.kind == "Secret" && !reveals;
                // Flux removes a line break at the end of a value.
                let shown =
                    |text: String| if is_hidden { MASK.to_owned() } else { text.trim_end_matches('\n').to_owned() };
                texts(object).into_iter().map(|(key, text)| (key, shown(text))).collect()
            }
            SourceLookup::Keys(keys) => keys.iter().map(|key| (key.clone(), MASK.to_owned())).collect(),
        };
        if matches!(object, SourceLookup::Keys(keys) if keys.is_empty()) {
            unknown.push(source.origin());
        }
        variables.extend(texts.into_iter().map(|(key, text)| (key, (text, source.origin()))));
    }
    let own = fields::at(kustomization, "/spec/postBuild/substitute").and_then(Value::as_object);
    for (key, value) in own.into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        variables.insert(key.clone(), (text, "spec.postBuild.substitute".to_owned()));
    }
    let origins =
        variables.iter().map(|(path, (_, from))| ValueOrigin { path: path.clone(), from: from.clone() }).collect();
    let values = variables.into_iter().map(|(key, (text, _))| (key, Value::String(text))).collect();
    Ok(ResolvedValues { values: Value::Object(values), origins, unknown })
}

fn map_of(text: &str, origin: &str) -> Result<Value, DebugError> {
    let no_map = |problem: String| DebugError::NoMap(origin.to_owned(), problem);
    let mut documents = yaml::parse_documents(text).map_err(|e| no_map(e.to_string()))?;
    match documents.len() {
        0 => Ok(Value::Object(Map::new())),
        1 => match documents.remove(0) {
            Value::Null => Ok(Value::Object(Map::new())),
            map @ Value::Object(_) => Ok(map),
            _ => Err(no_map("it is a list or a single value".to_owned())),
        },
        count => Err(no_map(format!("it has {count} documents"))),
    }
}

/// Merges like helm-controller: later maps override key by key; any other value, null too, replaces the one before.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    Some(known) if known.is_object() && value.is_object() => merge(known, value),
                    // Keep a null in the values, because Helm then removes the chart's default.
                    _ => _ = into.insert(key, value),
                }
            }
        }
        (into, from) => *into = from,
    }
}

/// Parses a single value like Helm's `--set`.
fn typed(text: &str) -> Value {
    let trimmed = text.trim_end_matches('\n');
    for quote in ['"', '\''] {
        if let Some(inner) = trimmed.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Value::String(inner.to_owned());
        }
    }
    match trimmed {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        // A number with a leading zero is text.
        number if number == "0" || !number.starts_with('0') => {
            // Helm's `--set` knows no fractions: `1.5` is text.
            number.parse::<i64>().map_or_else(|_| Value::String(number.to_owned()), Value::from)
        }
        text => Value::String(text.to_owned()),
    }
}

/// Puts a value at a path such as `a.b[0].c`; `\.` is a dot in a name.
fn at_path(path: &str, value: Value) -> Value {
    let mut parts: Vec<String> = vec![String::new()];
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => parts.last_mut().into_iter().for_each(|part| part.extend(letters.next())),
            '.' | '[' => parts.push(if letter == '[' { "[".to_owned() } else { String::new() }),
            ']' => {}
            other => parts.last_mut().into_iter().for_each(|part| part.push(other)),
        }
    }
    parts.into_iter().filter(|part| !part.is_empty()).rev().fold(value, |value, part| {
        match part.strip_prefix('[').and_then(|index| index.parse::<usize>().ok()) {
            // Helm fills a list with nulls up to the index, within a limit.
            Some(index) if index < 1000 => {
                let mut items = vec![Value::Null; index];
                items.push(value);
                Value::Array(items)
            }
            _ => Value::Object(Map::from_iter([(part, value)])),
        }
    })
}

/// Records the source of every leaf; a later value replaces everything below its path.
fn note(value: &Value, path: &str, origin: &str, origins: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) if !map.is_empty() || path.is_empty() => {
            origins.remove(path);
            for (key, value) in map {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                note(value, &below, origin, origins);
            }
        }
        _ => {
            let below = format!("{path}.");
            origins.retain(|known, _| !known.starts_with(&below));
            origins.insert(path.to_owned(), origin.to_owned());
        }
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(mask),
        Value::Array(items) => items.iter_mut().for_each(mask),
        other => *other = Value::String(MASK.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(key: &str, text: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {key: STANDARD.encode(text)}})
    }

    fn config(key: &str, text: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {key: text}})
    }

    fn release() -> Value {
        json!({"kind": "HelmRelease", "spec": {"values": {"replicas": 2, "db": {"host": "own"}},
            "valuesFrom": [{"kind": "ConfigMap", "name": "c"}, {"kind": "Secret", "name": "s", "valuesKey": "pass", "targetPath": "db.auth[1].pass"},
                {"kind": "Secret", "name": "gone", "optional": true}]}})
    }

    fn resolved(reveals: bool) -> ResolvedValues {
        let sources = sources_of_values(&release());
        let config = config("values.yaml", "replicas: 1\ndb: {host: a, port: 5432}\nlist: [1]\n");
        let objects =
            [SourceLookup::Object(config), SourceLookup::Object(secret("pass", "hunter2\n")), SourceLookup::Missing];
        let found: Vec<_> = sources.into_iter().zip(objects).collect();
        values(&release(), &found, reveals).unwrap()
    }

    #[test]
    fn later_values_win_and_secrets_are_masked_unless_they_are_asked_for() {
        let hidden = resolved(false);
        assert_eq!(
            hidden.values,
            json!({"replicas": 2, "db": {"host": "own", "port": 5432, "auth": [MASK, {"pass": MASK}]}, "list": [1]})
        );
        assert_eq!(resolved(true).values["db"]["auth"], json!([null, {"pass": "hunter2"}]));
        let from =
            |path: &str| hidden.origins.iter().find(|origin| origin.path == path).map(|origin| origin.from.as_str());
        assert_eq!(from("replicas"), Some("spec.values"));
        assert_eq!(from("db.port"), Some("ConfigMap/c key values.yaml"));
        assert_eq!(from("db.auth"), Some("Secret/s key pass"));
    }

    #[test]
    fn missing_values_and_values_that_are_not_maps_are_named_in_the_error() {
        let one = |object: SourceLookup| {
            let source = sources_of_values(&release()).remove(0);
            values(&release(), &[(source, object)], false).map_err(|e| e.to_string())
        };
        assert_eq!(one(SourceLookup::Missing), Err("ConfigMap/c does not exist".into()));
        assert_eq!(
            one(SourceLookup::Object(config("other", "x"))),
            Err("ConfigMap/c key values.yaml does not exist".into())
        );
        assert!(one(SourceLookup::Object(config("values.yaml", "- a"))).is_err_and(|e| e.contains("not a YAML map")));
        assert!(one(SourceLookup::Object(config("values.yaml", ""))).is_ok(), "an empty text has no values");
    }

    #[test]
    fn variables_are_taken_in_order_and_the_object_itself_wins() {
        let ks = json!({"kind": "Kustomization", "spec": {"postBuild": {"substitute": {"env": "prod"},
            "substituteFrom": [{"kind": "ConfigMap", "name": "c"}, {"kind": "Secret", "name": "s"}]}}});
        let found: Vec<_> = sources_of_variables(&ks)
            .into_iter()
            .zip([config("env", "dev"), secret("token", "abc\n")].map(SourceLookup::Object))
            .collect();
        let reported = variables(&ks, &found, false).unwrap();
        assert_eq!(reported.values, json!({"env": "prod", "token": MASK}));
        assert_eq!(reported.origins[0], ValueOrigin { path: "env".into(), from: "spec.postBuild.substitute".into() });
        assert_eq!(variables(&ks, &found, true).unwrap().values["token"], "abc");
    }

    #[test]
    fn data_missing_from_a_dump_is_masked_or_reported_as_unknown() {
        let keys = |key: &str| json!({"kind": "ConfigMap", "masked": {key: {"bytes": 3}}});
        let found = [keys("values.yaml"), json!({"kind": "Secret"}), json!({"kind": "Secret"})];
        let found: Vec<_> =
            sources_of_values(&release()).into_iter().zip(found.map(|object| SourceLookup::in_dump(&object))).collect();
        let reported = values(&release(), &found, true).unwrap();
        assert_eq!(reported.values, json!({"replicas": 2, "db": {"host": "own", "auth": [null, {"pass": MASK}]}}));
        assert_eq!(reported.unknown, ["ConfigMap/c key values.yaml", "Secret/gone key values.yaml"]);
        let absent = [(found[0].0.clone(), SourceLookup::in_dump(&keys("other")))];
        assert!(values(&release(), &absent, true).is_err_and(|e| e.to_string().contains("does not exist")));
        let ks = json!({"spec": {"postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "c"}, {"kind": "Secret", "name": "s"}]}}});
        let found: Vec<_> = sources_of_variables(&ks)
            .into_iter()
            .zip([keys("region"), json!({"kind": "Secret"})].map(|object| SourceLookup::in_dump(&object)))
            .collect();
        let reported = variables(&ks, &found, true).unwrap();
        assert_eq!((reported.values, reported.unknown), (json!({"region": MASK}), vec!["Secret/s".to_owned()]));
    }

    #[test]
    fn single_values_are_typed_as_helm_types_them() {
        for (text, expected) in [
            ("5", json!(5)),
            ("true\n", json!(true)),
            ("007", json!("007")),
            ("\"5\"", json!("5")),
            ("v1.2", json!("v1.2")),
            ("", json!("")),
        ] {
            assert_eq!(typed(text), expected, "{text}");
        }
        assert_eq!(at_path(r"a\.b.c", json!(1)), json!({"a.b": {"c": 1}}));
    }
}
