#!/bin/sh
# The checks that CI runs beside the tests. Without arguments all of them, cheapest first; otherwise those that are named.
#
#     scripts/check.sh            scripts/check.sh clippy docs

. "$(dirname "$0")/common.sh"

# `-D warnings` stands after `--`, where it reaches only our own crates: in RUSTFLAGS it would rebuild every dependency.
check_lints() {
    lints_name=$1
    shift
    step "$lints_name" cargo clippy --quiet "$@" -- -D warnings
}

check() {
    case $1 in
    fmt)
        step fmt cargo fmt --all --check
        ;;
    licences)
        step licences cargo xtask licences
        ;;
    clippy)
        check_lints clippy --workspace --all-targets --all-features
        ;;
    docs)
        step docs env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --all-features --no-deps --document-private-items
        ;;
    features)
        check_lints "features: none" -p voxatlas --all-targets --no-default-features
        check_lints "features: net" -p voxatlas --all-targets --no-default-features --features net
        check_lints "features: gpu" -p voxatlas --all-targets --no-default-features --features gpu
        check_lints "features: net and gpu" -p voxatlas --all-targets --no-default-features --features net,gpu
        check_lints "features: cli" -p voxatlas --all-targets --no-default-features --features cli
        check_lints "features: viewer" -p voxatlas --all-targets --no-default-features --features viewer
        check_lints "features: atlas-tools" -p atlas-tools --all-targets --no-default-features
        ;;
    wasm)
        # A toolchain that was there before may lack a target that rust-toolchain.toml names.
        if command -v rustup >/dev/null && ! rustup target list --installed | grep -q '^wasm32-unknown-unknown$'; then
            step "wasm: target" rustup target add wasm32-unknown-unknown
        fi
        check_lints wasm -p voxatlas --lib --no-default-features --target wasm32-unknown-unknown
        ;;
    *)
        say "There is no check \"$1\": expected fmt, licences, clippy, docs, features or wasm." >&2
        exit 2
        ;;
    esac
}

scripts/setup.sh
[ $# -gt 0 ] || set -- fmt licences clippy docs features wasm
for name in "$@"; do
    check "$name"
done
say "" "All checks passed: $*"
