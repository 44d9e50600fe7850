//! One command's way to the cluster: connection, namespace, deadline, and errors in the user's words.

pub mod connect;
pub mod manifest_file;
pub mod read_source;
pub mod registries;
pub mod rehearsal;
pub mod target;
pub mod watch;

use std::time::Duration;

use flux_operator::api::kinds::{FluxKind, NAMESPACE, ResourceType};
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE, GROUP};
use flux_operator::cluster::{self, Cluster, ClusterError, ListOptions, WriteOptions};
use flux_operator::format::go_duration;
use flux_operator::format::nearest::nearest;
use flux_operator::k8s::{ObjectId, fields};
use flux_operator::reconcile::operator::{OperatorCoverage, find_coverage};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::output::next_step::Whereto;
use crate::session::connect::{cli_error, connect};
use crate::session::target::{Named, Target, Wanted, instance_kind};
use crate::terminal::{CliError, Exit, Shell};

/// Deadline of a command, unless `--timeout` says otherwise.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
/// A hint is worth no longer wait than this.
pub const HINT_LIMIT: Duration = Duration::from_secs(2);

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

    /// Of a command as a whole: `--timeout`, else what is usual for its kind; neither is no deadline.
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

    /// The length as Go writes it: `5m0s`.
    pub fn length(self) -> String {
        go_duration::format(jiff::SignedDuration::try_from(self.length).unwrap_or(jiff::SignedDuration::MAX))
    }

    /// The error of a command whose time is up.
    pub fn out_of_time(self, attempted: &str) -> CliError {
        CliError::new(Exit::Unhealthy, format!("timed out after {}: cannot {attempted}", self.length()))
    }
}

/// A command's way to one cluster. A command may have several.
#[derive(Clone)]
pub struct Session<'a> {
    pub shell: &'a Shell,
    pub cluster: Cluster,
    pub deadline: Deadline,
    /// The context that was asked for by name.
    context: Option<String>,
}

impl<'a> Session<'a> {
    /// Connects as the flags say; the deadline starts here.
    pub async fn open(shell: &'a Shell) -> Result<Self, CliError> {
        Session::of_context(shell, shell.global().context.as_deref()).await
    }

    /// Connects as the flags say, but to this context of the kubeconfig; `None` is its current one.
    pub async fn of_context(shell: &'a Shell, context: Option<&str>) -> Result<Self, CliError> {
        let deadline = Deadline::after(shell.global().timeout.map_or(WAIT_TIMEOUT, |t| t.0));
        // What takes time before the first request is a plugin that asks somebody for credentials.
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

    /// The same connection with the whole time-out again.
    pub fn with_new_deadline(&self) -> Self {
        Session { deadline: Deadline::after(self.deadline.length), ..self.clone() }
    }

    /// Whether an operator looks at an instance.
    pub async fn operator_coverage(&self, target: &Target) -> Result<OperatorCoverage, CliError> {
        let look = find_coverage(&self.cluster, &target.namespace, &target.name, jiff::Timestamp::now());
        self.bounded("look for an operator", look).await
    }

    /// The namespace of a command about a kind: the flag, the context's own one, else where the kind usually lives.
    pub fn namespace(&self, kind: &FluxKind) -> String {
        self.namespace_or(if kind.group == GROUP { DEFAULT_NAMESPACE } else { "default" })
    }

    /// The namespace of the flag, else of the context, else the usual one.
    pub fn namespace_or(&self, usual: &str) -> String {
        let flag = self.shell.global().namespace().map(str::to_owned);
        flag.or_else(|| self.cluster.namespace.clone()).unwrap_or_else(|| usual.to_owned())
    }

    pub fn instance(&self, name: &str) -> Target {
        let kind = instance_kind();
        Target { kind, namespace: self.namespace(kind), name: name.to_owned() }
    }

    /// The objects a person asked for; of those that are asked for by kind, `keeps` says which.
    ///
    /// # Errors
    /// Not found, when there is none; those of the lists.
    pub async fn targets(
        &self,
        wanted: Wanted,
        keeps: impl Fn(&Target, &Value) -> bool,
    ) -> Result<Vec<Target>, CliError> {
        let (kinds, selector, all_namespaces) = match wanted {
            Wanted::Objects(named) => {
                let target = |n: Named| Target { kind: n.kind, namespace: self.namespace(n.kind), name: n.name };
                return Ok(named.into_iter().map(target).collect());
            }
            Wanted::Kinds { kinds, selector, all_namespaces } => (kinds, selector, all_namespaces),
        };
        let mut targets = vec![];
        for kind in &kinds {
            let namespace = (!all_namespaces).then(|| self.namespace(kind));
            for object in self.list(kind, namespace.as_deref(), selector.as_deref()).await? {
                let ObjectId { namespace, name, .. } = ObjectId::of(&object);
                let target = Target { kind, namespace, name };
                if keeps(&target, &object) {
                    targets.push(target);
                }
            }
        }
        if targets.is_empty() {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.plural).collect();
            let place = self.searched(&kinds, all_namespaces).await?;
            return Err(CliError::new(
                Exit::NotFound,
                format!("there are no {} to work on in {place}", names.join(", ")),
            ));
        }
        Ok(targets)
    }

    /// Where objects of these kinds were looked for in vain: `namespace apps`.
    ///
    /// # Errors
    /// Not found: there is no such namespace.
    pub async fn searched(&self, kinds: &[&FluxKind], all_namespaces: bool) -> Result<String, CliError> {
        let Some(kind) = kinds.first().filter(|_| !all_namespaces) else { return Ok("any namespace".to_owned()) };
        let namespace = self.namespace(kind);
        match self.no_namespace(&namespace).await {
            Some(error) => Err(error),
            None => Ok(format!("namespace {namespace}")),
        }
    }

    /// The error of a namespace that does not exist, with the nearest one that does; `None` when it does, or when nobody may look.
    pub async fn no_namespace(&self, namespace: &str) -> Option<CliError> {
        let look = async {
            let options = ListOptions { metadata_only: true, ..ListOptions::default() };
            let all = self.cluster.list(&NAMESPACE, None, &options).await.ok()?.items;
            let names: Vec<String> = all.iter().map(|one| fields::name(one).to_owned()).collect();
            (!names.iter().any(|name| name == namespace)).then_some(names)
        };
        let names = timeout(HINT_LIMIT.min(self.deadline.left()), look).await.ok()??;
        let near = nearest(namespace, names.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Some(CliError::new(Exit::NotFound, format!("there is no namespace {namespace}{near}")))
    }

    /// The error of what is not there, with a hint when the namespace it was looked for in is not there either.
    pub async fn with_namespace_hint(&self, error: CliError, namespace: &str) -> CliError {
        match self.no_namespace(namespace).await {
            Some(missing) => error.hint(missing.message()),
            None => error,
        }
    }

    /// `fluxinstance/flux-system/flux (context dev)`.
    pub fn place(&self, object: &str) -> String {
        format!("{object} ({})", self.cluster.endpoint.place())
    }

    /// A command line that works on the same cluster and namespace as this one.
    pub fn command(&self, words: &str, namespace: &str) -> String {
        format!("flux-operator {words} -n {namespace}{}", self.whereto().flags())
    }

    /// The flags that led here.
    pub fn whereto(&self) -> Whereto {
        Whereto { context: self.context.clone(), kubeconfig: self.shell.global().kubeconfig.clone() }
    }

    /// The command that shows what goes on with an object.
    pub fn look_at(&self, target: &Target) -> String {
        let words = match target.words().strip_prefix("resource ") {
            Some(resource) => format!("events {resource}"),
            None => format!("why {}", target.words()),
        };
        self.command(&words, &target.namespace)
    }

    /// Where a kind is served: newer Flux serves newer versions of its kinds, and the newest of ours counts.
    pub async fn served(&self, kind: &FluxKind) -> Result<ResourceType, CliError> {
        let newest = kind.resource_type();
        let find = self.cluster.newest_served(&newest, kind.versions);
        self.bounded(&format!("look up the kind {}", kind.kind), find).await
    }

    /// Makes one piece of work with the cluster module, bounded by the command's deadline.
    pub async fn bounded<T>(
        &self,
        attempted: &str,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, CliError> {
        tracing::info!("going to {attempted}");
        let work = self.shell.while_waiting(attempted, work);
        match timeout_at(self.deadline.instant(), work).await {
            Ok(Ok(value)) => Ok(value),
            // In the words of the command.
            Ok(Err(error)) => Err(cli_error(&ClusterError { attempted: attempted.to_owned(), ..error })),
            Err(_) => Err(self.out_of_time(attempted)),
        }
    }

    /// The error of a command whose time is up before anything is known.
    pub fn out_of_time(&self, attempted: &str) -> CliError {
        self.deadline.out_of_time(attempted).cause(format!("{} gave no answer", self.cluster.endpoint))
    }

    /// Sends a merge patch; a missing object is told from a missing kind, with the nearest names.
    pub async fn patch(&self, target: &Target, verb: &str, patch: &Value, dry_run: bool) -> Result<Value, CliError> {
        let resource = self.served(target.kind).await?;
        let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: false, dry_run };
        let id = target.id().at(&resource.version);
        let send = self.cluster.merge_patch(&id, None, patch, options);
        let sent = self.bounded(&format!("{verb} {}", self.place(&target.reference())), send).await;
        self.or_missing(target, sent).await
    }

    pub async fn get(&self, target: &Target) -> Result<Value, CliError> {
        let resource = self.served(target.kind).await?;
        let get = self.cluster.get(&resource, Some(&target.namespace), &target.name);
        let found = self.bounded(&format!("get {}", self.place(&target.reference())), get).await;
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
    ) -> Result<Vec<Value>, CliError> {
        let resource = self.served(kind).await?;
        let options = ListOptions { label_selector: selector.map(str::to_owned), ..ListOptions::default() };
        let list = self.cluster.list(&resource, namespace, &options);
        Ok(self.bounded(&format!("list {}", kind.plural), list).await?.items)
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
        let named: Vec<(String, String)> = all.iter().map(ObjectId::of).map(|id| (id.namespace, id.name)).collect();
        let error = match named.iter().any(|(namespace, _)| *namespace == target.namespace) {
            true => error,
            false => self.with_namespace_hint(error, &target.namespace).await,
        };
        match missing_hint(target, &named) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// The error of a watch the API server refused.
    pub fn watch_error(&self, target: &Target, error: ClusterError) -> CliError {
        let reference = target.reference();
        let attempted = format!("watch {}", self.place(&reference));
        cli_error(&ClusterError { attempted, object: Some(target.id()), ..error })
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
    if let Some(near) = nearest(&target.name, here.iter().copied()) {
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
    use flux_operator::api::kinds;
    use serde_json::json;

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
}
