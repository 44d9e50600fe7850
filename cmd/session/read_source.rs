//! The source of a read command: a cluster, or a dump given by `--from`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flux_operator::api::kinds;
use flux_operator::api::well_known::{DEFAULT_NAMESPACE, GROUP};
use flux_operator::cluster::{ClusterError, DeniedAccess, Reason};
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::diagnose::next_step::NextStep;
use flux_operator::inspect::diagnose::why;
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::read::from_cluster::CollectedView;
use flux_operator::inspect::read::from_dump;
use flux_operator::inspect::read::from_dump::{Dump, DumpError};
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::missing;
use flux_operator::k8s::ResourceType;
use flux_operator::k8s::fields;
use jiff::Timestamp;
use serde_json::Value;

use crate::output::next_step::Destination;
use crate::session::connect::cli_error;
use crate::session::health::{VerdictUse, exit_of, is_without_flux, not_installed};
use crate::session::{Session, not_found};
use crate::terminal::{CliError, Exit, Shell, is_stdin, suggested_file};

/// Advice if the API server does not serve the requested kind.
pub const INSTALL_HINT: &str =
    "install Flux with `flux-operator apply instance -f FILE --in-process`, or check the context";

const DUMPS: &str = "a dump is a folder of `kubectl cluster-info dump`, or a list of `kubectl get -o yaml`";
const SOURCE: &str = "Source options";
/// Default deadline of a read; `--timeout` overrides it.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
#[derive(clap::Args, Clone, Debug)]
pub struct FromArgs {
    /// Read a dump instead of a cluster: a folder, a file, or - for stdin
    ///
    /// Archives of `bundle`, folders of `kubectl cluster-info dump` and lists of
    /// `kubectl get -o yaml|json` are understood.
    #[arg(long, value_name = "DIR|FILE|-", help_heading = SOURCE)]
    pub from: Option<PathBuf>,
}

/// The namespaces and objects of a list.
#[derive(clap::Args, Clone, Debug)]
pub struct ScopeArgs {
    /// List objects of all namespaces
    #[arg(short = 'A', long, help_heading = SOURCE)]
    pub all_namespaces: bool,
    /// Keep objects whose labels match, as in kubectl: a=b, a!=b, a in (b,c), !a
    #[arg(short = 'l', long, value_name = "LABELS", help_heading = SOURCE)]
    pub selector: Option<String>,
    #[command(flatten)]
    pub from: FromArgs,
}

/// A cluster or a dump.
pub enum Source<'a> {
    Cluster(Box<Session<'a>>),
    /// With the namespace of the flag.
    Dump(Box<Snapshot>, Option<String>),
}

/// A view with the failed reads.
pub struct PartialView<T> {
    pub value: T,
    pub refusals: Vec<ClusterError>,
}

impl<T> PartialView<T> {
    /// Returns the view, unless the view is empty and a read failed.
    pub fn unless_blind(mut self, is_empty: impl FnOnce(&T) -> bool) -> Result<Self, CliError> {
        if is_empty(&self.value) && !self.refusals.is_empty() {
            return Err(cli_error(&self.refusals.swap_remove(0)));
        }
        Ok(self)
    }

    /// Returns the value, unless the value is empty and a read failed.
    pub fn or_refusal(self, is_empty: impl FnOnce(&T) -> bool) -> Result<T, CliError> {
        self.unless_blind(is_empty).map(|viewed| viewed.value)
    }

    /// Returns the value after a warning for every failed read.
    pub fn with_warnings(self, shell: &Shell) -> T {
        warn_of_refusals(shell, &self.refusals);
        self.value
    }
}

/// Warns about the reads that failed and left the view incomplete.
pub fn warn_of_refusals<'a>(shell: &Shell, refusals: impl IntoIterator<Item = &'a ClusterError>) {
    for reason in reasons(refusals.into_iter().map(|refusal| &refusal.reason)) {
        shell.warn(&format!("incomplete: {reason}"));
    }
}

/// Returns the distinct reasons. If a user lacks the same right on several kinds in one place, a single reason names
/// all of these kinds.
fn reasons<'a>(refused: impl Iterator<Item = &'a Reason>) -> BTreeSet<String> {
    let mut others = BTreeSet::new();
    let mut denied: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for reason in refused {
        match reason {
            Reason::Forbidden { access: DeniedAccess { user, verb, resource: Some(resource), namespace, .. } } => {
                denied.entry((user, verb, namespace)).or_default().insert(resource);
            }
            other => {
                others.insert(other.to_string());
            }
        }
    }
    for ((user, verb, namespace), resources) in denied {
        let resource = Some(resources.into_iter().collect::<Vec<_>>().join(", "));
        let (user, verb, namespace) = (user.clone(), verb.clone(), namespace.clone());
        others.insert(DeniedAccess { user, verb, resource, namespace, message: String::new() }.to_string());
    }
    others
}

impl<'a> Source<'a> {
    pub async fn open(shell: &'a Shell, from: &FromArgs) -> Result<Self, CliError> {
        match &from.from {
            Some(path) => {
                Ok(Source::Dump(Box::new(read_dump(path, shell).await?), shell.global().namespace().map(str::to_owned)))
            }
            None => Ok(Source::Cluster(Box::new(Session::open(shell).await?))),
        }
    }

    /// Opens a source for judging the state of a cluster.
    ///
    /// # Errors
    /// Usage, if the files never came from a cluster, because in such files nothing fails and nothing is ready.
    pub async fn open_to_judge(shell: &'a Shell, from: &FromArgs) -> Result<Self, CliError> {
        let source = Source::open(shell, from).await?;
        let (Source::Dump(snapshot, _), Some(path)) = (&source, &from.from) else { return Ok(source) };
        if !from_dump::looks_like_manifests(snapshot) {
            return Ok(source);
        }
        let path = path.display();
        Err(CliError::usage(format!("{path} looks like manifests, not like a dump of a cluster"))
            .cause("no object in it has a uid or a status, which the API server and the controllers write")
            .hint(format!(
                "`flux-operator check -f {path}` checks manifests, `flux-operator get all -A --from {path}` lists them"
            ))
            .hint("`flux-operator bundle` makes a dump of a cluster"))
    }

    /// Returns the namespace of the flag, or else of the context, or else `usual`; `None` for all, as in a dump without
    /// the flag.
    pub fn namespace(&self, usual: &str) -> Option<String> {
        match self {
            Source::Cluster(session) => Some(session.namespace_or(usual)),
            Source::Dump(_, flag) => flag.clone(),
        }
    }

    /// Like [`Source::namespace`] for FluxInstances; without a flag, a dump uses the namespace of its first instance.
    pub fn instance_namespace(&self) -> String {
        match self {
            Source::Dump(snapshot, None) => {
                let instances = snapshot.list(&instance_type(), None);
                instances.first().and_then(|i| fields::namespace(i)).unwrap_or(DEFAULT_NAMESPACE).to_owned()
            }
            _ => self.namespace(DEFAULT_NAMESPACE).unwrap_or_else(|| DEFAULT_NAMESPACE.into()),
        }
    }

    /// Returns the namespace of a list: that of the flag, else that of the context; `None` for all namespaces.
    pub fn listed_namespace(&self, all_namespaces: bool) -> Option<String> {
        let flag = match self {
            Source::Cluster(session) => session.given_namespace(),
            Source::Dump(_, flag) => flag.clone(),
        };
        flag.filter(|_| !all_namespaces)
    }

    /// Returns the namespace of an object that the user gives by kind and name; `None` for a cluster-scoped kind, or
    /// for a whole dump.
    pub fn namespace_of(&self, resource: &ResourceType) -> Option<String> {
        match resource.namespaced {
            false => None,
            true if *resource == instance_type() => Some(self.instance_namespace()),
            true => self.namespace(DEFAULT_NAMESPACE),
        }
    }

    /// Returns the current time, or for a dump the approximate time when it was written.
    pub fn now(&self) -> Timestamp {
        match self {
            Source::Cluster(..) => Timestamp::now(),
            Source::Dump(snapshot, _) => why::moment_of(snapshot).unwrap_or_else(Timestamp::now),
        }
    }

    /// Names the context or file in messages.
    pub fn place(&self) -> String {
        match self {
            Source::Cluster(session) => session.cluster.endpoint.place(),
            Source::Dump(..) => "the dump".into(),
        }
    }

    /// The host of the API server, or the file.
    pub fn address(&self) -> String {
        match self {
            Source::Cluster(session) => {
                let server = &session.cluster.endpoint.server;
                let host = server.split_once("://").map_or(server.as_str(), |(_, host)| host).trim_end_matches('/');
                if host.is_empty() { self.place() } else { host.to_owned() }
            }
            Source::Dump(..) => self.place(),
        }
    }

    /// Whether Flux is not installed at all; `false` if the user may not read everything that would show it.
    pub async fn is_not_installed(&self, shell: &Shell) -> bool {
        match self {
            Source::Dump(snapshot, _) => !why::is_installed(snapshot),
            Source::Cluster(session) => matches!(within(shell, is_without_flux(session)).await, Ok(true)),
        }
    }

    /// `Flux is not installed in context dev`.
    pub fn not_installed_text(&self) -> String {
        format!("Flux is not installed in {}", self.place())
    }

    /// Returns the command that installs Flux on a cluster without it.
    pub fn install_command(&self) -> String {
        self.destination().command(&NextStep::ApplyInProcess)
    }

    /// Returns the error of a command that needs Flux on a cluster without it.
    pub fn not_installed(&self) -> CliError {
        not_installed(&self.place(), &self.destination())
    }

    /// Prints that Flux is not installed, with the command that installs it; returns the exit code.
    pub fn report_not_installed(&self, shell: &Shell) -> Exit {
        shell.status(&format!("{}; install it with `{}`", self.not_installed_text(), self.install_command()));
        exit_of(HealthVerdict::NotInstalled, VerdictUse::List)
    }

    /// Returns the flags for the next command; a dump has none.
    pub fn destination(&self) -> Destination {
        match self {
            Source::Cluster(session) => session.destination(),
            Source::Dump(..) => Destination::default(),
        }
    }

    /// Evaluates a view.
    pub async fn view<T>(
        &self,
        shell: &Shell,
        mut view: impl FnMut(&Snapshot) -> T,
    ) -> Result<PartialView<T>, CliError> {
        match self {
            Source::Dump(snapshot, _) => Ok(PartialView { value: view(snapshot), refusals: vec![] }),
            Source::Cluster(session) => {
                let CollectedView { value, refusals, .. } =
                    within(shell, from_cluster::collect(&session.cluster, view)).await?.map_err(|e| cli_error(&e))?;
                Ok(PartialView { value, refusals })
            }
        }
    }

    /// Returns an object of a kind by name.
    ///
    /// # Errors
    /// Not found, with the nearest name or the namespace of an object with that name; denied; unreachable.
    pub async fn object(
        &self,
        shell: &Shell,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, CliError> {
        let viewed = self.view(shell, |snapshot| find(snapshot, resource, namespace, name)).await?;
        if let Some(found) = viewed.or_refusal(Option::is_none)? {
            return Ok(found);
        }
        Err(self.not_found(shell, resource, namespace, name).await)
    }

    /// Returns the object of some words, of any known or served kind, or any kind in the dump.
    ///
    /// # Errors
    /// The kind or object does not exist; the nearest ones are hints.
    pub async fn named_object(&self, shell: &Shell, kind: &str, name: &str) -> Result<Value, CliError> {
        let resource = self.kind(kind).await?;
        self.object(shell, &resource, self.namespace_of(&resource).as_deref(), name).await
    }

    /// Returns the kind for a word, from the tables or from the cluster.
    pub async fn kind(&self, word: &str) -> Result<ResourceType, CliError> {
        match (kinds::find_resource_type(word), &self) {
            (Some(resource), _) => Ok(resource),
            (None, Source::Cluster(session)) => {
                session.cluster.find_resource_type(word).await.map_err(|e| cli_error(&e))
            }
            (None, Source::Dump(snapshot, _)) => in_dump(snapshot, word),
        }
    }

    /// All objects of a kind in a namespace, or in all.
    pub async fn objects(
        &self,
        shell: &Shell,
        resource: &ResourceType,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, CliError> {
        let list = |snapshot: &Snapshot| snapshot.list(resource, namespace).into_iter().cloned().collect();
        self.view(shell, list).await?.or_refusal(Vec::is_empty)
    }

    /// Returns the error for a missing object, with all available hints in one list.
    pub async fn not_found(
        &self,
        shell: &Shell,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> CliError {
        let reference = match namespace.filter(|_| resource.namespaced) {
            Some(namespace) => format!("{}/{namespace}/{name}", resource.kind.to_lowercase()),
            None => format!("{}/{name}", resource.kind.to_lowercase()),
        };
        let known = self
            .view(shell, |snapshot| {
                let objects = snapshot.list(resource, None);
                let missing = snapshot.is_not_installed(resource);
                let names =
                    objects.iter().map(|o| (fields::namespace(o).map(str::to_owned), fields::name(o).to_owned()));
                (names.collect::<Vec<_>>(), missing)
            })
            .await;
        let (names, is_unserved) = known.map(|v| v.value).unwrap_or_default();
        if names.is_empty() && self.is_not_installed(shell).await {
            return self.not_installed().object(reference);
        }
        if is_unserved {
            return CliError::new(Exit::ApiMissing, format!("cannot find {reference} in {}", self.place()))
                .object(reference)
                .hint(format!("the API server does not serve {}", resource.resource_name()))
                .hint(install_hint(std::slice::from_ref(resource)));
        }
        let error = not_found(reference, &self.place());
        let in_vain = namespace.filter(|_| resource.namespaced);
        // A namespace with objects of the kind exists, so the API server need not be asked about it.
        let in_vain = in_vain.filter(|namespace| !names.iter().any(|(place, _)| place.as_deref() == Some(*namespace)));
        let error = match (self, in_vain) {
            (Source::Cluster(session), Some(namespace)) => session.with_namespace_hint(error, namespace).await,
            _ => error,
        };
        error.hint(missing::hint(&resource.plural, namespace, name, &names))
    }
}

/// Returns the error for an API that is not installed.
pub fn api_missing(source: &Source<'_>, api: &str, hint: &str) -> CliError {
    CliError::new(Exit::ApiMissing, format!("cannot list {api} in {}", source.place()))
        .hint(format!("the API server does not serve {api}: {hint}"))
}

/// Returns the advice for kinds that the API server does not serve: some come with the operator, some with a component.
pub fn install_hint(resources: &[ResourceType]) -> String {
    if resources.iter().all(|resource| resource.group == GROUP && resource.kind != "FluxInstance") {
        return "it comes with the operator: `flux-operator install`".to_owned();
    }
    let components: Option<BTreeSet<&str>> = resources.iter().map(component_of).collect();
    match components.map(Vec::from_iter).as_deref() {
        Some([component]) => {
            format!("it comes with {component}: add that to spec.components of the instance, or install Flux")
        }
        // More than two missing components are not an optional part of Flux, so Flux itself is missing.
        Some(two @ [_, _]) => {
            format!(
                "they come with {}: add those to spec.components of the instance, or install Flux",
                two.join(" and ")
            )
        }
        _ => INSTALL_HINT.to_owned(),
    }
}

/// The component that serves a kind of Flux.
fn component_of(resource: &ResourceType) -> Option<&'static str> {
    match (&*resource.group, &*resource.kind) {
        ("image.toolkit.fluxcd.io", "ImageUpdateAutomation") => Some("image-automation-controller"),
        ("image.toolkit.fluxcd.io", _) => Some("image-reflector-controller"),
        ("source.extensions.fluxcd.io", _) => Some("source-watcher"),
        ("helm.toolkit.fluxcd.io", _) => Some("helm-controller"),
        ("kustomize.toolkit.fluxcd.io", _) => Some("kustomize-controller"),
        ("notification.toolkit.fluxcd.io", _) => Some("notification-controller"),
        _ => None,
    }
}

fn find(snapshot: &Snapshot, resource: &ResourceType, namespace: Option<&str>, name: &str) -> Option<Value> {
    match (snapshot.is_dump(), namespace) {
        // Without `-n`, the search covers the whole dump.
        (true, None) if resource.namespaced => {
            snapshot.list(resource, None).into_iter().find(|o| fields::name(o) == name).cloned()
        }
        _ => snapshot.get(resource, namespace, name).cloned(),
    }
}

/// Returns the resource type of FluxInstance.
pub fn instance_type() -> ResourceType {
    flux_operator::api::kinds::INSTANCE
}

/// Ends a read after `--timeout`, or a minute.
pub async fn within<T>(shell: &Shell, read: impl Future<Output = T>) -> Result<T, CliError> {
    let limit = shell.global().timeout.map_or(READ_TIMEOUT, |t| t.0);
    tokio::time::timeout(limit, shell.while_waiting("answer", read)).await.map_err(|_| {
        CliError::new(
            Exit::Unhealthy,
            format!("timed out after {}s: the cluster has not answered", limit.as_secs_f64()),
        )
        .hint("--timeout sets the deadline, --request-timeout the limit of one call")
    })
}

async fn read_dump(path: &Path, shell: &Shell) -> Result<Snapshot, CliError> {
    read_dump_with(path, shell, from_dump::read, |stdin| from_dump::read_stream(stdin, "standard input")).await
}

/// Reads a dump with the values of its Secrets, which the caller removes.
///
/// # Errors
/// Failed, if it cannot be read; usage, if stdin is a terminal or the dump is of several clusters.
pub async fn read_whole_dump(path: &Path, shell: &Shell) -> Result<Snapshot, CliError> {
    read_dump_with(path, shell, from_dump::read_whole, |stdin| from_dump::read_whole_stream(stdin, "standard input"))
        .await
}

async fn read_dump_with(
    path: &Path,
    shell: &Shell,
    read: impl FnOnce(&Path) -> Result<Dump, DumpError> + Send + 'static,
    read_stdin: impl FnOnce(std::io::StdinLock<'static>) -> Result<Dump, DumpError> + Send + 'static,
) -> Result<Snapshot, CliError> {
    let failed = |e: &DumpError| match e {
        DumpError::SeveralClusters { .. } => {
            CliError::usage(e.to_string()).hint("--from reads one cluster: give the folder or file of one")
        }
        DumpError::Read { source, .. } => {
            let hint = suggested_file(path, source).unwrap_or_else(|| DUMPS.to_owned());
            CliError::usage(format!("cannot read the dump {}", path.display())).caused_by(e).hint(hint)
        }
        _ => CliError::failed(format!("cannot read the dump {}", path.display())).caused_by(e).hint(DUMPS),
    };
    let dump = if is_stdin(path) {
        let stdin = shell.stdin("the dump")?;
        // Users do not type dumps, so the pipe is missing.
        if stdin.is_terminal() {
            return Err(CliError::usage("--from - reads a dump from stdin, which is a terminal")
                .hint("pipe one in: kubectl get fluxinstance -A -o yaml | flux-operator get instance --from -"));
        }
        shell.read_input("the dump", move || read_stdin(stdin.lock())).await?
    } else {
        let place = path.to_owned();
        shell.read_input("the dump", move || read(&place)).await?
    };
    let Dump { snapshot, unread, doubtful, hidden_folders } = dump.map_err(|e| failed(&e))?;
    // A folder often contains files of other programs, which must not make the dump unreadable.
    if let Some(first) = unread.first() {
        let reason = first.source().map(|source| format!(": {source}")).unwrap_or_default();
        let files = if unread.len() == 1 { "1 file is" } else { &format!("{} files are", unread.len()) };
        shell.warn(&format!("{files} left out, the first because of this: {first}{reason}"));
    }
    match hidden_folders {
        0 => {}
        1 => shell.hint("1 hidden folder is not read: name it to have it read"),
        many => shell.hint(&format!("{many} hidden folders are not read: name one to have it read")),
    }
    if let Some(first) = doubtful.first() {
        let objects = if doubtful.len() == 1 { "1 object is" } else { &format!("{} objects are", doubtful.len()) };
        shell.warn(&format!(
            "{objects} left out, because another object has the same name and neither has a namespace: {first}"
        ));
    }
    Ok(snapshot)
}

/// Errors about missing objects of a line with several names. The other objects are still shown.
pub struct MissingNames {
    is_one: bool,
    errors: Vec<CliError>,
}

impl MissingNames {
    /// Starts with the number of given names.
    pub fn of(names: usize) -> Self {
        MissingNames { is_one: names == 1, errors: vec![] }
    }

    /// Returns the result for one name. If its object is missing and the user gave several names, the error is kept for
    /// [`MissingNames::warn`] and [`MissingNames::report`].
    ///
    /// # Errors
    /// Any other error.
    pub fn found<T>(&mut self, found: Result<T, CliError>) -> Result<Option<T>, CliError> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.exit() == Exit::NotFound && !self.is_one => {
                self.errors.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds errors about names with a partial result.
    pub fn add(&mut self, errors: impl IntoIterator<Item = CliError>) {
        self.errors.extend(errors);
    }

    /// Warns of each kept error.
    pub fn warn(&self, shell: &Shell) {
        self.errors.iter().for_each(|error| shell.warn(error.message()));
    }

    /// Reports each kept error except the last, which becomes the result of the command.
    ///
    /// # Errors
    /// The last kept error.
    pub fn report(mut self, shell: &Shell, exit: Exit) -> Result<Exit, CliError> {
        let Some(last) = self.errors.pop() else { return Ok(exit) };
        for error in &self.errors {
            shell.report(error);
        }
        Err(last)
    }
}

/// Finds an unknown kind by its objects in a dump.
fn in_dump(snapshot: &Snapshot, word: &str) -> Result<ResourceType, CliError> {
    let found = snapshot.all().find(|o| {
        let kind = fields::kind(o);
        kind.eq_ignore_ascii_case(word) || format!("{kind}s").eq_ignore_ascii_case(word)
    });
    let found = found.ok_or_else(|| CliError::usage(format!("no object of kind `{word}` in the dump")))?;
    // A dump has no discovery documents, so the found object is the only source for its kind.
    Ok(ResourceType {
        group: fields::group(found).to_owned().into(),
        version: fields::version(found).to_owned().into(),
        kind: fields::kind(found).to_owned().into(),
        plural: format!("{}s", fields::kind(found).to_lowercase()).into(),
        namespaced: fields::namespace(found).is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_are_reported_once_for_all_kinds_of_a_namespace() {
        let denied = |verb: &str, resource: &str, namespace: Option<&str>| {
            let some = |text: &str| Some(text.to_owned());
            let (user, verb, resource) = (some("jane"), some(verb), some(resource));
            let namespace = namespace.map(str::to_owned);
            Reason::Forbidden {
                access: DeniedAccess { user, verb, resource, namespace, message: "the server's".into() },
            }
        };
        let unclear = || Reason::Forbidden {
            access: DeniedAccess { message: "a webhook says no".into(), ..DeniedAccess::default() },
        };
        let refused = [
            denied("list", "pods", None),
            denied("list", "buckets.source.toolkit.fluxcd.io", None),
            denied("get", "pods", Some("apps")),
            unclear(),
            denied("list", "pods", None),
            unclear(),
        ];
        let printed: Vec<String> = reasons(refused.iter()).into_iter().collect();
        let all = "user jane is not allowed to list buckets.source.toolkit.fluxcd.io, pods cluster-wide";
        assert_eq!(printed, ["a webhook says no", "user jane is not allowed to get pods in namespace apps", all]);
    }
}
