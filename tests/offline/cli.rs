//! The built binary as a user runs it: arguments in, exit code, stdout and stderr out. No cluster, no network.
//!
//! Each command has a module; `support` runs the binary in a clean environment of its own.

mod artifacts;
mod build_instance;
mod build_resourceset;
mod bundle;
mod config;
mod create_instance;
mod create_secret;
mod distribution;
mod explain;
mod habits;
mod inspect;
mod install;
mod kubeconfig;
mod migrate;
mod release;
mod report;
mod requests;
mod support;
mod surroundings;
mod usage;
mod words;
