//! The operator as a process against a real control plane.

mod artifact;
mod drift;
mod input_providers;
mod leader;
mod loops;
pub mod operator;
mod report;
mod rights;
mod rollback;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [
        loops::tests(),
        artifact::tests(),
        rights::tests(),
        drift::tests(),
        leader::tests(),
        report::tests(),
        rollback::tests(),
        input_providers::tests(),
    ]
    .concat()
}
