//! Masks secrets in texts with only a line structure: logs, and templates that are not YAML yet. Pure.

use std::collections::BTreeSet;

use super::MASK;
use super::names::names_credential;
use super::words::is_credential_value;

/// Whether a text has fields on several lines, or a list of fields.
pub(super) fn has_fields(text: &str) -> bool {
    let is_field = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        let name = line.split_once(": ").map(|(name, _)| name).or_else(|| line.trim_end().strip_suffix(':'));
        name.is_some_and(|name| !name.is_empty() && !name.trim_matches(['"', '\'']).contains([' ', '"', '\'', '{']))
    };
    // A quoted text may hold lines that are written as escapes.
    (text.contains('\n') || text.contains("\\n")) && text.lines().any(is_field)
}

/// Removes the colour sequences that programs write for terminals, because they can separate a name from its value.
pub(super) fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let length = after.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        rest = after.get(length..).and_then(|end| end.strip_prefix('m')).unwrap_or(after);
    }
    plain + rest
}

/// Masks values below `data:` and `stringData:` in a text that names a Secret or ConfigMap but cannot be parsed, such
/// as a template.
pub(super) fn without_data_of_templates(text: &str) -> (String, usize) {
    let field = |line: &str| line.trim().trim_start_matches("- ").replace(['"', '\'', ' '], "");
    let is_kind = |line: &str| matches!(field(line).as_str(), "kind:Secret" | "kind:ConfigMap");
    if !text.contains('\n') || !(text.lines().any(is_kind) || text.contains("stringData:")) {
        return (text.to_owned(), 0);
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let (mut cleaned, mut count) = (String::with_capacity(text.len()), 0);
    let mut below: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if below.is_some_and(|outer| !is_blank && indent(line) <= outer) {
            below = None;
        }
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        let name = ["data:", "stringData:", "binaryData:"].into_iter().find(|name| field(line).starts_with(name));
        let (kept, is_value) = match (below, name) {
            (Some(_), _) if is_blank => (content, false),
            (Some(_), _) => (content.get(..indent(content)).unwrap_or_default(), true),
            (None, Some(_)) => {
                below = Some(indent(line));
                let after = content.find(':').map_or(content.len(), |at| at + 1);
                (content.get(..after).unwrap_or(content), content.len() > after && !content.ends_with(MASK))
            }
            _ => (content, false),
        };
        cleaned.push_str(kept);
        if is_value {
            cleaned.push_str(if below.is_some() && name.is_some() && kept.ends_with(':') { " " } else { "" });
            cleaned.push_str(MASK);
            count += usize::from(!content.trim().ends_with(MASK));
        }
        cleaned.push_str(end);
    }
    (cleaned, count)
}

/// Masks values on the lines below the name of a credential: a block, a list, or a text on a separate line. It keeps
/// the number of lines.
pub(super) fn without_values_below_names(text: &str) -> (String, usize) {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let ends_in_name = |line: &str| {
        let (name, rest) = line.trim().trim_start_matches("- ").rsplit_once(':')?;
        let is_open = matches!(
            rest.trim().trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c)),
            "" | "|" | ">" | "["
        );
        (is_open && names_credential(name.trim_matches(['"', '\'']))).then(|| indent(line))
    };
    let (mut cleaned, mut count) = (String::with_capacity(text.len()), 0);
    let mut below: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let is_item = content.trim_start().starts_with("- ");
        if below.is_some_and(|outer| indent(line) < outer || (indent(line) == outer && !is_item)) {
            below = None;
        }
        let value = content.trim().trim_start_matches("- ").trim_end_matches(',');
        let is_field = value.contains(": ") || value.contains("\":") || value.ends_with([':', '{', '}', '[', ']']);
        let is_value =
            below.is_some() && !is_field && is_credential_value("", value.trim_matches(['"', '\'']), &BTreeSet::new());
        match (is_value, content.find(value)) {
            (true, Some(at)) => {
                cleaned.push_str(content.get(..at).unwrap_or_default());
                cleaned.push_str(MASK);
                cleaned.push_str(line.get(at + value.len()..).unwrap_or_default());
                count += 1;
            }
            _ => cleaned.push_str(line),
        }
        below = ends_in_name(content).or(below);
    }
    (cleaned, count)
}

/// Returns the number of lines of a key block at the first line, also if the log cut off its beginning.
pub(super) fn key_block_lines(lines: &[String]) -> usize {
    /// The longest key in use, RSA with 16,384 bits, has about 200 lines.
    const LONGEST: usize = 400;
    let Some(first) = lines.first() else { return 0 };
    let marks = |line: &str, word: &str| line.contains(word) && line.contains("PRIVATE KEY") && line.contains("--");
    let is_body = |line: &String| {
        let last = line.trim().trim_end_matches(['"', '\'']).rsplit([' ', '\t', '"', '\'']).next().unwrap_or_default();
        last.len() >= 16 && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
    };
    let ends = |lines: &[String]| lines.iter().take(LONGEST).position(|line| marks(line, "END ")).map(|at| at + 1);
    if marks(first, "BEGIN ") {
        if marks(first, "END ") {
            return 0;
        }
        let body = lines.iter().skip(1).take_while(|line| is_body(line)).count();
        // If another key begins before this end marker, the marker belongs to that key, and the first key was cut off.
        let begins_again = |length: &usize| lines.iter().take(*length).skip(1).any(|line| marks(line, "BEGIN "));
        return ends(lines).filter(|length| !begins_again(length)).unwrap_or(1 + body);
    }
    if !is_body(first) {
        return 0;
    }
    let body = lines.iter().take_while(|line| is_body(line)).count();
    let is_end = lines.get(body).is_some_and(|line| marks(line, "END ") && !marks(line, "BEGIN "));
    if is_end { body + 1 } else { 0 }
}
