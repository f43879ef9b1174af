// How a step program is cut into launches: what one kernel, or one group of products, computes together.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/reference/host_weights.h"

namespace decodescope::cuda {

enum class PieceKind : std::uint8_t { Lookup, Norm, Products, RotateStore, Attention, Pointwise, Select };

struct Piece {
    PieceKind kind = PieceKind::Lookup;
    bool selected = false;   // runs on the rows whose logits are asked for
    std::vector<int> ops;    // Products: all of one input; RotateStore: rotations and the store; else one
    int epilogue = kNone;    // Products: what follows on the outputs of the first, or of both
    // RotateStore: indices into the program, kNone where absent. The key is stored as rotated, or as it is.
    int rotate_query = kNone, rotate_key = kNone, store = kNone;
};

struct LaunchPlan {
    std::vector<Piece> pieces;
    std::vector<Stage> stages;  // one per piece
};

// The program and the weights must have passed validation.
LaunchPlan make_launch_plan(const StepProgram& program, const HostWeights& weights);

}  // namespace decodescope::cuda
