//! install.sh, with archives made here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};

fn archive(folder: &Path, program: &str) -> (PathBuf, String) {
    let mut bytes = Vec::new();
    {
        let gzip = flate2::write::GzEncoder::new(&mut bytes, flate2::Compression::fast());
        let mut tar = tar::Builder::new(gzip);
        for (name, content) in [
            ("release/flux-operator", program),
            ("release/man/flux-operator.1", ".TH X 1\n"),
            ("release/completions/_flux-operator", "#compdef flux-operator\n"),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            header.set_cksum();
            tar.append_data(&mut header, name, content.as_bytes()).expect("added");
        }
        tar.into_inner().expect("tar ends").finish().expect("gzip ends");
    }
    let path = folder.join("release.tar.gz");
    std::fs::write(&path, &bytes).expect("written");
    (path, hex::encode(Sha256::digest(&bytes)))
}

fn install(arguments: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");
    Command::new("sh").arg(script).args(arguments).env("SHELL", "/usr/bin/zsh").output().expect("sh runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_archive_with_the_right_checksum_is_installed_with_its_man_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, sum) = archive(folder.path(), "#!/bin/sh\necho it works\n");
    let sum_file = folder.path().join("release.tar.gz.sha256");
    std::fs::write(&sum_file, format!("{sum}  release.tar.gz\n")).expect("written");
    let to = folder.path().join("bin");
    for checksum in [sum.as_str(), sum_file.to_str().expect("UTF-8")] {
        let (archive, to) = (archive.to_str().expect("UTF-8"), to.to_str().expect("UTF-8"));
        let output = install(&["--archive", archive, "--checksum", checksum, "--to", to]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let program = Command::new(format!("{to}/flux-operator")).output().expect("runs");
        assert_eq!(program.stdout, b"it works\n");
        assert!(folder.path().join("share/man/man1/flux-operator.1").is_file());
        let folder = folder.path().join("share/zsh/site-functions");
        assert!(folder.join("_flux-operator").is_file());
        let hint = format!("hint: for completion in zsh, put fpath=({} $fpath) before compinit", folder.display());
        assert!(text(&output.stderr).contains(&hint), "{}", text(&output.stderr));
        for plugin in ["kubectl-flux_operator", "kubectl_complete-flux_operator"] {
            let program = Command::new(format!("{to}/{plugin}")).output().expect("runs");
            assert_eq!(program.stdout, b"it works\n", "{plugin}");
        }
    }
}

#[test]
fn flux_finds_the_program_in_its_folder_of_plugins_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, sum) = archive(folder.path(), "#!/bin/sh\necho it works\n");
    let (to, home) = (folder.path().join("bin"), folder.path().join("home"));
    let install = |flag: &[&str], plugins: Option<&Path>| {
        let mut script = Command::new("sh");
        script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh"));
        script.arg("--archive").arg(&archive).args(["--checksum", &sum, "--to"]).arg(&to).args(flag).env("HOME", &home);
        script.env_remove("FLUXCD_PLUGINS").envs(plugins.map(|folder| ("FLUXCD_PLUGINS", folder)));
        script.output().expect("sh runs")
    };
    assert!(install(&[], None).status.success());
    assert!(!home.join(".fluxcd").exists(), "nothing is linked that was not asked for");
    let other = folder.path().join("plugins");
    for (plugins, found) in [(None, home.join(".fluxcd/plugins")), (Some(other.as_path()), other.clone())] {
        // A second run finds its own link.
        for _ in 0..2 {
            let output = install(&["--flux-plugin"], plugins);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        let program = Command::new(found.join("flux-operator")).output().expect("runs");
        assert_eq!(program.stdout, b"it works\n");
    }
    // flux's own downloads are not touched.
    std::fs::remove_file(other.join("flux-operator")).expect("removed");
    std::fs::write(other.join("flux-operator"), "of flux").expect("written");
    let output = install(&["--flux-plugin"], Some(&other));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("flux plugin uninstall operator"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(other.join("flux-operator")).expect("read"), "of flux");
}

#[test]
fn a_wrong_checksum_installs_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, sum) = archive(folder.path(), "#!/bin/sh\n");
    let wrong = if sum.starts_with('0') { sum.replacen('0', "1", 1) } else { format!("0{}", &sum[1..]) };
    let to = folder.path().join("bin");
    let (archive, goal) = (archive.to_str().expect("UTF-8"), to.to_str().expect("UTF-8"));
    let output = install(&["--archive", archive, "--checksum", &wrong, "--to", goal]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing was installed"), "{}", text(&output.stderr));
    assert!(!to.exists());
}

#[test]
fn an_archive_without_checksum_or_program_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, _) = archive(folder.path(), "x");
    let output = install(&["--archive", archive.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--archive needs --checksum"));
    assert_eq!(install(&["--bogus"]).status.code(), Some(2));
    assert_eq!(install(&["--archive", "/nonexistent.tar.gz", "--checksum", &"a".repeat(64)]).status.code(), Some(1));
}

#[test]
fn as_a_plugin_of_kubectl_it_completes_and_says_how_it_was_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = |name: &str, arguments: &[&str]| {
        let link = folder.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_flux-operator"), &link).expect("linked");
        }
        let mut command = Command::new(link);
        command.args(arguments).env_clear().env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
        let output = command.output().expect("runs");
        text(&output.stdout) + &text(&output.stderr)
    };
    // As cobra has it: a candidate a line, its description after a tab, the directive last.
    let offered = named("kubectl_complete-flux_operator", &["get", "comp"]);
    assert!(offered.starts_with("components\t") && offered.ends_with("\n:4\n"), "{offered}");
    let flags = named("kubectl_complete-flux_operator", &["get", "components", "--outp"]);
    assert!(flags.starts_with("--output\t"), "{flags}");
    // The value alone, and no space behind what goes on.
    for word in ["--for=re", "--for="] {
        let values = named("kubectl_complete-flux_operator", &["wait", "ks", "app", word]);
        assert!(values.starts_with("ready\t"), "{word}: {values}");
    }
    let values = named("kubectl_complete-flux_operator", &["get", "ks", "-o=js"]);
    assert!(values.starts_with("json\njsonl\njsonpath=\n") && values.ends_with("\n:4\n"), "{values}");
    let column = named("kubectl_complete-flux_operator", &["get", "hr", "--filter", "cha"]);
    assert_eq!(column, "chart=\n:6\n");
    let help = named("kubectl-flux_operator", &["get", "components", "--help"]);
    assert!(help.contains("Usage: kubectl flux-operator get components"), "{help}");
    assert!(help.contains("\n  kubectl flux-operator get components"), "{help}");
    assert!(!named("flux-operator", &["get", "components", "--help"]).contains("kubectl flux-operator"));
    // A user may have only the plugin.
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
    for (line, shown) in [
        (&["help", "gett"][..], "`kubectl flux-operator help get`"),
        (&["status", "--from", dump], "kubectl flux-operator why"),
    ] {
        let reported = named("kubectl-flux_operator", line);
        assert!(reported.contains(shown), "{reported}");
        assert!(!named("flux-operator", line).contains("kubectl flux-operator"));
    }
}
