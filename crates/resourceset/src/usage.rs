//! Finds inputs that no template uses.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::inputs::InputSet;

/// Matches `inputs` as a whole: passed on, printed, stored in a variable, or indexed by a computed key, so that any key
/// may be used.
static WHOLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\binputs\s*\)?\s*(?:-?\s*>>|\||\)|[$(]|$)").ok());

/// Returns the keys that no text uses, sorted. A text with the inputs as a whole uses all of them.
pub(crate) fn unused_keys(texts: &[&str], sets: &[InputSet]) -> Vec<String> {
    let whole = WHOLE.as_ref();
    if texts.iter().any(|text| whole.is_none_or(|whole| whole.is_match(text))) {
        return Vec::new();
    }
    let words: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))))
        // `<<-` and `->>` leave their dash at a word.
        .flat_map(|word| [word, word.trim_matches('-')])
        .collect();
    let keys: BTreeSet<&String> = sets.iter().flat_map(|set| set.values.keys()).collect();
    keys.into_iter()
        .filter(|key| {
            // Keys with other characters can only be used in quotes.
            let is_word = key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            let is_named = match is_word {
                true => words.contains(key.as_str()),
                false => texts.iter().any(|text| text.contains(key.as_str())),
            };
            // The operator adds these two itself.
            !is_named && !matches!(key.as_str(), "id" | "provider")
        })
        .cloned()
        .collect()
}
