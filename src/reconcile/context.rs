//! What is handed from step to step of a run.

use super::interrupt::Interrupts;
use super::progress::Progress;
use crate::cluster::Cluster;

/// What every step of a run works with.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    pub cluster: &'a Cluster,
    /// Field managers to take over besides the usual ones.
    pub extra_managers: &'a [String],
    /// Requests at a time.
    pub concurrency: usize,
    pub interrupts: &'a Interrupts,
    pub progress: &'a dyn Progress,
}
