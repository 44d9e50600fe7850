//! The program for Windows, built here and run under Wine.

use std::path::Path;
use std::process::{Command, Stdio};

use test_support::run::Run;
use test_support::slow_tests::TimedTest;
use test_support::windows::WindowsProgram;

use test_support::needs;

#[test]
#[ignore = "slow: it builds the program for Windows"]
fn the_program_for_windows_works_as_on_linux() {
    let _timed = TimedTest::of("offline");
    let Some(wine) = needs::wine() else { return };
    let windows = WindowsProgram::build(wine, Path::new(env!("CARGO_MANIFEST_DIR")));
    windows.run(&["--version"]).exits(0).stdout_has("flux-operator");

    // The same bytes, from a path with a drive letter and backslashes, and from a text with line ends of Windows.
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flux.yaml");
    let text = std::fs::read_to_string(&example).expect("the example");
    windows.write(&windows.folder().join("crlf.yaml"), &text.replace('\n', "\r\n"));
    let here = Command::new(env!("CARGO_BIN_EXE_flux-operator"))
        .args(["build", "instance", "-f"])
        .arg(&example)
        .output()
        .map(Run::from)
        .expect("the program runs");
    let with_drive = format!("Z:{}", example.display()).replace('/', "\\");
    for path in [with_drive.as_str(), "crlf.yaml", ".\\crlf.yaml"] {
        assert!(windows.run(&["build", "instance", "-f", path]).exits(0).stdout == here.stdout, "{path}");
    }

    // A password from standard input, as `echo` of cmd.exe and PowerShell ends it.
    let secret = ["create", "secret", "basic-auth", "x", "--username=me", "--password-stdin", "--export"];
    let made = windows.run_with_input(&secret, "pass word\r\n").exits(0);
    assert!(made.stdout.contains("password: pass word\n") && made.stderr.is_empty(), "{made:?}");

    // Configuration and kubeconfig are where Windows has them.
    let configuration = windows.of_user("AppData/Roaming/flux-operator/config.yaml");
    windows.write(&configuration, "output: json\r\n");
    assert!(windows.run(&["version", "--client"]).exits(0).json()["client"].is_string());
    std::fs::remove_file(configuration).expect("removed");
    windows.run(&["get", "instance"]).exits(6).stderr_has("\\.kube\\config");
    let kubeconfig = "apiVersion: v1\r\nkind: Config\r\ncurrent-context: c\r\ncontexts:\r\n- name: c\r\n  context: {cluster: c}\r\n\
                      clusters:\r\n- name: c\r\n  cluster: {server: 'http://127.0.0.1:1'}\r\n";
    windows.write(&windows.of_user(".kube/config"), kubeconfig);
    windows.run(&["get", "instance"]).exits(6).stderr_has("127.0.0.1:1");

    // A reader that has gone costs output, not the exit code.
    let mut command = windows.command(&["build", "instance", "-f", "crlf.yaml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Wine runs");
    drop(child.stdout.take());
    Run::from(child.wait_with_output().expect("ended")).exits(0);

    // No colours without a console, and a wrong word is wrong usage.
    let wrong = windows.run(&["build", "instanze"]).exits(2);
    assert!(!wrong.stderr.contains('\u{1b}'), "{}", wrong.stderr);

    windows.run(&["--help"]).exits(0).stdout_has("%APPDATA%\\flux-operator\\config.yaml").stdout_has("no file modes");

    // Krew and Scoop start the program under the name of a plugin of kubectl, which ends with `.exe` here.
    let plugin = windows.folder().join("kubectl-flux_operator.exe");
    std::fs::copy(windows.folder().join("flux-operator.exe"), &plugin).expect("copied");
    let help = windows.command_of(&plugin, &["get", "--help"]).output().map(Run::from).expect("Wine runs");
    help.exits(0).stdout_has("Usage: kubectl flux-operator get");

    // A file is replaced by its new text.
    let old = "apiVersion: helm.toolkit.fluxcd.io/v2beta1\r\nkind: HelmRelease\r\nmetadata: {name: web}\r\n";
    windows.write(&windows.folder().join("old.yaml"), old);
    windows.run(&["migrate", "-f", "old.yaml"]).exits(0).stdout_has("helm.toolkit.fluxcd.io/v2");
    let new = std::fs::read_to_string(windows.folder().join("old.yaml")).expect("the file");
    assert_eq!(new, old.replace("v2beta1", "v2"));

    // Help names the program without the ending of its file.
    windows.run(&["get", "ks", "--help"]).exits(0).stdout_has("Usage: flux-operator get");

    // PowerShell 5 writes UTF-16 where a command is redirected to a file.
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    std::fs::write(windows.folder().join("utf-16.yaml"), wide).expect("written");
    assert!(windows.run(&["build", "instance", "-f", "utf-16.yaml"]).exits(0).stdout == here.stdout);
}
