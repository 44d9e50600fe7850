//! The built binary against a real registry.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use flux_operator::oci::{Digest, ImageLocation, RegistryCredentials, Repository};

use super::artifacts::{push_distribution, push_multi};
use super::cosign::{Cosign, Form};
use super::support::registry::{
    Authentication, FaultyRegistry, Mishap, PASSWORD, Passed, Registry, RegistryOptions, USER,
};
use super::support::run::Run;
use super::support::runner;
use super::{client, login, noise, repository, tests};

pub const INSTANCE: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n\
    metadata: {name: flux, namespace: flux-system}\n\
    spec:\n  distribution: {version: 2.x, registry: ghcr.io/fluxcd}\n";

tests![
    manifests_go_to_a_registry_and_come_back,
    an_instance_is_built_from_its_artifact,
    images_are_mirrored_and_checked,
    a_mirror_that_is_killed_goes_on_where_it_was,
    an_interrupted_command_reports_the_artifacts_that_a_registry_may_have,
    a_version_goes_through_an_air_gap_in_one_file,
    a_pull_wants_the_signature_that_the_key_verifies,
];

/// Runs the binary in a folder that is also its home.
pub async fn run(home: &Path, arguments: &[&str]) -> Run {
    finish(command(home, arguments)).await
}

pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = runner::command(&home.join("no-kubeconfig"), home);
    command.args(arguments).current_dir(home).stdin(Stdio::null());
    command
}

pub async fn finish(mut command: Command) -> Run {
    // The registry and the fault proxies live in this process's runtime.
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    output.into()
}

/// Logs the registry's one user in, as `docker login` does.
pub fn log_in(home: &Path, host: &str) {
    let login = format!(r#"{{"auths": {{"{host}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}}}"#);
    write(home, ".docker/config.json", &login);
}

pub fn write(home: &Path, path: &str, text: &str) {
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
    log_in(home, &host);
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

    // The same out of an image layout, as other tools write them.
    registry
        .judge(
            "crane",
            &["pull", "--format=oci", &at("v1").replace("oci://", ""), &home.join("layout").display().to_string()],
        )
        .unwrap();
    let pulled = run(home, &["artifact", "pull", "oci-layout:layout", "--output", "again"]).await.exits(0).stdout;
    assert_eq!(pulled.trim(), pushed.trim().split_once('@').unwrap().1);
    assert_eq!(std::fs::read_to_string(home.join("again/b/c.yaml")).unwrap(), "kind: C\n");
    run(home, &["artifact", "diff", "oci-layout:layout", "--path", "again"]).await.exits(0);
    run(home, &["artifact", "diff", "oci-layout:layout", "--path", "deploy"]).await.exits(1);
    run(home, &["artifact", "pull", "oci-layout:layout:v9", "--output", "out"])
        .await
        .exits(3)
        .stderr_has("v9 in layout");
    run(home, &["artifact", "pull", "layout", "--output", "out"]).await.exits(2).stderr_has("oci-layout:DIR[:TAG]");

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
    // Reading needs no login here.
    let ran = run(home, &revision("artifact.yaml")).await;
    assert!(ran.stderr.contains(&pushed.digest.to_string()), "{}", ran.stderr);
    assert_eq!(ran.exits(0).stdout, embedded);
    let by_flag = format!("oci://{host}/flux/manifests@{}", pushed.digest);
    for more in [&["--distribution", &by_flag][..], &["--distribution-artifact", &by_flag, "--offline"]] {
        let arguments = [&revision("plain.yaml")[..], more].concat();
        assert_eq!(run(home, &arguments).await.exits(0).stdout, embedded);
    }
    let offline = [&revision("artifact.yaml")[..], &["--offline"]].concat();
    run(home, &offline).await.exits(1).stderr_has("connections are not allowed");
    run(home, &revision("missing.yaml")).await.exits(3).stderr_has("not found");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/oci/src/samples/cosign.pub"), home.join("key.pub"))
        .unwrap();
    let verified = [&revision("artifact.yaml")[..], &["--verify-key", "key.pub"]].concat();
    run(home, &verified).await.exits(1).stderr_has("has no signature that the key verifies");
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
        push_multi(&client(RegistryCredentials::Anonymous), &reference, b"shared").await;
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

async fn an_interrupted_command_reports_the_artifacts_that_a_registry_may_have() {
    let registry = Registry::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write(home, "manifests/a.yaml", "a: 1\n");
    let tagged = format!("oci://{}/app:v1", registry.host());
    run(home, &["artifact", "push", &tagged, "--path", "manifests"]).await.exits(0);
    for line in [
        "artifact push oci://HOST/app:v2 --path manifests",
        "artifact tag oci://HOST/app:v1 --tag latest",
        "distribution push oci://HOST/flux:v1",
    ] {
        let arrived = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&arrived);
        let slow = FaultyRegistry::start(registry.port(), move |_, passed: &Passed| {
            if passed.line.starts_with("PUT ") && passed.line.contains("/manifests/") {
                reported.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_secs(2));
            }
            Mishap::None
        });
        let slow = slow.await.unwrap();
        let line = line.replace("HOST", &slow.host());
        let mut command = command(home, &line.split(' ').collect::<Vec<_>>());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // On a thread of its own: the registry is frozen together with this one.
        let ended = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            while !arrived.load(Ordering::SeqCst) {
                assert!(begun.elapsed() < Duration::from_secs(20), "no manifest arrives");
                std::thread::sleep(Duration::from_millis(5));
            }
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            child.wait_with_output().unwrap()
        });
        let ended: Run = ended.await.unwrap().into();
        let ended = ended.exits(130).stderr_has("requests that were sent may have been carried out");
        assert!(!ended.stderr.contains("nothing was changed"), "{line}: {}", ended.stderr);
    }
}

async fn a_mirror_that_is_killed_goes_on_where_it_was() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let embedded = Distribution::embedded();
    let newest = embedded.versions().pop().unwrap();
    let components = [Component::SourceController, Component::KustomizeController, Component::HelmController];
    let client = client(RegistryCredentials::Anonymous);
    // Every blob of the images, with the repository that it goes to.
    let mut blobs = Vec::new();
    for component in components {
        let tag = embedded.tag(&newest, component).unwrap();
        let reference = repository(&from.host(), &format!("src/{component}")).with_tag(&tag).unwrap();
        // Different ones: nothing can be mounted.
        let content = [component.as_str().as_bytes(), &noise(24 << 20)].concat();
        let index = push_multi(&client, &reference, &content).await;
        let place = ImageLocation::Repository(client.clone(), reference.repository);
        for platform in index.manifests().unwrap() {
            let image = place.manifest(&platform.digest.to_string()).await.unwrap();
            let there = repository(&to.host(), &format!("mirror/{component}"));
            blobs.extend(image.blobs().map(|blob| (there.clone(), blob.digest.clone())));
        }
    }
    blobs.dedup();
    let counted = FaultyRegistry::start(to.port(), |_, _| Mishap::None).await.unwrap();
    let (source, target) = (format!("{}/src", from.host()), format!("{}/mirror", counted.host()));
    let names = components.map(|component| component.to_string()).join(",");
    let words = ["distribution", "mirror", &target, "--registry", &source, "--components", &names];
    // Each command is killed later than the one before, until one completes first.
    let (mut kills, mut goes_on) = (0, false);
    loop {
        let mut stored = Vec::new();
        for (repository, digest) in &blobs {
            if client.has_blob(repository, digest).await.unwrap() {
                stored.push((format!("/{}/blobs/uploads/", repository.path()), digest.hex()));
            }
        }
        goes_on |= (1..blobs.len()).contains(&stored.len());
        let before = counted.passed().len();
        let is_sent_again = |passed: &Passed| {
            let is_it = |(uploads, hex): &(String, &str)| passed.line.contains(uploads) && passed.line.contains(hex);
            passed.line.starts_with("PUT ") && stored.iter().any(is_it)
        };
        let mut command = runner::command(&home.join("no-kubeconfig"), home);
        command.args(words).current_dir(home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut mirror = command.spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(60 * (kills + 1))).await;
        let is_done = mirror.try_wait().unwrap().is_some_and(|status| status.success());
        if !is_done {
            mirror.kill().unwrap();
            mirror.wait().unwrap();
        }
        let twice: Vec<_> = counted.passed().split_off(before).into_iter().filter(is_sent_again).collect();
        assert!(twice.is_empty(), "what is there is not sent again: {twice:?}");
        if is_done {
            break;
        }
        kills += 1;
        assert!(kills < 100, "it never gets there");
    }
    assert!(kills > 0, "none was killed in its work");
    assert!(goes_on, "none went on with a part of the blobs");
    let is_sent = |(_, digest): &(Repository, Digest)| {
        let uploads = |passed: &Passed| passed.line.starts_with("PUT ") && passed.line.contains(digest.hex());
        counted.passed().iter().any(uploads)
    };
    assert!(blobs.iter().all(is_sent), "every blob is seen on its way");
    let last = run(home, &words).await.exits(0).stdout;
    assert_eq!(last.matches("present").count(), components.len(), "{last}");
    let check = ["distribution", "check-mirror", &target, "--registry", &source, "--components", &names];
    run(home, &check).await.exits(0);
    run(home, &[&words[..], &["--verify"]].concat()).await.exits(0);
    for component in components {
        let tag = embedded.tag(&newest, component).unwrap();
        let [there, here] = [&source, &target]
            .map(|registry| to.judge("crane", &["digest", &format!("{registry}/{component}:{tag}")]).unwrap());
        assert_eq!(here, there);
    }
}

async fn a_version_goes_through_an_air_gap_in_one_file() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let embedded = Distribution::embedded();
    let newest = embedded.versions().pop().unwrap();
    let mut digests = Vec::new();
    for component in [Component::SourceController, Component::KustomizeController] {
        let tag = embedded.tag(&newest, component).unwrap();
        let reference = repository(&from.host(), &format!("src/{component}")).with_tag(&tag).unwrap();
        let index = push_multi(&client(RegistryCredentials::Anonymous), &reference, &noise(3 << 20)).await;
        digests.push((format!("{component}:{tag}"), index.digest.to_string()));
    }
    let operator = repository(&from.host(), "team/operator").with_tag("v7").unwrap();
    let index = push_multi(&client(RegistryCredentials::Anonymous), &operator, &noise(1 << 20)).await;
    digests.push(("flux-operator:v7".to_owned(), index.digest.to_string()));
    let operator = operator.url().replace("oci://", "");
    let source = format!("{}/src", from.host());
    let components = "source-controller,kustomize-controller";
    let pack = [
        "distribution",
        "pack",
        "--registry",
        &source,
        "--components",
        components,
        "--operator-image",
        &operator,
        "-o",
    ];
    let packed = run(home, &[&pack[..], &["flux.tar", "--images"]].concat()).await.exits(0);
    assert!(packed.stdout.starts_with("sha256:"), "{}", packed.stdout);
    assert!(!home.join("flux.tar.partial").exists());
    run(home, &[&pack[..], &["again.tar", "--images"]].concat()).await.exits(0);
    assert!(
        std::fs::read(home.join("flux.tar")).unwrap() == std::fs::read(home.join("again.tar")).unwrap(),
        "the same images and manifests give the same file"
    );
    run(home, &[&pack[..], &["list.tar"]].concat()).await.exits(0);
    // An interrupted run was about another version, or about more.
    let partial = home.join("clean.tar.partial");
    run(home, &["distribution", "pack", "--version", "2.8.x", "-o", "older.tar"]).await.exits(0);
    for left in ["older.tar", "flux.tar"] {
        std::fs::create_dir(&partial).unwrap();
        let unpacked = Command::new("tar").arg("-xf").arg(home.join(left)).arg("-C").arg(&partial).status();
        assert!(unpacked.unwrap().success());
        run(home, &[&pack[..], &["clean.tar"]].concat()).await.exits(0);
        let [clean, list] = ["clean.tar", "list.tar"].map(|file| std::fs::read(home.join(file)).unwrap());
        assert!(clean == list, "what was left of {left} is in it");
        assert!(!partial.exists());
    }

    // From here on the first registry is out of reach.
    drop(from);
    let verified = run(home, &["distribution", "verify", "flux.tar"]).await;
    assert!(verified.stderr.contains("2 images are in the file"), "{}", verified.stderr);
    assert_eq!(verified.exits(0).stdout, packed.stdout);
    let listed = run(home, &["distribution", "verify", "list.tar"]).await.exits(0);
    assert_eq!(listed.stderr.matches("not in it: ").count(), 2, "{}", listed.stderr);

    let target = format!("{}/mirror", to.host());
    let mirror = ["distribution", "mirror", "--operator-image", &operator, "--from"];
    let copied = run(home, &[&mirror[..], &["flux.tar", &target, "--include-artifact", "-o", "name"]].concat()).await;
    assert!(copied.stderr.contains(&format!("spec.distribution.registry: {target}")), "{}", copied.stderr);
    assert_eq!(copied.exits(0).stdout.lines().count(), 4);
    for (image, digest) in &digests {
        // All platforms, with the digest they had.
        assert_eq!(to.judge("crane", &["digest", &format!("{target}/{image}")]).unwrap().trim(), digest);
        to.judge("crane", &["manifest", "--platform", "linux/arm64", &format!("{target}/{image}")]).unwrap();
    }
    let again = run(home, &[&mirror[..], &["flux.tar", &target]].concat()).await.exits(0).stdout;
    assert_eq!(again.matches("present").count(), 3, "{again}");
    // Its manifests are in it, too, and name it.
    let artifact = format!("oci://{target}/flux-operator-manifests:{newest}");
    run(home, &["artifact", "pull", &artifact, "-o", "manifests"]).await.exits(0);
    let install = std::fs::read_to_string(home.join("manifests/flux-operator/install.yaml")).unwrap();
    assert!(install.contains(&format!("image: {operator}")), "{install}");
    run(home, &[&mirror[..], &["list.tar", &format!("{}/none", to.host())]].concat())
        .await
        .exits(3)
        .stderr_has("has images only with --images");

    // The file, and the artifact that came out of it, are distributions like any other.
    write(home, "flux.yaml", INSTANCE);
    let revision = ["build", "instance", "-f", "flux.yaml", "--revision"];
    let embedded = run(home, &revision).await.exits(0).stdout;
    let artifact = format!("oci://{target}/flux-operator-manifests:{newest}");
    for distribution in ["flux.tar", "oci-layout:flux.tar", &artifact] {
        let built = run(home, &[&revision[..], &["--distribution", distribution]].concat()).await;
        assert_eq!(built.exits(0).stdout, embedded, "{distribution}");
    }

    let mut damaged = std::fs::read(home.join("flux.tar")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(home.join("damaged.tar"), &damaged).unwrap();
    run(home, &["distribution", "verify", "damaged.tar"]).await.exits(1).stderr_has("has the digest");
    std::fs::write(home.join("cut.tar"), &damaged[..middle]).unwrap();
    run(home, &["distribution", "verify", "cut.tar"]).await.exits(1);
    // An archive of our own making is not written into by its readers.
    run(home, &["distribution", "verify", "nothing.tar"]).await.exits(1).stderr_has("nothing.tar");
}

async fn a_pull_wants_the_signature_that_the_key_verifies() {
    let registry = Registry::start().await.unwrap();
    let (host, home) = (registry.host(), tempfile::tempdir().unwrap());
    let (home, client) = (home.path(), client(RegistryCredentials::Anonymous));
    let reference = repository(&host, "flux").with_tag("latest").unwrap();
    let pushed = push_distribution(&client, &reference).await;
    let (signed, cosign) = (reference.at(pushed.digest.clone()), Cosign::new().await);
    std::fs::copy(cosign.make_key("ours"), home.join("ours.pub")).unwrap();
    cosign.make_key("theirs");
    write(home, "flux.yaml", INSTANCE);
    let url = reference.url();
    let verify = ["distribution", "verify", "--key", "ours.pub", &url];
    let pulls = [
        &verify[..],
        &["distribution", "pull", "-o", "out", "--verify-key", "ours.pub", "--distribution", &url],
        &["build", "instance", "-f", "flux.yaml", "--verify-key", "ours.pub", "--distribution", &url],
        &["distribution", "versions", "--verify-key", "ours.pub", "--distribution", &url],
        &["artifact", "pull", &url, "-o", "files", "--verify-key", "ours.pub"],
    ];
    let refused = "has no signature that the key verifies";
    let diff = |path: &'static str| ["artifact", "diff", &url, "--path", path, "--verify-key", "ours.pub"];
    for pull in pulls.into_iter().chain([&diff("flux.yaml")[..]]) {
        run(home, pull).await.exits(1).stderr_has(&format!("{refused} (0 seen)"));
    }
    cosign.sign("theirs", &signed, Form::Bundle);
    for pull in pulls {
        run(home, pull).await.exits(1).stderr_has(&format!("{refused} (1 seen)"));
    }
    cosign.sign("ours", &signed, Form::Bundle);
    for pull in pulls {
        run(home, pull).await.exits(0);
    }
    run(home, &diff("files")).await.exits(0).stderr_has("no differences");
    let verified = run(home, &verify).await.exits(0);
    assert_eq!(verified.stdout.trim(), pushed.digest.to_string());
    verified.stderr_has("the signature was verified with ours.pub");
    // A signature is about one digest: another artifact under the tag is not signed, though it is in the cache.
    let other = super::artifacts::push_files(&client, &reference, &[("flux/v2.9.4/rbac.yaml", "")]).await;
    assert_ne!(other.digest, pushed.digest);
    for pull in pulls {
        run(home, pull).await.exits(1).stderr_has(&format!("{refused} (0 seen)"));
    }
    run(home, &["distribution", "verify", "--key", "ours.pub", "out"])
        .await
        .exits(2)
        .stderr_has("only the signatures of artifacts in a registry can be verified");
    run(home, &["distribution", "verify", &signed.url()]).await.exits(0).stderr_has("the signature was not verified");
}
