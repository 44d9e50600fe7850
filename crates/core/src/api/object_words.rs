//! Words that name objects: `KIND`, `KIND NAME…` or `KIND/NAME…`, as in kubectl, with the flux CLI's names of kinds.
//!
//! This module does not resolve kinds, because the accepted kinds depend on the caller.

use std::collections::HashSet;

/// The meaning of words that name kinds or objects.
#[derive(Debug, PartialEq, Eq)]
pub enum ObjectWords<'a> {
    /// Every object of these kinds.
    Kinds(Vec<&'a str>),
    /// Objects by kind and name, without duplicates.
    Objects(Vec<(&'a str, &'a str)>),
}

/// The flux CLI's two words for a kind, and the kind (<https://fluxcd.io/flux/cmd/flux_get/>).
const KINDS_OF_TWO_WORDS: [(&str, &str, &str); 10] = [
    ("source", "git", "GitRepository"),
    ("source", "oci", "OCIRepository"),
    ("source", "helm", "HelmRepository"),
    ("source", "chart", "HelmChart"),
    ("source", "bucket", "Bucket"),
    ("source", "external", "ExternalArtifact"),
    ("artifact", "generator", "ArtifactGenerator"),
    ("image", "repository", "ImageRepository"),
    ("image", "policy", "ImagePolicy"),
    ("image", "update", "ImageUpdateAutomation"),
];
/// Words for objects of any kind, which may precede objects: `suspend resource ks/app`.
pub const ANY_KIND: [&str; 2] = ["resource", "resources"];

/// The reason why words do not name objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidObjectWords {
    #[error("`{words}` does not name an object")]
    Unclear { words: String },
    #[error("`{word}` mixes KIND/NAME with a kind given first")]
    Mixed { word: String },
}

impl InvalidObjectWords {
    /// Returns how to write the words.
    pub fn hint(&self) -> &'static str {
        match self {
            InvalidObjectWords::Unclear { .. } => "write KIND/NAME, for example ks/podinfo",
            InvalidObjectWords::Mixed { .. } => "write every object as KIND/NAME",
        }
    }
}

impl<'a> ObjectWords<'a> {
    /// Reads words. Several kinds before names are separated by commas. Without words, the list of kinds is empty.
    ///
    /// # Errors
    /// A part of `KIND/NAME` is empty or has a slash itself, or `KIND/NAME` follows a kind.
    pub fn read(words: &'a [String]) -> Result<Self, InvalidObjectWords> {
        let words: Vec<&str> = strip_any_kind(words).iter().map(String::as_str).collect();
        let (kinds, first_name, rest) = leading_kinds(&words);
        if first_name.is_none() && rest.is_empty() {
            return Ok(ObjectWords::Kinds(kinds));
        }
        let mut objects = vec![];
        for name in first_name.into_iter().chain(rest.iter().copied()) {
            match (kinds.as_slice(), name.contains('/')) {
                (_, true) if kinds.is_empty() || first_name.is_some() => objects.push(object(name)?),
                ([], false) => return Err(InvalidObjectWords::Unclear { words: name.to_owned() }),
                (_, true) => return Err(InvalidObjectWords::Mixed { word: name.to_owned() }),
                (kinds, false) => objects.extend(kinds.iter().map(|kind| (*kind, name))),
            }
        }
        let mut seen = HashSet::new();
        objects.retain(|object| seen.insert(*object));
        Ok(ObjectWords::Objects(objects))
    }

    /// Reads words that have to name objects.
    ///
    /// # Errors
    /// As [`ObjectWords::read`], and a kind without a name.
    pub fn objects(words: &'a [String]) -> Result<Vec<(&'a str, &'a str)>, InvalidObjectWords> {
        match ObjectWords::read(words)? {
            ObjectWords::Objects(objects) => Ok(objects),
            ObjectWords::Kinds(_) => Err(InvalidObjectWords::Unclear { words: words.join(" ") }),
        }
    }
}

/// Returns the words without the older `resource` in front of an object.
pub fn strip_any_kind(words: &[String]) -> &[String] {
    match words {
        [any, rest @ ..] if ANY_KIND.contains(&any.as_str()) && !rest.is_empty() => rest,
        words => words,
    }
}

/// Splits words into the leading kinds, a name attached to them (`source git/app`), and the remaining words.
fn leading_kinds<'a, 'w>(words: &'w [&'a str]) -> (Vec<&'a str>, Option<&'a str>, &'w [&'a str]) {
    if let [first, second, rest @ ..] = words {
        let (second, name) = second.split_once('/').map_or((*second, None), |(kind, name)| (kind, Some(name)));
        let kinds = kinds_of_two_words(first, second);
        if !kinds.is_empty() {
            return (kinds, name, rest);
        }
    }
    match words {
        [first, names @ ..] if !first.contains('/') => {
            (first.split(',').filter(|kind| !kind.is_empty()).collect(), None, names)
        }
        objects => (vec![], None, objects),
    }
}

/// Returns the kinds for two words of the flux CLI: `source git` is one kind, and `sources all` are all kinds of the
/// group. Other words return an empty list.
pub fn kinds_of_two_words(first: &str, second: &str) -> Vec<&'static str> {
    let (first, second) = (singular(first), singular(second));
    let rows = KINDS_OF_TWO_WORDS.iter().filter(|(one, two, _)| *one == first && (second == "all" || *two == second));
    rows.map(|(.., kind)| *kind).collect()
}

/// Returns the flux CLI's names for the kinds of a group, such as `source git`. One typing error in `word` is accepted.
/// Other words return an empty list.
pub fn kinds_of_group(word: &str) -> Vec<String> {
    let group = singular(word);
    let rows = KINDS_OF_TWO_WORDS.iter().filter(|(one, ..)| strsim::osa_distance(one, &group) <= 1);
    rows.map(|(one, two, _)| format!("{one} {two}")).collect()
}

/// Returns the second words of the kinds with this first word: `git`, `oci` and others for `source`.
pub fn second_words(first: &str) -> Vec<&'static str> {
    let first = singular(first);
    KINDS_OF_TWO_WORDS.iter().filter(|(one, ..)| *one == first).map(|(_, two, _)| *two).collect()
}

/// `git` for `Gits`, `policy` for `policies`.
fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(&word).to_owned(),
    }
}

/// Reads one object, `KIND/NAME`.
///
/// # Errors
/// A part is missing, or there is a second slash.
pub fn object(word: &str) -> Result<(&str, &str), InvalidObjectWords> {
    word.split_once('/')
        .filter(|(kind, name)| !kind.is_empty() && !name.is_empty() && !name.contains('/'))
        .ok_or_else(|| InvalidObjectWords::Unclear { words: word.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_name_kinds_or_objects_each_once() {
        for (text, kinds) in [
            ("", vec![]),
            ("ks", vec!["ks"]),
            ("ks,hr", vec!["ks", "hr"]),
            ("resources", vec!["resources"]),
            ("image repositories", vec!["ImageRepository"]),
            ("images all", vec!["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"]),
        ] {
            assert_eq!(ObjectWords::read(&words(text)), Ok(ObjectWords::Kinds(kinds)), "{text}");
        }
        for (text, objects) in [
            ("ks a b a", vec![("ks", "a"), ("ks", "b")]),
            ("ks/a deploy/b", vec![("ks", "a"), ("deploy", "b")]),
            ("ks,hr a", vec![("ks", "a"), ("hr", "a")]),
            ("resource ks/a", vec![("ks", "a")]),
            ("resources ks a", vec![("ks", "a")]),
            ("source git a b", vec![("GitRepository", "a"), ("GitRepository", "b")]),
            ("Sources Gits a", vec![("GitRepository", "a")]),
            ("source git/a hr/b", vec![("GitRepository", "a"), ("hr", "b")]),
            ("images policies a", vec![("ImagePolicy", "a")]),
            ("artifact generator/a", vec![("ArtifactGenerator", "a")]),
            // Names that look like a kind or a noun.
            ("ks git", vec![("ks", "git")]),
            ("ks all resources", vec![("ks", "all"), ("ks", "resources")]),
        ] {
            assert_eq!(ObjectWords::read(&words(text)), Ok(ObjectWords::Objects(objects)), "{text}");
        }
        for wrong in ["ks/", "/a", "ks/a b", "ks/a/b", "ks hr/a", "ks a hr/b"] {
            assert!(ObjectWords::read(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_words_of_flux_mean_a_kind() {
        for (one, two, kind) in KINDS_OF_TWO_WORDS {
            assert!(kinds::find(kind).is_some(), "{one} {two}: {kind}");
        }
        assert_eq!(second_words("images"), ["repository", "policy", "update"]);
        assert!(second_words("ks").is_empty());
        assert_eq!(kinds_of_group("surce").len(), 6);
    }

    #[test]
    fn a_kind_alone_is_not_an_object() {
        assert_eq!(ObjectWords::objects(&words("deploy/a")), Ok(vec![("deploy", "a")]));
        assert_eq!(ObjectWords::objects(&words("deploy a")), Ok(vec![("deploy", "a")]));
        let error = ObjectWords::objects(&words("deploy")).unwrap_err();
        assert_eq!(error.to_string(), "`deploy` does not name an object");
        assert!(ObjectWords::objects(&[]).is_err());
    }
}
