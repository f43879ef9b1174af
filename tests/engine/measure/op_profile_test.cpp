// Operations of a step: what each moved and computed adds up to the step, and shares are of the nearer limit.
#include "engine/measure/op_profile.h"

#include <gtest/gtest.h>

#include "engine/decode/generation.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

TEST(OpProfile, SharesAreOfTheNearerLimit) {
    const OpUse use{"Q", 10, Cost{200'000, 50'000}};  // 20 GFLOP/s, 5 GB/s
    EXPECT_DOUBLE_EQ(use.gb_s(), 5);
    EXPECT_DOUBLE_EQ(use.gflop_s(), 20);
    const auto reads = share_of(use, {10, 100});
    ASSERT_TRUE(reads);
    EXPECT_FALSE(reads->of_flops);
    EXPECT_DOUBLE_EQ(reads->value, 0.5);
    const auto computes = share_of(use, {20, 25});
    ASSERT_TRUE(computes);
    EXPECT_TRUE(computes->of_flops);
    EXPECT_DOUBLE_EQ(computes->value, 0.8);
    EXPECT_FALSE(share_of(use, {}));
    EXPECT_FALSE(share_of({"Q", 0, Cost{1, 1}}, {10, 100}));
    EXPECT_FALSE(share_of({"Q", 10, {}}, {10, 100}));
    EXPECT_FALSE(share_of({"activation", 10, Cost{}}, {10, 100}));  // neither reads nor multiplies
}

TEST(OpProfile, StagesAreSummedInTheirOrder) {
    const std::vector<std::string> stages = {"embed", "Q", "Q"};
    const std::vector<OpRecord> ops = {{0, 1}, {1, 2}, {2, 4}, {7, 100}};  // 7: no such stage
    const auto known = sum_by_stage(stages, ops, std::vector<Cost>{{1, 10}, {2, 20}, {3, 30}});
    ASSERT_EQ(known.size(), 2u);
    EXPECT_EQ(known[0].stage, "embed");
    EXPECT_EQ(known[1].micros, 6);
    EXPECT_EQ(known[1].cost->bytes, 50);
    EXPECT_EQ(known[1].cost->flops, 5);
    EXPECT_FALSE(sum_by_stage(stages, ops, {})[0].cost);
}

// What is shown for a recorded step is the formula of the whole step, on every backend and for fused stages too.
TEST(OpProfile, OperationsOfARecordedStepAddUpToIt) {
    for (const char* backend : {"cpu", "reference"}) {
        for (const char* cache : {"preallocated", "recompute", "ring:window=4"}) {
            SCOPED_TRACE(std::string(backend) + " " + cache);
            const auto model = loaded(make_tiny_llama(), backend);
            SessionConfig config = session_config(cache);
            config.profile = true;
            std::shared_ptr<DecodeSession> session = session_of(model, config);
            ASSERT_TRUE(session->feed(random_tokens(6, 97, 3), {}).ok());
            auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits());
            session = session_of(model, config);
            GenerationConfig generate;
            generate.new_tokens = 4;
            Generation generation(session, generate, recording);
            ASSERT_TRUE(generation.start(random_tokens(6, 97, 3), {}, {}).ok());
            while (!generation.finished()) ASSERT_TRUE(generation.step({}).ok());
            for (int step = 0; step < recording->step_count(); ++step) {
                const auto facts = recording->step(step);
                const auto shape = recorded_shape(recording->facts(), *facts);
                if (step == 0 && std::string(cache) == "ring:window=4") {
                    EXPECT_FALSE(shape);  // a part of a prompt of which rows have left
                    continue;
                }
                ASSERT_TRUE(shape);
                const auto costs = stage_costs(model->program, recording->facts(), *shape);
                ASSERT_EQ(costs.size(), recording->facts().stages.size());
                Cost sum;
                for (const OpUse& use : sum_by_stage(recording->facts().stages, facts->ops, costs)) {
                    sum.bytes += use.cost->bytes;
                    sum.flops += use.cost->flops;
                    EXPECT_GT(use.micros, 0) << use.stage;
                }
                EXPECT_EQ(sum.flops, facts->flops) << step;
                EXPECT_EQ(sum.bytes, facts->bytes) << step;
            }
        }
    }
}

}  // namespace
}  // namespace decodescope
