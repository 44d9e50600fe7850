//! A rehearsal: a command goes through as if everything it asks for came true, and nothing is written. What it tells is which
//! rights the command takes.
//!
//! ```text
//! request ── its right is told ── denied? ──► 403
//!    read  ──► the server's answer, with what was written here laid over it
//!    write ──► tried as a dry run, and kept here
//!    watch ──► all that is in it becomes what is waited for: ready, established, gone
//! ```
//! Every request of a cluster passes here (see [`super::retry`]), so a right cannot be forgotten. What every user may do (the
//! discovery of kinds, the version, questions about one's own rights) is no right of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::kinds::FLUX_KINDS;
use crate::api::well_known::REQUESTED_AT_ANNOTATION;
use crate::k8s::fields;
use crate::k8s::label_selector::LabelSelector;
use crate::k8s::rbac::{Permission, RBAC_GROUP};
use crate::kustomize::JsonPatch;

/// How a right was met with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Met {
    /// A request took it.
    Used,
    /// The server itself refused it.
    Refused,
    /// The command asked whether its user has it, and was told so.
    AskedAbout,
}

/// Is told every right that is met with.
pub type PermissionObserver = Arc<dyn Fn(&Permission, Met) + Send + Sync>;

/// What a rehearsal knows: the rights that are withheld, and what was written.
pub struct Rehearsal {
    denied: BTreeSet<Permission>,
    observer: PermissionObserver,
    kept: Mutex<BTreeMap<Key, Kept>>,
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: String,
    resource: String,
    namespace: String,
    name: String,
}

enum Kept {
    Here(Value),
    /// Deleted, but something holds it: it is there until it is watched, as who waits for its end has to watch it. Who only
    /// looks again and again sees it go after so many looks.
    Leaving {
        object: Value,
        looks: u8,
    },
    Gone,
}

/// How often an object that leaves is seen by who does not watch it.
const LOOKS: u8 = 20;

/// A request about objects, as the API server understands its path.
struct Asked {
    permission: Permission,
    group_version: String,
    resource: String,
    subresource: Option<String>,
    namespace: String,
    name: Option<String>,
    labels: Option<String>,
    is_dry: bool,
    is_continued: bool,
}

impl Asked {
    /// `None` for what is not about objects.
    fn of(method: &Method, uri: &Uri) -> Option<Asked> {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let segments: Vec<String> = uri.path().split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, group_version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", (*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, format!("{group}/{version}"), rest),
            _ => return None,
        };
        // A namespace itself is asked for below its own path.
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && !matches!(rest, ["status" | "finalize"]) => {
                (*namespace, rest)
            }
            rest => ("", rest),
        };
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, None, None),
            [resource, name] => (*resource, Some(*name), None),
            [resource, name, subresource, ..] => (*resource, Some(*name), Some(*subresource)),
            [] => return None,
        };
        let query: BTreeMap<String, String> = uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), decode(value)))
            .collect();
        let is_watch = matches!(query.get("watch").map(String::as_str), Some("true" | "1"));
        let verb = match (method.as_str(), name) {
            ("GET", Some(_)) => "get",
            ("GET", None) if is_watch => "watch",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => return None,
        };
        // An authorizer sees the name that a field selector asks for.
        let selected = query.get("fieldSelector").and_then(|fields| fields.strip_prefix("metadata.name="));
        let name = name.map(str::to_owned).or_else(|| selected.map(str::to_owned));
        let permission = Permission {
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            group: group.to_owned(),
            resource: subresource.map_or_else(|| resource.to_owned(), |below| format!("{resource}/{below}")),
            verb: verb.to_owned(),
            name: name.clone(),
        };
        Some(Asked {
            permission,
            group_version,
            resource: resource.to_owned(),
            subresource: subresource.map(str::to_owned),
            namespace: namespace.to_owned(),
            name,
            labels: query.get("labelSelector").cloned(),
            is_dry: query.contains_key("dryRun"),
            is_continued: query.contains_key("continue"),
        })
    }

    fn key(&self, name: &str) -> Key {
        Key {
            group: self.permission.group.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }

    /// The path of an object, whatever was asked of it.
    fn object_path(&self, name: &str) -> String {
        let root = if self.group_version.contains('/') { "apis" } else { "api" };
        let place = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        format!("/{root}/{}{place}/{}/{name}", self.group_version, self.resource)
    }

    /// Whether a list of this covers an object.
    fn lists(&self, key: &Key, object: &Value) -> bool {
        let labels = self.labels.as_deref().and_then(|text| text.parse::<LabelSelector>().ok());
        (&key.group, &key.resource) == (&self.permission.group, &self.resource)
            && (self.namespace.is_empty() || self.namespace == key.namespace)
            && self.name.as_ref().is_none_or(|name| *name == key.name)
            && labels.is_none_or(|labels| labels.matches_object(object))
    }
}

impl Rehearsal {
    pub fn new(denied: BTreeSet<Permission>, observer: PermissionObserver) -> Self {
        Rehearsal { denied, observer, kept: Mutex::default() }
    }

    /// Answers a request without writing anything.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(super) async fn send(&self, client: &Client, request: Request<Body>) -> kube::Result<Response<Body>> {
        let Some(asked) = Asked::of(request.method(), request.uri()) else {
            return Box::pin(client.send(request)).await;
        };
        if asked.permission.group == "authorization.k8s.io" {
            let review = request.into_body().collect_bytes().await?;
            let allowed = self.allows(&serde_json::from_slice(&review).map_err(kube::Error::SerdeError)?);
            return Ok(answer(StatusCode::CREATED, &json!({"status": {"allowed": allowed}})));
        }
        if let Some(refusal) = self.refuses(&asked.permission) {
            return Ok(refusal);
        }
        let verb = asked.permission.verb.as_str();
        let answered = match verb {
            "get" if asked.subresource.is_none() => self.get(client, request, &asked).await,
            "get" => Box::pin(client.send(request)).await,
            "list" => self.list(client, request, &asked).await.map(|listed| listed.0),
            "watch" => self.watch(client, request, &asked).await,
            "delete" => self.delete(client, request, &asked).await,
            _ => self.write(client, request, &asked).await,
        }?;
        if answered.status() == StatusCode::FORBIDDEN {
            (self.observer)(&asked.permission, Met::Refused);
        }
        Ok(answered)
    }

    /// Whether a right that is asked about (a SelfSubjectAccessReview) is not withheld.
    fn allows(&self, review: &Value) -> bool {
        let of = |field: &str| fields::text(review, &format!("/spec/resourceAttributes/{field}")).to_owned();
        let some = |field: &str| Some(of(field)).filter(|text| !text.is_empty());
        let permission = Permission {
            namespace: some("namespace"),
            group: of("group"),
            resource: of("resource"),
            verb: of("verb"),
            name: some("name"),
        };
        (self.observer)(&permission, Met::AskedAbout);
        !self.denied.contains(&permission)
    }

    /// Tells of a right; the refusal where it is withheld.
    fn refuses(&self, permission: &Permission) -> Option<Response<Body>> {
        (self.observer)(permission, Met::Used);
        self.denied.contains(permission).then(|| {
            let Permission { verb, resource, group, .. } = permission;
            status(
                StatusCode::FORBIDDEN,
                "Forbidden",
                &format!("{resource}.{group} is forbidden: cannot {verb} it"),
                None,
            )
        })
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written here about an object: `Some(None)` when it is gone.
    fn look(&self, key: &Key) -> Option<Option<Value>> {
        match self.kept().get_mut(key)? {
            Kept::Here(object) => Some(Some(object.clone())),
            Kept::Leaving { object, looks } if *looks > 0 => {
                *looks -= 1;
                Some(Some(object.clone()))
            }
            Kept::Leaving { .. } | Kept::Gone => Some(None),
        }
    }

    fn keep(&self, key: Key, object: Value) {
        let now = match object.pointer("/metadata/deletionTimestamp") {
            None => Kept::Here(object),
            Some(_) if is_held(&object) => Kept::Leaving { object, looks: LOOKS },
            Some(_) => Kept::Gone,
        };
        self.kept().insert(key, now);
    }

    async fn get(&self, client: &Client, request: Request<Body>, asked: &Asked) -> kube::Result<Response<Body>> {
        let name = asked.name.as_deref().unwrap_or_default();
        match self.look(&asked.key(name)) {
            Some(Some(object)) => Ok(answer(StatusCode::OK, &object)),
            Some(None) => Ok(not_found(asked, name)),
            None => Box::pin(client.send(request)).await,
        }
    }

    /// The server's list with what was written here; with its items when it was read for that.
    async fn list(
        &self,
        client: &Client,
        request: Request<Body>,
        asked: &Asked,
    ) -> kube::Result<(Response<Body>, Option<Vec<Value>>)> {
        let concerns =
            self.kept().keys().any(|key| (&key.group, &key.resource) == (&asked.permission.group, &asked.resource));
        let response = Box::pin(client.send(request)).await?;
        if !concerns {
            return Ok((response, None));
        }
        let (code, text) = (response.status(), response.into_body().collect_bytes().await?);
        let mut list = match code {
            StatusCode::OK => serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?,
            // The definition was made here.
            StatusCode::NOT_FOUND => {
                json!({"apiVersion": asked.group_version, "kind": "List", "metadata": {"resourceVersion": "1"}})
            }
            _ => return Ok((answered(code, text), None)),
        };
        let items = self.over(items(&mut list), asked);
        list["items"] = items.clone().into();
        Ok((answer(StatusCode::OK, &list), Some(items)))
    }

    /// Lays what was written here over the items of a list.
    fn over(&self, items: Vec<Value>, asked: &Asked) -> Vec<Value> {
        let mut over: Vec<Value> = vec![];
        let mut kept = self.kept();
        let mut listed = BTreeSet::new();
        for item in items {
            let key = Key {
                namespace: fields::namespace(&item).unwrap_or_default().to_owned(),
                ..asked.key(fields::name(&item))
            };
            match kept.get_mut(&key) {
                None => over.push(item),
                Some(Kept::Here(object)) => over.push(object.clone()),
                Some(Kept::Leaving { object, looks }) if *looks > 0 => {
                    *looks -= 1;
                    over.push(object.clone());
                }
                Some(Kept::Leaving { .. } | Kept::Gone) => {}
            }
            listed.insert(key);
        }
        if !asked.is_continued {
            let made = kept.iter().filter(|(key, _)| !listed.contains(key)).filter_map(|(key, kept)| match kept {
                Kept::Here(object) if asked.lists(key, object) => Some(object.clone()),
                _ => None,
            });
            over.extend(made);
        }
        over
    }

    /// Everything that is watched becomes what somebody waits for, at once; then nothing more happens.
    async fn watch(&self, client: &Client, request: Request<Body>, asked: &Asked) -> kube::Result<Response<Body>> {
        let query = request.uri().query().unwrap_or_default().split('&');
        let selectors: Vec<&str> =
            query.filter(|pair| pair.starts_with("labelSelector=") || pair.starts_with("fieldSelector=")).collect();
        let path = format!("{}?{}", request.uri().path(), selectors.join("&"));
        let response = Box::pin(client.send(get(&path)?)).await?;
        let (code, text) = (response.status(), response.into_body().collect_bytes().await?);
        let mut list = match code {
            StatusCode::OK => serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?,
            StatusCode::NOT_FOUND => Value::Null,
            _ => return Ok(answered(code, text)),
        };
        let events = self.fulfilled(&mut list, asked);
        // Only a client of kube's makes kube's bodies of what never ends.
        let service = tower::service_fn(move |_: Request<Body>| {
            let events = Bytes::from(events.clone());
            let told = futures::stream::once(async { Ok::<_, std::io::Error>(Frame::data(events)) });
            let body = StreamBody::new(told.chain(futures::stream::pending()));
            async move { Ok::<_, std::convert::Infallible>(Response::new(body)) }
        });
        Client::new(service, "default").send(get(&path)?).await.map(with_type)
    }

    /// The events of a watch in which everything became well, and what was deleted is gone.
    fn fulfilled(&self, list: &mut Value, asked: &Asked) -> String {
        let kind = fields::kind(list).trim_end_matches("List").to_owned();
        let mut events = String::new();
        let mut tell = |kind: &str, object: &Value| {
            events.push_str(&json!({"type": kind, "object": object}).to_string());
            events.push('\n');
        };
        let items = items(list);
        let mut kept = self.kept();
        for (key, kept) in kept.iter_mut() {
            if let Kept::Leaving { object, .. } = kept
                && asked.lists(key, object)
            {
                tell("DELETED", object);
                *kept = Kept::Gone;
            }
        }
        let there: Vec<(Key, Value)> = items
            .into_iter()
            .map(|mut item| {
                if item.get("kind").is_none() {
                    item["apiVersion"] = asked.group_version.as_str().into();
                    item["kind"] = kind.as_str().into();
                }
                let namespace = fields::namespace(&item).unwrap_or_default().to_owned();
                (Key { namespace, ..asked.key(fields::name(&item)) }, item)
            })
            .filter(|(key, _)| !kept.contains_key(key))
            .collect();
        let made: Vec<(Key, Value)> = kept
            .iter()
            .filter_map(|(key, kept)| match kept {
                Kept::Here(object) if asked.lists(key, object) => Some((key.clone(), object.clone())),
                _ => None,
            })
            .collect();
        for (key, object) in there.into_iter().chain(made) {
            if fields::is_being_deleted(&object) {
                tell("DELETED", &object);
                kept.insert(key, Kept::Gone);
                continue;
            }
            let well = well(object.clone());
            if well != object {
                tell("MODIFIED", &well);
                kept.insert(key, Kept::Here(well));
            }
        }
        events
    }

    async fn delete(&self, client: &Client, request: Request<Body>, asked: &Asked) -> kube::Result<Response<Body>> {
        let name = asked.name.as_deref().unwrap_or_default();
        let key = asked.key(name);
        let known = match self.kept().get(&key) {
            None => None,
            Some(Kept::Here(object) | Kept::Leaving { object, .. }) => Some(Some(object.clone())),
            Some(Kept::Gone) => Some(None),
        };
        let (parts, body) = request.into_parts();
        let text = body.collect_bytes().await?;
        let mut options: Value =
            serde_json::from_slice(&text).unwrap_or_else(|_| json!({"apiVersion": "v1", "kind": "DeleteOptions"}));
        let in_foreground = options["propagationPolicy"] == "Foreground";
        let wants_version = options.pointer("/preconditions/resourceVersion").is_some();
        let (object, response) = match known {
            Some(None) => return Ok(not_found(asked, name)),
            Some(Some(object)) => {
                (object, answer(StatusCode::OK, &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})))
            }
            None => {
                let live = self.live(client, asked, name).await?;
                if let Some(mut moved) = live.clone().filter(|_| wants_version && asked.resource == "resourcequotas") {
                    // Whoever takes pods away changes what is counted: the quota that was read is not the one that is deleted.
                    let message = format!("Operation cannot be fulfilled on {} \"{name}\"", asked.resource);
                    moved = stored(moved, name);
                    self.keep(key, moved);
                    return Ok(status(StatusCode::CONFLICT, "Conflict", &message, None));
                }
                options["dryRun"] = json!(["All"]);
                let mut request = Request::from_parts(parts, Body::from(options.to_string().into_bytes()));
                request
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
                let response = Box::pin(client.send(request)).await?;
                match live {
                    Some(object) if response.status().is_success() => (object, response),
                    _ => return Ok(response),
                }
            }
        };
        if !asked.is_dry {
            let mut object = object;
            object["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z".into();
            if in_foreground && let Some(metadata) = object["metadata"].as_object_mut() {
                // https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion
                let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
                finalizers.as_array_mut().into_iter().for_each(|all| all.push("foregroundDeletion".into()));
            }
            self.keep(key, object);
        }
        Ok(response)
    }

    async fn write(&self, client: &Client, request: Request<Body>, asked: &Asked) -> kube::Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        let text = body.collect_bytes().await?;
        let sent: Value = serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?;
        let name = asked.name.clone().unwrap_or_else(|| match fields::name(&sent) {
            "" => format!("{}rehearsed", fields::text(&sent, "/metadata/generateName")),
            name => name.to_owned(),
        });
        let key = asked.key(&name);
        let kind =
            parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let is_apply = kind.starts_with("application/apply-patch");
        let known = match self.kept().get(&key) {
            None => None,
            Some(Kept::Here(object) | Kept::Leaving { object, .. }) => Some(Some(object.clone())),
            Some(Kept::Gone) => Some(None),
        };
        let before = match &known {
            Some(known) => known.clone(),
            None => self.live(client, asked, &name).await?,
        };
        if before.is_none() && is_apply {
            // What an apply makes is created (https://kubernetes.io/docs/reference/using-api/server-side-apply/).
            if let Some(refusal) = self.refuses(&Permission { verb: "create".into(), ..asked.permission.clone() }) {
                return Ok(refusal);
            }
        }
        let is_new = before.is_none() && (is_apply || parts.method == Method::POST);
        let after = match (known.flatten(), before.as_ref()) {
            (Some(_), Some(_)) if parts.method == Method::POST => {
                return Ok(status(
                    StatusCode::CONFLICT,
                    "AlreadyExists",
                    &format!("{} \"{name}\" already exists", asked.resource),
                    None,
                ));
            }
            (Some(before), _) => match patched(&kind, &parts.method, before, &sent) {
                Some(after) => after,
                None => {
                    return Ok(status(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", "the patch does not apply", None));
                }
            },
            (None, _) => {
                if !asked.is_dry {
                    let separator = if parts.uri.query().is_some() { '&' } else { '?' };
                    parts.uri = format!("{}{separator}dryRun=All", parts.uri)
                        .parse()
                        .map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
                }
                let response = Box::pin(client.send(Request::from_parts(parts.clone(), Body::from(text)))).await?;
                let (code, text) = (response.status(), response.into_body().collect_bytes().await?);
                match code {
                    _ if code.is_success() => serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?,
                    // Its namespace or its definition was made here.
                    StatusCode::NOT_FOUND if is_new => sent.clone(),
                    _ => return Ok(answered(code, text)),
                }
            }
        };
        // What a dry run makes has no resource version: that is how it is told from what is there.
        let after = if asked.is_dry { after } else { stored(after, &name) };
        if let Some(right) = right_over_others(asked, &name, before.as_ref(), &after)
            && let Some(refusal) = self.refuses(&right)
        {
            return Ok(refusal);
        }
        if !asked.is_dry {
            self.keep(key, after.clone());
        }
        Ok(answer(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &after))
    }

    /// An object as it is in the cluster; asking is no part of the command.
    async fn live(&self, client: &Client, asked: &Asked, name: &str) -> kube::Result<Option<Value>> {
        let response = Box::pin(client.send(get(&asked.object_path(name))?)).await?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let text = response.into_body().collect_bytes().await?;
        serde_json::from_slice(&text).map(Some).map_err(kube::Error::SerdeError)
    }
}

/// Whether an object that is deleted stays until somebody has cleaned up: a finalizer holds it, and the API server itself holds
/// definitions until their objects are gone and namespaces until they are empty.
fn is_held(object: &Value) -> bool {
    !fields::items(object, "/metadata/finalizers").is_empty()
        || matches!(fields::kind(object), "CustomResourceDefinition" | "Namespace")
}

/// Who writes a role has to have its rights or `escalate`, who binds one has to have its rights or `bind`, whatever changes of
/// it: the API server looks away only where nothing does, or what garbage collection works with
/// (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>).
fn right_over_others(asked: &Asked, name: &str, before: Option<&Value>, after: &Value) -> Option<Permission> {
    if asked.permission.group != RBAC_GROUP || before.is_some_and(|before| without_ends(before) == without_ends(after))
    {
        return None;
    }
    match asked.resource.as_str() {
        "clusterroles" | "roles" if !fields::items(after, "/rules").is_empty() => Some(Permission {
            verb: "escalate".into(),
            name: Some(name.to_owned()),
            resource: asked.resource.clone(),
            ..asked.permission.clone()
        }),
        "clusterrolebindings" | "rolebindings" => Some(Permission {
            verb: "bind".into(),
            resource: if fields::text(after, "/roleRef/kind") == "Role" {
                "roles".into()
            } else {
                "clusterroles".into()
            },
            name: fields::some_text(after, "/roleRef/name").map(str::to_owned),
            ..asked.permission.clone()
        }),
        _ => None,
    }
}

/// An object without what garbage collection and the storage write on it.
fn without_ends(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["ownerReferences", "finalizers", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

/// What a write makes of an object that is known here only.
fn patched(kind: &str, method: &Method, before: Value, sent: &Value) -> Option<Value> {
    if *method == Method::PUT {
        return Some(sent.clone());
    }
    let mut after = before;
    if kind.starts_with("application/json-patch") {
        JsonPatch::from_operations(sent.as_array()?).ok()?.apply(&mut after).ok()?;
    } else {
        merge(&mut after, sent);
    }
    Some(after)
}

/// RFC 7386.
fn merge(into: &mut Value, patch: &Value) {
    let (Value::Object(into), Value::Object(patch)) = (&mut *into, patch) else {
        *into = patch.clone();
        return;
    };
    for (key, value) in patch {
        match value {
            Value::Null => drop(into.remove(key)),
            value => merge(into.entry(key.clone()).or_insert(Value::Null), value),
        }
    }
}

/// What the API server gives every object.
fn stored(mut object: Value, name: &str) -> Value {
    let version = fields::text(&object, "/metadata/resourceVersion").parse::<u64>().unwrap_or_default() + 1;
    object["metadata"]["resourceVersion"] = version.to_string().into();
    for (field, value) in [
        ("name", json!(name)),
        ("uid", json!("00000000-0000-0000-0000-000000000000")),
        ("generation", json!(1)),
        ("creationTimestamp", json!("2000-01-01T00:00:00Z")),
    ] {
        if object["metadata"].get(field).is_none_or(Value::is_null) {
            object["metadata"][field] = value;
        }
    }
    object
}

/// An object about which everything went well.
fn well(mut object: Value) -> Value {
    let generation = object.pointer("/metadata/generation").cloned().unwrap_or(json!(1));
    let condition = |kind: &str, reason: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "rehearsed", "observedGeneration": generation,
            "lastTransitionTime": "2000-01-01T00:00:00Z"})
    };
    let (group, kind) = (fields::group(&object).to_owned(), fields::kind(&object).to_owned());
    match (group.as_str(), kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            object["status"]["conditions"] =
                json!([condition("NamesAccepted", "NoConflicts"), condition("Established", "InitialNamesAccepted")]);
        }
        ("", "Namespace") => object["status"]["phase"] = "Active".into(),
        ("", "PersistentVolumeClaim") => object["status"]["phase"] = "Bound".into(),
        ("apps", "Deployment") => {
            let replicas = object.pointer("/spec/replicas").cloned().unwrap_or(json!(1));
            for count in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
                object["status"][count] = replicas.clone();
            }
            object["status"]["observedGeneration"] = generation.clone();
            object["status"]["conditions"] = json!([
                condition("Available", "MinimumReplicasAvailable"),
                condition("Progressing", "NewReplicaSetAvailable")
            ]);
        }
        (group, _) if FLUX_KINDS.iter().any(|known| known.group == group) => {
            let annotation = |key: &str| fields::annotation(&object, key).map(str::to_owned);
            let handled: Vec<(&str, String)> = [
                ("lastHandledReconcileAt", REQUESTED_AT_ANNOTATION),
                ("lastHandledForceAt", "reconcile.fluxcd.io/forceAt"),
                ("lastHandledResetAt", "reconcile.fluxcd.io/resetAt"),
            ]
            .into_iter()
            .filter_map(|(field, key)| Some((field, annotation(key)?)))
            .collect();
            for (field, value) in handled {
                object["status"][field] = value.into();
            }
            object["status"]["observedGeneration"] = generation.clone();
            object["status"]["conditions"] = json!([condition("Ready", "ReconciliationSucceeded")]);
        }
        _ => {}
    }
    object
}

fn items(list: &mut Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![],
    }
}

fn get(path: &str) -> kube::Result<Request<Body>> {
    Request::get(path).body(Body::empty()).map_err(kube::Error::HttpError)
}

fn answer(code: StatusCode, body: &Value) -> Response<Body> {
    answered(code, Bytes::from(body.to_string()))
}

fn answered(code: StatusCode, text: Bytes) -> Response<Body> {
    let mut response = with_type(Response::new(Body::from(text.to_vec())));
    *response.status_mut() = code;
    response
}

fn with_type(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn status(code: StatusCode, reason: &str, message: &str, details: Option<Value>) -> Response<Body> {
    let mut body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code.as_u16()});
    body["details"] = details.unwrap_or_else(|| json!({}));
    answer(code, &body)
}

fn not_found(asked: &Asked, name: &str) -> Response<Body> {
    let message = format!("{} \"{name}\" not found", asked.resource);
    let details = json!({"name": name, "group": asked.permission.group, "kind": asked.resource});
    status(StatusCode::NOT_FOUND, "NotFound", &message, Some(details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::{CONFIG_MAP, DEPLOYMENT};
    use crate::k8s::ObjectId;
    use crate::watch::{Change, Follower};
    use crate::{Cluster, DeleteOptions, Endpoint, ListOptions};

    fn right(method: &str, uri: &str) -> Option<String> {
        let asked = Asked::of(&method.parse().unwrap(), &uri.parse().unwrap())?;
        Some(asked.permission.to_string())
    }

    #[test]
    fn a_path_is_the_right_that_an_authorizer_is_asked_about() {
        for (method, uri, expected) in [
            ("GET", "/version", None),
            ("GET", "/apis", None),
            ("GET", "/apis/apps/v1", None),
            ("GET", "/api/v1/pods?limit=500", Some("list pods")),
            ("GET", "/api/v1/namespaces/a", Some("get namespaces/a")),
            ("PATCH", "/api/v1/namespaces/a?fieldManager=x", Some("patch namespaces/a")),
            ("GET", "/api/v1/namespaces/a/pods/p/log?container=c", Some("get pods/log/p in namespace a")),
            (
                "GET",
                "/apis/apps/v1/namespaces/a/deployments?watch=true&resourceVersion=1",
                Some("watch deployments.apps in namespace a"),
            ),
            (
                "GET",
                "/apis/apps/v1/namespaces/a/deployments?fieldSelector=metadata.name%3Dd",
                Some("list deployments.apps/d in namespace a"),
            ),
            ("PATCH", "/apis/x.io/v1/namespaces/a/things/t/status", Some("patch things/status.x.io/t in namespace a")),
            ("POST", "/api/v1/namespaces/a/events", Some("create events in namespace a")),
            ("DELETE", "/apis/x.io/v1/things/t", Some("delete things.x.io/t")),
        ] {
            assert_eq!(right(method, uri).as_deref(), expected, "{method} {uri}");
        }
    }

    /// A rehearsal before a server that has one ConfigMap and notes what else than a dry run would have been written.
    struct Stage {
        cluster: Cluster,
        asked: Arc<Mutex<Vec<String>>>,
        written: Arc<Mutex<Vec<String>>>,
    }

    fn stage(denied: &[Permission]) -> Stage {
        let (asked, written) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (noting, writing) = (asked.clone(), written.clone());
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "a", "resourceVersion": "7", "uid": "u", "finalizers": ["x.io/held"]}});
        let service = tower::service_fn(move |request: Request<Body>| {
            let (object, writing) = (object.clone(), writing.clone());
            async move {
                let (parts, body) = request.into_parts();
                let text = String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap();
                if parts.method != Method::GET
                    && !parts.uri.to_string().contains("dryRun=All")
                    && !text.contains("\"dryRun\":[\"All\"]")
                {
                    writing.lock().unwrap().push(format!("{} {}", parts.method, parts.uri));
                }
                let asked = Asked::of(&parts.method, &parts.uri).unwrap();
                let found = asked.name.as_deref() == Some("c") && asked.resource == "configmaps";
                Ok::<_, std::convert::Infallible>(match asked.permission.verb.as_str() {
                    "list" => answer(
                        StatusCode::OK,
                        &json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": if asked.resource == "configmaps" { json!([object]) } else { json!([]) }}),
                    ),
                    "patch" => answer(StatusCode::OK, &serde_json::from_str(&text).unwrap()),
                    _ if found => answer(StatusCode::OK, &object),
                    _ => not_found(&asked, asked.name.as_deref().unwrap_or_default()),
                })
            }
        });
        let observer: PermissionObserver =
            Arc::new(move |permission, _| noting.lock().unwrap().push(permission.to_string()));
        let rehearsal = Arc::new(Rehearsal::new(denied.iter().cloned().collect(), observer));
        let cluster = Cluster::of_client(Client::new(service, "a"), Endpoint::default()).rehearsed(rehearsal);
        Stage { cluster, asked, written }
    }

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "a"}, "spec": {"replicas": 2}})
    }

    #[tokio::test]
    async fn what_is_written_is_seen_afterwards_and_becomes_ready_when_it_is_watched() {
        let stage = stage(&[]);
        stage.cluster.apply(&deployment(), "test").await.unwrap();
        let id = ObjectId::of(&deployment());
        let seen = stage.cluster.read(&id).await.unwrap().unwrap();
        assert_eq!((&seen["spec"]["replicas"], seen.get("status")), (&json!(2), None));
        let mut watched = Follower::new(&stage.cluster, DEPLOYMENT, Some("a"), ListOptions::named("d"), None);
        assert!(matches!(watched.next().await.unwrap(), Change::All(all) if all.len() == 1));
        let Change::Set(ready) = watched.next().await.unwrap() else { panic!("a change") };
        assert_eq!(ready["status"]["readyReplicas"], 2);
        assert!(stage.written.lock().unwrap().is_empty(), "{:?}", stage.written);
        assert_eq!(
            *stage.asked.lock().unwrap(),
            [
                "patch deployments.apps/d in namespace a",
                "create deployments.apps/d in namespace a",
                "get deployments.apps/d in namespace a",
                "list deployments.apps/d in namespace a",
                "watch deployments.apps/d in namespace a",
            ]
        );
    }

    #[tokio::test]
    async fn what_is_deleted_is_seen_leaving_and_then_gone() {
        let stage = stage(&[]);
        let id = ObjectId::of(
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a"}}),
        );
        assert!(stage.cluster.delete(&id, &DeleteOptions::default()).await.unwrap());
        let mut watched = Follower::new(&stage.cluster, CONFIG_MAP, Some("a"), ListOptions::named("c"), None);
        let Change::All(all) = watched.next().await.unwrap() else { panic!("a list") };
        assert!(all[0]["metadata"]["deletionTimestamp"].is_string());
        assert!(matches!(watched.next().await.unwrap(), Change::Gone(_)));
        assert_eq!(stage.cluster.read(&id).await.unwrap(), None);
        assert!(stage.written.lock().unwrap().is_empty(), "{:?}", stage.written);
    }

    #[tokio::test]
    async fn a_right_that_is_withheld_is_refused() {
        let asked = Asked::of(&Method::GET, &"/api/v1/namespaces/a/configmaps/c".parse().unwrap()).unwrap();
        let stage = stage(&[asked.permission]);
        let error = stage.cluster.get(&CONFIG_MAP, Some("a"), "c").await.unwrap_err();
        assert!(matches!(error.reason, crate::Reason::Forbidden { .. }), "{:?}", error.reason);
    }

    #[test]
    fn who_makes_roles_and_bindings_needs_rights_over_them() {
        let asked = |path: &str| Asked::of(&Method::PATCH, &path.parse().unwrap()).unwrap();
        let role = asked("/apis/rbac.authorization.k8s.io/v1/clusterroles/r");
        let rules = json!({"metadata": {"name": "r", "resourceVersion": "1"}, "rules": [{"verbs": ["get"]}]});
        let mut labelled = rules.clone();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let mut again = rules.clone();
        again["metadata"]["resourceVersion"] = "2".into();
        let right = |asked: &Asked, name: &str, before: Option<&Value>, sent: &Value| {
            right_over_others(asked, name, before, sent).map(|right| right.to_string())
        };
        assert_eq!(
            right(&role, "r", None, &rules).as_deref(),
            Some("escalate clusterroles.rbac.authorization.k8s.io/r")
        );
        assert_eq!(right(&role, "r", Some(&rules), &again), None, "nothing changes");
        assert!(right(&role, "r", Some(&rules), &labelled).is_some(), "a label is a change as well");
        let binding = asked("/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/b");
        let bound = json!({"roleRef": {"kind": "ClusterRole", "name": "admin"}});
        assert_eq!(
            right(&binding, "b", None, &bound).as_deref(),
            Some("bind clusterroles.rbac.authorization.k8s.io/admin in namespace a")
        );
    }
}
