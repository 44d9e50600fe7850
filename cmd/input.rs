//! Reads what has to be known of a line before clap reads it.

pub mod kubectl_plugin;
pub mod positional;
#[cfg(test)]
mod recommended;
