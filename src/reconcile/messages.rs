//! The texts of conditions and events. Pure.

use std::time::Duration;

use jiff::SignedDuration;

use super::interrupt::Interrupt;
use super::progress::Action;
use crate::format::go_duration;
use crate::k8s::kstatus::Status;

/// Formats a duration for the Ready message: milliseconds below a second, whole seconds above.
pub(crate) fn rounded(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let unit: u128 = if nanos < 1_000_000_000 { 1_000_000 } else { 1_000_000_000 };
    let rounded = (nanos + unit / 2) / unit * unit;
    // Both units fit, because a run is shorter than the 584 years of 64 bits of nanoseconds.
    go_text(Duration::from_nanos(u64::try_from(rounded).unwrap_or(u64::MAX)))
}

/// Formats a duration in full precision for the history.
pub(crate) fn go_text(duration: Duration) -> String {
    go_duration::format(SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX))
}

/// Returns the message of a successful run.
pub(crate) fn finished(duration: Duration) -> String {
    format!("Reconciliation finished in {}", rounded(duration))
}

/// Returns the text of the event about a run's changes: applied objects first, then pruned ones.
pub(crate) fn applied(version: &str, first_install: bool, changes: &[(String, Action)]) -> String {
    let verb = if first_install { "installed" } else { "updated" };
    let mut text = format!("Flux {version} {verb}");
    for (object, action) in changes.iter().filter(|(_, action)| *action != Action::Unchanged) {
        text.push_str(&format!("\n{object} {}", action.as_str()));
    }
    text
}

/// Separates the result from its cause in [`rolled_back`].
const UNTIL_CHANGED: &str = " until the spec or the artifact changes: ";

/// Returns the text of a run that restored another revision than the requested one.
pub(crate) fn rolled_back(failed: &str, restored: &str, detail: &str) -> String {
    format!("{failed} is not healthy and was rolled back to {restored}{UNTIL_CHANGED}{detail}")
}

/// Returns the detail in a text of [`rolled_back`]; empty for another text.
pub(crate) fn rollback_detail(message: &str) -> &str {
    message.split_once(UNTIL_CHANGED).map_or("", |(_, detail)| detail)
}

/// Returns the text of the event about a run that was interrupted.
pub(crate) fn interrupted(interrupt: &Interrupt) -> String {
    match interrupt {
        Interrupt::Superseded(by) => format!("Health checks canceled due to new reconciliation triggered by {by}"),
        Interrupt::Stop(why) => format!("Reconciliation stopped: {why}"),
    }
}

/// Returns the text of the event that announces a revision.
pub(crate) fn attempted(revision: &str, previous: Option<&str>) -> String {
    match previous.filter(|previous| !previous.is_empty()) {
        None => format!("Installing revision {revision}"),
        Some(_) => format!("Upgrading to revision {revision}"),
    }
}

/// Returns the text of the event about an outdated version.
pub(crate) fn outdated(version: &str, latest: &str) -> String {
    format!("Flux {version} is outdated, the latest stable version is {latest}")
}

/// An unhealthy object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnhealthyObject {
    /// `Kind/namespace/name`.
    pub object: String,
    /// Its kstatus.
    pub health: String,
    /// The explanation by the object or its pods; may be empty.
    pub detail: String,
}

impl UnhealthyObject {
    pub fn new(object: impl Into<String>, health: Status, detail: impl Into<String>) -> Self {
        UnhealthyObject { object: object.into(), health: health.to_string(), detail: detail.into() }
    }
}

/// Returns the text of a failed health check: the sorted objects, then a line with the reason for each.
pub(crate) fn unhealthy(timed_out: bool, objects: &[UnhealthyObject]) -> String {
    let mut sorted = objects.to_vec();
    sorted.sort();
    let list: Vec<String> = sorted.iter().map(|one| format!("{} status: '{}'", one.object, one.health)).collect();
    let what = if timed_out { "timeout waiting for" } else { "failed early due to stalled resources" };
    let mut text = format!("{what}: [{}]", list.join(", "));
    for one in sorted.iter().filter(|one| !one.detail.trim().is_empty()) {
        text.push_str(&format!("\n{} status: {}", one.object, one.detail.trim()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_is_reported_again_with_the_same_detail() {
        let text = rolled_back("v2.9.4@a", "v2.8.8@b", "changes: of a pod");
        assert_eq!(
            text,
            "v2.9.4@a is not healthy and was rolled back to v2.8.8@b until the spec or the artifact changes: changes: of a pod"
        );
        assert_eq!(rollback_detail(&text), "changes: of a pod");
        assert_eq!(rollback_detail("something else"), "");
    }

    #[test]
    fn durations_are_rounded_like_the_reference_rounds_them() {
        assert_eq!(finished(Duration::from_micros(431_400)), "Reconciliation finished in 431ms");
        assert_eq!(finished(Duration::from_millis(52_400)), "Reconciliation finished in 52s");
        assert_eq!(finished(Duration::from_millis(65_000)), "Reconciliation finished in 1m5s");
        assert_eq!(finished(Duration::from_millis(1_300)), "Reconciliation finished in 1s");
    }

    #[test]
    fn the_applied_event_lists_what_changed_and_ends_without_a_line_end() {
        let changes = [
            ("Namespace/flux-system".to_owned(), Action::Configured),
            ("Deployment/flux-system/a".to_owned(), Action::Unchanged),
            ("Service/flux-system/b".to_owned(), Action::Skipped),
        ];
        insta::assert_snapshot!(applied("v2.9.4", true, &changes), @r"
        Flux v2.9.4 installed
        Namespace/flux-system configured
        Service/flux-system/b skipped
        ");
        assert!(applied("v2.9.4", false, &changes).starts_with("Flux v2.9.4 updated\n"));
    }

    #[test]
    fn a_failed_health_check_lists_objects_sorted_and_says_why() {
        let objects = [
            UnhealthyObject::new("Deployment/flux-system/source-controller", Status::InProgress, ""),
            UnhealthyObject::new(
                "Deployment/flux-system/helm-controller",
                Status::InProgress,
                "ImagePullBackOff: no such image\n",
            ),
        ];
        assert_eq!(
            unhealthy(true, &objects),
            "timeout waiting for: [Deployment/flux-system/helm-controller status: 'InProgress', \
             Deployment/flux-system/source-controller status: 'InProgress']\n\
             Deployment/flux-system/helm-controller status: ImagePullBackOff: no such image"
        );
    }
}
