//! Patch targets: they select the objects of a patch.

use std::fmt;

use regex::Regex;

use super::resource::{Resource, effective_namespace, group_version, kind};
use crate::k8s::label_selector::{LabelSelector, LabelSelectorError};

/// A patch target as written. Empty fields select everything. The five names are regular expressions that must match
/// the whole value. The two selectors follow Kubernetes' label selector grammar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    pub label_selector: String,
    pub annotation_selector: String,
}

impl fmt::Display for Selector {
    /// `kind=Deployment,name=source-controller`; `everything` when all fields are empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("labelSelector", &self.label_selector),
            ("annotationSelector", &self.annotation_selector),
        ];
        let mut first = true;
        for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            write!(f, "{}{field}={value}", if first { "" } else { "," })?;
            first = false;
        }
        if first { f.write_str("everything") } else { Ok(()) }
    }
}

/// A target field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("target.{field}: \"{pattern}\" is not a regular expression: {problem}")]
    Pattern { field: &'static str, pattern: String, problem: String },
    #[error("target.{field}: {source}")]
    Labels {
        field: &'static str,
        #[source]
        source: LabelSelectorError,
    },
}

/// A target that is ready to be matched with objects.
#[derive(Clone, Debug)]
pub(crate) struct CompiledSelector {
    group: FieldPattern,
    version: FieldPattern,
    kind: FieldPattern,
    name: FieldPattern,
    namespace: FieldPattern,
    labels: LabelSelector,
    annotations: LabelSelector,
}

#[derive(Clone, Debug)]
enum FieldPattern {
    Any,
    /// A plain word, compared directly to save the compilation of an expression.
    Exactly(String),
    Expression(Box<Regex>),
}

impl FieldPattern {
    fn compile(field: &'static str, pattern: &str) -> Result<Self, SelectorError> {
        if pattern.is_empty() {
            return Ok(FieldPattern::Any);
        }
        if pattern.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Ok(FieldPattern::Exactly(pattern.to_string()));
        }
        // Anchored as kustomize does, so that `source` does not select `source-controller`.
        Regex::new(&format!("^(?:{pattern})$")).map(|regex| FieldPattern::Expression(Box::new(regex))).map_err(
            |error| {
                // The crate's error repeats the pattern over several lines; only its last line says what is wrong.
                let text = error.to_string();
                let problem = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
                SelectorError::Pattern { field, pattern: pattern.to_string(), problem }
            },
        )
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            FieldPattern::Any => true,
            FieldPattern::Exactly(word) => word == text,
            FieldPattern::Expression(regex) => regex.is_match(text),
        }
    }
}

impl Selector {
    /// Compiles the expressions and label selectors.
    ///
    /// # Errors
    /// A field is not a regular expression or not a label selector.
    pub(crate) fn compile(&self) -> Result<CompiledSelector, SelectorError> {
        let labels = |field, text: &str| text.parse().map_err(|source| SelectorError::Labels { field, source });
        Ok(CompiledSelector {
            group: FieldPattern::compile("group", &self.group)?,
            version: FieldPattern::compile("version", &self.version)?,
            kind: FieldPattern::compile("kind", &self.kind)?,
            name: FieldPattern::compile("name", &self.name)?,
            namespace: FieldPattern::compile("namespace", &self.namespace)?,
            labels: labels("labelSelector", &self.label_selector)?,
            annotations: labels("annotationSelector", &self.annotation_selector)?,
        })
    }
}

impl CompiledSelector {
    /// Whether the object is selected. Current and original names and namespaces both count; an object without a
    /// namespace is in `default`.
    pub(crate) fn matches(&self, resource: &Resource) -> bool {
        let object = &resource.object;
        let (group, version) = group_version(object);
        let kind = kind(object);
        let metadata =
            |field| object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(|v| v.as_object());
        let current = super::resource::namespace(object);
        self.kind.matches(kind)
            && self.group.matches(group)
            && self.version.matches(version)
            && (self.name.matches(super::resource::name(object)) || self.name.matches(resource.original_name()))
            && (self.namespace.matches(effective_namespace(group, kind, current))
                || self.namespace.matches(effective_namespace(group, kind, resource.original_namespace())))
            && self.labels.matches(metadata("labels"))
            && self.annotations.matches(metadata("annotations"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "metadata": {"name": "source-controller", "labels": {"app": "x"}, "annotations": {"a/b": "c"}}})
    }

    fn selects(selector: Selector, resource: &Resource) -> bool {
        selector.compile().unwrap().matches(resource)
    }

    #[test]
    fn names_are_expressions_that_have_to_match_the_whole_value() {
        let resource = Resource::new(deployment());
        for (name, expected) in [
            ("", true),
            ("source-controller", true),
            ("source", false),
            ("source-.*", true),
            ("(source-controller|helm-controller)", true),
            ("source-controller|x", true),
            ("controller", false),
        ] {
            assert_eq!(selects(Selector { name: name.into(), ..Default::default() }, &resource), expected, "{name}");
        }
        assert!(selects(
            Selector { group: "apps".into(), version: "v1".into(), kind: "Dep.*".into(), ..Default::default() },
            &resource
        ));
        assert!(!selects(Selector { group: "apps".into(), version: "v2".into(), ..Default::default() }, &resource));
    }

    #[test]
    fn original_and_current_name_and_namespace_both_select() {
        let mut resource = Resource::new(deployment());
        resource.remember_id();
        resource.object["metadata"]["name"] = json!("source-controller-s1");
        resource.object["metadata"]["namespace"] = json!("flux-system");
        for (name, namespace, expected) in [
            ("source-controller", "", true),
            ("source-controller-s1", "", true),
            ("", "default", true),
            ("", "flux-system", true),
            ("", "other", false),
        ] {
            let selector = Selector { name: name.into(), namespace: namespace.into(), ..Default::default() };
            assert_eq!(selects(selector, &resource), expected, "{name} {namespace}");
        }
    }

    #[test]
    fn cluster_scoped_objects_are_in_no_namespace() {
        let resource = Resource::new(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}));
        assert!(!selects(Selector { namespace: "default".into(), ..Default::default() }, &resource));
        assert!(selects(Selector { namespace: ".*".into(), ..Default::default() }, &resource));
    }

    #[test]
    fn labels_and_annotations_are_selected_by_kubernetes_rules() {
        let resource = Resource::new(deployment());
        for (labels, annotations, expected) in [
            ("app=x", "", true),
            ("app!=x", "", false),
            ("", "a/b", true),
            ("", "!a/b", false),
            ("app=x", "a/b=c", true),
        ] {
            let selector = Selector {
                label_selector: labels.into(),
                annotation_selector: annotations.into(),
                ..Default::default()
            };
            assert_eq!(selects(selector, &resource), expected, "{labels} {annotations}");
        }
    }

    #[test]
    fn broken_targets_are_refused_with_field_and_text() {
        let error = Selector { name: "(a".into(), ..Default::default() }.compile().unwrap_err().to_string();
        assert_eq!(error, "target.name: \"(a\" is not a regular expression: unclosed group");
        let error =
            Selector { label_selector: "a=".into(), annotation_selector: "a in b".into(), ..Default::default() }
                .compile()
                .unwrap_err()
                .to_string();
        assert!(error.starts_with("target.annotationSelector: \"a in b\" is not a label selector:"), "{error}");
    }
}
