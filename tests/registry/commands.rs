//! The built binary against a real registry.

use std::path::Path;
use std::process::Stdio;

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use flux_operator::oci::Credentials;

use super::artifacts::{push_distribution, push_multi};
use super::support::registry::{Authentication, PASSWORD, Registry, RegistryOptions, USER};
use super::support::run::Run;
use super::support::runner;
use super::{client, login, repository, tests};

tests![
    manifests_go_to_a_registry_and_come_back,
    an_instance_is_built_from_its_artifact,
    images_are_mirrored_and_checked,
];

/// Runs the binary in a folder that is also its home.
async fn run(home: &Path, arguments: &[&str]) -> Run {
    let mut command = runner::command(&home.join("no-kubeconfig"), home);
    command.args(arguments).current_dir(home).stdin(Stdio::null());
    // The registry and the fault proxies live in this process's runtime.
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    output.into()
}

fn write(home: &Path, path: &str, text: &str) {
    let file = home.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

async fn manifests_go_to_a_registry_and_come_back() {
    let options = RegistryOptions { authentication: Authentication::Password, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let (host, home) = (registry.host(), tempfile::tempdir().unwrap());
    let home = home.path();
    let at = |tag: &str| format!("oci://{host}/team/manifests:{tag}");
    write(home, "deploy/a.yaml", "kind: A\n");
    write(home, "deploy/b/c.yaml", "kind: C\n");
    write(home, "deploy/photo.jpg", "not for Flux");
    let push = [
        "artifact",
        "push",
        &at("v1"),
        "--path",
        "deploy",
        "--source",
        "https://example.com/repo",
        "--revision",
        "main@sha1:abc",
    ];
    run(home, &push).await.exits(5).stderr_has(&format!("hint: log in with `docker login {host}`"));
    write(
        home,
        ".docker/config.json",
        &format!(r#"{{"auths": {{"{host}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}}}"#),
    );
    let pushed = run(home, &push).await.exits(0).stdout;
    assert!(pushed.starts_with(&format!("{}@sha256:", at("v1"))), "{pushed}");
    assert_eq!(run(home, &push).await.exits(0).stdout, pushed, "the same files give the same digest");

    let pulled = run(home, &["artifact", "pull", &at("v1"), "--output", "out"]).await.exits(0).stdout;
    assert_eq!(pulled, pushed);
    assert_eq!(std::fs::read_to_string(home.join("out/b/c.yaml")).unwrap(), "kind: C\n");
    assert!(!home.join("out/photo.jpg").exists());

    assert_eq!(run(home, &["artifact", "diff", &at("v1"), "--path", "deploy"]).await.exits(0).stdout, "");
    write(home, "deploy/a.yaml", "kind: B\n");
    let differs = run(home, &["artifact", "diff", &at("v1"), "--path", "deploy"]).await;
    assert_eq!(differs.code, 1);
    assert!(differs.stdout.contains("-kind: A\n+kind: B\n"), "{}", differs.stdout);

    let tagged = run(home, &["artifact", "tag", &at("v1"), "--tag", "staging", "--tag", "prod"]).await.exits(0).stdout;
    assert_eq!(tagged.lines().count(), 2);
    let listed =
        run(home, &["artifact", "list", &format!("oci://{host}/team/manifests"), "-o", "json"]).await.exits(0).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let tags: Vec<_> = listed["items"].as_array().unwrap().iter().map(|item| item["tag"].as_str().unwrap()).collect();
    assert_eq!(tags, ["prod", "staging", "v1"]);
    assert_eq!(listed["items"][0]["revision"], "main@sha1:abc");

    run(home, &["artifact", "pull", &at("v2"), "--output", "out"]).await.exits(3).stderr_has("not found");
    run(home, &["artifact", "push", "ghcr.io/x", "--path", "deploy"])
        .await
        .exits(2)
        .stderr_has("oci://HOST/REPOSITORY:TAG");
}

async fn an_instance_is_built_from_its_artifact() {
    let options = RegistryOptions { authentication: Authentication::Token, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let (host, home) = (registry.host(), tempfile::tempdir().unwrap());
    let home = home.path();
    let reference = repository(&host, "flux/manifests").with_tag("latest").unwrap();
    let pushed = push_distribution(&client(login(&host, PASSWORD)), &reference).await;
    let instance = |artifact: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux, namespace: flux-system}}\n\
             spec:\n  distribution: {{version: 2.x, registry: ghcr.io/fluxcd{artifact}}}\n"
        )
    };
    write(home, "plain.yaml", &instance(""));
    write(home, "artifact.yaml", &instance(&format!(", artifact: 'oci://{host}/flux/manifests'")));
    write(home, "missing.yaml", &instance(&format!(", artifact: 'oci://{host}/flux/none:v1'")));
    let revision = |file: &'static str| ["build", "instance", "-f", file, "--revision"];
    let embedded = run(home, &revision("plain.yaml")).await.exits(0).stdout;
    // Everybody may read here; nobody has logged in.
    let ran = run(home, &revision("artifact.yaml")).await;
    assert!(ran.stderr.contains(&pushed.digest.to_string()), "{}", ran.stderr);
    assert_eq!(ran.exits(0).stdout, embedded);
    let by_flag = format!("oci://{host}/flux/manifests@{}", pushed.digest);
    for more in [&["--distribution", &by_flag][..], &["--distribution-artifact", &by_flag, "--offline"]] {
        let arguments = [&revision("plain.yaml")[..], more].concat();
        assert_eq!(run(home, &arguments).await.exits(0).stdout, embedded);
    }
    let offline = [&revision("artifact.yaml")[..], &["--offline"]].concat();
    run(home, &offline).await.exits(1).stderr_has("no connection may be opened");
    run(home, &revision("missing.yaml")).await.exits(3).stderr_has("not found");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/src/oci/samples/cosign.pub"), home.join("key.pub")).unwrap();
    let verified = [&revision("artifact.yaml")[..], &["--verify-key", "key.pub"]].concat();
    run(home, &verified).await.exits(1).stderr_has("carries no signature that the key verifies");
}

async fn images_are_mirrored_and_checked() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let embedded = Distribution::embedded();
    let newest = embedded.versions().pop().unwrap();
    for component in [Component::SourceController, Component::KustomizeController] {
        let tag = embedded.tag(&newest, component).unwrap();
        let reference = repository(&from.host(), &format!("src/{component}")).with_tag(&tag).unwrap();
        push_multi(&client(Credentials::Anonymous), &reference, b"shared").await;
    }
    let (source, target) = (format!("{}/src", from.host()), format!("{}/mirror", to.host()));
    let both = ["--registry", &source, "--components", "source-controller,kustomize-controller"];
    let command = |words: &[&'static str]| {
        let words = words.iter().copied().chain([target.as_str()]).chain(both).map(str::to_owned);
        words.collect::<Vec<String>>()
    };
    let call = async |words: &[&'static str], more: &[&str]| {
        let words = command(words);
        let arguments: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        run(home, &arguments).await
    };
    call(&["distribution", "check-mirror"], &[]).await.exits(1).stderr_has("copy them with");
    let planned = call(&["distribution", "mirror"], &["--dry-run"]).await.exits(0).stdout;
    assert_eq!(planned.matches("missing").count(), 2, "{planned}");
    let copied = call(&["distribution", "mirror"], &["--verify", "-o", "name"]).await;
    assert!(copied.stderr.contains(&format!("spec.distribution.registry: {target}")), "{}", copied.stderr);
    let names = copied.exits(0).stdout;
    assert_eq!(names.lines().count(), 2);
    for name in names.lines() {
        let (image, digest) = name.split_once('@').unwrap();
        assert_eq!(to.judge("crane", &["digest", image]).unwrap().trim(), digest);
    }
    call(&["distribution", "check-mirror"], &[]).await.exits(0);
    let again = call(&["distribution", "mirror"], &[]).await.exits(0).stdout;
    assert_eq!(again.matches("present").count(), 2, "{again}");
}
