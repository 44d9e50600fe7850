//! `rbac`: under exactly the rights that it prints for a command line that command line works, and under less it does not.
//!
//! Of a role with many rights some are tried, from the whole range; `EVERY_RIGHT=1` tries all of them, for ten minutes.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use flux_operator::api::Component;
use flux_operator::cluster::WriteOptions;
use flux_operator::operator::{OperatorParams, manifests};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use regex::Regex;
use serde_json::{Value, json};

use super::stage::{Stage, stage};
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::installation::installation;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Kubeconfig, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_list_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        every_view_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        every_write_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        a_reconciliation_in_this_process_works_under_exactly_what_rbac_prints_for_it,
        a_first_installation_works_under_exactly_what_rbac_prints_for_it,
        an_uninstallation_works_under_exactly_what_rbac_prints_for_it,
        a_deletion_works_under_exactly_what_rbac_prints_for_it,
        a_rollback_works_under_exactly_what_rbac_prints_for_it,
        the_operator_comes_and_goes_under_exactly_what_rbac_prints_for_it,
        a_takeover_works_under_exactly_what_rbac_prints_for_it,
        every_command_has_a_row_or_a_reason_why_not,
        asking_for_rights_writes_nothing,
        what_is_printed_for_somebody_is_applied_as_it_is,
        what_fails_anyway_has_no_rights_to_print,
    ]
}

/// How long rights take until the API server knows them.
const KNOWN: Duration = Duration::from_secs(20);
/// Of a role with more rights than this, about this many are tried without one of them.
fn tried() -> usize {
    if std::env::var_os("EVERY_RIGHT").is_some() { usize::MAX } else { 6 }
}

/// Every list that asks an API server.
const LISTS: &[&str] = &[
    "get instance",
    "get instance flux -o json",
    "get components",
    "get history",
    "get inventory",
    "get ks",
    "get ks app",
    "get all -A",
    "get suspended -A",
    "get instance -w",
    "events",
    "stats",
    "version",
    "export resource ks/app",
    "export instance flux",
    "wait instance",
    "wait ks/app",
    "wait ks app --for=create",
    "wait revision main@sha1:0123456789012345678901234567890123456789",
    "trace ks",
    "what-changed --since 1h",
];

/// Every other read; `$F` is the manifest of the instance, `$D` a file that is not there.
const VIEWS: &[&str] = &[
    "tree instance",
    "tree kustomization app",
    "tree resource gitrepo app",
    "trace ks/app",
    "why instance",
    "why ks/app",
    "why",
    "status",
    "check",
    "check --pre",
    "logs --tail 3",
    "impact ks/app",
    "debug ks app --vars",
    "export report",
    "report -o json",
    "plan instance -f $F",
    "plan instance",
    "bundle -o $D",
];

/// Every write, in an order in which each has something to do. None of them installs anything.
pub const WRITES: &[&str] = &[
    "reconcile ks app --wait=false",
    "reconcile ks app --with-source",
    "reconcile instance --wait=false",
    "reconcile all --kind gitrepo --wait",
    "suspend ks app --reason later",
    "resume ks app",
    "suspend instance",
    "resume instance --wait=false",
    "create secret basic-auth git --username u --password-env PASSWORD",
    "apply instance -f $F --wait=false",
    "resume overdue --wait=false",
    MIGRATE_OWNER,
    "delete ks/extra --yes",
    RELEASE,
];

/// Leaves of the command tree, or groups of them, that no row is about, and why.
const WITHOUT_ROW: &[(&str, &str)] = &[
    ("artifact", "it works with registries"),
    ("distribution", "it works with registries and files"),
    ("build", "it works with files"),
    ("create instance", "it prints a manifest"),
    ("completion", "it asks nothing of an API server"),
    ("explain", "it asks nothing of an API server"),
    ("controller", "controller::rights runs it under the rights of the operator"),
    ("rbac", "it rehearses the rows themselves"),
    ("create secret registry", "one Secret is written, as by basic-auth"),
    ("create secret ssh", "one Secret is written, as by basic-auth"),
    ("create secret githubapp", "one Secret is written, as by basic-auth"),
    ("create secret bucket", "one Secret is written, as by basic-auth"),
    ("create secret proxy", "one Secret is written, as by basic-auth"),
    ("create secret tls", "one Secret is written, as by basic-auth"),
    ("create secret sops", "one Secret is written, as by basic-auth"),
    ("tree helmrelease", "an inventory is followed, as of a Kustomization"),
    ("tree resourceset", "an inventory is followed, as of a Kustomization"),
];

const MIGRATE_OWNER: &str = "migrate owner ks/app --to ks/extra --object cm/moves --yes";
pub const RELEASE: &str = "uninstall resourcesets --yes";
pub const DELETE_FILE: &str = "delete -f $F --yes --wait=false";
pub const INSTALL_WITH: &str = "install --image registry.example.com/flux-operator:v1 -f $F --wait=false";

const RECONCILE: &str = "reconcile instance --in-process";
const APPLY: &str = "apply instance -f $F --in-process";
const UNINSTALL: &str = "uninstall instance --in-process --yes";
pub const DELETE: &str = "delete instance --yes --wait=false";
pub const DELETE_SUSPENDED: &str = "delete instance --with-suspend --yes --wait=false";
pub const ASK_FOR_UNINSTALL: &str = "uninstall instance --yes --wait=false";
pub const ASK_FOR_ROLLBACK: &str = "rollback instance --yes --wait=false";
const ROLLBACK: &str = "rollback instance --in-process --yes";
pub const INSTALL: &str = "install --image registry.example.com/flux-operator:v1 --wait=false";
pub const UNINSTALL_OPERATOR: &str = "uninstall operator --yes";
pub const TAKE_OVER: &str = "migrate bootstrap --apply --yes";
/// Those of them that a test of its own runs, but for the takeover.
pub const ALONE: &[&str] =
    &[RECONCILE, APPLY, UNINSTALL, DELETE, DELETE_FILE, ROLLBACK, INSTALL, INSTALL_WITH, UNINSTALL_OPERATOR];
/// Those that leave the work to an operator, which is there by its lease.
const OF_OPERATOR: &[&str] = &[DELETE, DELETE_FILE, DELETE_SUSPENDED, ASK_FOR_UNINSTALL, ASK_FOR_ROLLBACK];
/// A rollback takes the spec over from any manager that applied it.
const TWO_REVISIONS: &[&str] =
    &["apply instance -f $F --in-process --force-conflicts", "apply instance -f $G --in-process --force-conflicts"];
/// Commands that an admin runs before each of them, so that every run has the same work.
const BEFORE: &[(&str, &[&str])] = &[
    (APPLY, &[UNINSTALL]),
    (UNINSTALL, &[APPLY]),
    (ROLLBACK, TWO_REVISIONS),
    (ASK_FOR_ROLLBACK, TWO_REVISIONS),
    (DELETE, &[APPLY]),
    (DELETE_FILE, &[APPLY]),
    (DELETE_SUSPENDED, &[APPLY]),
    (ASK_FOR_UNINSTALL, &[APPLY]),
    (INSTALL, &[UNINSTALL_OPERATOR]),
    (UNINSTALL_OPERATOR, &[INSTALL]),
    (INSTALL_WITH, &["uninstall instance --in-process --force-in-process --yes", UNINSTALL_OPERATOR]),
    (TAKE_OVER, &[UNINSTALL]),
];

/// Their objects may be ready at the first read, and then are not watched.
const WITHOUT_WATCH: &[&str] = &[ROLLBACK, INSTALL, INSTALL_WITH];

impl Stage {
    pub fn words(&self, line: &str) -> Vec<String> {
        // A bundle is a file that must not be there.
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let bundle = self.world.plane.folder().join(format!("bundle-{number}.tar.gz"));
        let other = self.world.plane.folder().join("other.json");
        let place = |word: &str| {
            let word = word.replace("$F", &self.manifest).replace("$G", other.to_str().unwrap());
            word.replace("$D", bundle.to_str().unwrap())
        };
        line.split(' ').map(place).collect()
    }

    pub fn program(&self, kubeconfig: &Kubeconfig) -> Command {
        let mut program = command(kubeconfig.path(), self.world.plane.folder());
        program.env("PASSWORD", "secret").stdin(Stdio::null()).args(["-n", NAMESPACE, "--timeout", "60s"]);
        program
    }

    async fn run(&self, kubeconfig: &Kubeconfig, line: &str) -> Run {
        let mut program = self.program(kubeconfig);
        program.args(self.words(line));
        if line.ends_with(" -w") {
            // It never ends by itself.
            let mut patient = Command::new("timeout");
            patient.arg("3").arg(program.get_program()).args(program.get_args()).env_clear().stdin(Stdio::null());
            patient.envs(program.get_envs().filter_map(|(key, value)| Some((key, value?))));
            program = patient;
        }
        self.before(line).await;
        finish(program).await
    }

    /// Makes what there is to do for a line.
    pub async fn before(&self, line: &str) {
        if line.starts_with("delete ks/extra") {
            self.extra().await;
        }
        match line {
            MIGRATE_OWNER => self.owned().await,
            RELEASE => self.resource_set().await,
            "resume overdue --wait=false" => {
                self.as_admin("suspend ks app --until 1s").await;
                // Without a right there is still something that sleeps, and nothing that is overdue.
                self.as_admin("suspend gitrepo app").await;
                tokio::time::sleep(Duration::from_millis(1100)).await;
            }
            _ => {}
        }
        let is_for_operator = OF_OPERATOR.contains(&line);
        if is_for_operator {
            self.operator_at_work(false).await;
        }
        let before = BEFORE.iter().find(|(after, _)| *after == line).map_or(&[][..], |(_, before)| before);
        for line in before {
            self.as_admin(line).await;
        }
        if is_for_operator {
            self.operator_at_work(true).await;
        }
        if line == TAKE_OVER {
            for object in installation(NAMESPACE, "v2.9.", &Component::DEFAULT) {
                let apply = || async { self.world.cluster.apply(&object, WriteOptions::forced("flux")).await.ok() };
                eventually("an object of flux", KNOWN, apply).await.unwrap();
            }
        }
    }

    pub async fn as_admin(&self, line: &str) {
        let mut program = self.program(&self.world.kubeconfig);
        program.args(self.words(line));
        let run = finish(program).await;
        // A missing object need not be deleted.
        assert!(run.code == 0 || line.starts_with("uninstall"), "{line}: {run:?}");
    }

    /// An operator is there by its lease; one that goes lets go of the instance that it has to delete.
    async fn operator_at_work(&self, is_there: bool) {
        let client = self.world.plane.client();
        let leases = Api::<Lease>::namespaced(client.clone(), NAMESPACE);
        if is_there {
            let now = jiff::Timestamp::now() + Duration::from_secs(600);
            let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator"},
                "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 600,
                    "renewTime": objects::micro_time(now)}});
            objects::apply(client, NAMESPACE, &[lease]).await.unwrap();
            return;
        }
        let _ = leases.delete("flux-operator", &Default::default()).await;
        let instance = || self.world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux");
        let id = instance_id();
        if instance().await.is_some() {
            let resumed = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/reconcile": null}}});
            self.world.patch_as("test", &id, resumed).await;
        }
        if instance().await.is_some_and(|one| one["metadata"].get("deletionTimestamp").is_some()) {
            self.world.patch_as("test", &id, json!({"metadata": {"finalizers": null}})).await;
            let gone = || async { instance().await.is_none().then_some(()) };
            eventually("the instance to be gone", KNOWN, gone).await.unwrap();
        }
    }

    /// A ConfigMap that the Kustomization `app` has applied, and `extra` to take it over.
    async fn owned(&self) {
        self.extra().await;
        let (client, group) = (self.world.plane.client(), "kustomize.toolkit.fluxcd.io");
        let moves = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "moves", "labels": {
            format!("{group}/name"): "app", format!("{group}/namespace"): NAMESPACE}}});
        objects::apply(client, NAMESPACE, &[moves]).await.unwrap();
        let entries = json!([{"id": format!("{NAMESPACE}_moves__ConfigMap"), "v": "v1"}]);
        let status = Patch::Merge(json!({"status": {"inventory": {"entries": entries}}}));
        let api = objects::api(client, &format!("{group}/v1"), "Kustomization", NAMESPACE).await.unwrap();
        api.patch_status("app", &PatchParams::default(), &status).await.unwrap();
    }

    /// A ResourceSet without an operator that serves it.
    async fn resource_set(&self) {
        let client = self.world.plane.client();
        let definitions = manifests(&OperatorParams::new(NAMESPACE, "registry.example.com/flux-operator:v1", "v1"));
        let of_sets = |one: &Value| {
            one["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("resourceset") && name.contains('.'))
        };
        let definitions: Vec<Value> = definitions.into_iter().filter(of_sets).collect();
        assert_eq!(definitions.len(), 2);
        objects::apply(client, NAMESPACE, &definitions).await.unwrap();
        let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"name": "held", "finalizers": ["fluxcd.controlplane.io/finalizer"]}, "spec": {"resourcesTemplate": ""}});
        let applied = || async { objects::apply(client, NAMESPACE, std::slice::from_ref(&set)).await.ok() };
        eventually("the ResourceSet to be accepted", KNOWN, applied).await.unwrap();
    }

    /// Something to delete, again and again, that takes a moment to go.
    async fn extra(&self) {
        let gone = || self.world.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE, "extra");
        let settled = || async {
            let left = gone().await.is_some_and(|extra| extra["metadata"].get("deletionTimestamp").is_some());
            (!left).then_some(())
        };
        eventually("what was deleted to be gone", KNOWN, settled).await.unwrap();
        let extra = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "extra", "finalizers": ["finalizers.fluxcd.io"]},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}});
        objects::apply(self.world.plane.client(), NAMESPACE, &[extra]).await.unwrap();
    }

    /// Returns the output of `rbac` for an admin: the roles without their bindings.
    async fn roles(&self, line: &str) -> Vec<Value> {
        self.before(line).await;
        let mut program = self.program(&self.world.kubeconfig);
        program.args(["rbac", "-o", "json"]).args(self.words(line));
        let run = finish(program).await;
        assert_eq!(run.code, 0, "{line}: {}", run.stderr);
        let list = run.json();
        list["items"].as_array().unwrap().clone()
    }

    /// Returns a user with exactly these roles.
    async fn user_with(&self, user: &str, roles: &[Value]) -> Kubeconfig {
        let (mut given, group) = (vec![], "rbac.authorization.k8s.io");
        for role in roles {
            let mut role = role.clone();
            role["metadata"]["name"] = user.into();
            let mut binding = role.clone();
            binding["kind"] = format!("{}Binding", role["kind"].as_str().unwrap()).into();
            binding["roleRef"] = json!({"apiGroup": group, "kind": role["kind"], "name": user});
            binding["subjects"] = json!([{"apiGroup": group, "kind": "User", "name": user}]);
            binding.as_object_mut().unwrap().remove("rules");
            given.extend([role, binding]);
        }
        objects::apply(self.world.plane.client(), NAMESPACE, &given).await.unwrap();
        self.world.plane.user_without_rights(user).unwrap()
    }

    /// A user who may read everything except Secrets.
    async fn reader(&self) -> Kubeconfig {
        let all = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {},
        "rules": [
            {"apiGroups": [""], "resources": ["pods", "namespaces", "nodes", "events", "services"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["apps", "apiextensions.k8s.io", "coordination.k8s.io", "fluxcd.controlplane.io", "source.toolkit.fluxcd.io",
                "source.extensions.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io",
                "notification.toolkit.fluxcd.io", "image.toolkit.fluxcd.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        ]});
        let reader = self.user_with("rbac-reader", std::slice::from_ref(&all)).await;
        let node = json!({"metadata": {}, "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]});
        self.knows(&reader, &[node]).await;
        reader
    }

    /// Whether the API server knows the rights of a user already.
    async fn knows(&self, kubeconfig: &Kubeconfig, roles: &[Value]) {
        let client = kubeconfig.client().await.unwrap();
        for role in roles {
            for rule in role["rules"].as_array().unwrap() {
                let first = |field: &str| rule[field][0].as_str().unwrap_or_default().to_owned();
                let (resource, below) = match first("resources").split_once('/') {
                    Some((resource, below)) => (resource.to_owned(), below.to_owned()),
                    None => (first("resources"), String::new()),
                };
                let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
                    "resourceAttributes": {"verb": first("verbs"), "group": first("apiGroups"), "resource": resource, "subresource": below,
                        "namespace": role["metadata"]["namespace"], "name": first("resourceNames")}}});
                eventually("the rights to be known", KNOWN, || async {
                    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
                    let request =
                        request.header("content-type", "application/json").body(review.to_string().into_bytes());
                    let answer: Value = client.request(request.unwrap()).await.ok()?;
                    (answer["status"]["allowed"] == true).then_some(())
                })
                .await
                .unwrap_or_else(|error| panic!("{error}: {rule}"));
            }
        }
    }

    /// Runs a command line under less, as often as there is something to leave out, and then under exactly what `rbac` printed.
    ///
    async fn check(&self, number: usize, line: &str, changes: bool) {
        let roles = self.roles(line).await;
        let user = |part: &str| format!("rbac-{number}-{part}");
        let less = reduced(&roles);
        let mut poor = vec![];
        let is_needed = |(without, _): &&(String, Vec<Value>)| {
            !WITHOUT_WATCH.contains(&line) || !without.starts_with("\"watch\" of")
        };
        for (index, (without, roles)) in less.iter().filter(is_needed).enumerate() {
            poor.push((without, self.user_with(&user(&index.to_string()), roles).await));
        }
        let exact = self.user_with(&user("exact"), &roles).await;
        // Later than the others, so these are known when it is.
        self.knows(&exact, &roles).await;
        let whole = match line {
            _ if changes => None,
            // It reports further rights of the user, so an admin is not a good measure.
            "check" => Some(self.run(&self.reader().await, line).await),
            _ => Some(self.run(&self.world.kubeconfig, line).await),
        };
        for (without, kubeconfig) in poor {
            let run = self.run(&kubeconfig, line).await;
            let is_less = match &whole {
                Some(whole) => !is_like(&run, whole),
                None => {
                    let tells = ["warning:", "is not kept for a rollback"];
                    run.code != 0 || tells.iter().any(|text| run.stderr.contains(text))
                }
            };
            assert!(is_less, "`{line}` works also without {without}:\n{}{}", run.stdout, run.stderr);
        }
        let run = self.run(&exact, line).await;
        match &whole {
            Some(whole) => assert!(
                is_like(&run, whole),
                "`{line}` with {roles:#?}\n{}:\n{}{}\nan admin has {}:\n{}{}",
                run.code,
                run.stdout,
                run.stderr,
                whole.code,
                whole.stdout,
                whole.stderr
            ),
            None => assert_eq!(run.code, 0, "`{line}` with {roles:#?}:\n{}{}", run.stdout, run.stderr),
        }
    }
}

async fn finish(mut program: Command) -> Run {
    tokio::task::spawn_blocking(move || program.output()).await.expect("joined").expect("the binary runs").into()
}

/// The roles without one right each, and which one; of many rights some, from the whole range.
fn reduced(roles: &[Value]) -> Vec<(String, Vec<Value>)> {
    let mut all = vec![];
    for (number, role) in roles.iter().enumerate() {
        for (index, rule) in role["rules"].as_array().unwrap().iter().enumerate() {
            let verbs = rule["verbs"].as_array().unwrap().iter().enumerate();
            for (place, verb) in verbs {
                let mut less = roles.to_vec();
                less[number]["rules"][index]["verbs"].as_array_mut().unwrap().remove(place);
                let rules = less[number]["rules"].as_array_mut().unwrap();
                rules.retain(|rule| !rule["verbs"].as_array().unwrap().is_empty());
                all.push((format!("{verb} of {rule}"), less));
            }
        }
    }
    let step = all.len().div_ceil(tried()).max(1);
    all.into_iter().step_by(step).collect()
}

/// Whether two runs say the same, but for times and what happens side by side.
fn is_like(one: &Run, other: &Run) -> bool {
    let varying =
        Regex::new(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d[\d.:TZ-]*(?:(?:ms|[µun]s|[smhd])(?:\d+[smhd])*\b)?|[ \t]+").unwrap();
    let clean = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().map(|line| varying.replace_all(line, " ").trim().to_owned()).collect();
        lines.sort();
        lines
    };
    let complaints = |run: &Run| {
        let is_complaint = |line: &&str| {
            ["warning:", "error:", r#""type":"warning""#, r#""type":"error""#].iter().any(|word| line.contains(word))
        };
        let lines = run.stderr.lines().filter(is_complaint);
        clean(&lines.collect::<Vec<_>>().join("\n"))
    };
    one.code == other.code && clean(&one.stdout) == clean(&other.stdout) && complaints(one) == complaints(other)
}

async fn every_list_works_under_exactly_what_rbac_prints_for_it_and_not_under_less(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    for (number, line) in LISTS.iter().enumerate() {
        eprintln!("{line}");
        stage.check(number, line, false).await;
    }
}

async fn every_view_works_under_exactly_what_rbac_prints_for_it_and_not_under_less(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    for (number, line) in VIEWS.iter().enumerate() {
        eprintln!("{line}");
        // It lists the rights that it needs: an admin has one for all of them.
        let is_about_rights = *line == "check --pre";
        stage.check(number, line, is_about_rights).await;
    }
}

async fn every_write_works_under_exactly_what_rbac_prints_for_it_and_not_under_less(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    for (number, line) in WRITES.iter().enumerate() {
        eprintln!("{line}");
        stage.check(number, line, true).await;
    }
}

async fn a_reconciliation_in_this_process_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    stage(&cluster).await.check(0, RECONCILE, true).await;
}

async fn a_first_installation_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    stage(&cluster).await.check(0, APPLY, true).await;
}

async fn an_uninstallation_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    stage(&cluster).await.check(0, UNINSTALL, true).await;
}

async fn a_deletion_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    stage.check(0, DELETE, true).await;
    stage.check(1, DELETE_FILE, true).await;
}

async fn a_rollback_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    stage.check(0, ROLLBACK, true).await;
}

async fn the_operator_comes_and_goes_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    stage.as_admin(UNINSTALL).await;
    stage.check(0, INSTALL, true).await;
    stage.check(1, UNINSTALL_OPERATOR, true).await;
    stage.check(2, INSTALL_WITH, true).await;
}

async fn a_takeover_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    stage(&cluster).await.check(0, TAKE_OVER, true).await;
}

/// The leaves of the command tree, as its help has them.
fn leaves(path: &str, found: &mut BTreeSet<String>) {
    let words = path.split_whitespace().chain(["--help"]);
    let help = Command::new(env!("CARGO_BIN_EXE_flux-operator")).args(words).env_clear().output().expect("it runs");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).filter(|n| *n != "help").collect();
    if names.is_empty() {
        found.insert(path.to_owned());
    }
    for name in names {
        leaves(format!("{path} {name}").trim_start(), found);
    }
}

/// The leaf that a command line is about; a kind stands for the noun of all kinds, and a flag for the instance.
fn leaf_of(line: &str, leaves: &BTreeSet<String>) -> Option<String> {
    let is_node = |node: &str| leaves.iter().any(|leaf| leaf == node || leaf.starts_with(&format!("{node} ")));
    let mut node = String::new();
    for word in line.split(' ') {
        let next = format!("{node} {word}").trim_start().to_owned();
        if is_node(&next) {
            node = next;
            continue;
        }
        let noun = if word.starts_with('-') { &["instance"][..] } else { &["resources", "resource"] };
        let below = noun.iter().map(|noun| format!("{node} {noun}")).find(|next| leaves.contains(next));
        node = below.unwrap_or(node);
        break;
    }
    leaves.contains(&node).then_some(node)
}

async fn every_command_has_a_row_or_a_reason_why_not(_: TestCluster) {
    let mut all = BTreeSet::new();
    leaves("", &mut all);
    assert!(all.len() > 60, "{all:?}");
    let lines = LISTS.iter().chain(VIEWS).chain(WRITES).chain(ALONE).chain(&[TAKE_OVER]);
    let tried: BTreeSet<String> = lines.filter_map(|line| leaf_of(line, &all)).collect();
    let excused =
        |leaf: &str| WITHOUT_ROW.iter().any(|(word, _)| leaf == *word || leaf.starts_with(&format!("{word} ")));
    let missing: Vec<&String> = all.iter().filter(|leaf| !tried.contains(*leaf) && !excused(leaf)).collect();
    assert!(missing.is_empty(), "no row runs {missing:?} under its role");
    let needless: Vec<&String> = tried.iter().filter(|leaf| excused(leaf)).collect();
    assert!(needless.is_empty(), "these have a row and an excuse: {needless:?}");
}

async fn asking_for_rights_writes_nothing(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    let mark = stage.world.plane.audit().mark().await.unwrap();
    for line in WRITES.iter().chain(ALONE) {
        let mut program = stage.program(&stage.world.kubeconfig);
        program.args(["rbac"]).args(stage.words(line));
        finish(program).await;
    }
    let seen = stage.world.plane.audit().since(mark).await.unwrap().by_user(USER);
    let written = seen.writes().only(|one| {
        one.resource != "selfsubjectaccessreviews" && one.verb != "delete" && !one.uri.contains("dryRun=All")
    });
    assert!(written.is_empty(), "{:?}", written.0);
    // The dry run of a deletion stands in its body.
    for kind in ["FluxInstance/flux", "Kustomization/extra"] {
        let (kind, name) = kind.split_once('/').unwrap();
        let group = if kind == "FluxInstance" { "fluxcd.controlplane.io/v1" } else { "kustomize.toolkit.fluxcd.io/v1" };
        let object = stage.world.get(group, kind, NAMESPACE, name).await.unwrap();
        assert!(object["metadata"].get("deletionTimestamp").is_none(), "{object}");
    }
}

async fn what_is_printed_for_somebody_is_applied_as_it_is(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    let line = "suspend ks app";
    // The API server knows a ServiceAccount by a name like this.
    let service_account = format!("system:serviceaccount:{NAMESPACE}:bot");
    let bot = format!("{NAMESPACE}:bot");
    for (flag, subject, user) in [("--service-account", &*bot, &*service_account), ("--user", "jane", "jane")] {
        let somebody = stage.world.plane.user_without_rights(user).unwrap();
        stage.run(&somebody, line).await.exits(5);
        let mut program = stage.program(&stage.world.kubeconfig);
        program.args(["rbac", flag, subject]).args(stage.words(line));
        let printed = finish(program).await.exits(0).stdout;
        let objects = flux_operator::format::yaml::parse_documents(&printed).unwrap();
        objects::apply(stage.world.plane.client(), NAMESPACE, &objects).await.unwrap();
        let roles: Vec<Value> = objects.into_iter().filter(|object| object.get("rules").is_some()).collect();
        stage.knows(&somebody, &roles).await;
        stage.run(&somebody, line).await.exits(0);
    }
}

async fn what_fails_anyway_has_no_rights_to_print(cluster: TestCluster) {
    let mut missing = cluster.command();
    missing.args(["rbac", "tree", "instance", "nope"]).stdin(Stdio::null());
    let run = finish(missing).await;
    assert!(run.code == 3 || run.code == 4, "{run:?}");
    assert!(run.stdout.is_empty() && run.stderr.contains("it fails"), "{run:?}");
    let mut unknown = cluster.command();
    unknown.args(["rbac", "reconcil", "ks", "app"]).stdin(Stdio::null());
    finish(unknown).await.exits(2).stderr_has("invalid command");
    let mut registry = cluster.command();
    registry.args(["rbac", "artifact", "list", "oci://x/y"]).stdin(Stdio::null());
    finish(registry).await.exits(2).stderr_has("is not rehearsed");
}
