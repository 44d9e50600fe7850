//! Conflicts of a run: with another run in the same cluster, with faults of its lease, and with a frozen server.

use std::collections::BTreeMap;
use std::time::Duration;

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::cluster::Cluster;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, ReconcileError};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::matrix::{Kind, differences, path_of};
use super::site::{Site, instance, spec};
use crate::cluster_tests;
use crate::support::{ClusterTest, Component, Fault, FaultRule, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        two_applies_at_the_same_time_end_with_the_complete_result_of_one,
        a_run_or_the_next_one_converges_after_every_failed_renewal,
        a_run_whose_api_server_is_frozen_writes_nothing_after_its_lease,
    ]
}

const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// A renewal has a sixth of this to be answered: on a busy machine, 3 s were too short. As long as a request may take, so that
/// one that hangs costs the lease.
const SHORT_LEASE: Duration = Duration::from_secs(6);
/// The state before both runs, the goal of the first, and the goal of the second.
const BEFORE: [&str; 2] = ["source-controller", "kustomize-controller"];
const FIRST: [&str; 1] = ["source-controller"];
const SECOND: [&str; 3] = ["source-controller", "kustomize-controller", "notification-controller"];

async fn apply(site: &Site, cluster: &Cluster, components: &[&str]) -> Result<(), ReconcileError> {
    let manifest =
        manifest::read(&instance(&spec(components)).to_string(), &NamespaceChoice::default()).expect("valid");
    let options = site.options();
    let outcome =
        reconcile::apply_instance(cluster, &manifest, false, &site.distribution, &options, &IgnoredProgress).await?;
    assert!(outcome.is_ready(), "{components:?}: {}", outcome.message);
    Ok(())
}

/// The part of a snapshot that must not depend on earlier runs: without the history and the number of spec changes.
async fn end(site: &Site) -> BTreeMap<String, Value> {
    let mut snapshot = site.snapshot().await;
    if let Some(Value::Object(instance)) = snapshot.get_mut("FluxInstance") {
        instance.retain(|key, _| {
            ["spec", "finalizers", "inventory", "components", "lastAppliedRevision"].contains(&key.as_str())
        });
    }
    snapshot
}

async fn two_applies_at_the_same_time_end_with_the_complete_result_of_one(_: TestCluster) {
    let site = Site::start().await.expect("a cluster");
    let through = site.through_proxy(REQUEST_TIMEOUT).await;
    apply(&site, &site.direct, &BEFORE).await.expect("undisturbed");
    let mut before = site.plane.save().await.expect("a state");
    apply(&site, &site.direct, &SECOND).await.expect("undisturbed");
    let second_alone = end(&site).await;
    site.put_back(&mut before).await.expect("the state before");
    let mark = site.proxy.requests().len();
    apply(&site, &through, &FIRST).await.expect("undisturbed");
    let first_alone = end(&site).await;
    let count = site.proxy.requests().len() - mark;
    assert!(count > 20, "{count} requests");
    let mut failures = vec![];
    let mut lasted = BTreeMap::<&str, usize>::new();
    for nth in 1..=count {
        site.put_back(&mut before).await.expect("the state before");
        let (release, allowed) = watch::channel(false);
        let mark = site.proxy.requests().len();
        site.proxy.add_rule(FaultRule::nth(nth, Fault::WaitFor(allowed)));
        let (first, second) = tokio::join!(apply(&site, &through, &FIRST), async {
            let held = eventually("the request", REQUEST_TIMEOUT, || async {
                (site.proxy.requests().len() >= mark + nth).then_some(())
            });
            // Runs differ in a request or two.
            let _ = held.await;
            let mut second = std::pin::pin!(apply(&site, &site.direct, &SECOND));
            // It ends here, or it waits for the lease of the first.
            let ended = tokio::time::timeout(Duration::from_millis(900), &mut second).await;
            let _ = release.send(true);
            match ended {
                Ok(ended) => ended,
                Err(_) => second.await,
            }
        });
        let at = site.proxy.requests().get(mark + nth - 1).map(|one| format!("{} {}", one.method, path_of(&one.uri)));
        let end = end(&site).await;
        let (who, expected) = match end["FluxInstance"]["spec"]["components"] == json!(FIRST) {
            true => ("first", &first_alone),
            false => ("second", &second_alone),
        };
        *lasted.entry(who).or_default() += 1;
        let mut trouble = differences(Some(expected), &end);
        trouble.extend(first.err().map(|error| format!("the first: {error}")));
        trouble.extend(second.err().map(|error| format!("the second: {error}")));
        super::progress()(&format!("{nth} {at:?}: the {who} lasted: {trouble:?}"));
        if !trouble.is_empty() {
            failures.push(format!("at request {nth}, {at:?}, the {who} lasted: {}", trouble.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(lasted.len() == 2, "either may come last: {lasted:?}");
    eprintln!("{count} requests; who came last: {lasted:?}");
}

/// A run with a short lease that waits for Deployments until something else ends it, and what the next run makes of it.
async fn install_while(site: &Site, disturb: impl Future<Output = ()>) -> Result<(), String> {
    site.wipe().await;
    let through = site.through_proxy(SHORT_LEASE).await;
    let _ = site.hold.send(true);
    let manifest = manifest::read(&instance(&spec(&FIRST)).to_string(), &NamespaceChoice::default()).expect("valid");
    let mut options = site.options();
    if let Some(lease) = &mut options.lease {
        lease.duration = SHORT_LEASE;
    }
    let run = reconcile::apply_instance(&through, &manifest, false, &site.distribution, &options, &IgnoredProgress);
    let (result, ()) = tokio::join!(run, async {
        eventually("the lease", REQUEST_TIMEOUT, || async {
            (site.proxy.count("POST", |uri| uri.contains("/leases?")) > 0).then_some(())
        })
        .await
        .expect("the run begins");
        disturb.await;
        let _ = site.hold.send(false);
    });
    match result {
        Ok(outcome) if outcome.is_ready() => Ok(()),
        Ok(outcome) => Err(outcome.message),
        Err(error) => Err(error.to_string()),
    }
}

async fn a_run_or_the_next_one_converges_after_every_failed_renewal(_: TestCluster) {
    let site = Site::start().await.expect("a cluster");
    install_while(&site, async {}).await.expect("undisturbed");
    let alone = end(&site).await;
    let mut failures = vec![];
    for kind in Kind::ALL {
        let renewals = site.proxy.count("PUT", |uri| uri.contains("/leases/"));
        site.proxy.clear_rules();
        let first = install_while(&site, async {
            site.proxy.add_rule(FaultRule::first(1, kind.fault()).method("PUT").uri(|uri| uri.contains("/leases/")));
            eventually("another renewal", 2 * SHORT_LEASE, || async {
                let seen = site.proxy.count("PUT", |uri| uri.contains("/leases/"));
                (seen >= renewals + 2).then_some(())
            })
            .await
            .unwrap_or_default();
        })
        .await;
        let met = site.proxy.count("PUT", |uri| uri.contains("/leases/")) > renewals;
        site.proxy.clear_rules();
        let second = match &first {
            Ok(()) => Ok(()),
            Err(_) => apply(&site, &site.direct, &FIRST).await,
        };
        let mut trouble = differences(Some(&alone), &end(&site).await);
        trouble.extend(second.err().map(|error| format!("the next run: {error}")));
        trouble.extend((!met).then(|| "no renewal was disturbed".to_owned()));
        super::progress()(&format!("{kind:?}: {first:?}: {trouble:?}"));
        if !trouble.is_empty() {
            failures.push(format!("{kind:?}, first run: {first:?}\n  {}", trouble.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

async fn a_run_whose_api_server_is_frozen_writes_nothing_after_its_lease(_: TestCluster) {
    let site = Site::start().await.expect("a cluster");
    let mark = std::sync::Mutex::new(None);
    let first = install_while(&site, async {
        eventually("a Deployment", Duration::from_secs(20), || async {
            (site.proxy.count("PATCH", |uri| uri.contains("/deployments/")) > 0).then_some(())
        })
        .await
        .expect("it is applied");
        site.plane.freeze(Component::ApiServer);
        // As long as the lease lasts: by then somebody else may work here.
        tokio::time::sleep(SHORT_LEASE).await;
        site.proxy.cut_connections();
        *mark.lock().expect("unpoisoned") = Some(site.proxy.requests().len());
        site.plane.thaw(Component::ApiServer);
    })
    .await;
    let error = first.expect_err("its lease is gone");
    assert!(error.contains("lease"), "{error}");
    let mark = mark.lock().expect("unpoisoned").expect("it was frozen");
    let after: Vec<String> = site
        .proxy
        .requests()
        .get(mark..)
        .unwrap_or_default()
        .iter()
        .filter(|one| one.method != "GET" && !one.uri.contains("/leases/"))
        .map(|one| format!("{} {}", one.method, one.uri))
        .collect();
    assert!(after.is_empty(), "{after:#?}");
    apply(&site, &site.direct, &FIRST).await.expect("the next run completes it");
}
