// Products with weight matrices.
//
// Up to kFewRows rows go through the SIMD kernel that streams the weights once, in the type in which they are stored.
// More rows go to sgemm or to our own product kernel, tile by tile; 16-bit weights are converted to f32 once per block
// of outputs and used for all its rows. Tiles are cut by shape alone, so a result does not depend on the number of
// threads.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_step.h"

namespace decodescope {

constexpr int kFewRows = 8;

std::int64_t linear_chunks(const StepContext& context, const PlannedStage& stage);
void run_linear_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk, int thread);

// Floats that a thread needs to hold converted weights, for a step of up to max_rows rows.
std::int64_t linear_scratch_floats(const CpuStep& step);

}  // namespace decodescope
