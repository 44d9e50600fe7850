//! The first step of a run: the distribution it builds from.

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
use crate::oci::{Credentials, OciError, Reason, Reference, ReferenceError};

/// Gives a run its distribution; asked once, when the run begins.
pub trait Distributions: Sync {
    /// Gets what the instance is built from now.
    ///
    /// # Errors
    /// The distribution cannot be had; the run ends with the reason `ArtifactFailed` and tries again later.
    fn fetch<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
    ) -> BoxFuture<'a, Result<Distribution, FetchError>>;

    /// Gets what the instance was built from when it was last ready, by the digest in its status. None: that is not known,
    /// or has the digest of what there is `now`.
    ///
    /// # Errors
    /// It cannot be had any more.
    fn fetch_last_good<'a>(
        &'a self,
        _: &'a Cluster,
        _: &'a FluxInstance,
        _now: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Distribution>, FetchError>> {
        ready(Ok(None)).boxed()
    }
}

/// One that was opened before, whatever the instance says.
impl Distributions for Distribution {
    fn fetch<'a>(&'a self, _: &'a Cluster, _: &'a FluxInstance) -> BoxFuture<'a, Result<Distribution, FetchError>> {
        ready(Ok(self.clone())).boxed()
    }
}

/// What the instance says: its artifact, else the embedded one, which is as trustworthy as the program. Its pull secret takes the place of other credentials.
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
            // Without both there is nothing newer that could be to blame.
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

/// Returns the digest that the artifact of an instance has now; `None` when it names none.
///
/// # Errors
/// The registry cannot be asked, or has no such artifact.
pub async fn artifact_digest(
    fetcher: &Fetcher,
    cluster: &Cluster,
    instance: &FluxInstance,
) -> Result<Option<String>, FetchError> {
    let Some(reference) = artifact(instance)? else { return Ok(None) };
    let fetcher = with_pull_secret(fetcher, cluster, instance).await?;
    fetcher.resolve(&reference).await.map(|digest| Some(digest.to_string()))
}

/// The artifact an instance names; None for the embedded distribution.
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
    let credentials = Credentials::from_pull_secret(&id.to_string(), secret_type, &secret_data(&secret));
    let credentials = credentials.map_err(|error| failed(Reason::Login(error)))?;
    let registries = fetcher.registries.as_ref().map(|registries| registries.with_credentials(credentials));
    Ok(Fetcher { registries, ..fetcher.clone() })
}

/// The decoded data of a Secret; what is no base64 cannot have come from an API server and is left out.
fn secret_data(secret: &Value) -> BTreeMap<String, Vec<u8>> {
    let data = secret.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?))).collect()
}
