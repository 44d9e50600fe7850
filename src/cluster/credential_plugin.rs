//! Credential plugins of a kubeconfig (`exec:`): `aws eks get-token`, `kubelogin`, `gke-gcloud-auth-plugin` and the like.
//!
//! kube runs a plugin up to three times while it builds one client; plugins may take seconds and ask for a password, so it is
//! run here, once, and again only when its token is about to expire or is refused. Its output is never shown: it holds the
//! credentials. Protocol: <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins>.

use std::process::Stdio;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;
use tower::BoxError;

use super::error::Reason;

/// A token this close to its end is not used any more.
const EXPIRY_MARGIN: Duration = Duration::from_secs(10);

/// What a plugin gave.
pub(super) struct PluginCredentials {
    pub token: Option<SecretString>,
    /// Certificate chain and key, PEM.
    pub certificate: Option<(String, SecretString)>,
    expires: Option<Timestamp>,
}

#[derive(Deserialize)]
struct ExecCredential {
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    expiration_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "secret")]
    token: Option<SecretString>,
    client_certificate_data: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    client_key_data: Option<SecretString>,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

/// Runs the plugin. It may ask the user something on the terminal, hence no time limit of its own.
pub(super) async fn run(plugin: &ExecConfig) -> Result<PluginCredentials, Reason> {
    let name = plugin.command.clone().unwrap_or_default();
    let failed = |problem: String, install_hint: Option<String>| Reason::CredentialPlugin {
        command: name.clone(),
        problem,
        install_hint,
    };
    if name.is_empty() {
        return Err(failed("the kubeconfig gives no command".to_owned(), None));
    }
    let interactive = plugin.interactive_mode != Some(ExecInteractiveMode::Never);
    let mut command = tokio::process::Command::new(&name);
    command.args(plugin.args.iter().flatten()).kill_on_drop(true);
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let spec = serde_json::json!({ "interactive": interactive, "cluster": plugin.cluster });
    let info = serde_json::json!({ "kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());

    let output = command.output().await.map_err(|e| {
        let hint = plugin.install_hint.clone().filter(|_| e.kind() == std::io::ErrorKind::NotFound);
        failed(format!("cannot be started: {e}"), hint)
    })?;
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status), None));
    }
    // The parser's message could quote the token, so it is dropped.
    let credential: ExecCredential = serde_json::from_slice(&output.stdout)
        .map_err(|_| failed("printed no ExecCredential in JSON".to_owned(), None))?;
    let status = credential.status.ok_or_else(|| failed("gave no credentials".to_owned(), None))?;
    let certificate = status.client_certificate_data.zip(status.client_key_data);
    let token = status.token.filter(|t| !t.expose_secret().is_empty());
    if certificate.is_none() && token.is_none() {
        return Err(failed("gave neither a token nor a certificate".to_owned(), None));
    }
    Ok(PluginCredentials { token, certificate, expires: status.expiration_timestamp })
}

/// A token that is renewed by running its plugin again.
pub(super) struct PluginToken {
    plugin: ExecConfig,
    current: Mutex<Option<(HeaderValue, Option<Timestamp>)>>,
}

impl PluginToken {
    pub(crate) fn new(plugin: ExecConfig, credentials: &PluginCredentials) -> Result<Self, Reason> {
        let current = Mutex::new(Some(header(&plugin, credentials)?));
        Ok(PluginToken { plugin, current })
    }

    /// The `Authorization` header to send now.
    pub(crate) async fn header(&self) -> Result<HeaderValue, BoxError> {
        let mut current = self.current.lock().await;
        let still_good = |until: &Option<Timestamp>| until.is_none_or(|t| Timestamp::now() + EXPIRY_MARGIN < t);
        if let Some((value, until)) = current.as_ref()
            && still_good(until)
        {
            return Ok(value.clone());
        }
        let fresh = header(&self.plugin, &run(&self.plugin).await?)?;
        let value = fresh.0.clone();
        *current = Some(fresh);
        Ok(value)
    }

    /// The server refused the token: the next call fetches a new one.
    pub(crate) async fn forget(&self) {
        *self.current.lock().await = None;
    }
}

fn header(plugin: &ExecConfig, credentials: &PluginCredentials) -> Result<(HeaderValue, Option<Timestamp>), Reason> {
    let failed = |problem: &str| Reason::CredentialPlugin {
        command: plugin.command.clone().unwrap_or_default(),
        problem: problem.to_owned(),
        install_hint: None,
    };
    let token = credentials.token.as_ref().ok_or_else(|| failed("gave no token this time"))?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
        .map_err(|_| failed("gave a token with characters no header may hold"))?;
    value.set_sensitive(true);
    Ok((value, credentials.expires))
}
