//! Credentials for registries: docker's configuration with its helpers, and Kubernetes' pull secrets.
//!
//! Sources: <https://docs.docker.com/reference/cli/docker/login/#credential-helpers>,
//! <https://github.com/docker/docker-credential-helpers>,
//! <https://kubernetes.io/docs/concepts/containers/images/#config-json>.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::GeneralPurposeConfig;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::io::AsyncWriteExt;

use super::Repository;
use super::manifest::null_as_default;
use crate::format::glob;
use crate::format::search_path::find_program;

/// The key of Docker Hub in docker's configuration.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
/// A helper may ask a vault or a cloud. One that takes longer is stuck or waits for a person.
const HELPER_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest configuration and largest answer of a helper.
const MAX_BYTES: u64 = 1 << 20;
/// Docker writes padding; other tools omit it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Source of credentials.
#[derive(Clone, Debug, Default)]
pub enum RegistryCredentials {
    #[default]
    Anonymous,
    /// The user's docker configuration.
    Docker(DockerConfig),
    /// Like `Docker`, with the first of these files that exists; it is read when a registry asks for credentials.
    DockerFiles { paths: Vec<PathBuf>, search_path: Option<OsString> },
    /// The content of a Secret of type `kubernetes.io/dockerconfigjson`; helpers in it are not run.
    PullSecret(DockerConfig),
}

/// Credentials for one registry.
#[derive(Clone)]
pub enum Login {
    Password {
        username: String,
        password: SecretString,
    },
    /// An OAuth 2 token that is exchanged for short-lived ones.
    IdentityToken(SecretString),
    /// A token that the registry accepts directly.
    RegistryToken(SecretString),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Password { username, .. } => {
                write!(f, "Password {{ username: {username:?}, password: [redacted] }}")
            }
            Login::IdentityToken(_) => f.write_str("IdentityToken([redacted])"),
            Login::RegistryToken(_) => f.write_str("RegistryToken([redacted])"),
        }
    }
}

/// Why credentials could not be read. It never repeats content of a file or output of a helper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("cannot read {path}: {problem}")]
    Read { path: String, problem: String },
    #[error("{origin} is not a Docker configuration: {problem}")]
    Parse { origin: String, problem: String },
    #[error("the credentials for {key} cannot be used: {problem}")]
    Entry { key: String, problem: &'static str },
    #[error("credential helper {program}: {problem}")]
    Helper { program: String, problem: String },
}

/// A docker configuration: `config.json`, or the content of a pull secret.
#[derive(Clone, Default)]
pub struct DockerConfig {
    auths: BTreeMap<String, CredentialEntry>,
    helpers: BTreeMap<String, String>,
    store: Option<String>,
    /// Folders in which helpers are searched; `None` uses the operating system's search.
    search_path: Option<OsString>,
}

impl fmt::Debug for DockerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DockerConfig {{ auths: {:?} }}", self.auths.keys())
    }
}

/// Go writes null for an empty field and accepts it in any field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfigFile {
    #[serde(default, deserialize_with = "null_as_default")]
    auths: BTreeMap<String, Option<CredentialEntry>>,
    #[serde(default, deserialize_with = "null_as_default")]
    cred_helpers: BTreeMap<String, Option<String>>,
    creds_store: Option<String>,
}

/// Removes null values from a map.
fn known<T>(values: BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
    values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

#[derive(Clone, Default, Deserialize)]
struct CredentialEntry {
    username: Option<String>,
    password: Option<SecretString>,
    auth: Option<SecretString>,
    identitytoken: Option<SecretString>,
    registrytoken: Option<SecretString>,
}

impl DockerConfig {
    /// Reads a configuration. `origin` names it in errors.
    ///
    /// # Errors
    /// It is not JSON, or its fields have other types.
    pub fn parse(origin: &str, text: &[u8]) -> Result<Self, LoginError> {
        let wrong = |problem: String| LoginError::Parse { origin: origin.to_owned(), problem };
        // serde's own text may quote a value, and values are secrets.
        let file: DockerConfigFile = serde_json::from_slice(text).map_err(|error| {
            wrong(format!("line {}, column {}: {}", error.line(), error.column(), category(&error)))
        })?;
        Ok(DockerConfig {
            auths: known(file.auths),
            helpers: file.cred_helpers.into_iter().map(|(key, name)| (key, name.unwrap_or_default())).collect(),
            store: file.creds_store.filter(|store| !store.is_empty()),
            search_path: None,
        })
    }

    /// Reads a legacy `.dockercfg`: the entries without `auths` around them.
    ///
    /// # Errors
    /// As [`DockerConfig::parse`].
    pub fn parse_legacy(origin: &str, text: &[u8]) -> Result<Self, LoginError> {
        let auths: Option<BTreeMap<String, Option<CredentialEntry>>> =
            serde_json::from_slice(text).map_err(|error| LoginError::Parse {
                origin: origin.to_owned(),
                problem: format!("line {}, column {}: {}", error.line(), error.column(), category(&error)),
            })?;
        Ok(DockerConfig { auths: known(auths.unwrap_or_default()), ..DockerConfig::default() })
    }

    /// Reads the first of the files that exists; none is an empty configuration.
    ///
    /// # Errors
    /// A file exists but cannot be read or parsed.
    fn read_first(paths: &[PathBuf], search_path: Option<OsString>) -> Result<Self, LoginError> {
        for path in paths {
            let unreadable = |problem: String| LoginError::Read { path: path.display().to_string(), problem };
            match std::fs::metadata(path) {
                Ok(metadata) if metadata.len() > MAX_BYTES => return Err(unreadable("larger than 1 MiB".to_owned())),
                Ok(_) => {
                    let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
                    let config = Self::parse(&path.display().to_string(), &text)?;
                    return Ok(DockerConfig { search_path, ..config });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(error.to_string())),
            }
        }
        Ok(DockerConfig { search_path, ..DockerConfig::default() })
    }

    /// Follows docker: the helper of this registry, else the store, else the entry in the file. A helper without a name
    /// selects the file for this registry.
    async fn login(&self, repository: &Repository) -> Result<Option<Login>, LoginError> {
        // `docker login` stores Docker Hub under this old address.
        let key = if repository.registry() == "docker.io" { DOCKER_HUB_KEY } else { repository.registry() };
        let helper = self.helpers.iter().find(|(name, _)| host_of(name) == host_of(key)).map(|(_, helper)| helper);
        if let Some(helper) = helper.or(self.store.as_ref()).filter(|helper| !helper.is_empty())
            && let Some(login) = run_helper(helper, key, self.search_path.as_ref()).await?
        {
            return Ok(Some(login));
        }
        self.entry_login(repository)
    }

    /// Returns the login of the most specific entry for a repository. A key may have a path, and `*` within a label.
    fn entry_login(&self, repository: &Repository) -> Result<Option<Login>, LoginError> {
        // Longer keys come first, as in Kubernetes, so that a repository may have other credentials than its registry.
        let mut keys: Vec<&String> = self.auths.keys().collect();
        keys.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| b.cmp(a)));
        let Some(key) = keys.into_iter().find(|key| matches(key, repository)) else { return Ok(None) };
        let login = self.auths.get(key).map_or(Ok(None), CredentialEntry::login);
        login.map_err(|problem| LoginError::Entry { key: key.clone(), problem })
    }
}

fn category(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Data => "a field has the wrong type",
        serde_json::error::Category::Eof => "it is truncated",
        _ => "it is not JSON",
    }
}

/// Removes scheme, API version and path from a key.
fn host_of(key: &str) -> &str {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Kubernetes' rule: same number of labels, globs within a label, same port, and the path is a prefix.
fn matches(key: &str, repository: &Repository) -> bool {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    // `/v1/` and `/v2/` are API versions written by old clients.
    let path = match path.split_once('/') {
        Some(("v1" | "v2", rest)) => rest,
        None if matches!(path, "v1" | "v2") => "",
        _ => path,
    };
    let registry = repository.registry();
    let is_hub = |host: &str| matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io");
    let split_port = |text: &str| match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host.to_owned(), port.to_owned()),
        _ => (text.to_owned(), String::new()),
    };
    let ((wanted, wanted_port), (has, has_port)) = (split_port(host), split_port(registry));
    let labels = wanted.split('.').count() == has.split('.').count()
        && wanted
            .split('.')
            .zip(has.split('.'))
            .all(|(wanted, has)| glob::matches(&wanted.to_lowercase(), &has.to_lowercase()));
    let is_host = (is_hub(host) && is_hub(registry)) || (labels && wanted_port == has_port);
    is_host && repository.path().starts_with(path.trim_end_matches('/'))
}

impl CredentialEntry {
    /// Reads the entry. As in docker, an entry that cannot be read is an error. Without credentials, a registry would
    /// only answer that it requires some.
    fn login(&self) -> Result<Option<Login>, &'static str> {
        let filled = |text: &Option<SecretString>| text.clone().filter(|text| !text.expose_secret().is_empty());
        if let Some(token) = filled(&self.registrytoken) {
            return Ok(Some(Login::RegistryToken(token)));
        }
        if let Some(token) = filled(&self.identitytoken) {
            return Ok(Some(Login::IdentityToken(token)));
        }
        if let Some(auth) = filled(&self.auth) {
            // Go skips line ends inside.
            let auth: zeroize::Zeroizing<String> =
                zeroize::Zeroizing::new(auth.expose_secret().split_ascii_whitespace().collect());
            let both = BASE64.decode(auth.as_bytes()).map_err(|_| "its auth is not base64")?;
            let both = zeroize::Zeroizing::new(both);
            let text = std::str::from_utf8(&both).map_err(|_| "its auth is not text in base64")?;
            let (username, password) = text.split_once(':').ok_or("its auth is not USER:PASSWORD in base64")?;
            // Old versions of `docker login` end the password with a NUL.
            return Ok(password_login(username, password.trim_end_matches('\0')));
        }
        let (Some(username), Some(password)) = (&self.username, &self.password) else { return Ok(None) };
        Ok(password_login(username, password.expose_secret()))
    }
}

fn password_login(username: &str, password: &str) -> Option<Login> {
    let login = Login::Password { username: username.to_owned(), password: password.into() };
    (!username.is_empty()).then_some(login)
}

impl RegistryCredentials {
    /// Reads the data of a pull secret, `.dockerconfigjson` or the legacy `.dockercfg`, depending on its type. As in
    /// Kubernetes, Secrets of other types hold no credentials, regardless of their keys. `origin` names it in errors.
    ///
    /// # Errors
    /// The data is not a Docker configuration.
    pub fn from_pull_secret(
        origin: &str,
        secret_type: &str,
        data: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, LoginError> {
        let parsed = match secret_type {
            "kubernetes.io/dockerconfigjson" => {
                data.get(".dockerconfigjson").map(|text| DockerConfig::parse(origin, text))
            }
            "kubernetes.io/dockercfg" => data.get(".dockercfg").map(|text| DockerConfig::parse_legacy(origin, text)),
            _ => None,
        };
        parsed.map_or(Ok(RegistryCredentials::Anonymous), |config| config.map(RegistryCredentials::PullSecret))
    }

    /// Merges two pull secrets; the first takes precedence.
    #[must_use]
    pub fn and(self, other: RegistryCredentials) -> RegistryCredentials {
        match (self, other) {
            (RegistryCredentials::PullSecret(mut first), RegistryCredentials::PullSecret(second)) => {
                for (registry, entry) in second.auths {
                    first.auths.entry(registry).or_insert(entry);
                }
                RegistryCredentials::PullSecret(first)
            }
            (RegistryCredentials::Anonymous, other) => other,
            (first, _) => first,
        }
    }

    /// Returns the login for a repository; `None` means anonymous.
    ///
    /// # Errors
    /// A credential helper failed or did not answer within 30 s.
    pub async fn login(&self, repository: &Repository) -> Result<Option<Login>, LoginError> {
        match self {
            RegistryCredentials::Anonymous => Ok(None),
            RegistryCredentials::Docker(config) => config.login(repository).await,
            RegistryCredentials::DockerFiles { paths, search_path } => {
                DockerConfig::read_first(paths, search_path.clone())?.login(repository).await
            }
            RegistryCredentials::PullSecret(config) => config.entry_login(repository),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: SecretString,
}

/// Runs `docker-credential-NAME get` with the server on standard input. Returns `None` if the helper has no
/// credentials.
async fn run_helper(name: &str, server: &str, search_path: Option<&OsString>) -> Result<Option<Login>, LoginError> {
    let program = format!("docker-credential-{name}");
    let wrong = |problem: String| LoginError::Helper { program: program.clone(), problem };
    // The name comes from a file. A path in it would run any program on this machine.
    if name.contains(['/', '\\']) {
        return Err(wrong("its name contains a path".to_owned()));
    }
    let file = match search_path {
        Some(path) => find_program(path, &program).ok_or_else(|| wrong("not found in PATH".to_owned()))?,
        None => PathBuf::from(&program),
    };
    let mut command = tokio::process::Command::new(file);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let answer = async {
        let mut child = command.spawn().map_err(|error| wrong(error.to_string()))?;
        if let Some(mut input) = child.stdin.take() {
            // A failed write is not an error: a helper may ignore its input and still answer.
            let _ = input.write_all(server.as_bytes()).await;
        }
        child.wait_with_output().await.map_err(|error| wrong(error.to_string()))
    };
    let limit = tokio::time::timeout(HELPER_TIMEOUT, answer).await;
    let output = limit.map_err(|_| wrong(format!("no answer within {} s", HELPER_TIMEOUT.as_secs())))??;
    let stdout = zeroize::Zeroizing::new(output.stdout);
    if !output.status.success() {
        // The protocol fixes this message; it means anonymous.
        let unknown = String::from_utf8_lossy(&stdout).contains("credentials not found");
        return if unknown { Ok(None) } else { Err(wrong(format!("it failed with {}", output.status))) };
    }
    let answer: HelperAnswer =
        serde_json::from_slice(&stdout).map_err(|_| wrong("its answer is not the JSON of a credential".to_owned()))?;
    if answer.secret.expose_secret().is_empty() {
        return Ok(None);
    }
    // By docker's protocol, this user name means that the secret is an identity token.
    Ok(Some(match answer.username.as_str() {
        "<token>" => Login::IdentityToken(answer.secret),
        _ => Login::Password { username: answer.username, password: answer.secret },
    }))
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::path::Path;

    use super::*;

    fn shown(login: Option<Login>) -> String {
        match login {
            None => "anonymous".to_owned(),
            Some(Login::Password { username, password }) => format!("{username}:{}", password.expose_secret()),
            Some(Login::IdentityToken(token)) => format!("identity {}", token.expose_secret()),
            Some(Login::RegistryToken(token)) => format!("registry {}", token.expose_secret()),
        }
    }

    async fn login(config: &str, repository: &str) -> String {
        let config = DockerConfig::parse("test", config.as_bytes()).unwrap();
        shown(RegistryCredentials::PullSecret(config).login(&repository.parse().unwrap()).await.unwrap())
    }

    #[tokio::test]
    async fn entries_hold_passwords_and_tokens_in_several_forms() {
        for (entry, expected) in [
            (r#"{"auth": "YWxpY2U6czplY3JldA=="}"#, "alice:s:ecret"),
            (r#"{"auth": "YWxpY2U6czplY3JldA"}"#, "alice:s:ecret"),
            (r#"{"username": "alice", "password": "secret"}"#, "alice:secret"),
            (r#"{"auth": "YTpi", "identitytoken": "t"}"#, "identity t"),
            (r#"{"registrytoken": "t"}"#, "registry t"),
            (r#"{"auth": ""}"#, "anonymous"),
            (r#"{"auth": " YWxpY2U6\r\nczplY3JldA==\n"}"#, "alice:s:ecret"),
            ("{}", "anonymous"),
        ] {
            let config = format!(r#"{{"auths": {{"ghcr.io": {entry}}}}}"#);
            assert_eq!(login(&config, "ghcr.io/a").await, expected, "{entry}");
        }
    }

    #[tokio::test]
    async fn an_entry_that_cannot_be_read_is_reported_and_not_ignored() {
        for (auth, problem) in [("!", "not base64"), ("YWxpY2U=", "not USER:PASSWORD"), ("YTr/", "not text")] {
            let config = format!(r#"{{"auths": {{"ghcr.io": {{"auth": "{auth}"}}, "quay.io": {{"auth": "YTpi"}}}}}}"#);
            let config = DockerConfig::parse("test", config.as_bytes()).unwrap();
            let credentials = RegistryCredentials::PullSecret(config);
            let error = credentials.login(&"ghcr.io/a".parse().unwrap()).await.unwrap_err().to_string();
            assert!(error.contains("for ghcr.io") && error.contains(problem), "{error}");
            assert!(credentials.login(&"quay.io/a".parse().unwrap()).await.is_ok(), "other entries still count");
        }
    }

    #[tokio::test]
    async fn null_is_read_as_what_is_not_there() {
        for config in [
            r#"{"auths": null}"#,
            r#"{"auths": {"ghcr.io": null}, "credHelpers": null, "credsStore": null}"#,
            r#"{"auths": {"ghcr.io": {"auth": null, "identitytoken": null}}, "credHelpers": {"ghcr.io": null}}"#,
            r#"{"credHelpers": {"ghcr.io": ""}}"#,
        ] {
            assert_eq!(login(config, "ghcr.io/a").await, "anonymous", "{config}");
        }
        let beside = r#"{"auths": {"ghcr.io/b": null, "ghcr.io": {"username": "alice", "password": "p"}}}"#;
        assert_eq!(login(beside, "ghcr.io/b/c").await, "alice:p");
        assert!(DockerConfig::parse_legacy("test", b"null").is_ok());
        assert!(DockerConfig::parse_legacy("test", br#"{"ghcr.io": null}"#).is_ok());
    }

    #[tokio::test]
    async fn the_longest_key_that_fits_a_repository_wins() {
        let config = r#"{"auths": {
            "ghcr.io": {"username": "host", "password": "p"},
            "ghcr.io/team": {"username": "path", "password": "p"},
            "https://old.example.com/v1/": {"username": "old", "password": "p"},
            "*.example.org": {"username": "glob", "password": "p"},
            "a.example.org:5000": {"username": "port", "password": "p"},
            "https://index.docker.io/v1/": {"username": "hub", "password": "p"}
        }}"#;
        for (repository, expected) in [
            ("ghcr.io/other/x", "host:p"),
            ("ghcr.io/team/x", "path:p"),
            ("old.example.com/x", "old:p"),
            ("b.example.org/x", "glob:p"),
            ("a.b.example.org/x", "anonymous"),
            ("a.example.org:5000/x", "port:p"),
            ("b.example.org:5000/x", "anonymous"),
            ("alpine", "hub:p"),
            ("quay.io/x", "anonymous"),
        ] {
            assert_eq!(login(config, repository).await, expected, "{repository}");
        }
    }

    #[tokio::test]
    async fn the_type_of_a_pull_secret_says_which_key_counts_and_whether_any_does() {
        let (json, legacy) = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg");
        let data: BTreeMap<String, Vec<u8>> = [
            (".dockerconfigjson", r#"{"auths": {"ghcr.io": {"username": "json", "password": "p"}}}"#),
            (".dockercfg", r#"{"ghcr.io": {"username": "legacy", "password": "p"}}"#),
        ]
        .map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec()))
        .into();
        for (secret_type, left_out, expected) in [
            (json, "", "json:p"),
            (legacy, "", "legacy:p"),
            (json, ".dockerconfigjson", "anonymous"),
            (legacy, ".dockercfg", "anonymous"),
            ("Opaque", "", "anonymous"),
            ("kubernetes.io/basic-auth", "", "anonymous"),
            ("", "", "anonymous"),
        ] {
            let mut data = data.clone();
            data.remove(left_out);
            let credentials = RegistryCredentials::from_pull_secret("test", secret_type, &data).unwrap();
            let login = credentials.login(&"ghcr.io/a".parse().unwrap()).await.unwrap();
            assert_eq!(shown(login), expected, "{secret_type} without {left_out:?}");
        }
        // Data that does not count is not parsed either.
        let broken = [(".dockerconfigjson".to_owned(), b"{".to_vec())].into();
        assert!(RegistryCredentials::from_pull_secret("test", json, &broken).is_err());
        assert!(RegistryCredentials::from_pull_secret("test", "Opaque", &broken).is_ok());
    }

    #[test]
    fn a_broken_configuration_is_refused_without_repeating_it() {
        for text in ["{", "[1]", r#"{"auths": {"a": {"auth": ["s3cret"]}}}"#, r#"{"auths": "s3cret"}"#, "s3cret"] {
            let error = DockerConfig::parse("config.json", text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("config.json is not a Docker configuration: line 1"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let config = DockerConfig::parse("x", br#"{"auths": {"a": {"auth": "czNjcmV0"}}}"#).unwrap();
        assert_eq!(format!("{config:?}"), "DockerConfig { auths: [\"a\"] }");
    }

    #[cfg(unix)]
    fn helper(folder: &Path, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.join(format!("docker-credential-{name}"));
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn helpers_are_asked_first_and_an_unknown_server_falls_back_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        helper(
            folder.path(),
            "a",
            r#"read -r s; echo "{\"ServerURL\":\"$s\",\"Username\":\"$1-$s\",\"Secret\":\"x\"}""#,
        );
        helper(folder.path(), "token", r#"echo '{"Username":"<token>","Secret":"id"}'"#);
        helper(folder.path(), "none", "echo 'credentials not found in native keychain'; exit 1");
        helper(folder.path(), "broken", "echo s3cret; exit 3");
        helper(folder.path(), "nonsense", "echo s3cret");
        let file = folder.path().join("config.json");
        std::fs::write(
            &file,
            r#"{"credsStore": "none", "credHelpers": {"ghcr.io": "a", "t.io": "token", "b.io": "broken", "n.io": "nonsense", "m.io": "missing"},
                "auths": {"quay.io": {"username": "file", "password": "p"}}}"#,
        )
        .unwrap();
        let search_path = Some(folder.path().as_os_str().to_owned());
        let paths = [folder.path().join("absent.json"), file];
        let credentials = RegistryCredentials::Docker(DockerConfig::read_first(&paths, search_path).unwrap());
        let ask = async |repository: &str| credentials.login(&repository.parse().unwrap()).await;
        assert_eq!(shown(ask("ghcr.io/x").await.unwrap()), "get-ghcr.io:x");
        assert_eq!(shown(ask("t.io/x").await.unwrap()), "identity id");
        assert_eq!(shown(ask("quay.io/x").await.unwrap()), "file:p");
        assert_eq!(shown(ask("other.io/x").await.unwrap()), "anonymous");
        for (repository, problem) in [("b.io/x", "exit status: 3"), ("n.io/x", "not the JSON"), ("m.io/x", "not found")]
        {
            let error = ask(repository).await.unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("s3cret"), "{error}");
        }
    }
}
