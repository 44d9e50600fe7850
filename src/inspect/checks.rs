//! `check`: grouped checks, each with what to do when it does not pass.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::object;
use super::read::snapshot::Snapshot;
use super::report;
use super::version;
use super::{components, trace};
use crate::api::kinds::{self, CRD, DEPLOYMENT, FLUX_KINDS, LEASE};
use crate::api::well_known::{self, condition};
use crate::format::version_range::parse_version_lenient;
use crate::k8s::kstatus;

/// How one check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Pass,
    Warn,
    Fail,
    /// Cannot be told from what there is.
    Skip,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: String,
    pub verdict: Verdict,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Checks that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    pub name: String,
    pub checks: Vec<Check>,
}

impl Group {
    fn new(name: &str) -> Self {
        Group { name: name.into(), checks: vec![] }
    }
    fn add(&mut self, name: &str, verdict: Verdict, message: impl Into<String>, hint: Option<String>) {
        self.checks.push(Check { name: name.into(), verdict, message: message.into(), hint });
    }
    fn pass(&mut self, name: &str, message: impl Into<String>) {
        self.add(name, Verdict::Pass, message, None);
    }
    fn warn(&mut self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(name, Verdict::Warn, message, Some(hint.into()));
    }
    fn fail(&mut self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(name, Verdict::Fail, message, Some(hint.into()));
    }
    fn skip(&mut self, name: &str, message: impl Into<String>) {
        self.add(name, Verdict::Skip, message, None);
    }
}

/// All checks with their sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// False when a check failed; warnings are allowed.
    pub passed: bool,
    pub passes: usize,
    pub warnings: usize,
    pub failures: usize,
    pub skipped: usize,
    pub groups: Vec<Group>,
}

impl CheckReport {
    fn of(groups: Vec<Group>) -> Self {
        let count = |verdict| groups.iter().flat_map(|g| &g.checks).filter(|c| c.verdict == verdict).count();
        CheckReport {
            passed: count(Verdict::Fail) == 0,
            passes: count(Verdict::Pass),
            warnings: count(Verdict::Warn),
            failures: count(Verdict::Fail),
            skipped: count(Verdict::Skip),
            groups,
        }
    }

    /// The checks that did not pass, worst first.
    pub fn problems(&self) -> Vec<(&str, &Check)> {
        let all = || self.groups.iter().flat_map(|g| g.checks.iter().map(move |c| (g.name.as_str(), c)));
        let of = |verdict| all().filter(move |(_, c)| c.verdict == verdict);
        of(Verdict::Fail).chain(of(Verdict::Warn)).collect()
    }
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions<'a> {
    /// Only what an installation needs beforehand.
    pub pre: bool,
    pub namespace: &'a str,
    /// Version of this program.
    pub client: &'a str,
}

/// Runs the checks on a snapshot.
pub fn check(snapshot: &Snapshot, options: CheckOptions<'_>) -> CheckReport {
    let mut groups = vec![kubernetes(snapshot), rights(snapshot, options.namespace)];
    if !options.pre {
        groups.extend([
            definitions(snapshot),
            operator(snapshot, options),
            components_group(snapshot, options.namespace),
            sync(snapshot, options.namespace),
            api_versions(snapshot),
        ]);
    }
    CheckReport::of(groups)
}

/// CEL validation rules of the FluxInstance API are beta and on by default since 1.25
/// (<https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/>).
const OLDEST_KUBERNETES: (u64, u64) = (1, 25);
/// Oldest Kubernetes the newest Flux is tested with (<https://fluxcd.io/flux/installation/>).
const SUPPORTED_KUBERNETES: (u64, u64) = (1, 33);

fn kubernetes(snapshot: &Snapshot) -> Group {
    let mut group = Group::new("kubernetes");
    match snapshot.server_version().and_then(|v| object::some_text(v, "/gitVersion")) {
        Some(text) => match parse_version_lenient(text.split(['+', '-']).next().unwrap_or(text)) {
            Some(version) if (version.major, version.minor) < OLDEST_KUBERNETES => group.fail(
                "version",
                format!("Kubernetes {text} lacks the validation rules FluxInstances need"),
                "upgrade the cluster to Kubernetes 1.33 or newer",
            ),
            Some(version) if (version.major, version.minor) < SUPPORTED_KUBERNETES => group.warn(
                "version",
                format!("Kubernetes {text} is older than the newest Flux supports (1.33)"),
                "upgrade the cluster, or choose an older Flux with spec.distribution.version",
            ),
            Some(_) => group.pass("version", format!("Kubernetes {text}")),
            None => group.warn("version", format!("the server calls its version {text}"), "check the version by hand"),
        },
        None => group.skip("version", "the server's version is not known"),
    }
    group
}

/// What the reconciler does besides reading: verb, group, resource, whether in the instance's namespace.
const RIGHTS: &[(&str, &str, &str, bool)] = &[
    ("patch", "apiextensions.k8s.io", "customresourcedefinitions", false),
    ("patch", "", "namespaces", false),
    ("patch", "rbac.authorization.k8s.io", "clusterroles", false),
    ("escalate", "rbac.authorization.k8s.io", "clusterroles", false),
    ("bind", "rbac.authorization.k8s.io", "clusterroles", false),
    ("patch", "rbac.authorization.k8s.io", "clusterrolebindings", false),
    ("patch", "", "serviceaccounts", true),
    ("patch", "", "services", true),
    ("patch", "", "resourcequotas", true),
    ("patch", "", "persistentvolumeclaims", true),
    ("patch", "apps", "deployments", true),
    ("patch", "networking.k8s.io", "networkpolicies", true),
    ("patch", "fluxcd.controlplane.io", "fluxinstances", true),
    ("update", "coordination.k8s.io", "leases", true),
    ("get", "", "secrets", true),
    ("create", "", "events", true),
];

fn rights(snapshot: &Snapshot, namespace: &str) -> Group {
    let mut group = Group::new("rights");
    match snapshot.may("*", "*", "*", None) {
        Some(true) => {
            group.pass("everything", "you may do everything");
            return group;
        }
        None if snapshot.is_dump() => {
            group.skip("rights", "a dump does not say who may do what");
            return group;
        }
        _ => {}
    }
    for (verb, api_group, resource, namespaced) in RIGHTS {
        let name = if api_group.is_empty() { (*resource).to_owned() } else { format!("{resource}.{api_group}") };
        let place = if *namespaced { format!(" in namespace {namespace}") } else { String::new() };
        let title = format!("{verb} {name}");
        match snapshot.may(verb, api_group, resource, namespaced.then_some(namespace)) {
            Some(true) => group.pass(&title, format!("you may {verb} {name}{place}")),
            Some(false) => group.fail(
                &title,
                format!("you may not {verb} {name}{place}"),
                format!("ask for the right to {verb} {name}, or let the operator in the cluster do it"),
            ),
            None => group.skip(&title, "not known"),
        }
    }
    group
}

fn definitions(snapshot: &Snapshot) -> Group {
    let mut group = Group::new("definitions");
    let all = snapshot.list(&CRD, None);
    if !snapshot.knows(&CRD) {
        group.skip("definitions", "custom resource definitions cannot be read");
        return group;
    }
    let of_flux: Vec<_> = all
        .into_iter()
        .filter(|crd| kinds::FLUX_KINDS.iter().any(|k| k.group == object::text(crd, "/spec/group")))
        .collect();
    if !of_flux.iter().any(|crd| object::name(crd) == well_known::INSTANCE_CRD) {
        group.fail(
            well_known::INSTANCE_CRD,
            "the FluxInstance API is not installed",
            "install the operator, or go without it: `flux-operator apply instance -f FILE --in-process`",
        );
    }
    for crd in of_flux {
        let name = object::name(crd);
        let health = kstatus::compute(crd);
        let versions = object::items(crd, "/spec/versions");
        let storage = versions
            .iter()
            .find(|v| v.get("storage").and_then(Value::as_bool).unwrap_or(false))
            .map_or("", |v| object::text(v, "/name"));
        let stored: Vec<_> = object::items(crd, "/status/storedVersions").iter().filter_map(Value::as_str).collect();
        let old: Vec<_> = stored.iter().filter(|v| **v != storage).copied().collect();
        if !health.is_current() {
            group.fail(name, health.message, format!("kubectl describe crd {name}"));
        } else if old.is_empty() {
            group.pass(name, format!("established, stored as {storage}"));
        } else {
            group.warn(
                name,
                format!("objects may still be stored as {} besides {storage}", old.join(", ")),
                "run `flux-operator reconcile instance flux --force` to migrate them",
            );
        }
    }
    group
}

fn operator(snapshot: &Snapshot, options: CheckOptions<'_>) -> Group {
    let mut group = Group::new("operator");
    let instance = kinds::find("FluxInstance")
        .and_then(|k| snapshot.get(&k.resource_type(), Some(options.namespace), well_known::INSTANCE_NAME));
    match instance {
        Some(instance) => {
            let ready = object::condition(instance, condition::READY);
            let name = format!("fluxinstance/{}/{}", options.namespace, object::name(instance));
            let why = format!("run `flux-operator why instance {} -n {}`", object::name(instance), options.namespace);
            match ready {
                _ if object::is_suspended(instance) => group.warn(
                    &name,
                    "reconciling is switched off",
                    format!("run `flux-operator resume instance {} -n {}`", object::name(instance), options.namespace),
                ),
                Some(ready) if ready.is_true() && object::is_observed(instance) => group.pass(&name, ready.message()),
                Some(ready) => group.fail(&name, format!("{}: {}", ready.reason(), ready.message()), why),
                None => group.fail(&name, "nothing has reconciled it yet", why),
            }
        }
        None => group.warn(
            "fluxinstance",
            format!("no FluxInstance in namespace {}", options.namespace),
            "run `flux-operator create instance`, or choose the namespace with -n",
        ),
    }
    let selector = format!("{}={}", well_known::NAME_LABEL, well_known::OPERATOR_NAME);
    let deployments = snapshot.list_labelled(&DEPLOYMENT, None, &selector);
    match deployments.first() {
        Some(deployment) => {
            let health = kstatus::compute(deployment);
            let name = format!("deployment/{}", object::name(deployment));
            let hint = format!(
                "kubectl -n {} describe deployment {}",
                object::namespace(deployment).unwrap_or_default(),
                object::name(deployment)
            );
            if health.is_current() {
                group.pass(&name, health.message)
            } else {
                group.fail(&name, health.message, hint)
            }
        }
        None if snapshot.knows(&DEPLOYMENT) => group.warn(
            "deployment",
            "no operator runs in this cluster",
            "changes are only picked up by `flux-operator apply|reconcile instance --in-process`",
        ),
        None => group.skip("deployment", "Deployments cannot be read"),
    }
    let lease = snapshot.get(&LEASE, Some(options.namespace), well_known::OPERATOR_NAME);
    if let Some(holder) = lease.and_then(|l| object::some_text(l, "/spec/holderIdentity")) {
        group.pass("lease", format!("held by {holder}"));
    }
    if let Some(running) = version::operator_version(snapshot) {
        let minor = |text: &str| parse_version_lenient(text).map(|v| (v.major, v.minor));
        match (minor(&running), minor(options.client)) {
            (Some(theirs), Some(ours)) if theirs != ours => group.warn(
                "version skew",
                format!("this program is {}, the operator is {running}", options.client),
                "use the same minor version on both sides",
            ),
            _ => group.pass("version skew", format!("this program is {}, the operator is {running}", options.client)),
        }
    }
    group
}

fn components_group(snapshot: &Snapshot, namespace: &str) -> Group {
    let mut group = Group::new("components");
    let deployments = components::deployments(snapshot, Some(namespace));
    if deployments.is_empty() {
        if snapshot.knows(&DEPLOYMENT) {
            group.fail(
                "controllers",
                format!("no Flux controllers in namespace {namespace}"),
                "install Flux with a FluxInstance, or choose the namespace with -n",
            );
        } else {
            group.skip("controllers", "Deployments cannot be read");
        }
    }
    for deployment in deployments {
        let health = kstatus::compute(deployment);
        let name = object::name(deployment);
        if health.is_current() {
            group.pass(name, health.message);
        } else {
            group.fail(
                name,
                format!("{}: {}", health.status, health.message),
                format!("run `flux-operator why instance -n {namespace}`"),
            );
        }
    }
    group
}

fn sync(snapshot: &Snapshot, namespace: &str) -> Group {
    let mut group = Group::new("sync");
    let find = |kind: &str, name: &str| {
        kinds::find(kind).and_then(|k| snapshot.get(&k.resource_type(), Some(namespace), name))
    };
    let Some(instance) = find("FluxInstance", well_known::INSTANCE_NAME) else { return group };
    let Some(spec) = instance.pointer("/spec/sync").filter(|s| s.is_object()) else {
        group.skip("sync", "the instance has no sync");
        return group;
    };
    let name = object::some_text(spec, "/name").unwrap_or(namespace);
    let Some(kustomization) = find("Kustomization", name) else {
        group.fail(
            &format!("kustomization/{name}"),
            "not found",
            format!("run `flux-operator reconcile instance -n {namespace}`"),
        );
        return group;
    };
    let mut objects = vec![kustomization];
    let sources = trace::sources(snapshot, kustomization).unwrap_or_default();
    objects.extend(sources.iter().filter_map(|s| snapshot.get_ref(&s.object, "v1")));
    for object in objects {
        let title = format!("{}/{}", object::kind(object).to_lowercase(), object::name(object));
        let hint =
            format!("run `flux-operator events {}/{} -n {namespace}`", object::kind(object), object::name(object));
        let ready = object::condition(object, condition::READY);
        match ready {
            _ if object::is_suspended(object) => group.warn(&title, "suspended", "resume it to follow changes"),
            Some(ready) if ready.is_true() => group.pass(&title, ready.message()),
            Some(ready) if ready.is_false() => group.fail(&title, ready.message(), hint),
            _ => group.warn(&title, "not ready yet", hint),
        }
    }
    group
}

/// Objects that were applied at versions their definition no longer serves or calls deprecated.
fn api_versions(snapshot: &Snapshot) -> Group {
    let mut group = Group::new("api versions");
    let mut old: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut seen = 0usize;
    for kind in FLUX_KINDS {
        let definition = snapshot.get(&CRD, None, &format!("{}.{}", kind.plural, kind.group));
        let current: Vec<&str> = definition.map_or_else(
            || kind.versions.iter().take(1).copied().collect(),
            |crd| {
                let usable = |v: &&Value| {
                    v.get("served").and_then(Value::as_bool).unwrap_or(false)
                        && !v.get("deprecated").and_then(Value::as_bool).unwrap_or(false)
                };
                object::items(crd, "/spec/versions").iter().filter(usable).map(|v| object::text(v, "/name")).collect()
            },
        );
        for object in snapshot.list(&kind.resource_type(), None) {
            seen += 1;
            for manager in object::items(object, "/metadata/managedFields") {
                let version = object::text(manager, "/apiVersion").rsplit('/').next().unwrap_or_default();
                if !version.is_empty() && !current.contains(&version) {
                    let name = format!("{}/{}", object::namespace(object).unwrap_or_default(), object::name(object));
                    let names = old.entry((kind.kind.to_owned(), version.to_owned())).or_default();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
    }
    for ((kind, version), names) in &old {
        let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().checked_sub(4).map_or(String::new(), |more| format!(" and {} more", more + 1));
        group.warn(
            &format!("{kind} {version}"),
            format!("{} applied at the deprecated {version}: {shown}{more}", names.len()),
            "change the manifests, then run `flux-operator reconcile instance flux --force`",
        );
    }
    if old.is_empty() {
        group.pass("deprecated versions", format!("none among {seen} Flux objects"));
    }
    let failing: usize = report::stats(snapshot, None, false).iter().map(|row| row.failing).sum();
    if failing > 0 {
        group.warn(
            "failing objects",
            format!("{failing} of {seen} Flux objects report failure"),
            "run `flux-operator get all -A --ready-status False`",
        );
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OPTIONS: CheckOptions<'_> = CheckOptions { pre: false, namespace: "fs", client: "1.2.0" };

    fn find<'a>(report: &'a CheckReport, name: &str) -> &'a Check {
        let mut all = report.groups.iter().flat_map(|g| &g.checks);
        all.find(|c| c.name == name).unwrap_or_else(|| panic!("no check {name} in {report:#?}"))
    }

    fn crd(name: &str, group: &str, stored: Value) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {"group": group, "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v1beta2", "served": true, "deprecated": true}]},
            "status": {"storedVersions": stored, "conditions": [{"type": "Established", "status": "True"}]}})
    }

    #[test]
    fn old_stored_versions_and_deprecated_manifests_are_warnings() {
        let snapshot = Snapshot::of_dump([
            crd("fluxinstances.fluxcd.controlplane.io", "fluxcd.controlplane.io", json!(["v1"])),
            crd("gitrepositories.source.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", json!(["v1beta2", "v1"])),
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "a", "namespace": "fs",
                "managedFields": [{"manager": "kubectl", "apiVersion": "source.toolkit.fluxcd.io/v1beta2"}]}}),
        ]);
        let report = check(&snapshot, OPTIONS);
        assert_eq!(find(&report, "fluxinstances.fluxcd.controlplane.io").verdict, Verdict::Pass);
        assert_eq!(find(&report, "gitrepositories.source.toolkit.fluxcd.io").verdict, Verdict::Warn);
        assert!(find(&report, "GitRepository v1beta2").message.contains("fs/a"));
    }

    #[test]
    fn a_broken_installation_fails_with_hints() {
        let snapshot = Snapshot::of_dump([
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "fs"},
                "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "no"}]}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller", "namespace": "fs",
                "labels": {"app.kubernetes.io/part-of": "flux"}}, "status": {}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
                "labels": {"app.kubernetes.io/name": "flux-operator", "app.kubernetes.io/version": "v1.1.0"}}, "status": {}}),
        ]);
        let report = check(&snapshot, OPTIONS);
        assert!(!report.passed);
        assert!(report.problems().iter().all(|(_, c)| c.hint.is_some()));
        assert_eq!(find(&report, "source-controller").verdict, Verdict::Fail);
        assert_eq!(find(&report, "fluxinstance/fs/flux").message, "BuildFailed: no");
        assert_eq!(find(&report, "version skew").verdict, Verdict::Warn);
        assert_eq!(find(&report, "rights").verdict, Verdict::Skip);
    }

    #[test]
    fn before_an_installation_only_the_cluster_is_looked_at() {
        let mut snapshot = Snapshot::of_dump([]);
        snapshot.insert_version(json!({"gitVersion": "v1.24.3"}));
        let report = check(&snapshot, CheckOptions { pre: true, ..OPTIONS });
        assert_eq!(report.groups.len(), 2);
        assert_eq!(find(&report, "version").verdict, Verdict::Fail);
        snapshot.insert_version(json!({"gitVersion": "v1.36.3"}));
        assert!(check(&snapshot, CheckOptions { pre: true, ..OPTIONS }).passed);
    }
}
