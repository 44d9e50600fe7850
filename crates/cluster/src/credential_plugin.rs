//! Credential plugins of a kubeconfig (`exec:`): `aws eks get-token`, `kubelogin`, `gke-gcloud-auth-plugin` and others.
//!
//! kube runs a plugin up to three times for one client. Plugins can take seconds and ask for a password, so this module
//! runs the plugin once, and again only when its token is about to expire or was refused. Its stdout contains the
//! credentials and is never shown. Its stderr is for the user (a device code, "session expired"): it goes to the
//! terminal or becomes a part of the error. Protocol:
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins>.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{Mutex, OnceCell};

use super::error::Reason;
use super::transport::bearer;
use crate::format::harmless::on_one_line;
use crate::format::search_path::find_program;
use crate::format::yaml;

/// A token that expires within this time is not used any more.
const EXPIRY_MARGIN: Duration = Duration::from_secs(10);
/// A token that expires within this time is renewed while it is still used, so that no call waits for a slow plugin.
const RENEWAL_MARGIN: Duration = Duration::from_secs(60);
/// Lines of a failed plugin's stderr in its error.
const SHOWN_LINES: usize = 5;
/// Limit for a plugin's stdout: enough for a token, or a certificate and its key.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// Bytes kept from the end of a plugin's stderr.
const KEPT_STDERR_BYTES: usize = 16 << 10;

/// Streams of this program that a plugin may use; only the caller knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginTerminal {
    /// Standard input, for questions.
    pub stdin: bool,
    /// Standard error, for messages. Otherwise the messages become part of the error if the plugin fails.
    pub stderr: bool,
}

/// Credentials from a plugin.
#[derive(Clone)]
pub(super) struct PluginCredentials {
    pub token: Option<SecretString>,
    /// Certificate chain and key, PEM.
    pub certificate: Option<(String, SecretString)>,
    expires: Option<Timestamp>,
}

impl PluginCredentials {
    /// Whether the credentials are valid for longer than `margin`.
    fn are_valid_for(&self, margin: Duration) -> bool {
        self.expires.is_none_or(|end| Timestamp::now() + margin < end)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
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

/// Replaces the bare name of a plugin by its file. Programs in the current folder are never used, even if it is in
/// `PATH`.
pub(super) fn find(plugin: &mut ExecConfig, search_path: &OsStr) -> Result<(), Reason> {
    // On Windows, program names have extensions, and Rust does not search the current folder.
    if cfg!(unix)
        && let Some(command) = plugin.command.as_mut().filter(|name| !name.is_empty() && !name.contains('/'))
    {
        let Some(file) = find_program(search_path, command) else {
            return Err(Reason::CredentialPlugin {
                command: command.clone(),
                problem: "cannot be started: no absolute folder in PATH contains it".to_owned(),
                install_hint: plugin.install_hint.clone(),
            });
        };
        *command = file.to_string_lossy().into_owned();
    }
    Ok(())
}

/// Credentials from plugins, shared by connections to many clusters. A plugin runs once for all users with the same
/// entry. A plugin that is given the cluster runs once per cluster.
#[derive(Clone, Default)]
pub struct PluginRuns(Arc<std::sync::Mutex<HashMap<String, Arc<PluginRun>>>>);

type PluginRun = OnceCell<Result<PluginCredentials, Reason>>;

impl PluginRuns {
    pub(super) async fn run(&self, plugin: &ExecConfig, terminal: PluginTerminal) -> Result<PluginCredentials, Reason> {
        // Only the lookup is locked: plugins of other users may run at the same time.
        let cell = {
            let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            runs.entry(identity(plugin)).or_default().clone()
        };
        // If the caller that runs the plugin is cancelled, the next waiting caller runs it.
        let given = cell.get_or_init(|| run(plugin, terminal)).await;
        match given {
            // The cell keeps its first result, so after its expiry each connection runs the plugin itself.
            Ok(credentials) if !credentials.are_valid_for(EXPIRY_MARGIN) => run(plugin, terminal).await,
            given => given.clone(),
        }
    }
}

/// Returns a key that is equal for runs of the same plugin with the same input.
fn identity(plugin: &ExecConfig) -> String {
    let env: Vec<_> = plugin.env.iter().flatten().map(|one| (one.get("name"), one.get("value"))).collect();
    let cluster = serde_json::to_string(&plugin.cluster).unwrap_or_default();
    format!("{:?} {:?} {env:?} {:?} {cluster}", plugin.command, plugin.args, plugin.api_version)
}

/// Runs the plugin. It has no time limit of its own, because it may ask the user a question.
pub(super) async fn run(plugin: &ExecConfig, terminal: PluginTerminal) -> Result<PluginCredentials, Reason> {
    let name = plugin.command.clone().unwrap_or_default();
    let failed = |problem: String, install_hint: Option<String>| Reason::CredentialPlugin {
        command: name.clone(),
        problem,
        install_hint,
    };
    if name.is_empty() {
        return Err(failed("the kubeconfig has no command".to_owned(), None));
    }
    let interactive = match plugin.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) if !terminal.stdin => {
            return Err(failed("needs input, but standard input is not a terminal".to_owned(), None));
        }
        // `IfAvailable`, which is also the default of v1beta1.
        _ => terminal.stdin,
    };
    let mut command = tokio::process::Command::new(&name);
    // An interrupted command must not leave a plugin behind that still asks for a password on the terminal.
    command.args(plugin.args.iter().flatten()).kill_on_drop(true);
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let spec = serde_json::json!({ "interactive": interactive, "cluster": plugin.cluster });
    let info = serde_json::json!({ "kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    // A plugin that reads anyway gets an end of file, and cannot consume a manifest that is piped to this program.
    command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(if terminal.stderr { Stdio::inherit() } else { Stdio::piped() });

    let mut child = command.spawn().map_err(|e| {
        let hint = plugin.install_hint.clone().filter(|_| e.kind() == std::io::ErrorKind::NotFound);
        failed(format!("cannot be started: {e}"), hint)
    })?;
    // `wait_with_output()` has no limit, so a plugin with endless output would exhaust the memory. Dropping the pipe
    // ends such a plugin.
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(read_answer(stdout), read_end(stderr))
        .map_err(|e| failed(format!("cannot be read: {e}"), None))?;
    let status = child.wait().await.map_err(|e| failed(format!("cannot be waited for: {e}"), None))?;
    let explained = |problem: String| match last_lines(&stderr) {
        words if words.is_empty() => failed(problem, None),
        words => failed(format!("{problem}: {words}"), None),
    };
    if !status.success() {
        return Err(explained(format!("ended with {status}")));
    }
    // The parser's message could quote the token, so it is dropped.
    let document = std::str::from_utf8(&stdout).ok().and_then(|text| yaml::parse_one(text).ok());
    let credential = document.and_then(|document| serde_json::from_value::<ExecCredential>(document).ok());
    let credential = credential.ok_or_else(|| explained("printed no ExecCredential in JSON".to_owned()))?;
    // As in kubectl, an empty kind or version in the answer counts as the requested one.
    if !["", "ExecCredential"].contains(&credential.kind.as_str()) {
        return Err(explained("printed JSON whose kind is not ExecCredential".to_owned()));
    }
    let asked = plugin.api_version.as_deref().unwrap_or_default();
    if !credential.api_version.is_empty() && credential.api_version != asked {
        let answered = on_one_line(credential.api_version.trim());
        return Err(explained(format!("answered with apiVersion {answered} instead of {asked}")));
    }
    let status = credential.status.ok_or_else(|| explained("returned no credentials".to_owned()))?;
    if status.client_certificate_data.is_some() != status.client_key_data.is_some() {
        return Err(explained("returned a certificate without a key, or a key without a certificate".to_owned()));
    }
    let certificate = status.client_certificate_data.zip(status.client_key_data);
    let token = status.token.filter(|t| !t.expose_secret().is_empty());
    if certificate.is_none() && token.is_none() {
        return Err(explained("returned neither a token nor a certificate".to_owned()));
    }
    Ok(PluginCredentials { token, certificate, expires: status.expiration_timestamp })
}

async fn read_answer(stdout: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    if let Some(stdout) = stdout {
        // A byte more than allowed distinguishes a full answer from a truncated one.
        stdout.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut answer).await?;
    }
    if answer.len() as u64 > MAX_ANSWER_BYTES {
        return Err(std::io::Error::other("it printed more than the limit of 1 MiB"));
    }
    Ok(answer)
}

/// Reads everything, so that the plugin does not block, and keeps the end.
async fn read_end(stderr: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut stderr) = stderr else { return Ok(kept) };
    while stderr.read_buf(&mut kept).await? > 0 {
        // Cutting only at twice the size moves the bytes once per 16 KiB instead of with every read.
        if kept.len() > 2 * KEPT_STDERR_BYTES {
            kept.drain(..kept.len() - KEPT_STDERR_BYTES);
        }
    }
    Ok(kept)
}

/// Returns the last lines of a plugin's stderr as one line without control characters.
fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<String> =
        text.lines().map(|line| on_one_line(line.trim())).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default().join(" / ")
}

/// A token that is renewed by running its plugin again.
///
/// The plugin runs in its own task. If a call times out, the plugin keeps running, and the next call uses its result.
#[derive(Clone)]
pub(super) struct PluginToken {
    plugin: Arc<ExecConfig>,
    terminal: PluginTerminal,
    state: Arc<Mutex<TokenState>>,
}

#[derive(Default)]
struct TokenState {
    current: Option<CachedToken>,
    renewal: Option<Shared<BoxFuture<'static, Result<CachedToken, Reason>>>>,
}

#[derive(Clone)]
struct CachedToken {
    header: HeaderValue,
    expires: Option<Timestamp>,
}

impl CachedToken {
    fn lasts(&self, margin: Duration) -> bool {
        self.expires.is_none_or(|end| Timestamp::now() + margin < end)
    }
}

impl PluginToken {
    pub(super) fn new(
        plugin: ExecConfig,
        terminal: PluginTerminal,
        credentials: &PluginCredentials,
    ) -> Result<Self, Reason> {
        let current = Some(header(&plugin, credentials)?);
        let state = Arc::new(Mutex::new(TokenState { current, renewal: None }));
        Ok(PluginToken { plugin: Arc::new(plugin), terminal, state })
    }

    /// Returns the current `Authorization` header. Cancelling does not stop a running plugin.
    pub(super) async fn header(&self) -> Result<HeaderValue, Reason> {
        let renewal = {
            let mut state = self.state.lock().await;
            // The call that started this renewal may have timed out, so its result is still to be taken.
            if let Some(done) = state.renewal.clone().and_then(FutureExt::now_or_never) {
                state.renewal = None;
                match done {
                    Ok(token) => state.current = Some(token),
                    // Not a failure while the old token is valid: a later call runs the plugin again.
                    Err(reason) if !state.current.as_ref().is_some_and(|token| token.lasts(EXPIRY_MARGIN)) => {
                        return Err(reason);
                    }
                    Err(reason) => tracing::debug!("{reason}"),
                }
            }
            let current = state.current.clone();
            if let Some(token) = current.as_ref().filter(|token| token.lasts(RENEWAL_MARGIN)) {
                return Ok(token.header.clone());
            }
            let renewal = state.renewal.get_or_insert_with(|| self.renew()).clone();
            // The old token is still good, so this call does not wait for the renewal.
            if let Some(token) = current.filter(|token| token.lasts(EXPIRY_MARGIN)) {
                return Ok(token.header);
            }
            renewal
        };
        let token = renewal.await?;
        let mut state = self.state.lock().await;
        state.renewal = None;
        state.current = Some(token.clone());
        Ok(token.header)
    }

    fn renew(&self) -> Shared<BoxFuture<'static, Result<CachedToken, Reason>>> {
        let (plugin, terminal) = (self.plugin.clone(), self.terminal);
        let task = tokio::spawn(async move { header(&plugin, &run(&plugin, terminal).await?) });
        async move { task.await.unwrap_or_else(|error| Err(Reason::Other(error.to_string()))) }.boxed().shared()
    }

    /// Called when the server refused the token: the next call fetches a new one.
    pub(super) async fn forget(&self) {
        self.state.lock().await.current = None;
    }

    /// Explains why there was no token within the limit of a call.
    pub(super) fn timeout_reason(&self, limit: Duration) -> Reason {
        Reason::CredentialPlugin {
            command: self.plugin.command.clone().unwrap_or_default(),
            problem: format!("returned no new token within {limit:?}"),
            install_hint: None,
        }
    }
}

fn header(plugin: &ExecConfig, credentials: &PluginCredentials) -> Result<CachedToken, Reason> {
    let failed = |problem: &str| Reason::CredentialPlugin {
        command: plugin.command.clone().unwrap_or_default(),
        problem: problem.to_owned(),
        install_hint: None,
    };
    let token = credentials.token.as_ref().ok_or_else(|| failed("returned no token"))?;
    let header = bearer(token.expose_secret())
        .ok_or_else(|| failed("returned a token with characters that are not allowed in a header"))?;
    Ok(CachedToken { header, expires: credentials.expires })
}

// The plugins of these tests are shell scripts.
#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const HIDDEN: PluginTerminal = PluginTerminal { stdin: false, stderr: false };
    const VERSION: &str = "client.authentication.k8s.io/v1";
    const TYPE: &str = "\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\"";

    fn plugin(folder: &tempfile::TempDir, script: &str) -> ExecConfig {
        let path = folder.path().join("plugin.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        ExecConfig {
            command: Some(path.display().to_string()),
            api_version: Some(VERSION.into()),
            ..ExecConfig::default()
        }
    }

    #[tokio::test]
    async fn connections_that_share_runs_run_a_plugin_once_even_if_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let counted = || std::fs::read_to_string(&count).unwrap_or_default().lines().count();
        let script = |end: &str| format!("echo x >> {}; sleep 0.05; {end}", count.display());
        let works = plugin(&folder, &script(&answer("t", 3600)));
        let runs = PluginRuns::default();
        let all = futures::future::join_all((0..5).map(|_| runs.run(&works, HIDDEN))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(counted(), 1);
        let other = ExecConfig { args: Some(vec!["x".to_owned()]), ..works.clone() };
        assert!(runs.run(&other, HIDDEN).await.is_ok());
        assert_eq!(counted(), 2, "other arguments are another user");
        let fails = ExecConfig { args: Some(vec!["y".to_owned()]), ..plugin(&folder, &script("exit 3")) };
        let all = futures::future::join_all((0..5).map(|_| runs.run(&fails, HIDDEN))).await;
        assert!(all.iter().all(Result::is_err));
        assert_eq!(counted(), 3);
    }

    #[tokio::test]
    async fn shared_credentials_that_have_expired_are_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let script = format!("echo x >> {}; {}", count.display(), answer("t", 1));
        let (short, runs) = (plugin(&folder, &script), PluginRuns::default());
        for _ in 0..2 {
            assert!(runs.run(&short, HIDDEN).await.is_ok());
        }
        assert!(std::fs::read_to_string(&count).unwrap().lines().count() >= 2);
    }

    fn answer(token: &str, seconds: i64) -> String {
        let expires = Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        format!("echo '{{{TYPE}, \"status\": {{\"token\": \"{token}\", \"expirationTimestamp\": \"{expires}\"}}}}'")
    }

    async fn signed_in(plugin: ExecConfig) -> PluginToken {
        let credentials = run(&plugin, HIDDEN).await.unwrap();
        PluginToken::new(plugin, HIDDEN, &credentials).unwrap()
    }

    #[test]
    fn a_plugin_by_its_name_is_looked_for_in_absolute_folders_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = plugin(&folder, "true").command.unwrap();
        let found = |name: &str, search_path: &OsStr| {
            let hint = Some("get it".to_owned());
            let mut plugin = ExecConfig { command: Some(name.into()), install_hint: hint, ..ExecConfig::default() };
            find(&mut plugin, search_path).map(|()| plugin.command.unwrap())
        };
        assert_eq!(found("plugin.sh", folder.path().as_os_str()).unwrap(), file);
        assert_eq!(found(&file, OsStr::new("")).unwrap(), file, "a path is a path");
        // The plugin is in the current folder and can be executed.
        for search_path in [".", "", ":"] {
            let refused = found("install.sh", OsStr::new(search_path)).unwrap_err();
            let Reason::CredentialPlugin { problem, install_hint, .. } = refused else { panic!("{refused}") };
            assert!(problem.contains("no absolute folder in PATH") && install_hint.is_some(), "{problem}");
        }
    }

    #[tokio::test]
    async fn the_error_of_a_failed_plugin_has_its_stderr_but_not_its_stdout() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo canary; printf 'SSO session expired\\n\\033[31mrun aws sso login\\n' >&2; exit 1";
        let error = run(&plugin(&folder, script), HIDDEN).await.err().unwrap().to_string();
        assert!(error.ends_with("ended with exit status: 1: SSO session expired / [31mrun aws sso login"), "{error}");
    }

    #[tokio::test]
    async fn endless_output_ends_a_plugin_but_long_messages_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let endless = plugin(&folder, "exec cat /dev/zero");
        let error = run(&endless, HIDDEN).await.err().unwrap().to_string();
        assert!(error.ends_with("it printed more than the limit of 1 MiB"), "{error}");
        let noise = format!("head -c 3000000 /dev/zero | tr '\\0' x >&2\n{}", answer("t", 600));
        assert!(run(&plugin(&folder, &noise), HIDDEN).await.is_ok());
    }

    #[tokio::test]
    async fn an_answer_of_another_type_or_with_half_a_certificate_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let beta = TYPE.replace("/v1", "/v1beta1");
        for (answer, reported) in [
            (
                format!("{{{beta}, \"status\": {{\"token\": \"t\"}}}}"),
                "answered with apiVersion client.authentication.k8s.io/v1beta1 instead of client.authentication.k8s.io/v1",
            ),
            ("{\"kind\": \"Secret\", \"status\": {\"token\": \"t\"}}".to_owned(), "kind is not ExecCredential"),
            (
                format!("{{{TYPE}, \"status\": {{\"token\": \"t\", \"clientKeyData\": \"k\"}}}}"),
                "a key without a certificate",
            ),
        ] {
            let error = run(&plugin(&folder, &format!("echo '{answer}'")), HIDDEN).await.err().unwrap().to_string();
            assert!(error.ends_with(reported), "{error}");
        }
    }

    #[tokio::test]
    async fn an_answer_may_be_yaml_and_leave_its_type_out() {
        let folder = tempfile::tempdir().unwrap();
        for answer in
            ["{\"status\": {\"token\": \"t\"}}", "status:\n  token: t", "kind: ExecCredential\nstatus: {token: t}"]
        {
            let credentials = run(&plugin(&folder, &format!("echo '{answer}'")), HIDDEN).await.unwrap();
            assert_eq!(credentials.token.unwrap().expose_secret(), "t", "{answer}");
        }
    }

    #[tokio::test]
    async fn without_a_terminal_a_plugin_reads_nothing_and_one_that_has_to_ask_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut asks = plugin(
            &folder,
            &format!(
                "cat >&2\ncase $KUBERNETES_EXEC_INFO in *'\"interactive\":true'*) exit 4;; esac\n{}",
                answer("t", 600)
            ),
        );
        assert!(run(&asks, HIDDEN).await.is_ok());
        asks.interactive_mode = Some(ExecInteractiveMode::Always);
        let error = run(&asks, HIDDEN).await.err().unwrap().to_string();
        assert!(error.ends_with("standard input is not a terminal"), "{error}");
    }

    #[tokio::test]
    async fn a_slow_plugin_delays_no_request_while_its_old_token_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        let token = signed_in(plugin(&folder, &answer("old", 40))).await;
        plugin(
            &folder,
            &format!("while [ ! -e {}/go ]; do sleep 0.02; done\n{}", folder.path().display(), answer("new", 600)),
        );
        for _ in 0..3 {
            assert_eq!(token.header().await.unwrap(), "Bearer old");
        }
        std::fs::write(folder.path().join("go"), "").unwrap();
        let renewed = async {
            while token.header().await.unwrap() == "Bearer old" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), renewed).await.unwrap();
        assert_eq!(token.header().await.unwrap(), "Bearer new");
    }

    #[tokio::test]
    async fn a_call_that_gives_up_does_not_end_the_plugin() {
        let folder = tempfile::tempdir().unwrap();
        let token = signed_in(plugin(&folder, &answer("old", 1))).await;
        let path = folder.path().display().to_string();
        plugin(
            &folder,
            &format!("echo run >> {path}/runs\nwhile [ ! -e {path}/go ]; do sleep 0.02; done\n{}", answer("new", 600)),
        );
        assert!(tokio::time::timeout(Duration::from_millis(50), token.header()).await.is_err());
        std::fs::write(folder.path().join("go"), "").unwrap();
        assert_eq!(token.header().await.unwrap(), "Bearer new");
        assert_eq!(std::fs::read_to_string(folder.path().join("runs")).unwrap(), "run\n");
    }
}
