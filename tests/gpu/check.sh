#!/usr/bin/env bash
# Checks the CUDA backend on a real device: tests/gpu/check.sh [--quick]. Needs CMake, make or ninja, a C++ compiler and
# nvcc; no other package and no network. Exit code 0: all right, 1: something differs, 77: no usable device.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
folder="$root/build/gpu-check"
generator="Unix Makefiles"
command -v ninja >/dev/null 2>&1 && generator=Ninja
(cd "$root" && cmake --preset gpu-check -G "$generator") >/dev/null
cmake --build "$folder" --parallel >/dev/null
cd "$folder"
# Devices may forbid it, and not every toolkit has it.
if sanitizer=$(command -v compute-sanitizer) || sanitizer=$(ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer 2>/dev/null); then
    for tool in memcheck racecheck; do
        code=0
        timeout 60 "$sanitizer" --tool "$tool" --error-exitcode 9 ./gpu_check --small >"sanitizer-$tool.log" 2>&1 || code=$?
        case $code in
            0) echo "compute-sanitizer $tool: nothing found" ;;
            77) echo "compute-sanitizer $tool: no usable device" ;;
            9) echo "compute-sanitizer $tool: errors, see $folder/sanitizer-$tool.log"; tail -n 20 "sanitizer-$tool.log"; exit 1 ;;
            *) echo "compute-sanitizer $tool: does not work here (code $code)" ;;
        esac
    done
else
    echo "compute-sanitizer: not found"
fi
exec ./gpu_check "$@"
