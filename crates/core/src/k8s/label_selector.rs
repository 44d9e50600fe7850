//! Kubernetes label selectors (`a=b,c!=d,e in (f,g),!h`), also used for annotations.
//!
//! Grammar: Kubernetes documentation, "Labels and selectors".

use std::str::FromStr;

use serde_json::{Map, Value};

use super::fields;
use super::names::{is_label_key, is_label_value};

/// Requirements that all have to hold; an empty selector selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: SelectorOperator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectorOperator {
    Exists,
    DoesNotExist,
    In(Vec<String>),
    NotIn(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

/// A text that is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{selector}\" is not a label selector: {problem}")]
pub struct LabelSelectorError {
    pub selector: String,
    pub problem: String,
}

impl LabelSelector {
    /// Whether the labels (or annotations) satisfy every requirement; `None` means that there are no labels.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.matches_by(|key| labels?.get(key)?.as_str())
    }

    /// Whether the labels of an object satisfy every requirement.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(fields::at(object, "/metadata/labels").and_then(Value::as_object))
    }

    /// Like [`Self::matches`], with a lookup function for the labels.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| {
            let value = label(&requirement.key);
            match &requirement.operator {
                SelectorOperator::Exists => value.is_some(),
                SelectorOperator::DoesNotExist => value.is_none(),
                SelectorOperator::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
                // As in Kubernetes, an object without the label is selected too.
                SelectorOperator::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
                SelectorOperator::GreaterThan(bound) => number(value).is_some_and(|value| value > *bound),
                SelectorOperator::LessThan(bound) => number(value).is_some_and(|value| value < *bound),
            }
        })
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

impl FromStr for LabelSelector {
    type Err = LabelSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parser = SelectorParser { rest: text.trim() };
        let mut requirements = Vec::new();
        let fail = |problem: String| LabelSelectorError { selector: text.to_string(), problem };
        while !parser.rest.is_empty() {
            requirements.push(parser.requirement().map_err(fail)?);
            if parser.rest.is_empty() {
                break;
            }
            if !parser.eat(",") {
                return Err(fail(format!("want a comma before \"{}\"", parser.rest)));
            }
            if parser.rest.is_empty() {
                return Err(fail("nothing follows the last comma".to_string()));
            }
        }
        Ok(LabelSelector(requirements))
    }
}

struct SelectorParser<'a> {
    rest: &'a str,
}

impl<'a> SelectorParser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// A key, value or operator word; may be empty.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| c.is_whitespace() || "=!<>(),".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.eat("!") {
            let key = self.key()?;
            return Ok(Requirement { key, operator: SelectorOperator::DoesNotExist });
        }
        let key = self.key()?;
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(Requirement { key, operator: SelectorOperator::Exists });
        }
        // `==` is tried first; otherwise its second sign would begin the value.
        let operator = if self.eat("==") || self.eat("=") {
            SelectorOperator::In(vec![self.value()?])
        } else if self.eat("!=") {
            SelectorOperator::NotIn(vec![self.value()?])
        } else if self.eat(">") {
            SelectorOperator::GreaterThan(self.bound(&key)?)
        } else if self.eat("<") {
            SelectorOperator::LessThan(self.bound(&key)?)
        } else {
            match self.word() {
                "in" => SelectorOperator::In(self.values(&key)?),
                "notin" => SelectorOperator::NotIn(self.values(&key)?),
                word => {
                    return Err(format!(
                        "want =, ==, !=, in, notin, < or > after \"{key}\", found \"{word}{}\"",
                        self.rest
                    ));
                }
            }
        };
        Ok(Requirement { key, operator })
    }

    fn key(&mut self) -> Result<String, String> {
        let key = self.word();
        if !is_label_key(key) {
            return Err(format!(
                "\"{key}\" is not a label key ([prefix/]name of letters, digits, '-', '_' and '.', at most 63 long)"
            ));
        }
        Ok(key.to_string())
    }

    fn value(&mut self) -> Result<String, String> {
        let value = self.word();
        if !is_label_value(value) {
            return Err(format!(
                "\"{value}\" is not a label value (letters, digits, '-', '_' and '.', at most 63 long)"
            ));
        }
        Ok(value.to_string())
    }

    fn values(&mut self, key: &str) -> Result<Vec<String>, String> {
        if !self.eat("(") {
            return Err(format!("want (value, ...) after \"{key} in\""));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value()?);
            if self.eat(")") {
                return Ok(values);
            }
            if !self.eat(",") {
                return Err(format!("the list of values of \"{key}\" is not closed with )"));
            }
        }
    }

    fn bound(&mut self, key: &str) -> Result<i64, String> {
        let word = self.word();
        word.parse().map_err(|_| format!("\"{key}\" is compared with \"{word}\", which is not an integer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(selector: &str, labels: Value) -> bool {
        selector.parse::<LabelSelector>().unwrap().matches(labels.as_object())
    }

    #[test]
    fn every_operator_of_kubernetes_selects_as_documented() {
        let labels = json!({"app": "web", "tier": "3", "sharding.fluxcd.io/role": "shard"});
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("app=web", true),
            ("app==web", true),
            (" app = web , tier ", true),
            ("app=api", false),
            ("app!=api", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (web, api)", true),
            ("app in (api)", false),
            ("app notin (api,db)", true),
            ("app notin (web)", false),
            ("other notin (web)", true),
            ("!other", true),
            ("! app", false),
            ("!sharding.fluxcd.io/role", false),
            ("sharding.fluxcd.io/role=shard", true),
            ("tier>2", true),
            ("tier<2", false),
            ("app>2", false),
            ("app=web,other", false),
        ] {
            assert_eq!(matches(selector, labels.clone()), expected, "{selector}");
        }
        assert!("!x".parse::<LabelSelector>().unwrap().matches(None));
        assert!(matches("app=", json!({"app": ""})));
    }

    #[test]
    fn a_broken_selector_is_refused_with_the_place() {
        for (selector, problem) in [
            ("app=web,", "nothing follows the last comma"),
            ("app in web", "want (value, ...) after \"app in\""),
            ("app in (web", "the list of values of \"app\" is not closed with )"),
            ("=web", "\"\" is not a label key"),
            ("app ~ web", "want =, ==, !=, in, notin, < or > after \"app\", found \"~web\""),
            ("app>x", "\"app\" is compared with \"x\", which is not an integer"),
            ("app=-x", "\"-x\" is not a label value"),
            ("a=b c=d", "want a comma before \"c=d\""),
        ] {
            let error = selector.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(error.contains(problem), "{selector}: {error}");
            assert!(error.contains(&format!("\"{selector}\" is not a label selector")), "{error}");
        }
    }
}
