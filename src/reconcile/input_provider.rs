//! A run of a ResourceSetInputProvider: reads its spec and Secrets, and writes the exported inputs into its status.
//!
//! The crate `flux_operator_providers` sends the requests to the services. This module reads the objects and writes the
//! status. A failed export keeps the inputs of the previous one in the status, so that no object rendered from them is
//! pruned.

use std::sync::Arc;
use std::time::Duration;

use flux_operator_providers::{
    ArtifactInput, Connection, Export, ExportSources, Filter, NextRun, NextTrigger, ProviderError, ProviderSchedule,
    ProviderSettings, ProviderType, ScheduleEntry, SecretData, TlsFiles, TokenCache, export,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use tokio::time::Instant;

use super::announce::{Announcer, Notifications};
use super::fetch::secret_data;
use super::messages;
use super::outcome::ReconcileError;
use super::status::{IN_PROGRESS, StatusWriter, is_forced};
use super::stored;
use crate::api::kinds::{self, FluxKind, SECRET};
use crate::api::well_known::{FINALIZER, FORCE_AT_ANNOTATION, RECONCILER_FIELD_MANAGER, condition, reason};
use crate::api::{ArtifactSelector, NextSchedule, Reconciled, ResourceSetInputProvider, conditions};
use crate::cluster::events::Event;
use crate::cluster::{Cluster, ClusterError, ListOptions, Reason};
use crate::format::go_duration;
use crate::format::proxy::ProxyEnvironment;
use crate::k8s::label_selector::LabelSelector;
use crate::k8s::{ObjectId, fields};
use crate::oci::RegistryCredentials;

/// Options of a run.
#[derive(Clone)]
pub struct InputProviderOptions {
    pub notifications: Option<Notifications>,
    /// Proxies of this process.
    pub proxy: ProxyEnvironment,
    /// `User-Agent` for services.
    pub user_agent: String,
    /// Cache for tokens of GitHub Apps, which are valid for more than one run.
    pub tokens: Arc<TokenCache>,
    /// Whether to export outside of the schedule too.
    pub force: bool,
    /// Service account for reading the ExternalArtifacts of providers that name none.
    pub default_service_account: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportResult {
    Exported {
        revision: String,
    },
    /// The schedule does not allow an export now.
    Skipped,
    Suspended,
    /// The provider is being deleted, and its finalizer was cleared.
    Released,
    /// A later run may succeed, but not before `retry_at` if the service sent that time.
    Failed {
        retry_at: Option<Timestamp>,
    },
    /// Fails until the spec changes.
    Stalled,
}

/// The outcome of a run that could write its result to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProviderOutcome {
    pub result: ExportResult,
    /// The message of the condition or of the event.
    pub message: String,
    /// Number of input sets in the status after the run.
    pub inputs: usize,
    /// Settings that have no effect.
    pub warnings: Vec<String>,
    /// Time until the next run, unless one is requested earlier.
    pub next: Option<Duration>,
}

/// Reconciles one provider.
///
/// # Errors
/// The provider is gone, or its status cannot be written. The outcome reports every other failure.
pub async fn run(
    cluster: &Cluster,
    id: &ObjectId,
    options: &InputProviderOptions,
) -> Result<InputProviderOutcome, ReconcileError> {
    let live = cluster.read(id).await?.ok_or_else(|| ReconcileError::InstanceGone { instance: id.clone() })?;
    // A provider owns no objects, so its finalizer is cleared at once.
    if fields::is_being_deleted(&live) {
        cluster.clear_finalizer(live, FINALIZER, RECONCILER_FIELD_MANAGER).await?;
        let message = "released for deletion".to_owned();
        return Ok(InputProviderOutcome {
            result: ExportResult::Released,
            message,
            inputs: 0,
            warnings: vec![],
            next: None,
        });
    }
    let is_adopted = fields::items(&live, "/metadata/finalizers").iter().any(|finalizer| finalizer == FINALIZER);
    let provider: ResourceSetInputProvider = stored::parsed(id, live)?;
    let mut writer = StatusWriter::open(&provider);
    if !is_adopted {
        writer.add_finalizer(cluster, FINALIZER).await?;
        match provider.is_suspended() {
            true => writer.initialized_suspended(),
            false => writer.progressing(IN_PROGRESS),
        }
        writer.write(cluster).await?;
        writer.refuse_if_being_deleted()?;
    }
    let announcer = Announcer::about(cluster, &provider, options.notifications.clone());
    let mut run = InputProviderRun { cluster, options, provider: &provider, writer, announcer };
    let outcome = run.reconcile().await;
    let InputProviderRun { mut writer, announcer, .. } = run;
    writer.handle_request();
    // If an intermediate write of the status has failed, skip the final write too.
    let written = match &outcome {
        Ok(_) => writer.write(cluster).await,
        Err(_) => Ok(()),
    };
    // Send the events before returning the error of the write: they report the result even if the status does not.
    announcer.finish().await;
    written?;
    outcome
}

struct InputProviderRun<'r> {
    cluster: &'r Cluster,
    options: &'r InputProviderOptions,
    provider: &'r ResourceSetInputProvider,
    writer: StatusWriter<ResourceSetInputProvider>,
    announcer: Announcer,
}

impl InputProviderRun<'_> {
    async fn reconcile(&mut self) -> Result<InputProviderOutcome, ReconcileError> {
        let begun = Instant::now();
        if self.provider.is_suspended() {
            let message = "Reconciliation is disabled".to_owned();
            self.announcer.event(event(true, reason::RECONCILIATION_DISABLED, &message));
            return Ok(self.outcome(ExportResult::Suspended, message, None));
        }
        let (now, timeout) = (Timestamp::now(), signed(self.provider.timeout()));
        let is_forced = self.options.force || is_forced(self.provider);
        let schedule = match schedule(self.provider, timeout) {
            Ok(schedule) => schedule,
            Err(problem) => return Ok(self.stalled(reason::INVALID_SCHEDULE, &problem)),
        };
        self.writer.status.next_schedule = None;
        if !is_forced && !schedule.allows(now, timeout) {
            return Ok(self.skipped(&schedule, now));
        }
        let settings = match settings(self.provider) {
            Ok(settings) => settings,
            Err(problem) => return Ok(self.stalled(reason::INVALID_SPEC, &problem)),
        };
        let is_static = settings.provider_type == ProviderType::Static;
        // A Static provider is done at once, so an intermediate status would only cost a write.
        if !is_static {
            self.writer.progressing(IN_PROGRESS);
            self.writer.write(self.cluster).await?;
            self.writer.refuse_if_being_deleted()?;
        }
        let exported = match export_now(self.cluster, self.provider, &settings, self.options).await {
            Ok(exported) => exported,
            Err(error) => return Ok(self.failed(&error)),
        };
        let duration = if is_static { Duration::ZERO } else { begun.elapsed() };
        Ok(self.succeeded(exported, &schedule, duration, timeout))
    }

    fn outcome(&self, result: ExportResult, message: String, next: Option<Duration>) -> InputProviderOutcome {
        let inputs = self.writer.status.exported_inputs.len();
        InputProviderOutcome { result, message, inputs, warnings: vec![], next }
    }

    fn stalled(&mut self, reason: &'static str, problem: &str) -> InputProviderOutcome {
        let message = format!("Reconciliation failed terminally due to configuration error: {problem}");
        self.writer.stalled(reason, &message);
        self.announcer.event_and_notify(event(true, reason, &message));
        self.outcome(ExportResult::Stalled, message, None)
    }

    fn failed(&mut self, error: &ProviderError) -> InputProviderOutcome {
        let message = error.to_string();
        self.writer.failed(reason::RECONCILIATION_FAILED, &message);
        self.announcer.event_and_notify(event(true, reason::RECONCILIATION_FAILED, &message));
        self.outcome(ExportResult::Failed { retry_at: error.retry_at }, message, None)
    }

    /// Reports that the run was skipped because the time is outside of the schedule's windows.
    fn skipped(&mut self, schedule: &ProviderSchedule, now: Timestamp) -> InputProviderOutcome {
        let next = schedule.next(now);
        let message = match &next {
            Some(next) => format!("Reconciliation skipped, next scheduled at {}", next.when),
            None => "Reconciliation skipped, and its schedule has no future time".to_owned(),
        };
        // The Ready condition of an earlier export says more than that this run was skipped.
        let ready = conditions::get(&self.writer.status.conditions, condition::READY);
        if ready.is_none_or(|ready| ready.status == "Unknown") {
            self.writer.ready_because(reason::SKIPPED_DUE_TO_SCHEDULE, &message);
        }
        self.announcer.event_and_notify(event(false, reason::SKIPPED_DUE_TO_SCHEDULE, &message));
        let pause = next.as_ref().map(|next| until(now, next.when));
        self.writer.status.next_schedule = next.map(stored_schedule);
        self.outcome(ExportResult::Skipped, message, pause)
    }

    fn succeeded(
        &mut self,
        exported: Export,
        schedule: &ProviderSchedule,
        duration: Duration,
        timeout: SignedDuration,
    ) -> InputProviderOutcome {
        let Export { inputs, revision, warnings } = exported;
        let status = &mut self.writer.status;
        let is_new = status.last_exported_revision.as_deref() != Some(&revision);
        status.exported_inputs = inputs;
        status.last_exported_revision = Some(revision.clone());
        // A request for a forced run is marked as handled only after a success, so it is still pending after a failure.
        if let Some(token) = self.provider.annotation(FORCE_AT_ANNOTATION) {
            status.last_handled_force_at = Some(token.to_owned());
        }
        let now = Timestamp::now();
        let interval = self.provider.interval().map_or(SignedDuration::ZERO, signed);
        let next = match schedule.next_run(now, interval, timeout) {
            NextRun::Never => None,
            NextRun::After(pause) => Some(pause.unsigned_abs()),
            NextRun::At(next) => {
                let pause = until(now, next.when);
                status.next_schedule = Some(stored_schedule(next));
                Some(pause)
            }
        };
        let message = messages::finished(duration);
        self.writer.ready(&message);
        let reported = Event {
            warning: false,
            reason: reason::RECONCILIATION_SUCCEEDED,
            message: format!("{message}, revision {revision}"),
            revision: Some(revision.clone()),
        };
        // Alerts would repeat an unchanged revision at every interval.
        match is_new {
            true => self.announcer.event_and_notify(reported),
            false => self.announcer.event(reported),
        }
        InputProviderOutcome { warnings, ..self.outcome(ExportResult::Exported { revision }, message, next) }
    }
}

fn event(warning: bool, reason: &'static str, message: &str) -> Event {
    Event { warning, reason, message: message.to_owned(), revision: None }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn until(now: Timestamp, when: Timestamp) -> Duration {
    Duration::try_from(now.duration_until(when)).unwrap_or_default()
}

fn stored_schedule(next: NextTrigger) -> NextSchedule {
    let NextTrigger { entry: ScheduleEntry { cron, time_zone, window }, when } = next;
    NextSchedule { cron, time_zone, when: Time(when), window: go_duration::format(window) }
}

fn schedule(provider: &ResourceSetInputProvider, timeout: SignedDuration) -> Result<ProviderSchedule, String> {
    let entries = provider.spec.schedule.iter().flatten().enumerate().map(|(index, entry)| {
        let window = go_duration::parse(&entry.window)
            .map_err(|error| format!("failed to validate schedule[{index}]: {error}"))?;
        Ok(ScheduleEntry { cron: entry.cron.clone(), time_zone: entry.time_zone.clone(), window })
    });
    ProviderSchedule::new(&entries.collect::<Result<Vec<_>, String>>()?, timeout)
}

/// Converts the spec into validated settings for the crate of providers.
fn settings(provider: &ResourceSetInputProvider) -> Result<ProviderSettings, String> {
    let spec = &provider.spec;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let filter = spec.filter.clone().unwrap_or_default();
    let settings = ProviderSettings {
        provider_type: spec.provider_type.parse()?,
        url: text(&spec.url),
        insecure: spec.insecure.unwrap_or_default(),
        filter: Filter {
            include_branch: text(&filter.include_branch),
            exclude_branch: text(&filter.exclude_branch),
            include_tag: text(&filter.include_tag),
            exclude_tag: text(&filter.exclude_tag),
            include_environment: text(&filter.include_environment),
            exclude_environment: text(&filter.exclude_environment),
            labels: filter.labels.unwrap_or_default(),
            limit: filter.limit.unwrap_or_default(),
            semver: text(&filter.semver),
        },
        skip_labels: spec.skip.as_ref().and_then(|skip| skip.labels.clone()).unwrap_or_default(),
        default_values: spec.default_values.clone().unwrap_or_default(),
    };
    settings.validate()?;
    let is_artifact = settings.provider_type == ProviderType::ExternalArtifact;
    match spec.selectors.as_ref().is_some_and(|selectors| !selectors.is_empty()) {
        false if is_artifact => Err("spec.selectors must be set when spec.type is 'ExternalArtifact'".to_owned()),
        true if !is_artifact => {
            Err("spec.selectors must not be set when spec.type is not 'ExternalArtifact'".to_owned())
        }
        _ => Ok(settings),
    }
}

/// Reads the objects that the provider references, and exports inputs from its service.
async fn export_now(
    cluster: &Cluster,
    provider: &ResourceSetInputProvider,
    settings: &ProviderSettings,
    options: &InputProviderOptions,
) -> Result<Export, ProviderError> {
    let reader = Reader { cluster, namespace: provider.metadata.namespace.as_deref().unwrap_or_default() };
    let spec = &provider.spec;
    let is_registry = settings.provider_type == ProviderType::OciArtifactTag;
    let (mut secret, mut registry_credentials) = (None, RegistryCredentials::Anonymous);
    if let Some(reference) = &spec.secret_ref {
        let (data, object) = reader.secret(&reference.name).await?;
        match is_registry {
            true => registry_credentials = pull_secret(&data, &object)?,
            false => secret = Some(data),
        }
    }
    if is_registry && let Some(account) = &spec.service_account_name {
        registry_credentials = reader.pull_secrets_of(account, registry_credentials).await?;
    }
    let tls = match &spec.cert_secret_ref {
        None => TlsFiles::default(),
        Some(reference) => {
            let data = reader.certificates(&reference.name).await?;
            TlsFiles::from_secret(&data)?
        }
    };
    let mut artifacts = vec![];
    if settings.provider_type == ProviderType::ExternalArtifact {
        // The result becomes visible in the status of the provider, so a tenant must not read more through it than the
        // service account may read.
        let account = spec.service_account_name.as_deref().or(options.default_service_account.as_deref());
        for selector in spec.selectors.iter().flatten() {
            artifacts.extend(reader.artifacts(selector, account).await?);
        }
    }
    let connection = Connection {
        tls,
        proxy: options.proxy.clone(),
        user_agent: options.user_agent.clone(),
        deadline: Instant::now() + provider.timeout(),
    };
    let sources = ExportSources {
        identity: provider.metadata.uid.as_deref().unwrap_or_default(),
        secret: secret.as_ref(),
        registry_credentials: &registry_credentials,
        artifacts: &artifacts,
        exported: provider.status.as_ref().map_or(&[], |status| status.exported_inputs.as_slice()),
        connection: &connection,
        tokens: &options.tokens,
    };
    export(settings, &sources).await
}

/// Returns the credentials for registries from a Secret.
fn pull_secret(data: &SecretData, object: &Value) -> Result<RegistryCredentials, String> {
    let credentials = RegistryCredentials::from_pull_secret(&data.name, fields::text(object, "/type"), &data.data);
    match credentials {
        // Continuing without credentials would hide the mistake behind a refusal of the registry.
        Ok(RegistryCredentials::Anonymous) => {
            Err(format!("invalid secret '{}': key '.dockerconfigjson' is missing", data.name))
        }
        other => other.map_err(|error| format!("invalid secret '{}': {error}", data.name)),
    }
}

/// Reads objects of the namespace of a provider.
struct Reader<'r> {
    cluster: &'r Cluster,
    namespace: &'r str,
}

impl Reader<'_> {
    async fn read(&self, kind: &str, name: &str) -> Result<Option<Value>, ClusterError> {
        self.cluster.read(&ObjectId::new("", kind, Some(self.namespace), name).at("v1")).await
    }

    fn data(&self, name: &str, secret: &Value) -> SecretData {
        SecretData { name: format!("{}/{name}", self.namespace), data: secret_data(secret) }
    }

    async fn secret(&self, name: &str) -> Result<(SecretData, Value), String> {
        let failed = |problem: String| format!("failed to read secret '{}/{name}': {problem}", self.namespace);
        match self.read(&SECRET.kind, name).await {
            Ok(Some(secret)) => Ok((self.data(name, &secret), secret)),
            Ok(None) => Err(failed(format!("secrets \"{name}\" not found"))),
            Err(error) => Err(failed(error.sentence())),
        }
    }

    async fn certificates(&self, name: &str) -> Result<SecretData, String> {
        match self.read(&SECRET.kind, name).await {
            Ok(Some(secret)) => Ok(self.data(name, &secret)),
            Ok(None) => Err(format!("secret '{}/{name}' not found", self.namespace)),
            Err(error) => Err(format!("failed to read secret '{}/{name}': {}", self.namespace, error.sentence())),
        }
    }

    /// Adds the pull secrets of a service account.
    async fn pull_secrets_of(
        &self,
        account: &str,
        mut known: RegistryCredentials,
    ) -> Result<RegistryCredentials, String> {
        let place = format!("{}/{account}", self.namespace);
        let found = match self.read("ServiceAccount", account).await {
            Ok(Some(found)) => found,
            Ok(None) => return Err(format!("serviceaccount '{place}' not found")),
            Err(error) => return Err(format!("failed to read serviceaccount '{place}': {}", error.sentence())),
        };
        for reference in fields::items(&found, "/imagePullSecrets") {
            let name = fields::text(reference, "/name");
            let failed =
                |problem: String| format!("failed to get image pull secret for serviceaccount '{place}': {problem}");
            let secret = match self.read(&SECRET.kind, name).await {
                Ok(Some(secret)) => secret,
                Ok(None) => return Err(failed(format!("secret '{}/{name}' not found", self.namespace))),
                Err(error) => return Err(failed(error.sentence())),
            };
            known = known.and(pull_secret(&self.data(name, &secret), &secret).map_err(failed)?);
        }
        Ok(known)
    }

    /// Reads the artifacts of a selector, with the rights of a service account if one is given.
    async fn artifacts(
        &self,
        selector: &ArtifactSelector,
        account: Option<&str>,
    ) -> Result<Vec<ArtifactInput>, String> {
        let impersonated = account.map(|account| self.cluster.impersonating_service_account(self.namespace, account));
        let cluster = impersonated.as_ref().unwrap_or(self.cluster);
        let failed = |error: &ClusterError, attempted: String| {
            let denied = account.filter(|_| matches!(error.reason, Reason::Forbidden { .. }));
            let denied = denied
                .map(|account| format!("impersonated service account '{account}' lacks permissions to {attempted}: "));
            format!("failed to call ExternalArtifact provider: {}{}", denied.unwrap_or_default(), error.sentence())
        };
        let Some(kind) = kinds::find("ExternalArtifact").map(FluxKind::resource_type) else { return Ok(vec![]) };
        let namespace = match selector.namespace.as_deref() {
            None => Some(self.namespace),
            Some("*") => None,
            other => other,
        };
        // Reading by name needs no right to list.
        if let (Some(name), Some(namespace)) = (&selector.name, namespace) {
            let id = ObjectId::new(&kind.group, &kind.kind, Some(namespace), name).at(&kind.version);
            let found = cluster.read(&id).await;
            let found = found.map_err(|error| failed(&error, format!("get ExternalArtifact '{namespace}/{name}'")))?;
            return Ok(found.iter().map(artifact).collect());
        }
        let labels = label_selector(selector)?;
        let place = namespace.map_or("across all namespaces".to_owned(), |one| format!("in namespace '{one}'"));
        let list = cluster.list_all(&kind, namespace, &ListOptions::default()).await;
        let list = list.map_err(|error| failed(&error, format!("list ExternalArtifacts {place}")))?;
        let items = list.map(|list| list.items).unwrap_or_default();
        let is_meant = |item: &&Value| match &selector.name {
            Some(name) => fields::name(item) == name,
            None => labels.matches_object(item),
        };
        Ok(items.iter().filter(is_meant).map(artifact).collect())
    }
}

fn artifact(object: &Value) -> ArtifactInput {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    ArtifactInput {
        namespace: fields::text(object, "/metadata/namespace").to_owned(),
        name: fields::name(object).to_owned(),
        labels: labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect(),
        revision: fields::text(object, "/status/artifact/revision").to_owned(),
    }
}

/// Returns the label selector of an artifact selector, parsed from kubectl's notation.
fn label_selector(selector: &ArtifactSelector) -> Result<LabelSelector, String> {
    let labels = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|one| {
        let values = one.values.iter().flatten().cloned().collect::<Vec<_>>().join(",");
        match one.operator.as_str() {
            "In" => format!("{} in ({values})", one.key),
            "NotIn" => format!("{} notin ({values})", one.key),
            "Exists" => one.key.clone(),
            "DoesNotExist" => format!("!{}", one.key),
            other => format!("{} {other}", one.key),
        }
    });
    let text = labels.chain(expressions).collect::<Vec<_>>().join(",");
    text.parse().map_err(|error| format!("failed to call ExternalArtifact provider: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider(spec: Value) -> ResourceSetInputProvider {
        serde_json::from_value(json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
            "metadata": {"name": "a", "namespace": "apps"}, "spec": spec}))
        .unwrap()
    }

    #[test]
    fn the_spec_is_validated_with_the_messages_of_the_definition() {
        for (spec, expected) in [
            (json!({"type": "ExternalArtifact"}), "spec.selectors must be set when spec.type is 'ExternalArtifact'"),
            (
                json!({"type": "Static", "selectors": [{"name": "a"}]}),
                "spec.selectors must not be set when spec.type is not 'ExternalArtifact'",
            ),
            (
                json!({"type": "ExternalService", "url": "http://a"}),
                "spec.url must use 'https://' unless spec.insecure is true",
            ),
            (json!({"type": "Dynamic"}), "unsupported provider type 'Dynamic'"),
        ] {
            assert_eq!(settings(&provider(spec)).unwrap_err(), expected);
        }
        let spec = json!({"type": "GitHubTag", "url": "https://github.com/o/r", "filter": {"semver": "1.x", "limit": 3},
            "skip": {"labels": ["a"]}, "defaultValues": {"x": 1}});
        let read = settings(&provider(spec)).unwrap();
        assert_eq!((read.filter.semver.as_str(), read.filter.limit, read.skip_labels.len()), ("1.x", 3, 1));
        assert_eq!(read.default_values["x"], 1);
    }

    #[test]
    fn a_schedule_is_read_with_its_window() {
        let timeout = SignedDuration::from_mins(2);
        let spec = |window: &str| json!({"type": "Static", "schedule": [{"cron": "@daily", "window": window}]});
        assert!(schedule(&provider(spec("1h")), timeout).is_ok());
        assert_eq!(
            schedule(&provider(spec("3m")), timeout).unwrap_err(),
            "failed to validate schedule[0]: a non-zero window (3m0s) must always be at least twice the timeout (2m0s)"
        );
        assert!(schedule(&provider(spec("soon")), timeout).unwrap_err().contains("schedule[0]"));
    }

    #[test]
    fn artifacts_are_selected_by_labels_and_expressions() {
        let selector: ArtifactSelector =
            serde_json::from_value(json!({"matchLabels": {"app": "a"}, "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["web", "db"]}, {"key": "old", "operator": "DoesNotExist"}]}))
            .unwrap();
        let selector = label_selector(&selector).unwrap();
        let with = |labels: Value| json!({"metadata": {"labels": labels}});
        assert!(selector.matches_object(&with(json!({"app": "a", "tier": "db"}))));
        assert!(!selector.matches_object(&with(json!({"app": "a", "tier": "db", "old": "1"}))));
        assert!(!selector.matches_object(&with(json!({"app": "a"}))));
        let all = label_selector(&ArtifactSelector::default()).unwrap();
        assert!(all.matches_object(&with(json!({}))), "no condition selects all");
        let object = json!({"metadata": {"name": "n", "namespace": "ns", "labels": {"a": "b"}},
            "status": {"artifact": {"revision": "1@sha256:0"}}});
        let expected = ArtifactInput {
            namespace: "ns".to_owned(),
            name: "n".to_owned(),
            labels: [("a".to_owned(), "b".to_owned())].into(),
            revision: "1@sha256:0".to_owned(),
        };
        assert_eq!(artifact(&object), expected);
    }
}
