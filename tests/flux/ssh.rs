//! A sync over SSH from a real OpenSSH server, which shows another host key than the known one, or refuses the identity.

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::TestCluster;
use crate::support::flux::SshServer;
use crate::support::runner::ClusterTest;
use crate::sync::{cause, evidence, install};
use crate::world::{dump, run, ssh_auth};

pub fn tests() -> Vec<ClusterTest> {
    let tests = cluster_tests![a_host_key_that_is_not_the_known_one, an_identity_the_server_refuses];
    tests.into_iter().map(|test| test.where_possible(SshServer::unavailable_because)).collect()
}

/// The cause from a dump of the cluster is the one from the cluster.
async fn same_from_a_dump(cluster: &TestCluster, cause: &Value) {
    let file = dump(cluster).await;
    let run = run(cluster, &format!("why instance -o json --from {}", file.display())).await.exits(7);
    assert_eq!(&run.json()["cause"], cause);
}

async fn a_host_key_that_is_not_the_known_one(cluster: TestCluster) {
    let ssh = SshServer::start(cluster.folder()).await.expect("an SSH server");
    let identity = ssh.key("identity").expect("a key");
    cluster.apply(&[ssh_auth("git-auth", &identity, &ssh.wrong_known_hosts().expect("a key"))]).await;
    install(&cluster, &ssh.url("repo"), "./deploy", Some("git-auth")).await;
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
    run(&cluster, "reconcile resource gitrepo/app").await;
    cause(&cluster, "CredentialsRejected").await;
}

async fn an_identity_the_server_refuses(cluster: TestCluster) {
    let ssh = SshServer::start(cluster.folder()).await.expect("an SSH server");
    let identity = ssh.key("identity").expect("a key");
    cluster.apply(&[ssh_auth("git-auth", &identity, &ssh.known_hosts().expect("a key"))]).await;
    install(&cluster, &ssh.url("repo"), "./deploy", Some("git-auth")).await;
    let refused = cause(&cluster, "CredentialsRejected").await;
    assert!(evidence(&refused).contains("unable to authenticate"), "{refused:#}");
    assert!(evidence(&refused).contains("git-auth"), "{refused:#}");
    assert!(refused["next"].to_string().contains("create secret ssh git-auth"), "{refused:#}");
    same_from_a_dump(&cluster, &refused).await;
}
