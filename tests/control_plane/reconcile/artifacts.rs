//! Runs that take their distribution from a real registry, with the instance's pull secret.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flux_operator::distribution::Distribution;
use flux_operator::fetch::Fetcher;
use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::tarball::read_folder;
use flux_operator::oci::{
    self, Access, BlobSource, Descriptor, DockerConfig, Manifest, MediaType, Reference, Registries, RegistryCredentials,
};
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Failure, Outcome, ReconcileError};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::certificates::TokenKey;
use crate::support::registry::{Authentication, PASSWORD, Registry, RegistryOptions, USER, count_connections};
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_artifact_is_fetched_with_the_pull_secret_and_one_that_cannot_be_built_leaves_the_last_in_use,
        an_artifact_that_cannot_be_unpacked_leaves_the_last_in_use_and_one_that_is_lost_too_is_reported,
        offline_opens_no_connection_but_the_api_servers,
        distribution_flags_hold_for_every_run_in_this_process,
    ]
}

/// As the controller: anonymous unless the instance has a pull secret.
fn fetcher() -> Fetcher {
    let registries = Registries::new(Access::new(RegistryCredentials::Anonymous));
    Fetcher { registries: Some(registries), cache: None, memory: None, key: None }
}

async fn run(world: &World) -> Result<Outcome, ReconcileError> {
    reconcile::run(&world.cluster, &instance_id(), &fetcher(), &world.options, &IgnoredProgress).await
}

pub fn docker_config(host: &str) -> String {
    json!({"auths": {host: {"username": USER, "password": PASSWORD}}}).to_string()
}

pub async fn push(host: &str, reference: &Reference, folder: &Path) -> String {
    let login = DockerConfig::parse("test", docker_config(host).as_bytes()).unwrap();
    let client = Registries::new(Access::new(RegistryCredentials::Docker(login)));
    let files = read_folder(folder, &IgnoreRules::default()).unwrap().files;
    oci::push_artifact(&client, reference, &files, &BTreeMap::new()).await.unwrap().digest.to_string()
}

fn ready(instance: &flux_operator::api::FluxInstance) -> (String, String) {
    let status = instance.status.as_ref().unwrap();
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
    (ready.status.as_str().to_owned(), ready.reason.clone())
}

async fn an_artifact_is_fetched_with_the_pull_secret_and_one_that_cannot_be_built_leaves_the_last_in_use(
    cluster: TestCluster,
) {
    let options = RegistryOptions { authentication: Authentication::Password, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference: Reference = format!("oci://{host}/flux/manifests:stable").parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    let newest = embedded.versions().pop().unwrap();
    embedded.export(&newest, folder.path()).unwrap();
    let good = push(&host, &reference, folder.path()).await;

    let world = World::with(&cluster, Options::api_server_only()).await;
    let instance = |secret: Option<&str>| {
        let mut spec = spec("2.x");
        spec["wait"] = json!(false);
        spec["distribution"]["artifact"] = json!(reference.url());
        spec["distribution"]["artifactPullSecret"] = json!(secret.unwrap_or_default());
        spec
    };

    // Without a login the run fails with the registry's name, and has to be retried.
    world.instance(instance(None)).await;
    let outcome = run(&world).await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Artifact(_))), "{outcome:?}");
    assert!(
        outcome.message.starts_with(&format!("fetch failed: cannot get the distribution from {}", reference.url()))
    );
    assert!(outcome.message.contains("requires credentials, and none were found for it"), "{}", outcome.message);
    assert!(outcome.next.is_some() && outcome.changes.is_empty());
    let stored = world.read_instance().await;
    assert_eq!(ready(&stored), ("False".to_owned(), "ArtifactFailed".to_owned()));
    let status = stored.status.unwrap();
    assert!(status.conditions.iter().all(|condition| condition.type_ != "Stalled"));
    assert!(status.history.is_empty() && status.last_artifact_revision.is_none());
    let events = world.events().await;
    assert_eq!(events.iter().filter(|(reason, _)| reason == "ArtifactFailed").count(), 1, "{events:?}");

    // A pull secret that is not there is an error, not an anonymous pull.
    world.instance(instance(Some("registry"))).await;
    let outcome = run(&world).await.unwrap();
    assert!(outcome.message.contains("Secret/flux-system/registry not found"), "{}", outcome.message);

    let secret: Value = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry", "namespace": NAMESPACE},
        "data": {".dockerconfigjson": STANDARD.encode(docker_config(&host))}});
    world.apply_as("test-author", secret).await;
    let outcome = run(&world).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    let status = world.read_instance().await.status.unwrap();
    assert_eq!(status.last_artifact_revision.as_deref(), Some(good.as_str()));
    // The embedded distribution gives the same objects, so the same revision: nothing is to be done.
    let plan = world.plan().await;
    assert!(!plan.has_changes(), "{plan:?}");
    assert_eq!(Some(&plan.revision), status.last_applied_revision.as_ref());
    assert_eq!(plan.artifact, None);

    // The same tag, now with something that cannot be built.
    std::fs::write(folder.path().join(format!("flux/{newest}/source-controller.yaml")), "{").unwrap();
    let bad = push(&host, &reference, folder.path()).await;
    assert_ne!(bad, good);
    let outcome = run(&world).await.unwrap();
    assert!(outcome.is_ready() && outcome.changes.is_empty(), "{}", outcome.message);
    let warning = outcome.warnings.iter().find(|warning| warning.contains("the last good artifact remains in use"));
    assert!(warning.is_some_and(|warning| warning.contains(&bad)), "{:?}", outcome.warnings);
    let stored = world.read_instance().await;
    assert_eq!(ready(&stored).0, "True");
    assert_eq!(stored.status.unwrap().last_artifact_revision.as_deref(), Some(good.as_str()));
    let events = world.events().await;
    assert!(events.iter().any(|(reason, text)| reason == "ArtifactFailed" && text.contains(&bad)), "{events:?}");
    let planned = reconcile::plan(&world.cluster, &instance_id(), &fetcher(), &world.options.plan, &IgnoredProgress)
        .await
        .unwrap();
    assert_eq!(planned.artifact.as_deref(), Some(good.as_str()), "a preview takes the same one");

    // A problem of the instance is not attributed to the artifact.
    let mut wrong = instance(Some("registry"));
    wrong["distribution"]["version"] = json!("1.x");
    world.instance(wrong).await;
    let outcome = run(&world).await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Build(_))), "{outcome:?}");
}

/// Pushes an artifact with these bytes as layers.
async fn push_layers(reference: &Reference, layers: &[&'static [u8]]) -> String {
    let client = Registries::new(Access::new(RegistryCredentials::Anonymous));
    let config = Descriptor::of("application/vnd.cncf.flux.config.v1+json", b"{}");
    let media_type = "application/vnd.cncf.flux.content.v1.tar+gzip";
    let layers: Vec<_> = layers.iter().map(|layer| (Descriptor::of(media_type, layer), *layer)).collect();
    for (descriptor, bytes) in layers.iter().chain([&(config.clone(), &b"{}"[..])]) {
        let source = BlobSource::Bytes((*bytes).into());
        client.push_blob(&reference.repository, descriptor, &source, None, None).await.unwrap();
    }
    let layers: Vec<&Descriptor> = layers.iter().map(|(descriptor, _)| descriptor).collect();
    let text = json!({"schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": config, "layers": layers});
    let manifest = Manifest::parse(None, text.to_string().into()).unwrap();
    client.push_manifest(reference, &manifest).await.unwrap();
    manifest.digest.to_string()
}

async fn an_artifact_that_cannot_be_unpacked_leaves_the_last_in_use_and_one_that_is_lost_too_is_reported(
    cluster: TestCluster,
) {
    let registry = Registry::start().await.unwrap();
    let reference: Reference = format!("oci://{}/flux/manifests:stable", registry.host()).parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    embedded.export(&embedded.versions().pop().unwrap(), folder.path()).unwrap();
    let good = push(&registry.host(), &reference, folder.path()).await;
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut spec = spec("2.x");
    (spec["wait"], spec["distribution"]["artifact"]) = (json!(false), json!(reference.url()));
    world.instance(spec).await;
    let outcome = run(&world).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);

    // Foreign files, a layer that is not an archive, and no layer at all.
    std::fs::rename(folder.path().join("flux"), folder.path().join("charts")).unwrap();
    let elsewhere = push(&registry.host(), &reference, folder.path()).await;
    let damaged = reference.repository.with_tag("damaged").unwrap();
    let empty = reference.repository.with_tag("empty").unwrap();
    let refused = [
        (elsewhere, reference.clone(), "no folder named after a version"),
        (push_layers(&damaged, &[b"<html>"]).await, damaged, "the archive is damaged or cut short"),
        (push_layers(&empty, &[]).await, empty, "it has no layer"),
    ];
    for (digest, named, why) in &refused {
        let patch = json!({"spec": {"distribution": {"artifact": named.url()}}});
        world.patch_as("test-author", &instance_id(), patch).await;
        let outcome = run(&world).await.unwrap();
        assert!(outcome.is_ready() && outcome.changes.is_empty(), "{why}: {}", outcome.message);
        let stored = world.read_instance().await;
        assert_eq!(ready(&stored).0, "True", "{why}");
        assert_eq!(stored.status.unwrap().last_artifact_revision.as_deref(), Some(good.as_str()), "{why}");
        let reported = |text: &str| {
            text.contains("the last good artifact remains in use")
                && text.contains(why)
                && text.contains(digest.as_str())
        };
        assert!(outcome.warnings.iter().any(|warning| reported(warning)), "{why}: {:?}", outcome.warnings);
        let events = world.events().await;
        assert!(events.iter().any(|(reason, text)| reason == "ArtifactFailed" && reported(text)), "{why}: {events:?}");
    }

    // The good artifact was deleted from the registry and is not cached. Both reasons are reported, and the run is
    // retried, so that a later push is found.
    let (_, hex) = good.split_once(':').unwrap();
    std::fs::remove_file(registry.stored_blob(hex)).unwrap();
    std::fs::create_dir_all(folder.path().join("flux/v2.9.4")).unwrap();
    std::fs::write(folder.path().join("flux/v2.9.4/rbac.yaml"), "").unwrap();
    let unbuildable = push(&registry.host(), &reference, folder.path()).await;
    for (named, why) in [(&refused[2].1, "it has no layer"), (&reference, "has no file")] {
        let patch = json!({"spec": {"distribution": {"artifact": named.url()}}});
        world.patch_as("test-author", &instance_id(), patch).await;
        let outcome = run(&world).await.unwrap();
        assert!(matches!(outcome.failure, Some(Failure::Artifact(_))), "{outcome:?}");
        assert!(outcome.next.is_some() && outcome.changes.is_empty());
        for reported in
            [why, "the last good artifact, which is still installed, cannot be fetched again", &good, "not found"]
        {
            assert!(outcome.message.contains(reported), "{reported} in {}", outcome.message);
        }
        assert_eq!(ready(&world.read_instance().await), ("False".to_owned(), "ArtifactFailed".to_owned()));
    }
    assert_ne!(unbuildable, good);
}

async fn offline_opens_no_connection_but_the_api_servers(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let (port, connections) = count_connections().await;
    let world = World::with(&cluster, Options::api_server_only()).await;
    let home = tempfile::tempdir().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    embedded.export(&embedded.versions().pop().unwrap(), folder.path()).unwrap();
    let stored: Reference = format!("oci://{}/flux:stable", registry.host()).parse().unwrap();
    let digest = push(&registry.host(), &stored, folder.path()).await;
    let write = |name: &str, artifact: &str| {
        let mut spec = spec("2.x");
        (spec["wait"], spec["distribution"]["artifact"]) = (json!(false), json!(artifact));
        let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
        std::fs::write(home.path().join(name), instance.to_string()).unwrap();
    };
    // All other hosts lead to the counting listener: registries on loopback by name, others through a proxy.
    write("by-digest.yaml", &format!("oci://localhost:{port}/flux@{digest}"));
    write("by-tag.yaml", &format!("oci://localhost:{port}/flux:stable"));
    write("elsewhere.yaml", "oci://registry.example.com/flux:stable");
    let run = async |arguments: &[&str]| {
        let proxy = format!("http://127.0.0.1:{port}");
        let mut command: Command = command(world.kubeconfig.path(), home.path());
        command.args(arguments).current_dir(home.path()).stdin(Stdio::null());
        command.envs([("HTTPS_PROXY", proxy.as_str()), ("HTTP_PROXY", &proxy), ("NO_PROXY", "127.0.0.1,localhost")]);
        let output: Output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        Run::from(output)
    };
    run(&["distribution", "pull", "-o", "out", "--distribution", &stored.url()]).await.exits(0);
    assert_eq!(connections.swap(0, Ordering::SeqCst), 0);

    // Without the flag the listener is asked, or the test would prove nothing.
    for file in ["by-tag.yaml", "elsewhere.yaml"] {
        let failed = run(&["build", "instance", "-f", file, "--timeout", "20s"]).await.exits(6);
        failed.stderr_has("cannot get the distribution from oci://");
        assert!(connections.swap(0, Ordering::SeqCst) > 0, "{file}");
        run(&["build", "instance", "-f", file, "--offline"]).await.exits(1).stderr_has("connections are not allowed");
    }
    for arguments in [
        &["build", "instance", "-f", "by-digest.yaml", "--offline"][..],
        &["apply", "instance", "-f", "by-digest.yaml", "--in-process", "--offline"],
        &["plan", "instance", "-f", "by-digest.yaml", "--offline"],
        &["plan", "instance", "--offline"],
        &["reconcile", "instance", "--in-process", "--offline"],
        &["get", "inventory", "--offline"],
        &["get", "components", "--offline"],
        &["report", "page.html", "--offline"],
    ] {
        run(arguments).await.exits(0);
    }
    run(&["check", "--offline"]).await;
    // The same with what is in the cache, by name.
    let known = format!("oci://localhost:{port}/flux@{digest}");
    let named = ["--offline", "--distribution", &known];
    for words in [
        &["apply", "instance", "-f", "by-tag.yaml", "--in-process"][..],
        &["plan", "instance", "-f", "by-tag.yaml"],
        &["plan", "instance"],
        &["reconcile", "instance", "--in-process"],
        &["get", "inventory"],
        &["get", "components"],
        &["report", "page.html", "--overwrite"],
    ] {
        run(&[words, &named].concat()).await.exits(0);
    }
    assert!(!run(&[&["check"][..], &named].concat()).await.stderr.contains("connections are not allowed"));
    let failed = run(&["apply", "instance", "-f", "elsewhere.yaml", "--in-process", "--offline"]).await.exits(1);
    failed.stderr_has("ArtifactFailed").stderr_has("connections are not allowed");
    assert_eq!(ready(&world.read_instance().await).1, "ArtifactFailed");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

/// Signs an artifact beside it, in the form of cosign 1 and 2.
pub async fn sign(reference: &Reference, digest: &str, key: &TokenKey) {
    let client = Registries::new(Access::new(RegistryCredentials::Anonymous));
    let payload = json!({"critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature"}, "optional": null});
    let payload = payload.to_string();
    let mut layer = Descriptor::of("application/vnd.dev.cosign.simplesigning.v1+json", payload.as_bytes());
    let signature = key.signature(payload.as_bytes()).unwrap();
    layer.annotations = Some([("dev.cosignproject.cosign/signature".to_owned(), signature)].into());
    let config = Descriptor::of("application/vnd.oci.image.config.v1+json", b"{}");
    for (descriptor, bytes) in [(&layer, payload.clone()), (&config, "{}".to_owned())] {
        let source = BlobSource::Bytes(bytes.into());
        client.push_blob(&reference.repository, descriptor, &source, None, None).await.unwrap();
    }
    let text = json!({"schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": config, "layers": [layer]});
    let manifest = Manifest::parse(None, text.to_string().into()).unwrap();
    let tag = reference.repository.with_tag(&format!("{}.sig", digest.replace(':', "-"))).unwrap();
    client.push_manifest(&tag, &manifest).await.unwrap();
}

async fn distribution_flags_hold_for_every_run_in_this_process(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let world = World::with(&cluster, Options::api_server_only()).await;
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // A minor that this program does not know.
    let embedded = Distribution::embedded();
    let newest = embedded.versions().pop().unwrap().to_string();
    embedded.export(&embedded.versions().pop().unwrap(), folder.path()).unwrap();
    for part in ["flux", "flux-images"] {
        let part = folder.path().join(part);
        std::fs::rename(part.join(&newest), part.join("v2.99.0")).unwrap();
    }
    let reference: Reference = format!("oci://{}/flux:future", registry.host()).parse().unwrap();
    let digest = push(&registry.host(), &reference, folder.path()).await;
    let key = TokenKey::new().unwrap();
    std::fs::write(home.path().join("key.pub"), key.public_key()).unwrap();
    let mut spec = spec("2.x");
    spec["wait"] = json!(false);
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
    std::fs::write(home.path().join("flux.yaml"), instance.to_string()).unwrap();
    let run = async |words: &[&str], more: &[&str]| {
        let mut command: Command = command(world.kubeconfig.path(), home.path());
        command.args(words).args(more).current_dir(home.path()).stdin(Stdio::null());
        Run::from(tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap())
    };
    let apply = ["apply", "instance", "-f", "flux.yaml", "--in-process"];
    run(&apply, &[]).await.exits(0);
    let status = async || world.read_instance().await.status.unwrap();
    let before = status().await.last_applied_revision.unwrap();
    assert!(before.starts_with(&newest), "{before}");

    // A plan fails with 2: its 1 means differences.
    let all = [
        (&["plan", "instance"][..], 2),
        (&["plan", "instance", "-f", "flux.yaml"], 2),
        (&["reconcile", "instance", "--in-process"], 1),
        (&apply, 1),
    ];
    // The instance has no artifact, so a key would verify nothing. The instance does not report that.
    for (words, _) in all {
        let refused = run(words, &["--verify-key", "key.pub"]).await.exits(2);
        refused.stderr_has("only the signatures of artifacts in a registry can be verified");
    }
    assert_eq!(ready(&world.read_instance().await).0, "True");

    let url = reference.url();
    let from = ["--distribution", &url];
    let trusted = [&from[..], &["--verify-key", "key.pub", "--allow-unknown-minor"]].concat();
    for (words, failed) in all {
        let unsigned = run(words, &trusted).await.exits(failed);
        unsigned.stderr_has("has no signature that the key verifies");
    }
    sign(&reference, &digest, &key).await;
    for (words, _) in all {
        let unknown = run(words, &[&from[..], &["--verify-key", "key.pub"]].concat()).await;
        assert_ne!(unknown.code, 0);
        unknown.stderr_has("does not know the minor version").stderr_has("of flux v2.99.0 in the distribution");
    }
    assert_eq!(status().await.last_applied_revision.as_deref(), Some(before.as_str()));

    for (words, _) in &all[..2] {
        let planned = run(words, &[&trusted[..], &["-o", "json"]].concat()).await.exits(1);
        assert!(planned.stdout.contains("v2.99.0@sha256:"), "{}", planned.stdout);
    }
    for (words, _) in &all[2..] {
        run(words, &trusted).await.exits(0);
        let status = status().await;
        assert!(status.last_applied_revision.unwrap().starts_with("v2.99.0@"));
        assert_eq!(status.last_artifact_revision.as_deref(), Some(digest.as_str()));
        run(&["plan", "instance"], &trusted).await.exits(0);
    }
}
