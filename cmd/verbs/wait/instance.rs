//! `wait instance`: also checks for failures since the last reconciliation.

use flux_operator::inspect::diagnose::why::{Why, why};
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::views::components;

use crate::flows::rights::{
    EXPLAINS, KIND, LOOKS_AT_OPERATOR, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights, always, when,
};
use crate::session::Session;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::target::Target;
use crate::terminal::{CliError, Exit};

pub fn rights(name: &str, rights: &mut Rights) {
    rights.instance(name, &[always("get", KIND)]);
    rights.in_namespace(
        &rights.flux_namespace(),
        &[always("list", "deployments"), when("a controller is missing", "list", "pods")],
    );
    rights.everywhere(EXPLAINS);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
    rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
}

/// Judges a ready instance as `why` does, because its Ready condition is about the last run only.
pub async fn judge(session: &Session<'_>, target: &Target) -> Result<(), CliError> {
    let resource = target.kind.resource_type();
    let now = jiff::Timestamp::now();
    let judged = from_cluster::collect(&session.cluster, |snapshot| {
        // Requested together with the instance.
        let _ = components::deployments(snapshot, Some(&target.namespace));
        snapshot.get(&resource, Some(&target.namespace), &target.name).map(|instance| why(snapshot, instance, now))
    });
    let judged = session.bounded(&format!("look at the controllers of {}", target.reference()), judged).await?.value;
    let Some(Why { verdict, cause: Some(cause), .. }) = judged else { return Ok(()) };
    let exit = exit_of(verdict, VerdictUse::Wait);
    if exit == Exit::Done {
        return Ok(());
    }
    let why = session.command(&format!("why {}", target.words()), &target.namespace);
    Err(CliError::new(exit, format!("{} is {}", session.place(&target.reference()), verdict.as_str()))
        .cause(format!("its last reconciliation succeeded, and since then: {} ({})", cause.summary, cause.object))
        .object(target.reference())
        .hint(format!("see what to do with `{why}`")))
}
