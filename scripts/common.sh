# Sourced by the scripts beside it: stops at the first error, stands in the repository's root, finds a fresh rustup.
# shellcheck shell=sh

set -eu
cd "$(dirname "$0")/.."

# rustup puts itself on the PATH of the next shell only. Ours stands first, so that it wins over a distribution's older one.
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
export PATH

say() {
    printf '%s\n' "$@"
}

# step NAME COMMAND...: runs the command and says how long it took, or which step failed and how to repeat it.
step() {
    step_name=$1
    shift
    say "" "== $step_name: $*"
    step_started=$(date +%s)
    if "$@"; then
        say "== $step_name: passed in $(($(date +%s) - step_started)) s"
    else
        step_status=$?
        say "" "== $step_name: FAILED with exit code $step_status. To repeat it: $*" >&2
        exit "$step_status"
    fi
}
