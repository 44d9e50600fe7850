//! The first screen of a version change: the old and new version, images, restarts, and obstacles.

use flux_operator::api::kinds::CRD;
use flux_operator::api::{ComponentImage, FluxInstance, FluxInstanceSpec};
use flux_operator::build::Revision;
use flux_operator::distribution::Distribution;
use flux_operator::inspect::diagnose::checks::{Verdict, upgrade_group};
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::views::upgrade;
use flux_operator::k8s::{ObjectId, fields};
use flux_operator::reconcile::Plan;
use flux_operator::reconcile::plan::Step;
use serde_json::Value;

use crate::flows::rights::{FLUX, Right, always, when};
use crate::flows::run_in_process::plan_counts;
use crate::output::count_by_kind;
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::terminal::CliError;

/// Limit for the objects of a change that are named. Above it they are counted by kind, so that the screen of an
/// upgrade, which configures nearly every object, fits into a terminal of 24 rows.
const NAMED: usize = 6;

/// Rights that [`warn_of_problems`] needs.
pub const FINDS_PROBLEMS: &[Right] =
    &[always("list", "customresourcedefinitions deployments"), when("its kind is defined", "list", FLUX)];

/// Formats the change, a line each: versions, the pinned version of the spec, images, restarts, removed API versions,
/// other objects by kind.
pub fn lines(instance: &FluxInstance, spec: &FluxInstanceSpec, plan: &Plan) -> Vec<String> {
    let now = plan.previous_revision.as_deref().unwrap_or("nothing");
    let mut lines = vec![format!("from {now}"), format!("to   {}", plan.revision)];
    let (before, after) = (&instance.spec.distribution.version, &spec.distribution.version);
    if before != after {
        lines.push(format!("spec.distribution.version: {before} → {after}"));
    }
    let running = instance.status.as_ref().map(|status| status.components.as_slice()).unwrap_or_default();
    lines.extend(plan.images.iter().filter_map(|image| image_line(running, image)));
    let restarts: Vec<&str> = plan.restarts().into_iter().map(|object| object.name.as_str()).collect();
    if !restarts.is_empty() {
        lines.push(format!("restarts: {}", restarts.join(", ")));
    }
    for removed in &plan.removed_versions {
        lines.push(format!("no longer served: {} {}", removed.definition, removed.versions.join(", ")));
    }
    let of_step =
        |step: Step| plan.objects.iter().filter(move |object| object.step == step).map(|object| &object.object);
    // Definitions change in every version, mostly in their texts.
    let configured = of_step(Step::Configure).filter(|object| object.kind != CRD.kind);
    let pruned = plan.pruned();
    lines.extend(named_or_counted('+', of_step(Step::Create).collect()));
    lines.extend(named_or_counted('~', configured.collect()));
    lines.extend(named_or_counted('-', pruned.iter().collect()));
    lines.push(plan_counts(plan));
    lines
}

/// Formats a line for each object. More than [`NAMED`] objects are counted by kind on one line.
fn named_or_counted(sign: char, objects: Vec<&ObjectId>) -> Vec<String> {
    if objects.len() > NAMED {
        return vec![format!("{sign} {}", count_by_kind(&objects))];
    }
    objects.into_iter().map(|object| format!("{sign} {object}")).collect()
}

/// Formats `image: ghcr.io/fluxcd/source-controller v1.7.4 → v1.8.0`, and the old repository if it changes.
fn image_line(running: &[ComponentImage], image: &ComponentImage) -> Option<String> {
    let before = running.iter().find(|before| before.name == image.name);
    let Some(before) = before else {
        return Some(format!("image: {}:{}, new", image.repository, image.tag));
    };
    if (&before.repository, &before.tag) == (&image.repository, &image.tag) {
        return None;
    }
    let from = match before.repository == image.repository {
        true => String::new(),
        false => format!("{} → ", before.repository),
    };
    Some(format!("image: {from}{} {} → {}", image.repository, before.tag, image.tag))
}

/// Whether a plan changes the version of what is installed. The same version may have other objects.
pub fn is_version_change(plan: &Plan) -> bool {
    let before = plan.previous_revision.as_deref().and_then(|revision| revision.parse::<Revision>().ok());
    before.is_some_and(|before| before.version != plan.version)
}

/// Something that the other version rejects or treats differently.
pub struct VersionProblem {
    pub breaks: bool,
    pub text: String,
}

/// Warns of problems of the version, of lost custom resources, and of a Kustomization that applies the instance;
/// returns the problems.
///
/// # Errors
/// The cluster cannot be read.
pub async fn warn_of_problems(
    session: &Session<'_>,
    live: &Value,
    plan: &Plan,
) -> Result<Vec<VersionProblem>, CliError> {
    let shell = session.shell;
    let problems = problems(session, fields::namespace(live).unwrap_or_default(), plan).await?;
    for problem in &problems {
        shell.warn(&problem.text);
    }
    for (definition, lost) in plan.lost_custom_resources() {
        shell.warn(&format!("deleting {definition} also deletes {lost}"));
    }
    if let Some(owner) = fields::label(live, "kustomize.toolkit.fluxcd.io/name") {
        shell.warn(&format!("Kustomization {owner} applies this instance: change it in its repository, too"));
    }
    Ok(problems)
}

/// Looks for objects, definitions and arguments that the version of the plan rejects or treats differently; nothing is
/// known about versions that are not embedded.
///
/// # Errors
/// The cluster cannot be read.
async fn problems(session: &Session<'_>, namespace: &str, plan: &Plan) -> Result<Vec<VersionProblem>, CliError> {
    let distribution = Distribution::embedded();
    let Some(version) = distribution.versions().into_iter().find(|version| version.name == plan.version) else {
        return Ok(vec![]);
    };
    let target = upgrade::Target::of(&distribution, version)
        .map_err(|e| CliError::failed("cannot read Flux's CRDs").caused_by(&e))?;
    let look = from_cluster::collect(&session.cluster, |snapshot| upgrade_group(snapshot, namespace, &target));
    let found = look.await.map_err(|error| cli_error(&error))?.value;
    let problem = |verdict| matches!(verdict, Verdict::Fail | Verdict::Warn);
    let found = found.checks.into_iter().filter(|check| problem(check.verdict)).map(|check| VersionProblem {
        breaks: check.verdict == Verdict::Fail,
        text: match check.hint.map(|hint| session.destination().sentence(&hint)) {
            Some(hint) => format!("{}: {}; {hint}", check.name, check.message),
            None => format!("{}: {}", check.name, check.message),
        },
    });
    Ok(found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_objects_are_named_and_many_are_counted_by_kind() {
        let accounts: Vec<ObjectId> =
            (0..NAMED).map(|number| ObjectId::new("", "ServiceAccount", Some("apps"), &number.to_string())).collect();
        let namespace = ObjectId::new("", "Namespace", None, "apps");
        let few: Vec<&ObjectId> = accounts.iter().collect();
        assert_eq!(named_or_counted('~', few.clone()).len(), NAMED);
        assert_eq!(named_or_counted('~', few.clone())[0], "~ ServiceAccount/apps/0");
        assert_eq!(named_or_counted('~', [few, vec![&namespace]].concat()), ["~ 6 ServiceAccount, 1 Namespace"]);
        assert!(named_or_counted('+', vec![]).is_empty());
    }
}
