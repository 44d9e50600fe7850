//! Runs of the built binary: with standard input, in a shell, on a pseudo-terminal.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rexpect::session::PtySession;

/// The result of running the binary.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Run {
    #[track_caller]
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Run {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Run {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn within(self, limit: Duration) -> Run {
        assert!(self.took <= limit, "took {:?}\nstderr:\n{}", self.took, self.stderr);
        self
    }

    fn new(output: Output, took: Duration) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            took,
        }
    }
}

/// Runs to the end with this standard input.
pub async fn finish(mut command: Command, input: &str) -> Run {
    let input = input.to_owned();
    let run = move || {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A program that does not read its input has not failed; a short input is written at once.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        Run::new(output, start.elapsed())
    };
    // The proxies of a test run on the same runtime, so its threads must not block.
    tokio::task::spawn_blocking(run).await.expect("joined")
}

/// Runs with arguments and an empty standard input.
pub async fn run(mut command: Command, arguments: &[&str]) -> Run {
    command.args(arguments);
    finish(command, "").await
}

/// Starts on a pseudo-terminal that shows what is typed, as a person's does; expectations give up after ten seconds.
pub fn on_terminal(command: Command, arguments: &[&str]) -> PtySession {
    let mut shell = Command::new("sh");
    // rexpect makes terminals without echo, where a password would never be seen anyway.
    shell
        .args(["-c", "stty echo; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .args(arguments);
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    rexpect::session::spawn_command(shell, Some(10_000)).expect("the program starts on a terminal")
}

/// Waits for the end and returns the exit code and what is left of the output.
pub fn end(mut terminal: PtySession) -> (i32, String) {
    let rest = terminal.exp_eof().expect("the program ends");
    match terminal.process().wait().expect("the program is waited for") {
        rexpect::process::WaitStatus::Exited(_, code) => (code, rest),
        other => panic!("{other:?}: {rest}"),
    }
}
