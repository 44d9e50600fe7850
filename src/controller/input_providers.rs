//! The loop around the ResourceSetInputProviders of all namespaces.

use std::sync::Arc;
use std::time::Duration;

use flux_operator_providers::TokenCache;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};

use super::instance::notifications;
use super::kind_loop::{self, LoopScope, Worker};
use super::schedule::RunEnd;
use super::telemetry::ControllerKind;
use super::{Channels, SharedState};
use crate::api::kinds::INPUT_PROVIDER;
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::ObjectId;
use crate::reconcile::ReconcileError;
use crate::reconcile::input_provider::{self, ExportResult, InputProviderOptions, InputProviderOutcome};
use crate::reconcile::interrupt::Interrupts;

pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels, stop: watch::Receiver<bool>) {
    let scope = LoopScope {
        controller: ControllerKind::InputProvider,
        kind: INPUT_PROVIDER,
        namespace: None,
        options: ListOptions::default(),
        workers: shared.options.workers,
        // A schedule sets exact times, which jitter would miss.
        jitter: 0,
    };
    // No other part of the operator requests runs of input providers.
    let (_sender, requests) = mpsc::channel(1);
    let worker = ProviderWorker { cluster: cluster.clone(), shared: shared.clone(), channels, tokens: Arc::default() };
    kind_loop::follow(&cluster, &shared, scope, requests, stop, worker).await;
}

struct ProviderWorker {
    cluster: Cluster,
    shared: Arc<SharedState>,
    channels: Channels,
    tokens: Arc<TokenCache>,
}

impl Worker for ProviderWorker {
    // A call to a provider has its own deadline, so no interrupt ends it.
    fn begin(&mut self, id: &ObjectId, _: Interrupts, _: bool) -> BoxFuture<'static, RunEnd> {
        let (cluster, shared, tokens) = (self.cluster.clone(), self.shared.clone(), self.tokens.clone());
        Box::pin(reconcile(cluster, shared, self.channels.clone(), tokens, id.clone()))
    }
}

async fn reconcile(
    cluster: Cluster,
    shared: Arc<SharedState>,
    channels: Channels,
    tokens: Arc<TokenCache>,
    id: ObjectId,
) -> RunEnd {
    let instance = channels.instance.borrow().instance.clone();
    let options = InputProviderOptions {
        notifications: notifications(&shared, instance.as_deref()),
        proxy: shared.options.proxy.clone(),
        user_agent: format!("flux-operator/{}", shared.options.version),
        tokens,
        force: false,
        default_service_account: shared.options.default_service_account.clone(),
    };
    ended(input_provider::run(&cluster, &id, &options).await)
}

/// Logs the result of a run, and returns when the next run is due.
fn ended(outcome: Result<InputProviderOutcome, ReconcileError>) -> RunEnd {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // The watch reports the next change.
        Err(ReconcileError::InstanceGone { .. } | ReconcileError::BeingDeleted { .. }) => return RunEnd::Terminal,
        Err(ReconcileError::InstanceReplaced { .. }) => return RunEnd::Superseded,
        Err(error) => {
            tracing::error!(error = error.to_string(), "Reconciler error");
            return RunEnd::Failed;
        }
    };
    let InputProviderOutcome { result, message, inputs, warnings, next } = outcome;
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    match result {
        ExportResult::Exported { revision } => {
            tracing::info!(revision, inputs, "{message}");
            RunEnd::Done(next)
        }
        ExportResult::Skipped => {
            tracing::info!("{message}");
            RunEnd::Done(next)
        }
        ExportResult::Suspended => {
            tracing::error!(error = "can't reconcile input provider", "{message}");
            RunEnd::Terminal
        }
        ExportResult::Released => RunEnd::Done(None),
        ExportResult::Failed { retry_at } => {
            tracing::error!(error = message, inputs, "the inputs of the last export are kept");
            match retry_at
                .map(|at| Timestamp::now().duration_until(at))
                .and_then(|pause| Duration::try_from(pause).ok())
            {
                Some(pause) => RunEnd::FailedFor(pause),
                None => RunEnd::Failed,
            }
        }
        ExportResult::Stalled => {
            tracing::error!(error = format!("terminal error: {message}"), inputs, "Reconciler error");
            RunEnd::Terminal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(result: ExportResult, next: Option<Duration>) -> RunEnd {
        ended(Ok(InputProviderOutcome { result, message: String::new(), inputs: 0, warnings: vec![], next }))
    }

    #[test]
    fn a_failure_is_retried_when_the_service_answers_again_and_a_stalled_one_is_not() {
        let minute = Some(Duration::from_secs(60));
        assert_eq!(of(ExportResult::Skipped, minute), RunEnd::Done(minute));
        assert_eq!(of(ExportResult::Exported { revision: String::new() }, None), RunEnd::Done(None));
        assert_eq!(of(ExportResult::Failed { retry_at: None }, None), RunEnd::Failed);
        assert_eq!(of(ExportResult::Stalled, None), RunEnd::Terminal);
        assert_eq!(of(ExportResult::Suspended, minute), RunEnd::Terminal);
        let at = Timestamp::now().checked_add(jiff::SignedDuration::from_mins(30)).unwrap();
        let RunEnd::FailedFor(pause) = of(ExportResult::Failed { retry_at: Some(at) }, None) else {
            panic!("no pause")
        };
        assert!((1790..=1800).contains(&pause.as_secs()), "{pause:?}");
        let past = Timestamp::now().checked_sub(jiff::SignedDuration::from_mins(30)).unwrap();
        assert_eq!(of(ExportResult::Failed { retry_at: Some(past) }, None), RunEnd::Failed);
    }
}
