//! Distinguishes credentials from words in their place: switches, variables, names, reasons. Pure.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::MASK;
use super::names::may_refer_to_secret;

/// Whether the word after `Bearer` or `Basic` is a credential instead of a word of a sentence.
pub(super) fn is_scheme(scheme: &str, word: &str) -> bool {
    const SENTENCES: [&str; 34] = [
        "token",
        "tokens",
        "auth",
        "auth.",
        "authn",
        "authz",
        "authentication",
        "authentication.",
        "authorization",
        "authenticator",
        "realm",
        "realm=",
        "error=",
        "scope=",
        "service=",
        "scheme",
        "header",
        "headers",
        "credentials",
        "credential",
        "credentials.",
        "challenge",
        "error",
        "format",
        "token.",
        "tokens.",
        "access",
        "based",
        "login",
        "support",
        "usage",
        "settings",
        "configuration",
        "realms",
    ];
    let lower = word.to_ascii_lowercase();
    if SENTENCES.contains(&lower.as_str()) || is_masked(word) {
        return false;
    }
    let is_random = word.len() >= 24
        || word.bytes().any(|byte| byte.is_ascii_digit())
        || word.ends_with('=')
        || word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    if scheme.eq_ignore_ascii_case("basic") {
        // `user:password` in base64 (RFC 7617 §2).
        let padded = format!("{word}{}", "=".repeat((4 - word.len() % 4) % 4));
        let is_pair = STANDARD.decode(padded).is_ok_and(|bytes| bytes.contains(&b':') && bytes.is_ascii());
        return is_pair || (is_random && !word.contains('/'));
    }
    is_random || !word.bytes().all(|byte| byte.is_ascii_lowercase()) || scheme.starts_with('B')
}

/// Whether the value of a credential's name is a credential: not empty, masked, a switch, a variable or the name of a
/// Secret.
pub(super) fn is_credential_value(name: &str, value: &str, secrets: &BTreeSet<String>) -> bool {
    let value = value.trim();
    !(value.is_empty()
        || is_masked(value)
        || is_literal(value)
        || is_reference(value)
        || (may_refer_to_secret(name) && is_secret_name(value, secrets)))
}

/// `1000:1000` and `$USER:$PASSWORD`.
pub(super) fn is_public_user(user: &str, password: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_masked(password) || is_reference(password) || (is_number(user) && is_number(password))
}

/// Returns the short flags with a password for the programs in a text; for each, whether the value may be attached, and
/// separate.
pub(super) fn password_letters(text: &str) -> Vec<(char, bool, bool)> {
    let has = |words: &[&str]| words.iter().any(|word| contains_word(text, word));
    let mut letters = vec![];
    if has(&["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mysqlpump", "mysqlcheck", "mariadb"])
        || text.contains("mariadb-")
    {
        // In `mysql -p app` the word is a database: MySQL asks for the password.
        letters.push(('p', true, false));
    }
    if has(&["sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "login", "rabbitmqadmin"]) {
        letters.push(('p', true, true));
    }
    if has(&["redis-cli", "redis-benchmark"]) {
        letters.push(('a', true, true));
    }
    if has(&["sqlcmd", "bcp", "isql"]) {
        letters.push(('P', true, true));
    }
    if has(&["ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete", "ldappasswd"]) {
        letters.push(('w', true, true));
    }
    letters
}

pub(super) fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        // `mysql-client` and `mongo.example.com` are not the program.
        !is_part(before) && !is_part(after) && after != Some('-') && after != Some('.')
    })
}

/// Whether the text attached to an unknown program's short flag is a password: not a port, a path or a long flag with
/// one dash.
pub(super) fn is_attached_password(value: &str) -> bool {
    let is_word = value.split('=').next().is_some_and(|name| {
        name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'.')
    });
    !is_word && is_apart_password(value)
}

/// Like [`is_attached_password`], for a value that is a separate argument.
pub(super) fn is_apart_password(value: &str) -> bool {
    let is_port = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-' | b'/'));
    let is_path = value.starts_with(['/', '.', '~', '-']);
    !(value.is_empty() || is_port || is_path || is_masked(value) || is_reference(value))
}

pub(super) fn is_masked(value: &str) -> bool {
    value == MASK
}

/// Values that mean "none".
pub(super) fn is_literal(value: &str) -> bool {
    const LITERALS: [&str; 15] =
        ["true", "false", "null", "none", "nil", "~", "<nil>", "<none>", "<no value>", "yes", "no", "|", ">", "-", "["];
    LITERALS.iter().any(|literal| literal.eq_ignore_ascii_case(value.trim_end_matches([',', ';', '}', ']', ')'])))
}

/// Variables and template expressions: `$(DB_PASSWORD)`, `${TOKEN}`, `{{ .Values.token }}`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b' '))
    };
    let enclosed = [("$(", ")"), ("${", "}"), ("{{", "}}"), ("<<", ">>"), ("$", "")];
    enclosed.iter().any(|(open, close)| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|name| {
            // Without a bracket, `$` may also begin a password, so only names in capitals count as variables.
            is_name(name) && (!close.is_empty() || !name.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b' '))
        })
    })
}

/// `name` or `namespace/name` of a known Secret.
pub(super) fn is_secret_name(value: &str, secrets: &BTreeSet<String>) -> bool {
    let value = value.trim_matches(['"', '\'']);
    secrets.contains(value.rsplit('/').next().unwrap_or(value))
}

/// Whether a text begins with a word of an explanation. A list of the words in passwords could not be as short.
pub(super) fn begins_a_reason(value: &str) -> bool {
    const REASONS: [&str; 56] = [
        "failed",
        "error",
        "unexpected",
        "unauthorized",
        "unauthenticated",
        "invalid",
        "cannot",
        "could",
        "unable",
        "not",
        "no",
        "context",
        "access",
        "permission",
        "denied",
        "expired",
        "missing",
        "unknown",
        "request",
        "illegal",
        "malformed",
        "rpc",
        "dial",
        "secrets",
        "secret",
        "operation",
        "connection",
        "timeout",
        "timed",
        "unsupported",
        "forbidden",
        "read",
        "write",
        "open",
        "stat",
        "lookup",
        "tls",
        "x509",
        "EOF",
        "GET",
        "POST",
        "Get",
        "Post",
        "http",
        "https",
        "server",
        "status",
        "response",
        "decoding",
        "decode",
        "parsing",
        "key",
        "Secret",
        "authentication",
        "authorization",
        "exit",
    ];
    let mut words = value.split([' ', ':', ',']).map(|word| word.trim_matches(['"', '\'']));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_status = first.len() == 3
        && first.bytes().all(|byte| byte.is_ascii_digit())
        && second.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    // A single word may also be a password.
    (REASONS.contains(&first) || is_status) && !second.is_empty()
}

/// Words after the name of a flag in a sentence about it.
pub(super) fn is_word_of_a_sentence(word: &str) -> bool {
    const WORDS: [&str; 28] = [
        "is", "are", "was", "must", "not", "or", "and", "to", "for", "flag", "flags", "has", "have", "cannot", "can",
        "requires", "required", "needs", "with", "without", "should", "if", "when", "instead", "given", "set", "in",
        "as",
    ];
    WORDS.contains(&word.trim_end_matches([',', '.', ':', ';']))
}

/// Whether a value in a Secret looks generated, whatever its name: long, with small and capital letters and digits, or
/// only small letters and digits without a separator. Addresses, paths, times and names of objects do not.
pub(super) fn is_generated_value(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|byte| kind(&byte));
    let has_digits_and_letters = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    value.len() >= 12
        && has_digits_and_letters
        && (has(u8::is_ascii_uppercase) || (is_word && value.len() >= 20))
        && !value.contains("://")
        && !value.contains(char::is_whitespace)
        && !value.starts_with(['/', '.', '{', '[', '<'])
        && !is_reference(value)
}

/// Whether a word is neither an ordinary word nor the name of an object.
pub(super) fn is_random_word(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().filter(kind).count();
    let (capitals, small, digits) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase), has(u8::is_ascii_digit));
    let is_version = word.starts_with('v') && digits > 0 && small <= 6;
    !(is_masked(word) || is_reference(word) || word.contains('/') || is_version)
        && ((digits > 0 && capitals > 0)
            || (digits > 0 && small > 0 && !word.contains(['-', '.']))
            || (capitals > 1 && small > 1))
}
