// Processor time of the calling thread: what drawing cost, however busy the machine is otherwise.
#pragma once

#include <ctime>

namespace decodescope {

inline double thread_millis() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace decodescope
