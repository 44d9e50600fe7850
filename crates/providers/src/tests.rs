//! Exports of every type, from servers that respond as their documentation describes.

use std::collections::BTreeMap;
use std::time::Duration;

use flux_operator_core::format::proxy::ProxyEnvironment;
use flux_operator_oci::RegistryCredentials;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    Connection, Export, ExportSources, ProviderError, ProviderSettings, ProviderType, SecretData, TlsFiles, TokenCache,
    export,
};

mod fake_server;
mod git_hosts;
mod refusals;
mod services;

use fake_server::{FakeServer, Reply, reply};

fn connection() -> Connection {
    Connection {
        tls: TlsFiles::default(),
        proxy: ProxyEnvironment::default(),
        user_agent: "flux-operator/1.2.3".to_owned(),
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

fn secret(pairs: &[(&str, &str)]) -> SecretData {
    let data: BTreeMap<_, _> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    SecretData { name: "apps/auth".to_owned(), data }
}

fn sets(value: Value) -> Vec<Map<String, Value>> {
    value.as_array().unwrap().iter().map(|set| set.as_object().unwrap().clone()).collect()
}

async fn exported_with(
    settings: &ProviderSettings,
    secret: Option<&SecretData>,
    connection: &Connection,
) -> Result<Export, ProviderError> {
    let sources = ExportSources {
        identity: "e2970a7f-9c53-4c01-8444-05ac35a95c0c",
        secret,
        registry_credentials: &RegistryCredentials::Anonymous,
        artifacts: &[],
        exported: &[],
        connection,
        tokens: &TokenCache::new(),
    };
    export(settings, &sources).await
}

async fn inputs(settings: &ProviderSettings, secret: Option<&SecretData>) -> Value {
    json!(exported_with(settings, secret, &connection()).await.unwrap().inputs)
}

async fn failure(settings: &ProviderSettings, secret: Option<&SecretData>) -> ProviderError {
    exported_with(settings, secret, &connection()).await.unwrap_err()
}

fn settings(of_type: ProviderType, server: &FakeServer, path: &str) -> ProviderSettings {
    ProviderSettings::new(of_type, format!("{}{path}", server.address))
}

#[tokio::test]
async fn a_static_provider_exports_its_default_values_and_an_id_of_its_uid() {
    let mut settings = ProviderSettings::new(ProviderType::Static, "");
    settings.default_values = json!({"id": "mine", "tenant": "a", "gone": null}).as_object().unwrap().clone();
    assert_eq!(inputs(&settings, None).await, json!([{"id": "2782267664", "tenant": "a"}]));
}
