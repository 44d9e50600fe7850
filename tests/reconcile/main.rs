//! The reconcile core against a real control plane: each test gets one of its own, because Flux is installed once per
//! cluster.

#[path = "../support/mod.rs"]
mod support;

mod drift;
mod health;
mod install;
mod kills;
mod planned;
mod proof;
mod uninstall;
mod upgrade;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = kills::run_as_child() {
        return exit;
    }
    support::run_tests(
        [
            install::tests(),
            drift::tests(),
            upgrade::tests(),
            health::tests(),
            uninstall::tests(),
            kills::tests(),
            proof::tests(),
            planned::tests(),
        ]
        .concat(),
    )
}
