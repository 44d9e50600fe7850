//! Committed files that are derived from the code are up to date.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::support::run;

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.expect("an entry"))
        .map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).expect("text")))
        .collect()
}

#[track_caller]
fn committed_equals_generated(what: &str, folder: &str) {
    let generated = tempfile::tempdir().expect("a folder");
    run(&["generate", what, generated.path().to_str().expect("UTF-8")]).exits(0);
    let (want, have) = (files(generated.path()), files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)));
    let stale: Vec<_> = want.iter().filter(|(name, text)| have.get(*name) != Some(text)).map(|(n, _)| n).collect();
    let extra: Vec<_> = have.keys().filter(|name| !want.contains_key(*name)).collect();
    assert!(
        stale.is_empty() && extra.is_empty(),
        "stale: {stale:?}, extra: {extra:?}; run `cargo run -- generate {what} {folder}` and commit the result"
    );
}

#[test]
fn man_pages_are_up_to_date() {
    committed_equals_generated("man", "man");
}

#[test]
fn completion_scripts_are_up_to_date() {
    committed_equals_generated("completions", "completions");
}

#[test]
fn custom_resource_definitions_are_up_to_date() {
    committed_equals_generated("crds", "deploy/crds");
}

#[test]
fn the_definitions_that_the_program_holds_are_up_to_date() {
    committed_equals_generated("definitions", "crates/core/src/api/crd/definitions");
}

#[test]
fn schemas_are_up_to_date() {
    committed_equals_generated("schemas", "docs/schemas");
}

/// The chart is a folder below what else is in `deploy`.
#[test]
fn the_manifests_of_the_operator_and_its_chart_are_up_to_date() {
    let generated = tempfile::tempdir().expect("a folder");
    run(&["generate", "deploy", generated.path().to_str().expect("UTF-8")]).exits(0);
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let again = "run `cargo run -- generate deploy deploy` and commit the result";
    for folder in ["chart", "chart/templates"] {
        let names = |root: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(root.join(folder)).expect("a folder");
            let mut names: Vec<String> =
                entries.map(|one| one.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&deploy), names(generated.path()), "{again}");
    }
    for file in [
        "install.yaml",
        "chart/Chart.yaml",
        "chart/values.yaml",
        "chart/values.schema.json",
        "chart/templates/NOTES.txt",
        "chart/templates/definitions.yaml",
        "chart/templates/rights.yaml",
        "chart/templates/operator.yaml",
    ] {
        let text = |root: &Path| std::fs::read_to_string(root.join(file)).expect("text");
        assert!(text(&deploy) == text(generated.path()), "{file} is stale; {again}");
    }
    let exported = run(&["install", "--export", "--image", "IMAGE"]).exits(0).stdout;
    let committed = std::fs::read_to_string(deploy.join("install.yaml")).expect("text");
    let (head, rest) = committed.split_once('\n').expect("a comment of one line");
    assert!(head.starts_with("# Generated"), "{head}");
    // Comments inside a container say what to put in place of the image; no other line is indented like them.
    let bare: String =
        rest.lines().filter(|line| !line.starts_with("        # ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(bare, exported);
    assert_eq!(rest.lines().count(), exported.lines().count() + 2);
}

#[test]
fn install_and_export_refuse_to_run_without_an_image() {
    for line in [&["install"][..], &["install", "--dry-run"], &["install", "--export"], &["install", "--image", ""]] {
        let refused = run(line).exits(2);
        assert!(refused.stdout.is_empty(), "{}", refused.stdout);
        refused
            .stderr_has("the image of the operator is not given")
            .stderr_has("no image of this program is published yet")
            .stderr_has("--image REGISTRY/NAME:TAG");
    }
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    for file in ["install.yaml", "chart/values.yaml", "chart/templates/operator.yaml"] {
        let text = std::fs::read_to_string(deploy.join(file)).expect("text");
        let names_image = |line: &&str| line.contains("image:") || line.contains("repository:");
        let named: Vec<&str> = text.lines().filter(names_image).filter(|line| line.contains("ghcr.io/")).collect();
        assert!(named.is_empty(), "{file} names an image that anyone could register: {named:?}");
    }
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_of_the_operator_only() {
    let monitoring = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/monitoring");
    let all = files(&monitoring);
    let mut expressions: Vec<String> = vec![];
    let dashboard: serde_json::Value = serde_json::from_str(&all["dashboard.json"]).expect("JSON");
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            expressions.push(target["expr"].as_str().expect("an expression").to_owned());
        }
    }
    let alerts = flux_operator::format::yaml::parse_one(&all["alerts.yaml"]).expect("YAML");
    for rule in alerts["spec"]["groups"][0]["rules"].as_array().expect("rules") {
        expressions.push(rule["expr"].as_str().expect("an expression").to_owned());
        assert!(rule["annotations"]["summary"].is_string() && rule["labels"]["severity"].is_string(), "{rule}");
    }
    assert!(expressions.len() > 15);
    let metric = regex::Regex::new(r"\b[a-z]+(?:_[a-z]+)+\b").expect("a pattern");
    let label = regex::Regex::new(r#"\{[^}]*\}|by \([^)]*\)"#).expect("a pattern");
    let metrics = flux_operator::controller::Telemetry::new("0.0.0", "linux/amd64").metrics();
    let mut known: Vec<&str> = metrics.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    // Metrics without samples are not shown: an instance, objects, changes, requests.
    known.extend(["flux_instance_info", "flux_resource_info", "flux_resourceset_info"]);
    known.extend(["flux_resourcesetinputprovider_info", "flux_operator_drift_total", "rest_client_requests_total"]);
    for expression in &expressions {
        let bare = label.replace_all(expression, "");
        for name in metric.find_iter(&bare).map(|found| found.as_str()).filter(|name| *name != "histogram_quantile") {
            assert!(known.contains(&name), "{name} in {expression}");
        }
    }
}
