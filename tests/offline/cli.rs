//! The built binary as a user runs it: arguments in, exit code, stdout and stderr out. No cluster, no network.
//!
//! Each command has a module; `support` runs the binary in a clean environment of its own.

mod build_instance;
mod build_resourceset;
mod bundle;
mod config;
mod create_instance;
mod create_secret;
mod deploy;
mod distribution;
mod explain;
mod fleet;
mod habits;
mod health;
mod inspect;
// A script for sh.
#[cfg(unix)]
mod install;
mod kubeconfig;
mod migrate;
// A script for sh.
#[cfg(unix)]
mod release;
mod report;
mod requests;
pub mod support;
// Closed descriptors, full disks and signals.
#[cfg(unix)]
mod surroundings;
#[cfg(unix)]
mod terminal;
mod usage;
mod words;
