//! The `flux-operator` command.
fn main() {}
