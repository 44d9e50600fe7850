//! Splits the text of an expression at operators outside of brackets and strings.
//!
//! The parser does not keep positions, but an explanation has to quote parts of the text as its author wrote them.

/// A byte of the text outside of strings, with the number of open brackets before it.
struct CodeByte {
    at: usize,
    byte: u8,
    depth: usize,
}

/// Returns the bytes of a text that are not within a string or a comment.
fn positions(text: &str) -> Vec<CodeByte> {
    let bytes = text.as_bytes();
    let mut found = vec![];
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'\'' | b'"' => {
                // A backslash escapes nothing in a raw string.
                let is_raw = at > 0 && matches!(bytes.get(at - 1), Some(b'r' | b'R'));
                found.push(CodeByte { at, byte, depth });
                at = end_of_string(bytes, at, is_raw);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at +=
                    bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')).unwrap_or(bytes.len());
                continue;
            }
            // A closing bracket has the depth of its opening one.
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        found.push(CodeByte { at, byte, depth });
        if matches!(byte, b'(' | b'[' | b'{') {
            depth += 1;
        }
        at += 1;
    }
    found
}

/// Returns the index after the string that begins at a quote.
fn end_of_string(bytes: &[u8], start: usize, is_raw: bool) -> usize {
    let quote = bytes.get(start).copied().unwrap_or(b'"');
    let triple = [quote; 3];
    let is_triple = bytes.get(start..start + 3) == Some(&triple);
    let mut at = start + if is_triple { 3 } else { 1 };
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'\\' if !is_raw => at += 2,
            _ if is_triple && bytes.get(at..at + 3) == Some(&triple) => return at + 3,
            _ if !is_triple && byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the maximum depth of nested brackets.
pub(crate) fn depth(text: &str) -> usize {
    positions(text).iter().map(|position| position.depth + 1).max().unwrap_or_default()
}

/// Splits a text at an operator outside of brackets. Returns one part if the operator does not occur.
pub(crate) fn parts<'t>(text: &'t str, operator: &str) -> Vec<&'t str> {
    let bytes = text.as_bytes();
    let mut parts = vec![];
    let mut start = 0;
    for position in positions(text).iter().filter(|position| position.depth == 0) {
        if position.at >= start && bytes.get(position.at..).is_some_and(|rest| rest.starts_with(operator.as_bytes())) {
            parts.extend(text.get(start..position.at));
            start = position.at + operator.len();
        }
    }
    parts.extend(text.get(start..));
    parts.into_iter().map(str::trim).collect()
}

/// Whether a text has the conditional operator outside of brackets. `.?` and `[?` belong to optional values.
pub(crate) fn is_conditional(text: &str) -> bool {
    let bytes = text.as_bytes();
    positions(text).iter().any(|position| {
        let before = position.at.checked_sub(1).and_then(|before| bytes.get(before));
        position.depth == 0 && position.byte == b'?' && !matches!(before, Some(b'.' | b'['))
    })
}

/// Returns the text within brackets that enclose all of it, without those brackets.
pub(crate) fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        // `(a) && (b)` begins and ends with brackets that do not belong together.
        let closes_early = positions(text)
            .iter()
            .any(|position| position.depth == 0 && position.byte == b')' && position.at + 1 < text.len());
        if closes_early {
            break;
        }
        text = inner.trim();
    }
    text
}

// Longer operators first, because `<` is the beginning of `<=`.
const COMPARISONS: [&str; 7] = ["==", "!=", "<=", ">=", "<", ">", " in "];

/// Returns the two sides of a comparison outside of brackets.
pub(crate) fn comparison(text: &str) -> Option<[&str; 2]> {
    COMPARISONS.into_iter().find_map(|operator| match parts(text, operator).as_slice() {
        [left, right] if !left.is_empty() && !right.is_empty() => Some([*left, *right]),
        _ => None,
    })
}

/// A loop over a list at the end of a text: `LIST.all(NAME, CONDITION)`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListLoop<'t> {
    pub(crate) list: &'t str,
    pub(crate) macro_name: &'t str,
    pub(crate) variable: &'t str,
    pub(crate) condition: &'t str,
}

/// Returns the loop of `all` or `exists` that a text ends with.
pub(crate) fn list_loop(text: &str) -> Option<ListLoop<'_>> {
    let open = positions(text).iter().rev().find(|position| position.depth == 0 && position.byte == b'(')?.at;
    let inner = text.get(open + 1..)?.strip_suffix(')')?;
    let (list, macro_name) = text.get(..open)?.rsplit_once('.')?;
    let [variable, condition] = parts(inner, ",").try_into().ok()?;
    let is_known = ["all", "exists"].contains(&macro_name.trim());
    is_known.then_some(ListLoop { list: list.trim(), macro_name: macro_name.trim(), variable, condition })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parted_outside_of_brackets_and_strings() {
        let rows: [(&str, &[&str]); 6] = [
            ("a && b", &["a", "b"]),
            ("(a && b) || c", &["(a && b) || c"]),
            ("a == '&&' && x['&&'] == \"\\\"&&\"", &["a == '&&'", "x['&&'] == \"\\\"&&\""]),
            ("a == r'\\' && b", &["a == r'\\'", "b"]),
            ("a == '''it's && ''' && b", &["a == '''it's && '''", "b"]),
            ("a // && c\n && b", &["a // && c", "b"]),
        ];
        for (text, expected) in rows {
            assert_eq!(parts(text, "&&"), expected, "{text}");
        }
    }

    #[test]
    fn brackets_around_the_whole_text_are_removed() {
        assert_eq!(unwrapped(" ((a && b)) "), "a && b");
        assert_eq!(unwrapped("(a) && (b)"), "(a) && (b)");
        assert_eq!(unwrapped("('(' == a)"), "'(' == a");
    }

    #[test]
    fn comparisons_loops_and_conditionals_are_recognised() {
        assert_eq!(comparison("a.b >= 3"), Some(["a.b", "3"]));
        assert_eq!(comparison("'a' in b"), Some(["'a'", "b"]));
        assert_eq!(comparison("x.all(e, e == 1)"), None);
        let found = list_loop("a.b.filter(e, e.x).all(e, e.y == 'z, 1')").unwrap();
        assert_eq!((found.list, found.variable, found.condition), ("a.b.filter(e, e.x)", "e", "e.y == 'z, 1'"));
        assert_eq!(list_loop("a.size()"), None);
        assert!(
            is_conditional("a ? b : c") && !is_conditional("a.?b.orValue(1) == 1") && !is_conditional("f(a ? b : c)")
        );
        assert_eq!(depth("a[b(c)]"), 3);
    }
}
