//! `migrate -f` and `check -f`: API versions in a person's own files.

use std::fs;

use crate::cli::support::{printed_path, run, run_with_input};

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
        ("chart.yaml", "fluxcd: {{ .Values.a }}\n  b"),
        ("other.yaml", "a: {{ .Values.a }}\n  b"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let shop = root.join("apps/shop.yaml");
    let path = root.to_str().unwrap();
    let file = printed_path("apps/shop.yaml");
    let line =
        &format!("{file}:2: GitRepository/apps/shop: source.toolkit.fluxcd.io/v1beta2 → source.toolkit.fluxcd.io/v1\n");
    let lost =
        &format!("{file}:7: GitRepository/apps/shop: source.toolkit.fluxcd.io/v1 has no field spec.gitImplementation");

    // A look changes nothing, and says by its exit code that there is something to do.
    run(&["check", "-f", path]).exits(1).stdout_has(line).stdout_has(lost).stderr_has("migrate -f");
    let dry = run(&["migrate", "-f", path, "--dry-run"])
        .exits(1)
        .stdout_has(line)
        .stderr_has("1 to change, 1 to change by hand");
    dry.stderr_has("1 file is left alone: it cannot be read as YAML").stderr_has("there is one implementation");
    assert_eq!(fs::read_to_string(&shop).unwrap(), OLD);
    let json = run(&["migrate", "-f", path, "--dry-run", "-o", "json"]).exits(1).json();
    assert_eq!(json["files"][0]["edits"][0]["to"], "source.toolkit.fluxcd.io/v1");
    assert_eq!(json["files"].as_array().unwrap().len(), 1);

    run(&["migrate", "-f", path]).exits(1).stdout_has(line).stderr_has(lost);
    assert_eq!(fs::read_to_string(&shop).unwrap(), OLD.replace("v1beta2", "v1"));
    assert_eq!(fs::read_to_string(root.join(".git/old.yaml")).unwrap(), OLD);
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), OLD);

    // A person decides about lost fields; after that every check passes.
    fs::write(&shop, OLD.replace("v1beta2", "v1").replace("    gitImplementation: go-git\n", "")).unwrap();
    fs::remove_file(root.join("chart.yaml")).unwrap();
    assert_eq!(run(&["migrate", "-f", path]).exits(0).stdout, "");
    run(&["check", "-f", path]).exits(0).stderr_has("every Flux object is written as Flux v");
}

#[test]
fn health_checks_have_names_and_lost_fields_are_named_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec:\n  validation: client\n  \
        healthChecks:\n  - apiVersion: helm.toolkit.fluxcd.io/v2beta1\n    kind: HelmRelease\n    name: web\n    namespace: apps\n").unwrap();
    let path = file.to_str().unwrap();
    run(&["migrate", "-f", path]).exits(1).stdout_has("a.yaml:7: HelmRelease/apps/web: helm.toolkit");
    let lost = "a.yaml:5: Kustomization/web: kustomize.toolkit.fluxcd.io/v1 has no field spec.validation";
    run(&["migrate", "-f", path]).exits(1).stderr_has(lost).stderr_has("0 changed, 1 to change by hand");
    run(&["check", "-f", path]).exits(1).stdout_has(lost).stderr_has("0 to change, 1 to change by hand");
    run(&["check", "-f", path, "--to", "2.9"]).exits(1).stdout_has(lost);
    assert_eq!(run(&["check", "-f", path, "-o", "json"]).exits(1).json()["files"][0]["lost"][0]["line"], 5);
}

#[test]
fn a_pipe_gets_the_text_and_wrong_words_are_reported() {
    let piped = run_with_input(&["migrate", "-f", "-"], OLD).exits(1);
    assert_eq!(piped.stdout, OLD.replace("v1beta2", "v1"));
    run_with_input(&["migrate", "-f", "-", "--to", "2.2"], NEW).exits(0).stdout_has("v1\n");
    run_with_input(&["migrate", "-f", "-", "--to", "7"], NEW).exits(2).stderr_has("unknown Flux version 7");
    run(&["migrate", "-f", "/no/such/folder"]).exits(2).stderr_has("cannot read /no/such/folder");
}

#[test]
fn changes_of_a_minor_version_are_reported_with_file_and_line() {
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
    let found = found.stderr_has("stores it; 1 breaking change");
    let file = printed_path("apps/web.yaml");
    found.stdout_has(&format!("{file}:5: Kustomization/fs/apps: the variable tld has no value and no default"));
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
        .stdout_has("flags and gates: all flags and gates set by patches are known");
}

/// Links, owners and modes of files.
#[cfg(unix)]
mod on_unix {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::process::Command;

    use test_support::needs;

    use super::NEW;
    use crate::cli::support::{Run, run};

    const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata: {name: web}\n";

    #[test]
    fn files_that_are_not_manifests_are_counted_and_named_only_with_an_old_version() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &[u8]| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        write(".archive/old.yaml", RELEASE.as_bytes());
        write(".archive/.deeper/new.yaml", NEW.as_bytes());
        write(".github/other.yaml", b"a: 1\n");
        write(".git/old.yaml", RELEASE.as_bytes());
        write("old.yaml.j2", format!("{{% if a %}}\n{RELEASE}{{% endif %}}\n").as_bytes());
        write("README.md", b"nothing\n");
        write("mark.yaml", format!("\u{feff}{RELEASE}").as_bytes());
        write("bytes.yaml", b"fluxcd: \xff\n");
        write("template.yaml", format!("{{{{ if .a }}}}\n{RELEASE}{{{{ end }}}}\n").as_bytes());
        fs::write(outside.path().join("x.yaml"), RELEASE).unwrap();
        symlink(outside.path().join("x.yaml"), root.join("link.yaml")).unwrap();
        symlink(outside.path(), root.join("folder")).unwrap();
        symlink("mark.yaml", root.join("again.yaml")).unwrap();
        let path = root.to_str().unwrap();

        let done = run(&["migrate", "-f", path]).exits(1);
        assert_eq!(done.stdout.lines().count(), 1, "{}", done.stdout);
        let done = done
            .stdout_has("mark.yaml:1: HelmRelease/web")
            .stderr_has("link.yaml is not followed: it points outside of")
            .stderr_has("folder is not followed")
            .stderr_has("2 hidden folders are not read")
            .stderr_has("2 files with other extensions are not read")
            .stderr_has("2 files are left alone: they cannot be read as YAML")
            .stderr_has("1 file begins with a byte order mark")
            .stderr_has(".archive/old.yaml:1: HelmRelease is written as helm.toolkit.fluxcd.io/v2beta1, but")
            .stderr_has("old.yaml.j2:2: HelmRelease is written as")
            .stderr_has(
                "template.yaml:2: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays, because the text around it",
            )
            .stderr_has("1 changed, 1 to change by hand");
        assert!(!done.stderr.contains("README.md"), "{}", done.stderr);
        assert_eq!(
            fs::read_to_string(root.join("mark.yaml")).unwrap(),
            format!("\u{feff}{RELEASE}").replace("v2beta1", "v2")
        );
        assert_eq!(fs::read_to_string(outside.path().join("x.yaml")).unwrap(), RELEASE);

        // Extensions that are named are meant, also where they are those of templates.
        run(&["migrate", "-f", path, "-e", ".yaml,j2", "--dry-run"]).exits(1).stdout_has("old.yaml.j2:2: HelmRelease");
        run(&["migrate", "-f", path, "-e", ".yaml,j2"]).exits(0).stdout_has("template.yaml:2: HelmRelease");
        let text = fs::read_to_string(root.join("old.yaml.j2")).unwrap();
        assert_eq!(text, format!("{{% if a %}}\n{RELEASE}{{% endif %}}\n").replace("v2beta1", "v2"));
        run(&["check", "-f", path, "-e", "yaml,yml,j2"]).exits(0);
    }

    #[test]
    fn old_versions_in_files_that_are_not_utf_8_or_yaml_are_named_and_utf_16_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let json = r#"{"apiVersion":"helm.toolkit.fluxcd.io/v2beta1","kind":"HelmRelease","metadata":{"name":"web"}}"#;
        let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let wide = [vec![0xFF, 0xFE], utf_16(RELEASE)].concat();
        for (name, text) in [
            ("latin.yaml", [RELEASE.as_bytes(), b"# caf\xe9\n"].concat()),
            ("two.json", format!("{json}\n{json}\n").into_bytes()),
            ("cut.json", json.as_bytes()[..json.len() - 1].to_vec()),
            ("anchor.yaml", format!("{}---\na: *v\n", RELEASE.replace(": helm", ": &v helm")).into_bytes()),
            ("wide.yaml", wide.clone()),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        let done = run(&["migrate", "-f", root.to_str().unwrap()]).exits(1);
        assert_eq!(done.stdout.lines().count(), 1, "{}", done.stdout);
        done.stdout_has("wide.yaml:1: HelmRelease/web")
            .stderr_has("latin.yaml:1: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays")
            .stderr_has("two.json:1: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays")
            .stderr_has("two.json:2: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays")
            .stderr_has("cut.json:1: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays")
            .stderr_has("anchor.yaml:1: HelmRelease: helm.toolkit.fluxcd.io/v2beta1 stays")
            .stderr_has("1 changed, 5 to change by hand");
        let expected = [vec![0xFF, 0xFE], utf_16(&RELEASE.replace("v2beta1", "v2"))].concat();
        assert_eq!(fs::read(root.join("wide.yaml")).unwrap(), expected);
    }

    #[test]
    fn a_rewritten_file_keeps_its_names_its_owner_and_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one.yaml"), RELEASE).unwrap();
        fs::hard_link(at("one.yaml"), at("two.yaml")).unwrap();
        fs::write(at("owned.yaml"), RELEASE).unwrap();
        fs::set_permissions(at("owned.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
        if chown(at("owned.yaml"), Some(1234), Some(4321)).is_err() {
            needs::missing("needs root to give a file to another user");
        }
        let before = fs::metadata(at("owned.yaml")).unwrap();
        let done = run(&["migrate", "-f", folder.path().to_str().unwrap()]).exits(0);
        assert_eq!(done.stdout.lines().count(), 2, "a file of two names is one file: {}", done.stdout);
        let new = RELEASE.replace("v2beta1", "v2");
        for name in ["one.yaml", "two.yaml", "owned.yaml"] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), new, "{name}");
        }
        assert_eq!(fs::metadata(at("one.yaml")).unwrap().nlink(), 2);
        let after = fs::metadata(at("owned.yaml")).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_eq!(after.mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside them");
    }

    #[test]
    fn edits_of_files_before_a_failure_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), RELEASE).unwrap();
        let large = format!("{RELEASE}# {}\n", "x".repeat(4096));
        fs::write(folder.path().join("b.yaml"), &large).unwrap();
        // A limit for the size of files also holds for root, who may write into any folder. Its unit is 512 or 1024 bytes.
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
        let output = Command::new("sh")
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_flux-operator"), "migrate", "-f"])
            .arg(folder.path())
            .env_clear()
            .env("HOME", folder.path())
            .output()
            .unwrap();
        let failed = Run::from(output).exits(1).stdout_has("a.yaml:1: HelmRelease/web").stderr_has("cannot write");
        assert!(!failed.stdout.contains("b.yaml"), "{}", failed.stdout);
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((text("a.yaml"), text("b.yaml")), (RELEASE.replace("v2beta1", "v2"), large));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    }
}
