#!/usr/bin/env bash
# Runs every fuzz target, or those named, on the stable toolchain: fuzz/run.sh SECONDS [TARGET…]
#
# Coverage without a sanitizer: the code forbids `unsafe`. An input that fails is written to `fuzz/artifacts/TARGET/`;
# the program with that file as its argument shows it again.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?how many seconds each target may run}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi

# The flags of cargo-fuzz that need no nightly compiler. `--target` keeps them off build scripts.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS='--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
 -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1'
RUSTFLAGS=$(tr '\n' ' ' <<<"$RUSTFLAGS")
# `dev` is built in a third of the time and tries fewer inputs: for a short look, as in CI.
profile=${FUZZ_PROFILE:-release}
cargo build --locked --profile "$profile" --target "$host" --bins
programs=${CARGO_TARGET_DIR:-target}/$host/${profile/#dev/debug}

fuzz() { # TARGET
    local target=$1 seeds=(../examples) folder
    case $target in
        notation) seeds=(../crates/core/src/distribution/notation) ;;
        oci_manifest) seeds+=(../crates/oci/src/samples) ;;
        dump) seeds+=(../tests/offline/cli/inspect) ;;
    esac
    # Whole input of a kind that is not lying about elsewhere, and what has to be refused.
    for folder in "seeds/$target" "hostile/$target"; do
        if [ -d "$folder" ]; then seeds+=("$folder"); fi
    done
    # New inputs are kept where they help the next run.
    mkdir -p "corpus/$target" "artifacts/$target"
    printf -- '-- %s for %s s\n' "$target" "$seconds"
    "$programs/$target" -max_total_time="$seconds" -timeout=10 -artifact_prefix="artifacts/$target/" \
        -verbosity=0 "corpus/$target" "${seeds[@]}"
}
export -f fuzz
export seconds programs
# A target uses one core. The inner shell reads its argument.
# shellcheck disable=SC2016
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -euc 'fuzz "$1"' fuzz
