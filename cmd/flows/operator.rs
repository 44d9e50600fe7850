//! Shared by the commands for the operator itself: its image, and its errors in the user's words.

use flux_operator::inspect::next_step::NextStep;
use flux_operator::k8s::ObjectId;
use flux_operator::operator::{OperatorError, UnservedObject};
use flux_operator::reconcile::operator::{Operator, OperatorCoverage, Standing};

use crate::output::{hints, objects};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::terminal::{CliError, Exit};

/// Version of this program for labels and tags.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
/// Replaces the image in manifests without one. It is not a valid reference, so no registered name can match it.
pub const IMAGE_PLACEHOLDER: &str = "IMAGE";
/// The reason for the missing default image.
pub const NO_DEFAULT_IMAGE: &str =
    "no image of this program is published yet, so any default would be a name that somebody else could register";
pub const HOW_TO_BUILD_AN_IMAGE: &str = "build one with deploy/Dockerfile and push it to a registry of yours";

/// Returns the image to run, or an error without one.
pub fn required_image(image: Option<&str>) -> Result<&str, CliError> {
    image.map(str::trim).filter(|image| !image.is_empty()).ok_or_else(|| {
        CliError::usage("the image of the operator is not given")
            .cause(NO_DEFAULT_IMAGE)
            .hint(format!("{HOW_TO_BUILD_AN_IMAGE}, then add --image REGISTRY/NAME:TAG"))
    })
}

/// Explains [`IMAGE_PLACEHOLDER`] in manifests.
pub fn with_placeholder_explained(manifests: &str) -> String {
    let line = format!("        image: {IMAGE_PLACEHOLDER}\n");
    let comment = format!(
        "        # Put the image here: {NO_DEFAULT_IMAGE}.\n        # {IMAGE_PLACEHOLDER} is not a valid reference and is never pulled: {HOW_TO_BUILD_AN_IMAGE}.\n"
    );
    manifests.replace(&line, &format!("{comment}{line}"))
}

/// Converts an error to the messages and exit codes of the command line.
pub fn operator_error(session: &Session<'_>, error: &OperatorError, verb: &str, key: &str) -> CliError {
    let place = session.place(key);
    let failed = || CliError::failed(format!("cannot {verb} {place}")).object(key);
    match error {
        OperatorError::Call(call) => cli_error(call),
        OperatorError::Refused(errors) => {
            let exit = errors.first().map_or(Exit::Failed, |error| cli_error(&error.source).exit());
            let told = errors.iter().fold(failed().with_exit(exit), |told, error| told.cause(error.to_string()));
            errors.iter().flat_map(|error| hints::of_cluster(&error.source.reason)).take(1).fold(told, CliError::hint)
        }
        OperatorError::Unserved { objects } => {
            let told = objects.iter().fold(failed(), |told, one| told.cause(unserved_text(one)));
            told.hint("let go of them with `flux-operator uninstall resourcesets`, what they manage stays; or add --ignore-resourcesets")
        }
        OperatorError::InstancesExist { instances } => {
            let told = instances.iter().fold(failed(), |told, one| told.cause(format!("{one} exists")));
            told.hint("uninstall Flux first with `flux-operator uninstall instance`, or add --with-instance")
        }
        OperatorError::HelmRelease { release, namespace } => {
            failed().caused_by(error).hint(format!("helm uninstall {release} -n {namespace}"))
        }
        OperatorError::Served { .. } => failed()
            .caused_by(error)
            .hint("delete them while it runs: it takes away what they manage, or leaves it, as they say"),
        OperatorError::NotSettled { objects, .. } => {
            let told = failed().with_exit(Exit::Unhealthy);
            let told = objects
                .iter()
                .fold(told, |told, one| told.cause(format!("{} is {}: {}", one.object, one.health, one.detail)));
            told.hint("the next run goes on from here")
        }
    }
}

/// Returns the next step for an instance without an operator: a command line that does its work here, unless a stalled
/// operator could continue at any moment.
pub fn way_without(session: &Session<'_>, coverage: &OperatorCoverage, purpose: &str, here: &str) -> String {
    let silent = match coverage {
        OperatorCoverage::NotRunning(Operator { standing: Standing::Silent(deployment), .. }) => deployment,
        _ => return format!("{purpose} with `{here}`"),
    };
    format!("{}, or {purpose} with `{here} --force-in-process`", restart(session, silent))
}

/// Formats how to restart an operator's Deployment.
pub fn restart(session: &Session<'_>, deployment: &ObjectId) -> String {
    format!("restart it with `{}`", session.whereto().command(&NextStep::Restart(deployment.clone())))
}

/// Warns of each object that would not be served, and of the way to release it.
pub fn warn_of_unserved(session: &Session<'_>, unserved: &[UnservedObject], namespace: &str) {
    for one in unserved {
        session.shell.warn(&unserved_text(one));
    }
    if !unserved.is_empty() {
        let release = session.command("uninstall resourcesets", namespace);
        session.shell.hint(&format!("this operator does not serve them; let go of them with `{release}`"));
    }
}

/// `ResourceSet/apps/web would not be served: …`. Another operator may serve it now.
pub fn unserved_text(one: &UnservedObject) -> String {
    let manages = (one.manages > 0).then(|| format!("it manages {}", objects(one.manages)));
    let hangs = one.has_finalizer.then(|| "it would hang when it is deleted".to_owned());
    let facts: Vec<String> = manages.into_iter().chain(hangs).collect();
    let colon = if facts.is_empty() { "" } else { ": " };
    format!("{} would not be served{colon}{}", one.object, facts.join(", and "))
}
