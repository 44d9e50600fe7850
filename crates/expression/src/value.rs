//! Values of JSON and of expressions.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

/// Limit for a value in a message, in characters.
const MAX_SHOWN: usize = 120;

/// Returns the value of a field. Whole numbers are integers, as the API machinery reads them.
pub(crate) fn from_json(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => CelValue::Int(number),
            None => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(from_json).collect())),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (Key::String(Arc::new(key.clone())), from_json(value)));
            CelValue::Map(Map { map: Arc::new(members.collect::<HashMap<_, _>>()) })
        }
    }
}

/// Formats a value for a message, shortened.
pub(crate) fn shown(value: &CelValue) -> String {
    let text = match value {
        CelValue::String(text) => format!("'{text}'"),
        CelValue::Null => "null".to_owned(),
        CelValue::Bool(value) => value.to_string(),
        CelValue::Int(value) => value.to_string(),
        CelValue::UInt(value) => value.to_string(),
        CelValue::Float(value) => value.to_string(),
        CelValue::List(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        // The map has no order, and a message has to be the same each time.
        CelValue::Map(map) => {
            let mut members: Vec<String> =
                map.map.iter().map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(", "))
        }
        other => format!("a value of the type {}", other.type_of()),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
