//! Inputs that an HTTP service returns.

use std::collections::HashSet;

use http::Method;
use serde_json::{Map, Value};

use crate::credentials::{SecretData, service_header};
use crate::error::ProviderError;
use crate::export::plain_numbers;
use crate::filter::limit;
use crate::http::{Connection, HttpFailure, HttpSession, OUT_OF_TIME, RequestRetry, accept, address, shown_text};
use crate::settings::ProviderSettings;

/// Maximum size of a response.
const MAX_BODY_BYTES: usize = 900 << 10;

/// Requests the inputs of the service.
pub(crate) async fn inputs(
    settings: &ProviderSettings,
    secret: Option<&SecretData>,
    connection: &Connection,
) -> Result<Vec<Map<String, Value>>, ProviderError> {
    let found = ask(settings, secret, connection).await;
    found.map_err(|error| error.within("failed to call ExternalService provider"))
}

async fn ask(
    settings: &ProviderSettings,
    secret: Option<&SecretData>,
    connection: &Connection,
) -> Result<Vec<Map<String, Value>>, ProviderError> {
    let auth = secret
        .map(service_header)
        .transpose()
        .map_err(|problem| ProviderError::new(format!("failed to get auth credentials: {problem}")))?;
    let limit = limit(settings.filter.limit)?;
    let url = settings.url.as_str();
    let address = address(url)?;
    let session = HttpSession::new(connection, &address, auth, RequestRetry::Connections)?;
    let sent = session.send(&Method::GET, &address, &[accept("application/json")], MAX_BODY_BYTES).await;
    let answer = sent.map_err(|failure| {
        let called = format!("failed to call external service '{url}'");
        ProviderError::new(match failure {
            HttpFailure::OutOfTime { is_pause: true, .. } => format!("{called}: {OUT_OF_TIME}"),
            HttpFailure::OutOfTime { attempts, .. } => {
                format!("{called}: GET {url} giving up after {attempts} attempt(s): {OUT_OF_TIME}")
            }
            HttpFailure::Unreachable { attempts, problem } => {
                format!("{called}: GET {url} giving up after {attempts} attempt(s): {problem}")
            }
            HttpFailure::TooLarge { limit } => {
                format!("external service '{url}' response body exceeds the maximum allowed size of {limit} bytes")
            }
            HttpFailure::RateLimited { .. } => format!("{called}: the rate limit is exceeded"),
            HttpFailure::Refused(problem) => format!("{called}: {problem}"),
        })
    })?;
    if !answer.status.is_success() {
        return Err(ProviderError::new(format!("external service '{url}' returned HTTP {}", answer.status.as_u16())));
    }
    let mut inputs = parse(url, &answer.body).map_err(|error| ProviderError::new(session.redact(&error)))?;
    // Truncate after all sets are checked: as in the reference, an invalid response fails regardless of the limit.
    inputs.truncate(limit);
    Ok(inputs)
}

/// Reads the response and checks every input, including inputs beyond the limit.
fn parse(url: &str, body: &[u8]) -> Result<Vec<Map<String, Value>>, String> {
    let unreadable = |problem: &str| format!("failed to parse JSON response from external service '{url}': {problem}");
    if body.trim_ascii().is_empty() {
        return Err(unreadable("unexpected end of JSON input"));
    }
    let answer: Value = serde_json::from_slice(body).map_err(|error| unreadable(&shown_text(&error.to_string())))?;
    let fields = match answer {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => return Err(unreadable("the answer is not an object")),
    };
    let inputs = match fields.into_iter().find(|(key, _)| key == "inputs").map(|(_, inputs)| inputs) {
        None | Some(Value::Null) => {
            return Err(format!("external service '{url}' response does not contain an 'inputs' field"));
        }
        Some(Value::Array(inputs)) => inputs,
        Some(_) => return Err(unreadable("'inputs' is not a list")),
    };
    let mut ids = HashSet::new();
    let mut sets = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.into_iter().enumerate() {
        let at = |problem: String| format!("external service '{url}' input at index {index} {problem}");
        let input = match input {
            Value::Object(input) => input,
            Value::Null => Map::new(),
            _ => return Err(unreadable(&format!("the input at index {index} is not an object"))),
        };
        match input.get("id") {
            None => return Err(at("is missing the required 'id' field".to_owned())),
            Some(Value::String(id)) => {
                if !ids.insert(id.clone()) {
                    return Err(at(format!("has a duplicate 'id' value '{}'", shown_text(id))));
                }
            }
            Some(_) => return Err(at("has a non-string 'id' field".to_owned())),
        }
        sets.push(input.into_iter().map(|(key, value)| (key, plain_numbers(value))).collect());
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(body: &str) -> Result<Value, String> {
        parse("https://s.example", body.as_bytes()).map(|sets| json!(sets))
    }

    #[test]
    fn inputs_are_taken_as_they_are_and_numbers_keep_their_digits() {
        assert_eq!(
            parsed(
                r#"{"inputs":[{"id":"a","n":9007199254740993,"f":1.0,"e":1e3,"h":1.5,"x":{"y":[2.0,null]}}],"more":1}"#
            ),
            Ok(
                json!([{"id": "a", "n": 9_007_199_254_740_993_i64, "f": 1, "e": 1000, "h": 1.5, "x": {"y": [2, null]}}])
            )
        );
        assert_eq!(parsed(r#"{"inputs":[]}"#), Ok(json!([])));
    }

    #[test]
    fn answers_that_are_not_inputs_are_refused() {
        let json_error = "failed to parse JSON response from external service 'https://s.example': ";
        for body in ["", " \n", "{", "[]", "{\"inputs\":{}}", "{\"inputs\":[1]}", "<html>", "{\"inputs\":[]} x"] {
            let error = parsed(body).unwrap_err();
            assert!(error.starts_with(json_error), "{body}: {error}");
        }
        assert!(parsed("").unwrap_err().ends_with("unexpected end of JSON input"));
        for body in ["null", "{}", r#"{"inputs":null}"#] {
            let expected = "external service 'https://s.example' response does not contain an 'inputs' field";
            assert_eq!(parsed(body).unwrap_err(), expected, "{body}");
        }
        for (inputs, problem) in [
            (r#"[{"id":"a"},{}]"#, "1 is missing the required 'id' field"),
            (r#"[null]"#, "0 is missing the required 'id' field"),
            (r#"[{"id":1}]"#, "0 has a non-string 'id' field"),
            (r#"[{"id":null}]"#, "0 has a non-string 'id' field"),
            (r#"[{"id":"a"},{"id":"b"},{"id":"a"}]"#, "2 has a duplicate 'id' value 'a'"),
        ] {
            let expected = format!("external service 'https://s.example' input at index {problem}");
            assert_eq!(parsed(&format!("{{\"inputs\":{inputs}}}")).unwrap_err(), expected);
        }
    }
}
