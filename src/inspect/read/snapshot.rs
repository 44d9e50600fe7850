//! The known state of a cluster, and the needs of a view that are not known yet.
//!
//! ```text
//! view(snapshot) ── asks ──► snapshot ── not loaded ──► needs ──► loader (cluster) ──► snapshot ──► view again
//!                                └── a dump is complete: it never has needs
//! ```
//! So a view is the same pure function for a cluster and for a dump, and only what the view asks for is read from the
//! cluster.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::field_managers::Author;
use crate::api::kinds::{self, CRD, EVENT, FLUX_KINDS, FluxKind, SECRET};
use crate::api::well_known::{ENTITLEMENT_SECRET, ENTITLEMENT_VENDOR};
use crate::k8s::ObjectId;
use crate::k8s::ResourceType;
use crate::k8s::fields;
use crate::k8s::label_selector::LabelSelector;

/// Something that a view needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Need {
    /// Every object of a kind, in one namespace or all (`None`).
    List {
        resource: ResourceType,
        namespace: Option<String>,
        selector: Option<String>,
    },
    Get {
        resource: ResourceType,
        namespace: Option<String>,
        name: String,
    },
    /// Plural and scope of a kind that is not in the tables.
    Kind {
        group: String,
        version: String,
        kind: String,
    },
    /// The last lines of a container's log; `previous` for the run before the last restart.
    Logs {
        namespace: String,
        pod: String,
        container: String,
        previous: bool,
    },
    /// The API server's version.
    ServerVersion,
    /// Whether the API server allows the user to do something.
    Access {
        verb: String,
        group: String,
        resource: String,
        namespace: Option<String>,
    },
}

/// The answer to a [`Need`].
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The objects; the list may be empty.
    Objects(Vec<Value>),
    Kind(ResourceType),
    Log(Vec<String>),
    Version(Value),
    Access(bool),
    /// The API server does not serve the kind.
    NotInstalled,
    /// The user may not read it.
    Denied(String),
    /// It could not be read for another reason, such as the log of a pod that never ran.
    Unavailable(String),
}

/// More objects of a kind than this are read as a list, fewer one by one.
pub(in crate::inspect) const WORTH_A_LIST: usize = 8;

/// A manifest whose version is not the newest of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutdatedManifest {
    /// The file or other source of the text.
    pub origin: String,
    /// Line of its `apiVersion`, from 1; `None` if unknown.
    pub line: Option<u64>,
    pub object: ObjectId,
    pub version: String,
}

/// Objects by group, kind, namespace and name, with logs and the server's version.
#[derive(Debug, Default)]
pub struct Snapshot {
    objects: BTreeMap<ObjectId, Value>,
    kinds: BTreeMap<(String, String), ResourceType>,
    logs: BTreeMap<(String, String, String, bool), Vec<String>>,
    version: Option<Value>,
    access: BTreeMap<Need, bool>,
    /// Whether this is a dump, so that nothing can be loaded.
    complete: bool,
    /// Kinds that a complete snapshot contains completely: it has at least one object or an empty list of them.
    listed: BTreeSet<(String, String)>,
    outdated: Vec<OutdatedManifest>,
    /// Whether objects are kept untrimmed.
    is_whole: bool,
    done: BTreeMap<Need, NeedOutcome>,
    /// Kinds that were listed without a selector, with any result, and the namespaces; `None` means all.
    asked: BTreeMap<ResourceType, BTreeSet<Option<String>>>,
    /// Kinds with a refused request, by group and kind.
    refused: BTreeSet<(String, String)>,
    // A view borrows the snapshot while it records its needs.
    missing: RefCell<BTreeSet<Need>>,
    parts: Cell<Parts>,
}

/// Large parts that few views need; they are read only on request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    /// Schemas in the versions of definitions.
    pub(super) schemas: bool,
    /// The managed fields that [`trim`] keeps.
    pub(super) managers: bool,
}

impl Parts {
    pub(crate) const ALL: Parts = Parts { schemas: true, managers: true };
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NeedOutcome {
    Loaded,
    NotInstalled,
    Denied(String),
    Unavailable(String),
}

impl Snapshot {
    /// Creates an empty snapshot that collects needs.
    pub fn of_cluster() -> Self {
        Snapshot::default()
    }

    /// Creates a complete snapshot.
    pub fn of_dump(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut snapshot = Snapshot { complete: true, ..Snapshot::default() };
        for object in objects {
            snapshot.insert(object);
        }
        snapshot
    }

    /// Creates a complete snapshot with untrimmed objects, including the values of Secrets.
    pub(super) fn of_whole_dump() -> Self {
        Snapshot { complete: true, is_whole: true, ..Snapshot::default() }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub fn is_dump(&self) -> bool {
        self.complete
    }

    /// Adds or replaces one object.
    pub fn insert(&mut self, object: Value) {
        let reference = ObjectId::of(&object);
        let kind = (reference.group.clone(), reference.kind.clone());
        self.listed.insert(kind);
        self.objects.insert(reference, object);
    }

    pub(super) fn insert_outdated(&mut self, manifest: OutdatedManifest) {
        self.outdated.push(manifest);
    }

    /// Returns the Flux objects of a dump with an older version, in reading order.
    pub(crate) fn outdated(&self) -> &[OutdatedManifest] {
        &self.outdated
    }

    /// Records an empty list of a kind.
    pub(crate) fn insert_empty_list(&mut self, group: &str, kind: &str) {
        self.listed.insert((group.into(), kind.into()));
    }

    pub(crate) fn insert_log(
        &mut self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
        lines: Vec<String>,
    ) {
        self.logs.insert((namespace.into(), pod.into(), container.into(), previous), lines);
    }

    pub(crate) fn insert_version(&mut self, version: Value) {
        self.version = Some(version);
    }

    /// Stores the answer to a need.
    pub(crate) fn answer(&mut self, need: Need, answer: Answer) {
        let outcome = match (&need, answer) {
            (_, Answer::Objects(objects)) => {
                for object in objects {
                    self.insert(object);
                }
                NeedOutcome::Loaded
            }
            (Need::Kind { group, kind, .. }, Answer::Kind(resource)) => {
                self.kinds.insert((group.clone(), kind.clone()), resource);
                NeedOutcome::Loaded
            }
            (Need::Logs { namespace, pod, container, previous }, Answer::Log(lines)) => {
                self.insert_log(namespace, pod, container, *previous, lines);
                NeedOutcome::Loaded
            }
            (_, Answer::Version(version)) => {
                self.version = Some(version);
                NeedOutcome::Loaded
            }
            (_, Answer::Access(allowed)) => {
                self.access.insert(need.clone(), allowed);
                NeedOutcome::Loaded
            }
            (_, Answer::NotInstalled) => NeedOutcome::NotInstalled,
            (_, Answer::Denied(message)) => NeedOutcome::Denied(message),
            (_, Answer::Unavailable(message)) => NeedOutcome::Unavailable(message),
            (_, Answer::Kind(_) | Answer::Log(_)) => {
                NeedOutcome::Unavailable("the answer does not match the request".into())
            }
        };
        if let Need::List { resource, namespace, selector: None } = &need {
            self.asked.entry(resource.clone()).or_default().insert(namespace.clone());
        }
        if let (Need::List { resource, .. } | Need::Get { resource, .. }, NeedOutcome::Denied(_)) = (&need, &outcome) {
            self.refused.insert((resource.group.to_string(), resource.kind.to_string()));
        }
        self.done.insert(need, outcome);
    }

    /// Returns the needs that are not known yet; empty when the last view is final. An object whose kind will be listed
    /// anyway is not read by name.
    pub(crate) fn take_needs(&self) -> Vec<Need> {
        let mut needs = std::mem::take(&mut *self.missing.borrow_mut());
        let listed: BTreeSet<(ResourceType, Option<String>)> = needs
            .iter()
            .filter_map(|need| match need {
                Need::List { resource, namespace, selector: None } => Some((resource.clone(), namespace.clone())),
                _ => None,
            })
            .collect();
        needs.retain(|need| match need {
            Need::Get { resource, namespace, .. } => {
                !listed.contains(&(resource.clone(), None)) && !listed.contains(&(resource.clone(), namespace.clone()))
            }
            Need::List { resource, namespace: Some(_), selector: None } => !listed.contains(&(resource.clone(), None)),
            _ => true,
        });
        needs.into_iter().collect()
    }

    /// Requests one list of a namespace (or of all) for each kind of which many objects are missing there. Events are
    /// not listed for all namespaces, because there are too many, and Secrets are only requested by name.
    pub fn list_instead_of_many(&self, namespace: Option<&str>) {
        let mut counts: BTreeMap<ResourceType, usize> = BTreeMap::new();
        for need in &*self.missing.borrow() {
            let (Need::Get { resource, namespace: of_need, .. }
            | Need::List { resource, namespace: of_need, selector: None }) = need
            else {
                continue;
            };
            let is_inside = namespace.is_none() || of_need.as_deref() == namespace;
            if is_inside && *resource != EVENT && *resource != SECRET {
                *counts.entry(resource.clone()).or_default() += 1;
            }
        }
        for (resource, _) in counts.into_iter().filter(|(_, count)| *count > WORTH_A_LIST) {
            let namespace = namespace.filter(|_| resource.namespaced).map(Into::into);
            self.need(Need::List { resource, namespace, selector: None });
        }
    }

    /// Returns the number of objects.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are unknown needs.
    pub fn is_loading(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Returns the first refusal, for views that cannot work without the object.
    pub(crate) fn denied(&self) -> Option<(&Need, &str)> {
        self.done.iter().find_map(|(need, outcome)| match outcome {
            NeedOutcome::Denied(message) => Some((need, message.as_str())),
            _ => None,
        })
    }

    /// Whether the API server does not serve the kind. Unknown for a dump.
    pub fn is_not_installed(&self, resource: &ResourceType) -> bool {
        self.done.iter().any(|(need, outcome)| {
            *outcome == NeedOutcome::NotInstalled
                && match need {
                    Need::List { resource: asked, .. } | Need::Get { resource: asked, .. } => {
                        asked.group == resource.group && asked.kind == resource.kind
                    }
                    _ => false,
                }
        })
    }

    fn need(&self, need: Need) {
        if !self.complete && !self.done.contains_key(&need) {
            self.missing.borrow_mut().insert(need);
        }
    }

    /// Whether all objects of a kind in a namespace (or all) are known.
    pub fn is_listed(&self, resource: &ResourceType, namespace: Option<&str>) -> bool {
        self.complete || self.list_is_done(resource, namespace)
    }

    /// Requests the schemas in definitions, which are omitted by default because they are most of a long text. A view
    /// that reads them must request them in the first round.
    pub(crate) fn want_schemas(&self) {
        self.parts.set(Parts { schemas: true, ..self.parts.get() });
    }

    /// Requests the managed fields of objects, which are omitted by default because they are a third of most objects. A
    /// view that reads them must request them in the first round.
    pub(crate) fn want_managers(&self) {
        self.parts.set(Parts { managers: true, ..self.parts.get() });
    }

    pub(super) fn wanted_parts(&self) -> Parts {
        self.parts.get()
    }

    fn list_is_done(&self, resource: &ResourceType, namespace: Option<&str>) -> bool {
        let Some(namespaces) = self.asked.get(resource) else { return false };
        namespaces.contains(&None) || namespace.is_some_and(|namespace| namespaces.contains(&Some(namespace.into())))
    }

    /// Whether the absence of an object of this kind is meaningful: the cluster was asked, or the dump has the kind.
    pub fn knows(&self, resource: &ResourceType) -> bool {
        let kind = || (resource.group.to_string(), resource.kind.to_string());
        if self.complete { self.listed.contains(&kind()) } else { !self.is_refused(resource) }
    }

    fn is_refused(&self, resource: &ResourceType) -> bool {
        !self.refused.is_empty() && self.refused.contains(&(resource.group.to_string(), resource.kind.to_string()))
    }

    /// Returns the Flux kinds with a definition: none before the definitions are read, all if they cannot be read.
    pub(crate) fn defined_kinds(&self) -> Vec<&'static FluxKind> {
        let definitions: BTreeSet<&str> = self.list(&CRD, None).into_iter().map(fields::name).collect();
        let is_defined = |kind: &&FluxKind| {
            self.complete
                || !self.knows(&CRD)
                // The API server accepts no other name for a definition.
                || definitions.contains(format!("{}.{}", kind.plural, kind.group).as_str())
        };
        FLUX_KINDS.iter().filter(is_defined).collect()
    }

    /// Returns an object, and records a need if it may exist and was not loaded.
    pub fn get(&self, resource: &ResourceType, namespace: Option<&str>, name: &str) -> Option<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        let reference = ObjectId::new(&resource.group, &resource.kind, namespace, name);
        let found = self.objects.get(&reference);
        // A user who may not list a kind may still read a single object.
        if found.is_none() && (self.is_refused(resource) || !self.list_is_done(resource, namespace)) {
            self.need(Need::Get {
                resource: resource.clone(),
                namespace: namespace.map(Into::into),
                name: name.into(),
            });
        }
        found
    }

    /// Returns an object by reference, after looking up its resource type.
    pub fn get_ref(&self, reference: &ObjectId) -> Option<&Value> {
        if let Some(found) = self.objects.get(reference) {
            return Some(found);
        }
        let version = if reference.version.is_empty() { "v1" } else { &reference.version };
        let resource = self.resource_type(&reference.group, version, &reference.kind)?;
        self.get(&resource, reference.namespace(), &reference.name)
    }

    /// Returns the resource type of a kind from the tables, or else from discovery.
    pub fn resource_type(&self, group: &str, version: &str, kind: &str) -> Option<ResourceType> {
        let known = crate::api::kinds::resource_type_of(group, kind)
            .or_else(|| self.kinds.get(&(group.to_owned(), kind.to_owned())).cloned());
        if known.is_none() {
            self.need(Need::Kind { group: group.into(), version: version.into(), kind: kind.into() });
        }
        known
    }

    /// Returns every object of a kind in one namespace or all (`None`), by namespace and name.
    pub fn list(&self, resource: &ResourceType, namespace: Option<&str>) -> Vec<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        if !self.list_is_done(resource, namespace) {
            self.need(Need::List { resource: resource.clone(), namespace: namespace.map(Into::into), selector: None });
        }
        self.loaded(resource, namespace).collect()
    }

    /// Like [`Snapshot::list`], but only objects that match the selector are read from a cluster.
    ///
    /// `selector` is in Kubernetes' syntax; a dump is filtered here.
    pub(crate) fn list_labelled(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        selector: &str,
    ) -> Vec<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        if !self.list_is_done(resource, namespace) {
            self.need(Need::List {
                resource: resource.clone(),
                namespace: namespace.map(Into::into),
                selector: Some(selector.into()),
            });
        }
        // The selectors in this crate consist of constants and names; an invalid one selects nothing and fails its
        // test.
        let selector: Option<LabelSelector> = selector.parse().ok();
        let is_selected = |object: &&Value| selector.as_ref().is_some_and(|selector| selector.matches_object(object));
        self.loaded(resource, namespace).filter(is_selected).collect()
    }

    /// Returns the loaded objects of a kind without recording a need.
    pub(crate) fn loaded<'a>(
        &'a self,
        resource: &ResourceType,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &'a Value> + use<'a> {
        let namespace = namespace.map(str::to_owned);
        // Empty texts sort first, so the range begins with the first object of the kind.
        let first = ObjectId::new(&resource.group, &resource.kind, namespace.as_deref(), "");
        let (group, kind) = (resource.group.to_string(), resource.kind.to_string());
        self.objects
            .range(first..)
            .take_while(move |(id, _)| {
                id.group == group && id.kind == kind && namespace.as_ref().is_none_or(|wanted| id.namespace == *wanted)
            })
            .map(|(_, object)| object)
    }

    /// Returns every object by group, kind, namespace and name.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// Returns the last lines of a container's log; `None` when there is none or it is not known yet.
    pub fn log(&self, namespace: &str, pod: &str, container: &str, previous: bool) -> Option<&[String]> {
        let found = self.logs.get(&(namespace.into(), pod.into(), container.into(), previous));
        if found.is_none() {
            self.need(Need::Logs {
                namespace: namespace.into(),
                pod: pod.into(),
                container: container.into(),
                previous,
            });
        }
        found.map(Vec::as_slice)
    }

    /// Returns why a container's log could not be read; `None` if it was, or is not known yet.
    pub(crate) fn log_trouble(&self, namespace: &str, pod: &str, container: &str, previous: bool) -> Option<&str> {
        let need = Need::Logs { namespace: namespace.into(), pod: pod.into(), container: container.into(), previous };
        match self.done.get(&need) {
            Some(NeedOutcome::Unavailable(why)) => Some(why),
            _ => None,
        }
    }

    /// Returns every log: namespace, pod, container and whether it is of the previous run.
    pub(crate) fn logs(&self) -> impl Iterator<Item = (&(String, String, String, bool), &Vec<String>)> {
        self.logs.iter()
    }

    /// Returns the answer of `GET /version` (`gitVersion`, `platform`, …).
    pub fn server_version(&self) -> Option<&Value> {
        if self.version.is_none() {
            self.need(Need::ServerVersion);
        }
        self.version.as_ref()
    }

    /// Whether the user may do something; `None` when unknown, as in a dump.
    pub fn may(&self, verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> Option<bool> {
        let need = Need::Access {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            namespace: namespace.map(Into::into),
        };
        let known = self.access.get(&need).copied();
        if known.is_none() {
            self.need(need);
        }
        known
    }
}

/// Removes everything that no view reads: the values of Secrets, of which only the existence matters, and the field
/// sets of managed fields, which take most memory (manager and version are kept). Two kinds of field sets are kept:
/// those of the few suspended objects, which show who suspended them, and those of people and foreign tools after the
/// creation, which show what was changed by hand.
pub(crate) fn trim(object: &mut Value) {
    if fields::kind(object) == "Secret" && fields::group(object).is_empty() {
        let names_an_issuer = fields::name(object) == ENTITLEMENT_SECRET;
        for field in ["data", "stringData"] {
            let values = object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
            // The issuer of an entitlement is not secret; the report shows it.
            for (_, value) in values.filter(|(key, _)| !(names_an_issuer && *key == ENTITLEMENT_VENDOR)) {
                *value = Value::Null;
            }
        }
    }
    if kinds::is_suspended(object) {
        return;
    }
    let created = fields::text(object, "/metadata/creationTimestamp").to_owned();
    let managers = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for manager in managers.into_iter().flatten() {
        let is_by_hand = Author::of(fields::text(manager, "/manager")) == Author::Other;
        // Both are in UTC with whole seconds, so they compare as texts.
        let is_later = fields::text(manager, "/time") > created.as_str();
        let is_of_status = fields::text(manager, "/subresource") == "status";
        if let Some(manager) = manager.as_object_mut().filter(|_| !is_by_hand || !is_later || is_of_status) {
            manager.remove("fieldsV1");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::{DEPLOYMENT, POD};
    use serde_json::json;

    fn pod(namespace: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name}})
    }

    #[test]
    fn a_cluster_snapshot_asks_once_for_what_it_lacks() {
        let mut snapshot = Snapshot::of_cluster();
        assert!(snapshot.list(&POD, Some("a")).is_empty());
        let needs = snapshot.take_needs();
        assert_eq!(needs.len(), 1);
        snapshot.answer(needs[0].clone(), Answer::Objects(vec![pod("a", "x")]));
        assert_eq!(snapshot.list(&POD, Some("a")).len(), 1);
        assert!(snapshot.get(&POD, Some("a"), "gone").is_none(), "the list was complete");
        assert!(snapshot.take_needs().is_empty());
        assert!(snapshot.get(&POD, Some("b"), "x").is_none());
        assert_eq!(snapshot.take_needs().len(), 1, "another namespace was not listed");
    }

    #[test]
    fn a_dump_never_asks_and_knows_only_the_kinds_it_has() {
        let snapshot = Snapshot::of_dump([pod("a", "x"), pod("b", "y")]);
        assert_eq!(snapshot.list(&POD, None).len(), 2);
        assert!(snapshot.get(&DEPLOYMENT, Some("a"), "d").is_none());
        assert!(snapshot.take_needs().is_empty());
        assert!(snapshot.knows(&POD));
        assert!(!snapshot.knows(&DEPLOYMENT));
    }

    #[test]
    fn listed_objects_are_requested_by_name_only_if_the_list_is_refused() {
        let mut snapshot = Snapshot::of_cluster();
        let ask = |snapshot: &Snapshot| {
            snapshot.get(&POD, Some("a"), "x");
            snapshot.list(&POD, Some("a"));
            snapshot.get(&POD, Some("b"), "y");
            snapshot.take_needs()
        };
        let needs = ask(&snapshot);
        assert!(matches!(needs.as_slice(), [Need::List { .. }, Need::Get { name, .. }] if name == "y"), "{needs:?}");
        snapshot.answer(needs[0].clone(), Answer::Denied("pods is forbidden".into()));
        snapshot.answer(needs[1].clone(), Answer::Objects(vec![]));
        let needs = ask(&snapshot);
        assert!(matches!(needs.as_slice(), [Need::Get { name, .. }] if name == "x"), "{needs:?}");
    }

    #[test]
    fn many_missing_objects_of_a_kind_are_one_list_and_few_are_not() {
        let asked = |count: usize, place: &str, namespace: Option<&str>| {
            let snapshot = Snapshot::of_cluster();
            for n in 0..count {
                assert!(snapshot.get(&POD, Some(place), &format!("p{n}")).is_none());
                assert!(snapshot.get(&SECRET, Some(place), &format!("s{n}")).is_none());
            }
            snapshot.list_instead_of_many(namespace);
            let needs = snapshot.take_needs().into_iter();
            needs.filter(|need| !matches!(need, Need::Get { resource, .. } if *resource == SECRET)).collect::<Vec<_>>()
        };
        let list = |namespace: Option<&str>| {
            vec![Need::List { resource: POD.clone(), namespace: namespace.map(Into::into), selector: None }]
        };
        assert_eq!(asked(WORTH_A_LIST, "a", None).len(), WORTH_A_LIST);
        assert_eq!(asked(WORTH_A_LIST + 1, "a", None), list(None));
        assert_eq!(asked(WORTH_A_LIST + 1, "a", Some("a")), list(Some("a")));
        assert_eq!(asked(WORTH_A_LIST + 1, "b", Some("a")).len(), WORTH_A_LIST + 1, "in another namespace");
    }

    #[test]
    fn kinds_without_a_definition_are_not_asked_for() {
        let mut snapshot = Snapshot::of_cluster();
        assert!(snapshot.defined_kinds().is_empty());
        let needs = snapshot.take_needs();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "kustomizations.kustomize.toolkit.fluxcd.io"}});
        snapshot.answer(needs[0].clone(), Answer::Objects(vec![definition]));
        let names: Vec<&str> = snapshot.defined_kinds().into_iter().map(|kind| kind.kind).collect();
        assert_eq!(names, ["Kustomization"]);
        let mut refused = Snapshot::of_cluster();
        refused.answer(needs[0].clone(), Answer::Denied("no".into()));
        assert_eq!(refused.defined_kinds().len(), FLUX_KINDS.len());
    }

    #[test]
    fn a_refusal_is_remembered_and_not_asked_again() {
        let mut snapshot = Snapshot::of_cluster();
        snapshot.list(&POD, None);
        let need = snapshot.take_needs().remove(0);
        snapshot.answer(need, Answer::Denied("pods is forbidden".into()));
        snapshot.list(&POD, Some("a"));
        assert!(snapshot.take_needs().is_empty());
        assert!(!snapshot.knows(&POD));
        assert_eq!(snapshot.denied().map(|(_, m)| m), Some("pods is forbidden"));
    }
}
