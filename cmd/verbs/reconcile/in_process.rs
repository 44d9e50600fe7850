//! `reconcile resource --in-process`: the work that the operator does on its own kinds, done here.

use std::sync::Arc;

use flux_operator::api::well_known::INSTANCE_NAME;
use flux_operator::reconcile::ReconcileError;
use flux_operator::reconcile::announce::{NotificationTarget, Notifications};
use flux_operator::reconcile::input_provider::{self, ExportResult, InputProviderOptions, InputProviderOutcome};
use flux_operator::reconcile::operator::{OperatorCoverage, find_coverage};
use flux_operator_providers::TokenCache;
use tokio::time::timeout_at;

use crate::flows::follow::suspended;
use crate::flows::operator::VERSION;
use crate::flows::rights::{FINDS_OPERATOR, KIND, Rights, always, when};
use crate::flows::run_in_process::{InProcessArgs, reconcile_error, refuse_beside_operator};
use crate::session::Session;
use crate::session::target::{ObjectSelection, Target};
use crate::terminal::{CliError, Exit, Shell, environment};

/// The rights of a run, in the namespaces of the providers.
pub fn rights(wanted: &ObjectSelection, rights: &mut Rights) {
    rights.wanted(wanted, &[always("get patch", KIND), always("patch", "KIND/status")]);
    let namespace = match wanted {
        ObjectSelection::Kinds { all_namespaces: true, .. } => None,
        _ => Some(rights.flux_namespace()),
    };
    let rows = [
        always("create", "events services/proxy"),
        when("the provider names a Secret", "get", "secrets"),
        when("the provider of a registry names a service account", "get", "serviceaccounts"),
        when("the provider exports ExternalArtifacts", "get list", "externalartifacts.source.toolkit.fluxcd.io"),
        when("it does so with a service account", "impersonate", "serviceaccounts"),
    ];
    match namespace {
        Some(namespace) => rights.in_namespace(&namespace, &rows),
        None => rights.everywhere(&rows),
    }
    rights.everywhere(FINDS_OPERATOR);
}

/// Reconciles input providers one after the other, and stops at the first failure.
pub fn run(args: &InProcessArgs, force: bool, wanted: ObjectSelection, shell: &Shell) -> Result<Exit, CliError> {
    if let Some(kind) = wanted.kinds().into_iter().find(|kind| kind.kind != "ResourceSetInputProvider") {
        args.refuse_for(kind)?;
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets_that(wanted, |target, object| !target.is_suspended(object)).await?;
        let options = InputProviderOptions {
            notifications: Some(Notifications {
                target: NotificationTarget::ServiceProxy,
                reporter: environment::host_name().unwrap_or_default(),
                patience: std::time::Duration::from_secs(3),
            }),
            proxy: environment::proxy(),
            user_agent: format!("flux-operator/{VERSION}"),
            tokens: Arc::new(TokenCache::new()),
            force,
            default_service_account: None,
        };
        for target in &targets {
            refuse_beside_any_operator(&session, args, target).await?;
            reconcile(&session, target, &options).await?;
        }
        Ok(Exit::Done)
    })
}

/// Refuses to work beside any running operator, because it reconciles the input providers of all namespaces.
async fn refuse_beside_any_operator(
    session: &Session<'_>,
    args: &InProcessArgs,
    target: &Target,
) -> Result<(), CliError> {
    let look = find_coverage(&session.cluster, &target.namespace, INSTANCE_NAME, jiff::Timestamp::now());
    let coverage = match session.bounded("look for an operator", look).await? {
        OperatorCoverage::OtherNamespace(operator) => OperatorCoverage::Watched(operator),
        other => other,
    };
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    refuse_beside_operator(session, args, &target.reference(), &coverage, &without)
}

async fn reconcile(session: &Session<'_>, target: &Target, options: &InputProviderOptions) -> Result<(), CliError> {
    let key = target.reference();
    let attempted = format!("reconcile {key}");
    let id = target.id();
    let work = input_provider::run(&session.cluster, &id, options);
    let work = timeout_at(session.deadline.instant(), session.shell.while_waiting(&attempted, work)).await;
    let outcome = match work.map_err(|_| session.out_of_time(&attempted))? {
        Ok(outcome) => outcome,
        // This look-up names similar objects in its error.
        Err(ReconcileError::InstanceGone { .. }) => return session.get(target).await.map(drop),
        Err(error) => return Err(reconcile_error(session, &error, "reconcile", &key)),
    };
    let InputProviderOutcome { result, message, inputs, warnings, .. } = outcome;
    warnings.iter().for_each(|warning| session.shell.warn(warning));
    match result {
        ExportResult::Exported { revision } => {
            session.shell.print(&format!("{key}: {message}, {inputs} inputs, revision {revision}\n"));
            Ok(())
        }
        ExportResult::Skipped => {
            session.shell.status("nothing was fetched: it is outside of the schedule; --force fetches anyway");
            session.shell.print(&format!("{key}: {message}\n"));
            Ok(())
        }
        ExportResult::Released => {
            session.shell.print(&format!("{key}: {message}\n"));
            Ok(())
        }
        ExportResult::Suspended => Err(suspended(session, target).await),
        ExportResult::Failed { .. } | ExportResult::Stalled => {
            let error = CliError::failed(format!("{key} failed")).cause(message).object(&key);
            Err(error.cause(format!("the {inputs} inputs of the last export are kept")))
        }
    }
}
