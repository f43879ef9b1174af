#include "kernels/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/element_access.h"

namespace decodescope::reference {
namespace {

double element(const HostTensor& tensor, std::int64_t row, std::int64_t column) {
    return static_cast<double>(load_weight(tensor, row, column));
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

void linear(std::span<const float> x, const HostTensor& weight, const HostTensor* bias, std::span<float> out) {
    for (std::int64_t o = 0; o < weight.rows; ++o) {
        double sum = bias != nullptr ? element(*bias, o, 0) : 0.0;
        for (std::int64_t i = 0; i < weight.columns; ++i)
            sum += static_cast<double>(x[static_cast<std::size_t>(i)]) * element(weight, o, i);
        out[static_cast<std::size_t>(o)] = static_cast<float>(sum);
    }
}

void rms_norm(std::span<const float> x, const HostTensor& weight, double epsilon, std::span<float> out) {
    double squares = 0.0;
    for (float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i)
        out[i] =
            static_cast<float>(static_cast<double>(x[i]) * factor * element(weight, static_cast<std::int64_t>(i), 0));
}

void layer_norm(std::span<const float> x, const HostTensor& weight, const HostTensor& bias, double epsilon,
                std::span<float> out) {
    const auto width = static_cast<double>(x.size());
    double mean = 0.0;
    for (float value : x) mean += static_cast<double>(value) / width;
    double variance = 0.0;
    for (float value : x) variance += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean) / width;
    const double factor = 1.0 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        out[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * factor * element(weight, row, 0) +
                                    element(bias, row, 0));
    }
}

void rope(std::span<const float> x, const OpDesc& op, std::int32_t position, std::span<float> out) {
    const auto head_dim = static_cast<std::size_t>(op.head_dim);
    const auto rotary = static_cast<std::size_t>(op.rope.rotary_dim);
    const std::size_t half = rotary / 2;
    for (std::size_t head = 0; head < x.size(); head += head_dim) {
        for (std::size_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(position) * rope_frequency(op.rope, static_cast<std::int64_t>(i));
            const double a = x[head + i], b = x[head + i + half];
            out[head + i] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
            out[head + i + half] = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
        }
        for (std::size_t i = rotary; i < head_dim; ++i) out[head + i] = x[head + i];
    }
}

void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double g = gate[i];
        out[i] = static_cast<float>(g * sigmoid(g) * static_cast<double>(up[i]));
    }
}

namespace {

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u), which loses no digits where tanh(u) is close to -1.
double gelu(double x) {
    const double factor = std::sqrt(2.0 / 3.14159265358979323846);
    return x * sigmoid(2.0 * factor * (x + 0.044715 * x * x * x));
}

}  // namespace

void gelu_tanh(std::span<const float> x, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(gelu(x[i]));
}

// 0.5 x (1 + erf(x / sqrt(2))) = 0.5 x erfc(-x / sqrt(2)), for the same reason.
void gelu_erf(std::span<const float> x, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double value = x[i];
        out[i] = static_cast<float>(0.5 * value * std::erfc(-value / std::sqrt(2.0)));
    }
}

void geglu(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(gelu(gate[i]) * static_cast<double>(up[i]));
}

void store_row(std::span<const float> k, std::span<const float> v, const KvView& view, std::int32_t entry) {
    for (std::int64_t head = 0; head < view.kv_heads; ++head) {
        store_kv(kv_row(view.k, view.table, head, entry), k.data() + head * view.head_dim, view.head_dim);
        store_kv(kv_row(view.v, view.table, head, entry), v.data() + head * view.head_dim, view.head_dim);
    }
}

namespace {

// One head of one row. Scores of the entries in `seen` become their weights. `sink_q` reads those below sink_end.
void attend_head(std::span<const float> q, std::span<const float> sink_q, std::int32_t sink_end, double scale,
                 const KvView& view, std::int64_t kv_head, const std::vector<std::int32_t>& seen,
                 std::vector<double>& weights, std::span<float> out) {
    double highest = -HUGE_VAL;
    for (std::size_t j = 0; j < seen.size(); ++j) {
        const KvRow key = kv_row(view.k, view.table, kv_head, seen[j]);
        const std::span<const float> reader = entry_position(view.table, seen[j]) < sink_end ? sink_q : q;
        double score = 0.0;
        for (std::size_t i = 0; i < q.size(); ++i)
            score += static_cast<double>(reader[i]) *
                     static_cast<double>(load_kv(key, view.head_dim, static_cast<std::int64_t>(i)));
        weights[j] = score * scale;
        highest = std::max(highest, weights[j]);
    }
    double sum = 0.0;
    for (std::size_t j = 0; j < seen.size(); ++j) {
        weights[j] = std::exp(weights[j] - highest);
        sum += weights[j];
    }
    std::vector<double> mixed(q.size(), 0.0);
    for (std::size_t j = 0; j < seen.size(); ++j) {
        weights[j] /= sum;
        const KvRow value = kv_row(view.v, view.table, kv_head, seen[j]);
        for (std::size_t i = 0; i < q.size(); ++i)
            mixed[i] +=
                weights[j] * static_cast<double>(load_kv(value, view.head_dim, static_cast<std::int64_t>(i)));
    }
    for (std::size_t i = 0; i < q.size(); ++i) out[i] = static_cast<float>(mixed[i]);
}

}  // namespace

void attend(std::span<const float> q, const OpDesc& op, const KvView& view, const RowVisibility& row, float* weights,
            std::int64_t weights_stride, std::span<float> out) {
    std::vector<std::int32_t> seen;
    for (std::int32_t entry = 0; entry < view.table.count; ++entry)
        if (visible(row, entry_position(view.table, entry))) seen.push_back(entry);
    std::vector<double> head_weights(seen.size());
    std::vector<float> turned(q.begin(), q.end());
    if (row.sink_shift != 0) rope(q, op, -row.sink_shift, turned);
    const std::span<const float> sink_q(turned);
    const auto head_dim = static_cast<std::size_t>(op.head_dim);
    const int group = op.heads / op.kv_heads;
    for (int head = 0; head < op.heads; ++head) {
        const std::size_t first = static_cast<std::size_t>(head) * head_dim;
        attend_head(q.subspan(first, head_dim), sink_q.subspan(first, head_dim), row.sink_end, op.scale, view,
                    head / group, seen, head_weights, out.subspan(first, head_dim));
        if (weights == nullptr) continue;
        float* line = weights + head * weights_stride;
        std::fill(line, line + weights_stride, 0.0f);
        for (std::size_t j = 0; j < seen.size(); ++j) line[seen[j]] = static_cast<float>(head_weights[j]);
    }
}

}  // namespace decodescope::reference
