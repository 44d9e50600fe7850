//! Plans of many clusters: equal plans are combined, each cluster has a file, and a summary is written beside the
//! files.

use std::collections::BTreeMap;
use std::path::Path;

use flux_operator::format::json;
use flux_operator::format::whole_file;
use flux_operator::k8s::fields;
use serde_json::{Value, json};

use super::join::{API_VERSION, JoinedOutput, Piece, failure, failure_line, first_names, read_json};
use super::reads::{FleetRead, file_name};
use super::schedule::{ClusterStage, FleetCluster, FleetRun};
use crate::output::counted;
use crate::terminal::{CliError, Shell};
use flux_operator::format::harmless::on_one_line;

/// The file beside the plans.
const SUMMARY: &str = "summary.json";
/// Limit for the objects that are listed for a plan; `-o wide` and the summary list all.
const NAMED: usize = 20;

/// A plan, and the clusters with this plan.
struct FoldedPlan<'a> {
    /// The changes, as in the summary.
    changes: Value,
    clusters: Vec<&'a FleetCluster>,
}

/// Creates the folder of the plans.
///
/// # Errors
/// Failed, if the folder cannot be created, or is a file.
pub fn make_folder(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        CliError::failed(format!("cannot make the folder {}", folder.display()))
            .caused_by(&error)
            .hint("with --contexts, --out must be a folder: it gets a plan file for each cluster")
    })
}

/// Checks that no two plans would be written to the same file.
///
/// # Errors
/// Usage, with the two contexts.
pub fn check_file_names<'a>(contexts: impl Iterator<Item = &'a str>) -> Result<(), CliError> {
    let mut files: BTreeMap<String, &str> = BTreeMap::new();
    for context in contexts {
        let file = file_name(context);
        if let Some(other) = files.insert(file.clone(), context).filter(|other| *other != context) {
            return Err(CliError::usage(format!("the plans of {other} and {context} would both be {file}"))
                .hint("plan them one after the other, each with an --out folder of its own, or rename a context"));
        }
    }
    Ok(())
}

/// Formats the folded plans, and the clusters without one.
pub fn text(fleet: &FleetRun, read: &FleetRead, joined: &mut JoinedOutput) -> String {
    let all = fleet.clusters.iter().filter(|one| !matches!(one.stage, ClusterStage::Skipped(_))).count();
    let text: String = fold(fleet).iter().map(|plan| plan.lines(all, read.is_wide())).collect();
    let mut drawn = vec![("", vec![Piece::Text(text)])];
    for cluster in &fleet.clusters {
        if let Some(error) = failure(cluster) {
            drawn.push((&cluster.context, vec![Piece::Failure(failure_line(error))]));
        }
    }
    joined.draw(drawn)
}

/// Writes the summary beside the plans.
///
/// # Errors
/// Failed, when it cannot be written.
pub fn write_summary(fleet: &FleetRun, folder: &Path, shell: &Shell) -> Result<(), CliError> {
    let file = folder.join(SUMMARY);
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot write {}", file.display())).caused_by(error)
    };
    let summary = json::to_string(&summary(fleet, &fold(fleet))).map_err(|e| failed(&e))?;
    whole_file::write(&file, summary.as_bytes()).map_err(|e| failed(&e))?;
    shell.status(&format!(
        "the plans are saved in {0}: carry each out with `flux-operator apply --plan {0}/CONTEXT.plan --context CONTEXT`",
        folder.display()
    ));
    Ok(())
}

fn fold(fleet: &FleetRun) -> Vec<FoldedPlan<'_>> {
    let mut folded: Vec<FoldedPlan<'_>> = vec![];
    for cluster in fleet.clusters.iter().filter(|one| matches!(one.stage, ClusterStage::Ended(Ok(_)))) {
        // The output is not taken, because both the screen and the summary call this function.
        let changes = changes(&read_json(&cluster.output.text()));
        match folded.iter_mut().find(|plan| plan.changes == changes) {
            Some(plan) => plan.clusters.push(cluster),
            None => folded.push(FoldedPlan { changes, clusters: vec![cluster] }),
        }
    }
    folded.sort_by_key(|plan| std::cmp::Reverse(plan.clusters.len()));
    folded
}

/// Returns the changes of a plan without values that differ in each cluster: identities, and digests of stored objects.
fn changes(plan: &Value) -> Value {
    let object = |object: &Value| {
        let parts = ["/kind", "/namespace", "/name"].map(|part| fields::text(object, part));
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    };
    let step = |planned: &Value| fields::text(planned, "/step").to_lowercase();
    let objects = fields::items(plan, "/objects").iter().filter(|one| step(one) != "unchanged").map(|planned| {
        let changed = fields::items(planned, "/changes")
            .iter()
            .map(|change| json!({"path": change.get("path"), "from": change.get("from"), "to": change.get("to")}));
        json!({
            "step": step(planned),
            "object": object(planned.get("object").unwrap_or(&Value::Null)),
            "changes": changed.collect::<Vec<_>>(),
        })
    });
    let pruned = fields::items(plan, "/prune")
        .iter()
        .map(|planned| json!({"step": step(planned), "object": object(planned.get("object").unwrap_or(&Value::Null))}));
    json!({
        "instance": object(&json!({
            "namespace": plan.pointer("/instance/namespace"), "name": plan.pointer("/instance/name"),
        })),
        "previousRevision": plan.get("previousRevision"),
        "revision": plan.get("revision"),
        "suspended": plan.get("suspended").unwrap_or(&Value::Bool(false)),
        "hasChanges": plan.get("hasChanges").unwrap_or(&Value::Bool(false)),
        "objects": objects.chain(pruned).collect::<Vec<_>>(),
        "restarts": plan.get("restarts"),
    })
}

impl FoldedPlan<'_> {
    fn lines(&self, of: usize, is_wide: bool) -> String {
        let names: Vec<&str> = self.clusters.iter().map(|cluster| cluster.context.as_str()).collect();
        let names = if is_wide { names.join(", ") } else { first_names(&names) };
        let objects = fields::items(&self.changes, "/objects");
        let count = |step: &str| objects.iter().filter(|one| fields::text(one, "/step") == step).count();
        let counts = [("create", "to create"), ("configure", "to change"), ("prune", "to delete")];
        let counts: Vec<String> = counts
            .iter()
            .map(|(step, says)| (count(step), says))
            .filter(|(count, _)| *count > 0)
            .map(|(count, says)| format!("{count} {says}"))
            .collect();
        let revision =
            match (fields::some_text(&self.changes, "/previousRevision"), fields::text(&self.changes, "/revision")) {
                (Some(from), to) if from == to => to.to_owned(),
                (from, to) => format!("{} → {to}", from.unwrap_or("nothing")),
            };
        let says = if counts.is_empty() { "nothing to change".to_owned() } else { counts.join(", ") };
        let mut text = format!(
            "{} of {}: {says} ({}): {names}\n",
            self.clusters.len(),
            counted(of, "cluster"),
            on_one_line(&revision)
        );
        let shown = if is_wide { usize::MAX } else { NAMED };
        for one in objects.iter().take(shown) {
            let (mark, step) = match fields::text(one, "/step") {
                "create" => ("+", "create"),
                "configure" => ("~", "configure"),
                "prune" => ("-", "prune"),
                _ => (" ", "keep"),
            };
            text.push_str(&format!("  {mark} {step:9} {}\n", on_one_line(fields::text(one, "/object"))));
        }
        if let Some(more) = objects.len().checked_sub(shown).filter(|more| *more > 0) {
            text.push_str(&format!("  and {more} more: -o wide shows all\n"));
        }
        text
    }
}

/// Returns the summary for programs: the folded plans, and the file of each cluster.
fn summary(fleet: &FleetRun, folded: &[FoldedPlan<'_>]) -> Value {
    let cluster = |cluster: &&FleetCluster| {
        let uid = cluster.identity.as_ref().and_then(|identity| identity.uid.clone());
        json!({"context": cluster.context, "server": cluster.server, "uid": uid, "file": file_name(&cluster.context)})
    };
    let plans: Vec<Value> = folded
        .iter()
        .map(|plan| {
            let clusters: Vec<Value> = plan.clusters.iter().map(cluster).collect();
            let mut one = json!({"clusters": clusters});
            if let (Some(one), Some(changes)) = (one.as_object_mut(), plan.changes.as_object()) {
                one.extend(changes.clone());
            }
            one
        })
        .collect();
    let failed: Vec<Value> = fleet
        .clusters
        .iter()
        .filter_map(|cluster| Some(json!({"context": cluster.context, "message": failure_line(failure(cluster)?)})))
        .collect();
    json!({"apiVersion": API_VERSION, "kind": "FleetPlan", "plans": plans, "failed": failed})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Exit;

    #[test]
    fn contexts_whose_plans_would_be_one_file_are_refused() {
        assert!(check_file_names(["a/b", "a-b", "c"].into_iter()).is_ok());
        let error = check_file_names(["a/b", "c", "a:b"].into_iter()).unwrap_err();
        assert_eq!((error.exit(), error.message()), (Exit::Usage, "the plans of a/b and a:b would both be a_b.plan"));
    }

    #[test]
    fn plans_with_the_same_changes_are_equal_although_their_objects_have_different_uids() {
        let plan = |uid: &str, image: &str| {
            json!({"instance": {"namespace": "n", "name": "flux", "uid": uid}, "revision": "v2.9.4@sha256:1",
                "previousRevision": "v2.8.8@sha256:2", "hasChanges": true,
                "objects": [
                    {"step": "Configure", "object": {"group": "apps", "kind": "Deployment", "namespace": "n", "name": "a"},
                        "seen": uid, "changes": [{"path": "spec.image", "from": "x", "to": image}], "desired": {}},
                    {"step": "Unchanged", "object": {"kind": "Service", "name": "b"}},
                ],
                "prune": [{"step": "Prune", "object": {"kind": "ConfigMap", "namespace": "n", "name": "c"}, "seen": uid}]})
        };
        assert_eq!(changes(&plan("1", "y")), changes(&plan("2", "y")));
        assert_ne!(changes(&plan("1", "y")), changes(&plan("1", "z")));
        let one = FleetCluster { context: "eu".to_owned(), ..FleetCluster::default() };
        let folded = FoldedPlan { changes: changes(&plan("1", "y")), clusters: vec![&one] };
        insta::assert_snapshot!(folded.lines(2, false), @r"
        1 of 2 clusters: 1 to change, 1 to delete (v2.8.8@sha256:2 → v2.9.4@sha256:1): eu
          ~ configure Deployment/n/a
          - prune     ConfigMap/n/c
        ");
    }
}
