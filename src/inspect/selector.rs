//! Label selectors as text, for what no API server filters: dumps.

use serde_json::Value;
use thiserror::Error;

use super::object;

/// Why a label selector was not understood.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a label selector: write key, !key, key=value, key!=value, key in (a,b) or key notin (a,b)")]
pub struct SelectorError(String);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Never,
}

/// A label selector in Kubernetes' notation (<https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`; an empty text selects everything.
    ///
    /// # Errors
    /// When a part is none of these.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let error = || SelectorError(text.to_owned());
        split_top_level(text)
            .into_iter()
            .map(|part| requirement(part).ok_or_else(error))
            .collect::<Result<_, _>>()
            .map(Selector)
    }

    pub(super) fn nothing() -> Self {
        Selector(vec![Requirement::Never])
    }

    /// Whether the object's labels satisfy every part. A missing label satisfies `!=` and `notin`, as in Kubernetes.
    pub fn matches(&self, object: &Value) -> bool {
        self.matches_labels(|key| object::label(object, key))
    }

    pub fn matches_labels<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::Absent(key) => label(key).is_none(),
            Requirement::In(key, values) => label(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Requirement::NotIn(key, values) => label(key).is_none_or(|v| values.iter().all(|w| w != v)),
            Requirement::Never => false,
        })
    }
}

/// Splits at commas outside parentheses.
fn split_top_level(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

fn requirement(part: &str) -> Option<Requirement> {
    let key = |text: &str| {
        let text = text.trim();
        let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        plain.then(|| text.to_owned())
    };
    if let Some((left, rest)) = part.split_once('(') {
        let values = rest.strip_suffix(')')?.split(',').map(|v| v.trim().to_owned()).collect();
        let left = left.trim();
        return match left.rsplit_once(char::is_whitespace)? {
            (name, "in") => Some(Requirement::In(key(name)?, values)),
            (name, "notin") => Some(Requirement::NotIn(key(name)?, values)),
            _ => None,
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(key(name)?, vec![value.trim().into()]));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Requirement::In(key(name)?, vec![value.trim().into()]));
    }
    match part.strip_prefix('!') {
        Some(name) => Some(Requirement::Absent(key(name)?)),
        None => Some(Requirement::Exists(key(part)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_selects_as_kubernetes_does() {
        let object = json!({"metadata": {"labels": {"team": "a", "tier": "web"}}});
        let cases = [
            ("", true),
            ("team", true),
            ("!team", false),
            ("team=a", true),
            ("team==a", true),
            ("team!=a", false),
            ("none!=a", true),
            ("team in (a, b)", true),
            ("team notin (a,b)", false),
            ("none notin (a)", true),
            ("team=a,tier=web", true),
            ("team in (a,b),tier=db", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Selector::parse(text).unwrap().matches(&object), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["team in a", "a b", "team in (a", "=x", "!", "a>b (c)"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
