//! What a patch changed, as paths a person can read.

use serde_json::Value;

/// Lists the fields that differ, in the order of the later object, as dotted paths (`spec.replicas`,
/// `metadata.annotations["a.b/c"]`, `spec.template.spec.containers[0].image`). Lists of different length are one field.
pub fn changed_paths(before: &Value, after: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(&mut String::new(), before, after, &mut paths);
    paths
}

fn compare(path: &mut String, before: &Value, after: &Value, paths: &mut Vec<String>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                within(path, &step(key), |path| match old.get(key) {
                    Some(previous) => compare(path, previous, value, paths),
                    None => paths.push(path.clone()),
                });
            }
            for key in old.keys().filter(|key| !new.contains_key(*key)) {
                within(path, &step(key), |path| paths.push(path.clone()));
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (previous, value)) in old.iter().zip(new).enumerate() {
                within(path, &format!("[{index}]"), |path| compare(path, previous, value, paths));
            }
        }
        _ => paths.push(path.clone()),
    }
}

fn step(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if plain { format!(".{key}") } else { format!("[{key:?}]") }
}

fn within(path: &mut String, step: &str, visit: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(if path.is_empty() { step.trim_start_matches('.') } else { step });
    visit(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_changed_field_is_named_once() {
        let before = json!({"metadata": {"name": "a", "annotations": {"x.y/z": "1"}}, "spec": {"args": ["a", "b"], "list": [1], "gone": 1}});
        let after = json!({"metadata": {"name": "a", "annotations": {"x.y/z": "2"}}, "spec": {"args": ["a", "c"], "list": [1, 2], "new": {}}});
        assert_eq!(
            changed_paths(&before, &after),
            ["metadata.annotations[\"x.y/z\"]", "spec.args[1]", "spec.list", "spec.new", "spec.gone"]
        );
        assert!(changed_paths(&before, &before).is_empty());
    }
}
