//! Classifies fields by their content: values, names, references, variables. Pure.

use serde_json::Value;

use super::MASK;
use crate::k8s::fields;

/// Keys of Secrets with public values, which occur in addresses and messages that explain a failure.
pub(super) const PUBLIC: [&str; 10] = [
    "username",
    "known_hosts",
    "identity.pub",
    "ca.crt",
    "caFile",
    "tls.crt",
    "certFile",
    "namespace",
    "type",
    "githubAppID",
];
/// Keys of Secrets with addresses: a host is public, but a path, a query or a user makes it a credential.
pub(super) const ADDRESSES: [&str; 11] =
    ["address", "url", "uri", "proxy", "host", "hostname", "server", "endpoint", "webhook", "registry", "repository"];
/// Annotations in these domains are kept for people and for this program.
pub(super) const KNOWN_DOMAINS: [&str; 5] = ["kubernetes.io", "k8s.io", "fluxcd.io", "controlplane.io", "helm.sh"];
/// Endings of annotations that contain a copy of the object.
pub(super) const COPIES: [&str; 4] = ["last-applied-configuration", "/last-applied", "/original", "/applied"];
/// Fields that identify an object or image. A Secret may contain the same word.
pub(super) const IDENTITY: [&str; 10] = [
    "name",
    "namespace",
    "kind",
    "apiVersion",
    "uid",
    "image",
    "imageID",
    "generateName",
    "serviceAccountName",
    "reason",
];
/// Fields of references below names of credentials: `secret: {secretName: …, items: [{key: …, path: …}]}`.
pub(super) const REFERENCE_FIELDS: [&str; 22] = [
    "name",
    "namespace",
    "kind",
    "apiVersion",
    "group",
    "version",
    "key",
    "property",
    "path",
    "mountPath",
    "role",
    "type",
    "provider",
    "method",
    "source",
    "audience",
    "optional",
    "field",
    "subPath",
    "scheme",
    "mode",
    "scope",
];
/// Fields of metadata about the object's identity, age and owner.
pub(super) const METADATA: [&str; 14] = [
    "name",
    "namespace",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "selfLink",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "continue",
];
/// Headers that only describe the expected answer.
pub(super) const PLAIN_HEADERS: [&str; 10] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "host",
    "origin",
    "user-agent",
    "content-length",
];

/// Whether an object is a Secret or ConfigMap with values, or a part of one.
pub(super) fn is_data(value: &Value) -> bool {
    let has = |field: &str| value.get(field).is_some_and(|values| values.is_object() || values.is_string());
    let kind = value.get("kind").and_then(Value::as_str);
    match kind {
        Some("Secret") => has("data") || has("stringData"),
        Some("ConfigMap") => fields::group(value).is_empty() && (has("data") || has("binaryData")),
        Some(_) => false,
        // Only Secrets have this field, and a patch need not state the kind.
        None => has("stringData"),
    }
}

/// Whether an entry of a Secret must be masked.
pub(super) fn is_secret_entry(key: &str, text: &str) -> bool {
    !(PUBLIC.contains(&key) || is_address(key) && is_plain_host(text.trim()))
}

/// Whether a field contains an address.
pub(super) fn is_address(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ADDRESSES.iter().any(|address| key.ends_with(address))
}

/// Whether a text is only a host, or an address of one.
pub(super) fn is_plain_host(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest).trim_end_matches('/');
    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}

/// Whether a text looks like a name or image: object names have no capitals, and kinds, reasons and images lack
/// features of random texts.
pub(super) fn is_object_name_or_image(text: &str) -> bool {
    let is_kind = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_name = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._:/@".contains(&b));
    is_kind || is_name || text.contains("@sha256:") || text.contains('/')
}

pub(super) fn is_reference_field(name: &str) -> bool {
    REFERENCE_FIELDS.contains(&name)
        || ["Ref", "Refs", "From", "Name", "Names", "Namespace", "Selector", "Path", "File", "items"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// Whether a field contains variables: `env`, `extraEnv`, `envVars`, `environment`.
pub(super) fn is_environment(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["env", "envs", "envvars", "environment", "environmentvariables"].iter().any(|end| key.ends_with(end))
}

/// `{id: apps_web_apps_Deployment, v: v1}`.
pub(super) fn is_inventory_entry(value: &Value) -> bool {
    let is_id = fields::text(value, "/id").matches('_').count() >= 3;
    is_id && value.as_object().is_some_and(|members| members.keys().all(|key| key == "id" || key == "v"))
}

/// Whether this program wrote the entry in place of a value.
pub(super) fn is_masked_entry(entry: &Value) -> bool {
    let Some(members) = entry.as_object() else { return false };
    let is_hash = |value: &Value| {
        value.as_str().is_some_and(|text| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    members.iter().all(|(key, value)| match key.as_str() {
        "bytes" => value.is_u64(),
        "hash" => is_hash(value),
        _ => false,
    })
}

/// Returns the texts in a map of an object.
pub(super) fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let values = object.get(field).and_then(Value::as_object);
    values.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// Masks fields that contain values by their place: values of charts, substitutions and inputs.
pub(super) fn mask_fields(object: &mut Value) -> usize {
    let mut count = mask_repeated_defaults(object);
    for pointer in [
        "/spec/values",
        "/spec/postBuild/substitute",
        "/spec/inputs",
        "/spec/defaultValues",
        "/spec/commonMetadata/annotations",
    ] {
        if let Some(value) = object.pointer_mut(pointer) {
            count += mask_scalars(value);
        }
    }
    // The path of a receiver is enough to call it, and a provider's address contains the token of the chat.
    for pointer in ["/status/webhookPath", "/status/url"] {
        count += mask_text(object.pointer_mut(pointer));
    }
    if fields::kind(object) == "Provider"
        && let Some(Value::String(address)) = object.pointer_mut("/spec/address")
        && let Some(path) =
            address.split_once("://").and_then(|(_, rest)| rest.split_once(['/', '?'])).map(|(_, path)| path.len())
        && path > 0
        && !address.ends_with(MASK)
    {
        let kept = address.len() - path;
        address.truncate(kept);
        address.push_str(MASK);
        count += 1;
    }
    count
}

/// Masks exported fields that repeat a name in the default values. Other fields come from the service and are kept.
fn mask_repeated_defaults(provider: &mut Value) -> usize {
    let defaults = provider.pointer("/spec/defaultValues").and_then(Value::as_object);
    let names: Vec<String> = defaults.into_iter().flat_map(serde_json::Map::keys).cloned().collect();
    let exported = provider.pointer_mut("/status/exportedInputs").and_then(Value::as_array_mut);
    let fields = exported.into_iter().flatten().filter_map(Value::as_object_mut).flatten();
    fields.filter(|(name, _)| names.contains(name)).map(|(_, value)| mask_scalars(value)).sum()
}

pub(super) fn mask_text(value: Option<&mut Value>) -> usize {
    match value {
        Some(Value::String(text)) if !text.is_empty() && text != MASK => {
            *text = MASK.to_owned();
            1
        }
        _ => 0,
    }
}

/// Masks every text and number, and keeps booleans and structure.
pub(super) fn mask_scalars(value: &mut Value) -> usize {
    match value {
        Value::String(_) => mask_text(Some(value)),
        Value::Number(_) => {
            *value = MASK.into();
            1
        }
        Value::Array(items) => items.iter_mut().map(mask_scalars).sum(),
        Value::Object(object) => object.values_mut().map(mask_scalars).sum(),
        _ => 0,
    }
}
