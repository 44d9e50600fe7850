//! Settings of an instance with defaults: intervals, components, cluster, names.

use std::time::Duration;

use super::flux_instance::{FluxInstance, FluxInstanceSpec, ShardingSpec};
use super::reconciled::Reconciled;
use super::well_known::{
    DEFAULT_NAMESPACE, ENABLED, RECONCILE_ARTIFACT_EVERY_ANNOTATION, RECONCILE_ON_DRIFT_ANNOTATION, ROLLBACK_ANNOTATION,
};

const DEFAULT_ARTIFACT_INTERVAL: Duration = Duration::from_secs(10 * 60);

impl FluxInstance {
    /// Parses an instance from the API server's object.
    ///
    /// # Errors
    /// The object is not a FluxInstance.
    pub fn from_object(object: serde_json::Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(object)
    }

    /// Returns the namespace of the instance, which is where Flux is installed.
    pub fn namespace_or_default(&self) -> &str {
        self.metadata.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
    }

    /// Whether reconciliation is disabled by annotation (`disabled`, in any case).
    pub fn is_suspended(&self) -> bool {
        Reconciled::is_suspended(self)
    }

    /// Whether drift is corrected at once (`Enabled`, in any case).
    pub fn reconciles_on_drift(&self) -> bool {
        self.is_enabled(RECONCILE_ON_DRIFT_ANNOTATION)
    }

    /// Whether an unhealthy upgrade is rolled back (`Enabled`, in any case).
    pub fn rolls_back(&self) -> bool {
        self.is_enabled(ROLLBACK_ANNOTATION)
    }

    fn is_enabled(&self, key: &str) -> bool {
        self.annotation(key).is_some_and(|value| value.eq_ignore_ascii_case(ENABLED))
    }

    /// Returns the reconcile interval: one hour by default, `None` while suspended and for durations of zero or less.
    pub fn interval(&self) -> Option<Duration> {
        Reconciled::interval(self)
    }

    /// Returns the interval for checking the distribution artifact: ten minutes by default, `None` while suspended and
    /// for durations of zero or less.
    pub fn artifact_interval(&self) -> Option<Duration> {
        self.repetition(RECONCILE_ARTIFACT_EVERY_ANNOTATION, DEFAULT_ARTIFACT_INTERVAL)
    }

    /// Returns the artifact of the distribution; `None` for the embedded one.
    pub fn artifact(&self) -> Option<&str> {
        self.spec.distribution.artifact.as_deref().filter(|artifact| !artifact.is_empty())
    }

    /// Returns the timeout of health checks: five minutes unless an annotation sets another positive duration.
    pub fn timeout(&self) -> Duration {
        Reconciled::timeout(self)
    }

    /// Returns the name of the sync objects: `spec.sync.name`, else the namespace. `None` without sync.
    pub fn sync_name(&self) -> Option<&str> {
        let sync = self.spec.sync.as_ref()?;
        Some(sync.name.as_deref().filter(|name| !name.is_empty()).unwrap_or_else(|| self.namespace_or_default()))
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        Reconciled::annotation(self, key)
    }
}

impl ShardingSpec {
    /// Whether every shard of source-controller has its own volume.
    pub fn is_persistent(&self) -> bool {
        self.storage.as_deref() == Some("persistent")
    }
}

impl FluxInstanceSpec {
    /// Whether a reconciliation waits for health; on by default.
    pub fn waits(&self) -> bool {
        self.wait.unwrap_or(true)
    }

    /// Whether stored resources are migrated; on by default.
    pub fn migrates_resources(&self) -> bool {
        self.migrate_resources.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::flux_instance::SyncSpec;
    use super::*;

    fn annotated(annotations: &[(&str, &str)]) -> FluxInstance {
        let mut instance = FluxInstance::new("flux", FluxInstanceSpec::default());
        let pairs = annotations.iter().map(|(key, value)| (format!("fluxcd.controlplane.io/{key}"), value.to_string()));
        instance.metadata.annotations = Some(pairs.collect());
        instance
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60)
    }

    #[test]
    fn the_interval_is_an_hour_unless_a_duration_says_otherwise() {
        let interval = |annotations: &[(&str, &str)]| annotated(annotations).interval();
        assert_eq!(FluxInstance::new("flux", FluxInstanceSpec::default()).interval(), Some(minutes(60)));
        assert_eq!(interval(&[("reconcileEvery", "5m")]), Some(minutes(5)));
        assert_eq!(interval(&[("reconcileEvery", "often")]), Some(minutes(60)));
        assert_eq!(interval(&[("reconcileEvery", "0s")]), None);
        assert_eq!(interval(&[("reconcileEvery", "-1m")]), None);
        assert_eq!(interval(&[("reconcile", "disabled"), ("reconcileEvery", "5m")]), None);
        assert_eq!(interval(&[("reconcile", "Disabled")]), None);
    }

    #[test]
    fn the_artifact_interval_is_ten_minutes_unless_a_duration_says_otherwise() {
        let interval = |annotations: &[(&str, &str)]| annotated(annotations).artifact_interval();
        assert_eq!(interval(&[]), Some(minutes(10)));
        assert_eq!(interval(&[("reconcileArtifactEvery", "30s")]), Some(Duration::from_secs(30)));
        assert_eq!(interval(&[("reconcileArtifactEvery", "x")]), Some(minutes(10)));
        assert_eq!(interval(&[("reconcile", "disabled")]), None);
    }

    #[test]
    fn the_timeout_is_five_minutes_unless_a_positive_duration_says_otherwise() {
        let timeout = |value: &str| annotated(&[("reconcileTimeout", value)]).timeout();
        assert_eq!(annotated(&[]).timeout(), minutes(5));
        assert_eq!(timeout("10m"), minutes(10));
        assert_eq!(timeout("garbage"), minutes(5));
        assert_eq!(timeout("0"), minutes(5));
    }

    #[test]
    fn disabled_suspends_in_any_case_and_nothing_else_does() {
        for (value, suspended) in
            [("DISABLED", true), ("disabled", true), ("enabled", false), ("Enabled", false), ("no", false)]
        {
            assert_eq!(annotated(&[("reconcile", value)]).is_suspended(), suspended, "{value}");
        }
        assert!(!annotated(&[]).is_suspended());
    }

    #[test]
    fn sync_objects_are_named_after_the_namespace_unless_named() {
        let mut instance = annotated(&[]);
        assert_eq!(instance.sync_name(), None);
        instance.spec.sync = Some(SyncSpec::default());
        assert_eq!(instance.sync_name(), Some("flux-system"));
        instance.metadata.namespace = Some("apps".into());
        assert_eq!(instance.sync_name(), Some("apps"));
        instance.spec.sync = Some(SyncSpec { name: Some("fleet".into()), ..SyncSpec::default() });
        assert_eq!(instance.sync_name(), Some("fleet"));
    }
}
