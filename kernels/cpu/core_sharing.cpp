#include "kernels/cpu/core_sharing.h"

#include "kernels/api/usable_cores.h"

namespace decodescope {
namespace {

constexpr std::chrono::milliseconds kStarved{12};    // three turns of others
constexpr std::chrono::milliseconds kStayAway{1000};

}  // namespace

HomeCores::HomeCores(int threads) {
    cpu_set_t mask;
    if (threads < 2 || threads != usable_cores() || sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    if (CPU_COUNT(&mask) != threads) return;  // a quota: more cores than threads
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &mask)) cores_.push_back(core);
}

// What the system refuses is left as it is: only speed depends on it.
void CoreSeat::update(const HomeCores& homes, int thread, SteadyTime now, SteadyTime shared_until) {
    if (homes.cores().empty()) return;
    const bool wanted = now < shared_until && now >= free_until_;
    if (wanted == settled_) return;
    if (!wanted) return leave();
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    const int core = homes.cores()[static_cast<std::size_t>(thread)];
    if (!CPU_ISSET(core, &before_)) return;  // was taken from the process since
    cpu_set_t home;
    CPU_ZERO(&home);
    CPU_SET(core, &home);
    settled_ = sched_setaffinity(0, sizeof home, &home) == 0;
}

void CoreSeat::chunk_took(SteadyTime::duration took, SteadyTime now) {
    if (settled_ && took >= kStarved) free_until_ = now + kStayAway;
}

void CoreSeat::leave() {
    if (settled_) sched_setaffinity(0, sizeof before_, &before_);
    settled_ = false;
}

}  // namespace decodescope
