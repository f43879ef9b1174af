#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. Further arguments go to ctest: ./test.sh -R cache
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
. "$root/resources/scripts/setup.sh"

# shellcheck disable=SC2086
install_missing $PACKAGES_BUILD $PACKAGES_WINDOW $PACKAGES_TEST
started=$(date +%s)
build test
say "Built in $(($(date +%s) - started)) s."
exec "$root/resources/scripts/run_tests.sh" test "$@"
