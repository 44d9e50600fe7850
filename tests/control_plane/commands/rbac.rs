//! `rbac`: every command line works with exactly the rights that `rbac` prints for it, and uses all of them, except
//! those that are printed with a condition.
//!
//! Each line is run once, by a user who has nothing but these rights; the API server's audit log tells what was refused and what
//! was never used.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use flux_operator::api::Component;
use flux_operator::cluster::WriteOptions;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::stage::{Stage, stage};
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::audit::Request;
use crate::support::installation::installation;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Kubeconfig, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_command_works_under_exactly_what_rbac_prints_for_it,
        every_command_has_a_row_or_a_reason_why_not,
        exported_manifests_can_be_applied_unchanged,
    ]
}

/// How long rights take until the API server knows them.
const KNOWN: Duration = Duration::from_secs(20);
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
    "upgrade 2.9.4 --dry-run --yes",
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
    // The Secret has another type now.
    "create secret bucket git --accesskey a --secretkey-env PASSWORD --replace",
    "apply instance -f $F --wait=false",
    "resume overdue --wait=false",
    MIGRATE_OWNER,
    "delete ks/extra --yes",
    "delete ks/extra --with-suspend --yes",
];

/// Leaves of the command tree, or groups of them, that no row is about, and why.
const WITHOUT_ROW: &[(&str, &str)] = &[
    ("artifact", "it works with registries"),
    ("distribution", "it works with registries and files"),
    ("build", "it works with files"),
    ("create instance", "it prints a manifest"),
    ("completion", "it sends nothing to an API server"),
    ("config", "it sends nothing to an API server"),
    ("explain", "it sends nothing to an API server"),
    ("controller", "controller::rights runs it under the rights of the operator"),
    ("rbac", "it sends nothing to an API server"),
    ("create secret registry", "one Secret is written, as by basic-auth"),
    ("create secret ssh", "one Secret is written, as by basic-auth"),
    ("create secret githubapp", "one Secret is written, as by basic-auth"),
    ("create secret proxy", "one Secret is written, as by basic-auth"),
    ("create secret tls", "one Secret is written, as by basic-auth"),
    ("create secret sops", "one Secret is written, as by basic-auth"),
    ("get inputs", "a set and its providers are read, as in `plan resourceset`"),
];

const MIGRATE_OWNER: &str = "migrate owner ks/app --to ks/extra --object cm/moves --yes";
pub const DELETE_FILE: &str = "delete -f $F --yes --wait=false";
pub const INSTALL_WITH: &str = "install --image registry.example.com/flux-operator:v1 -f $F --wait=false";

const RECONCILE: &str = "reconcile instance --in-process";
const APPLY: &str = "apply instance -f $F --in-process";
const UNINSTALL: &str = "uninstall instance --in-process --yes";
const UNINSTALL_ANYWAY: &str = "uninstall instance --in-process --force-in-process --yes";
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
    &[RECONCILE, APPLY, UNINSTALL, DELETE, DELETE_FILE, ROLLBACK, INSTALL, UNINSTALL_OPERATOR, INSTALL_WITH];
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
    (INSTALL_WITH, &[UNINSTALL_ANYWAY, UNINSTALL_OPERATOR]),
    (TAKE_OVER, &[UNINSTALL]),
];

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

    /// Prepares the cluster so that a command line has something to do.
    pub async fn before(&self, line: &str) {
        if line.starts_with("delete ks/extra") {
            self.extra().await;
        }
        match line {
            MIGRATE_OWNER => self.owned().await,
            "resume overdue --wait=false" => {
                self.as_admin("suspend ks app --until 1s").await;
                // A second suspended object, which is never overdue: a run that lacks a right still finds a suspended object.
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

    /// Simulates an operator by its lease. If `is_there` is false, deletes the lease, resumes the instance, and removes the
    /// finalizers of an instance that is being deleted.
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

    /// Creates the Kustomization `extra` (again), whose finalizer delays its deletion.
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

    /// Returns the output of `rbac`: the roles, and the rights that a run uses only under a condition, each as a string.
    async fn roles(&self, line: &str) -> (Vec<Value>, BTreeSet<String>) {
        let mut program = self.program(&self.world.kubeconfig);
        program.args(["rbac"]).args(self.words(line));
        let printed = finish(program).await.exits(0).stdout;
        let conditions = printed.lines().filter_map(|line| line.strip_prefix("# - ")?.rsplit_once(": "));
        let rights = conditions.flat_map(|(_, rights)| {
            rights.split("; ").flat_map(|right| {
                let (verbs, rest) = right.split_once(' ').expect("verbs and a resource");
                verbs.split(',').map(move |verb| format!("{verb} {rest}"))
            })
        });
        (flux_operator::format::yaml::parse_documents(&printed).unwrap(), rights.collect())
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

    /// Runs a command line under exactly what `rbac` prints, and returns what is wrong with that.
    async fn check(&self, number: usize, line: &str) -> Vec<String> {
        let (roles, conditional) = self.roles(line).await;
        let user = format!("rbac-{number}");
        let kubeconfig = self.user_with(&user, &roles).await;
        self.before(line).await;
        self.knows(&kubeconfig, &roles).await;
        let mark = self.world.plane.audit().mark().await.unwrap();
        let run = self.run(&kubeconfig, line).await;
        let seen = self.world.plane.audit().since(mark).await.unwrap().by_user(&user);
        let mut wrong: BTreeSet<String> = BTreeSet::new();
        for one in seen.only(|one| one.status == 403).0 {
            wrong.insert(format!(
                "missing: {}",
                right(&one.verb, &group_of(&one.uri), &one.resource, &one.namespace, &one.name)
            ));
        }
        let is_used = |granted: &Granted| seen.0.iter().any(|one| granted.allows(one));
        for granted in roles.iter().flat_map(Granted::of) {
            if !conditional.contains(&granted.text) && !is_used(&granted) {
                wrong.insert(format!("never used: {}", granted.text));
            }
        }
        // 7: something is not ready, 1: there are differences.
        if !["plan", "why", "check", "status"].iter().any(|verb| line.starts_with(verb))
            && run.code != 0
            && !line.ends_with(" -w")
        {
            wrong.insert(format!("ends with {}: {}{}", run.code, run.stdout, run.stderr));
        }
        if run.stderr.contains("not everything could be looked at") {
            wrong.insert(run.stderr);
        }
        wrong.into_iter().map(|text| format!("`{line}` {text}")).collect()
    }
}

/// A right of a role.
struct Granted {
    verb: String,
    group: String,
    resource: String,
    namespace: String,
    name: String,
    text: String,
}

impl Granted {
    fn of(role: &Value) -> Vec<Granted> {
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
        };
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        let mut all = vec![];
        for rule in role["rules"].as_array().unwrap() {
            let names =
                Some(texts(&rule["resourceNames"])).filter(|names| !names.is_empty()).unwrap_or(vec![String::new()]);
            for ((group, resource), verb) in texts(&rule["apiGroups"])
                .iter()
                .flat_map(|group| texts(&rule["resources"]).into_iter().map(move |one| (group.clone(), one)))
                .flat_map(|one| texts(&rule["verbs"]).into_iter().map(move |verb| (one.clone(), verb)))
            {
                all.extend(names.iter().map(|name| Granted {
                    text: right(&verb, &group, &resource, namespace, name),
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    namespace: namespace.to_owned(),
                    name: name.clone(),
                }));
            }
        }
        all
    }

    fn allows(&self, request: &Request) -> bool {
        (&self.verb, &self.resource, &self.group) == (&request.verb, &request.resource, &group_of(&request.uri))
            && (self.namespace.is_empty() || self.namespace == request.namespace)
            && (self.name.is_empty() || self.name == request.name)
    }
}

/// A right as `rbac` writes it.
fn right(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> String {
    let part = |before: &str, text: &str| if text.is_empty() { String::new() } else { format!("{before}{text}") };
    format!("{verb} {resource}{}{}{}", part(".", group), part("/", name), part(" in namespace ", namespace))
}

/// The API group of a request's path.
fn group_of(uri: &str) -> String {
    uri.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or_default().to_owned()
}

async fn finish(mut program: Command) -> Run {
    tokio::task::spawn_blocking(move || program.output()).await.expect("joined").expect("the binary runs").into()
}

async fn every_command_works_under_exactly_what_rbac_prints_for_it(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    let mut wrong = vec![];
    let only = std::env::var("ONLY").unwrap_or_default();
    for (number, line) in LISTS.iter().chain(VIEWS).chain(WRITES).chain(ALONE).chain(&[TAKE_OVER]).enumerate() {
        if !line.contains(&only) {
            continue;
        }
        if ALONE.contains(line) || *line == TAKE_OVER {
            stage.operator_at_work(false).await;
        }
        if [INSTALL, TAKE_OVER].contains(line) {
            stage.as_admin(UNINSTALL_ANYWAY).await;
            stage.as_admin(UNINSTALL_OPERATOR).await;
        }
        eprintln!("{line}");
        for problem in stage.check(number, line).await {
            eprintln!("{problem}");
            wrong.push(problem);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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

async fn exported_manifests_can_be_applied_unchanged(cluster: TestCluster) {
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
