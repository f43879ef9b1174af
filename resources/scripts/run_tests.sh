#!/usr/bin/env bash
# run_tests.sh PRESET [CTEST ARGUMENTS]: runs the tests of a built preset and ends with "N passed, N failed".
set -uo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
preset=$1; shift
folder="$root/build/$preset"
results="$folder/results.xml"
rm -f "$results"
export QT_QPA_PLATFORM=offscreen
started=$(date +%s)
(cd "$root" && ctest --preset "$preset" --output-junit "$results" "$@") > "$folder/ctest.log" 2>&1
code=$?
seconds=$(($(date +%s) - started))
grep -vE '^ *[0-9]+/[0-9]+ Test +#.*Passed|^ *Start ' "$folder/ctest.log"
if [ ! -s "$results" ]; then
    echo "decodescope: error: no test ran; the log is $folder/ctest.log"
    echo "0 passed, 1 failed"
    exit 1
fi
attribute() { sed -n 's/.*<testsuite[^>]* \?'"$1"'="\([0-9]*\)".*/\1/p; s/^[[:space:]]*'"$1"'="\([0-9]*\)".*/\1/p' "$results" | head -n 1; }
total=$(attribute tests); failed=$(attribute failures); skipped=$(attribute skipped); disabled=$(attribute disabled)
passed=$((total - failed - ${skipped:-0} - ${disabled:-0}))
echo
echo "The ten slowest, in seconds ($preset, $seconds s in all):"
sed -n 's/.*<testcase name="\([^"]*\)".* time="\([0-9.]*\)".*/\2 \1/p' "$results" | sort -rn | head -n 10 | sed 's/^/  /'
[ "${skipped:-0}" = 0 ] || echo "$skipped skipped"
[ "$total" -gt 0 ] || { echo "decodescope: error: zero tests"; code=1; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && exit $code
exit 1
