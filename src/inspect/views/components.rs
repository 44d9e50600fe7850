//! `get components`: the controllers of an installation, with their pods.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{DEPLOYMENT, POD};
use crate::api::operator::desired_replicas;
use crate::api::own_container;
use crate::format::image::{ImageParts, split_image};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::inventory;
use crate::k8s::fields;
use crate::k8s::kstatus;
use crate::k8s::kstatus::{Health, Status};
use crate::k8s::pod_trouble::trouble;

/// Label selector of all objects installed by Flux.
pub(crate) const PART_OF_FLUX: &str = "app.kubernetes.io/part-of=flux";

/// A controller's Deployment.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRow {
    pub namespace: String,
    pub name: String,
    /// Image without tag and digest.
    pub repository: String,
    pub tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub ready_pods: i64,
    pub desired_pods: i64,
    /// kstatus of the Deployment; `NotFound` when only the instance's status lists the component.
    pub status: Status,
    pub status_message: String,
    /// Restarts of all containers in its pods.
    pub restarts: i64,
    /// `cpu/memory` of the controller's own container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
    /// Arguments that the distribution does not set.
    pub extra_args: Vec<String>,
    /// Arguments of the distribution that are missing here.
    pub missing_args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created: Option<Timestamp>,
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
}

/// Returns the Deployments of Flux in a namespace (or all), by name.
pub fn deployments<'a>(snapshot: &'a Snapshot, namespace: Option<&str>) -> Vec<&'a Value> {
    snapshot.list_labelled(&DEPLOYMENT, namespace, PART_OF_FLUX)
}

/// Returns the names of an instance's controllers without a Deployment, sorted.
pub fn missing(snapshot: &Snapshot, instance: &Value) -> Vec<String> {
    let (unfound, namespace) = (unfound(snapshot, instance), fields::namespace(instance));
    unfound.into_iter().filter(|name| by_name(snapshot, namespace, name).is_none()).collect()
}

/// Returns the Deployments of an instance's controllers that lack Flux's label, by name.
pub(crate) fn unlabelled<'a>(snapshot: &'a Snapshot, instance: &Value) -> Vec<&'a Value> {
    let namespace = fields::namespace(instance);
    unfound(snapshot, instance).iter().filter_map(|name| by_name(snapshot, namespace, name)).collect()
}

/// Finds a Deployment with any labels. It lists the namespace, because the user may have the right to list but not to
/// get.
fn by_name<'a>(snapshot: &'a Snapshot, namespace: Option<&str>, name: &str) -> Option<&'a Value> {
    snapshot.list(&DEPLOYMENT, namespace).into_iter().find(|deployment| fields::name(deployment) == name)
}

/// Returns the names of an instance's controllers (from its status and inventory) that are not among Flux's
/// Deployments, sorted.
fn unfound(snapshot: &Snapshot, instance: &Value) -> Vec<String> {
    let namespace = fields::namespace(instance);
    let components = fields::items(instance, "/status/components").iter().map(|c| fields::text(c, "/name").to_owned());
    // The inventory names a controller even before it is created, the status only after a run.
    let owned = inventory::entries(instance)
        .into_iter()
        .filter(|r| r.group == DEPLOYMENT.group && r.kind == DEPLOYMENT.kind && r.namespace() == namespace)
        .map(|reference| reference.name);
    let expected: BTreeSet<String> = components.chain(owned).filter(|name| !name.is_empty()).collect();
    let found = deployments(snapshot, namespace);
    // Objects that are still loading are not missing.
    if !snapshot.knows(&DEPLOYMENT) || snapshot.is_loading() {
        return vec![];
    }
    expected.into_iter().filter(|name| found.iter().all(|d| fields::name(d) != name)).collect()
}

/// Returns the pods that a Deployment selects.
pub(crate) fn pods<'a>(snapshot: &'a Snapshot, deployment: &Value) -> Vec<&'a Value> {
    let Some(wanted) = fields::at(deployment, "/spec/selector/matchLabels").and_then(Value::as_object) else {
        return vec![];
    };
    let selected = |pod: &Value| wanted.iter().all(|(key, value)| fields::label(pod, key) == value.as_str());
    let pods = snapshot.list(&POD, fields::namespace(deployment));
    pods.into_iter().filter(|pod| selected(pod)).collect()
}

/// Returns the rows of one namespace or all: every Deployment of Flux, and the components in an instance's status that
/// have a Deployment without Flux's label or none at all.
///
/// `distribution_args` returns the arguments with which the distribution starts a controller, if known.
pub fn rows(
    snapshot: &Snapshot,
    namespace: Option<&str>,
    instances: &[&Value],
    distribution_args: impl Fn(&Value) -> Option<Vec<String>>,
) -> Vec<ComponentRow> {
    let labelled = deployments(snapshot, namespace);
    // Wait for the list: otherwise every controller would be read by name.
    let is_answered = snapshot.knows(&DEPLOYMENT) && !snapshot.is_loading();
    let shown = |deployment| row(snapshot, deployment, distribution_args(deployment).as_deref());
    let mut rows: Vec<_> = labelled.into_iter().map(shown).collect();
    for instance in instances {
        let namespace = fields::namespace(instance).unwrap_or_default();
        for component in fields::items(instance, "/status/components") {
            let name = fields::text(component, "/name");
            if name.is_empty() || rows.iter().any(|row| row.namespace == namespace && row.name == name) {
                continue;
            }
            if is_answered && let Some(unlabelled) = by_name(snapshot, Some(namespace), name) {
                rows.push(shown(unlabelled));
                continue;
            }
            rows.push(ComponentRow {
                namespace: namespace.into(),
                name: name.into(),
                repository: fields::text(component, "/repository").into(),
                tag: fields::text(component, "/tag").into(),
                digest: fields::some_text(component, "/digest").map(Into::into),
                ready_pods: 0,
                desired_pods: 0,
                status: Status::NotFound,
                status_message: "in the instance's status, but there is no Deployment".into(),
                restarts: 0,
                requests: None,
                limits: None,
                extra_args: vec![],
                missing_args: vec![],
                created: None,
                labels: BTreeMap::new(),
            });
        }
    }
    rows.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    rows
}

fn row(snapshot: &Snapshot, deployment: &Value, distribution_args: Option<&[String]>) -> ComponentRow {
    let container = own_container(deployment);
    let ImageParts { repository, tag, digest } = split_image(fields::text(container, "/image"));
    // kstatus counts a Deployment scaled to zero as healthy, but a controller without pods does not reconcile.
    let is_stopped = desired_replicas(deployment) == 0;
    let health = if is_stopped { stopped() } else { kstatus::compute(deployment) };
    let restarts = pods(snapshot, deployment)
        .into_iter()
        .flat_map(|pod| fields::items(pod, "/status/containerStatuses"))
        .filter_map(|status| fields::number(status, "/restartCount"))
        .sum();
    let args: Vec<String> =
        fields::items(container, "/args").iter().filter_map(|a| a.as_str().map(str::to_owned)).collect();
    let (extra_args, missing_args) = distribution_args.map_or((vec![], vec![]), |usual| {
        let minus = |a: &[String], b: &[String]| a.iter().filter(|x| !b.contains(x)).cloned().collect::<Vec<_>>();
        (minus(&args, usual), minus(usual, &args))
    });
    ComponentRow {
        namespace: fields::namespace(deployment).unwrap_or_default().into(),
        name: fields::name(deployment).into(),
        repository: repository.into(),
        tag: tag.unwrap_or_default().into(),
        digest: digest.map(Into::into),
        ready_pods: fields::number(deployment, "/status/readyReplicas").unwrap_or(0),
        desired_pods: fields::number(deployment, "/spec/replicas").unwrap_or(1),
        status: health.status,
        // Only its pods explain a stuck rollout.
        status_message: match health.is_current() || is_stopped {
            true => health.message,
            false => trouble(deployment, pods(snapshot, deployment)).unwrap_or(health.message),
        },
        restarts,
        requests: amounts(container, "/resources/requests"),
        limits: amounts(container, "/resources/limits"),
        extra_args,
        missing_args,
        created: fields::created(deployment),
        labels: labels(deployment),
    }
}

pub(crate) const SCALED_TO_ZERO: &str = "scaled to 0: changes are not reconciled";

/// The health of a controller that is scaled to zero.
fn stopped() -> Health {
    Health { status: Status::Failed, message: SCALED_TO_ZERO.into() }
}

pub fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = fields::at(object, "/metadata/labels").and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
}

fn amounts(container: &Value, pointer: &str) -> Option<String> {
    let amounts = fields::at(container, pointer)?;
    let amount = |key: &str| amounts.get(key).and_then(Value::as_str).unwrap_or("-");
    Some(format!("{}/{}", amount("cpu"), amount("memory")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::read::snapshot::{Answer, Need};
    use serde_json::json;

    fn dump() -> Snapshot {
        Snapshot::of_dump([
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "source-controller", "namespace": "flux-system", "labels": {"app.kubernetes.io/part-of": "flux"}},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "source-controller"}},
                    "template": {"spec": {"containers": [{"image": "ghcr.io/fluxcd/source-controller:v1.9.4@sha256:8a8ed0a5aa",
                        "args": ["--log-level=info", "--concurrent=20"],
                        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}]}}},
                "status": {"readyReplicas": 1}}),
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "source-controller-1", "namespace": "flux-system", "labels": {"app": "source-controller"}},
                "status": {"containerStatuses": [{"restartCount": 4}]}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other", "namespace": "flux-system"}}),
        ])
    }

    #[test]
    fn a_component_shows_its_image_pods_restarts_and_foreign_arguments() {
        let usual = vec!["--log-level=info".to_owned(), "--enable-leader-election".to_owned()];
        let rows = rows(&dump(), Some("flux-system"), &[], |_| Some(usual.clone()));
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.repository.as_str(), row.tag.as_str()), ("ghcr.io/fluxcd/source-controller", "v1.9.4"));
        assert_eq!((row.ready_pods, row.desired_pods, row.restarts), (1, 1, 4));
        assert_eq!(row.extra_args, ["--concurrent=20"]);
        assert_eq!(row.missing_args, ["--enable-leader-election"]);
        assert_eq!(row.requests.as_deref(), Some("50m/64Mi"));
    }

    #[test]
    fn a_component_shows_its_own_container_although_a_sidecar_comes_first() {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "source-controller", "namespace": "flux-system", "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"template": {"spec": {"containers": [
                {"name": "proxy", "image": "registry.example.com/proxy:1.2.3", "args": ["--proxy"], "resources": {"limits": {"cpu": "9"}}},
                {"name": "manager", "image": "ghcr.io/fluxcd/source-controller:v1.9.4", "args": ["--log-level=info"]}]}}}});
        let rows = rows(&Snapshot::of_dump([deployment]), None, &[], |_| Some(vec!["--log-level=info".to_owned()]));
        assert_eq!((rows[0].repository.as_str(), rows[0].tag.as_str()), ("ghcr.io/fluxcd/source-controller", "v1.9.4"));
        assert!(rows[0].extra_args.is_empty() && rows[0].missing_args.is_empty() && rows[0].limits.is_none());
    }

    #[test]
    fn all_deployments_are_listed_only_to_find_a_controller_that_lacks_its_label() {
        let instance = json!({"metadata": {"namespace": "flux-system"},
            "status": {"components": [{"name": "other"}, {"name": "source-controller"}, {"name": "gone"}]}});
        let dump = dump();
        assert_eq!(missing(&dump, &instance), ["gone"]);
        let names: Vec<_> = unlabelled(&dump, &instance).into_iter().map(fields::name).collect();
        assert_eq!(names, ["other"]);
        let rows = rows(&dump, Some("flux-system"), &[&instance], |_| None);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.status == Status::NotFound)).collect();
        assert_eq!(found, [("gone", true), ("other", false), ("source-controller", false)]);
        // If all controllers are found by label, no other request is made.
        let mut cluster = Snapshot::of_cluster();
        let well = json!({"metadata": {"namespace": "flux-system"}, "status": {"components": [{"name": "source-controller"}]}});
        assert!(missing(&cluster, &well).is_empty());
        let needs = cluster.take_needs();
        assert!(matches!(needs.as_slice(), [Need::List { selector: Some(_), .. }]), "{needs:?}");
        let listed = deployments(&dump, None).into_iter().cloned().collect();
        cluster.answer(needs[0].clone(), Answer::Objects(listed));
        assert!(missing(&cluster, &well).is_empty() && unlabelled(&cluster, &well).is_empty());
        assert!(cluster.take_needs().is_empty());
        super::rows(&cluster, Some("flux-system"), &[&well], |_| None);
        let lists_all = |needs: &[Need]| {
            needs.iter().any(|need| matches!(need, Need::List { resource, .. } if *resource == DEPLOYMENT))
        };
        assert!(!lists_all(&cluster.take_needs()));
        missing(&cluster, &instance);
        assert!(lists_all(&cluster.take_needs()));
    }

    #[test]
    fn a_component_without_a_deployment_is_not_found() {
        let instance = json!({"metadata": {"namespace": "flux-system"},
            "status": {"components": [{"name": "helm-controller", "repository": "r", "tag": "t"}]}});
        let rows = rows(&dump(), Some("flux-system"), &[&instance], |_| None);
        assert_eq!(rows[0].status, Status::NotFound);
        assert_eq!(rows.len(), 2);
    }
}
