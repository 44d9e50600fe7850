//! The exports of ResourceSetInputProviders: their inputs and their schedules.
//!
//! [`export()`] queries the service of a provider and returns its inputs: static ones, branches, tags and requests of Git
//! hosts, tags of registries, the response of an HTTP service, or artifacts of the cluster. [`ProviderSchedule`] says
//! when a provider may run.
//!
//! ```text
//! settings     the spec and its rules        credentials   what Secrets hold      filter    which results, how many
//! http         one server, bounded           git           lists and their pages
//! github, gitlab, azure_devops               github_app    tokens of apps
//! registry, service, artifacts               export        default values, skipped requests, the revision
//! cron, schedule                             when
//! ```
//! The crate has no Kubernetes client: the caller reads the spec, the Secrets and the artifacts, and writes the status.
//! Credentials go to the server of `spec.url` only, and errors do not contain them. Responses, pages and pauses are
//! limited.
#![warn(missing_docs, unreachable_pub)]

mod artifacts;
mod azure_devops;
mod credentials;
mod cron;
mod error;
mod export;
mod filter;
mod git;
mod github;
mod github_app;
mod gitlab;
mod http;
mod registry;
mod schedule;
mod service;
mod settings;

use flux_operator_oci::RegistryCredentials;
use serde_json::{Map, Value};

pub use artifacts::ArtifactInput;
pub use credentials::{SecretData, TlsFiles};
pub use error::ProviderError;
pub use export::Export;
pub use github_app::TokenCache;
pub use http::Connection;
pub use schedule::{NextRun, NextTrigger, ProviderSchedule, ScheduleEntry};
pub use settings::{Filter, ProviderSettings, ProviderType};

#[cfg(test)]
mod tests;

/// The inputs of an export other than the settings.
#[derive(Clone, Copy)]
pub struct ExportSources<'s> {
    /// Source of the id of a Static provider: its UID, or its name without a cluster.
    pub identity: &'s str,
    /// The Secret of `spec.secretRef`, for Git hosts and services.
    pub secret: Option<&'s SecretData>,
    /// Pull secrets, for registries.
    pub registry_credentials: &'s RegistryCredentials,
    /// The artifacts that the selectors match, for ExternalArtifact.
    pub artifacts: &'s [ArtifactInput],
    /// The inputs of the previous export, for skipped requests.
    pub exported: &'s [Map<String, Value>],
    /// Settings for connections to servers.
    pub connection: &'s Connection,
    /// Tokens of GitHub Apps.
    pub tokens: &'s TokenCache,
}

/// Returns the current export of a provider.
///
/// # Errors
/// The service cannot be reached, refuses the request, or sends a response that does not fit the type. The previous
/// export remains valid.
pub async fn export(settings: &ProviderSettings, sources: &ExportSources<'_>) -> Result<Export, ProviderError> {
    settings.validate()?;
    let ExportSources { identity, secret, connection, .. } = sources;
    match settings.provider_type {
        ProviderType::Static => {
            let id = Value::String(git::checksum(identity));
            export::finish(settings, vec![Map::from_iter([("id".to_owned(), id)])], true)
        }
        ProviderType::ExternalService => {
            export::finish(settings, service::inputs(settings, *secret, connection).await?, true)
        }
        ProviderType::ExternalArtifact => {
            export::finish(settings, artifacts::inputs(settings, sources.artifacts)?, true)
        }
        ProviderType::OciArtifactTag => {
            let tags = registry::tags(settings, sources.registry_credentials, connection).await?;
            export::finish(settings, tags, false)
        }
        _ => {
            let found = git::list(settings, *secret, connection, sources.tokens).await?;
            export::finish(settings, export::skip(found, &settings.skip_labels, sources.exported), false)
        }
    }
}
