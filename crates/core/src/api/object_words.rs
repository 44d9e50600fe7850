//! Words that name objects: `KIND`, `KIND NAME…` or `KIND/NAME…`, as kubectl takes them.
//!
//! A kind stays a word here: which kinds there are depends on the reader.

use std::collections::HashSet;

/// The meaning of words that name kinds or objects.
#[derive(Debug, PartialEq, Eq)]
pub enum ObjectWords<'a> {
    /// Every object of these kinds.
    Kinds(Vec<&'a str>),
    /// Objects by kind and name, without duplicates.
    Objects(Vec<(&'a str, &'a str)>),
}

/// The reason why words name no objects.
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
    /// Reads words; a KIND before names may be several, separated by commas. No words are no kinds.
    ///
    /// # Errors
    /// A part of `KIND/NAME` is empty or has a slash itself, or `KIND/NAME` follows a kind.
    pub fn read(words: &'a [String]) -> Result<Self, InvalidObjectWords> {
        let is_one_object = |word: &String| word.contains('/');
        let (kinds, names): (Vec<&str>, _) = match words.split_first() {
            Some((first, names)) if !is_one_object(first) => {
                (first.split(',').filter(|kind| !kind.is_empty()).collect(), names)
            }
            _ => (vec![], words),
        };
        if names.is_empty() {
            return Ok(ObjectWords::Kinds(kinds));
        }
        if let Some(mixed) = names.iter().find(|name| is_one_object(name) && !kinds.is_empty()) {
            return Err(InvalidObjectWords::Mixed { word: mixed.clone() });
        }
        let mut objects = vec![];
        for name in names {
            match kinds.is_empty() {
                true => objects.push(object(name)?),
                false => objects.extend(kinds.iter().map(|kind| (*kind, name.as_str()))),
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

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_name_kinds_or_objects_each_once() {
        for (text, kinds) in [("", vec![]), ("ks", vec!["ks"]), ("ks,hr", vec!["ks", "hr"])] {
            assert_eq!(ObjectWords::read(&words(text)), Ok(ObjectWords::Kinds(kinds)), "{text}");
        }
        for (text, objects) in [
            ("ks a b a", vec![("ks", "a"), ("ks", "b")]),
            ("ks/a deploy/b", vec![("ks", "a"), ("deploy", "b")]),
            ("ks,hr a", vec![("ks", "a"), ("hr", "a")]),
        ] {
            assert_eq!(ObjectWords::read(&words(text)), Ok(ObjectWords::Objects(objects)), "{text}");
        }
        for wrong in ["ks/", "/a", "ks/a b", "ks/a/b", "ks hr/a", "ks a hr/b"] {
            assert!(ObjectWords::read(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kind_alone_is_no_object() {
        assert_eq!(ObjectWords::objects(&words("deploy/a")), Ok(vec![("deploy", "a")]));
        assert_eq!(ObjectWords::objects(&words("deploy a")), Ok(vec![("deploy", "a")]));
        let error = ObjectWords::objects(&words("deploy")).unwrap_err();
        assert_eq!(error.to_string(), "`deploy` does not name an object");
        assert!(ObjectWords::objects(&[]).is_err());
    }
}
