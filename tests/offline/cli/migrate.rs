//! `migrate -f` and `check -f`: API versions in a person's own files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::cli::support::{run, run_with_input};

const OLD: &str = "# The shop\napiVersion: source.toolkit.fluxcd.io/v1beta2  # soon gone\nkind: GitRepository\n\
    metadata: {name: shop, namespace: apps}\nspec:\n    url:   https://example.com/shop\n    gitImplementation: go-git\n";
const NEW: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: new}\n";

#[test]
fn a_folder_is_rewritten_in_place_and_only_where_it_has_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("apps")).unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    for (name, text) in [
        ("apps/shop.yaml", OLD),
        ("new.yml", NEW),
        (".git/old.yaml", OLD),
        ("README.md", OLD),
        ("chart.yaml", "a: {{ .Values.a }}\n  b"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let shop = root.join("apps/shop.yaml");
    fs::set_permissions(&shop, fs::Permissions::from_mode(0o640)).unwrap();
    let path = root.to_str().unwrap();
    let line =
        "apps/shop.yaml:2: GitRepository/apps/shop: source.toolkit.fluxcd.io/v1beta2 → source.toolkit.fluxcd.io/v1\n";
    let lost =
        "apps/shop.yaml:7: GitRepository/apps/shop: source.toolkit.fluxcd.io/v1 has no field spec.gitImplementation";

    // A look changes nothing, and says by its exit code that there is something to do.
    run(&["check", "-f", path]).exits(1).stdout_has(line).stdout_has(lost).stderr_has("migrate -f");
    let dry = run(&["migrate", "-f", path, "--dry-run"])
        .exits(1)
        .stdout_has(line)
        .stderr_has("1 to change, 1 to change by hand");
    dry.stderr_has("chart.yaml is left alone").stderr_has("leave it out: there is one implementation");
    assert_eq!(fs::read_to_string(&shop).unwrap(), OLD);
    let json = run(&["migrate", "-f", path, "--dry-run", "-o", "json"]).exits(1).json();
    assert_eq!(json["files"][0]["edits"][0]["to"], "source.toolkit.fluxcd.io/v1");
    assert_eq!(json["files"].as_array().unwrap().len(), 1);

    run(&["migrate", "-f", path]).exits(1).stdout_has(line).stderr_has(lost);
    assert_eq!(fs::read_to_string(&shop).unwrap(), OLD.replace("v1beta2", "v1"));
    assert_eq!(fs::metadata(&shop).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(root.join(".git/old.yaml")).unwrap(), OLD);
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), OLD);

    // What was lost is a person's to decide; then all is well, for good.
    fs::write(&shop, OLD.replace("v1beta2", "v1").replace("    gitImplementation: go-git\n", "")).unwrap();
    fs::remove_file(root.join("chart.yaml")).unwrap();
    assert_eq!(run(&["migrate", "-f", path]).exits(0).stdout, "");
    run(&["check", "-f", path]).exits(0).stderr_has("every Flux object is written as Flux v");
}

#[test]
fn a_pipe_gets_the_text_and_wrong_words_are_told() {
    let piped = run_with_input(&["migrate", "-f", "-"], OLD).exits(1);
    assert_eq!(piped.stdout, OLD.replace("v1beta2", "v1"));
    run_with_input(&["migrate", "-f", "-", "--to", "2.2"], NEW).exits(0).stdout_has("v1\n");
    run_with_input(&["migrate", "-f", "-", "--to", "7"], NEW).exits(2).stderr_has("unknown Flux version 7");
    run(&["migrate", "-f", "/no/such/folder"]).exits(1).stderr_has("cannot read /no/such/folder");
}

#[test]
fn what_a_minor_changes_is_named_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write(
        "clusters/apps.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: fs}\n\
         spec: {path: ./apps, postBuild: {substitute: {host: example.com}}}\n",
    );
    write("apps/web.yaml", "kind: ConfigMap\nmetadata: {name: web}\ndata:\n  host: ${host}\n  url: ${tld}\n");
    write("apps/notes.txt", "${ignored}\n");
    let place = folder.path().to_str().expect("UTF-8");
    let found = run(&["check", "-f", place, "--to", "2.9"]).exits(1);
    found.stdout_has("apps/web.yaml:5: Kustomization/fs/apps: the variable tld has no value and no default");
    run(&["check", "-f", place, "--to", "2.8"]).exits(0).stderr_has("every Flux object is written as Flux v2.8");
    let json = run(&["check", "-f", place, "--to", "2.9", "-o", "json"]).exits(1).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["changes"][0]["line"], &json["changes"][0]["breaks"]), (&5.into(), &true.into()), "{json:#}");
    // Without --to nothing but API versions is looked at.
    run(&["check", "-f", place]).exits(0);
    run(&["check", "-f", place, "--to", "9.9"]).exits(2).stderr_has("unknown Flux version 9.9");
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
    run(&["check", "--to", "2.9", "--from", dump])
        .exits(1)
        .stdout_has("Flux v2.9")
        .stdout_has("flags and gates: every one");
}
