// What a launch is checked against and where it goes.
#include <cstdlib>

#include "kernels/cuda/emulated/simt.h"

namespace decodescope::simt {
namespace {

Settings settings_from_environment() {
    Settings settings;
    const char* schedule = std::getenv("DECODESCOPE_SIMT_SCHEDULE");
    const std::string name = schedule == nullptr ? "" : schedule;
    if (name == "reverse") settings.schedule = Schedule::Reverse;
    if (name == "seeded") settings.schedule = Schedule::Seeded;
    if (name == "warp-ahead") settings.schedule = Schedule::WarpAhead;
    return settings;
}

}  // namespace

Settings& settings() {
    static Settings settings = settings_from_environment();
    return settings;
}

std::string refusal(const Launch& launch) {
    const dim3 g = launch.grid, b = launch.block;
    if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7FFFFFFFu || g.y > 65535 || g.z > 65535) return "invalid grid";
    if (b.x == 0 || b.y == 0 || b.z == 0 || b.z > 64 || std::uint64_t{b.x} * b.y * b.z > 1024) return "invalid block";
    if (launch.shared_bytes > settings().shared_bytes) return "too much dynamic shared memory";
    return {};
}

LaunchSink launch_sink = nullptr;

}  // namespace decodescope::simt
