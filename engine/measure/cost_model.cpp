#include "engine/measure/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace decodescope {

namespace {

constexpr std::size_t kFewestLengths = 6;

bool usable(double value) { return std::isfinite(value) && value > 0; }

// Solves the symmetric positive system of `size` equations by Gaussian elimination; false when it is singular.
bool solve(std::array<std::array<double, 4>, 3>& rows, std::size_t size, std::array<double, 3>& solution) {
    for (std::size_t pivot = 0; pivot < size; ++pivot) {
        std::size_t best = pivot;
        for (std::size_t r = pivot + 1; r < size; ++r)
            if (std::abs(rows[r][pivot]) > std::abs(rows[best][pivot])) best = r;
        std::swap(rows[pivot], rows[best]);
        if (std::abs(rows[pivot][pivot]) < 1e-12) return false;  // columns are scaled to length 1
        for (std::size_t r = pivot + 1; r < size; ++r) {
            const double factor = rows[r][pivot] / rows[pivot][pivot];
            for (std::size_t c = pivot; c <= size; ++c) rows[r][c] -= factor * rows[pivot][c];
        }
    }
    for (std::size_t r = size; r-- > 0;) {
        double value = rows[r][size];
        for (std::size_t c = r + 1; c < size; ++c) value -= rows[r][c] * solution[c];
        solution[r] = value / rows[r][r];
    }
    return true;
}

// Relative least squares with three non-negative coefficients: every subset of the three columns is tried, and the best
// one without a negative coefficient wins. Exact for so few columns.
struct NonNegativeFit {
    std::vector<std::array<double, 3>> columns;  // of each point, divided by its time; the target is 1

    std::array<double, 3> lengths() const {
        std::array<double, 3> result{};
        for (const auto& point : columns)
            for (std::size_t c = 0; c < 3; ++c) result[c] += point[c] * point[c];
        for (double& length : result) length = std::sqrt(length);
        return result;
    }

    bool solve_subset(unsigned subset, const std::array<double, 3>& scale, std::array<double, 3>& coefficients) const {
        std::array<std::size_t, 3> used{};
        std::size_t size = 0;
        for (std::size_t c = 0; c < 3; ++c)
            if ((subset >> c & 1u) != 0) used[size++] = c;
        std::array<std::array<double, 4>, 3> rows{};
        for (const auto& point : columns)
            for (std::size_t r = 0; r < size; ++r) {
                const double value = point[used[r]] / scale[used[r]];
                for (std::size_t c = 0; c < size; ++c) rows[r][c] += value * point[used[c]] / scale[used[c]];
                rows[r][size] += value;
            }
        std::array<double, 3> solution{};
        if (!solve(rows, size, solution)) return false;
        coefficients = {};
        for (std::size_t r = 0; r < size; ++r) {
            if (!(solution[r] >= 0)) return false;
            coefficients[used[r]] = solution[r] / scale[used[r]];
        }
        return true;
    }

    double squared_error(const std::array<double, 3>& coefficients) const {
        double sum = 0;
        for (const auto& point : columns) {
            const double error =
                coefficients[0] * point[0] + coefficients[1] * point[1] + coefficients[2] * point[2] - 1;
            sum += error * error;
        }
        return sum;
    }
};

}  // namespace

StepShape causal_shape(const ModelConfig& config, std::int64_t past, std::int64_t rows, const KvFormat& kv,
                       bool has_cache) {
    StepShape shape;
    shape.rows = rows;
    shape.logits_rows = 1;
    shape.attended = rows * past + rows * (rows + 1) / 2;  // the row at position p reads p + 1 entries
    shape.entries = past + rows;
    if (has_cache)
        shape.kv_bytes_per_entry =
            config.kv_heads * config.head_dim * static_cast<std::int64_t>(element_bytes(kv.k) + element_bytes(kv.v));
    return shape;
}

Cost step_cost(const StepProgram& program, const StepShape& shape) {
    Cost cost;
    for (const OpDesc& op : program.ops) {
        const OpCost one = op_cost(op, shape);
        cost.flops += one.flops;
        cost.bytes += one.bytes;
    }
    return cost;
}

Cost cached_step_cost(const StepProgram& program, const ModelConfig& config, const KvFormat& kv, std::int64_t length) {
    return step_cost(program, causal_shape(config, length - 1, 1, kv, true));
}

Cost recompute_step_cost(const StepProgram& program, const ModelConfig& config, std::int64_t length) {
    return step_cost(program, causal_shape(config, 0, length, {}, false));
}

std::int64_t cached_run_flops(const StepProgram& program, const ModelConfig& config, std::int64_t prompt,
                              std::int64_t new_tokens) {
    std::int64_t flops = recompute_step_cost(program, config, prompt).flops;  // prefill: the same products
    for (std::int64_t length = prompt + 1; length < prompt + new_tokens; ++length)
        flops += cached_step_cost(program, config, {}, length).flops;
    return flops;
}

std::int64_t recompute_run_flops(const StepProgram& program, const ModelConfig& config, std::int64_t prompt,
                                 std::int64_t new_tokens) {
    std::int64_t flops = 0;
    for (std::int64_t length = prompt; length < prompt + new_tokens; ++length)
        flops += recompute_step_cost(program, config, length).flops;
    return flops;
}

PowerLawFit fit_power_law(const std::vector<double>& lengths, const std::vector<double>& times) {
    PowerLawFit fit;
    std::vector<std::pair<double, double>> points;  // ln(length), ln(time)
    std::set<double> distinct;
    for (std::size_t i = 0; i < std::min(lengths.size(), times.size()); ++i) {
        if (!usable(lengths[i]) || !usable(times[i])) continue;
        points.emplace_back(std::log(lengths[i]), std::log(times[i]));
        distinct.insert(lengths[i]);
    }
    if (distinct.size() < kFewestLengths) {
        fit.reason = fmt::format("not enough data: a fit needs at least {} lengths and there are {}", kFewestLengths,
                                 distinct.size());
        return fit;
    }
    const auto count = static_cast<double>(points.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
    for (const auto& [x, y] : points) {
        mean_x += x / count;
        mean_y += y / count;
    }
    for (const auto& [x, y] : points) {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
    }
    fit.valid = true;
    fit.exponent = xy / xx;
    fit.factor = std::exp(mean_y - fit.exponent * mean_x);
    for (const auto& [x, y] : points) {
        const double error = y - mean_y - fit.exponent * (x - mean_x);
        squares += error * error;
    }
    fit.residual = std::sqrt(squares / count);
    return fit;
}

CostFit fit_cost(const std::vector<Cost>& costs, const std::vector<double>& micros) {
    CostFit fit;
    NonNegativeFit data;
    std::set<std::pair<std::int64_t, std::int64_t>> distinct;
    for (std::size_t i = 0; i < std::min(costs.size(), micros.size()); ++i) {
        if (!usable(micros[i]) || costs[i].flops < 0 || costs[i].bytes < 0) continue;
        data.columns.push_back({static_cast<double>(costs[i].flops) / micros[i],
                                static_cast<double>(costs[i].bytes) / micros[i], 1.0 / micros[i]});
        distinct.insert({costs[i].flops, costs[i].bytes});
    }
    if (distinct.size() < 2) {
        fit.reason = fmt::format("not enough data: an expected curve needs at least 2 lengths and there are {}",
                                 distinct.size());
        return fit;
    }
    const std::array<double, 3> scale = data.lengths();
    double best = 0;
    for (unsigned subset = 1; subset < 8; ++subset) {
        bool empty_column = false;
        for (std::size_t c = 0; c < 3; ++c) empty_column = empty_column || ((subset >> c & 1u) != 0 && scale[c] == 0);
        std::array<double, 3> coefficients{};
        if (empty_column || !data.solve_subset(subset, scale, coefficients)) continue;
        const double error = data.squared_error(coefficients);
        if (fit.valid && error >= best) continue;
        best = error;
        fit.valid = true;
        fit.micros_per_flop = coefficients[0];
        fit.micros_per_byte = coefficients[1];
        fit.micros_fixed = coefficients[2];
    }
    return fit;
}

}  // namespace decodescope
