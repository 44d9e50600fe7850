# shellcheck shell=bash
# Sourced by the scripts beside it.

# Median wall time of a command in microseconds. No process is started for the clock.
median() { # RUNS COMMAND...
    local runs=$1 i start end
    shift
    "$@" >/dev/null
    for ((i = 0; i < runs; i++)); do
        start=${EPOCHREALTIME/[.,]/}
        "$@" >/dev/null
        end=${EPOCHREALTIME/[.,]/}
        echo $((end - start))
    done | sort -n | sed -n "$(((runs + 1) / 2))p"
}
