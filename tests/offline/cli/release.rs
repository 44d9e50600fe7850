//! `tools/src/release.rs`: what a release consists of, made of a stand-in for the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use flux_operator::oci::Layout;
use serde_json::Value;

const TARGET: &str = "x86_64-unknown-linux-musl";

fn release(folder: &Path, to: &Path) {
    let program = folder.join("program");
    std::fs::write(&program, "#!/bin/sh\necho it works\n").expect("written");
    let authorities = folder.join("authorities.pem");
    std::fs::write(&authorities, "-----BEGIN CERTIFICATE-----\n").expect("written");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "-p", "tools", "--bin", "release", "--"])
        .arg("--program")
        .arg(&program)
        .args(["--target", TARGET])
        .arg("--to")
        .arg(to)
        .arg("--authorities")
        .arg(&authorities)
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
