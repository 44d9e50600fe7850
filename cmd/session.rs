//! A command's access to the cluster: connection, namespace, deadline, and errors in the user's words.

pub mod connect;
pub mod health;
pub mod manifest_file;
pub mod read_source;
pub mod registries;
pub mod target;
pub mod watch;

use std::time::Duration;

use flux_operator::api::kinds::{FluxKind, NAMESPACE, ResourceType};
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE};
use flux_operator::cluster::{self, Category, Cluster, ClusterError, ListOptions, WriteOptions};
use flux_operator::format::go_duration;
use flux_operator::format::nearest::nearest;
use flux_operator::inspect::views::missing;
use flux_operator::k8s::{ObjectId, fields};
use flux_operator::reconcile::operator::{OperatorCoverage, find_coverage, find_set_coverage};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::output::next_step::Destination;
use crate::session::connect::{cli_error, connect};
use crate::session::health::{is_without_flux, not_installed};
use crate::session::target::{KindAndName, ObjectSelection, Target, instance_kind, resource_set_kind};
use crate::terminal::{CliError, Exit, Shell};

/// Default deadline of a command; `--timeout` overrides it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
/// Limit for gathering a hint.
pub const HINT_LIMIT: Duration = Duration::from_secs(2);

/// The time limit of the whole command.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
    length: Duration,
}

impl Deadline {
    pub fn after(length: Duration) -> Self {
        Deadline { end: cluster::after(length), length }
    }

    /// Returns the deadline of a command as a whole: `--timeout`, or else the default of its kind; `None` without both.
    pub fn of_command(shell: &Shell, usual: Option<Duration>) -> Option<Self> {
        let length = shell.global().timeout.map(|limit| limit.0).or(usual)?;
        Some(Deadline { end: cluster::after(length.saturating_sub(shell.elapsed())), length })
    }

    pub fn instant(self) -> Instant {
        self.end
    }

    pub fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Formats the length in Go's notation: `5m0s`.
    pub fn length(self) -> String {
        go_duration::format(jiff::SignedDuration::try_from(self.length).unwrap_or(jiff::SignedDuration::MAX))
    }

    /// Returns the error of a command whose time is up.
    pub fn out_of_time(self, attempted: &str) -> CliError {
        CliError::new(Exit::Unhealthy, format!("timed out after {}: cannot {attempted}", self.length()))
    }
}

/// A command's access to one cluster. A command may have several sessions.
#[derive(Clone)]
pub struct Session<'a> {
    pub shell: &'a Shell,
    pub cluster: Cluster,
    pub deadline: Deadline,
    /// The context given by name.
    context: Option<String>,
}

impl<'a> Session<'a> {
    /// Connects by the flags; the deadline starts here.
    pub async fn open(shell: &'a Shell) -> Result<Self, CliError> {
        Session::of_context(shell, shell.global().context.as_deref()).await
    }

    /// Connects by the flags, but to this context of the kubeconfig; `None` is its current one.
    pub async fn of_context(shell: &'a Shell, context: Option<&str>) -> Result<Self, CliError> {
        let deadline = Deadline::after(shell.global().timeout.map_or(WAIT_TIMEOUT, |t| t.0));
        // Only a plugin that asks the user for credentials takes time before the first request.
        let connected = shell.while_waiting("be reached", connect(shell, context));
        let cluster = timeout_at(deadline.instant(), connected).await.map_err(|_| {
            let text = format!("timed out after {}: the credential plugin has not answered", deadline.length());
            CliError::new(Exit::Unhealthy, text).hint("--timeout sets the deadline")
        })??;
        shell.awaits(cluster.endpoint.to_string());
        let namespace = shell.global().namespace().or(cluster.namespace.as_deref()).unwrap_or("by kind");
        tracing::info!(%namespace, timeout = %deadline.length(), "asking {}", cluster.endpoint);
        Ok(Session { shell, cluster, deadline, context: context.map(str::to_owned) })
    }

    /// Returns the same connection with the whole time-out again.
    pub fn with_new_deadline(&self) -> Self {
        Session { deadline: Deadline::after(self.deadline.length), ..self.clone() }
    }

    /// Returns the UID of the namespace kube-system, which identifies the cluster; `None` if the user may not read it.
    ///
    /// # Errors
    /// The cluster cannot be reached, or does not answer in time.
    pub async fn cluster_uid(&self) -> Result<Option<String>, ClusterError> {
        let kind = NAMESPACE;
        match self.cluster.get_metadata(&kind, None, IDENTITY).await {
            Ok(namespace) => Ok(fields::some_text(&namespace, "/metadata/uid").map(str::to_owned)),
            Err(error) if matches!(error.category(), Category::Unreachable | Category::TimedOut) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reports whether an operator reconciles an instance or a ResourceSet.
    pub async fn operator_coverage(&self, target: &Target) -> Result<OperatorCoverage, CliError> {
        let now = jiff::Timestamp::now();
        let look = async {
            match *target.kind == *instance_kind() {
                true => find_coverage(&self.cluster, &target.namespace, &target.name, now).await,
                false => find_set_coverage(&self.cluster, &target.namespace, now).await,
            }
        };
        self.bounded("look for an operator", look).await
    }

    /// A ResourceSet of the command's namespace.
    pub fn resource_set(&self, name: &str) -> Target {
        Target { kind: resource_set_kind(), namespace: self.namespace(), name: name.to_owned() }
    }

    /// Returns the namespace of an object that is given without one: that of the flag, else of the context, else that
    /// of Flux.
    pub fn namespace(&self) -> String {
        self.namespace_or(DEFAULT_NAMESPACE)
    }

    /// Returns the namespace of the flag, else that of the context.
    pub fn given_namespace(&self) -> Option<String> {
        let flag = self.shell.global().namespace().map(str::to_owned);
        flag.or_else(|| self.cluster.namespace.clone())
    }

    /// Like [`Session::given_namespace`], with a default.
    pub fn namespace_or(&self, usual: &str) -> String {
        self.given_namespace().unwrap_or_else(|| usual.to_owned())
    }

    pub fn instance(&self, name: &str) -> Target {
        let kind = instance_kind();
        Target { kind, namespace: self.namespace(), name: name.to_owned() }
    }

    /// Returns the selected objects; those selected by kind are filtered by `keeps`.
    ///
    /// # Errors
    /// Not found, if no object is selected; any error of the list requests.
    pub async fn targets_that(
        &self,
        wanted: ObjectSelection,
        keeps: impl Fn(&Target, &Value) -> bool,
    ) -> Result<Vec<Target>, CliError> {
        // Managed fields make objects much larger, and no filter uses them.
        let options = ListOptions { without_managers: true, ..ListOptions::default() };
        self.targets_of(wanted, options, keeps).await
    }

    /// Returns the objects that the user selected. For a selection by kind, only names are read.
    ///
    /// # Errors
    /// Not found, if no object is selected; any error of the list requests.
    pub async fn targets(&self, wanted: ObjectSelection) -> Result<Vec<Target>, CliError> {
        self.targets_of(wanted, names_only(), |_, _| true).await
    }

    async fn targets_of(
        &self,
        wanted: ObjectSelection,
        options: ListOptions,
        keeps: impl Fn(&Target, &Value) -> bool,
    ) -> Result<Vec<Target>, CliError> {
        let (kinds, selector, all_namespaces) = match wanted {
            ObjectSelection::Objects(named) => {
                let target = |n: KindAndName| Target { kind: n.kind, namespace: self.namespace(), name: n.name };
                return Ok(named.into_iter().map(target).collect());
            }
            ObjectSelection::Kinds { kinds, selector, all_namespaces } => (kinds, selector, all_namespaces),
        };
        let mut targets = vec![];
        for kind in &kinds {
            let namespace = (!all_namespaces).then(|| self.namespace());
            let options = ListOptions { label_selector: selector.clone(), ..options.clone() };
            for object in self.list(kind, namespace.as_deref(), &options).await? {
                let ObjectId { namespace, name, .. } = ObjectId::of(&object);
                let target = Target { kind, namespace, name };
                if keeps(&target, &object) {
                    targets.push(target);
                }
            }
        }
        if targets.is_empty() {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.plural).collect();
            // Only an empty result justifies a request that checks whether the namespace exists.
            let place = self.searched(all_namespaces).await?;
            return Err(CliError::new(
                Exit::NotFound,
                format!("there are no {} to work on in {place}", names.join(", ")),
            ));
        }
        Ok(targets)
    }

    /// Describes where objects of these kinds were searched: `namespace apps`.
    ///
    /// # Errors
    /// Not found: the namespace does not exist.
    pub async fn searched(&self, all_namespaces: bool) -> Result<String, CliError> {
        if all_namespaces {
            return Ok("any namespace".to_owned());
        }
        let namespace = self.namespace();
        match self.no_namespace(&namespace).await {
            Some(error) => Err(error),
            None => Ok(format!("namespace {namespace}")),
        }
    }

    /// Returns the error for a namespace that does not exist, with the nearest existing one; `None` when it exists or
    /// cannot be read.
    pub async fn no_namespace(&self, namespace: &str) -> Option<CliError> {
        let existing = self.namespaces_if_missing(namespace).await?;
        let near = nearest_namespace(namespace, &existing);
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Some(CliError::new(Exit::NotFound, format!("there is no namespace {namespace}{near}")))
    }

    /// Adds a hint to the error for a missing object if its namespace does not exist either.
    pub async fn with_namespace_hint(&self, error: CliError, namespace: &str) -> CliError {
        match self.no_namespace(namespace).await {
            Some(missing) => error.hint(missing.message()),
            None => error,
        }
    }

    /// Replaces the advice to create a missing namespace if an existing namespace has a similar name.
    pub async fn with_nearest_namespace(&self, error: CliError, namespace: &str) -> CliError {
        if error.exit() != Exit::NotFound {
            return error;
        }
        let existing = self.namespaces_if_missing(namespace).await.unwrap_or_default();
        match nearest_namespace(namespace, &existing) {
            Some(near) => error.only_hint(format!("did you mean namespace {near}?")),
            None => error,
        }
    }

    /// Returns all namespaces of the cluster if the given namespace is missing; `None` otherwise.
    async fn namespaces_if_missing(&self, namespace: &str) -> Option<Vec<String>> {
        let look = async {
            // Lists all namespaces instead of reading one, because the error suggests the nearest name.
            let all = self.cluster.list(&NAMESPACE, None, &names_only()).await.ok()?.items;
            let names: Vec<String> = all.iter().map(|one| fields::name(one).to_owned()).collect();
            (!names.iter().any(|name| name == namespace)).then_some(names)
        };
        // A hint must not delay the error.
        timeout(HINT_LIMIT.min(self.deadline.left()), look).await.ok()?
    }

    /// `fluxinstance/flux-system/flux (context dev)`.
    pub fn place(&self, object: &str) -> String {
        format!("{object} ({})", self.cluster.endpoint.place())
    }

    /// Formats a command line for the same cluster and namespace.
    pub fn command(&self, words: &str, namespace: &str) -> String {
        format!("flux-operator {words} -n {namespace}{}", self.destination().flags())
    }

    /// As [`Shell::suggest`], for this cluster.
    pub fn suggest(&self, words: &str, namespace: &str) {
        self.shell.suggest(&self.command(words, namespace));
    }

    /// Returns the flags that select this cluster.
    pub fn destination(&self) -> Destination {
        Destination { context: self.context.clone(), ..self.shell.global().destination() }
    }

    /// Formats the command that shows the state of an object.
    pub fn command_to_show(&self, target: &Target) -> String {
        let verb = if target.kind == instance_kind() { "why" } else { "events" };
        self.command(&format!("{verb} {}", target.words()), &target.namespace)
    }

    /// Returns the served resource type of a kind, in the newest version that both this program and the server support.
    pub async fn served(&self, kind: &FluxKind) -> Result<ResourceType, CliError> {
        let newest = kind.resource_type();
        let find = self.cluster.newest_served(&newest, kind.versions);
        self.bounded(&format!("look up the kind {}", kind.kind), find).await
    }

    /// Does work with the cluster within the command's deadline.
    pub async fn bounded<T>(
        &self,
        attempted: &str,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, CliError> {
        tracing::info!("going to {attempted}");
        let work = self.shell.while_waiting(attempted, work);
        match timeout_at(self.deadline.instant(), work).await {
            Ok(Ok(value)) => Ok(value),
            // The error names what the command attempted, not the single request that failed.
            Ok(Err(error)) => Err(cli_error(&ClusterError { attempted: attempted.to_owned(), ..error })),
            Err(_) => Err(self.out_of_time(attempted)),
        }
    }

    /// Returns the error of a command whose time is up before anything is known.
    pub fn out_of_time(&self, attempted: &str) -> CliError {
        self.deadline.out_of_time(attempted).cause(format!("{} gave no answer", self.cluster.endpoint))
    }

    /// Sends a merge patch. The error distinguishes a missing object from a missing kind, and suggests the nearest
    /// names.
    pub async fn patch(&self, target: &Target, verb: &str, patch: &Value, dry_run: bool) -> Result<Value, CliError> {
        let resource = self.served(target.kind).await?;
        let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: false, dry_run };
        let id = target.id().at(&resource.version);
        let send = self.cluster.merge_patch(&id, None, patch, options);
        let sent = self.bounded(&format!("{verb} {}", self.place(&target.reference())), send).await;
        self.or_missing(target, sent).await
    }

    pub async fn get(&self, target: &Target) -> Result<Value, CliError> {
        let resource = match self.served(target.kind).await {
            Err(error) if error.exit() == Exit::ApiMissing => return Err(self.or_without_flux(error).await),
            served => served?,
        };
        let get = self.cluster.get(&resource, Some(&target.namespace), &target.name);
        let found = self.bounded(&format!("get {}", self.place(&target.reference())), get).await;
        self.or_missing(target, found).await
    }

    async fn or_missing<T>(&self, target: &Target, result: Result<T, CliError>) -> Result<T, CliError> {
        match result {
            Err(error) if error.exit() == Exit::NotFound => Err(self.missing(target).await),
            Err(error) if error.exit() == Exit::ApiMissing => Err(self.or_without_flux(error).await),
            other => other,
        }
    }

    /// Returns the error that Flux is not installed at all, or else the given error about a kind that is not served.
    async fn or_without_flux(&self, error: CliError) -> CliError {
        match timeout(HINT_LIMIT.min(self.deadline.left()), is_without_flux(self)).await {
            Ok(true) => not_installed(&self.cluster.endpoint.place(), &self.destination()),
            _ => error,
        }
    }

    /// Lists the objects of a kind, page by page.
    pub async fn list(
        &self,
        kind: &FluxKind,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, CliError> {
        let resource = self.served(kind).await?;
        let list = self.cluster.list(&resource, namespace, options);
        Ok(self.bounded(&format!("list {}", kind.plural), list).await?.items)
    }

    /// Returns the error for a missing object, with the nearest name, or the namespaces that have such an object.
    pub async fn missing(&self, target: &Target) -> CliError {
        let reference = target.reference();
        let error = not_found(reference, &self.cluster.endpoint.place());
        // Without the right to list everything, the error has no hint.
        let Ok(Ok(all)) =
            timeout(HINT_LIMIT.min(self.deadline.left()), self.list(target.kind, None, &names_only())).await
        else {
            return error;
        };
        if all.is_empty()
            && matches!(timeout(HINT_LIMIT.min(self.deadline.left()), is_without_flux(self)).await, Ok(true))
        {
            return not_installed(&self.cluster.endpoint.place(), &self.destination()).object(target.reference());
        }
        let existing: Vec<_> = all.iter().map(ObjectId::of).map(|id| (Some(id.namespace), id.name)).collect();
        let namespace = Some(target.namespace.as_str());
        // Objects in the namespace prove that it exists.
        let error = match existing.iter().any(|(place, _)| place.as_deref() == namespace) {
            true => error,
            false => self.with_namespace_hint(error, &target.namespace).await,
        };
        error.hint(missing::hint(target.kind.plural, namespace, &target.name, &existing))
    }

    /// Returns the error for a watch that the API server refused.
    pub fn watch_error(&self, target: &Target, error: ClusterError) -> CliError {
        let reference = target.reference();
        let attempted = format!("watch {}", self.place(&reference));
        cli_error(&ClusterError { attempted, object: Some(target.id()), ..error })
    }
}

/// The namespace whose UID identifies the cluster. Every cluster has this namespace, and it is never deleted.
const IDENTITY: &str = "kube-system";

/// Returns the error for a missing object, without a hint.
pub fn not_found(reference: String, place: &str) -> CliError {
    CliError::new(Exit::NotFound, missing::message(&reference, place)).object(reference)
}

/// Options of a list that needs only names.
fn names_only() -> ListOptions {
    ListOptions { metadata_only: true, without_managers: true, ..ListOptions::default() }
}

/// Returns the existing namespace nearest to a typed one. A user who types `flux-system` before it exists does not mean
/// `kube-system`.
fn nearest_namespace<'a>(typed: &str, names: &'a [String]) -> Option<&'a str> {
    let is_of_kubernetes = |name: &str| name.starts_with("kube-");
    nearest(typed, names.iter().map(String::as_str).filter(|name| !is_of_kubernetes(name) || is_of_kubernetes(typed)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_command_may_have_sessions_with_several_clusters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let cluster = |name: &str| json!({"name": name, "cluster": {"server": format!("http://{name}.example")}});
        let context = |name: &str| json!({"name": name, "context": {"cluster": name, "user": "", "namespace": name}});
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a", "users": [],
            "clusters": [cluster("a"), cluster("b")], "contexts": [context("a"), context("b")]});
        std::fs::write(&path, config.to_string()).unwrap();
        let shell = Shell::of_flags(&["--kubeconfig", path.to_str().unwrap()]);
        let current = Session::open(&shell).await.unwrap();
        let other = Session::of_context(&shell, Some("b")).await.unwrap();
        let server = |session: &Session<'_>| session.cluster.endpoint.server.clone();
        assert_eq!((server(&current), server(&other)), ("http://a.example".into(), "http://b.example".into()));
        assert_eq!(other.place("secret/b/s"), "secret/b/s (context b)");
        assert!(
            other.command("get instance", "b").contains(" --context b "),
            "the next command works on the same cluster"
        );
        assert!(!current.command("get instance", "a").contains("--context"));
    }

    #[test]
    fn a_missing_namespace_is_not_taken_for_one_of_kubernetes() {
        let names = ["default", "kube-system", "flux-systems"].map(str::to_owned);
        assert_eq!(nearest_namespace("flux-system", &names[..2]), None);
        assert_eq!(nearest_namespace("flux-system", &names), Some("flux-systems"));
        assert_eq!(nearest_namespace("kube-sytem", &names), Some("kube-system"));
    }
}
