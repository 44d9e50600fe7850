//! Every parser of text from outside takes any text: it reads it or refuses it, quickly, and never panics.
//!
//! The texts are real ones with random damage, which goes deeper than random text. `fuzz/` does the same for longer.

use std::io::{Cursor, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::distribution::check_notation;
use flux_operator::fetch::Source;
use flux_operator::format::go_duration;
use flux_operator::format::tarball::{ArchiveLimits, index_tar, read_tarball, write_tar, write_tarball};
use flux_operator::format::version_range::{VersionRange, parse_version_lenient};
use flux_operator::format::yaml;
use flux_operator::inspect::read::from_dump;
use flux_operator::kustomize::{Patch, ResourceList, Selector, apply_patches};
use flux_operator::oci::{Digest, DockerConfig, Manifest, Platform, Reference};
use flux_operator::reconcile::SavedPlan;
use flux_operator::secrets::{Credentials, SecretText, Ssh};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, PrivateKey};

/// Words that mean something to one of the parsers.
const WORDS: &[&str] = &[
    "\n",
    "\n  ",
    "\n- ",
    ": ",
    "- ",
    "#",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    ">-\n",
    "'",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\t",
    "\r\n",
    "\u{feff}",
    "\0",
    "null",
    "~",
    "on",
    "0644",
    "1e999",
    ".nan",
    "-0.0",
    "99999999999999999999",
    "ä",
    "\u{2028}",
    "spec",
    "sync",
    "op: remove",
    "path: /",
    "/-",
    "/0",
    "~1",
    "$patch: delete",
    "$patch: replace",
    "name: flux",
    ">=",
    "<",
    "||",
    " - ",
    "~",
    "^",
    "!=",
    "x",
    "*",
    "-rc.1",
    "+b",
    "v",
    "ns",
    "h",
    "1.5",
    "-",
    "@",
    "(",
    ")",
    "..",
    "string",
    "?",
];

/// A change of a text: at a position (in thousandths of its length), remove some characters and insert a word.
type Damage = (u16, u8, proptest::sample::Index);

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    proptest::collection::vec((0..1000u16, 0..12u8, any::<proptest::sample::Index>()), 0..6)
}

fn damaged(seed: &str, damage: &[Damage]) -> String {
    let mut text: Vec<char> = seed.chars().collect();
    for (place, cut, word) in damage {
        let from = text.len() * usize::from(*place) / 1000;
        let to = (from + usize::from(*cut)).min(text.len());
        text.splice(from..to, word.get(WORDS).chars());
    }
    text.into_iter().collect()
}

fn quick<T>(text: &str, parse: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = parse();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?} for {text:?}", start.elapsed());
    result
}

const MANIFESTS: [&str; 4] = [
    include_str!("../../examples/flux.yaml"),
    include_str!("../../examples/git-sync.yaml"),
    include_str!("../../examples/sharding.yaml"),
    include_str!("../../examples/patches.yaml"),
];
const RANGES: [&str; 8] =
    ["2.x", ">=2.8.0 <2.10.0", "1.2 - 3.4.5 || ~2.7.1, !=2.9", "^0.0.3", "v2.3.0-rc.1+x", "*", "=> 2", ">2.7 || <=2"];
const DURATIONS: [&str; 5] = ["1h30m", "-1.5h", "300µs", "2562047h47m16.854775807s", ".5s"];
const PATCHES: [&str; 4] = [
    "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --x\n- {op: test, path: /metadata/name, value: a}\n",
    "[{\"op\": \"move\", \"from\": \"/metadata/labels/x\", \"path\": \"/metadata/labels/~1y\"}]",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: m, ports: [{containerPort: 80}]}\n",
    "$patch: delete\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n",
];
const NOTATIONS: [&str; 3] = [
    include_str!("../../crates/core/src/distribution/notation/common.notation"),
    include_str!("../../crates/core/src/distribution/notation/source-extensions.notation"),
    include_str!("../../crates/core/src/distribution/notation/helm.notation"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn yaml_that_is_read_is_written_and_read_back(seed in 0..MANIFESTS.len(), damage in damage()) {
        let text = damaged(MANIFESTS[seed], &damage);
        let positions = quick(&text, || yaml::parse_positions(&text));
        if let Ok(documents) = quick(&text, || yaml::parse_documents(&text)) {
            prop_assert_eq!(documents.len(), positions.len(), "{:?}", text);
            let written = yaml::document_stream(&documents).unwrap();
            prop_assert_eq!(yaml::parse_documents(&written).unwrap(), documents, "{:?}", text);
        }
    }

    #[test]
    fn a_manifest_that_is_accepted_is_accepted_again_unchanged(seed in 0..MANIFESTS.len(), damage in damage()) {
        let text = damaged(MANIFESTS[seed], &damage);
        match quick(&text, || manifest::read(&text, &NamespaceChoice::default())) {
            Ok(read) => {
                let written = yaml::to_string(&read.instance).unwrap();
                let again = manifest::read(&written, &NamespaceChoice::default());
                prop_assert_eq!(&again.unwrap().instance.spec, &read.instance.spec, "{:?}", text);
            }
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                for problem in error.problems() {
                    prop_assert!(problem.location.is_some(), "{}", problem);
                }
            }
        }
    }

    #[test]
    fn a_range_is_parsed_or_refused_and_a_version_matches_itself(seed in 0..RANGES.len(), damage in damage()) {
        let text = damaged(RANGES[seed], &damage);
        let range = quick(&text, || text.parse::<VersionRange>());
        if let (Ok(range), Some(version)) = (range, parse_version_lenient(&text)) {
            // `2.7` is a version and the range of all its patches; both hold 2.7.0.
            prop_assert!(range.matches(&version), "{:?} does not match itself", text);
        }
    }

    #[test]
    fn a_duration_means_the_same_when_it_is_printed(seed in 0..DURATIONS.len(), damage in damage()) {
        let text = damaged(DURATIONS[seed], &damage);
        if let Ok(duration) = quick(&text, || go_duration::parse(&text)) {
            prop_assert_eq!(go_duration::parse(&go_duration::format(duration)), Ok(duration), "{:?}", text);
        }
    }

    #[test]
    fn a_patch_is_applied_or_refused(seed in 0..PATCHES.len(), damage in damage(), has_target in any::<bool>()) {
        let text = damaged(PATCHES[seed], &damage);
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"template": {"spec": {"containers": [{"name": "m", "args": ["1"], "ports": [{"containerPort": 80}]}]}}},
        });
        let mut list = ResourceList::from_objects([deployment]).unwrap();
        let target = has_target.then(|| Selector { kind: "Deployment".into(), ..Selector::default() });
        let patch = Patch { target, patch: text.clone() };
        if let Err(error) = quick(&text, || apply_patches(&mut list, &[patch])) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

proptest! {
    // Each case leaks its text: the notation is embedded, and borrowed for ever.
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_notation_is_read_or_refused_with_its_place(seed in 0..NOTATIONS.len(), damage in damage()) {
        let text: &'static str = damaged(NOTATIONS[seed], &damage).leak();
        if let Err(error) = quick(text, || check_notation(text)) {
            prop_assert!(error.line >= 1 && error.column >= 1, "{}", error);
        }
    }
}

/// Every file of a folder by its path, in order.
fn files_in(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = paths.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

/// A seed that is refused at its first byte leads a fuzzer nowhere.
#[test]
fn the_seeds_of_the_fuzzers_are_whole() {
    let seeds = |target: &str| files_in(&format!("fuzz/seeds/{target}"));
    let texts = |target: &str| -> Vec<(String, String)> {
        seeds(target).into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
    };
    for (name, text) in texts("saved_plan") {
        let saved: SavedPlan = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // A plan reads every field of the seed.
        let mut written = serde_json::to_value(&saved).unwrap();
        written["format"] = json!("flux-operator/plan/v1");
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(&text).unwrap(), "{name}");
    }
    for (name, text) in texts("reference") {
        let is_digest = text.parse::<Digest>().is_ok();
        let is_reference = text.parse::<Reference>().is_ok() || format!("oci://{text}").parse::<Reference>().is_ok();
        let is_source = text.parse::<Source>().is_ok_and(|source| !matches!(source, Source::Embedded));
        assert!(is_digest || is_reference || is_source, "{name}");
        let file = Path::new(&name).file_name().unwrap().to_str().unwrap();
        let is_path = ["layout", "path"].iter().any(|start| file.starts_with(start));
        assert!(is_path || is_digest || is_reference, "{name}");
    }
    for (name, text) in texts("version_range") {
        text.parse::<VersionRange>().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for (name, text) in texts("go_duration") {
        go_duration::parse(&text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32])).to_openssh(LineEnding::LF).unwrap().to_string();
    for (name, text) in texts("known_hosts") {
        let known_hosts = SecretText::from(text.into_bytes());
        let private_key = SecretText::from(key.clone().into_bytes());
        let ssh = Credentials::Ssh(Ssh { private_key, public_key: None, known_hosts, password: None });
        ssh.check(Timestamp::UNIX_EPOCH).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for (name, bytes) in seeds("oci_manifest") {
        let manifest = Manifest::parse(None, bytes.into()).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let named = manifest.blobs().count() + manifest.manifests().unwrap_or_default().len();
        assert!(named >= 2, "{name}");
        assert_eq!(manifest.for_platform(&Platform::linux_amd64()).is_some(), name.ends_with("index.json"), "{name}");
    }
    for (name, bytes) in seeds("docker_config") {
        let parse = if name.ends_with("dockercfg.json") { DockerConfig::parse_legacy } else { DockerConfig::parse };
        parse("test", &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(String::from_utf8_lossy(&bytes).contains("\"password\""), "the fuzzer puts its canary there: {name}");
    }
    for (name, bytes) in seeds("dump") {
        let text = String::from_utf8(bytes).unwrap();
        from_dump::read_text(&text, "test").unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    // As we write them: the archive within the other, where damage is not stopped by a checksum of the compression.
    let archives = seeds("archive");
    let [(_, plain), (_, packed)] = archives.as_slice() else { panic!("{} archives", archives.len()) };
    let files = read_tarball(packed.as_slice(), &ArchiveLimits::DISTRIBUTION).unwrap();
    assert!(files.len() > 1 && files.values().any(|file| file.is_executable));
    assert!(write_tarball(&files).unwrap() == *packed && write_tar(&files).unwrap() == *plain);
}

/// Hostile input, also seeds of the fuzzers. `tools/src/hostile-archives.rs` writes the archives.
#[test]
fn every_hostile_archive_and_manifest_is_refused_with_a_reason() {
    let archives = files_in("fuzz/hostile/archive");
    for (name, bytes) in &archives {
        let refused = match name.ends_with(".tar.gz") {
            true => quick(name, || read_tarball(bytes.as_slice(), &ArchiveLimits::DISTRIBUTION)),
            false => {
                // As an archive of an image layout, which is not compressed; contents are compared with their digest later.
                let indexed = quick(name, || index_tar(Cursor::new(bytes), 100));
                let lacks_content = ["cut-in-content", "size-beyond-the-end"].iter().any(|cut| name.contains(cut));
                assert_eq!(indexed.is_ok(), lacks_content, "{name}");
                quick(name, || read_tarball(gzip(bytes).as_slice(), &ArchiveLimits::DISTRIBUTION))
            }
        };
        let problem = refused.expect_err(name).to_string();
        assert!(!problem.is_empty() && !problem.contains(char::is_control), "{name}: {problem:?}");
        // A folder that holds anything is not even read.
        let reason = if name.contains("folder") { "a folder has no content" } else { "more than 200 times" };
        assert!(!name.contains("bomb") || problem.contains(reason), "{name}: {problem}");
    }
    let manifests = files_in("fuzz/hostile/oci_manifest");
    for (name, bytes) in &manifests {
        let parse = || Manifest::parse(None, bytes.clone().into());
        let problem = quick(name, parse).map(|_| ()).expect_err(name);
        assert!(!problem.is_empty() && !problem.contains(char::is_control), "{name}: {problem:?}");
    }
    let all = || archives.iter().chain(&manifests).map(|(_, bytes)| bytes.len());
    assert!(archives.len() >= 40 && manifests.len() >= 25 && all().max() < Some(8 << 10), "{:?}", all().max());
    assert!(all().sum::<usize>() < 80 << 10, "{}", all().sum::<usize>());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
