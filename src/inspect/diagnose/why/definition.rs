//! Missing definitions of Flux's kinds. Deleting a definition deletes its objects, so no object reports it.

use serde_json::Value;

use super::controller::controller_of;
use super::{Cause, Reason};
use crate::api::kinds::{self, CRD, DEPLOYMENT, FLUX_KINDS, FluxKind, INSTANCE};
use crate::api::well_known;
use crate::inspect::diagnose::next_step::NextStep;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::{components, inventory};
use crate::k8s::{ObjectId, fields};

/// Returns the kinds whose definitions belong to the installation but are no longer in the cluster. `objects` are the
/// listed Flux objects, whose inventories may name the definition.
///
/// It requests nothing if the cluster serves every listed kind.
pub(super) fn missing_kinds(snapshot: &Snapshot, objects: &[(&'static FluxKind, &Value)]) -> Vec<&'static FluxKind> {
    let is_absent = |kind: &&FluxKind| match snapshot.is_dump() {
        false => snapshot.is_not_installed(&kind.resource_type()),
        true => {
            // Without its definitions a dump does not say which kinds were served.
            !objects.iter().any(|(one, _)| one == kind) && is_undefined(snapshot, kind)
        }
    };
    expected(snapshot, FLUX_KINDS.iter().filter(is_absent).collect(), objects)
}

/// Whether a dump has definitions but lacks that of a kind.
pub(super) fn is_undefined(snapshot: &Snapshot, kind: &FluxKind) -> bool {
    snapshot.knows(&CRD) && snapshot.get(&CRD, None, &name_of(kind)).is_none()
}

/// Returns the kinds among `absent` whose definitions belong to the installation. `objects` are Flux objects whose
/// inventories may name a definition.
pub(super) fn expected(
    snapshot: &Snapshot,
    absent: Vec<&'static FluxKind>,
    objects: &[(&'static FluxKind, &Value)],
) -> Vec<&'static FluxKind> {
    if absent.is_empty() {
        return absent;
    }
    let definitions = |object: &Value| {
        inventory::entries_where(object, |id| id.ends_with("_apiextensions.k8s.io_CustomResourceDefinition"))
    };
    let listed: Vec<String> =
        objects.iter().flat_map(|(_, object)| definitions(object)).map(|definition| definition.name).collect();
    let controllers = components::deployments(snapshot, None);
    // A dump may contain only some of the definitions, so an inventory has to name a missing one.
    let runs = |name: &str| !snapshot.is_dump() && controllers.iter().any(|one| fields::name(one) == name);
    // Controllers that an instance installed carry its name.
    let are_owned = controllers.iter().any(|one| fields::label(one, well_known::OWNER_NAME_LABEL).is_some());
    let is_expected = |kind: &&FluxKind| {
        listed.contains(&name_of(kind))
            || match controller_of(kind) {
                Some(name) => runs(name),
                None => **kind == *instance_kind() && are_owned,
            }
    };
    absent.into_iter().filter(is_expected).collect()
}

pub(super) fn instance_kind() -> &'static FluxKind {
    kinds::of(&INSTANCE.group, &INSTANCE.kind).unwrap_or(&FLUX_KINDS[0])
}

fn name_of(kind: &FluxKind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

/// Returns the Flux kind of a definition.
pub(super) fn defined_by(definition: &ObjectId) -> Option<&'static FluxKind> {
    let is_definition = definition.kind == CRD.kind && definition.group == CRD.group;
    FLUX_KINDS.iter().find(|kind| is_definition && definition.name == name_of(kind))
}

pub(super) fn missing_text(kind: &FluxKind) -> String {
    format!("the CRD of {0} is missing, and so is every {0}", kind.kind)
}

/// Returns the cause for a missing definition; `next` restores it.
pub(super) fn missing(kind: &FluxKind, next: NextStep) -> Cause {
    let id = ObjectId::new(&CRD.group, &CRD.kind, None, &name_of(kind));
    let summary = missing_text(kind);
    let evidence = format!("{} is part of this installation but not in the cluster", id.name);
    Cause::of(Reason::DefinitionMissing, id, summary).evidence("status", evidence, None).next(next)
}

/// Whether the cluster has anything of Flux: a controller, an instance, or an object of its kinds.
pub fn is_installed(snapshot: &Snapshot) -> bool {
    let (controllers, instances) = (components::deployments(snapshot, None), snapshot.list(&INSTANCE, None));
    // The other kinds are requested only if neither a controller nor an instance exists.
    !controllers.is_empty()
        || !instances.is_empty()
        || snapshot.is_loading()
        || FLUX_KINDS.iter().map(|kind| snapshot.list(&kind.resource_type(), None).len()).sum::<usize>() > 0
}

/// Returns the kinds that decide the verdict but that the caller is not allowed to read.
pub(super) fn unreadable(snapshot: &Snapshot, namespace: Option<&str>, only: Option<&FluxKind>) -> Vec<&'static str> {
    if snapshot.is_dump() {
        return vec![];
    }
    let is_meant = |kind: &&FluxKind| {
        kind.kind != "FluxReport"
            && only.is_none_or(|only| only == *kind)
            // An overview of one namespace does not depend on the operator's own kinds.
            && (namespace.is_none() || only.is_some() || kind.group != well_known::GROUP)
    };
    let refused = FLUX_KINDS.iter().filter(is_meant).filter(|kind| !snapshot.knows(&kind.resource_type()));
    let mut all: Vec<&'static str> = refused.map(|kind| kind.kind).collect();
    // Controllers count only in an overview of the whole cluster.
    if namespace.is_none() && only.is_none() && !snapshot.knows(&DEPLOYMENT) {
        all.push("Deployment");
    }
    all
}
