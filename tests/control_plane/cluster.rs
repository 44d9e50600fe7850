//! Reaching a cluster and writing secrets to it; the harness itself.

mod access;
mod api;
mod canary;
pub mod harness;
mod program;
mod secrets;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [access::tests(), api::tests(), canary::tests(), harness::tests(), secrets::tests()].concat()
}
