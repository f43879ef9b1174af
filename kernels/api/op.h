// A step is a program: the flat list of operations of one forward pass. The transformer emits it, a backend compiles
// it, and the timeline, the cost model, slow motion and the memory prediction read the same list.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decodescope {

// Everything that is timed and named on screen. Closed list, in the order in which a layer runs them.
enum class OpId : std::uint8_t {
    Embed, PositionEmbed,
    AttentionNorm, QueryProjection, KeyProjection, ValueProjection, QueryNorm, KeyNorm, RotateQuery, RotateKey,
    CacheStore, Attention, OutputProjection, AttentionPostNorm, AttentionResidual,
    FeedForwardNorm, GateProjection, UpProjection, Activation, DownProjection, FeedForwardPostNorm, FeedForwardResidual,
    SelectRows, FinalNorm, LmHead,
};
constexpr int kOpIdCount = static_cast<int>(OpId::LmHead) + 1;

constexpr std::string_view op_name(OpId id) {
    constexpr std::string_view names[kOpIdCount] = {
        "embed", "position", "attention norm", "Q", "K", "V", "Q norm", "K norm", "rotate Q", "rotate K", "cache store",
        "attend", "output", "norm after attention", "attention residual", "feed-forward norm", "gate", "up",
        "activation", "down", "norm after feed-forward", "feed-forward residual",
        "select rows", "final norm", "logits"};
    return names[static_cast<int>(id)];
}

// The arithmetic behind an operation; several OpIds share one kind.
enum class OpKind : std::uint8_t {
    Embed,       // out[r] = weight[token[r]] * scale
    AddPosition, // out[r] = in0[r] + weight[position[r]]
    RmsNorm,     // out = in0 / sqrt(mean(in0^2) + epsilon) * weight, of rows or, with head_dim, of each head of them
    LayerNorm,   // out = (in0 - mean) / sqrt(variance + epsilon) * weight + bias
    Linear,      // out[r, o] = sum_i in0[r, i] * weight[o, i] (+ bias[o])
    Rope,        // out = in0 rotated by position, pairs (i, i + head_dim / 2), in place allowed
    CacheStore,  // in0 = K, in1 = V -> the layer's KvView
    Attention,   // in0 = Q, the layer's KvView -> out [rows, heads * head_dim]; `rope` for RowVisibility::sink_shift
    SwiGlu,      // out = silu(in0) * in1
    GeluTanh,    // out = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    GeluErf,     // out = 0.5 x (1 + erf(x / sqrt(2)))
    GeGlu,       // out = GeluTanh(in0) * in1
    Residual,    // out = in0 + in1
    SelectRows,  // keeps the rows whose logits are asked for
};

struct RopeDesc {
    float theta = 10000.0f;  // base of the frequencies theta^(-2 i / rotary_dim)
    int rotary_dim = 0;      // leading dimensions of each head that are rotated; head_dim in the LLaMA family
    std::vector<float> divisors = {};  // [rotary_dim / 2] of the frequencies; empty: 1

    bool operator==(const RopeDesc&) const = default;
};

// Radians per position of pair i.
inline double rope_frequency(const RopeDesc& rope, std::int64_t i) {
    const double plain = std::pow(static_cast<double>(rope.theta),
                                  -2.0 * static_cast<double>(i) / static_cast<double>(rope.rotary_dim));
    return rope.divisors.empty() ? plain : plain / static_cast<double>(rope.divisors[static_cast<std::size_t>(i)]);
}

constexpr int kNone = -1;

// One operation. Values and weights are indices into StepProgram::values and into the model's WeightTable.
struct OpDesc {
    OpId id = OpId::Embed;
    OpKind kind = OpKind::Embed;
    int layer = kNone;
    int in0 = kNone, in1 = kNone, out = kNone;
    int weight = kNone, bias = kNone;
    std::int64_t in_width = 0, out_width = 0;     // elements per row
    int heads = 0, kv_heads = 0, head_dim = 0;    // Attention, Rope, CacheStore; head_dim: RmsNorm of each head
    float epsilon = 0.0f;                         // norms
    float scale = 1.0f;                           // Attention: of the scores, 1 / sqrt(head_dim); Embed
    RopeDesc rope;
    bool logits_rows_only = false;                // runs on the selected rows, not on all
    std::int64_t weight_bytes = 0;  // read once per step: matrix, bias, norm. Embeddings: bytes of one row
};

// Elements that a norm takes together.
inline std::int64_t norm_width(const OpDesc& op) {
    return op.kind == OpKind::RmsNorm && op.head_dim > 0 ? op.head_dim : op.out_width;
}

// One activation, [rows, width] f32, where rows are all rows of the step or the selected ones.
struct ValueDesc {
    std::string name;  // "hidden", "q", "logits": shown in slow motion
    std::int64_t width = 0;
    bool logits_rows_only = false;
};

struct StepProgram {
    std::vector<ValueDesc> values;
    std::vector<OpDesc> ops;
    int layers = 0;
    int logits_value = kNone;
    std::int64_t vocabulary = 0;
};

// What one step processes; everything that OpDesc leaves open.
struct StepShape {
    std::int64_t rows = 0;         // new tokens
    std::int64_t logits_rows = 0;  // rows whose logits are wanted
    std::int64_t attended = 0;     // sum over the rows of the entries each of them reads
    std::int64_t entries = 0;      // distinct cache entries read per layer, the new ones included
    std::int64_t kv_bytes_per_entry = 0;  // K and V and scales of one layer and entry; 0 without a cache
    // One layer, where entries do not all take the same: bytes read by attention and written; -1: as above.
    std::int64_t kv_read_bytes = -1, kv_write_bytes = -1;
};

struct OpCost {
    std::int64_t flops = 0;  // matrix products only, 2 per multiply-add
    std::int64_t bytes = 0;  // weights once, cache entries read and written, scales
};

// Cost of one operation; the definitions of the figures are in engine/measure/cost_model.h.
inline OpCost op_cost(const OpDesc& op, const StepShape& shape) {
    const std::int64_t rows = op.logits_rows_only ? shape.logits_rows : shape.rows;
    switch (op.kind) {
        case OpKind::Linear: return {2 * rows * op.in_width * op.out_width, op.weight_bytes};
        case OpKind::Attention:
            return {4 * shape.attended * op.heads * op.head_dim,
                    shape.kv_read_bytes >= 0 ? shape.kv_read_bytes : shape.entries * shape.kv_bytes_per_entry};
        case OpKind::CacheStore:
            return {0, shape.kv_write_bytes >= 0 ? shape.kv_write_bytes : shape.rows * shape.kv_bytes_per_entry};
        case OpKind::Embed:
        case OpKind::AddPosition: return {0, rows * op.weight_bytes};
        default: return {0, op.weight_bytes};
    }
}

}  // namespace decodescope
