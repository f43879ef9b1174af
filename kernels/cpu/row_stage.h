// Operations on single rows: lookups, norms, rotation, cache store, activations that were not fused, residuals.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_step.h"

namespace decodescope {

std::int64_t row_chunks(const StepContext& context, const PlannedStage& stage);
void run_row_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk);

// The sequence that a row of the step belongs to.
const SequenceRows& sequence_of(const StepInputs& inputs, std::int64_t row);

}  // namespace decodescope
