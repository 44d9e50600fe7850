//! Read the command line before clap does.

pub mod grammar;
pub mod kubectl_plugin;
