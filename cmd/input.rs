//! Adapts the command line before clap reads it.

pub mod grammar;
pub mod kubectl_plugin;
#[cfg(test)]
mod recommended;
