//! Common parts of the kinds that the operator reconciles: settings in annotations, and the status of a run.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use kube::core::object::{HasSpec, HasStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::flux_instance::{FluxInstance, FluxInstanceStatus, HistoryEntry, Inventory};
use super::input_provider::{ResourceSetInputProvider, ResourceSetInputProviderStatus};
use super::resource_set::{ResourceSet, ResourceSetStatus};
use super::well_known::{
    DISABLED, GROUP, RECONCILE_ANNOTATION, RECONCILE_EVERY_ANNOTATION, RECONCILE_TIMEOUT_ANNOTATION, VERSION,
};
use crate::format::go_duration;
use crate::k8s::ObjectId;

const MINUTE: Duration = Duration::from_secs(60);

/// A kind whose objects are reconciled by the operator.
pub trait Reconciled:
    Resource<DynamicType = ()> + HasSpec<Spec: PartialEq> + HasStatus<Status: RunStatus> + DeserializeOwned
{
    /// Time between two runs without the annotation `reconcileEvery`.
    const INTERVAL: Duration;
    /// Timeout without the annotation `reconcileTimeout`.
    const TIMEOUT: Duration;

    /// Returns the identity of the object.
    fn id(&self) -> ObjectId {
        let ObjectMeta { namespace, name, .. } = self.meta();
        let name = name.as_deref().unwrap_or_default();
        ObjectId::new(GROUP, &Self::kind(&()), namespace.as_deref(), name).at(VERSION)
    }

    /// Returns the inventory that earlier runs recorded in the status.
    fn recorded_inventory(&self) -> Inventory {
        let mut status = self.status().cloned().unwrap_or_default();
        status.inventory().and_then(Option::take).unwrap_or_default()
    }

    /// Returns the value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.meta().annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether reconciliation is disabled by annotation (`disabled`, in any case).
    fn is_suspended(&self) -> bool {
        self.annotation(RECONCILE_ANNOTATION).is_some_and(|value| value.eq_ignore_ascii_case(DISABLED))
    }

    /// Returns the reconcile interval; `None` while suspended and for durations of zero or less.
    fn interval(&self) -> Option<Duration> {
        self.repetition(RECONCILE_EVERY_ANNOTATION, Self::INTERVAL)
    }

    /// Returns the timeout: the default, unless an annotation sets another positive duration.
    fn timeout(&self) -> Duration {
        self.duration(RECONCILE_TIMEOUT_ANNOTATION).flatten().unwrap_or(Self::TIMEOUT)
    }

    /// Returns the interval of an annotation; `None` while suspended and for durations of zero or less.
    fn repetition(&self, key: &str, default: Duration) -> Option<Duration> {
        if self.is_suspended() {
            return None;
        }
        self.duration(key).unwrap_or(Some(default))
    }

    /// Returns the duration of an annotation: `None` if it is missing or not a duration, `Some(None)` if it is not
    /// positive.
    fn duration(&self, key: &str) -> Option<Option<Duration>> {
        let duration = go_duration::parse(self.annotation(key)?).ok()?;
        Some(Duration::try_from(duration).ok().filter(|duration| !duration.is_zero()))
    }
}

/// The parts of a status that every run writes.
pub trait RunStatus: Clone + Default + Serialize + DeserializeOwned + Send + Sync {
    fn conditions(&mut self) -> &mut Vec<Condition>;

    /// The last handled request.
    fn last_handled_reconcile_at(&mut self) -> &mut Option<String>;

    /// The last handled forced request; `None` for kinds that cannot be forced.
    fn last_handled_force_at(&mut self) -> Option<&mut Option<String>> {
        None
    }

    /// The applied objects; `None` for kinds that do not apply objects.
    fn inventory(&mut self) -> Option<&mut Option<Inventory>> {
        None
    }

    /// The last runs; `None` for kinds without a history.
    fn history(&mut self) -> Option<&mut Vec<HistoryEntry>> {
        None
    }
}

/// Implements [`RunStatus`] for a status whose fields have the names of the methods. Each kind lists the optional
/// fields that it has.
macro_rules! run_status {
    ($status:ty, $($optional:ident: $field:ty),*) => {
        impl RunStatus for $status {
            fn conditions(&mut self) -> &mut Vec<Condition> {
                &mut self.conditions
            }

            fn last_handled_reconcile_at(&mut self) -> &mut Option<String> {
                &mut self.last_handled_reconcile_at
            }

            $(fn $optional(&mut self) -> Option<&mut $field> {
                Some(&mut self.$optional)
            })*
        }
    };
}

run_status!(FluxInstanceStatus, last_handled_force_at: Option<String>, inventory: Option<Inventory>, history: Vec<HistoryEntry>);
run_status!(ResourceSetStatus, inventory: Option<Inventory>, history: Vec<HistoryEntry>);
run_status!(ResourceSetInputProviderStatus, last_handled_force_at: Option<String>);

impl Reconciled for FluxInstance {
    const INTERVAL: Duration = MINUTE.saturating_mul(60);
    const TIMEOUT: Duration = MINUTE.saturating_mul(5);

    fn id(&self) -> ObjectId {
        let name = self.metadata.name.as_deref().unwrap_or(super::well_known::INSTANCE_NAME);
        ObjectId::new(GROUP, &Self::kind(&()), Some(self.namespace_or_default()), name).at(VERSION)
    }
}

impl Reconciled for ResourceSet {
    const INTERVAL: Duration = MINUTE.saturating_mul(60);
    const TIMEOUT: Duration = MINUTE.saturating_mul(5);
}

impl Reconciled for ResourceSetInputProvider {
    const INTERVAL: Duration = MINUTE.saturating_mul(10);
    const TIMEOUT: Duration = MINUTE.saturating_mul(2);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_has_its_own_interval_and_timeout_and_annotations_change_them() {
        let provider = |annotations| -> ResourceSetInputProvider {
            serde_json::from_value(json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
                "metadata": {"name": "a", "namespace": "apps", "annotations": annotations}, "spec": {"type": "Static"}}))
            .unwrap()
        };
        let usual = provider(json!({}));
        assert_eq!((usual.interval(), usual.timeout()), (Some(MINUTE * 10), MINUTE * 2));
        assert_eq!(usual.id().to_string(), "ResourceSetInputProvider/apps/a");
        let set = provider(json!({RECONCILE_EVERY_ANNOTATION: "0", RECONCILE_TIMEOUT_ANNOTATION: "1m"}));
        assert_eq!((set.interval(), set.timeout()), (None, MINUTE));
        assert_eq!(provider(json!({RECONCILE_ANNOTATION: "Disabled"})).interval(), None);
    }

    #[test]
    fn a_spec_is_written_with_its_fields_in_the_order_of_the_reference() {
        let set: ResourceSet =
            serde_json::from_value(json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"name": "a"}, "spec": {"wait": true, "resources": [{"b": 1, "a": 2}], "inputs": [{"x": null}],
            "dependsOn": [{"name": "n", "kind": "K", "apiVersion": "v1"}]}}))
            .unwrap();
        assert_eq!(
            serde_json::to_string(&set.spec).unwrap(),
            r#"{"inputs":[{"x":null}],"resources":[{"b":1,"a":2}],"dependsOn":[{"apiVersion":"v1","kind":"K","name":"n"}],"wait":true}"#
        );
    }
}
