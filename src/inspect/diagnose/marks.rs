//! Marks of Flux objects in trees and traces, as `why` judges the objects.
//!
//! A view shows the last report of each object. `why` also detects a missing controller, a newer revision of the source
//! and a failing dependency, so every view that marks objects corrects its marks here.

use jiff::Timestamp;

use crate::api::kinds;
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::diagnose::why::{RowJudge, RowVerdict};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::trace::Trace;
use crate::inspect::views::tree::TreeNode;
use crate::k8s::ObjectId;
use crate::k8s::kstatus::Status;

/// Marks the nodes of trees.
pub fn mark_trees(snapshot: &Snapshot, mut trees: Vec<TreeNode>, now: Timestamp) -> Vec<TreeNode> {
    let mut judge = RowJudge::new(snapshot, &[], None, now);
    trees.iter_mut().for_each(|tree| mark_node(snapshot, &mut judge, tree));
    snapshot.list_instead_of_many(None);
    trees
}

/// Marks the steps of traces.
pub fn mark_traces(snapshot: &Snapshot, mut traces: Vec<Trace>, now: Timestamp) -> Vec<Trace> {
    let mut judge = RowJudge::new(snapshot, &[], None, now);
    for step in traces.iter_mut().flat_map(|trace| &mut trace.steps) {
        if let (Some(ready), Some(verdict)) = (&mut step.ready, verdict(snapshot, &mut judge, &step.object)) {
            verdict.correct(ready, &mut String::new(), &mut step.message);
        }
    }
    snapshot.list_instead_of_many(None);
    traces
}

fn mark_node(snapshot: &Snapshot, judge: &mut RowJudge<'_>, node: &mut TreeNode) {
    if let Some(verdict) = node.object.as_ref().and_then(|object| verdict(snapshot, judge, object)) {
        match verdict.verdict {
            HealthVerdict::Failing if node.status != Some(Status::Failed) => {
                node.status = Some(Status::Failed);
                if !verdict.is_deletion {
                    node.message = verdict.summary;
                }
            }
            HealthVerdict::InProgress | HealthVerdict::NotStarted => node.status = Some(Status::InProgress),
            _ => {}
        }
    }
    node.children.iter_mut().for_each(|child| mark_node(snapshot, judge, child));
}

/// Returns the verdict on a Flux object that was read; `None` if its own report is enough.
fn verdict(snapshot: &Snapshot, judge: &mut RowJudge<'_>, object: &ObjectId) -> Option<RowVerdict> {
    let kind = kinds::of(&object.group, &object.kind)?;
    judge.object(kind, snapshot.get_ref(object)?)
}
