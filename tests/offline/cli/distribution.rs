//! `distribution versions|images|export`.

use std::path::Path;

use serde_json::Value;

use crate::cli::support::{command, run};

fn json(arguments: &[&str]) -> Value {
    let list: Value = serde_json::from_str(&run(arguments).exits(0).stdout).expect("JSON on stdout");
    list["items"].clone()
}

#[test]
fn versions_are_listed_oldest_first_with_the_newest_of_their_minor() {
    let list = run(&["distribution", "versions"]).exits(0);
    assert_eq!(list.stderr, "");
    let lines: Vec<&str> = list.stdout.lines().collect();
    let versions = flux_operator::distribution::Distribution::embedded().versions();
    assert_eq!(lines.len(), 1 + versions.len());
    assert_eq!(lines[0], "VERSION   NEWEST   COMPONENTS   CRD VERSIONS");
    assert_eq!(lines[1], "v2.2.3    v2.2.3   6            v1 v1beta1 v1beta2 v1beta3 v2beta1 v2beta2");
    assert_eq!(lines[25], "v2.9.0    v2.9.4   7            v1 v1beta1 v1beta3 v2");
    assert!(lines.iter().all(|line| line.len() <= 80 && line.trim_end() == *line), "{}", list.stdout);
}

#[test]
fn versions_know_their_components_and_the_api_versions_of_each_kind() {
    let list = json(&["distribution", "versions", "--version", "2.6.x", "-o", "json"]);
    assert_eq!(list.as_array().map(Vec::len), Some(5));
    let newest = &list[4];
    assert_eq!(newest["version"], "v2.6.4");
    assert_eq!(newest["components"][0], serde_json::json!({"name": "source-controller", "tag": "v1.6.2"}));
    let crds = newest["crds"].as_array().expect("a list");
    let bucket = crds.iter().find(|crd| crd["kind"] == "Bucket").expect("Bucket");
    assert_eq!(bucket["group"], "source.toolkit.fluxcd.io");
    assert_eq!(bucket["versions"], serde_json::json!(["v1", "v1beta1", "v1beta2"]));
    assert_eq!(bucket["storageVersion"], "v1");
    assert_eq!(bucket["deprecated"], serde_json::json!(["v1beta1", "v1beta2"]));
    run(&["distribution", "versions", "--version", "2.6.4", "-o", "wide", "--no-headers", "--sort-by", "newest"])
        .exits(0)
        .stdout_has("HelmRelease=v2/v2beta1/v2beta2 ");
}

#[test]
fn names_are_one_per_line_and_yaml_says_what_json_says() {
    let names = run(&["distribution", "versions", "--version", ">=2.9.3", "-o", "name"]).exits(0);
    assert_eq!(names.stdout, "v2.9.3\nv2.9.4\n");
    let yaml = run(&["distribution", "versions", "--version", "2.9.4", "-o", "yaml"]).exits(0).stdout;
    let yaml: Value = flux_operator::format::yaml::parse_one(&yaml).expect("YAML on stdout");
    assert_eq!(yaml["items"], json(&["distribution", "versions", "--version", "2.9.4", "-o", "json"]));
}

#[test]
fn nothing_found_is_an_empty_list_and_one_line_of_talk() {
    let list = run(&["distribution", "versions", "--version", "3.x", "-o", "json"]).exits(0);
    let empty: Value = serde_json::from_str(&list.stdout).expect("JSON on stdout");
    assert_eq!(empty, serde_json::json!({"kind": "FluxVersionList", "items": []}));
    assert_eq!(list.stderr.lines().count(), 1, "{}", list.stderr);
    list.stderr_has("matches 3.x; there are v2.2.3 to v2.9.4");
}

#[test]
fn the_output_format_may_come_from_the_environment() {
    let mut names = command(&["distribution", "versions", "--version", "2.9.4"]);
    let output = names.env("FLUX_OPERATOR_OUTPUT", "name").output().expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "v2.9.4\n");
}

#[test]
fn images_of_a_known_registry_are_pinned() {
    let images = run(&["distribution", "images", "--version", "2.9.4", "-o", "name"]).exits(0);
    assert_eq!(images.stderr, "");
    assert_eq!(images.stdout.lines().count(), 7);
    for line in images.stdout.lines() {
        let (image, hex) = line.split_once("@sha256:").expect("a digest");
        assert!(image.starts_with("ghcr.io/fluxcd/") && image.contains(":v") && hex.len() == 64, "{line}");
    }
    let table = run(&["distribution", "images", "--version", "2.9.4"]).exits(0).stdout;
    assert!(table.starts_with("COMPONENT                     TAG      DIGEST\nsource-controller "), "{table}");
    let path = "jsonpath={.items[*].tag}";
    let tags = run(&["distribution", "images", "--version", "2.4.0", "-o", path]).exits(0).stdout;
    assert_eq!(tags.trim_end(), "v1.4.1 v1.4.0 v1.1.0 v1.4.0 v0.33.0 v0.39.0");
}

#[test]
fn a_mirror_is_pinned_when_its_variant_is_named() {
    let mirror =
        ["distribution", "images", "--version", "2.8.x", "--registry", "registry.example.com/flux/", "-o", "json"];
    let tagged = run(&mirror).exits(0);
    tagged.stderr_has("no digests").stderr_has("--variant");
    let mut arguments = mirror.to_vec();
    arguments.extend(["--variant", "enterprise-distroless"]);
    let images = json(&arguments);
    assert_eq!(images[0]["repository"], "registry.example.com/flux/source-controller");
    assert_eq!((&images[0]["version"], &images[0]["tag"]), (&"v2.8.8".into(), &"v1.8.5".into()));
    let image = images[0]["image"].as_str().expect("text");
    assert_eq!(
        image,
        format!("registry.example.com/flux/source-controller:v1.8.5@{}", images[0]["digest"].as_str().expect("text"))
    );
}

#[test]
fn a_variant_without_digests_for_the_version_warns_and_gives_tags() {
    let fips =
        ["distribution", "images", "--version", "2.4.0", "--variant", "enterprise-distroless-fips", "-o", "name"];
    let images = run(&fips).exits(0).stderr_has("has no digests for v2.4.0");
    assert_eq!(images.stdout.lines().next(), Some("ghcr.io/fluxcd/source-controller:v1.4.1"));
}

#[test]
fn a_wrong_variant_or_range_is_refused_with_what_is_possible() {
    let variant = run(&["distribution", "images", "--variant", "enterprise-alpin"]).exits(2);
    variant.stderr_has("enterprise-distroless-fips").stderr_has("did you mean 'enterprise-alpine'?");
    run(&["distribution", "images", "--version", "3.x"]).exits(1).stderr_has("hint: there are v2.2.3 to v2.9.4");
    run(&["distribution", "images", "--version", "newest"]).exits(2).stderr_has("newest");
}

#[test]
fn an_exported_version_is_a_distribution_to_read_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("new/distribution");
    let path = dir.to_str().expect("UTF-8");
    let export =
        run(&["distribution", "export", "--version", "2.7.x", path]).exits(0).stderr_has("exported flux v2.7.5");
    assert_eq!(export.stdout.lines().count(), 14);
    assert!(export.stdout.lines().all(|line| Path::new(line).is_file()), "{}", export.stdout);
    let names = run(&["distribution", "versions", "--distribution", path, "-o", "name"]).exits(0);
    assert_eq!(names.stdout, "v2.7.5\n");
    let pinned = |source: &[&str]| {
        let mut arguments = vec!["distribution", "images", "--version", "2.7.5", "-o", "name"];
        arguments.extend(source);
        run(&arguments).exits(0).stdout
    };
    assert_eq!(pinned(&["--distribution", path]), pinned(&[]));
    assert_eq!(
        json(&["distribution", "versions", "--distribution", path, "-o", "json"])[0]["crds"],
        json(&["distribution", "versions", "--version", "2.7.5", "-o", "json"])[0]["crds"]
    );
}

#[test]
fn a_target_that_is_a_file_and_a_source_that_is_missing_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    let file = file.to_str().expect("UTF-8");
    let export = run(&["distribution", "export", file]).exits(1);
    export.stderr_has("cannot export flux v2.9.4 to").stderr_has(file).stderr_has("caused by");
    let versions = run(&["distribution", "versions", "--distribution", "/no/such/file.tar.gz"]).exits(1);
    versions
        .stderr_has("cannot get the distribution from /no/such/file.tar.gz")
        .stderr_has("caused by: cannot read /no/such/file.tar.gz");
    run(&["distribution", "versions", "--distribution", "/no/such", "-o", "json"])
        .exits(1)
        .stderr_has("\"category\":\"Failed\"");
}

#[test]
fn a_key_that_would_verify_nothing_is_refused() {
    const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
    const INSTANCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/flux.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (out, file, own) = (path("out"), path("flux.tar"), path("own"));
    run(&["distribution", "export", &own]).exits(0);
    let all = [
        &["build", "instance", "-f", INSTANCE][..],
        &["distribution", "versions"],
        &["distribution", "images"],
        &["distribution", "export", &out],
        &["distribution", "pull", "-o", &out],
        &["distribution", "push", "oci://localhost:1/flux:v1"],
        &["distribution", "mirror", "localhost:1/flux"],
        &["distribution", "check-mirror", "localhost:1/flux"],
        &["distribution", "pack", "-o", &file],
        &["get", "inventory", "--from", DUMP],
        &["get", "components", "--from", DUMP],
        &["check", "--from", DUMP],
        &["report", &out, "--from", DUMP],
    ];
    for words in all {
        // The key is not even read.
        for source in [&[][..], &["--distribution", &own]] {
            let refused = run(&[words, &["--verify-key", "key.pub"], source].concat()).exits(2);
            refused.stderr_has("name an artifact in a registry, oci://…, or leave the key out");
        }
    }
    assert!(!folder.path().join("out").exists() && !folder.path().join("flux.tar").exists());
}

#[test]
fn a_patch_version_that_the_program_does_not_know_is_built_from_its_manifests_as_they_are() {
    const INSTANCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/flux.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().to_str().expect("UTF-8");
    run(&["distribution", "export", "--version", "2.9.4", own]).exits(0);
    for part in ["flux", "flux-images"] {
        let part = folder.path().join(part);
        std::fs::rename(part.join("v2.9.4"), part.join("v2.9.9")).expect("renamed");
    }
    // A later patch release: an argument of a controller, its image, and a field of a definition are others.
    let edit = |name: &str, changes: &[(&str, &str)]| {
        let file = folder.path().join(name);
        let mut text = std::fs::read_to_string(&file).expect("a text");
        for (old, new) in changes {
            assert!(text.contains(old), "{old} in {name}");
            text = text.replace(old, new);
        }
        std::fs::write(&file, text).expect("written");
    };
    let manifests = [
        ("--storage-path=/data", "--storage-path=/elsewhere"),
        ("source-controller:v1.9.4", "source-controller:v1.99.9"),
        ("- gitrepo\n", "- gitrepository-short\n"),
    ];
    edit("flux/v2.9.9/source-controller.yaml", &manifests);
    let tag = |tag: &str| format!("source-controller\n  newTag: {tag}\n");
    edit("flux-images/v2.9.9/upstream-alpine.yaml", &[(&tag("v1.9.4"), &tag("v1.99.9"))]);
    let build = ["build", "instance", "-f", INSTANCE, "--distribution", own];
    let revision = run(&[&build[..], &["--revision"]].concat()).exits(0).stdout;
    assert!(revision.starts_with("v2.9.9@sha256:"), "{revision}");
    let built = run(&[&build[..], &["-o", "json"]].concat()).exits(0).json();
    let objects = built["items"].as_array().expect("objects");
    let deployment = objects
        .iter()
        .find(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == "source-controller")
        .expect("a Deployment");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().expect("arguments");
    assert!(arguments.iter().any(|argument| argument == "--storage-path=/elsewhere"), "{arguments:?}");
    let image = container["image"].as_str().expect("an image");
    assert!(image.contains("/source-controller:v1.99.9@sha256:"), "{image}");
    let definition = objects
        .iter()
        .find(|object| object["metadata"]["name"] == "gitrepositories.source.toolkit.fluxcd.io")
        .expect("a definition");
    assert_eq!(definition["spec"]["names"]["shortNames"], serde_json::json!(["gitrepository-short"]));
}

/// As the shell gives one for `--distribution <(…)`.
#[cfg(unix)]
#[test]
fn a_distribution_is_read_from_a_pipe_once() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    run(&["distribution", "export", &place("tree"), "--version", "2.9.4"]).exits(0);
    let call = |program: &str, arguments: &[&str]| {
        assert!(std::process::Command::new(program).args(arguments).status().unwrap().success(), "{program}");
    };
    call("tar", &["-czf", &place("tree.tgz"), "-C", &place("tree"), "."]);
    call("mkfifo", &[&place("pipe")]);
    let (archive, pipe) = (std::fs::read(place("tree.tgz")).unwrap(), place("pipe"));
    std::thread::spawn(move || std::fs::write(pipe, archive));
    let versions = run(&["distribution", "versions", "--distribution", &place("pipe"), "-o", "name"]).exits(0);
    assert!(versions.stdout.contains("v2.9.4"), "{}", versions.stdout);
}
