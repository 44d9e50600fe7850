//! The read side against a real control plane: what is shown, what is asked of the API server, and why things are not ready.

mod bundles;
mod causes;
mod changes;
mod logs;
mod reads;
mod table;
mod why;
pub mod world;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [why::tests(), causes::tests(), changes::tests(), bundles::tests(), logs::tests(), reads::tests(), table::tests()]
        .concat()
        .into_iter()
        .map(ClusterTest::that_installs)
        .collect()
}
