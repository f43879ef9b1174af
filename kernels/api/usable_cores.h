// How many cores this process may use: not how many the machine has.
#pragma once

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace decodescope {

// Whole cores that a quota in the form of /sys/fs/cgroup/cpu.max ("200000 100000", microseconds per period, or
// "max 100000") stands for, rounded up; 0 where there is no quota.
inline int cores_of_quota(std::string_view text) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    std::int64_t micros = 0, period = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), text.data() + space, micros).ec != std::errc{}) return 0;  // "max"
    if (std::from_chars(text.data() + space + 1, end, period).ec != std::errc{}) return 0;
    if (micros <= 0 || period <= 0) return 0;
    return static_cast<int>(std::min<std::int64_t>(micros / period + (micros % period != 0), 4096));
}

// At least 1. Heeds the affinity mask (taskset, a batch system) and the CPU quota of a container: more threads than
// that take turns on the same cores, and every stage waits for the one whose turn it is not.
inline int usable_cores() {
    int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) cores = std::clamp(CPU_COUNT(&mask), 1, cores);
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string line;
    if (file && std::getline(file, line))
        if (const int quota = cores_of_quota(line); quota > 0) cores = std::min(cores, quota);
    return cores;
}

}  // namespace decodescope
