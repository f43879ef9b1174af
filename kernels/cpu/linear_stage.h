// Products with weight matrices.
//
// Sequences of up to kFewRows rows go through the SIMD kernel that streams the weights once for all of them together,
// in the type in which they are stored. Sequences of more rows go to sgemm or to our own product kernel, tile by tile;
// 16-bit weights are converted to f32 once per block of outputs and used for all its rows. Tiles are cut by the shape
// of one sequence alone, so a result depends neither on the number of threads nor on the other sequences of the step.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_step.h"

namespace decodescope {

constexpr int kFewRows = 8;

// The step's rows, or those whose logits are wanted, by what computes them.
std::vector<LinearRun> row_runs(const StepInputs& inputs, bool selected);

std::int64_t linear_chunks(const StepContext& context, const PlannedStage& stage);
void run_linear_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk, int thread);

// Floats that a thread needs to hold converted weights, for a step of up to max_rows rows.
std::int64_t linear_scratch_floats(const CpuStep& step);

}  // namespace decodescope
