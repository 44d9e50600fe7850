//! Messages of the API server for the conditions of a ResourceSet.

use crate::cluster::{ClusterError, ServerAnswer};
use crate::k8s::ResourceType;

/// Returns the API server's message, or our own if it gave none.
pub(super) fn api_text(error: &ClusterError) -> String {
    match &error.answer {
        Some(ServerAnswer { message, .. }) if !message.is_empty() => message.clone(),
        _ => error.reason.to_string(),
    }
}

/// Returns the API server's message about an object that does not exist: `secrets "a" not found`.
pub(super) fn not_found_text(resource: &ResourceType, name: &str) -> String {
    format!("{} \"{name}\" not found", resource.resource_name())
}
