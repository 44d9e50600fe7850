//! A sync over SSH from a real OpenSSH server, which shows another host key than the known one, or refuses the identity.

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::flux::SshServer;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually};
use crate::sync::{cause, evidence, install_failing};
use crate::world::{SOON, dump, run, ssh_auth};

pub fn tests() -> Vec<ClusterTest> {
    let tests = cluster_tests![a_host_key_that_is_not_the_known_one_and_then_an_identity_that_is_refused];
    tests.into_iter().map(|test| test.where_possible(SshServer::unavailable_because)).collect()
}

/// Waits until a dump of the cluster gives the cause that the cluster gave; the controller tries again and again, so
/// that the times differ, and one dump may show it at work.
async fn same_from_a_dump(cluster: &TestCluster, live: &Value) {
    let parts = |cause: &Value| {
        let fields = ["object", "reason", "summary", "next"].map(|field| cause[field].clone());
        (fields, evidence(cause))
    };
    let same = eventually("the same cause from a dump", SOON, || async {
        let file = dump(cluster).await;
        let run = run(cluster, &format!("why instance -o json --from {}", file.display())).await;
        (run.code == 7 && parts(&run.json()["cause"]) == parts(live)).then_some(())
    });
    if let Err(error) = same.await {
        let file = dump(cluster).await;
        let last = run(cluster, &format!("why instance --from {}", file.display())).await;
        panic!("{error}: {live:#}\nbut ({}):\n{}{}", last.code, last.stdout, last.stderr)
    }
}

async fn a_host_key_that_is_not_the_known_one_and_then_an_identity_that_is_refused(cluster: TestCluster) {
    let ssh = SshServer::start(cluster.folder()).await.expect("an SSH server");
    let identity = ssh.key("identity").expect("a key");
    cluster.apply(&[ssh_auth("git-auth", &identity, &ssh.wrong_known_hosts().expect("a key"))]).await;
    install_failing(&cluster, &ssh.url("repo"), "./deploy", Some("git-auth")).await;
    let wrong = cause(&cluster, "HostKeyWrong").await;
    assert_eq!((&wrong["object"]["kind"], &wrong["object"]["name"]), (&json!("GitRepository"), &json!("app")));
    let secret = format!("known_hosts comes from Secret/{}/git-auth", cluster.namespace());
    for part in ["knownhosts: key mismatch", &ssh.url("repo"), &secret] {
        assert!(evidence(&wrong).contains(part), "no {part:?}: {wrong:#}");
    }
    assert!(!wrong.to_string().contains("PRIVATE KEY"), "{wrong:#}");
    let next = wrong["next"].to_string();
    assert!(next.contains("create secret ssh git-auth") && next.contains("--knownhosts-file"), "{next}");
    same_from_a_dump(&cluster, &wrong).await;

    // With the right key the connection gets one step further.
    cluster.apply(&[ssh_auth("git-auth", &identity, &ssh.known_hosts().expect("a key"))]).await;
    run(&cluster, "reconcile resource gitrepo/app").await.exits(7);
    let refused = cause(&cluster, "CredentialsRejected").await;
    let secret = format!("credentials come from Secret/{}/git-auth", cluster.namespace());
    for part in ["unable to authenticate", &ssh.url("repo"), &secret] {
        assert!(evidence(&refused).contains(part), "no {part:?}: {refused:#}");
    }
    assert!(refused["next"].to_string().contains("create secret ssh git-auth"), "{refused:#}");
    same_from_a_dump(&cluster, &refused).await;
}
