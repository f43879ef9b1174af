// Sums of attention weights over heads, visibility that is a layer's own, and visitors between layers, on the device.
#include <cmath>

#include "tests/cuda/emulated_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;

TinyShape tiny() {
    TinyShape shape;
    shape.heads = 6, shape.kv_heads = 2, shape.head_dim = 10, shape.hidden = 40, shape.context = 400;
    return shape;
}

class CudaWeightSums : public EmulatedDevice {
protected:
    void SetUp() override {
        EmulatedDevice::SetUp();
        backend_ = make_emulated();
        ProgramBuilder builder(77);
        test::build_tiny_model(tiny(), builder);
        auto weights = backend_->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        CompileOptions options;
        options.max_rows = options.max_logits_rows = 64;
        auto compiled = backend_->compile(builder.program, *weights, options);
        ASSERT_TRUE(compiled.ok());
        step_ = std::move(*compiled);
    }
    void TearDown() override {
        step_.reset();
        backend_.reset();
        EmulatedDevice::TearDown();
    }

    struct Sums {
        std::vector<std::vector<float>> layers;  // [layers][rows * entries]
        StepResult result;
    };

    // A cache with `before` entries of made-up keys, then one step of `rows` rows; layer 0 is left out when `some`.
    Sums run(int before, int rows, bool capture, bool some = false) {
        test::Random random(9);
        const auto cache = TestCache::make(*backend_, {tiny().layers, tiny().kv_heads, tiny().head_dim, before + rows});
        for (int layer = 0; layer < tiny().layers; ++layer)
            for (std::int32_t e = 0; e < before; ++e) {
                std::vector<float> k, v;
                for (int i = 0; i < tiny().kv_heads * tiny().head_dim; ++i) {
                    k.push_back(random.uniform(-1, 1));
                    v.push_back(random.uniform(-1, 1));
                }
                cache->write(layer, e, k, v);
            }
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < rows; ++i) tokens.push_back(random.below(tiny().vocabulary));
        const auto views = cache->views(before + rows);
        Sums sums;
        sums.layers.assign(2, std::vector<float>(static_cast<std::size_t>(rows * (before + rows)), std::nanf("")));
        std::vector<float*> pointers = {some ? nullptr : sums.layers[0].data(), sums.layers[1].data()};
        SequenceRows sequence{0, rows, views};
        sequence.weight_sums = pointers;
        sums.result = test::run_step(*backend_, *step_, StepCase::causal(tokens, before), {sequence}, {capture, 0, {}});
        EXPECT_TRUE(sums.result.status.ok()) << sums.result.status.error().text();
        return sums;
    }

    std::unique_ptr<Backend> backend_;
    std::unique_ptr<CompiledStep> step_;
};

TEST_F(CudaWeightSums, AreTheCapturedWeightsAddedUp) {
    for (const auto& [before, rows] : {std::pair{0, 1}, {20, 1}, {7, 3}, {0, 5}, {11, 40}, {150, 2}, {200, 9}}) {
        SCOPED_TRACE(testing::Message() << before << " + " << rows);
        const Sums captured = run(before, rows, true), plain = run(before, rows, false);
        const auto entries = static_cast<std::size_t>(before + rows), heads = static_cast<std::size_t>(tiny().heads);
        for (std::size_t layer = 0; layer < 2; ++layer)
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
                for (std::size_t e = 0; e < entries; ++e) {
                    double sum = 0;
                    for (std::size_t h = 0; h < heads; ++h)
                        sum += static_cast<double>(captured.result.attention[layer][(r * heads + h) * entries + e]);
                    ASSERT_NEAR(static_cast<double>(captured.layers[layer][r * entries + e]), sum, 1e-5);
                }
        EXPECT_EQ(plain.layers, captured.layers);  // neither asking nor capturing changes a bit
        EXPECT_EQ(plain.result.logits, captured.result.logits);
        const Sums one = run(before, rows, false, true);
        EXPECT_EQ(one.layers[1], plain.layers[1]);
        EXPECT_TRUE(std::isnan(one.layers[0][0]));
    }
}

TEST_F(CudaWeightSums, EveryLayerSeesWhatItMay) {
    const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2};
    for (const int rows : {1, 2, 7}) {
        const auto cache = TestCache::make(*backend_, {tiny().layers, tiny().kv_heads, tiny().head_dim, 7});
        const auto begun = cache->views(7 - rows), views = cache->views(7);
        if (rows < 7) {
            const StepCase first = StepCase::causal({tokens.begin(), tokens.end() - rows}, 0);
            ASSERT_TRUE(test::run_step(*backend_, *step_, first, {{0, 7 - rows, begun}}).status.ok());
        }
        const StepCase last = StepCase::causal({tokens.end() - rows, tokens.end()}, 7 - rows);
        std::vector<RowVisibility> narrow = last.visibility;
        for (RowVisibility& row : narrow) row.window_first = std::max(0, row.position - 2);
        const RowVisibility* const rows_of_layers[] = {last.visibility.data(), narrow.data()};
        SequenceRows sequence{0, rows, views};
        sequence.layer_visibility = rows_of_layers;
        const StepResult result = test::run_step(*backend_, *step_, last, {sequence}, {true, 0, {}});
        ASSERT_TRUE(result.status.ok());
        for (std::size_t layer = 0; layer < 2; ++layer)
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
                for (std::size_t e = 0; e < 7; ++e) {
                    const auto position = static_cast<std::size_t>(last.visibility[r].position);
                    const bool seen = e <= position && (layer == 0 || e + 2 >= position);
                    EXPECT_EQ(result.attention[layer][r * static_cast<std::size_t>(tiny().heads) * 7 + e] > 0, seen);
                }
    }
}

class Watcher final : public LayerVisitor {
public:
    Status before_layer(int layer) override {
        told.push_back(layer);
        return {};
    }
    Status after_layer(int layer) override {
        told.push_back(100 + layer);
        return fails_after == layer ? Status(make_error(ErrorKind::File, "the file is gone")) : Status();
    }
    std::vector<int> told;
    int fails_after = -1;
};

TEST_F(CudaWeightSums, VisitorsAreToldInOrderAndTheirErrorsEndTheStep) {
    const auto cache = TestCache::make(*backend_, {tiny().layers, tiny().kv_heads, tiny().head_dim, 8});
    for (const int rows : {1, 8}) {
        const auto views = cache->views(rows);
        const StepCase all = StepCase::causal(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 2), 0);
        std::vector<float> logits(static_cast<std::size_t>(rows * tiny().vocabulary));
        const SequenceRows sequence{0, rows, views};
        Watcher watcher;
        StepInputs inputs;
        inputs.tokens = all.tokens;
        inputs.positions = all.positions;
        inputs.visibility = all.visibility;
        inputs.logits_rows = all.logits_rows;
        inputs.sequences = {&sequence, 1};
        inputs.visitor = &watcher;
        StepOutputs outputs;
        outputs.logits = logits;
        ASSERT_TRUE(backend_->run(*step_, inputs, outputs, {}).ok());
        EXPECT_EQ(watcher.told, (std::vector<int>{0, 100, 1, 101}));
        watcher.fails_after = 0;
        const Status status = backend_->run(*step_, inputs, outputs, {});
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().message, "the file is gone");
        EXPECT_EQ(watcher.told.size(), 6u);
    }
}

}  // namespace
}  // namespace decodescope
