#!/usr/bin/env bash
# Compares the release binary with `kubectl kustomize` on the same manifests, and with `true`.
#
# usage: benches/compare.sh [RUNS]        (default 21; the median counts)
#
# Prints milliseconds, ratios and peak memory. Build first: cargo build --profile dist
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-21}
binary=${FLUX_OPERATOR:-target/dist/flux-operator}
version=2.9.4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

instance() { # SHARDS PATCHES COMPONENTS
    printf 'apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\nspec:\n'
    printf '  distribution: {version: %s, registry: ghcr.io/fluxcd}\n' "$version"
    [ -z "${3:-}" ] || printf '  components: [%s]\n' "$3"
    if [ "$1" -gt 0 ]; then
        printf '  sharding:\n    shards:\n'
        for i in $(seq "$1"); do printf '    - s%s\n' "$i"; done
    fi
    if [ "$2" -gt 0 ]; then
        printf '  kustomize:\n    patches:\n'
        for i in $(seq "$2"); do
            printf '    - target: {kind: Deployment, name: "(kustomize|helm)-controller"}\n'
            printf '      patch: |\n        - {op: add, path: /spec/template/spec/containers/0/args/-, value: --x=%s}\n' "$i"
        done
    fi
}

# shellcheck source=/dev/null
source benches/median.sh

report() { # NAME MICROSECONDS [BASE]
    awk -v name="$1" -v us="$2" -v base="${3:-0}" 'BEGIN {
        printf "%-34s %9.2f ms", name, us / 1000
        if (base > 0) printf "   %7.1fx", base / us
        printf "\n"
    }'
}

all=source-controller,kustomize-controller,helm-controller,notification-controller,image-reflector-controller,image-automation-controller,source-watcher
instance 0 0 >"$work/default.yaml"
instance 0 0 "$all" >"$work/all.yaml"
instance 3 10 >"$work/shards.yaml"
instance 50 0 >"$work/50.yaml"

nothing=$(median "$runs" "$(type -P true)") # the program, not the word built into the shell
start=$(median "$runs" "$binary" --version)
default=$(median "$runs" "$binary" build instance -f "$work/default.yaml")
fifty=$(median "$runs" "$binary" build instance -f "$work/50.yaml")
report "true" "$nothing"
report "--version" "$start"
report "build, default" "$default"
report "build, all components" "$(median "$runs" "$binary" build instance -f "$work/all.yaml")"
report "build, 3 shards + 10 patches" "$(median "$runs" "$binary" build instance -f "$work/shards.yaml")"
report "build, 50 shards" "$fifty"
awk -v a="$start" -v b="$nothing" 'BEGIN { printf "%-34s %9.1fx\n", "--version / true", a / b }'

objects=$("$binary" build instance -f "$work/50.yaml" -o name | wc -l)
awk -v d="$default" -v f="$fifty" -v n="$nothing" -v o="$objects" 'BEGIN {
    printf "%-34s %9.2f   (%d objects; 32 in the default build)\n", "50 shards / linear in objects", (f - n) / ((d - n) * o / 32), o
}'

if command -v kubectl >/dev/null; then
    benches/equivalent-folder.sh "$binary" "$version" "$work/folder"
    kustomize=$(median "$runs" kubectl kustomize "$work/folder")
    report "kubectl kustomize, default" "$kustomize"
    awk -v k="$kustomize" -v d="$default" 'BEGIN { printf "%-34s %9.1fx\n", "kubectl kustomize / build", k / d }'
else
    echo "kubectl is not installed: nothing to compare with"
fi

if [ -x /usr/bin/time ]; then
    for file in default shards 50; do
        memory=$(/usr/bin/time -f %M "$binary" build instance -f "$work/$file.yaml" 2>&1 >/dev/null)
        awk -v name="peak memory, $file" -v kib="$memory" 'BEGIN { printf "%-34s %9.1f MiB\n", name, kib / 1024 }'
    done
fi
