//! Maps a verdict about health to an exit code, for all commands.

use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::diagnose::next_step::NextStep;
use flux_operator::inspect::diagnose::why::is_installed;
use flux_operator::inspect::read::from_cluster;

use crate::output::next_step::Destination;
use crate::session::Session;
use crate::terminal::{CliError, Exit};

/// How a command uses a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictUse {
    /// The command judges the installation, like `status` and `why`.
    Judge,
    /// `check`, whose exit code for a failed check has always been 1.
    Check,
    /// The command waits for an object. If Flux is not installed, the object counts as missing.
    Wait,
    /// The command lists or writes objects regardless of their health.
    List,
}

/// Returns the exit code for a verdict.
pub fn exit_of(verdict: HealthVerdict, used: VerdictUse) -> Exit {
    match (verdict, used) {
        (HealthVerdict::Failing, VerdictUse::List) => Exit::Done,
        (HealthVerdict::Failing, VerdictUse::Check) => Exit::Failed,
        (HealthVerdict::Failing, VerdictUse::Judge | VerdictUse::Wait) => Exit::Unhealthy,
        // The verdict is unknown if the user may not read the objects that decide it.
        (HealthVerdict::Unknown, _) => Exit::Denied,
        (HealthVerdict::NotInstalled, VerdictUse::Wait) => Exit::NotFound,
        (HealthVerdict::NotInstalled, _) => Exit::ApiMissing,
        (
            HealthVerdict::Ready | HealthVerdict::Suspended | HealthVerdict::NotStarted | HealthVerdict::InProgress,
            _,
        ) => Exit::Done,
    }
}

/// Returns the error of a command that needs Flux on a cluster without it.
pub fn not_installed(place: &str, destination: &Destination) -> CliError {
    let exit = exit_of(HealthVerdict::NotInstalled, VerdictUse::List);
    CliError::new(exit, format!("Flux is not installed in {place}"))
        .hint(format!("install it with `{}`", destination.command(&NextStep::ApplyInProcess)))
}

/// Whether Flux is not installed at all; `false` if the user may not read everything that would show it.
pub async fn is_without_flux(session: &Session<'_>) -> bool {
    let looked = from_cluster::collect(&session.cluster, is_installed).await;
    looked.is_ok_and(|looked| looked.refusals.is_empty() && !looked.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_has_one_exit_code_for_each_use() {
        let codes = |verdict| {
            [VerdictUse::Judge, VerdictUse::Check, VerdictUse::Wait, VerdictUse::List]
                .map(|used| exit_of(verdict, used).code_and_category().0)
        };
        for well in
            [HealthVerdict::Ready, HealthVerdict::Suspended, HealthVerdict::NotStarted, HealthVerdict::InProgress]
        {
            assert_eq!(codes(well), [0, 0, 0, 0], "{well:?}");
        }
        assert_eq!(codes(HealthVerdict::Failing), [7, 1, 7, 0]);
        assert_eq!(codes(HealthVerdict::Unknown), [5, 5, 5, 5]);
        assert_eq!(codes(HealthVerdict::NotInstalled), [4, 4, 3, 4]);
    }
}
