// Sums of attention weights over heads, visibility that is a layer's own, and visitors between layers, on the device.
#include "tests/cuda/emulated_backend.h"
#include "tests/support/weight_sums_case.h"

namespace decodescope {
namespace {

using test::StepCase;
using test::WeightSumsCase;

using CudaWeightSums = EmulatedDevice;

TEST_F(CudaWeightSums, AreTheCapturedWeightsAddedUp) {
    WeightSumsCase on(make_emulated());
    for (const auto& [before, rows] : {std::pair{0, 1}, {20, 1}, {7, 3}, {0, 5}, {11, 40}, {150, 2}, {200, 9}})
        on.expect_captured_weights_added_up(before, rows, 2e-6);
}

TEST_F(CudaWeightSums, EveryLayerSeesWhatItMay) {
    WeightSumsCase(make_emulated()).expect_every_layer_sees_what_it_may();
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
    WeightSumsCase on(make_emulated());
    const auto cache = on.cache(8);
    for (const int rows : {1, 8}) {
        const auto views = cache->views(rows);
        const StepCase all = StepCase::causal(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 2), 0);
        std::vector<float> logits(static_cast<std::size_t>(rows * WeightSumsCase::shape().vocabulary));
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
        ASSERT_TRUE(on.backend().run(on.step(), inputs, outputs, {}).ok());
        EXPECT_EQ(watcher.told, (std::vector<int>{0, 100, 1, 101}));
        watcher.fails_after = 0;
        const Status status = on.backend().run(on.step(), inputs, outputs, {});
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().message, "the file is gone");
        EXPECT_EQ(watcher.told.size(), 6u);
    }
}

}  // namespace
}  // namespace decodescope
