#!/bin/sh
# Runs every test of the workspace: unit, integration and doc tests, and each benchmark once.
#
# Ends with the list of the tests that were skipped because VOXATLAS_DATA is not set. docs/testing.md says more.

. "$(dirname "$0")/common.sh"

scripts/setup.sh

# Tests that need real data write their names here when they skip: tests/common/real_data.rs.
VOXATLAS_SKIPPED_LIST=$(mktemp)
export VOXATLAS_SKIPPED_LIST
trap 'rm -f "$VOXATLAS_SKIPPED_LIST"' EXIT

# Built first, so that a compile error is shown once and as what it is. tests/examples.rs runs the examples' programs.
cargo build --workspace --all-features --examples
cargo test --workspace --all-features --lib --bins --tests --benches --no-run

status=0
cargo test --workspace --all-features --lib --bins --tests --benches --no-fail-fast || status=$?
cargo test --workspace --all-features --doc --no-fail-fast || status=$?

say ""
if [ -s "$VOXATLAS_SKIPPED_LIST" ]; then
    say "Skipped, since VOXATLAS_DATA is not set (docs/testing.md says where the data comes from):"
    sort -u "$VOXATLAS_SKIPPED_LIST" | sed 's/^/    /'
else
    say "No test was skipped."
fi
[ "$status" -eq 0 ] || say "Some tests FAILED: their names stand above." >&2
exit "$status"
