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
fn what_does_not_exist_is_refused_with_a_suggestion() {
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
        .stderr_has("FluxInstance has no version v2: there is v1");
    run(&["explain", "instance", "--api-version", "fluxcd.controlplane.io/v1"]).exits(0);
    run(&["explain", "rset"]).exits(0).stdout_has("A ResourceSet is not served by this operator");
    run(&["explain", ""]).exits(2);
}
