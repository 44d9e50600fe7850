//! A control plane for trying commands by hand.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};

use super::programs::unavailable_because;
use super::{ControlPlane, Fallible, Options};

/// Starts a control plane, prints the `KUBECONFIG` line for another terminal, and runs until Ctrl-C.
pub async fn main() -> ExitCode {
    if let Some(reason) = unavailable_because() {
        eprintln!("error: cannot start a local cluster: it {reason}");
        return ExitCode::FAILURE;
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Fallible<()> {
    // Registered before anything starts: Ctrl-C during the start must clean up as well.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stopped = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    tokio::pin!(stopped);

    let start = Instant::now();
    let options = Options { context: "local-cluster".to_owned(), ..Options::on_all_processors() };
    let control_plane = tokio::select! {
        started = ControlPlane::start_with(options, |part| eprintln!("starting {part}")) => started?,
        () = &mut stopped => return Ok(()),
    };
    let admin = control_plane.admin("admin")?;
    eprintln!("ready after {:.1} s at {}", start.elapsed().as_secs_f64(), control_plane.url());
    eprintln!("logs in {}", control_plane.folder().display());
    eprintln!("paste this into another terminal; Ctrl-C here stops and removes everything:\n");
    // stdout contains data only, so `eval "$(…)"` of its first line works too.
    let mut stdout = std::io::stdout();
    writeln!(stdout, "export KUBECONFIG={}", admin.path().display())?;
    stdout.flush()?;

    stopped.await;
    eprintln!("\nstopping");
    drop(control_plane);
    Ok(())
}
