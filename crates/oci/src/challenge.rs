//! Authentication challenges in a registry's 401: the header `WWW-Authenticate` (RFC 9110 §11.6.1).

use std::collections::BTreeMap;

/// An authentication scheme that a registry offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    /// A token from `realm`, for `service`.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

/// Returns the challenge to answer: a token if one is offered, else a password; `None` if there is neither.
pub(super) fn choose<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Challenge> {
    let offered: Vec<_> = headers.into_iter().flat_map(parse).collect();
    let bearer = offered.iter().filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).find_map(|(_, fields)| {
        // A challenge without a realm cannot be answered, so a later scheme is used.
        let realm = fields.get("realm").filter(|realm| !realm.is_empty())?.clone();
        Some(Challenge::Bearer { realm, service: fields.get("service").cloned() })
    });
    let basic = || offered.iter().any(|(scheme, _)| scheme.eq_ignore_ascii_case("basic")).then_some(Challenge::Basic);
    bearer.or_else(basic)
}

/// Splits a header into its challenges. Commas separate both challenges and fields, and may stand in quotes.
fn parse(header: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut challenges: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for piece in split_outside_quotes(header) {
        let piece = piece.trim();
        // `Scheme key=value`, `key=value` or `Scheme`.
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let field = match name.trim().split_once(char::is_whitespace) {
            Some((scheme, key)) => {
                challenges.push((scheme.to_owned(), BTreeMap::new()));
                key.trim()
            }
            None if !piece.contains('=') && !piece.is_empty() => {
                challenges.push((piece.to_owned(), BTreeMap::new()));
                continue;
            }
            None => name.trim(),
        };
        if let Some((_, fields)) = challenges.last_mut() {
            fields.insert(field.to_ascii_lowercase(), unquote(value.trim()));
        }
    }
    challenges
}

fn split_outside_quotes(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if c == ',' && !quoted {
            pieces.push(String::new());
            continue;
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && quoted && !escaped;
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

fn unquote(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let mut result = String::new();
    let mut escaped = false;
    for c in inner.chars() {
        escaped = c == '\\' && !escaped;
        if !escaped {
            result.push(c);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Option<Challenge> {
        Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
    }

    #[test]
    fn a_token_is_preferred_to_a_password() {
        let ghcr = r#"Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:a/b:pull""#;
        assert_eq!(choose([ghcr]), bearer("https://ghcr.io/token", Some("ghcr.io")));
        assert_eq!(choose(["Basic realm=\"a\"", ghcr]), bearer("https://ghcr.io/token", Some("ghcr.io")));
        let both = r#"Basic realm="Registry, \"main\"", bearer realm=https://a/t , error="x""#;
        assert_eq!(choose([both]), bearer("https://a/t", None));
    }

    #[test]
    fn commas_and_quotes_may_stand_in_a_value() {
        let header = r#"Bearer realm="https://a/t?x=1,2&y=\"z\"",service="s, t""#;
        assert_eq!(choose([header]), bearer("https://a/t?x=1,2&y=\"z\"", Some("s, t")));
    }

    #[test]
    fn a_challenge_without_a_supported_scheme_is_ignored() {
        for header in ["", "Negotiate", "Negotiate abc==", "Bearer", "Bearer realm=\"\"", ",,,", "=\"", "\"", "a=\"b"] {
            assert_eq!(choose([header]), None, "{header}");
        }
        assert_eq!(choose(["Basic"]), Some(Challenge::Basic));
        assert_eq!(choose(["Negotiate, Basic realm=\"x\""]), Some(Challenge::Basic));
    }
}
