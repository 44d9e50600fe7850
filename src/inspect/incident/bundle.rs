//! `bundle`: everything that explains an installation in one archive, without its secrets. Pure.
//!
//! ```text
//! bundle.json                  program version, time, number of masked values per object, content that was not read
//! version.json                 of the API server
//! objects/KIND.GROUP.VERSION.json    a list for each kind that was read, even if it is empty
//! logs/NAMESPACE/POD/logs.txt  as `kubectl cluster-info dump` writes them
//! views/*.json                 the results of the read commands
//! ```

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::kinds;
use crate::format::tarball::Files;
use crate::inspect::incident::redact::{MaskedValues, Redactor};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::inventory;
use crate::k8s::{ObjectId, ResourceType, fields};

/// Content that is missing from a bundle, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingContent {
    pub what: String,
    pub why: String,
}

/// The log of a container's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerLog {
    pub namespace: String,
    pub pod: String,
    pub container: String,
    /// Whether it is the run before the last restart.
    pub previous: bool,
    pub lines: Vec<String>,
}

/// Content read for a bundle, including its secrets.
#[derive(Debug, Default)]
pub struct BundleContent {
    pub objects: Vec<Value>,
    /// Kinds that were listed completely.
    pub listed: Vec<ResourceType>,
    pub logs: Vec<ContainerLog>,
    pub version: Option<Value>,
    pub unread: Vec<MissingContent>,
    /// Why the values of Secrets are unknown, if they are.
    pub without_secrets: Option<String>,
}

/// A bundle that can be shared.
#[derive(Debug)]
pub struct Bundle {
    /// A dump from which the read commands are answered.
    pub snapshot: Snapshot,
    pub masked: Vec<MaskedValues>,
    pub unread: Vec<MissingContent>,
    /// Why the bundle may still contain secrets, if so.
    pub incomplete: Option<String>,
    listed: BTreeSet<(String, String, String)>,
    logs: Vec<ContainerLog>,
    version: Option<Value>,
}

/// Removes secrets from the gathered content, and omits text beyond `max_bytes`.
///
/// Objects take precedence over logs, Flux's own objects first.
pub fn redact(gathered: BundleContent, salt: Vec<u8>, max_bytes: usize) -> Bundle {
    let BundleContent { mut objects, listed, logs, version, mut unread, without_secrets } = gathered;
    let mut redactor = Redactor::new(salt);
    // Values of all Secrets are learnt first, because they may occur in any object or log.
    objects.iter().for_each(|object| redactor.learn(object));
    let unsearched = redactor.prepare().map(str::to_owned);
    let unknown = without_secrets.map(|why| format!("other texts cannot be searched for values of Secrets: {why}"));
    let incomplete = unsearched.or(unknown);
    let is_flux = |object: &Value| kinds::of(fields::group(object), fields::kind(object)).is_some();
    objects.sort_by_key(|object| !is_flux(object));
    let mut left = max_bytes;
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut snapshot = Snapshot::of_dump([]);
    for object in objects {
        let object = redactor.object(object);
        let size = object.to_string().len();
        match left.checked_sub(size) {
            Some(rest) => {
                left = rest;
                snapshot.insert(object);
            }
            None => *left_out.entry(fields::kind(&object).to_owned()).or_default() += 1,
        }
    }
    let (mut kept, mut too_long) = (vec![], vec![]);
    for log in logs {
        let what = format!("log of pod/{}/{}", log.namespace, log.pod);
        let lines = redactor.log(&what, &log.lines);
        let size = lines.iter().map(|line| line.len() + 1).sum();
        match left.checked_sub(size) {
            Some(rest) => {
                left = rest;
                snapshot.insert_log(&log.namespace, &log.pod, &log.container, log.previous, lines.clone());
                kept.push(ContainerLog { lines, ..log });
            }
            None => too_long.push(what),
        }
    }
    if let Some(version) = &version {
        snapshot.insert_version(version.clone());
    }
    let over = format!("the limit of {max_bytes} bytes was reached");
    let objects = left_out.into_iter().map(|(kind, count)| format!("{count} {kind}"));
    unread.extend(objects.chain(too_long).map(|what| MissingContent { what, why: over.clone() }));
    for resource in &listed {
        // An empty list lets a reader distinguish "there are none" from "was not read".
        snapshot.insert_empty_list(&resource.group, &resource.kind);
    }
    let listed = listed.into_iter().map(|r| (r.group.to_string(), r.kind.to_string(), r.version.to_string())).collect();
    Bundle { snapshot, masked: redactor.masked(), unread, incomplete, listed, logs: kept, version }
}

impl Bundle {
    /// Returns the number of masked values.
    pub fn masked_values(&self) -> usize {
        self.masked.iter().map(|masked| masked.count).sum()
    }

    /// Returns the files of the archive. `views` are JSON texts by name.
    pub fn files(&self, client: &str, created: Timestamp, views: Vec<(String, String)>) -> Files {
        let mut files = Files::new();
        let mut add = |path: String, text: String| _ = files.insert(path, text.into_bytes().into());
        let mut about = json!({"bundle": {"format": 1, "client": client, "created": created.to_string()},
            "masked": self.masked, "unread": self.unread});
        if let Some(why) = &self.incomplete {
            about["incomplete"] = why.as_str().into();
        }
        add("bundle.json".into(), about.to_string());
        if let Some(version) = &self.version {
            add("version.json".into(), json!({"serverVersion": version}).to_string());
        }
        let mut lists: BTreeMap<(String, String, String), Vec<&Value>> =
            self.listed.iter().map(|kind| (kind.clone(), vec![])).collect();
        for object in self.snapshot.all() {
            let id = ObjectId::of(object);
            lists.entry((id.group, id.kind, id.version)).or_default().push(object);
        }
        for ((group, kind, version), items) in lists {
            let api_version = ObjectId { group: group.clone(), version: version.clone(), ..ObjectId::default() };
            let list = json!({"kind": format!("{kind}List"), "apiVersion": api_version.api_version(), "items": items});
            let name = if group.is_empty() { "core".to_owned() } else { group };
            add(format!("objects/{kind}.{name}.{version}.json"), list.to_string());
        }
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for log in &self.logs {
            let text = texts.entry(format!("logs/{}/{}/logs.txt", log.namespace, log.pod)).or_default();
            let run = if log.previous { " (previous)" } else { "" };
            let of = format!("logs for container {} of pod {}/{}{run} ====", log.container, log.namespace, log.pod);
            text.push_str(&format!("==== START {of}\n"));
            for line in &log.lines {
                text.push_str(line);
                text.push('\n');
            }
            text.push_str(&format!("==== END {of}\n"));
        }
        texts.into_iter().for_each(|(path, text)| add(path, text));
        views.into_iter().for_each(|(name, text)| add(format!("views/{name}.json"), text));
        files
    }
}

/// Returns the namespaces in which Flux works: those of its objects, its controllers, and the objects it applied.
pub(crate) fn namespaces_of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    let mut namespaces = BTreeSet::new();
    for object in objects {
        let is_flux = kinds::of(fields::group(object), fields::kind(object)).is_some();
        let is_controller = fields::label(object, crate::api::well_known::PART_OF_LABEL) == Some("flux");
        if is_flux || is_controller {
            namespaces.extend(fields::namespace(object).map(str::to_owned));
        }
        if is_flux {
            let applied = inventory::entries(object).into_iter();
            let place = |id: ObjectId| match id.kind.as_str() {
                // A namespace applied by Flux counts itself, because deleting it deletes its content.
                "Namespace" if id.group.is_empty() => id.name,
                _ => id.namespace,
            };
            namespaces.extend(applied.map(place).filter(|namespace| !namespace.is_empty()));
        }
    }
    namespaces
}

/// Reduces an object that is large or mostly irrelevant, such as a node or a definition.
pub(crate) fn summary(object: Value) -> Value {
    let kept: &[&str] = match (fields::group(&object), fields::kind(&object)) {
        ("", "Node") => &[
            "/metadata/name",
            "/metadata/labels",
            "/spec/taints",
            "/spec/unschedulable",
            "/status/conditions",
            "/status/capacity",
            "/status/allocatable",
            "/status/nodeInfo/kubeletVersion",
            "/status/nodeInfo/architecture",
            "/status/nodeInfo/operatingSystem",
        ],
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &[
            "/metadata/name",
            "/metadata/labels",
            "/metadata/creationTimestamp",
            "/metadata/deletionTimestamp",
            "/metadata/finalizers",
            "/spec/group",
            "/spec/names",
            "/spec/scope",
            "/spec/versions",
            "/spec/conversion/strategy",
            "/status/storedVersions",
            "/status/conditions",
        ],
        _ => return object,
    };
    let mut summary = json!({"apiVersion": object["apiVersion"], "kind": object["kind"]});
    for pointer in kept {
        if let Some(value) = object.pointer(pointer) {
            put(&mut summary, pointer, value.clone());
        }
    }
    let versions = summary.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten().filter_map(Value::as_object_mut) {
        version.retain(|key, _| ["name", "served", "storage", "deprecated"].contains(&key.as_str()));
    }
    summary
}

/// Reduces an object to its identity and status, without its spec.
pub(crate) fn without_volatile_fields(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| ["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()));
    }
    object
}

fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for part in pointer.trim_start_matches('/').split('/') {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(part).or_insert(Value::Null);
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::read::from_dump;

    fn secret() -> Value {
        // The value is "canary-7d1f".
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps"}, "data": {"p": "Y2FuYXJ5LTdkMWY="}})
    }

    fn ks() -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "k", "namespace": "fs"},
            "status": {"inventory": {"entries": [{"id": "apps_web_apps_Deployment", "v": "v1"}, {"id": "_x__Namespace", "v": "v1"}]}}})
    }

    fn gathered() -> BundleContent {
        let log = |previous: bool| ContainerLog {
            namespace: "fs".into(),
            pod: "p".into(),
            container: "manager".into(),
            previous,
            lines: vec![format!("previous {previous}"), "with canary-7d1f".into()],
        };
        BundleContent {
            objects: vec![secret(), ks()],
            listed: vec![kinds::POD],
            logs: vec![log(true), log(false)],
            version: Some(json!({"gitVersion": "v1.36.3"})),
            unread: vec![MissingContent { what: "nodes".into(), why: "denied".into() }],
            without_secrets: None,
        }
    }

    #[test]
    fn a_written_bundle_is_read_as_a_dump_and_holds_no_secret() {
        let bundle = redact(gathered(), vec![1], 1 << 20);
        let files = bundle.files("1.0.0", Timestamp::UNIX_EPOCH, vec![("why".into(), "{}".into())]);
        let folder = tempfile::tempdir().unwrap();
        for (path, file) in &files {
            let text = String::from_utf8(file.bytes.clone()).unwrap();
            assert!(!text.contains("canary-7d1f") && !text.contains("Y2FuYXJ5LTdkMWY="), "{path}: {text}");
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let read = from_dump::read(folder.path()).unwrap().snapshot;
        assert!(read.get(&kinds::SECRET, Some("apps"), "s").is_some());
        assert!(read.knows(&kinds::POD), "a kind without objects was read as well");
        assert!(!read.knows(&kinds::NODE));
        assert_eq!(read.log("fs", "p", "manager", true).unwrap(), ["previous true", "with [masked]"]);
        assert_eq!(read.log("fs", "p", "manager", false).unwrap()[0], "previous false");
        assert_eq!(read.server_version().unwrap()["gitVersion"], "v1.36.3");
        let about: Value = serde_json::from_slice(&files["bundle.json"].bytes).unwrap();
        assert_eq!(about["unread"], json!([{"what": "nodes", "why": "denied"}]));
        assert_eq!(about["masked"][0], json!({"what": "Secret/apps/s", "count": 1}), "{about:#}");
    }

    #[test]
    fn a_bundle_says_that_secrets_may_be_left_in_it() {
        assert_eq!(redact(gathered(), vec![1], 1 << 20).incomplete, None);
        let unknown = BundleContent { without_secrets: Some("denied".into()), ..gathered() };
        let bundle = redact(unknown, vec![1], 1 << 20);
        let files = bundle.files("1.0.0", Timestamp::UNIX_EPOCH, vec![]);
        let about: Value = serde_json::from_slice(&files["bundle.json"].bytes).unwrap();
        assert!(about["incomplete"].as_str().unwrap().ends_with("denied"), "{about}");
    }

    #[test]
    fn data_over_the_limits_is_left_out_and_reported() {
        let bundle = redact(gathered(), vec![], 400);
        assert!(bundle.snapshot.all().any(|object| fields::kind(object) == "Kustomization"), "Flux's own come first");
        let reported: Vec<&str> = bundle.unread.iter().map(|unread| unread.what.as_str()).collect();
        assert!(reported.iter().any(|what| what.ends_with("Secret") || *what == "log of pod/fs/p"), "{reported:?}");
    }

    #[test]
    fn the_namespaces_of_flux_are_those_of_its_objects_and_those_to_which_it_applies() {
        // Flux applied the namespace `x`.
        let namespaces = namespaces_of(&[secret(), ks()]);
        assert_eq!(namespaces.into_iter().collect::<Vec<_>>(), ["apps", "fs", "x"]);
    }

    #[test]
    fn a_definition_is_its_versions_without_their_schemas() {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "d"},
            "spec": {"group": "g", "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {}}}]}});
        let reported = summary(definition);
        assert_eq!(reported["spec"]["versions"], json!([{"name": "v1", "served": true, "storage": true}]));
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"addresses": ["10.0.0.1"], "capacity": {"cpu": "1"}}});
        assert_eq!(summary(node)["status"], json!({"capacity": {"cpu": "1"}}));
    }
}
