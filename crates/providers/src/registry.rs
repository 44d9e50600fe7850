//! Tags of a repository in an OCI registry.

use flux_operator_oci::{Access, ClientIdentity, Digest, OciError, Registries, RegistryCredentials, Repository};
use futures::stream::{StreamExt, TryStreamExt, iter};
use serde_json::{Map, Value};

use crate::error::ProviderError;
use crate::filter::ResultFilter;
use crate::git::checksum;
use crate::http::{Connection, OUT_OF_TIME};
use crate::settings::ProviderSettings;

/// Number of digests that are requested at the same time.
const CONCURRENT_DIGESTS: usize = 8;

/// Lists the tags that a provider exports, each with its digest.
pub(crate) async fn tags(
    settings: &ProviderSettings,
    credentials: &RegistryCredentials,
    connection: &Connection,
) -> Result<Vec<Map<String, Value>>, ProviderError> {
    // The registry client limits single requests, but not the whole export.
    let listed = tokio::time::timeout_at(connection.deadline, list(settings, credentials, connection)).await;
    let listed = listed.unwrap_or_else(|_| Err(ProviderError::new(OUT_OF_TIME)));
    listed.map_err(|error| error.within("failed to call OCI provider"))
}

async fn list(
    settings: &ProviderSettings,
    credentials: &RegistryCredentials,
    connection: &Connection,
) -> Result<Vec<Map<String, Value>>, ProviderError> {
    let name = settings.url.strip_prefix("oci://").unwrap_or(&settings.url);
    let not_listed = |problem: String| ProviderError::new(format!("failed to list OCI tags for '{name}': {problem}"));
    let repository = repository(name).map_err(not_listed)?;
    let registries = Registries::new(access(settings, credentials, connection));
    let listed = registries.tags(&repository).await.map_err(|error| not_listed(reason(&error)))?;
    let filter = ResultFilter::new(settings)?;
    let mut tags = filter.tags();
    for tag in &listed {
        tags.push(tag, ())?;
    }
    let (registries, repository) = (&registries, &repository);
    let digests = iter(tags.finish()).map(|(tag, ())| async move {
        let digest = digest(registries, repository, &tag).await.map_err(|problem| {
            ProviderError::new(format!("failed to get digest for tag '{tag}' in repository '{name}': {problem}"))
        })?;
        Ok(Map::from_iter([
            ("id".to_owned(), Value::String(checksum(&tag))),
            ("tag".to_owned(), Value::String(tag)),
            ("digest".to_owned(), Value::String(digest.to_string())),
        ]))
    });
    digests.buffered(CONCURRENT_DIGESTS).try_collect().await
}

/// Parses the repository of an address, which must not have a tag or a digest.
fn repository(name: &str) -> Result<Repository, String> {
    let (_, path) = name.split_once('/').unwrap_or_default();
    match path.contains([':', '@']) {
        true => Err(format!("parsing repo \"{name}\": a repository has neither a tag nor a digest")),
        false => name.parse().map_err(|error| format!("parsing repo \"{name}\": {error}")),
    }
}

async fn digest(registries: &Registries, repository: &Repository, tag: &str) -> Result<Digest, String> {
    let reference = repository.with_tag(tag).map_err(|error| error.to_string())?;
    let resolved = registries.resolve(&reference).await.map_err(|error| reason(&error))?;
    Ok(resolved.digest)
}

fn access(settings: &ProviderSettings, credentials: &RegistryCredentials, connection: &Connection) -> Access {
    let mut access = Access::new(credentials.clone());
    access.proxy = connection.proxy.clone();
    access.user_agent = connection.user_agent.clone();
    access.everywhere.authorities = connection.tls.authorities.clone();
    let identity = connection.tls.identity.clone();
    access.everywhere.identity = identity.map(|(certificate, key)| ClientIdentity { certificate, key });
    // Certificates require TLS, so `insecure` has no effect beside them.
    if settings.insecure && connection.tls.is_empty() {
        access.everywhere.plain_http = Some(true);
    }
    access
}

fn reason(error: &OciError) -> String {
    error.reason.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_tag_is_refused() {
        assert_eq!(repository("localhost:5000/a/b").unwrap().path(), "a/b");
        for name in ["localhost:5000/a:1.0.0", "ghcr.io/a@sha256:00"] {
            assert!(repository(name).unwrap_err().starts_with(&format!("parsing repo \"{name}\": ")), "{name}");
        }
    }
}
