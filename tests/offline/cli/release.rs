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

/// Copies every count of bytes that is not left to musl, and some that are, between addresses of every alignment.
const COPIES: &str = r#"
#include <stdio.h>
#include <string.h>
void *__wrap_memcpy(void *restrict to, const void *restrict from, size_t count);
void *__real_memcpy(void *restrict to, const void *restrict from, size_t count) { return memmove(to, from, count); }
int main(void)
{
	static unsigned char from[600], to[600];
	for (size_t count = 0; count <= 530; count++)
		for (size_t source = 0; source < 16; source++)
			for (size_t target = 16; target < 32; target++) {
				for (size_t at = 0; at < sizeof from; at++) from[at] = at % 251, to[at] = 255;
				if (__wrap_memcpy(to + target, from + source, count) != to + target) return 1;
				for (size_t at = 0; at < sizeof to; at++) {
					int is_copied = at >= target && at < target + count;
					if (to[at] != (is_copied ? from[at - target + source] : 255)) {
						printf("%zu bytes, %zu to %zu\n", count, source, target);
						return 1;
					}
				}
			}
	return 0;
}
"#;

#[test]
fn what_the_static_program_copies_by_itself_is_what_was_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("copies.c"), folder.path().join("copies"));
    std::fs::write(&source, COPIES).expect("written");
    let compiled = Command::new("cc")
        .args(["-O2", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-o"])
        .args([&program, &source])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tools/memcpy.c"))
        .output()
        .expect("the C compiler, which ring needs as well");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let copied = Command::new(&program).output().expect("runs");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stdout));
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
    assert!(licence("ring").is_some() && licence("windows-sys").is_none() && licence("proptest").is_none());
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
