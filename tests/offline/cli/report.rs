//! `report`: the page is complete, and harmless whatever the names in the cluster are; tested in a real browser.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use test_support::slow_tests::TimedTest;

use crate::cli::support::run;
use test_support::needs;

const HOSTILE: &str =
    "</title></style><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"&";

/// An installation with hostile texts and names of maximum length.
fn dump() -> Value {
    let long = "a".repeat(60);
    let condition = json!([{"type": "Ready", "status": "False", "reason": "ReconciliationFailed", "message": HOSTILE,
        "lastTransitionTime": "2026-11-22T10:00:00Z"}]);
    let ks = |name: &str, namespace: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"sourceRef": {"kind": "GitRepository", "name": "x"}},
            "status": {"conditions": condition, "history": [
                {"digest": "sha256:1", "firstReconciled": "2026-11-22T08:00:00Z", "lastReconciled": "2026-11-22T09:00:00Z",
                 "lastReconciledStatus": "ReconciliationSucceeded", "lastReconciledDuration": "1s", "totalReconciliations": 6,
                 "metadata": {"revision": "main@sha1:aaaa"}},
                {"digest": "sha256:2", "firstReconciled": "2026-11-22T09:30:00Z", "lastReconciled": "2026-11-22T10:00:00Z",
                 "lastReconciledStatus": HOSTILE, "lastReconciledDuration": "30s", "totalReconciliations": 2,
                 "metadata": {"revision": HOSTILE}}]}})
    };
    let event = |name: &str, kind: &str, at: &str| {
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "apps"}, "type": kind,
            "reason": "Failed", "message": HOSTILE, "lastTimestamp": at, "source": {"component": "kustomize-controller"},
            "involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "apps",
                "name": HOSTILE}})
    };
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "source-controller", "namespace": "flux-system", "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "manager", "image": "ghcr.io/fluxcd/source-controller:v1.9.4"}]}}},
        "status": {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-system"}, "spec": {"distribution": {"version": "2.9.x"}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "done"}],
            "inventory": {"entries": [{"id": "flux-system_source-controller_apps_Deployment", "v": "v1"},
                {"id": format!("{long}_{long}_kustomize.toolkit.fluxcd.io_Kustomization"), "v": "v1"},
                {"id": "flux-system_gone_apps_Deployment", "v": "v1"}]},
            "history": [{"digest": "sha256:9", "firstReconciled": "2026-11-22T07:00:00Z", "lastReconciled": "2026-11-22T10:30:00Z",
                "lastReconciledStatus": "ReconciliationSucceeded", "lastReconciledDuration": "45s", "totalReconciliations": 4,
                "metadata": {"flux": "v2.9.4"}}]}});
    let items = json!([
        instance, deployment, ks(HOSTILE, "apps"), ks(&long, &long),
        event("e1", "Warning", "2026-11-22T09:40:00Z"), event("e2", "Normal", "2026-11-22T08:10:00Z"),
        {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "x", "namespace": "apps"},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored"}]}}
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// The page of the dump in a folder.
fn page(folder: &Path) -> String {
    let file = folder.join("dump.json");
    std::fs::write(&file, dump().to_string()).expect("written");
    let page = folder.join("report.html");
    let (dump, name) = (file.to_str().expect("UTF-8"), page.to_str().expect("UTF-8"));
    let made = run(&["report", name, "--from", dump]).exits(0);
    assert_eq!(made.stdout.trim(), name);
    run(&["report", name, "--from", dump]).exits(1).stderr_has("the file exists").stderr_has("--overwrite");
    run(&["report", name, "--from", dump, "--overwrite"]).exits(0);
    std::fs::read_to_string(page).expect("written")
}

#[test]
fn a_page_is_whole_and_takes_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let html = page(folder.path());
    for heading in [
        "Status",
        "Causes",
        "Resources by kind",
        "History",
        "Events",
        "Components",
        "Inventory of the instance",
        "Tree",
    ] {
        assert!(html.contains(&format!("<h2>{heading}</h2>")), "no {heading}");
    }
    assert!(
        html.contains("default-src 'none'")
            && html.contains("prefers-color-scheme:dark")
            && html.contains("@media print")
    );
    for forbidden in ["<script", "<img", "<link", "<iframe", "<object", "<form", "<base"] {
        assert!(!html.contains(forbidden), "{forbidden} is markup");
    }
    assert!(html.contains("&lt;script&gt;"), "an attack is text");
    assert!(html.contains(&"a".repeat(60)), "names are whole");
    assert!(html.contains("missing"), "a deleted object is reported as drift");
}

#[test]
fn a_report_can_be_printed_as_json_and_as_html_on_stdout() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json");
    std::fs::write(&file, dump().to_string()).expect("written");
    let dump = file.to_str().expect("UTF-8");
    let json = run(&["report", "--from", dump, "-o", "json"]).exits(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["histories"][0]["object"]["kind"], "FluxInstance");
    assert_eq!(json["events"].as_array().map(Vec::len), Some(2));
    assert!(run(&["report", "-", "--from", dump]).exits(0).stdout.starts_with("<!doctype html>"));
    run(&["report", "--from", dump]).exits(2).stderr_has("no file is given");
    run(&["report", "x.html", "--from", dump, "-o", "json"]).exits(2).stderr_has("does not write a file");
    for line in [&["report", "--from", dump, "-o", "name"][..], &["report", "-", "--from", dump, "-o", "name"]] {
        assert_eq!(run(line).exits(2).stderr_has("-o name is not available for this command").stdout, "");
    }
    for command in ["report", "check", "migrate", "debug"] {
        let help = run(&[command, "--help"]).exits(0).stdout;
        assert!(help.contains("json, jsonl, yaml or jsonpath=TEMPLATE"), "{command}: {help}");
    }
}

/// Runs the browser on a page and returns what it prints.
fn browse(browser: &Path, folder: &Path, flags: &[&str]) -> Vec<u8> {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let page = format!("file://{}", folder.join("report.html").display());
    let fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", &profile];
    let output = Command::new(browser)
        .args(fixed)
        .args(flags)
        .arg(page)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
#[ignore = "slow: it starts a browser for each drawing"]
fn a_browser_runs_nothing_of_it_and_draws_it_light_dark_narrow_and_on_paper() {
    let _timed = TimedTest::of("offline");
    let Some(browser) = needs::browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    page(folder.path());
    let dom = String::from_utf8(browse(&browser, folder.path(), &["--dump-dom"])).expect("UTF-8");
    assert!(dom.contains("<title>Flux on "), "the title is the page's own: {}", dom.get(..600).unwrap_or_default());
    assert!(!dom.contains("<title>taken") && !dom.contains("<script") && !dom.contains("<img"), "an attack has run");
    let mut pictures = vec![];
    for (name, scheme, size) in [("light", "1", "1200,2400"), ("dark", "0", "1200,2400"), ("narrow", "1", "500,2400")] {
        let file = folder.path().join(format!("{name}.png"));
        let flags = [
            format!("--screenshot={}", file.display()),
            format!("--blink-settings=preferredColorScheme={scheme}"),
            format!("--window-size={size}"),
        ];
        browse(&browser, folder.path(), &flags.each_ref().map(String::as_str));
        pictures.push(std::fs::read(file).expect("a picture"));
    }
    assert!(pictures.iter().all(|picture| picture.starts_with(b"\x89PNG") && picture.len() > 20_000));
    assert_ne!(pictures[0], pictures[1], "dark is not light");
    let pdf = folder.path().join("page.pdf");
    browse(&browser, folder.path(), &[&format!("--print-to-pdf={}", pdf.display())]);
    assert!(std::fs::read(pdf).expect("printed").starts_with(b"%PDF"));
    if let Some(kept) = std::env::var_os("REPORT_PICTURES") {
        for (name, picture) in ["light", "dark", "narrow"].iter().zip(&pictures) {
            std::fs::write(Path::new(&kept).join(format!("{name}.png")), picture).expect("written");
        }
    }
}

#[test]
fn a_reason_that_many_controllers_share_appears_once_in_each_part_of_the_page() {
    let situations = test_support::situations::situations();
    let quota = situations.into_iter().find(|one| one.name.contains("quota")).expect("a situation");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": quota.objects}).to_string())
        .expect("written");
    let html = run(&["report", "-", "--from", file.to_str().expect("UTF-8")]).exits(0).stdout;
    assert_eq!(html.matches("exceeded quota").count(), 3, "status, cause and components: {html}");
    assert!(html.contains("and 4 Deployments: "), "{html}");
    // An instance that cannot be kept is not green, whatever it reported before.
    assert!(html.contains("<td class=\"bad\">flux-system/flux: failing; last run "), "{html}");
    assert!(!html.contains("<td>:</td>"), "an image that is not known has no colon: {html}");
}
