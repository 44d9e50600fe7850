//! The health of Flux: the verdicts that all views share.
//!
//! Verdicts are determined by `why` ([`super::why::overview`]). The command line turns them into exit codes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::well_known::condition::READY;
use crate::inspect::diagnose::why::{Cause, Reason};
use crate::k8s::fields;

/// The health of an object, or of an installation as a whole, in the order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HealthVerdict {
    #[default]
    Ready,
    /// Reconciliation is switched off.
    Suspended,
    /// No controller has reported on the object yet.
    NotStarted,
    InProgress,
    /// The caller is not allowed to read the objects that decide it.
    Unknown,
    Failing,
    /// Nothing of Flux is in the cluster; only an installation as a whole has this verdict.
    NotInstalled,
}

impl HealthVerdict {
    /// The verdict in words.
    pub fn as_str(self) -> &'static str {
        match self {
            HealthVerdict::Ready => "ready",
            HealthVerdict::Suspended => "suspended",
            HealthVerdict::NotStarted => "not started",
            HealthVerdict::InProgress => "in progress",
            HealthVerdict::Unknown => "unknown",
            HealthVerdict::Failing => "failing",
            HealthVerdict::NotInstalled => "not installed",
        }
    }

    /// The verdict on an object that is not suspended, by the cause that `why` found for it.
    pub(crate) fn of(object: &Value, cause: Option<&Cause>) -> Self {
        match cause.map(|cause| cause.reason) {
            None => HealthVerdict::Ready,
            Some(Reason::InProgress) if fields::condition(object, READY).is_none() => HealthVerdict::NotStarted,
            Some(Reason::InProgress) => HealthVerdict::InProgress,
            Some(Reason::Suspended) => HealthVerdict::Suspended,
            Some(_) => HealthVerdict::Failing,
        }
    }

    /// Whether nothing fails and everything that decides the verdict could be read.
    pub(crate) fn is_healthy(self) -> bool {
        !matches!(self, HealthVerdict::Failing | HealthVerdict::Unknown | HealthVerdict::NotInstalled)
    }
}

/// The number of objects by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCounts {
    pub total: usize,
    pub ready: usize,
    pub failing: usize,
    pub in_progress: usize,
    pub not_started: usize,
    pub suspended: usize,
}

impl HealthCounts {
    pub(crate) fn add(&mut self, verdict: HealthVerdict) {
        self.total += 1;
        match verdict {
            HealthVerdict::Ready => self.ready += 1,
            HealthVerdict::Suspended => self.suspended += 1,
            HealthVerdict::NotStarted => self.not_started += 1,
            HealthVerdict::InProgress => self.in_progress += 1,
            HealthVerdict::Failing => self.failing += 1,
            // An object that was read has one of the other verdicts.
            HealthVerdict::Unknown | HealthVerdict::NotInstalled => {}
        }
    }

    /// Formats the counts that are not zero: `2 ready, 1 failing, 3 not started`.
    pub fn in_words(&self) -> String {
        self.parts()
            .iter()
            .map(|(count, verdict)| format!("{count} {}", verdict.as_str()))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The verdicts that occur with their counts, in the order of messages.
    pub fn parts(&self) -> Vec<(usize, HealthVerdict)> {
        let parts = [
            (self.ready, HealthVerdict::Ready),
            (self.failing, HealthVerdict::Failing),
            (self.in_progress, HealthVerdict::InProgress),
            (self.not_started, HealthVerdict::NotStarted),
            (self.suspended, HealthVerdict::Suspended),
        ];
        parts.into_iter().filter(|(count, _)| *count > 0).collect()
    }
}

/// The verdicts on the objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindCounts {
    pub kind: &'static str,
    #[serde(flatten)]
    pub counts: HealthCounts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_list_only_verdicts_that_occur_and_add_up() {
        let mut counts = HealthCounts::default();
        for verdict in [HealthVerdict::Ready, HealthVerdict::NotStarted, HealthVerdict::NotStarted] {
            counts.add(verdict);
        }
        assert_eq!(counts.in_words(), "1 ready, 2 not started");
        assert_eq!(counts.total, counts.parts().iter().map(|(count, _)| count).sum::<usize>());
    }
}
