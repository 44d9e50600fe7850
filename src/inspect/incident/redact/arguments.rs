//! Masks credentials in arguments, where flag and value are separate texts. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::MASK;
use super::names::names_credential;
use super::words::{
    is_apart_password, is_attached_password, is_credential_value, is_public_user, is_random_word, password_letters,
};

/// Names of flags that take `user:password`.
const USER_FLAGS: [&str; 6] = ["u", "U", "user", "proxy-user", "userpass", "basic-auth"];

/// The flag of kubectl and kustomize that takes `NAME=VALUE`.
const LITERAL_FLAG: &str = "from-literal";

/// Whether a list contains arguments, by the name of its field or because it contains flags.
pub(super) fn are_arguments(key: &str, items: &[Value]) -> bool {
    let key = key.to_ascii_lowercase();
    let is_named = ["args", "arguments", "command", "cmd", "entrypoint"].iter().any(|end| key.ends_with(end));
    let has_flag =
        || items.iter().any(|item| item.as_str().is_some_and(|text| text.starts_with('-') && text.len() > 1));
    !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array()) && (is_named || has_flag())
}

/// The meaning of the next argument.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Anything,
    Password,
    UserAndPassword,
    /// `NAME=VALUE`, of which a Secret is made.
    Literal,
    PerhapsPassword,
    /// Behind a word that names a credential and is not a flag: `config set requirepass …`.
    PerhapsRandom,
}

/// Masks the values of flags; `program` is the known part of the command line. Texts are not searched here.
pub(super) fn mask(items: &mut [Value], program: &str, secrets: &BTreeSet<String>) -> usize {
    let own = items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    let letters = password_letters(&format!("{program} {own}"));
    let attached = |letter: char| letters.iter().any(|(of, attached, _)| *of == letter && *attached);
    let apart = |letter: char| letters.iter().any(|(of, _, apart)| *of == letter && *apart);
    let (mut count, mut next) = (0, Next::Anything);
    for item in items {
        let Value::String(text) = item else {
            // A password of digits without quotes is a number in YAML.
            if std::mem::replace(&mut next, Next::Anything) == Next::Password && item.is_number() {
                *item = MASK.into();
                count += 1;
            }
            continue;
        };
        let this = std::mem::replace(&mut next, Next::Anything);
        if !text.starts_with('-') || text.len() == 1 {
            let masked = match this {
                Next::Password if is_credential_value("password", text, secrets) => Some(MASK.to_owned()),
                Next::PerhapsPassword if is_apart_password(text) => Some(MASK.to_owned()),
                Next::UserAndPassword => user_and_password(text),
                Next::Literal => literal(text, secrets),
                Next::PerhapsRandom if is_random_word(text) => Some(MASK.to_owned()),
                _ => None,
            };
            // Sentences, assignments, paths and host names may end in such a word, too.
            if masked.is_none() && names_credential(text) && !text.contains([' ', '=', '/', '.']) {
                next = Next::PerhapsRandom;
            }
            if let Some(masked) = masked {
                *text = masked;
                count += 1;
            }
            continue;
        }
        let (flag, value) = text.split_once('=').map_or((text.as_str(), None), |(flag, value)| (flag, Some(value)));
        let name = flag.trim_start_matches('-');
        let letter = Some(name).filter(|_| !flag.starts_with("--")).and_then(|name| name.chars().next());
        let is_letter = letter.is_some() && name.chars().count() == 1;
        // `-psecret` of a program known to read it that way is not a flag of that name.
        let is_attached = letter.is_some_and(attached) && !is_letter && !["password", "passwd"].contains(&name);
        let masked = match value {
            _ if is_attached => letter.and_then(|letter| attached_value(text, letter, true)),
            Some(value) if name.len() > 1 && names_credential(name) => {
                is_credential_value(name, value, secrets).then(|| format!("{flag}={MASK}"))
            }
            Some(value) if USER_FLAGS.contains(&name) => {
                user_and_password(value).map(|masked| format!("{flag}={masked}"))
            }
            None if name.len() > 1 && names_credential(name) => {
                next = Next::Password;
                None
            }
            None if USER_FLAGS.contains(&name) => {
                next = Next::UserAndPassword;
                None
            }
            Some(value) if name == LITERAL_FLAG => literal(value, secrets).map(|masked| format!("{flag}={masked}")),
            None if name == LITERAL_FLAG => {
                next = Next::Literal;
                None
            }
            None if is_letter => {
                next = match letter {
                    Some(letter) if apart(letter) => Next::Password,
                    // Depending on the program, `-p` is a port, a path or a password.
                    Some('p') if !attached('p') => Next::PerhapsPassword,
                    _ => Next::Anything,
                };
                None
            }
            _ => letter.and_then(|letter| attached_value(text, letter, attached(letter))),
        };
        if let Some(masked) = masked {
            *text = masked;
            count += 1;
        }
    }
    count
}

/// `-pVALUE` and `-uUSER:VALUE`.
fn attached_value(text: &str, letter: char, is_password_letter: bool) -> Option<String> {
    let value = text.get(1 + letter.len_utf8()..).filter(|value| !value.is_empty())?;
    match letter {
        'u' | 'U' => user_and_password(value).map(|masked| format!("-{letter}{masked}")),
        _ if is_password_letter => is_apart_password(value).then(|| format!("-{letter}{MASK}")),
        'p' => is_attached_password(value).then(|| format!("-{letter}{MASK}")),
        _ => None,
    }
}

fn literal(text: &str, secrets: &BTreeSet<String>) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    is_credential_value("", value, secrets).then(|| format!("{name}={MASK}"))
}

fn user_and_password(text: &str) -> Option<String> {
    let (user, password) = text.split_once(':')?;
    let is_public = password.is_empty() || is_public_user(user, password);
    (!is_public).then(|| format!("{user}:{MASK}"))
}
