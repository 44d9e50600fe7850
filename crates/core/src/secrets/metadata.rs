//! Names, labels and annotations: the API server's rules, checked before anything is sent.
//!
//! Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/> and `labels/#syntax-and-character-set`.

use super::SecretError;
use crate::k8s::names::{is_dns_label, is_dns_subdomain, is_label_key, is_label_value};

/// Checks the name of a Secret: a DNS subdomain of at most 253 characters.
pub fn check_name(name: &str) -> Result<(), SecretError> {
    let wrong = |problem: &str| Err(SecretError::invalid(format!("name `{name}`"), problem));
    if name.is_empty() || name.len() > 253 {
        return wrong("use 1 to 253 characters");
    }
    if !is_dns_subdomain(name) {
        return wrong("use lower-case letters, digits, `-` and `.`, with a letter or digit at both ends of each part");
    }
    Ok(())
}

/// Checks the name of a namespace: a DNS label of at most 63 characters.
pub fn check_namespace(name: &str) -> Result<(), SecretError> {
    if is_dns_label(name) {
        return Ok(());
    }
    let problem = "use at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends";
    Err(SecretError::invalid(format!("namespace `{name}`"), problem))
}

/// Checks key and value of a label.
fn check_label(key: &str, value: &str) -> Result<(), SecretError> {
    check_key("label", key)?;
    if is_label_value(value) {
        return Ok(());
    }
    let problem = "a value is at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends";
    Err(SecretError::invalid(format!("label `{key}`"), problem))
}

/// Checks an annotation: its key has rules, its value is free text.
fn check_annotation(key: &str) -> Result<(), SecretError> {
    check_key("annotation", key)
}

fn check_key(what: &str, key: &str) -> Result<(), SecretError> {
    if is_label_key(key) {
        return Ok(());
    }
    let problem = "a key is an optional DNS name and `/`, then at most 63 letters, digits, `-`, `_` and `.`";
    Err(SecretError::invalid(format!("{what} `{key}`"), problem))
}

/// Splits `k=v` or `k=v,k=v` into labels, whose values cannot contain a comma.
///
/// # Errors
/// A part without `=`, or one that breaks the rules of labels.
pub fn parse_pairs(text: &str) -> Result<Vec<(String, String)>, SecretError> {
    text.split(',')
        .map(|part| {
            let (key, value) = pair("label", part)?;
            check_label(key, value)?;
            Ok((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Splits `k=v` or `k=v,k=v` into annotations, whose values are free text.
///
/// A comma ends a value only if what follows looks like the next `key=`; other commas belong to the text.
///
/// # Errors
/// A text without `=`, or a key that breaks the rules.
pub fn parse_text_pairs(text: &str) -> Result<Vec<(String, String)>, SecretError> {
    let mut pairs: Vec<(String, String)> = vec![];
    for part in text.split(',') {
        let starts_pair = part.split_once('=').is_some_and(|(key, _)| is_label_key(key));
        match pairs.last_mut() {
            Some((_, value)) if !starts_pair => {
                value.push(',');
                value.push_str(part);
            }
            _ => {
                let (key, value) = pair("annotation", part)?;
                check_annotation(key)?;
                pairs.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    Ok(pairs)
}

fn pair<'a>(what: &str, text: &'a str) -> Result<(&'a str, &'a str), SecretError> {
    text.split_once('=').ok_or_else(|| SecretError::invalid(format!("{what} `{text}`"), "write it as key=value"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_follow_the_rules_of_dns() {
        for name in ["a", "git-auth", "a.b", "0x", &"a".repeat(253)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "A", "-a", "a-", "a..b", ".a", "a_b", "ü", &"a".repeat(254)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_namespace("a.b").is_err());
    }

    #[test]
    fn label_values_are_restricted_and_annotation_values_are_not() {
        assert_eq!(parse_pairs("team=a,tier=").unwrap(), [("team".into(), "a".into()), ("tier".into(), String::new())]);
        for text in ["team", "team=a b", "=a", "a/b/c=d", "x.io/=v", "team=http://x"] {
            assert!(parse_pairs(text).is_err(), "{text}");
        }
        let pairs = parse_text_pairs("example.com/note=see http://x/?a=b, then wait,b=2").unwrap();
        assert_eq!(pairs[0], ("example.com/note".into(), "see http://x/?a=b, then wait".into()));
        assert_eq!(pairs[1], ("b".into(), "2".into()));
        assert!(parse_text_pairs("no value").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in ".{0,60}") {
            for pairs in [parse_pairs(&text), parse_text_pairs(&text)].into_iter().flatten() {
                let joined: Vec<_> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
                prop_assert_eq!(joined.join(","), text.clone());
            }
        }
    }
}
