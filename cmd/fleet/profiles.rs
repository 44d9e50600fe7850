//! Clusters of an inventory: ClusterProfile objects (<https://multicluster.sigs.k8s.io/concepts/cluster-profile-api/>),
//! read from a hub and matched with the contexts of the kubeconfig.
//!
//! A profile contains the address of a cluster, but no credentials. These are in the kubeconfig, so a profile selects
//! the context with its name, or the context with its server.

use flux_operator::cluster::ListOptions;
use flux_operator::k8s::{ResourceType, fields};
use serde_json::Value;

use crate::session::Session;
use crate::session::connect::cli_error;
use crate::terminal::{CliError, Exit, Shell};

/// The location of the inventory: a context, and optionally a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryPlace {
    pub context: String,
    pub namespace: Option<String>,
}

impl InventoryPlace {
    /// Reads `CONTEXT[/NAMESPACE]`. Names of contexts may contain slashes, so a context with the whole text as its name
    /// takes precedence.
    pub fn of(text: &str, known: &[(String, String)]) -> Self {
        let is_known = |name: &str| known.iter().any(|(context, _)| context == name);
        match text.rsplit_once('/') {
            Some((context, namespace)) if !is_known(text) && !namespace.is_empty() => {
                InventoryPlace { context: context.to_owned(), namespace: Some(namespace.to_owned()) }
            }
            _ => InventoryPlace { context: text.to_owned(), namespace: None },
        }
    }
}

fn profile_type() -> ResourceType {
    ResourceType {
        group: "multicluster.x-k8s.io".into(),
        version: "v1alpha1".into(),
        kind: "ClusterProfile".into(),
        plural: "clusterprofiles".into(),
        namespaced: true,
    }
}

/// Reads the profiles of an inventory.
///
/// # Errors
/// API missing, if the hub does not serve ClusterProfiles; errors of the connection and of the list.
pub async fn read(shell: &Shell, place: &InventoryPlace, selector: Option<&str>) -> Result<Vec<Value>, CliError> {
    let session = Session::of_context(shell, Some(&place.context)).await?;
    let options = ListOptions { label_selector: selector.map(str::to_owned), ..ListOptions::default() };
    let resource = profile_type();
    let list = session.cluster.list_all(&resource, place.namespace.as_deref(), &options).await;
    match list.map_err(|error| cli_error(&error))? {
        Some(list) => Ok(list.items),
        None => Err(CliError::new(Exit::ApiMissing, format!("context {} has no ClusterProfiles", place.context))
            .cause(format!("its API server does not serve {}", resource.resource_name()))
            .hint("name the hub of your fleet, or choose contexts with --contexts")),
    }
}

/// Returns the context for the cluster of a profile; `None` if the kubeconfig has no such context.
pub fn context_of<'a>(profile: &Value, contexts: &'a [(String, String)]) -> Option<&'a str> {
    let (name, namespace) = (fields::name(profile), fields::namespace(profile).unwrap_or_default());
    let display = fields::text(profile, "/spec/displayName");
    let names = [name.to_owned(), display.to_owned(), format!("{namespace}/{name}")];
    let by_name = names.iter().find_map(|name| contexts.iter().find(|(context, _)| context == name));
    // The first releases of the API had the second name for the list.
    let providers = ["/status/accessProviders", "/status/credentialProviders"];
    let servers = providers.iter().flat_map(|list| fields::items(profile, list));
    let servers: Vec<&str> = servers.map(|provider| fields::text(provider, "/cluster/server")).collect();
    let is_meant = |server: &str| servers.iter().any(|one| !one.is_empty() && same_address(one, server));
    let by_server = || contexts.iter().find(|(_, server)| is_meant(server));
    by_name.or_else(by_server).map(|(context, _)| context.as_str())
}

fn same_address(one: &str, other: &str) -> bool {
    // The default port of HTTPS is optional in an address.
    let plain = |url: &str| url.trim_end_matches('/').trim_end_matches(":443").to_lowercase();
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn contexts() -> Vec<(String, String)> {
        let one = |name: &str, server: &str| (name.to_owned(), server.to_owned());
        vec![one("prod-eu", "https://eu.example"), one("arn/x", "https://x.example:443"), one("fleet/us", "https://us")]
    }

    #[test]
    fn a_hub_is_a_context_and_perhaps_a_namespace() {
        let place = |text: &str| {
            let InventoryPlace { context, namespace } = InventoryPlace::of(text, &contexts());
            (context, namespace)
        };
        assert_eq!(place("hub"), ("hub".into(), None));
        assert_eq!(place("hub/fleet"), ("hub".into(), Some("fleet".into())));
        assert_eq!(place("arn/x"), ("arn/x".into(), None));
        assert_eq!(place("arn/x/fleet"), ("arn/x".into(), Some("fleet".into())));
    }

    #[test]
    fn a_profile_is_the_context_of_its_name_or_of_its_server() {
        let context = |profile: Value| context_of(&profile, &contexts()).map(str::to_owned);
        assert_eq!(context(json!({"metadata": {"name": "prod-eu", "namespace": "fleet"}})).as_deref(), Some("prod-eu"));
        assert_eq!(context(json!({"metadata": {"name": "us", "namespace": "fleet"}})).as_deref(), Some("fleet/us"));
        let by_server = json!({"metadata": {"name": "c-17", "namespace": "fleet"},
            "status": {"accessProviders": [{"name": "oidc", "cluster": {"server": "https://X.example/"}}]}});
        assert_eq!(context(by_server).as_deref(), Some("arn/x"));
        let unknown =
            json!({"metadata": {"name": "c-18"}, "status": {"accessProviders": [{"cluster": {"server": ""}}]}});
        assert_eq!(context(unknown), None);
    }
}
