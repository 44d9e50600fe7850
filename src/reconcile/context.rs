//! The context that the steps of a run share.

use super::interrupt::Interrupts;
use super::progress::Progress;
use crate::cluster::Cluster;

/// Inputs of every step of a run.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    pub cluster: &'a Cluster,
    /// Field managers to take over in addition to the usual ones.
    pub extra_managers: &'a [String],
    /// Number of concurrent requests.
    pub concurrency: usize,
    pub interrupts: &'a Interrupts,
    pub progress: &'a dyn Progress,
}
