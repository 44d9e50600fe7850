#!/bin/sh
# Writes the committed files that are derived from the code; `tools/generate/generate.rs` makes them.
set -eu
cd "$(dirname "$0")/.."
export GENERATE=yes
# The program holds the definitions, and other files are made of them.
cargo test --quiet --bin flux-operator -- generate::definitions
cargo test --quiet --bin flux-operator -- generate::
