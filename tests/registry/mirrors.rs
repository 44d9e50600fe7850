//! `distribution mirror` and `check-mirror` of the built binary: what they write, what they tell, and when they fail.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use flux_operator::oci::{ImageLocation, Layout, Manifest, RegistryCredentials};
use rexpect::session::spawn_command;
use serde_json::json;
use tempfile::TempDir;

use super::artifacts::push_multi;
use super::commands::{INSTANCE, command, run, write};
use super::support::registry::{FaultyRegistry, Mishap, Passed, Registry};
use super::support::run::{Run, shown_text};
use super::{client, noise, repository, tests};

tests![
    a_check_names_the_digests_that_are_missing,
    a_check_asks_for_every_platform_and_layer,
    images_of_an_instance_are_checked_in_its_own_registry,
    a_tag_that_moved_after_its_digest_was_recorded_changes_nothing,
    a_rehearsal_only_reads,
    where_tags_are_immutable_what_is_there_already_is_not_written,
    the_operator_and_the_manifests_are_copied_along,
    a_verification_fails_where_the_mirror_is_not_what_was_copied,
    a_verification_sends_what_the_mirror_has_lost,
    a_mirror_whose_connection_is_cut_says_how_to_go_on,
    progress_is_a_bar_for_each_image_on_a_terminal_and_plain_lines_elsewhere,
];

const VERSION: &str = "v2.9.4";
const COMPONENTS: [Component; 2] = [Component::SourceController, Component::KustomizeController];

/// Two registries, images of two controllers in the first, and a distribution that knows their digests.
struct World {
    from: Registry,
    to: Registry,
    home: TempDir,
    images: Vec<Manifest>,
}

impl World {
    async fn new(size: usize) -> World {
        let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
        let home = tempfile::tempdir().unwrap();
        run(home.path(), &["distribution", "export", "known"]).await.exits(0);
        let (mut images, mut known) = (Vec::new(), Vec::new());
        for component in COMPONENTS {
            let tag = tag(component);
            let reference = repository(&from.host(), &format!("src/{component}")).with_tag(&tag).unwrap();
            // Two different layers: nothing can be mounted.
            let content = [component.as_str().as_bytes(), &noise(size)].concat();
            let index = push_multi(&client(RegistryCredentials::Anonymous), &reference, &content).await;
            known.push(json!({"name": component.as_str(), "newTag": tag, "digest": index.digest.to_string()}));
            images.push(index);
        }
        let known = json!({"images": known}).to_string();
        write(home.path(), &format!("known/flux-images/{VERSION}/upstream-alpine.yaml"), &known);
        World { from, to, home, images }
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    /// The words of a command about the mirror at `host`.
    fn words(&self, verb: &str, host: &str, more: &[&str]) -> Vec<String> {
        let (target, source) = (format!("{host}/mirror"), format!("{}/src", self.from.host()));
        let components = COMPONENTS.map(|component| component.to_string()).join(",");
        let words = ["distribution", verb, &target, "--registry", &source, "--components", &components];
        let known = ["--distribution", "known", "--variant", "upstream-alpine"];
        [&words[..], &known, more].concat().into_iter().map(str::to_owned).collect()
    }

    async fn call(&self, verb: &str, host: &str, more: &[&str]) -> Run {
        let words = self.words(verb, host, more);
        run(self.home(), &words.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// Returns the name of an image in the mirror.
    fn target(&self, component: Component) -> String {
        format!("{}/mirror/{component}:{}", self.to.host(), tag(component))
    }
}

fn tag(component: Component) -> String {
    let embedded = Distribution::embedded();
    embedded.tag(&embedded.versions().pop().unwrap(), component).unwrap()
}

async fn a_check_names_the_digests_that_are_missing() {
    let world = World::new(1000).await;
    let (host, [source, kustomize]) = (world.to.host(), COMPONENTS);
    let states = async || -> Vec<(String, String)> {
        let checked = world.call("check-mirror", &host, &["-o", "json"]).await;
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        let rows: Vec<_> = checked.json()["items"].as_array().unwrap().clone();
        let is_missing = rows.iter().any(|row| row["state"] == "missing");
        assert_eq!(checked.code, i32::from(is_missing), "{rows:?}");
        rows.iter().map(|row| (text(row, "name"), text(row, "state"))).collect()
    };
    let digests: Vec<String> = world.images.iter().map(|image| image.digest.to_string()).collect();
    let expected = |states: [&str; 2]| -> Vec<(String, String)> {
        digests.iter().cloned().zip(states.map(str::to_owned)).collect()
    };
    assert_eq!(states().await, expected(["missing", "missing"]));
    let one = ["distribution", "mirror", &format!("{host}/mirror"), "--components", source.as_str()];
    let src = format!("{}/src", world.from.host());
    let known = ["--registry", &src, "--distribution", "known", "--variant", "upstream-alpine"];
    run(world.home(), &[&one[..], &known].concat()).await.exits(0);
    assert_eq!(states().await, expected(["present", "missing"]));
    let table = world.call("check-mirror", &host, &[]).await.exits(1);
    table.stderr_has(&format!("copy them with `flux-operator distribution mirror {host}/mirror`"));
    let wide = world.call("check-mirror", &host, &["-o", "name", "--filter", "state=missing"]).await.exits(1);
    assert_eq!(wide.stdout, format!("{host}/mirror/{kustomize}@{}\n", digests[1]));
    // The right tag on something else is not what is looked for.
    let other = repository(&host, &format!("mirror/{kustomize}")).with_tag(&tag(kustomize)).unwrap();
    push_multi(&client(RegistryCredentials::Anonymous), &other, b"other").await;
    assert_eq!(states().await, expected(["present", "missing"]));
    world.call("mirror", &host, &[]).await.exits(0);
    assert_eq!(states().await, expected(["present", "present"]));
    let seen = world.to.judge("crane", &["digest", &world.target(kustomize)]).unwrap();
    assert_eq!(seen.trim(), digests[1]);
}

async fn a_check_asks_for_every_platform_and_layer() {
    let world = World::new(1000).await;
    let host = world.to.host();
    world.call("mirror", &host, &[]).await.exits(0);
    let client = client(RegistryCredentials::Anonymous);
    let place = ImageLocation::Repository(client, repository(&host, &format!("mirror/{}", COMPONENTS[1])));
    let index = &world.images[1];
    let platform = place.manifest(&index.manifests().unwrap()[1].digest.to_string()).await.unwrap();
    let layer = &platform.content.layers[1].digest;
    for (request, lost) in [
        (format!("GET /manifests/{}", platform.digest), platform.digest.to_string()),
        (format!("HEAD /blobs/{layer}"), layer.to_string()),
    ] {
        let faulty = FaultyRegistry::start(world.to.port(), move |_, passed: &Passed| {
            let (method, path) = request.split_once(' ').unwrap();
            let is_it = passed.line.starts_with(method) && passed.line.ends_with(path);
            if is_it { Mishap::Answer(404, vec![], String::new()) } else { Mishap::None }
        });
        let faulty = faulty.await.unwrap();
        let checked = world.call("check-mirror", &faulty.host(), &["-o", "json"]).await.exits(1);
        let rows = checked.json()["items"].clone();
        assert_eq!((&rows[0]["state"], &rows[1]["state"]), (&json!("present"), &json!("incomplete")));
        assert_eq!(rows[1]["missing"], json!([lost]));
        let reported = world.call("check-mirror", &faulty.host(), &[]).await.exits(1);
        reported
            .stderr_has(&format!("{} is incomplete: {lost} is missing", index.digest))
            .stderr_has("/mirror --verify`");
    }
    world.call("check-mirror", &host, &[]).await.exits(0);
}

async fn images_of_an_instance_are_checked_in_its_own_registry() {
    let world = World::new(1000).await;
    let (from, host) = (world.from.host(), world.to.host());
    let components = COMPONENTS.map(|component| component.to_string()).join(", ");
    for (file, registry) in [("source.yaml", format!("{from}/src")), ("mirror.yaml", format!("{host}/mirror"))] {
        let spec = format!(
            "spec:\n  distribution: {{version: 2.x, registry: '{registry}', variant: upstream-alpine}}\n  \
             components: [{components}]\n"
        );
        write(world.home(), file, &(INSTANCE.split("spec:").next().unwrap().to_owned() + &spec));
    }
    let operator = repository(&from, "team/operator").with_tag("v7").unwrap();
    push_multi(&client(RegistryCredentials::Anonymous), &operator, b"operator").await;
    let operator = operator.to_string();
    let along = ["--include-artifact", "--operator-image", &operator];
    let mirror = format!("{host}/mirror");
    let check = async |words: &[&str]| {
        let check = ["distribution", "check-mirror", "--distribution", "known"];
        run(world.home(), &[&check[..], words, &["-o", "json"]].concat()).await
    };
    let seen = |checked: &Run| -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let rows = checked.json()["items"].as_array().unwrap().clone();
        rows.iter().map(|row| (text(&row["image"]), text(&row["state"]))).collect()
    };
    let names = [COMPONENTS[0].as_str(), COMPONENTS[1].as_str(), "flux-operator", "flux-operator-manifests"];
    let all = |state: &str| names.map(|name| (format!("{mirror}/{name}"), state.to_owned())).to_vec();

    // It pulls from the source now; whether it could pull from a mirror is another question.
    let checked = check(&["-f", "source.yaml"]).await.exits(0);
    assert_eq!(seen(&checked)[0].0, format!("{from}/src/{}", COMPONENTS[0]));
    let checked = check(&[&[&mirror, "-f", "source.yaml"][..], &along].concat()).await.exits(1);
    assert_eq!(seen(&checked), all("missing"));
    check(&["-f", "mirror.yaml"]).await.exits(1).stderr_has(&format!("distribution mirror {mirror}"));
    world.call("mirror", &host, &along).await.exits(0);
    for words in [&[&mirror, "-f", "source.yaml"][..], &["-f", "mirror.yaml"]] {
        let checked = check(&[words, &along].concat()).await.exits(0);
        assert_eq!(seen(&checked), all("present"));
        let digests: Vec<_> = world.images.iter().map(|image| json!(image.digest.to_string())).collect();
        let rows = checked.json()["items"].clone();
        assert_eq!([&rows[0]["name"], &rows[1]["name"]], [&digests[0], &digests[1]]);
    }
    // The instance says which version and which build.
    check(&["-f", "mirror.yaml", "--version", "2.x"]).await.exits(2).stderr_has("cannot be used with");
    run(world.home(), &["distribution", "check-mirror"]).await.exits(2).stderr_has("<REGISTRY>");
}

async fn a_tag_that_moved_after_its_digest_was_recorded_changes_nothing() {
    let world = World::new(1000).await;
    let source = format!("{}/src", world.from.host());
    for (component, image) in COMPONENTS.into_iter().zip(&world.images) {
        let reference = repository(&world.from.host(), &format!("src/{component}")).with_tag(&tag(component)).unwrap();
        let moved = push_multi(&client(RegistryCredentials::Anonymous), &reference, b"moved").await;
        assert_ne!(moved.digest, image.digest);
    }
    world.call("mirror", &world.to.host(), &[]).await.exits(0);
    let mut pack = world.words("pack", "", &["--images", "-o", "flux.tar"]);
    // The mirror that it is about.
    pack.remove(2);
    run(world.home(), &pack.iter().map(String::as_str).collect::<Vec<_>>()).await.exits(0);
    let packed = Layout::open(&world.home().join("flux.tar")).unwrap();
    for (component, image) in COMPONENTS.into_iter().zip(&world.images) {
        let seen = world.to.judge("crane", &["digest", &world.target(component)]).unwrap();
        assert_eq!(seen.trim(), image.digest.to_string());
        let name = format!("{source}/{component}:{}", tag(component));
        assert_eq!(packed.manifest(&name).unwrap().digest, image.digest);
    }
}

async fn where_tags_are_immutable_what_is_there_already_is_not_written() {
    let world = World::new(1000).await;
    let written: Mutex<HashSet<String>> = Mutex::default();
    let immutable = FaultyRegistry::start(world.to.port(), move |_, passed: &Passed| {
        let is_tag =
            passed.line.starts_with("PUT ") && passed.line.contains("/manifests/") && !passed.line.contains("sha256:");
        match is_tag && !written.lock().unwrap().insert(passed.line.clone()) {
            true => Mishap::Answer(409, vec![], r#"{"errors": [{"code": "TAG_IMMUTABLE"}]}"#.to_owned()),
            false => Mishap::None,
        }
    });
    let immutable = immutable.await.unwrap();
    let host = immutable.host();
    let writes = || {
        let passed = immutable.passed();
        passed
            .into_iter()
            .filter(|passed| !passed.line.starts_with("GET ") && !passed.line.starts_with("HEAD "))
            .count()
    };
    write(world.home(), "deploy/a.yaml", "kind: A\n");
    let (app, image) = (format!("oci://{host}/app:v1"), format!("oci://{host}/mirror/{}", COMPONENTS[0]));
    let tagged = format!("{image}:{}", tag(COMPONENTS[0]));
    let mirror = world.words("mirror", &host, &["--include-artifact"]);
    let verified = world.words("mirror", &host, &["--include-artifact", "--verify"]);
    for words in [
        mirror.iter().map(String::as_str).collect::<Vec<_>>(),
        verified.iter().map(String::as_str).collect(),
        vec!["artifact", "push", &app, "--path", "deploy"],
        vec!["artifact", "tag", &tagged, "--tag", "stable", "--tag", "latest"],
    ] {
        let first = run(world.home(), &words).await.exits(0);
        let before = writes();
        let again = run(world.home(), &words).await.exits(0);
        assert_eq!(writes(), before, "{words:?}");
        assert_eq!(first.stdout.lines().count(), again.stdout.lines().count(), "{words:?}");
    }
    assert!(writes() > 0);
    // Another content under the same tag is still refused by the registry.
    write(world.home(), "deploy/a.yaml", "kind: B\n");
    run(world.home(), &["artifact", "push", &app, "--path", "deploy"]).await.exits(1).stderr_has("TAG_IMMUTABLE");
}

async fn a_rehearsal_only_reads() {
    let world = World::new(1000).await;
    let counted = FaultyRegistry::start(world.to.port(), |_, _| Mishap::None).await.unwrap();
    let operator = format!("{}/src/{}:{}", world.from.host(), COMPONENTS[0], tag(COMPONENTS[0]));
    let more = ["--dry-run", "--include-artifact", "--operator-image", &operator, "-o", "json"];
    let states = |reported: &Run| -> Vec<String> {
        let rows = reported.json()["items"].as_array().unwrap().clone();
        rows.iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect()
    };
    let planned = world.call("mirror", &counted.host(), &more).await.exits(0);
    assert_eq!(states(&planned), ["missing", "missing", "missing", "planned"]);
    assert!(!planned.stderr.contains("use it with"), "{}", planned.stderr);
    let asked = counted.passed();
    assert!(
        asked.iter().all(|passed| passed.line.starts_with("GET ") || passed.line.starts_with("HEAD ")),
        "{asked:?}"
    );
    assert_eq!(world.to.judge("crane", &["catalog", &world.to.host()]).unwrap(), "");
    world.call("mirror", &world.to.host(), &[]).await.exits(0);
    let planned = world.call("mirror", &counted.host(), &more).await.exits(0);
    assert_eq!(states(&planned), ["present", "present", "missing", "planned"]);
}

async fn the_operator_and_the_manifests_are_copied_along() {
    let world = World::new(1000).await;
    let host = world.to.host();
    let operator = repository(&world.from.host(), "team/operator").with_tag("v7").unwrap();
    let index = push_multi(&client(RegistryCredentials::Anonymous), &operator, b"operator").await;
    let operator = operator.to_string();
    let more = ["--include-artifact", "--operator-image", &operator, "--verify", "-o", "name"];
    let copied = world.call("mirror", &host, &more).await.exits(0);
    let artifact = format!("{host}/mirror/flux-operator-manifests:{VERSION}");
    let images = COMPONENTS.map(|component| world.target(component));
    let names: Vec<&str> = images.iter().map(String::as_str).collect();
    let operator_there = format!("{host}/mirror/flux-operator:v7");
    let expected = [&names[..], &[operator_there.as_str(), &artifact]].concat();
    assert_eq!(copied.stdout.lines().count(), expected.len(), "{}", copied.stdout);
    for (line, expected) in copied.stdout.lines().zip(expected) {
        let (image, digest) = line.split_once('@').unwrap();
        assert_eq!(image, expected);
        assert_eq!(world.to.judge("crane", &["digest", image]).unwrap().trim(), digest);
    }
    assert!(copied.stdout.contains(&format!("{operator_there}@{}", index.digest)));
    let copied = copied.stderr_has(&format!("use it with spec.distribution.registry: {host}/mirror"));
    copied.stderr_has(&format!("spec.distribution.artifact: oci://{artifact}"));

    // The copied manifests are those of the requested distribution, because they contain the digests.
    let components = COMPONENTS.map(|component| component.to_string()).join(", ");
    write(world.home(), "flux.yaml", &format!("{INSTANCE}  components: [{components}]\n"));
    let build = async |distribution: &str| {
        let revision = ["build", "instance", "-f", "flux.yaml", "--revision", "--distribution", distribution];
        run(world.home(), &revision).await
    };
    let expected = build("known").await.exits(0).stdout;
    assert_eq!(build(&format!("oci://{artifact}")).await.exits(0).stdout, expected);

    let untagged = operator.replace(":v7", "");
    let refused = world.call("mirror", &host, &["--operator-image", &untagged]).await.exits(2);
    refused.stderr_has("it has no tag").stderr_has("hint: add one: IMAGE:TAG");
    world
        .call("mirror", &host, &["--operator-image", &format!("{untagged}:v8")])
        .await
        .exits(3)
        .stderr_has("not found");
}

async fn a_verification_fails_where_the_mirror_is_not_what_was_copied() {
    let world = World::new(1000).await;
    let host = world.to.host();
    world.call("mirror", &host, &["--verify", "--include-artifact"]).await.exits(0);
    let place = |name: &str| {
        ImageLocation::Repository(client(RegistryCredentials::Anonymous), repository(&host, &format!("mirror/{name}")))
    };
    let artifact = place("flux-operator-manifests").manifest(VERSION).await.unwrap();
    let place = place(COMPONENTS[1].as_str());
    let index = &world.images[1];
    let platform = place.manifest(&index.manifests().unwrap()[1].digest.to_string()).await.unwrap();
    let (index, layer) = (&index.digest, &platform.content.layers[1].digest);
    let manifests = &artifact.content.layers[0].digest;
    let gone = Mishap::Answer(404, vec![], String::new());
    let other = Mishap::Replace(b"{\"schemaVersion\": 2}".to_vec());
    // A registry that forgot, or gives something else: of the image, of a platform, of a layer, of the manifests.
    for (request, mishap, code, reported) in [
        (format!("GET /manifests/{index}"), &gone, 3, format!("{index} not found")),
        (format!("GET /manifests/{index}"), &other, 1, "has the digest sha256:".to_owned()),
        (format!("GET /manifests/{}", platform.digest), &gone, 3, format!("{} not found", platform.digest)),
        (format!("GET /manifests/{}", platform.digest), &other, 1, "has the digest sha256:".to_owned()),
        (format!("HEAD /blobs/{layer}"), &gone, 3, format!("{layer} not found")),
        (format!("HEAD /blobs/{manifests}"), &gone, 3, format!("{manifests} not found")),
    ] {
        let mishap = mishap.clone();
        let faulty = FaultyRegistry::start(world.to.port(), move |_, passed: &Passed| {
            let (method, path) = request.split_once(' ').unwrap();
            let is_it = passed.line.starts_with(method) && passed.line.ends_with(path);
            if is_it { mishap.clone() } else { Mishap::None }
        });
        let faulty = faulty.await.unwrap();
        world.call("mirror", &faulty.host(), &["--include-artifact"]).await.exits(0);
        world
            .call("mirror", &faulty.host(), &["--include-artifact", "--verify"])
            .await
            .exits(code)
            .stderr_has(&reported);
    }
}

async fn a_verification_sends_what_the_mirror_has_lost() {
    let world = World::new(1000).await;
    let host = world.to.host();
    world.call("mirror", &host, &[]).await.exits(0);
    let named = repository(&host, &format!("mirror/{}", COMPONENTS[1]));
    let place = ImageLocation::Repository(client(RegistryCredentials::Anonymous), named.clone());
    let platforms = world.images[1].manifests().unwrap();
    let layer = place.manifest(&platforms[1].digest.to_string()).await.unwrap().content.layers[1].digest.to_string();
    let platform = platforms[0].digest.to_string();
    for (lost, words) in [
        (&layer, &["blob", "delete", &named.to_string(), &layer][..]),
        (&platform, &["manifest", "delete", &format!("{named}@{platform}")]),
    ] {
        world.to.judge("regctl", words).unwrap();
        world.call("check-mirror", &host, &[]).await.exits(1).stderr_has(lost);
        let mended = world.call("mirror", &host, &["--verify", "-o", "json"]).await.exits(0).json();
        let states = [&mended["items"][0]["state"], &mended["items"][1]["state"]];
        assert_eq!(states, ["present", "copied"]);
        world.call("check-mirror", &host, &[]).await.exits(0);
    }
    let again = world.call("mirror", &host, &["--verify"]).await.exits(0).stdout;
    assert_eq!(again.matches("present").count(), COMPONENTS.len(), "{again}");
}

async fn a_mirror_whose_connection_is_cut_says_how_to_go_on() {
    let world = World::new(100_000).await;
    let dead = FaultyRegistry::start(world.to.port(), |n, _| if n < 12 { Mishap::None } else { Mishap::Cut });
    let dead = dead.await.unwrap();
    let broken = world.call("mirror", &dead.host(), &[]).await.exits(6);
    broken.stderr_has("cannot be reached").stderr_has("hint: run it again: images that were copied are kept");
    let counted = FaultyRegistry::start(world.to.port(), |_, _| Mishap::None).await.unwrap();
    world.call("mirror", &counted.host(), &["--verify"]).await.exits(0);
    let before = counted.passed().len();
    let again = world.call("mirror", &counted.host(), &[]).await.exits(0).stdout;
    assert_eq!(again.matches("present").count(), COMPONENTS.len(), "{again}");
    let sent = counted.passed()[before..].iter().filter(|passed| passed.line.contains("/blobs/")).count();
    assert_eq!(sent, 0, "what is there is not even asked for");
    for (component, image) in COMPONENTS.into_iter().zip(&world.images) {
        let seen = world.to.judge("crane", &["digest", &world.target(component)]).unwrap();
        assert_eq!(seen.trim(), image.digest.to_string());
    }
}

/// The command on a terminal of 100 columns; its exit code is at the end of what it shows.
async fn on_terminal(command: Command) -> String {
    let quoted: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("stty cols 100 rows 24; {}; echo rc=$?; echo END", quoted.join(" "))]);
    shell.env_clear().env("TERM", "xterm-256color").current_dir(command.get_current_dir().unwrap());
    shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))).filter(|(key, _)| *key != "COLUMNS"));
    let shown = tokio::task::spawn_blocking(|| spawn_command(shell, Some(60_000)).unwrap().exp_string("END").unwrap());
    shown_text(&shown.await.unwrap())
}

async fn progress_is_a_bar_for_each_image_on_a_terminal_and_plain_lines_elsewhere() {
    let world = World::new(3 << 20).await;
    // Long enough to be seen, as over a slow line.
    let slow = FaultyRegistry::start(world.to.port(), |_, passed: &Passed| {
        if passed.line.starts_with("PUT ") && passed.line.contains("/blobs/") {
            std::thread::sleep(Duration::from_millis(400));
        }
        Mishap::None
    });
    let slow = slow.await.unwrap();
    let words = world.words("mirror", &slow.host(), &[]);
    let mirror = command(world.home(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    let shown = on_terminal(mirror).await;
    assert!(shown.contains("rc=0"), "{shown}");
    let bar = regex::Regex::new(r"(source|kustomize)-controller +\d+s ━+─* [1-3] of 3 MiB").unwrap();
    let bars: std::collections::BTreeSet<_> = bar.captures_iter(&shown).map(|found| found[1].to_owned()).collect();
    assert_eq!(bars.into_iter().collect::<Vec<_>>(), ["kustomize", "source"], "{shown}");
    assert!(shown.contains("\u{1b}["), "lines are drawn in place");
    // The bars are gone before the table comes.
    let (_, table) = shown.rsplit_once("COMPONENT ").unwrap();
    assert!(!table.contains('━') && table.matches("copied").count() == 2, "{table}");

    let plain = world.call("mirror", &format!("{}/plain", world.to.host()), &[]).await.exits(0);
    for component in COMPONENTS {
        let plain = &plain.stderr;
        let line = |text: &str| plain.lines().filter(|line| line.contains(&format!("{component}: {text}"))).count();
        assert_eq!((line("copying"), line("copied, 3.0 MiB sent")), (1, 1), "{plain}");
    }
    assert!(!plain.stderr.contains(['\u{1b}', '━']), "{}", plain.stderr);
    let again = world.call("mirror", &format!("{}/plain", world.to.host()), &[]).await.exits(0);
    assert_eq!(again.stderr.matches(": was there").count(), 2, "{}", again.stderr);
    let host = world.to.host();
    let reported = world.call("mirror", &host, &["--progress", "json"]).await.exits(0).stderr;
    let done = |line: &&str| line.contains("\"state\":\"done\"");
    assert_eq!(reported.lines().filter(done).count(), 2, "{reported}");
    let silent = world.call("mirror", &host, &["--progress", "none", "-q"]).await.exits(0).stderr;
    assert_eq!(silent, "");
}
