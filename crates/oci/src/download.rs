//! Downloads a file from an ordinary URL, with the connections, proxies and limits of registries.

use http::{Method, StatusCode, Uri};

use super::access::Access;
use super::error::{OciError, Reason};
use super::http::{Http, MAX_READS, RepeatableRequest};
use super::transport::shown;

/// Downloads an `https://` or `http://` URL of at most `limit` bytes.
///
/// # Errors
/// The URL is invalid, the server does not answer with 200, or the file has more than `limit` bytes.
pub async fn download(access: Access, address: &str, limit: u64) -> Result<Vec<u8>, OciError> {
    let failed = |reason| OciError::new(format!("download {}", without_query(address)), reason);
    let url: Uri =
        address.parse().map_err(|error| failed(Reason::Config(format!("it is not a valid address: {error}"))))?;
    let Some(server) = url.authority().map(|authority| authority.as_str().to_owned()) else {
        return Err(failed(Reason::Config("it names no server".to_owned())));
    };
    // The server would get a user name in the URL as part of its host name.
    if server.contains('@') {
        return Err(failed(Reason::Config("an address may not contain credentials".to_owned())));
    }
    let what = shown(&url);
    let http = Http::new(access);
    let mut attempt = 1;
    let mut pauses = http.access.pauses();
    loop {
        let mut request = RepeatableRequest::new(Method::GET, url.clone());
        let answer = http.send(&server, &mut request, None, None).await.map_err(failed)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(failed(Reason::NotFound { what })),
            other => {
                let message = other.canonical_reason().unwrap_or_default().to_owned();
                return Err(failed(Reason::Server { registry: answer.server(), code: other.as_u16(), message }));
            }
        }
        // The answer may have been cut off after its status, which `send` does not repeat.
        match http.read(&answer.server(), &what, answer.response, limit).await {
            Err(reason) if reason.is_transient() && attempt < MAX_READS => {
                tracing::debug!(what, attempt, %reason, "reading an answer again");
                tokio::time::sleep(pauses.next_pause()).await;
                attempt += 1;
            }
            result => return result.map(|bytes| bytes.to_vec()).map_err(failed),
        }
    }
}

/// Removes the query, which may hold a signature or a token.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegistryCredentials;

    #[tokio::test]
    async fn an_address_with_credentials_or_without_a_server_is_refused_before_anything_is_sent() {
        for (address, expected) in [
            ("https://user:pass@a.example/x", "may not contain credentials"),
            ("/only/a/path", "names no server"),
            ("https://a b/", "not a valid address"),
        ] {
            let error = download(Access::new(RegistryCredentials::Anonymous), address, 10).await.unwrap_err();
            assert!(error.reason.to_string().contains(expected), "{address}: {}", error.reason);
        }
        assert_eq!(without_query("https://a.example/x?token=secret"), "https://a.example/x");
    }
}
