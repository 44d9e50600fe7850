//! `wait revision`: waits until a commit, tag or digest has arrived everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use flux_operator::api::kinds::{self, FluxKind, ResourceType};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::cluster::watch::{FollowedChange, Follower};
use flux_operator::cluster::{Category, ClusterError, ListOptions};
use flux_operator::inspect::diagnose::why::why;
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::judged_objects::{JudgedObject, has_expressions, judged_objects};
use flux_operator::inspect::views::revision::{
    Member, RevisionProgress, RevisionQuery, RevisionRollout, RevisionScope, RevisionStage, rollout,
};
use flux_operator::k8s::{ObjectId, fields};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::args::objects::unknown_kind;
use crate::flows::follow::unhealthy;
use crate::flows::rights::{KIND, Rights, always, read_words, when};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::read_source::{FromArgs, Source};
use crate::session::watch::Burst;
use crate::terminal::output_format::{Format, ViewArgs, structured};
use crate::terminal::progress::{Progress, ProgressArgs, ProgressMode, State};
use crate::terminal::{CliError, Exit, Shell};

/// Wait until a revision is fetched, applied and healthy everywhere
///
/// Waits for every source that has the revision and every source of the same address and branch, then for every
/// Kustomization and HelmRelease that uses these sources. Finally prints a receipt: the duration of each stage and the
/// last object. If the command times out or an object fails, exits with 7 and lists the late objects with their
/// reasons.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The commit that was just pushed\n  \
    flux-operator wait revision 5394cb7 -A --timeout 10m\n\n  \
    # A tag of an artifact, and one application\n  \
    flux-operator -n apps wait revision v1.2.0 ks/podinfo\n\n  \
    # In a pipeline: progress as JSON lines, the receipt as JSON\n  \
    flux-operator wait revision 5394cb7 -A --progress json -o json\n\n  \
    # The progress when a dump was written, without waiting\n  \
    flux-operator wait revision 5394cb7 --from incident.tar.gz")]
pub struct Args {
    /// Commit or its beginning, tag, digest, or a revision as shown in a status
    #[arg(value_name = "COMMIT|TAG|DIGEST")]
    pub revision: String,
    /// KIND/NAME of sources, Kustomizations and HelmReleases; all if omitted
    #[arg(value_name = "KIND/NAME", add = crate::args::complete::resources())]
    pub resources: Vec<String>,
    /// Wait in all namespaces instead of one
    #[arg(short = 'A', long, conflicts_with = "resources")]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// The kinds in a revision's rollout.
const KINDS: [&str; 7] =
    ["GitRepository", "OCIRepository", "Bucket", "ExternalArtifact", "HelmChart", "Kustomization", "HelmRelease"];
/// Limit for late objects with an explanation.
const EXPLAINED: usize = 3;

/// The result that is printed at the end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Receipt {
    revision: String,
    /// Duration of the wait; missing for a dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    stages: Vec<StageReceipt>,
    objects: Vec<ObjectReceipt>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StageReceipt {
    stage: RevisionStage,
    objects: usize,
    /// Since the start of the wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    last: ObjectId,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectReceipt {
    #[serde(flatten)]
    member: Member,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// Health of what it applied, by the expressions in its spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    health_checks: Vec<JudgedObject>,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    rights.flux_kinds(
        None,
        |kind| KINDS.contains(&kind.kind),
        &[always("list", KIND), when("the revision is not everywhere yet", "watch", KIND)],
    );
    rights.everywhere(&[when("an object is late", "list", "deployments events")]);
    read_words(rights, &args.resources)
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let mut named = vec![];
    let objects = if args.resources.is_empty() { vec![] } else { ObjectWords::objects(&args.resources)? };
    for (kind, name) in objects {
        let found = kinds::find(kind).ok_or_else(|| unknown_kind(kind))?;
        if !KINDS.contains(&found.kind) || found.kind == "HelmChart" {
            return Err(CliError::usage(format!("cannot wait for a revision of {}", found.kind))
                .hint("these kinds have a revision: GitRepository, OCIRepository, Bucket, ExternalArtifact, Kustomization and HelmRelease"));
        }
        named.push((found, name));
    }
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = match named.is_empty() {
            true => source.listed_namespace(args.all_namespaces),
            false => source.namespace(DEFAULT_NAMESPACE),
        };
        let objects = named.iter().map(|(kind, name)| named_in(&source, kind, namespace.as_deref(), name)).collect();
        let scope = RevisionScope { namespace: namespace.clone().filter(|_| !args.all_namespaces), objects };
        let mut wait = RevisionWait {
            revision: RevisionQuery::new(&args.revision),
            scope,
            objects: BTreeMap::new(),
            fetched: BTreeSet::new(),
            done: BTreeMap::new(),
            started: Instant::now(),
        };
        let (found, ended) = match &source {
            Source::Dump(snapshot, _) => (wait.rollout_in(snapshot), "when the dump was written".to_owned()),
            Source::Cluster(session) => wait_in(session, &mut wait, args.progress.progress).await?,
        };
        if !found.is_done() {
            return Err(late(shell, &source, &wait, &found, &ended).await);
        }
        let health_checks = wait.health_checks(shell, &source, &found).await;
        let receipt = wait.receipt(&found, health_checks, matches!(source, Source::Cluster(_)));
        shell.print(&match structured(&receipt, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => names(&receipt),
            None => text(&receipt),
        });
        Ok(Exit::Done)
    })
}

/// Returns the named object; without `-n` a dump is searched completely.
fn named_in(source: &Source<'_>, kind: &FluxKind, namespace: Option<&str>, name: &str) -> ObjectId {
    let in_dump = match source {
        Source::Dump(snapshot, _) => {
            let objects = snapshot.list(&kind.resource_type(), namespace);
            objects.into_iter().find(|object| fields::name(object) == name).map(ObjectId::of)
        }
        Source::Cluster(_) => None,
    };
    in_dump.unwrap_or_else(|| ObjectId::new(kind.group, kind.kind, namespace, name))
}

/// Waits until the revision is everywhere or cannot arrive; also returns why the wait ended, for the error about late
/// objects.
async fn wait_in(
    session: &Session<'_>,
    wait: &mut RevisionWait,
    mode: ProgressMode,
) -> Result<(RevisionRollout, String), CliError> {
    session.shell.interruption().set("nothing was changed; reconciliation continues in the cluster", None);
    let mut progress = Progress::new(session.shell, mode);
    progress.set("revision", State::Waiting, "waiting for it to be everywhere");
    let ended = timeout_at(session.deadline.instant(), wait.follow(session, &mut progress)).await;
    progress.clear();
    match ended {
        Ok(found) => Ok((found?, "the rollout cannot finish".to_owned())),
        Err(_) => Ok((wait.rollout(), format!("timed out after {}", session.deadline.length()))),
    }
}

struct RevisionWait {
    revision: RevisionQuery,
    scope: RevisionScope,
    objects: BTreeMap<ObjectId, Value>,
    /// Sources that have had the revision, even if they have a newer one now.
    fetched: BTreeSet<ObjectId>,
    /// Time from the start until each object had the revision.
    done: BTreeMap<ObjectId, Duration>,
    started: Instant,
}

/// The judged objects of each owner.
type HealthChecks = BTreeMap<ObjectId, Vec<JudgedObject>>;

type RevisionSignals = BoxStream<'static, (&'static str, Result<FollowedChange, ClusterError>)>;

impl RevisionWait {
    fn rollout(&self) -> RevisionRollout {
        rollout(&self.objects, &self.revision, &self.scope, &self.fetched)
    }

    /// Determines the progress in a dump, which does not change any more.
    fn rollout_in(&mut self, snapshot: &Snapshot) -> RevisionRollout {
        for kind in KINDS.into_iter().filter_map(kinds::find) {
            let objects = snapshot.list(&kind.resource_type(), None).into_iter();
            self.objects.extend(objects.map(|object| (ObjectId::of(object), object.clone())));
        }
        self.rollout()
    }

    /// Follows all objects until each has the revision or cannot get it.
    ///
    /// # Errors
    /// Namespace not found, or the user lacks the right to list a kind.
    async fn follow(&mut self, session: &Session<'_>, progress: &mut Progress) -> Result<RevisionRollout, CliError> {
        let mut changes = changes(session);
        let mut in_doubt = self.scope.namespace.clone();
        let mut unseen: BTreeSet<&str> = KINDS.into_iter().collect();
        while let Some((kind, change)) = changes.next().await {
            self.take(kind, change.map_err(|e| cli_error(&e))?);
            unseen.remove(kind);
            let burst = Burst::begins();
            while let Some((kind, change)) = burst.following(&mut changes).await {
                self.take(kind, change.map_err(|e| cli_error(&e))?);
                unseen.remove(kind);
            }
            // Before every kind has been listed, objects are missing, and the revision would seem to be everywhere.
            if !unseen.is_empty() {
                continue;
            }
            // A namespace that does not exist would never get an object.
            if let Some(namespace) = in_doubt.take().filter(|one| !self.objects.keys().any(|id| id.namespace == *one))
                && let Some(error) = session.no_namespace(&namespace).await
            {
                return Err(error);
            }
            let found = self.rollout();
            self.note(&found, progress);
            if found.is_over() {
                return Ok(found);
            }
        }
        Ok(self.rollout())
    }

    fn take(&mut self, kind: &str, change: FollowedChange) {
        match change {
            FollowedChange::All(objects) => {
                self.objects.retain(|id, _| id.kind != kind);
                self.objects.extend(objects.into_iter().map(|object| (ObjectId::of(&object), object)));
            }
            FollowedChange::Set(object) => _ = self.objects.insert(ObjectId::of(&object), object),
            FollowedChange::Gone(object) => _ = self.objects.remove(&ObjectId::of(&object)),
        }
    }

    fn note(&mut self, found: &RevisionRollout, progress: &mut Progress) {
        let now = self.started.elapsed();
        for member in &found.members {
            let state = match member.progress {
                RevisionProgress::Waiting => State::Waiting,
                RevisionProgress::Done => State::Done,
                RevisionProgress::Failed => State::Failed,
            };
            if member.progress == RevisionProgress::Done {
                self.done.entry(member.object.clone()).or_insert(now);
                if member.stage == RevisionStage::Fetched {
                    self.fetched.insert(member.object.clone());
                }
            }
            progress.set(&member.object.lower_case(), state, &member.says);
        }
        if found.members.is_empty() {
            let says = format!("no source has fetched {} yet", self.revision.as_str());
            progress.set("sources", State::Waiting, &says);
        } else if !self.fetched.is_empty() {
            progress.set("sources", State::Done, &format!("{} is fetched", self.revision.as_str()));
        }
    }

    /// Evaluates the health expressions of the rollout's members on the objects that they applied.
    async fn health_checks(&self, shell: &Shell, source: &Source<'_>, found: &RevisionRollout) -> HealthChecks {
        let members = found.members.iter().filter_map(|member| self.objects.get_key_value(&member.object));
        let owners: Vec<(&ObjectId, &Value)> = members.filter(|(_, owner)| has_expressions(owner)).collect();
        if owners.is_empty() {
            return HealthChecks::new();
        }
        let view = source.view(shell, |snapshot| -> HealthChecks {
            owners.iter().map(|(id, owner)| ((*id).clone(), judged_objects(snapshot, owner))).collect()
        });
        // Unreadable health checks do not change whether the revision has arrived.
        timeout(EXPLAIN_LIMIT, view).await.ok().and_then(Result::ok).map(|viewed| viewed.value).unwrap_or_default()
    }

    fn receipt(&self, found: &RevisionRollout, mut health_checks: HealthChecks, has_waited: bool) -> Receipt {
        let seconds = |time: Duration| has_waited.then(|| (time.as_secs_f64() * 1000.0).round() / 1000.0);
        let at = |member: &Member| self.done.get(&member.object).copied().unwrap_or_default();
        let stages = [RevisionStage::Fetched, RevisionStage::Applied].into_iter().filter_map(|stage| {
            let members: Vec<&Member> = found.members.iter().filter(|member| member.stage == stage).collect();
            let last = members.iter().max_by_key(|member| at(member))?;
            Some(StageReceipt { stage, objects: members.len(), seconds: seconds(at(last)), last: last.object.clone() })
        });
        Receipt {
            revision: self.revision.as_str().to_owned(),
            seconds: seconds(self.started.elapsed()),
            stages: stages.collect(),
            objects: found
                .members
                .iter()
                .map(|member| ObjectReceipt {
                    member: member.clone(),
                    seconds: seconds(at(member)),
                    health_checks: health_checks.remove(&member.object).unwrap_or_default(),
                })
                .collect(),
        }
    }
}

/// Streams the objects of every kind in a rollout, and their changes.
fn changes(session: &Session<'_>) -> RevisionSignals {
    let streams = KINDS.into_iter().filter_map(|name| {
        let kind: ResourceType = kinds::find(name)?.resource_type();
        // A source may be in another namespace than the objects that apply it.
        let follower = Follower::new(&session.cluster, kind, None, ListOptions::default(), None);
        Some(
            stream::unfold(follower, move |mut follower| async move {
                let change = next_of(&mut follower).await;
                Some(((name, change), follower))
            })
            .boxed(),
        )
    });
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

/// Returns the next change of a kind. Without the right to list and watch it, the wait cannot succeed.
async fn next_of(follower: &mut Follower) -> Result<FollowedChange, ClusterError> {
    match follower.try_next().await {
        // A kind of a component that is not installed has no objects.
        Err(error) if error.is_api_missing() => Ok(FollowedChange::All(vec![])),
        // Any other failure may pass, and `next` tries again.
        Err(error) if error.category() != Category::Denied => follower.next().await,
        other => other,
    }
}

/// Returns the late and failed objects, each with its cause if available.
async fn late(
    shell: &Shell,
    source: &Source<'_>,
    wait: &RevisionWait,
    found: &RevisionRollout,
    ended: &str,
) -> CliError {
    let revision = wait.revision.as_str();
    let late: Vec<&Member> = found.members.iter().filter(|member| member.progress != RevisionProgress::Done).collect();
    let (what, who) = match found.members.is_empty() {
        true => ("no source has fetched it".to_owned(), found.candidates.iter().collect::<Vec<_>>()),
        false => (format!("{} of {} objects do not have it", late.len(), found.members.len()), late),
    };
    let mut error = CliError::new(Exit::Unhealthy, format!("{ended}: {revision} is not everywhere: {what}"));
    let mut health_checks = wait.health_checks(shell, source, found).await;
    for member in &who {
        error = error.cause(format!("{}: {}", member.object, member.says));
        let judged = health_checks.remove(&member.object).unwrap_or_default();
        error = unhealthy(&judged).fold(error, CliError::cause);
    }
    let mut reported = BTreeSet::new();
    for member in who.iter().take(EXPLAINED) {
        let Some(object) = wait.objects.get(&member.object) else { continue };
        let view = source.view(shell, |snapshot| why(snapshot, object, source.now()));
        // The time is up, so an explanation gets only a moment more.
        let Ok(Ok(answer)) = timeout(EXPLAIN_LIMIT, view).await else { continue };
        let Some(cause) = answer.value.cause else { continue };
        if reported.insert(cause.summary.clone()) {
            error = error.hint(format!(
                "{} ({}): {}",
                cause.summary,
                cause.object,
                cause.next.first().map(|step| source.destination().command(step)).unwrap_or_default()
            ));
        }
    }
    error
}

/// Limit for one explanation.
const EXPLAIN_LIMIT: Duration = Duration::from_secs(5);

fn names(receipt: &Receipt) -> String {
    receipt.objects.iter().map(|object| format!("{}\n", object.member.object)).collect()
}

fn text(receipt: &Receipt) -> String {
    let after = |word: &str, seconds: Option<f64>| seconds.map(|s| format!(" {word} {s:.1}s")).unwrap_or_default();
    let mut text = format!("{} is everywhere{}\n", receipt.revision, after("after", receipt.seconds));
    for StageReceipt { stage, objects, seconds, last } in &receipt.stages {
        let done = match stage {
            RevisionStage::Fetched => "fetched",
            RevisionStage::Applied => "applied",
        };
        let last = seconds.map(|_| format!(", last by {last}")).unwrap_or_default();
        text.push_str(&format!("  {done} by {objects}{}{last}\n", after("in", *seconds)));
    }
    for JudgedObject { object, status, message } in receipt.objects.iter().flat_map(|one| &one.health_checks) {
        text.push_str(&format!("  {object} is {status}: {message}\n"));
    }
    text
}
