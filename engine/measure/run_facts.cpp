#include "engine/measure/run_facts.h"

#include <decodescope_commit.h>

#include <chrono>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#if defined(__unix__)
#include <sys/utsname.h>
#endif

namespace decodescope {

namespace {

// The value of the first line "key : value" of /proc/cpuinfo; empty when there is none.
std::string cpuinfo_value(const std::string& key) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.compare(0, key.size(), key) != 0) continue;
        const std::size_t colon = line.find(':');
        const std::size_t first = line.find_first_not_of(" \t", colon == std::string::npos ? colon : colon + 1);
        if (first == std::string::npos || line.find_first_not_of(" \t", key.size()) != colon) continue;
        return line.substr(first, line.find_last_not_of(" \t") + 1 - first);
    }
    return {};
}

std::string machine_name() {
#if defined(__unix__)
    utsname name{};
    if (::uname(&name) == 0 && name.machine[0] != '\0') return fmt::format("{} processor", name.machine);
#endif
    return "unknown processor";
}

}  // namespace

std::string program_version() { return DECODESCOPE_VERSION; }
std::string program_commit() { return DECODESCOPE_COMMIT; }

std::string utc_date() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                       utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string cpu_name() {
    // x86 says "model name"; boards with ARM or POWER name the machine in other lines, or not at all.
    for (const char* key : {"model name", "Model", "Hardware", "cpu", "machine"})
        if (std::string value = cpuinfo_value(key); !value.empty()) return value;
    return machine_name();
}

}  // namespace decodescope
