//! The `Authorization` header of every request: its source, and when the source is read again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::credential_plugin::PluginToken;
use super::error::Reason;
use super::transport::bearer;
use crate::format::file::read_at_most;

/// Interval for reading a token file again, as in client-go: a pod's token is replaced before it expires.
const REREAD_AFTER: Duration = Duration::from_secs(60);
/// Tokens of some clusters contain every group of a user, but the API server accepts no larger header.
const MAX_TOKEN_BYTES: u64 = 1 << 20;

#[derive(Clone)]
pub(super) enum Authorization {
    Fixed(HeaderValue),
    File(Arc<TokenFile>),
    Plugin(PluginToken),
}

impl Authorization {
    /// Wraps a token from a kubeconfig or a flag.
    ///
    /// # Errors
    /// It contains a line break or another character that is invalid in a header. kubectl refuses it as well.
    pub(super) fn of_token(token: &SecretString) -> Result<Self, Reason> {
        let header = bearer(token.expose_secret()).ok_or_else(|| unusable("the token"))?;
        Ok(Authorization::Fixed(header))
    }

    pub(super) fn of_password(user: &str, password: &str) -> Result<Self, Reason> {
        let header = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let mut header = HeaderValue::try_from(header).map_err(|_| unusable("the password"))?;
        // A sensitive header is left out of `Debug` output, and HTTP/2 keeps it out of its compression table.
        header.set_sensitive(true);
        Ok(Authorization::Fixed(header))
    }

    /// Returns the current header.
    ///
    /// # Errors
    /// The credential plugin returns no token.
    pub(super) async fn header(&self) -> Result<HeaderValue, Reason> {
        match self {
            Authorization::Fixed(header) => Ok(header.clone()),
            Authorization::File(file) => Ok(file.header()),
            Authorization::Plugin(token) => token.header().await,
        }
    }

    /// Called when the server refused the header. Returns whether the next header may differ.
    pub(super) async fn renew(&self) -> bool {
        match self {
            Authorization::Fixed(_) => false,
            Authorization::File(file) => file.read_again(),
            Authorization::Plugin(token) => {
                token.forget().await;
                true
            }
        }
    }

    /// Explains why there was no header within the limit of a call.
    pub(super) fn timeout_reason(&self, limit: Duration) -> Reason {
        match self {
            Authorization::Plugin(token) => token.timeout_reason(limit),
            _ => Reason::Other(format!("no credentials within {limit:?}")),
        }
    }
}

fn unusable(what: &str) -> Reason {
    Reason::Config(format!("{what} cannot be sent: it holds a line end or another control character"))
}

/// A token in a file that other programs replace.
pub(super) struct TokenFile {
    path: PathBuf,
    latest: Mutex<LatestToken>,
}

struct LatestToken {
    header: HeaderValue,
    read_at: Instant,
}

impl TokenFile {
    /// Reads the file. If that fails, `fallback` is used until the file can be read.
    ///
    /// # Errors
    /// The file holds no usable token, and there is no fallback.
    pub(super) fn open(path: PathBuf, fallback: Option<&SecretString>) -> Result<Self, Reason> {
        let header = match (read(&path), fallback) {
            (Ok(header), _) => header,
            (Err(reason), None) => return Err(reason),
            // client-go falls back to the kubeconfig's token as well; the file may appear later.
            (Err(reason), Some(token)) => {
                tracing::warn!("{reason}; the token of the kubeconfig is used");
                bearer(token.expose_secret()).ok_or_else(|| unusable("the token"))?
            }
        };
        Ok(TokenFile { path, latest: Mutex::new(LatestToken { header, read_at: Instant::now() }) })
    }

    fn header(&self) -> HeaderValue {
        let is_due = self.latest.lock().unwrap_or_else(PoisonError::into_inner).read_at.elapsed() >= REREAD_AFTER;
        if is_due {
            self.read_again();
        }
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).header.clone()
    }

    /// Reads the file again. Returns whether the token changed. While the file cannot be read, the last token is kept:
    /// some programs delete the file after reading it (<https://github.com/kubernetes/kubernetes/issues/68164>).
    fn read_again(&self) -> bool {
        // A pipe delivers its content once, so reading it again would block forever.
        let read =
            if self.path.is_file() { read(&self.path) } else { Err(Reason::Other("it is not a file".to_owned())) };
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.read_at = Instant::now();
        match read {
            Ok(header) => std::mem::replace(&mut latest.header, header.clone()) != header,
            Err(reason) => {
                tracing::debug!("{reason}; the last token is used");
                false
            }
        }
    }
}

fn read(path: &std::path::Path) -> Result<HeaderValue, Reason> {
    let wrong = |problem: &str| Reason::Config(format!("token file {}: {problem}", path.display()));
    let bytes = read_at_most(path, MAX_TOKEN_BYTES).map_err(|error| wrong(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not text"))?;
    // `echo` and most editors add a line break, which client-go drops as well.
    match text.trim() {
        "" => Err(wrong("it is empty")),
        token => bearer(token).ok_or_else(|| wrong("its token holds a line end or another control character")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        text.to_owned().into()
    }

    async fn header(authorization: &Authorization) -> String {
        authorization.header().await.unwrap().to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_token_file_may_end_in_line_ends_and_is_read_again_when_its_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "\n one\r\n\n").unwrap();
        let file = Authorization::File(Arc::new(TokenFile::open(path.clone(), None).unwrap()));
        assert_eq!(header(&file).await, "Bearer one");
        std::fs::write(&path, "two\n").unwrap();
        assert_eq!(header(&file).await, "Bearer one", "it was read a moment ago");
        assert!(file.renew().await && !file.renew().await);
        assert_eq!(header(&file).await, "Bearer two");
        std::fs::remove_file(&path).unwrap();
        assert!(!file.renew().await);
        assert_eq!(header(&file).await, "Bearer two", "the last token outlives its file");
    }

    #[tokio::test]
    async fn a_token_file_is_read_again_after_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one").unwrap();
        let file = TokenFile::open(path.clone(), None).unwrap();
        std::fs::write(&path, "two").unwrap();
        assert_eq!(file.header(), "Bearer one");
        let long_ago = Instant::now().checked_sub(REREAD_AFTER);
        file.latest.lock().unwrap().read_at = long_ago.expect("the machine started more than a minute ago");
        assert_eq!(file.header(), "Bearer two");
    }

    #[test]
    fn a_token_file_that_cannot_be_used_is_named_unless_there_is_a_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (content, reported) in [
            (None, "No such file"),
            (Some("\n"), "it is empty"),
            (Some("a\nb\n"), "holds a line end"),
            (Some("a\0b"), "another control character"),
        ] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let error = TokenFile::open(path.clone(), None).err().unwrap().to_string();
            assert!(error.contains(&path.display().to_string()) && error.contains(reported), "{error}");
            assert_eq!(TokenFile::open(path.clone(), Some(&secret("t"))).unwrap().header(), "Bearer t");
        }
    }

    #[tokio::test]
    async fn a_token_with_a_line_end_is_refused_without_its_text() {
        for token in ["canary\n", "can\nary", "canary\0"] {
            let error = Authorization::of_token(&secret(token)).err().unwrap().to_string();
            assert!(error.starts_with("the token cannot be sent") && !error.contains("can\n"), "{error}");
        }
        assert_eq!(header(&Authorization::of_token(&secret("t.-_~+/=")).unwrap()).await, "Bearer t.-_~+/=");
        assert_eq!(header(&Authorization::of_password("u", "").unwrap()).await, "Basic dTo=");
    }
}
