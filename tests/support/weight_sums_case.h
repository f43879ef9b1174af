// Sums of attention weights over query heads, and visibility that is a layer's own: what holds on every backend.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/kernel_cases.h"

namespace decodescope::test {

struct WeightSums {
    std::vector<std::vector<float>> layers;  // [layers][rows * entries]
    StepResult result;
};

class WeightSumsCase {
public:
    static TinyShape shape() {
        TinyShape shape;
        shape.heads = 6, shape.kv_heads = 2, shape.head_dim = 10, shape.hidden = 40, shape.context = 1400;
        return shape;
    }

    explicit WeightSumsCase(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {
        ProgramBuilder builder(77);
        build_tiny_model(shape(), builder);
        auto weights = backend_->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        CompileOptions options;
        options.max_rows = options.max_logits_rows = 64;
        step_ = std::move(backend_->compile(builder.program, weights.value(), options).value());
    }

    Backend& backend() { return *backend_; }
    CompiledStep& step() { return *step_; }
    std::unique_ptr<TestCache> cache(int capacity) {
        return TestCache::make(*backend_, {shape().layers, shape().kv_heads, shape().head_dim, capacity});
    }

    // A cache with `before` entries of made-up keys, then one step of `rows` rows; layer 0 is left out when `some`.
    WeightSums run(int before, int rows, bool capture, bool some = false) {
        Random random(9);
        const auto filled = cache(before + rows);
        for (int layer = 0; layer < shape().layers; ++layer)
            for (std::int32_t e = 0; e < before; ++e) {
                std::vector<float> k, v;
                for (int i = 0; i < shape().kv_heads * shape().head_dim; ++i) {
                    k.push_back(random.uniform(-1, 1));
                    v.push_back(random.uniform(-1, 1));
                }
                filled->write(layer, e, k, v);
            }
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < rows; ++i) tokens.push_back(random.below(shape().vocabulary));
        const auto views = filled->views(before + rows);
        WeightSums sums;
        // A guard behind each: NaN stays NaN.
        constexpr std::size_t kGuard = 8;
        const auto size = static_cast<std::size_t>(rows * (before + rows));
        sums.layers.assign(2, std::vector<float>(size + kGuard, std::nanf("")));
        std::vector<float*> pointers = {some ? nullptr : sums.layers[0].data(), sums.layers[1].data()};
        SequenceRows sequence{0, rows, views};
        sequence.weight_sums = pointers;
        sums.result = run_step(*backend_, *step_, StepCase::causal(tokens, before), {sequence}, {capture, 0, {}});
        EXPECT_TRUE(sums.result.status.ok());
        for (auto& layer : sums.layers) {
            for (std::size_t i = size; i < layer.size(); ++i) EXPECT_TRUE(std::isnan(layer[i]));
            layer.resize(size);
        }
        return sums;
    }

    // The sums are the captured weights added up, to `tolerance` a head; asking for them and capturing changes no bit.
    void expect_captured_weights_added_up(int before, int rows, double tolerance) {
        SCOPED_TRACE(testing::Message() << before << " + " << rows);
        const WeightSums captured = run(before, rows, true), plain = run(before, rows, false);
        const auto entries = static_cast<std::size_t>(before + rows), heads = static_cast<std::size_t>(shape().heads);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
                double all = 0;
                for (std::size_t e = 0; e < entries; ++e) {
                    double sum = 0;
                    for (std::size_t h = 0; h < heads; ++h)
                        sum += static_cast<double>(captured.result.attention[layer][(r * heads + h) * entries + e]);
                    const double got = static_cast<double>(captured.layers[layer][r * entries + e]);
                    ASSERT_NEAR(got, sum, tolerance * static_cast<double>(heads)) << r << ' ' << e;
                    ASSERT_TRUE(e <= static_cast<std::size_t>(before) + r || got == 0.0);
                    all += got;
                }
                ASSERT_NEAR(all, static_cast<double>(heads), 1e-4);
            }
        }
        EXPECT_EQ(plain.layers, captured.layers);
        EXPECT_EQ(plain.result.logits, captured.result.logits);
        const WeightSums one = run(before, rows, false, true);
        EXPECT_EQ(one.layers[1], plain.layers[1]);
        EXPECT_TRUE(std::isnan(one.layers[0][0]));
    }

    // Layer 1 sees the last three entries only, layer 0 all: as if both had been told so in runs of their own.
    void expect_every_layer_sees_what_it_may() {
        const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2};
        for (const int rows : {1, 2, 7}) {
            const auto kept = cache(7);
            const auto begun = kept->views(7 - rows), views = kept->views(7);
            if (rows < 7) {
                const StepCase first = StepCase::causal({tokens.begin(), tokens.end() - rows}, 0);
                ASSERT_TRUE(run_step(*backend_, *step_, first, {{0, 7 - rows, begun}}).status.ok());
            }
            const StepCase last = StepCase::causal({tokens.end() - rows, tokens.end()}, 7 - rows);
            std::vector<RowVisibility> narrow = last.visibility;
            for (RowVisibility& row : narrow) row.window_first = std::max(0, row.position - 2);
            const RowVisibility* const rows_of_layers[] = {last.visibility.data(), narrow.data()};
            SequenceRows sequence{0, rows, views};
            sequence.layer_visibility = rows_of_layers;
            const StepResult result = run_step(*backend_, *step_, last, {sequence}, {true, 0, {}});
            ASSERT_TRUE(result.status.ok());
            const auto heads = static_cast<std::size_t>(shape().heads);
            for (std::size_t layer = 0; layer < 2; ++layer)
                for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
                    for (std::size_t e = 0; e < 7; ++e) {
                        const auto position = static_cast<std::size_t>(last.visibility[r].position);
                        const bool seen = e <= position && (layer == 0 || e + 2 >= position);
                        const float weight = result.attention[layer][r * heads * 7 + e];
                        EXPECT_EQ(weight > 0, seen) << layer << ' ' << r << ' ' << e;
                    }
        }
    }

private:
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<CompiledStep> step_;
};

}  // namespace decodescope::test
