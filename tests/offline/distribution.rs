//! The embedded distribution against the facts: the manifests of Flux releases where they are at hand, and a table of
//! hashes of every object, which holds without them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use flux_operator::api::{Component, Variant};
use flux_operator::distribution::{Distribution, FluxVersion};
use serde_json::Value;
use sha2::{Digest, Sha256};

use test_support::needs;

/// The folder with unpacked release manifests, `flux/VERSION/*.yaml`.
fn data_dir() -> Option<PathBuf> {
    needs::folder("FLUX_DATA_DIR", "../shared/data", "the manifests of Flux releases")
}

/// All objects of a version by the file they belong to.
fn files(distribution: &Distribution, version: &FluxVersion) -> BTreeMap<String, Vec<Value>> {
    let mut files: BTreeMap<String, Vec<Value>> = distribution
        .components(version)
        .into_iter()
        .map(|component| (component.to_string(), distribution.component(version, component).unwrap()))
        .collect();
    files.insert("rbac".into(), distribution.rbac(version).unwrap());
    files.insert("policies".into(), distribution.policies(version).unwrap());
    files
}

/// Removes what may be worded freely: schema descriptions, rule messages, deprecation warnings.
fn without_prose(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut kept = serde_json::Map::new();
            for (key, inner) in map {
                let prose = matches!(key.as_str(), "description" | "deprecationWarning") && inner.is_string();
                if prose {
                    continue;
                }
                let mut inner = without_prose(inner);
                if key == "x-kubernetes-validations" {
                    for rule in inner.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                        rule.remove("message");
                    }
                }
                kept.insert(key.clone(), inner);
            }
            kept.sort_keys();
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(without_prose).collect(),
        other => other.clone(),
    }
}

fn name(object: &Value) -> String {
    format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

/// Lists the paths at which two values differ.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (x, y) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{path}/{key}"), x, y, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{index}"), x, y, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: ours {ours}, released {theirs}")),
    }
}

fn read_documents(path: &Path) -> Vec<Value> {
    use serde::Deserialize;
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

#[test]
fn every_released_object_equals_ours_apart_from_prose() {
    let Some(dir) = data_dir() else { return };
    let distribution = Distribution::embedded();
    let mut found = Vec::new();
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("flux")).unwrap() {
        let folder = entry.unwrap().path();
        let version = FluxVersion::from_folder(folder.file_name().unwrap().to_str().unwrap()).unwrap();
        for (file, ours) in files(&distribution, &version) {
            let theirs = read_documents(&folder.join(format!("{file}.yaml")));
            let names = |objects: &[Value]| objects.iter().map(name).collect::<Vec<_>>();
            assert_eq!(names(&ours), names(&theirs), "{version} {file}: the objects and their order");
            for (a, b) in ours.iter().zip(&theirs) {
                differences(&format!("{version} {}", name(a)), &without_prose(a), &without_prose(b), &mut found);
                compared += 1;
            }
        }
        let released = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(released, files(&distribution, &version).len(), "{version}: the number of files");
    }
    assert!(compared > 370, "only {compared} objects were compared");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn source_watcher_is_not_part_of_versions_before_2_7() {
    let distribution = Distribution::embedded();
    for version in distribution.versions() {
        let expected = version.version >= semver::Version::new(2, 7, 0);
        assert_eq!(distribution.components(&version).contains(&Component::SourceWatcher), expected, "{version}");
        let answer = distribution.component(&version, Component::SourceWatcher);
        assert_eq!(answer.is_ok(), expected, "{version}: {answer:?}");
    }
}

/// A row per range of versions in which an object stays the same.
fn hash_table(distribution: &Distribution) -> String {
    let mut runs: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
    for version in distribution.versions() {
        let number = version.version.to_string();
        for object in files(distribution, &version).into_values().flatten() {
            let canonical = serde_json::to_vec(&without_prose(&object)).unwrap();
            let hash = hex::encode(Sha256::digest(canonical));
            let runs = runs.entry(name(&object)).or_default();
            match runs.last_mut() {
                Some((_, last, same)) if *same == hash => number.clone_into(last),
                _ => runs.push((number.clone(), number.clone(), hash)),
            }
        }
    }
    let mut table = String::new();
    for (name, runs) in runs {
        table += &format!("{name}\n");
        for (first, last, hash) in runs {
            table += &format!("  {first}..{last} {hash}\n");
        }
    }
    table
}

#[test]
fn every_object_of_every_version_has_the_committed_hash() {
    let committed: Vec<&str> =
        include_str!("distribution/hashes.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let table = hash_table(&Distribution::embedded());
    let ours: Vec<&str> = table.lines().collect();
    // With the object's name before each row, so that a difference can be read on its own.
    let rows = |lines: &[&str]| {
        let mut name = String::new();
        let mut rows = BTreeSet::new();
        for line in lines {
            match line.strip_prefix("  ") {
                Some(row) => _ = rows.insert(format!("{name} {row}")),
                None => name = (*line).to_owned(),
            }
        }
        rows
    };
    let (committed, ours) = (rows(&committed), rows(&ours));
    let missing: Vec<_> = ours.difference(&committed).cloned().collect();
    let gone: Vec<_> = committed.difference(&ours).cloned().collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "the distribution changed; if that is meant, edit tests/offline/distribution/hashes.txt\nnow:\n{}\nbefore:\n{}",
        missing.join("\n"),
        gone.join("\n")
    );
    assert!(ours.len() > 250, "{} rows", ours.len());
}

/// Counts the fields of a schema, and collects those without a description.
fn described(schema: &Value, path: &str, fields: &mut usize, bare: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        *fields += 1;
        if field["description"].as_str().unwrap_or_default().trim().is_empty() && !path.ends_with(".metadata") {
            bare.push(path.clone());
        }
        described(field, &path, fields, bare);
    }
    for inner in ["items", "additionalProperties"].into_iter().filter(|inner| schema[*inner].is_object()) {
        described(&schema[inner], path, fields, bare);
    }
}

#[test]
fn every_field_that_2_9_serves_has_a_description() {
    let distribution = Distribution::embedded();
    let newest = distribution.versions().pop().unwrap();
    let (mut fields, mut bare) = (0, Vec::new());
    let objects = Component::ALL.iter().flat_map(|one| distribution.component(&newest, *one).unwrap());
    for crd in objects.filter(|object| object["kind"] == "CustomResourceDefinition") {
        for api in crd["spec"]["versions"].as_array().unwrap() {
            let path = format!("{}/{}", crd["spec"]["names"]["kind"], api["name"]);
            described(&api["schema"]["openAPIV3Schema"], &path, &mut fields, &mut bare);
        }
    }
    assert!(fields > 700, "{fields} fields");
    assert!(bare.is_empty(), "no description:\n{}", bare.join("\n"));
}

/// Every text of a kind of prose in a value: descriptions, messages of rules, deprecation warnings.
fn prose(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(text) if matches!(key.as_str(), "description" | "deprecationWarning" | "message") => {
                        // Letters and digits only: neither case, punctuation nor line breaks make a text another one.
                        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                        found.insert(words.collect::<Vec<_>>().join(" ").to_lowercase());
                    }
                    _ => prose(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| prose(item, found)),
        _ => {}
    }
}

#[test]
fn no_prose_of_ours_is_that_of_a_release() {
    let Some(dir) = data_dir() else { return };
    let distribution = Distribution::embedded();
    let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
    for version in distribution.versions() {
        files(&distribution, &version).values().flatten().for_each(|object| prose(object, &mut ours));
        let folder = dir.join("flux").join(&version.name);
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            read_documents(&entry.unwrap().path()).iter().for_each(|object| prose(object, &mut theirs));
        }
    }
    assert!(ours.len() > 300 && theirs.len() > 300, "{} and {}", ours.len(), theirs.len());
    let same: Vec<_> = ours.intersection(&theirs).collect();
    assert!(same.is_empty(), "word for word as released: {same:#?}");
}

#[test]
fn an_exported_version_opens_as_the_same_distribution() {
    let embedded = Distribution::embedded();
    let dir = tempfile::tempdir().unwrap();
    for version in embedded.versions().iter().filter(|version| ["v2.6.4", "v2.9.4", "v2.2.3"].contains(&&*version.name))
    {
        embedded.export(version, dir.path()).unwrap();
    }
    let opened = Distribution::open(dir.path()).unwrap();
    let names: Vec<String> = opened.versions().into_iter().map(|version| version.name).collect();
    assert_eq!(names, ["v2.2.3", "v2.6.4", "v2.9.4"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("flux-images/VERSION")).unwrap(), "v2.9.4\n");
    for version in opened.versions() {
        assert_eq!(files(&embedded, &version), files(&opened, &version), "{version}");
        assert_eq!(embedded.crds(&version).unwrap(), opened.crds(&version).unwrap(), "{version}");
        for component in embedded.components(&version) {
            assert_eq!(embedded.tag(&version, component).unwrap(), opened.tag(&version, component).unwrap());
        }
        for variant in Variant::ALL {
            assert_eq!(
                embedded.digests(&version, variant).unwrap(),
                opened.digests(&version, variant).unwrap(),
                "{version} {variant}"
            );
        }
    }
}

#[test]
fn an_older_version_exported_later_leaves_the_newest_one_named() {
    let embedded = Distribution::embedded();
    let dir = tempfile::tempdir().unwrap();
    let versions = embedded.versions();
    for version in [versions.last().unwrap(), versions.first().unwrap()] {
        embedded.export(version, dir.path()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("flux-images/VERSION")).unwrap(), "v2.9.4\n");
}

/// Writes a `.tar.gz` of entries (path, kind, content); the path goes in as it is, however hostile.
fn archive(dir: &Path, entries: &[(&str, tar::EntryType, &[u8])]) -> PathBuf {
    let path = dir.join("distribution.tar.gz");
    let gzip = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(gzip);
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        if !kind.is_file() {
            header.set_link_name("flux").unwrap();
        }
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
    path
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

#[test]
fn an_archive_opens_with_the_same_objects() {
    let embedded = Distribution::embedded();
    let dir = tempfile::tempdir().unwrap();
    let version = embedded.versions().pop().unwrap();
    let written = embedded.export(&version, &dir.path().join("out")).unwrap();
    let contents: Vec<(String, Vec<u8>)> = written
        .iter()
        .map(|path| (format!("./{}", path.display()), std::fs::read(dir.path().join("out").join(path)).unwrap()))
        .collect();
    let mut entries = vec![("./", tar::EntryType::Directory, &b""[..])];
    entries.extend(contents.iter().map(|(path, bytes)| (path.as_str(), tar::EntryType::Regular, bytes.as_slice())));
    let opened = Distribution::open(&archive(dir.path(), &entries)).unwrap();
    assert_eq!(opened.versions(), std::slice::from_ref(&version));
    assert_eq!(files(&embedded, &version), files(&opened, &version));
    let digests = opened.digests(&version, Variant::EnterpriseDistrolessFips).unwrap();
    assert_eq!(embedded.digests(&version, Variant::EnterpriseDistrolessFips).unwrap(), digests);
}

#[test]
fn hostile_archives_are_refused() {
    use tar::EntryType;
    let big = vec![b' '; 9 << 20];
    let cases: &[(&str, EntryType, &[u8], &str)] = &[
        ("../evil.yaml", EntryType::Regular, b"x", "`..`"),
        ("flux/v2.9.4/../../../evil.yaml", EntryType::Regular, b"x", "`..`"),
        ("/etc/evil.yaml", EntryType::Regular, b"x", "absolute"),
        ("flux/v2.9.4/rbac.yaml", EntryType::Symlink, b"", "no links"),
        ("flux/v2.9.4/rbac.yaml", EntryType::Link, b"", "no links"),
        ("flux/v2.9.4/rbac.yaml", EntryType::Fifo, b"", "no links"),
        ("flux/v2.9.4/rbac.yaml", EntryType::Regular, &big, "larger than 8 MiB"),
    ];
    for (name, kind, content, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let error = Distribution::open(&archive(dir.path(), &[(name, *kind, content)])).unwrap_err();
        let text = chain(&error);
        assert!(text.contains(expected) && text.contains("distribution.tar.gz"), "{name}: {text}");
    }
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused_before_it_fills_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let content = vec![0u8; 8 << 20];
    let names: Vec<String> = (0..20).map(|index| format!("flux/v2.9.4/{index}.yaml")).collect();
    let entries: Vec<_> =
        names.iter().map(|name| (name.as_str(), tar::EntryType::Regular, content.as_slice())).collect();
    let error = Distribution::open(&archive(dir.path(), &entries)).unwrap_err();
    assert!(chain(&error).contains("more than 200 times"), "{}", chain(&error));
    let many: Vec<_> = (0..10_001).map(|_| ("flux/", tar::EntryType::Directory, &b""[..])).collect();
    let error = Distribution::open(&archive(dir.path(), &many)).unwrap_err();
    assert!(chain(&error).contains("10000 entries"), "{}", chain(&error));
}

#[test]
fn an_artifact_that_is_not_a_distribution_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    assert!(chain(&Distribution::open(&missing).unwrap_err()).contains("cannot read"));

    let text = dir.path().join("text.tar.gz");
    std::fs::write(&text, "not an archive").unwrap();
    assert!(chain(&Distribution::open(&text).unwrap_err()).contains("gzip"));

    let truncated = dir.path().join("truncated.tar.gz");
    let whole = archive(dir.path(), &[("flux/v2.9.4/rbac.yaml", tar::EntryType::Regular, &[b'#'; 4000])]);
    let bytes = std::fs::read(whole).unwrap();
    std::fs::write(&truncated, &bytes[..bytes.len() / 2]).unwrap();
    assert!(chain(&Distribution::open(&truncated).unwrap_err()).contains("truncated.tar.gz"));

    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(chain(&Distribution::open(&empty).unwrap_err()).contains("no folder named after a version"));
}

#[test]
fn a_file_with_a_mistake_is_named() {
    let embedded = Distribution::embedded();
    let dir = tempfile::tempdir().unwrap();
    let version = embedded.versions().pop().unwrap();
    embedded.export(&version, dir.path()).unwrap();

    std::fs::write(dir.path().join("flux/v2.9.4/rbac.yaml"), "kind: [").unwrap();
    std::fs::write(dir.path().join("flux/v2.9.4/policies.yaml"), "kind: NetworkPolicy\n").unwrap();
    std::fs::remove_file(dir.path().join("flux/v2.9.4/helm-controller.yaml")).unwrap();
    let opened = Distribution::open(dir.path()).unwrap();
    assert!(chain(&opened.rbac(&version).unwrap_err()).contains("rbac.yaml"));
    let policies = chain(&opened.policies(&version).unwrap_err());
    assert!(policies.contains("policies.yaml") && policies.contains("document 1"), "{policies}");
    assert!(!opened.components(&version).contains(&Component::HelmController));
    let helm = chain(&opened.component(&version, Component::HelmController).unwrap_err());
    assert!(helm.contains("has no file helm-controller.yaml"), "{helm}");

    std::fs::write(dir.path().join("flux-images/v2.9.4/upstream-alpine.yaml"), "images: [{name: a/source-controller}]")
        .unwrap();
    let images = chain(&opened.digests(&version, Variant::UpstreamAlpine).unwrap_err());
    assert!(images.contains("upstream-alpine.yaml") && images.contains("images[0]"), "{images}");
}

#[test]
fn unknown_versions_are_refused_by_name() {
    let version = FluxVersion::from_folder("v2.8.4").unwrap();
    let distribution = Distribution::embedded();
    let expected = "flux v2.8.4 is not part of the embedded distribution";
    assert_eq!(distribution.rbac(&version).unwrap_err().to_string(), expected);
    assert_eq!(distribution.policies(&version).unwrap_err().to_string(), expected);
    assert_eq!(distribution.crds(&version).unwrap_err().to_string(), expected);
    assert_eq!(distribution.component(&version, Component::HelmController).unwrap_err().to_string(), expected);
    assert_eq!(distribution.digests(&version, Variant::UpstreamAlpine).unwrap(), None);
}

#[test]
fn image_references_have_digests_where_the_variant_has_them() {
    let distribution = Distribution::embedded();
    let versions = distribution.versions();
    let (oldest, newest) = (versions.first().unwrap(), versions.last().unwrap());
    let fips = Some(Variant::EnterpriseDistrolessFips);
    let pinned = distribution.images(newest, "registry.example.com/flux/", fips).unwrap();
    assert_eq!(pinned.len(), 7);
    for image in &pinned {
        let text = image.to_string();
        let start = format!("registry.example.com/flux/{}:{}@sha256:", image.component, image.tag);
        assert!(text.starts_with(&start), "{text}");
    }
    let tagged = distribution.images(oldest, "ghcr.io/fluxcd", fips).unwrap();
    assert_eq!(tagged.len(), 6);
    assert_eq!(tagged[0].to_string(), "ghcr.io/fluxcd/source-controller:v1.2.5");
}
