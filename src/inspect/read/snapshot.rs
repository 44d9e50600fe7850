//! What is known of a cluster, and what a view asked for that is not known yet.
//!
//! ```text
//! view(snapshot) ── asks ──► snapshot ── not loaded ──► needs ──► loader (cluster) ──► snapshot ──► view again
//!                                └── a dump is complete: it never needs anything
//! ```
//! So a view is one pure function for a cluster and for a dump, and a cluster is asked only for what the view came to.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::field_managers::Author;
use crate::api::kinds::{self, CRD, FLUX_KINDS, FluxKind};
use crate::api::well_known::{ENTITLEMENT_SECRET, ENTITLEMENT_VENDOR};
use crate::k8s::ObjectId;
use crate::k8s::ResourceType;
use crate::k8s::fields;
use crate::k8s::label_selector::LabelSelector;

/// One thing a view would like to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
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
    /// Where a kind is served that no table knows: plural and scope.
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
    /// Whether the caller may do something, asked of the API server.
    Access {
        verb: String,
        group: String,
        resource: String,
        namespace: Option<String>,
    },
}

/// What came of a [`Need`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// The objects; none is an answer.
    Objects(Vec<Value>),
    Kind(ResourceType),
    Log(Vec<String>),
    Version(Value),
    Access(bool),
    /// The API server does not serve the kind.
    NotInstalled,
    /// The caller may not read it.
    Denied(String),
    /// It could not be read for another reason (a log of a pod that never ran).
    Unavailable(String),
}

/// An object as somebody wrote it at a version that is not the newest of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedManifest {
    /// The file, or what else the text came from.
    pub origin: String,
    /// Line of its `apiVersion`, from 1; `None` where the text does not tell.
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
    /// A dump: nothing can be loaded.
    complete: bool,
    /// Kinds a complete snapshot is known to list whole: at least one object, or an empty list, was in it.
    listed: BTreeSet<(String, String)>,
    outdated: Vec<OutdatedManifest>,
    /// Objects are kept with all that is in them.
    is_whole: bool,
    done: BTreeMap<Need, Outcome>,
    /// Kinds that were listed without a selector, whatever came of it, with the namespace; `None` is all.
    asked: BTreeMap<ResourceType, BTreeSet<Option<String>>>,
    /// Kinds of which something was refused, by group and kind.
    refused: BTreeSet<(String, String)>,
    missing: RefCell<BTreeSet<Need>>,
    parts: Cell<Parts>,
}

/// What is long and asked for by few views: it is read only where a view wants it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    /// Of the versions of definitions.
    pub(super) schemas: bool,
    /// The managed fields that [`trim`] keeps.
    pub(super) managers: bool,
}

impl Parts {
    pub(super) const ALL: Parts = Parts { schemas: true, managers: true };
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Loaded,
    NotInstalled,
    Denied(String),
    Unavailable(String),
}

impl Snapshot {
    /// An empty snapshot that asks for what it has not.
    pub fn of_cluster() -> Self {
        Snapshot::default()
    }

    /// A snapshot that holds everything there will ever be.
    pub fn of_dump(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut snapshot = Snapshot { complete: true, ..Snapshot::default() };
        for object in objects {
            snapshot.insert(object);
        }
        snapshot
    }

    /// The same for objects that are kept whole, the values of Secrets among it.
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

    /// Flux objects of a dump that were written at an older version, in the order they were read.
    pub fn outdated(&self) -> &[OutdatedManifest] {
        &self.outdated
    }

    /// Records that a kind was listed and had no objects.
    pub fn insert_empty_list(&mut self, group: &str, kind: &str) {
        self.listed.insert((group.into(), kind.into()));
    }

    pub fn insert_log(&mut self, namespace: &str, pod: &str, container: &str, previous: bool, lines: Vec<String>) {
        self.logs.insert((namespace.into(), pod.into(), container.into(), previous), lines);
    }

    pub fn insert_version(&mut self, version: Value) {
        self.version = Some(version);
    }

    /// Stores what came of a need.
    pub fn answer(&mut self, need: Need, answer: Answer) {
        let outcome = match (&need, answer) {
            (_, Answer::Objects(objects)) => {
                for object in objects {
                    self.insert(object);
                }
                Outcome::Loaded
            }
            (Need::Kind { group, kind, .. }, Answer::Kind(resource)) => {
                self.kinds.insert((group.clone(), kind.clone()), resource);
                Outcome::Loaded
            }
            (Need::Logs { namespace, pod, container, previous }, Answer::Log(lines)) => {
                self.insert_log(namespace, pod, container, *previous, lines);
                Outcome::Loaded
            }
            (_, Answer::Version(version)) => {
                self.version = Some(version);
                Outcome::Loaded
            }
            (_, Answer::Access(allowed)) => {
                self.access.insert(need.clone(), allowed);
                Outcome::Loaded
            }
            (_, Answer::NotInstalled) => Outcome::NotInstalled,
            (_, Answer::Denied(message)) => Outcome::Denied(message),
            (_, Answer::Unavailable(message)) => Outcome::Unavailable(message),
            (_, Answer::Kind(_) | Answer::Log(_)) => {
                Outcome::Unavailable("the answer does not fit the question".into())
            }
        };
        if let Need::List { resource, namespace, selector: None } = &need {
            self.asked.entry(resource.clone()).or_default().insert(namespace.clone());
        }
        if let (Need::List { resource, .. } | Need::Get { resource, .. }, Outcome::Denied(_)) = (&need, &outcome) {
            self.refused.insert((resource.group.to_string(), resource.kind.to_string()));
        }
        self.done.insert(need, outcome);
    }

    /// Takes what was asked for and is not known; empty when the last view is final. An object whose kind is to be listed anyway
    /// is not asked for by name.
    pub fn take_needs(&self) -> Vec<Need> {
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
            _ => true,
        });
        needs.into_iter().collect()
    }

    /// How many objects it holds.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Whether something was asked for that is not known yet.
    pub fn is_loading(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// The first refusal met while loading, for views that cannot do without.
    pub fn denied(&self) -> Option<(&Need, &str)> {
        self.done.iter().find_map(|(need, outcome)| match outcome {
            Outcome::Denied(message) => Some((need, message.as_str())),
            _ => None,
        })
    }

    /// Whether the API server was found not to serve the kind. Unknown for a dump.
    pub fn is_not_installed(&self, resource: &ResourceType) -> bool {
        self.done.iter().any(|(need, outcome)| {
            *outcome == Outcome::NotInstalled
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

    /// Whether all objects of a kind in a namespace (or all) are here that there are.
    pub fn is_listed(&self, resource: &ResourceType, namespace: Option<&str>) -> bool {
        self.complete || self.list_is_done(resource, namespace)
    }

    /// Asks that definitions are listed with the schemas of their versions; without it they are left out, as most of a long text.
    /// A view that reads them has to say so from the first.
    pub fn want_schemas(&self) {
        self.parts.set(Parts { schemas: true, ..self.parts.get() });
    }

    /// Asks that objects are listed with their managed fields; without it they are left out, as a third of most objects.
    /// A view that reads them has to say so from the first.
    pub fn want_managers(&self) {
        self.parts.set(Parts { managers: true, ..self.parts.get() });
    }

    pub(super) fn wanted_parts(&self) -> Parts {
        self.parts.get()
    }

    fn list_is_done(&self, resource: &ResourceType, namespace: Option<&str>) -> bool {
        let Some(namespaces) = self.asked.get(resource) else { return false };
        namespaces.contains(&None) || namespace.is_some_and(|namespace| namespaces.contains(&Some(namespace.into())))
    }

    /// Whether the absence of an object of this kind means something: a cluster was asked, or the dump has the kind.
    pub fn knows(&self, resource: &ResourceType) -> bool {
        let kind = || (resource.group.to_string(), resource.kind.to_string());
        if self.complete { self.listed.contains(&kind()) } else { !self.is_refused(resource) }
    }

    fn is_refused(&self, resource: &ResourceType) -> bool {
        !self.refused.is_empty() && self.refused.contains(&(resource.group.to_string(), resource.kind.to_string()))
    }

    /// The Flux kinds that have a definition: none until the definitions are read, all where they cannot be.
    pub fn defined_kinds(&self) -> Vec<&'static FluxKind> {
        let definitions: BTreeSet<&str> = self.list(&CRD, None).into_iter().map(fields::name).collect();
        let is_defined = |kind: &&FluxKind| {
            self.complete
                || !self.knows(&CRD)
                || definitions.contains(format!("{}.{}", kind.plural, kind.group).as_str())
        };
        FLUX_KINDS.iter().filter(is_defined).collect()
    }

    /// Looks one object up; asks for it when it may exist and was not loaded.
    pub fn get(&self, resource: &ResourceType, namespace: Option<&str>, name: &str) -> Option<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        let reference = ObjectId::new(&resource.group, &resource.kind, namespace, name);
        let found = self.objects.get(&reference);
        // Who may not list a kind may still read one object of it.
        if found.is_none() && (self.is_refused(resource) || !self.list_is_done(resource, namespace)) {
            self.need(Need::Get {
                resource: resource.clone(),
                namespace: namespace.map(Into::into),
                name: name.into(),
            });
        }
        found
    }

    /// Looks one object up by reference, finding out first where its kind is served.
    pub fn get_ref(&self, reference: &ObjectId) -> Option<&Value> {
        if let Some(found) = self.objects.get(reference) {
            return Some(found);
        }
        let version = if reference.version.is_empty() { "v1" } else { &reference.version };
        let resource = self.resource_type(&reference.group, version, &reference.kind)?;
        self.get(&resource, reference.namespace(), &reference.name)
    }

    /// Where a kind is served: the tables, then what discovery said.
    pub fn resource_type(&self, group: &str, version: &str, kind: &str) -> Option<ResourceType> {
        let known = crate::api::kinds::resource_type_of(group, kind)
            .or_else(|| self.kinds.get(&(group.to_owned(), kind.to_owned())).cloned());
        if known.is_none() {
            self.need(Need::Kind { group: group.into(), version: version.into(), kind: kind.into() });
        }
        known
    }

    /// Every object of a kind in one namespace or all (`None`), by namespace and name.
    pub fn list(&self, resource: &ResourceType, namespace: Option<&str>) -> Vec<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        if !self.list_is_done(resource, namespace) {
            self.need(Need::List { resource: resource.clone(), namespace: namespace.map(Into::into), selector: None });
        }
        self.loaded(resource, namespace).collect()
    }

    /// Like [`Snapshot::list`], but a cluster is asked only for what the selector matches.
    ///
    /// `selector` is Kubernetes' text, which a dump is matched against here.
    pub fn list_labelled(&self, resource: &ResourceType, namespace: Option<&str>, selector: &str) -> Vec<&Value> {
        let namespace = namespace.filter(|_| resource.namespaced);
        if !self.list_is_done(resource, namespace) {
            self.need(Need::List {
                resource: resource.clone(),
                namespace: namespace.map(Into::into),
                selector: Some(selector.into()),
            });
        }
        // The selectors of this crate are made of constants and names; a broken one selects nothing and fails its test.
        let selector: Option<LabelSelector> = selector.parse().ok();
        let is_selected = |object: &&Value| selector.as_ref().is_some_and(|selector| selector.matches_object(object));
        self.loaded(resource, namespace).filter(is_selected).collect()
    }

    /// What is here already of a kind, without asking for more.
    pub fn loaded<'a>(
        &'a self,
        resource: &ResourceType,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &'a Value> + use<'a> {
        let namespace = namespace.map(str::to_owned);
        let first = ObjectId::new(&resource.group, &resource.kind, namespace.as_deref(), "");
        let (group, kind) = (resource.group.to_string(), resource.kind.to_string());
        self.objects
            .range(first..)
            .take_while(move |(id, _)| {
                id.group == group && id.kind == kind && namespace.as_ref().is_none_or(|wanted| id.namespace == *wanted)
            })
            .map(|(_, object)| object)
    }

    /// Every object there is, by group, kind, namespace and name.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// The last lines of a container's log; `None` when there is none or it is not known yet.
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

    /// Why a container's log could not be read; `None` where it was, or is not known yet.
    pub fn log_trouble(&self, namespace: &str, pod: &str, container: &str, previous: bool) -> Option<&str> {
        let need = Need::Logs { namespace: namespace.into(), pod: pod.into(), container: container.into(), previous };
        match self.done.get(&need) {
            Some(Outcome::Unavailable(why)) => Some(why),
            _ => None,
        }
    }

    /// Every log there is: namespace, pod, container and whether it is of the run before the last restart.
    pub(super) fn logs(&self) -> impl Iterator<Item = (&(String, String, String, bool), &Vec<String>)> {
        self.logs.iter()
    }

    /// What `GET /version` says (`gitVersion`, `platform`, …).
    pub fn server_version(&self) -> Option<&Value> {
        if self.version.is_none() {
            self.need(Need::ServerVersion);
        }
        self.version.as_ref()
    }

    /// Whether the caller may do something; `None` when it cannot be told (a dump).
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

/// Drops what no view reads: the values of Secrets, whose mere existence is of interest, and the field sets of managed fields,
/// which cost most memory (who managed at which version stays). Two kinds of sets stay: of the few objects that are suspended,
/// where they say who did it, and those of people and foreign tools after the object was made, where they say what was changed
/// by hand.
pub fn trim(object: &mut Value) {
    if fields::kind(object) == "Secret" && fields::group(object).is_empty() {
        let names_an_issuer = fields::name(object) == ENTITLEMENT_SECRET;
        for field in ["data", "stringData"] {
            let values = object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
            // Who has issued an entitlement is no secret; the report shows it.
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
        let is_later = fields::text(manager, "/time") > created.as_str();
        let is_of_status = fields::text(manager, "/subresource") == "status";
        if let Some(manager) = manager.as_object_mut().filter(|_| !is_by_hand || !is_later || is_of_status) {
            manager.remove("fieldsV1");
        }
    }
}

/// The names nearest to a mistyped one, and where an object of exactly that name is.
pub fn elsewhere<'a>(objects: impl IntoIterator<Item = &'a Value>, name: &str) -> Vec<&'a str> {
    objects.into_iter().filter(|o| fields::name(o) == name).filter_map(fields::namespace).collect()
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
    fn what_is_listed_anyway_is_not_asked_for_by_name_unless_the_list_is_refused() {
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
