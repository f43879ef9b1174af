// FLOPs and bytes from the shapes. FLOPs: matrix products only, 2 per multiply-add: 2 N per token, attention 4 L H d t
// for a token that reads t entries (itself included), head 2 V D for every row whose logits are needed. Bytes of a
// step: matrix weights once (a tied head once, one embedding row per token, norms and biases counted), K and V rows
// read, the new one included, K and V row written, scales. Recompute has no KV bytes; its scratch counts as
// activations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/model/model.h"
#include "kernels/api/op.h"

namespace decodescope {

struct Cost {
    std::int64_t flops = 0;
    std::int64_t bytes = 0;
};

// One pass of `rows` new tokens after `past` tokens, logits of the last row: causal attention as the model has it, to
// everything or, in its local layers, to a window. The shape is the mean of the layers; costs count each kind apart.
StepShape causal_shape(const ModelConfig& config, std::int64_t past, std::int64_t rows, const KvFormat& kv,
                       bool has_cache);
Cost step_cost(const StepProgram& program, const StepShape& shape);
Cost causal_cost(const StepProgram& program, const ModelConfig& config, std::int64_t past, std::int64_t rows,
                 const KvFormat& kv, bool has_cache);
// One token, `length` entries after it.
Cost cached_step_cost(const StepProgram& program, const ModelConfig& config, const KvFormat& kv, std::int64_t length);
// A full pass over `length` tokens.
Cost recompute_step_cost(const StepProgram& program, const ModelConfig& config, std::int64_t length);
// FLOPs of a whole run: prefill of `prompt` tokens, then new_tokens - 1 steps.
std::int64_t cached_run_flops(const StepProgram& program, const ModelConfig& config, std::int64_t prompt,
                              std::int64_t new_tokens);
std::int64_t recompute_run_flops(const StepProgram& program, const ModelConfig& config, std::int64_t prompt,
                                 std::int64_t new_tokens);

// time = factor * length^exponent, by least squares of the logarithms. Needs at least six lengths, else not valid.
struct PowerLawFit {
    bool valid = false;
    double exponent = 0, factor = 0, residual = 0;  // residual: root mean square of ln(time) differences
    std::string reason;                             // when not valid
};
PowerLawFit fit_power_law(const std::vector<double>& lengths, const std::vector<double>& times);

struct CostFit {
    bool valid = false;
    double micros_per_flop = 0, micros_per_byte = 0, micros_fixed = 0;
    std::string reason;
    double micros(const Cost& cost) const {
        return micros_fixed + micros_per_flop * static_cast<double>(cost.flops) +
               micros_per_byte * static_cast<double>(cost.bytes);
    }
};
// Non-negative least squares of the errors relative to the expected times, over the measured (cost, micros) pairs; for
// the expected curve over measured points. Passes far off the curve count less (iteratively reweighted; Huber 1964).
// Points without a positive time are left out; needs two different costs.
CostFit fit_cost(const std::vector<Cost>& costs, const std::vector<double>& micros);

}  // namespace decodescope
