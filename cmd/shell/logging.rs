//! Logs go to stderr, and only when asked for.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt};

use super::{Color, environment};

/// `-v` shows what this program does, `-vv` its requests, `-vvv` everything; `RUST_LOG` overrides.
pub fn init(verbose: u8, quiet: bool, color: Color) {
    let from_environment = std::env::var(environment::RUST_LOG).ok().filter(|f| !f.is_empty());
    // Setting up a subscriber costs a start-up that the usual, silent command need not pay.
    if from_environment.is_none() && (verbose == 0 || quiet) {
        return;
    }
    let directives = from_environment.unwrap_or_else(|| {
        // kube logs answers it cannot read, with all that is in them; requests are logged by our own client.
        match verbose {
            1 => "flux_operator=info",
            2 => "flux_operator=debug",
            _ => "trace,kube_client=off",
        }
        .to_owned()
    });
    fmt()
        .with_env_filter(EnvFilter::new(directives))
        .with_writer(std::io::stderr)
        .with_ansi(color.enabled(std::io::stderr().is_terminal()))
        .init();
}
