//! What has to hold in a FluxInstance beyond its schema: names, addresses, and rules across fields.
//!
//! The API server knows only the CEL rules of the schema; the rest it would refuse later, when the objects that carry
//! these values are applied.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::path::FieldPath;
use super::{Finding, list, shown};
use crate::api::flux_instance::{COMPONENTS, DEFAULT_COMPONENTS};
use crate::api::well_known;
use crate::format::version_range::VersionRange;
use crate::k8s::names::{MAX_LABEL, is_dns_label, is_dns_subdomain, is_label_key, is_label_value};

/// Keys that decide what belongs to the instance and what is pruned.
const RESERVED_KEYS: [&str; 3] = [well_known::OWNER_NAME_LABEL, well_known::OWNER_NAMESPACE_LABEL, well_known::PRUNE];

/// Checks one text and returns what it should be, when it is not.
type TextCheck = fn(&str) -> Option<String>;

/// Checks of single values, for values that are texts and not empty.
const TEXTS: [(&str, TextCheck); 14] = [
    ("spec.distribution.version", version),
    ("spec.distribution.registry", registry),
    ("spec.distribution.artifact", artifact),
    ("spec.distribution.imagePullSecret", object_name),
    ("spec.distribution.artifactPullSecret", object_name),
    ("spec.cluster.domain", domain),
    ("spec.cluster.tenantDefaultServiceAccount", object_name),
    ("spec.cluster.tenantDefaultDecryptionServiceAccount", object_name),
    ("spec.cluster.tenantDefaultKubeConfigServiceAccount", object_name),
    ("spec.sharding.key", label_key),
    ("spec.storage.class", object_name),
    ("spec.storage.size", quantity),
    ("spec.sync.name", object_name),
    ("spec.sync.pullSecret", object_name),
];

/// Checks an object whose defaults are filled in; what the schema refuses already is not reported again.
pub(super) fn check(object: &Value) -> Vec<Finding> {
    let mut findings: Vec<Finding> = TEXTS
        .iter()
        .filter_map(|(path, check)| {
            let path = FieldPath::of(path);
            let text = text(object, &path).filter(|text| !text.is_empty())?;
            check(text).map(|expected| refused(&path, text, &expected))
        })
        .collect();
    for rule in [name, components, common_metadata, workload_identity, shards, shard_storage, sync_url, sync_provider] {
        rule(object, &mut findings);
    }
    findings
}

fn text<'a>(object: &'a Value, path: &FieldPath) -> Option<&'a str> {
    object.pointer(&path.pointer())?.as_str()
}

fn flag(object: &Value, path: &str) -> bool {
    object.pointer(path).and_then(Value::as_bool).unwrap_or(false)
}

fn texts<'a>(object: &'a Value, pointer: &str) -> Vec<(usize, &'a str)> {
    let items = object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    items.enumerate().filter_map(|(index, item)| Some((index, item.as_str()?))).collect()
}

fn refused(path: &FieldPath, text: &str, expected: &str) -> Finding {
    Finding::value(path, format!("{} is not {expected}", shown(&Value::from(text))))
}

fn regex(pattern: &str) -> Option<Regex> {
    // Every pattern of this file is compiled by the tests.
    Regex::new(pattern).ok()
}

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn version(text: &str) -> Option<String> {
    let error = text.parse::<VersionRange>().err()?;
    let part = error.part.filter(|part| part != text).map(|part| format!(" ({part:?} is the problem)"));
    Some(format!(
        "a version or a range of versions, such as 2.9.4, 2.9.x or >=2.8.0 <2.10.0{}",
        part.unwrap_or_default()
    ))
}

fn registry(text: &str) -> Option<String> {
    static REGISTRY: LazyLock<Option<Regex>> =
        LazyLock::new(|| regex(r"^[A-Za-z0-9][-A-Za-z0-9.]*(:[0-9]+)?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*/?$"));
    if text.contains("://") {
        return Some("a registry: leave out the scheme, as in ghcr.io/fluxcd".into());
    }
    (!matches(&REGISTRY, text))
        .then(|| "a registry and path, such as ghcr.io/fluxcd or registry.local:5000/flux".into())
}

fn artifact(text: &str) -> Option<String> {
    // A wrong scheme is the schema's finding.
    let rest = text.strip_prefix("oci://")?;
    (rest.is_empty() || !rest.contains('/') || rest.contains(char::is_whitespace))
        .then(|| "an address such as oci://host/path:tag".into())
}

fn object_name(text: &str) -> Option<String> {
    (!is_dns_subdomain(text)).then(|| "the name of an object: lower case letters, digits, - and . only".into())
}

fn domain(text: &str) -> Option<String> {
    (!is_dns_subdomain(text)).then(|| "a DNS domain such as cluster.local, without a dot at the end".into())
}

fn label_key(text: &str) -> Option<String> {
    (!is_label_key(text)).then(|| "the key of a label, such as sharding.fluxcd.io/key".into())
}

/// Format: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.
fn quantity(text: &str) -> Option<String> {
    static QUANTITY: LazyLock<Option<Regex>> =
        LazyLock::new(|| regex(r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[mkMGTPE]|[eE][-+]?[0-9]+)?$"));
    let is_positive = text.contains(|c: char| ('1'..='9').contains(&c));
    (!is_positive || !matches(&QUANTITY, text)).then(|| "a size such as 10Gi".into())
}

fn name(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("metadata.name");
    match text(object, &path) {
        None | Some("") => {
            findings.push(Finding::value(&path, format!("is required: it has to be {}", well_known::INSTANCE_NAME)))
        }
        Some(well_known::INSTANCE_NAME) => {}
        Some(other) => findings.push(refused(
            &path,
            other,
            &format!("{}, the one name a FluxInstance can have", well_known::INSTANCE_NAME),
        )),
    }
}

fn components(object: &Value, findings: &mut Vec<Finding>) {
    repeated(object, "spec.components", findings);
}

fn repeated(object: &Value, path: &str, findings: &mut Vec<Finding>) {
    let path = FieldPath::of(path);
    let items = texts(object, &path.pointer());
    for (index, item) in &items {
        if items.iter().any(|(earlier, other)| earlier < index && other == item) {
            findings.push(Finding::value(&path.item(*index), format!("{item} is in the list already")));
        }
    }
}

fn common_metadata(object: &Value, findings: &mut Vec<Finding>) {
    for (field, is_label) in [("labels", true), ("annotations", false)] {
        let path = FieldPath::of("spec.commonMetadata").field(field);
        let entries = object.pointer(&path.pointer()).and_then(Value::as_object).into_iter().flatten();
        for (key, value) in entries {
            let path = path.field(key);
            if RESERVED_KEYS.contains(&key.as_str()) {
                let message = "this key is reserved: it decides what belongs to the instance and what is pruned";
                findings.push(Finding::key(&path, message.into()));
            } else if !is_label_key(key) {
                findings.push(Finding::key(&path, "not a valid key: [DNS domain/]letters, digits, -, _ and .".into()));
            } else if is_label && value.as_str().is_some_and(|value| !is_label_value(value)) {
                let expected = "the value of a label: at most 63 letters, digits, -, _ and .";
                findings.push(refused(&path, value.as_str().unwrap_or_default(), expected));
            }
        }
    }
}

fn workload_identity(object: &Value, findings: &mut Vec<Finding>) {
    if flag(object, "/spec/cluster/multitenantWorkloadIdentity")
        && !flag(object, "/spec/cluster/objectLevelWorkloadIdentity")
    {
        let path = FieldPath::of("spec.cluster.multitenantWorkloadIdentity");
        findings.push(Finding::value(&path, "true needs spec.cluster.objectLevelWorkloadIdentity to be true".into()));
    }
}

fn shards(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sharding.shards");
    repeated(object, "spec.sharding.shards", findings);
    let longest = sharded_components(object).map(str::len).max().unwrap_or_default();
    // The pod label `app` carries the name of the component and of the shard.
    let limit = MAX_LABEL - longest - 1;
    for (index, shard) in texts(object, &path.pointer()) {
        let path = path.item(index);
        if !is_dns_label(shard) {
            findings.push(refused(
                &path,
                shard,
                "a shard name: lower case letters, digits and - only, with a letter or digit at both ends",
            ));
        } else if shard.len() > limit {
            let message =
                format!("{shard:?} has {} characters, at most {limit} are allowed in the name of a shard", shard.len());
            findings.push(Finding::value(&path, message));
        }
    }
}

/// The controllers of which shards get their own; notification-controller is never sharded.
fn sharded_components(object: &Value) -> impl Iterator<Item = &'static str> {
    let named: Vec<String> = texts(object, "/spec/components").iter().map(|(_, name)| name.to_string()).collect();
    COMPONENTS.into_iter().filter(|name| *name != "notification-controller").filter(move |name| {
        if named.is_empty() { DEFAULT_COMPONENTS.contains(name) } else { named.iter().any(|other| other == name) }
    })
}

fn shard_storage(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sharding.storage");
    if text(object, &path) == Some("persistent") && object.pointer("/spec/storage").is_none() {
        findings.push(Finding::value(&path, "persistent needs spec.storage with class and size".into()));
    }
}

/// Flux's own source kinds refuse any other scheme.
fn sync_url(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sync.url");
    let kind = text(object, &FieldPath::of("spec.sync.kind"));
    let Some(url) = text(object, &path).filter(|url| !url.is_empty()) else { return };
    let schemes: &[&str] = match kind {
        Some("GitRepository") => &["https://", "http://", "ssh://"],
        Some("OCIRepository") => &["oci://"],
        _ => return,
    };
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
    if rest.is_none_or(str::is_empty) {
        let kind = kind.unwrap_or_default();
        let scp = if url.starts_with("git@") { "; write git@host:path as ssh://git@host/path" } else { "" };
        findings.push(refused(
            &path,
            url,
            &format!("an address for {kind}: it starts with {}{scp}", list(schemes, "or")),
        ));
    }
}

fn sync_provider(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sync.provider");
    let kind = text(object, &FieldPath::of("spec.sync.kind"));
    match (text(object, &path), kind) {
        (Some("gcp"), Some("GitRepository")) => {
            findings.push(Finding::value(&path, "gcp works with OCIRepository and Bucket only".into()));
        }
        (Some("github"), Some(kind @ ("OCIRepository" | "Bucket"))) => {
            findings.push(Finding::value(&path, format!("github works with GitRepository only, not with {kind}")));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_positive_quantities() {
        for good in ["1", "10Gi", "1.5Ti", "500M", "1e9", ".5Gi", "100k"] {
            assert_eq!(quantity(good), None, "{good}");
        }
        for bad in ["0", "0Gi", "10GB", "ten", "-1Gi", "10 Gi", "Gi"] {
            assert!(quantity(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn registries_have_no_scheme() {
        for good in [
            "fluxcd",
            "ghcr.io/fluxcd",
            "ghcr.io/fluxcd/",
            "localhost:5000/a/b",
            "709825985650.dkr.ecr.us-east-1.amazonaws.com/controlplane/fluxcd",
        ] {
            assert_eq!(registry(good), None, "{good}");
        }
        for bad in ["https://ghcr.io/fluxcd", "ghcr.io/Flux CD", "ghcr.io//x", "/x", "ghcr.io/fluxcd:v1"] {
            assert!(registry(bad).is_some(), "{bad}");
        }
    }
}
