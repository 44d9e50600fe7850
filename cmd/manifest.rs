//! Manifests at the edge: where they come from, and how their problems are told.

use flux_operator::api::manifest::ManifestError;

use crate::shell::CliError;

/// Tells the problems of a manifest one by one, below what was attempted.
pub fn manifest_error(error: &ManifestError, attempted: &str) -> CliError {
    match error.problems() {
        [] => CliError::usage(attempted).caused_by(error),
        problems => problems.iter().fold(CliError::usage(attempted), |report, problem| report.cause(problem.to_string())),
    }
}
