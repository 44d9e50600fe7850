//! A request to the API server as values, and its answer.

use http::{Method, header};
use kube::client::Body;
use kube::core::Status;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::Cluster;
use super::retry::RepeatPermission;
use crate::k8s::ResourceType;

/// Characters escaped in a query value.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Characters escaped in a part of a path. Names of roles may contain colons, which are kept.
const SEGMENT: &AsciiSet = &QUERY.remove(b':').remove(b'@');

/// Percent-encodes a query value.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

/// The path of one object.
pub(super) fn object_path(resource: &ResourceType, namespace: Option<&str>, name: &str) -> kube::Result<String> {
    if name.is_empty() {
        // Without a name this would be the path of the collection.
        let problem = kube::core::request::Error::Validation("a name is required".to_owned());
        return Err(kube::Error::BuildRequest(problem));
    }
    Ok(format!("{}/{}", resource.path(namespace, None), utf8_percent_encode(name, SEGMENT)))
}

/// A request as values.
pub(super) struct ApiCall<'a> {
    pub method: Method,
    /// Including the query.
    pub path: String,
    pub accept: Option<&'static str>,
    pub body: Option<(&'static str, &'a Value)>,
    pub repeat: RepeatPermission,
}

impl<'a> ApiCall<'a> {
    pub(super) fn get(path: String) -> Self {
        ApiCall { method: Method::GET, path, accept: None, body: None, repeat: RepeatPermission::default() }
    }

    pub(super) fn with_body(method: Method, path: String, content_type: &'static str, body: &'a Value) -> Self {
        ApiCall { method, path, accept: None, body: Some((content_type, body)), repeat: RepeatPermission::default() }
    }

    pub(super) fn request(&self) -> kube::Result<http::Request<Vec<u8>>> {
        let mut request = http::Request::builder().method(self.method.clone()).uri(&self.path).extension(self.repeat);
        if let Some(accept) = self.accept {
            request = request.header(header::ACCEPT, accept);
        }
        if let Some((content_type, _)) = self.body {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let body = self.body.map_or_else(Vec::new, |(_, body)| body.to_string().into_bytes());
        request.body(body).map_err(kube::Error::HttpError)
    }
}

impl Cluster {
    /// Sends a request and returns the text of its answer.
    ///
    /// kube's own method logs answers that it cannot parse, including any secret in them.
    pub(super) async fn answer_text(&self, call: ApiCall<'_>) -> kube::Result<Vec<u8>> {
        self.exchange(call.request()?).await
    }

    /// Sends a request and reads its answer.
    pub(super) async fn answer(&self, call: ApiCall<'_>) -> kube::Result<Value> {
        serde_json::from_slice(&self.answer_text(call).await?).map_err(kube::Error::SerdeError)
    }

    pub(super) async fn exchange(&self, request: http::Request<Vec<u8>>) -> kube::Result<Vec<u8>> {
        // Boxed here and in other nested requests: otherwise a deep run overflows the stack of its thread.
        let response = Box::pin(self.client.send(request.map(Body::from))).await?;
        let code = response.status();
        let body = response.into_body().collect_bytes().await?;
        if code.is_client_error() || code.is_server_error() {
            let status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
                // The answer is not the API server's, but the page of a gateway.
                Status::failure(String::from_utf8_lossy(&body).trim(), "Failed to parse error data")
            });
            return Err(kube::Error::Api(status.with_code(code.as_u16()).boxed()));
        }
        Ok(body.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::SECRET;

    #[test]
    fn a_name_stays_one_part_of_the_path() {
        let path = |name: &str| object_path(&SECRET, Some("n"), name).unwrap_or_default();
        assert_eq!(path("system:a.b"), "/api/v1/namespaces/n/secrets/system:a.b");
        assert_eq!(path("a?b/../c"), "/api/v1/namespaces/n/secrets/a%3Fb%2F..%2Fc");
        assert!(object_path(&SECRET, Some("n"), "").is_err(), "a collection is not an object");
    }
}
