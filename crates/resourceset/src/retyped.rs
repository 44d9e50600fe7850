//! Texts of inputs that YAML reads as another type after they were printed without quotes.

use serde_json::{Map, Value};

use crate::inputs::InputSet;
use crate::object;

/// Limit for the length of a text: no number, boolean or null is longer.
const MAX_LENGTH: usize = 64;

/// Returns the paths of fields that a template fills with a text of its inputs and that have become a different value:
/// `off` is false and `1.10` is 1.1. A text that only changes its type, such as `2`, is not reported.
pub fn retyped_fields(template: &Value, rendered: &Map<String, Value>, inputs: &InputSet) -> Vec<String> {
    let mut found = vec![];
    let Value::Object(template) = template else { return found };
    compare_members("", template, rendered, &inputs.values, &mut found);
    found
}

fn compare_members(
    path: &str,
    template: &Map<String, Value>,
    rendered: &Map<String, Value>,
    inputs: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    for (key, template) in template {
        let Some(rendered) = rendered.get(key) else { continue };
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(&path, template, rendered, inputs, found);
    }
}

fn compare(path: &str, template: &Value, rendered: &Value, inputs: &Map<String, Value>, found: &mut Vec<String>) {
    match (template, rendered) {
        (Value::Object(template), Value::Object(rendered)) => compare_members(path, template, rendered, inputs, found),
        (Value::Array(template), Value::Array(rendered)) => {
            for (index, (template, rendered)) in template.iter().zip(rendered).enumerate() {
                compare(&format!("{path}[{index}]"), template, rendered, inputs, found);
            }
        }
        (Value::String(action), Value::Bool(_) | Value::Number(_) | Value::Null) if action.contains("<<") => {
            let shown = rendered.to_string();
            if let Some(text) = inputs.values().find_map(|input| text_read_as(input, rendered, &shown)) {
                found.push(format!("{path} is {shown}, which YAML reads from the text {text:?}: quote it"));
            }
        }
        _ => {}
    }
}

/// Returns a text within an input that YAML reads as a value which is shown in another form.
fn text_read_as<'i>(input: &'i Value, value: &Value, shown: &str) -> Option<&'i str> {
    match input {
        Value::String(text) if text.len() <= MAX_LENGTH && text != shown => {
            let read = object::read_document(0, &format!("x: {text}")).ok()??;
            (read.get("x") == Some(value)).then_some(text)
        }
        Value::Array(items) => items.iter().find_map(|item| text_read_as(item, value, shown)),
        Value::Object(members) => members.values().find_map(|member| text_read_as(member, value, shown)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_becomes_another_value_is_reported_with_its_path() {
        let template = json!({"data": {"a": "<< inputs.a >>", "b": "<< inputs.b | quote >>", "c": ["<< inputs.c >>"]},
            "spec": {"replicas": "<< inputs.d >>", "fixed": false, "port": "<< inputs.e >>"}});
        let rendered = json!({"data": {"a": false, "b": "off", "c": [420]},
            "spec": {"replicas": 2, "fixed": false, "port": 80}});
        let values = json!({"a": "off", "b": "off", "c": "0644", "d": "2", "e": 80});
        let inputs = InputSet { values: values.as_object().unwrap().clone(), source: None };
        let found = retyped_fields(&template, rendered.as_object().unwrap(), &inputs);
        assert_eq!(
            found,
            [
                "data.a is false, which YAML reads from the text \"off\": quote it",
                "data.c[0] is 420, which YAML reads from the text \"0644\": quote it",
            ]
        );
    }
}
