// The oracle: a decoder written a second time, as plain loops in double over the whole sequence, from the model's
// tensors and the textbook formulas. It shares no code with step programs, backends, caches or sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/model/model.h"

namespace decodescope {

struct OracleOptions {
    // Whether row i sees position j; full causal attention when empty.
    std::function<bool(std::int64_t row, std::int64_t position)> visible;
    // The same where layers see different positions; goes before `visible`.
    std::function<bool(std::int64_t layer, std::int64_t row, std::int64_t position)> visible_in_layer;
    // After each row of a layer, in order: its attention, [heads][positions]. What it decides may change what the rows
    // after it see.
    std::function<void(std::int64_t layer, std::int64_t row, const std::vector<std::vector<double>>& weights)>
        row_done;
    // The position that row i gives to token j, itself included, when every row counts anew: keys are then rotated for
    // each row. The token's own when empty.
    std::function<std::int64_t(std::int64_t row, std::int64_t position)> position_in_row;
    // What a coarse cache gives back for the exact rows of one layer, [rows][kv_heads * head_dim], and whether row i
    // reads that of position j; empty: it always does.
    std::function<std::vector<std::vector<double>>(bool is_value, const std::vector<std::vector<double>>& rows)> stored;
    std::function<bool(bool is_value, std::int64_t row, std::int64_t position)> reads_stored;
    // Bugs to plant: what a query head reads, and the position that a token is given.
    std::function<std::int64_t(std::int64_t head)> kv_head_of;
    std::function<std::int64_t(std::int64_t index)> position_of;
};

struct OracleResult {
    std::vector<std::vector<double>> logits;                  // [rows][vocabulary]
    // [layers][heads][rows][positions]; positions that a row does not see have 0
    std::vector<std::vector<std::vector<std::vector<double>>>> attention;
    std::vector<std::vector<std::vector<double>>> k, v;       // [layers][rows][kv_heads * head_dim], K after rotation
};

OracleResult run_oracle(const Model& model, std::span<const std::int32_t> tokens, const OracleOptions& options = {});

// max |a - b| / max |b|; infinity where a value is not finite.
double relative_error(std::span<const float> a, std::span<const double> b);
// |a - b| / |b| in the Euclidean norm.
double relative_l2(std::span<const float> a, std::span<const double> b);

}  // namespace decodescope
