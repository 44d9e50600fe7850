//! `check`: checks in groups, with a next step for each check that does not pass.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use semver::Version;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, CRD, DEPLOYMENT, FluxKind, INSTANCE};
use crate::api::lease::Holder;
use crate::api::operator::OperatorState;
use crate::api::operator::{desired_replicas, runs_this_program};
use crate::api::well_known::{self, condition};
use crate::api::{CheckedInstance, FluxInstance};
use crate::build::{BuildError, BuildOptions, build};
use crate::distribution::{Distribution, minor_changes};
use crate::format::version_range::parse_version_lenient;
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::diagnose::next_step::{HasNextSteps, NextStep};
use crate::inspect::diagnose::why::{CauseGroup, Overview, overview};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::upgrade;
use crate::inspect::views::upgrade::{Argument, Target};
use crate::inspect::views::{components, operator, trace, version};
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::k8s::kstatus;
use crate::k8s::pod_trouble::trouble;

/// How one check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Pass,
    Warn,
    Fail,
    /// Cannot be determined from the objects that were read.
    Skip,
}

/// A check with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: String,
    pub verdict: Verdict,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub hint: Option<NextStep>,
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
    fn add(&mut self, name: &str, verdict: Verdict, message: impl Into<String>, hint: Option<NextStep>) {
        self.checks.push(Check { name: name.into(), verdict, message: message.into(), hint });
    }
    fn pass(&mut self, name: &str, message: impl Into<String>) {
        self.add(name, Verdict::Pass, message, None);
    }
    fn warn(&mut self, name: &str, message: impl Into<String>, hint: NextStep) {
        self.add(name, Verdict::Warn, message, Some(hint));
    }
    fn fail(&mut self, name: &str, message: impl Into<String>, hint: NextStep) {
        self.add(name, Verdict::Fail, message, Some(hint));
    }
    fn skip(&mut self, name: &str, message: impl Into<String>) {
        self.add(name, Verdict::Skip, message, None);
    }
}

/// All checks, and the number of each verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The health of the installation as a whole, as `why` evaluates it; absent before an installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthVerdict>,
    /// False when a check failed; warnings are allowed.
    pub passed: bool,
    pub passes: usize,
    pub warnings: usize,
    pub failures: usize,
    pub skipped: usize,
    pub groups: Vec<Group>,
}

impl CheckReport {
    fn of(health: Option<HealthVerdict>, groups: Vec<Group>) -> Self {
        let count = |verdict| groups.iter().flat_map(|g| &g.checks).filter(|c| c.verdict == verdict).count();
        CheckReport {
            health,
            passed: count(Verdict::Fail) == 0,
            passes: count(Verdict::Pass),
            warnings: count(Verdict::Warn),
            failures: count(Verdict::Fail),
            skipped: count(Verdict::Skip),
            groups,
        }
    }
}

impl HasNextSteps for CheckReport {
    fn steps(&mut self) -> Vec<&mut NextStep> {
        self.groups.iter_mut().flat_map(|group| &mut group.checks).filter_map(|check| check.hint.as_mut()).collect()
    }
}

impl CheckReport {
    /// Returns the failed checks, then the warnings.
    pub fn problems(&self) -> Vec<(&str, &Check)> {
        let all = || self.groups.iter().flat_map(|g| g.checks.iter().map(move |c| (g.name.as_str(), c)));
        let of = |verdict| all().filter(move |(_, c)| c.verdict == verdict);
        of(Verdict::Fail).chain(of(Verdict::Warn)).collect()
    }
}

/// The subject of the checks.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions<'a> {
    /// Check only the requirements of an installation.
    pub pre: bool,
    pub namespace: &'a str,
    /// Version of this program.
    pub client: &'a str,
    pub now: Timestamp,
    /// The version of Flux to upgrade to; `None` omits that group.
    pub to: Option<&'a Target>,
    /// The distribution from which the instance would be built next; `None` omits that group.
    pub distribution: Option<&'a Distribution>,
}

/// Runs the checks on a snapshot.
pub fn check(snapshot: &Snapshot, options: CheckOptions<'_>) -> CheckReport {
    // Requested before any list of Flux objects: `api_versions` reads the applied versions from managed fields.
    snapshot.want_managers();
    let mut groups = vec![kubernetes(snapshot), rights(snapshot, options)];
    let found = (!options.pre).then(|| overview(snapshot, None, options.now));
    if let Some(found) = &found {
        // The health group reports failures, so a part that is only in progress is a warning.
        let not_ready_verdict = if found.failing > 0 { Verdict::Fail } else { Verdict::Warn };
        groups.extend([
            definitions(snapshot, options.namespace, not_ready_verdict),
            operator_group(snapshot, options, not_ready_verdict),
            components_group(snapshot, options.namespace, not_ready_verdict),
            sync(snapshot, options.namespace, not_ready_verdict),
            api_versions(snapshot, options.namespace),
            health_group(found),
        ]);
    }
    groups.extend(options.to.map(|target| upgrade_group(snapshot, options.namespace, target)));
    groups.extend(options.distribution.map(|given| distribution_group(snapshot, options.namespace, given)));
    CheckReport::of(found.map(|found| found.verdict), groups)
}

/// Checks the health of Flux's objects and workloads, by cause.
fn health_group(found: &Overview) -> Group {
    let mut group = Group::new("health");
    for CauseGroup { cause, affected, .. } in &found.causes {
        let more = affected.len().saturating_sub(1);
        let more = if more > 0 { format!(" (affects {} objects)", affected.len()) } else { String::new() };
        let next = cause.next.first().cloned().unwrap_or(NextStep::ExplainAll);
        group.fail(&cause.object.to_string(), format!("{}{more}", cause.summary), next);
    }
    match found.verdict {
        HealthVerdict::Failing => {}
        HealthVerdict::Unknown => {
            group.skip("objects", format!("not allowed to read {}", found.unreadable.join(", ")));
        }
        HealthVerdict::NotInstalled => group.skip("objects", "Flux is not installed"),
        _ => group.pass("objects", format!("nothing is failing: {}", found.counts.in_words())),
    }
    group
}

/// Checks whether the instance can be built from a given distribution.
fn distribution_group(snapshot: &Snapshot, namespace: &str, distribution: &Distribution) -> Group {
    let mut group = Group::new("distribution");
    let title = distribution.to_string();
    let Some(instance) = instance(snapshot, namespace) else {
        group.skip(&title, "no FluxInstance to build from it");
        return group;
    };
    let instance = match FluxInstance::from_object(instance.clone()) {
        Ok(instance) => instance,
        Err(error) => {
            group.skip(&title, format!("cannot parse the instance: {error}"));
            return group;
        }
    };
    let checked = CheckedInstance::check(instance).map_err(BuildError::from);
    match checked.and_then(|instance| build(&instance, distribution, &BuildOptions::default())) {
        Ok(built) => group.pass(&title, format!("builds {} with {} objects", built.revision, built.objects.len())),
        Err(error) => {
            let advice = error.hint().unwrap_or_else(|| "change the instance, or use another distribution".to_owned());
            group.fail(&title, error.to_string(), NextStep::advice(advice));
        }
    }
    group
}

/// Limit for the objects that a line about the upgrade names.
const NAMED: usize = 3;

/// Checks the effects of another version of Flux on the cluster.
pub fn upgrade_group(snapshot: &Snapshot, namespace: &str, target: &Target) -> Group {
    let version = &target.version.version;
    let mut group = Group::new(&format!("Flux {}", target.version.name));
    let kubernetes = snapshot.server_version().and_then(|v| fields::some_text(v, "/gitVersion"));
    match (minor_changes::oldest_kubernetes(version), kubernetes.and_then(parse_kubernetes_version)) {
        (Some(oldest), Some(there)) if there.minor < oldest => {
            let message = format!("{there} is older than 1.{oldest}, the oldest version that this Flux supports");
            group.fail(
                "kubernetes",
                message,
                NextStep::advice(format!("upgrade Kubernetes to 1.{oldest} or later first")),
            );
        }
        (Some(oldest), Some(there)) => group.pass("kubernetes", format!("{there}; 1.{oldest} or later is required")),
        (Some(_), None) => group.skip("kubernetes", "the server's version is not known"),
        (None, _) => group.skip("kubernetes", "the Kubernetes versions that this Flux supports are not known"),
    }
    let dropped = upgrade::dropped_versions(snapshot, target);
    match dropped.is_empty() {
        true => group.pass("stored versions", "all versions at which objects are stored are served"),
        false => group.fail("stored versions", format!("no longer served: {}", dropped.join(", ")), migrate(namespace)),
    }
    let deployments = components::deployments(snapshot, Some(namespace));
    let running: Vec<Argument> = deployments.iter().filter_map(|d| upgrade::live_arguments(d)).flatten().collect();
    let patches =
        instance(snapshot, namespace).map(|i| fields::items(i, "/spec/kustomize/patches")).unwrap_or_default();
    let patched = upgrade::patched_arguments(patches);
    // Only arguments from patches are checked, not those that the build of the version sets.
    let wrong = target.arguments(&patched);
    if wrong.is_empty() {
        group.pass("flags and gates", "all flags and gates set by patches are known");
    }
    for (_, breaks, message) in wrong {
        let advice = NextStep::advice("change spec.kustomize.patches of the instance before the upgrade");
        group.add("flags and gates", if breaks { Verdict::Fail } else { Verdict::Warn }, message, Some(advice));
    }
    let mut objects: Vec<(&FluxKind, &Value)> = vec![];
    for kind in snapshot.defined_kinds() {
        objects.extend(snapshot.list(&kind.resource_type(), None).into_iter().map(|object| (kind, object)));
    }
    for ((breaks, message), of) in upgrade::changed_objects(snapshot, target) {
        let named = of.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = of.len().checked_sub(NAMED).filter(|more| *more > 0).map(|more| format!(" and {more} more"));
        let message = format!("{named}{}: {message}", more.unwrap_or_default());
        let advice = NextStep::advice("change them before the upgrade");
        group.add("objects", if breaks { Verdict::Fail } else { Verdict::Warn }, message, Some(advice));
    }
    let substituting = objects.iter().filter(|(_, object)| upgrade::substitutes(object)).count();
    let argument = upgrade::strictness_argument(&[running, patched].concat());
    if minor_changes::substitutes_strictly(version) && substituting > 0 {
        match argument {
            Some(true) => group.pass("substitution", "a variable without a value is already an error"),
            Some(false) => {
                group.pass("substitution", "a variable without a value becomes empty, as set by a feature gate")
            }
            None => group.warn(
                "substitution",
                format!(
                    "a variable without value or default becomes an error; {substituting} Kustomizations substitute"
                ),
                NextStep::CheckFiles { to: version.to_string() },
            ),
        }
    }
    group
}

/// Parses a version of Kubernetes without the suffix of a vendor, as in v1.33.1-gke.100 or v1.33.1+k3s1. The suffix
/// does not mark a pre-release.
fn parse_kubernetes_version(text: &str) -> Option<Version> {
    parse_version_lenient(text.split(['+', '-']).next().unwrap_or(text))
}

/// CEL validation rules of the FluxInstance API are beta and on by default since 1.25
/// (<https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/>).
const OLDEST_KUBERNETES: (u64, u64) = (1, 25);
/// Oldest Kubernetes the newest Flux is tested with (<https://fluxcd.io/flux/installation/>).
const SUPPORTED_KUBERNETES: (u64, u64) = (1, 33);

fn kubernetes(snapshot: &Snapshot) -> Group {
    let mut group = Group::new("kubernetes");
    match snapshot.server_version().and_then(|v| fields::some_text(v, "/gitVersion")) {
        Some(text) => match parse_kubernetes_version(text) {
            Some(version) if (version.major, version.minor) < OLDEST_KUBERNETES => group.fail(
                "version",
                format!("Kubernetes {text} lacks the validation rules FluxInstances need"),
                NextStep::advice("upgrade the cluster to Kubernetes 1.33 or newer"),
            ),
            Some(version) if (version.major, version.minor) < SUPPORTED_KUBERNETES => group.warn(
                "version",
                format!("Kubernetes {text} is older than the newest Flux supports (1.33)"),
                NextStep::advice("upgrade the cluster, or choose an older Flux with spec.distribution.version"),
            ),
            Some(_) => group.pass("version", format!("Kubernetes {text}")),
            None => group.warn(
                "version",
                format!("cannot parse the server's version {text}"),
                NextStep::advice("check the version by hand"),
            ),
        },
        None => group.skip("version", "the server's version is not known"),
    }
    group
}

/// The rights that the reconciler needs: verb, group, resource, whether in the instance's namespace.
pub const RIGHTS: &[(&str, &str, &str, bool)] = &[
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

/// Checks the rights of the user. A missing right fails before an installation, and is a warning afterwards.
fn rights(snapshot: &Snapshot, options: CheckOptions<'_>) -> Group {
    let mut group = Group::new("rights");
    let namespace = options.namespace;
    // For a cluster-admin, this request replaces a separate request for each right.
    match snapshot.may("*", "*", "*", None) {
        Some(true) => {
            group.pass("everything", "all required permissions granted (cluster-admin)");
            return group;
        }
        None if snapshot.is_dump() => {
            group.skip("rights", "a dump does not contain the user's permissions");
            return group;
        }
        None => {
            group.skip("rights", "not known");
            return group;
        }
        Some(false) => {}
    }
    for (verb, api_group, resource, namespaced) in RIGHTS {
        let name = if api_group.is_empty() { (*resource).to_owned() } else { format!("{resource}.{api_group}") };
        let title = format!("{verb} {name}");
        let place = if *namespaced { format!(" in namespace {namespace}") } else { String::new() };
        match snapshot.may(verb, api_group, resource, namespaced.then_some(namespace)) {
            Some(true) => group.pass(&title, format!("allowed{place}")),
            Some(false) => group.add(
                &title,
                if options.pre { Verdict::Fail } else { Verdict::Warn },
                format!("not allowed{place}"),
                None,
            ),
            None => group.skip(&title, "not known"),
        }
    }
    // The hint is the same for all of them, so only the last check has it.
    if let Some(last) = group.checks.iter_mut().rfind(|check| matches!(check.verdict, Verdict::Fail | Verdict::Warn)) {
        last.hint = Some(NextStep::advice("request these rights, or let the operator in the cluster reconcile"));
    }
    group
}

/// Returns the step that applies everything again, which rewrites objects stored at old versions.
fn migrate(namespace: &str) -> NextStep {
    NextStep::Reconcile { object: instance_ref(namespace), in_process: false, force: true }
}

fn instance_ref(namespace: &str) -> ObjectId {
    ObjectId::new(well_known::GROUP, "FluxInstance", Some(namespace), well_known::INSTANCE_NAME)
}

fn definitions(snapshot: &Snapshot, namespace: &str, not_ready_verdict: Verdict) -> Group {
    let mut group = Group::new("definitions");
    let all = snapshot.list(&CRD, None);
    if !snapshot.knows(&CRD) {
        group.skip("definitions", "CRDs cannot be read");
        return group;
    }
    let of_flux: Vec<_> = all
        .into_iter()
        .filter(|crd| kinds::FLUX_KINDS.iter().any(|k| k.group == fields::text(crd, "/spec/group")))
        .collect();
    if !of_flux.iter().any(|crd| fields::name(crd) == well_known::INSTANCE_CRD) {
        group.add(
            well_known::INSTANCE_CRD,
            not_ready_verdict,
            "the FluxInstance API is not installed",
            Some(NextStep::ApplyInProcess.after("install the operator, or run without it")),
        );
    }
    for crd in of_flux {
        let name = fields::name(crd);
        let health = kstatus::compute(crd);
        let versions = fields::items(crd, "/spec/versions");
        let storage = versions
            .iter()
            .find(|v| v.get("storage").and_then(Value::as_bool).unwrap_or(false))
            .map_or("", |v| fields::text(v, "/name"));
        let stored: Vec<_> = fields::items(crd, "/status/storedVersions").iter().filter_map(Value::as_str).collect();
        // The API server refuses a newer definition that drops a version at which objects may still be stored.
        let old: Vec<_> = stored.iter().filter(|v| **v != storage).copied().collect();
        if !health.is_current() {
            group.add(name, not_ready_verdict, health.message, Some(NextStep::Describe(ObjectId::of(crd))));
        } else if old.is_empty() {
            group.pass(name, format!("established, stored as {storage}"));
        } else {
            group.warn(
                name,
                format!("objects may still be stored as {} besides {storage}", old.join(", ")),
                migrate(namespace),
            );
        }
    }
    group
}

fn instance<'a>(snapshot: &'a Snapshot, namespace: &str) -> Option<&'a Value> {
    snapshot.get(&INSTANCE, Some(namespace), well_known::INSTANCE_NAME)
}

fn operator_group(snapshot: &Snapshot, options: CheckOptions<'_>, not_ready_verdict: Verdict) -> Group {
    let mut group = Group::new("operator");
    check_instance(&mut group, snapshot, options, not_ready_verdict);
    check_operator(&mut group, snapshot, options);
    check_version_skew(&mut group, snapshot, options);
    group
}

fn check_instance(group: &mut Group, snapshot: &Snapshot, options: CheckOptions<'_>, not_ready_verdict: Verdict) {
    let reference = instance_ref(options.namespace);
    match instance(snapshot, options.namespace) {
        Some(instance) => {
            let ready = fields::condition(instance, condition::READY);
            let name = format!("fluxinstance/{}/{}", options.namespace, fields::name(instance));
            let why = NextStep::Explain(reference.clone());
            match ready {
                _ if fields::is_being_deleted(instance) => group.warn(&name, fields::BEING_DELETED, why),
                _ if kinds::is_suspended(instance) => {
                    let in_process = operator::state(snapshot, options.namespace, options.now).is_gone();
                    let resume = NextStep::Resume { object: reference, in_process };
                    group.warn(&name, "reconciliation is suspended", resume);
                }
                Some(ready) if ready.is_true() && fields::is_observed(instance) => group.pass(&name, ready.message()),
                Some(ready) if ready.is_true() => group.add(&name, not_ready_verdict, fields::CHANGED_SINCE, Some(why)),
                Some(ready) => {
                    group.add(&name, not_ready_verdict, format!("{}: {}", ready.reason(), ready.message()), Some(why));
                }
                None => group.add(&name, not_ready_verdict, HealthVerdict::NotStarted.as_str(), Some(why)),
            }
        }
        None if !snapshot.knows(&INSTANCE) && !snapshot.is_dump() => {
            group.skip("fluxinstance", "FluxInstances cannot be read");
        }
        None => group.warn(
            "fluxinstance",
            format!("no FluxInstance in namespace {}", options.namespace),
            NextStep::CreateInstance.after("choose another namespace, or create an instance"),
        ),
    }
}

fn check_operator(group: &mut Group, snapshot: &Snapshot, options: CheckOptions<'_>) {
    let name = |deployment: &Value| format!("deployment/{}", fields::name(deployment));
    match operator::state(snapshot, options.namespace, options.now) {
        OperatorState::Stopped(deployment) if desired_replicas(deployment) == 0 => group.fail(
            &name(deployment),
            components::SCALED_TO_ZERO,
            NextStep::Scale { object: ObjectId::of(deployment), replicas: 1 },
        ),
        OperatorState::Stopped(deployment) => {
            let message = kstatus::compute(deployment).message;
            group.fail(&name(deployment), message, NextStep::Describe(ObjectId::of(deployment)));
        }
        // Its pods are healthy. Only the lease shows that it is not working.
        OperatorState::Silent(deployment, lease) => {
            group.pass(&name(deployment), kstatus::compute(deployment).message);
            let says = lease.map_or("it does not exist".to_owned(), |lease| {
                let since = lease.renewed.map_or("never".to_owned(), |at| format!("last at {at}"));
                format!("its holder no longer renews it ({since})")
            });
            group.fail(
                "lease",
                format!("{says}: the operator is not working"),
                NextStep::Restart(ObjectId::of(deployment)),
            );
        }
        OperatorState::Absent => {
            let reconcile =
                NextStep::Reconcile { object: instance_ref(options.namespace), in_process: true, force: false };
            let hint = reconcile.after("run this after every change");
            group.warn("deployment", "no operator runs in this cluster", hint);
        }
        OperatorState::Unknown => group.skip("deployment", "Deployments cannot be read"),
        OperatorState::Running | OperatorState::TerminalRun(_) => {
            if let Some(deployment) = operator::deployment(snapshot, options.namespace) {
                group.pass(&name(deployment), kstatus::compute(deployment).message);
            }
            let lease = operator::lease(snapshot, options.namespace).filter(|lease| lease.is_fresh(options.now));
            match lease.map(|lease| lease.holder) {
                Some(Holder::Operator(holder)) => group.pass("lease", format!("held by {holder}")),
                Some(Holder::Terminal(holder)) => {
                    group.pass("lease", format!("held by a run from a terminal ({holder})"));
                }
                Some(Holder::Vacant) | None => {}
            }
        }
    }
}

fn check_version_skew(group: &mut Group, snapshot: &Snapshot, options: CheckOptions<'_>) {
    let Some(running) = version::operator_version(snapshot) else { return };
    let minor = |text: &str| parse_version_lenient(text).map(|v| (v.major, v.minor));
    let both = format!("this program is {}, the operator is {running}", options.client);
    // Another operator program has its own version numbers.
    let is_another = operator::deployment(snapshot, options.namespace).is_some_and(|one| !runs_this_program(one));
    match (minor(&running), minor(options.client)) {
        _ if is_another => {
            let message = format!("this program is {}, the operator is another program, {running}", options.client);
            group.pass("version skew", message);
        }
        (Some(theirs), Some(ours)) if theirs != ours => {
            group.warn("version skew", both, NextStep::advice("use the same minor version on both sides"));
        }
        _ => group.pass("version skew", both),
    }
}

fn components_group(snapshot: &Snapshot, namespace: &str, not_ready_verdict: Verdict) -> Group {
    let mut group = Group::new("components");
    let deployments = components::deployments(snapshot, Some(namespace));
    if deployments.is_empty() {
        if snapshot.knows(&DEPLOYMENT) {
            group.add(
                "controllers",
                not_ready_verdict,
                format!("no Flux controllers in namespace {namespace}"),
                Some(NextStep::advice("install Flux with a FluxInstance, or choose another namespace")),
            );
        } else {
            group.skip("controllers", "Deployments cannot be read");
        }
    }
    for deployment in deployments {
        let health = kstatus::compute(deployment);
        let name = fields::name(deployment);
        if health.is_current() {
            group.pass(name, health.message);
        } else {
            let why = trouble(deployment, components::pods(snapshot, deployment)).unwrap_or(health.message);
            let explain = NextStep::Explain(instance_ref(namespace));
            group.add(name, not_ready_verdict, format!("{}: {why}", health.status), Some(explain));
        }
    }
    for name in instance(snapshot, namespace).into_iter().flat_map(|instance| components::missing(snapshot, instance)) {
        group.add(
            &name,
            not_ready_verdict,
            "its Deployment is missing",
            Some(NextStep::Explain(instance_ref(namespace))),
        );
    }
    group
}

fn sync(snapshot: &Snapshot, namespace: &str, not_ready_verdict: Verdict) -> Group {
    let mut group = Group::new("sync");
    let find = |kind: &str, name: &str| {
        kinds::find(kind).and_then(|k| snapshot.get(&k.resource_type(), Some(namespace), name))
    };
    let Some(instance) = find("FluxInstance", well_known::INSTANCE_NAME) else { return group };
    let Some(spec) = fields::at(instance, "/spec/sync").filter(|s| s.is_object()) else {
        group.skip("sync", "the instance has no sync");
        return group;
    };
    // The operator names a sync after the namespace if the spec has no name.
    let name = fields::some_text(spec, "/name").unwrap_or(namespace);
    let Some(kustomization) = find("Kustomization", name) else {
        let explain = NextStep::Explain(instance_ref(namespace));
        group.add(&format!("kustomization/{name}"), not_ready_verdict, "not found", Some(explain));
        return group;
    };
    let mut objects = vec![kustomization];
    let sources = trace::sources(snapshot, kustomization).unwrap_or_default();
    objects.extend(sources.iter().filter_map(|s| snapshot.get_ref(&s.object)));
    for object in objects {
        let title = format!("{}/{}", fields::kind(object).to_lowercase(), fields::name(object));
        let hint = NextStep::ListEvents(ObjectId::of(object));
        let ready = fields::condition(object, condition::READY);
        match ready {
            _ if kinds::is_suspended(object) => {
                let resume = NextStep::Resume { object: ObjectId::of(object), in_process: false };
                group.warn(&title, "suspended", resume);
            }
            Some(ready) if ready.is_true() => group.pass(&title, ready.message()),
            Some(ready) if ready.is_false() => group.add(&title, not_ready_verdict, ready.message(), Some(hint)),
            Some(_) => group.warn(&title, HealthVerdict::InProgress.as_str(), hint),
            None => group.warn(&title, HealthVerdict::NotStarted.as_str(), hint),
        }
    }
    group
}

/// Checks for objects and manifests at versions that their definition does not serve or marks as deprecated.
fn api_versions(snapshot: &Snapshot, namespace: &str) -> Group {
    let mut group = Group::new("api versions");
    let mut old: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut seen = 0usize;
    let mut not_ready: Vec<&str> = vec![];
    let kinds = snapshot.defined_kinds();
    for kind in &kinds {
        let current = current_versions(snapshot, kind);
        for object in snapshot.list(&kind.resource_type(), None) {
            seen += 1;
            if kinds::ready_word(object) == "False" {
                not_ready.push(fields::condition(object, condition::READY).map_or("", |ready| ready.reason()));
            }
            // The API server converts what it returns; only managed fields keep the version of a manifest.
            for manager in fields::items(object, "/metadata/managedFields") {
                let version = fields::text(manager, "/apiVersion").rsplit('/').next().unwrap_or_default();
                if !version.is_empty() && !current.contains(&version) {
                    let name = format!("{}/{}", fields::namespace(object).unwrap_or_default(), fields::name(object));
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
            migrate(namespace).after("change the manifests, then rewrite the stored objects"),
        );
    }
    let written = outdated_manifests(snapshot, &mut group);
    let is_refused = |kind: &&FluxKind| !snapshot.is_dump() && !snapshot.knows(&kind.resource_type());
    if old.is_empty() && written == 0 && seen == 0 && kinds.iter().any(is_refused) {
        group.skip("deprecated versions", "Flux objects cannot be read");
    } else if old.is_empty() && written == 0 {
        group.pass(
            "deprecated versions",
            format!(
                "no deprecated API versions ({})",
                if seen == 1 { "1 object".to_owned() } else { format!("{seen} objects") }
            ),
        );
    }
    if !not_ready.is_empty() {
        let waiting = not_ready.iter().filter(|reason| **reason == "DependencyNotReady").count();
        let waiting = if waiting > 0 { format!(", {waiting} of them wait for a dependency") } else { String::new() };
        group.warn(
            "not ready",
            format!("{} of {seen} Flux objects are not ready{waiting}", not_ready.len()),
            NextStep::ExplainAll,
        );
    }
    group
}

/// Returns the versions at which to write manifests of a kind, newest first: those that its definition serves and does
/// not mark as deprecated.
fn current_versions<'a>(snapshot: &'a Snapshot, kind: &FluxKind) -> Vec<&'a str> {
    let usable = |version: &&Value| {
        version.get("served").and_then(Value::as_bool).unwrap_or(false)
            && !version.get("deprecated").and_then(Value::as_bool).unwrap_or(false)
    };
    match snapshot.get(&CRD, None, &format!("{}.{}", kind.plural, kind.group)) {
        Some(crd) => {
            fields::items(crd, "/spec/versions").iter().filter(usable).map(|v| fields::text(v, "/name")).collect()
        }
        None => kind.versions.iter().take(1).copied().collect(),
    }
}

/// Adds a failure for each manifest that is written at an outdated version, and returns the number of failures.
fn outdated_manifests(snapshot: &Snapshot, group: &mut Group) -> usize {
    let mut count = 0;
    for manifest in snapshot.outdated() {
        let Some(kind) = kinds::of(&manifest.object.group, &manifest.object.kind) else { continue };
        let current = current_versions(snapshot, kind);
        let Some(newest) = current.first().filter(|_| !current.contains(&manifest.version.as_str())) else { continue };
        count += 1;
        let line = manifest.line.map(|line| format!(":{line}")).unwrap_or_default();
        group.fail(
            &manifest.object.to_string(),
            format!("{}{line} is written at the deprecated {}/{}", manifest.origin, kind.group, manifest.version),
            NextStep::advice(format!("write apiVersion: {}/{newest}", kind.group)),
        );
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OPTIONS: CheckOptions<'_> = CheckOptions {
        pre: false,
        namespace: "fs",
        client: "1.2.0",
        now: Timestamp::UNIX_EPOCH,
        to: None,
        distribution: None,
    };

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
    fn manifests_at_deprecated_versions_fail_with_their_place_and_the_version_to_use() {
        let text =
            "apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\n";
        let report = check(&crate::inspect::read::from_dump::read_text(text, "apps/web.yaml").unwrap(), OPTIONS);
        let found = find(&report, "HelmRelease/apps/web");
        assert_eq!(found.verdict, Verdict::Fail);
        assert_eq!(found.message, "apps/web.yaml:1 is written at the deprecated helm.toolkit.fluxcd.io/v2beta1");
        assert_eq!(found.hint, Some(NextStep::advice("write apiVersion: helm.toolkit.fluxcd.io/v2")));
        let fine = text.replace("v2beta1", "v2");
        let report = check(&crate::inspect::read::from_dump::read_text(&fine, "apps/web.yaml").unwrap(), OPTIONS);
        assert!(
            report.passed && report.groups.iter().all(|g| g.checks.iter().all(|c| !c.message.contains("web.yaml")))
        );
    }

    #[test]
    fn a_broken_installation_fails_with_hints() {
        let snapshot = Snapshot::of_dump([
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "fs"},
                "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "no"}]}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller", "namespace": "fs",
                "labels": {"app.kubernetes.io/part-of": "flux"}}, "status": {}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
                "labels": {"app.kubernetes.io/name": "flux-operator", "app.kubernetes.io/version": "v1.1.0"}}, "status": {},
                "spec": {"template": {"spec": {"containers": [{"name": "manager", "args": ["controller"]}]}}}}),
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
    fn versions_of_two_different_operators_are_not_compared() {
        let mut other = operator_deployment(1);
        other["metadata"]["labels"]["app.kubernetes.io/version"] = "v0.58.1".into();
        let report = check(&Snapshot::of_dump([other]), OPTIONS);
        let skew = find(&report, "version skew");
        assert_eq!(skew.verdict, Verdict::Pass);
        assert_eq!(skew.message, "this program is 1.2.0, the operator is another program, v0.58.1");
    }

    #[test]
    fn before_an_installation_only_the_cluster_is_checked() {
        let mut snapshot = Snapshot::of_dump([]);
        snapshot.insert_version(json!({"gitVersion": "v1.24.3"}));
        let report = check(&snapshot, CheckOptions { pre: true, ..OPTIONS });
        assert_eq!(report.groups.len(), 2);
        assert_eq!(find(&report, "version").verdict, Verdict::Fail);
        snapshot.insert_version(json!({"gitVersion": "v1.36.3"}));
        assert!(check(&snapshot, CheckOptions { pre: true, ..OPTIONS }).passed);
    }

    fn operator_deployment(replicas: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
                "labels": {"app.kubernetes.io/name": "flux-operator"}},
            "spec": {"replicas": replicas},
            "status": {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
                "conditions": [{"type": "Available", "status": "True"}]}})
    }

    #[test]
    fn an_operator_that_is_not_working_fails() {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator", "namespace": "fs"},
            "spec": {"holderIdentity": "pod-abc_1234", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}});
        let at = |text: &str| CheckOptions { now: text.parse().unwrap(), ..OPTIONS };
        let snapshot = Snapshot::of_dump([operator_deployment(1), lease.clone()]);
        let held = check(&snapshot, at("2026-01-01T00:00:10Z"));
        assert_eq!(find(&held, "lease").message, "held by pod-abc_1234");
        let expired = check(&snapshot, at("2026-01-01T01:25:00Z"));
        assert_eq!(find(&expired, "lease").verdict, Verdict::Fail);
        let mut available = operator_deployment(1);
        available["status"]["conditions"] =
            json!([{"type": "Available", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let mut other = lease.clone();
        other["metadata"]["name"] = "kube-scheduler".into();
        let none = check(&Snapshot::of_dump([available, other]), at("2026-01-01T00:02:00Z"));
        assert_eq!(find(&none, "lease").message, "it does not exist: the operator is not working");
        let scaled = check(&Snapshot::of_dump([operator_deployment(0), lease]), at("2026-01-01T01:25:00Z"));
        assert_eq!(find(&scaled, "deployment/flux-operator").verdict, Verdict::Fail);
        assert!(matches!(find(&scaled, "deployment/flux-operator").hint, Some(NextStep::Scale { replicas: 1, .. })));
    }

    #[test]
    fn a_missing_controller_fails() {
        let snapshot = Snapshot::of_dump([
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "fs"},
                "status": {"components": [{"name": "source-controller"}]}}),
            operator_deployment(1),
        ]);
        assert_eq!(find(&check(&snapshot, OPTIONS), "source-controller").verdict, Verdict::Fail);
    }

    #[test]
    fn the_count_of_failing_objects_equals_the_list_of_the_recommended_command() {
        let git = |name: &str, reason: &str| {
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name, "namespace": "fs"},
                "status": {"conditions": [{"type": "Ready", "status": "False", "reason": reason}]}})
        };
        let snapshot = Snapshot::of_dump([git("a", "Failed"), git("b", "DependencyNotReady")]);
        let report = check(&snapshot, OPTIONS);
        assert_eq!(
            find(&report, "not ready").message,
            "2 of 2 Flux objects are not ready, 1 of them wait for a dependency"
        );
    }
}
