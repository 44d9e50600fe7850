#!/bin/sh
# Installs flux-operator from a release archive with its checksum, or from this source tree.
# Nothing is moved into place before the checksum is right; nothing outside --to is touched but by --flux-plugin.
set -eu

usage() {
    cat <<'USAGE'
Usage:
  install.sh --archive FILE|URL --checksum FILE|URL|HEX [--to DIR] [--flux-plugin]
  install.sh --from-source [--to DIR] [--flux-plugin]

  --archive      .tar.gz that holds the program `flux-operator`
  --checksum     its SHA-256: 64 hex digits, or a file whose line starts with them
  --to           folder to install into [default: $HOME/.local/bin]
  --flux-plugin  also link it into the plugins of flux 2.9, for `flux operator`:
                 the folder $FLUXCD_PLUGINS [default: $HOME/.fluxcd/plugins]

Links beside it make it a kubectl plugin: kubectl flux-operator.
The archive may also hold man pages (man/*.1) and completions (completions/*); they go to DIR/../share.
USAGE
}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

wrong_usage() {
    printf 'error: %s\n\n' "$1" >&2
    usage >&2
    exit 2
}

archive='' checksum='' from_source='' flux_plugin='' to="${HOME:-}/.local/bin"
while [ $# -gt 0 ]; do
    case $1 in
        --archive | --checksum | --to)
            [ $# -ge 2 ] || wrong_usage "$1 needs a value"
            case $1 in
                --archive) archive=$2 ;;
                --checksum) checksum=$2 ;;
                --to) to=$2 ;;
            esac
            shift 2
            ;;
        --from-source) from_source=yes && shift ;;
        --flux-plugin) flux_plugin=yes && shift ;;
        -h | --help) usage && exit 0 ;;
        *) wrong_usage "unknown argument $1" ;;
    esac
done
[ -n "$archive$from_source" ] || wrong_usage 'say what to install: --archive or --from-source'
[ -z "$archive" ] || [ -z "$from_source" ] || wrong_usage '--archive and --from-source exclude each other'
[ -z "$archive" ] || [ -n "$checksum" ] || wrong_usage '--archive needs --checksum'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# fetch SOURCE FILE: copies a file or downloads a URL.
fetch() {
    case $1 in
        https://* | http://*)
            if command -v curl >/dev/null 2>&1; then
                curl --fail --silent --show-error --location --output "$2" "$1" || fail "cannot download $1"
            elif command -v wget >/dev/null 2>&1; then
                wget -q -O "$2" "$1" || fail "cannot download $1"
            else
                fail "cannot download $1" 'install curl or wget, or give a file'
            fi
            ;;
        *)
            [ -f "$1" ] || fail "cannot read $1: no such file"
            cp "$1" "$2"
            ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail 'cannot verify the archive: neither sha256sum nor shasum is installed'
    fi
}

if [ -n "$from_source" ]; then
    command -v cargo >/dev/null 2>&1 || fail 'cannot build: cargo is not installed' 'see https://rustup.rs'
    here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
    cargo build --release --locked --manifest-path "$here/Cargo.toml" >&2
    program="${CARGO_TARGET_DIR:-$here/target}/release/flux-operator"
    pages="$here/man"
else
    fetch "$archive" "$work/archive.tar.gz"
    case $checksum in
        *[!0-9a-fA-F]*) fetch "$checksum" "$work/checksum" && expected=$(cut -c 1-64 "$work/checksum" | head -n 1) ;;
        *) expected=$checksum ;;
    esac
    expected=$(printf '%s' "$expected" | tr 'A-F' 'a-f')
    case $expected in
        *[!0-9a-f]* | '') fail "the checksum is not a SHA-256: $expected" ;;
    esac
    [ ${#expected} -eq 64 ] || fail "the checksum is not a SHA-256: $expected"
    actual=$(sha256 "$work/archive.tar.gz")
    [ "$actual" = "$expected" ] ||
        fail "the archive has checksum $actual, expected $expected" 'download both again; nothing was installed'
    mkdir "$work/content"
    tar -xzf "$work/archive.tar.gz" -C "$work/content" || fail 'cannot unpack the archive'
    program=$(find "$work/content" -type f -name flux-operator | head -n 1)
    [ -n "$program" ] || fail 'the archive holds no program named flux-operator'
    pages="$(dirname "$program")/man"
fi

mkdir -p "$to" || fail "cannot create $to" 'choose another folder with --to'
[ -w "$to" ] || fail "cannot write to $to" 'choose another folder with --to, or run as its owner'
# Copied beside the goal, then renamed: a running or half-written program is never in the way.
cp "$program" "$to/.flux-operator.$$" && chmod 755 "$to/.flux-operator.$$" && mv -f "$to/.flux-operator.$$" "$to/flux-operator"
# `kubectl flux-operator …`, and its completion.
for plugin in kubectl-flux_operator kubectl_complete-flux_operator; do
    ln -sf flux-operator "$to/$plugin"
done
# `flux operator …`: flux runs what is called flux-NAME in its folder of plugins.
if [ -n "$flux_plugin" ]; then
    plugins="${FLUXCD_PLUGINS:-${HOME:-}/.fluxcd/plugins}"
    # A file may be the plugin that `flux plugin install operator` has downloaded; a link is of an earlier run.
    [ ! -e "$plugins/flux-operator" ] || [ -L "$plugins/flux-operator" ] ||
        fail "cannot link $plugins/flux-operator: a file is in the way" 'remove it with: flux plugin uninstall operator'
    mkdir -p "$plugins" || fail "cannot create $plugins" 'name another folder with FLUXCD_PLUGINS'
    ln -sf "$(CDPATH='' cd -- "$to" && pwd)/flux-operator" "$plugins/flux-operator"
fi
if [ -d "$pages" ]; then
    manual="$to/../share/man/man1"
    mkdir -p "$manual" && cp "$pages"/*.1 "$manual"/
fi
# Where the shells look for what a prefix brings along; the others are printed by `flux-operator completion`.
scripts="$(dirname "$pages")/completions"
while read -r script folder name; do
    [ -f "$scripts/$script" ] || continue
    mkdir -p "$to/../share/$folder" && cp "$scripts/$script" "$to/../share/$folder/$name"
done <<'SCRIPTS'
flux-operator.bash bash-completion/completions flux-operator
_flux-operator zsh/site-functions _flux-operator
flux-operator.fish fish/vendor_completions.d flux-operator.fish
SCRIPTS

printf 'installed %s\n' "$to/flux-operator" >&2
case ":${PATH:-}:" in
    *":$to:"*) ;;
    *) printf 'hint: add %s to your PATH\n' "$to" >&2 ;;
esac
# zsh reads completions from its fpath alone, which knows of few prefixes.
case ${SHELL:-}:$to in
    */zsh:/usr/bin | */zsh:/usr/local/bin) ;;
    */zsh:*)
        [ ! -f "$to/../share/zsh/site-functions/_flux-operator" ] ||
            printf 'hint: for completion in zsh, put %s before compinit in .zshrc\n' \
                "fpath=($(CDPATH='' cd -- "$to/../share/zsh/site-functions" && pwd) \$fpath)" >&2
        ;;
esac
