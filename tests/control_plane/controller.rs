//! The operator as a process against a real control plane.

mod drift;
mod leader;
mod loops;
mod operator;
mod rollback;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [loops::tests(), drift::tests(), leader::tests(), rollback::tests()].concat()
}
