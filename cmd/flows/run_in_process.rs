//! Runs of the reconcile core in this process: progress, interrupts, the deadline, and the result.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use flux_operator::api::FluxInstance;
use flux_operator::api::kinds::FluxKind;
use flux_operator::api::lease::TERMINAL_IDENTITY_PREFIX;
use flux_operator::api::manifest::InstanceManifest;
use flux_operator::cluster::Cluster;
use flux_operator::cluster::lease::{self, LeaseError};
use flux_operator::distribution::Distribution;
use flux_operator::fetch::{FetchError, Fetcher, Source};
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::interrupt::{self, Interrupt};
use flux_operator::reconcile::operator::{Operator, OperatorCoverage, OperatorPresence};
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::{Action, Stage, Update, report_retries};
use flux_operator::reconcile::{
    self, Consent, Distributions, Failure, NewSpec, Outcome, Plan, PlanOptions, ReconcileError, ResourceSetPlan,
    RunOptions, fold_errors,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::flows::follow::{state_of, suspended};
use crate::flows::operator::restart;
use crate::output::hints;
use crate::output::{counted, objects};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::registries;
use crate::session::registries::SourceArgs;
use crate::session::target::{Target, instance_kind};
use crate::terminal::confirm::{
    Agreement, ConfirmArgs, agree_by_default, can_ask, check_consent, check_named_context, confirm, protection,
};
use crate::terminal::progress::{Progress, ProgressMode, State};
use crate::terminal::{CliError, Exit, SILENCE, Shell, environment, interrupted};

/// Flags of every command that can do the operator's work in this process.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct InProcessArgs {
    /// Do the operator's work in this process, without an operator in the
    /// cluster
    #[arg(long, default_value_if("force_in_process", "true", "true"))]
    pub in_process: bool,
    /// Work in this process even though an operator is running
    #[arg(long)]
    pub force_in_process: bool,
}

impl InProcessArgs {
    /// Refuses `--in-process` for a kind that the operator does not reconcile.
    ///
    /// # Errors
    /// Usage.
    pub fn refuse_for(&self, kind: &FluxKind) -> Result<(), CliError> {
        if !self.in_process {
            return Ok(());
        }
        Err(CliError::usage(format!("--in-process replaces the operator, which does not reconcile {}", kind.plural)))
    }
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct DistributionArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Accept minor versions that this program does not know
    #[arg(long)]
    pub allow_unknown_minor: bool,
    /// Fail on patches without effect and on images without digest
    #[arg(long)]
    pub strict: bool,
}

impl DistributionArgs {
    pub fn is_given(&self) -> bool {
        self.strict || self.allow_unknown_minor || self.source.is_given()
    }

    fn plan_options(&self) -> PlanOptions {
        PlanOptions { strict: self.strict, allow_unknown_minor: self.allow_unknown_minor, ..PlanOptions::default() }
    }

    /// Opens the distribution of the flag. Without the flag, the run fetches the distribution of the instance.
    pub async fn open(&self, shell: &Shell) -> Result<Box<dyn Distributions>, CliError> {
        match &self.source.distribution {
            Some(_) => Ok(Box::new(self.source.open(shell, None).await?)),
            None if self.source.verify_key.is_some() => {
                Ok(Box::new(VerifiedFetcher(self.source.fetcher(shell).await?)))
            }
            None => Ok(Box::new(self.source.fetcher(shell).await?)),
        }
    }
}

/// Requires verified artifacts: an instance without an artifact is refused, because the key would verify nothing.
struct VerifiedFetcher(Fetcher);

impl Distributions for VerifiedFetcher {
    fn fetch<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
    ) -> BoxFuture<'a, Result<Distribution, FetchError>> {
        match instance.artifact() {
            None => self.0.fetch(&Source::Embedded).boxed(),
            Some(_) => Distributions::fetch(&self.0, cluster, instance),
        }
    }

    fn fetch_last_good<'a>(
        &'a self,
        cluster: &'a Cluster,
        instance: &'a FluxInstance,
        now: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Distribution>, FetchError>> {
        self.0.fetch_last_good(cluster, instance, now)
    }
}

/// Whether this process does the operator's work: if the flag is set; or if no operator is installed, and either the
/// configuration allows it or the user at the terminal confirms. A script without the flag and the configuration gets
/// an error from its command, which names the flag.
///
/// # Errors
/// The lookup fails, or the answer cannot be read.
pub async fn is_done_here(session: &Session<'_>, args: &InProcessArgs, target: &Target) -> Result<bool, CliError> {
    let shell = session.shell;
    let is_configured = shell.config().in_process;
    if args.in_process || !(is_configured || can_ask(shell)) {
        return Ok(args.in_process);
    }
    if session.operator_coverage(target).await? != OperatorCoverage::NotInstalled {
        return Ok(false);
    }
    if is_configured {
        shell.status("no operator in this cluster: reconciling from this process (inProcess of the configuration)");
        return Ok(true);
    }
    agree_by_default("No operator in this cluster. Reconcile from this terminal").await
}

/// Refuses to work beside a running operator, before a write would trigger it.
pub fn refuse_beside_operator(
    session: &Session<'_>,
    args: &InProcessArgs,
    reference: &str,
    coverage: &OperatorCoverage,
    without: &str,
) -> Result<(), CliError> {
    match coverage {
        _ if args.force_in_process => Ok(()),
        OperatorCoverage::Watched(operator) => Err(refused(session, reference)
            .cause(format!("the operator in namespace {} is running: {}", operator.namespace, operator.state))
            .hint(format!("let the operator reconcile with `{without}`, or add --force-in-process"))),
        OperatorCoverage::NotRunning(operator) => refused_by_silent(session, reference, operator).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

/// Like [`refuse_beside_operator`], for a dry run: the run itself checks under its lease.
pub async fn refuse_beside_running_operator(
    session: &Session<'_>,
    args: &InProcessArgs,
    target: &Target,
    without: &str,
) -> Result<(), CliError> {
    let coverage = session.operator_coverage(target).await?;
    refuse_beside_operator(session, args, &target.reference(), &coverage, without)
}

fn refused(session: &Session<'_>, reference: &str) -> CliError {
    CliError::failed(format!("cannot work on {} in this process", session.place(reference))).object(reference)
}

/// Returns the refusal beside a stalled operator, which could continue at any moment.
fn refused_by_silent(session: &Session<'_>, reference: &str, operator: &Operator) -> Option<CliError> {
    let OperatorPresence::Silent(deployment) = &operator.presence else { return None };
    let error = refused(session, reference).cause(OperatorCoverage::NotRunning(operator.clone()).to_string());
    Some(error.hint(format!("{}, or add --force-in-process", restart(session, deployment))))
}

/// Options of a run from this terminal.
pub fn options(args: &InProcessArgs, distribution: &DistributionArgs) -> RunOptions {
    let host = environment::host_name().unwrap_or_else(|| "terminal".to_owned());
    let mut options = RunOptions::in_process(lease::unique_identity(&format!(
        "{TERMINAL_IDENTITY_PREFIX}{host}_{}",
        std::process::id()
    )));
    if let Some(lease) = &mut options.lease {
        lease.force = args.force_in_process;
        // Wait out the lease: a run from another terminal ends soon, and the lease of a killed run expires.
        lease.wait = lease.duration + Duration::from_secs(5);
    }
    options.force = args.force_in_process;
    options.plan = distribution.plan_options();
    options
}

/// Limit for an interrupted run to write its status and release the lease.
const INTERRUPT_GRACE: Duration = Duration::from_secs(10);

/// A run of the core from this terminal.
pub struct RunRequest<'a> {
    pub session: &'a Session<'a>,
    pub mode: ProgressMode,
    pub target: &'a Target,
    /// The verb in error messages: `apply`.
    pub verb: &'a str,
    /// The command line that completes an interrupted run.
    pub again: &'a str,
    /// The command line that leaves the work to an operator.
    pub without: &'a str,
}

impl RunRequest<'_> {
    fn key(&self) -> String {
        self.target.reference()
    }

    /// Converts an error of the core to the messages and exit codes of the command line.
    async fn error(&self, error: &ReconcileError) -> CliError {
        match error {
            ReconcileError::OperatorAlive { operator } => {
                let hint = format!("let the operator reconcile with `{}`, or add --force-in-process", self.without);
                refused(self.session, &self.key()).cause(format!("an operator is running: {operator}")).hint(hint)
            }
            // This lookup names similar objects in its error.
            ReconcileError::InstanceGone { .. } => self.missing(error).await,
            // An apply may create the object, so only its namespace is missing.
            _ if is_namespace_missing(error) && self.verb == "apply" => {
                let failure = reconcile_error(self.session, error, self.verb, &self.key());
                self.session.with_nearest_namespace(failure, &self.target.namespace).await
            }
            _ if is_namespace_missing(error) => self.missing(error).await,
            ReconcileError::InstanceSuspended { .. } => suspended(self.session, self.target).await,
            _ => reconcile_error(self.session, error, self.verb, &self.key()),
        }
    }

    async fn missing(&self, error: &ReconcileError) -> CliError {
        match self.session.get(self.target).await {
            Err(missing) => missing,
            Ok(_) => reconcile_error(self.session, error, self.verb, &self.key()),
        }
    }
}

/// Runs the core: `work` gets the options and a listener. Ctrl-C, SIGTERM and the deadline end it in an orderly way.
///
/// # Errors
/// 130 when interrupted and 7 at the deadline, with the work that was done and how to resume. The caller reports an
/// error of the core.
async fn run_with_deadline<T>(
    request: &RunRequest<'_>,
    mut options: RunOptions,
    work: impl AsyncFn(&Cluster, &RunOptions, &Listener) -> Result<T, ReconcileError>,
) -> Result<Result<T, ReconcileError>, CliError> {
    let RunRequest { session, mode, again, .. } = request;
    let key = request.key();
    let (stop, interrupts) = interrupt::channel();
    options.interrupts = interrupts;
    // Health checks end before the deadline, which leaves time to record that the objects are not ready.
    let left = session.deadline.left();
    let reserve = (left / 10).min(Duration::from_secs(2));
    options.health_deadline = Some(session.deadline.instant() - reserve);
    // A run that exceeds its own deadline is stopped, with time left to record the result.
    let soft_end = session.deadline.instant() - reserve / 2;
    let listener = Listener::new(Progress::new(session.shell, *mode), &key, session.place(&request.target.reference()));
    let result = {
        let work = async |cluster: &Cluster| work(cluster, &options, &listener).await;
        let mut run = Box::pin(report_retries(&session.cluster, &listener, work));
        let stopped = tokio::select! {
            result = &mut run => Ok(result),
            () = interrupted() => Err(true),
            () = sleep_until(soft_end) => Err(false),
        };
        match stopped {
            Ok(result) => Ok(result),
            Err(by_user) => {
                let stage = listener.stage();
                let why = if by_user {
                    "interrupted".to_owned()
                } else {
                    format!("the time-out of {}", session.deadline.length())
                };
                stop.send_replace(Some(Interrupt::Stop(why)));
                // The run waits for answers in flight, writes its status and releases the lease; a second Ctrl-C skips
                // that.
                let hard_end = if by_user { Instant::now() + INTERRUPT_GRACE } else { session.deadline.instant() };
                let ended = tokio::select! {
                    result = timeout_at(hard_end, &mut run) => result.ok(),
                    () = interrupted() => None,
                };
                match ended {
                    // The run completed before it noticed the deadline.
                    Some(Ok(result)) if !by_user => Ok(Ok(result)),
                    other => {
                        Err((by_user, listener.done_until(stage, session.shell.interruption().has_written()), other))
                    }
                }
            }
        }
    };
    listener.clear();
    let (by_user, done, ended) = match result {
        Ok(result) => return Ok(result),
        Err(stopped) => stopped,
    };
    // The run failed for another reason, which explains more than the deadline.
    if let Some(Err(error)) = ended
        && !by_user
        && !matches!(error, ReconcileError::Stopped(_))
    {
        return Ok(Err(error));
    }
    let (exit, message) = if by_user {
        (Exit::Interrupted, format!("interrupted: {done}"))
    } else {
        (Exit::Unhealthy, format!("timed out after {}: {done}", session.deadline.length()))
    };
    let mut error = CliError::new(exit, message).object(&key);
    // If the time ends before the status is written, the status does not name the missing objects.
    if !by_user {
        for (object, lacks) in &lock(&listener.state).waiting {
            error = error.cause(format!("{object} is not ready: {lacks}"));
        }
    }
    Err(error.hint(format!("the next run completes it: `{again}`")))
}

/// Runs the core and prints the result. Asks before custom resources are deleted with their definitions, and in a
/// protected context also before objects are pruned or a version is downgraded. Scripts need `yes`.
///
/// # Errors
/// 1 when the user declines; then nothing was done. Otherwise the result of the run.
pub async fn reconcile_here(
    request: &RunRequest<'_>,
    mut options: RunOptions,
    confirmation: &ConfirmArgs,
    work: impl AsyncFn(&Cluster, &RunOptions, &Listener) -> Result<Outcome, ReconcileError>,
) -> Result<Exit, CliError> {
    let shell = request.session.shell;
    let context = request.session.cluster.endpoint.context.as_deref();
    check_named_context(confirmation, context, request.verb)?;
    let mut confirmation = confirmation.clone();
    if protection(shell, context).is_some() && confirmation.confirm_context.is_none() {
        options.consent = Consent::Nothing;
    }
    let mut renewed = None;
    // The next run may be refused for another loss, so each refusal is confirmed separately.
    loop {
        let session = renewed.as_ref().unwrap_or(request.session);
        let request = RunRequest { session, ..*request };
        let refused = match run_with_deadline(&request, options.clone(), &work).await? {
            Ok(outcome) => {
                let exit = print_outcome(&request, &outcome).await?;
                let is_change = request.verb != "reconcile" && request.target.kind.kind == instance_kind().kind;
                if exit == Exit::Done && is_change {
                    session.suggest("status", &request.target.namespace);
                }
                return Ok(exit);
            }
            Err(refused) => refused,
        };
        let Some((consent, lost, question)) = loss(&refused) else { return Err(request.error(&refused).await) };
        agree_to_lose(&request, &confirmation, &lost, &question).await?;
        options.consent = consent;
        if let ReconcileError::CustomResourcesLost { definitions } = &refused {
            // Never delete more than was shown.
            options.agreed = Some(definitions.iter().map(|(id, lost)| (id.clone(), lost.count)).collect());
        }
        // The user has typed the context, so later questions do not ask for it again.
        confirmation.confirm_context = context.map(str::to_owned);
        // The user's answer must not count against the time-out.
        renewed = Some(session.with_new_deadline());
    }
}

/// Returns the losses of a refused run: the required consent, each loss, and the question.
fn loss(refused: &ReconcileError) -> Option<(Consent, Vec<String>, String)> {
    match refused {
        ReconcileError::CustomResourcesLost { definitions } => {
            let lines = definitions.iter().map(|(definition, lost)| format!("{lost} with {definition}"));
            Some((Consent::CustomResources, lines.collect(), LOSE_CUSTOM_RESOURCES.to_owned()))
        }
        ReconcileError::Destructive { pruned, downgrade, .. } => {
            Some((Consent::Pruned, losses(pruned, downgrade.as_ref()), LOSE.to_owned()))
        }
        _ => None,
    }
}

const LOSE: &str = "lose this";
const LOSE_CUSTOM_RESOURCES: &str = "delete these custom resources with their CRDs";

/// Refuses a dry run where [`reconcile_here`] would refuse the run for lack of agreement.
///
/// # Errors
/// 1 when something would be lost, the flags do not agree to it, and there is no terminal to ask on.
pub fn check_losses(request: &RunRequest<'_>, confirmation: &ConfirmArgs, plan: &Plan) -> Result<(), CliError> {
    let shell = request.session.shell;
    let context = request.session.cluster.endpoint.context.as_deref();
    check_named_context(confirmation, context, request.verb)?;
    let is_protected = protection(shell, context).is_some() && confirmation.confirm_context.is_none();
    let destroyed = losses(&plan.pruned(), plan.downgrade().as_ref());
    let taken = plan.lost_custom_resources().map(|(definition, lost)| format!("{lost} with {definition}"));
    let taken: Vec<String> = taken.collect();
    let (lines, question) = match (is_protected && !destroyed.is_empty(), taken.is_empty()) {
        (true, _) => (destroyed, LOSE),
        (false, false) => (taken, LOSE_CUSTOM_RESOURCES),
        (false, true) => return Ok(()),
    };
    check_consent(shell, confirmation, context, question)
        .map_err(|error| without_agreement(request, confirmation, &lines, error))
}

fn losses(pruned: &[ObjectId], downgrade: Option<&(String, String)>) -> Vec<String> {
    let downgrade = downgrade.map(|(from, to)| format!("Flux {from}: {to} is older"));
    downgrade.into_iter().chain(pruned.iter().map(ToString::to_string)).collect()
}

/// Asks, in a protected context, before storing an instance for which its operator would prune objects or downgrade.
///
/// # Errors
/// 1 when the user declines; the error of `plan` when the losses are unknown. Nothing is stored in either case.
pub async fn agree_to_store(
    session: &Session<'_>,
    manifest: &InstanceManifest,
    args: &DistributionArgs,
    confirmation: &ConfirmArgs,
    mode: ProgressMode,
    is_dry: bool,
) -> Result<(), CliError> {
    let context = session.cluster.endpoint.context.as_deref();
    check_named_context(confirmation, context, "apply")?;
    let protected = context.zip(protection(session.shell, context)).filter(|_| confirmation.confirm_context.is_none());
    let Some((name, pattern)) = protected else { return Ok(()) };
    let target = Target::of_instance(&manifest.instance);
    let plan = match plan(session, &target, Some(manifest), args, mode).await {
        Ok(plan) => plan,
        // Without the API there is no instance, so nothing can be lost.
        Err(error) if error.exit() == Exit::ApiMissing => return Ok(()),
        Err(error) => {
            return Err(error.hint(format!(
                "the context {name} is protected ({pattern}), and this command cannot determine what would be lost: add --confirm-context {name} to proceed"
            )));
        }
    };
    let lost = losses(&plan.pruned(), plan.downgrade().as_ref());
    if lost.is_empty() {
        return Ok(());
    }
    let request = RunRequest { session, mode, target: &target, verb: "apply", again: "", without: "" };
    if is_dry {
        return check_consent(session.shell, confirmation, context, LOSE)
            .map_err(|error| without_agreement(&request, confirmation, &lost, error));
    }
    agree_to_lose(&request, confirmation, &lost, LOSE).await
}

/// Reads the instance that a manifest would replace.
///
/// # Errors
/// The manifest would be a second instance, which a run in this process refuses as well; any failure of the requests.
pub async fn read_unless_second(session: &Session<'_>, manifest: &InstanceManifest) -> Result<Option<Value>, CliError> {
    let target = Target::of_instance(&manifest.instance);
    let attempted = format!("apply {}", session.place(&target.reference()));
    let live = session.bounded(&attempted, session.cluster.read(&target.id())).await?;
    let stored = live.clone().and_then(|live| FluxInstance::from_object(live).ok());
    let look = reconcile::refuse_second_instance(&session.cluster, stored.as_ref().unwrap_or(&manifest.instance));
    let look = session.shell.while_waiting(&attempted, look);
    let refused = timeout_at(session.deadline.instant(), look).await.map_err(|_| session.out_of_time(&attempted))?;
    refused.map_err(|error| reconcile_error(session, &error, "apply", &target.reference()))?;
    Ok(live)
}

async fn agree_to_lose(
    request: &RunRequest<'_>,
    confirmation: &ConfirmArgs,
    lines: &[String],
    question: &str,
) -> Result<(), CliError> {
    let shell = request.session.shell;
    for line in lines {
        shell.status(&format!("would be lost: {line}"));
    }
    if *request.target.kind == *instance_kind() {
        shell.status("Workloads that Flux deployed keep running.");
    }
    let question = format!("{question} from {}", request.session.cluster.endpoint);
    let context = request.session.cluster.endpoint.context.as_deref();
    let agreed = shell.interruptible(confirm(shell, confirmation, context, &question, Agreement::Yes)).await;
    agreed.map_err(|error| without_agreement(request, confirmation, lines, error))
}

/// Turns the error of a missing agreement into that of the run; returns any other error unchanged.
fn without_agreement(
    request: &RunRequest<'_>,
    confirmation: &ConfirmArgs,
    lines: &[String],
    error: CliError,
) -> CliError {
    let shell = request.session.shell;
    let context = request.session.cluster.endpoint.context.as_deref();
    match error.exit() {
        // `confirm` reports a missing terminal as wrong usage. Here the reader also needs to know what would be lost.
        Exit::Usage => {
            let refused = CliError::failed(format!("cannot {} {}", request.verb, request.key())).object(request.key());
            let refused = lines.iter().fold(refused, |refused, line| refused.cause(format!("it would delete {line}")));
            let refused =
                refused.cause("confirmation is required, and there is no terminal to ask on; nothing was done");
            let named = confirmation.confirm_context.is_some();
            match protection(shell, context).zip(context).filter(|_| !named) {
                // `--yes` does not confirm a context that the configuration protects.
                Some((pattern, name)) => refused.hint(format!(
                    "the context {name} is protected ({pattern}): repeat the command with --confirm-context {name} --yes"
                )),
                None => refused.hint("repeat the command with --yes to go ahead"),
            }
        }
        _ => error,
    }
}

/// Uninstalls an instance, or deletes the objects of a ResourceSet, with the core.
///
/// # Errors
/// As [`reconcile_here`].
pub async fn clean_up_here<T>(
    request: &RunRequest<'_>,
    options: RunOptions,
    work: impl AsyncFn(&Cluster, &RunOptions, &Listener) -> Result<T, ReconcileError>,
) -> Result<T, CliError> {
    match run_with_deadline(request, options, work).await? {
        Ok(done) => Ok(done),
        Err(error) => Err(request.error(&error).await),
    }
}

/// Makes a plan with progress: of the manifest, or of the stored instance. Nothing is written, so an interrupt just
/// ends it.
pub async fn plan(
    session: &Session<'_>,
    target: &Target,
    manifest: Option<&InstanceManifest>,
    args: &DistributionArgs,
    mode: ProgressMode,
) -> Result<Plan, CliError> {
    let work =
        async |cluster: &Cluster, distributions: &dyn Distributions, options: &PlanOptions, listener: &Listener| {
            match manifest {
                Some(manifest) => reconcile::plan_for(cluster, manifest, distributions, options, listener).await,
                None => reconcile::plan(cluster, &target.id(), distributions, options, listener).await,
            }
        };
    make_plan(session, target, args, mode, work).await
}

/// Plans the stored instance with another spec.
pub async fn plan_with_spec(
    session: &Session<'_>,
    target: &Target,
    new: NewSpec<'_>,
    args: &DistributionArgs,
    mode: ProgressMode,
) -> Result<Plan, CliError> {
    let work =
        async |cluster: &Cluster, distributions: &dyn Distributions, options: &PlanOptions, listener: &Listener| {
            reconcile::plan_with_spec(cluster, &target.id(), new, distributions, options, listener).await
        };
    make_plan(session, target, args, mode, work).await
}

async fn make_plan(
    session: &Session<'_>,
    target: &Target,
    args: &DistributionArgs,
    mode: ProgressMode,
    plan: impl AsyncFn(&Cluster, &dyn Distributions, &PlanOptions, &Listener) -> Result<Plan, ReconcileError>,
) -> Result<Plan, CliError> {
    let options = args.plan_options();
    let distributions = session.shell.interruptible(args.open(session.shell)).await?;
    let work =
        async |cluster: &Cluster, listener: &Listener| plan(cluster, distributions.as_ref(), &options, listener).await;
    planned(session, target, mode, work).await
}

/// Makes the plan of a ResourceSet: of the manifest, or of the one in the cluster.
pub async fn plan_resource_set(
    session: &Session<'_>,
    target: &Target,
    written: Option<&Value>,
    options: &RunOptions,
    mode: ProgressMode,
) -> Result<ResourceSetPlan, CliError> {
    let work = async |cluster: &Cluster, listener: &Listener| match written {
        Some(written) => reconcile::plan_written_resource_set(cluster, written, options, listener).await,
        None => reconcile::plan_resource_set(cluster, &target.id(), options, listener).await,
    };
    planned(session, target, mode, work).await
}

/// Does work that only reads, with progress, until the deadline or an interrupt.
async fn planned<T>(
    session: &Session<'_>,
    target: &Target,
    mode: ProgressMode,
    work: impl AsyncFn(&Cluster, &Listener) -> Result<T, ReconcileError>,
) -> Result<T, CliError> {
    let request = RunRequest { session, mode, target, verb: "plan", again: "", without: "" };
    let key = request.key();
    let listener = Listener::new(Progress::new(session.shell, mode), &key, session.place(&target.reference()));
    let result = session.shell.interruptible(async {
        let work = async |cluster: &Cluster| work(cluster, &listener).await;
        let work = report_retries(&session.cluster, &listener, work);
        let work = timeout_at(session.deadline.instant(), work);
        let server = session.cluster.endpoint.to_string();
        let planned = tokio::select! {
            planned = work => planned,
            never = listener.print_waiting_message(&server) => match never {},
        };
        match planned {
            Ok(Ok(plan)) => Ok(plan),
            Ok(Err(error)) => Err(request.error(&error).await),
            Err(_) => Err(session.out_of_time(&format!("plan {key}"))),
        }
    });
    let result = result.await;
    listener.clear();
    result
}

/// `4 to create, 1 to configure, 27 unchanged, 1 to prune`.
pub fn plan_counts(plan: &Plan) -> String {
    step_counts(|step| plan.count(step))
}

/// Like [`plan_counts`], from the number of objects at each step.
pub fn step_counts(count: impl Fn(Step) -> usize) -> String {
    let words = [
        (Step::Create, "to create"),
        (Step::Configure, "to configure"),
        (Step::Recreate, "to recreate"),
        (Step::Unchanged, "unchanged"),
        (Step::Prune, "to prune"),
        (Step::Skip, "kept from pruning"),
    ];
    let counts = words.into_iter().map(|(step, word)| (count(step), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    if counts.is_empty() { "nothing to do".to_owned() } else { counts.join(", ") }
}

/// Parses an instance that was read.
pub fn instance_of(object: Value) -> Result<FluxInstance, CliError> {
    FluxInstance::from_object(object)
        .map_err(|e| CliError::failed("cannot read the fields of the FluxInstance in the cluster").caused_by(&e))
}

/// Prints the result of a run.
async fn print_outcome(request: &RunRequest<'_>, outcome: &Outcome) -> Result<Exit, CliError> {
    let session = request.session;
    let key = &request.key();
    let look = session.command_to_show(request.target);
    for warning in &outcome.warnings {
        session.shell.warn(warning);
    }
    let count = |action: Action| outcome.changes.iter().filter(|change| change.action == action).count();
    let counts: Vec<String> = [Action::Created, Action::Configured, Action::Deleted, Action::Skipped]
        .into_iter()
        .map(|action| (count(action), action.as_str()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if !counts.is_empty() {
        session.shell.status(&format!("objects: {}", counts.join(", ")));
    }
    if !outcome.migrated.is_empty() {
        let migrated = counted(outcome.migrated.len(), "CRD");
        session.shell.status(&format!("stored objects of {migrated} migrated to their newest version"));
    }
    let Some(failure) = &outcome.failure else {
        session.shell.print(&format!("{key}: {}\n", crate::terminal::progress::one_line(&outcome.message)));
        return Ok(Exit::Done);
    };
    if let Failure::Suspended = failure {
        return Err(suspended(session, request.target).await);
    }
    let exit = match failure {
        // A user's interrupt was reported before, so this is the deadline.
        Failure::Unhealthy { .. } | Failure::RolledBack { .. } | Failure::Interrupted(_) => Exit::Unhealthy,
        Failure::Call(error) => cli_error(error).exit(),
        Failure::Apply(errors) => errors.first().map_or(Exit::Failed, |e| cli_error(&e.source).exit()),
        Failure::Artifact(error) => registries::exit_of_fetch(error),
        Failure::Build(_) | Failure::Prune(_) | Failure::ResourceSet(_) | Failure::Suspended => Exit::Failed,
    };
    let mut error = CliError::new(exit, format!("{key} failed"));
    error = error.cause(format!("{}: {}", outcome.reason, outcome.message.trim_end())).object(key);
    if let Failure::Artifact(artifact) = failure {
        error = registries::with_fetch_hint(error, artifact);
    }
    if let Failure::Build(build) = failure
        && let Some(hint) = hints::of_build(build)
    {
        error = error.hint(hint);
    }
    if let Failure::Apply(errors) = failure {
        error = errors.iter().flat_map(|e| hints::of_cluster(&e.source.reason)).take(1).fold(error, CliError::hint);
    }
    Err(error.hint(format!("see its state with `{look}`")))
}

/// Converts errors of the core to the messages and exit codes of the command line.
pub fn reconcile_error(session: &Session<'_>, error: &ReconcileError, verb: &str, key: &str) -> CliError {
    let failed = || CliError::failed(format!("cannot {verb} {key}")).caused_by(error).object(key);
    match error {
        ReconcileError::Call(call) => cli_error(call),
        ReconcileError::Lease { source: LeaseError::Call(call), .. } => cli_error(call),
        ReconcileError::Lease { .. } => {
            failed().hint("wait until the other reconciler is done, or take over with --force-in-process")
        }
        ReconcileError::OperatorSilent { operator } => refused_by_silent(session, key, operator).unwrap_or_else(failed),
        ReconcileError::OperatorAlive { .. } => failed().hint("let the operator reconcile, or add --force-in-process"),
        ReconcileError::Artifact(artifact) => {
            let failed = failed().with_exit(registries::exit_of_fetch(artifact));
            registries::with_fetch_hint(failed, artifact)
        }
        ReconcileError::Build(build) => hints::of_build(build).into_iter().fold(failed(), CliError::hint),
        ReconcileError::Moved { .. } | ReconcileError::PlanOutdated { .. } => {
            failed().hint("make a new plan with `flux-operator plan instance --out FILE`")
        }
        ReconcileError::Refused(errors) => {
            let exit = errors.first().map_or(Exit::Failed, |e| cli_error(&e.source).exit());
            let failure =
                CliError::new(exit, format!("the API server refuses objects of {key} ({})", session.cluster.endpoint));
            let failure = fold_errors(errors).into_iter().fold(failure, CliError::cause);
            errors.iter().flat_map(|e| hints::of_cluster(&e.source.reason)).take(1).fold(failure, CliError::hint)
        }
        ReconcileError::SecondInstance { instance, other } => {
            let failure = failed().hint(format!(
                "change {other} instead, or uninstall it first: one Flux installation reconciles all namespaces"
            ));
            match other.namespace() {
                Some(namespace) if instance.name == other.name => {
                    failure.hint(format!("a manifest without a namespace is applied to it with -n {namespace}"))
                }
                _ => failure,
            }
        }
        ReconcileError::OwnedByOther { owner, .. } => failed()
            .hint(format!("change {owner} instead, or uninstall it first, which deletes the objects that it owns")),
        ReconcileError::BeingDeleted { .. } => {
            failed().hint("complete its deletion with `flux-operator uninstall instance --in-process`")
        }
        ReconcileError::StatusNotServed { .. } => {
            failed().hint("restore the CRD: delete it if no instance needs it; the next apply creates it again")
        }
        ReconcileError::InstanceMoved { .. } | ReconcileError::InstanceReplaced { .. } => {
            failed().hint("another process is changing it: check it, then repeat the command")
        }
        ReconcileError::CustomResourcesLost { .. } | ReconcileError::Destructive { .. } => {
            failed().hint("repeat the command with --yes to go ahead")
        }
        ReconcileError::LeaseLost { .. }
        | ReconcileError::NotEstablished { .. }
        | ReconcileError::InstanceGone { .. }
        | ReconcileError::InstanceSuspended { .. }
        | ReconcileError::InstanceUnreadable { .. }
        | ReconcileError::ResourceSet(_)
        | ReconcileError::Stopped(_) => failed(),
    }
}

/// Whether the namespace of the lease, and therefore of the instance, does not exist.
fn is_namespace_missing(error: &ReconcileError) -> bool {
    matches!(error, ReconcileError::Lease { source: LeaseError::Call(call), .. } if call.is_not_found())
}

/// Shows the progress of the core.
pub struct Listener {
    progress: Mutex<Progress>,
    key: String,
    place: String,
    state: Mutex<RunState>,
}

#[derive(Default)]
struct RunState {
    stage: Option<Stage>,
    of: usize,
    done: usize,
    /// Names of changed objects; a first install changes the namespace twice.
    changed: BTreeSet<String>,
    /// Whether the instance itself was written.
    stored: bool,
    /// The awaited objects, with what they lack.
    waiting: BTreeMap<String, String>,
    /// Number of retried requests by reason.
    retries: BTreeMap<String, usize>,
}

impl Listener {
    pub fn new(progress: Progress, key: &str, place: String) -> Self {
        Listener { progress: Mutex::new(progress), key: key.to_owned(), place, state: Mutex::default() }
    }

    pub fn clear(&self) {
        let progress = lock(&self.progress);
        progress.clear();
        // A single retry was reported when it happened.
        for (reason, count) in
            std::mem::take(&mut lock(&self.state).retries).into_iter().filter(|(_, count)| *count > 1)
        {
            progress.note("API server", &format!("{count} requests were tried again: {reason}"));
        }
    }

    /// Prints what a run waits for after a second without output, for a user at a terminal.
    async fn print_waiting_message(&self, server: &str) -> Infallible {
        sleep(SILENCE).await;
        {
            let mut progress = lock(&self.progress);
            if std::io::stderr().is_terminal() && progress.has_no_lines() {
                progress.set(&self.key, State::Waiting, &format!("waiting for {server} to answer"));
            }
        }
        std::future::pending().await
    }

    fn stage(&self) -> Option<Stage> {
        lock(&self.state).stage
    }

    /// Describes the work of a run that was stopped in `stage`, for its last message. `has_written`: a changing request
    /// was sent, at least for the status.
    fn done_until(&self, stage: Option<Stage>, has_written: bool) -> String {
        let seen = lock(&self.state);
        let done = match seen.changed.len() {
            0 if seen.stored => "the instance was written, no other change is known".to_owned(),
            0 if has_written => "no change is known, but requests that were sent may have been carried out".to_owned(),
            0 => "nothing was changed".to_owned(),
            1 => "1 object was changed".to_owned(),
            changed => format!("{changed} objects were changed"),
        };
        match stage {
            None | Some(Stage::Fetch | Stage::Build | Stage::Plan) if seen.changed.is_empty() => done,
            Some(stage) => format!("{done}, the run ended while {}", lower(stage.message())),
            None => done,
        }
    }
}

impl flux_operator::reconcile::progress::Progress for Listener {
    fn report(&self, update: Update) {
        let mut progress = lock(&self.progress);
        // JSON output continues below as well, because the last message of a run needs the state.
        if progress.is_json() {
            progress.json(&update);
        }
        let mut seen = lock(&self.state);
        match update {
            Update::StageBegan { stage, objects } => {
                (seen.stage, seen.of, seen.done) = (Some(stage), objects, 0);
                progress.set(&self.key, State::Waiting, &stage_text(&seen));
            }
            Update::InstanceStored { action, .. } => {
                seen.stored |= action != Action::Unchanged;
                progress.say(&format!("► {} {}", self.place, action.as_str()));
            }
            Update::RequestStored { .. } => {
                // A run that starts over, because the instance changed in the meantime, stores its request again.
                if !std::mem::replace(&mut seen.stored, true) {
                    progress.say(&format!("► reconciliation requested for {}", self.place));
                }
            }
            Update::Object { object, action } => {
                seen.done += 1;
                if !matches!(action, Action::Unchanged | Action::Skipped) {
                    seen.changed.insert(object.clone());
                }
                if action != Action::Unchanged {
                    progress.detail(&object, action.as_str());
                }
                progress.redraw(&self.key, &stage_text(&seen));
            }
            Update::WaitingForLease { holder } => {
                progress.set(&self.key, State::Waiting, &format!("waiting for the lease that {holder} holds"));
            }
            // Definitions, namespaces and roles are ready quickly: a line for each would hide the controllers.
            Update::Waiting { object, .. } if !has_own_line(&object) => {
                progress.redraw(&self.key, &format!("waiting for {object}"));
            }
            Update::Ready { object } if !has_own_line(&object) => {}
            Update::Waiting { object, health, message } => {
                progress.set(short(&object), state_of(health), &message);
                seen.waiting.insert(short(&object).to_owned(), message);
            }
            Update::Ready { object } => {
                seen.waiting.remove(short(&object));
                let gone = matches!(seen.stage, Some(Stage::Prune | Stage::DeleteControllers | Stage::DeleteObjects));
                progress.set(short(&object), State::Done, if gone { "gone" } else { "ready" });
            }
            Update::Migrated { definition, done, total } => {
                progress.redraw(&self.key, &format!("Migrating {definition}: {done} of {total}"));
            }
            Update::Retrying { what, reason, pause } => {
                let count = seen.retries.entry(reason.clone()).or_default();
                *count += 1;
                match *count {
                    1 => progress.note(&what, &format!("{reason}; trying again in {pause:?}")),
                    // A terminal shows one line with the count.
                    count => progress.redraw("API server", &format!("{reason}; {count} requests were tried again")),
                }
            }
            Update::Warning { message } => progress.note(&self.key, &message),
            Update::Finished { ready: true, message } => progress.set(&self.key, State::Done, &message),
            Update::Finished { ready: false, message } => progress.fail(&self.key, &message),
        }
    }
}

fn has_own_line(object: &str) -> bool {
    !["CustomResourceDefinition/", "Namespace/", "ClusterRole/"].iter().any(|kind| object.starts_with(kind))
}

/// Shortens a controller to its name.
fn short(object: &str) -> &str {
    match object.strip_prefix("Deployment/") {
        Some(rest) => rest.rsplit('/').next().unwrap_or(rest),
        None => object,
    }
}

fn stage_text(seen: &RunState) -> String {
    let stage = seen.stage.map_or("", Stage::message);
    match (seen.done, seen.of) {
        (0, 0) => stage.to_owned(),
        // Objects become healthy in any order, and each gets a line.
        (0, of) if seen.stage == Some(Stage::Health) => format!("{stage} of {}", objects(of)),
        (done, of) if of >= done && of > 0 => format!("{stage} ({done} of {of})"),
        (done, _) => format!("{stage} ({done})"),
    }
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_check_shows_only_the_total_of_its_objects() {
        let seen = |stage, done, of| RunState { stage: Some(stage), done, of, ..RunState::default() };
        assert_eq!(stage_text(&seen(Stage::Health, 0, 32)), "Running health checks of 32 objects");
        assert!(stage_text(&seen(Stage::Prune, 3, 32)).ends_with(" (3 of 32)"));
    }
}
