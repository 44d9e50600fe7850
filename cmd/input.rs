//! Reads the parts of a line that are needed before clap parses it.

pub mod kubectl_plugin;
pub mod positional;
#[cfg(test)]
mod recommended;
