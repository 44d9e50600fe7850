//! Everything that is not well, by what explains it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Cause, Reason, Walk, message};
use crate::api::kinds::{self, FLUX_KINDS, FluxKind};
use crate::api::well_known::condition::READY;
use crate::inspect::components;
use crate::inspect::next_step::NextStep;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::{ObjectId, fields};

// `S` is a step, or a step in words.
/// All Flux objects that are not well.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WhyAll")]
pub struct Overview<S = NextStep> {
    /// True when no object fails.
    pub well: bool,
    /// Objects that were looked at.
    pub total: usize,
    /// Objects that fail, or that nobody reconciles.
    pub failing: usize,
    /// Objects that are on their way, or wait for one that is.
    pub in_progress: usize,
    /// What explains them, the cause of most first.
    pub causes: Vec<CauseGroup<S>>,
}

/// One cause, and the objects it takes down.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CauseGroup")]
pub struct CauseGroup<S = NextStep> {
    #[serde(flatten)]
    pub cause: Cause<S>,
    /// How many objects of which kind, in the order of kinds.
    pub kinds: Vec<AffectedKind>,
    /// Every object that does not work because of it, in the order of kinds, then by namespace and name.
    pub affected: Vec<ObjectId>,
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedKind {
    pub kind: String,
    pub count: usize,
}

impl<S> Overview<S> {
    /// The same answer with its steps in other words.
    pub fn map_steps<T>(self, word: impl Fn(S) -> T + Copy) -> Overview<T> {
        let Overview { well, total, failing, in_progress, causes } = self;
        let causes = causes.into_iter().map(|CauseGroup { cause, kinds, affected }| CauseGroup {
            cause: cause.map_steps(word),
            kinds,
            affected,
        });
        Overview { well, total, failing, in_progress, causes: causes.collect() }
    }
}

/// So many objects of one kind that are named in failures are worth a list instead of a request each.
const WORTH_A_LIST: usize = 8;

/// Finds what is not well among the Flux objects of a namespace (or all), and explains it.
pub fn overview(snapshot: &Snapshot, namespace: Option<&str>, now: Timestamp) -> Overview {
    overview_of(snapshot, namespace, None, now)
}

/// The same for the objects of one kind.
pub fn overview_of(snapshot: &Snapshot, namespace: Option<&str>, only: Option<&FluxKind>, now: Timestamp) -> Overview {
    // Asked for together: one list a kind.
    let is_meant = |kind: &&FluxKind| kind.kind != "FluxReport" && only.is_none_or(|only| only.kind == kind.kind);
    let kinds = FLUX_KINDS.iter().filter(is_meant);
    let objects: Vec<(&'static FluxKind, &Value)> = kinds
        .flat_map(|kind| snapshot.list(&kind.resource_type(), namespace).into_iter().map(move |o| (kind, o)))
        .collect();
    let _ = components::deployments(snapshot, None);
    let nothing = Overview { well: true, total: objects.len(), failing: 0, in_progress: 0, causes: vec![] };
    if snapshot.is_loading() {
        return nothing;
    }
    list_named(snapshot, &objects);
    let nobody = Value::Null;
    let mut walk = Walk { is_overview: true, scope: namespace.map(str::to_owned), ..Walk::new(snapshot, &nobody, now) };
    let mut groups: Vec<CauseGroup> = vec![];
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut in_progress = 0;
    for (kind, object) in &objects {
        if kinds::is_suspended(object) {
            continue;
        }
        let Some(cause) = walk.object(object) else { continue };
        if cause.reason == Reason::InProgress {
            in_progress += 1;
            continue;
        }
        let at = *places.entry(cause.key()).or_insert(groups.len());
        if at == groups.len() {
            groups.push(CauseGroup { cause, kinds: vec![], affected: vec![] });
        }
        let Some(group) = groups.get_mut(at) else { continue };
        group.affected.push(ObjectId::of(object));
        match group.kinds.last_mut() {
            Some(last) if last.kind == kind.kind => last.count += 1,
            _ => group.kinds.push(AffectedKind { kind: kind.kind.into(), count: 1 }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.affected.len()));
    let failing = groups.iter().map(|group| group.affected.len()).sum();
    Overview { well: groups.is_empty(), failing, in_progress, causes: groups, ..nothing }
}

/// Asks for the kinds of which many objects are named in failures.
fn list_named(snapshot: &Snapshot, objects: &[(&'static FluxKind, &Value)]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, object) in objects {
        let Some(failed) = fields::condition(object, READY).filter(|c| c.is_false()) else { continue };
        for named in message::named_objects(failed.message()) {
            *counts.entry(named.kind).or_default() += 1;
        }
    }
    for (kind, _) in counts.into_iter().filter(|(_, count)| *count > WORTH_A_LIST) {
        // Flux's own kinds are here already.
        if let Some(resource) = kinds::find_resource_type(&kind).filter(|r| kinds::of(&r.group, &r.kind).is_none()) {
            let _ = snapshot.list(&resource, None);
        }
    }
}
