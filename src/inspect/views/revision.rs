//! `wait revision`: the progress of a revision from its sources to the objects that apply them. Pure.
//!
//! ```text
//! source has fetched it ─► (chart is packaged from it) ─► Kustomization or HelmRelease has applied it and is healthy
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, HELM_GROUP, KUSTOMIZE_GROUP, SOURCE_GROUP};
use crate::api::well_known::condition::{READY, STALLED};
use crate::inspect::views::trace;
use crate::k8s::{ObjectId, fields};

/// Kinds whose artifacts have their own revision.
const SOURCES: [&str; 4] = ["GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"];
/// A shorter text is not accepted as the beginning of a commit.
const SHORTEST_COMMIT: usize = 7;

/// A revision as the user writes it: a commit or its beginning, a tag, a digest, or the text of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionQuery(String);

impl RevisionQuery {
    pub fn new(text: &str) -> Self {
        RevisionQuery(text.trim().to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a revision in a status (`main@sha1:…`, `v1.0.0@sha256:…`, `sha256:…`) is this one.
    pub fn is(&self, revision: &str) -> bool {
        let wanted = self.0.as_str();
        if wanted.is_empty() || revision.is_empty() {
            return false;
        }
        let (name, digest) = revision.rsplit_once('@').unwrap_or(("", revision));
        let hash = digest.split_once(':').map_or(digest, |(_, hash)| hash);
        let is_hex = wanted.len() >= SHORTEST_COMMIT && wanted.bytes().all(|b| b.is_ascii_hexdigit());
        // With `spec.ref.name` a revision is `refs/tags/v1@sha1:…`.
        let tag = name.rsplit("refs/tags/").next().unwrap_or(name);
        revision == wanted
            || digest == wanted
            || (is_hex && hash.starts_with(&wanted.to_ascii_lowercase()))
            // An algorithm and its colon have at least five characters, as in `sha1:`.
            || (wanted.contains(':') && wanted.len() > SHORTEST_COMMIT + 4 && digest.starts_with(wanted))
            || (!tag.is_empty() && tag == wanted)
    }

    /// Whether a source's artifact has this revision or was built from it, such as an OCI artifact of a commit.
    fn is_of(&self, source: &Value) -> bool {
        let origin = fields::at(source, "/status/artifact/metadata/org.opencontainers.image.revision");
        self.is(fields::text(source, "/status/artifact/revision"))
            || origin.and_then(Value::as_str).is_some_and(|origin| self.is(origin))
    }
}

/// Selects the objects to check.
#[derive(Clone, Debug, Default)]
pub struct RevisionScope {
    /// `None` means all namespaces.
    pub namespace: Option<String>,
    /// Only these objects, and those that apply the sources among them; empty means all in the namespace.
    pub objects: Vec<ObjectId>,
}

/// The state of an object with respect to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RevisionProgress {
    Waiting,
    Done,
    /// It failed with this revision, or no controller reconciles it.
    Failed,
}

/// The stage of an object in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RevisionStage {
    Fetched,
    Applied,
}

/// An object in the rollout of a revision.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub stage: RevisionStage,
    pub object: ObjectId,
    pub progress: RevisionProgress,
    /// Why it is not done, or else its revision.
    pub says: String,
}

/// The rollout of a revision: its sources, then the objects that apply them, each by kind, namespace and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RevisionRollout {
    pub members: Vec<Member>,
    /// Sources that may still fetch it, with their current revision, as long as no source has it.
    pub candidates: Vec<Member>,
}

impl RevisionRollout {
    /// Whether every object has the revision and is healthy.
    pub fn is_done(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| member.progress == RevisionProgress::Done)
    }

    /// Whether waiting is pointless, because every object has the revision or failed.
    pub fn is_over(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| member.progress != RevisionProgress::Waiting)
    }
}

/// Determines the progress of a revision; `fetched` are sources that had it before.
pub fn rollout(
    objects: &BTreeMap<ObjectId, Value>,
    revision: &RevisionQuery,
    scope: &RevisionScope,
    fetched: &BTreeSet<ObjectId>,
) -> RevisionRollout {
    let is_in_scope = |id: &ObjectId| scope.namespace.as_ref().is_none_or(|namespace| id.namespace == *namespace);
    let is_source = |id: &ObjectId| {
        (id.group == SOURCE_GROUP || id.group == kinds::SOURCE_EXTENSIONS_GROUP) && SOURCES.contains(&id.kind.as_str())
    };
    let is_applier = |id: &ObjectId| {
        (id.group == KUSTOMIZE_GROUP && id.kind == "Kustomization")
            || (id.group == HELM_GROUP && id.kind == "HelmRelease")
    };
    let has_it = |id: &ObjectId, source: &Value| fetched.contains(id) || revision.is_of(source);
    let all_sources = || objects.iter().filter(|(id, _)| is_source(id));
    let appliers = || objects.iter().filter(|(id, _)| is_applier(id));
    let source_of = |applier: &Value| trace::source_of(applier).filter(is_source);

    let (sources, applying): (BTreeSet<ObjectId>, BTreeSet<ObjectId>) = if scope.objects.is_empty() {
        // An application may use a source in another namespace.
        let used: BTreeSet<ObjectId> =
            appliers().filter(|(id, _)| is_in_scope(id)).filter_map(|(_, applier)| source_of(applier)).collect();
        let is_ours = |id: &ObjectId| is_in_scope(id) || used.contains(id);
        let having: Vec<&Value> =
            all_sources().filter(|(id, source)| is_ours(id) && has_it(id, source)).map(|(_, source)| source).collect();
        // The same branch of the same address has the same content.
        let is_alike = |source: &Value| {
            having.iter().any(|other| {
                ["/spec/url", "/spec/ref", "/spec/endpoint", "/spec/bucketName", "/kind"]
                    .iter()
                    .all(|pointer| fields::at(other, pointer) == fields::at(source, pointer))
            })
        };
        let sources: BTreeSet<ObjectId> = all_sources()
            .filter(|(id, source)| is_ours(id) && (has_it(id, source) || is_alike(source)))
            .map(|(id, _)| id.clone())
            .collect();
        let applying = appliers().filter(|(id, applier)| {
            is_in_scope(id) && source_of(applier).is_some_and(|source| sources.contains(&source))
        });
        let applying = applying.map(|(id, _)| id.clone()).collect();
        (sources, applying)
    } else {
        let named = |id: &ObjectId| scope.objects.contains(id);
        let of_named = appliers().filter(|(id, _)| named(id)).filter_map(|(_, applier)| source_of(applier));
        let mut sources: BTreeSet<ObjectId> = of_named.collect();
        let named_sources: BTreeSet<ObjectId> = scope.objects.iter().filter(|id| is_source(id)).cloned().collect();
        let applying = appliers().filter(|(id, applier)| {
            named(id) || source_of(applier).is_some_and(|source| named_sources.contains(&source))
        });
        let applying = applying.map(|(id, _)| id.clone()).collect();
        sources.extend(named_sources);
        (sources, applying)
    };

    let fetching = |id: &ObjectId| match objects.get(id) {
        Some(source) if has_it(id, source) => member(
            RevisionStage::Fetched,
            id,
            RevisionProgress::Done,
            fields::text(source, "/status/artifact/revision"),
        ),
        Some(source) => outdated_member(RevisionStage::Fetched, id, source, "/status/artifact/revision"),
        None => member(RevisionStage::Fetched, id, RevisionProgress::Failed, "does not exist"),
    };
    let mut members: Vec<Member> = sources.iter().map(fetching).collect();
    members.extend(applying.iter().filter_map(|id| {
        let applier = objects.get(id)?;
        let source = source_of(applier).and_then(|id| objects.get(&id));
        Some(applied(objects, revision, id, applier, source))
    }));
    for missing in scope.objects.iter().filter(|id| !objects.contains_key(id)) {
        members.push(member(RevisionStage::Applied, missing, RevisionProgress::Failed, "does not exist"));
    }
    let candidates = match members.is_empty() {
        true => all_sources().filter(|(id, _)| is_in_scope(id)).map(|(id, _)| fetching(id)).collect(),
        false => vec![],
    };
    RevisionRollout { members, candidates }
}

fn member(stage: RevisionStage, id: &ObjectId, progress: RevisionProgress, says: &str) -> Member {
    Member { stage, object: id.clone(), progress, says: says.trim().to_owned() }
}

/// An object with another revision.
fn outdated_member(stage: RevisionStage, id: &ObjectId, object: &Value, revision: &str) -> Member {
    if kinds::is_suspended(object) {
        return member(stage, id, RevisionProgress::Failed, "is suspended");
    }
    if let Some(stalled) = fields::condition(object, STALLED).filter(|c| c.is_true()) {
        return member(stage, id, RevisionProgress::Failed, stalled.message());
    }
    if let Some(failed) = fields::condition(object, READY).filter(|c| c.is_false()) {
        return member(stage, id, RevisionProgress::Waiting, failed.message());
    }
    match fields::some_text(object, revision) {
        Some(revision) => member(stage, id, RevisionProgress::Waiting, &format!("is at {revision}")),
        None => member(stage, id, RevisionProgress::Waiting, "has no revision yet"),
    }
}

/// Determines the state of a Kustomization or HelmRelease.
fn applied(
    objects: &BTreeMap<ObjectId, Value>,
    revision: &RevisionQuery,
    id: &ObjectId,
    applier: &Value,
    source: Option<&Value>,
) -> Member {
    let stage = RevisionStage::Applied;
    // Use the source's name for the revision if the user gave the commit from which an OCI artifact was built.
    let artifact = source.filter(|source| revision.is_of(source));
    let artifact = artifact.map(|source| fields::text(source, "/status/artifact/revision")).unwrap_or_default();
    let is_it = |text: &str| revision.is(text) || (!text.is_empty() && text == artifact);
    let (is_tried, is_applied) = match id.kind.as_str() {
        "Kustomization" => (
            is_it(fields::text(applier, "/status/lastAttemptedRevision")),
            is_it(fields::text(applier, "/status/lastAppliedRevision")),
        ),
        _ => {
            // A HelmRelease records what it attempted. Its Ready condition shows the result.
            let tried = release_has(objects, applier, artifact, &is_it);
            (tried, tried)
        }
    };
    let ready = fields::condition(applier, READY);
    let is_observed = fields::is_observed(applier);
    if is_applied && is_observed && ready.is_some_and(|c| c.is_true()) {
        let at = fields::some_text(applier, "/status/lastAppliedRevision")
            .or_else(|| fields::some_text(applier, "/status/lastAttemptedRevision"));
        return member(stage, id, RevisionProgress::Done, at.unwrap_or_default());
    }
    // An object that waits for its dependencies is also Ready=False, but continues without intervention.
    let failed = ready.filter(|c| is_tried && is_observed && c.is_false() && c.reason() != "DependencyNotReady");
    match failed {
        Some(failed) => member(stage, id, RevisionProgress::Failed, failed.message()),
        None if is_tried => {
            member(stage, id, RevisionProgress::Waiting, ready.map_or("has not reported yet", |c| c.message()))
        }
        None => outdated_member(stage, id, applier, "/status/lastAppliedRevision"),
    }
}

/// Whether a release was built from the artifact of a revision: by the digest of an OCI artifact, or through its
/// HelmChart.
fn release_has(
    objects: &BTreeMap<ObjectId, Value>,
    release: &Value,
    artifact: &str,
    is_it: &impl Fn(&str) -> bool,
) -> bool {
    let tried = fields::text(release, "/status/lastAttemptedRevision");
    if let Some((namespace, name)) =
        fields::some_text(release, "/status/helmChart").and_then(|chart| chart.split_once('/'))
    {
        let chart = objects.get(&ObjectId::new(SOURCE_GROUP, "HelmChart", Some(namespace), name));
        return chart.is_some_and(|chart| {
            // The chart may already be newer than the last attempt.
            is_it(fields::text(chart, "/status/observedSourceArtifactRevision"))
                && !tried.is_empty()
                && fields::text(chart, "/status/artifact/revision") == tried
        });
    }
    let digest = fields::some_text(release, "/status/lastAttemptedRevisionDigest")
        .or_else(|| fields::some_text(release, "/status/history/0/ociDigest"));
    digest.is_some_and(|digest| is_it(digest) || artifact.ends_with(digest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OLD: &str = "main@sha1:1111111111111111111111111111111111111111";
    const NEW: &str = "main@sha1:2222222222222222222222222222222222222222";

    fn git(name: &str, url: &str, revision: &str) -> Value {
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": name, "namespace": "apps"}, "spec": {"url": url, "ref": {"branch": "main"}},
            "status": {"artifact": {"revision": revision},
                "conditions": [{"type": "Ready", "status": "True", "message": "stored"}]}})
    }

    fn ks(name: &str, source: &str, applied: &str, ready: &str, message: &str) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "apps"},
            "spec": {"sourceRef": {"kind": "GitRepository", "name": source}},
            "status": {"lastAppliedRevision": applied, "lastAttemptedRevision": applied,
                "conditions": [{"type": "Ready", "status": ready, "reason": "x", "message": message}]}})
    }

    fn rollout_of(objects: &[Value], revision: &str, named: &[ObjectId]) -> RevisionRollout {
        let objects = objects.iter().map(|object| (ObjectId::of(object), object.clone())).collect();
        let scope = RevisionScope { namespace: None, objects: named.to_vec() };
        rollout(&objects, &RevisionQuery::new(revision), &scope, &BTreeSet::new())
    }

    fn lines(found: &RevisionRollout) -> Vec<String> {
        found.members.iter().map(|m| format!("{} {:?} {}", m.object.name, m.progress, m.says)).collect()
    }

    #[test]
    fn commits_tags_and_digests_are_recognised_in_what_a_status_shows() {
        let is = |wanted: &str, shown: &str| RevisionQuery::new(wanted).is(shown);
        assert!(
            is("2222222", NEW)
                && is(NEW, NEW)
                && is("sha1:2222222222222222", NEW)
                && is("2222222222222222222222222222222222222222", NEW)
        );
        assert!(!is("2222", NEW), "too short for a commit");
        assert!(!is("2222222", OLD) && !is("", NEW) && !is("2222222", ""));
        assert!(
            is("v1.2.0", "v1.2.0@sha256:abc")
                && is("v1.2.0", "refs/tags/v1.2.0@sha1:abc")
                && !is("v1.2", "v1.2.0@sha256:abc")
        );
        assert!(is("sha256:abcdef012345", "latest@sha256:abcdef0123456789") && is("sha256:abc", "sha256:abc"));
    }

    #[test]
    fn a_revision_is_there_when_every_source_and_all_that_applies_it_is_healthy() {
        let done = rollout_of(
            &[git("app", "u", NEW), ks("a", "app", NEW, "True", "ok"), ks("b", "app", NEW, "True", "ok")],
            "2222222",
            &[],
        );
        assert!(done.is_done() && done.is_over(), "{done:?}");
        let late = rollout_of(
            &[git("app", "u", NEW), ks("a", "app", NEW, "True", "ok"), ks("b", "app", OLD, "True", "ok")],
            "2222222",
            &[],
        );
        assert!(!late.is_over());
        assert_eq!(
            lines(&late),
            [format!("app Done {NEW}"), format!("a Done {NEW}"), format!("b Waiting is at {OLD}")]
        );
        let failed =
            rollout_of(&[git("app", "u", NEW), ks("a", "app", NEW, "False", "health check failed")], "2222222", &[]);
        assert!(failed.is_over() && !failed.is_done());
        assert_eq!(lines(&failed)[1], "a Failed health check failed");
        let mut waits = ks("a", "app", NEW, "False", "dependency 'apps/b' is not ready");
        waits["status"]["conditions"][0]["reason"] = "DependencyNotReady".into();
        assert!(!rollout_of(&[git("app", "u", NEW), waits], "2222222", &[]).is_over(), "what waits has not failed");
    }

    #[test]
    fn other_repositories_are_left_out_and_the_same_one_elsewhere_is_waited_for() {
        let objects =
            [git("app", "u", NEW), git("copy", "u", OLD), git("other", "v", OLD), ks("o", "other", OLD, "True", "ok")];
        assert_eq!(
            lines(&rollout_of(&objects, "2222222", &[])),
            [format!("app Done {NEW}"), format!("copy Waiting is at {OLD}")]
        );
        // No source has it yet: each source that may fetch it is a candidate, and the wait continues.
        let none = rollout_of(&objects, "3333333", &[]);
        assert!(none.members.is_empty() && !none.is_over() && none.candidates.len() == 3, "{none:?}");
    }

    #[test]
    fn named_objects_are_waited_for_with_their_sources_and_nothing_else() {
        let objects = [git("app", "u", NEW), ks("a", "app", NEW, "True", "ok"), ks("b", "app", OLD, "True", "ok")];
        let named = |kind: &str, group: &str, name: &str| ObjectId::new(group, kind, Some("apps"), name);
        assert!(rollout_of(&objects, "2222222", &[named("Kustomization", KUSTOMIZE_GROUP, "a")]).is_done());
        assert!(
            !rollout_of(&objects, "2222222", &[named("GitRepository", SOURCE_GROUP, "app")]).is_over(),
            "b applies it, too"
        );
        let gone = rollout_of(&objects, "2222222", &[named("Kustomization", KUSTOMIZE_GROUP, "nope")]);
        assert_eq!(lines(&gone), ["nope Failed does not exist"]);
    }

    #[test]
    fn a_suspended_object_is_not_waited_for_in_vain() {
        let mut paused = ks("a", "app", OLD, "True", "ok");
        paused["spec"]["suspend"] = true.into();
        let found = rollout_of(&[git("app", "u", NEW), paused], "2222222", &[]);
        assert!(found.is_over() && !found.is_done());
        assert_eq!(lines(&found)[1], "a Failed is suspended");
    }

    #[test]
    fn a_release_has_the_commit_its_chart_was_packaged_from_or_the_digest_of_an_oci_artifact() {
        let release = |spec: Value, status: Value| {
            let mut status = status;
            status["conditions"] = json!([{"type": "Ready", "status": "True", "message": "ok"}]);
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
                "metadata": {"name": "web", "namespace": "apps"}, "spec": spec, "status": status})
        };
        let chart = |source: &str, version: &str| {
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
                "metadata": {"name": "apps-web", "namespace": "apps"},
                "status": {"observedSourceArtifactRevision": source, "artifact": {"revision": version}}})
        };
        let of_git =
            json!({"chart": {"spec": {"chart": "./c", "sourceRef": {"kind": "GitRepository", "name": "app"}}}});
        let status = json!({"helmChart": "apps/apps-web", "lastAttemptedRevision": "0.1.0+2"});
        let web = release(of_git, status);
        assert!(rollout_of(&[git("app", "u", NEW), chart(NEW, "0.1.0+2"), web.clone()], "2222222", &[]).is_done());
        assert!(!rollout_of(&[git("app", "u", NEW), chart(OLD, "0.1.0+2"), web.clone()], "2222222", &[]).is_done());
        assert!(!rollout_of(&[git("app", "u", NEW), chart(NEW, "0.1.0+3"), web], "2222222", &[]).is_done());
        let oci = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
            "metadata": {"name": "web", "namespace": "apps"}, "spec": {"url": "oci://r/web"},
            "status": {"artifact": {"revision": "v2@sha256:feed", "metadata": {"org.opencontainers.image.revision": NEW}},
                "conditions": [{"type": "Ready", "status": "True"}]}});
        let of_oci = json!({"chartRef": {"kind": "OCIRepository", "name": "web"}});
        let web = release(
            of_oci,
            json!({"lastAttemptedRevision": "2.0.0+feed", "lastAttemptedRevisionDigest": "sha256:feed"}),
        );
        for revision in ["v2", "sha256:feed", "2222222"] {
            assert!(rollout_of(&[oci.clone(), web.clone()], revision, &[]).is_done(), "{revision}");
        }
    }
}
