//! From kubeconfig files and flags to one target: server, credentials, context, namespace. Reads files, never the environment.
//!
//! The rules are kubectl's: files of a list are merged, the first to set a value wins, missing files are skipped, relative
//! paths start at the file that names them, a flag overrides one field.
//! Source: <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>.

use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Cluster as ClusterInfo, Kubeconfig, KubeconfigError};
use secrecy::SecretString;
use serde_json::Value;

use super::error::Reason;
use crate::format::yaml;

/// Where the kubeconfig comes from.
#[derive(Clone, Debug)]
pub enum KubeconfigSource {
    /// One file somebody named: it must exist.
    File(PathBuf),
    /// A list such as `KUBECONFIG` or the default location: files that do not exist are skipped.
    List(Vec<PathBuf>),
}

/// What flags say about the connection; everything absent comes from the kubeconfig.
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

/// One cluster with one user, chosen and overridden, but nothing loaded or dialled yet.
pub(super) struct Target {
    pub context: Option<String>,
    /// The context's own namespace; an empty one counts as none.
    pub namespace: Option<String>,
    pub cluster: ClusterInfo,
    pub user: AuthInfo,
}

/// Reads and merges the files of a source.
///
/// # Errors
/// A named file that cannot be read, or any file that is no kubeconfig.
pub fn read(source: &KubeconfigSource) -> Result<Kubeconfig, Reason> {
    match source {
        KubeconfigSource::File(path) => read_file(path),
        KubeconfigSource::List(paths) => {
            let mut merged = Kubeconfig::default();
            for path in paths.iter().filter(|p| !p.as_os_str().is_empty()) {
                // Only absence is forgiven: a file that may not be read must not silently change the cluster.
                let absent = std::fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
                if !absent {
                    merged = merge(merged, read_file(path)?, path)?;
                }
            }
            Ok(merged)
        }
    }
}

/// Returns the namespace of a context, or of the current one; an empty one counts as none.
pub fn namespace(config: Kubeconfig, context: Option<&str>) -> Option<String> {
    let name = context.map(str::to_owned).or(config.current_context)?;
    let context = config.contexts.into_iter().find(|c| c.name == name)?.context?;
    context.namespace.filter(|n| !n.is_empty())
}

/// The names of the contexts, in the order of the files.
pub fn contexts(config: &Kubeconfig) -> Vec<String> {
    config.contexts.iter().map(|context| context.name.clone()).collect()
}

/// Fields that hold a path, which starts at the file that names it; a plugin only where it is no name to be looked for.
const PATHS: [(&str, &str); 5] = [
    ("clusters", "/cluster/certificate-authority"),
    ("users", "/user/client-certificate"),
    ("users", "/user/client-key"),
    ("users", "/user/tokenFile"),
    ("users", "/user/exec/command"),
];

fn read_file(path: &Path) -> Result<Kubeconfig, Reason> {
    // The parser's own message shows what is in the file: credentials. So only the kind of problem is told.
    let no_kubeconfig = || unusable(path, "it is no kubeconfig in YAML");
    let text = text(std::fs::read(path).map_err(|e| unusable(path, &e.to_string()))?).ok_or_else(no_kubeconfig)?;
    let mut merged = Kubeconfig::default();
    for mut document in yaml::parse_documents(&text).map_err(|_| no_kubeconfig())? {
        if let Some(folder) = path.parent() {
            make_absolute(&mut document, folder);
        }
        let next = serde_json::from_value(document).map_err(|_| no_kubeconfig())?;
        merged = merge(merged, next, path)?;
    }
    Ok(merged)
}

/// What Go's YAML reads: UTF-8, or UTF-16 with its mark, as PowerShell writes it.
fn text(bytes: Vec<u8>) -> Option<String> {
    let units = |order: fn([u8; 2]) -> u16| -> Option<String> {
        let (pairs, rest) = bytes.get(2..)?.as_chunks();
        rest.is_empty().then(|| String::from_utf16(&pairs.iter().map(|pair| order(*pair)).collect::<Vec<_>>()).ok())?
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => units(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    }
}

fn make_absolute(document: &mut Value, folder: &Path) {
    for (list, field) in PATHS {
        for entry in document.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(Value::String(file)) = entry.pointer_mut(field) else { continue };
            let is_a_name = field.ends_with("command") && !file.contains(std::path::MAIN_SEPARATOR);
            if let Some(absolute) = folder.join(&*file).to_str().filter(|_| !is_a_name) {
                *file = absolute.to_owned();
            }
        }
    }
}

fn merge(merged: Kubeconfig, next: Kubeconfig, path: &Path) -> Result<Kubeconfig, Reason> {
    merged.merge(next).map_err(|error| {
        let problem = match error {
            KubeconfigError::KindMismatch => "its kind differs from that of the files before",
            KubeconfigError::ApiVersionMismatch => "its apiVersion differs from that of the files before",
            _ => "it cannot be used",
        };
        unusable(path, problem)
    })
}

fn unusable(path: &Path, problem: &str) -> Reason {
    Reason::Config(format!("kubeconfig {}: {problem}", path.display()))
}

/// Picks context, cluster and user, and lays the flags over them. None: nothing says which cluster to use.
pub(super) fn choose(config: Kubeconfig, overrides: &Overrides) -> Result<Option<Target>, Reason> {
    let known = || config.contexts.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let name = overrides.context.clone().or_else(|| config.current_context.clone()).filter(|n| !n.is_empty());
    let mut target = match name {
        Some(name) => {
            let context = config
                .contexts
                .iter()
                .find(|c| c.name == name)
                .and_then(|c| c.context.clone())
                .ok_or_else(|| Reason::ContextNotFound { name: name.clone(), known: known() })?;
            let cluster = config.clusters.iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster.clone());
            // Not without a cluster, unless --server stands in for it.
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
            // A user that is named and not there would be anonymous. A server without TLS gets no credentials anyway: a proxy
            // on this machine adds them.
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
            Target {
                context: Some(name),
                namespace: context.namespace.filter(|n| !n.is_empty()),
                cluster,
                user: user.and_then(|u| u.auth_info.clone()).unwrap_or_default(),
            }
        }
        None if overrides.server.is_some() => {
            Target { context: None, namespace: None, cluster: ClusterInfo::default(), user: AuthInfo::default() }
        }
        None if !config.contexts.is_empty() => return Err(Reason::NoCurrentContext { known: known() }),
        None => return Ok(None),
    };
    apply_overrides(&mut target.cluster, overrides);
    override_user(&mut target.user, overrides);
    Ok(Some(target))
}

fn apply_overrides(cluster: &mut ClusterInfo, flags: &Overrides) {
    for text in [&mut cluster.certificate_authority, &mut cluster.certificate_authority_data, &mut cluster.proxy_url] {
        *text = text.take().filter(|t| !t.is_empty());
    }
    if let Some(server) = &flags.server {
        cluster.server = Some(server.clone());
        // The name in the kubeconfig belongs to the server that was overridden.
        cluster.tls_server_name = None;
    }
    if let Some(name) = &flags.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
    cluster.tls_server_name = cluster.tls_server_name.take().filter(|n| !n.is_empty());
    if let Some(path) = &flags.certificate_authority {
        cluster.certificate_authority = Some(path.to_string_lossy().into_owned());
        cluster.certificate_authority_data = None;
    }
    if flags.insecure_skip_tls_verify {
        cluster.insecure_skip_tls_verify = Some(true);
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
    }
}

pub(super) fn override_user(user: &mut AuthInfo, flags: &Overrides) {
    if let Some(token) = &flags.token {
        // A client certificate would win over the token at the API server, so the token stands alone.
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

    fn target(overrides: Overrides) -> Target {
        choose(two_contexts(), &overrides).unwrap().unwrap()
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
        let reason = choose(two_contexts(), &Overrides { context: Some("c".into()), ..Overrides::default() }).err();
        assert_eq!(reason, Some(Reason::ContextNotFound { name: "c".into(), known: vec!["a".into(), "b".into()] }));
    }

    #[test]
    fn contexts_without_a_current_one_are_an_error_and_no_contexts_are_no_cluster() {
        let mut config = two_contexts();
        config.current_context = None;
        assert!(matches!(choose(config, &Overrides::default()), Err(Reason::NoCurrentContext { .. })));
        assert!(choose(Kubeconfig::default(), &Overrides::default()).unwrap().is_none());
    }

    #[test]
    fn a_user_that_is_named_and_not_there_is_an_error_unless_credentials_come_otherwise() {
        let without = |server: &str, overrides: &Overrides| {
            let text = format!(
                "current-context: a\ncontexts: [{{name: a, context: {{cluster: one, user: ghost}}}}]\n\
                 clusters: [{{name: one, cluster: {{server: '{server}'}}}}]\nusers: []\n"
            );
            choose(config(&text), overrides).err().map(|reason| reason.to_string())
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
        let target = choose(Kubeconfig::default(), &flags).unwrap().unwrap();
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
        assert!(error.ends_with("it is no kubeconfig in YAML") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn paths_start_at_the_file_that_names_them_and_names_of_plugins_stay_names() {
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
    fn a_file_of_powershell_is_read_and_what_kubectl_refuses_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let read = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&KubeconfigSource::File(file.clone())).map(|config| config.current_context)
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
        for wrong in ["current-context: \u{ff}", "current-context: 12", "just words", "users: {a: b}"] {
            let bytes: Vec<u8> = wrong.chars().map(|c| c as u8).collect();
            assert!(read(&bytes).unwrap_err().to_string().ends_with("it is no kubeconfig in YAML"), "{wrong}");
        }
    }
}
