//! A server that ends with the process that started it, even if that process is killed.
//!
//! A small shell script runs between them. It holds the reading end of a pipe whose writing end only the test process
//! has, and kills the server when the pipe ends. The kernel closes the pipe however the test process ends, so this
//! needs neither a handler nor `unsafe`, and works for foreign programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Fallible;

/// `$1` receives the server's process id; the rest is its command line. `read` is a builtin, so no process is left
/// behind.
const WITH_OWNER: &str = r#"
exec 3<&0
pid_file=$1; shift
"$@" </dev/null 3<&- &
server=$!
echo $server >"$pid_file.new" && mv "$pid_file.new" "$pid_file"
( read -r _ <&3; kill -KILL $server ) 2>/dev/null &
watcher=$!
exec 3<&-
wait $server
status=$?
kill $watcher 2>/dev/null
exit $status
"#;

/// Removes a folder when its owner is gone; the servers get a second to end first.
const REMOVE_WITH_OWNER: &str = r#"read -r _; sleep 1; rm -rf "$1""#;

pub struct ServerProcess {
    name: String,
    /// The script, not the server.
    script: Child,
    owner: Option<ChildStdin>,
    pid: u32,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts `program`; its output is appended to `NAME.log` in `folder`.
    pub fn start(
        name: &str,
        program: &Path,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Fallible<ServerProcess> {
        let log = folder.join(format!("{name}.log"));
        let pid_file = folder.join(format!("{name}.pid"));
        let _ = fs::remove_file(&pid_file);
        let output = File::options().create(true).append(true).open(&log)?;
        let mut script = out_of_the_terminal(Command::new("sh"))
            .args(["-c", WITH_OWNER, "with-owner"])
            .arg(&pid_file)
            .arg(program)
            .args(arguments)
            .envs(environment)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let owner = script.stdin.take();
        let deadline = Instant::now() + Duration::from_secs(10);
        let pid = loop {
            if let Some(pid) = fs::read_to_string(&pid_file).ok().and_then(|text| text.trim().parse().ok()) {
                break pid;
            }
            if Instant::now() > deadline {
                return Err(format!("{name} did not start within 10 s").into());
            }
            thread::sleep(Duration::from_millis(2));
        };
        Ok(ServerProcess { name: name.to_owned(), script, owner, pid, log })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether the server still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.script.try_wait(), Ok(None))
    }

    /// Freezes the server: it keeps its connections and answers nothing. Returns when all threads have stopped, because
    /// the signal reaches them one by one.
    pub fn freeze(&self) {
        signal("STOP", self.pid);
        let deadline = Instant::now() + Duration::from_secs(5);
        while !is_stopped(self.pid) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn thaw(&self) {
        signal("CONT", self.pid);
    }

    /// Sends a signal by its short name: `USR1`.
    pub fn signal(&self, name: &str) {
        signal(name, self.pid);
    }

    /// Kills the server and waits for its end.
    pub fn kill(&mut self) {
        drop(self.owner.take());
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Stops the server, and kills it after `grace`. Returns whether it stopped by itself.
    pub fn stop(&mut self, grace: Duration) -> bool {
        signal("TERM", self.pid);
        let deadline = Instant::now() + grace;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let by_itself = !self.is_running();
        self.kill();
        by_itself
    }

    /// Returns the last lines of the server's output.
    pub fn last_log_lines(&self, count: usize) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        super::last_lines(&String::from_utf8_lossy(&bytes), count)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A temporary folder that is removed when dropped, and also when the process is killed.
pub struct OwnedFolder {
    folder: tempfile::TempDir,
    remover: Child,
}

impl OwnedFolder {
    pub fn new(prefix: &str) -> Fallible<OwnedFolder> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let remover = out_of_the_terminal(Command::new("sh"))
            .args(["-c", REMOVE_WITH_OWNER, "remove-with-owner"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(OwnedFolder { folder, remover })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        // The folder itself is removed with the next field; the remover would do it a second later.
        let _ = self.remover.kill();
        let _ = self.remover.wait();
    }
}

/// Ctrl-C in the terminal is for the owner, which then stops the servers in order.
#[cfg(unix)]
fn out_of_the_terminal(mut command: Command) -> Command {
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Servers are started on Unix only.
#[cfg(windows)]
fn out_of_the_terminal(command: Command) -> Command {
    command
}

/// Whether every thread of a process is stopped (`T` in proc_pid_stat(5)).
fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| {
        // The name before the state may contain blanks and parentheses.
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('T'))
    })
}

fn signal(name: &str, pid: u32) {
    let _ = Command::new("sh").args(["-c", &format!("kill -{name} {pid} 2>/dev/null")]).status();
}
