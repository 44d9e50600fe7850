#!/bin/sh
# Fails every request of an install, a steady state and an uninstall once, in each of the seven ways a request can fail:
# cut before it arrives, cut before the answer, 409, 429, 500, 503, no answer. Prints how many faults were met and how many
# runs it took until everything had converged. The test itself, with the first rotation, is part of `cargo test`.
set -eu
cd "$(dirname "$0")/.."
for rotation in 0 1 2 3 4 5 6; do
    echo "rotation $rotation"
    FAULT_ROTATION=$rotation cargo test --quiet --test reconcile -- every_request_fails_once --nocapture 2>&1 |
        grep -E '^faults and runs|test result|panicked'
done
