//! Unplanned ends of the built binary.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::processes::{Work, Workshop, ended, killed, stderr_of};
use crate::cluster_tests;
use crate::support::proxy::Seen;
use crate::support::{ClusterTest, Fault, FaultRule, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_process_killed_at_any_moment_leaves_what_the_next_one_completes,
        ctrl_c_in_any_stage_says_what_was_done_and_the_next_run_completes_it,
    ]
}

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_flux-operator"))
}

async fn a_process_killed_at_any_moment_leaves_what_the_next_one_completes(_: TestCluster) {
    let failures = killed(binary(), 12, 20_260_101, 3, super::progress()).await.expect("undisturbed work succeeds");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Where a person gets impatient: the work, the method and a part of the path of the request that hangs, and words of the
/// answer.
const STAGES: [(Work, &str, &str, &str); 8] = [
    (
        Work::Install,
        "PATCH",
        "/namespaces/flux-system?fieldManager=flux-operator&force=true",
        "the run ended while applying",
    ),
    (Work::Install, "POST", "/leases?", "taking the lease"),
    (
        Work::Install,
        "PATCH",
        "/customresourcedefinitions/buckets.source.toolkit.fluxcd.io?fieldManager=flux-operator&force=true",
        "applying custom resource definitions",
    ),
    (
        Work::Install,
        "PATCH",
        "/deployments/source-controller?fieldManager=flux-operator&force=true",
        "applying objects",
    ),
    (Work::Change, "DELETE", "/deployments/kustomize-controller", "pruning objects"),
    (Work::Uninstall, "DELETE", "/deployments/source-controller", "deleting the controllers"),
    (Work::Uninstall, "DELETE", "/services/source-controller", "deleting objects"),
    (Work::Uninstall, "DELETE", "/fluxinstances/flux", "deleting objects"),
];

/// Counts the objects that the API server says it applied or deleted; the instance and the lease are none of Flux's.
fn changes(seen: &[Seen]) -> usize {
    let is_change = |one: &&Seen| match one.method.as_str() {
        "PATCH" => one.uri.contains("force=true") && !one.uri.contains("dryRun"),
        method => method == "DELETE",
    };
    let succeeded = |one: &&Seen| one.status.is_some_and(|status| status < 300);
    let changes = seen.iter().filter(is_change).filter(succeeded).filter(|one| !one.uri.contains("/fluxinstances/"));
    changes.map(|one| one.uri.split('?').next()).collect::<BTreeSet<_>>().len()
}

async fn ctrl_c_in_any_stage_says_what_was_done_and_the_next_run_completes_it(_: TestCluster) {
    let mut workshop = Workshop::open(binary()).await.expect("undisturbed work succeeds");
    let mut failures = vec![];
    for (work, method, part, words) in STAGES {
        workshop.lead_up_to(work).await.expect("undisturbed work succeeds");
        // A dry run of the same object is not meant.
        let hangs = move |uri: &str| uri.contains(part) && !uri.contains("dryRun");
        let before = workshop.site.proxy.count(method, hangs);
        let earlier = workshop.site.proxy.requests().len();
        workshop.site.proxy.add_rule(FaultRule::every(Fault::Hang).method(method).uri(hangs));
        let child = workshop.start(work, "--request-timeout 2s").expect("the binary starts");
        let pid = child.id();
        eventually(part, Duration::from_secs(30), || async {
            (workshop.site.proxy.count(method, hangs) > before).then_some(())
        })
        .await
        .expect("the request comes");
        Command::new("kill").args(["-INT", &pid.to_string()]).status().expect("kill is there");
        let output = ended(child).await.expect("the process ends");
        let text = stderr_of(&output);
        let done = changes(workshop.site.proxy.requests().get(earlier..).unwrap_or_default());
        let next = workshop.complete_and_compare(work).await;
        super::progress()(&format!(
            "{work:?}, {method} {part}: {:?}\n{text}\nnext run: {next:?}",
            output.status.code()
        ));
        let counted = match done {
            0 if part.contains("/leases") => "nothing was changed".to_owned(),
            // A hanging request may have been carried out.
            0 => "no change is known, but requests that were sent may have been carried out".to_owned(),
            1 => "1 object was changed".to_owned(),
            done => format!("{done} objects were changed"),
        };
        let reported =
            text.contains(&format!("interrupted: {counted}")) && text.contains("hint: ") && text.contains(words);
        if output.status.code() != Some(130) || !reported || next.is_err() {
            failures.push(format!(
                "{work:?}, {method} {part}: {}, wanted {counted:?}, {words:?}\n{text}\nnext run: {next:?}",
                output.status
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
