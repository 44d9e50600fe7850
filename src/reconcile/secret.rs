//! Stores a Secret: changes the stored one in place, or replaces it where the API server refuses a change.
//!
//! ```text
//! apply -> Applied
//!       -> Refused -> check (a dry run) -> carry_out: delete exactly that Secret, wait until it is gone, create the
//!                                          new one (if that fails, create the old one again)
//! ```
//! The caller decides whether to replace, because controllers find no Secret between the two writes.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::cluster::{ApplyResult, Cluster, ClusterError, DeleteOptions, Propagation, WriteOptions};
use crate::format::backoff::Backoff;
use crate::k8s::fields;
use crate::secrets::{ReplaceReason, SecretManifest, SecretObject};

/// Suffix of the name under which the API server checks a new Secret in a dry run.
const CHECKED_AS: &str = ".replacing";
/// The API server's limit for a name, in characters.
const MAX_NAME_LENGTH: usize = 253;

/// A Secret to be stored, with the options of its writes.
#[derive(Clone, Copy)]
pub struct SecretWriter<'a> {
    pub cluster: &'a Cluster,
    pub secret: &'a SecretObject,
    /// `force` decides whether a change in place takes fields from other field managers.
    pub options: WriteOptions<'a>,
}

/// Result of [`SecretWriter::apply`].
pub enum SecretApply<'a> {
    Applied(ApplyResult),
    /// The API server would refuse the change. Nothing was sent.
    Refused(ReplaceReason, Replacement<'a>),
}

/// A Secret that has to replace a stored one.
pub struct Replacement<'a> {
    writer: SecretWriter<'a>,
    stored: SecretManifest,
}

/// A [`Replacement`] whose new Secret was accepted by the API server in a dry run.
pub struct CheckedReplacement<'a>(Replacement<'a>);

/// The reason why a Secret was not replaced.
#[derive(Debug)]
pub enum ReplaceError {
    /// The stored Secret could not be deleted, for example because it was changed since it was read.
    Deletion(ClusterError),
    /// The stored Secret is being deleted, but a finalizer has kept it for longer than this. Nothing was created.
    StillTerminating(Duration),
    /// After the deletion, someone else created a Secret of this name. It is unchanged.
    CreatedMeanwhile,
    /// The stored Secret was deleted, and the new one could not be created.
    Creation {
        cause: ClusterError,
        /// Whether the old Secret was created again, or why not.
        restored: Result<(), String>,
    },
}

impl<'a> SecretWriter<'a> {
    /// Creates the Secret, or changes the stored one, if the API server allows the change.
    ///
    /// # Errors
    /// A failed read or write.
    pub async fn apply(self) -> Result<SecretApply<'a>, ClusterError> {
        let stored = self.read().await?.map(SecretManifest::of);
        match (stored.as_deref().and_then(|stored| self.secret.replace_reason(stored)), stored) {
            (Some(reason), Some(stored)) => Ok(SecretApply::Refused(reason, Replacement { writer: self, stored })),
            (_, stored) => {
                let after = self.write(self.options).await?;
                Ok(SecretApply::Applied(ApplyResult::of(stored.as_deref(), &after)))
            }
        }
    }

    async fn read(self) -> Result<Option<Value>, ClusterError> {
        self.cluster.read(&self.secret.id()).await
    }

    async fn write(self, options: WriteOptions<'_>) -> Result<Value, ClusterError> {
        self.cluster.apply(&self.secret.manifest(), options).await
    }
}

/// Returns the name under which a dry run checks a new Secret: with the stored Secret's name, it would be a change of it.
pub fn checked_name(name: &str) -> String {
    let name: String = name.chars().take(MAX_NAME_LENGTH - CHECKED_AS.len()).collect();
    format!("{name}{CHECKED_AS}")
}

impl<'a> Replacement<'a> {
    /// Lets the API server check the new Secret in a dry run, before the stored one is deleted.
    ///
    /// # Errors
    /// The API server does not accept the Secret, or does not answer.
    pub async fn check(self) -> Result<CheckedReplacement<'a>, ClusterError> {
        let SecretWriter { secret, options, .. } = self.writer;
        let checked = SecretObject { name: checked_name(&secret.name), ..secret.clone() };
        let options = WriteOptions { dry_run: true, force: true, ..options };
        SecretWriter { secret: &checked, ..self.writer }.write(options).await?;
        Ok(CheckedReplacement(self))
    }
}

impl CheckedReplacement<'_> {
    /// Deletes exactly the stored Secret that was read, and creates the new one. If that fails, creates the old one
    /// again. A dry run only tries the deletion.
    ///
    /// Must not be dropped halfway: between the two writes there is no Secret. Every call has its own limit.
    ///
    /// # Errors
    /// See [`ReplaceError`].
    pub async fn carry_out(&self) -> Result<(), ReplaceError> {
        let CheckedReplacement(Replacement { writer, stored }) = self;
        if writer.options.dry_run {
            let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
            let deleted = writer.cluster.delete(&writer.secret.id(), &options).await;
            return deleted.map(drop).map_err(ReplaceError::Deletion);
        }
        // If it is gone already, it need not be deleted.
        if let Err(error) = writer.cluster.delete_exactly(stored, Propagation::Background).await
            && !self.is_deleted_anyway().await
        {
            return Err(ReplaceError::Deletion(error));
        }
        self.wait_until_gone().await?;
        // Fields of a Secret that someone else creates now are not taken over.
        match writer.write(WriteOptions { force: false, ..writer.options }).await {
            Ok(_) => Ok(()),
            Err(cause) => Err(self.restore(cause).await),
        }
    }

    /// Whether a failed deletion had an effect, because only its answer was lost.
    async fn is_deleted_anyway(&self) -> bool {
        match self.0.writer.read().await {
            Ok(None) => true,
            Ok(Some(object)) => self.is_stored(&object) && fields::is_being_deleted(&object),
            Err(_) => false,
        }
    }

    /// Whether an object is the Secret that was to be replaced, and not another one with its name.
    fn is_stored(&self, object: &Value) -> bool {
        fields::text(object, "/metadata/uid") == fields::text(&self.0.stored, "/metadata/uid")
    }

    /// Waits until the deleted Secret is gone. Only a finalizer makes this take longer than one check.
    async fn wait_until_gone(&self) -> Result<(), ReplaceError> {
        let writer = self.0.writer;
        let limit = writer.cluster.request_timeout;
        let deadline = Instant::now() + limit;
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        loop {
            match writer.read().await {
                Ok(None) => return Ok(()),
                Ok(Some(object)) if !self.is_stored(&object) => return Err(ReplaceError::CreatedMeanwhile),
                Ok(Some(_)) if Instant::now() >= deadline => return Err(ReplaceError::StillTerminating(limit)),
                Ok(Some(_)) => tokio::time::sleep_until(deadline.min(Instant::now() + backoff.next_pause())).await,
                Err(cause) => return Err(self.restore(cause).await),
            }
        }
    }

    /// Creates the old Secret again, if there is none of its name.
    async fn restore(&self, cause: ClusterError) -> ReplaceError {
        let CheckedReplacement(Replacement { writer, stored }) = self;
        let restored = match writer.read().await {
            Ok(Some(object)) if self.is_stored(&object) => Err("it is still being deleted".to_owned()),
            Ok(Some(_)) => Err("another Secret has its name now".to_owned()),
            // With `force`, a conflict is repeated: this write is the last one that can save the data.
            _ => {
                let options = WriteOptions { force: true, ..writer.options };
                writer.cluster.apply(&as_before(stored), options).await.map(drop).map_err(|e| e.reason.to_string())
            }
        };
        ReplaceError::Creation { cause, restored }
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
