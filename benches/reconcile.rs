//! How fast a reconciliation is, beside `kubectl apply --server-side` of the same manifests.
//!
//! ```sh
//! cargo bench --bench reconcile    # KUBECTL=/path/to/kubectl, when the one in PATH only picks another
//! ```
//! The two columns of figures are one machine's; the ratios are what counts. With 20 ms added to every request the number
//! of round trips shows, on loopback what the work itself costs.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flux_operator::api::FluxInstance;
use flux_operator::api::kinds;
use flux_operator::cluster::object::ResourceId;
use flux_operator::cluster::requests::Selector;
use flux_operator::cluster::watch::{Change, Follower};
use flux_operator::cluster::{Cluster, ConnectOptions, KubeconfigSource, connect};
use flux_operator::distribution::Distribution;
use flux_operator::reconcile::progress::{Silent, Update};
use flux_operator::reconcile::run::instance_of;
use flux_operator::reconcile::{self, Options};
use serde_json::{Value, json};
use support::{ControlPlane, Fallible, Fault, FaultProxy, FaultRule};

const NAMESPACE: &str = "flux-system";
const DELAY: Duration = Duration::from_millis(20);

fn main() -> Fallible<()> {
    // `cargo test --benches` only asks whether it builds.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    if let Some(why) = support::programs::unavailable_because() {
        println!("skipped: {why}");
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(measure())
}

/// All seven components: 43 objects.
fn instance_manifest(wait: bool) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": {
        "distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"},
        "components": ["source-controller", "kustomize-controller", "helm-controller", "notification-controller",
            "image-reflector-controller", "image-automation-controller", "source-watcher"],
        "wait": wait}})
}

async fn connected(kubeconfig: &Path) -> Fallible<Cluster> {
    Ok(connect(ConnectOptions::new(KubeconfigSource::File(kubeconfig.to_owned()))).await?)
}

async fn instance(cluster: &Cluster, wait: bool) -> Fallible<FluxInstance> {
    reconcile::prepare(cluster, NAMESPACE, &Silent).await?;
    let stored = cluster.apply_forced(&instance_manifest(wait), "bench", false).await?;
    Ok(instance_of(&stored)?)
}

/// One run: how long until the last object was applied, and until the end.
async fn reconciled(cluster: &Cluster, instance: &FluxInstance) -> Fallible<(Duration, Duration)> {
    let last = Arc::new(Mutex::new(Instant::now()));
    let begun = Instant::now();
    let noted = last.clone();
    let listen = move |update: Update| {
        if matches!(update, Update::Object { .. }) {
            *noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Instant::now();
        }
    };
    let outcome = reconcile::run(
        cluster,
        instance,
        &Distribution::embedded(),
        &Options::in_process("flux-operator-ctl/bench"),
        &listen,
    )
    .await?;
    assert!(outcome.is_ready(), "{}", outcome.message);
    let applied = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).duration_since(begun);
    Ok((applied, begun.elapsed()))
}

async fn measure() -> Fallible<()> {
    println!("{:<44} {:>10} {:>10} {:>7}", "", "ours", "kubectl", "ratio");
    let row = |what: &str, ours: Duration, theirs: Option<Duration>| {
        let (kubectl, ratio) = match theirs {
            Some(theirs) => {
                (format!("{} ms", theirs.as_millis()), format!("1/{:.1}", theirs.as_secs_f64() / ours.as_secs_f64()))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!("{what:<44} {:>10} {kubectl:>10} {ratio:>7}", format!("{} ms", ours.as_millis()));
    };

    // With a delay: first install and steady state, on a cluster each.
    let plane = ControlPlane::start().await?;
    let user = plane.admin("ours")?;
    let proxy = FaultProxy::start(&user, plane.folder()).await?;
    let cluster = connected(proxy.kubeconfig().path()).await?;
    let stored = instance(&cluster, false).await?;
    proxy.add_rule(FaultRule::every(Fault::Delay(DELAY)));
    let (install, _) = reconciled(&cluster, &stored).await?;
    let mut steady = Duration::MAX;
    for _ in 0..5 {
        let stored = instance(&cluster, false).await?;
        steady = steady.min(reconciled(&cluster, &stored).await?.1);
    }
    drop(proxy);
    drop(plane);
    let kubectl = match kubectl().await {
        Ok(figures) => Some(figures),
        Err(error) => {
            println!("kubectl is left out: {error}");
            None
        }
    };
    row("first install of 43 objects, +20 ms per call", install, kubectl.map(|figures| figures.0));
    row("steady state of 43 objects, +20 ms per call", steady, kubectl.map(|figures| figures.1));

    // On loopback: the work itself, and how soon a Deployment that became ready shows.
    let plane = ControlPlane::start().await?;
    let cluster = connected(plane.admin("ours")?.path()).await?;
    let stored = instance(&cluster, true).await?;
    let (latency, run) = tokio::join!(ready_latency(&cluster), reconciled(&cluster, &stored));
    let (applied, install) = run?;
    row("loopback: install, applied", applied, None);
    row("loopback: install, Ready", install, None);
    row("loopback: last Deployment ready -> Ready", latency?, None);
    let mut steady = Duration::MAX;
    for _ in 0..5 {
        let stored = instance(&cluster, true).await?;
        steady = steady.min(reconciled(&cluster, &stored).await?.1);
    }
    row("loopback: steady state", steady, None);
    Ok(())
}

/// `kubectl apply --server-side` of the same objects through the same kind of proxy: first and second time.
async fn kubectl() -> Fallible<(Duration, Duration)> {
    let plane = ControlPlane::start().await?;
    let cluster = connected(plane.admin("ours")?.path()).await?;
    let stored = instance(&cluster, false).await?;
    let built = flux_operator::build::build(&stored, &Distribution::embedded(), &Default::default())?;
    let manifests = plane.folder().join("manifests.yaml");
    std::fs::write(&manifests, flux_operator::yaml::document_stream(&built.objects)?)?;
    let proxy = FaultProxy::start(&plane.admin("kubectl")?, plane.folder()).await?;
    let kubeconfig = proxy.kubeconfig().path().to_owned();
    let home = plane.folder().to_owned();
    let apply = move || -> Fallible<Duration> {
        let begun = Instant::now();
        // The proxy shows the certificate; without any credentials kubectl asks for some.
        let output = Command::new(std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into()))
            .args(["apply", "--server-side", "--force-conflicts", "--username=any", "--password=any", "-f"])
            .arg(&manifests)
            .env("KUBECONFIG", &kubeconfig)
            .env("HOME", &home)
            .output()?;
        let elapsed = begun.elapsed();
        if output.status.success() {
            Ok(elapsed)
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into())
        }
    };
    proxy.add_rule(FaultRule::every(Fault::Delay(DELAY)));
    tokio::task::spawn_blocking(move || -> Fallible<(Duration, Duration)> {
        // The first apply of a definition and of its kind may have to wait until the kind is served.
        let first = apply()?;
        Ok((first, apply()?))
    })
    .await?
}

/// From the moment the last Deployment became available to the moment the instance's status says Ready.
async fn ready_latency(cluster: &Cluster) -> Fallible<Duration> {
    let mut deployments = Follower::new(cluster, kinds::DEPLOYMENT, Some(NAMESPACE), Selector::default(), None);
    let of_instance = cluster.resource(&ResourceId::of(&instance_manifest(true))).await?;
    let mut instances = Follower::new(cluster, of_instance, Some(NAMESPACE), Selector::default(), None);
    let available = async {
        let mut done = std::collections::BTreeSet::new();
        while done.len() < 7 {
            let changed = match deployments.next().await? {
                Change::All(items) => items,
                Change::Set(item) | Change::Gone(item) => vec![item],
            };
            for one in changed.iter().filter(|one| flux_operator::api::kstatus::compute(one).is_current()) {
                done.insert(ResourceId::of(one).name);
            }
        }
        Fallible::Ok(Instant::now())
    };
    let ready = async {
        loop {
            let changed = match instances.next().await? {
                Change::All(items) => items,
                Change::Set(item) | Change::Gone(item) => vec![item],
            };
            let conditions = changed.iter().filter_map(|one| one.pointer("/status/conditions")?.as_array()).flatten();
            if conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True") {
                return Fallible::Ok(Instant::now());
            }
        }
    };
    let (available, ready) = tokio::try_join!(available, ready)?;
    Ok(ready.saturating_duration_since(available))
}
