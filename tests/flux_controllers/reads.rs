//! Output of the read commands for objects with the status of real controllers.

use serde_json::Value;

use crate::cluster_tests;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually};
use crate::world::{Run, SOON, World, run};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_state_is_listed_and_counted_as_the_controllers_report_it,
        a_kustomization_is_a_tree_down_to_its_pods,
        an_applied_object_is_traced_to_its_commit,
        events_show_what_the_controllers_did,
        causes_are_found_in_the_reports_of_the_controllers,
    ]
}

/// `Kind/name` of every item of a JSON list.
fn names(run: &Run) -> Vec<String> {
    let list = run.json();
    let items = list["items"].as_array().expect("items").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut names: Vec<_> = items.map(|i| format!("{}/{}", text(&i["kind"]), text(&i["metadata"]["name"]))).collect();
    names.sort();
    names
}

/// Runs a read until it shows what is expected, or the time is up: while a controller tries again, what failed is in progress
/// for a moment.
async fn run_until(cluster: &TestCluster, arguments: &str, holds: impl Fn(&Run) -> bool) -> Run {
    let seen = eventually(arguments, SOON, || async { Some(run(cluster, arguments).await).filter(&holds) });
    match seen.await {
        Ok(run) => run,
        Err(_) => run(cluster, arguments).await,
    }
}

async fn every_state_is_listed_and_counted_as_the_controllers_report_it(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let short = format!("main@sha1:{}", &world.commit[..7]);

    let states = [
        ("GitRepository", "app", "True", "stored artifact for revision"),
        ("GitRepository", "absent", "False", "repository not found"),
        ("GitRepository", "unreachable", "False", "connection refused"),
        ("GitRepository", "paused", "Unknown", "(suspended)"),
        ("Kustomization", "app", "True", "Applied revision: "),
        ("Kustomization", "broken", "False", "MalformedYAMLError"),
        ("Kustomization", "dependent", "False", "dependency '"),
        ("Kustomization", "misplaced", "False", "kustomization path not found"),
        ("Kustomization", "paused", "Unknown", "(suspended)"),
    ];
    let status_of = |row: &str| row.split_whitespace().nth(2).map(str::to_owned);
    let table = run_until(&cluster, "get resources", |table| {
        states.iter().all(|(kind, name, status, _)| status_of(&table.row(kind, name)).as_deref() == Some(*status))
    });
    let table = table.await.exits(0);
    for (kind, name, status, says) in states {
        let row = table.row(kind, name);
        assert_eq!(status_of(&row).as_deref(), Some(status), "{row}");
        assert!(row.contains(says), "{row}");
    }
    let row = table.row("Kustomization", "app");
    assert!(row.contains(&short), "the revision is the commit: {row}");
    assert_eq!(table.stdout.lines().count(), 10, "{}", table.stdout);

    let expected = ["GitRepository/absent", "GitRepository/unreachable", "Kustomization/broken"];
    let expected = [&expected[..], &["Kustomization/dependent", "Kustomization/misplaced"]].concat();
    let failing =
        run_until(&cluster, "get resources --ready-status False -o json", |run| names(run) == expected).await.exits(0);
    assert_eq!(names(&failing), expected);
    let item = failing.json()["items"].as_array().expect("items")[0].clone();
    assert!(item.pointer("/status/conditions").is_some(), "the JSON is the object itself: {item:#}");
    assert!(item.pointer("/metadata/managedFields").is_none(), "{item:#}");
    let suspended = run(&cluster, "get all --ready-status Suspended -o json").await.exits(0);
    assert_eq!(names(&suspended), ["GitRepository/paused", "Kustomization/paused"]);
    let git = run(&cluster, "get resources --kind gitrepo -o name").await.exits(0).stdout;
    assert_eq!(git.lines().count(), 4, "{git}");
    assert!(git.lines().all(|line| line.starts_with("gitrepository.source.toolkit.fluxcd.io/")), "{git}");
    let everywhere = run(&cluster, "-n default get resources -A --kind ks").await.exits(0);
    let own: Vec<_> = everywhere.stdout.lines().filter(|l| l.starts_with(cluster.namespace())).collect();
    assert_eq!(own.len(), 5, "{}", everywhere.stdout);

    let counts = |stats: &Value| {
        ["GitRepository", "Kustomization"].map(|kind| {
            let row = stats["items"].as_array().expect("items").iter().find(|i| i["kind"] == kind).expect("a row");
            ["running", "failing", "suspended", "waiting"].map(|key| row[key].as_i64().unwrap_or(-1))
        })
    };
    // An object that waits for a failing one fails with it, as in `why`.
    let expected = [[3, 2, 1, 0], [4, 3, 1, 0]];
    let stats = format!("stats -n {} -o json", cluster.namespace());
    let stats = run_until(&cluster, &stats, |run| counts(&run.json()) == expected).await.exits(0).json();
    assert_eq!(counts(&stats), expected, "{stats:#}");
    let table = run(&cluster, &format!("stats -n {}", cluster.namespace())).await.exits(0);
    let row = table.stdout.lines().find(|l| l.contains("GitRepository")).expect("a row").to_owned();
    assert!(row.contains(" B "), "artifacts take up storage: {row}");
}

async fn a_kustomization_is_a_tree_down_to_its_pods(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let namespace = cluster.namespace();
    let tree = run(&cluster, "tree kustomization app").await.exits(0);
    let tree = tree.stdout_has(&format!("Kustomization/{namespace}/app\n"));
    let tree = tree.stdout_has(&format!("ConfigMap/{namespace}/web\n"));
    tree.stdout_has(&format!("Deployment/{namespace}/web\n")).stdout_has(&format!("Pod/{namespace}/web-"));
    let broken = run(&cluster, "tree ks broken").await.exits(0);
    broken.stdout_has(&format!("Kustomization/{namespace}/broken  Failed")).stdout_has("MalformedYAMLError");
    run(&cluster, "tree ks paused").await.exits(0).stdout_has("suspended");
    run(&cluster, "tree ks brokn").await.exits(3).stderr_has("did you mean broken?");
    let json = run(&cluster, "tree ks app -o json").await.exits(0).json();
    assert_eq!(json["status"], "Current", "{json:#}");
    assert!(json["children"].as_array().is_some_and(|c| c.iter().any(|c| c["object"]["kind"] == "ConfigMap")));
}

async fn an_applied_object_is_traced_to_its_commit(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.ready_app(&cluster).await;
    let namespace = cluster.namespace();
    let trace = run(&cluster, "trace configmap/web").await.exits(0);
    let trace = trace.stdout_has(&format!("ConfigMap/{namespace}/web"));
    let trace = trace.stdout_has(&format!("Kustomization/{namespace}/app")).stdout_has("./deploy");
    trace.stdout_has(&format!("GitRepository/{namespace}/app")).stdout_has(&world.url()).stdout_has(&world.commit);
    let json = run(&cluster, "trace deploy web -o json").await.exits(0).json();
    let steps: Vec<_> = json["steps"].as_array().expect("steps").iter().map(|s| s["object"]["kind"].clone()).collect();
    assert_eq!(steps, ["Deployment", "Kustomization", "GitRepository"]);
    assert!(json["steps"].as_array().expect("steps").iter().skip(1).all(|s| s["revision"] == world.revision()));
    let pod = run(&cluster, "get resources -o name").await.exits(0);
    assert!(!pod.stdout.contains("pod/"), "{}", pod.stdout);
    run(&cluster, "trace configmap/kube-root-ca.crt").await.exits(1).stderr_has("is not managed by Flux");
}

async fn events_show_what_the_controllers_did(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let has = async |arguments: &str, texts: &[&str]| {
        // An event may be written just after the status that it describes.
        let what = format!("{arguments} to show {texts:?}");
        let seen = eventually(&what, SOON, || async {
            let run = run(&cluster, arguments).await.exits(0);
            texts.iter().all(|text| run.stdout.contains(text)).then_some(run)
        });
        match seen.await {
            Ok(run) => run,
            Err(error) => panic!("{error}:\n{}", run(&cluster, arguments).await.stdout),
        }
    };
    has("events", &["NewArtifact", "GitOperationFailed", "ReconciliationSucceeded", "BuildFailed"]).await;
    let one = has("events gitrepository/absent", &["Warning", "GitOperationFailed", "repository not found"]).await;
    assert!(!one.stdout.contains("GitRepository/app"), "{}", one.stdout);
    // The source of a Kustomization explains it, so its events are among them; another's are not.
    let json = has("events ks/app -o json", &["ReconciliationSucceeded", "NewArtifact"]).await.json();
    let text =
        |item: &Value, pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let events: Vec<_> = json["items"].as_array().expect("items").iter().collect();
    let mut objects: Vec<_> = events
        .iter()
        .map(|e| format!("{}/{}", text(e, "/involvedObject/kind"), text(e, "/involvedObject/name")))
        .collect();
    objects.sort();
    objects.dedup();
    assert_eq!(objects, ["GitRepository/app", "Kustomization/app"]);
    let own = events.iter().find(|e| text(e, "/reason") == "ReconciliationSucceeded").expect("an event");
    assert_eq!(text(own, "/source/component"), "kustomize-controller", "{own:#}");
}

async fn causes_are_found_in_the_reports_of_the_controllers(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let all = format!("why -n {} -o json", cluster.namespace());
    let found = run_until(&cluster, &all, |run| run.json()["inProgress"] == 0).await.exits(7).json();
    let causes = found["causes"].as_array().expect("causes").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut reported: Vec<_> =
        causes.map(|c| (text(&c["reason"]), text(&c["object"]["name"]), text(&c["summary"]))).collect();
    reported.sort();
    let expected = [
        ("HostUnreachable", "unreachable", "nothing listens at the server's address"),
        ("KustomizationFailed", "broken", "a file in the source is not valid YAML"),
        ("KustomizationFailed", "misplaced", "the path does not exist in the source"),
        ("SourceNotFound", "absent", "the repository does not exist, or the credentials have no access to it"),
    ];
    assert_eq!(reported, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())), "{found:#}");
    assert_eq!(found["failing"], 5, "what waits for the broken one is taken down by it: {found:#}");
    let waiting = run(&cluster, "why ks/dependent").await.exits(7);
    waiting.stdout_has("Object: Kustomization/").stdout_has("/broken");
    run(&cluster, "why ks/app").await.exits(0).stdout_has("is ready");
    run(&cluster, "why deployment/web").await.exits(0).stdout_has("is ready");
}
