// How many cores this process may use: not how many the machine has.
#pragma once

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace decodescope {

// Whole cores that a quota in the form of /sys/fs/cgroup/cpu.max ("200000 100000", microseconds per period, or
// "max 100000") stands for, rounded up; 0 where there is no quota.
inline int cores_of_quota(std::string_view text) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    const std::string quota(text.substr(0, space)), period(text.substr(space + 1));
    char* end = nullptr;
    const double micros = std::strtod(quota.c_str(), &end);
    const double per = std::strtod(period.c_str(), nullptr);
    if (end == quota.c_str() || !(micros > 0) || !(per > 0)) return 0;  // "max", or not a file of this form
    return std::max(1, static_cast<int>(std::min((micros + per - 1) / per, 4096.0)));
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
