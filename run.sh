#!/usr/bin/env bash
# Sets Decodescope up and runs it: ./run.sh [ARGUMENTS]. Works from any directory.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
. "$root/resources/scripts/setup.sh"

# shellcheck disable=SC2086
install_missing $PACKAGES_BUILD $PACKAGES_WINDOW
build release decodescope
program="$root/build/release/decodescope"
if [ $# = 0 ] && ! "$program" has-display >/dev/null 2>&1; then
    say "No display: running the demonstration without a window; charts, data and a picture go to $PWD/out."
    exec "$program" demo -o out
fi
exec "$program" "$@"
