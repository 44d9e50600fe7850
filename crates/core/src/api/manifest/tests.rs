use serde_json::json;

use super::*;

/// A manifest with the text of `spec` below `distribution`, indented by the caller.
fn manifest(spec: &str) -> String {
    format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  name: flux\n  namespace: flux-system\n\
         spec:\n  distribution:\n    version: 2.x\n    registry: ghcr.io/fluxcd\n{spec}"
    )
}

fn read_ok(text: &str) -> FluxInstance {
    match read(text, &NamespaceChoice::default()) {
        Ok(manifest) => manifest.instance.into_inner(),
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn problems(text: &str) -> Vec<String> {
    match read(text, &NamespaceChoice::default()) {
        Ok(manifest) => panic!("accepted: {:?}\n{text}", manifest.instance.spec),
        Err(error) => error.problems().iter().map(ToString::to_string).collect(),
    }
}

fn error(text: &str) -> String {
    read(text, &NamespaceChoice::default()).unwrap_err().to_string()
}

#[test]
fn the_shortest_manifest_gets_the_defaults_of_the_api() {
    let instance = read_ok(&manifest(""));
    assert_eq!(instance.spec.wait, Some(true));
    assert_eq!(instance.spec.migrate_resources, Some(true));
    assert_eq!((&instance.spec.cluster, &instance.spec.components), (&None, &None));
    assert_eq!(instance.metadata.namespace.as_deref(), Some("flux-system"));

    let instance = read_ok(&manifest(
        "  cluster: {}\n  sharding: {shards: [a]}\n  sync: {kind: Bucket, url: minio, ref: b, path: ./}\n",
    ));
    let spec = serde_json::to_value(&instance.spec).unwrap();
    assert_eq!(
        spec["cluster"],
        json!({
            "domain": "cluster.local", "multitenant": false, "multitenantWorkloadIdentity": false,
            "networkPolicy": true, "type": "kubernetes",
        })
    );
    assert_eq!(spec["sharding"]["key"], "sharding.fluxcd.io/key");
    assert_eq!(spec["sync"]["interval"], "1m");
}

#[test]
fn null_and_empty_text_mean_not_set() {
    let instance = read_ok(&manifest(
        "    imagePullSecret: ''\n  wait: null\n  cluster:\n  sync: {kind: Bucket, url: minio, ref: b, path: ./, pullSecret: '', name: null}\n",
    ));
    assert_eq!(instance.spec.wait, Some(true));
    assert_eq!(instance.spec.cluster, None);
    assert_eq!(instance.spec.distribution.image_pull_secret, None);
    let sync = instance.spec.sync.unwrap();
    assert_eq!((sync.pull_secret, sync.name), (None, None));
}

#[test]
fn fields_added_by_an_api_server_are_ignored() {
    let text = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  annotations:\n    \
        kubectl.kubernetes.io/last-applied-configuration: |\n      {}\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  \
        finalizers: [fluxcd.controlplane.io/finalizer]\n  generation: 3\n  name: flux\n  namespace: flux-system\n  \
        resourceVersion: \"12\"\n  uid: 0a\n  managedFields:\n  - manager: kubectl\n    fieldsV1: {\"f:spec\": {}}\n\
        spec:\n  distribution: {version: 2.x, registry: ghcr.io/fluxcd}\n\
        status:\n  conditions: []\n  anything: 1\n";
    let instance = read_ok(text);
    assert_eq!(instance.status, None);
    assert_eq!(instance.metadata.uid, None);
    assert_eq!(instance.metadata.managed_fields, None);
    assert_eq!(instance.metadata.annotations.unwrap().len(), 1);
}

#[test]
fn the_one_instance_is_found_among_other_documents_and_in_lists() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n";
    read_ok(&format!("{secret}---\n{}---\n# end\n", manifest("")));
    let indented = manifest("").replace('\n', "\n  ");
    read_ok(&format!("apiVersion: v1\nkind: List\nitems:\n- {indented}\n"));
    read_ok(&serde_json::to_string(&yaml::parse_one(&manifest("")).unwrap()).unwrap());

    assert_eq!(error(secret), "no FluxInstance found: there is Secret v1");
    assert_eq!(error("# nothing\n"), "no FluxInstance found: there are no objects");
    assert_eq!(error("just text"), "no FluxInstance found: there is an object without kind");
    assert_eq!(
        error(&format!("{}---\n{}", manifest(""), manifest(""))),
        "2 FluxInstances found (line 1 and line 11): one is expected"
    );
    assert_eq!(
        error("apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: x}\n"),
        "no FluxInstance found: there is ResourceSet fluxcd.controlplane.io/v1"
    );
}

#[test]
fn problems_in_a_list_are_located() {
    let indented = manifest("  wait: maybe\n").replace('\n', "\n  ");
    let text = format!("apiVersion: v1\nkind: List\nitems:\n- {indented}\n");
    assert_eq!(problems(&text), ["spec.wait: expected true or false, found \"maybe\" (line 13, column 11)"]);
}

#[test]
fn the_version_of_the_proposal_is_refused_with_the_fields_to_rename() {
    let text = "apiVersion: fluxcd.controlplane.io/v1alpha1\nkind: FluxInstance\nmetadata: {name: flux}\nspec:\n  \
        distribution:\n    version: 2.2.x\n    registry: ghcr.io/x\n    pullSecret: a\n  shards: [a]\n";
    assert_eq!(
        problems(text),
        [
            "apiVersion: fluxcd.controlplane.io/v1alpha1 is no longer served: write fluxcd.controlplane.io/v1 (line 1, column 13)",
            "spec.distribution.pullSecret: rename it to spec.distribution.imagePullSecret (line 8, column 5)",
            "spec.shards: rename it to spec.sharding.shards (line 9, column 3)",
        ]
    );
}

#[test]
fn another_version_or_none_is_refused() {
    let wrong = manifest("").replace("controlplane.io/v1", "controlplane.io/v2");
    assert_eq!(
        problems(&wrong),
        ["apiVersion: \"fluxcd.controlplane.io/v2\" is not fluxcd.controlplane.io/v1 (line 1, column 13)"]
    );
    let none = manifest("").replace("apiVersion: fluxcd.controlplane.io/v1\n", "");
    assert_eq!(problems(&none), ["apiVersion: is required: it must be fluxcd.controlplane.io/v1 (line 1, column 1)"]);
}

#[test]
fn the_namespace_of_the_manifest_wins_and_a_differing_request_is_refused() {
    let namespace = |text: &str, explicit: Option<&str>| {
        let choice = NamespaceChoice { explicit: explicit.map(Into::into), default: "fallback".into() };
        read(text, &choice)
            .map(|manifest| manifest.instance.metadata.namespace.clone().unwrap())
            .map_err(|e| e.to_string())
    };
    let (with, without) = (manifest(""), manifest("").replace("  namespace: flux-system\n", ""));
    assert_eq!(namespace(&with, None).unwrap(), "flux-system");
    assert_eq!(namespace(&with, Some("flux-system")).unwrap(), "flux-system");
    assert_eq!(namespace(&without, Some("other")).unwrap(), "other");
    assert_eq!(namespace(&without, None).unwrap(), "fallback");
    assert_eq!(
        namespace(&with, Some("other")).unwrap_err(),
        "metadata.namespace: flux-system differs from the requested namespace other: change one of them (line 5, column 14)"
    );
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = manifest(
        "    variant: alpine\n  componets: [a]\n  cluster:\n    type: kubernets\n    size: 3\n  \
         sync:\n    kind: git\n    interval: 5 minutes\n    ref: main\n  wait: \"true\"\n",
    );
    assert_eq!(
        problems(&text),
        [
            "spec.distribution.variant: \"alpine\" is not one of upstream-alpine, enterprise-alpine, enterprise-distroless or enterprise-distroless-fips (line 10, column 14)",
            "spec.componets: unknown field; did you mean components? (line 11, column 3)",
            "spec.cluster.type: \"kubernets\" is not one of kubernetes, openshift, aws, azure or gcp; did you mean kubernetes? (line 13, column 11)",
            "spec.cluster.size: expected text, found 3 (a number), put it in quotes (line 14, column 11)",
            "spec.sync.path is required (line 16, column 5)",
            "spec.sync.url is required (line 16, column 5)",
            "spec.sync.kind: \"git\" is not one of OCIRepository, GitRepository or Bucket; did you mean GitRepository? (line 16, column 11)",
            "spec.sync.interval: \"5 minutes\" is not a duration such as 30s, 5m or 1h30m (units: ms, s, m, h) (line 17, column 15)",
            "spec.wait: expected true or false, found \"true\", remove the quotes (line 19, column 9)",
        ]
    );
    assert!(error(&text).starts_with("9 problems\n  spec.distribution.variant: "), "{}", error(&text));
}

/// A row per rule: the addition to the shortest manifest, and the start of the only resulting problem.
#[test]
fn every_rule_is_enforced() {
    let rows = [
        (
            "    artifact: ghcr.io/x/y\n",
            "spec.distribution.artifact: \"ghcr.io/x/y\" is not an address that starts with oci://",
        ),
        (
            "    artifact: oci://ghcr.io\n",
            "spec.distribution.artifact: \"oci://ghcr.io\" is not an address such as oci://host/path:tag",
        ),
        (
            "    imagePullSecret: My_Secret\n",
            "spec.distribution.imagePullSecret: \"My_Secret\" is not the name of an object",
        ),
        ("    artifactPullSecret: a b\n", "spec.distribution.artifactPullSecret: \"a b\" is not the name of an object"),
        ("    pullSecret: a\n", "spec.distribution.pullSecret: unknown field; did you mean imagePullSecret?"),
        ("  components: source-controller\n", "spec.components: expected a list, found \"source-controller\""),
        (
            "  components: [source-controler]\n",
            "spec.components[0]: \"source-controler\" is not one of source-controller, ",
        ),
        (
            "  components: [helm-controller, helm-controller]\n",
            "spec.components[1]: helm-controller is already in the list",
        ),
        ("  components: [{name: x}]\n", "spec.components[0]: expected text, found a mapping"),
        ("  cluster: []\n", "spec.cluster: expected a mapping, found a list"),
        ("  cluster: {domain: cluster.local.}\n", "spec.cluster.domain: \"cluster.local.\" is not a DNS domain"),
        ("  cluster: {domain: ''}\n", "spec.cluster.domain: must not be empty; leave it out for cluster.local"),
        ("  cluster: {type: ''}\n", "spec.cluster.type: must not be empty; leave it out for kubernetes"),
        ("  cluster: {multitenant: 1}\n", "spec.cluster.multitenant: expected true or false, found 1 (a number)"),
        (
            "  cluster: {networkpolicy: true}\n",
            "spec.cluster.networkpolicy: unknown field; did you mean networkPolicy?",
        ),
        ("  cluster: {size: huge}\n", "spec.cluster.size: \"huge\" is not one of small, medium or large"),
        (
            "  cluster: {type: GCP}\n",
            "spec.cluster.type: \"GCP\" is not one of kubernetes, openshift, aws, azure or gcp; did you mean gcp?",
        ),
        (
            "  cluster: {multitenantWorkloadIdentity: true}\n",
            "spec.cluster.multitenantWorkloadIdentity: multitenantWorkloadIdentity needs objectLevelWorkloadIdentity to be true",
        ),
        (
            "  cluster: {tenantDefaultServiceAccount: A}\n",
            "spec.cluster.tenantDefaultServiceAccount: \"A\" is not the name of an object",
        ),
        ("  sharding: {}\n", "spec.sharding.shards is required"),
        ("  sharding: {shards: []}\n", "spec.sharding.shards: at least 1 item is needed"),
        (
            "  sharding: {shards: [y]}\n",
            "spec.sharding.shards[0]: expected text, found true (a yes-or-no value), put it in quotes",
        ),
        ("  sharding: {shards: [1]}\n", "spec.sharding.shards[0]: expected text, found 1 (a number), put it in quotes"),
        ("  sharding: {shards: [Shard_1]}\n", "spec.sharding.shards[0]: \"Shard_1\" is not a shard name"),
        ("  sharding: {shards: ['']}\n", "spec.sharding.shards[0]: \"\" is not a shard name"),
        ("  sharding: {shards: [a, b, a]}\n", "spec.sharding.shards[2]: a is already in the list"),
        (
            "  sharding: {shards: [a23456789-123456789-123456789-123456789-123456]}\n",
            "spec.sharding.shards[0]: \"a23456789-123456789-123456789-123456789-123456\" has 46 characters, at most 42",
        ),
        ("  sharding: {shards: [a], key: 'a b'}\n", "spec.sharding.key: \"a b\" is not the key of a label"),
        (
            "  sharding: {shards: [a], storage: fast}\n",
            "spec.sharding.storage: \"fast\" is not one of ephemeral or persistent",
        ),
        (
            "  sharding: {shards: [a], storage: persistent}\n",
            "spec.sharding.storage: sharding.storage 'persistent' needs .spec.storage",
        ),
        ("  storage: {class: standard}\n", "spec.storage.size is required"),
        ("  storage: {class: standard, size: 10GB}\n", "spec.storage.size: \"10GB\" is not a size such as 10Gi"),
        ("  storage: {size: 1Gi, class: ''}\n", "spec.storage.class is required"),
        ("  kustomize: {patches: [{}]}\n", "spec.kustomize.patches[0].patch is required"),
        (
            "  kustomize: {patches: [{patch: {a: b}}]}\n",
            "spec.kustomize.patches[0].patch: expected text, found a mapping",
        ),
        (
            "  kustomize: {patches: [{patch: x, path: y}]}\n",
            "spec.kustomize.patches[0].path: unknown field; did you mean patch?",
        ),
        (
            "  kustomize: {patches: [{patch: x, target: {labelselector: y}}]}\n",
            "spec.kustomize.patches[0].target.labelselector: unknown field; did you mean labelSelector?",
        ),
        (
            "  commonMetadata: {labels: {a: 1}}\n",
            "spec.commonMetadata.labels.a: expected text, found 1 (a number), put it in quotes",
        ),
        (
            "  commonMetadata: {labels: {a: 'b c'}}\n",
            "spec.commonMetadata.labels.a: \"b c\" is not the value of a label",
        ),
        ("  commonMetadata: {annotations: {'a b': c}}\n", "spec.commonMetadata.annotations.a b: not a valid key"),
        (
            "  commonMetadata: {labels: {fluxcd.controlplane.io/name: x}}\n",
            "spec.commonMetadata.labels[fluxcd.controlplane.io/name]: this key is reserved",
        ),
        (
            "  commonMetadata: {labels: {fluxcd.controlplane.io/namespace: x}}\n",
            "spec.commonMetadata.labels[fluxcd.controlplane.io/namespace]: this key is reserved",
        ),
        (
            "  commonMetadata: {annotations: {fluxcd.controlplane.io/prune: disabled}}\n",
            "spec.commonMetadata.annotations[fluxcd.controlplane.io/prune]: this key is reserved",
        ),
        ("  migrateResources: 'no'\n", "spec.migrateResources: expected true or false, found \"no\""),
        ("  foo: 1\n", "spec.foo: unknown field; the fields here are cluster, commonMetadata, components, "),
    ];
    for (spec, expected) in rows {
        let problems = problems(&manifest(spec));
        assert_eq!(problems.len(), 1, "{spec}: {problems:#?}");
        assert!(problems[0].starts_with(expected), "{spec}: {}", problems[0]);
        assert!(problems[0].contains("(line 1"), "{}", problems[0]);
    }
}

#[test]
fn every_rule_of_sync_is_enforced() {
    let rows = [
        (
            "kind: GitRepository, url: 'https://a/b', provider: gcp",
            "spec.sync.provider: sync.provider 'gcp' works with OCIRepository and Bucket only",
        ),
        (
            "kind: OCIRepository, url: 'oci://a/b', provider: github",
            "spec.sync.provider: sync.provider 'github' works with GitRepository only",
        ),
        (
            "kind: Bucket, url: minio, provider: github",
            "spec.sync.provider: sync.provider 'github' works with GitRepository only",
        ),
        (
            "kind: Bucket, url: minio, provider: s3",
            "spec.sync.provider: \"s3\" is not one of generic, aws, azure, gcp or github",
        ),
        ("kind: GitRepository, url: 'oci://a/b'", "spec.sync.url: \"oci://a/b\" is not an address for GitRepository"),
        (
            "kind: GitRepository, url: 'git@github.com:a/b'",
            "spec.sync.url: \"git@github.com:a/b\" is not an address for GitRepository: it starts with https://, http:// or ssh://; write git@host:path as ssh://git@host/path",
        ),
        (
            "kind: OCIRepository, url: 'ghcr.io/a/b'",
            "spec.sync.url: \"ghcr.io/a/b\" is not an address for OCIRepository: it starts with oci://",
        ),
        ("kind: Bucket, url: minio, name: A", "spec.sync.name: \"A\" is not the name of an object"),
        ("kind: Bucket, url: minio, pullSecret: A", "spec.sync.pullSecret: \"A\" is not the name of an object"),
        ("kind: Bucket, url: minio, interval: 1d", "spec.sync.interval: \"1d\" is not a duration such as"),
        ("kind: Bucket, url: minio, interval: -5m", "spec.sync.interval: \"-5m\" is not a duration such as"),
        ("kind: Bucket, url: ''", "spec.sync.url is required"),
        ("kind: Bucket, url: minio, branch: x", "spec.sync.branch: unknown field"),
    ];
    for (fields, expected) in rows {
        let problems = problems(&manifest(&format!("  sync: {{{fields}, ref: x, path: ./}}\n")));
        assert_eq!(problems.len(), 1, "{fields}: {problems:#?}");
        assert!(problems[0].starts_with(expected), "{fields}: {}", problems[0]);
    }
    let long = format!("  sync: {{kind: Bucket, url: m, ref: x, path: ., name: {}}}\n", "a".repeat(64));
    assert!(problems(&manifest(&long))[0].contains("has 64 characters, at most 63 are allowed"));
    for fields in [
        "kind: GitRepository, url: 'ssh://git@host/x', provider: azure",
        "kind: GitRepository, url: 'https://h/x', provider: github",
        "kind: GitRepository, url: 'https://h/x', provider: aws",
        "kind: OCIRepository, url: 'oci://h/x', provider: gcp",
        "kind: Bucket, url: 'minio:9000', provider: gcp, interval: 1m30s",
    ] {
        read_ok(&manifest(&format!("  sync: {{{fields}, ref: x, path: ./}}\n")));
    }
}

#[test]
fn workload_identity_is_accepted_with_its_condition() {
    for fields in [
        "objectLevelWorkloadIdentity: true, multitenantWorkloadIdentity: true",
        "objectLevelWorkloadIdentity: true",
        "",
    ] {
        read_ok(&manifest(&format!("  cluster: {{{fields}}}\n")));
    }
}

#[test]
fn name_distribution_and_metadata_are_checked() {
    let with = |from: &str, to: &str| problems(&manifest("").replace(from, to));
    assert_eq!(
        with("name: flux\n", "name: fluxx\n"),
        ["metadata.name: a FluxInstance has to be named 'flux' (line 4, column 9)"]
    );
    assert_eq!(with("  name: flux\n", ""), ["metadata.name: a FluxInstance has to be named 'flux' (line 4, column 3)"]);
    assert_eq!(with("    version: 2.x\n", ""), ["spec.distribution.version is required (line 8, column 5)"]);
    assert_eq!(
        with("version: 2.x", "version: 2.9"),
        ["spec.distribution.version: expected text, found 2.9 (a number), put it in quotes (line 8, column 14)"]
    );
    assert_eq!(
        with("version: 2.x", "version: latest"),
        [
            "spec.distribution.version: \"latest\" is not a version or a range of versions, such as 2.9.4, 2.9.x or >=2.8.0 <2.10.0 (line 8, column 14)"
        ]
    );
    assert_eq!(with("version: 2.x", "version: ''"), ["spec.distribution.version is required (line 8, column 14)"]);
    assert_eq!(
        with("registry: ghcr.io", "registry: https://ghcr.io"),
        [
            "spec.distribution.registry: \"https://ghcr.io/fluxcd\" is not a registry: leave out the scheme, as in ghcr.io/fluxcd (line 9, column 15)"
        ]
    );
    assert_eq!(
        with("  namespace: flux-system", "  namespace: Flux"),
        [
            "metadata.namespace: \"Flux\" is not the name of a namespace: lower case letters, digits and - only (line 5, column 14)"
        ]
    );
    assert_eq!(
        with("  namespace: flux-system", "  annotations: {a: true}"),
        ["metadata.annotations.a: expected text, found true (a yes-or-no value), put it in quotes (line 5, column 20)"]
    );
    assert_eq!(with("spec:", "sepc:").len(), 2, "{:?}", with("spec:", "sepc:"));
    assert!(with("spec:", "sepc:").iter().any(|p| p == "sepc: unknown field; did you mean spec? (line 6, column 1)"));
}

#[test]
fn annotations_without_effect_are_warned_about() {
    let text = manifest("").replace(
        "  namespace: flux-system\n",
        "  annotations:\n    fluxcd.controlplane.io/reconcile: off-ish\n    fluxcd.controlplane.io/reconcileEvery: 1d\n    \
         fluxcd.controlplane.io/reconcileTimeout: 90s\n",
    );
    let warnings: Vec<String> =
        read(&text, &NamespaceChoice::default()).unwrap().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "metadata.annotations[fluxcd.controlplane.io/reconcile]: \"off-ish\" is neither enabled nor disabled, it counts as enabled (line 6, column 39)",
            "metadata.annotations[fluxcd.controlplane.io/reconcileEvery]: \"1d\" is not a duration, 1h is used (line 7, column 44)",
        ]
    );
    let quiet = text.replace("off-ish", "Disabled").replace("1d", "\"0\"");
    assert_eq!(read(&quiet, &NamespaceChoice::default()).unwrap().warnings, []);
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let text = manifest("  sync: {kind: OCIRepository, url: 'https://me:s3cret@host/x', ref: a, path: b}\n");
    let message = error(&text);
    assert!(message.contains("https://[redacted]@host/x") && !message.contains("s3cret"), "{message}");
    assert_eq!(crate::api::rules::without_credentials("ssh://git@host/x"), "ssh://git@host/x");
}

#[test]
fn syntax_errors_carry_their_place() {
    assert_eq!(error("a: 1\na: 2\n"), "duplicate key \"a\" at line 2, column 1");
}

#[test]
fn an_instance_made_by_hand_is_checked_like_a_manifest() {
    let mut instance = read_ok(&manifest(""));
    instance.spec.cluster = Some(Default::default());
    let checked = CheckedInstance::check(instance.clone()).unwrap();
    assert_eq!(checked.into_inner().spec.cluster.unwrap().multitenant_workload_identity, Some(false));
    instance.spec.components = Some(vec!["nope".into()]);
    let error = CheckedInstance::check(instance).unwrap_err();
    assert!(error.to_string().starts_with("spec.components[0]: \"nope\" is not one of"));
}

#[test]
fn reading_what_was_written_changes_nothing() {
    let text = manifest(
        "  components: [source-controller]\n  cluster: {size: small}\n  kustomize:\n    patches:\n    - patch: |\n        \
         - op: remove\n          path: /spec\n      target: {kind: Deployment}\n  commonMetadata: {labels: {a: b}}\n",
    );
    let instance = read_ok(&text);
    let again = read_ok(&yaml::to_string(&instance).unwrap());
    assert_eq!(instance.spec, again.spec);
}

#[test]
fn exported_objects_have_the_fields_of_their_author_only() {
    let exported = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "uid": "u", "managedFields": []},
        "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}}, "status": {}});
    let choice = NamespaceChoice { explicit: Some("a".into()), ..NamespaceChoice::default() };
    let manifest = read(&exported.to_string(), &choice).unwrap();
    assert_eq!(
        manifest.written,
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "a"},
            "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}}})
    );
}
