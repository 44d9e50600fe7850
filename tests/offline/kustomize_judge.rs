//! An independent judge for the patch engine: `kubectl kustomize` gets the same random objects and patches.
//!
//! Results are equal, or the difference is one of the decisions listed in the documentation of `flux_operator::kustomize`; the
//! generators stay out of those, and unit tests pin them. Many cases share one run of kubectl.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use flux_operator::format::yaml;
use flux_operator::kustomize::{Patch, ResourceList, Selector, apply_patches};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use test_support::needs::has_kubectl;

/// Cases per comparison.
const CASES: usize = 240;
/// Cases per run of kubectl: it compares every patch with every object, so many small runs beat one large one.
const BATCH: usize = 40;
/// Cases that fail are asked one by one, so only a few of them.
const REFUSED_CASES: usize = 25;

/// Returns kustomize's result for a folder, by object name.
fn judge(folder: &Path) -> Result<BTreeMap<String, Value>, String> {
    let output = Command::new("kubectl").arg("kustomize").arg(folder).output().expect("kubectl runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Ok(by_name(yaml::parse_patch_documents(&text).expect("kustomize writes YAML")))
}

fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    objects
        .into_iter()
        .map(|object| (object["metadata"]["name"].as_str().unwrap_or_default().to_string(), object))
        .collect()
}

/// An object and a patch for it.
#[derive(Clone, Debug)]
struct Case {
    object: Value,
    patch: Value,
}

impl Case {
    fn named(mut self, index: usize) -> Self {
        self.object["metadata"]["name"] = json!(format!("case-{index}"));
        self
    }

    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    fn patch(&self) -> Patch {
        let target = Selector { name: self.name().to_string(), ..Default::default() };
        Patch { target: Some(target), patch: self.patch.to_string() }
    }

    fn ours(&self) -> Result<Option<Value>, String> {
        let mut list = ResourceList::from_objects([self.object.clone()]).expect("one object");
        apply_patches(&mut list, &[self.patch()]).map_err(|error| error.to_string())?;
        Ok(list.into_objects().pop())
    }
}

fn theirs(cases: &[&Case]) -> Result<BTreeMap<String, Value>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let objects: Vec<String> = cases.iter().map(|case| case.object.to_string()).collect();
    fs::write(folder.path().join("objects.yaml"), objects.join("\n---\n")).expect("written");
    let patches: Vec<Value> =
        cases.iter().map(|case| json!({"target": {"name": case.name()}, "patch": case.patch.to_string()})).collect();
    let kustomization = json!({"resources": ["objects.yaml"], "patches": patches});
    fs::write(folder.path().join("kustomization.yaml"), kustomization.to_string()).expect("written");
    judge(folder.path())
}

/// Runs random cases past both engines. Those ours refuses have to be refused by kustomize as well.
fn compare(strategy: impl Strategy<Value = Case>) {
    if !has_kubectl() {
        return;
    }
    // A fixed seed: a failure must be the same for everybody.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases: Vec<Case> =
        (0..CASES).map(|index| strategy.new_tree(&mut runner).expect("a case").current().named(index)).collect();
    compare_all(&cases, |refused| refused.iter().take(REFUSED_CASES).copied().collect());
}

/// Compares every case that our engine accepts, and those of the refused cases that `pick` returns.
fn compare_all(cases: &[Case], pick: impl for<'a> Fn(&[&'a Case]) -> Vec<&'a Case>) {
    let ours: Vec<_> = cases.iter().map(Case::ours).collect();
    let accepted: Vec<&Case> =
        cases.iter().zip(&ours).filter(|(_, result)| result.is_ok()).map(|(case, _)| case).collect();
    let refused: Vec<&Case> =
        cases.iter().zip(&ours).filter(|(_, result)| result.is_err()).map(|(case, _)| case).collect();
    println!("{} accepted, {} refused", accepted.len(), refused.len());
    assert!(accepted.len() > cases.len() / 4, "the generator makes too few cases that apply");

    let theirs: BTreeMap<String, Value> =
        accepted.chunks(BATCH).flat_map(|batch| theirs(batch).unwrap_or_else(|_| one_by_one(batch))).collect();
    let smallest_difference = accepted
        .iter()
        .filter(|case| theirs.get(case.name()) != case.ours().ok().flatten().as_ref())
        .min_by_key(|case| case.object.to_string().len() + case.patch.to_string().len());
    if let Some(case) = smallest_difference {
        panic!(
            "object {}\npatch  {}\nours   {}\ntheirs {}",
            case.object,
            case.patch,
            case.ours().ok().flatten().unwrap_or_default(),
            theirs.get(case.name()).cloned().unwrap_or_default()
        );
    }
    for case in pick(&refused) {
        if let Ok(result) = self::theirs(&[case]) {
            panic!("object {}\npatch  {}\nours   {:?}\ntheirs {result:?}", case.object, case.patch, case.ours());
        }
    }
}

/// kustomize refused the whole batch: find the case and show it.
fn one_by_one(cases: &[&Case]) -> BTreeMap<String, Value> {
    if let [case] = cases {
        let error = theirs(cases).expect_err("it failed before");
        panic!("object {}\npatch  {}\nours   {:?}\ntheirs {error}", case.object, case.patch, case.ours());
    }
    let (first, second) = cases.split_at(cases.len() / 2);
    let mut all = theirs(first).unwrap_or_else(|_| one_by_one(first));
    all.extend(theirs(second).unwrap_or_else(|_| one_by_one(second)));
    all
}

// ---- generators ----

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c]".prop_map(String::from),
        // Words that a careless reader takes for something else.
        1 => prop::sample::select(vec!["on", "y", "no", "null", "true", "1", "0x1", "1e3", "a: b", "- a", "#x", "012"]).prop_map(String::from),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![word().prop_map(Value::from), (0..5).prop_map(Value::from), any::<bool>().prop_map(Value::from)]
}

/// A scalar of the type the field has, or in a patch `null`, which removes. Decision 18: kustomize lets the quotes of the old
/// value decide about the type of the new one, so types never differ here.
fn leaf(field: &str, patch: bool) -> BoxedStrategy<Value> {
    let value = match field {
        "a" | "p" => word().prop_map(Value::from).boxed(),
        "b" | "q" => (0..5).prop_map(Value::from).boxed(),
        _ => any::<bool>().prop_map(Value::from).boxed(),
    };
    if patch { prop_oneof![4 => value, 1 => Just(Value::Null)].boxed() } else { value }
}

/// A mapping with some of the fields, each of its own type.
fn leaves(names: [&'static str; 3], patch: bool) -> impl Strategy<Value = Value> {
    names
        .map(|name| option::of(leaf(name, patch)))
        .prop_map(move |values| mapping(names.into_iter().zip(values).collect()))
}

/// Mappings nested in mappings, and lists, as in a custom resource: `a` to `c` are scalars, `l` a list, `m` and `n` mappings.
fn custom(patch: bool) -> BoxedStrategy<Value> {
    // Lists of custom resources are replaced as they are, so what is in them need not be typed.
    let lists = || option::of(vec(tree(), 0..3));
    leaves(["a", "b", "c"], patch)
        .prop_recursive(3, 16, 2, move |inner| {
            (
                leaves(["a", "b", "c"], patch),
                option::of(inner.clone()),
                option::of(inner),
                lists(),
                sometimes(patch, directive()),
            )
                .prop_map(|(mut all, m, n, l, directive)| {
                    if let Some(fields) = all.as_object_mut() {
                        let more =
                            [("m", m), ("n", n), ("l", l.map(Value::from)), ("$patch", directive.map(Value::from))];
                        fields.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))));
                    }
                    all
                })
        })
        .boxed()
}

/// Anything at all, for JSON patches.
fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn directive() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["delete", "replace", "merge"])
}

fn mapping(fields: Vec<(&'static str, Option<Value>)>) -> Value {
    Value::Object(fields.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect())
}

/// Now and then a directive, but only in patches.
fn sometimes(
    patch: bool,
    directive: impl Strategy<Value = &'static str> + 'static,
) -> BoxedStrategy<Option<&'static str>> {
    if patch { option::weighted(0.15, directive).boxed() } else { Just(None).boxed() }
}

/// Items with distinct keys; in a patch some are marked with a directive, or the whole list is.
fn keyed(
    keys: Vec<Value>,
    fields: impl Strategy<Value = Value> + Clone + 'static,
    patch: bool,
) -> impl Strategy<Value = Value> {
    let items = prop::sample::subsequence(keys.clone(), 0..=keys.len()).prop_shuffle();
    // Decision 20: `replace` on an item that exists has no effect in kustomize.
    let marks = vec(sometimes(patch, prop::sample::select(vec!["delete", "merge"])), keys.len());
    let whole = sometimes(patch, prop::sample::select(vec!["replace", "delete"]));
    (items, vec(fields, keys.len()), marks, whole).prop_map(|(keys, fields, marks, whole)| {
        let mut items: Vec<Value> = keys
            .into_iter()
            .zip(fields)
            .zip(marks)
            .map(|((key, fields), mark)| {
                let mut item = key;
                if let (Some(item), Value::Object(fields)) = (item.as_object_mut(), fields) {
                    item.extend(fields);
                    item.extend(mark.map(|mark| ("$patch".to_string(), json!(mark))));
                }
                item
            })
            .collect();
        if whole == Some("delete") {
            // Decision 19: what becomes of the items beside a delete depends on the old list in kustomize.
            items.clear();
        }
        items.extend(whole.map(|whole| json!({"$patch": whole})));
        Value::Array(items)
    })
}

fn names(field: &str) -> Vec<Value> {
    ["a", "b", "c"].map(|name| json!({ field: name })).to_vec()
}

fn fields(patch: bool) -> BoxedStrategy<Value> {
    leaves(["p", "q", "r"], patch).boxed()
}

fn container(patch: bool) -> impl Strategy<Value = Value> + Clone {
    let ports = [(80, "TCP"), (80, "UDP"), (81, "TCP")]
        .map(|(port, protocol)| json!({"containerPort": port, "protocol": protocol}));
    let maybe = 0.5;
    (
        option::weighted(maybe, keyed(names("name"), fields(patch), patch).boxed()),
        option::weighted(maybe, keyed(ports.to_vec(), fields(patch), patch).boxed()),
        option::weighted(maybe, keyed(names("mountPath"), fields(patch), patch).boxed()),
        option::weighted(maybe, vec(word(), 0..3)),
        option::weighted(maybe, word()),
    )
        .prop_map(|(env, ports, mounts, args, image)| {
            mapping(vec![
                ("env", env),
                ("ports", ports),
                ("volumeMounts", mounts),
                ("args", args.map(Value::from)),
                ("image", image.map(Value::from)),
            ])
        })
        .boxed()
}

fn pod(patch: bool) -> impl Strategy<Value = Value> {
    let constraints =
        [("a", "x"), ("a", "y"), ("b", "x")].map(|(key, when)| json!({"topologyKey": key, "whenUnsatisfiable": when}));
    let list = |field| option::weighted(0.4, keyed(names(field), fields(patch), patch));
    (
        option::weighted(0.8, keyed(names("name"), container(patch), patch)),
        list("name"),
        list("name"),
        list("ip"),
        option::weighted(0.3, keyed(constraints.to_vec(), fields(patch), patch)),
        option::weighted(0.3, vec(fields(false), 0..3)),
        option::weighted(0.3, fields(patch)),
    )
        .prop_map(|(containers, volumes, secrets, aliases, constraints, tolerations, selector)| {
            mapping(vec![
                ("containers", containers),
                ("volumes", volumes),
                ("imagePullSecrets", secrets),
                ("hostAliases", aliases),
                ("topologySpreadConstraints", constraints),
                ("tolerations", tolerations.map(Value::from)),
                ("nodeSelector", selector),
            ])
        })
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    (
        option::weighted(0.3, prop::collection::btree_map("[a-c]", word(), 1..3)),
        option::weighted(0.3, prop::sample::subsequence(vec!["x/a", "x/b", "x/c"], 1..=3).prop_shuffle()),
    )
        .prop_map(|(labels, finalizers)| {
            let mut metadata = Map::new();
            metadata.insert("name".into(), json!("dummy"));
            metadata.extend(labels.map(|labels| ("labels".to_string(), json!(labels))));
            metadata.extend(finalizers.map(|finalizers| ("finalizers".to_string(), json!(finalizers))));
            metadata
        })
}

fn object(
    api_version: &'static str,
    kind: &'static str,
    body: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    (metadata(), body).prop_map(move |(metadata, body)| {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        if let (Some(object), Value::Object(body)) = (object.as_object_mut(), body) {
            object.extend(body);
        }
        object
    })
}

fn cases(object: impl Strategy<Value = Value>, patch: impl Strategy<Value = Value>) -> impl Strategy<Value = Case> {
    (object, patch)
        .prop_map(|(object, patch)| Case { object, patch })
        // Decision 4: kustomize writes a directive into a list that does not exist yet.
        .prop_filter("list directives fit", |case| list_directives_fit(&case.object, &case.patch))
}

fn list_directives_fit(object: &Value, patch: &Value) -> bool {
    match patch {
        Value::Object(fields) => {
            let object = if fields.get("$patch").is_some_and(|d| d == "replace") { &Value::Null } else { object };
            fields.iter().all(|(key, value)| list_directives_fit(object.get(key).unwrap_or(&Value::Null), value))
        }
        Value::Array(items) => {
            let lone =
                |item: &&Value| item.as_object().is_some_and(|item| item.len() == 1 && item.contains_key("$patch"));
            let whole = items.iter().any(|item| lone(&item));
            let existing = object.as_array().filter(|_| !whole);
            (!whole || object.is_array())
                && items.iter().filter(|item| !lone(item)).all(|item| {
                    let keys = [
                        "name",
                        "mountPath",
                        "ip",
                        "topologyKey",
                        "whenUnsatisfiable",
                        "containerPort",
                        "port",
                        "protocol",
                    ];
                    let same = |other: &&Value| keys.iter().all(|key| item.get(key) == other.get(key));
                    // Decision 21: in a replaced list kustomize still merges items with old ones of the same key.
                    let merges = whole && object.as_array().is_some_and(|list| list.iter().any(|other| same(&other)));
                    !merges
                        && list_directives_fit(
                            existing.and_then(|list| list.iter().find(same)).unwrap_or(&Value::Null),
                            item,
                        )
                })
        }
        _ => true,
    }
}

// ---- the comparisons ----

#[test]
fn strategic_merge_of_deployments_agrees_with_kustomize() {
    let deployment = |patch: bool| {
        let body = (pod(patch), metadata(), option::of(0..3)).prop_map(|(pod, mut metadata, replicas)| {
            metadata.remove("name");
            json!({"spec": mapping(vec![("replicas", replicas.map(Value::from)), ("template", Some(json!({"metadata": metadata, "spec": pod})))])})
        });
        object("apps/v1", "Deployment", body)
    };
    compare(cases(deployment(false), deployment(true)));
}

#[test]
fn strategic_merge_of_services_and_accounts_agrees_with_kustomize() {
    let ports = || {
        [(80, "TCP"), (80, "UDP"), (81, "TCP")]
            .map(|(port, protocol)| json!({"port": port, "protocol": protocol}))
            .to_vec()
    };
    let service = |patch: bool| {
        let body = (keyed(ports(), fields(patch), patch), fields(patch))
            .prop_map(|(ports, selector)| json!({"spec": {"ports": ports, "selector": selector}}));
        object("v1", "Service", body)
    };
    let account = |patch: bool| {
        let body = (keyed(names("name"), fields(patch), patch), vec(fields(false), 0..3))
            .prop_map(|(secrets, pull)| json!({"secrets": secrets, "imagePullSecrets": pull}));
        object("v1", "ServiceAccount", body)
    };
    compare(prop_oneof![cases(service(false), service(true)), cases(account(false), account(true))]);
}

#[test]
fn strategic_merge_of_custom_resources_agrees_with_kustomize() {
    let thing = |patch| object("example.com/v1", "Thing", custom(patch).prop_map(|spec| json!({"spec": spec})));
    compare(cases(thing(false), thing(true)));
}

#[test]
fn json_patches_agree_with_kustomize() {
    let document = || {
        let body = prop::collection::btree_map("[a-d]", tree(), 1..4).prop_map(|spec| json!({"spec": spec}));
        object("example.com/v1", "Thing", body)
    };
    let case = (document(), vec((0..6usize, any::<prop::sample::Index>(), any::<prop::sample::Index>(), tree()), 1..4))
        .prop_map(|(object, seeds)| {
            let mut paths = Vec::new();
            collect_paths("/spec", &object["spec"], &mut paths);
            let operations: Vec<Value> = seeds
                .into_iter()
                .map(|(op, path, from, value)| {
                    let (path, from) = (path.get(&paths), from.get(&paths));
                    match op {
                        0 => json!({"op": "add", "path": path, "value": value}),
                        1 => json!({"op": "remove", "path": path}),
                        2 => json!({"op": "replace", "path": path, "value": value}),
                        3 => json!({"op": "copy", "from": from, "path": path}),
                        4 if !path.starts_with(&format!("{from}/")) => json!({"op": "move", "from": from, "path": path}),
                        _ => json!({"op": "test", "path": path, "value": object.pointer(path).cloned().unwrap_or_default()}),
                    }
                })
                .collect();
            Case { object, patch: json!(operations) }
        })
        // Decision 10: kustomize writes null when the source of a copy is missing.
        .prop_filter("copies something that exists", copies_exist);
    compare(case);
}

/// kustomize has annotations of its own on an object while a JSON patch runs, takes empty ones away, and writes text.
#[test]
fn operations_on_annotations_and_labels_agree_with_kustomize() {
    if !has_kubectl() {
        return;
    }
    let bases =
        [json!({}), json!({"annotations": null}), json!({"annotations": {}}), json!({"annotations": {"x": "1"}})];
    let kinds = [
        ("v1", "ServiceAccount"),
        ("v1", "Namespace"),
        ("apps/v1", "Deployment"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("source.toolkit.fluxcd.io/v1", "GitRepository"),
    ];
    let all = "/metadata/annotations";
    let patches = [
        json!([{"op": "add", "path": "/metadata/annotations/a.b~1k", "value": "v"}]),
        json!([{"op": "replace", "path": "/metadata/annotations/k", "value": "v"}]),
        json!([{"op": "remove", "path": all}]),
        json!([{"op": "remove", "path": "/metadata/annotations/k"}]),
        json!([{"op": "remove", "path": "/metadata/annotations/x"}]),
        json!([{"op": "test", "path": all, "value": null}]),
        json!([{"op": "test", "path": "/metadata/annotations/k", "value": null}]),
        json!([{"op": "test", "path": "/metadata/annotations/x", "value": "1"}]),
        json!([{"op": "test", "path": "/metadata/annotations/k/z", "value": null}]),
        json!([{"op": "add", "path": all, "value": {}}]),
        json!([{"op": "add", "path": all, "value": {"k": "v"}}]),
        json!([{"op": "replace", "path": all, "value": {"k": "v"}}]),
        json!([{"op": "add", "path": all, "value": null}]),
        json!([{"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations/k"}]),
        json!([{"op": "remove", "path": all}, {"op": "add", "path": "/metadata/annotations/k", "value": "v"}]),
        json!([{"op": "remove", "path": all}, {"op": "add", "path": all, "value": {"k": "v"}}]),
        json!([{"op": "add", "path": "/metadata/annotations/k", "value": 4711}]),
        json!([{"op": "add", "path": all, "value": {"a": 1, "b": true, "c": 1.5}}]),
        json!([{"op": "add", "path": "/metadata/labels/k", "value": "v"}]),
        json!([{"op": "add", "path": "/metadata/labels", "value": {"k": "v"}}]),
        json!([{"op": "remove", "path": "/metadata/labels"}]),
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "labels": {"a": 4711, "b": true}, "annotations": {"a": 4711, "c": 1.5}}}),
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "annotations": {"k": "v"}}}),
    ];
    let cases: Vec<Case> = kinds
        .iter()
        .flat_map(|(version, kind)| bases.iter().map(move |base| (version, kind, base)))
        .flat_map(|(version, kind, base)| patches.iter().map(move |patch| (version, kind, base, patch)))
        .enumerate()
        .map(|(index, (version, kind, base, patch))| {
            let object = json!({"apiVersion": version, "kind": kind, "metadata": base});
            Case { object, patch: patch.clone() }.named(index)
        })
        .collect();
    compare_all(&cases, |cases| cases.iter().step_by(4).copied().collect());
}

/// The text of a patch, with the letters of its numbers and its end, as only YAML has them.
#[test]
fn texts_of_patches_are_read_as_kustomize_reads_them() {
    if !has_kubectl() {
        return;
    }
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";
    let entries = "0644 0x1F 1_000 yes on 2026-01-01 1e3 1.0 1.10 +1 True !!str_1 12e03 '1' text";
    let mut texts: Vec<String> = ["labels", "annotations"]
        .iter()
        .flat_map(|field| {
            entries
                .split(' ')
                .map(move |entry| (field, entry.replace('_', if entry.starts_with('!') { " " } else { "_" })))
        })
        .map(|(field, entry)| format!("{head}  {field}:\n    k: {entry}\n"))
        .collect();
    let blocks = [
        "|\n  a\n  b\n",
        "|-\n  a\n",
        "|+\n  a\n\n\n",
        ">\n  a\n  b\n",
        "|\n  a\n# c\n",
        "|\n  a\n  # c\n",
        "\"a\\n\"",
        "|2\n  a\n",
        "|\n  a \n",
        "|\n  a\n  \n",
        "|+\n",
        "|\n",
    ];
    for block in blocks {
        texts.push(format!("{head}data:\n k: {}", block.replace("\n ", "\n  ")));
        texts.push(format!("- op: add\n  path: /data\n  value:\n    k: {}", block.replace("\n ", "\n     ")));
    }
    for word in "yes on y Yes TRUE n off 0644 1.0 1e3 text".split(' ') {
        texts.push(format!("- op: add\n  path: /data\n  value:\n    k: {word}\n"));
        texts.push(format!("{head}data:\n  k: {word}\n"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let object =
        |index: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("case-{index}")}});
    let objects: Vec<String> = (0..texts.len()).map(|index| object(index).to_string()).collect();
    fs::write(folder.path().join("objects.yaml"), objects.join("\n---\n")).expect("written");
    let patches: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"target": {"name": format!("case-{index}")}, "patch": text}))
        .collect();
    let kustomization = json!({"resources": ["objects.yaml"], "patches": patches});
    fs::write(folder.path().join("kustomization.yaml"), kustomization.to_string()).expect("written");
    let theirs = judge(folder.path()).expect("kustomize takes every text");
    for (index, text) in texts.iter().enumerate() {
        let name = format!("case-{index}");
        let target = Selector { name: name.clone(), ..Default::default() };
        let mut list = ResourceList::from_objects([object(index)]).expect("one object");
        let patch = Patch { target: Some(target), patch: text.clone() };
        apply_patches(&mut list, &[patch]).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(list.into_objects().pop().as_ref(), theirs.get(&name), "{text:?}");
    }
}

/// Every path of a value, and beside each a few that do not exist.
fn collect_paths(path: &str, value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            paths.push(format!("{path}/new"));
            for (key, value) in fields {
                paths.push(format!("{path}/{key}"));
                collect_paths(&format!("{path}/{key}"), value, paths);
            }
        }
        Value::Array(items) => {
            paths.push(format!("{path}/-"));
            paths.push(format!("{path}/-1"));
            paths.push(format!("{path}/{}", items.len()));
            for (index, value) in items.iter().enumerate() {
                paths.push(format!("{path}/{index}"));
                collect_paths(&format!("{path}/{index}"), value, paths);
            }
        }
        _ => paths.push(format!("{path}/below-a-scalar")),
    }
}

fn copies_exist(case: &Case) -> bool {
    !matches!(case.ours(), Err(error) if error.contains("error in copy") && error.contains("there is no key"))
}

#[test]
fn selectors_agree_with_kustomize() {
    if !has_kubectl() {
        return;
    }
    let part = |values: &'static [&'static str]| option::weighted(0.35, prop::sample::select(values.to_vec()));
    let selector = (
        part(&["apps", "rbac.*", ".*", "app"]),
        part(&["v1", "v.", "v2"]),
        part(&["Deployment", "Deploy", "(Service|Deployment)", "Cluster.*", "Namespace"]),
        part(&["a", "b", "a-x", ".*", "[ab]", "a|b", "(a|b)-x", "b-.*"]),
        part(&["default", "ns", ".*", "_non_namespaceable_", "n"]),
        part(&["app", "!app", "app=a", "app!=a", "app in (a,b)", "app notin (a)", "tier=1,app", "app==b"]),
        part(&["x.y/role", "!x.y/role", "x.y/role=shard"]),
    )
        .prop_map(|(group, version, kind, name, namespace, labels, annotations)| {
            let text = |value: Option<&str>| value.unwrap_or_default().to_string();
            Selector {
                group: text(group),
                version: text(version),
                kind: text(kind),
                name: text(name),
                namespace: text(namespace),
                label_selector: text(labels),
                annotation_selector: text(annotations),
            }
        });
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let selectors: Vec<Selector> =
        (0..300).map(|_| selector.new_tree(&mut runner).expect("a selector").current()).collect();

    let object = |api_version: &str, kind: &str, name: &str, labels: Value, annotations: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": labels, "annotations": annotations}});
    let role = "rbac.authorization.k8s.io/v1";
    let base = [
        object("apps/v1", "Deployment", "a", json!({"app": "a"}), json!({"x.y/role": "shard"})),
        object("apps/v1", "Deployment", "b", json!({"app": "b", "tier": "1"}), json!({"z": "z"})),
        object("v1", "Service", "a", json!({"app": "c"}), json!({"x.y/role": "main"})),
        object(role, "ClusterRole", "a", json!({"tier": "1"}), json!({"z": "z"})),
    ];
    let own = [
        object("apps/v1", "Deployment", "c", json!({"app": "a"}), json!({"z": "z"})),
        object("v1", "Service", "b", json!({"tier": "2"}), json!({"z": "z"})),
        object("v1", "Namespace", "a", json!({"app": "b"}), json!({"z": "z"})),
    ];
    let patch = |index: usize| format!("- {{op: add, path: /metadata/labels/hit-{index}, value: \"1\"}}");

    let folder = tempfile::tempdir().expect("a folder");
    let documents = |objects: &[Value]| objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    fs::create_dir(folder.path().join("base")).expect("made");
    fs::write(folder.path().join("base/objects.yaml"), documents(&base)).expect("written");
    let kustomization = json!({"resources": ["objects.yaml"], "namespace": "ns", "nameSuffix": "-x"});
    fs::write(folder.path().join("base/kustomization.yaml"), kustomization.to_string()).expect("written");
    fs::write(folder.path().join("objects.yaml"), documents(&own)).expect("written");
    let patches: Vec<Value> = selectors
        .iter()
        .enumerate()
        .map(|(index, s)| {
            json!({"patch": patch(index), "target": {
                "group": s.group, "version": s.version, "kind": s.kind, "name": s.name, "namespace": s.namespace,
                "labelSelector": s.label_selector, "annotationSelector": s.annotation_selector}})
        })
        .collect();
    let kustomization = json!({"resources": ["base", "objects.yaml"], "patches": patches});
    fs::write(folder.path().join("kustomization.yaml"), kustomization.to_string()).expect("written");

    let mut list = ResourceList::from_objects(base).expect("distinct");
    list.set_namespace("ns");
    list.add_name_suffix("-x");
    list.append(ResourceList::from_objects(own).expect("distinct")).expect("distinct");
    let patches: Vec<Patch> =
        selectors.iter().enumerate().map(|(index, s)| Patch { target: Some(s.clone()), patch: patch(index) }).collect();
    let reports = apply_patches(&mut list, &patches).expect("every patch applies");
    let hits = reports.iter().filter(|report| !report.objects.is_empty()).count();
    assert!(hits > 50 && hits < 300, "{hits} of 300 selectors select something");

    let key = |object: &Value| {
        format!(
            "{}/{}",
            object["kind"].as_str().unwrap_or_default(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        )
    };
    let output = Command::new("kubectl").arg("kustomize").arg(folder.path()).output().expect("kubectl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: BTreeMap<String, Value> = yaml::parse_patch_documents(&String::from_utf8_lossy(&output.stdout))
        .expect("kustomize writes YAML")
        .into_iter()
        .map(|object| (key(&object), object))
        .collect();
    for object in list.into_objects() {
        let their = theirs.get(&key(&object)).unwrap_or_else(|| panic!("no {}", key(&object)));
        for (index, selector) in selectors.iter().enumerate() {
            let label = format!("/metadata/labels/hit-{index}");
            assert_eq!(object.pointer(&label), their.pointer(&label), "{selector} on {}", key(&object));
        }
        assert_eq!(&object, their);
    }
}
