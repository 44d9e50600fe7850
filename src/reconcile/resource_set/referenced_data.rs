//! Data that annotations of rendered objects ask for: `copyFrom`, `convertKubeConfigFrom` and `checksumFrom`.
//!
//! Sources are read with the rights under which the objects are applied, so that a set cannot read more than its
//! service account may. Each source is read once per run.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::texts::{api_text, not_found_text};
use crate::api::kinds::{CONFIG_MAP, SECRET};
use crate::api::well_known::{
    CHECKSUM_ANNOTATION, CHECKSUM_FROM_ANNOTATION, CONVERT_KUBECONFIG_FROM_ANNOTATION, COPY_FROM_ANNOTATION,
};
use crate::cluster::Cluster;
use crate::format::yaml;
use crate::k8s::{ObjectId, fields};

/// ConfigMaps and Secrets that were read for the annotations of a set.
#[derive(Debug, Default)]
pub(super) struct DataSources {
    /// Requested objects, as `Kind/namespace/name`. A change of one of them is a reason to run again.
    pub read: BTreeSet<String>,
    /// Objects of the cluster whose checksum was requested.
    pub checksums: BTreeSet<String>,
}

/// Resolves the annotations of all objects, in their order.
///
/// # Errors
/// An annotation is not valid, or its source cannot be read. `sources` has the objects that were requested until then.
pub(super) async fn resolve(cluster: &Cluster, objects: &mut [Value], sources: &mut DataSources) -> Result<(), String> {
    let mut reader = ReferenceReader { cluster, known: BTreeMap::new(), sources };
    for object in objects.iter_mut() {
        reader.copy(object).await?;
    }
    for object in objects.iter_mut() {
        reader.convert_kubeconfig(object).await?;
    }
    // Checksums come last, because they cover the data that the other two annotations add.
    reader.add_checksums(objects).await
}

/// The data of a source: keys and bytes.
type Content = BTreeMap<String, Vec<u8>>;

struct ReferenceReader<'a> {
    cluster: &'a Cluster,
    known: BTreeMap<String, Result<Value, String>>,
    sources: &'a mut DataSources,
}

fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    fields::annotation(object, key).filter(|value| !value.is_empty())
}

fn is_core(object: &Value, kind: &str) -> bool {
    object["apiVersion"] == "v1" && object["kind"] == kind
}

/// `namespace/name`.
fn namespaced_name(value: &str) -> Option<(&str, &str)> {
    let (namespace, name) = value.split_once('/')?;
    (!name.contains('/')).then_some((namespace, name))
}

impl ReferenceReader<'_> {
    /// Reads a ConfigMap or Secret.
    ///
    /// # Errors
    /// The message of the API server.
    async fn read(&mut self, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let key = format!("{kind}/{namespace}/{name}");
        self.sources.read.insert(key.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let resource = if kind == "Secret" { SECRET } else { CONFIG_MAP };
        let id = ObjectId::new("", kind, Some(namespace), name).at("v1");
        let found = match self.cluster.read(&id).await {
            Ok(Some(live)) => Ok(live),
            Ok(None) => Err(not_found_text(&resource, name)),
            Err(error) => Err(api_text(&error)),
        };
        self.known.insert(key, found.clone());
        found
    }

    /// `copyFrom`: copies the data of another ConfigMap or Secret. Copied data replaces the data of a ConfigMap, and is
    /// merged into that of a Secret.
    async fn copy(&mut self, object: &mut Value) -> Result<(), String> {
        let Some(value) = annotation(object, COPY_FROM_ANNOTATION).map(str::to_owned) else { return Ok(()) };
        let Some((namespace, name)) = namespaced_name(&value) else {
            return Err(format!(
                "invalid {COPY_FROM_ANNOTATION} annotation value '{value}' must be in the format 'namespace/name'"
            ));
        };
        let Some(kind) = ["ConfigMap", "Secret"].into_iter().find(|kind| is_core(object, kind)) else { return Ok(()) };
        let source = self.read(kind, namespace, name).await;
        let source = source.map_err(|error| format!("failed to copy data from {kind}/{namespace}/{name}: {error}"))?;
        let map = |member: &str| source.get(member).and_then(Value::as_object).cloned().unwrap_or_default();
        if kind == "ConfigMap" {
            object["data"] = Value::Object(map("data"));
            let binary = map("binaryData");
            if !binary.is_empty() {
                object["binaryData"] = Value::Object(binary);
            }
            return Ok(());
        }
        if object.get("type").is_none() {
            let kind = source.get("type").and_then(Value::as_str).filter(|kind| !kind.is_empty());
            object["type"] = kind.unwrap_or("Opaque").into();
        }
        // The copied values are kept as they are stored: they need not be text.
        if let Some(fields) = object.as_object_mut() {
            fields.remove("stringData");
        }
        let mut data = object.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        data.extend(map("data"));
        object["data"] = Value::Object(data);
        Ok(())
    }

    /// `convertKubeConfigFrom`: puts server and certificate authority of a kubeconfig into a ConfigMap.
    async fn convert_kubeconfig(&mut self, object: &mut Value) -> Result<(), String> {
        const KEY: &str = CONVERT_KUBECONFIG_FROM_ANNOTATION;
        if !is_core(object, "ConfigMap") {
            return Ok(());
        }
        let Some(value) = annotation(object, KEY).map(str::to_owned) else { return Ok(()) };
        let parts = value.split_once('/').map(|(namespace, rest)| match rest.rsplit_once(':') {
            Some((name, key)) => (namespace, name, Some(key)),
            None => (namespace, rest, None),
        });
        let is_valid = |(namespace, name, key): &(&str, &str, Option<&str>)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains('/') && key.is_none_or(|key| !key.is_empty())
        };
        let Some((namespace, name, key)) = parts.filter(is_valid) else {
            return Err(format!(
                "invalid {KEY} annotation value '{value}' must be in the format 'namespace/name' or 'namespace/name:key'"
            ));
        };
        let secret = self.read("Secret", namespace, name).await;
        let secret = secret.map_err(|error| format!("failed to get kubeconfig Secret/{namespace}/{name}: {error}"))?;
        // The API server stores only valid base64, so this cannot fail.
        let content = secret_content(&secret).unwrap_or_default();
        let keys: &[&str] = match &key {
            Some(key) => &[key],
            // Cluster API writes the kubeconfig of a cluster under the key `value`.
            None => &["kubeconfig", "value"],
        };
        let Some(text) = keys.iter().find_map(|key| content.get(*key)) else {
            let missing = keys.iter().map(|key| format!("'{key}'")).collect::<Vec<_>>().join(" or ");
            return Err(format!("kubeconfig Secret/{namespace}/{name} does not have {missing} field"));
        };
        let (server, authority) = server_and_authority(text)
            .map_err(|error| format!("failed to extract fields from kubeconfig Secret/{value}: {error}"))?;
        if !object.get("data").is_some_and(Value::is_object) {
            object["data"] = json!({});
        }
        if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
            data.entry("address").or_insert_with(|| server.into());
            data.entry("ca.crt").or_insert_with(|| authority.into());
        }
        Ok(())
    }

    /// `checksumFrom`: adds an annotation with the digest of the referenced data next to each reference.
    async fn add_checksums(&mut self, objects: &mut [Value]) -> Result<(), String> {
        // Find all annotations first: a checksum borrows every object, so none can be changed in the meantime.
        let mut places = vec![];
        for (index, object) in objects.iter().enumerate() {
            find_checksum_annotations(object, &mut String::new(), &mut |pointer, value| {
                places.push((index, pointer.to_owned(), value.to_owned()));
            });
        }
        for (index, pointer, value) in places {
            let checksum = self.checksum(&value, objects).await?;
            let annotations = objects.get_mut(index).and_then(|object| object.pointer_mut(&pointer));
            if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
                annotations.insert(CHECKSUM_ANNOTATION.to_owned(), checksum.into());
            }
        }
        Ok(())
    }

    async fn checksum(&mut self, value: &str, objects: &[Value]) -> Result<String, String> {
        let mut digest = Sha256::new();
        for reference in value.split(',').map(str::trim).filter(|reference| !reference.is_empty()) {
            let parts: Vec<&str> = reference.split('/').collect();
            let [kind, namespace, name] = parts.as_slice() else {
                return Err(invalid_checksum_reference(reference));
            };
            if [kind, namespace, name].iter().any(|part| part.is_empty()) {
                return Err(invalid_checksum_reference(reference));
            }
            if !["ConfigMap", "Secret"].contains(kind) {
                return Err(format!(
                    "unsupported kind '{kind}' in {CHECKSUM_FROM_ANNOTATION}, only ConfigMap and Secret are allowed"
                ));
            }
            let is_rendered = |object: &&Value| {
                object["kind"] == *kind
                    && fields::text(object, "/metadata/namespace") == *namespace
                    && fields::text(object, "/metadata/name") == *name
            };
            // A rendered object is not applied yet, so its digest comes from the manifest.
            let content = match objects.iter().find(is_rendered) {
                Some(rendered) => content_of(kind, rendered)?,
                None => {
                    self.sources.checksums.insert(reference.to_owned());
                    let live = self.read(kind, namespace, name).await.map_err(|error| {
                        format!(
                            "failed to resolve {CHECKSUM_FROM_ANNOTATION} reference {kind}/{namespace}/{name}: {error}"
                        )
                    })?;
                    content_of(kind, &live)?
                }
            };
            digest.update(reference);
            // The zero bytes keep different keys and values from adding up to the same text.
            digest.update([0]);
            for (key, bytes) in content {
                digest.update(key);
                digest.update([0]);
                digest.update(bytes);
                digest.update([0]);
            }
        }
        Ok(format!("sha256:{}", hex::encode(digest.finalize())))
    }
}

fn invalid_checksum_reference(reference: &str) -> String {
    format!("invalid {CHECKSUM_FROM_ANNOTATION} reference '{reference}' must be in the format 'Kind/namespace/name'")
}

/// Calls `found` with the JSON pointer of every map of annotations that has `checksumFrom`, and with its value.
fn find_checksum_annotations(value: &Value, pointer: &mut String, found: &mut impl FnMut(&str, &str)) {
    let own = value.pointer("/metadata/annotations").and_then(|annotations| annotations.get(CHECKSUM_FROM_ANNOTATION));
    if let Some(text) = own.and_then(Value::as_str).filter(|text| !text.is_empty()) {
        found(&format!("{pointer}/metadata/annotations"), text);
    }
    let mut visit = |key: &str, value: &Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        find_checksum_annotations(value, pointer, found);
        pointer.truncate(length);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| visit(key, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| visit(&index.to_string(), item)),
        _ => {}
    }
}

fn content_of(kind: &str, object: &Value) -> Result<Content, String> {
    if kind == "Secret" {
        return secret_content(object);
    }
    let texts = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let mut content: Content =
        texts.map(|(key, text)| (key.clone(), text.as_str().unwrap_or_default().as_bytes().to_vec())).collect();
    content.extend(decoded("ConfigMap", object, "binaryData")?);
    Ok(content)
}

/// Returns the decoded data of a Secret; `stringData` takes precedence over `data`.
fn secret_content(object: &Value) -> Result<Content, String> {
    let mut content = decoded("Secret", object, "data")?;
    let texts = object.get("stringData").and_then(Value::as_object).into_iter().flatten();
    content.extend(texts.map(|(key, text)| (key.clone(), text.as_str().unwrap_or_default().as_bytes().to_vec())));
    Ok(content)
}

fn decoded(kind: &str, object: &Value, member: &str) -> Result<Content, String> {
    let values = object.get(member).and_then(Value::as_object).into_iter().flatten();
    let decode = |(key, value): (&String, &Value)| {
        let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).map_err(|error| {
            let (namespace, name) = (fields::text(object, "/metadata/namespace"), fields::name(object));
            format!("failed to decode base64 in {kind}/{namespace}/{name} {member}[\"{key}\"]: {error}")
        });
        Ok((key.clone(), bytes?))
    };
    values.map(decode).collect()
}

/// Returns the server and the certificate authority (PEM) of a kubeconfig: those of the current context's cluster, else
/// those of the first cluster.
fn server_and_authority(text: &[u8]) -> Result<(String, String), String> {
    let unreadable = |error: String| format!("failed to parse kubeconfig YAML: {error}");
    let text = std::str::from_utf8(text).map_err(|error| unreadable(error.to_string()))?;
    let kubeconfig: Value = yaml::parse_one(text).map_err(|error| unreadable(error.to_string()))?;
    let clusters = fields::items(&kubeconfig, "/clusters");
    let mut usable = vec![];
    for cluster in clusters {
        let name = fields::text(cluster, "/name");
        let server = fields::text(cluster, "/cluster/server");
        if server.is_empty() {
            return Err(format!("server field is empty in kubeconfig cluster \"{name}\""));
        }
        let authority = fields::text(cluster, "/cluster/certificate-authority-data");
        if authority.is_empty() {
            return Err(format!("certificate-authority-data field is empty in kubeconfig cluster \"{name}\""));
        }
        let pem = STANDARD.decode(authority).ok().and_then(|pem| String::from_utf8(pem).ok());
        let pem = pem.ok_or_else(|| {
            format!("certificate-authority-data of kubeconfig cluster \"{name}\" is not base64 of PEM")
        })?;
        usable.push((name, server.to_owned(), pem));
    }
    let current = fields::text(&kubeconfig, "/current-context");
    let context = fields::items(&kubeconfig, "/contexts").iter().find(|one| fields::text(one, "/name") == current);
    let named = context.map(|context| fields::text(context, "/context/cluster"));
    let at = named.and_then(|named| usable.iter().position(|(name, _, _)| *name == named)).unwrap_or(0);
    match usable.into_iter().nth(at) {
        Some((_, server, pem)) => Ok((server, pem)),
        None => Err("no clusters found in kubeconfig".to_owned()),
    }
}

/// Brings an object into the form in which it is applied: encodes `stringData`, removes the status (except that of a
/// definition), and sets the protocols of ports.
pub(super) fn normalise(object: &mut Value) {
    if is_core(object, "Secret")
        && let Some(texts) = object.as_object_mut().and_then(|fields| fields.remove("stringData"))
    {
        let mut data = object.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        let texts = texts.as_object().cloned().unwrap_or_default();
        data.extend(texts.into_iter().map(|(key, text)| {
            // A value that is not text is left unchanged for the API server to refuse.
            let encoded = text.as_str().map(|text| STANDARD.encode(text));
            (key, encoded.map_or(text, Value::String))
        }));
        object["data"] = Value::Object(data);
    }
    let is_definition = object["kind"] == "CustomResourceDefinition";
    if let Some(fields) = object.as_object_mut().filter(|_| !is_definition) {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Generators of manifests write it as null.
        metadata.remove("creationTimestamp");
    }
    let api_version = fields::text(object, "/apiVersion").to_owned();
    let pod = match (api_version.as_str(), fields::kind(object)) {
        ("v1", "Service") => {
            object.pointer_mut("/spec/ports").into_iter().for_each(name_protocols);
            return;
        }
        ("v1", "Pod") => "/spec",
        ("v1", "ReplicationController") | ("apps/v1", _) | ("batch/v1", "Job") => "/spec/template/spec",
        ("batch/v1", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        _ => return,
    };
    for list in ["containers", "initContainers"] {
        let containers = object.pointer_mut(&format!("{pod}/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            container.get_mut("ports").into_iter().for_each(name_protocols);
        }
    }
}

/// Sets the default protocol of ports. It is part of the key by which the API server identifies a port in a list.
fn name_protocols(ports: &mut Value) {
    for port in ports.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| "TCP".into());
    }
}
