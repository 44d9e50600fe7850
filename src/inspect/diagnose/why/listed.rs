//! Rows of a list, judged as `why` judges their objects.
//!
//! A list shows the last report of each object. That report does not show whether its controller is still running, so
//! the controllers are read as well, in two requests for any number of rows. More is read only for rows that are not
//! clearly healthy, and for Kustomizations, whose sources may have a newer revision.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cause, Walk, definition};
use crate::api::kinds::{self, FluxKind, INSTANCE};
use crate::api::well_known::GROUP;
use crate::api::well_known::condition::STALLED;
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::{ObjectId, fields};

/// Placeholder for the subject of a walk over many objects.
static NO_SUBJECT: Value = Value::Null;

/// The evaluation of a row, where it may differ from the last report of its object.
#[derive(Clone, Debug, PartialEq)]
pub struct RowVerdict {
    pub verdict: HealthVerdict,
    pub reason: String,
    /// The cause in one sentence.
    pub summary: String,
    /// Whether the object is being deleted, which its row says already.
    pub(crate) is_deletion: bool,
}

impl RowVerdict {
    /// Corrects a row if the report of its object says something else.
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
    /// Requests the objects that decide the health of some kinds in a namespace (or all): the controllers, the
    /// instances, and the objects of the operator's own kinds, because only they show whether an operator reconciles
    /// them.
    pub fn new(
        snapshot: &'a Snapshot,
        flux_kinds: &[&'static FluxKind],
        namespace: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let mut walk = Walk::new(snapshot, &NO_SUBJECT, now);
        // An overview does not examine healthy objects. The scope keeps it from listing events of all namespaces.
        walk.is_overview = true;
        walk.scope = Some(namespace.unwrap_or_default().to_owned());
        let _ = snapshot.list(&INSTANCE, None);
        walk.judge_controllers();
        let mut judge = RowJudge { walk, served: vec![] };
        for kind in flux_kinds {
            if kind.group != GROUP {
                let plain = json!({"apiVersion": kind.group, "kind": kind.kind});
                let _ = judge.walk.controller(kind, &plain);
                continue;
            }
            for object in snapshot.list(&kind.resource_type(), namespace) {
                let _ = judge.object(kind, object);
            }
        }
        snapshot.list_instead_of_many(namespace);
        judge.served = flux_kinds.iter().filter(|kind| judge.walk.is_served(kind)).map(|kind| kind.kind).collect();
        judge
    }

    /// Judges the rows of a list in their order; `judge` judges a single row. The snapshot records the missing objects.
    pub fn rows<T>(
        snapshot: &'a Snapshot,
        flux_kinds: &[&'static FluxKind],
        namespace: Option<&str>,
        now: Timestamp,
        rows: impl IntoIterator<Item = T>,
        judge: impl Fn(&mut Self, T) -> Option<RowVerdict>,
    ) -> Vec<Option<RowVerdict>> {
        let mut all = RowJudge::new(snapshot, flux_kinds, namespace, now);
        let verdicts = rows.into_iter().map(|row| judge(&mut all, row)).collect();
        snapshot.list_instead_of_many(namespace);
        verdicts
    }

    /// Judges an object by the fields that its row has; `None` if its own report is enough. An object that is not
    /// clearly healthy is read completely, because another object may explain it.
    pub fn object(&mut self, kind: &'static FluxKind, object: &Value) -> Option<RowVerdict> {
        let snapshot = self.walk.snapshot;
        let whole = || snapshot.get(&kind.resource_type(), fields::namespace(object), fields::name(object));
        // Objects of the operator's own kinds are already loaded, and a row lacks the providers of a ResourceSet.
        let object = if kind.group == GROUP { whole().unwrap_or(object) } else { object };
        if kinds::is_suspended(object) || self.walk.is_plainly_healthy(kind, object) {
            return None;
        }
        // A missing controller explains any number of rows without reading them. An instance may have an earlier cause.
        let absence = match kind.group {
            GROUP => None,
            _ => self.walk.deleted(kind, object).or_else(|| self.walk.controller(kind, object)),
        };
        let cause = absence.or_else(|| self.walk.object(whole()?));
        cause.map(|cause| verdict(object, &cause)).or_else(|| stalled(object))
    }

    /// Whether every object of a kind has a working controller, so that only its own report judges it.
    pub fn is_served(&self, kind: &FluxKind) -> bool {
        self.served.contains(&kind.kind)
    }
}

/// Returns a sentence for each definition that the installation lacks. `absent` are the kinds that are not served, or
/// have no objects in a dump.
pub fn missing_definitions(snapshot: &Snapshot, absent: &[&'static FluxKind]) -> Vec<String> {
    let instances = snapshot.list(&INSTANCE, None).into_iter();
    let objects: Vec<_> = instances.map(|instance| (definition::instance_kind(), instance)).collect();
    let is_gone = |kind: &&'static FluxKind| !snapshot.is_dump() || definition::is_undefined(snapshot, kind);
    let absent = absent.iter().copied().filter(is_gone).collect();
    let expected = definition::expected(snapshot, absent, &objects);
    expected.into_iter().map(definition::missing_text).collect()
}

fn verdict(object: &Value, cause: &Cause) -> RowVerdict {
    // Most sentences about another Flux object do not name it; those that do give its kind and name.
    let is_other = cause.object != ObjectId::of(object)
        && kinds::of(&cause.object.group, &cause.object.kind).is_some()
        && !cause.summary.contains(&format!("{} {} ", cause.object.kind, cause.object.name));
    RowVerdict {
        verdict: HealthVerdict::of(object, Some(cause)),
        reason: format!("{:?}", cause.reason),
        summary: if is_other { format!("{}: {}", cause.object, cause.summary) } else { cause.summary.clone() },
        is_deletion: fields::is_being_deleted(object),
    }
}

/// Returns the verdict on a stalled object, which may still be ready with its earlier content.
fn stalled(object: &Value) -> Option<RowVerdict> {
    let stalled = fields::condition(object, STALLED).filter(|stalled| stalled.is_true())?;
    Some(RowVerdict {
        verdict: HealthVerdict::Failing,
        reason: stalled.reason().to_owned(),
        summary: stalled.message().to_owned(),
        is_deletion: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::diagnose::why::Reason;

    #[test]
    fn a_sentence_about_another_object_names_it_once() {
        let object = |kind: &str, name: &str| {
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": kind,
                "metadata": {"name": name, "namespace": "apps"}})
        };
        let (own, other) = (object("Kustomization", "web"), object("Kustomization", "a"));
        let summary = |about: &Value, text: &str| verdict(&own, &Cause::new(Reason::BuildFailed, about, text)).summary;
        assert_eq!(summary(&own, "a patch failed"), "a patch failed");
        for naming_it in ["Kustomization a does not exist", "the dependency Kustomization a does not exist"] {
            assert_eq!(summary(&other, naming_it), naming_it);
        }
        // These words contain the name by chance.
        assert_eq!(summary(&other, "a patch failed"), "Kustomization/apps/a: a patch failed");
    }
}
