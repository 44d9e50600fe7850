//! Commands that ask something of a cluster, as a person runs them: against a real API server, with the controller's
//! part played by the test.

mod closed_pipes;
pub mod cluster_objects;
mod debugging;
mod deleting;
mod fleet;
mod habits;
mod impact;
mod in_process;
mod owners;
pub mod rbac;
mod requests;
mod revisions;
pub mod stage;
mod terminal;
mod waiting;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [
        requests::tests(),
        rbac::tests(),
        fleet::tests(),
        habits::tests(),
        revisions::tests(),
        impact::tests(),
        owners::tests(),
        debugging::tests(),
        waiting::tests(),
        deleting::tests(),
        terminal::tests(),
        in_process::tests(),
        closed_pipes::tests(),
    ]
    .concat()
}
