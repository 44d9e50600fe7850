//! Texts of the API server as the conditions of a ResourceSet repeat them.

use crate::cluster::{ClusterError, ServerAnswer};
use crate::k8s::ResourceType;

/// Returns the sentence of the API server, or our own where it gave none.
pub(super) fn api_text(error: &ClusterError) -> String {
    match &error.answer {
        Some(ServerAnswer { message, .. }) if !message.is_empty() => message.clone(),
        _ => error.reason.to_string(),
    }
}

/// Returns the sentence of the API server about an object that is not there: `secrets "a" not found`.
pub(super) fn not_found_text(resource: &ResourceType, name: &str) -> String {
    format!("{} \"{name}\" not found", resource.resource_name())
}
