// Products with weight matrices, all rows of a step together.
//
// A product of a few rows is cut by outputs: each chunk streams its panels of weights once, in the type in which they
// are kept. A product of more rows is cut by outputs and by rows; a chunk makes its weights f32 once per tile of rows.
// Both give the same bits for a row (panel_layout.h), so a result depends neither on how the work is cut nor on the
// number of threads nor on the other rows of the step.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_step.h"

namespace decodescope {

std::int64_t linear_chunks(const StepContext& context, const PlannedStage& stage);
void run_linear_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk, int thread);

// Floats that a thread needs beside, for a step of up to max_rows rows.
std::int64_t linear_scratch_floats(const CpuStep& step);

}  // namespace decodescope
