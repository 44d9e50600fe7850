#!/bin/sh
# Builds a release: program, man pages, completions, bill of materials and checksum in one archive, and the image.
set -eu

usage() {
    cat <<'USAGE'
Usage:
  tools/release.sh [--target TRIPLE] [--to DIR] [--no-image]

  --target    [default: this machine, statically linked: ARCH-unknown-linux-musl]
  --to        folder for what is made [default: target/packages]
  --no-image  the archive only

*-linux-musl is linked statically: it runs on any Linux and is what the image holds. Another architecture than this
machine's needs cargo-zigbuild and zig; a *-linux-gnu program is somewhat faster on systems with glibc.
USAGE
}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
machine=$(uname -m)
[ "$machine" != arm64 ] || machine=aarch64
target="$machine-unknown-linux-musl" to="$here/target/packages" image=yes
while [ $# -gt 0 ]; do
    case $1 in
        --target | --to)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --target) target=$2 ;;
                --to) to=$2 ;;
            esac
            shift 2
            ;;
        --no-image) image='' && shift ;;
        -h | --help) usage && exit 0 ;;
        *) usage >&2 && fail "unknown argument $1" ;;
    esac
done

command -v cargo >/dev/null 2>&1 || fail 'cargo is not installed' 'see https://rustup.rs'
cd "$here"
if command -v rustup >/dev/null 2>&1; then
    rustup target add "$target" >&2
fi
# With frame pointers the tables for unwinding are short.
flags="${RUSTFLAGS:+$RUSTFLAGS }-C force-frame-pointers=yes"
# The program stands at an address that is drawn anew at each start: in a pod it reads archives that others have made.
case $target in
    # Relocations in a few kilobytes: musl unpacks them. Linked with glibc it would need 2.36; not tried with zig's linker.
    "$machine"-*-musl) flags="$flags -C link-arg=-Wl,-z,pack-relative-relocs" ;;
esac
case $target in
    "$machine"-*)
        # The C of aws-lc is compiled by this machine's own compiler, with glibc's headers: what it calls is in musl as well.
        export "CC_$(printf '%s' "$target" | tr - _)=${CC:-gcc}"
        RUSTFLAGS="$flags" cargo build --profile dist --locked --target "$target" --no-default-features --features cli --bin flux-operator >&2
        ;;
    *)
        command -v cargo-zigbuild >/dev/null 2>&1 ||
            fail "cannot build for $target on $machine" 'install cargo-zigbuild and zig, or build on such a machine'
        RUSTFLAGS="$flags" cargo zigbuild --profile dist --locked --target "$target" --no-default-features --features cli --bin flux-operator >&2
        ;;
esac
program="${CARGO_TARGET_DIR:-target}/$target/dist/flux-operator"
case $target in
    *-musl)
        # A program that looks for a loader at run time would not start in an image without one.
        if command -v readelf >/dev/null 2>&1 && readelf -l "$program" | grep -q 'Requesting program interpreter'; then
            fail "$program is not linked statically"
        fi
        if command -v readelf >/dev/null 2>&1 && ! readelf -h "$program" | grep -q 'Type: *DYN'; then
            fail "$program would always be loaded at the same address"
        fi
        ;;
    *) image='' ;;
esac

authorities=''
if [ -n "$image" ]; then
    for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
        [ -n "$authorities" ] || [ ! -f "$file" ] || authorities=$file
    done
    [ -n "$authorities" ] || fail 'no certificates of authorities are found for the image' 'install ca-certificates, or set SSL_CERT_FILE'
fi
set -- --program "$program" --target "$target" --to "$to"
[ -z "$authorities" ] || set -- "$@" --authorities "$authorities"
cargo run --quiet --locked -p tools --bin release -- "$@"
