#!/usr/bin/env bash
# Measures `build resourceset` beside an empty `build instance`.
#
# usage: benches/resourceset.sh [RUNS [SETS]]        (default 11 runs, 10000 input sets; the median counts)
#
# Prints milliseconds and peak memory. Build first: cargo build --profile dist
# FLUX_OPERATOR names another program.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-11}
sets=${2:-10000}
binary=${FLUX_OPERATOR:-target/dist/flux-operator}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

resource_set() { # SETS
    printf 'apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps, namespace: apps}\nspec:\n  inputs:\n'
    for i in $(seq "$1"); do printf '  - {tenant: team-%s, tag: 1.0.%s, replicas: %s}\n' "$i" "$i" $((i % 5)); done
    cat <<'SET'
  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: << inputs.tenant >>
      namespace: apps
      labels: {team: << inputs.tenant | quote >>}
    data:
      image: ghcr.io/example/<< inputs.tenant >>:<< inputs.tag >>
      replicas: << inputs.replicas | quote >>
SET
}

# shellcheck source=/dev/null
source benches/median.sh

memory() { # COMMAND...: peak memory in KiB, or nothing without GNU time
    [ -x /usr/bin/time ] || return 0
    /usr/bin/time -f %M "$@" 2>&1 >/dev/null | tail -n 1
}

report() { # NAME COMMAND...
    local name=$1 us kib
    shift
    us=$(median "$runs" "$@")
    kib=$(memory "$@")
    awk -v name="$name" -v us="$us" -v kib="${kib:-0}" 'BEGIN {
        printf "%-44s %9.2f ms %9s\n", name, us / 1000, (kib > 0 ? sprintf("%.1f MiB", kib / 1024) : "")
    }'
}

resource_set "$sets" >"$work/many.yaml"
resource_set 1 >"$work/one.yaml"
printf 'apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\nspec:\n  distribution: {version: 2.9.4, registry: ghcr.io/fluxcd}\n' >"$work/instance.yaml"

report "build instance, default" "$binary" build instance -f "$work/instance.yaml"
report "build resourceset, one input set" "$binary" build resourceset -f "$work/one.yaml"
report "build resourceset, $sets input sets" "$binary" build resourceset -f "$work/many.yaml"
report "build resourceset, $sets input sets, -o name" "$binary" build resourceset -f "$work/many.yaml" -o name
