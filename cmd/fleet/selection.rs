//! Selects contexts for `--contexts`: by names, globs, groups of the configuration file, or lists in files.

use std::collections::BTreeMap;
use std::path::Path;

use flux_operator::format::file::{MAX_CONFIG_BYTES, read_at_most};
use flux_operator::format::nearest::nearest;

use crate::terminal::{CliError, Glob};

/// Prefix of a word that excludes the contexts that it matches.
const EXCLUSION_PREFIX: char = '!';
/// Prefix of a word that is the path of a file with words.
const FILE: char = '@';

/// Contexts in the order of the kubeconfig, and the words that match nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ContextSelection {
    pub contexts: Vec<String>,
    /// Patterns and groups that match no context, as they were written.
    pub unmatched: Vec<String>,
}

/// Replaces `@FILE` by the words in the file: one or more per line, separated by commas; `#` begins a comment.
///
/// # Errors
/// Usage, when a file cannot be read.
pub fn with_files(words: &[String]) -> Result<Vec<String>, CliError> {
    let mut all = vec![];
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        match word.strip_prefix(FILE) {
            Some(file) => all.extend(words_of_file(Path::new(file))?),
            None => all.push(word.to_owned()),
        }
    }
    Ok(all)
}

fn words_of_file(file: &Path) -> Result<Vec<String>, CliError> {
    let refused = || CliError::usage(format!("cannot read the contexts in {}", file.display()));
    let bytes = read_at_most(file, MAX_CONFIG_BYTES).map_err(|e| refused().caused_by(&e))?;
    let text = String::from_utf8(bytes).map_err(|_| refused().cause("the file is not text in UTF-8"))?;
    // A `#` inside a word belongs to the name.
    let uncommented = |line: &str| {
        let comment = line.char_indices().find(|(at, c)| {
            *c == '#'
                && line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace))
        });
        line.get(..comment.map_or(line.len(), |(at, _)| at)).unwrap_or_default().to_owned()
    };
    // Editors on Windows write a byte order mark.
    let lines = text.trim_start_matches('\u{feff}').lines().map(uncommented);
    let words = lines.flat_map(|line| line.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>());
    Ok(words.filter(|word| !word.is_empty()).collect())
}

/// Selects contexts. Exclusions take precedence regardless of their position. If all words exclude, they start from all
/// contexts.
///
/// # Errors
/// Usage: a word is not a pattern, a plain name is not a context, or nothing is left.
pub fn select(
    words: &[String],
    groups: &BTreeMap<String, Vec<String>>,
    known: &[String],
) -> Result<ContextSelection, CliError> {
    let mut selection = ContextSelection::default();
    let (mut included, mut excluded) = (vec![], vec![]);
    for word in words {
        let (name, is_exclusion) = negated(word);
        let patterns = match groups.get(name) {
            Some(patterns) => patterns.iter().map(|pattern| parsed(pattern)).collect::<Result<Vec<_>, _>>()?,
            None => vec![(parsed(name)?.0, false)],
        };
        // The exclusions in a group apply only to that group.
        let is_in_group = |context: &String| {
            let matches = |wanted: bool| patterns.iter().any(|(glob, not)| *not == wanted && glob.matches(context));
            (matches(false) || patterns.iter().all(|(_, not)| *not)) && !matches(true)
        };
        let matched: Vec<&String> = known.iter().filter(|context| is_in_group(context)).collect();
        if matched.is_empty() {
            let names_group = |pattern: &String| groups.contains_key(negated(pattern).0);
            if groups.get(name).is_some_and(|patterns| patterns.iter().any(names_group)) {
                return Err(CliError::usage(format!("no context matches {name}"))
                    .cause(format!(
                        "a pattern in the group {name} is the name of another group, and groups hold contexts only"
                    ))
                    .hint("name both groups, with a comma between"));
            }
            let is_plain = !groups.contains_key(name) && !name.contains(['*', '?']);
            if is_plain {
                return Err(unknown_context(name, groups, known));
            }
            selection.unmatched.push(word.clone());
        }
        if is_exclusion { &mut excluded } else { &mut included }.extend(matched);
    }
    // An empty variable or file must not select every cluster.
    if words.is_empty() {
        return Err(CliError::usage("--contexts does not name any context").hint("--contexts '*' asks every cluster"));
    }
    let only_excludes = words.iter().all(|word| negated(word).1);
    let is_selected = |context: &&String| (only_excludes || included.contains(context)) && !excluded.contains(context);
    selection.contexts = known.iter().filter(is_selected).cloned().collect();
    if selection.contexts.is_empty() {
        let what = words.join(",");
        let error = CliError::usage(format!("no context matches {what}"));
        return Err(match known {
            [] => error.cause("the kubeconfig has no contexts"),
            known => error.hint(format!("contexts: {}", listed(known))),
        });
    }
    Ok(selection)
}

/// A pattern and whether it excludes.
fn parsed(pattern: &str) -> Result<(Glob, bool), CliError> {
    let (pattern, is_exclusion) = negated(pattern);
    let glob = pattern.parse().map_err(|problem: String| CliError::usage(problem))?;
    Ok((glob, is_exclusion))
}

fn negated(word: &str) -> (&str, bool) {
    word.strip_prefix(EXCLUSION_PREFIX).map_or((word, false), |rest| (rest.trim_start(), true))
}

/// Returns the error for a plain name without a context, because the cluster would otherwise be left out silently.
fn unknown_context(name: &str, groups: &BTreeMap<String, Vec<String>>, known: &[String]) -> CliError {
    let error = CliError::usage(format!("there is no context and no group named {name}"));
    let names = known.iter().chain(groups.keys()).map(String::as_str);
    match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None if known.is_empty() => error.hint("the kubeconfig has no contexts"),
        None => error.hint(format!("contexts: {}", listed(known))),
    }
}

/// Formats the first names, because a kubeconfig may contain hundreds.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn chosen(words: &[&str]) -> Result<Vec<String>, String> {
        let known = texts(&["prod-eu", "prod-us", "prod-legacy", "dev", "arn:aws:eks:eu-1:1:cluster/a"]);
        let groups = BTreeMap::from([
            ("live".to_owned(), texts(&["prod-*", "!prod-legacy"])),
            ("empty".to_owned(), texts(&["none-*"])),
            ("team".to_owned(), texts(&["live"])),
        ]);
        let selection = select(&texts(words), &groups, &known);
        selection.map(|found| found.contexts).map_err(|error| error.text(false))
    }

    #[test]
    fn names_globs_and_groups_select_contexts_in_the_order_of_the_kubeconfig() {
        for (words, wanted) in [
            (&["prod-*"][..], &["prod-eu", "prod-us", "prod-legacy"][..]),
            (&["prod-*", "!prod-legacy"], &["prod-eu", "prod-us"]),
            (&["!prod-legacy", "prod-*"], &["prod-eu", "prod-us"]),
            (&["!prod-*"], &["dev", "arn:aws:eks:eu-1:1:cluster/a"]),
            (&["dev", "prod-eu"], &["prod-eu", "dev"]),
            (&["live"], &["prod-eu", "prod-us"]),
            (&["live", "prod-legacy"], &["prod-eu", "prod-us", "prod-legacy"]),
            (&["*", "!live"], &["prod-legacy", "dev", "arn:aws:eks:eu-1:1:cluster/a"]),
            (&["live", "live", "prod-e?"], &["prod-eu", "prod-us"]),
            (&["arn:*"], &["arn:aws:eks:eu-1:1:cluster/a"]),
            (&["none-*", "dev"], &["dev"]),
        ] {
            assert_eq!(chosen(words).unwrap(), texts(wanted), "{words:?}");
        }
    }

    #[test]
    fn an_unknown_name_and_an_empty_selection_are_usage_errors() {
        for (words, reported) in [
            (&["prod-ue"][..], "did you mean prod-eu?"),
            (&["liv"], "did you mean live?"),
            (&["none-*"], "no context matches none-*"),
            (&["empty"], "no context matches empty"),
            (&["dev", "!dev"], "no context matches dev,!dev"),
            (&["prod-[a]"], "holds a ["),
            (&[], "--contexts '*' asks every cluster"),
            (&["team"], "a pattern in the group team is the name of another group"),
        ] {
            let error = chosen(words).unwrap_err();
            assert!(error.contains(reported), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_pattern_without_a_match_is_reported_beside_the_others() {
        let known = texts(&["a", "b"]);
        let selection = select(&texts(&["a", "c*"]), &BTreeMap::new(), &known).unwrap();
        assert_eq!((selection.contexts, selection.unmatched), (texts(&["a"]), texts(&["c*"])));
    }

    #[test]
    fn a_file_holds_words_with_comments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("contexts");
        std::fs::write(&file, "# production\nprod-*, !prod-legacy\r\n\n dev # for a while\na#b\n").unwrap();
        let word = format!("@{}", file.display());
        let words = with_files(&[word, "x".to_owned()]).unwrap();
        assert_eq!(words, texts(&["prod-*", "!prod-legacy", "dev", "a#b", "x"]));
        let missing = with_files(&texts(&["@/no/such/file"])).unwrap_err().text(false);
        assert!(missing.contains("cannot read the contexts in /no/such/file"), "{missing}");
    }
}
