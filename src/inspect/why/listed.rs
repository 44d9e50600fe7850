//! Rows of a list, judged as `why` judges their objects.
//!
//! A list shows the last report of each object. That report says nothing of a controller that is gone since, so the controllers are
//! read beside the list: two requests, however many rows there are, and more only where one of them does not work.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cause, Walk, definition};
use crate::api::kinds::{self, FluxKind, INSTANCE};
use crate::api::well_known::GROUP;
use crate::api::well_known::condition::STALLED;
use crate::inspect::health::HealthVerdict;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::fields;

/// The object of a walk that is about many.
static NO_SUBJECT: Value = Value::Null;

/// The evaluation of a row, where it may differ from the last report of its object.
#[derive(Clone, Debug, PartialEq)]
pub struct RowVerdict {
    pub verdict: HealthVerdict,
    pub reason: String,
    /// The cause in one sentence.
    pub summary: String,
    /// Whether the object is being deleted, which its row says already.
    pub is_deletion: bool,
}

impl RowVerdict {
    /// Corrects a row where the report of its object says something else.
    pub(in crate::inspect) fn correct(self, ready: &mut String, reason: &mut String, message: &mut String) {
        let judged = match self.verdict {
            HealthVerdict::Failing => "False",
            HealthVerdict::InProgress | HealthVerdict::NotStarted => "Unknown",
            _ => return,
        };
        if judged == "False" && ready != "False" && !self.is_deletion {
            (*reason, *message) = (self.reason, self.summary);
        }
        judged.clone_into(ready);
    }
}

/// Judges the rows of a list.
pub struct RowJudge<'a> {
    walk: Walk<'a>,
    /// Kinds of which every object has a working controller.
    served: Vec<&'static str>,
}

impl<'a> RowJudge<'a> {
    /// Reads what judges the objects of some kinds in a namespace (or all): the controllers, the instances, and the operator's own
    /// objects, because nothing else tells whether an operator works on them.
    pub fn new(
        snapshot: &'a Snapshot,
        flux_kinds: &[&'static FluxKind],
        namespace: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let mut walk = Walk::new(snapshot, &NO_SUBJECT, now);
        // An overview looks at what fails and not into what is well. The scope keeps it from listing events of all namespaces.
        walk.is_overview = true;
        walk.scope = Some(namespace.unwrap_or_default().to_owned());
        let _ = snapshot.list(&INSTANCE, None);
        walk.judge_controllers();
        for kind in flux_kinds {
            if kind.group != GROUP {
                let plain = json!({"apiVersion": kind.group, "kind": kind.kind});
                let _ = walk.controller(kind, &plain);
                continue;
            }
            for object in snapshot.list(&kind.resource_type(), namespace) {
                let _ = evaluate(&mut walk, kind, object);
            }
        }
        let served = flux_kinds.iter().filter(|kind| walk.is_served(kind)).map(|kind| kind.kind).collect();
        RowJudge { walk, served }
    }

    /// Judges an object of a list; `None` where its own report says all.
    pub fn object(&mut self, kind: &'static FluxKind, object: &Value) -> Option<RowVerdict> {
        if kinds::is_suspended(object) {
            return None;
        }
        // A dump has everything that decides; of a cluster only the objects of the operator are loaded.
        let snapshot = self.walk.snapshot;
        let is_loaded = snapshot.is_dump() || kind.group == GROUP;
        let of_list = || snapshot.get(&kind.resource_type(), fields::namespace(object), fields::name(object));
        let cause = match is_loaded.then(of_list).flatten() {
            Some(loaded) => evaluate(&mut self.walk, kind, loaded),
            None => self.walk.deleted(kind, object).or_else(|| self.walk.controller(kind, object)),
        };
        cause.map(|cause| verdict(object, &cause)).or_else(|| stalled(object))
    }

    /// Whether every object of a kind has a working controller, so that only its own report judges it.
    pub fn is_served(&self, kind: &FluxKind) -> bool {
        self.served.contains(&kind.kind)
    }

    /// Says of kinds that are not served, or have no objects in a dump, whether the installation lacks their definition.
    pub fn missing_definitions(&self, absent: &[&'static FluxKind]) -> Vec<String> {
        let snapshot = self.walk.snapshot;
        let instances = snapshot.list(&INSTANCE, None).into_iter();
        let objects: Vec<_> = instances.map(|instance| (definition::instance_kind(), instance)).collect();
        let is_gone = |kind: &&'static FluxKind| !snapshot.is_dump() || definition::is_undefined(snapshot, kind);
        let absent = absent.iter().copied().filter(is_gone).collect();
        let expected = definition::expected(snapshot, absent, &objects);
        expected.into_iter().map(definition::missing_text).collect()
    }
}

/// The cause of an object that is loaded. A ResourceSet of a cluster is not looked into: that would read its inputs.
fn evaluate<'a>(walk: &mut Walk<'a>, kind: &'static FluxKind, object: &'a Value) -> Option<Cause> {
    let looks_into_it = walk.snapshot.is_dump() || kind.kind == INSTANCE.kind;
    if kinds::is_suspended(object) || walk.is_plainly_well(kind, object) {
        None
    } else if looks_into_it {
        walk.object(object)
    } else {
        walk.deleted(kind, object).or_else(|| walk.controller(kind, object))
    }
}

fn verdict(object: &Value, cause: &Cause) -> RowVerdict {
    RowVerdict {
        verdict: HealthVerdict::of(object, Some(cause)),
        reason: format!("{:?}", cause.reason),
        summary: cause.summary.clone(),
        is_deletion: fields::is_being_deleted(object),
    }
}

/// An object that gave up, although it may be ready with what it had before.
fn stalled(object: &Value) -> Option<RowVerdict> {
    let stalled = fields::condition(object, STALLED).filter(|stalled| stalled.is_true())?;
    Some(RowVerdict {
        verdict: HealthVerdict::Failing,
        reason: stalled.reason().to_owned(),
        summary: stalled.message().to_owned(),
        is_deletion: false,
    })
}
