//! Fields of a manifest with Go's types: numbers and booleans become text where text is expected, null counts as
//! missing, and every other type is refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A field with another type.
#[derive(Debug)]
pub(crate) struct WrongType(pub String);

static NOTHING: Value = Value::Null;

/// An object of a manifest with its path.
pub(crate) struct Fields<'v> {
    fields: Option<&'v Map<String, Value>>,
    path: String,
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn wrong(path: &str, wanted: &str, found: &Value) -> WrongType {
    WrongType(format!("{path} is {}, not {wanted}", kind_of(found)))
}

impl<'v> Fields<'v> {
    pub(crate) fn of(value: &'v Value, path: impl Into<String>) -> Result<Fields<'v>, WrongType> {
        let path = path.into();
        match value {
            Value::Null => Ok(Fields { fields: None, path }),
            Value::Object(fields) => Ok(Fields { fields: Some(fields), path }),
            _ => Err(wrong(if path.is_empty() { "the document" } else { &path }, "an object", value)),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns the value of a field. Like Go, it ignores the case of letters if there is no exact match.
    pub(crate) fn get(&self, name: &str) -> &'v Value {
        let Some(fields) = self.fields else { return &NOTHING };
        fields
            .get(name)
            .or_else(|| fields.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
            .unwrap_or(&NOTHING)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // Presence alone: the rules of the definition accept `resources: []`.
        self.fields.is_some_and(|fields| fields.contains_key(name))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Fields<'v>, WrongType> {
        Fields::of(self.get(name), self.path(name))
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, WrongType> {
        as_text(self.get(name)).ok_or_else(|| wrong(&self.path(name), "text", self.get(name)))
    }

    /// Returns the text of a field that may not be a number or a boolean.
    pub(crate) fn only_text(&self, name: &str) -> Result<String, WrongType> {
        match self.get(name) {
            value @ (Value::Bool(_) | Value::Number(_)) => Err(wrong(&self.path(name), "text", value)),
            _ => self.text(name),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool, WrongType> {
        match self.get(name) {
            Value::Null => Ok(false),
            Value::Bool(value) => Ok(*value),
            other => Err(wrong(&self.path(name), "a boolean", other)),
        }
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'v [Value], WrongType> {
        match self.get(name) {
            Value::Null => Ok(&[]),
            Value::Array(items) => Ok(items),
            other => Err(wrong(&self.path(name), "a list", other)),
        }
    }

    /// Returns the objects of a list, each with its path.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Fields<'v>>, WrongType> {
        let path = self.path(name);
        self.list(name)?.iter().enumerate().map(|(index, item)| Fields::of(item, format!("{path}[{index}]"))).collect()
    }

    pub(crate) fn texts(&self, name: &str) -> Result<BTreeMap<String, String>, WrongType> {
        let path = self.path(name);
        match self.get(name) {
            Value::Null => Ok(BTreeMap::new()),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| {
                    let text = as_text(value).ok_or_else(|| wrong(&format!("{path}[{key:?}]"), "text", value))?;
                    Ok((key.clone(), text))
                })
                .collect(),
            other => Err(wrong(&path, "an object", other)),
        }
    }

    pub(crate) fn text_list(&self, name: &str) -> Result<Vec<String>, WrongType> {
        let path = self.path(name);
        self.list(name)?.iter().map(|item| as_text(item).ok_or_else(|| wrong(&path, "a list of text", item))).collect()
    }

    /// Returns the names of unknown fields.
    pub(crate) fn unknown(&self, known: &[&str]) -> Vec<String> {
        let Some(fields) = self.fields else { return Vec::new() };
        fields
            .keys()
            // Go finds a field in any case of its letters, so such a key has an effect.
            .filter(|key| !known.iter().any(|k| key.eq_ignore_ascii_case(k)))
            .map(|key| self.path(key))
            .collect()
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        // In Go null leaves the zero value of a field.
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        // sigs.k8s.io/yaml turns scalars into strings where the Go field is a string.
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}
