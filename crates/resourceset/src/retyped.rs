//! Texts of inputs that YAML reads as another type after they were printed without quotes.
//!
//! A text that YAML could read as another type is replaced by a placeholder, and the template is rendered again. A
//! field that then contains only the placeholder got its value from the unquoted text. This works for every way from an
//! input to a field, including loops and variables. A template that fails or branches differently with the placeholder
//! is not checked.

use flux_operator_yaml::parse_first_as_go;
use serde_json::{Map, Value};

use crate::object;

/// Limit for the length of a text: no number, boolean or null is longer.
const MAX_LENGTH: usize = 64;
/// Limit for the checked texts of one input set, because each of them costs a rendering.
const MAX_TEXTS: usize = 16;
/// The placeholder for a text. YAML reads it as a text.
const WORD: &str = "retyped-input-of-a-set";
/// The words of YAML 1.1 that are not texts, in lower case.
const WORDS: [&str; 10] = ["null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A field with a value that was a text of the inputs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RetypedField {
    /// `Kind/namespace/name` of the object.
    pub object: String,
    /// The field, its value, and the text that was read so.
    pub message: String,
}

/// Returns the fields of rendered documents that were filled with a text of the inputs and became a different value: `off`
/// is false and `1.10` is 1.1. A text that only changes its type, such as `2`, is not reported. `render` renders the
/// template with other values.
pub(crate) fn retyped_fields(
    rendered: &str,
    values: &Map<String, Value>,
    render: impl Fn(&Map<String, Value>) -> Option<String>,
) -> Vec<RetypedField> {
    let mut texts = vec![];
    for (key, value) in values {
        add_texts(&mut vec![InputStep::Member(key)], value, &mut texts);
    }
    let mut found = vec![];
    if texts.is_empty() {
        return found;
    }
    let objects = objects(rendered);
    for RetypedText { path, text } in texts.into_iter().take(MAX_TEXTS) {
        let Some(others) = with_word(values, &path).and_then(|values| render(&values)).map(|text| self::objects(&text))
        else {
            continue;
        };
        // The template took another branch for the placeholder, so the documents cannot be compared.
        if others.len() != objects.len() {
            continue;
        }
        let mut fields = vec![];
        let is_alike = objects.iter().zip(&others).all(|(object, other)| {
            let mut places = vec![];
            let is_alike = compare_members("", object, other, &mut places);
            fields.extend(places.into_iter().map(|(path, value)| RetypedField {
                object: object::described(&object::key(object)),
                message: format!("{path} is {value}, which YAML reads from the text {text:?}: quote it"),
            }));
            is_alike
        });
        if is_alike {
            found.append(&mut fields);
        }
    }
    found
}

/// A text of an input that YAML would read as another value.
struct RetypedText<'i> {
    path: Vec<InputStep<'i>>,
    text: &'i str,
}

#[derive(Clone, Copy)]
enum InputStep<'i> {
    Member(&'i str),
    Item(usize),
}

fn add_texts<'i>(path: &mut Vec<InputStep<'i>>, value: &'i Value, found: &mut Vec<RetypedText<'i>>) {
    match value {
        Value::String(text) if is_retyped(text) => found.push(RetypedText { path: path.clone(), text }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(InputStep::Item(index));
                add_texts(path, item, found);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(InputStep::Member(key));
                add_texts(path, member, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether YAML reads the unquoted text as a value that prints differently.
fn is_retyped(text: &str) -> bool {
    // A cheap check first, because there can be thousands of sets and most texts cannot be another type.
    let may_be = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
        || WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if !may_be || text.len() > MAX_LENGTH {
        return false;
    }
    match parse_first_as_go(text) {
        Ok(Some(document)) => {
            let is_scalar = matches!(document.value, Value::Bool(_) | Value::Number(_) | Value::Null);
            let shown = document.value.to_string();
            is_scalar && shown != text
        }
        _ => false,
    }
}

/// Returns the values with the placeholder instead of a text.
fn with_word(values: &Map<String, Value>, path: &[InputStep<'_>]) -> Option<Map<String, Value>> {
    let mut values = Value::Object(values.clone());
    let mut place = &mut values;
    for step in path {
        place = match step {
            InputStep::Member(key) => place.get_mut(*key)?,
            InputStep::Item(index) => place.get_mut(*index)?,
        };
    }
    *place = Value::String(WORD.to_owned());
    match values {
        Value::Object(values) => Some(values),
        _ => None,
    }
}

/// Reads the documents of a text, with the items of lists.
fn objects(text: &str) -> Vec<Map<String, Value>> {
    let mut found = vec![];
    for document in object::split_documents(text).documents {
        let Ok(Some(fields)) = object::read_object(&document) else { continue };
        match object::items(&fields) {
            Some(items) => found.extend(items.iter().filter_map(Value::as_object).cloned()),
            None => found.push(fields),
        }
    }
    found
}

type LocatedValues<'v> = Vec<(String, &'v Value)>;

/// Adds the fields that contain only the placeholder. Returns `false` if the documents differ in anything but texts
/// with the placeholder.
fn compare_members<'v>(
    path: &str,
    object: &'v Map<String, Value>,
    other: &Map<String, Value>,
    places: &mut LocatedValues<'v>,
) -> bool {
    object.len() == other.len()
        && object.iter().all(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            other.get(key).is_some_and(|other| compare(path, value, other, places))
        })
}

fn compare<'v>(path: String, value: &'v Value, other: &Value, places: &mut LocatedValues<'v>) -> bool {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => compare_members(&path, members, others, places),
        (Value::Array(items), Value::Array(others)) => {
            let mut pairs = items.iter().zip(others).enumerate();
            items.len() == others.len()
                && pairs.all(|(index, (item, other))| compare(format!("{path}[{index}]"), item, other, places))
        }
        (Value::Bool(_) | Value::Number(_) | Value::Null, Value::String(other)) if other == WORD => {
            places.push((path, value));
            true
        }
        // Within a longer text the value is a text in both cases.
        (_, Value::String(other)) if other.contains(WORD) => true,
        _ => value == other,
    }
}

#[cfg(test)]
mod tests {
    use flux_operator_gotemplate::{Data, Options, Syntax, Template};
    use serde_json::json;

    use super::*;

    fn found(template: &str, inputs: Value) -> Vec<String> {
        let template = Template::parse("t", template, &Syntax::resource_set()).unwrap();
        let render = |values: &Map<String, Value>| template.execute(&Data::from(values), &Options::default()).ok();
        let Value::Object(values) = inputs else { panic!("no inputs") };
        let fields = retyped_fields(&render(&values).unwrap(), &values, render);
        fields.into_iter().map(|field| format!("{}: {}", field.object, field.message)).collect()
    }

    #[test]
    fn a_text_that_becomes_another_value_is_reported_with_its_object_and_path() {
        let template = r#"kind: A
metadata: {name: a}
data: {a: << inputs.a >>, b: << inputs.a | quote >>, c: [<< inputs.c >>]}
spec: {replicas: << inputs.d >>, port: << inputs.e >>, image: "x:<< inputs.f >>"}
---
kind: B
metadata: {name: b}
list:
<<- range $k, $v := inputs.map >>
- << $k >>: << $v >>
<<- end >>
"#;
        let inputs =
            json!({"a": "off", "c": "0644", "d": "2", "e": 80, "f": "1.10", "map": {"one": "1.10", "two": "x"}});
        assert_eq!(
            found(template, inputs),
            [
                "A/a: data.a is false, which YAML reads from the text \"off\": quote it",
                "A/a: data.c[0] is 420, which YAML reads from the text \"0644\": quote it",
                "B/b: list[0].one is 1.1, which YAML reads from the text \"1.10\": quote it",
            ]
        );
    }

    #[test]
    fn a_template_that_computes_or_branches_with_the_text_is_not_judged() {
        assert!(found("kind: A\na: << inputs.a | int >>\n", json!({"a": "010"})).is_empty());
        let branch =
            "<< if eq inputs.a \"off\" >>kind: A\na: false\n<< else >>kind: A\na: << inputs.a >>\nb: 1\n<< end >>";
        assert!(found(branch, json!({"a": "off"})).is_empty());
    }
}
