// How a step program is cut into stages: what is computed together, and which activations share memory.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

enum class StageKind : std::uint8_t {
    Rows,       // operations on single rows, one after the other on each block of rows
    Linear,     // products with the same input, and one operation on their outputs
    Attention,  // parts of the softmax over ranges of entries
    Combine,    // puts the parts together; belongs to the attention stage before it
};

struct PlannedStage {
    StageKind kind = StageKind::Rows;
    int public_stage = 0;         // index into CompiledStep::stages()
    bool selected = false;        // runs on the rows whose logits are asked for
    std::vector<int> ops;         // Rows: in order; Linear: the products; Attention, Combine: one
    int epilogue = kNone;         // Linear: SwiGlu, GeluTanh or Residual on the outputs, tile by tile
};

struct StepPlan {
    std::vector<PlannedStage> stages;
    std::vector<Stage> public_stages;
    std::vector<std::int64_t>
        value_offsets;  // in floats, into one block; -1 for the logits, which go straight to the caller
    std::int64_t value_floats = 0;
};

// The program must have passed validate_program().
StepPlan make_step_plan(const StepProgram& program, const CompileOptions& options);

}  // namespace decodescope
