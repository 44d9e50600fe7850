//! Label selectors with the validation of the API machinery.

use std::collections::BTreeMap;

use crate::decode::{Fields, WrongType};

/// A `metav1.LabelSelector`; an empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Labels with their required values.
    pub match_labels: BTreeMap<String, String>,
    /// Key, operator and values of each expression, as written.
    pub match_expressions: Vec<(String, String, Vec<String>)>,
}

impl LabelSelector {
    pub(crate) fn decode(fields: &Fields<'_>) -> Result<LabelSelector, WrongType> {
        let expressions = fields.objects("matchExpressions")?;
        Ok(LabelSelector {
            match_labels: fields.texts("matchLabels")?,
            match_expressions: expressions
                .iter()
                .map(|expression| {
                    Ok((expression.text("key")?, expression.text("operator")?, expression.text_list("values")?))
                })
                .collect::<Result<_, WrongType>>()?,
        })
    }

    /// Checks the selector.
    ///
    /// # Errors
    /// An unknown operator, values for an operator that takes none, or no values for an operator that needs some.
    pub fn validate(&self) -> Result<(), String> {
        for (key, operator, values) in &self.match_expressions {
            match operator.as_str() {
                "In" | "NotIn" if values.is_empty() => {
                    return Err(format!(
                        "{key}: values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
                    ));
                }
                "Exists" | "DoesNotExist" if !values.is_empty() => {
                    return Err(format!("{key}: values: values set must be empty for exists and does not exist"));
                }
                "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            }
        }
        Ok(())
    }

    /// Whether labels match; an invalid selector matches nothing.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let has = |key: &str, values: &[String]| labels.get(key).is_some_and(|value| values.contains(value));
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|(key, operator, values)| match operator.as_str() {
                "In" => has(key, values),
                // As in Kubernetes, also objects without the key.
                "NotIn" => !has(key, values),
                "Exists" => labels.contains_key(key),
                "DoesNotExist" => !labels.contains_key(key),
                _ => false,
            })
    }
}
