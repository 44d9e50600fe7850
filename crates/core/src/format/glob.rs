//! Patterns of `*` (any text) and `?` (any character).

/// Whether a text matches a pattern.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut wanted = pattern.chars();
    let mut left = text.chars();
    match wanted.next() {
        None => text.is_empty(),
        Some('*') => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.filter_map(|at| text.get(at..)).any(|tail| matches(wanted.as_str(), tail))
        }
        Some(one) => left.next().is_some_and(|c| one == '?' || c == one) && matches(wanted.as_str(), left.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text_and_a_question_mark_one_character() {
        for (pattern, text) in [("*", ""), ("a*c", "abbc"), ("a?c", "aüc"), ("*prod*", "eu-prod-1"), ("", "")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a?c", "ac"), ("a*", "ba"), ("", "a"), ("A", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
