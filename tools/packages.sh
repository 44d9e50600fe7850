#!/bin/sh
# Makes the packages for Debian and for systems with RPM from a release archive, so that they hold the same program.
set -eu

usage() {
    cat <<'USAGE'
Usage:
  tools/packages.sh --archive FILE --to DIR

  --archive  flux-operator-VERSION-ARCH-unknown-linux-musl.tar.gz, as tools/release.sh makes it
  --to       folder for the packages, each with its checksum beside it

The packages are made by cargo-deb and cargo-generate-rpm, as tools/packages/Cargo.toml says.
USAGE
}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
archive='' to=''
while [ $# -gt 0 ]; do
    case $1 in
        --archive | --to)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --archive) archive=$2 ;;
                --to) to=$2 ;;
            esac
            shift 2
            ;;
        -h | --help) usage && exit 0 ;;
        *) usage >&2 && fail "unknown argument $1" ;;
    esac
done
if [ -z "$archive" ] || [ -z "$to" ]; then
    usage >&2
    fail '--archive and --to are needed'
fi
for tool in cargo-deb cargo-generate-rpm; do
    command -v "$tool" >/dev/null 2>&1 || fail "cannot make the packages: $tool is not installed" "cargo install --locked $tool"
done

stem=$(basename "$archive" .tar.gz)
case $stem in
    flux-operator-*-unknown-linux-musl) ;;
    *) fail "cannot make packages of $archive" 'only the static program for Linux runs on every distribution' ;;
esac
version_and_arch=${stem#flux-operator-}
arch=${version_and_arch%-unknown-linux-musl}
arch=${arch##*-}
version=${version_and_arch%-"$arch"-unknown-linux-musl}
target=$arch-unknown-linux-musl

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
tar -xzf "$archive" -C "$work" || fail "cannot unpack $archive"
sed "s/^version = \"0.0.0\".*/version = \"$version\"/" "$here/tools/packages/Cargo.toml" >"$work/$stem/Cargo.toml"
mkdir -p "$to"
to=$(CDPATH='' cd -- "$to" && pwd)

# The packages are as reproducible as the archive: the time in them is not that of this run.
export SOURCE_DATE_EPOCH=0
export CARGO_TARGET_DIR="$work/target"
cd "$work/$stem"
cargo deb --quiet --no-build --no-strip --target "$target" --output "$to/${stem}.deb" >&2
cargo generate-rpm --target "$target" --output "$to/${stem}.rpm" >&2
cd "$to"
for package in "$stem.deb" "$stem.rpm"; do
    sha256sum "$package" >"$package.sha256"
    printf '%s\n' "$to/$package"
done
