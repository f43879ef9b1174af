#include "engine/measure/race.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/measure/logit_difference.h"
#include "kernels/reference/reference_backend.h"
#include "tests/engine/measure/fake_session.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

TEST(RaceSchedule, Parses) {
    const auto every = parse_race_schedule("every");
    ASSERT_TRUE(every.ok());
    EXPECT_TRUE(every->due(7, 1e12, 1e12));
    const auto at = parse_race_schedule("at=512,256,256");
    ASSERT_TRUE(at.ok());
    EXPECT_EQ(at->lengths, (std::vector<std::int64_t>{256, 512}));
    EXPECT_TRUE(at->due(256, 0, 0));
    EXPECT_FALSE(at->due(257, 0, 0));
    const auto budget = parse_race_schedule("budget=2.5s");
    ASSERT_TRUE(budget.ok());
    EXPECT_TRUE(budget->due(9, 1e6, 1.5e6));
    EXPECT_FALSE(budget->due(9, 1e6, 1.6e6));
    EXPECT_DOUBLE_EQ(parse_race_schedule("budget=30s")->budget_seconds, 30);
    EXPECT_DOUBLE_EQ(parse_race_schedule("budget=500ms")->budget_seconds, 0.5);
}

TEST(RaceSchedule, RefusesByName) {
    for (const char* text : {"", "never", "at=", "at=1,,2", "at=0", "at=-4", "at=1,2,", "at=x", "budget=", "budget=0s",
                             "budget=-1s", "budget=1,5s", "budget=nan", "budget=infs", "budget=s", "every "}) {
        const auto result = parse_race_schedule(text);
        ASSERT_FALSE(result.ok()) << text;
        EXPECT_EQ(result.error().kind, ErrorKind::Argument);
        EXPECT_NE(result.error().message.find(std::string("'") + text + "'"), std::string::npos);
    }
}

TEST(Race, DifferenceAndGreedyToken) {
    const float a[] = {0.0f, 3.0f, 3.0f, -1.0f}, b[] = {0.5f, 3.0f, 2.0f, -1.0f};
    EXPECT_EQ(max_abs_difference(a, b), 1.0);
    EXPECT_EQ(greedy_token(a), 1);  // ties to the lowest id
    const float bad[] = {0.0f, NAN, 9.0f, 0.0f};
    EXPECT_TRUE(std::isnan(max_abs_difference(a, bad)));
}

TEST(Race, FirstPassOfASizeIsRunTwice) {
    auto clock = std::make_shared<FakeClock>();
    int calls = 0;
    clock->micros = [&](const FakePass&) { return ++calls == 1 ? 9e6 : 50.0 * calls; };
    SessionConfig config;
    config.cache.id = "recompute";
    const auto lane = make_recompute_lane(std::make_unique<FakeSession>(clock, config, 64));
    const std::vector<std::int32_t> tokens = {1, 2, 3};
    const std::vector<float> cached(5, 0.25f);
    const auto point = lane->compare(tokens, cached, 12.5, {});
    ASSERT_TRUE(point.ok());
    EXPECT_EQ(point->recompute_micros, 100.0);
    EXPECT_EQ(point->cached_micros, 12.5);
    EXPECT_EQ(point->length, 3);
    EXPECT_EQ(point->max_abs_logit_diff, 0.25);
    ASSERT_TRUE(lane->compare(tokens, cached, 1, {}).ok());
    EXPECT_EQ(clock->log, (std::vector<std::string>{"recompute 0+3", "recompute 0+3", "recompute 0+3"}));
    EXPECT_FALSE(lane->compare(tokens, std::vector<float>(4), 1, {}).ok());
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(lane->compare(tokens, cached, 1, stop.get_token()).error().kind, ErrorKind::Cancelled);
}

// Both lanes on a real model, at every step: the same logits.
TEST(Race, LanesAgreeAtEveryStep) {
    for (const ModelPtr& model : {make_tiny_llama(), make_tiny_gpt2()}) {
        auto loaded =
            load_model(model, std::shared_ptr<Backend>(make_reference_backend()), WeightType::AsInFile, {}, {});
        ASSERT_TRUE(loaded.ok());
        auto lane = RecomputeLane::create(*loaded);
        auto session = DecodeSession::create(*loaded, {});
        ASSERT_TRUE(lane.ok() && session.ok());
        const auto tokens = random_tokens(24, model->config.vocabulary, 3);
        for (std::size_t n = 5; n <= tokens.size(); ++n) {
            const auto fed = std::span(tokens).subspan(n == 5 ? 0 : n - 1, n == 5 ? 5 : 1);
            const auto pass = (*session)->feed(fed, {});
            ASSERT_TRUE(pass.ok()) << pass.error().text();
            const auto point = (*lane)->compare(std::span(tokens).first(n), pass->logits, pass->micros, {});
            ASSERT_TRUE(point.ok()) << point.error().text();
            float largest = 0;
            for (const float logit : pass->logits) largest = std::max(largest, std::abs(logit));
            EXPECT_LE(point->max_abs_logit_diff, 1e-5 * static_cast<double>(largest)) << n;
            EXPECT_TRUE(point->same_token);
        }
    }
}

// Planted: a cached lane that is one token behind is seen at once.
TEST(Race, AWrongLaneIsSeen) {
    const ModelPtr model = make_tiny_llama();
    auto loaded = load_model(model, std::shared_ptr<Backend>(make_reference_backend()), WeightType::AsInFile, {}, {});
    auto lane = RecomputeLane::create(*loaded);
    auto session = DecodeSession::create(*loaded, {});
    const auto tokens = random_tokens(12, model->config.vocabulary, 5);
    const auto pass = (*session)->feed(std::span(tokens).first(11), {});
    const auto point = (*lane)->compare(tokens, pass->logits, pass->micros, {});
    ASSERT_TRUE(point.ok());
    EXPECT_GT(point->max_abs_logit_diff, 1e-2);
}

}  // namespace
}  // namespace decodescope
