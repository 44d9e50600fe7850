//! The history in an instance's status: the last configurations with the results of their reconciliations.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::flux_instance::HistoryEntry;
use crate::format::go_duration;

/// Maximum number of entries.
pub const MAX_ENTRIES: usize = 5;

/// A finished reconciliation.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Digest of the reconciled configuration, as `sha256:<hex>`.
    pub digest: String,
    /// Reason of the final Ready condition.
    pub status: String,
    /// Duration of the run.
    pub duration: SignedDuration,
    /// Details of the configuration, such as `flux: v2.9.4`.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Records an attempt at the top of the history.
///
/// Digest and status identify an entry. An existing entry is counted up, updated and moved to the top, and keeps its
/// first time. Entries beyond [`MAX_ENTRIES`] are dropped, the oldest first.
pub fn record(history: &mut Vec<HistoryEntry>, attempt: Attempt, now: Timestamp) {
    let same = |entry: &HistoryEntry| entry.digest == attempt.digest && entry.last_reconciled_status == attempt.status;
    let before = history.iter().position(same).map(|index| history.remove(index));
    let entry = HistoryEntry {
        first_reconciled: before.as_ref().map_or(Time(now), |entry| entry.first_reconciled.clone()),
        total_reconciliations: before.map_or(0, |entry| entry.total_reconciliations) + 1,
        digest: attempt.digest,
        last_reconciled: Time(now),
        last_reconciled_duration: go_duration::format(attempt.duration),
        last_reconciled_status: attempt.status,
        metadata: attempt.metadata,
    };
    history.insert(0, entry);
    history.truncate(MAX_ENTRIES);
}

/// Returns the digest of a spec whose build failed, because there is no revision: SHA-256 of its JSON.
pub fn spec_digest(spec: &impl Serialize) -> String {
    // The types hold text, numbers, booleans and lists only, which always have a JSON form.
    let json = serde_json::to_vec(spec).unwrap_or_default();
    format!("sha256:{}", hex::encode(Sha256::digest(json)))
}

impl fmt::Display for HistoryEntry {
    /// Formats the entry as one line for logs and messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.digest.strip_prefix("sha256:").unwrap_or(&self.digest);
        let id: String = id.chars().take(8).collect();
        write!(f, "id={id}, status={}, duration={}", self.last_reconciled_status, self.last_reconciled_duration)?;
        write!(f, ", total={}", self.total_reconciliations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FluxInstanceSpec;

    fn record_at(history: &mut Vec<HistoryEntry>, digest: &str, status: &str, second: i64) {
        let metadata = Some([("flux".to_string(), "v2.9.4".to_string())].into());
        let duration = SignedDuration::from_secs(45);
        let attempt = Attempt { digest: format!("sha256:{digest}"), status: status.into(), duration, metadata };
        record(history, attempt, Timestamp::from_second(second).unwrap());
    }

    #[test]
    fn the_first_attempt_counts_one() {
        let mut history = Vec::new();
        record_at(&mut history, "a", "Ok", 10);
        assert_eq!((history.len(), history[0].total_reconciliations), (1, 1));
        assert_eq!(history[0].metadata.as_ref().unwrap()["flux"], "v2.9.4");
        assert_eq!(history[0].last_reconciled_duration, "45s");
    }

    #[test]
    fn the_same_digest_and_status_count_up_and_move_to_the_top() {
        let mut history = Vec::new();
        record_at(&mut history, "a", "Ok", 10);
        record_at(&mut history, "b", "Ok", 20);
        record_at(&mut history, "a", "Ok", 30);
        let lines: Vec<_> = history.iter().map(|e| (e.digest.as_str(), e.total_reconciliations)).collect();
        assert_eq!(lines, [("sha256:a", 2), ("sha256:b", 1)]);
        assert_eq!(history[0].first_reconciled.0.as_second(), 10);
        assert_eq!(history[0].last_reconciled.0.as_second(), 30);
    }

    #[test]
    fn another_status_is_another_entry() {
        let mut history = Vec::new();
        record_at(&mut history, "a", "Failed", 10);
        record_at(&mut history, "a", "Ok", 20);
        assert_eq!(history.len(), 2);
        assert_eq!(history[0].last_reconciled_status, "Ok");
    }

    #[test]
    fn five_entries_are_kept_newest_first() {
        let mut history = Vec::new();
        for (second, digest) in ["a", "b", "c", "d", "e", "f", "g"].iter().enumerate() {
            record_at(&mut history, digest, "Ok", second as i64);
        }
        let digests: Vec<&str> = history.iter().map(|e| e.digest.as_str()).collect();
        assert_eq!(digests, ["sha256:g", "sha256:f", "sha256:e", "sha256:d", "sha256:c"]);
    }

    #[test]
    fn an_entry_reads_as_one_line() {
        let mut history = Vec::new();
        record_at(&mut history, "0123456789abcdef", "Ok", 1);
        assert_eq!(history[0].to_string(), "id=01234567, status=Ok, duration=45s, total=1");
    }

    #[test]
    fn the_digest_of_a_spec_is_that_of_its_json_in_declaration_order() {
        let mut spec = FluxInstanceSpec::default();
        spec.distribution.version = "2.x".into();
        spec.distribution.registry = "ghcr.io/fluxcd".into();
        spec.wait = Some(true);
        let json = r#"{"distribution":{"version":"2.x","registry":"ghcr.io/fluxcd"},"wait":true}"#;
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        assert_eq!(spec_digest(&spec), format!("sha256:{}", hex::encode(Sha256::digest(json))));
    }
}
