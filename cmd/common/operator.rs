//! What the commands about the operator itself share: its image, and the errors of its room in the user's words.

use flux_operator::operator::{OperatorError, UnservedObject};

use super::Session;
use super::connect::cli_error;
use crate::render::hints;
use crate::render::objects;
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
