//! Stores a Secret: changes the stored one in place, or replaces it where the API server refuses a change.
//!
//! ```text
//! apply -> Applied
//!       -> NotChangeable -> check -> replace: delete exactly that Secret, wait until it is gone, create the new one
//!                                    (if that fails, create the old one again)
//! ```
//! The caller decides whether to replace, because controllers find no Secret between the two writes.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::cluster::{ApplyResult, Cluster, ClusterError, DeleteOptions, Propagation, WriteOptions};
use crate::secrets::{ReplaceNeed, SecretManifest, SecretObject};

/// Suffix of the name under which the API server checks a new Secret in a dry run.
const CHECKED_AS: &str = ".replacing";
/// The API server's limit for a name, in characters.
const MAX_NAME_LENGTH: usize = 253;
/// Interval for checking whether a deleted Secret with a finalizer is gone.
const GONE_INTERVAL: Duration = Duration::from_millis(250);

/// A Secret to be stored, with the options of its writes.
pub struct SecretWriter<'a> {
    pub cluster: &'a Cluster,
    pub secret: &'a SecretObject,
    /// `force` decides whether a change in place takes fields from other field managers.
    pub options: WriteOptions<'a>,
}

/// Result of [`SecretWriter::apply`].
pub enum SecretApply {
    Applied(ApplyResult),
    /// Nothing was written. The API server refuses to change the stored Secret in this way.
    NotChangeable {
        stored: Value,
        need: ReplaceNeed,
    },
}

/// The reason why a Secret was not replaced.
#[derive(Debug)]
pub enum ReplaceError {
    /// The stored Secret was deleted or changed since it was read. Nothing was written.
    ChangedMeanwhile,
    /// The stored Secret could not be deleted.
    NotDeleted(ClusterError),
    /// The stored Secret was deleted, and the new one could not be created.
    NotCreated {
        cause: NotCreated,
        /// Whether the old Secret could be created again.
        restored: Result<(), ClusterError>,
    },
}

/// The reason why a new Secret could not be created in place of the deleted one.
#[derive(Debug)]
pub enum NotCreated {
    Refused(ClusterError),
    /// A finalizer kept the deleted Secret for longer than this.
    OldOneStays(Duration),
}

impl SecretWriter<'_> {
    /// Creates the Secret, or changes the stored one, if the API server allows the change.
    ///
    /// # Errors
    /// A failed read or write.
    pub async fn apply(&self) -> Result<SecretApply, ClusterError> {
        let stored = self.cluster.read(&self.secret.id()).await?;
        match stored.as_ref().map(|stored| self.secret.replace_need(stored)) {
            None | Some(ReplaceNeed::InPlace) => {}
            Some(need) => return Ok(SecretApply::NotChangeable { stored: stored.unwrap_or_default(), need }),
        }
        let after = self.cluster.apply(&self.secret.manifest(), self.options).await?;
        Ok(SecretApply::Applied(ApplyResult::of(stored.as_ref(), &after)))
    }

    /// Lets the API server check the new Secret in a dry run, before the stored one is deleted. The dry run uses another
    /// name, because the stored Secret still has the real one.
    ///
    /// # Errors
    /// The API server does not accept the Secret, or does not answer.
    pub async fn check(&self) -> Result<(), ClusterError> {
        let name: String = self.secret.name.chars().take(MAX_NAME_LENGTH - CHECKED_AS.len()).collect();
        let checked = SecretObject { name: format!("{name}{CHECKED_AS}"), ..self.secret.clone() };
        let options = WriteOptions { dry_run: true, force: true, ..self.options };
        self.cluster.apply(&checked.manifest(), options).await.map(drop)
    }

    /// Deletes exactly the `stored` Secret that was read, and creates the new one. If that fails, creates the old one
    /// again. A dry run only tries the deletion.
    ///
    /// Must not be dropped halfway: between the two writes there is no Secret. Every call has its own limit.
    ///
    /// # Errors
    /// See [`ReplaceError`].
    pub async fn replace(&self, stored: &Value) -> Result<(), ReplaceError> {
        if self.options.dry_run {
            let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
            return self.cluster.delete(&self.secret.id(), &options).await.map(drop).map_err(ReplaceError::NotDeleted);
        }
        let deleted = self.cluster.delete_exactly(stored, Propagation::Background).await;
        if !deleted.map_err(ReplaceError::NotDeleted)? {
            return Err(ReplaceError::ChangedMeanwhile);
        }
        let Err(cause) = self.create().await else { return Ok(()) };
        let options = WriteOptions { force: true, ..self.options };
        let restored = self.cluster.apply(&as_before(stored), options).await.map(drop);
        Err(ReplaceError::NotCreated { cause, restored })
    }

    async fn create(&self) -> Result<(), NotCreated> {
        self.wait_until_gone().await?;
        self.cluster.apply(&self.secret.manifest(), self.options).await.map(drop).map_err(NotCreated::Refused)
    }

    /// Waits until the deleted Secret is gone. Only a finalizer makes this take longer than one check.
    async fn wait_until_gone(&self) -> Result<(), NotCreated> {
        let id = self.secret.id();
        let gone = async {
            while self.cluster.read(&id).await.map_err(NotCreated::Refused)?.is_some() {
                tokio::time::sleep(GONE_INTERVAL).await;
            }
            Ok(())
        };
        let limit = self.cluster.request_timeout;
        tokio::time::timeout(limit, gone).await.unwrap_or(Err(NotCreated::OldOneStays(limit)))
    }
}

/// Returns a Secret as it was, without the fields that the API server sets on each object. Zeroed when dropped, like
/// every manifest.
fn as_before(stored: &Value) -> SecretManifest {
    let metadata = |key: &str| stored.get("metadata").and_then(|metadata| metadata.get(key)).cloned();
    let mut kept = Map::new();
    for key in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        kept.extend(metadata(key).map(|value| (key.to_owned(), value)));
    }
    let mut object = Map::new();
    object.insert("apiVersion".into(), "v1".into());
    object.insert("kind".into(), "Secret".into());
    object.insert("metadata".into(), kept.into());
    for key in ["type", "data", "immutable"] {
        object.extend(stored.get(key).cloned().map(|value| (key.to_owned(), value)));
    }
    SecretManifest::of(object.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_restored_without_the_fields_of_the_server() {
        let stored = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "Yg=="},
            "metadata": {"name": "s", "namespace": "n", "labels": {"l": "1"}, "uid": "u", "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []}});
        assert_eq!(
            *as_before(&stored),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "Yg=="},
                "metadata": {"name": "s", "namespace": "n", "labels": {"l": "1"}}})
        );
    }
}
