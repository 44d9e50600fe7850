//! Limits the number of clusters that are asked at once, so that the process does not run out of file descriptors.

use crate::terminal::Shell;

/// Descriptors per cluster: for its event loop, its connections, and the pipes of a credential plugin.
const DESCRIPTORS_PER_CLUSTER: u64 = 12;
/// Descriptors for the rest of the process.
const DESCRIPTORS_OF_PROCESS: u64 = 24;

/// Returns the number of clusters to ask at once: the wanted number, or fewer if the limit of open files does not allow
/// it. The limit is raised first, as far as the system permits.
pub fn parallel(wanted: usize, shell: &Shell) -> usize {
    let possible = possible(raised_limit(wanted));
    if possible < wanted {
        shell.warn(&format!("asking {possible} clusters at once, not {wanted}: raise `ulimit -n` for more"));
    }
    wanted.min(possible)
}

/// Returns the number of clusters that a limit of open files allows; `None` if no limit applies.
fn possible(limit: Option<u64>) -> usize {
    let clusters = limit.map(|limit| limit.saturating_sub(DESCRIPTORS_OF_PROCESS) / DESCRIPTORS_PER_CLUSTER);
    clusters.map_or(usize::MAX, |clusters| usize::try_from(clusters).unwrap_or(usize::MAX).max(1))
}

#[cfg(unix)]
fn raised_limit(clusters: usize) -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // The fallback for a number that does not fit is small enough that this sum does not overflow.
    let wanted = DESCRIPTORS_OF_PROCESS
        + DESCRIPTORS_PER_CLUSTER * u64::try_from(clusters).unwrap_or(u64::MAX / DESCRIPTORS_PER_CLUSTER - 2);
    let current = limit.current.filter(|current| *current < wanted)?;
    let raised = limit.maximum.map_or(wanted, |most| most.min(wanted)).max(current);
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), ..limit }) {
        Ok(()) => Some(raised),
        Err(_) => Some(current),
    }
}

#[cfg(not(unix))]
fn raised_limit(_clusters: usize) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_clusters_follows_from_the_limit_of_open_files_and_is_at_least_one() {
        assert_eq!([None, Some(1024), Some(64), Some(3)].map(possible), [usize::MAX, 83, 3, 1]);
    }
}
