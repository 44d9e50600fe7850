//! `check --to`: what a newer Flux makes of a cluster, and of manifests in files. Pure.
//!
//! ```text
//! cluster ─► arguments of controllers, patches of the instance, definitions, objects ┐
//! files ───► patches, objects, variables of what each Kustomization applies          ┴► tables of the version ─► findings
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::api::Component;
use crate::api::kinds::{HELM_GROUP, KUSTOMIZE_GROUP, NOTIFICATION_GROUP};
use crate::api::well_known;
use crate::distribution::minor_changes::{self, ArgumentProblem, STRICT_SUBSTITUTION, argument_problems};
use crate::distribution::{Distribution, DistributionError, FluxVersion};
use crate::format::yaml;
use crate::k8s::{ObjectId, fields};

/// Something that the newer version does not take, or takes differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The file; empty for a cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Counts from 1; absent where no line can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `KIND/NAMESPACE/NAME`.
    pub object: String,
    /// Whether it stops working; else it works differently.
    pub breaks: bool,
    pub message: String,
}

/// A version of Flux that somebody wants to go to.
#[derive(Debug)]
pub struct Target {
    pub version: FluxVersion,
    /// The API versions that are served, by group and kind.
    served: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Target {
    /// Reads the definitions of a version.
    ///
    /// # Errors
    /// The distribution does not have it, or cannot be read.
    pub fn of(distribution: &Distribution, version: FluxVersion) -> Result<Self, DistributionError> {
        let mut served: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for definition in distribution.crds(&version)? {
            let versions = definition.versions.iter().map(|version| version.name.clone());
            served.insert((definition.group.clone(), definition.kind.clone()), versions.collect());
        }
        Ok(Target { version, served })
    }

    /// The version a manifest is written at, when the target no longer serves it.
    pub fn unserved<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let served = self.served.get(&(fields::group(object).to_owned(), fields::kind(object).to_owned()))?;
        Some(fields::version(object)).filter(|version| !served.contains(*version))
    }

    /// The versions of a stored definition that the target no longer serves.
    pub fn dropped<'a>(&self, definition: &'a Value) -> Vec<&'a str> {
        let of = (
            fields::text(definition, "/spec/group").to_owned(),
            fields::text(definition, "/spec/names/kind").to_owned(),
        );
        let Some(served) = self.served.get(&of) else { return vec![] };
        let stored = fields::items(definition, "/status/storedVersions").iter().filter_map(Value::as_str);
        stored.filter(|version| !served.contains(*version)).collect()
    }

    /// What is different for one object: what breaks, and why.
    pub fn object_changes(&self, object: &Value) -> Vec<(bool, String)> {
        let version = &self.version.version;
        let mut found = vec![];
        if let Some(old) = self.unserved(object) {
            found.push((true, format!("{}/{old} is not served any more", fields::group(object))));
        }
        let is = |group: &str, kind: &str| fields::group(object) == group && fields::kind(object) == kind;
        let has_renderers = !fields::items(object, "/spec/postRenderers").is_empty();
        let is_pinned = fields::some_text(object, "/spec/postRenderStrategy").is_some();
        if is(HELM_GROUP, "HelmRelease") && has_renderers && !is_pinned && minor_changes::renders_hooks(version) {
            let says =
                "its postRenderers get the hooks of the chart as well; spec.postRenderStrategy: nohooks keeps them out";
            found.push((false, says.to_owned()));
        }
        let is_gcr = is(NOTIFICATION_GROUP, "Receiver") && fields::text(object, "/spec/type") == "gcr";
        if is_gcr && minor_changes::wants_gcr_audience(version) {
            let secret = fields::text(object, "/spec/secretRef/name");
            found.push((true, format!("it needs the keys email and audience in the Secret {secret}")));
        }
        found
    }

    /// What is wrong with arguments of controllers: `ARGUMENT of CONTROLLERS: problem`.
    pub fn arguments(&self, arguments: &[Argument]) -> Vec<(Argument, bool, String)> {
        let mut found = vec![];
        for argument in arguments {
            let mut problems: BTreeMap<String, (bool, Vec<&str>)> = BTreeMap::new();
            for component in &argument.of {
                for problem in argument_problems(&self.version.version, *component, &argument.text) {
                    let told =
                        problems.entry(problem.sentence()).or_insert((ArgumentProblem::is_fatal(&problem), vec![]));
                    told.1.push(component.as_str());
                }
            }
            for (problem, (breaks, of)) in problems {
                found.push((argument.clone(), breaks, format!("{} of {}: {problem}", argument.text, of.join(", "))));
            }
        }
        found
    }
}

/// An argument and the controllers that get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub of: Vec<Component>,
    pub text: String,
}

/// The arguments that patches give to controllers.
pub fn patched_arguments(patches: &[Value]) -> Vec<Argument> {
    let mut found = vec![];
    for patch in patches {
        let Ok(documents) = yaml::parse_documents(fields::text(patch, "/patch")) else { continue };
        for document in &documents {
            let name = fields::some_text(patch, "/target/name").or(fields::some_text(document, "/metadata/name"));
            let of = components_called(name);
            let mut texts = vec![];
            arguments_in(document, &mut texts);
            found.extend(texts.into_iter().map(|text| Argument { of: of.clone(), text }));
        }
    }
    found
}

/// The controllers a selector's name means: kustomize anchors it as an expression
/// (<https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/>).
fn components_called(name: Option<&str>) -> Vec<Component> {
    let expression = name.map(|name| Regex::new(&format!("^(?:{name})$")));
    let is_meant = |component: &Component| match &expression {
        None => true,
        Some(Ok(expression)) => expression.is_match(component.as_str()),
        Some(Err(_)) => false,
    };
    Component::ALL.into_iter().filter(is_meant).collect()
}

fn arguments_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("--") => found.push(text.clone()),
        // What is taken away or only looked for is not given.
        Value::Object(map) if ["remove", "test"].map(Value::from).contains(map.get("op").unwrap_or(&Value::Null)) => {}
        Value::Object(map) => map.values().for_each(|value| arguments_in(value, found)),
        Value::Array(items) => items.iter().for_each(|value| arguments_in(value, found)),
        _ => {}
    }
}

/// The arguments of a controller that runs.
pub fn live_arguments(deployment: &Value) -> Option<Vec<Argument>> {
    let name = fields::name(deployment);
    let is_it = |component: &Component| {
        name.strip_prefix(component.as_str()).is_some_and(|shard| shard.is_empty() || shard.starts_with('-'))
    };
    let component = Component::ALL.into_iter().find(is_it)?;
    let containers = fields::items(deployment, "/spec/template/spec/containers").iter();
    let texts = containers.flat_map(|container| fields::items(container, "/args")).filter_map(Value::as_str);
    Some(texts.map(|text| Argument { of: vec![component], text: text.to_owned() }).collect())
}

/// Whether arguments say how strict substitution is.
pub fn says_strictness(arguments: &[Argument]) -> Option<bool> {
    let value = |argument: &Argument| {
        let (_, after) = argument.text.split_once(STRICT_SUBSTITUTION)?;
        Some(after.strip_prefix('=')?.starts_with("true"))
    };
    arguments.iter().rev().find_map(value)
}

/// Whether a Kustomization substitutes variables.
pub fn substitutes(kustomization: &Value) -> bool {
    let is_one = fields::group(kustomization) == KUSTOMIZE_GROUP && fields::kind(kustomization) == "Kustomization";
    let own = kustomization.pointer("/spec/postBuild/substitute").and_then(Value::as_object);
    is_one
        && (own.is_some_and(|own| !own.is_empty())
            || !fields::items(kustomization, "/spec/postBuild/substituteFrom").is_empty()
            || fields::text(kustomization, "/spec/postBuild/substituteStrategy") == "Always")
}

/// A file of manifests.
#[derive(Clone, Debug)]
pub struct ManifestFile {
    pub path: PathBuf,
    pub text: String,
}

/// One document of a file.
struct Document<'a> {
    path: &'a Path,
    /// Of its first line, from 0.
    starts: usize,
    text: &'a str,
    object: Value,
}

/// What a version makes of manifests, by file and line.
pub fn files_for(target: &Target, files: &[ManifestFile]) -> Vec<Finding> {
    let documents: Vec<Document<'_>> = files.iter().flat_map(documents).collect();
    let mut found = vec![];
    for document in &documents {
        let object = ObjectId::of(&document.object).to_string();
        let mut add = |line: Option<u64>, breaks: bool, message: String| {
            let path = document.path.display().to_string();
            found.push(Finding { path, line, object: object.clone(), breaks, message });
        };
        for (breaks, message) in target.object_changes(&document.object) {
            add(Some(document.starts as u64 + 1), breaks, message);
        }
        let arguments = patched_arguments(&patches_of(&document.object));
        for (argument, breaks, message) in target.arguments(&arguments) {
            let at = document.text.lines().position(|line| line.contains(&argument.text));
            add(at.map(|at| (document.starts + at) as u64 + 1), breaks, message);
        }
    }
    let given: Vec<Argument> = documents.iter().flat_map(|one| patched_arguments(&patches_of(&one.object))).collect();
    let is_lenient = says_strictness(&given) == Some(false);
    if minor_changes::substitutes_strictly(&target.version.version) && !is_lenient {
        for document in documents.iter().filter(|document| substitutes(&document.object)) {
            unset_variables(document, files, &documents, &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The patches of an instance or of a kustomization file.
fn patches_of(object: &Value) -> Vec<Value> {
    let pointer = match (fields::group(object), fields::kind(object)) {
        (well_known::GROUP, "FluxInstance") => "/spec/kustomize/patches",
        (group, kind) if group == "kustomize.config.k8s.io" || (group.is_empty() && kind.is_empty()) => "/patches",
        _ => return vec![],
    };
    fields::items(object, pointer).to_vec()
}

/// The documents of a file that can be read: a template is no YAML, and what is in it cannot be told.
fn documents(file: &ManifestFile) -> Vec<Document<'_>> {
    let mut parts = vec![];
    let (mut starts, mut begins, mut at) = (0, 0, 0);
    for (number, line) in file.text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((starts, begins..at));
            (starts, begins) = (number + 1, at + line.len());
        }
        at += line.len();
    }
    parts.push((starts, begins..at));
    let document = |(starts, range): (usize, Range<usize>)| {
        let text = file.text.get(range)?;
        let mut parsed = yaml::parse_documents(text).ok().filter(|parsed| parsed.len() == 1)?;
        Some(Document { path: &file.path, starts, text, object: parsed.remove(0) })
    };
    parts.into_iter().filter_map(document).collect()
}

/// `${name}` with what follows the name; a dollar before it makes it plain text.
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)([^}]*)\}").ok());

/// The variables without value in what a Kustomization applies.
fn unset_variables(own: &Document<'_>, files: &[ManifestFile], all: &[Document<'_>], found: &mut Vec<Finding>) {
    let kustomization = &own.object;
    let name = ObjectId::of(kustomization).to_string();
    let mut known: BTreeSet<String> = BTreeSet::new();
    known.extend(
        kustomization
            .pointer("/spec/postBuild/substitute")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone()),
    );
    let mut elsewhere = vec![];
    for source in fields::items(kustomization, "/spec/postBuild/substituteFrom") {
        let (kind, called) = (fields::kind(source), fields::text(source, "/name"));
        let there = all.iter().find(|one| fields::kind(&one.object) == kind && fields::name(&one.object) == called);
        match there {
            Some(there) => {
                for data in ["/data", "/stringData"] {
                    let keys = there.object.pointer(data).and_then(Value::as_object).into_iter().flatten();
                    known.extend(keys.map(|(key, _)| key.clone()));
                }
            }
            None => elsewhere.push(format!("{kind}/{called}")),
        }
    }
    let path = fields::text(kustomization, "/spec/path");
    let Some(folder) = folder_of(path, files) else {
        let message = format!("its path {path} is not among these files: whether its variables are set cannot be told");
        let place = own.path.display().to_string();
        found.push(Finding { path: place, line: Some(own.starts as u64 + 1), object: name, breaks: false, message });
        return;
    };
    let mut applied = BTreeSet::new();
    applied_files(&folder, all, files, &mut applied, 0);
    for document in all.iter().filter(|document| applied.contains(document.path)) {
        if is_exempt(&document.object) {
            continue;
        }
        for (number, line) in document.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'))
        {
            for variable in required(line).filter(|variable| !known.contains(*variable)) {
                let (breaks, end) = match elsewhere.is_empty() {
                    true => (true, "has no value and no default".to_owned()),
                    false => (false, format!("has no default; it fails unless {} has it", elsewhere.join(" or "))),
                };
                found.push(Finding {
                    path: document.path.display().to_string(),
                    line: Some((document.starts + number) as u64 + 1),
                    object: name.clone(),
                    breaks,
                    message: format!("the variable {variable} {end}"),
                });
            }
        }
    }
}

/// The variables of a line that need a value.
fn required(line: &str) -> impl Iterator<Item = &str> {
    let captures = VARIABLE.iter().flat_map(|variable| variable.captures_iter(line));
    captures.filter_map(|found| {
        let is_escaped = found.get(1).is_some_and(|dollar| !dollar.is_empty());
        let rest = found.get(3).map_or("", |rest| rest.as_str());
        let has_default = [":-", ":=", "-", "="].iter().any(|operator| rest.starts_with(operator));
        found.get(2).map(|name| name.as_str()).filter(|_| !is_escaped && !has_default)
    })
}

/// Objects that substitution leaves alone
/// (<https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>).
fn is_exempt(object: &Value) -> bool {
    const KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";
    [fields::label(object, KEY), fields::annotation(object, KEY)].into_iter().flatten().any(|value| value == "disabled")
}

/// The folder of the files that a path of the repository means.
fn folder_of(path: &str, files: &[ManifestFile]) -> Option<PathBuf> {
    let wanted: PathBuf = Path::new(path).components().filter(|part| matches!(part, PathPart::Normal(_))).collect();
    let folders: BTreeSet<&Path> = files.iter().flat_map(|file| file.path.ancestors().skip(1)).collect();
    if wanted.as_os_str().is_empty() {
        return folders.into_iter().min_by_key(|folder| folder.components().count()).map(Path::to_owned);
    }
    let fits = folders.into_iter().filter(|folder| folder.ends_with(&wanted));
    fits.min_by_key(|folder| folder.components().count()).map(Path::to_owned)
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            PathPart::CurDir => {}
            PathPart::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            part => path.push(part),
        }
        path
    })
}

/// Deepest chain of kustomizations that is followed.
const MAX_DEPTH: usize = 16;

/// The files that a folder is built of: what its kustomization names, or everything in it.
fn applied_files(
    folder: &Path,
    all: &[Document<'_>],
    files: &[ManifestFile],
    found: &mut BTreeSet<PathBuf>,
    depth: usize,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let is_kustomization = |document: &&Document<'_>| {
        let name = document.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        document.path.parent() == Some(folder)
            && ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
    };
    let Some(kustomization) = all.iter().find(is_kustomization) else {
        found.extend(files.iter().map(|file| &file.path).filter(|path| path.starts_with(folder)).cloned());
        return;
    };
    found.insert(kustomization.path.to_owned());
    let named =
        ["/resources", "/components", "/bases"].iter().flat_map(|list| fields::items(&kustomization.object, list));
    let patches = fields::items(&kustomization.object, "/patches").iter().filter_map(|patch| patch.get("path"));
    for name in named.chain(patches).filter_map(Value::as_str) {
        let path = normal(&folder.join(name));
        if files.iter().any(|file| file.path == path) {
            found.insert(path);
        } else if files.iter().any(|file| file.path.starts_with(&path)) {
            applied_files(&path, all, files, found, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(version: &str) -> Target {
        let distribution = Distribution::embedded();
        let version = distribution.versions().iter().find(|known| known.name == version).cloned().unwrap();
        Target::of(&distribution, version).unwrap()
    }

    fn file(path: &str, text: &str) -> ManifestFile {
        ManifestFile { path: path.into(), text: text.into() }
    }

    /// `path:line: object: message`, with `!` for what breaks.
    fn told(target: &Target, files: &[ManifestFile]) -> Vec<String> {
        let line = |one: &Finding| {
            let mark = if one.breaks { "!" } else { "" };
            format!("{mark}{}:{}: {}: {}", one.path, one.line.unwrap_or(0), one.object, one.message)
        };
        files_for(target, files).iter().map(line).collect()
    }

    const KUSTOMIZATION: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: fs}\n\
        spec:\n  path: ./apps\n  postBuild:\n    substitute:\n      host: example.com\n";

    #[test]
    fn a_variable_without_value_is_named_with_file_and_line_from_2_9_on() {
        let files = [
            file("repo/clusters/apps.yaml", KUSTOMIZATION),
            file("repo/apps/kustomization.yaml", "resources: [web.yaml, ../base]\n"),
            file(
                "repo/apps/web.yaml",
                "# ${comment}\nkind: A\nmetadata: {name: ${host}}\n---\nkind: B\nurl: ${tld}/$${shell}/${port:=80}\n",
            ),
            file("repo/apps/unused.yaml", "x: ${unused}\n"),
            file(
                "repo/base/base.yaml",
                "kind: C\nmetadata:\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\nx: ${free}\n---\ny: ${part:0:2}\n",
            ),
        ];
        assert_eq!(
            told(&target("v2.9.4"), &files),
            [
                "!repo/apps/web.yaml:6: Kustomization/fs/apps: the variable tld has no value and no default",
                "!repo/base/base.yaml:6: Kustomization/fs/apps: the variable part has no value and no default",
            ]
        );
        assert!(told(&target("v2.8.8"), &files).is_empty());
    }

    #[test]
    fn values_that_may_come_from_elsewhere_are_no_certain_failure() {
        let from = KUSTOMIZATION.replace(
            "    substitute:\n      host: example.com\n",
            "    substituteFrom:\n    - {kind: Secret, name: s}\n    - {kind: ConfigMap, name: c}\n",
        );
        let mut files = vec![
            file("r/k.yaml", &from),
            file("r/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {host: x}\n"),
            file("r/apps/a.yaml", "x: ${host}\ny: ${token}\n"),
        ];
        assert_eq!(
            told(&target("v2.9.4"), &files),
            [
                "r/apps/a.yaml:2: Kustomization/fs/apps: the variable token has no default; it fails unless Secret/s has it"
            ]
        );
        files.pop();
        assert!(told(&target("v2.9.4"), &files)[0].contains("its path ./apps is not among these files"));
    }

    #[test]
    fn flags_and_gates_of_patches_are_found_where_they_stand() {
        let instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: fs}\nspec:\n  kustomize:\n    \
            patches:\n    - target: {kind: Deployment, name: \"(helm|kustomize)-controller\"}\n      patch: |\n        - op: add\n          \
            path: /spec/template/spec/containers/0/args/-\n          value: --feature-gates=AdoptLegacyReleases=false\n    - target: {kind: Deployment, name: image-reflector-controller}\n      \
            patch: |\n        - op: remove\n          path: /x\n          value: --gone\n        - op: add\n          path: /y\n          value: --gcp-autologin-for-gcr\n";
        assert_eq!(
            told(&target("v2.9.4"), &[file("flux.yaml", instance)]),
            [
                "flux.yaml:11: FluxInstance/fs/flux: --feature-gates=AdoptLegacyReleases=false of helm-controller: the feature gate AdoptLegacyReleases is ignored",
                "!flux.yaml:11: FluxInstance/fs/flux: --feature-gates=AdoptLegacyReleases=false of kustomize-controller: there is no feature gate AdoptLegacyReleases",
                "!flux.yaml:19: FluxInstance/fs/flux: --gcp-autologin-for-gcr of image-reflector-controller: the flag --gcp-autologin-for-gcr is gone; set spec.provider: gcp on the ImageRepository",
            ]
        );
    }

    #[test]
    fn objects_that_behave_differently_are_named() {
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {postRenderers: [{}]}\n";
        let receiver = "apiVersion: notification.toolkit.fluxcd.io/v1\nkind: Receiver\nmetadata: {name: r}\nspec: {type: gcr, secretRef: {name: s}}\n";
        let told = told(&target("v2.9.4"), &[file("a.yaml", &format!("{release}---\n{receiver}"))]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("hooks"), "{told:?}");
        assert!(told[1].ends_with("helm.toolkit.fluxcd.io/v2beta2 is not served any more"), "{told:?}");
        assert_eq!(told[2], "!a.yaml:6: Receiver/r: it needs the keys email and audience in the Secret s");
    }

    #[test]
    fn a_gate_that_says_otherwise_is_heard() {
        let argument = |text: &str| Argument { of: vec![Component::KustomizeController], text: text.into() };
        assert_eq!(
            says_strictness(&[argument("--feature-gates=A=true,StrictPostBuildSubstitutions=false")]),
            Some(false)
        );
        assert_eq!(says_strictness(&[argument("--concurrent=1")]), None);
    }
}
