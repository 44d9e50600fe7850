//! Connections to a cluster and their errors: kubeconfigs, flags, credentials, and unreachable, slow or silent servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::cluster::program::{Run, run};
use crate::cluster_tests;
use crate::support::certificates::Authority;
use crate::support::control_plane::FreePorts;
use crate::support::kubeconfig::Credentials;
use crate::support::{
    ClusterTest, ConnectProxy, Fault, FaultProxy, FaultRule, IN_TIME, Kubeconfig, Options, TestCluster, allow,
};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_user_without_rights_sees_which_right_is_missing,
        an_expired_token_says_when_it_expired,
        an_expired_certificate_says_when_it_expired,
        unknown_credentials_are_denied,
        a_dead_server_is_an_error_within_seconds,
        a_silent_server_ends_at_the_request_timeout,
        a_server_that_stays_silent_after_the_handshake_ends_at_the_limit,
        a_bare_number_is_seconds_and_the_whole_command_has_a_limit,
        a_busy_server_is_asked_again_and_the_user_is_informed,
        a_server_that_stays_busy_is_given_up_in_time,
        an_unavailable_server_is_asked_again_and_then_given_up,
        a_cut_connection_is_tried_again,
        a_call_that_stays_unanswered_ends_at_its_limit_and_is_not_sent_again,
        a_stale_answer_is_not_retried,
        kubeconfigs_in_several_files_are_merged_and_missing_ones_skipped,
        a_named_kubeconfig_must_exist,
        an_unknown_context_lists_the_known_ones,
        a_credential_plugin_with_a_certificate_runs_once,
        a_credential_plugin_with_a_token_runs_once_and_again_when_refused,
        a_failing_credential_plugin_is_reported_without_its_output,
        a_proxy_of_the_kubeconfig_is_used,
        requests_of_a_command_share_one_connection,
        a_certificate_for_another_name_is_explained_and_can_be_named,
        an_unknown_authority_is_explained_and_can_be_given,
        flags_alone_reach_a_cluster,
        impersonation_is_sent,
        every_request_says_which_command_asks,
        a_missing_api_has_its_own_exit_code,
        errors_are_json_when_asked_for,
    ]
}

const CREATE: [&str; 6] = ["create", "secret", "basic-auth", "x", "--username=u", "--password=p"];

fn with(rest: &[&'static str]) -> Vec<&'static str> {
    [&CREATE[..], rest].concat()
}

/// The binary with a kubeconfig of its own.
fn at(cluster: &TestCluster, kubeconfig: &Path) -> Command {
    let mut command = cluster.command();
    command.env("KUBECONFIG", kubeconfig).env("FLUX_OPERATOR_NAMESPACE", cluster.namespace());
    command
}

async fn exists(cluster: &TestCluster, name: &str) -> bool {
    Api::<Secret>::namespaced(cluster.client(), cluster.namespace()).get_opt(name).await.unwrap().is_some()
}

/// A folder of this test with kubeconfigs written as JSON, which is YAML.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, value: &Value) -> PathBuf {
        self.text(name, &value.to_string())
    }

    fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.text(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        path
    }
}

async fn a_user_without_rights_sees_which_right_is_missing(cluster: TestCluster) {
    let eve = cluster.user_without_rights(&format!("eve-{}", cluster.namespace())).unwrap();
    let outcome = run(at(&cluster, eve.path()), &CREATE).await.exits(5);
    let outcome = outcome.stderr_has(&format!("is not allowed to get secrets in namespace {}", cluster.namespace()));
    let outcome = outcome.stderr_has("kubectl auth can-i get secrets");
    assert_eq!(outcome.stdout, "");
    // A user with only read access sees which verb is missing.
    let name = format!("reader-{}", cluster.namespace());
    let reader = cluster.user(&name, Some(cluster.namespace()), &[allow(&["get"], "", &["secrets"])]).await.unwrap();
    run(at(&cluster, reader.path()), &CREATE).await.exits(5).stderr_has("is not allowed to patch secrets in namespace");
}

async fn an_expired_token_says_when_it_expired(cluster: TestCluster) {
    let expired = cluster.expired_token().unwrap();
    let outcome = run(at(&cluster, expired.path()), &CREATE).await.exits(5).stderr_has("the token has expired (at 2");
    let Credentials::Token(token) = &expired.credentials else { panic!("a token is expected") };
    assert!(!outcome.stderr.contains(token.as_str()));
    let mut flag = cluster.command();
    flag.args(["--kube-token", token]);
    run(flag, &CREATE).await.exits(5).stderr_has("the token has expired");
}

async fn an_expired_certificate_says_when_it_expired(cluster: TestCluster) {
    let expired = cluster.expired_certificate().unwrap();
    let outcome = run(at(&cluster, expired.path()), &CREATE).await.exits(5);
    outcome.stderr_has("the client certificate has expired (at 2021-01-01").stderr_has("renew");
}

async fn unknown_credentials_are_denied(cluster: TestCluster) {
    let outcome = run(cluster.command(), &with(&["--kube-token=nobody"])).await.exits(5);
    outcome.stderr_has("does not accept the credentials").stderr_has(cluster.url());
}

async fn a_dead_server_is_an_error_within_seconds(cluster: TestCluster) {
    let free = FreePorts::<1>::find().unwrap();
    let server = format!("https://127.0.0.1:{}", free.ports[0]);
    let folder = Folder::new();
    let mut value = cluster.kubeconfig().value();
    value["clusters"][0]["cluster"]["server"] = json!(server);
    let path = folder.write("dead", &value);
    let outcome = run(at(&cluster, &path), &CREATE).await.exits(6).within(IN_TIME);
    outcome
        .stderr_has(&format!("{server} (context test) cannot be reached"))
        .stderr_has("waiting:")
        .stderr_has("refused");
    value["clusters"][0]["cluster"]["server"] = json!("https://no-such-host.invalid:6443");
    let path = folder.write("unknown", &value);
    run(at(&cluster, &path), &CREATE).await.exits(6).stderr_has("no-such-host.invalid:6443 (context test) cannot be");
}

/// Accepts every connection and says nothing.
async fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut held = vec![];
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    address
}

#[track_caller]
fn ended_at_three_seconds(outcome: Run) {
    let outcome = outcome.exits(7).within(IN_TIME).stderr_has("did not answer within 3s");
    assert!(outcome.took >= Duration::from_millis(2900), "gave up after {:?}", outcome.took);
}

async fn a_silent_server_ends_at_the_request_timeout(cluster: TestCluster) {
    let address = silent().await;
    for scheme in ["https", "http"] {
        for limit in ["--request-timeout=3s", "--request-timeout=3"] {
            let mut command = cluster.command();
            command.arg(format!("--server={scheme}://{address}"));
            ended_at_three_seconds(run(command, &with(&[limit])).await);
        }
    }
}

async fn a_server_that_stays_silent_after_the_handshake_ends_at_the_limit(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::Hang));
    let command = at(&cluster, proxy.kubeconfig().path());
    ended_at_three_seconds(run(command, &with(&["--request-timeout=3s"])).await);
    // The limit is one for the call, however often it is tried.
    proxy.clear_rules();
    proxy.add_rule(FaultRule::first(2, Fault::too_many_requests(1)));
    proxy.add_rule(FaultRule::every(Fault::Hang));
    let command = at(&cluster, proxy.kubeconfig().path());
    ended_at_three_seconds(run(command, &with(&["--request-timeout=3s"])).await);
}

async fn a_bare_number_is_seconds_and_the_whole_command_has_a_limit(cluster: TestCluster) {
    let server = format!("--server=http://{}", silent().await);
    let mut command = cluster.command();
    command.arg(server);
    let outcome = run(command, &with(&["--timeout=3", "--request-timeout=1m"])).await.exits(7);
    let outcome = outcome.within(IN_TIME).stderr_has("3s");
    assert!(outcome.took >= Duration::from_millis(2900), "gave up after {:?}", outcome.took);
    run(cluster.command(), &with(&["--timeout=soon"])).await.exits(2).stderr_has("is not a duration");
}

async fn a_busy_server_is_asked_again_and_the_user_is_informed(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::first(1, Fault::too_many_requests(1)));
    let outcome = run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(0).stdout_has("created");
    let outcome = outcome
        .stderr_has("waiting: GET /api/v1/namespaces/")
        .stderr_has("429 Too Many Requests: the fault proxy answered 429; trying again in 1s");
    assert!(outcome.took >= Duration::from_secs(1), "did not wait: {:?}", outcome.took);
    proxy.clear_rules();
    proxy.add_rule(FaultRule::first(1, Fault::too_many_requests(1)));
    let quiet = run(at(&cluster, proxy.kubeconfig().path()), &with(&["--quiet"])).await.exits(0);
    assert_eq!(quiet.stderr, "");
}

async fn a_server_that_stays_busy_is_given_up_in_time(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::too_many_requests(600)));
    // The limit holds, whatever `Retry-After` the server sends.
    let outcome = run(at(&cluster, proxy.kubeconfig().path()), &with(&["--request-timeout=3s"])).await.exits(1);
    outcome.within(IN_TIME).stderr_has("asks to slow down (429)");
    proxy.clear_rules();
    proxy.add_rule(FaultRule::every(Fault::Answer { status: 429, retry_after: None }));
    let before = proxy.requests().len();
    run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(1).within(Duration::from_secs(10));
    assert_eq!(proxy.requests().len() - before, 5);
}

async fn an_unavailable_server_is_asked_again_and_then_given_up(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::first(2, Fault::unavailable()));
    run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(0).stderr_has("503 Service Unavailable");
    proxy.clear_rules();
    proxy.add_rule(FaultRule::every(Fault::unavailable()));
    let outcome = run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(6).within(Duration::from_secs(10));
    let outcome = outcome.stderr_has("cannot be reached: it answered 503");
    assert_eq!(outcome.stderr.matches("trying again").count(), 1, "a problem is reported once: {}", outcome.stderr);
    proxy.clear_rules();
    proxy.add_rule(FaultRule::first(1, Fault::internal_error()));
    run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(0);
}

async fn a_cut_connection_is_tried_again(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::first(1, Fault::CutBefore).method("GET"));
    // The API server has stored it, and its answer is lost: server-side apply may be sent twice.
    proxy.add_rule(FaultRule::first(1, Fault::CutAfter).method("PATCH"));
    let outcome = run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(0);
    outcome.stderr_has("the connection was cut; trying again");
    assert!(exists(&cluster, "x").await);
    assert_eq!(proxy.count("PATCH", |_| true), 2);
}

async fn a_call_that_stays_unanswered_ends_at_its_limit_and_is_not_sent_again(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    let limited = with(&["--request-timeout=3s"]);
    for method in ["GET", "PATCH"] {
        proxy.clear_rules();
        proxy.add_rule(FaultRule::first(1, Fault::Hang).method(method));
        let before = proxy.count(method, |_| true);
        ended_at_three_seconds(run(at(&cluster, proxy.kubeconfig().path()), &limited).await);
        assert_eq!(proxy.count(method, |_| true) - before, 1, "{method}");
    }
}

async fn a_stale_answer_is_not_retried(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::conflict()).method("PATCH"));
    run(at(&cluster, proxy.kubeconfig().path()), &CREATE).await.exits(1).stderr_has("changed by someone else");
    assert_eq!(proxy.count("PATCH", |_| true), 1);
}

async fn kubeconfigs_in_several_files_are_merged_and_missing_ones_skipped(cluster: TestCluster) {
    let folder = Folder::new();
    let whole = cluster.kubeconfig().value();
    let part = |key: &str| folder.write(key, &json!({"apiVersion": "v1", "kind": "Config", key: whole[key]}));
    let current = folder.write("current", &json!({"current-context": whole["current-context"]}));
    let paths = [part("clusters"), folder.0.path().join("missing"), part("users"), part("contexts"), current];
    let list = std::env::join_paths(paths).unwrap();
    let mut command = cluster.command();
    command.env("KUBECONFIG", list);
    let place = format!("secret/{}/x created (context test)", cluster.namespace());
    run(command, &CREATE).await.exits(0).stdout_has(&place);
}

async fn a_named_kubeconfig_must_exist(cluster: TestCluster) {
    let outcome = run(cluster.command(), &with(&["--kubeconfig=/nowhere/config"])).await.exits(6);
    outcome.stderr_has("kubeconfig /nowhere/config: No such file");
    let mut none = cluster.command();
    none.env("KUBECONFIG", "/nowhere/config");
    run(none, &CREATE).await.exits(6).stderr_has("looked in /nowhere/config").stderr_has("hint:");
}

async fn an_unknown_context_lists_the_known_ones(cluster: TestCluster) {
    for flag in ["--context=nope", "--kube-context=nope"] {
        let outcome = run(cluster.command(), &with(&[flag])).await.exits(6);
        outcome.stderr_has("context nope is not in the kubeconfig").stderr_has("known contexts: test");
    }
    run(cluster.command(), &with(&["--kube-context=test"])).await.exits(0);
}

/// The admin's kubeconfig, signed in by a plugin.
fn plugin_kubeconfig(cluster: &TestCluster, folder: &Folder, plugin: &Path) -> PathBuf {
    let mut value = cluster.kubeconfig().value();
    value["users"][0]["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "args": ["get-token"],
        "env": [{"name": "PLUGIN_SETTING", "value": "set"}],
        "interactiveMode": "Never", "provideClusterInfo": true, "installHint": "install the plugin first",
    }});
    folder.write("plugin", &value)
}

fn plugin(folder: &Folder, status: &Value) -> PathBuf {
    let answer = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status});
    let runs = folder.0.path().join("runs");
    let script = format!(
        "#!/bin/sh\necho \"$1 $PLUGIN_SETTING $KUBERNETES_EXEC_INFO\" >> {}\ncat <<'END'\n{answer}\nEND\n",
        runs.display()
    );
    folder.script("plugin.sh", &script)
}

fn plugin_runs(folder: &Folder) -> Vec<String> {
    fs::read_to_string(folder.0.path().join("runs")).unwrap_or_default().lines().map(str::to_owned).collect()
}

async fn a_credential_plugin_with_a_certificate_runs_once(cluster: TestCluster) {
    let folder = Folder::new();
    let Credentials::Certificate(pair) = &cluster.kubeconfig().credentials else { panic!("a certificate is expected") };
    let status = json!({"clientCertificateData": pair.certificate, "clientKeyData": pair.key});
    let config = plugin_kubeconfig(&cluster, &folder, &plugin(&folder, &status));
    run(at(&cluster, &config), &CREATE).await.exits(0).stdout_has("created");
    let runs = plugin_runs(&folder);
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert!(runs[0].starts_with("get-token set {"), "{runs:?}");
    assert!(runs[0].contains("ExecCredential") && runs[0].contains(cluster.url()), "{runs:?}");
}

async fn a_credential_plugin_with_a_token_runs_once_and_again_when_refused(cluster: TestCluster) {
    let folder = Folder::new();
    let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "robot"}})).unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(cluster.client(), cluster.namespace());
    accounts.create(&PostParams::default(), &account).await.unwrap();
    cluster
        .apply(&[
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "robot"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "patch", "create"]}]}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "robot"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot"},
                "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": cluster.namespace()}]}),
        ])
        .await;
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let made = accounts.create_token_request("robot", &PostParams::default(), &request).await.unwrap();
    let token = made.status.and_then(|s| s.token).expect("a token");

    let config = plugin_kubeconfig(&cluster, &folder, &plugin(&folder, &json!({"token": token})));
    let outcome = run(at(&cluster, &config), &with(&["-vvv"])).await.exits(0).stdout_has("created");
    assert_eq!(plugin_runs(&folder).len(), 1);
    assert!(!outcome.stderr.contains(&token), "{}", outcome.stderr);

    // Refused once, the plugin runs again; refused twice, the error is reported.
    let folder = Folder::new();
    let config = plugin_kubeconfig(&cluster, &folder, &plugin(&folder, &json!({"token": "stale"})));
    run(at(&cluster, &config), &CREATE).await.exits(5).stderr_has("does not accept the credentials");
    assert_eq!(plugin_runs(&folder).len(), 2);

    // The plugin also runs again for a refused token if the server was busy before.
    let proxy = FaultProxy::start(cluster.kubeconfig(), cluster.folder()).await.unwrap();
    proxy.add_rule(FaultRule::first(1, Fault::unavailable()));
    proxy.add_rule(FaultRule::every(Fault::Answer { status: 401, retry_after: None }));
    let folder = Folder::new();
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": plugin(&folder, &json!({"token": "stale"}))});
    let mut value = proxy.kubeconfig().value();
    value["users"][0]["user"] = json!({"exec": exec});
    let config = folder.write("busy", &value);
    run(at(&cluster, &config), &CREATE).await.exits(5).stderr_has("does not accept the credentials");
    assert_eq!(plugin_runs(&folder).len(), 2);
}

async fn a_failing_credential_plugin_is_reported_without_its_output(cluster: TestCluster) {
    let folder = Folder::new();
    let script = folder.script("plugin.sh", "#!/bin/sh\necho '{\"token\": \"canary-41\"}'\nexit 3\n");
    let outcome = run(at(&cluster, &plugin_kubeconfig(&cluster, &folder, &script)), &CREATE).await.exits(5);
    let outcome = outcome.stderr_has("ended with exit status: 3");
    assert!(!outcome.stderr.contains("canary-41"), "{}", outcome.stderr);
    let script = folder.script("plugin.sh", "#!/bin/sh\necho canary-41\n");
    let outcome = run(at(&cluster, &plugin_kubeconfig(&cluster, &folder, &script)), &CREATE).await.exits(5);
    let outcome = outcome.stderr_has("printed no ExecCredential");
    assert!(!outcome.stderr.contains("canary-41"), "{}", outcome.stderr);
    let missing = folder.0.path().join("missing");
    let config = plugin_kubeconfig(&cluster, &folder, &missing);
    run(at(&cluster, &config), &CREATE).await.exits(5).stderr_has("hint: install the plugin first");
}

async fn a_proxy_of_the_kubeconfig_is_used(cluster: TestCluster) {
    let proxy = ConnectProxy::start().await.unwrap();
    let folder = Folder::new();
    let mut value = cluster.kubeconfig().value();
    value["clusters"][0]["cluster"]["proxy-url"] = json!(proxy.url());
    let config = folder.write("proxied", &value);
    run(at(&cluster, &config), &CREATE).await.exits(0).stdout_has("created");
    assert_eq!(proxy.tunnels(), [cluster.url().trim_start_matches("https://")]);
    // A proxy of the environment is for servers elsewhere; this one is on the loopback.
    let mut direct = cluster.command();
    direct.env("HTTPS_PROXY", "http://127.0.0.1:1");
    run(direct, &CREATE).await.exits(0);
    let mut remote = cluster.command();
    remote.env("HTTPS_PROXY", proxy.url()).arg("--server=https://192.0.2.1:6443");
    run(remote, &with(&["--request-timeout=2s"])).await;
    assert!(proxy.tunnels().contains(&"192.0.2.1:6443".to_owned()), "{:?}", proxy.tunnels());
}

/// Handshakes are what a short command costs most.
async fn requests_of_a_command_share_one_connection(cluster: TestCluster) {
    let proxy = ConnectProxy::start().await.unwrap();
    let folder = Folder::new();
    let mut value = cluster.kubeconfig().value();
    value["clusters"][0]["cluster"]["proxy-url"] = json!(proxy.url());
    let config = folder.write("proxied", &value);
    let mark = cluster.mark().await;
    run(at(&cluster, &config), &["check"]).await.stdout_has("kubernetes");
    let requests = cluster.requests_since(mark).await.0.len();
    assert!(requests >= 5, "{requests}");
    assert_eq!(proxy.tunnels().len(), 1, "{requests} requests");
}

async fn a_certificate_for_another_name_is_explained_and_can_be_named(cluster: TestCluster) {
    let proxy =
        FaultProxy::start_as(cluster.kubeconfig(), cluster.folder(), &["kubernetes.example.com"]).await.unwrap();
    let config = proxy.kubeconfig().path().to_owned();
    let outcome = run(at(&cluster, &config), &CREATE).await.exits(6).within(IN_TIME);
    let outcome = outcome.stderr_has("is not valid for this name; it is valid for kubernetes.example.com");
    outcome.stderr_has("--tls-server-name kubernetes.example.com");
    for flag in ["--tls-server-name=kubernetes.example.com", "--kube-tls-server-name=kubernetes.example.com"] {
        run(at(&cluster, &config), &with(&[flag])).await.exits(0);
    }
}

async fn an_unknown_authority_is_explained_and_can_be_given(cluster: TestCluster) {
    let folder = Folder::new();
    let right = cluster.kubeconfig().authority.clone();
    let other = Authority::new("another authority").unwrap();
    let config = Kubeconfig::write(
        folder.0.path(),
        "distrust",
        cluster.url(),
        other.certificate(),
        "test",
        cluster.kubeconfig().credentials.clone(),
    )
    .unwrap();
    let outcome = run(at(&cluster, config.path()), &CREATE).await.exits(6);
    outcome.stderr_has("signed by an authority this context does not trust").stderr_has("--certificate-authority");
    folder.text("ca.crt", &right);
    let mut given = at(&cluster, config.path());
    given.current_dir(folder.0.path());
    run(given, &with(&["--certificate-authority=ca.crt"])).await.exits(0);
    for flag in ["--insecure-skip-tls-verify", "--kube-insecure-skip-tls-verify"] {
        let outcome = run(at(&cluster, config.path()), &with(&[flag])).await.exits(0);
        outcome.stderr_has("warning: the server's certificate is not verified");
    }
    // A server that speaks no TLS at all.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let mut plain = cluster.command();
    plain.arg(format!("--server=https://{address}"));
    run(plain, &CREATE).await.exits(6).stderr_has("does not speak TLS");
}

async fn flags_alone_reach_a_cluster(cluster: TestCluster) {
    let folder = Folder::new();
    let Credentials::Certificate(pair) = &cluster.kubeconfig().credentials else { panic!("a certificate is expected") };
    folder.text("ca.crt", &cluster.kubeconfig().authority);
    folder.text("tls.crt", &pair.certificate);
    folder.text("tls.key", &pair.key);
    for prefix in ["--", "--kube-"] {
        let mut command = cluster.command();
        command.env("KUBECONFIG", "/nowhere").current_dir(folder.0.path());
        command.arg(format!("{prefix}server={}", cluster.url()));
        for (flag, file) in
            [("certificate-authority", "ca.crt"), ("client-certificate", "tls.crt"), ("client-key", "tls.key")]
        {
            command.arg(format!("{prefix}{flag}={file}"));
        }
        command.args(["-n", cluster.namespace()]);
        run(command, &CREATE).await.exits(0).stdout_has(cluster.url());
    }
    // Where --server means a registry, the API server has its other name.
    let mut registry = cluster.command();
    registry.args(["--kube-server", cluster.url()]);
    let arguments = ["create", "secret", "registry", "r", "--server=ghcr.io", "--username=u", "--password=p"];
    run(registry, &arguments).await.exits(0).stdout_has("created");
    // A token stands alone: the client certificate of the context would win over it.
    run(cluster.command(), &with(&["--kube-token=nobody"])).await.exits(5);
}

async fn impersonation_is_sent(cluster: TestCluster) {
    for flag in ["--as=eve", "--kube-as=eve"] {
        run(cluster.command(), &with(&[flag])).await.exits(5).stderr_has("user eve is not allowed to get secrets");
    }
    for flags in [["--as=eve", "--as-group=system:masters"], ["--kube-as=eve", "--kube-as-group=system:masters"]] {
        run(cluster.command(), &with(&flags)).await.exits(0);
    }
    let mark = cluster.audit().mark().await.unwrap();
    run(cluster.command(), &with(&["--as=eve", "--as-group=system:masters", "--as-uid=42"])).await.exits(0);
    assert!(!cluster.audit().since(mark).await.unwrap().by_user(&cluster.admin_name()).is_empty());
}

async fn every_request_says_which_command_asks(cluster: TestCluster) {
    let mark = cluster.audit().mark().await.unwrap();
    run(at(&cluster, cluster.kubeconfig().path()), &with(&[])).await.exits(0);
    let requests = cluster.audit().since(mark).await.unwrap().by_user(&cluster.admin_name());
    assert!(!requests.is_empty());
    let product = format!("flux-operator/{} (", env!("CARGO_PKG_VERSION"));
    let strange = requests.only(|request| {
        !request.user_agent.starts_with(&product) || !request.user_agent.ends_with(") create secret basic-auth")
    });
    assert!(strange.is_empty(), "{strange:?}");
}

async fn a_missing_api_has_its_own_exit_code(cluster: TestCluster) {
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let admin = fresh.admin("admin").unwrap();
    let outcome = run(at(&cluster, admin.path()), &["wait", "instance", "flux", "-n", "default"]).await;
    outcome.exits(4).stderr_has("hint:");
}

async fn errors_are_json_when_asked_for(cluster: TestCluster) {
    let mut command = cluster.command();
    command.args(["export", "instance", "flux", "-o", "json", "--token=nobody"]);
    let outcome = run(command, &[]).await.exits(5);
    let error: Value = serde_json::from_str(&outcome.stderr).expect("one JSON object");
    assert_eq!((&error["code"], &error["category"]), (&json!(5), &json!("Denied")));
    assert!(error["causes"][0].as_str().unwrap().contains("credentials"), "{error}");
    assert!(!error["hints"].as_array().unwrap().is_empty());
}
