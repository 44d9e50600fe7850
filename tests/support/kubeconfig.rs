//! Kubeconfig files of the test clusters: one cluster, one user, one context, all data inline.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::config::KubeConfigOptions;
use serde_json::{Map, Value, json};

use super::Fallible;
use super::certificates::KeyedCertificate;

/// Credentials of a client.
#[derive(Clone)]
pub enum Credentials {
    Certificate(KeyedCertificate),
    Token(String),
    None,
}

/// A kubeconfig, as a value that can be changed and as its file.
#[derive(Clone)]
pub struct Kubeconfig {
    pub server: String,
    /// PEM.
    pub authority: String,
    /// The name of the context, the cluster and the user.
    pub context: String,
    pub namespace: Option<String>,
    pub credentials: Credentials,
    path: PathBuf,
}

impl Kubeconfig {
    /// Writes `NAME.kubeconfig` into `folder`, readable only by its owner.
    pub fn write(
        folder: &Path,
        name: &str,
        server: &str,
        authority: &str,
        context: &str,
        credentials: Credentials,
    ) -> Fallible<Kubeconfig> {
        let kubeconfig = Kubeconfig {
            server: server.to_owned(),
            authority: authority.to_owned(),
            context: context.to_owned(),
            namespace: None,
            credentials,
            path: folder.join(format!("{}.kubeconfig", name.replace(['/', ':'], "-"))),
        };
        kubeconfig.save()?;
        Ok(kubeconfig)
    }

    /// Sets the context's namespace, also in the file.
    pub fn with_namespace(mut self, namespace: &str) -> Fallible<Kubeconfig> {
        self.namespace = Some(namespace.to_owned());
        self.save()?;
        Ok(self)
    }

    /// The file, for `KUBECONFIG` or `--kubeconfig`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content, for tests that change it and write it elsewhere.
    pub fn value(&self) -> Value {
        let encode = |pem: &str| STANDARD.encode(pem);
        let user = match &self.credentials {
            Credentials::Certificate(pair) => json!({
                "client-certificate-data": encode(&pair.certificate),
                "client-key-data": encode(&pair.key),
            }),
            Credentials::Token(token) => json!({ "token": token }),
            Credentials::None => json!({}),
        };
        let mut context = Map::new();
        context.insert("cluster".into(), json!(self.context));
        context.insert("user".into(), json!(self.context));
        if let Some(namespace) = &self.namespace {
            context.insert("namespace".into(), json!(namespace));
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.context,
            "clusters": [{
                "name": self.context,
                "cluster": { "server": self.server, "certificate-authority-data": encode(&self.authority) },
            }],
            "users": [{ "name": self.context, "user": user }],
            "contexts": [{ "name": self.context, "context": context }],
        })
    }

    /// Connects with this kubeconfig. The runtime of the calls must outlive the client.
    pub async fn client(&self) -> Fallible<Client> {
        let kubeconfig = serde_json::from_value(self.value())?;
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // A hidden retry in the client would falsify counted requests and faults.
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    fn save(&self) -> Fallible<()> {
        // JSON is valid YAML, and only programs read this file.
        fs::write(&self.path, serde_json::to_string_pretty(&self.value())?)?;
        restrict_to_owner(&self.path)?;
        Ok(())
    }
}

#[cfg(unix)]
fn restrict_to_owner(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// On Windows the folder of a user is closed to others.
#[cfg(windows)]
fn restrict_to_owner(_: &Path) -> std::io::Result<()> {
    Ok(())
}
