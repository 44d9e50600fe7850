//! From kubeconfig files and flags to one target: server, credentials, context, namespace. Reads files, never the
//! environment.
//!
//! The rules are kubectl's: files of a list are merged, the first file to set a value wins, missing files are skipped,
//! relative paths are relative to their file, and a flag overrides one field. Input that kubectl refuses is refused as
//! well: a file that other programs understand differently eventually leads to the wrong cluster. Source:
//! <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster as ClusterInfo, ExecConfig, Kubeconfig};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::error::Reason;
use crate::format::file::{MAX_CONFIG_BYTES, read_at_most};
use crate::format::yaml;

/// Source of the kubeconfig.
#[derive(Clone, Debug)]
pub enum KubeconfigSource {
    /// A file named by the user, which must exist.
    File(PathBuf),
    /// A list such as `KUBECONFIG` or the default location; missing files are skipped.
    List(Vec<PathBuf>),
    /// A kubeconfig that was read before. Connections to many clusters share it: a pipe can be read only once, and a
    /// file with hundreds of contexts takes long to read.
    Loaded(Arc<Kubeconfig>),
}

impl KubeconfigSource {
    /// Whether a read may wait for a writer: `--kubeconfig <(…)` is a pipe.
    pub(super) fn may_block(&self) -> bool {
        let paths = match self {
            KubeconfigSource::File(path) => std::slice::from_ref(path),
            KubeconfigSource::List(paths) => paths,
            KubeconfigSource::Loaded(_) => return false,
        };
        paths.iter().any(|path| std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()))
    }
}

/// Connection flags; missing values come from the kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub context: Option<String>,
    /// URL; a bare `host:port` means `https://`.
    pub server: Option<String>,
    pub token: Option<SecretString>,
    pub tls_server_name: Option<String>,
    pub certificate_authority: Option<PathBuf>,
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub insecure_skip_tls_verify: bool,
    pub as_user: Option<String>,
    pub as_groups: Vec<String>,
    pub as_uid: Option<String>,
}

/// A cluster with its user after selection and overrides. Nothing is loaded or connected yet.
pub(super) struct ConnectionTarget {
    pub context: Option<String>,
    /// The context's own namespace; an empty one counts as none.
    pub namespace: Option<String>,
    pub cluster: ClusterInfo,
    pub user: AuthInfo,
}

/// Reads and merges the files of a source.
///
/// # Errors
/// A named file that cannot be read, or any file that is not a kubeconfig.
pub fn read(source: &KubeconfigSource) -> Result<Arc<Kubeconfig>, Reason> {
    match source {
        KubeconfigSource::Loaded(config) => Ok(config.clone()),
        KubeconfigSource::File(path) => read_file(path).map(Arc::new),
        KubeconfigSource::List(paths) => {
            let mut merged = Kubeconfig::default();
            for path in paths.iter().filter(|p| !p.as_os_str().is_empty()) {
                // Only a missing file is skipped: an unreadable one must not silently change the cluster.
                let absent = std::fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
                if !absent {
                    merged = merge(merged, read_file(path)?, path)?;
                }
            }
            Ok(Arc::new(merged))
        }
    }
}

/// Returns the namespace of a context, or of the current one; an empty one counts as none.
pub fn namespace(config: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let name = context.or(config.current_context.as_deref())?;
    let context = config.contexts.iter().find(|c| c.name == name)?.context.as_ref()?;
    context.namespace.clone().filter(|n| !n.is_empty())
}

/// The names of the contexts, in the order of the files.
pub fn contexts(config: &Kubeconfig) -> Vec<String> {
    config.contexts.iter().map(|context| context.name.clone()).collect()
}

/// Fields with a path relative to their file. The command of a plugin counts only if it is a path and not a bare name.
const PATHS: [(&str, &str); 5] = [
    ("clusters", "/cluster/certificate-authority"),
    ("users", "/user/client-certificate"),
    ("users", "/user/client-key"),
    ("users", "/user/tokenFile"),
    ("users", "/user/exec/command"),
];

fn read_file(path: &Path) -> Result<Kubeconfig, Reason> {
    // The parser's message quotes the file, which contains credentials, so only the kind of problem and its position
    // are shown.
    let content = read_at_most(path, MAX_CONFIG_BYTES).map_err(|e| unusable(path, &e.to_string()))?;
    let text = yaml::decode(content).map_err(|_| unusable(path, "it is not text in UTF-8"))?;
    let documents = yaml::parse_kubeconfig_documents(&text).map_err(|error| {
        let place = error.location().map(|place| format!(" ({place})")).unwrap_or_default();
        unusable(path, &format!("it is not a kubeconfig in YAML{place}"))
    })?;
    let mut merged = Kubeconfig::default();
    for mut document in documents {
        // serde would quote the wrong value, which may be a password, so types are checked first with a message that
        // names only the field.
        check_types(&document).map_err(|problem| unusable(path, &problem))?;
        fill_in(&mut document);
        if let Some(folder) = path.parent() {
            make_absolute(&mut document, folder);
        }
        let next: Kubeconfig =
            serde_json::from_value(document).map_err(|_| unusable(path, "it is not a kubeconfig in YAML"))?;
        let next = checked(next).map_err(|problem| unusable(path, &problem))?;
        merged = merge(merged, next, path)?;
    }
    Ok(merged)
}

/// Fields that hold text.
const TEXTS: [&str; 38] = [
    "kind",
    "apiVersion",
    "current-context",
    "contexts[].name",
    "contexts[].context.cluster",
    "contexts[].context.user",
    "contexts[].context.namespace",
    "clusters[].name",
    "clusters[].cluster.server",
    "clusters[].cluster.tls-server-name",
    "clusters[].cluster.proxy-url",
    "clusters[].cluster.certificate-authority",
    "clusters[].cluster.certificate-authority-data",
    "users[].name",
    "users[].user.username",
    "users[].user.password",
    "users[].user.token",
    "users[].user.tokenFile",
    "users[].user.client-certificate",
    "users[].user.client-certificate-data",
    "users[].user.client-key",
    "users[].user.client-key-data",
    "users[].user.as",
    "users[].user.as-uid",
    "users[].user.as-groups[]",
    "users[].user.auth-provider.name",
    "users[].user.exec.apiVersion",
    "users[].user.exec.command",
    "users[].user.exec.args[]",
    "users[].user.exec.env[].name",
    "users[].user.exec.env[].value",
    "users[].user.exec.installHint",
    "users[].user.exec.interactiveMode",
    "clusters[].cluster.extensions[].name",
    "users[].user.extensions[].name",
    "contexts[].context.extensions[].name",
    "extensions[].name",
    "preferences.extensions[].name",
];

/// Fields that are true or false.
const BOOLEANS: [&str; 3] = [
    "clusters[].cluster.insecure-skip-tls-verify",
    "clusters[].cluster.disable-compression",
    "users[].user.exec.provideClusterInfo",
];

/// Names the field with a value of the wrong type: `clusters[0].name is a number, not text`. The value is not shown.
fn check_types(document: &Value) -> Result<(), String> {
    if !document.is_object() {
        return Err("it is not a kubeconfig in YAML".to_owned());
    }
    for field in TEXTS {
        check_type(document, "", field, "text", &Value::is_string)?;
    }
    for field in BOOLEANS {
        check_type(document, "", field, "true or false", &Value::is_boolean)?;
    }
    Ok(())
}

/// Checks a field such as `users[].user.token` below `place`; missing and null values are always valid.
fn check_type(
    value: &Value,
    place: &str,
    field: &str,
    wanted: &str,
    is_right: &dyn Fn(&Value) -> bool,
) -> Result<(), String> {
    let wrong = |wanted: &str| Err(format!("{place} is {}, not {wanted}", type_in_words(value)));
    if value.is_null() {
        return Ok(());
    }
    if let Some(rest) = field.strip_prefix("[]") {
        let Some(items) = value.as_array() else { return wrong("a list") };
        let check = |(index, item)| check_type(item, &format!("{place}[{index}]"), rest, wanted, is_right);
        return items.iter().enumerate().try_for_each(check);
    }
    let field = field.trim_start_matches('.');
    if field.is_empty() {
        return if is_right(value) { Ok(()) } else { wrong(wanted) };
    }
    let Some(members) = value.as_object() else { return wrong("a mapping") };
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let (name, rest) = field.split_at(end);
    let below = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    members.get(name).map_or(Ok(()), |value| check_type(value, &below, rest, wanted, is_right))
}

fn type_in_words(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Fields with inline file content.
const CONTENTS: [(&str, &str); 3] = [
    ("clusters", "/cluster/certificate-authority-data"),
    ("users", "/user/client-certificate-data"),
    ("users", "/user/client-key-data"),
];

/// Normalises a document for the rest of the program: missing names are empty, as in Go, and base64 has no line breaks.
fn fill_in(document: &mut Value) {
    for (list, field) in CONTENTS {
        for entry in entries(document, list) {
            let Some(Value::String(content)) = entry.pointer_mut(field) else { continue };
            // The parser has already decoded `!!binary`.
            if content.trim_start().starts_with("-----BEGIN ") {
                *content = STANDARD.encode(&*content);
            } else {
                // Go's decoder skips line ends and nothing else.
                content.retain(|c| !matches!(c, '\r' | '\n'));
            }
        }
    }
    for (list, field, name) in
        [("clusters", "", "name"), ("users", "", "name"), ("contexts", "", "name"), ("contexts", "/context", "cluster")]
    {
        for entry in entries(document, list) {
            if let Some(members) = entry.pointer_mut(field).and_then(Value::as_object_mut) {
                let value = members.entry(name).or_insert(Value::Null);
                if value.is_null() {
                    *value = "".into();
                }
            }
        }
    }
}

fn entries<'a>(document: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    document.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Refuses entries that kubectl refuses, and drops empty ones.
fn checked(mut config: Kubeconfig) -> Result<Kubeconfig, String> {
    // Taken out after the check: kube refuses to merge a file with kind `Config` and another with an empty kind.
    let (kind, version) = (config.kind.take().unwrap_or_default(), config.api_version.take().unwrap_or_default());
    if !matches!(kind.as_str(), "" | "Config") {
        return Err(format!("its kind is {kind}, not Config"));
    }
    if !matches!(version.as_str(), "" | "v1") {
        return Err(format!("its apiVersion is {version}, not v1"));
    }
    config.current_context = config.current_context.filter(|name| !name.is_empty());
    let twice = |names: Vec<&str>| {
        let mut seen = std::collections::BTreeSet::new();
        names.into_iter().find(|name| !seen.insert(*name)).map(str::to_owned)
    };
    for (what, names) in [
        ("contexts", config.contexts.iter().map(|one| one.name.as_str()).collect::<Vec<_>>()),
        ("clusters", config.clusters.iter().map(|one| one.name.as_str()).collect()),
        ("users", config.auth_infos.iter().map(|one| one.name.as_str()).collect()),
    ] {
        if let Some(name) = twice(names) {
            return Err(format!("two of its {what} are named {name}"));
        }
    }
    Ok(config)
}

fn make_absolute(document: &mut Value, folder: &Path) {
    for (list, field) in PATHS {
        for entry in entries(document, list) {
            let Some(Value::String(file)) = entry.pointer_mut(field) else { continue };
            let is_a_name = field.ends_with("command") && !file.contains(std::path::MAIN_SEPARATOR);
            if let Some(absolute) = folder.join(&*file).to_str().filter(|_| !is_a_name) {
                *file = absolute.to_owned();
            }
        }
    }
}

fn merge(merged: Kubeconfig, next: Kubeconfig, path: &Path) -> Result<Kubeconfig, Reason> {
    merged.merge(next).map_err(|_| unusable(path, "it cannot be used"))
}

fn unusable(path: &Path, problem: &str) -> Reason {
    Reason::Config(format!("kubeconfig {}: {problem}", path.display()))
}

/// Selects context, cluster and user, and applies the flags. Returns `None` if nothing names a cluster.
pub(super) fn choose(config: &Kubeconfig, overrides: &Overrides) -> Result<Option<ConnectionTarget>, Reason> {
    let known = || config.contexts.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let name = overrides.context.clone().filter(|n| !n.is_empty());
    let name = name.or_else(|| config.current_context.clone()).filter(|n| !n.is_empty());
    let mut names = (String::new(), String::new());
    let mut target = match name {
        Some(name) => {
            let context = config
                .contexts
                .iter()
                .find(|c| c.name == name)
                .and_then(|c| c.context.clone())
                .ok_or_else(|| Reason::ContextNotFound { name: name.clone(), known: known() })?;
            let cluster = config.clusters.iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster.clone());
            names = (context.cluster.clone(), context.user.clone().unwrap_or_default());
            // A user needs a cluster, unless --server replaces it.
            let user = config.auth_infos.iter().find(|u| Some(&u.name) == context.user.as_ref());
            let cluster = match (cluster, &overrides.server) {
                (Some(cluster), _) => cluster,
                (None, Some(_)) => ClusterInfo::default(),
                (None, None) => {
                    return Err(Reason::Config(format!(
                        "context {name} names cluster {}, which is not in the kubeconfig",
                        context.cluster
                    )));
                }
            };
            // A missing user would make requests anonymous. A server without TLS gets no credentials anyway: a proxy on
            // this machine adds them.
            let has_credentials = overrides.token.is_some() || overrides.client_certificate.is_some();
            let is_plain = cluster.server.as_ref().is_some_and(|server| server.starts_with("http://"));
            if let Some(named) = context.user.as_ref().filter(|named| !named.is_empty())
                && user.is_none()
                && !has_credentials
                && !is_plain
            {
                return Err(Reason::Config(format!(
                    "context {name} names user {named}, which is not in the kubeconfig"
                )));
            }
            ConnectionTarget {
                context: Some(name),
                namespace: context.namespace.filter(|n| !n.is_empty()),
                cluster,
                user: user.and_then(|u| u.auth_info.clone()).unwrap_or_default(),
            }
        }
        None if overrides.server.is_some() => ConnectionTarget {
            context: None,
            namespace: None,
            cluster: ClusterInfo::default(),
            user: AuthInfo::default(),
        },
        None if !config.contexts.is_empty() => return Err(Reason::NoCurrentContext { known: known() }),
        None => return Ok(None),
    };
    apply_overrides(&mut target.cluster, overrides);
    override_user(&mut target.user, overrides);
    let (cluster, user) = names;
    check_cluster(&target.cluster).map_err(|problem| contradiction("cluster", &cluster, &problem))?;
    check_user(&target.user).map_err(|problem| contradiction("user", &user, &problem))?;
    Ok(Some(target))
}

/// Describes contradictory settings; `name` is empty if only flags are involved.
fn contradiction(what: &str, name: &str, problem: &str) -> Reason {
    let named = if name.is_empty() { format!("the {what}") } else { format!("{what} {name}") };
    Reason::Config(format!("{named}: {problem}"))
}

/// Refuses contradictory settings, as kubectl does.
fn check_cluster(cluster: &ClusterInfo) -> Result<(), String> {
    let has_authority = cluster.certificate_authority.is_some() || cluster.certificate_authority_data.is_some();
    if has_authority && cluster.insecure_skip_tls_verify == Some(true) {
        return Err("a certificate authority and insecure-skip-tls-verify exclude each other: remove one".to_owned());
    }
    if cluster.certificate_authority.is_some() && cluster.certificate_authority_data.is_some() {
        return Err("certificate-authority and certificate-authority-data are both given: remove one".to_owned());
    }
    Ok(())
}

/// Refuses contradictory credentials, and kinds that Kubernetes no longer supports.
fn check_user(user: &AuthInfo) -> Result<(), String> {
    let has_token = user.token.is_some() || user.token_file.is_some();
    if has_token && (user.username.is_some() || user.password.is_some()) {
        return Err("a token and a username with a password exclude each other: remove one".to_owned());
    }
    let has_certificate = user.client_certificate.is_some() || user.client_certificate_data.is_some();
    if user.client_certificate.is_some() && user.client_certificate_data.is_some() {
        return Err("client-certificate and client-certificate-data are both given: remove one".to_owned());
    }
    if user.client_key.is_some() && user.client_key_data.is_some() {
        return Err("client-key and client-key-data are both given: remove one".to_owned());
    }
    if has_certificate && user.client_key.is_none() && user.client_key_data.is_none() {
        return Err("its client certificate needs client-key or client-key-data".to_owned());
    }
    let acts_as_more = user.impersonate_uid.as_ref().is_some_and(|uid| !uid.is_empty())
        || user.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty())
        || user.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty());
    if acts_as_more && user.impersonate.as_ref().is_none_or(String::is_empty) {
        return Err("groups, a uid or extra fields can be impersonated together with a user only: add `as`".to_owned());
    }
    if let Some(plugin) = &user.exec {
        check_plugin(plugin)?;
    }
    match user.auth_provider.as_ref().map(|provider| provider.name.as_str()) {
        Some(_) if user.exec.is_some() => Err("auth-provider and exec exclude each other: remove one".to_owned()),
        None | Some("oidc") => Ok(()),
        Some("gcp") => {
            Err("Kubernetes has removed auth-provider gcp: use the plugin gke-gcloud-auth-plugin".to_owned())
        }
        Some("azure") => Err("Kubernetes has removed auth-provider azure: use the plugin kubelogin".to_owned()),
        Some(other) => Err(format!("auth-provider {other} is not known: use a credential plugin (exec)")),
    }
}

/// Checks that a plugin states its protocol version. kubectl dropped older versions in 1.24, where a plugin could ask
/// questions unexpectedly and block a script.
fn check_plugin(plugin: &ExecConfig) -> Result<(), String> {
    const V1: &str = "client.authentication.k8s.io/v1";
    const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
    match plugin.api_version.as_deref().unwrap_or_default() {
        "" => Err(format!("its exec has no apiVersion: add {V1}")),
        V1 if plugin.interactive_mode.is_none() => {
            Err("its exec has no interactiveMode: add Never, IfAvailable or Always".to_owned())
        }
        V1 | V1BETA1 => Ok(()),
        other => Err(format!("its exec has apiVersion {other}, which is not supported: use {V1} or {V1BETA1}")),
    }
}

fn apply_overrides(cluster: &mut ClusterInfo, flags: &Overrides) {
    // Go reads an empty and a missing field alike, so kubectl ignores empty ones.
    for text in [&mut cluster.certificate_authority, &mut cluster.certificate_authority_data, &mut cluster.proxy_url] {
        *text = text.take().filter(|t| !t.is_empty());
    }
    if let Some(server) = &flags.server {
        cluster.server = Some(server.clone());
        // The kubeconfig's name belongs to the server that was overridden.
        cluster.tls_server_name = None;
    }
    if let Some(name) = &flags.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
    cluster.tls_server_name = cluster.tls_server_name.take().filter(|n| !n.is_empty());
    // Each of the two flags replaces all of the kubeconfig's trust settings; together they contradict each other.
    if flags.certificate_authority.is_some() || flags.insecure_skip_tls_verify {
        let file = flags.certificate_authority.as_ref().map(|path| path.to_string_lossy().into_owned());
        cluster.certificate_authority = file;
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = Some(flags.insecure_skip_tls_verify);
    }
}

/// Applies the flags to a user, whose empty fields count as missing.
pub(super) fn override_user(user: &mut AuthInfo, flags: &Overrides) {
    let texts = [
        &mut user.username,
        &mut user.token_file,
        &mut user.client_certificate,
        &mut user.client_certificate_data,
        &mut user.client_key,
    ];
    for text in texts {
        *text = text.take().filter(|text| !text.is_empty());
    }
    for secret in [&mut user.password, &mut user.token, &mut user.client_key_data] {
        *secret = secret.take().filter(|secret| !secret.expose_secret().is_empty());
    }
    if let Some(token) = &flags.token {
        // The API server would prefer a client certificate to the token, so the token replaces everything else.
        *user = AuthInfo {
            token: Some(token.clone()),
            impersonate: user.impersonate.take(),
            impersonate_groups: user.impersonate_groups.take(),
            impersonate_uid: user.impersonate_uid.take(),
            ..AuthInfo::default()
        };
    }
    if let Some(path) = &flags.client_certificate {
        user.client_certificate = Some(path.to_string_lossy().into_owned());
        user.client_certificate_data = None;
        user.exec = None;
    }
    if let Some(path) = &flags.client_key {
        user.client_key = Some(path.to_string_lossy().into_owned());
        user.client_key_data = None;
    }
    if let Some(name) = &flags.as_user {
        user.impersonate = Some(name.clone());
    }
    if !flags.as_groups.is_empty() {
        user.impersonate_groups = Some(flags.as_groups.clone());
    }
    if let Some(uid) = &flags.as_uid {
        user.impersonate_uid = Some(uid.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Kubeconfig {
        Kubeconfig::from_yaml(text).unwrap()
    }

    fn two_contexts() -> Kubeconfig {
        config(
            "current-context: a\n\
             contexts: [{name: a, context: {cluster: one, user: u, namespace: ''}}, {name: b, context: {cluster: two, namespace: apps}}]\n\
             clusters: [{name: one, cluster: {server: 'https://one', certificate-authority-data: QQ==, tls-server-name: inner}}, {name: two, cluster: {server: 'https://two'}}]\n\
             users: [{name: u, user: {client-certificate: c, client-key: k}}]\n",
        )
    }

    fn target(overrides: Overrides) -> ConnectionTarget {
        choose(&two_contexts(), &overrides).unwrap().unwrap()
    }

    #[test]
    fn the_current_context_is_used_and_an_empty_namespace_is_none() {
        let target = target(Overrides::default());
        assert_eq!((target.context.as_deref(), target.namespace), (Some("a"), None));
        assert_eq!(target.cluster.server.as_deref(), Some("https://one"));
    }

    #[test]
    fn a_context_by_name_brings_its_own_namespace() {
        let target = target(Overrides { context: Some("b".into()), ..Overrides::default() });
        assert_eq!(target.namespace.as_deref(), Some("apps"));
        assert_eq!(target.cluster.server.as_deref(), Some("https://two"));
    }

    #[test]
    fn an_unknown_context_lists_the_known_ones() {
        let reason = choose(&two_contexts(), &Overrides { context: Some("c".into()), ..Overrides::default() }).err();
        assert_eq!(reason, Some(Reason::ContextNotFound { name: "c".into(), known: vec!["a".into(), "b".into()] }));
    }

    #[test]
    fn a_missing_current_context_is_an_error_unless_there_are_no_contexts() {
        let mut config = two_contexts();
        config.current_context = None;
        assert!(matches!(choose(&config, &Overrides::default()), Err(Reason::NoCurrentContext { .. })));
        assert!(choose(&Kubeconfig::default(), &Overrides::default()).unwrap().is_none());
    }

    #[test]
    fn a_missing_user_is_an_error_unless_its_credentials_are_not_needed() {
        let without = |server: &str, overrides: &Overrides| {
            let text = format!(
                "current-context: a\ncontexts: [{{name: a, context: {{cluster: one, user: ghost}}}}]\n\
                 clusters: [{{name: one, cluster: {{server: '{server}'}}}}]\nusers: []\n"
            );
            choose(&config(&text), overrides).err().map(|reason| reason.to_string())
        };
        let plain = Overrides::default();
        let error = without("https://one", &plain).unwrap_or_default();
        assert!(error.contains("context a names user ghost, which is not in the kubeconfig"), "{error}");
        assert_eq!(without("http://127.0.0.1:8001", &plain), None);
        let token = Overrides { token: Some("t".to_owned().into()), ..Overrides::default() };
        assert_eq!(without("https://one", &token), None);
    }

    #[test]
    fn a_token_flag_replaces_every_other_credential() {
        let target = target(Overrides { token: Some("t".to_owned().into()), ..Overrides::default() });
        assert!(target.user.token.is_some() && target.user.client_certificate.is_none());
    }

    #[test]
    fn another_server_drops_the_tls_name_of_the_first() {
        let target = target(Overrides { server: Some("https://three".into()), ..Overrides::default() });
        assert_eq!(target.cluster.tls_server_name, None);
        assert!(target.cluster.certificate_authority_data.is_some());
    }

    #[test]
    fn skipping_verification_drops_the_authority() {
        let target = target(Overrides { insecure_skip_tls_verify: true, ..Overrides::default() });
        assert_eq!(target.cluster.certificate_authority_data, None);
    }

    #[test]
    fn a_server_alone_needs_no_kubeconfig() {
        let flags = Overrides { server: Some("https://x".into()), ..Overrides::default() };
        let target = choose(&Kubeconfig::default(), &flags).unwrap().unwrap();
        assert_eq!((target.context, target.cluster.server.as_deref()), (None, Some("https://x")));
    }

    #[test]
    fn missing_files_of_a_list_are_skipped_and_the_first_value_wins() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::fs::write(&one, "current-context: first\n").unwrap();
        std::fs::write(&two, "current-context: second\ncontexts: [{name: first, context: {cluster: c}}]\n").unwrap();
        let list = KubeconfigSource::List(vec![folder.path().join("none"), PathBuf::new(), one, two]);
        let merged = read(&list).unwrap();
        assert_eq!(merged.current_context.as_deref(), Some("first"));
        assert_eq!(merged.contexts.len(), 1);
    }

    #[test]
    fn a_named_file_must_exist_and_a_broken_one_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&KubeconfigSource::File(folder.path().join("none"))).unwrap_err();
        assert!(missing.to_string().contains("No such file"), "{missing}");
        let broken = folder.path().join("broken");
        std::fs::write(&broken, "users: [{name: u, user: {token: canary-7}}, oops: [\n").unwrap();
        let error = read(&KubeconfigSource::List(vec![broken])).unwrap_err().to_string();
        assert!(error.contains("it is not a kubeconfig in YAML (line ") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn paths_are_relative_to_their_file_and_names_of_plugins_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let text = "clusters: [{name: one, cluster: {certificate-authority: ca.crt}}, {name: none}]\n\
                    ---\n\
                    users:\n\
                    - {name: a, user: {client-certificate: pki/a.crt, client-key: /etc/a.key, tokenFile: ../token}}\n\
                    - {name: b, user: {exec: {command: aws}}}\n\
                    - {name: c, user: {exec: {command: bin/login}}}\n";
        std::fs::write(&file, text).unwrap();
        let config = read(&KubeconfigSource::File(file)).unwrap();
        let below = |path: &str| Some(folder.path().join(path).display().to_string());
        assert_eq!(config.clusters[0].cluster.as_ref().unwrap().certificate_authority, below("ca.crt"));
        let users: Vec<_> = config.auth_infos.iter().map(|user| user.auth_info.clone().unwrap()).collect();
        assert_eq!(users[0].client_certificate, below("pki/a.crt"));
        assert_eq!(users[0].client_key.as_deref(), Some("/etc/a.key"));
        assert_eq!(users[0].token_file, below("../token"));
        let command = |index: usize| users[index].exec.as_ref().unwrap().command.clone();
        assert_eq!((command(1).as_deref(), command(2)), (Some("aws"), below("bin/login")));
    }

    #[test]
    fn a_file_of_powershell_is_read_and_a_file_that_kubectl_refuses_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let read = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&KubeconfigSource::File(file.clone())).map(|config| config.current_context.clone())
        };
        let text = "current-context: ähre\n";
        for (mark, order) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)]
        {
            let units: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(order)).collect();
            assert_eq!(read(&units).unwrap().as_deref(), Some("ähre"));
            assert!(read(&units[..units.len() - 1]).is_err(), "half a character");
        }
        assert_eq!(read(format!("\u{feff}{text}").as_bytes()).unwrap().as_deref(), Some("ähre"));
        assert_eq!(read(b"").unwrap(), None);
        for (wrong, reported) in [
            ("current-context: \u{ff}", "it is not text in UTF-8"),
            ("current-context: 12", "current-context is a number, not text"),
            ("just words", "it is not a kubeconfig in YAML"),
            ("users: {a: b}", "users is a mapping, not a list"),
        ] {
            let bytes: Vec<u8> = wrong.chars().map(|c| c as u8).collect();
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.ends_with(reported), "{error}");
        }
    }

    /// Reads a text like a kubeconfig file.
    fn read_text(text: &str) -> Result<Arc<Kubeconfig>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        read(&KubeconfigSource::File(file)).map_err(|reason| reason.to_string())
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named_by_its_field_and_not_shown() {
        for (text, reported) in [
            ("clusters: [{name: 123}]", "clusters[0].name is a number, not text"),
            ("users: [{name: a}, {name: u, user: {token: 987}}]", "users[1].user.token is a number, not text"),
            (
                "users: [{name: u, user: {as-groups: [a, true]}}]",
                "users[0].user.as-groups[1] is true or false, not text",
            ),
            ("clusters: [{name: k, cluster: {insecure-skip-tls-verify: 'yes'}}]", "is text, not true or false"),
            ("contexts: [a]", "contexts[0] is text, not a mapping"),
            (
                "users: [{name: u, user: {exec: {env: [{name: A, value: 7}]}}}]",
                "exec.env[0].value is a number, not text",
            ),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.ends_with(reported) && !error.contains("987"), "{error}");
        }
        assert!(
            read_text("clusters: null\nusers: [{name: u, user: null}]\ncontexts: [{name: null, context: {}}]\n")
                .is_ok()
        );
    }

    #[test]
    fn content_may_be_wrapped_or_binary() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let encoded = STANDARD.encode(pem);
        let wrapped: String =
            encoded.as_bytes().chunks(10).map(|part| format!("\n      {}", String::from_utf8_lossy(part))).collect();
        let twice = STANDARD.encode(&encoded);
        for value in
            [encoded.clone(), format!("|{wrapped}"), format!("!!binary |{wrapped}"), format!("!!binary {twice}")]
        {
            let text = format!(
                "clusters:\n- name: k\n  cluster:\n    certificate-authority-data: {value}\nusers:\n- name: u\n  user:\n    client-certificate-data: {value}\n    client-key-data: {value}\n"
            );
            let config = read_text(&text).unwrap();
            let user = config.auth_infos[0].auth_info.clone().unwrap();
            assert_eq!(
                config.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.as_ref(),
                Some(&encoded),
                "{value}"
            );
            assert_eq!(user.client_certificate_data.as_ref(), Some(&encoded), "{value}");
            assert_eq!(user.client_key_data.unwrap().expose_secret(), encoded, "{value}");
        }
    }

    #[test]
    fn names_that_occur_twice_and_files_of_another_kind_are_refused_by_name() {
        for (text, reported) in [
            ("users: [{name: a}, {name: b}, {name: a, user: {token: t}}]", "two of its users are named a"),
            ("clusters: [{name: k}, {name: k}]", "two of its clusters are named k"),
            ("contexts: [{name: c}, {name: c}]", "two of its contexts are named c"),
            ("kind: Secret", "its kind is Secret, not Config"),
            ("apiVersion: v2\nkind: Config", "its apiVersion is v2, not v1"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.ends_with(reported), "{error}");
        }
        for text in [
            "kind: Config",
            "apiVersion: v1",
            "apiVersion: ''\nkind: ''",
            "users: [{name: a}]\n---\nusers: [{name: a}]",
        ] {
            assert!(read_text(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let config = read_text("users:\n- name: u\n  user:\n    token: first\n    token: second\n").unwrap();
        let user = config.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!(user.token.as_ref().unwrap().expose_secret(), "second");
    }

    #[test]
    fn an_empty_current_context_leaves_the_choice_to_the_next_file() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = ["one", "two"].iter().map(|name| folder.path().join(name)).collect();
        std::fs::write(&files[0], "current-context: \"\"\n").unwrap();
        std::fs::write(&files[1], "kind: Config\ncurrent-context: second\n").unwrap();
        assert_eq!(read(&KubeconfigSource::List(files)).unwrap().current_context.as_deref(), Some("second"));
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let chosen = |cluster: &str, user: &str, flags: &Overrides| {
            let text = format!(
                "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
                 clusters: [{{name: k, cluster: {{server: 'https://x', {cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
            );
            choose(&read_text(&text).unwrap(), flags).map(Option::unwrap).map_err(|reason| reason.to_string())
        };
        let none = Overrides::default();
        let exec = |more: &str| format!("exec: {{command: x, {more}}}");
        for (cluster, user, reported) in [
            (
                "insecure-skip-tls-verify: true, certificate-authority-data: QQ==",
                "",
                "cluster k: a certificate authority and",
            ),
            ("insecure-skip-tls-verify: true, certificate-authority: f", "", "cluster k: a certificate authority and"),
            ("certificate-authority: f, certificate-authority-data: QQ==", "", "are both given"),
            ("", "token: t, username: u", "user u: a token and a username"),
            ("", "tokenFile: t, password: p", "user u: a token and a username"),
            ("", "token: t, client-certificate: c", "needs client-key"),
            ("", "client-certificate: c, client-certificate-data: QQ==, client-key: k", "are both given"),
            ("", "client-certificate: c, client-key-data: QQ==, client-key: k", "are both given"),
            ("", "token: t, as-groups: [g]", "together with a user only"),
            ("", "token: t, as: '', as-uid: '7'", "together with a user only"),
            ("", "as-user-extra: {a: [b]}", "together with a user only"),
            ("", &exec("interactiveMode: Never"), "its exec has no apiVersion"),
            ("", &exec("apiVersion: client.authentication.k8s.io/v1"), "its exec has no interactiveMode"),
            ("", &exec("apiVersion: client.authentication.k8s.io/v1alpha1"), "v1alpha1, which is not supported"),
            ("", &format!("token: t, {}", exec("apiVersion: v1")), "apiVersion v1, which is not supported"),
            ("", "auth-provider: {name: gcp}", "removed auth-provider gcp: use the plugin gke-gcloud-auth-plugin"),
            ("", "token: t, auth-provider: {name: azure}", "kubelogin"),
            ("", "auth-provider: {name: openstack}", "openstack is not known"),
        ] {
            let error = chosen(cluster, user, &none).err().unwrap_or_default();
            assert!(error.contains(reported), "{cluster} {user}: {error}");
        }
        for (cluster, user) in [
            ("insecure-skip-tls-verify: true, certificate-authority-data: ''", "token: t, username: ''"),
            ("insecure-skip-tls-verify: false, certificate-authority: f", "token: t, tokenFile: t"),
            ("", "username: u"),
            ("", "token: t, as-groups: [], as-user-extra: {}"),
            ("", &exec("apiVersion: client.authentication.k8s.io/v1beta1")),
            ("", "auth-provider: {name: oidc, config: {}}"),
        ] {
            assert_eq!(chosen(cluster, user, &none).err(), None, "{cluster} {user}");
        }
        let unverified = "insecure-skip-tls-verify: true";
        let with_file = Overrides { certificate_authority: Some("f".into()), ..Overrides::default() };
        assert_eq!(chosen(unverified, "", &with_file).unwrap().cluster.insecure_skip_tls_verify, Some(false));
        let both = Overrides { insecure_skip_tls_verify: true, ..with_file };
        assert!(chosen("", "", &both).is_err());
    }
}
