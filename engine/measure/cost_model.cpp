#include "engine/measure/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "engine/model/layer_kinds.h"

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

// Weighted least squares with three non-negative coefficients: every subset of the three columns is tried, and the best
// one without a negative coefficient wins. Exact for so few columns.
struct NonNegativeFit {
    std::vector<std::array<double, 3>> columns;  // of each point, times its weight
    std::vector<double> targets;                 // time times weight

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
        for (std::size_t i = 0; i < columns.size(); ++i)
            for (std::size_t r = 0; r < size; ++r) {
                const double value = columns[i][used[r]] / scale[used[r]];
                for (std::size_t c = 0; c < size; ++c) rows[r][c] += value * columns[i][used[c]] / scale[used[c]];
                rows[r][size] += value * targets[i];
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
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto& point = columns[i];
            const double error =
                coefficients[0] * point[0] + coefficients[1] * point[1] + coefficients[2] * point[2] - targets[i];
            sum += error * error;
        }
        return sum;
    }

    std::optional<std::array<double, 3>> solve_best() const {
        const std::array<double, 3> scale = lengths();
        std::optional<std::array<double, 3>> best;
        double least = 0;
        for (unsigned subset = 1; subset < 8; ++subset) {
            bool empty_column = false;
            for (std::size_t c = 0; c < 3; ++c)
                empty_column = empty_column || ((subset >> c & 1u) != 0 && scale[c] == 0);
            std::array<double, 3> coefficients{};
            if (empty_column || !solve_subset(subset, scale, coefficients)) continue;
            const double error = squared_error(coefficients);
            if (best && error >= least) continue;
            least = error;
            best = coefficients;
        }
        return best;
    }
};

struct PricedPass {
    std::array<double, 3> columns;  // FLOPs, bytes, 1
    double micros = 0;

    double expected(const std::array<double, 3>& prices) const {
        return prices[0] * columns[0] + prices[1] * columns[1] + prices[2] * columns[2];
    }
};

// One round: errors relative to `sizes`; a pass that is off by more than half counts less the further off it is, so
// that hiccups of the machine do not bend the curve.
std::optional<std::array<double, 3>> fit_round(const std::vector<PricedPass>& passes, const std::vector<double>& sizes,
                                               bool robust) {
    constexpr double kUsual = 0.5;
    NonNegativeFit data;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const double off = std::abs(passes[i].micros - sizes[i]) / sizes[i];
        const double weight = std::sqrt(robust && off > kUsual ? kUsual / off : 1.0) / sizes[i];
        data.columns.push_back(
            {passes[i].columns[0] * weight, passes[i].columns[1] * weight, passes[i].columns[2] * weight});
        data.targets.push_back(passes[i].micros * weight);
    }
    return data.solve_best();
}

}  // namespace

namespace {

// Of one layer. A local one has kept the window without its oldest row, and reads the new rows beside them.
StepShape layer_shape(const ModelConfig& config, std::int64_t window, std::int64_t past, std::int64_t rows,
                      const KvFormat& kv, bool has_cache) {
    StepShape shape;
    shape.rows = rows;
    shape.logits_rows = 1;
    shape.attended = attended_entries(past, rows, window);
    shape.entries = (window > 0 ? std::min(past, window - 1) : past) + rows;
    if (has_cache) count_kv_bytes(KvShape::of(config, kv), past, shape);
    return shape;
}

}  // namespace

StepShape causal_shape(const ModelConfig& config, std::int64_t past, std::int64_t rows, const KvFormat& kv,
                       bool has_cache) {
    const std::vector<LayerKind> kinds = layer_kinds(config);
    if (kinds.empty()) return layer_shape(config, 0, past, rows, kv, has_cache);
    StepShape mean = layer_shape(config, kinds.front().window, past, rows, kv, has_cache);
    std::int64_t attended = 0, entries = 0;
    for (const LayerKind& kind : kinds) {
        const StepShape shape = layer_shape(config, kind.window, past, rows, kv, has_cache);
        attended += kind.layers * shape.attended;
        entries += kind.layers * shape.entries;
    }
    mean.attended = attended / config.layers;
    mean.entries = entries / config.layers;
    return mean;
}

Cost causal_cost(const StepProgram& program, const ModelConfig& config, std::int64_t past, std::int64_t rows,
                 const KvFormat& kv, bool has_cache) {
    const StepShape all = layer_shape(config, 0, past, rows, kv, has_cache);
    const StepShape local = layer_shape(config, local_kind(config).window, past, rows, kv, has_cache);
    Cost cost;
    for (const OpDesc& op : program.ops) {
        const bool in_window = op.layer != kNone && layer_window(config, op.layer) > 0;
        const OpCost one = op_cost(op, in_window ? local : all);
        cost.flops += one.flops;
        cost.bytes += one.bytes;
    }
    return cost;
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
    return causal_cost(program, config, length - 1, 1, kv, true);
}

Cost recompute_step_cost(const StepProgram& program, const ModelConfig& config, std::int64_t length) {
    return causal_cost(program, config, 0, length, {}, false);
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
    std::vector<PricedPass> passes;
    std::vector<double> sizes;
    std::set<std::pair<std::int64_t, std::int64_t>> distinct;
    for (std::size_t i = 0; i < std::min(costs.size(), micros.size()); ++i) {
        if (!usable(micros[i]) || costs[i].flops < 0 || costs[i].bytes < 0) continue;
        passes.push_back({{static_cast<double>(costs[i].flops), static_cast<double>(costs[i].bytes), 1.0}, micros[i]});
        sizes.push_back(micros[i]);
        distinct.insert({costs[i].flops, costs[i].bytes});
    }
    if (distinct.size() < 2) {
        fit.reason = fmt::format("not enough data: an expected curve needs at least 2 lengths and there are {}",
                                 distinct.size());
        return fit;
    }
    // Relative to the measured times first, then to the expected ones: the former alone would follow the fastest of
    // passes that scatter, because a small time makes an error look large.
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds; ++round) {
        const auto prices = fit_round(passes, sizes, round > 0);
        if (!prices) break;
        fit.valid = true;
        fit.micros_per_flop = (*prices)[0];
        fit.micros_per_byte = (*prices)[1];
        fit.micros_fixed = (*prices)[2];
        for (std::size_t i = 0; i < passes.size(); ++i)
            sizes[i] = std::max(passes[i].expected(*prices), 1e-3 * passes[i].micros);
    }
    return fit;
}

}  // namespace decodescope
