// Eviction by score once more, from the oracle's own probabilities: a mask for each layer that its rows decide.
#pragma once

#include <fmt/format.h>

#include "tests/engine/decode/window_oracle.h"

namespace decodescope {

struct Left {
    std::int64_t row = 0, position = 0;
    double score = 0;
    bool operator==(const Left& other) const { return row == other.row && position == other.position; }
};

// Keeps `budget` positions of each layer, the `recent` newest and those with the largest sums of probabilities.
struct H2oOracle {
    std::size_t budget, recent;
    std::vector<std::vector<bool>> kept;     // [layers][positions]
    std::vector<std::vector<double>> score;  // [layers][positions]
    std::vector<std::vector<Left>> left;     // [layers]
    double narrowest = 1e9;  // between what left and the runner-up: below rounding, two programs may choose differently

    OracleResult run(const Model& model, std::span<const std::int32_t> tokens) {
        const auto layers = static_cast<std::size_t>(model.config.layers);
        kept.assign(layers, std::vector<bool>(tokens.size(), false));
        score.assign(layers, std::vector<double>(tokens.size(), 0));
        left.assign(layers, {});
        OracleOptions options;
        options.visible_in_layer = [this](std::int64_t layer, std::int64_t row, std::int64_t j) {
            return j == row || (j < row && kept[static_cast<std::size_t>(layer)][static_cast<std::size_t>(j)]);
        };
        options.row_done = [this](std::int64_t layer, std::int64_t row, const std::vector<std::vector<double>>& weights) {
            decide(static_cast<std::size_t>(layer), static_cast<std::size_t>(row), weights);
        };
        return run_oracle(model, tokens, options);
    }

    void decide(std::size_t layer, std::size_t row, const std::vector<std::vector<double>>& weights) {
        std::vector<bool>& here = kept[layer];
        here[row] = true;
        for (const auto& head : weights)
            for (std::size_t j = 0; j <= row; ++j) score[layer][j] += head[j];
        if (static_cast<std::size_t>(std::count(here.begin(), here.end(), true)) <= budget) return;
        std::vector<std::size_t> order;
        for (std::size_t j = 0; j + recent <= row; ++j)
            if (here[j]) order.push_back(j);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return score[layer][a] < score[layer][b]; });
        if (order.size() > 1) narrowest = std::min(narrowest, score[layer][order[1]] - score[layer][order[0]]);
        here[order[0]] = false;
        left[layer].push_back({static_cast<std::int64_t>(row), static_cast<std::int64_t>(order[0]),
                               score[layer][order[0]]});
    }
};

inline std::string spec_of(std::size_t budget, std::size_t recent) {
    return fmt::format("h2o:budget={},recent={}", budget, recent);
}

// What left of each layer, pass by pass; a pass in which something leaves has one row.
inline std::vector<std::vector<Left>> left_of(const Fed& fed, std::size_t layers) {
    std::vector<std::vector<Left>> result(layers);
    for (const PassResult& pass : fed.passes)
        for (const EvictedEntry& entry : pass.evicted)
            result[static_cast<std::size_t>(entry.layer)].push_back(
                {pass.first_position, entry.position, static_cast<double>(entry.score)});
    return result;
}

}  // namespace decodescope
