//! `check --to`: effects of a newer Flux on a cluster, and on manifests in files. Pure.
//!
//! ```text
//! cluster ─► arguments of controllers, patches of the instance, definitions, objects ┐
//! files ───► patches, objects, variables of the objects each Kustomization applies   ┴► tables of the version ─► findings
//! ```

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::api::Component;
use crate::api::kinds::{CRD, HELM_GROUP, KUSTOMIZE_GROUP, NOTIFICATION_GROUP};
use crate::distribution::api_migration::StoredVersions;
use crate::distribution::minor_changes::{self, ArgumentProblem, STRICT_SUBSTITUTION, argument_problems};
use crate::distribution::{Distribution, DistributionError, FluxVersion};
use crate::format::yaml;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::{ObjectId, fields};
pub use manifest_index::ManifestIndex;

mod built_files;
mod manifest_index;
mod substitution;

/// Something that the newer version rejects or treats differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeFinding {
    /// The file; empty for a cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// From 1; missing if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `KIND/NAMESPACE/NAME`.
    pub object: String,
    /// Whether it stops working instead of only working differently.
    pub breaks: bool,
    pub message: String,
}

/// The version of Flux for an upgrade.
#[derive(Debug)]
pub struct Target {
    pub version: FluxVersion,
    /// The served API versions, by group and kind.
    served: BTreeMap<(String, String), BTreeSet<String>>,
    stored: StoredVersions,
}

impl Target {
    /// Reads the definitions of a version.
    ///
    /// # Errors
    /// The distribution does not have the version, or cannot be read.
    pub fn of(distribution: &Distribution, version: FluxVersion) -> Result<Self, DistributionError> {
        let mut served: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for definition in distribution.crds(&version)? {
            let versions = definition.versions.iter().map(|version| version.name.clone());
            served.insert((definition.group.clone(), definition.kind.clone()), versions.collect());
        }
        let stored = StoredVersions::of(distribution, &version)?;
        Ok(Target { version, served, stored })
    }

    /// Returns the version of a manifest if the target no longer serves it.
    pub(crate) fn unserved<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let served = self.served.get(&(fields::group(object).to_owned(), fields::kind(object).to_owned()))?;
        Some(fields::version(object)).filter(|version| !served.contains(*version))
    }

    /// Returns the versions of a stored definition that the target no longer serves.
    pub fn dropped<'a>(&self, definition: &'a Value) -> Vec<&'a str> {
        let of = (
            fields::text(definition, "/spec/group").to_owned(),
            fields::text(definition, "/spec/names/kind").to_owned(),
        );
        let Some(served) = self.served.get(&of) else { return vec![] };
        let stored = fields::items(definition, "/status/storedVersions").iter().filter_map(Value::as_str);
        stored.filter(|version| !served.contains(*version)).collect()
    }

    /// Returns the changes for an object: whether it breaks, and why.
    fn object_changes(&self, object: &Value) -> Vec<(bool, String)> {
        let version = &self.version.version;
        let mut found = vec![];
        if let Some(old) = self.unserved(object) {
            found.push((true, format!("{}/{old} is no longer served", fields::group(object))));
        }
        for field in self.stored.lost_fields(object) {
            found.push((true, format!("Flux {} does not have the field {field}", self.version.name)));
        }
        let is = |group: &str, kind: &str| fields::group(object) == group && fields::kind(object) == kind;
        let has_renderers = !fields::items(object, "/spec/postRenderers").is_empty();
        let is_pinned = fields::some_text(object, "/spec/postRenderStrategy").is_some();
        if is(HELM_GROUP, "HelmRelease") && has_renderers && !is_pinned && minor_changes::renders_hooks(version) {
            let says =
                "its postRenderers also get the hooks of the chart; spec.postRenderStrategy: nohooks excludes them";
            found.push((false, says.to_owned()));
        }
        let is_gcr = is(NOTIFICATION_GROUP, "Receiver") && fields::text(object, "/spec/type") == "gcr";
        if is_gcr && minor_changes::wants_gcr_audience(version) {
            let secret = fields::text(object, "/spec/secretRef/name");
            found.push((true, format!("it needs the keys email and audience in the Secret {secret}")));
        }
        found
    }

    /// Returns the problems of controllers' arguments: `ARGUMENT of CONTROLLERS: problem`.
    pub fn arguments(&self, arguments: &[Argument]) -> Vec<(Argument, bool, String)> {
        let mut found = vec![];
        for argument in arguments {
            let mut problems: BTreeMap<String, (bool, Vec<&str>)> = BTreeMap::new();
            for component in &argument.of {
                for problem in argument_problems(&self.version.version, *component, &argument.text) {
                    let reported =
                        problems.entry(problem.sentence()).or_insert((ArgumentProblem::is_fatal(&problem), vec![]));
                    reported.1.push(component.as_str());
                }
            }
            for (problem, (breaks, of)) in problems {
                found.push((argument.clone(), breaks, format!("{} of {}: {problem}", argument.text, of.join(", "))));
            }
        }
        found
    }
}

/// Returns `DEFINITION VERSION` for every version at which objects are stored and that the target does not serve.
pub(crate) fn dropped_versions(snapshot: &Snapshot, target: &Target) -> Vec<String> {
    let of = |definition: &Value| {
        let dropped = target.dropped(definition).into_iter();
        dropped.map(|old| format!("{} {old}", fields::name(definition))).collect::<Vec<_>>()
    };
    snapshot.list(&CRD, None).into_iter().flat_map(of).collect()
}

/// Returns the objects that the target rejects or treats differently, by whether it breaks them and how.
pub(crate) fn changed_objects(snapshot: &Snapshot, target: &Target) -> BTreeMap<(bool, String), Vec<String>> {
    let mut different: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
    for object in snapshot.defined_kinds().into_iter().flat_map(|kind| snapshot.list(&kind.resource_type(), None)) {
        // Stored objects are read at a served version; the check of API versions reports writers of old ones.
        let changes = target.object_changes(object).into_iter().filter(|_| target.unserved(object).is_none());
        for change in changes {
            different.entry(change).or_default().push(ObjectId::of(object).to_string());
        }
    }
    different
}

/// An argument with the controllers that get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub of: Vec<Component>,
    pub text: String,
}

/// Returns the arguments that patches add to controllers.
pub(crate) fn patched_arguments(patches: &[Value]) -> Vec<Argument> {
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

/// Returns the controllers that match a selector's name: kustomize anchors it as a regular expression
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
        // These operations do not add an argument.
        Value::Object(map) if ["remove", "test"].map(Value::from).contains(map.get("op").unwrap_or(&Value::Null)) => {}
        Value::Object(map) => map.values().for_each(|value| arguments_in(value, found)),
        Value::Array(items) => items.iter().for_each(|value| arguments_in(value, found)),
        _ => {}
    }
}

/// Returns the arguments of a running controller.
pub(crate) fn live_arguments(deployment: &Value) -> Option<Vec<Argument>> {
    let name = fields::name(deployment);
    let is_it = |component: &Component| {
        // The Deployment of a shard is called `source-controller-SHARD`.
        name.strip_prefix(component.as_str()).is_some_and(|shard| shard.is_empty() || shard.starts_with('-'))
    };
    let component = Component::ALL.into_iter().find(is_it)?;
    let containers = fields::items(deployment, "/spec/template/spec/containers").iter();
    let texts = containers.flat_map(|container| fields::items(container, "/args")).filter_map(Value::as_str);
    Some(texts.map(|text| Argument { of: vec![component], text: text.to_owned() }).collect())
}

/// Returns the strictness of substitution, if the arguments set it.
pub(crate) fn strictness_argument(arguments: &[Argument]) -> Option<bool> {
    let value = |argument: &Argument| {
        let (_, after) = argument.text.split_once(STRICT_SUBSTITUTION)?;
        // More gates may follow in the same argument.
        Some(after.strip_prefix('=')?.starts_with("true"))
    };
    // If a gate is repeated, its last value counts.
    arguments.iter().rev().find_map(value)
}

/// Whether a Kustomization substitutes variables.
pub(crate) fn substitutes(kustomization: &Value) -> bool {
    let is_one = fields::group(kustomization) == KUSTOMIZE_GROUP && fields::kind(kustomization) == "Kustomization";
    let own = kustomization.pointer("/spec/postBuild/substitute").and_then(Value::as_object);
    is_one
        && (own.is_some_and(|own| !own.is_empty())
            || !fields::items(kustomization, "/spec/postBuild/substituteFrom").is_empty()
            || fields::text(kustomization, "/spec/postBuild/substituteStrategy") == "Always")
}

/// Returns the effects of a version on manifests, by file and line.
pub fn files_for(target: &Target, index: &ManifestIndex) -> Vec<UpgradeFinding> {
    let mut found = vec![];
    for file in index.files.values() {
        for document in &file.documents {
            let object = ObjectId::of(&document.object).to_string();
            let mut add = |line: Option<u64>, breaks: bool, message: String| {
                found.push(UpgradeFinding { path: file.shown.clone(), line, object: object.clone(), breaks, message });
            };
            for (breaks, message) in target.object_changes(&document.object) {
                add(Some(document.line), breaks, message);
            }
            for (argument, line) in &document.arguments {
                for (_, breaks, message) in target.arguments(std::slice::from_ref(argument)) {
                    add(*line, breaks, message);
                }
            }
        }
    }
    let given = index.documents().flat_map(|document| document.arguments.iter().map(|(given, _)| given.clone()));
    let is_lenient = strictness_argument(&given.collect::<Vec<_>>()) == Some(false);
    if minor_changes::substitutes_strictly(&target.version.version) && !is_lenient {
        found.extend(substitution::unset_variables(index));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(version: &str) -> Target {
        let distribution = Distribution::embedded();
        let version = distribution.versions().iter().find(|known| known.name == version).cloned().unwrap();
        Target::of(&distribution, version).unwrap()
    }

    fn file<'a>(path: &'a str, text: &'a str) -> (&'a str, &'a str) {
        (path, text)
    }

    /// Formats `path:line: object: message`, with `!` for findings that break.
    fn lines(target: &Target, files: &[(&str, &str)]) -> Vec<String> {
        let mut index = ManifestIndex::default();
        files.iter().for_each(|(path, text)| index.add(std::path::Path::new(path), text));
        let line = |one: &UpgradeFinding| {
            let mark = if one.breaks { "!" } else { "" };
            format!("{mark}{}:{}: {}: {}", one.path, one.line.unwrap_or(0), one.object, one.message)
        };
        files_for(target, &index).iter().map(line).collect()
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
            lines(&target("v2.9.4"), &files),
            [
                "!repo/apps/web.yaml:6: Kustomization/fs/apps: the variable tld has no value and no default",
                "!repo/base/base.yaml:6: Kustomization/fs/apps: the variable part has no value and no default",
            ]
        );
        assert!(lines(&target("v2.8.8"), &files).is_empty());
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
            lines(&target("v2.9.4"), &files),
            [
                "r/apps/a.yaml:2: Kustomization/fs/apps: the variable token has no default; the build fails unless Secret/s has it"
            ]
        );
        files.pop();
        assert!(lines(&target("v2.9.4"), &files)[0].contains("its path ./apps is not among these files"));
    }

    #[test]
    fn flags_and_gates_of_patches_are_found_at_their_positions() {
        let instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: fs}\nspec:\n  kustomize:\n    \
            patches:\n    - target: {kind: Deployment, name: \"(helm|kustomize)-controller\"}\n      patch: |\n        - op: add\n          \
            path: /spec/template/spec/containers/0/args/-\n          value: --feature-gates=AdoptLegacyReleases=false\n    - target: {kind: Deployment, name: image-reflector-controller}\n      \
            patch: |\n        - op: remove\n          path: /x\n          value: --gone\n        - op: add\n          path: /y\n          value: --gcp-autologin-for-gcr\n";
        assert_eq!(
            lines(&target("v2.9.4"), &[file("flux.yaml", instance)]),
            [
                "flux.yaml:11: FluxInstance/fs/flux: --feature-gates=AdoptLegacyReleases=false of helm-controller: the feature gate AdoptLegacyReleases is ignored",
                "!flux.yaml:11: FluxInstance/fs/flux: --feature-gates=AdoptLegacyReleases=false of kustomize-controller: there is no feature gate AdoptLegacyReleases",
                "!flux.yaml:19: FluxInstance/fs/flux: --gcp-autologin-for-gcr of image-reflector-controller: the flag --gcp-autologin-for-gcr was removed; set spec.provider: gcp on the ImageRepository",
            ]
        );
    }

    #[test]
    fn objects_that_behave_differently_are_named() {
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {postRenderers: [{}]}\n";
        let receiver = "apiVersion: notification.toolkit.fluxcd.io/v1\nkind: Receiver\nmetadata: {name: r}\nspec: {type: gcr, secretRef: {name: s}}\n";
        let reported = lines(&target("v2.9.4"), &[file("a.yaml", &format!("{release}---\n{receiver}"))]);
        assert_eq!(reported.len(), 3, "{reported:?}");
        assert!(reported[0].contains("hooks"), "{reported:?}");
        assert!(reported[1].ends_with("helm.toolkit.fluxcd.io/v2beta2 is no longer served"), "{reported:?}");
        assert_eq!(reported[2], "!a.yaml:6: Receiver/r: it needs the keys email and audience in the Secret s");
    }

    #[test]
    fn a_feature_gate_overrides_the_default() {
        let argument = |text: &str| Argument { of: vec![Component::KustomizeController], text: text.into() };
        assert_eq!(
            strictness_argument(&[argument("--feature-gates=A=true,StrictPostBuildSubstitutions=false")]),
            Some(false)
        );
        assert_eq!(strictness_argument(&[argument("--concurrent=1")]), None);
    }

    const PARENT: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: parent, namespace: fs}\nspec:\n  \
        path: ./flux\n  sourceRef: {}\n  patches:\n  - patch: |\n      apiVersion: kustomize.toolkit.fluxcd.io/v1\n      kind: Kustomization\n      \
        metadata: {name: any}\n      spec: {postBuild: {substituteFrom: [{kind: ConfigMap, name: c}, {kind: Secret, name: s}]}}\n    \
        target: {kind: Kustomization, labelSelector: substitute!=no}\n";

    #[test]
    fn variables_that_a_parent_patches_in_are_known() {
        let child = KUSTOMIZATION.replace("spec:\n", "spec:\n  sourceRef: {}\n");
        let opted_out = child.replace("namespace: fs}", "namespace: fs, labels: {substitute: \"no\"}}");
        let web = ("r/apps/web.yaml", "kind: A\nx: ${host}\ny: ${token}\nz: ${domain}\n");
        let settings = ("r/flux/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {domain: x}\n");
        let elsewhere = "r/apps/web.yaml:3: Kustomization/fs/apps: the variable token has no default; the build fails unless Secret/s has it";
        let parent = ("r/parent.yaml", PARENT);
        assert_eq!(lines(&target("v2.9.4"), &[parent, ("r/flux/ks.yaml", &child), web, settings]), [elsewhere]);
        assert_eq!(lines(&target("v2.9.4"), &[parent, ("r/flux/ks.yaml", &opted_out), web, settings]).len(), 2);
        // The same from an overlay, by a file, and from the patches of an instance through a patch of the parent's
        // patches.
        let overlay = (
            "r/flux/kustomization.yaml",
            "resources: [ks.yaml]\npatches: [{path: p.yaml, target: {kind: Kustomization}}]\n",
        );
        let patch = (
            "r/flux/p.yaml",
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {postBuild: {substituteFrom: [{kind: Secret, name: s}]}}\n",
        );
        let plain = PARENT.split("  patches:").next().unwrap();
        let found =
            lines(&target("v2.9.4"), &[("r/parent.yaml", plain), ("r/flux/ks.yaml", &child), overlay, patch, web]);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|line| line.contains("unless Secret/s has it")), "{found:?}");
        let instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: fs}\nspec:\n  sync: {path: r/root}\n  kustomize:\n    patches:\n    - target: {kind: Kustomization}\n      patch: |\n        - op: add\n          path: /spec/patches\n          value:\n          - target: {kind: Kustomization}\n            patch: '[{\"op\": \"add\", \"path\": \"/spec/postBuild/substituteFrom\", \"value\": [{\"kind\": \"ConfigMap\", \"name\": \"c\"}]}]'\n";
        let found = lines(&target("v2.9.4"), &[("r/flux.yaml", instance), ("r/root/ks.yaml", &child), web, settings]);
        assert_eq!(
            found,
            ["!r/apps/web.yaml:3: Kustomization/fs/apps: the variable token has no value and no default"]
        );
    }

    #[test]
    fn a_folder_with_its_own_kustomization_is_a_single_resource_of_its_parent() {
        let files = [
            ("./k.yaml", KUSTOMIZATION),
            ("./apps/top.yaml", "x: ${one}\n"),
            ("./apps/a/kustomization.yaml", "resources: [x.yaml]\ncommonAnnotations: {a: b}\nnamespace: ${two}\n"),
            ("./apps/a/x.yaml", "x: ${three} # ${comment}\ny: |\n  # ${four}\n  '#' ${five}\n"),
            ("./apps/a/b/kustomization.yaml", "resources: [y.yaml]\n"),
            ("./apps/a/b/y.yaml", "x: ${never}\n"),
            ("./apps/plain/deep/z.yml", "x: ${six:=default}\n${key}: 1\n"),
            ("./apps/plain/values.json", "{\"x\": \"${not_read_by_flux}\"}"),
        ];
        let found: Vec<String> = lines(&target("v2.9.4"), &files)
            .iter()
            .map(|line| line.split(" has no").next().unwrap().replace(" Kustomization/fs/apps: the variable", ""))
            .collect();
        assert_eq!(
            found,
            [
                "!./apps/a/kustomization.yaml:3: two",
                "!./apps/a/x.yaml:1: three",
                "!./apps/a/x.yaml:3: four",
                "!./apps/a/x.yaml:4: five",
                "!./apps/plain/deep/z.yml:2: key",
                "!./apps/top.yaml:1: one",
            ]
        );
    }

    #[test]
    fn objects_that_a_kustomization_exempts_are_left_alone() {
        let disabled = "kustomize.toolkit.fluxcd.io/substitute: disabled";
        for kustomization in [
            format!("resources: [../boards]\ncommonAnnotations: {{{disabled}}}\n"),
            format!("resources: [../boards]\ncommonLabels: {{{disabled}}}\n"),
            format!("resources: [../boards]\nlabels: [{{pairs: {{{disabled}}}}}]\n"),
            format!(
                "resources: [../boards]\npatches: [{{target: {{kind: ConfigMap}}, patch: 'apiVersion: v1\n\n    kind: A\n\n    metadata: {{name: a, annotations: {{{disabled}}}}}'}}]\n"
            ),
        ] {
            let files = [
                ("r/k.yaml", KUSTOMIZATION),
                ("r/apps/kustomization.yaml", kustomization.as_str()),
                ("r/boards/kustomization.yaml", "resources: [board.yaml]\n"),
                (
                    "r/boards/board.yaml",
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '{${datasource}}'}\n",
                ),
            ];
            assert_eq!(lines(&target("v2.9.4"), &files), [] as [&str; 0], "{kustomization}");
        }
        let generated = "configMapGenerator: [{name: c, literals: ['host=x', 'b=${missing}']}]\n";
        let from = KUSTOMIZATION
            .replace("substitute:\n      host: example.com", "substituteFrom: [{kind: ConfigMap, name: c}]");
        let files =
            [("r/k.yaml", from.as_str()), ("r/apps/kustomization.yaml", generated), ("r/apps/a.yaml", "x: ${never}\n")];
        assert_eq!(
            lines(&target("v2.9.4"), &files),
            ["!r/apps/kustomization.yaml:1: Kustomization/fs/apps: the variable missing has no value and no default"]
        );
    }

    #[test]
    fn a_generated_config_map_has_the_keys_of_its_files() {
        let from = KUSTOMIZATION
            .replace("substitute:\n      host: example.com", "substituteFrom: [{kind: ConfigMap, name: c}]");
        let generated = "resources: [a.yaml]\nconfigMapGenerator: [{name: c, envs: [../site.env], files: [page=p.html, d/note.txt]}]\n";
        let object = "kind: A\nx: ${HOST}${OTHER}${page}${missing}\n";
        let files = [("r/k.yaml", from.as_str()), ("r/apps/kustomization.yaml", generated), ("r/apps/a.yaml", object)];
        let mut index = ManifestIndex::default();
        files.iter().for_each(|(path, text)| index.add(std::path::Path::new(path), text));
        let messages = |index: &ManifestIndex| -> Vec<String> {
            let found = files_for(&target("v2.9.4"), index).into_iter().filter(|one| one.message.contains("variable"));
            found.map(|one| one.message).collect()
        };
        assert!(messages(&index)[0].contains("the build fails unless ConfigMap/c has it"), "the file is not there");
        assert!(index.files_beside().contains(std::path::Path::new("r/site.env")));
        index.add_beside(std::path::Path::new("r/site.env"), "# site\nHOST=a=b\n  OTHER = x\n\n");
        assert_eq!(messages(&index), ["the variable missing has no value and no default"]);
    }

    #[test]
    fn files_excluded_from_the_artifact_are_not_checked() {
        let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fs, namespace: fs}\n\
            spec: {url: x, ignore: '/apps/by-source/'}\n---\n";
        let kustomization = format!("{source}{KUSTOMIZATION}")
            .replace("path: ./apps\n", "path: ./apps\n  sourceRef: {kind: GitRepository, name: fs}\n");
        let object = "kind: A\nx: ${missing}\n";
        let files = [
            ("r/k.yaml", kustomization.as_str()),
            ("r/apps/a.yaml", object),
            ("r/apps/by-file/b.yaml", object),
            ("r/apps/by-source/c.yaml", object),
            ("r/apps/nested/d.yaml", object),
        ];
        let mut index = ManifestIndex::default();
        files.iter().for_each(|(path, text)| index.add(std::path::Path::new(path), text));
        index.add_beside(std::path::Path::new("r/.sourceignore"), "by-file\n");
        index.add_beside(std::path::Path::new("r/apps/nested/.sourceignore"), "/d.yaml\n");
        let found = files_for(&target("v2.9.4"), &index).into_iter().filter(|one| one.message.contains("variable"));
        assert_eq!(found.map(|one| one.path).collect::<Vec<_>>(), ["r/apps/a.yaml"]);
    }
}
