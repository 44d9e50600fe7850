//! `rbac`: under exactly the rights that it prints for a command line that command line works, and under less it does not.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use regex::Regex;
use serde_json::{Value, json};

use super::cluster_objects::{GIT, INSTANCE, KUSTOMIZATION, Kind};
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Kubeconfig, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_list_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        every_view_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        every_write_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        a_run_in_this_process_works_under_exactly_what_rbac_prints_for_it_and_not_under_less,
        asking_for_rights_writes_nothing,
        what_fails_anyway_has_no_rights_to_print,
    ]
}

/// How long rights take until the API server knows them.
const KNOWN: Duration = Duration::from_secs(20);
/// Of a role with more rights than this, this many are tried without one of them.
const TRIED: usize = 6;

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
];

/// Every other read; `$F` is the manifest of the instance, `$D` a file that is not there.
const VIEWS: &[&str] = &[
    "tree instance",
    "tree ks app",
    "trace ks/app",
    "why instance",
    "why ks/app",
    "why",
    "status",
    "check",
    "logs --tail 3",
    "impact ks/app",
    "debug ks app --vars",
    "export report",
    "plan instance -f $F",
    "plan instance",
    "bundle -o $D",
];

/// Every write, in an order in which each has something to do. None of them installs anything.
const WRITES: &[&str] = &[
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
    "delete ks/extra --yes",
];

/// What takes the rights of an operator, where Flux is installed.
const RUNS: &[&str] = &["reconcile instance --in-process"];
/// What is rehearsed besides.
const OTHERS: &[&str] = &[
    "apply instance -f $F --in-process",
    "delete instance --yes --wait=false",
    "install --image registry.example.com/flux-operator:v1 --wait=false",
];

/// A cluster with Flux and some of its objects, and whoever answers requests on them.
struct Stage {
    world: World,
    manifest: String,
    answers: tokio::task::JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.answers.abort();
    }
}

async fn stage(cluster: &TestCluster) -> Arc<Stage> {
    let world = World::new(cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller", "kustomize-controller"]);
    let manifest = world.plane.folder().join("flux.json");
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": wanted});
    std::fs::write(&manifest, instance.to_string()).unwrap();
    world.instance(wanted).await;
    world.ready().await;
    let client = world.plane.client();
    let app = |name: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app"},
            "spec": {"interval": "1h", "url": "https://example.com/app.git"}});
    objects::apply(client, NAMESPACE, &[source, app("app"), app("extra")]).await.unwrap();
    let answers = tokio::spawn(answer_requests(world.plane.client().clone()));
    Arc::new(Stage { manifest: manifest.to_str().unwrap().to_owned(), world, answers })
}

/// Plays the controllers: whatever was asked for is done.
async fn answer_requests(client: kube::Client) {
    loop {
        for kind in [GIT, KUSTOMIZATION, INSTANCE] {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind.resource());
            for object in api.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
                answer(&api, kind, &object).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn answer(api: &Api<DynamicObject>, kind: Kind, object: &DynamicObject) {
    let generation = object.metadata.generation.unwrap_or(1);
    let annotations = object.metadata.annotations.clone().unwrap_or_default();
    let requested = annotations.get("reconcile.fluxcd.io/requestedAt");
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if object.metadata.deletion_timestamp.is_some() && kind.kind == KUSTOMIZATION.kind {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let without = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let _ = api.patch(name, &PatchParams::default(), &without).await;
        return;
    }
    let status = &object.data["status"];
    let is_done = status["observedGeneration"] == generation
        && requested.is_none_or(|token| status["lastHandledReconcileAt"] == token.as_str());
    // An instance has its status of the run that installed it.
    if is_done || (kind.kind == "FluxInstance" && requested.is_none()) {
        return;
    }
    let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "done",
        "observedGeneration": generation, "lastTransitionTime": "2026-11-21T00:00:00Z"});
    let mut status = json!({"conditions": [ready], "observedGeneration": generation});
    if let Some(token) = requested {
        status["lastHandledReconcileAt"] = token.as_str().into();
    }
    let _ = api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await;
}

impl Stage {
    fn words(&self, line: &str) -> Vec<String> {
        // A bundle is a file that must not be there.
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let bundle = self.world.plane.folder().join(format!("bundle-{number}.tar.gz"));
        let place = |word: &str| word.replace("$F", &self.manifest).replace("$D", bundle.to_str().unwrap());
        line.split(' ').map(place).collect()
    }

    fn program(&self, kubeconfig: &Kubeconfig) -> Command {
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
        if line.starts_with("delete ks/extra") {
            self.extra().await;
        }
        finish(program).await
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

    /// What `rbac` prints, as an admin asks: the roles, without their bindings.
    async fn roles(&self, line: &str) -> Vec<Value> {
        let mut program = self.program(&self.world.kubeconfig);
        program.args(["rbac", "-o", "json"]).args(self.words(line));
        let run = finish(program).await;
        assert_eq!(run.code, 0, "{line}: {}", run.stderr);
        let list = run.json();
        list["items"].as_array().unwrap().clone()
    }

    /// A user who has exactly these roles.
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

    /// Somebody who may read everything but Secrets.
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
    async fn check(&self, number: usize, line: &str, changes: bool) {
        let roles = self.roles(line).await;
        let user = |part: &str| format!("rbac-{number}-{part}");
        let less = reduced(&roles);
        let mut poor = vec![];
        for (index, (without, roles)) in less.iter().enumerate() {
            poor.push((without, self.user_with(&user(&index.to_string()), roles).await));
        }
        let exact = self.user_with(&user("exact"), &roles).await;
        // Later than the others, so these are known when it is.
        self.knows(&exact, &roles).await;
        let whole = match line {
            _ if changes => None,
            // It tells which rights one has besides: those of an admin are no measure.
            "check" => Some(self.run(&self.reader().await, line).await),
            _ => Some(self.run(&self.world.kubeconfig, line).await),
        };
        for (without, kubeconfig) in poor {
            let run = self.run(&kubeconfig, line).await;
            let is_less = match &whole {
                Some(whole) => !is_like(&run, whole),
                None => run.code != 0 || run.stderr.contains("warning:"),
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
            for (place, verb) in rule["verbs"].as_array().unwrap().iter().enumerate() {
                let mut less = roles.to_vec();
                less[number]["rules"][index]["verbs"].as_array_mut().unwrap().remove(place);
                let rules = less[number]["rules"].as_array_mut().unwrap();
                rules.retain(|rule| !rule["verbs"].as_array().unwrap().is_empty());
                all.push((format!("{verb} of {rule}"), less));
            }
        }
    }
    let step = all.len().div_ceil(TRIED).max(1);
    all.into_iter().step_by(step).collect()
}

/// Whether two runs say the same, but for times and what happens side by side.
fn is_like(one: &Run, other: &Run) -> bool {
    let varying = Regex::new(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d[\d.:TZ-]*(?:(?:ms|[µun]s|[smhd])\b)?|[ \t]+").unwrap();
    let clean = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().map(|line| varying.replace_all(line, " ").trim().to_owned()).collect();
        lines.sort();
        lines
    };
    let complaints = |run: &Run| {
        let lines = run.stderr.lines().filter(|line| line.contains("warning:") || line.contains("error:"));
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
        stage.check(number, line, false).await;
    }
}

async fn every_write_works_under_exactly_what_rbac_prints_for_it_and_not_under_less(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    for (number, line) in WRITES.iter().enumerate() {
        eprintln!("{line}");
        stage.check(number, line, true).await;
    }
}

async fn a_run_in_this_process_works_under_exactly_what_rbac_prints_for_it_and_not_under_less(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    for (number, line) in RUNS.iter().enumerate() {
        eprintln!("{line}");
        stage.check(number, line, true).await;
    }
}

async fn asking_for_rights_writes_nothing(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    let mark = stage.world.plane.audit().mark().await.unwrap();
    for line in WRITES.iter().chain(RUNS).chain(OTHERS) {
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

async fn what_fails_anyway_has_no_rights_to_print(cluster: TestCluster) {
    let mut missing = cluster.command();
    missing.args(["rbac", "tree", "instance", "nope"]).stdin(Stdio::null());
    let run = finish(missing).await;
    assert!(run.code == 3 || run.code == 4, "{run:?}");
    assert!(run.stdout.is_empty() && run.stderr.contains("it fails"), "{run:?}");
    let mut unknown = cluster.command();
    unknown.args(["rbac", "reconcil", "ks", "app"]).stdin(Stdio::null());
    finish(unknown).await.exits(2).stderr_has("is no command line");
    let mut registry = cluster.command();
    registry.args(["rbac", "artifact", "list", "oci://x/y"]).stdin(Stdio::null());
    finish(registry).await.exits(2).stderr_has("is not rehearsed");
}
