//! `tools/src/release.rs`: what a release consists of, made of a stand-in for the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use flux_operator::oci::Layout;
use serde_json::Value;

const TARGET: &str = "x86_64-unknown-linux-musl";

fn release(folder: &Path, to: &Path) {
    let authorities = folder.join("authorities.pem");
    std::fs::write(&authorities, "-----BEGIN CERTIFICATE-----\n").expect("written");
    let authorities = authorities.to_str().expect("UTF-8");
    run_tool("release", &release_arguments(folder, TARGET, to, &["--authorities", authorities]));
}

fn release_arguments(folder: &Path, target: &str, to: &Path, more: &[&str]) -> Vec<String> {
    let program = folder.join("program");
    std::fs::write(&program, "#!/bin/sh\necho it works\n").expect("written");
    let paths = [program.to_str(), to.to_str()].map(|path| path.expect("UTF-8"));
    let arguments = ["--program", paths[0], "--target", target, "--to", paths[1]];
    arguments.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn run_tool(name: &str, arguments: &[String]) {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "-p", "tools", "--bin", name, "--"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn files(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>, below: &str) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => files(&entry.path(), found, &format!("{name}/")),
            false => drop(found.insert(name, std::fs::read(entry.path()).expect("read"))),
        }
    }
}

#[test]
#[ignore = "slow: it compiles the program that packs"]
fn a_release_installs_names_what_is_in_it_and_is_the_same_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    release(folder.path(), &one);
    release(folder.path(), &two);
    let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
    files(&one, &mut first, "");
    files(&two, &mut second, "");
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    assert!(first == second, "the same input gives the same bytes");

    let stem = format!("flux-operator-{}-{TARGET}", env!("CARGO_PKG_VERSION"));
    let to = folder.path().join("prefix/bin");
    let installed = Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh"))
        .arg("--archive")
        .arg(one.join(format!("{stem}.tar.gz")))
        .arg("--checksum")
        .arg(one.join(format!("{stem}.tar.gz.sha256")))
        .arg("--to")
        .arg(&to)
        .output()
        .expect("sh runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    for program in ["flux-operator", "kubectl-flux_operator"] {
        assert_eq!(Command::new(to.join(program)).output().expect("runs").stdout, b"it works\n", "{program}");
    }
    for file in [
        "man/man1/flux-operator-install.1",
        "zsh/site-functions/_flux-operator",
        "bash-completion/completions/flux-operator",
        "fish/vendor_completions.d/flux-operator.fish",
    ] {
        assert!(folder.path().join("prefix/share").join(file).is_file(), "{file}");
    }

    let bill: Value = serde_json::from_slice(&first[&format!("{stem}.cdx.json")]).expect("JSON");
    let components = bill["components"].as_array().expect("a list");
    let licence = |name: &str| {
        let found = components.iter().find(|one| one["name"] == name)?;
        Some(found["licenses"][0]["expression"].as_str().expect("a licence").to_owned())
    };
    assert_eq!(licence("kube").as_deref(), Some("Apache-2.0"));
    assert!(licence("aws-lc-sys").is_some() && licence("windows-sys").is_none() && licence("proptest").is_none());
    assert!(components.iter().all(|one| one["licenses"][0]["expression"].is_string()), "each has a licence");

    let layout = Layout::open(&one.join("image-amd64")).expect("a layout");
    let checked = layout.check().expect("every digest is right");
    assert_eq!((checked.manifests, checked.blobs), (1, 2));
    let (name, descriptor) = layout.names().expect("names").remove(0);
    assert_eq!(name, concat!("v", env!("CARGO_PKG_VERSION")));
    let manifest: Value = serde_json::from_slice(&layout.read_blob(&descriptor, 1 << 20).expect("read")).expect("JSON");
    let digest = manifest["config"]["digest"].as_str().expect("a digest").trim_start_matches("sha256:");
    let config: Value = serde_json::from_slice(&first[&format!("image-amd64/blobs/sha256/{digest}")]).expect("JSON");
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Cmd"][0], "controller");
    assert_eq!(first["rootfs/usr/local/bin/flux-operator"], b"#!/bin/sh\necho it works\n");
}

#[test]
#[ignore = "slow: it compiles the programs that pack"]
fn manifests_of_package_managers_name_the_archives_of_every_system_with_their_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archives, manifests) = (folder.path().join("archives"), folder.path().join("manifests"));
    let targets = [
        "aarch64-apple-darwin",
        "aarch64-unknown-linux-musl",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-gnu",
        "x86_64-unknown-linux-musl",
    ];
    for target in targets {
        run_tool("release", &release_arguments(folder.path(), target, &archives, &[]));
    }
    let url = "https://example.com/flux-operator/releases/download/v1";
    let paths = [&archives, &manifests].map(|path| path.to_str().expect("UTF-8"));
    let arguments = ["--archives", paths[0], "--url", url, "--to", paths[1]];
    run_tool("package-manifests", &arguments.map(str::to_owned));
    let manifest = |name: &str| std::fs::read_to_string(manifests.join(name)).expect("written");
    let (formula, krew, scoop) =
        (manifest("flux-operator.rb"), manifest("flux-operator.yaml"), manifest("flux-operator.json"));

    let krew = flux_operator::format::yaml::parse_one(&krew).expect("YAML");
    let platforms = krew["spec"]["platforms"].as_array().expect("a list").clone();
    assert_eq!(platforms.len(), targets.len());
    for target in targets {
        let ending = if target.contains("windows") { "zip" } else { "tar.gz" };
        let file = format!("flux-operator-{}-{target}.{ending}", env!("CARGO_PKG_VERSION"));
        let line = std::fs::read_to_string(archives.join(format!("{file}.sha256"))).expect("a checksum");
        let checksum = line.split(' ').next().expect("a checksum");
        let platform = platforms.iter().find(|one| one["uri"] == format!("{url}/{file}")).expect("every archive");
        assert_eq!(platform["sha256"], checksum, "{file}");
        let names_it = |text: &str| text.contains(&format!("{url}/{file}")) && text.contains(checksum);
        assert_eq!(names_it(&scoop), target.contains("windows"), "{scoop}");
        assert_eq!(names_it(&formula), !target.contains("windows"), "{formula}");
    }

    // As krew does: unpack the archive, take the files that the manifest names, and run the program as a plugin.
    let linux =
        platforms.iter().find(|one| one["uri"].as_str().is_some_and(|uri| uri.contains(TARGET))).expect("Linux");
    let archive = archives.join(format!("flux-operator-{}-{TARGET}.tar.gz", env!("CARGO_PKG_VERSION")));
    let unpacked =
        Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()).status().expect("tar runs");
    assert!(unpacked.success());
    for file in linux["files"].as_array().expect("a list") {
        let from = file["from"].as_str().expect("a path");
        let name = from.rsplit('/').next().expect("a name");
        std::fs::copy(folder.path().join(from), folder.path().join(name)).expect("the archive has the file");
    }
    std::fs::rename(folder.path().join("flux-operator"), folder.path().join("kubectl-flux_operator"))
        .expect("a plugin");
    let plugin = Command::new(folder.path().join("kubectl-flux_operator")).output().expect("runs");
    assert_eq!(plugin.stdout, b"it works\n");
}
