// Sums of attention weights over query heads, and visibility that is a layer's own: on every backend, for few rows,
// blocks of rows and long caches, with and without capture.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::CacheShape;
using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;

TinyShape tiny() {
    TinyShape shape;
    shape.heads = 6, shape.kv_heads = 2, shape.head_dim = 10, shape.hidden = 40, shape.context = 1400;
    return shape;
}

struct Machine {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<CompiledStep> step;

    explicit Machine(std::unique_ptr<Backend> backend_in) : backend(std::move(backend_in)) {
        ProgramBuilder builder(77);
        test::build_tiny_model(tiny(), builder);
        auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        CompileOptions options;
        options.max_rows = options.max_logits_rows = 64;
        step = std::move(backend->compile(builder.program, weights.value(), options).value());
    }
};

Machine machine(const std::string& id, int threads = 2) {
    if (id == "reference") return Machine(make_reference_backend());
    CpuBackendOptions options;
    options.threads = threads;
    options.instruction_set = id;
    return Machine(std::move(make_cpu_backend(options).value()));
}

// A cache with `before` entries of made-up keys, then one step of `rows` rows; sums of layer 1 only when `some`.
struct Sums {
    std::vector<std::vector<float>> layers;  // [layers][rows * entries]
    StepResult result;
};

Sums run(Machine& on, int before, int rows, bool capture, bool some = false) {
    test::Random random(9);
    const auto cache = TestCache::make(*on.backend, {tiny().layers, tiny().kv_heads, tiny().head_dim, before + rows});
    std::vector<std::int32_t> tokens;
    for (int layer = 0; layer < tiny().layers; ++layer)
        for (std::int32_t e = 0; e < before; ++e) {
            std::vector<float> k, v;
            for (int i = 0; i < tiny().kv_heads * tiny().head_dim; ++i) {
                k.push_back(random.uniform(-1, 1));
                v.push_back(random.uniform(-1, 1));
            }
            cache->write(layer, e, k, v);
        }
    for (int i = 0; i < rows; ++i) tokens.push_back(random.below(tiny().vocabulary));
    const auto views = cache->views(before + rows);
    Sums sums;
    std::vector<float*> pointers;
    // A guard behind each: NaN stays NaN.
    sums.layers.assign(2, std::vector<float>(static_cast<std::size_t>(rows * (before + rows) + 8), std::nanf("")));
    for (std::size_t layer = 0; layer < 2; ++layer)
        pointers.push_back(some && layer == 0 ? nullptr : sums.layers[layer].data());
    SequenceRows sequence{0, rows, views};
    sequence.weight_sums = pointers;
    sums.result = test::run_step(*on.backend, *on.step, StepCase::causal(tokens, before), {sequence}, {capture, 0, {}});
    EXPECT_TRUE(sums.result.status.ok());
    for (auto& layer : sums.layers) {
        for (std::size_t i = layer.size() - 8; i < layer.size(); ++i) EXPECT_TRUE(std::isnan(layer[i]));
        layer.resize(layer.size() - 8);
    }
    return sums;
}

std::vector<std::string> backends() {
    std::vector<std::string> ids = cpu_instruction_sets();
    ids.push_back("reference");
    return ids;
}

class WeightSums : public testing::TestWithParam<std::string> {};

// 1 and 3 rows go row by row, 5 and 40 as blocks; 600 and 1100 entries are two and three ranges.
TEST_P(WeightSums, AreTheCapturedWeightsAddedUp) {
    Machine on = machine(GetParam());
    for (const auto& [before, rows] : {std::pair{0, 1}, {20, 1}, {7, 3}, {0, 5}, {11, 40}, {600, 2}, {1100, 1}, {600, 9}}) {
        SCOPED_TRACE(testing::Message() << before << " + " << rows);
        const Sums captured = run(on, before, rows, true);
        const auto entries = static_cast<std::size_t>(before + rows), heads = static_cast<std::size_t>(tiny().heads);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
                double all = 0;
                for (std::size_t e = 0; e < entries; ++e) {
                    double sum = 0;
                    for (std::size_t h = 0; h < heads; ++h)
                        sum += static_cast<double>(captured.result.attention[layer][(r * heads + h) * entries + e]);
                    const double got = static_cast<double>(captured.layers[layer][r * entries + e]);
                    ASSERT_NEAR(got, sum, 1e-6 * static_cast<double>(heads)) << r << ' ' << e;
                    ASSERT_TRUE(e <= static_cast<std::size_t>(before) + r || got == 0.0);
                    all += got;
                }
                ASSERT_NEAR(all, static_cast<double>(heads), 1e-4);
            }
        }
        // Neither asking for them nor capturing changes a bit, nor does the number of threads.
        const Sums plain = run(on, before, rows, false);
        EXPECT_EQ(plain.layers, captured.layers);
        EXPECT_EQ(plain.result.logits, captured.result.logits);
        if (GetParam() != "reference") {
            Machine alone = machine(GetParam(), 1);
            EXPECT_EQ(run(alone, before, rows, false).layers, plain.layers);
        }
        const Sums one = run(on, before, rows, false, true);
        EXPECT_EQ(one.layers[1], plain.layers[1]);
        EXPECT_TRUE(std::isnan(one.layers[0][0]));
    }
}

// Layer 1 sees the last three entries only, layer 0 all: as if both had been told so in runs of their own.
TEST_P(WeightSums, EveryLayerSeesWhatItMay) {
    Machine on = machine(GetParam());
    const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2};
    for (const int rows : {1, 2, 7}) {
        const auto cache = TestCache::make(*on.backend, {tiny().layers, tiny().kv_heads, tiny().head_dim, 7});
        const StepCase first = StepCase::causal({tokens.begin(), tokens.end() - rows}, 0);
        StepCase last = StepCase::causal({tokens.end() - rows, tokens.end()}, 7 - rows);
        const auto begun = cache->views(7 - rows);
        if (rows < 7) {
            ASSERT_TRUE(test::run_step(*on.backend, *on.step, first, {{0, 7 - rows, begun}}).status.ok());
        }
        std::vector<RowVisibility> narrow = last.visibility;
        for (RowVisibility& row : narrow) row.window_first = std::max(0, row.position - 2);
        const RowVisibility* const rows_of_layers[] = {last.visibility.data(), narrow.data()};
        const auto views = cache->views(7);
        SequenceRows sequence{0, rows, views};
        sequence.layer_visibility = rows_of_layers;
        const StepResult result = test::run_step(*on.backend, *on.step, last, {sequence}, {true, 0, {}});
        ASSERT_TRUE(result.status.ok());
        for (std::size_t layer = 0; layer < 2; ++layer)
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
                for (std::size_t e = 0; e < 7; ++e) {
                    const auto position = static_cast<std::size_t>(last.visibility[r].position);
                    const bool seen = e <= position && (layer == 0 || e + 2 >= position);
                    const float weight = result.attention[layer][r * static_cast<std::size_t>(tiny().heads) * 7 + e];
                    EXPECT_EQ(weight > 0, seen) << layer << ' ' << r << ' ' << e;
                }
    }
}

TEST_P(WeightSums, WrongSizesAreRefused) {
    Machine on = machine(GetParam());
    const auto cache = TestCache::make(*on.backend, {tiny().layers, tiny().kv_heads, tiny().head_dim, 7});
    const auto views = cache->views(1);
    const StepCase rows = StepCase::causal({1}, 0);
    std::vector<float> room(8);
    float* const pointers[] = {room.data()};
    SequenceRows sequence{0, 1, views};
    sequence.weight_sums = pointers;
    EXPECT_EQ(test::run_step(*on.backend, *on.step, rows, {sequence}).status.error().kind, ErrorKind::Argument);
    const RowVisibility* const nothing[] = {rows.visibility.data(), nullptr};
    sequence.weight_sums = {};
    sequence.layer_visibility = nothing;
    EXPECT_EQ(test::run_step(*on.backend, *on.step, rows, {sequence}).status.error().kind, ErrorKind::Argument);
}

INSTANTIATE_TEST_SUITE_P(Kernels, WeightSums, testing::ValuesIn(backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace decodescope
