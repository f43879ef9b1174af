// The truth: every operation as a plain loop with double accumulation, one stage per operation, no SIMD, one thread.
// Slow on purpose; every other backend is compared with it.
#pragma once

#include <memory>

#include "kernels/api/backend.h"

namespace decodescope {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace decodescope
