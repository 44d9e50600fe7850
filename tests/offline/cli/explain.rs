//! `explain`: fields of every kind this program knows, offline.

use crate::cli::support::run;

#[test]
fn a_field_of_the_instance_is_explained() {
    run(&["explain", "instance.spec.sync"])
        .exits(0)
        .stdout_has("KIND:     FluxInstance\nVERSION:  fluxcd.controlplane.io/v1\nFIELD:    spec.sync <object>\n")
        .stdout_has("  url <string> -required-\n")
        .stdout_has("      Default: 1m\n");
}

#[test]
fn a_kind_is_found_by_every_name_people_use() {
    let names =
        ["kustomization", "Kustomizations", "ks", "KUSTOMIZATION", "kustomizations.kustomize.toolkit.fluxcd.io"];
    for name in names {
        run(&["explain", &format!("{name}.spec.prune")])
            .exits(0)
            .stdout_has("FIELD:    spec.prune <boolean> -required-");
    }
}

#[test]
fn every_kind_of_flux_has_a_schema_and_fits_80_columns() {
    for kind in [
        "FluxInstance",
        "Kustomization",
        "HelmRelease",
        "GitRepository",
        "OCIRepository",
        "Bucket",
        "HelmRepository",
        "HelmChart",
        "ArtifactGenerator",
        "ExternalArtifact",
        "Alert",
        "Provider",
        "Receiver",
        "ImageRepository",
        "ImagePolicy",
        "ImageUpdateAutomation",
    ] {
        let text = run(&["explain", &format!("{kind}.spec")]).exits(0).stdout;
        assert!(text.contains("FIELDS:\n"), "{text}");
        for line in text.lines().filter(|line| line.trim().contains(' ')) {
            let is_long_word = line.split_whitespace().any(|word| word.chars().count() > 60);
            assert!(line.chars().count() <= 80 || is_long_word, "{kind}: {line}");
        }
        run(&["explain", kind, "--recursive"]).exits(0).stdout_has("\n  spec <object>\n");
    }
}

#[test]
fn json_and_yaml_carry_the_same_facts() {
    let json = run(&["explain", "instance.spec.cluster.type", "-o", "json"]).exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["default"], &json["enum"][1]), (&"kubernetes".into(), &"openshift".into()));
    let text = run(&["explain", "instance.spec.cluster.type", "-o", "yaml"]).exits(0).stdout;
    assert_eq!(flux_operator::format::yaml::parse_one(&text).expect("YAML"), json);
}

#[test]
fn an_object_is_explained_as_its_kind() {
    let kind = run(&["explain", "ks"]).exits(0).stdout;
    for line in
        [&["explain", "ks/podinfo"][..], &["explain", "kustomization/a.b"], &["explain", "resource", "ks/podinfo"]]
    {
        assert_eq!(run(line).exits(0).stdout, kind, "{line:?}");
    }
    run(&["explain", "ks/podinfo", "spec.path"]).exits(0).stdout_has("spec.path");
    run(&["explain", "foo/a"]).exits(2).stderr_has("unknown kind `foo`");
}

#[test]
fn an_unknown_field_or_kind_is_refused_with_a_suggestion() {
    run(&["explain", "instance.spec.sycn"])
        .exits(2)
        .stderr_has("error: spec has no field sycn\n")
        .stderr_has("hint: did you mean sync?");
    run(&["explain", "instnce.spec"]).exits(2).stderr_has("hint: did you mean `instance`?");
    // Text that other verbs take as a name.
    run(&["explain", "ks", "podinfo"])
        .exits(2)
        .stderr_has("error: Kustomization has no field podinfo\n")
        .stderr_has("as in `flux-operator explain kustomization.spec`")
        .stderr_has("`flux-operator get kustomization podinfo` shows an object");
    run(&["explain", "instance", "--api-version", "v2"])
        .exits(2)
        .stderr_has("FluxInstance has no version v2: it serves v1");
    run(&["explain", "instance", "--api-version", "fluxcd.controlplane.io/v1"]).exits(0);
    run(&["explain", "rset"]).exits(0).stdout_has("Objects that are made of templates and inputs");
    run(&["explain", ""]).exits(2);
}

#[test]
fn a_cause_is_explained_in_any_case_with_the_commands_that_mend_it() {
    for word in ["PullSecretMissing", "pullsecretmissing"] {
        let text = run(&["explain", word]).exits(0).stdout;
        assert!(text.starts_with("PullSecretMissing: The registry wants credentials"), "{text}");
        for part in ["\nMEANING\n", "\nWHY IT HAPPENS\n", "\nSIMILAR CAUSES\n", "\nCOMMANDS\n  flux-operator "] {
            assert!(text.contains(part), "{text}");
        }
    }
    let json = run(&["explain", "CrashLoop", "-o", "json"]).exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["cause"], "CrashLoop");
    assert!(json["commands"].as_array().is_some_and(|all| !all.is_empty()), "{json}");
    run(&["explain", "CrashLoop", "--recursive"]).exits(2).stderr_has("CrashLoop is a cause");
    run(&["explain", "CrashLop"]).exits(2).stderr_has("did you mean `CrashLoop`?");
}

#[test]
fn every_reason_in_the_schema_of_why_is_in_the_list_of_causes() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schemas/why.json");
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(schema).expect("read")).expect("JSON");
    let reasons = schema.pointer("/$defs/Reason/enum").and_then(|all| all.as_array()).expect("the reasons");
    let list = run(&["explain", "causes", "-o", "json"]).exits(0).stdout;
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).expect("a list");
    assert!(list.iter().all(|row| row["title"].as_str().is_some_and(|title| !title.is_empty())));
    let words: Vec<&serde_json::Value> = list.iter().map(|row| &row["cause"]).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| words.contains(&reason)), "{words:?}");
}

#[test]
fn the_category_of_an_error_in_json_is_explained() {
    let error = run(&["get", "instance", "--from", "/nowhere", "-o", "json"]).stderr;
    let error: serde_json::Value = serde_json::from_str(error.lines().next_back().expect("a line")).expect("JSON");
    let category = error["category"].as_str().expect("a category");
    run(&["explain", category]).exits(0).stdout_has(&format!("{category}: "));
    run(&["explain", "refusals"]).exits(0).stdout_has("Denied").stdout_has("Unreachable");
}

#[test]
fn every_reason_of_a_condition_or_an_event_is_explained() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/reference/status.md");
    let page = std::fs::read_to_string(page).expect("read");
    let own = page.split("| reason | meaning |").nth(1).expect("the table of reasons");
    let own: Vec<&str> = own.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert!(own.len() > 20, "{own:?}");
    // Reasons of failures that the controllers of Flux 2.9 write, which alerts carry as well.
    let of_flux = "AccessDenied AcquireLockFailed ArchiveOperationFailed ArtifactFailed AuthenticationFailed BucketOperationFailed \
        BuildFailed CacheOperationFailed ChartPackageFailed ChartPullFailed DependencyNotReady DirectoryCreationFailed Failed \
        FeatureGateDisabled GetLastReleaseFailed GitOperationFailed HealthCheckCanceled HealthCheckFailed IndexationFailed InitFailed \
        InsecureConnectionsDisallowed InstallFailed InvalidCELExpression InvalidPath InvalidProviderConfiguration \
        InvalidSTSConfiguration InvalidURL InventoryBuildFailed OCIArtifactLayerOperationFailed OCIArtifactPullFailed \
        PatchOperationFailed Progressing ProgressingWithRetry PruneFailed ReadOperationFailed ReconciliationFailed RollbackFailed \
        StatOperationFailed StorageOperationFailed Suspended SymlinkUpdateFailed TestFailed TokenNotFound URLInvalid UninstallFailed \
        UnsupportedConnectionType UpgradeFailed ValidationFailed VerificationFailed";
    for word in own.into_iter().chain(of_flux.split_whitespace()) {
        run(&["explain", word]).exits(0).stdout_has("\nMEANING\n").stdout_has("\nCOMMANDS\n");
    }
}

#[test]
fn a_kind_of_flux_names_its_page_of_the_documentation() {
    let page = "\nDOCUMENTATION: https://fluxcd.io/flux/components/kustomize/kustomizations/\n";
    run(&["explain", "ks"]).exits(0).stdout_has(page);
    for line in [&["explain", "instance"][..], &["explain", "ks.spec"], &["explain", "ks", "-o", "json"]] {
        assert!(!run(line).exits(0).stdout.contains("DOCUMENTATION"), "{line:?}");
    }
}
