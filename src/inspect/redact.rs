//! Taking secrets out of objects and logs, so that a dump can be given away. Pure.
//!
//! ```text
//! Secrets, ConfigMaps ─► names, keys, sizes, salted hashes        values ─► learnt, and masked wherever they stand in a text
//! other objects       ─► fields that hold values are masked; all texts are searched for what looks like a credential
//! ```
//! What is kept is what explains an installation: names, references, conditions, messages, arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::api::field_managers::Author;
use crate::k8s::{ObjectId, fields};

/// What stands where something was taken out.
pub const MASK: &str = "[masked]";
/// Shorter values are words that occur everywhere: `admin`, `true`.
const SHORTEST: usize = 6;
/// The size of what all learnt values together are compiled to.
const LEARNT_BYTES: usize = 64 << 20;
/// Keys of Secrets whose values are public, and occur in addresses and messages that explain a failure.
const PUBLIC: [&str; 12] = [
    "username",
    "known_hosts",
    "identity.pub",
    "ca.crt",
    "caFile",
    "tls.crt",
    "certFile",
    "namespace",
    "url",
    "address",
    "type",
    "githubAppID",
];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What was masked in one object or log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Masked {
    /// The object, or the pod whose log it is.
    pub what: String,
    /// Values that were masked.
    pub count: usize,
}

/// Masks secrets, and keeps count.
pub struct Redactor {
    salt: Vec<u8>,
    learnt: BTreeSet<String>,
    values: Option<Regex>,
    masked: BTreeMap<String, usize>,
}

/// Credentials that are known by their looks, or by the word before them.
static LOOKS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // Key blocks, also cut short.
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        r"AGE-SECRET-KEY-1[0-9A-Z]+",
        // Tokens of Git forges, clouds and chats, and JWTs.
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16})\b",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ];
    // The patterns are constants; a broken one fails its test.
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});
/// `password=x`, `"token": "x"`, `--secret-key x`; the value is the last group.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?i)((?:pass(?:word|wd|phrase)|token|secret[_-]?(?:key|access[_-]?key)?|api[_-]?key|access[_-]?key|credentials?|authorization)["']?\s*[:=]\s*(?:bearer |basic )?["']?)([^\s"',;&}{\[\]()]+)"#;
    Regex::new(pattern).ok()
});
/// `https://user:password@host`.
static USER_INFO: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(://)([^/\s@]+)@").ok());

impl Redactor {
    /// Hashes are the same for the same value under one salt, and tell nothing under another.
    pub fn new(salt: Vec<u8>) -> Self {
        Redactor { salt, learnt: BTreeSet::new(), values: None, masked: BTreeMap::new() }
    }

    /// Remembers the values of a Secret, to mask them wherever they stand.
    pub fn learn(&mut self, secret: &Value) {
        for (_, value) in entries(secret, "data").filter(|(key, _)| !PUBLIC.contains(key)) {
            let Ok(bytes) = STANDARD.decode(value) else { continue };
            self.learn_text(value);
            self.learn_text(&String::from_utf8_lossy(&bytes));
        }
        for (_, value) in entries(secret, "stringData").filter(|(key, _)| !PUBLIC.contains(key)) {
            self.learn_text(value);
        }
        self.values = None;
    }

    fn learn_text(&mut self, text: &str) {
        // Of a key or a configuration a single line may be written somewhere.
        for line in text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST && !is_common(line)) {
            self.learnt.insert(line.to_owned());
        }
    }

    /// Compiles what was learnt; a text is then searched once for all of it.
    fn compiled(&mut self) -> Option<&Regex> {
        if self.values.is_none() && !self.learnt.is_empty() {
            // Of two values that begin alike the longer one is meant.
            let mut values: Vec<&String> = self.learnt.iter().collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.len()));
            let pattern = values.iter().map(|value| regex::escape(value)).collect::<Vec<_>>().join("|");
            self.values = RegexBuilder::new(&pattern).size_limit(LEARNT_BYTES).build().ok();
        }
        self.values.as_ref()
    }

    /// Whether every learnt value is searched for; there can be too many.
    pub fn is_complete(&mut self) -> bool {
        self.learnt.is_empty() || self.compiled().is_some()
    }

    /// What was masked so far, by object.
    pub fn masked(&self) -> Vec<Masked> {
        self.masked.iter().map(|(what, count)| Masked { what: what.clone(), count: *count }).collect()
    }

    fn count(&mut self, what: &str, count: usize) {
        if count > 0 {
            *self.masked.entry(what.to_owned()).or_default() += count;
        }
    }

    /// A text without credentials, and how many were in it.
    fn cleaned(&mut self, text: &str) -> (String, usize) {
        let mut count = 0;
        let mut cleaned = text.to_owned();
        let mut replace = |pattern: &Regex, with: &str| {
            let found = pattern.find_iter(&cleaned).filter(|found| !found.as_str().contains(MASK)).count();
            if found > 0 {
                cleaned = pattern.replace_all(&cleaned, with).into_owned();
                count += found;
            }
        };
        if let Some(values) = self.compiled() {
            replace(values, MASK);
        }
        LOOKS.iter().for_each(|pattern| replace(pattern, MASK));
        if let Some(pattern) = NAMED.as_ref() {
            replace(pattern, "${1}[masked]");
        }
        if let Some(pattern) = USER_INFO.as_ref() {
            replace(pattern, "${1}[masked]@");
        }
        (cleaned, count)
    }

    /// A line of a log without credentials.
    pub fn line(&mut self, what: &str, line: &str) -> String {
        let (cleaned, count) = self.cleaned(line);
        self.count(what, count);
        cleaned
    }

    /// An object without credentials.
    pub fn object(&mut self, mut object: Value) -> Value {
        let what = ObjectId::of(&object).to_string();
        let mut count = 0;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
                self.field_set(entry);
            }
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                count += usize::from(annotations.remove(LAST_APPLIED).is_some());
            }
        }
        let is_data = fields::group(&object).is_empty() && matches!(fields::kind(&object), "Secret" | "ConfigMap");
        if is_data {
            count += self.data(&mut object);
        } else {
            count += mask_fields(&mut object);
        }
        for (key, value) in object.as_object_mut().into_iter().flatten() {
            count += match key.as_str() {
                // Who an object is stays, whatever words a Secret holds.
                "apiVersion" | "kind" | "involvedObject" | "masked" => 0,
                "metadata" => value.get_mut("annotations").map_or(0, |annotations| self.texts(annotations)),
                _ => self.texts(value),
            };
        }
        self.count(&what, count);
        object
    }

    /// Leaves of the fields that a manager holds the names of those that people hold: a member of a list stands in it with its
    /// value, and what controllers hold is all that they apply.
    fn field_set(&mut self, entry: &mut Value) {
        let is_by_hand = Author::of(fields::text(entry, "/manager")) == Author::Other;
        let Some(entry) = entry.as_object_mut() else { return };
        match entry.get_mut("fieldsV1") {
            Some(set) if is_by_hand => self.names_only(set),
            _ => {
                entry.remove("fieldsV1");
            }
        }
    }

    fn names_only(&mut self, set: &mut Value) {
        let Some(members) = set.as_object_mut() else { return };
        members.retain(|name, _| !name.starts_with("v:") && self.cleaned(name).1 == 0);
        members.values_mut().for_each(|below| self.names_only(below));
    }

    /// Replaces the values of a Secret or ConfigMap by their sizes and hashes.
    fn data(&self, object: &mut Value) -> usize {
        let mut keys = Map::new();
        for field in ["data", "binaryData", "stringData"] {
            let is_encoded = field == "binaryData" || (field == "data" && fields::kind(object) == "Secret");
            for (key, value) in entries(object, field) {
                let bytes = match is_encoded {
                    true => STANDARD.decode(value).unwrap_or_default(),
                    false => value.as_bytes().to_vec(),
                };
                let hash = Sha256::new().chain_update(&self.salt).chain_update(&bytes).finalize();
                let hash = hex::encode(hash).get(..16).unwrap_or_default().to_owned();
                keys.insert(key.to_owned(), json!({"bytes": bytes.len(), "hash": hash}));
            }
        }
        let unread: Vec<String> = ["data", "binaryData", "stringData"]
            .iter()
            .filter_map(|field| object.get(*field)?.as_object())
            .flat_map(|values| values.iter().filter(|(_, value)| !value.is_string()).map(|(key, _)| key.clone()))
            .collect();
        for key in unread {
            // The value was taken out before: only that there was one is known.
            keys.entry(key).or_insert(json!({}));
        }
        if let Some(object) = object.as_object_mut() {
            for field in ["data", "binaryData", "stringData"] {
                object.remove(field);
            }
            let count = keys.len();
            object.insert("masked".into(), Value::Object(keys));
            return count;
        }
        0
    }

    /// Masks credentials in every text of a value; keys stay.
    fn texts(&mut self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => {
                let (cleaned, count) = self.cleaned(text);
                if count > 0 {
                    *text = cleaned;
                }
                count
            }
            Value::Array(items) => items.iter_mut().map(|item| self.texts(item)).sum(),
            Value::Object(object) => object.values_mut().map(|value| self.texts(value)).sum(),
            _ => 0,
        }
    }
}

/// The texts of a map of an object.
fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let values = object.get(field).and_then(Value::as_object);
    values.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// Words that are no secret though a Secret holds them: masking them would make everything unreadable.
fn is_common(line: &str) -> bool {
    const WORDS: [&str; 8] =
        ["default", "master", "flux-system", "localhost", "enabled", "disabled", "github.com", "ghcr.io"];
    WORDS.contains(&line) || line.bytes().all(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
}

/// Masks what holds values by its place: values of charts, of substitutions and of inputs, and of the environment.
fn mask_fields(object: &mut Value) -> usize {
    let mut count = 0;
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
    // A receiver is called by whoever knows its path, a provider's address holds the token of the chat.
    for pointer in ["/status/webhookPath", "/status/url"] {
        count += mask_text(object.pointer_mut(pointer));
    }
    if fields::kind(object) == "Provider"
        && let Some(Value::String(address)) = object.pointer_mut("/spec/address")
        && let Some(path) =
            address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path.len())
        && path > 0
    {
        let kept = address.len() - path;
        address.truncate(kept);
        address.push_str(MASK);
        count += 1;
    }
    for pointer in ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"] {
        for containers in ["containers", "initContainers", "ephemeralContainers"] {
            let containers = object.pointer_mut(&format!("{pointer}/{containers}")).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                for variable in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
                    count += mask_text(variable.get_mut("value"));
                }
            }
        }
    }
    count
}

fn mask_text(value: Option<&mut Value>) -> usize {
    match value {
        Some(Value::String(text)) if !text.is_empty() && text != MASK => {
            *text = MASK.to_owned();
            1
        }
        _ => 0,
    }
}

/// Masks every text and number; switches and structure stay.
fn mask_scalars(value: &mut Value) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "canary-7d1f-s3cr3t";

    fn secret(value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps",
            "annotations": {LAST_APPLIED: format!("{{\"data\":\"{value}\"}}")}},
            "type": "Opaque", "data": {"password": STANDARD.encode(value), "username": STANDARD.encode("git")}})
    }

    fn redactor() -> Redactor {
        let mut redactor = Redactor::new(b"salt".to_vec());
        redactor.learn(&secret(CANARY));
        redactor
    }

    #[test]
    fn a_secret_is_its_keys_sizes_and_hashes() {
        let told = redactor().object(secret(CANARY));
        assert!(!told.to_string().contains(CANARY) && !told.to_string().contains(&STANDARD.encode(CANARY)), "{told}");
        assert_eq!(told["masked"]["password"]["bytes"], CANARY.len());
        assert_eq!(told["masked"]["password"]["hash"].as_str().map(str::len), Some(16));
        assert_eq!((told.get("data"), told["type"].as_str()), (None, Some("Opaque")));
        let other = Redactor::new(b"other".to_vec()).object(secret(CANARY));
        assert_ne!(other["masked"]["password"]["hash"], told["masked"]["password"]["hash"], "a salt for each bundle");
        let trimmed =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": null}});
        assert_eq!(redactor().object(trimmed)["masked"], json!({"password": {}}));
    }

    #[test]
    fn a_value_is_masked_wherever_it_stands() {
        let mut redactor = redactor();
        let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "apps"},
            "message": format!("login with {CANARY} failed, {} too", STANDARD.encode(CANARY))});
        let told = redactor.object(object);
        assert_eq!(told["message"], "login with [masked] failed, [masked] too");
        assert_eq!(redactor.line("pod/x", &format!("dial {CANARY}: no")), "dial [masked]: no");
        assert_eq!(redactor.masked().iter().map(|m| m.count).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn credentials_are_known_by_their_looks() {
        let mut redactor = Redactor::new(vec![]);
        let cases = [
            ("clone https://git:hunter2hunter@example.com/x", "clone https://[masked]@example.com/x"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [masked]"),
            (r#"{"password":"hunter2","user":"a"}"#, r#"{"password":"[masked]","user":"a"}"#),
            ("--token=abcdef --x=1", "--token=[masked] --x=1"),
            ("ghp_0123456789012345678901234567890123 is used", "[masked] is used"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[masked]"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\nx", "[masked]\nx"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.line("x", text), expected);
        }
        for kept in [
            "failed to get secret 'apps/absent': secrets \"absent\" not found",
            "invalid 'bad' secret data: required fields 'accesskey' and 'secretkey'",
            "timeout waiting for: [Deployment/default/stuck status: 'InProgress']",
            "--watch-label-selector=!sharding.fluxcd.io/key",
            "Get \"https://git.example.com/app/info/refs?service=git-upload-pack\": dial tcp",
        ] {
            assert_eq!(redactor.line("x", kept), kept, "what explains a failure stays");
        }
    }

    #[test]
    fn values_of_charts_variables_and_environments_are_masked_by_their_place() {
        let mut redactor = Redactor::new(vec![]);
        let release = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "w", "namespace": "a"},
            "spec": {"interval": "5m", "values": {"db": {"pass": "x1", "port": 5432, "tls": true}, "hosts": ["a"]}}});
        let told = redactor.object(release);
        assert_eq!(told["spec"]["values"], json!({"db": {"pass": MASK, "port": MASK, "tls": true}, "hosts": [MASK]}));
        assert_eq!(told["spec"]["interval"], "5m");
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "a"},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "args": ["--events-addr=http://n"],
                "env": [{"name": "A", "value": "x1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]}}}});
        let container = redactor.object(deployment)["spec"]["template"]["spec"]["containers"][0].clone();
        assert_eq!(container["env"][0]["value"], MASK);
        assert_eq!(container["env"][1]["valueFrom"]["secretKeyRef"]["name"], "s");
        assert_eq!(container["args"][0], "--events-addr=http://n");
        let provider = json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Provider", "metadata": {"name": "p", "namespace": "a"},
            "spec": {"type": "slack", "address": "https://hooks.slack.com/services/T0/B0/XYZ"}});
        assert_eq!(redactor.object(provider)["spec"]["address"], "https://hooks.slack.com/[masked]");
    }

    #[test]
    fn who_an_object_is_stays_whatever_words_a_secret_holds() {
        let mut redactor = Redactor::new(vec![]);
        redactor.learn(&secret("podinfo"));
        let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "podinfo", "namespace": "podinfo"},
            "involvedObject": {"kind": "Pod", "name": "podinfo"}, "message": "by podinfo"});
        let told = redactor.object(object);
        assert_eq!(
            (&told["metadata"]["name"], &told["involvedObject"]["name"]),
            (&json!("podinfo"), &json!("podinfo"))
        );
        assert_eq!(told["message"], "by [masked]");
    }

    #[test]
    fn of_what_people_hold_only_names_stay() {
        let mut redactor = Redactor::new(vec![]);
        redactor.learn(&json!({"kind": "Secret", "data": {"p": STANDARD.encode("canary-7d1f")}}));
        let set = json!({"f:spec": {"f:args": {"v:\"--token=canary\"": {}}, "k:{\"name\":\"canary-7d1f\"}": {}, "f:replicas": {}}});
        let entry = |manager: &str| json!({"manager": manager, "time": "t", "fieldsV1": set});
        let object = json!({"kind": "A", "metadata": {"name": "a", "managedFields": [entry("kubectl"), entry("kustomize-controller")]}});
        assert_eq!(
            redactor.object(object)["metadata"]["managedFields"],
            json!([{"manager": "kubectl", "time": "t", "fieldsV1": {"f:spec": {"f:args": {}, "f:replicas": {}}}},
                {"manager": "kustomize-controller", "time": "t"}])
        );
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        let mut redactor = redactor();
        let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": format!("password={CANARY}")});
        let once = redactor.object(object);
        let before = redactor.masked();
        assert_eq!(redactor.object(once.clone()), once);
        assert_eq!(redactor.masked(), before, "nothing is counted twice");
    }
}
