//! Applies an object that the operator in the cluster then reconciles, and follows it until it is ready.

use std::future::Future;

use flux_operator::cluster::ApplyResult;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::request::AbsencePolicy;
use serde_json::Value;

use crate::flows::follow::{FollowedObject, uid_of, until_ready};
use crate::flows::operator::{refused_without_operator, report_unwatched};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::progress::ProgressMode;
use crate::terminal::{CliError, Exit};

/// The flags of an apply that the operator completes.
pub struct ThroughOperator {
    /// Whether the API server only checks the object.
    pub dry_run: bool,
    pub wait: bool,
    pub progress: ProgressMode,
    /// The same command line, for a cluster without an operator; `--in-process` is added to it.
    pub command: String,
}

impl ThroughOperator {
    /// Runs `apply`, which returns the stored object, and follows the object if `wait` is set.
    ///
    /// # Errors
    /// Any error of `apply`, of the lookup of the operator, or of the followed object.
    pub async fn carry_out(
        self,
        session: &Session<'_>,
        target: Target,
        apply: impl Future<Output = Result<(ApplyResult, Value), CliError>>,
    ) -> Result<Exit, CliError> {
        let here = format!("{} --in-process", self.command);
        let (coverage, applied) = if self.wait && !self.dry_run {
            let coverage = session.operator_coverage(&target).await?;
            if coverage.is_missing() {
                refuse_where_served(session, &target, &coverage, &here).await?;
            }
            (Ok(coverage), apply.await)
        } else {
            futures::join!(session.operator_coverage(&target), apply)
        };
        let (result, stored) = match applied {
            Ok(applied) => applied,
            Err(error) => return Err(session.with_nearest_namespace(error, &target.namespace).await),
        };
        let coverage = coverage?;
        let prefix = if self.dry_run { "(server dry run) " } else { "" };
        session.shell.status(&format!("{prefix}► {} {}", session.place(&target.reference()), result.as_str()));
        if self.dry_run {
            return Ok(Exit::Done);
        }
        let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
        // From here on an interrupt leaves a stored object behind.
        session.shell.interruption().set("the object is stored, and the operator continues with it", Some(resume));
        if coverage.is_missing() {
            return report_unwatched(session, &target, &coverage, &here, self.wait);
        }
        if !self.wait {
            return Ok(Exit::Done);
        }
        let (uid, namespace) = (uid_of(&stored), target.namespace.clone());
        let followed = [FollowedObject { target, request: None, absent: AbsencePolicy::Ends, uid }];
        let exit = until_ready(session, &followed, self.progress).await?;
        session.suggest("status", &namespace);
        Ok(exit)
    }
}

/// Refuses an apply that waits while no operator is running. If the API is not served, the apply itself reports that and
/// stores nothing.
async fn refuse_where_served(
    session: &Session<'_>,
    target: &Target,
    coverage: &OperatorCoverage,
    here: &str,
) -> Result<(), CliError> {
    let kind = target.kind;
    let is_served = async { Ok(session.cluster.served_resource_type(kind.group, kind.kind).await.is_ok()) };
    if !session.bounded("look for the API", is_served).await? {
        return Ok(());
    }
    let refused = refused_without_operator(session, target, "apply", coverage, here);
    Err(refused.hint("to only store it, for an operator that is installed later, add --wait=false"))
}
