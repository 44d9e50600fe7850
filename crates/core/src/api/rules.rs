//! The rules of a FluxInstance beyond the types of its fields.
//!
//! The API server checks the schema and the CEL rules of [`ACROSS_FIELDS`]. It would refuse violations of the other
//! rules later, when objects with these values are applied. [`check_version`] checks the rules that depend on the
//! version of Flux, once a version was chosen. A [`super::CheckedInstance`] satisfies all other rules, and a build
//! accepts nothing else.

use std::sync::LazyLock;

use regex::Regex;
use semver::Version;
use serde_json::{Value, json};

use super::components::Component;
use super::well_known;
use crate::format::go_duration;
use crate::format::version_range::{VersionRange, is_at_least};
use crate::k8s::names::{MAX_LABEL, is_dns_label, is_dns_subdomain, is_label_key, is_label_value};

mod path;
pub(super) mod schema;

pub use path::FieldPath;

/// A problem at a path of an instance.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub path: FieldPath,
    pub message: String,
    /// Whether the problem is the name of the field, not its value.
    pub is_key: bool,
}

impl Finding {
    pub(super) fn value(path: &FieldPath, message: String) -> Self {
        Finding { path: path.clone(), message, is_key: false }
    }

    pub(super) fn key(path: &FieldPath, message: String) -> Self {
        Finding { path: path.clone(), message, is_key: true }
    }
}

/// A rule across fields, for the API server and for this program.
struct AcrossFields {
    /// The object to which the definition attaches the rule; empty for the whole instance.
    scope: &'static str,
    /// The field of that object that is reported.
    field: &'static str,
    /// The rule in CEL, for that object.
    cel: &'static str,
    message: &'static str,
    /// The same rule, for a value with defaults.
    is_broken: fn(&Value) -> bool,
}

const ACROSS_FIELDS: [AcrossFields; 5] = [
    AcrossFields {
        scope: "",
        field: "metadata.name",
        cel: "self.metadata.name == 'flux'",
        message: "a FluxInstance has to be named 'flux'",
        is_broken: |object| !has(object, "/metadata/name", well_known::INSTANCE_NAME),
    },
    AcrossFields {
        scope: "spec",
        field: "sharding.storage",
        cel: "!has(self.sharding) || !has(self.sharding.storage) || self.sharding.storage != 'persistent' || has(self.storage)",
        message: "sharding.storage 'persistent' needs .spec.storage to be set",
        is_broken: |spec| has(spec, "/sharding/storage", "persistent") && spec.get("storage").is_none(),
    },
    AcrossFields {
        scope: "spec.cluster",
        field: "multitenantWorkloadIdentity",
        cel: "!has(self.multitenantWorkloadIdentity) || !self.multitenantWorkloadIdentity || (has(self.objectLevelWorkloadIdentity) && self.objectLevelWorkloadIdentity)",
        message: "multitenantWorkloadIdentity needs objectLevelWorkloadIdentity to be true",
        is_broken: |cluster| {
            is_on(cluster, "/multitenantWorkloadIdentity") && !is_on(cluster, "/objectLevelWorkloadIdentity")
        },
    },
    AcrossFields {
        scope: "spec.sync",
        field: "provider",
        cel: "!has(self.provider) || self.provider != 'gcp' || self.kind != 'GitRepository'",
        message: "sync.provider 'gcp' works with OCIRepository and Bucket only",
        is_broken: |sync| has(sync, "/provider", "gcp") && has(sync, "/kind", "GitRepository"),
    },
    AcrossFields {
        scope: "spec.sync",
        field: "provider",
        cel: "!has(self.provider) || self.provider != 'github' || self.kind == 'GitRepository'",
        message: "sync.provider 'github' works with GitRepository only",
        is_broken: |sync| has(sync, "/provider", "github") && !has(sync, "/kind", "GitRepository"),
    },
];

/// A feature that requires some version of Flux.
struct SinceVersion {
    since: (u64, u64, u64),
    path: &'static str,
    what: &'static str,
    is_asked_for: fn(&Value) -> bool,
}

const SINCE_VERSIONS: [SinceVersion; 4] = [
    SinceVersion {
        since: (2, 6, 0),
        path: "spec.cluster.objectLevelWorkloadIdentity",
        what: "object-level workload identity",
        is_asked_for: |object| is_on(object, "/spec/cluster/objectLevelWorkloadIdentity"),
    },
    SinceVersion {
        since: (2, 7, 0),
        path: "spec.cluster.multitenantWorkloadIdentity",
        what: "multi-tenant workload identity",
        is_asked_for: |object| is_on(object, "/spec/cluster/multitenantWorkloadIdentity"),
    },
    SinceVersion {
        since: (2, 7, 0),
        path: "spec.components",
        what: "source-watcher",
        is_asked_for: |object| components(object).contains(&Component::SourceWatcher),
    },
    SinceVersion {
        since: (2, 9, 0),
        path: "spec.sync.provider",
        what: "the provider aws for a GitRepository",
        is_asked_for: |object| {
            has(object, "/spec/sync/provider", "aws") && has(object, "/spec/sync/kind", "GitRepository")
        },
    },
];

/// Returns the CEL rules for an object of the definition, as `x-kubernetes-validations`.
pub(super) fn validations(scope: &str) -> Value {
    let rules = ACROSS_FIELDS.iter().filter(|rule| rule.scope == scope);
    rules.map(|rule| json!({"rule": rule.cel, "message": rule.message})).collect()
}

/// Returns the first feature that an instance asks for and a version of Flux does not have.
pub(super) fn check_version(object: &Value, flux: &Version) -> Option<String> {
    let missing = SINCE_VERSIONS.iter().find(|rule| {
        let (major, minor, patch) = rule.since;
        !is_at_least(flux, major, minor, patch) && (rule.is_asked_for)(object)
    })?;
    let (major, minor, patch) = missing.since;
    Some(format!("{}: {} needs Flux {major}.{minor}.{patch} or newer, not {flux}", missing.path, missing.what))
}

/// Keys of the labels and annotations that identify the owner of an object and control pruning.
const RESERVED_KEYS: [&str; 3] = [well_known::OWNER_NAME_LABEL, well_known::OWNER_NAMESPACE_LABEL, well_known::PRUNE];

/// Checks a text. Returns the expected form if the text is wrong.
type TextCheck = fn(&str) -> Option<String>;

/// Checks of single non-empty texts.
const TEXTS: [(&str, TextCheck); 15] = [
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
    ("spec.sync.interval", interval),
    ("spec.sync.pullSecret", object_name),
];

/// Checks an object with defaults; problems that the schema reports are not repeated.
pub(super) fn check(object: &Value) -> Vec<Finding> {
    let mut findings: Vec<Finding> = TEXTS
        .iter()
        .filter_map(|(path, check)| {
            let path = FieldPath::of(path);
            let text = text(object, &path).filter(|text| !text.is_empty())?;
            check(text).map(|expected| refused(&path, text, &expected))
        })
        .collect();
    repeated(object, "spec.components", &mut findings);
    for rule in [namespace, common_metadata, shards, sync_url] {
        rule(object, &mut findings);
    }
    findings.extend(ACROSS_FIELDS.iter().filter_map(|rule| {
        let scope = FieldPath::of(rule.scope);
        let broken = (rule.is_broken)(object.pointer(&scope.pointer())?);
        broken.then(|| Finding::value(&scope.below(rule.field), rule.message.into()))
    }));
    findings
}

fn text<'a>(object: &'a Value, path: &FieldPath) -> Option<&'a str> {
    object.pointer(&path.pointer())?.as_str()
}

fn has(object: &Value, pointer: &str, wanted: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_str) == Some(wanted)
}

fn is_on(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

fn texts<'a>(object: &'a Value, pointer: &str) -> Vec<(usize, &'a str)> {
    let items = object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    items.enumerate().filter_map(|(index, item)| Some((index, item.as_str()?))).collect()
}

fn refused(path: &FieldPath, text: &str, expected: &str) -> Finding {
    Finding::value(path, format!("{} is not {expected}", shown(&Value::from(text))))
}

fn regex(pattern: &str) -> Option<Regex> {
    // The tests compile every pattern in this file.
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
    // The schema reports a wrong scheme.
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

fn interval(text: &str) -> Option<String> {
    // The definition's pattern accepts durations that are too long for any clock.
    go_duration::parse(text).is_err().then(|| "a duration such as 30s, 5m or 1h30m".into())
}

fn namespace(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("metadata.namespace");
    if let Some(own) = text(object, &path).filter(|own| !own.is_empty() && !is_dns_label(own)) {
        findings.push(refused(&path, own, "the name of a namespace: lower case letters, digits and - only"));
    }
}

fn repeated(object: &Value, path: &str, findings: &mut Vec<Finding>) {
    let path = FieldPath::of(path);
    let items = texts(object, &path.pointer());
    for (index, item) in &items {
        if items.iter().any(|(earlier, other)| earlier < index && other == item) {
            findings.push(Finding::value(&path.item(*index), format!("{item} is already in the list")));
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
                let message = "this key is reserved: it identifies the objects of the instance and controls pruning";
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

fn shards(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sharding.shards");
    repeated(object, "spec.sharding.shards", findings);
    let sharded = components(object).into_iter().filter(|component| component.can_be_sharded());
    let longest = sharded.map(|component| component.as_str().len()).max().unwrap_or_default();
    // The pod label `app` contains the names of the component and the shard.
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

/// Returns the controllers of an instance; the schema reports unknown names.
pub(super) fn components(object: &Value) -> Vec<Component> {
    match texts(object, "/spec/components").as_slice() {
        [] => Component::DEFAULT.to_vec(),
        named => named.iter().filter_map(|(_, name)| name.parse().ok()).collect(),
    }
}

/// Checks the URL's scheme, because Flux's source kinds refuse any other.
fn sync_url(object: &Value, findings: &mut Vec<Finding>) {
    let path = FieldPath::of("spec.sync.url");
    let kind = text(object, &FieldPath::of("spec.sync.kind"));
    let Some(url) = text(object, &path).filter(|url| !url.is_empty()) else { return };
    let schemes: &[&str] = match kind {
        Some("GitRepository") => &["https://", "http://", "ssh://"],
        Some("OCIRepository") => &["oci://"],
        // The endpoint of a Bucket has no scheme.
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

/// Joins words in a sentence: `a, b or c`.
pub(super) fn list(words: &[impl AsRef<str>], last: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().into(),
        [rest @ .., end] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", rest.join(", "), end.as_ref())
        }
    }
}

/// Formats a value for a message: as JSON, truncated, and without a password in an address.
pub(super) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        Value::String(text) => Value::from(without_credentials(text)).to_string(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).collect::<String>() + "…" }
}

pub(super) fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        // A user alone, as in `ssh://git@host`, is not a secret.
        Some((user, _)) if user.contains(':') => {
            format!("{scheme}://[redacted]{}", rest.get(user.len()..).unwrap_or_default())
        }
        _ => text.into(),
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
