//! The explanation of a field as text.

use std::fmt::Write;

use flux_operator::k8s::crd_fields::{FieldView, SchemaField};
use serde_json::Value;

/// Prints the explanation, wrapped at `width` columns; with `recursive` all fields below as a tree.
pub fn field_text(view: &FieldView, width: usize, recursive: bool) -> String {
    let field = &view.field;
    let mut text = format!("KIND:     {}\nVERSION:  {}\n", view.kind, view.api_version);
    if !view.path.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "FIELD:    {} <{}>{}", view.path, field.type_name, required_mark(field));
    }
    if !field.description.is_empty() {
        let _ = write!(text, "\n{}", wrap(&field.description, "", width));
    }
    for fact in facts(field) {
        text.push_str(&wrap(&fact, "", width));
    }
    if !field.fields.is_empty() {
        text.push_str("\nFIELDS:\n");
        if recursive {
            tree(&mut text, &field.fields, 2);
        } else {
            field.fields.iter().for_each(|field| entry(&mut text, field, width));
        }
    }
    text
}

fn required_mark(field: &SchemaField) -> &'static str {
    if field.required { " -required-" } else { "" }
}

fn entry(text: &mut String, field: &SchemaField, width: usize) {
    let _ = writeln!(text, "  {} <{}>{}", field.name, field.type_name, required_mark(field));
    if !field.description.is_empty() {
        text.push_str(&wrap(&field.description, "      ", width));
    }
    for fact in facts(field) {
        text.push_str(&wrap(&fact, "      ", width));
    }
}

fn tree(text: &mut String, fields: &[SchemaField], indent: usize) {
    for field in fields {
        let _ = writeln!(text, "{:indent$}{} <{}>{}", "", field.name, field.type_name, required_mark(field));
        tree(text, &field.fields, indent + 2);
    }
}

fn facts(field: &SchemaField) -> Vec<String> {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts = Vec::new();
    if !field.values.is_empty() {
        facts.push(format!("One of: {}", field.values.iter().map(shown).collect::<Vec<_>>().join(", ")));
    }
    facts.extend(field.default.as_ref().map(|default| format!("Default: {}", shown(default))));
    facts.extend(field.constraints.iter().map(|constraint| format!("Constraint: {constraint}")));
    facts.extend(field.rules.iter().map(|rule| format!("Rule: {rule}")));
    facts
}

/// Wraps a text between words, with an indent before each line.
fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut line = indent.to_string();
    for word in text.split_whitespace() {
        let is_first = line.len() == indent.len();
        if !is_first && line.chars().count() + 1 + word.chars().count() > width {
            wrapped.push_str(&line);
            wrapped.push('\n');
            line = indent.to_string();
        } else if !is_first {
            line.push(' ');
        }
        line.push_str(word);
    }
    wrapped + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use flux_operator::api::crd;
    use flux_operator::k8s::crd_fields::explain;

    fn text(path: &str, recursive: bool) -> String {
        let path: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        field_text(&explain(&crd::flux_instance(), None, &path).unwrap(), 80, recursive)
    }

    #[test]
    fn a_field_is_explained_with_what_is_allowed() {
        let text = text("spec.cluster.size", false);
        assert!(text.starts_with("KIND:     FluxInstance\nVERSION:  fluxcd.controlplane.io/v1\nFIELD:    spec.cluster.size <string>\n\nHow much"), "{text}");
        assert!(text.contains("\nOne of: small, medium, large\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn fields_below_have_their_defaults_and_rules() {
        let text = text("spec.sync", false);
        assert!(text.contains("  url <string> -required-\n"), "{text}");
        assert!(text.contains("      Default: 1m\n"), "{text}");
        assert!(text.contains("\nRule: sync.provider 'github' works with GitRepository only\n"), "{text}");
    }

    #[test]
    fn the_whole_kind_is_explained_as_a_tree() {
        let text = text("", true);
        assert!(text.contains("\n  spec <object>\n    distribution <object> -required-\n"), "{text}");
        assert!(text.contains("\n          labelSelector <string>\n"), "{text}");
    }
}
