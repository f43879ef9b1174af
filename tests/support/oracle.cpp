#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/half.h"

namespace decodescope {
namespace {

using Vector = std::vector<double>;

class Oracle {
public:
    Oracle(const Model& model, const OracleOptions& options) : model_(model), c_(model.config), options_(options) {}

    OracleResult run(std::span<const std::int32_t> tokens) {
        std::vector<Vector> hidden;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            Vector x = row(model_.index.token_embedding, tokens[i], c_.hidden);
            if (c_.family == Family::Gpt2) {
                const Vector p = row(model_.index.position_embedding, position(i), c_.hidden);
                for (std::size_t j = 0; j < x.size(); ++j) x[j] += p[j];
            }
            hidden.push_back(std::move(x));
        }
        for (const auto& layer : model_.index.layers) {
            attend(layer, hidden);
            for (auto& x : hidden) feed_forward(layer, x);
        }
        for (const auto& x : hidden) {
            result_.logits.push_back(linear(norm(x, model_.index.final_norm, model_.index.final_norm_bias),
                                            model_.index.head, kNone, c_.vocabulary));
        }
        return std::move(result_);
    }

private:
    double element(int tensor, std::int64_t r, std::int64_t c) const {
        const WeightTensor& t = model_.weights.tensors[static_cast<std::size_t>(tensor)];
        const std::int64_t at = r * t.row_stride + c * t.column_stride;
        if (t.type == ElementType::F32) return static_cast<const float*>(t.data)[at];
        const std::uint16_t half = static_cast<const std::uint16_t*>(t.data)[at];
        return t.type == ElementType::F16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
    Vector row(int tensor, std::int64_t r, std::int64_t width) const {
        Vector x(static_cast<std::size_t>(width));
        for (std::int64_t i = 0; i < width; ++i) x[static_cast<std::size_t>(i)] = element(tensor, r, i);
        return x;
    }
    Vector linear(const Vector& x, int weight, int bias, std::int64_t width) const {
        Vector out(static_cast<std::size_t>(width));
        for (std::int64_t o = 0; o < width; ++o) {
            double sum = bias == kNone ? 0 : element(bias, o, 0);
            for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * element(weight, o, static_cast<std::int64_t>(i));
            out[static_cast<std::size_t>(o)] = sum;
        }
        return out;
    }
    Vector norm(const Vector& x, int weight, int bias) const {
        const double n = static_cast<double>(x.size());
        double mean = 0, square = 0;
        if (c_.family == Family::Gpt2) {
            for (const double v : x) mean += v / n;
        }
        for (const double v : x) square += (v - mean) * (v - mean) / n;
        Vector out(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            out[i] = (x[i] - mean) / std::sqrt(square + static_cast<double>(c_.norm_epsilon)) *
                     element(weight, static_cast<std::int64_t>(i), 0);
            if (bias != kNone) out[i] += element(bias, static_cast<std::int64_t>(i), 0);
        }
        return out;
    }
    std::int64_t position(std::size_t index) const {
        const auto i = static_cast<std::int64_t>(index);
        return options_.position_of ? options_.position_of(i) : i;
    }
    // Pairs (i, i + d / 2) of every head turned by position * theta^(-2 i / d).
    void rotate(Vector& x, std::int64_t p) const {
        if (c_.family == Family::Gpt2) return;
        const auto d = static_cast<std::size_t>(c_.head_dim);
        for (std::size_t h = 0; h < x.size(); h += d) {
            for (std::size_t i = 0; i < d / 2; ++i) {
                const double angle =
                    static_cast<double>(p) * std::pow(static_cast<double>(c_.rope_theta),
                                                      -2.0 * static_cast<double>(i) / static_cast<double>(d));
                const double a = x[h + i], b = x[h + i + d / 2];
                x[h + i] = a * std::cos(angle) - b * std::sin(angle);
                x[h + i + d / 2] = b * std::cos(angle) + a * std::sin(angle);
            }
        }
    }
    bool sees(std::size_t r, std::size_t j) const {
        if (options_.visible_in_layer)
            return options_.visible_in_layer(static_cast<std::int64_t>(result_.attention.size()) - 1,
                                             static_cast<std::int64_t>(r), static_cast<std::int64_t>(j));
        if (options_.visible) return options_.visible(static_cast<std::int64_t>(r), static_cast<std::int64_t>(j));
        return j <= r;
    }
    // Softmax over the visible positions of one row.
    Vector weights_of(std::size_t r, const double* q, const std::vector<Vector>& k, std::int64_t kv_head) const {
        const double scale = 1 / std::sqrt(static_cast<double>(c_.head_dim));
        Vector scores(k.size(), -std::numeric_limits<double>::infinity());
        for (std::size_t j = 0; j < k.size(); ++j) {
            if (!sees(r, j)) continue;
            scores[j] = 0;
            for (std::int64_t i = 0; i < c_.head_dim; ++i)
                scores[j] += q[i] * k[j][static_cast<std::size_t>(kv_head * c_.head_dim + i)] * scale;
        }
        const double highest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& s : scores) sum += s = std::exp(s - highest);
        for (double& s : scores) s /= sum;
        return scores;
    }
    // Rotates the query of row r, and copies of the keys that it sees, by the positions that the row gives them.
    std::vector<Vector> turn_for_row(std::size_t r, Vector& q, const std::vector<Vector>& k) const {
        const auto row = static_cast<std::int64_t>(r);
        rotate(q, options_.position_in_row(row, row));
        std::vector<Vector> turned = k;
        for (std::size_t j = 0; j < k.size(); ++j)
            if (sees(r, j)) rotate(turned[j], options_.position_in_row(row, static_cast<std::int64_t>(j)));
        return turned;
    }
    // Of the exact rows and the stored ones, what row r reads.
    std::vector<Vector> rows_for(std::size_t r, bool is_value, const std::vector<Vector>& exact,
                                 const std::vector<Vector>& stored) const {
        if (!options_.reads_stored) return stored;
        std::vector<Vector> rows;
        for (std::size_t j = 0; j < exact.size(); ++j) {
            const bool coarse =
                options_.reads_stored(is_value, static_cast<std::int64_t>(r), static_cast<std::int64_t>(j));
            rows.push_back(coarse ? stored[j] : exact[j]);
        }
        return rows;
    }
    void attend(const LayerWeights& w, std::vector<Vector>& hidden) {
        std::vector<Vector> q, k, v;
        for (std::size_t r = 0; r < hidden.size(); ++r) {
            const Vector x = norm(hidden[r], w.attention_norm, w.attention_norm_bias);
            q.push_back(linear(x, w.query, w.query_bias, c_.heads * c_.head_dim));
            k.push_back(linear(x, w.key, w.key_bias, c_.kv_heads * c_.head_dim));
            v.push_back(linear(x, w.value, w.value_bias, c_.kv_heads * c_.head_dim));
            if (!options_.position_in_row) rotate(q.back(), position(r));
            if (!options_.position_in_row) rotate(k.back(), position(r));
        }
        std::vector<Vector> stored_k, stored_v, coarse_k, coarse_v;
        if (options_.stored) stored_k = options_.stored(false, k), stored_v = options_.stored(true, v);
        auto& captured = result_.attention.emplace_back(static_cast<std::size_t>(c_.heads));
        for (std::size_t r = 0; r < hidden.size(); ++r) {
            std::vector<Vector> turned_k;
            if (options_.position_in_row) turned_k = turn_for_row(r, q[r], k);
            if (options_.stored) coarse_k = rows_for(r, false, k, stored_k), coarse_v = rows_for(r, true, v, stored_v);
            const std::vector<Vector>& keys = options_.position_in_row ? turned_k : options_.stored ? coarse_k : k;
            const std::vector<Vector>& values = options_.stored ? coarse_v : v;
            Vector joined(static_cast<std::size_t>(c_.heads * c_.head_dim), 0.0);
            for (std::int64_t h = 0; h < c_.heads; ++h) {
                const std::int64_t kv = options_.kv_head_of ? options_.kv_head_of(h) : h / (c_.heads / c_.kv_heads);
                const Vector weights = weights_of(r, q[r].data() + h * c_.head_dim, keys, kv);
                for (std::size_t j = 0; j < values.size(); ++j) {
                    for (std::int64_t i = 0; i < c_.head_dim; ++i) {
                        joined[static_cast<std::size_t>(h * c_.head_dim + i)] +=
                            weights[j] * values[j][static_cast<std::size_t>(kv * c_.head_dim + i)];
                    }
                }
                captured[static_cast<std::size_t>(h)].push_back(weights);
            }
            if (options_.row_done) {
                std::vector<Vector> of_row;
                for (const auto& head : captured) of_row.push_back(head.back());
                options_.row_done(static_cast<std::int64_t>(result_.attention.size()) - 1,
                                  static_cast<std::int64_t>(r), of_row);
            }
            const Vector out = linear(joined, w.output, w.output_bias, c_.hidden);
            for (std::size_t i = 0; i < out.size(); ++i) hidden[r][i] += out[i];
        }
        result_.k.push_back(std::move(k));
        result_.v.push_back(std::move(v));
    }
    void feed_forward(const LayerWeights& w, Vector& x) const {
        const Vector in = norm(x, w.feed_forward_norm, w.feed_forward_norm_bias);
        Vector inner = linear(in, w.up, w.up_bias, c_.feed_forward);
        if (c_.family == Family::Llama) {
            const Vector gate = linear(in, w.gate, kNone, c_.feed_forward);
            for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= gate[i] / (1 + std::exp(-gate[i]));
        } else {
            for (double& u : inner)
                u = 0.5 * u * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (u + 0.044715 * u * u * u)));
        }
        const Vector out = linear(inner, w.down, w.down_bias, c_.hidden);
        for (std::size_t i = 0; i < out.size(); ++i) x[i] += out[i];
    }

    const Model& model_;
    const ModelConfig& c_;
    const OracleOptions& options_;
    OracleResult result_;
};

}  // namespace

OracleResult run_oracle(const Model& model, std::span<const std::int32_t> tokens, const OracleOptions& options) {
    return Oracle(model, options).run(tokens);
}

double relative_error(std::span<const float> a, std::span<const double> b) {
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (!std::isfinite(a[i])) return std::numeric_limits<double>::infinity();
        difference = std::max(difference, std::abs(static_cast<double>(a[i]) - b[i]));
        largest = std::max(largest, std::abs(b[i]));
    }
    return difference / largest;
}

double relative_l2(std::span<const float> a, std::span<const double> b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (!std::isfinite(a[i])) return std::numeric_limits<double>::infinity();
        difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
        size += b[i] * b[i];
    }
    return std::sqrt(difference / size);
}

}  // namespace decodescope
