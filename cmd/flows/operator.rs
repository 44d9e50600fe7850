//! Parts shared by the commands for the operator: its image, and its errors as messages for the user.

use flux_operator::inspect::diagnose::next_step::NextStep;
use flux_operator::k8s::ObjectId;
use flux_operator::operator::OperatorError;
use flux_operator::reconcile::operator::{Operator, OperatorCoverage, OperatorPresence};

use crate::output::hints;
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit};

/// Version of this program, as `version` prints it.
pub const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");
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
            let failure =
                errors.iter().fold(failed().with_exit(exit), |failure, error| failure.cause(error.to_string()));
            errors
                .iter()
                .flat_map(|error| hints::of_cluster(&error.source.reason))
                .take(1)
                .fold(failure, CliError::hint)
        }
        OperatorError::InstancesExist { instances } => {
            let failure = instances.iter().fold(failed(), |failure, one| failure.cause(format!("{one} exists")));
            failure.hint("uninstall Flux first with `flux-operator uninstall instance`, or add --with-instance")
        }
        OperatorError::HelmRelease { release, namespace } => {
            failed().caused_by(error).hint(format!("helm uninstall {release} -n {namespace}"))
        }
        OperatorError::NotSettled { objects, .. } => {
            let failure = failed().with_exit(Exit::Unhealthy);
            let failure = objects.iter().fold(failure, |failure, one| {
                failure.cause(format!("{} is {}: {}", one.object, one.health, one.detail))
            });
            failure.hint("the next run continues from here")
        }
    }
}

/// Reports that an object was saved and that no operator is running to reconcile it: an error for a command that waits
/// for the outcome, else a warning. `here` is the command line that does the operator's work.
///
/// # Errors
/// The command waits.
pub fn report_unwatched(
    session: &Session<'_>,
    target: &Target,
    coverage: &OperatorCoverage,
    here: &str,
    waits: bool,
) -> Result<Exit, CliError> {
    let message =
        format!("{} is saved, but no operator is running to reconcile it", session.place(&target.reference()));
    let way = command_without_operator(session, coverage, "reconcile it from here", here);
    if waits {
        return Err(CliError::failed(message).cause(coverage.to_string()).object(target.reference()).hint(way));
    }
    session.shell.warn(&format!("{message}: {coverage}"));
    session.shell.hint(&way);
    Ok(Exit::Done)
}

/// Returns the error for a command that would store something and wait while no operator is running. An operator that
/// is installed later would carry it out unexpectedly. `here` is the command line that does the operator's work.
pub fn refused_without_operator(
    session: &Session<'_>,
    target: &Target,
    verb: &str,
    coverage: &OperatorCoverage,
    here: &str,
) -> CliError {
    let reference = target.reference();
    CliError::failed(format!("cannot {verb} {}: no operator is running to do it", session.place(&reference)))
        .cause(coverage.to_string())
        .object(reference)
        .hint(command_without_operator(session, coverage, "do it from here", here))
}

/// Returns the next step for an instance without an operator: the command line `here`, which does its work in this
/// process. A stalled operator could continue at any moment, so its next step is a restart, or `here` with
/// `--force-in-process`.
pub fn command_without_operator(
    session: &Session<'_>,
    coverage: &OperatorCoverage,
    purpose: &str,
    here: &str,
) -> String {
    let silent = match coverage {
        OperatorCoverage::NotRunning(Operator { presence: OperatorPresence::Silent(deployment), .. }) => deployment,
        _ => return format!("{purpose} with `{here}`"),
    };
    format!("{}, or {purpose} with `{here} --force-in-process`", restart(session, silent))
}

/// Formats how to restart an operator's Deployment.
pub fn restart(session: &Session<'_>, deployment: &ObjectId) -> String {
    format!("restart it with `{}`", session.destination().command(&NextStep::Restart(deployment.clone())))
}
