# Shared by run.sh and test.sh: installs missing Debian packages, finds CUDA, configures and builds.
# Everything said here goes to stderr, so that stdout belongs to the program.

PACKAGES_BUILD="g++ cmake ninja-build pkg-config git libfmt-dev nlohmann-json3-dev libcli11-dev libpcre2-dev libxxhash-dev
 libhwy-dev libopenblas-dev"
PACKAGES_WINDOW="qt6-base-dev qt6-svg-dev qt6-tools-dev qt6-tools-dev-tools qt6-l10n-tools libqcustomplot-dev libgl-dev
 fonts-dejavu-core fonts-noto-cjk"
PACKAGES_TEST="libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev locales"

say() { printf '%s\n' "$*" >&2; }
fail() { say "decodescope: error: $*"; exit 1; }

missing_packages() {
    for package in "$@"; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || printf '%s ' "$package"
    done
}

# Runs apt-get as root: directly, by sudo with a terminal, by sudo -n without one.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif ! command -v sudo >/dev/null 2>&1; then return 97
    elif [ -t 0 ] && [ -t 2 ]; then sudo "$@"
    else sudo -n "$@" 2>/dev/null || return 97
    fi
}

# apt-get with patience: another package manager may hold a lock for a while.
apt_get() {
    tries=0
    while :; do
        log=$(mktemp)
        if as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" >"$log" 2>&1; then
            rm -f "$log"; return 0
        else
            code=$?
        fi
        if [ $code != 97 ] && grep -q 'Could not get lock\|Unable to lock' "$log" && [ $tries -lt 60 ]; then
            [ $tries = 0 ] && say "Another package manager is running; waiting for it."
            tries=$((tries + 1)); rm -f "$log"; sleep 5; continue
        fi
        tail -n 15 "$log" >&2; rm -f "$log"; return $code
    done
}

install_missing() {
    if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
        say "No apt-get here: the packages named in resources/scripts/setup.sh must be present already."
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    line="apt-get install --no-install-recommends -y $missing"
    [ "$(id -u)" = 0 ] || line="sudo $line"
    # Without package lists nothing can be found, and no size can be told.
    # shellcheck disable=SC2086
    if ! apt-cache show $missing >/dev/null 2>&1; then
        say "Updating the package lists."
        apt_get update || fail "the package lists cannot be updated. Run: ${line%%apt-get*}apt-get update && $line"
    fi
    # shellcheck disable=SC2086
    size=$(LC_ALL=C apt-get install --no-install-recommends --assume-no $missing 2>/dev/null | grep -E '^(Need to get|After this operation)' || true)
    say "Installing: $missing"
    [ -z "$size" ] || say "$size"
    # shellcheck disable=SC2086
    apt_get install --no-install-recommends -y $missing || fail "these packages are missing and cannot be installed from here. Run: $line"
}

# One line on CUDA. The toolkit is used where found and never installed.
cuda_line() {
    if grep -q '^DECODESCOPE_CUDA_VERSION' "$1/CMakeCache.txt" 2>/dev/null; then
        say "CUDA: built with $(sed -n 's/^DECODESCOPE_CUDA_VERSION[^=]*=//p' "$1/CMakeCache.txt")"
    else
        say "CUDA: not built ($(sed -n 's/^DECODESCOPE_CUDA_REASON[^=]*=//p' "$1/CMakeCache.txt" 2>/dev/null))"
    fi
}

# build PRESET [TARGET...]: configures when needed and builds; the log is shown when something fails.
build() {
    preset=$1; shift
    folder="$root/build/$preset"
    mkdir -p "$folder" || fail "cannot write $folder"
    say "Configuring $preset."
    (cd "$root" && cmake --preset "$preset") >"$folder/configure.log" 2>&1 || { tail -n 30 "$folder/configure.log" >&2; fail "configuring failed; the whole log is $folder/configure.log"; }
    cuda_line "$folder"
    say "Building $preset (the first time takes some minutes)."
    if [ -t 2 ]; then ninja -C "$folder" "$@" >&2 || fail "the build failed"
    else ninja -C "$folder" "$@" >"$folder/build.log" 2>&1 || { grep -E -m 20 'error|FAILED' "$folder/build.log" >&2; tail -n 20 "$folder/build.log" >&2; fail "the build failed; the whole log is $folder/build.log"; }
    fi
}
