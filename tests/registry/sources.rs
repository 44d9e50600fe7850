//! Where the built binary takes distributions from and how it gets there: pushes, standard input, cache, TLS.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::tarball::{Files, read_folder, write_tarball};
use flux_operator::oci::{Digest, Manifest, Reference, RegistryCredentials};
use serde_json::{Value, json};

use super::artifacts::push_distribution;
use super::commands::{INSTANCE, command, finish, log_in, run, write};
use super::support::certificates::{Authority, Validity};
use super::support::connect_proxy::ConnectProxy;
use super::support::registry::{Authentication, FaultyRegistry, Mishap, Registry, RegistryOptions, count_connections};
use super::support::run::Run;
use super::{client, repository, tests};

tests![
    a_version_that_is_pushed_comes_back_as_it_was,
    an_archive_on_standard_input_is_a_distribution,
    offline_no_command_opens_a_connection,
    without_the_cache_everything_is_pulled_and_nothing_is_kept,
    processes_that_share_the_cache_do_not_disturb_each_other,
    a_cluster_is_compared_with_the_given_distribution,
    ignored_files_are_not_in_the_artifact,
    the_flags_for_tls_reach_a_registry_with_certificates_of_its_own,
    a_registry_is_called_without_tls_if_the_flag_says_so,
    a_registry_that_drips_or_stays_silent_is_given_up_after_the_time_of_the_command,
];

const REVISION: [&str; 5] = ["build", "instance", "-f", "flux.yaml", "--revision"];

fn files(folder: &Path) -> Files {
    read_folder(folder, &IgnoreRules::default()).unwrap().files
}

/// A home with an instance, and the revision that its embedded distribution gives.
async fn home() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "flux.yaml", INSTANCE);
    let revision = run(home.path(), &REVISION).await.exits(0).stdout;
    (home, revision)
}

async fn pushed(registry: &Registry, path: &str) -> (Reference, Manifest) {
    let reference = repository(&registry.host(), path).with_tag("latest").unwrap();
    let manifest = push_distribution(&client(RegistryCredentials::Anonymous), &reference).await;
    (reference, manifest)
}

async fn a_version_that_is_pushed_comes_back_as_it_was() {
    let options = RegistryOptions { authentication: Authentication::Password, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let ((home, embedded), host) = (home().await, registry.host());
    let home = home.path();
    let at = |tag: &str| format!("oci://{host}/flux/manifests:{tag}");
    let push = ["distribution", "push", &at("latest")];
    run(home, &push).await.exits(5).stderr_has(&format!("hint: log in with `docker login {host}`"));
    log_in(home, &host);
    let pushed = run(home, &push).await.exits(0).stderr_has("pushed flux v2.9.4: ").stdout;
    assert_eq!(run(home, &push).await.exits(0).stdout, pushed, "the same manifests give the same digest");
    let (reference, digest) = pushed.trim().split_once('@').unwrap();
    assert_eq!(reference, at("latest"));
    let text = reference.replace("oci://", "");
    assert_eq!(registry.judge("crane", &["digest", &text]).unwrap().trim(), digest);
    registry.judge("crane", &["validate", "--remote", &text]).unwrap();
    let seen = registry.judge("regctl", &["manifest", "get", "--format", "raw-body", &text]).unwrap();
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["annotations"]["org.opencontainers.image.version"], "v2.9.4");
    assert_eq!(seen["layers"][0]["mediaType"], "application/vnd.cncf.flux.content.v1.tar+gzip");

    let pulled = run(home, &["distribution", "pull", "-o", "out", "--distribution", &at("latest")]).await.exits(0);
    assert_eq!(pulled.stdout, pushed);
    run(home, &["distribution", "export", "exported"]).await.exits(0);
    assert!(files(&home.join("out")) == files(&home.join("exported")));
    let built = run(home, &[&REVISION[..], &["--distribution", &at("latest")]].concat()).await;
    assert_eq!(built.exits(0).stdout, embedded);

    // Pulled content is pushed again unchanged, and an older version is another artifact.
    let again = run(home, &["distribution", "push", &at("again"), "--distribution", "out"]).await.exits(0).stdout;
    assert_eq!(again.trim(), format!("{}@{digest}", at("again")));
    let older = run(home, &["distribution", "push", &at("older"), "--version", "2.8.x"]).await.exits(0).stdout;
    assert!(older.starts_with(&format!("{}@", at("older"))) && !older.contains(digest), "{older}");
    let versions = ["distribution", "versions", "-o", "name", "--distribution", &at("older")];
    assert_eq!(run(home, &versions).await.exits(0).stdout, "v2.8.8\n");

    run(home, &["distribution", "push", pushed.trim()]).await.exits(2).stderr_has("name a tag");
    run(home, &["distribution", "push", &at("x"), "--offline"]).await.exits(2).stderr_has("cannot push --offline");
    run(home, &["distribution", "pull", "-o", "out", "--distribution", &at("none")]).await.exits(3);
}

/// Runs the binary with bytes on its standard input.
async fn run_with_input(home: &Path, arguments: &[&str], input: &[u8]) -> Run {
    std::fs::write(home.join("input"), input).unwrap();
    let mut command = command(home, arguments);
    command.stdin(std::fs::File::open(home.join("input")).unwrap());
    finish(command).await
}

async fn an_archive_on_standard_input_is_a_distribution() {
    let (home, embedded) = home().await;
    let home = home.path();
    run(home, &["distribution", "export", "exported"]).await.exits(0);
    let archive = write_tarball(&files(&home.join("exported"))).unwrap();
    let from_input = |words: &[&'static str]| [words, &["--distribution", "-"]].concat();
    let revision = from_input(&REVISION);
    assert_eq!(run_with_input(home, &revision, &archive).await.exits(0).stdout, embedded);
    let names = from_input(&["distribution", "versions", "-o", "name"]);
    assert_eq!(run_with_input(home, &names, &archive).await.exits(0).stdout, "v2.9.4\n");
    for input in [&b""[..], b"no archive", &archive[..archive.len() / 2]] {
        let refused = run_with_input(home, &revision, input).await.exits(1);
        refused.stderr_has("cannot use the distribution on standard input");
    }
    run(home, &["distribution", "pack", "-o", "flux.tar"]).await.exits(0);
    let packed = std::fs::read(home.join("flux.tar")).unwrap();
    let refused = run_with_input(home, &revision, &packed).await.exits(1);
    refused.stderr_has("cannot be read from a stream").stderr_has("hint: give it as a file: --distribution FILE");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/oci/src/samples/cosign.pub"), home.join("key.pub"))
        .unwrap();
    let verified = [&revision[..], &["--verify-key", "key.pub"]].concat();
    run_with_input(home, &verified, &archive).await.exits(2).stderr_has("not standard input");
    // There is one standard input, and the instance took it.
    let both = from_input(&["build", "instance", "-f", "-", "--revision"]);
    let refused = run_with_input(home, &both, INSTANCE.as_bytes()).await.exits(2);
    refused.stderr_has("standard input can be read once only").stderr_has("it is already used for the FluxInstance");
}

async fn offline_no_command_opens_a_connection() {
    let registry = Registry::start().await.unwrap();
    let (port, connections) = count_connections().await;
    let (_, manifest) = pushed(&registry, "flux").await;
    let (home, embedded) = home().await;
    let home = home.path();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/oci/src/samples/cosign.pub"), home.join("key.pub"))
        .unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json"), home.join("dump.json"))
        .unwrap();
    let digest = &manifest.digest;
    let stored = format!("oci://{}/flux@{digest}", registry.host());
    run(home, &["distribution", "pull", "-o", "pulled", "--distribution", &stored]).await.exits(0);
    let (host, known) = (format!("localhost:{port}"), format!("oci://localhost:{port}/flux@{digest}"));
    let by_tag = format!("oci://{host}/flux:stable");

    // Commands that need the distribution read it from the cache; a tag would have to be resolved, and a signature
    // fetched.
    let readers = [
        (&REVISION[..], 0),
        (&["distribution", "versions"], 0),
        (&["distribution", "images"], 0),
        (&["distribution", "export", "exported"], 0),
        (&["distribution", "pull", "-o", "copy"], 0),
        (&["distribution", "pack", "-o", "flux.tar"], 0),
        (&["get", "inventory", "--from", "dump.json"], 0),
        (&["get", "components", "--from", "dump.json"], 0),
        (&["check", "--from", "dump.json"], 1),
        (&["report", "page.html", "--overwrite", "--from", "dump.json"], 0),
    ];
    for (words, code) in readers {
        let offline = async |more: &[&str]| run(home, &[words, &["--offline"], more].concat()).await;
        offline(&["--distribution", &known]).await.exits(code);
        offline(&["--distribution", &by_tag]).await.exits(1).stderr_has("connections are not allowed");
        let signed = offline(&["--distribution", &known, "--verify-key", "key.pub"]).await.exits(1);
        signed.stderr_has("connections are not allowed");
    }
    let verified = run(home, &["distribution", "verify", "--offline", &known]).await.exits(0);
    assert_eq!(verified.stdout.trim(), digest.to_string());
    for more in [&[&by_tag[..]][..], &["--key", "key.pub", &known]] {
        let words = [&["distribution", "verify", "--offline"], more].concat();
        run(home, &words).await.exits(1).stderr_has("connections are not allowed");
    }
    assert_eq!(run(home, &[&REVISION[..], &["--offline"]].concat()).await.exits(0).stdout, embedded);

    // Options for registries are refused.
    for words in [
        &["distribution", "push", &by_tag][..],
        &["distribution", "mirror", &host],
        &["distribution", "mirror", &host, "--from", "flux.tar", "--include-artifact"],
        &["distribution", "check-mirror", &host],
        &["distribution", "check-mirror", "-f", "flux.yaml"],
        &["distribution", "pack", "-o", "images.tar", "--images"],
    ] {
        run(home, &[words, &["--offline"]].concat()).await.exits(2).stderr_has("--offline");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    // Without the flag the listener is asked, or this would prove nothing.
    run(home, &["distribution", "verify", &known]).await.exits(6);
    assert!(connections.load(Ordering::SeqCst) > 0);
}

async fn without_the_cache_everything_is_pulled_and_nothing_is_kept() {
    let registry = Registry::start().await.unwrap();
    let counted = FaultyRegistry::start(registry.port(), |_, _| Mishap::None).await.unwrap();
    let (_, manifest) = pushed(&registry, "flux").await;
    let (home, embedded) = home().await;
    let home = home.path();
    let cache = home.join(".cache/flux-operator/artifacts");
    let by_digest = repository(&counted.host(), "flux").with_digest(manifest.digest.clone()).url();
    let requests = async |more: &[&str]| {
        let before = counted.passed().len();
        let built = run(home, &[&REVISION[..], &["--distribution", &by_digest], more].concat()).await;
        assert_eq!(built.exits(0).stdout, embedded);
        counted.passed().len() - before
    };
    assert!(requests(&["--no-cache"]).await > 0);
    assert!(!cache.exists());
    assert!(requests(&[]).await > 0);
    assert_eq!(requests(&[]).await, 0);
    let kept = files(&cache);
    assert!(requests(&["--no-cache"]).await > 0, "it is asked for although it is cached");
    assert!(files(&cache) == kept);
    assert_eq!(requests(&["--offline"]).await, 0);
    let neither = [&REVISION[..], &["--distribution", &by_digest, "--no-cache", "--offline"]].concat();
    run(home, &neither).await.exits(1).stderr_has("connections are not allowed");
}

/// The blobs in a cache, each of which must be what its name says.
fn whole_blobs(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("blobs/sha256")).unwrap();
    let blobs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    for blob in &blobs {
        assert_eq!(blob.file_name().unwrap().to_str(), Some(Digest::of(&std::fs::read(blob).unwrap()).hex()));
    }
    blobs
}

async fn processes_that_share_the_cache_do_not_disturb_each_other() {
    let registry = Registry::start().await.unwrap();
    let (reference, manifest) = pushed(&registry, "flux").await;
    let (home, embedded) = home().await;
    let home = home.path();
    let cache = home.join(".cache/flux-operator/artifacts");
    let url = reference.url();
    let pull = [&REVISION[..], &["--distribution", &url]].concat();
    let six_at_once = async || {
        let start = |_| command(home, &pull).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let processes: Vec<_> = (0..6).map(start).collect();
        for process in processes {
            assert_eq!(Run::from(process.wait_with_output().unwrap()).exits(0).stdout, embedded);
        }
        whole_blobs(&cache)
    };
    // From nothing; from all there is; and from what is damaged, which each of them finds and pulls again.
    let blobs = six_at_once().await;
    assert_eq!(blobs.len(), 3, "manifest, configuration and layer, and nothing half done: {blobs:?}");
    assert_eq!(six_at_once().await, blobs);
    for blob in &blobs {
        std::fs::write(blob, "damaged").unwrap();
    }
    six_at_once().await;
    // A process may have deleted a part that another one repaired; the next pull is complete.
    run(home, &pull).await.exits(0);
    let by_digest = reference.at(manifest.digest).url();
    let offline = [&REVISION[..], &["--distribution", &by_digest, "--offline"]].concat();
    assert_eq!(run(home, &offline).await.exits(0).stdout, embedded);
}

async fn a_cluster_is_compared_with_the_given_distribution() {
    let registry = Registry::start().await.unwrap();
    let (home, _) = home().await;
    let home = home.path();
    run(home, &["distribution", "export", "own"]).await.exits(0);
    let manifest = home.join("own/flux/v2.9.4/source-controller.yaml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let edited = text.replace("--storage-path=/data", "--storage-path=/elsewhere");
    assert_ne!(edited, text);
    std::fs::write(&manifest, edited).unwrap();
    let reference = format!("oci://{}/own:latest", registry.host());
    let pushed = run(home, &["distribution", "push", &reference, "--distribution", "own"]).await.exits(0).stdout;

    // A cluster that was given it, with one field changed since.
    let build = ["build", "instance", "-f", "flux.yaml", "--distribution", "own"];
    let revision = run(home, &[&build[..], &["--revision"]].concat()).await.exits(0).stdout;
    let objects = run(home, &[&build[..], &["-o", "json"]].concat()).await.exits(0).json();
    let objects = objects["items"].as_array().unwrap_or_else(|| objects.as_array().unwrap());
    let deployments = ["source-controller", "helm-controller"].map(|name| {
        let found = objects.iter().find(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == name);
        let mut found = found.unwrap().clone();
        found["metadata"]["labels"]["app.kubernetes.io/version"] = json!("v2.9.4");
        found
    });
    let [source, mut helm] = deployments;
    helm["spec"]["template"]["spec"]["containers"][0]["args"][0] = json!("--edited");
    let mut instance: Value = flux_operator::format::yaml::parse_one(INSTANCE).unwrap();
    instance["spec"]["distribution"]["artifact"] = json!(reference);
    let entry = |name: &str| json!({"id": format!("flux-system_{name}_apps_Deployment"), "v": "v1"});
    instance["status"] = json!({
        "lastAppliedRevision": revision.trim(), "lastArtifactRevision": pushed.trim().split_once('@').unwrap().1,
        "inventory": {"entries": [entry("source-controller"), entry("helm-controller")]},
    });
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": [instance, source, helm]});
    write(home, "dump.json", &dump.to_string());
    let read = async |words: &[&str], distribution: &[&str]| {
        run(home, &[words, &["--from", "dump.json", "--no-cache"], distribution].concat()).await
    };
    let all = [&["--distribution", "own"][..], &["--distribution", &reference], &["--distribution", pushed.trim()]];

    let inventory = ["get", "inventory", "-o", "jsonpath={.items[*].drift}"];
    let unknown = read(&inventory, &[]).await.exits(0).stderr_has("is not in the cache here, compare with");
    assert_eq!(unknown.stdout.trim(), "none none");
    run(home, &["distribution", "export", "other"]).await.exits(0);
    read(&inventory, &["--distribution", "other"]).await.exits(0).stderr_has("was applied, and the distribution other");
    for distribution in all {
        let compared = read(&inventory, distribution).await.exits(0);
        assert_eq!(compared.stdout.trim(), "none drifted", "{}", compared.stderr);
    }
    let wide = ["get", "components", "-o", "wide", "--no-headers", "source-controller"];
    read(&wide, &[]).await.exits(0).stdout_has("--storage-path=/elsewhere");
    for distribution in all {
        let usual = read(&wide, distribution).await.exits(0).stdout;
        assert!(!usual.contains("--storage-path"), "{usual}");
    }
    let check = ["check"];
    assert!(!read(&check, &[]).await.stdout.contains("builds "));
    for distribution in all {
        read(&check, distribution).await.stdout_has(&format!("builds {} with ", revision.trim()));
    }
    // An artifact that cannot be built is reported, and one that cannot be pulled is an error.
    write(home, "broken/flux/v2.9.4/rbac.yaml", "{");
    let broken = read(&check, &["--distribution", "broken"]).await.exits(1);
    broken.stdout_has("✗ the distribution broken");
    let none = reference.replace(":latest", ":none");
    for words in [&inventory[..], &wide, &check] {
        read(words, &["--distribution", &none]).await.exits(3).stderr_has("not found");
    }
}

async fn ignored_files_are_not_in_the_artifact() {
    let registry = Registry::start().await.unwrap();
    let (host, home) = (registry.host(), tempfile::tempdir().unwrap());
    let home = home.path();
    for path in ["a.yaml", "a_test.yaml", "b/c.yaml", "b/keep_test.yaml", "b/tests/d.yaml", "photo.jpg", ".git/config"]
    {
        write(home, &format!("deploy/{path}"), path);
    }
    let reference = format!("oci://{host}/manifests:v1");
    for (ignored, expected) in [
        (None, &["a.yaml", "a_test.yaml", "b/c.yaml", "b/keep_test.yaml", "b/tests/d.yaml"][..]),
        // Given, they replace the usual ones.
        (
            Some("*_test.yaml,tests/,!keep_test.yaml"),
            &[".git/config", "a.yaml", "b/c.yaml", "b/keep_test.yaml", "photo.jpg"],
        ),
        (Some("/b,.git"), &["a.yaml", "a_test.yaml", "photo.jpg"]),
    ] {
        let flag = ignored.map(|patterns| vec!["--ignore-paths", patterns]).unwrap_or_default();
        let content = [&["--path", "deploy"][..], &flag].concat();
        run(home, &[&["artifact", "push", &reference], &content[..]].concat()).await.exits(0);
        let _ = std::fs::remove_dir_all(home.join("out"));
        run(home, &["artifact", "pull", &reference, "--output", "out"]).await.exits(0);
        assert_eq!(files(&home.join("out")).into_keys().collect::<Vec<_>>(), expected, "{ignored:?}");
        let differs = run(home, &[&["artifact", "diff", &reference], &content[..]].concat()).await;
        assert_eq!(differs.exits(0).stdout, "", "{ignored:?}");
    }
    let nothing = ["artifact", "push", &reference, "--path", "deploy", "--ignore-paths", "*"];
    run(home, &nothing).await.exits(1).stderr_has("holds no file");
}

async fn the_flags_for_tls_reach_a_registry_with_certificates_of_its_own() {
    let [ours, clients, others] = ["ours", "clients", "others"].map(|name| Authority::new(name).unwrap());
    let options = RegistryOptions { authority: Some(&ours), ..RegistryOptions::default() };
    let open = Registry::start_with(options).await.unwrap();
    let options =
        RegistryOptions { authority: Some(&ours), client_authority: Some(&clients), ..RegistryOptions::default() };
    let closed = Registry::start_with(options).await.unwrap();
    let (home, embedded) = home().await;
    let home = home.path();
    let someone = clients.client("someone", &[], Validity::Current).unwrap();
    for (name, text) in [
        ("ours.crt", ours.certificate()),
        ("others.crt", others.certificate()),
        ("someone.crt", &someone.certificate),
        ("someone.key", &someone.key),
    ] {
        write(home, name, text);
    }
    let for_it = |registry: &Registry, file: &str| format!("{}={file}", registry.host());
    let (trusted, wrong) = (for_it(&closed, "ours.crt"), for_it(&closed, "others.crt"));
    let (shown, key) = (for_it(&closed, "someone.crt"), for_it(&closed, "someone.key"));
    let identity = ["--registry-cert", "someone.crt", "--registry-key", "someone.key"];
    let with = |flags: &[&[&str]]| flags.concat().iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
    let call = async |words: &[&str], flags: &[String]| {
        let words: Vec<&str> = words.iter().copied().chain(flags.iter().map(String::as_str)).collect();
        run(home, &words).await
    };
    for (registry, flags) in [
        (&open, with(&[&["--registry-ca", "ours.crt"]])),
        (&closed, with(&[&["--registry-ca", "ours.crt"], &identity])),
        (&closed, with(&[&["--registry-ca", &trusted, "--registry-cert", &shown, "--registry-key", &key]])),
        // Settings of a single registry override those for all.
        (&closed, with(&[&["--registry-ca", "others.crt", "--registry-ca", &trusted], &identity])),
    ] {
        let reference = format!("oci://{}/flux:latest", registry.host());
        call(&["distribution", "push", &reference], &flags).await.exits(0);
        let pull = [&REVISION[..], &["--no-cache", "--distribution", &reference]].concat();
        assert_eq!(call(&pull, &flags).await.exits(0).stdout, embedded, "{flags:?}");
        call(&["artifact", "list", &reference.replace(":latest", "")], &flags).await.exits(0).stdout_has("latest");
    }
    for (registry, flags) in [
        (&open, with(&[&["--registry-ca", "others.crt"]])),
        (&closed, with(&[&["--registry-ca", "ours.crt"]])),
        (&closed, with(&[&["--registry-ca", &trusted]])),
        (&closed, with(&[&["--registry-ca", &wrong], &identity])),
    ] {
        let reference = format!("oci://{}/flux:latest", registry.host());
        let pull = [&REVISION[..], &["--no-cache", "--distribution", &reference]].concat();
        call(&pull, &flags).await.exits(6).stderr_has("hint: for a registry with its own certificates, add");
    }
    let reference = format!("oci://{}/flux:latest", open.host());
    let push = ["distribution", "push", reference.as_str(), "--registry-ca"];
    run(home, &[&push[..], &["none.crt"]].concat()).await.exits(2).stderr_has("cannot read none.crt");
    run(home, &[&push[..], &["flux.yaml"]].concat()).await.exits(1).stderr_has("certificate");
    run(home, &[&push[..], &["ours.crt", "--registry-cert", "someone.crt"]].concat())
        .await
        .exits(2)
        .stderr_has("--registry-key");
}

async fn a_registry_is_called_without_tls_if_the_flag_says_so() {
    let proxy = ConnectProxy::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let versions = ["distribution", "versions", "--distribution", "oci://registry.invalid/flux:latest"];
    for (flag, expected) in [
        (&[][..], "registry.invalid:443"),
        (&["--plain-http", "registry.invalid"], "registry.invalid:80"),
        (&["--plain-http", "other.invalid"], "registry.invalid:443"),
    ] {
        let before = proxy.tunnels().len();
        let mut command = command(home.path(), &[&versions[..], flag].concat());
        command.envs([("HTTP_PROXY", proxy.url()), ("HTTPS_PROXY", proxy.url())]);
        finish(command).await.exits(6);
        let asked = &proxy.tunnels()[before..];
        assert!(!asked.is_empty() && asked.iter().all(|target| target == expected), "{flag:?}: {asked:?}");
    }
}

async fn a_registry_that_drips_or_stays_silent_is_given_up_after_the_time_of_the_command() {
    let registry = Registry::start().await.unwrap();
    let dripping = FaultyRegistry::start(registry.port(), |_, _| Mishap::Drip).await.unwrap();
    pushed(&registry, "flux").await;
    // The system accepts connections for it, but no program answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("localhost:{}", silent.local_addr().unwrap().port());
    let (home, _) = home().await;
    let home = home.path();
    write(home, "deploy/a.yaml", "kind: A\n");
    let drips = format!("oci://{}/flux:latest", dripping.host());
    let (mute, repository) = (format!("oci://{silent}/flux:latest"), format!("oci://{silent}/flux"));
    let one = ["--registry", silent.as_str(), "--components", "source-controller"];
    for (words, attempted) in [
        (&["artifact", "pull", &drips, "-o", "out"][..], format!("pull {drips}")),
        (&["artifact", "diff", &drips, "--path", "deploy"], format!("compare with {drips}")),
        (&["artifact", "tag", &drips, "--tag", "v2"], format!("tag {drips}")),
        (&["artifact", "list", &repository], format!("list the artifacts in {silent}/flux")),
        (&["artifact", "push", &mute, "--path", "deploy"], format!("push {mute}")),
        (
            &["distribution", "pull", "-o", "out", "--distribution", &drips],
            format!("get the distribution from {drips}"),
        ),
        (&["distribution", "verify", &drips], format!("get the distribution from {drips}")),
        (&["distribution", "push", &mute], format!("push {mute}")),
        (&["distribution", "check-mirror", &silent], format!("check the mirror {silent}")),
        (&[&["distribution", "mirror", &silent], &one[..]].concat(), format!("mirror to {silent}")),
        (&[&["distribution", "pack", "--images", "-o", "x.tar"], &one[..]].concat(), "pack into x.tar".to_owned()),
    ] {
        let begin = Instant::now();
        let late = run(home, &[words, &["--timeout", "1s"]].concat()).await.exits(7);
        late.stderr_has(&format!("timed out after 1s: cannot {attempted}")).stderr_has("--timeout sets the deadline");
        // It is never silent for long enough to be given up for that.
        assert!(begin.elapsed() < Duration::from_secs(20), "{words:?}: {:?}", begin.elapsed());
    }
}
