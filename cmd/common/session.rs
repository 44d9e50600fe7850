//! One command's way to the cluster: connection, namespace, deadline, and errors in the user's words.

use std::time::Duration;

use flux_operator::api::kinds::{self, FluxKind, ResourceType};
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE, GROUP};
use flux_operator::cluster::{self, Cluster, ClusterError};
use flux_operator::format::go_duration;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::operator::{OperatorCoverage, find_coverage};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::Target;
use super::args::Named;
use crate::shell::cluster::{cli_error, connect};
use crate::shell::{CliError, Exit, Shell, suggest};

/// Deadline of a command that waits, unless `--timeout` says otherwise.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
/// A hint is worth no longer wait than this.
pub const HINT_LIMIT: Duration = Duration::from_secs(2);
/// Objects of one page of a list.
const PAGE: u32 = 500;

/// When the whole command gives up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
    length: Duration,
}

impl Deadline {
    pub fn after(length: Duration) -> Self {
        Deadline { end: cluster::after(length), length }
    }

    pub fn instant(self) -> Instant {
        self.end
    }

    pub fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// The length as Go writes it: `5m0s`.
    pub fn length(self) -> String {
        go_duration::format(jiff::SignedDuration::try_from(self.length).unwrap_or(jiff::SignedDuration::MAX))
    }
}

/// A connected command.
pub struct Session<'a> {
    pub shell: &'a Shell,
    pub cluster: Cluster,
    pub deadline: Deadline,
}

impl<'a> Session<'a> {
    /// Connects as the flags say; the deadline starts here.
    pub async fn open(shell: &'a Shell) -> Result<Self, CliError> {
        let deadline = Deadline::after(shell.global().timeout.map_or(WAIT_TIMEOUT, |t| t.0));
        let cluster = connect(shell).await?;
        Ok(Session { shell, cluster, deadline })
    }

    /// The same connection with the whole time-out again.
    pub fn with_new_deadline(&self) -> Self {
        let deadline = Deadline::after(self.deadline.length);
        Session { shell: self.shell, cluster: self.cluster.clone(), deadline }
    }

    /// Whether an operator looks at an instance.
    pub async fn operator_coverage(&self, target: &Target) -> Result<OperatorCoverage, CliError> {
        let look = find_coverage(&self.cluster, &target.namespace, &target.name, jiff::Timestamp::now());
        self.bounded("look for an operator", look).await
    }

    /// The namespace of a command about a kind: the flag, the context's own one, else where the kind usually lives.
    pub fn namespace(&self, kind: &FluxKind) -> String {
        let usual = if kind.group == GROUP { DEFAULT_NAMESPACE } else { "default" };
        let flag = self.shell.global().namespace().map(str::to_owned);
        flag.or_else(|| self.cluster.namespace.clone()).unwrap_or_else(|| usual.to_owned())
    }

    pub fn instance(&self, name: &str) -> Target {
        let kind = instance_kind();
        Target { kind, namespace: self.namespace(kind), name: name.to_owned() }
    }

    pub fn targets(&self, named: Vec<Named>) -> Vec<Target> {
        let target = |n: Named| Target { kind: n.kind, namespace: self.namespace(n.kind), name: n.name };
        named.into_iter().map(target).collect()
    }

    /// `fluxinstance/flux-system/flux (context dev)`.
    pub fn place(&self, object: &str) -> String {
        match &self.cluster.endpoint.context {
            Some(context) => format!("{object} (context {context})"),
            None => format!("{object} ({})", self.cluster.endpoint.server),
        }
    }

    /// A command line that works on the same cluster and namespace as this one.
    pub fn command(&self, words: &str, namespace: &str) -> String {
        let global = self.shell.global();
        let mut line = format!("flux-operator {words} -n {namespace}");
        if let Some(context) = &global.context {
            line.push_str(&format!(" --context {context}"));
        }
        if let Some(path) = &global.kubeconfig {
            line.push_str(&format!(" --kubeconfig {}", path.display()));
        }
        line
    }

    /// The command that shows what goes on with an object.
    pub fn look_at(&self, target: &Target) -> String {
        let words = match target.words().strip_prefix("resource ") {
            Some(resource) => format!("events {resource}"),
            None => format!("why {}", target.words()),
        };
        self.command(&words, &target.namespace)
    }

    /// Access to a kind, at the version the cluster serves; all namespaces without one.
    pub async fn objects(&self, kind: &FluxKind, namespace: Option<&str>) -> Result<Api<DynamicObject>, CliError> {
        let resource = api_resource(&self.served(kind).await?);
        let client = self.cluster.client.clone();
        Ok(match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        })
    }

    pub fn events(&self, namespace: &str) -> Api<Event> {
        Api::namespaced(self.cluster.client.clone(), namespace)
    }

    /// Newer Flux serves newer versions of its kinds: the newest of ours that this cluster has.
    async fn served(&self, kind: &FluxKind) -> Result<ResourceType, CliError> {
        let newest = kind.resource_type();
        if kind.versions.len() < 2 {
            return Ok(newest);
        }
        for version in kind.versions {
            let group_version = format!("{}/{version}", kind.group);
            let attempted = format!("look up the kind {}", kind.kind);
            let resources = self.cluster.client.list_api_group_resources(&group_version);
            match self.call(&attempted, None, resources).await {
                Ok(list) if list.resources.iter().any(|r| r.name == kind.plural) => {
                    return Ok(ResourceType { version: (*version).into(), ..newest });
                }
                Ok(_) => {}
                Err(error) if error.exit() == Exit::ApiMissing => {}
                Err(error) => return Err(error),
            }
        }
        // The call that follows says what is missing.
        Ok(newest)
    }

    /// Makes one call, bounded by its own limit and by the command's deadline.
    pub async fn call<T>(
        &self,
        attempted: &str,
        object: Option<&ObjectId>,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, CliError> {
        match timeout_at(self.deadline.instant(), call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(cli_error(&self.cluster.explain(error, attempted, object.cloned()))),
            Err(_) => Err(self.out_of_time(attempted)),
        }
    }

    /// Makes one piece of work with the cluster module, bounded by the command's deadline.
    pub async fn bounded<T>(
        &self,
        attempted: &str,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, CliError> {
        match timeout_at(self.deadline.instant(), work).await {
            Ok(result) => result.map_err(|e| cli_error(&e)),
            Err(_) => Err(self.out_of_time(attempted)),
        }
    }

    /// The error of a command whose time is up before anything is known.
    pub fn out_of_time(&self, attempted: &str) -> CliError {
        let message = format!("timed out after {}: cannot {attempted}", self.deadline.length());
        CliError::new(Exit::Unhealthy, message).cause(format!("{} gave no answer", self.cluster.endpoint))
    }

    /// Sends a merge patch; a missing object is told from a missing kind, with the nearest names.
    pub async fn patch(
        &self,
        target: &Target,
        verb: &str,
        patch: &Value,
        dry_run: bool,
    ) -> Result<DynamicObject, CliError> {
        let objects = self.objects(target.kind, Some(&target.namespace)).await?;
        let parameters = PatchParams { dry_run, field_manager: Some(CLI_FIELD_MANAGER.into()), ..Default::default() };
        let reference = target.reference();
        let attempted = format!("{verb} {}", self.place(&reference));
        let sent = self
            .call(&attempted, Some(&target.id()), objects.patch(&target.name, &parameters, &Patch::Merge(patch)))
            .await;
        self.or_missing(target, sent).await
    }

    pub async fn get(&self, target: &Target) -> Result<DynamicObject, CliError> {
        let objects = self.objects(target.kind, Some(&target.namespace)).await?;
        let reference = target.reference();
        let attempted = format!("get {}", self.place(&reference));
        let found = self.call(&attempted, Some(&target.id()), objects.get(&target.name)).await;
        self.or_missing(target, found).await
    }

    async fn or_missing<T>(&self, target: &Target, result: Result<T, CliError>) -> Result<T, CliError> {
        match result {
            Err(error) if error.exit() == Exit::NotFound => Err(self.missing(target).await),
            other => other,
        }
    }

    /// Lists the objects of a kind, page by page.
    pub async fn list(
        &self,
        kind: &FluxKind,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<DynamicObject>, CliError> {
        let objects = self.objects(kind, namespace).await?;
        let mut parameters = ListParams { limit: Some(PAGE), ..ListParams::default() };
        parameters.label_selector = selector.map(str::to_owned);
        let mut all = vec![];
        loop {
            let page = self.call(&format!("list {}", kind.plural), None, objects.list(&parameters)).await?;
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            all.extend(page.items);
            match next {
                Some(token) => parameters.continue_token = Some(token),
                None => return Ok(all),
            }
        }
    }

    /// The error for an object that is not there: with the nearest name, or the namespaces that have one.
    pub async fn missing(&self, target: &Target) -> CliError {
        let reference = target.reference();
        let error = CliError::new(Exit::NotFound, format!("{} not found", self.place(&reference))).object(reference);
        // Whoever may not list everything gets the error without a hint.
        let Ok(Ok(all)) = timeout(HINT_LIMIT.min(self.deadline.left()), self.list(target.kind, None, None)).await
        else {
            return error;
        };
        let named: Vec<(String, String)> =
            all.into_iter().filter_map(|o| o.metadata.namespace.zip(o.metadata.name)).collect();
        match missing_hint(target, &named) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// The error of a watch the API server refused.
    pub fn watch_error(&self, target: &Target, error: watcher::Error) -> CliError {
        let reference = target.reference();
        let attempted = format!("watch {}", self.place(&reference));
        match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => {
                cli_error(&self.cluster.explain(error, attempted, Some(target.id())))
            }
            other => CliError::failed(format!("cannot {attempted}")).caused_by(&other),
        }
    }
}

/// The table of kinds has the FluxInstance first; a test holds it to that.
pub fn instance_kind() -> &'static FluxKind {
    kinds::of(GROUP, "FluxInstance").unwrap_or(&kinds::FLUX_KINDS[0])
}

pub fn api_resource(kind: &ResourceType) -> ApiResource {
    ApiResource {
        group: kind.group.to_string(),
        version: kind.version.to_string(),
        api_version: kind.api_version(),
        kind: kind.kind.to_string(),
        plural: kind.plural.to_string(),
    }
}

fn missing_hint(target: &Target, existing: &[(String, String)]) -> Option<String> {
    let elsewhere: Vec<&str> =
        existing.iter().filter(|(_, name)| *name == target.name).map(|(namespace, _)| namespace.as_str()).collect();
    if !elsewhere.is_empty() {
        return Some(format!("found in namespace {}: choose it with -n", elsewhere.join(", ")));
    }
    let here = existing.iter().filter(|(namespace, _)| *namespace == target.namespace);
    let here: Vec<&str> = here.map(|(_, name)| name.as_str()).collect();
    if let Some(near) = suggest::nearest(&target.name, here.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    match (existing.len(), here.len()) {
        (0, _) => Some(format!("the cluster has no {}", target.kind.plural)),
        (_, 0) => {
            let mut namespaces: Vec<&str> = existing.iter().map(|(namespace, _)| namespace.as_str()).collect();
            namespaces.sort_unstable();
            namespaces.dedup();
            namespaces.truncate(10);
            Some(format!("{} are in namespace {}: choose it with -n", target.kind.plural, namespaces.join(", ")))
        }
        _ => {
            let mut names = here;
            names.sort_unstable();
            names.truncate(10);
            Some(format!("{} in namespace {}: {}", target.kind.plural, target.namespace, names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn a_missing_object_is_looked_for_under_other_names_and_in_other_namespaces() {
        let target = Target { kind: kinds::find("ks").unwrap(), namespace: "apps".into(), name: "podinf".into() };
        let hint = |pairs: &[(&str, &str)]| missing_hint(&target, &existing(pairs)).unwrap_or_default();
        assert_eq!(hint(&[("apps", "podinfo"), ("apps", "other")]), "did you mean `podinfo`?");
        assert_eq!(hint(&[("web", "podinf")]), "found in namespace web: choose it with -n");
        assert_eq!(hint(&[("b", "zzz"), ("a", "yyy")]), "kustomizations are in namespace a, b: choose it with -n");
        assert_eq!(hint(&[]), "the cluster has no kustomizations");
        assert_eq!(hint(&[("apps", "zzz"), ("a", "b")]), "kustomizations in namespace apps: zzz");
    }

    #[test]
    fn the_instance_has_its_own_kind() {
        assert_eq!(instance_kind().kind, "FluxInstance");
    }
}
