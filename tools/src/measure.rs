//! Wall time, CPU time and peak memory of one run of a program; shared by the measuring programs.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The argument that turns a measuring program into the small parent of the measured one.
pub const CHILD: &str = "--measure";

/// Measurements of one run.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every measuring program prints each of them")]
pub struct Once {
    pub milliseconds: f64,
    /// CPU time in milliseconds, which hardly depends on other load, unlike wall time.
    pub cpu: f64,
    /// Maximum resident size.
    pub mebibytes: f64,
    pub code: i32,
}

/// Runs one command as a child of this small process and prints microseconds of wall and CPU time, and peak KiB.
///
/// A child's peak counts from the fork, so it would include the memory of a parent with clients and runtimes.
pub fn measure(command: &[String]) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else { return ExitCode::FAILURE };
    let start = Instant::now();
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let microseconds = start.elapsed().as_micros();
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    match (status, usage) {
        (Ok(status), Ok(usage)) => {
            let cpu: i64 =
                [usage.user_time(), usage.system_time()].iter().map(|t| t.tv_sec() * 1_000_000 + t.tv_usec()).sum();
            println!("{microseconds} {cpu} {} {}", usage.max_rss(), status.code().unwrap_or(-1));
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

/// Runs a program once in its own environment.
///
/// # Errors
/// The program cannot be started.
pub async fn once(
    program: &Path,
    arguments: &[String],
    environment: Vec<(&'static str, std::ffi::OsString)>,
) -> Result<Once, Box<dyn std::error::Error + Send + Sync>> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(CHILD).arg(program).args(arguments).stdin(Stdio::null());
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).envs(environment);
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [wall, cpu, kibibytes, code] => Ok(Once {
            milliseconds: wall / 1000.0,
            cpu: cpu / 1000.0,
            mebibytes: kibibytes / 1024.0,
            code: code as i32,
        }),
        _ => Err(format!("cannot run {}: {}", program.display(), String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Returns the median.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
