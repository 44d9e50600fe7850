//! The reconcile core against a real control plane: each test gets one of its own, because Flux is installed once per
//! cluster.

pub mod artifacts;
mod drift;
mod health;
mod install;
pub mod kills;
mod meanwhile;
mod planned;
mod proof;
mod resource_sets;
mod two_hands;
mod uninstall;
mod upgrade;
pub mod world;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [
        install::tests(),
        artifacts::tests(),
        drift::tests(),
        upgrade::tests(),
        health::tests(),
        uninstall::tests(),
        kills::tests(),
        proof::tests(),
        planned::tests(),
        meanwhile::tests(),
        two_hands::tests(),
        resource_sets::tests(),
    ]
    .concat()
}
