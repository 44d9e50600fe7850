//! What the commands about the operator itself share: its image, and the errors of its room in the user's words.

use flux_operator::inspect::next_step::NextStep;
use flux_operator::k8s::ObjectId;
use flux_operator::operator::{OperatorError, UnservedObject};
use flux_operator::reconcile::operator::{Operator, OperatorCoverage, Standing};

use super::Session;
use super::connect::cli_error;
use crate::render::{hints, objects};
use crate::shell::{CliError, Exit};

/// Version of this program as labels and tags say it.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
/// A placeholder until images are published.
pub const OPERATOR_IMAGE: &str = concat!("ghcr.io/flux-operator/flux-operator:v", env!("CARGO_PKG_VERSION"));

/// Puts an error into the words and exit codes of the command line.
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

/// How to go on where nobody looks at an instance: with a command line that does it here, unless the operator stands still
/// and could go on at any moment.
pub fn way_without(session: &Session<'_>, coverage: &OperatorCoverage, purpose: &str, here: &str) -> String {
    let silent = match coverage {
        OperatorCoverage::NotRunning(Operator { standing: Standing::Silent(deployment), .. }) => deployment,
        _ => return format!("{purpose} with `{here}`"),
    };
    format!("{}, or {purpose} with `{here} --force-in-process`", restart(session, silent))
}

/// Restarts the operator of a Deployment, in words.
pub fn restart(session: &Session<'_>, deployment: &ObjectId) -> String {
    format!("restart it with `{}`", session.whereto().command(&NextStep::Restart(deployment.clone())))
}

/// Names each object that nobody serves, and how to let go of them.
pub fn warn_of_unserved(session: &Session<'_>, unserved: &[UnservedObject], namespace: &str) {
    for one in unserved {
        session.shell.warn(&unserved_text(one));
    }
    if !unserved.is_empty() {
        let release = session.command("uninstall resourcesets", namespace);
        session.shell.hint(&format!("this operator does not serve them; let go of them with `{release}`"));
    }
}

/// `ResourceSet/apps/web is not served: …`.
pub fn unserved_text(one: &UnservedObject) -> String {
    let manages = if one.manages > 0 { format!(", it manages {}", objects(one.manages)) } else { String::new() };
    let hangs = if one.has_finalizer { ", and it would hang when it is deleted" } else { "" };
    format!("nobody serves {}{manages}{hangs}", one.object)
}
