//! The files in `deploy`.

use std::path::Path;

use crate::cli::support::run;

#[test]
fn the_committed_manifests_are_what_install_exports() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
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
    let read = |name: &str| std::fs::read_to_string(monitoring.join(name)).expect("text");
    let mut expressions: Vec<String> = vec![];
    let dashboard: serde_json::Value = serde_json::from_str(&read("dashboard.json")).expect("JSON");
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            expressions.push(target["expr"].as_str().expect("an expression").to_owned());
        }
    }
    let alerts = flux_operator::format::yaml::parse_one(&read("alerts.yaml")).expect("YAML");
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
