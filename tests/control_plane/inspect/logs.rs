//! `logs`: the logs of several controllers as one, and as they go on.

use std::io::Read;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::mpsc;

use kube::api::DeleteParams;
use serde_json::json;

use crate::cluster_tests;
use crate::inspect::world::{SOON, dump, install, instance, run};
use crate::support::runner::ClusterTest;
use crate::support::{Behaviour, PodRule, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        logs_of_all_controllers_are_one_in_the_order_of_time,
        a_followed_log_goes_on_when_its_pod_is_replaced,
    ]
}

/// A line as a controller writes it about an object, at a second of the first minute of 2026.
fn line(second: u32, level: &str, kind: &str, name: &str, message: &str) -> String {
    let ts = format!("2026-01-01T00:00:{second:02}.000Z");
    json!({"level": level, "ts": ts, "msg": message, "controllerKind": kind, "namespace": "apps", "name": name})
        .to_string()
        + "\n"
}

/// Makes the pods of a controller say this.
fn writes(cluster: &TestCluster, controller: &str, log: &str) {
    let rule = PodRule::new(cluster.namespace(), Behaviour::Run).name_starts_with(controller);
    cluster.kubelet().add_rule(rule.log(log));
}

async fn installed(cluster: &TestCluster) {
    let components = json!(["source-controller", "kustomize-controller"]);
    install(cluster, &instance(cluster, json!({"wait": true, "components": components}))).await.exits(0);
}

async fn logs_of_all_controllers_are_one_in_the_order_of_time(cluster: TestCluster) {
    let source =
        line(1, "info", "GitRepository", "app", "cloning") + &line(4, "error", "GitRepository", "app", "no such host");
    let kustomize = line(2, "info", "Kustomization", "app", "one")
        + &line(3, "info", "Kustomization", "app-2", "two")
        + "panic: three\n";
    writes(&cluster, "source-controller", &source);
    writes(&cluster, "kustomize-controller", &kustomize);
    installed(&cluster).await;
    let quiet = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "quiet"},
        "spec": {"interval": "1h", "url": "https://example.com/quiet.git"}});
    objects::apply(&cluster.client(), cluster.namespace(), &[quiet]).await.expect("applied");
    // Other tests have controllers of their own in the cluster.
    let folder = tempfile::tempdir().expect("a folder");
    dump(&cluster, folder.path()).await;
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    let messages = |stdout: &str| -> Vec<String> {
        let own = stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        own.filter_map(|line| line["msg"].as_str().map(str::to_owned)).filter(|m| !m.starts_with("starting ")).collect()
    };
    let all = run(&cluster, &["logs", "--from", &path, "-o", "json"]).await.exits(0);
    assert_eq!(messages(&all.stdout), ["cloning", "one", "two", "panic: three", "no such host"]);
    for from in [&[][..], &["--from", path.as_str()]] {
        let ask = async |arguments: &[&str]| {
            let run = run(&cluster, &[&["logs", "-n", "apps", "-o", "json"], arguments, from].concat()).await;
            messages(&run.exits(0).stdout)
        };
        assert_eq!(ask(&["gitrepo/app"]).await, ["cloning", "no such host"]);
        assert_eq!(ask(&["ks", "app"]).await, ["one"]);
        assert_eq!(ask(&["gitrepo/app", "--level", "error"]).await, ["no such host"]);
        assert_eq!(ask(&["gitrepo/app", "--tail", "1"]).await, ["no such host"]);
        // A missing object is reported, unless there are lines about it.
        let missing = async |arguments: &[&str]| {
            let run = run(&cluster, &[&["logs", "-n", "apps", "-o", "json"], arguments, from].concat()).await;
            let run = run.exits(3);
            (messages(&run.stdout), run.stderr)
        };
        let (lines, reported) = missing(&["gitrepo/app", "--controller", "kustomize"]).await;
        assert!(lines.is_empty() && reported.contains("gitrepository/apps/app not found"), "{lines:?} {reported}");
        let (lines, reported) = missing(&["ks/app", "ks/nope"]).await;
        assert!(
            lines == ["one"] && reported.contains("apps/nope") && !reported.contains("apps/app"),
            "{lines:?} {reported}"
        );
        let quiet = [&["logs", "gitrepo/quiet", "-n", cluster.namespace()], from].concat();
        assert_eq!(run(&cluster, &quiet).await.exits(0).stdout, "");
    }
    let text = run(&cluster, &["logs", "-n", "apps", "gitrepo/app"]).await.exits(0);
    text.stdout_has("2026-01-01T00:00:04.000Z error source-controller GitRepository/apps/app: no such host");
    let just_now = json!({"level": "info", "ts": jiff::Timestamp::now().to_string(), "msg": "just now",
        "controllerKind": "GitRepository", "namespace": "apps", "name": "app"});
    writes(&cluster, "source-controller", &format!("{source}{just_now}\n"));
    for (since, expected) in [("1h", &["just now"][..]), ("9000h", &["cloning", "no such host", "just now"])] {
        let recent =
            run(&cluster, &["logs", "-n", "apps", "gitrepo/app", "--since", since, "-o", "json"]).await.exits(0);
        assert_eq!(messages(&recent.stdout), expected, "since {since}");
    }
    run(&cluster, &["logs", "--controller", "nope"]).await.exits(3).stderr_has("there is no pod of nope");
    run(&cluster, &["logs", "gitrep/app"]).await.exits(2).stderr_has("did you mean");
    run(&cluster, &["logs", "-f", "--from", &path]).await.exits(2).stderr_has("a dump does not change");
}

async fn a_followed_log_goes_on_when_its_pod_is_replaced(cluster: TestCluster) {
    installed(&cluster).await;
    let now = |message: &str| {
        let ts = jiff::Timestamp::now().to_string();
        let name = cluster.namespace();
        json!({"level": "info", "ts": ts, "msg": message, "controllerKind": "GitRepository", "namespace": "apps", "name": name})
            .to_string()
            + "\n"
    };
    let mut follow = cluster.command();
    follow.args([
        "logs",
        "-f",
        "--since",
        "1m",
        "-n",
        "apps",
        &format!("gitrepo/{}", cluster.namespace()),
        "-o",
        "json",
    ]);
    follow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = follow.spawn().expect("starts");
    let mut output = child.stdout.take().expect("piped");
    let (sender, receiver) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        let mut bytes = [0u8; 4096];
        while let Ok(count) = output.read(&mut bytes) {
            if count == 0 || sender.send(String::from_utf8_lossy(&bytes[..count]).into_owned()).is_err() {
                break;
            }
        }
    });
    let seen = Mutex::new((receiver, String::new()));
    let shown = async |text: &str| {
        let look = || async {
            let mut seen = seen.lock().expect("no panic before");
            while let Ok(more) = seen.0.try_recv() {
                seen.1.push_str(&more);
            }
            seen.1.contains(text).then_some(())
        };
        eventually(&format!("{text:?} to be shown"), SOON, look).await.expect("shown");
    };
    let mut log = now("first");
    writes(&cluster, "source-controller", &log);
    shown("first").await;
    log.push_str(&now("second"));
    writes(&cluster, "source-controller", &log);
    shown("second").await;
    // A log that is rotated begins anew, as that of another run does.
    writes(&cluster, "source-controller", &now("after the restart"));
    shown("after the restart").await;
    // The next pod has nothing to say yet.
    writes(&cluster, "source-controller", "");
    let pods = objects::api(&cluster.client(), "v1", "Pod", cluster.namespace()).await.expect("served");
    let name = pods.list(&Default::default()).await.expect("listed").items.into_iter();
    let name =
        name.filter_map(|pod| pod.metadata.name).find(|name| name.starts_with("source-controller")).expect("a pod");
    pods.delete(&name, &DeleteParams::default().grace_period(0)).await.expect("deleted");
    eventually("the pod to be replaced", SOON, || async {
        let all = pods.list(&Default::default()).await.ok()?.items;
        let mut names = all.into_iter().filter_map(|pod| pod.metadata.name);
        names.find(|other| other.starts_with("source-controller") && *other != name)
    })
    .await
    .expect("replaced");
    writes(&cluster, "source-controller", &now("after the replacement"));
    shown("after the replacement").await;
    let text = seen.lock().expect("no panic before").1.clone();
    for message in ["first", "second", "after the restart"] {
        assert_eq!(text.matches(message).count(), 1, "{message} is shown once: {text}");
    }
    child.kill().expect("ended");
    child.wait().expect("ended");
}
