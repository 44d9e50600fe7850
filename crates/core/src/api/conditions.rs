//! Conditions for kstatus: set and remove them, the rules between them, and their schema.
//!
//! `Ready` is the summary, `Reconciling` means that work is in progress, and `Stalled` that a person has to act; the
//! last two exclude each other. `lastTransitionTime` changes only with the status, as in the Kubernetes API conventions
//! (<https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md>).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{Schema, SchemaGenerator, json_schema};

use super::well_known::{condition, reason};

/// Maximum length of a message at the API server, in characters.
pub(crate) const MAX_MESSAGE: usize = 32768;

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

impl ConditionStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }
}

/// Time of a condition, and the generation of the object that it describes.
#[derive(Clone, Copy, Debug)]
pub struct ConditionTime {
    pub now: Timestamp,
    /// `metadata.generation` of the reconciled object.
    pub generation: Option<i64>,
}

/// Returns the condition of a type.
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether a condition exists and is `True`.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    get(conditions, type_).is_some_and(|condition| condition.status == ConditionStatus::True.as_str())
}

/// Sets a condition, and keeps its `lastTransitionTime` if the status is the same.
///
/// The list is kept in the order Stalled, Reconciling, Ready, then others. A message over `MAX_MESSAGE` characters is
/// truncated and ends in `...`.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    moment: ConditionTime,
) {
    let before = get(conditions, type_).filter(|before| before.status == status.as_str());
    let since = before.map_or_else(|| Time(whole_seconds(moment.now)), |before| before.last_transition_time.clone());
    let condition = Condition {
        type_: type_.into(),
        status: status.as_str().into(),
        reason: reason.into(),
        message: cut(message),
        observed_generation: moment.generation,
        last_transition_time: since,
    };
    match conditions.iter_mut().find(|other| other.type_ == type_) {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
    conditions.sort_by_key(|condition| rank(&condition.type_));
}

/// Removes the condition of a type, if it exists.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// Marks work in progress: Reconciling is True, Ready is Unknown, Stalled is removed.
pub fn mark_reconciling(conditions: &mut Vec<Condition>, reason: &str, message: &str, moment: ConditionTime) {
    remove(conditions, condition::STALLED);
    set(conditions, condition::RECONCILING, ConditionStatus::True, reason, message, moment);
    set(conditions, condition::READY, ConditionStatus::Unknown, reason, message, moment);
}

/// Marks a failure that a retry cannot fix: Stalled is True, Ready is False, Reconciling is removed.
pub fn mark_stalled(conditions: &mut Vec<Condition>, reason: &str, message: &str, moment: ConditionTime) {
    remove(conditions, condition::RECONCILING);
    set(conditions, condition::STALLED, ConditionStatus::True, reason, message, moment);
    set(conditions, condition::READY, ConditionStatus::False, reason, message, moment);
}

/// Marks a failed run that will be retried: Ready is False; an existing Reconciling waits for the retry.
pub fn mark_failed(conditions: &mut Vec<Condition>, reason: &str, message: &str, moment: ConditionTime) {
    set(conditions, condition::READY, ConditionStatus::False, reason, message, moment);
    finalise(conditions);
}

/// Marks a successful run: Ready is True, the other two are removed.
pub fn mark_ready(conditions: &mut Vec<Condition>, reason: &str, message: &str, moment: ConditionTime) {
    remove(conditions, condition::STALLED);
    remove(conditions, condition::RECONCILING);
    set(conditions, condition::READY, ConditionStatus::True, reason, message, moment);
}

/// Makes the conditions consistent at the end of every run, however it ended.
///
/// With Ready True or Stalled True no work is in progress, so Reconciling is removed; with Ready False an existing
/// Reconciling gets the reason `ProgressingWithRetry`.
pub fn finalise(conditions: &mut Vec<Condition>) {
    if is_true(conditions, condition::READY) || is_true(conditions, condition::STALLED) {
        remove(conditions, condition::RECONCILING);
    }
    let failed = get(conditions, condition::READY).is_some_and(|ready| ready.status == ConditionStatus::False.as_str());
    if let (true, Some(reconciling)) = (failed, conditions.iter_mut().find(|c| c.type_ == condition::RECONCILING)) {
        reconciling.reason = reason::PROGRESSING_WITH_RETRY.into();
    }
}

fn rank(type_: &str) -> usize {
    [condition::STALLED, condition::RECONCILING, condition::READY]
        .iter()
        .position(|known| *known == type_)
        .unwrap_or(usize::MAX)
}

/// Rounds to whole seconds, as the API stores them, so that a time can be compared with one that was read back.
fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn cut(message: &str) -> String {
    const MARK: &str = "...";
    if message.chars().count() <= MAX_MESSAGE {
        return message.into();
    }
    message.chars().take(MAX_MESSAGE - MARK.len()).chain(MARK.chars()).collect()
}

/// Returns the schema of a list of conditions, with the constraints of the Kubernetes API conventions.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One aspect of the state of the installation.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "Time of the last change of the status.",
                },
                "message": {
                    "type": "string", "maxLength": MAX_MESSAGE,
                    "description": "Details for a person to read; may be empty.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "metadata.generation that the condition was set for.",
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "Why the status is what it is, as one word for programs.",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds.",
                },
                "type": {
                    "type": "string", "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                    "description": "Name of the aspect.",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> ConditionTime {
        ConditionTime { now: Timestamp::from_millisecond(second * 1000 + 250).unwrap(), generation: Some(3) }
    }

    fn summary(conditions: &[Condition]) -> Vec<String> {
        conditions
            .iter()
            .map(|c| format!("{}={} {} {}", c.type_, c.status, c.reason, c.last_transition_time.0))
            .collect()
    }

    #[test]
    fn the_time_moves_only_when_the_status_does() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Ready", ConditionStatus::False, "A", "one", at(100));
        set(&mut conditions, "Ready", ConditionStatus::False, "B", "two", at(200));
        assert_eq!(summary(&conditions), ["Ready=False B 1970-01-01T00:01:40Z"]);
        assert_eq!((conditions[0].message.as_str(), conditions[0].observed_generation), ("two", Some(3)));
        set(&mut conditions, "Ready", ConditionStatus::True, "B", "two", at(300));
        assert_eq!(summary(&conditions), ["Ready=True B 1970-01-01T00:05:00Z"]);
        remove(&mut conditions, "Ready");
        set(&mut conditions, "Ready", ConditionStatus::True, "B", "two", at(400));
        assert_eq!(summary(&conditions), ["Ready=True B 1970-01-01T00:06:40Z"]);
    }

    #[test]
    fn the_order_is_stalled_reconciling_ready_then_others() {
        let mut conditions = Vec::new();
        for type_ in ["Custom", "Ready", "Reconciling", "Other", "Stalled"] {
            set(&mut conditions, type_, ConditionStatus::True, "R", "", at(1));
        }
        let types: Vec<&str> = conditions.iter().map(|c| c.type_.as_str()).collect();
        assert_eq!(types, ["Stalled", "Reconciling", "Ready", "Custom", "Other"]);
    }

    #[test]
    fn a_run_that_succeeds_leaves_ready_only() {
        let mut conditions = Vec::new();
        mark_reconciling(&mut conditions, reason::PROGRESSING, "Reconciliation in progress", at(1));
        assert_eq!(
            summary(&conditions),
            ["Reconciling=True Progressing 1970-01-01T00:00:01Z", "Ready=Unknown Progressing 1970-01-01T00:00:01Z"]
        );
        mark_ready(&mut conditions, reason::RECONCILIATION_SUCCEEDED, "Reconciliation finished in 1s", at(2));
        assert_eq!(summary(&conditions), ["Ready=True ReconciliationSucceeded 1970-01-01T00:00:02Z"]);
    }

    #[test]
    fn a_run_that_fails_keeps_reconciling_for_the_retry() {
        let mut conditions = Vec::new();
        mark_reconciling(&mut conditions, reason::PROGRESSING, "Reconciliation in progress", at(1));
        mark_failed(&mut conditions, reason::ARTIFACT_FAILED, "fetch failed: x", at(2));
        assert_eq!(
            summary(&conditions),
            [
                "Reconciling=True ProgressingWithRetry 1970-01-01T00:00:01Z",
                "Ready=False ArtifactFailed 1970-01-01T00:00:02Z",
            ]
        );
        assert_eq!(conditions[0].message, "Reconciliation in progress");
    }

    #[test]
    fn stalled_and_reconciling_exclude_each_other() {
        let mut conditions = Vec::new();
        mark_reconciling(&mut conditions, reason::PROGRESSING, "m", at(1));
        mark_stalled(&mut conditions, reason::BUILD_FAILED, "build failed: x", at(2));
        assert_eq!(
            summary(&conditions),
            ["Stalled=True BuildFailed 1970-01-01T00:00:02Z", "Ready=False BuildFailed 1970-01-01T00:00:02Z"]
        );
        mark_reconciling(&mut conditions, reason::PROGRESSING, "m", at(3));
        assert!(get(&conditions, "Stalled").is_none() && is_true(&conditions, "Reconciling"));
    }

    #[test]
    fn finalising_repairs_conditions_left_by_a_crash() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Reconciling", ConditionStatus::True, "Progressing", "", at(1));
        set(&mut conditions, "Ready", ConditionStatus::True, "X", "", at(1));
        finalise(&mut conditions);
        assert_eq!(summary(&conditions), ["Ready=True X 1970-01-01T00:00:01Z"]);
    }

    #[test]
    fn long_messages_are_cut_by_characters() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Ready", ConditionStatus::False, "R", &"ä".repeat(MAX_MESSAGE + 1), at(1));
        assert_eq!(conditions[0].message.chars().count(), MAX_MESSAGE);
        assert!(conditions[0].message.ends_with("ä..."));
        set(&mut conditions, "Ready", ConditionStatus::False, "R", &"ä".repeat(MAX_MESSAGE), at(1));
        assert!(conditions[0].message.ends_with("ää"));
    }
}
