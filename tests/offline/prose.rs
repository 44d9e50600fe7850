//! The part of plain English that a machine can check: how comments and names of functions begin, how messages negate, and that
//! a type name is a noun with one meaning.
//!
//! Each list of exceptions can only shrink: an entry that is no longer needed fails the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::architecture::{assert_none, files_below, root};

/// Words that hide the subject of a sentence. A comment names its subject, or begins with a verb.
const HIDDEN_SUBJECTS: &[&str] = &["Who", "Whoever", "Whom", "Whose", "What", "Whatever", "Nobody", "Somebody", "One"];

/// Words that hide the actor in a name: `a_cause_is_told`, `asks_nobody`.
const HIDDEN_ACTORS: &[&str] = &["told", "said", "heard", "nobody", "whoever", "whom"];

/// Type names that end like a participle. `Reconciled` is a trait.
const NOUNS: &[&str] = &["Need", "Reconciled"];

/// Names of several types. `Args` and `Command` are clap's convention for a command and its subcommands.
const SHARED_TYPE_NAMES: &[&str] =
    &["Args", "Command", "LabelSelector", "Progress", "QuietTerminal", "Reason", "Source", "Status", "Target", "Text"];

struct Source {
    path: String,
    text: String,
}

/// The Rust sources below some folders of the checkout.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    for folder in folders {
        files_below(&root().join(folder), &mut files);
    }
    let path = |file: &Path| file.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
    files.iter().map(|file| Source { path: path(file), text: fs::read_to_string(file).expect("UTF-8") }).collect()
}

/// Fails with the lines that match.
fn check(rule: &str, sources: &[Source], matches: impl Fn(&Source) -> Vec<(usize, String)>) {
    let wrong = sources.iter().flat_map(|source| {
        matches(source).into_iter().map(|(number, line)| format!("{}:{number}: {line}", source.path))
    });
    assert_none(rule, &wrong.collect::<Vec<_>>());
}

/// The marker and the text of a line that holds only a comment.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker))?;
    Some((marker, line[marker.len()..].trim()))
}

/// The first lines of comments and of their paragraphs, with their numbers.
fn beginnings(text: &str) -> Vec<(usize, &str)> {
    let mut begun = Vec::new();
    let mut before = None;
    for (index, line) in text.lines().enumerate() {
        let now = comment(line);
        if let Some((marker, words)) = now
            && before.is_none_or(|(above, words): (&str, &str)| above != marker || words.is_empty())
        {
            begun.push((index + 1, words));
        }
        before = now;
    }
    begun
}

#[test]
fn a_comment_begins_with_its_subject() {
    let hidden = Regex::new(&format!(r"^({})\b", HIDDEN_SUBJECTS.join("|"))).expect("a pattern");
    assert!(hidden.is_match("What is left") && !hidden.is_match("Whether it is left"));
    let all = sources(&["src", "cmd", "crates", "tests", "tools"]);
    check("a comment begins with its subject or a verb", &all, |source| {
        let begun = beginnings(&source.text).into_iter().filter(|(_, words)| hidden.is_match(words));
        begun.map(|(number, words)| (number, words.to_owned())).collect()
    });
}

#[test]
fn a_function_name_begins_with_its_subject_or_a_verb() {
    // In a name, "one" is a number.
    let subjects = HIDDEN_SUBJECTS.iter().filter(|word| **word != "One").map(|word| word.to_lowercase());
    let subjects = subjects.collect::<Vec<_>>().join("|");
    let hidden = Regex::new(&format!(r"^\s*(?:pub(?:\([^)]*\))? )?(?:async )?fn (?:{subjects})_")).expect("a pattern");
    assert!(hidden.is_match("async fn what_is_left_is_deleted() {") && !hidden.is_match("fn whole() {"));
    let all = sources(&["src", "cmd", "crates", "tests", "tools"]);
    check("a name of a function begins with its subject or a verb", &all, |source| {
        let named = source.text.lines().enumerate().filter(|(_, line)| hidden.is_match(line));
        named.map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
    });
}

#[test]
fn a_function_name_shows_the_actor() {
    let name = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)").expect("a pattern");
    let hides =
        |line: &str| name.captures(line).is_some_and(|found| found[1].split('_').any(|w| HIDDEN_ACTORS.contains(&w)));
    assert!(hides("fn a_cause_is_told() {") && !hides("fn a_cause_is_reported() {"));
    check("a function name shows the actor", &sources(&["src", "cmd", "crates", "tests", "tools"]), |source| {
        let named = source.text.lines().enumerate().filter(|(_, line)| hides(line));
        named.map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
    });
}

#[test]
fn a_type_name_is_not_a_participle() {
    let participle =
        Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) ([A-Z][a-z]+ed)\b").expect("a pattern");
    check("a type name is a noun", &sources(&["src", "cmd", "crates"]), |source| {
        let lines = source
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| participle.captures(line).is_some_and(|found| !NOUNS.contains(&&found[1])));
        lines.map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
    });
}

#[test]
fn a_message_negates_its_verb() {
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*""#).expect("a pattern"));
    // "There is no namespace x" and "x is no longer used" negate a verb; "x is no namespace" does not.
    let noun = Regex::new(r"(?i)(\S+) (?:is|are) no (\w+)").expect("a pattern");
    let is_wrong = |text: &str| {
        let mut found = noun.captures_iter(text);
        found.any(|found| !found[1].to_lowercase().ends_with("there") && &found[2] != "longer")
    };
    assert!(is_wrong("\"x is no namespace\"") && is_wrong("\"`x` is no namespace\""));
    assert!(!is_wrong("\"there is no namespace x\"") && !is_wrong("\"x is no longer used\""));
    check("a message negates its verb", &sources(&["src", "cmd", "crates"]), |source| {
        let code = source.text.lines().enumerate().filter(|(_, line)| comment(line).is_none());
        let wrong = code.filter(|(_, line)| LITERAL.find_iter(line).any(|literal| is_wrong(literal.as_str())));
        wrong.map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
    });
}

#[test]
fn a_type_name_has_one_meaning() {
    // An associated type is indented, and has the name that its trait gives it.
    let declared = Regex::new(
        r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) ([A-Z]\w*)|^(?:pub(?:\([^)]*\))? )?type ([A-Z]\w*)",
    )
    .expect("a pattern");
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources(&["src", "cmd", "crates"]) {
        for found in declared.captures_iter(&source.text) {
            let name = found.get(1).or_else(|| found.get(2)).expect("one of both");
            files.entry(name.as_str().to_owned()).or_default().push(source.path.clone());
        }
    }
    let shared: BTreeMap<&str, &Vec<String>> =
        files.iter().filter(|(_, files)| files.len() > 1).map(|(name, files)| (name.as_str(), files)).collect();
    assert!(shared.contains_key("Args"), "the declarations were not found");
    let is_allowed = |name: &str| SHARED_TYPE_NAMES.contains(&name);
    let wrong = shared.iter().filter(|(name, _)| !is_allowed(name));
    let wrong: Vec<String> = wrong.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert_none("a type name has one meaning in the whole tree", &wrong);
    let unique = SHARED_TYPE_NAMES.iter().filter(|name| !shared.contains_key(**name)).map(ToString::to_string);
    assert_none("names that are unique now: delete them from the list", &unique.collect::<Vec<_>>());
}
