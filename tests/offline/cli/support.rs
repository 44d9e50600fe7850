//! Runs the binary with its own HOME and without the caller's kubeconfig, colours or width.

use std::io::Write;
use std::process::{Command, Stdio};

pub use test_support::run::Run;

/// The command, ready for more settings.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flux-operator"));
    let home = env!("CARGO_TARGET_TMPDIR");
    command.args(arguments).env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // Windows opens no socket without SystemRoot, and has the home in another variable.
    command.env("USERPROFILE", home).envs(std::env::var_os("SystemRoot").map(|folder| ("SystemRoot", folder)));
    command.env("TZ", "UTC").env("KUBECONFIG", format!("{home}/no-kubeconfig"));
    command
}

/// Runs with an empty standard input.
pub fn run(arguments: &[&str]) -> Run {
    run_with_input(arguments, "")
}

/// Runs with the given standard input.
pub fn run_with_input(arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input = input.as_ref().to_vec();
    // From a thread: a child that does not read must not block the test, one that stops reading must not fail it.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    Run {
        code: output.status.code().expect("not killed by a signal"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A path below a folder as the program prints it on this system.
pub fn printed_path(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}
