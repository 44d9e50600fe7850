//! Secrets that an instance needs to pull images and its source.

use flux_operator::api::FluxInstance;
use flux_operator::api::kinds::SECRET;
use flux_operator::inspect::diagnose::next_step::{NextStep, SecretKind};
use futures::future::join_all;

use crate::flows::rights::{Right, when};
use crate::session::Session;

/// Rights that [`missing_pull_secrets`] needs.
pub const LOOKS_FOR_PULL_SECRETS: &[Right] = &[when("the instance names a pull secret", "get", "secrets")];

/// Returns the missing Secrets that the instance needs at pull time; empty without the right to read Secrets.
pub async fn missing_pull_secrets(session: &Session<'_>, instance: &FluxInstance) -> Vec<String> {
    let namespace = instance.namespace_or_default();
    let (distribution, sync) = (&instance.spec.distribution, instance.spec.sync.as_ref());
    let images = distribution.image_pull_secret.as_ref().map(|name| {
        let secret = SecretKind::of_registry(&distribution.registry);
        ("spec.distribution.imagePullSecret", name, secret)
    });
    let source = sync.and_then(|sync| {
        let secret = SecretKind::of_source(&sync.kind, &sync.url, sync.provider.as_deref().unwrap_or_default());
        Some(("spec.sync.pullSecret", sync.pull_secret.as_ref()?, secret))
    });
    let looks = [images, source].into_iter().flatten().map(async |(field, name, secret)| {
        let found = session.cluster.get_metadata(&SECRET, Some(namespace), name).await;
        if !found.is_err_and(|error| error.is_not_found()) {
            return None;
        }
        let create = NextStep::CreateSecret { namespace: namespace.to_owned(), name: name.clone(), secret };
        let create = session.destination().command(&create);
        Some(format!("{field} names Secret/{namespace}/{name}, which does not exist: create it with `{create}`"))
    });
    join_all(looks).await.into_iter().flatten().collect()
}
