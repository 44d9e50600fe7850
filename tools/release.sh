#!/bin/sh
# Builds a release: program, man pages, completions, bill of materials and checksum in one archive, the packages of
# distributions made from it, and the image. Two builds of a commit give the same bytes, in any folder.
set -eu

usage() {
    cat <<'USAGE'
Usage:
  tools/release.sh [--target TRIPLE] [--to DIR] [--profile NAME] [--no-image] [--no-packages] [--program-only]
  tools/release.sh --print-flags

  --target       [default: this machine, statically linked: ARCH-unknown-linux-musl]
  --to           folder for the results [default: target/packages]
  --profile      Cargo profile of the program [default: dist, which takes minutes]
  --no-image     without the image
  --no-packages  without .deb and .rpm
  --program-only the program as a file, and nothing else
  --print-flags  print the flags of rustc for this folder, and build nothing

*-linux-musl is linked statically: it runs on any Linux, and the image and the packages hold it. Another architecture than
this machine's needs cargo-zigbuild and zig; a *-linux-gnu program is somewhat faster on systems with glibc. The program for
Windows is x86_64-pc-windows-gnu, which MinGW links from Linux without files of Microsoft.

The list of crates in the program needs cargo-auditable, the packages need cargo-deb and cargo-generate-rpm:
  cargo install --locked cargo-auditable cargo-deb cargo-generate-rpm
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
target="$machine-unknown-linux-musl" to="$here/target/packages" profile=dist image=yes packages=yes program_only='' print_flags=''
while [ $# -gt 0 ]; do
    case $1 in
        --target | --to | --profile)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --target) target=$2 ;;
                --to) to=$2 ;;
                --profile) profile=$2 ;;
            esac
            shift 2
            ;;
        --no-image) image='' && shift ;;
        --no-packages) packages='' && shift ;;
        --program-only) program_only=yes image='' packages='' && shift ;;
        --print-flags) print_flags=yes && shift ;;
        -h | --help) usage && exit 0 ;;
        *) usage >&2 && fail "unknown argument $1" ;;
    esac
done

command -v cargo >/dev/null 2>&1 || fail 'cargo is not installed' 'see https://rustup.rs'
# With frame pointers the tables for unwinding are short.
flags="${RUSTFLAGS:+$RUSTFLAGS }-C force-frame-pointers=yes"
# Panics name their file. The folders of this machine are replaced: they would make every builder's program another one.
# The last prefix that matches counts, and the folder for results is mostly below that of the sources.
results=${CARGO_TARGET_DIR:-target}
case $results in
    /*) ;;
    *) results=$here/$results ;;
esac
crates=${CARGO_HOME:-$HOME/.cargo}
compiler="/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"
for pair in "$here=/flux-operator" "$results=/target" "$crates=/cargo" \
    "$(rustc --print sysroot)/lib/rustlib/src/rust=$compiler"; do
    flags="$flags --remap-path-prefix=$pair"
done
if [ -n "$print_flags" ]; then
    printf '%s\n' "$flags"
    exit
fi

# The crates of the program are listed in the program itself, where `cargo audit bin` and scanners of images read them.
command -v cargo-auditable >/dev/null 2>&1 ||
    fail 'cannot list the crates in the program: cargo-auditable is not installed' 'cargo install --locked cargo-auditable'
case $target in
    *-linux-musl)
        for tool in cargo-deb cargo-generate-rpm; do
            [ -z "$packages" ] || command -v "$tool" >/dev/null 2>&1 ||
                fail "cannot make the packages: $tool is not installed" "cargo install --locked $tool, or --no-packages"
        done
        ;;
    *) image='' packages='' ;;
esac
cd "$here"
if command -v rustup >/dev/null 2>&1; then
    rustup target add "$target" >&2
fi
# The C of aws-lc names its files as well.
c_flags="CFLAGS_$(printf '%s' "$target" | tr - _)"
export "$c_flags=${CFLAGS:+$CFLAGS }-ffile-prefix-map=$crates=/cargo"
# The program stands at an address that is drawn anew at each start: in a pod it reads archives that others have made.
case $target in
    # Relocations in a few kilobytes: musl unpacks them. Linked with glibc it would need 2.36; not tried with zig's linker.
    "$machine"-*-musl) flags="$flags -C link-arg=-Wl,-z,pack-relative-relocs" ;;
esac
case $target in
    *-windows-gnu)
        build=build
        command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1 ||
            fail "cannot link for $target: MinGW is not installed" 'apt-get install gcc-mingw-w64-x86-64'
        ;;
    *-apple-darwin)
        build=build
        [ "$(uname -s)" = Darwin ] || fail "cannot link for $target" 'build on a Mac, which has the frameworks of the system'
        ;;
    "$machine"-*)
        build=build
        # The C of aws-lc is compiled by this machine's own compiler, with glibc's headers: what it calls is in musl as well.
        export "CC_$(printf '%s' "$target" | tr - _)=${CC:-gcc}"
        ;;
    *)
        build=zigbuild
        command -v cargo-zigbuild >/dev/null 2>&1 ||
            fail "cannot build for $target on $machine" 'install cargo-zigbuild and zig, or build on such a machine'
        ;;
esac
RUSTFLAGS="$flags" cargo auditable "$build" --profile "$profile" --locked --target "$target" \
    --no-default-features --features cli --bin flux-operator >&2
case $profile in
    dev) folder=debug ;;
    *) folder=$profile ;;
esac
case $target in
    *-windows-*) program="$results/$target/$folder/flux-operator.exe" ;;
    *) program="$results/$target/$folder/flux-operator" ;;
esac
case $target in
    *-musl)
        command -v readelf >/dev/null 2>&1 || fail "cannot check $program: readelf is not installed" 'it is in the package binutils'
        # A program that looks for a loader at run time would not start in an image without one.
        if readelf -l "$program" | grep -q 'Requesting program interpreter'; then
            fail "$program is not linked statically"
        fi
        if ! readelf -h "$program" | grep -q 'Type: *DYN'; then
            fail "$program would always be loaded at the same address"
        fi
        readelf -S "$program" | grep -q ' \.dep-v0 ' || fail "$program does not list its crates"
        ;;
esac

if [ -n "$program_only" ]; then
    mkdir -p "$to"
    cp "$program" "$to/"
    exit
fi
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
if [ -n "$packages" ]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | sed -n 1p)
    tools/packages.sh --archive "$to/flux-operator-$version-$target.tar.gz" --to "$to"
fi
