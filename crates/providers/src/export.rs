//! Turns results into exported inputs: default values, skipped requests and the revision.

use flux_operator_gotemplate::yaml;
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::error::ProviderError;
use crate::git::GitResult;
use crate::settings::ProviderSettings;

/// Largest export as JSON. A status has no room for more.
const MAX_EXPORT_BYTES: usize = 1 << 20;
/// The fields that a skipped result keeps from its previous export.
const RESULT_FIELDS: [&str; 9] = ["id", "sha", "branch", "tag", "author", "title", "slug", "labels", "digest"];

/// The inputs of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The input sets.
    pub inputs: Vec<Map<String, Value>>,
    /// `sha256:<hex>` of the inputs.
    pub revision: String,
    /// A sentence for each setting that has no effect.
    pub warnings: Vec<String>,
}

/// Adds default values and computes the revision. `is_list` decides how the revision represents an empty result: as an
/// empty list or as null.
///
/// # Errors
/// The inputs are too large for a status.
pub(crate) fn finish(
    settings: &ProviderSettings,
    found: Vec<Map<String, Value>>,
    is_list: bool,
) -> Result<Export, ProviderError> {
    let inputs: Vec<Map<String, Value>> = found
        .into_iter()
        .map(|mut set| {
            for (key, value) in &settings.default_values {
                if !set.contains_key(key) {
                    set.insert(key.clone(), plain_numbers(value.clone()));
                }
            }
            // The API server would drop nulls as well.
            set.retain(|_, value| !value.is_null());
            set
        })
        .collect();
    let inputs = Value::Array(inputs.into_iter().map(Value::Object).collect());
    let size = inputs.to_string().len();
    if size > MAX_EXPORT_BYTES {
        return Err(ProviderError::new(format!(
            "the exported inputs take {size} bytes, and a status has room for {MAX_EXPORT_BYTES}: lower spec.filter.limit"
        )));
    }
    // Go writes a nil slice as `null` and an empty slice as `[]`, and the reference's revision covers that text.
    let is_none = inputs.as_array().is_some_and(Vec::is_empty) && !is_list;
    let text = yaml::to_string(if is_none { &Value::Null } else { &inputs });
    let text = text.map_err(|error| ProviderError::new(format!("the inputs cannot be written as YAML: {error}")))?;
    let revision = format!("sha256:{}", hex::encode(Sha256::digest(text)));
    let Value::Array(inputs) = inputs else { return Err(ProviderError::new("the inputs are not a list")) };
    let inputs = inputs.into_iter().filter_map(|set| match set {
        Value::Object(set) => Some(set),
        _ => None,
    });
    Ok(Export { inputs: inputs.collect(), revision, warnings: settings.warnings() })
}

/// Leaves out results that the labels skip. A skipped result that was exported before keeps its previous fields.
pub(crate) fn skip(
    found: Vec<GitResult>,
    skip_labels: &[String],
    exported: &[Map<String, Value>],
) -> Vec<Map<String, Value>> {
    let skipped = |result: &GitResult| {
        skip_labels.iter().any(|entry| match entry.strip_prefix('!') {
            Some(label) => !result.labels.iter().any(|one| one == label),
            None => result.labels.contains(entry),
        })
    };
    found
        .into_iter()
        .filter_map(|result| {
            if !skipped(&result) {
                return Some(result.fields());
            }
            let id = Value::String(result.id.clone());
            let before = exported.iter().find(|set| set.get("id") == Some(&id))?;
            let mut fields = result.fields();
            for key in RESULT_FIELDS {
                if let Some(value) = before.get(key) {
                    fields.insert(key.to_owned(), value.clone());
                }
            }
            Some(fields)
        })
        .collect()
}

/// Writes whole numbers without a fraction, as the API server stores them: `1.0` becomes `1`.
pub(crate) fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(plain_number(number)),
        Value::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, plain_numbers(value))).collect(),
        other => other,
    }
}

fn plain_number(number: Number) -> Number {
    // 2⁶³, the first float beyond the whole numbers that the API server keeps as such.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if number.is_i64() {
        return number;
    }
    match number.as_f64() {
        // Within the bounds a whole number has an i64 of the same value.
        Some(float) if float.fract() == 0.0 && (-BOUND..BOUND).contains(&float) => Number::from(float as i64),
        Some(float) => Number::from_f64(float).unwrap_or(number),
        None => number,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::ProviderType;

    fn sets(value: Value) -> Vec<Map<String, Value>> {
        value.as_array().unwrap().iter().map(|set| set.as_object().unwrap().clone()).collect()
    }

    fn revision(value: Value, is_list: bool) -> String {
        finish(&ProviderSettings::new(ProviderType::ExternalService, ""), sets(value), is_list).unwrap().revision
    }

    #[test]
    fn the_revision_is_the_digest_of_the_inputs_as_yaml() {
        assert_eq!(
            revision(json!([]), true),
            "sha256:37517e5f3dc66819f61f5a7bb8ace1921282415f10551d2defa5c3eb0985b570"
        );
        assert_eq!(
            revision(json!([]), false),
            "sha256:38e0b9de817f645c4bec37c0d4a3e58baecccb040f5718dc069a72c7385a0bed"
        );
        let inputs = json!([{"tenant": "a", "id": "1", "n": 1}, {"tenant": "b", "id": "2", "flags": ["x", "y"]}]);
        assert_eq!(revision(inputs, true), "sha256:b8dc983a723ae582df42a73a01d115a40abbb0870079926f9fcd7b00d43d637f");
    }

    #[test]
    fn default_values_fill_in_missing_fields() {
        let mut settings = ProviderSettings::new(ProviderType::ExternalService, "");
        settings.default_values = json!({"id": "no", "a": {"b": 1.0}, "c": null}).as_object().unwrap().clone();
        let export = finish(&settings, sets(json!([{"id": "1", "a": {"x": 1}}, {"id": "2"}])), true).unwrap();
        assert_eq!(json!(export.inputs), json!([{"id": "1", "a": {"x": 1}}, {"id": "2", "a": {"b": 1}}]));
    }

    #[test]
    fn an_export_that_no_status_can_hold_is_refused() {
        let settings = ProviderSettings::new(ProviderType::ExternalService, "");
        let error = finish(&settings, sets(json!([{"id": "x".repeat(2 << 20)}])), true).unwrap_err().to_string();
        assert!(error.contains("lower spec.filter.limit"), "{error}");
    }

    #[test]
    fn a_skipped_request_is_left_out_or_keeps_its_previous_fields() {
        let request = |id: &str, sha: &str, labels: &[&str]| GitResult {
            id: id.to_owned(),
            sha: sha.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            ..GitResult::default()
        };
        let found = vec![request("1", "new", &["wip"]), request("2", "new", &["wip"]), request("3", "new", &[])];
        let exported = sets(json!([{"id": "1", "sha": "old", "team": "a"}]));
        assert_eq!(
            json!(skip(found.clone(), &["wip".to_owned()], &exported)),
            json!([{"id": "1", "sha": "old", "labels": ["wip"]}, {"id": "3", "sha": "new"}])
        );
        assert_eq!(
            json!(skip(found, &["!wip".to_owned()], &[])),
            json!([
            {"id": "1", "sha": "new", "labels": ["wip"]}, {"id": "2", "sha": "new", "labels": ["wip"]}])
        );
    }

    #[test]
    fn numbers_are_those_that_the_api_server_stores() {
        for (text, expected) in [
            ("1.0", "1"),
            ("1e3", "1000"),
            ("-0.0", "0"),
            ("9007199254740993", "9007199254740993"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9.223372036854776e+18"),
            ("1.5", "1.5"),
        ] {
            let number: Value = serde_json::from_str(text).unwrap();
            assert_eq!(plain_numbers(number).to_string(), expected, "{text}");
        }
    }
}
