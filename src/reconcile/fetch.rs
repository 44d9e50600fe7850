//! The first step of a run: its distribution.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::Value;

use crate::api::FluxInstance;
use crate::cluster::Cluster;
use crate::distribution::Distribution;
use crate::fetch::{FetchError, FetchReason, Fetcher, Source};
use crate::k8s::{ObjectId, fields};
use crate::oci::{OciError, Reason, Reference, ReferenceError, RegistryCredentials};

/// Source of a run's distribution; used once, when the run begins.
pub trait Distributions: Sync {
    /// Fetches the current distribution of the instance.
    ///
    /// # Errors
    /// The distribution cannot be fetched; the run ends with the reason `ArtifactFailed` and is retried later.
    fn fetch<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
    ) -> BoxFuture<'a, Result<Distribution, FetchError>>;

    /// Fetches the distribution of the last ready build, by the digest in the instance's status. `None` if the digest
    /// is unknown, or is that of `now`.
    ///
    /// # Errors
    /// The distribution cannot be fetched any more.
    fn fetch_last_good<'a>(
        &'a self,
        _: &'a Cluster,
        _: &'a FluxInstance,
        _now: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Distribution>, FetchError>> {
        ready(Ok(None)).boxed()
    }
}

/// A given distribution, for any instance.
impl Distributions for Distribution {
    fn fetch<'a>(&'a self, _: &'a Cluster, _: &'a FluxInstance) -> BoxFuture<'a, Result<Distribution, FetchError>> {
        ready(Ok(self.clone())).boxed()
    }
}

/// The distribution of the instance: its artifact, or else the embedded one, which is as trustworthy as the program.
/// Its pull secret replaces other credentials.
impl Distributions for Fetcher {
    fn fetch<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
    ) -> BoxFuture<'a, Result<Distribution, FetchError>> {
        async move {
            let Some(reference) = artifact(instance)? else { return Ok(Distribution::embedded()) };
            let fetcher = with_pull_secret(self, cluster, instance).await?;
            fetcher.fetch(&Source::Artifact(reference)).await
        }
        .boxed()
    }

    fn fetch_last_good<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
        now: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Distribution>, FetchError>> {
        async move {
            let last = instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref());
            // Without both digests there is no newer artifact that could have failed.
            let (Some(last), Some(now)) = (last, now) else { return Ok(None) };
            let (Some(reference), Ok(digest)) = (artifact(instance)?, last.parse()) else { return Ok(None) };
            if last == now {
                return Ok(None);
            }
            let fetcher = with_pull_secret(self, cluster, instance).await?;
            let source = Source::Artifact(reference.repository.with_digest(digest));
            fetcher.fetch(&source).await.map(Some)
        }
        .boxed()
    }
}

/// Returns the current digest of an instance's artifact; `None` if it has none.
///
/// # Errors
/// The registry does not answer, or has no such artifact.
pub(crate) async fn artifact_digest(
    fetcher: &Fetcher,
    cluster: &Cluster,
    instance: &FluxInstance,
) -> Result<Option<String>, FetchError> {
    let Some(reference) = artifact(instance)? else { return Ok(None) };
    let fetcher = with_pull_secret(fetcher, cluster, instance).await?;
    fetcher.resolve(&reference).await.map(|digest| Some(digest.to_string()))
}

/// Returns the artifact of an instance; `None` for the embedded distribution.
fn artifact(instance: &FluxInstance) -> Result<Option<Reference>, FetchError> {
    let wrong =
        |from: &str, error: ReferenceError| FetchError { from: from.to_owned(), digest: None, reason: error.into() };
    instance.artifact().map(|text| text.parse().map_err(|error| wrong(text, error))).transpose()
}

async fn with_pull_secret(
    fetcher: &Fetcher,
    cluster: &Cluster,
    instance: &FluxInstance,
) -> Result<Fetcher, FetchError> {
    let distribution = &instance.spec.distribution;
    // Go's types cannot tell an empty name from a missing one, so both mean none.
    let Some(name) = distribution.artifact_pull_secret.as_deref().filter(|name| !name.is_empty()) else {
        return Ok(fetcher.clone());
    };
    let id = ObjectId {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: instance.namespace_or_default().to_owned(),
        name: name.to_owned(),
    };
    let failed = |reason| {
        let error = OciError { attempted: format!("use the credentials of {id}"), reason };
        let from = distribution.artifact.clone().unwrap_or_default();
        FetchError { from, digest: None, reason: FetchReason::Oci(error) }
    };
    let secret = match cluster.read(&id).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Err(failed(Reason::NotFound { what: id.to_string() })),
        Err(error) => return Err(failed(Reason::Config(error.sentence()))),
    };
    let secret_type = fields::text(&secret, "/type");
    let credentials = RegistryCredentials::from_pull_secret(&id.to_string(), secret_type, &secret_data(&secret));
    let credentials = credentials.map_err(|error| failed(Reason::Login(error)))?;
    let registries = fetcher.registries.as_ref().map(|registries| registries.with_credentials(credentials));
    Ok(Fetcher { registries, ..fetcher.clone() })
}

/// Decodes the data of a Secret. Values that are not base64 cannot come from an API server and are skipped.
pub(super) fn secret_data(secret: &Value) -> BTreeMap<String, Vec<u8>> {
    let data = secret.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?))).collect()
}
