//! JSONPath templates as kubectl reads them (<https://kubernetes.io/docs/reference/kubectl/jsonpath/>).
//!
//! The syntax around the braces is kubectl's. The paths inside are RFC 9535, after kubectl's shorthands are expanded.

use jsonpath_rust::JsonPath;
use serde_json::Value;
use thiserror::Error;

/// Why a template is invalid.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TemplateError {
    #[error("a brace of the JSONPath template is not closed")]
    Unclosed,
    #[error("`{{range}}` without `{{end}}`, or the other way round")]
    Range,
    #[error("`{0}` is not a JSONPath")]
    Path(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPart {
    Text(String),
    Path(String),
    Range(String, Vec<PathPart>),
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTemplate(Vec<PathPart>);

/// Adds braces to a bare path (`.metadata.name`), which `--sort-by` and custom columns allow.
pub fn as_template(path: &str) -> String {
    if path.starts_with('{') { path.to_owned() } else { format!("{{{path}}}") }
}

impl PathTemplate {
    /// Parses text with `{paths}`, `{"literals"}` and `{range path}…{end}`.
    ///
    /// # Errors
    /// Unbalanced braces or ranges, or an invalid path.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut open: Vec<(String, Vec<PathPart>)> = Vec::new();
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some(start) = rest.find('{') else {
                parts.push(PathPart::Text(rest.to_owned()));
                break;
            };
            let (before, inside) = rest.split_at(start);
            if !before.is_empty() {
                parts.push(PathPart::Text(before.to_owned()));
            }
            let end = closing(inside).ok_or(TemplateError::Unclosed)?;
            let expression = inside.get(1..end).unwrap_or_default().trim();
            rest = inside.get(end + 1..).unwrap_or_default();
            if let Some(literal) = literal(expression) {
                parts.push(PathPart::Text(literal));
            } else if expression == "end" {
                let (path, outer) = open.pop().ok_or(TemplateError::Range)?;
                let body = std::mem::replace(&mut parts, outer);
                parts.push(PathPart::Range(path, body));
            } else if let Some(path) = expression.strip_prefix("range ") {
                open.push((standard_path(path)?, std::mem::take(&mut parts)));
            } else {
                parts.push(PathPart::Path(standard_path(expression)?));
            }
        }
        if open.is_empty() { Ok(PathTemplate(parts)) } else { Err(TemplateError::Range) }
    }

    /// Renders a value; several results of a path are separated by blanks.
    pub fn render(&self, value: &Value) -> String {
        let mut text = String::new();
        render(&self.0, value, &mut text);
        text
    }

    /// Returns the values that the template's paths select, in order.
    pub fn values<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        self.0
            .iter()
            .flat_map(|part| match part {
                PathPart::Path(path) | PathPart::Range(path, _) => select(path, value),
                PathPart::Text(_) => vec![],
            })
            .collect()
    }
}

fn render(parts: &[PathPart], value: &Value, text: &mut String) {
    for part in parts {
        match part {
            PathPart::Text(literal) => text.push_str(literal),
            PathPart::Path(path) => text.push_str(&join(&select(path, value), " ")),
            PathPart::Range(path, body) => select(path, value).into_iter().for_each(|item| render(body, item, text)),
        }
    }
}

fn select<'a>(path: &str, value: &'a Value) -> Vec<&'a Value> {
    // `parse` has checked the path. A path that does not fit this value selects nothing, as missing keys do in kubectl.
    value.query(path).unwrap_or_default()
}

/// Joins values: strings unchanged, others as JSON.
pub fn join(values: &[&Value], separator: &str) -> String {
    let texts = values.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    texts.collect::<Vec<_>>().join(separator)
}

/// Returns the index of the brace that closes the first one; braces in quotes do not count.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(index),
            _ => {}
        }
    }
    None
}

/// Parses a quoted text with Go's escapes, such as `"\n"`.
fn literal(expression: &str) -> Option<String> {
    let quote = expression.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = expression.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inside.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Expands kubectl's shorthands: `.a\.b` is `['a.b']`, `@` and a missing `$` are the value itself.
fn standard_path(path: &str) -> Result<String, TemplateError> {
    let path = path.trim();
    let body = path.strip_prefix(['$', '@']).unwrap_or(path);
    let mut standard = String::from("$");
    if !body.is_empty() && !body.starts_with(['.', '[']) {
        standard.push('.');
    }
    let mut chars = body.chars().peekable();
    let mut inside_brackets = 0usize;
    let mut name = String::new();
    let mut has_escape = false;
    let flush = |standard: &mut String, name: &mut String, has_escape: &mut bool| {
        if name.is_empty() {
            return;
        }
        // RFC 9535 allows only such names behind a dot: `app-name` needs brackets.
        let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '*');
        if (*has_escape || !plain) && standard.ends_with('.') {
            standard.pop();
            standard.push_str(&format!("['{}']", name.replace('\'', "\\'")));
        } else {
            standard.push_str(name);
        }
        name.clear();
        *has_escape = false;
    };
    while let Some(c) = chars.next() {
        match c {
            '[' => {
                flush(&mut standard, &mut name, &mut has_escape);
                inside_brackets += 1;
                standard.push(c);
            }
            ']' => {
                inside_brackets = inside_brackets.saturating_sub(1);
                standard.push(c);
            }
            _ if inside_brackets > 0 => standard.push(c),
            '\\' if chars.peek() == Some(&'.') => {
                chars.next();
                name.push('.');
                has_escape = true;
            }
            '.' => {
                flush(&mut standard, &mut name, &mut has_escape);
                standard.push('.');
            }
            c => name.push(c),
        }
    }
    flush(&mut standard, &mut name, &mut has_escape);
    // `{.}` is the whole value.
    if standard == "$." {
        standard.pop();
    }
    // An invalid path must be refused here, because rendering ignores the errors of a query.
    jsonpath_rust::parser::parse_json_path(&standard).map_err(|_| TemplateError::Path(path.to_owned()))?;
    Ok(standard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(template: &str) -> String {
        let value = json!({"kind": "List", "items": [
            {"metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x"}}, "n": 1,
                "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Healthy", "status": "False"}]}},
            {"metadata": {"name": "b"}, "n": 2}]});
        PathTemplate::parse(template).unwrap().render(&value)
    }

    #[test]
    fn templates_render_as_kubectl_renders_them() {
        assert_eq!(render("{.kind}"), "List");
        assert_eq!(render("{.items[*].metadata.name}"), "a b");
        assert_eq!(render("{.items[0].n}{\"\\n\"}"), "1\n");
        assert_eq!(render("{.items[-1].metadata.name}"), "b");
        assert_eq!(render("{range .items[*]}{.metadata.name}={.n};{end}"), "a=1;b=2;");
        assert_eq!(render(r#"{.items[0].status.conditions[?(@.type=="Ready")].status}"#), "True");
        assert_eq!(render(r"{.items[0].metadata.labels.app\.kubernetes\.io/name}"), "x");
        assert_eq!(render("{.items[0].metadata.labels['app.kubernetes.io/name']}"), "x");
        assert_eq!(render("{..name}"), "a b");
        assert_eq!(render("{$.kind} and {@.kind}"), "List and List");
        assert_eq!(render("{.nope.nothing}"), "");
        assert_eq!(render("{.items[0].status.conditions[0]}"), r#"{"type":"Ready","status":"True"}"#);
    }

    #[test]
    fn broken_templates_are_refused() {
        assert_eq!(PathTemplate::parse("{.a"), Err(TemplateError::Unclosed));
        assert_eq!(PathTemplate::parse("{range .a}"), Err(TemplateError::Range));
        assert_eq!(PathTemplate::parse("{end}"), Err(TemplateError::Range));
        assert_eq!(PathTemplate::parse("{.a[}"), Err(TemplateError::Path(".a[".into())));
    }
}
