//! The nearest known word to a mistyped one.

/// Returns the candidate that the user most likely meant, ignoring case. A candidate qualifies if its Jaro-Winkler
/// similarity to `word` is at least 0.75 (the measure of clap's suggestions), if it differs from `word` by one typing
/// error (the measure misses those in short words: `tow` for `two`), or if it begins with `word` (`git` for
/// `GitRepository`).
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| {
            let candidate = c.to_lowercase();
            // Among words of two letters nearly every word is one error away from another.
            let slip = candidate.chars().count() > 2 && strsim::osa_distance(&word, &candidate) <= 1;
            let begun = word.chars().count() > 2 && candidate.starts_with(&word);
            let likeness = strsim::jaro_winkler(&word, &candidate);
            (if slip || begun { likeness.max(0.9) } else { likeness }, c)
        })
        .filter(|(score, _)| *score >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        assert_eq!(nearest("podinf", ["flux", "podinfo"]), Some("podinfo"));
        assert_eq!(nearest("tow", ["one", "two"]), Some("two"));
        assert_eq!(nearest("git", ["Bucket", "GitRepository"]), Some("GitRepository"));
        assert_eq!(nearest("zzz", ["flux", "podinfo"]), None);
    }
}
