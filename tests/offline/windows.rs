//! The program for Windows, built here and run under Wine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use test_support::run::Run;

use crate::needs;

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Wine 8 lacks this library of Windows 10, from which Rust's standard library takes random numbers.
const RANDOM_NUMBERS: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
     BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }\n";

struct Windows {
    wine: PathBuf,
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Windows {
    /// Builds the program; `None` where that is impossible, which was printed.
    fn new() -> Option<Self> {
        let wine = needs::wine()?;
        let folder = tempfile::tempdir().expect("a folder");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--target", TARGET, "--bin", "flux-operator"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(built.success());
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join(target);
        let program = folder.path().join("flux-operator.exe");
        std::fs::copy(target.join(TARGET).join("debug/flux-operator.exe"), &program).expect("the program");
        std::fs::write(folder.path().join("random.c"), RANDOM_NUMBERS).expect("written");
        let library = Command::new("x86_64-w64-mingw32-gcc")
            .args(["-shared", "-o", "bcryptprimitives.dll", "random.c", "-ladvapi32"])
            .current_dir(folder.path())
            .status()
            .expect("the compiler runs");
        assert!(library.success());
        Some(Windows { wine, program, folder })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.wine);
        command.arg(&self.program).args(arguments).current_dir(self.folder.path());
        // A home and configuration of its own; Wine's own messages would stand in the program's standard error.
        command.env("WINEPREFIX", self.folder.path().join("wine")).env("WINEDEBUG", "-all").env("USER", "tester");
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_with_input(arguments, "")
    }

    fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Wine runs");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
        Run::from(child.wait_with_output().expect("ended"))
    }

    /// A folder of the Windows user, by its path below `AppData` or the profile.
    fn of_user(&self, below: &str) -> PathBuf {
        self.folder.path().join("wine/drive_c/users/tester").join(below)
    }

    fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
}

#[test]
#[ignore = "slow: it builds the program for Windows"]
fn the_program_for_windows_works_as_on_linux() {
    let Some(windows) = Windows::new() else { return };
    windows.run(&["--version"]).exits(0).stdout_has("flux-operator");

    // The same bytes, from a path with a drive letter and backslashes, and from a text with line ends of Windows.
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flux.yaml");
    let text = std::fs::read_to_string(&example).expect("the example");
    windows.write(&windows.folder.path().join("crlf.yaml"), &text.replace('\n', "\r\n"));
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
    windows.run(&["get", "instance"]).exits(1).stderr_has("\\.kube\\config");
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
}
