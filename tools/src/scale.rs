//! Measures the read commands on a real API server with thousands of Flux objects, beside `kubectl get` of the same.
//!
//! ```text
//! cargo build --profile dist
//! cargo run --release -p tools --bin scale [RUNS [SIZE...]]
//! cargo run --release -p tools --bin scale incident [RUNS]
//! cargo run --release -p tools --bin scale kustomizations [RUNS]
//! ```
//! Starts its own control plane (as `local-cluster` does), creates GitRepositories with a status across namespaces
//! until there are SIZE Flux objects, and prints wall time (median of RUNS, 11 by default), CPU time, peak memory and
//! requests per command, at each SIZE (2000 and 10000; 0 for none). It never fails because of a result. `incident`
//! creates 2,000 objects of which 143 fail, and measures the usual questions beside `get all -A`; `kustomizations` creates
//! 2,000 Kustomizations of 4.3 KB and measures lists of them beside the API server alone. `FLUX_OPERATOR` names another
//! binary, `KUBECTL` another kubectl.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "measure.rs"]
mod measure;
#[path = "program.rs"]
mod program;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use futures::stream::{self, StreamExt};
use kube::Client;
use measure::median;
use serde_json::{Value, json};
use test_support::programs::unavailable_because;
use test_support::{Behaviour, ControlPlane, Fallible, Options, PodRule, flux, incident, objects};

/// Number of namespaces with GitRepositories.
const NAMESPACES: usize = 20;
/// Flux objects of the first part: the instance, its sync (two objects), 100 sources and 100 Kustomizations.
const SMALL: usize = 203;
/// Number of concurrent creations.
const CONCURRENCY: usize = 32;
/// User of the measured commands in the audit log.
const USER: &str = "measured";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os().filter_map(|word| word.into_string().ok()).skip(1).collect();
    if let Some((measure::CHILD, command)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return measure::measure(command);
    }
    if let Some(reason) = unavailable_because() {
        eprintln!("error: cannot start a control plane: it {reason}");
        return ExitCode::FAILURE;
    }
    let part = arguments.first().filter(|word| word.parse::<usize>().is_err()).cloned();
    let arguments = &arguments[usize::from(part.is_some())..];
    let runs = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(11);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let sizes: Vec<usize> = arguments.iter().skip(1).filter_map(|text| text.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![2_000, 10_000] } else { sizes };
    let measured = match part.as_deref() {
        None => runtime.block_on(run(runs, &sizes)),
        Some("incident") => runtime.block_on(run_incident(runs)),
        Some("kustomizations") => runtime.block_on(run_kustomizations(runs)),
        Some(other) => Err(format!("there is no part {other}").into()),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Results for a command.
struct Figures {
    milliseconds: f64,
    fastest: f64,
    /// CPU time of the process itself, which hardly depends on other load, unlike wall time.
    cpu: f64,
    mebibytes: f64,
    requests: usize,
    code: i32,
}

/// A command line with its goal in milliseconds and MiB, if it has one.
struct Case {
    name: &'static str,
    ours: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
    kubectl: Vec<String>,
    milliseconds: Option<f64>,
    mebibytes: Option<f64>,
}

impl Case {
    fn new(name: &'static str, ours: &str, kubectl: &str) -> Case {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Case {
            name,
            ours: words(ours),
            environment: vec![],
            kubectl: words(kubectl),
            milliseconds: None,
            mebibytes: None,
        }
    }

    fn goal(mut self, milliseconds: f64, mebibytes: Option<f64>) -> Case {
        self.milliseconds = Some(milliseconds);
        self.mebibytes = mebibytes;
        self
    }
}

struct Bench {
    plane: ControlPlane,
    kubeconfig: PathBuf,
    binary: PathBuf,
    kubectl: PathBuf,
    runs: usize,
}

impl Bench {
    async fn figures(
        &self,
        program: &Path,
        arguments: &[String],
        environment: &[(&'static str, &str)],
    ) -> Fallible<Figures> {
        // kubectl caches discovery, and both need warm disks.
        self.once(program, arguments, environment).await?;
        let mark = self.plane.audit().mark().await?;
        self.once(program, arguments, environment).await?;
        let requests = self.plane.audit().since(mark).await?.by_user(USER).len();
        let (mut times, mut cpus) = (Vec::new(), Vec::new());
        let (mut peak, mut code) = (0.0_f64, 0);
        for _ in 0..self.runs.max(1) {
            let one = self.once(program, arguments, environment).await?;
            times.push(one.milliseconds);
            cpus.push(one.cpu);
            peak = peak.max(one.mebibytes);
            code = one.code;
        }
        Ok(Figures {
            fastest: times.iter().copied().fold(f64::INFINITY, f64::min),
            milliseconds: median(times),
            cpu: median(cpus),
            mebibytes: peak,
            requests,
            code,
        })
    }

    async fn once(
        &self,
        program: &Path,
        arguments: &[String],
        environment: &[(&'static str, &str)],
    ) -> Fallible<measure::Once> {
        let own = [("HOME", self.plane.folder().into()), ("KUBECONFIG", self.kubeconfig.clone().into())];
        let given = environment.iter().map(|(name, value)| (*name, value.into()));
        measure::once(program, arguments, own.into_iter().chain(given).collect()).await
    }

    async fn report(&self, cases: &[Case]) -> Fallible<()> {
        println!(
            "| command | wall ms (fastest) | CPU ms | peak MiB | requests | kubectl wall ms (fastest) | CPU ms | MiB | requests | ratio wall, CPU | goal |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for case in cases {
            let ours = self.figures(&self.binary, &case.ours, &case.environment).await?;
            if ours.code != 0 {
                eprintln!("note: {} ended with {}", case.name, ours.code);
            }
            let theirs = match &case.kubectl[..] {
                [] => None,
                arguments => Some(self.figures(&self.kubectl, arguments, &[]).await?),
            };
            let kubectl = match &theirs {
                Some(t) => format!(
                    "{:.0} ({:.0}) | {:.0} | {:.0} | {} | {:.1}x, {:.1}x",
                    t.milliseconds,
                    t.fastest,
                    t.cpu,
                    t.mebibytes,
                    t.requests,
                    t.milliseconds / ours.milliseconds,
                    t.cpu / ours.cpu.max(0.001)
                ),
                None => "- | - | - | - | -".to_owned(),
            };
            println!(
                "| {} | {:.1} ({:.1}) | {:.1} | {:.1} | {} | {kubectl} | {} |",
                case.name,
                ours.milliseconds,
                ours.fastest,
                ours.cpu,
                ours.mebibytes,
                ours.requests,
                verdict(case, &ours)
            );
        }
        println!();
        Ok(())
    }
}

fn verdict(case: &Case, figures: &Figures) -> String {
    let time = case.milliseconds.map(|goal| {
        let word = match (figures.milliseconds <= goal, figures.fastest <= goal) {
            (true, _) => "met".to_owned(),
            (false, true) => "met by the fastest run only".to_owned(),
            (false, false) => format!("missed by {:.1}", figures.fastest - goal),
        };
        format!("{goal} ms: {word}")
    });
    let memory = case.mebibytes.map(|goal| {
        let over = figures.mebibytes - goal;
        let word = if over <= 0.0 { "met".to_owned() } else { format!("missed by {over:.1}") };
        format!("{goal} MiB: {word}")
    });
    [time, memory].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

async fn start(runs: usize) -> Fallible<Bench> {
    let binary = program::shipped()?;
    let kubectl = PathBuf::from(env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into()));
    let plane = ControlPlane::start_with(Options::on_all_processors(), |part| eprintln!("starting {part}")).await?;
    let admin = plane.admin(USER)?.with_namespace("flux-system")?;
    let kubeconfig = admin.path().to_path_buf();
    Ok(Bench { plane, kubeconfig, binary, kubectl, runs })
}

/// Measures the usual questions when 143 of 2,000 objects fail.
async fn run_incident(runs: usize) -> Fallible<()> {
    const OBJECTS: usize = 2_000;
    let bench = start(runs).await?;
    let client = bench.plane.client().clone();
    eprintln!("installing Flux");
    bench.install().await?;
    make_namespaces(&client).await?;
    bench.plane.kubelet().add_rule(PodRule::new("scale-00", Behaviour::CrashLoop { exit_code: 1, restarts: 5 }));
    objects::apply(&client, "scale-00", &incident::workloads()).await?;
    eprintln!("creating {OBJECTS} Flux objects");
    let all = incident::flux_objects(OBJECTS).into_iter().map(|mut object| {
        let status = object.as_object_mut().and_then(|object| object.remove("status")).unwrap_or_default();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let path = match object["kind"].as_str() {
            Some("GitRepository") => sources_path(namespace),
            _ => format!("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{namespace}/kustomizations"),
        };
        create(&client, path, object, status)
    });
    finish(stream::iter(all.collect::<Vec<_>>()).buffer_unordered(CONCURRENCY).collect().await)?;
    let folder = bench.plane.folder().join("dump");
    std::fs::create_dir_all(folder.join("logs"))?;
    let text = incident::log(100 << 20);
    let name = "kustomize-controller";
    let labels = json!({"app": name, "app.kubernetes.io/part-of": "flux"});
    let pod = json!({"containers": [{"name": "manager", "image": "x"}]});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "flux-system", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kc-1", "namespace": "flux-system", "labels": labels}, "spec": pod}]});
    std::fs::write(folder.join("objects.json"), list.to_string())?;
    let marks = |word: &str| format!("==== {word} logs for container manager of pod flux-system/kc-1 ====\n");
    std::fs::write(folder.join("logs/logs.txt"), format!("{}{text}{}", marks("START"), marks("END")))?;
    let logs = |filter: &str| format!("logs {filter} --from {}", folder.display());
    println!("## {OBJECTS} Flux objects of which {} fail\n", incident::FAILING);
    let get = Case::new("get all -A", "get all -A", "get gitrepo,ks -A");
    let beside = bench.figures(&bench.binary, &get.ours, &[]).await?;
    bench
        .report(&[
            get,
            Case::new("why -A", "why -A", "").goal(2.0 * beside.milliseconds, None),
            Case::new("what-changed", "what-changed", ""),
            Case::new("bundle", "bundle -o - --timeout 60s", "").goal(5_000.0, Some(100.0)),
            Case::new("logs of one object, 100 MB", &logs("ks/app-4711 -n scale-00"), "").goal(500.0, None),
            Case::new("logs of errors, 100 MB", &logs("--level error"), "").goal(500.0, None),
        ])
        .await?;
    Ok(())
}

async fn run(runs: usize, sizes: &[usize]) -> Fallible<()> {
    let bench = start(runs).await?;
    let client = bench.plane.client().clone();

    eprintln!("installing Flux");
    bench.install().await?;
    make_namespaces(&client).await?;
    eprintln!("creating 200 Flux resources below the sync");
    create_small(&client).await?;
    println!("## An instance with its controllers and a sync of 200 Flux resources\n");
    let kinds = "crd,ns,sa,svc,deploy,rs,pods,clusterrole,clusterrolebinding,netpol,quota,gitrepo,ks";
    bench
        .report(&[
            Case::new("--version", "--version", "version --client"),
            Case::new("get instance flux", "get instance flux", "get fluxinstance flux").goal(12.0, None),
            Case::new("get components", "get components", "get deploy,pods"),
            Case::new("get inventory", "get inventory", &format!("get {kinds}")),
            Case::new("get all", "get all", "get gitrepo,ks"),
            Case::new("tree instance", "tree instance", &format!("get {kinds}")),
            Case::new("why instance", "why instance", ""),
        ])
        .await?;

    let mut from = 0;
    for to in sizes.iter().copied().filter(|size| *size > SMALL) {
        eprintln!("creating GitRepositories until there are {to} Flux objects");
        let start = Instant::now();
        create_sources(&client, from..to - SMALL).await?;
        from = to - SMALL;
        eprintln!("took {:.0} s", start.elapsed().as_secs_f64());
        println!("## {to} Flux objects: the {SMALL} above and GitRepositories in {NAMESPACES} namespaces\n");
        let mut completion = Case::new(
            "completing a name among 2,000",
            "-- flux-operator -n scale-one get resources gitrepo/repo-000",
            "__complete get gitrepo -n scale-one repo-000",
        )
        .goal(100.0, None);
        completion.environment = vec![("COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "5"), ("_CLAP_IFS", "\n")];
        let all = Case::new("get resources -A", "get resources -A", "get gitrepo,ks -A");
        let cases = [
            match to {
                2_000 => all.goal(130.0, Some(25.0)),
                10_000 => all.goal(700.0, Some(30.0)),
                _ => all,
            },
            Case::new("get resources gitrepo -A", "get resources gitrepo -A", "get gitrepo -A"),
            Case::new("get resources -A -o name", "get resources -A -o name", "get gitrepo,ks -A -o name"),
            Case::new("get all -A --ready-status False", "get all -A --ready-status False", "get gitrepo,ks -A"),
            Case::new("stats", "stats", ""),
            Case::new("get instance flux", "get instance flux", "get fluxinstance flux").goal(12.0, None),
        ];
        if to == 2_000 {
            eprintln!("creating 2,000 more in one namespace, to be completed");
            create_in(&client, "scale-one", 0..2_000).await?;
            bench.report(&[completion]).await?;
            delete_in(&client, "scale-one").await?;
        }
        bench.report(&cases).await?;
        let path = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories";
        println!("{}\n", bench.server_alone("all GitRepositories in one answer", path, WHOLE).await?);
    }
    Ok(())
}

/// Measures lists of 2,000 Kustomizations of 4.3 KB.
async fn run_kustomizations(runs: usize) -> Fallible<()> {
    const OBJECTS: usize = 2_000;
    let bench = start(runs).await?;
    let client = bench.plane.client().clone();
    flux::install_crds(&client).await?;
    make_namespaces(&client).await?;
    eprintln!("creating {OBJECTS} Kustomizations");
    let all = (0..OBJECTS).map(|number| {
        let path = format!("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/scale-{:02}/kustomizations", number % NAMESPACES);
        let object = kustomization(&format!("app-{number:04}"), json!({}), number);
        let entries = (0..20).map(|part| {
            json!({"id": format!("scale-{:02}_app-{number:04}-part-{part:02}_apps_Deployment", number % NAMESPACES), "v": "v1"})
        });
        create(&client, path, object, kustomization_status(entries.collect()))
    });
    finish(stream::iter(all).buffer_unordered(CONCURRENCY).collect().await)?;
    println!("## {OBJECTS} Kustomizations\n");
    bench
        .report(&[
            Case::new("get ks -A -o name", "get ks -A -o name", "get ks -A -o name"),
            Case::new("get ks -A", "get ks -A", "get ks -A"),
        ])
        .await?;
    let path = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations";
    println!("{}", bench.server_alone("the metadata of all of them", path, METADATA).await?);
    println!("{}", bench.server_alone("all of them", path, WHOLE).await?);
    Ok(())
}

/// The `Accept` header for lists of whole objects.
const WHOLE: &str = "application/json";
/// The `Accept` header for lists of metadata.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

impl Bench {
    /// Measures the time until a client with an open connection has the compressed text of a list: a lower limit for
    /// commands that read it.
    async fn server_alone(&self, what: &str, path: &str, accept: &str) -> Fallible<String> {
        let mut times = Vec::new();
        for _ in 0..=self.runs {
            let request = http::Request::get(path).header("accept", accept).body(vec![])?;
            let start = Instant::now();
            self.plane.client().request_text(request).await?;
            times.push(start.elapsed().as_secs_f64() * 1000.0);
        }
        let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(format!("The API server alone, {what}: {:.0} ms ({fastest:.0})", median(times)))
    }

    /// Installs all controllers and a sync with our own reconcile core.
    async fn install(&self) -> Fallible<()> {
        let instance = json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system"},
            "spec": {
                "distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"},
                "components": ["source-controller", "kustomize-controller", "helm-controller", "notification-controller",
                    "image-reflector-controller", "image-automation-controller", "source-watcher"],
                // No Flux controller runs here that could make the sync ready.
                "wait": false,
                "sync": {"kind": "GitRepository", "url": "https://git.example.com/fleet", "ref": "refs/heads/main", "path": "./"},
            },
        });
        let file = self.plane.folder().join("flux.json");
        std::fs::write(&file, instance.to_string())?;
        let mut command = Command::new(&self.binary);
        command.args(["apply", "instance", "--in-process", "--timeout", "120s", "-f"]).arg(&file);
        command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let mut count = Command::new(&self.binary);
        count.args(["build", "instance", "-o", "name", "-f"]).arg(&file);
        let built = count.output()?.stdout;
        println!("The instance consists of {} objects.\n", String::from_utf8_lossy(&built).lines().count());
        // Commands also request kinds that the instance does not install, but most clusters have them.
        flux::install_crds(self.plane.client()).await
    }
}

async fn make_namespaces(client: &Client) -> Fallible<()> {
    let names = (0..NAMESPACES).map(|i| format!("scale-{i:02}")).chain(["scale-one".to_owned()]);
    let all: Vec<Value> =
        names.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).collect();
    objects::apply(client, "", &all).await.map(|_| ())
}

/// This gives objects of 42 lines and 2.8 KB (indented, as `curl` gets them), the size for which the goals were set.
fn source_status(name: &str, number: usize) -> Value {
    let revision = format!("main@sha1:{number:040x}");
    let time = "2026-01-01T00:00:00Z";
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time,
            "observedGeneration": 1})
    };
    // An object in ten fails, as in an incident.
    let conditions = if number.is_multiple_of(10) {
        let message = format!(
            "failed to checkout and determine revision: unable to clone 'https://git.example.com/{name}': \
             authentication required: Unauthorized"
        );
        vec![
            condition("Ready", "False", "GitOperationFailed", &message),
            condition("FetchFailed", "True", "GitOperationFailed", &message),
        ]
    } else {
        vec![condition("Ready", "True", "Succeeded", &format!("stored artifact for revision '{revision}'"))]
    };
    json!({
        "observedGeneration": 1, "conditions": conditions,
        "artifact": {"digest": format!("sha256:{number:064x}"), "lastUpdateTime": time, "revision": revision, "size": 4096,
            "path": format!("gitrepository/x/{name}/{number:040x}.tar.gz"),
            "url": format!("http://source-controller.flux-system.svc.cluster.local./gitrepository/x/{name}/{number:040x}.tar.gz")},
    })
}

/// Creates the object and writes its status, as a controller does.
async fn create(client: &Client, path: String, object: Value, status: Value) -> Fallible<()> {
    let send = async |method: http::Method, path: &str, body: &Value| -> Fallible<Value> {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json").body(body.to_string().into_bytes())?;
        Ok(client.request(request).await?)
    };
    let mut created = send(http::Method::POST, &format!("{path}?fieldManager=flux"), &object).await?;
    created["status"] = status;
    let name = created["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    send(http::Method::PUT, &format!("{path}/{name}/status?fieldManager=gotk-source-controller"), &created).await?;
    Ok(())
}

fn sources_path(namespace: &str) -> String {
    format!("/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}/gitrepositories")
}

/// The labels that kustomize-controller sets on objects of the sync.
fn owned() -> Value {
    json!({"kustomize.toolkit.fluxcd.io/name": "flux-system", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"})
}

async fn create_source(client: &Client, namespace: String, number: usize) -> Fallible<()> {
    let name = format!("repo-{number:05}");
    let labels = if namespace == "flux-system" { owned() } else { json!({}) };
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"interval": "10m", "url": format!("https://git.example.com/{name}"), "ref": {"branch": "main"}},
    });
    create(client, sources_path(&namespace), object, source_status(&name, number)).await
}

async fn create_sources(client: &Client, numbers: std::ops::Range<usize>) -> Fallible<()> {
    let all = numbers.map(|number| create_source(client, format!("scale-{:02}", number % NAMESPACES), number));
    finish(stream::iter(all).buffer_unordered(CONCURRENCY).collect().await)
}

async fn create_in(client: &Client, namespace: &str, numbers: std::ops::Range<usize>) -> Fallible<()> {
    let all = numbers.map(|number| create_source(client, namespace.to_owned(), number));
    finish(stream::iter(all).buffer_unordered(CONCURRENCY).collect().await)
}

async fn delete_in(client: &Client, namespace: &str) -> Fallible<()> {
    let request = http::Request::delete(sources_path(namespace)).body(vec![])?;
    client.request::<Value>(request).await?;
    Ok(())
}

fn kustomization(name: &str, labels: Value, source: usize) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "labels": labels},
        "spec": {"interval": "10m", "path": "./app", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": format!("repo-{source:05}")}},
    })
}

/// The status of a ready Kustomization with these entries in its inventory.
fn kustomization_status(entries: Vec<Value>) -> Value {
    json!({"observedGeneration": 1, "lastAppliedRevision": format!("main@sha1:{:040x}", 1), "inventory": {"entries": entries},
        "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "observedGeneration": 1,
            "message": format!("Applied revision: main@sha1:{:040x}", 1), "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

/// 100 sources and 100 Kustomizations in the inventory of the instance's sync, which is ready.
async fn create_small(client: &Client) -> Fallible<()> {
    let kustomizations = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations";
    create_in(client, "flux-system", 0..100).await?;
    for number in 0..100 {
        let object = kustomization(&format!("app-{number:03}"), owned(), number);
        create(client, kustomizations.to_owned(), object, kustomization_status(vec![])).await?;
    }
    let entries: Vec<Value> = (0..100)
        .flat_map(|number| {
            [
                json!({"id": format!("flux-system_repo-{number:05}_source.toolkit.fluxcd.io_GitRepository"), "v": "v1"}),
                json!({"id": format!("flux-system_app-{number:03}_kustomize.toolkit.fluxcd.io_Kustomization"), "v": "v1"}),
            ]
        })
        .collect();
    let patch = async |path: String, status: Value| -> Fallible<()> {
        let request = http::Request::patch(format!("{path}/status"))
            .header("content-type", "application/merge-patch+json")
            .body(json!({"status": status}).to_string().into_bytes())?;
        client.request::<Value>(request).await?;
        Ok(())
    };
    patch(format!("{kustomizations}/flux-system"), kustomization_status(entries)).await?;
    patch(format!("{}/flux-system", sources_path("flux-system")), source_status("fleet", 1)).await
}

fn finish(results: Vec<Fallible<()>>) -> Fallible<()> {
    results.into_iter().collect()
}
